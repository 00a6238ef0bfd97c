//! Aggregation: what is computed per group, as words of memory that any executor can update.
//!
//! | file | what |
//! |---|---|
//! | `plan` | keys and functions -> the words of a record's keys and of the state that it updates |
//! | `states` | the words of all groups: an array over the keys' range, or by their places in a table |
//! | `out_of_line` | what has no words: sums of floats of any size (`exact`, `moments`), smallest and largest strings (`texts`, `seen`) |
//! | `local_groups` | states of one morsel at a time, where records lie in the order of the key |
//! | `partitions` | groups that have left a table which outgrew a cache, in parts by the hashes of their keys |
//! | `merge` | what all threads have gathered, put together |
//! | `found` | the groups that are wanted: those with records that fulfil a HAVING |
//! | `outcome` | words -> columns of rows |
//!
//! A group's state is a few 64-bit words that start at zero, so that memory fresh from the system is a state already, and
//! that are only ever added to or raised to a larger value, so that states of several threads merge in any order. A
//! smallest or largest value is kept as its distance from the end of the argument's range, plus one: zero means none.

mod different;
mod exact;
mod found;
mod local_groups;
mod merge;
mod moments;
mod out_of_line;
mod outcome;
mod partitions;
mod plan;
mod seen;
mod states;
mod texts;

pub(crate) use crate::operators::aggregate::found::Having;
pub(crate) use crate::operators::aggregate::local_groups::{MorselBounds, MorselGroups};
pub(crate) use crate::operators::aggregate::merge::Ending;
pub use crate::operators::aggregate::moments::Moment;
pub use crate::operators::aggregate::out_of_line::{Gathering, OutOfLine};
pub use crate::operators::aggregate::outcome::{Finish, Pair, Spread};
pub use crate::operators::aggregate::plan::{Aggregate, Aggregation, Function};
pub(crate) use crate::operators::aggregate::plan::{Distinct, Plan, Slot, SlotKind};
pub(crate) use crate::operators::aggregate::states::{FEW_GROUPS, States, add_wide};
