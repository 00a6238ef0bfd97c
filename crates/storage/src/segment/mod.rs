//! Segments: immutable horizontal runs of a table's records, each a file (or, for the delta, a value of the catalog).
//!
//! A segment is divided into zones of `zone_rows` records; a block is what one column stores for one zone, with its own
//! checksum. docs/formats/segment.md is the byte map. An UPDATE of many records writes the columns that it changes as a file of their
//! own, and the segment has the others in the files that were there.

use crate::{ColumnId, Datum, LogicalType};
use serde::{Deserialize, Serialize};

/// Number of a segment within its database, never reused.
pub type SegmentId = u64;

/// Records of a full segment.
pub const SEGMENT_ROWS: usize = 1 << 20;
/// Records of a zone.
pub const ZONE_ROWS: usize = 1 << 16;

/// Value <-> code of one column in one segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    /// Integer class: code = value - base.
    FrameOfReference {
        /// Smallest value.
        base: i128,
    },
    /// Float class: code = value * 10^digits - base, when exact for every value.
    ScaledFloat {
        /// Smallest scaled value.
        base: i64,
        /// Decimal digits behind the point.
        digits: u8,
    },
    /// Float class: code = ordered bits - base.
    FloatOrder {
        /// Smallest ordered pattern.
        base: u64,
    },
    /// Bytes class: code = position among the sorted entries of a dictionary version.
    Dictionary,
    /// The value itself: 128-bit integers whose range exceeds 64 bits, and byte strings of high cardinality.
    Plain,
}

/// What is known of a column's values in one segment.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ColumnStatistics {
    /// Smallest value, NULL when all are NULL. Byte strings longer than 64 bytes are cut (a lower bound).
    pub min: Datum,
    /// Largest value, likewise; a cut byte string is rounded up (an upper bound).
    pub max: Datum,
    /// True when `min` and `max` are values, not bounds.
    pub exact: bool,
    /// NULLs.
    pub nulls: u64,
    /// HyperLogLog sketch of the distinct values ([`crate::encoding::sketch`]); empty in the delta.
    #[serde(skip)]
    pub sketch: Vec<u8>,
}

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

mod block;
mod decode;
mod directory;
mod filter;
mod filter_reader;
mod format;
mod group;
mod joined;
mod key_hash;
mod reader;
mod region;
mod scratch;
mod source;
#[cfg(test)]
pub(crate) mod tests;
mod writer;

pub(crate) use directory::code_bytes;
pub use group::GroupMeta;
pub(crate) use key_hash::{hash_key, hash_keys};
pub use reader::Segment;
pub(crate) use region::ZoneParts;
pub use writer::{WrittenSegment, write_segment_file, write_segment_image};
pub(crate) use writer::{write_coded_image, write_unsynced};

/// A column group of a segment in memory; what is known of a zone are the validity bits of each column, when it has
/// NULLs there.
pub(crate) type GroupMemory = region::ZonedRegion<Vec<Option<arrow::buffer::BooleanBuffer>>>;
