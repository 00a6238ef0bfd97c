//! Window functions that DataFusion refuses.
//!
//! | file | what |
//! |---|---|
//! | `arguments` | lag, lead, nth_value and ntile whose arguments are no constants |
//! | `sliding` | aggregates over a frame that leaves rows behind |

mod arguments;
mod sliding;

pub(crate) use arguments::with_arguments;
pub(crate) use sliding::SlidingAggregates;
