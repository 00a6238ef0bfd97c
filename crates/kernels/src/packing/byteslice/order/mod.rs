//! Byte slices in order: what the ByteSlice paper leaves for later (section 6, "ByteSlice as a layout for intermediate
//! results"). Partitioning, sorting, merging and searching read the slices as they lie, so that intermediate results
//! could stay in them.
//!
//! [`crate::order`] does the same with native codes. Which of the two is faster, and why, is in docs/papers.md.

mod merge;
mod partition;
mod search;
mod sort;

pub use merge::merge;
pub use partition::{histogram, partition, partition_tids};
pub(super) use search::Search;
pub use search::{bound, search};
pub use sort::{SliceScratch, sort};

use super::super::{Format, Packed, Packing};
use super::Slices;

/// A column of byte slices in another order, with the TID that each row had before.
#[derive(Debug, Clone, Default)]
pub struct Ordered {
    /// A TID per row.
    pub tids: Vec<u32>,
    /// The slices, in the format of the column that they come from.
    pub bytes: Vec<u8>,
}

impl Ordered {
    /// The codes as a column of that format.
    ///
    /// # Panics
    /// When it is not the format of the column that they come from.
    pub fn packed(&self, format: Format) -> Packed<'_> {
        assert_eq!(self.bytes.len(), format.bytes(self.tids.len()), "bytes of {} codes of {format:?}", self.tids.len());
        Packed::new(format, self.tids.len(), &self.bytes).expect("as many bytes as the format needs")
    }

    /// Makes room for the rows of a column, with zeros past the last row of each slice.
    fn fit(&mut self, packed: Packed<'_>) {
        let rows = packed.rows();
        self.tids.resize(rows, 0);
        self.bytes.resize(packed.format().bytes(rows), 0);
        let stride = rows.next_multiple_of(super::GROUP);
        if stride > 0 {
            self.bytes.chunks_mut(stride).for_each(|slice| slice[rows..].fill(0));
        }
    }
}

/// The slices of a column of that packing.
fn slices(packed: Packed<'_>) -> Slices<'_, u8> {
    assert_eq!(packed.format().packing(), Packing::ByteSlice, "the packing of a column that is taken as byte slices");
    Slices::new(packed)
}
