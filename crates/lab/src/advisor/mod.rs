//! The advisor.

pub mod looks;
