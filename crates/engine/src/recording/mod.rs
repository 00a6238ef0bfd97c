//! The statements that sessions run, kept for the advisor while `gingham.record_workload` is on.
//!
//! | file | what |
//! |---|---|
//! | `shape` | a statement without its values: what statements are counted by |
//! | `recorder` | counts, times and examples by shape |
//! | `kept` | that as a file of the database |
//! | `clear` | the function that forgets all of it |

mod clear;
mod kept;
mod recorder;
mod shape;

pub(crate) use clear::{CLEAR_WORKLOAD, clear_workload};
pub(crate) use recorder::{Recorder, Recording};
pub(crate) use shape::with_values;
