//! Random data, designs and conditions for `random_filters.rs`.

pub mod condition;
pub mod data;
pub mod design;
pub mod generator;
