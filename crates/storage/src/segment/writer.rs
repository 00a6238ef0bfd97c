//! Writing a segment: choose an encoding per column, encode, pack, checksum.

use crate::encoding::encoder::{ColumnEncoder, ZoneKind, ZoneValues};
use crate::segment::block::BlockWriter;
use crate::segment::decode::Native;
use crate::segment::directory::{Directory, MAX_STRING_BYTES, code_bytes};
use crate::segment::format::{BLOCK_HEADER, BlockEntry, BlockHeader, Header, Trailer};
use crate::segment::{ColumnMeta, SegmentId, ZONE_ROWS};
use crate::{ColumnDefinition, ColumnId, Error, Result, TableDefinition};
use arrow::array::{ArrayRef, RecordBatch};
use std::fs::File;
use std::io::{BufWriter, Write};
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
/// and, when `sync`, waits until it and its entry in the folder are on disk. Replaces a file of that name, which an
/// earlier process may have left behind. Frees each column's input as soon as it is encoded. Errors name the column;
/// nothing is left of a file that could not be written whole.
pub fn write_segment_file(
    path: &Path,
    id: SegmentId,
    definition: &TableDefinition,
    batches: Vec<RecordBatch>,
    sync: bool,
) -> Result<WrittenSegment> {
    write_file(path, id, definition, batches, sync, ZONE_ROWS)
}

/// The same as bytes in memory: a delta image. Never dictionary-encoded and without sketches, so that a few records
/// stay small.
pub fn write_segment_image(
    id: SegmentId,
    definition: &TableDefinition,
    batches: Vec<RecordBatch>,
) -> Result<(WrittenSegment, Vec<u8>)> {
    write_image(id, definition, batches, ZONE_ROWS)
}

/// [`write_segment_file`] with any zone size.
pub(crate) fn write_file(
    path: &Path,
    id: SegmentId,
    definition: &TableDefinition,
    batches: Vec<RecordBatch>,
    sync: bool,
    zone_rows: usize,
) -> Result<WrittenSegment> {
    let file = File::create(path).map_err(Error::io("creating", path))?;
    let written = SegmentWriter::new(BufWriter::with_capacity(1 << 18, file), path, true, zone_rows)
        .and_then(|writer| writer.write(id, definition, batches))
        .and_then(|(written, buffered)| {
            let file = buffered.into_inner().map_err(|error| Error::io("writing", path)(error.into_error()))?;
            if sync {
                file.sync_all().map_err(Error::io("syncing", path))?;
                sync_folder(path)?;
            }
            Ok(written)
        });
    if written.is_err() {
        // Best effort: what stays behind is swept when the database is opened again.
        let _ = std::fs::remove_file(path);
    }
    written
}

/// [`write_segment_image`] with any zone size.
pub(crate) fn write_image(
    id: SegmentId,
    definition: &TableDefinition,
    batches: Vec<RecordBatch>,
    zone_rows: usize,
) -> Result<(WrittenSegment, Vec<u8>)> {
    SegmentWriter::new(Vec::new(), Path::new("memory"), false, zone_rows)?.write(id, definition, batches)
}

#[cfg(unix)]
fn sync_folder(path: &Path) -> Result<()> {
    let Some(folder) = path.parent() else { return Ok(()) };
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(Error::io("syncing", folder))
}

#[cfg(not(unix))]
fn sync_folder(_path: &Path) -> Result<()> {
    Ok(())
}

/// Writes one segment from front to back.
struct SegmentWriter<'path, W> {
    sink: W,
    path: &'path Path,
    offset: u64,
    /// A file: dictionaries, sketches and compression. An image has none of them.
    rich: bool,
    zone_rows: usize,
    blocks: BlockWriter,
    zone: ZoneValues,
    entries: Vec<BlockEntry>,
}

impl<'path, W: Write> SegmentWriter<'path, W> {
    fn new(sink: W, path: &'path Path, rich: bool, zone_rows: usize) -> Result<Self> {
        let blocks = BlockWriter::new(rich).map_err(Error::io("compressing", path))?;
        Ok(Self { sink, path, offset: 0, rich, zone_rows, blocks, zone: ZoneValues::default(), entries: Vec::new() })
    }

    fn write(
        mut self,
        id: SegmentId,
        definition: &TableDefinition,
        batches: Vec<RecordBatch>,
    ) -> Result<(WrittenSegment, W)> {
        let rows = batches.iter().map(RecordBatch::num_rows).sum();
        let mut columns = Vec::new();
        let mut dictionaries = Vec::new();
        self.put(&Header { delta: !self.rich, segment: id, table: definition.id }.to_bytes())?;
        for (column, chunks) in definition.columns.iter().zip(by_column(definition, batches)?) {
            let (meta, entries) = self.column(column, chunks)?;
            columns.push(meta);
            dictionaries.extend(entries.map(|entries| (column.id, entries)));
        }
        let directory =
            Directory { rows, zone_rows: self.zone_rows, columns, blocks: std::mem::take(&mut self.entries) };
        let bytes = directory.to_bytes();
        let trailer = Trailer { offset: self.offset, length: bytes.len() as u32, checksum: crc32c::crc32c(&bytes) };
        self.put(&bytes)?;
        self.put(&trailer.to_bytes())?;
        let written = WrittenSegment {
            id,
            rows: rows as u64,
            bytes: self.offset,
            directory_checksum: trailer.checksum,
            dictionaries,
        };
        Ok((written, self.sink))
    }

    /// Writes the blocks of one column.
    fn column(&mut self, column: &ColumnDefinition, chunks: Vec<ArrayRef>) -> Result<(ColumnMeta, Option<ArrayRef>)> {
        let mut encoder = ColumnEncoder::new(&column.name, &column.logical_type, chunks, self.rich)?;
        let (rows, kind) = (encoder.rows(), encoder.zone_kind());
        let (mut stored_bytes, mut string_bytes) = (0, 0);
        self.blocks.start_column();
        for start in (0..rows).step_by(self.zone_rows) {
            let mut zone = std::mem::take(&mut self.zone);
            encoder.zone(start..(start + self.zone_rows).min(rows), &mut zone)?;
            stored_bytes += self.block(&column.name, kind, &zone)?;
            string_bytes += zone.bytes.len();
            self.zone = zone;
        }
        let encoding = encoder.encoding();
        let (statistics, code_bits, entries) = encoder.finish();
        let native_bytes = match kind {
            ZoneKind::Codes => Native::Codes { width: code_bytes(code_bits) }.length(rows),
            ZoneKind::Wide => Native::Wide.length(rows),
            ZoneKind::Bytes => (rows + rows.div_ceil(self.zone_rows)) * 4 + string_bytes,
        };
        let meta = ColumnMeta {
            column: column.id,
            logical_type: column.logical_type.clone(),
            encoding,
            code_bits,
            stored_bytes,
            native_bytes: native_bytes as u64,
            statistics,
        };
        Ok((meta, entries))
    }

    /// Writes one block and notes it; returns the bytes of its payload.
    fn block(&mut self, column: &str, kind: ZoneKind, zone: &ZoneValues) -> Result<u64> {
        if zone.bytes.len() > MAX_STRING_BYTES {
            let (rows, bytes) = (zone.codes.len(), zone.bytes.len());
            return Err(Error::Unsupported(format!(
                "column '{column}' has {bytes} bytes in {rows} consecutive records; at most 2 GiB can be stored"
            )));
        }
        let (header, payload) = self.blocks.block(kind, zone).map_err(Error::io("compressing", self.path))?;
        let length = payload.len() as u64;
        self.sink
            .write_all(&header)
            .and_then(|()| self.sink.write_all(payload))
            .map_err(Error::io("writing", self.path))?;
        self.entries.push(BlockEntry {
            offset: self.offset,
            length: (BLOCK_HEADER as u64 + length) as u32,
            checksum: BlockHeader::checksum(&header),
            min: zone.min,
            max: zone.max,
            nulls: zone.nulls as u32,
            string_bytes: zone.bytes.len() as u32,
        });
        self.offset += BLOCK_HEADER as u64 + length;
        Ok(length)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.sink.write_all(bytes).map_err(Error::io("writing", self.path))?;
        self.offset += bytes.len() as u64;
        Ok(())
    }
}

/// The batches' columns, so that each can be freed on its own.
fn by_column(definition: &TableDefinition, batches: Vec<RecordBatch>) -> Result<Vec<Vec<ArrayRef>>> {
    let width = definition.columns.len();
    let mut columns: Vec<Vec<ArrayRef>> = (0..width).map(|_| Vec::with_capacity(batches.len())).collect();
    for batch in batches {
        if batch.num_columns() != width {
            return Err(Error::InvalidInput(format!(
                "table '{}' has {width} columns, the records have {}",
                definition.name,
                batch.num_columns()
            )));
        }
        for (column, array) in columns.iter_mut().zip(batch.columns()) {
            column.push(ArrayRef::clone(array));
        }
    }
    Ok(columns)
}
