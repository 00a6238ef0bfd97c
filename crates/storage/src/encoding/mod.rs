//! Value <-> code: choosing an encoding from the real values of a segment's column, and applying it.
//!
//! | file | what |
//! |---|---|
//! | `integers` | frame of reference, and plain 128-bit values when the range is too wide |
//! | `floats` | scaled floats, and ordered bits when a value has too many decimals |
//! | `strings` | dictionaries, and plain byte strings of high cardinality |
//! | `encoder` | a column that is encoded: its statistics and its codes zone by zone |
//! | `bounds` | limits of types, shortened bounds of byte strings |
//! | `sketch` | estimates of distinct values |

pub(crate) mod bounds;
pub(crate) mod encoder;
pub(crate) mod floats;
pub(crate) mod integers;
pub(crate) mod meta;
pub mod sketch;
pub(crate) mod strings;

pub use crate::encoding::integers::integers_of_array;
pub use crate::encoding::meta::{ColumnStatistics, Encoding};
