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
//! | `select` | DataFusion's join selection, kept from choosing sides again |
//! | `keyed` | joins of FROM lists get the keys that are in conditions above |
//! | `one_group` | conditions that stay above aggregations without keys |
//! | `passes` | how often DataFusion's logical rules run |
//! | `seldom` | those of them that few plans need |

mod about;
mod assemble;
mod cluster;
mod estimate;
mod keyed;
mod model;
mod one_group;
mod passes;
mod rule;
mod search;
mod seldom;
mod select;
mod share;
#[cfg(test)]
mod tests;

pub(crate) use about::rows_about;
pub(crate) use keyed::KeyedJoins;
pub(crate) use one_group::{LimitOneGroup, UnlimitOneGroup};
pub(crate) use passes::in_passes;
pub(crate) use rule::JoinOrder;
pub(crate) use seldom::{is_needed, only_where_wanted};
pub(crate) use select::SelectJoins;
