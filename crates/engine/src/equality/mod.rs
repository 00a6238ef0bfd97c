//! Values that are equal and look different are one value: -0.0 and 0.0, NaNs of either sign, one month and thirty days.
//!
//! DataFusion compares, sorts and groups the bits of floats and the fields of intervals. An analyzer rule puts a key in
//! the place of each operand of a comparison, of each key of a sort, a group, a window or a join, wherever the value may
//! have another form than its key. Columns of tables have not: what is stored has one zero and one NaN.
//!
//! | file | what |
//! |---|---|
//! | `rule` | where keys are needed in a plan |
//! | `form` | which values have one form already |
//! | `key` | keys of floats; those of intervals are `temporal`'s |

mod form;
mod key;
mod rule;

pub(crate) use key::{FLOAT_KEY, keys_of};
pub(crate) use rule::OneForm;
