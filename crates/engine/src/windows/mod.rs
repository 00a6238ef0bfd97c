//! Window functions and ordered aggregates that DataFusion refuses.
//!
//! | file | what |
//! |---|---|
//! | `sliding` | aggregates over a frame that leaves rows behind |
//! | `equal` | window functions that are the same |
//! | `strings` | `string_agg` in an order |

mod equal;
mod sliding;
mod strings;

pub(crate) use equal::EqualWindows;
pub(crate) use sliding::SlidingAggregates;
pub(crate) use strings::OrderedStrings;
