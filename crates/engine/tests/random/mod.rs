//! Random data and conditions for `random_filters.rs`.

pub mod condition;
pub mod data;
pub mod generator;
