//! Window aggregates that DataFusion refuses.
//!
//! | file | what |
//! |---|---|
//! | `sliding` | aggregates over a frame that leaves rows behind |

mod sliding;

pub(crate) use sliding::SlidingAggregates;
