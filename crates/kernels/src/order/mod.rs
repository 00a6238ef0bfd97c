//! Codes in order: radix partitioning, radix sort, merging and searching of native codes.
//!
//! The same of byte slices is in [`packing::byteslice::order`](crate::packing::byteslice::order), which shares the parts
//! below; `byteslice.sort` and its sisters in the lab hold one against the other (ByteSlice paper, section 6). Codes are
//! cut into the same **digits** on both sides: the bytes that byte slices have, so that both make as many passes over as
//! many buckets.
//!
//! None of it comes in several instruction sets: where a code goes depends on the one before it, and on the bucket that
//! it falls into, which vectors don't help with. Searches of byte slices are the exception.

mod combine;
mod digits;
mod merge;
mod partition;
mod search;
mod sort;

pub(crate) use combine::{Combiner, FAR, Output};
pub use digits::{Bounds, DIGITS};
pub(crate) use digits::{DigitOffsets, Digits, Histogram, SMALL, bounds, histogram, is_single};
pub use merge::merge;
pub(crate) use merge::{check_rows, merge_while_both, rest};
pub use partition::{partition, partition_tids};
pub use search::{Bound, bound, search};
pub(crate) use search::{MANY, leading};
pub use sort::{RUN, Scratch, sort, sort_numbers};
