//! Segments: immutable horizontal runs of a table's records, each a file (or, for the delta, a value of the catalog).
//!
//! A segment is divided into zones of `zone_rows` records; a block is what one column stores for one zone, with its own
//! checksum. docs/formats/segment.md is the byte map. An UPDATE of many records writes the columns that it changes as a file of their
//! own, and the segment has the others in the files that were there.

use crate::encoding::meta::{ColumnStatistics, Encoding};
use crate::{ColumnId, LogicalType};
use serde::{Deserialize, Serialize};

/// Number of a segment within its database, never reused.
pub type SegmentId = u64;

/// One column of one segment, as its directory describes it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ColumnMeta {
    /// The column.
    pub column: ColumnId,
    /// Type of its values.
    pub logical_type: LogicalType,
    /// Value <-> code.
    pub encoding: Encoding,
    /// Bits that a code needs: 0 to 64 (128 for wide values; for byte strings of the Plain encoding, bits of an offset).
    pub code_bits: u8,
    /// Bytes on disk, headers of blocks left out.
    pub stored_bytes: u64,
    /// Bytes in memory.
    pub native_bytes: u64,
    /// What is known of the values.
    pub statistics: ColumnStatistics,
}

/// Smallest and largest code of one column in one zone, and its NULLs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZoneMap {
    /// Smallest code of a value that is not NULL (0 when all are, or when the shape has no codes).
    pub min: u64,
    /// Largest code.
    pub max: u64,
    /// NULLs in the zone.
    pub nulls: u32,
    /// False when the column has no codes here (Plain), so that only `nulls` means something.
    pub coded: bool,
}

pub(crate) mod block;
pub(crate) mod cache;
pub(crate) mod decode;
pub(crate) mod directory;
pub(crate) mod filter;
pub(crate) mod filter_reader;
pub(crate) mod format;
pub(crate) mod group;
pub(crate) mod joined;
pub(crate) mod key_hash;
pub(crate) mod reader;
pub(crate) mod region;
pub(crate) mod scratch;
pub(crate) mod source;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod writer;

pub use crate::segment::cache::BlockCache;
pub use crate::segment::group::GroupMeta;
pub use crate::segment::reader::Segment;
pub use crate::segment::writer::{WrittenSegment, write_segment_file, write_segment_image};

/// A column group of a segment in memory; what is known of a zone are the validity bits of each column, when it has
/// NULLs there.
pub(crate) type GroupMemory = region::ZonedRegion<Vec<Option<arrow::buffer::BooleanBuffer>>>;
