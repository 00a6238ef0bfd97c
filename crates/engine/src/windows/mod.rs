//! Window functions that DataFusion refuses.
//!
//! | file | what |
//! |---|---|
//! | `arguments` | lag, lead, nth_value and ntile whose arguments are no constants |
//! | `excluding` | frames that leave rows out: EXCLUDE |
//! | `floats` | sums and their kin of floats over a frame that leaves rows behind |
//! | `peers` | frames of rows with equal keys of any type |
//! | `states` | states of aggregates over blocks of rows |
//! | `sliding` | aggregates over a frame that leaves rows behind |

mod arguments;
mod excluding;
mod floats;
mod peers;
mod sliding;
mod states;

pub(crate) use arguments::with_arguments;
pub(crate) use excluding::{Exclusion, excluding};
pub(crate) use peers::with_frame_of_peers;
pub(crate) use sliding::SlidingAggregates;
