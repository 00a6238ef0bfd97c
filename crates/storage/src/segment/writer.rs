//! Writing a segment: choose an encoding per column, encode, pack, checksum.

use crate::SqlState;
use crate::encoding::bounds::{may_be_wide, too_wide};
use crate::encoding::encoder::{ColumnEncoder, ZoneKind, ZoneValues};
use crate::model::design::{ColumnChoice, EncodingChoice, SEGMENT_BITS, ZONE_ROWS};
use crate::model::page_packing::PagePacking;
use crate::model::view::code_bytes;
use crate::segment::block::BlockWriter;
use crate::segment::decode::Native;
use crate::segment::dense::choose::choose;
use crate::segment::dense::entries::{ColumnEntries, EntriesMeta};
use crate::segment::dense::form::{DenseMeta, EntryKind};
use crate::segment::dense::strings::write_strings;
use crate::segment::dense::write::write_pages;
use crate::segment::directory::{Directory, MAX_STRING_BYTES};
use crate::segment::filter::{FilterMeta, KeyHashes, apart};
use crate::segment::format::{
    BLOCK_HEADER, BlockEntry, BlockHeader, Header, Trailer, VERSION, WITH_FILTERS, WITHOUT_FILTERS,
};
use crate::segment::group::{Form, GroupMeta};
use crate::segment::meta::{ColumnMeta, SegmentId};
use crate::{
    ColumnDefinition, ColumnId, Datum, Design, Error, Group, Layout, LogicalType, Packing, Result, TableDefinition,
};
use arrow::array::{ArrayRef, RecordBatch};
use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::ops::Range;
use std::path::Path;

/// How often a segment's folder is made again: each time another writer must have removed it in the moment between.
const FOLDER_TRIES: usize = 100;

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
    /// The columns that it has.
    pub(crate) columns: Vec<ColumnId>,
    /// Smallest and largest value of the columns whose type allows more than 64 bits tell apart, where there is any.
    pub(crate) ranges: Vec<(ColumnId, i128, i128)>,
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
    write_file(path, id, definition, batches, sync, definition.design.zone_rows())
}

/// Writes a segment as bytes in memory: a delta image. Never dictionary-encoded and without sketches, so that a few records stay
/// small.
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
    let (written, file) = write_unsynced(path, id, definition, batches, zone_rows)?;
    let synced = || {
        file.sync_all().map_err(Error::io("syncing", path))?;
        sync_folder(path)
    };
    if sync && let Err(error) = synced() {
        remove(path);
        return Err(error);
    }
    Ok(written)
}

/// Writes a segment without waiting for the disk, and the file, which is to be synced.
pub(crate) fn write_unsynced(
    path: &Path,
    id: SegmentId,
    definition: &TableDefinition,
    batches: Vec<RecordBatch>,
    zone_rows: usize,
) -> Result<(WrittenSegment, File)> {
    let file = create(path).map_err(Error::io("creating", path))?;
    let written = SegmentWriter::new(BufWriter::with_capacity(1 << 18, file), path, true, zone_rows)
        .and_then(|writer| writer.write(id, definition, batches))
        .and_then(|(written, buffered)| {
            let file = buffered.into_inner().map_err(|error| Error::io("writing", path)(error.into_error()))?;
            Ok((written, file))
        });
    if written.is_err() {
        remove(path);
    }
    written
}

/// Removes a file that could not be written whole.
fn remove(path: &Path) {
    // Best effort: what stays behind is swept when the database is opened again.
    let _ = std::fs::remove_file(path);
}

/// Creates a file. Another writer may just have removed its folder, which was empty: then makes that again.
fn create(path: &Path) -> std::io::Result<File> {
    for _ in 0..FOLDER_TRIES {
        match (File::create(path), path.parent()) {
            (Err(error), Some(folder)) if error.kind() == ErrorKind::NotFound => match std::fs::create_dir(folder) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            },
            (created, _) => return created,
        }
    }
    File::create(path)
}

/// [`write_segment_image`] for memory alone, with dictionaries for these columns, whatever that takes.
pub(crate) fn write_coded_image(
    id: SegmentId,
    definition: &TableDefinition,
    batches: Vec<RecordBatch>,
    coded: &[ColumnId],
) -> Result<(WrittenSegment, Vec<u8>)> {
    let writer = SegmentWriter::new(Vec::new(), Path::new("memory"), false, ZONE_ROWS)?;
    SegmentWriter { coded: coded.to_vec(), ..writer }.write(id, definition, batches)
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
    /// Columns of an image that get dictionaries.
    coded: Vec<ColumnId>,
    zone_rows: usize,
    blocks: BlockWriter,
    zone: ZoneValues,
    entries: Vec<BlockEntry>,
}

impl<'path, W: Write> SegmentWriter<'path, W> {
    fn new(sink: W, path: &'path Path, rich: bool, zone_rows: usize) -> Result<Self> {
        let blocks = BlockWriter::new(rich).map_err(Error::io("compressing", path))?;
        let (coded, zone, entries) = (Vec::new(), ZoneValues::default(), Vec::new());
        Ok(Self { sink, path, offset: 0, rich, coded, zone_rows, blocks, zone, entries })
    }

    fn write(
        mut self,
        id: SegmentId,
        definition: &TableDefinition,
        batches: Vec<RecordBatch>,
    ) -> Result<(WrittenSegment, W)> {
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        let (version, keys) = self.keys(definition, &batches)?;
        let mut chunks = by_column(definition, batches)?;
        let grouped = self.groups(definition);
        let version = if grouped.iter().any(|group| group.layout.is_dense()) { VERSION } else { version };
        let zones = Directory::zone_count(rows, self.zone_rows);
        self.entries = vec![BlockEntry::default(); definition.columns.len() * zones];
        self.put(&Header { version, delta: !self.rich, segment: id, table: definition.id }.to_bytes())?;
        let (mut groups, mut written) = (Vec::new(), Vec::with_capacity(definition.columns.len()));
        for group in grouped {
            let members = group.columns.iter().filter_map(|id| definition.columns.iter().position(|c| c.id == *id));
            let mut columns = Vec::with_capacity(group.columns.len());
            for place in members {
                let column = &definition.columns[place];
                let choice = match self.rich {
                    true => definition.design.choice(column.id),
                    false if self.coded.contains(&column.id) => {
                        ColumnChoice { encoding: EncodingChoice::Dictionary, ..ColumnChoice::default() }
                    }
                    false => ColumnChoice::default(),
                };
                columns.push(ColumnInput::new(place, column, choice, std::mem::take(&mut chunks[place]), self.rich)?);
            }
            let dense = if group.layout.is_dense() {
                Some(self.dense_group(rows, &mut columns, definition.design.page_size)?)
            } else {
                self.group(rows, &mut columns)?;
                None
            };
            let (meta, columns) = finish((group.layout, dense), columns, rows, self.zone_rows)?;
            groups.push(meta);
            written.extend(columns);
        }
        written.sort_by_key(|column| column.place);
        let dictionaries =
            written.iter_mut().filter_map(|column| Some((column.meta.column, column.entries.take()?))).collect();
        let ranges = written.iter().filter_map(|column| range(&column.meta)).collect();
        let columns: Vec<ColumnMeta> = written.into_iter().map(|column| column.meta).collect();
        let filters = self.filters(keys, &columns, zones)?;
        let all = columns.iter().map(|column| column.column).collect();
        let blocks = std::mem::take(&mut self.entries);
        let directory = Directory { rows, zone_rows: self.zone_rows, columns, groups, blocks, filters };
        let bytes = directory.to_bytes();
        let trailer = Trailer { offset: self.offset, length: bytes.len() as u32, checksum: crc32c::crc32c(&bytes) };
        self.put(&bytes)?;
        self.put(&trailer.to_bytes())?;
        let (bytes, directory_checksum) = (self.offset, trailer.checksum);
        let rows = rows as u64;
        Ok((WrittenSegment { id, rows, bytes, directory_checksum, dictionaries, columns: all, ranges }, self.sink))
    }

    /// The groups to write: the design's, in a delta image each column on its own.
    fn groups(&self, definition: &TableDefinition) -> Vec<Group> {
        let columns: Vec<ColumnId> = definition.columns.iter().map(|column| column.id).collect();
        if self.rich { definition.design.resolve(&columns) } else { Design::default().resolve(&columns) }
    }

    /// Writes the blocks of one group, zone by zone.
    fn group(&mut self, rows: usize, columns: &mut [ColumnInput<'_>]) -> Result<()> {
        let zones = Directory::zone_count(rows, self.zone_rows);
        for (number, start) in (0..rows).step_by(self.zone_rows).enumerate() {
            let (end, mut strings) = ((start + self.zone_rows).min(rows), 0);
            for column in &mut *columns {
                let mut zone = std::mem::take(&mut self.zone);
                column.zone(start..end, &mut strings, &mut zone)?;
                self.entries[column.place * zones + number] = self.block(column, &zone)?;
                self.zone = zone;
            }
        }
        Ok(())
    }

    /// Writes the dense pages of one group, once all of its records are encoded.
    fn dense_group(&mut self, rows: usize, columns: &mut [ColumnInput<'_>], page_size: u32) -> Result<DenseMeta> {
        let zones = Directory::zone_count(rows, self.zone_rows);
        let mut entries: Vec<ColumnEntries> = columns.iter().map(|_| ColumnEntries::default()).collect();
        for (number, start) in (0..rows).step_by(self.zone_rows).enumerate() {
            let (end, mut strings) = ((start + self.zone_rows).min(rows), 0);
            for (column, entries) in columns.iter_mut().zip(&mut entries) {
                column.zone(start..end, &mut strings, &mut self.zone)?;
                entries.add(column.encoder.zone_kind(), &self.zone, end - start);
                self.entries[column.place * zones + number] = zone_entry(self.offset, &self.zone);
            }
        }
        let metas: Vec<EntriesMeta> = columns.iter().map(ColumnInput::entries_meta).collect();
        let chosen = choose(&entries, &metas, page_size).map_err(Error::Internal)?;
        let (offset, mut table) = (self.offset, Vec::new());
        let compress = columns[0].page_packing.is_none();
        let path = self.path;
        let mut sink = |entry, page: &[u8]| {
            table.push(entry);
            self.put(page)
        };
        let last_page = match chosen.form.kind {
            EntryKind::Strings => write_strings(path, &chosen.form, &entries[0], compress, &mut sink)?,
            _ => write_pages(&chosen, &entries, &mut sink)?,
        } as u32;
        share_bytes(self.offset - offset, columns, |member| u64::from(chosen.fields[member].bits) * rows as u64 / 8);
        Ok(DenseMeta { page_size, fields: chosen.fields, pages: table.len() as u32, last_page, offset, table })
    }

    /// The keys to make filters of, hashed while the columns are still here, and the version of the format that these take.
    /// Records that are read into heap pages next need none.
    fn keys(&self, definition: &TableDefinition, batches: &[RecordBatch]) -> Result<(u32, Vec<KeyHashes>)> {
        if !self.rich || definition.design.heap.is_some() {
            return Ok((WITHOUT_FILTERS, Vec::new()));
        }
        let keys = KeyHashes::of_table(definition, batches)?;
        Ok((if keys.is_empty() { WITHOUT_FILTERS } else { WITH_FILTERS }, keys))
    }

    /// Writes the filters of keys that zone maps don't make needless.
    fn filters(&mut self, keys: Vec<KeyHashes>, columns: &[ColumnMeta], zones: usize) -> Result<Vec<FilterMeta>> {
        let mut filters = Vec::with_capacity(keys.len());
        for key in keys {
            let told = columns
                .iter()
                .zip(self.entries.chunks(zones.max(1)))
                .any(|(column, entries)| key.columns.contains(&column.column) && apart(column, entries));
            if !told {
                let (meta, bytes) = FilterMeta::build(key.columns, &key.hashes);
                self.put(&bytes)?;
                filters.push(meta);
            }
        }
        Ok(filters)
    }

    /// Writes one block; returns its entry.
    fn block(&mut self, column: &mut ColumnInput<'_>, zone: &ZoneValues) -> Result<BlockEntry> {
        let block = self.blocks.block(column.encoder.zone_kind(), zone, &mut column.codes_pay);
        let (header, payload) = block.map_err(Error::io("compressing", self.path))?;
        let length = payload.len() as u64;
        self.sink
            .write_all(&header)
            .and_then(|()| self.sink.write_all(payload))
            .map_err(Error::io("writing", self.path))?;
        let entry = BlockEntry {
            length: (BLOCK_HEADER as u64 + length) as u32,
            checksum: BlockHeader::checksum(&header),
            ..zone_entry(self.offset, zone)
        };
        self.offset += BLOCK_HEADER as u64 + length;
        column.stored_bytes += length;
        Ok(entry)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.sink.write_all(bytes).map_err(Error::io("writing", self.path))?;
        self.offset += bytes.len() as u64;
        Ok(())
    }
}

/// The block table's entry of a zone that has no block at `offset`.
fn zone_entry(offset: u64, zone: &ZoneValues) -> BlockEntry {
    BlockEntry {
        offset,
        length: 0,
        checksum: 0,
        min: zone.min,
        max: zone.max,
        nulls: zone.nulls as u32,
        string_bytes: zone.bytes.len() as u32,
    }
}

/// Shares the bytes of dense pages among their columns, by what each has of an entry, in bytes over all records, and its strings.
fn share_bytes(all: u64, columns: &mut [ColumnInput<'_>], fields: impl Fn(usize) -> u64) {
    let weights: Vec<u64> =
        columns.iter().enumerate().map(|(member, column)| fields(member) + column.string_bytes as u64).collect();
    let total = weights.iter().sum::<u64>();
    let mut rest = all;
    for (column, weight) in columns.iter_mut().zip(&weights).rev() {
        column.stored_bytes =
            rest.min((u128::from(all) * u128::from(*weight)).div_ceil(u128::from(total.max(1))) as u64);
        rest -= column.stored_bytes;
    }
    columns[0].stored_bytes += rest;
}

/// A column that is being written.
struct ColumnInput<'a> {
    /// Its place among the table's.
    place: usize,
    definition: &'a ColumnDefinition,
    packing: Packing,
    segment_bits: u16,
    page_packing: Option<PagePacking>,
    encoder: ColumnEncoder,
    codes_pay: bool,
    stored_bytes: u64,
    string_bytes: usize,
}

impl<'a> ColumnInput<'a> {
    fn new(
        place: usize,
        definition: &'a ColumnDefinition,
        choice: ColumnChoice,
        chunks: Vec<ArrayRef>,
        rich: bool,
    ) -> Result<Self> {
        let encoder = ColumnEncoder::new(&definition.name, &definition.logical_type, chunks, rich, choice)?;
        let coded = encoder.zone_kind() == ZoneKind::Codes;
        let asked = choice.by_name || choice.encoding == EncodingChoice::FrameOfReference;
        if asked
            && !coded
            && let Some((low, high)) = encoder.integers()
        {
            return Err(too_wide(definition, choice, low, high));
        }
        if choice.by_name && !coded && encoder.rows() > 0 {
            let (asked, instead) = choice.asked_packing();
            return Err(Error::Unsupported(format!(
                "column '{}' has values without codes of at most 64 bits, so it can't have packing {asked}; \
                 give it packing {instead}",
                definition.name
            )));
        }
        Ok(Self {
            place,
            definition,
            packing: if coded { choice.packing } else { Packing::Native },
            segment_bits: choice.segment_bits,
            page_packing: choice.page_packing,
            encoder,
            codes_pay: true,
            stored_bytes: 0,
            string_bytes: 0,
        })
    }

    /// Encodes some records into `zone`; `strings` are the bytes of strings that the group has of them so far.
    fn zone(&mut self, records: Range<usize>, strings: &mut usize, zone: &mut ZoneValues) -> Result<()> {
        let rows = records.len();
        self.encoder.zone(records, zone)?;
        *strings += zone.bytes.len();
        self.string_bytes += zone.bytes.len();
        if *strings > MAX_STRING_BYTES {
            return Err(Error::Unsupported(format!(
                "column '{}' has, with those of its group before it, {strings} bytes in {rows} consecutive records; at \
                 most 2 GiB can be stored",
                self.definition.name
            )));
        }
        Ok(())
    }

    /// Facts of its entries in dense pages, once all are encoded.
    fn entries_meta(&self) -> EntriesMeta {
        let code_bits = self.encoder.code_bits();
        let native = match self.encoder.zone_kind() {
            ZoneKind::Codes => Native::Codes { width: code_bytes(code_bits) },
            ZoneKind::Wide => Native::Wide,
            ZoneKind::Bytes => Native::Bytes { text: self.definition.logical_type != LogicalType::Binary },
        };
        EntriesMeta { native, code_bits, asked: self.page_packing }
    }
}

/// A column whose blocks are written.
struct WrittenColumn {
    place: usize,
    meta: ColumnMeta,
    /// Entries of its dictionary.
    entries: Option<ArrayRef>,
}

/// What the directory says of a group and its columns, once all blocks are written.
fn finish(
    (layout, dense): (Layout, Option<DenseMeta>),
    columns: Vec<ColumnInput<'_>>,
    rows: usize,
    zone_rows: usize,
) -> Result<(GroupMeta, Vec<WrittenColumn>)> {
    let packing = columns.first().map_or(Packing::Native, |column| column.packing);
    let segment_bits = columns.first().map_or(SEGMENT_BITS, |column| column.segment_bits);
    let places = columns.iter().map(|column| column.place).collect();
    let group = GroupMeta { columns: places, layout, packing, segment_bits, dense };
    let string_bytes: Vec<usize> = columns.iter().map(|column| column.string_bytes).collect();
    let mut written: Vec<WrittenColumn> = columns.into_iter().map(finish_column).collect();
    let natives: Vec<_> = written.iter().map(|column| (column.meta.native(), column.meta.code_bits)).collect();
    let form = Form::new(&group, &natives).map_err(|text| Error::invalid(SqlState::InvalidTableDefinition, text))?;
    for (member, column) in written.iter_mut().enumerate() {
        let zones = (0..rows).step_by(zone_rows).map(|start| (rows - start).min(zone_rows));
        let codes: usize = zones.map(|rows| form.share(member, rows)).sum();
        column.meta.native_bytes = (codes + string_bytes[member]) as u64;
    }
    Ok((group, written))
}

fn finish_column(column: ColumnInput<'_>) -> WrittenColumn {
    let encoding = column.encoder.encoding();
    let (statistics, code_bits, entries) = column.encoder.finish();
    let meta = ColumnMeta {
        column: column.definition.id,
        logical_type: column.definition.logical_type.clone(),
        encoding,
        code_bits,
        stored_bytes: column.stored_bytes,
        native_bytes: 0,
        statistics,
    };
    WrittenColumn { place: column.place, meta, entries }
}

/// Smallest and largest value of a column that may be wide.
fn range(meta: &ColumnMeta) -> Option<(ColumnId, i128, i128)> {
    match (&meta.statistics.min, &meta.statistics.max) {
        (Datum::Integer(low), Datum::Integer(high)) if may_be_wide(&meta.logical_type) => {
            Some((meta.column, *low, *high))
        }
        _ => None,
    }
}

/// The batches' columns, so that each can be freed on its own.
fn by_column(definition: &TableDefinition, batches: Vec<RecordBatch>) -> Result<Vec<Vec<ArrayRef>>> {
    let width = definition.columns.len();
    let mut columns: Vec<Vec<ArrayRef>> = (0..width).map(|_| Vec::with_capacity(batches.len())).collect();
    for batch in batches {
        if batch.num_columns() != width {
            return Err(Error::invalid(
                SqlState::InvalidParameterValue,
                format!("table '{}' has {width} columns, the records have {}", definition.name, batch.num_columns()),
            ));
        }
        for (column, array) in columns.iter_mut().zip(batch.columns()) {
            column.push(ArrayRef::clone(array));
        }
    }
    Ok(columns)
}
