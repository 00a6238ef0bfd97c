//! Random data, designs and conditions.

pub mod condition;
pub mod data;
pub mod design;
pub mod generator;
pub mod table;
