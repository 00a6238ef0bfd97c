//! Facts of a segment's columns and zones, known before any block is read.

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
    /// Facts of the values.
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
