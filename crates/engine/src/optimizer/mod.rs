//! Optimizer rules of ours: the order of joins, by what the storage knows of the data. Why and how it is weighed is in
//! docs/decisions/0021-join-order.md.
//!
//! | file | what |
//! |---|---|
//! | `rule` | the logical rule: finds the joins that may be ordered, and the sides of the others |
//! | `cluster` | inner, semi and anti joins as relations and conditions between them |
//! | `estimate` | rows that any plan gives, and where its columns come from |
//! | `about` | rows of a plan that no rule has changed yet |
//! | `share` | the share of rows that conditions leave, where nothing can be sampled |
//! | `model` | rows that any part of a cluster gives, and what joining two parts costs |
//! | `search` | the cheapest tree |
//! | `assemble` | the tree as a plan |

mod about;
mod assemble;
mod cluster;
mod estimate;
mod model;
mod rule;
mod search;
mod share;
#[cfg(test)]
mod tests;

pub(crate) use about::rows_about;
pub(crate) use rule::JoinOrder;
