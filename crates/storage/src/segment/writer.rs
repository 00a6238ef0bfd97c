//! Writing a segment: choose an encoding per column, encode, pack, checksum.

use crate::segment::SegmentId;
use crate::{ColumnId, Result, TableDefinition};
use arrow::array::{ArrayRef, RecordBatch};
use std::path::Path;

/// A segment that is written but not yet visible; the catalog's commit makes it so.
#[derive(Debug)]
pub struct WrittenSegment {
    /// Its number.
    pub id: SegmentId,
    /// Records.
    pub rows: u64,
    /// Length of the file or image in bytes.
    pub bytes: u64,
    /// Checksum of the directory, which the catalog keeps too.
    pub directory_checksum: u32,
    /// Sorted distinct entries of each column that was encoded by dictionary (Utf8View or BinaryView); the commit finds
    /// or gives them a version.
    pub dictionaries: Vec<(ColumnId, ArrayRef)>,
}

/// Writes `batches` (in `definition.arrow_schema()`, together at most a few million records) as the segment file `path`
/// and syncs it when `sync`. Frees each column's input as soon as it is encoded.
pub fn write_segment_file(
    path: &Path,
    id: SegmentId,
    definition: &TableDefinition,
    batches: Vec<RecordBatch>,
    sync: bool,
) -> Result<WrittenSegment> {
    let _ = (path, id, definition, batches, sync);
    todo!()
}

/// The same as bytes in memory: a delta image. Never dictionary-encoded and without sketches, so that a few records
/// stay small.
pub fn write_segment_image(
    id: SegmentId,
    definition: &TableDefinition,
    batches: Vec<RecordBatch>,
) -> Result<(WrittenSegment, Vec<u8>)> {
    let _ = (id, definition, batches);
    todo!()
}
