//! Overflow of integers and decimals is an error.
