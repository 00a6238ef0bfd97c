//! Rows of integers between pipelines, and what stands for values.
//!
//! | file | what |
//! |---|---|
//! | `relation` | rows of a pipeline as the input of later ones |
//! | `rows` | rows that a query ends in |
//! | `source` | a vector of records at work, and where their columns lie |
//! | `limits` | ranges of integers |
//! | `memory` | the memory limit |
//! | `strings` | numbers of byte strings that have no codes |
//! | `lookup_table` | functions of a small range, worked out beforehand |

pub(crate) mod limits;
pub(crate) mod lookup_table;
pub(crate) mod memory;
pub(crate) mod relation;
pub(crate) mod rows;
pub(crate) mod source;
pub(crate) mod strings;
