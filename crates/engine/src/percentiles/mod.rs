//! percentile_cont, percentile_disc, median and mode, as PostgreSQL computes them. DataFusion interpolates in steps of a millionth, has
//! no percentile_disc, sorts its input for each, and its percentile_cont panics where many groups of one value each come.
//!
//! | file | what |
//! |---|---|
//! | `call` | the aggregates, their types, and WITHIN GROUP |
//! | `fractions` | which values a call asks for |
//! | `value` | the kinds of values that are kept |
//! | `kept` | columns as values that are kept, and back |
//! | `one_group` | the values of one group, or of a window's frame |
//! | `distinct` | the different ones of these |
//! | `groups` | the values of many groups |

mod call;
mod distinct;
mod fractions;
mod groups;
mod kept;
mod one_group;
mod value;

pub(crate) use call::{WithinGroup, percentiles};
