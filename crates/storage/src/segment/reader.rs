//! Reading a segment: open, verify, and give column views.

use crate::encoding::meta::Encoding;
use crate::model::dictionary::DictionaryVersion;
use crate::model::page_packing::PagePacking;
use crate::model::view::{CodeMeaning, ColumnView, PhysicalLayout};
use crate::segment::cache::BlockCache;
use crate::segment::decode::{Expected, decode};
use crate::segment::dense::read::{ZoneMemo, ZonePages, span};
use crate::segment::directory::Directory;
use crate::segment::format::{HEADER, Header, TRAILER, Trailer};
use crate::segment::group::{Form, GroupMeta};
use crate::segment::joined::Joined;
use crate::segment::meta::{ColumnMeta, SegmentId, ZoneMap};
use crate::segment::region::{ZoneParts, ZonedRegion};
use crate::segment::scratch;
use crate::segment::source::SegmentBytes;
use crate::{ColumnDefinition, ColumnId, Error, Result};
use arrow::array::Array;
use arrow::buffer::{BooleanBuffer, Buffer};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes read from the end of a file at first: in most files the whole directory.
const TAIL: u64 = 16 << 10;

/// An open segment. Holds its files open, so that they can be unlinked while readers use it.
#[derive(Debug)]
pub struct Segment {
    opened: Arc<Opened>,
    /// Where its columns lie, when its own file does not have all of them.
    joined: Option<Arc<Joined>>,
    dictionaries: BTreeMap<ColumnId, Arc<DictionaryVersion>>,
}

/// An open file or image: what segments with different dictionary versions share.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) id: SegmentId,
    /// Number of this opening within the process, by which the cache knows its columns.
    key: u64,
    pub(super) place: String,
    pub(super) source: SegmentBytes,
    length: u64,
    delta: bool,
    pub(super) directory: Directory,
    /// How the groups lie in memory.
    forms: Vec<Form>,
    /// For each column its group and its place there.
    members: Vec<(usize, usize)>,
    /// For each group the number of its first region in the cache, and behind the last how many there are.
    regions: Vec<usize>,
    cache: Arc<BlockCache>,
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.cache.forget(self.key, self.regions.last().copied().unwrap_or(0));
    }
}

impl Segment {
    /// Opens the segment file `path` and verifies magic, version, directory checksum (against `directory_checksum` of
    /// the catalog) and length. `dictionaries` has, per dictionary-encoded column, the version that the catalog names.
    pub fn open(
        path: &Path,
        id: SegmentId,
        directory_checksum: u32,
        dictionaries: BTreeMap<ColumnId, Arc<DictionaryVersion>>,
        cache: Arc<BlockCache>,
    ) -> Result<Self> {
        let place = path.display().to_string();
        let opened = Opened::new(SegmentBytes::open(path)?, id, place, Some(directory_checksum), cache)?;
        let segment = Self { opened: Arc::new(opened), joined: None, dictionaries };
        segment.verify_dictionaries()?;
        Ok(segment)
    }

    /// This segment with more columns: from each of some files, which have the same records, those that are named.
    pub(crate) fn join(self, others: Vec<(Self, Vec<ColumnId>)>) -> Result<Self> {
        let others: Vec<_> = others.into_iter().map(|(file, columns)| (file.opened, columns)).collect();
        let joined = Some(Arc::new(Joined::new(&self.opened, &others)?));
        let segment = Self { joined, ..self };
        segment.verify_dictionaries()?;
        Ok(segment)
    }

    /// One of the files that its columns lie in, as a segment without dictionaries.
    pub(crate) fn file(&self, id: SegmentId) -> Option<Self> {
        let opened = Arc::clone(self.files().iter().find(|file| file.id == id)?);
        Some(Self { opened, joined: None, dictionaries: BTreeMap::new() })
    }

    /// The columns that lie in its own file.
    pub(crate) fn own_columns(&self) -> impl Iterator<Item = ColumnId> {
        self.opened.directory.columns.iter().map(|meta| meta.column)
    }

    /// Opens a delta image. `place` names it in errors ("delta block 3 of table t").
    pub fn from_image(image: Arc<[u8]>, id: SegmentId, place: &str, cache: Arc<BlockCache>) -> Result<Self> {
        let opened = Opened::new(SegmentBytes::Image(image), id, place.to_owned(), None, cache)?;
        Ok(Self { opened: Arc::new(opened), joined: None, dictionaries: BTreeMap::new() })
    }

    /// This open segment with other dictionary versions (their arrays to the newest change when the union grows); shares the file
    /// and the cached blocks.
    pub fn with_dictionaries(&self, dictionaries: BTreeMap<ColumnId, Arc<DictionaryVersion>>) -> Self {
        Self { opened: Arc::clone(&self.opened), joined: self.joined.clone(), dictionaries }
    }

    /// The cache of its blocks.
    pub(crate) fn cache(&self) -> &Arc<BlockCache> {
        &self.opened.cache
    }

    /// Its number.
    pub fn id(&self) -> SegmentId {
        self.opened.id
    }

    /// Records.
    pub fn rows(&self) -> usize {
        self.opened.directory.rows
    }

    /// Records of a zone but the last.
    pub(crate) fn full_zone(&self) -> usize {
        self.opened.directory.zone_rows
    }

    /// Length of the files or the image in bytes.
    pub fn bytes(&self) -> u64 {
        self.files().iter().map(|file| file.length).sum()
    }

    /// True for a delta image.
    pub fn is_delta(&self) -> bool {
        self.opened.delta
    }

    /// Columns that the segment has.
    pub fn columns(&self) -> &[ColumnMeta] {
        match &self.joined {
            Some(joined) => &joined.columns,
            None => &self.opened.directory.columns,
        }
    }

    /// One of them; `None` for a column added later.
    pub fn column(&self, column: ColumnId) -> Option<&ColumnMeta> {
        self.columns().iter().find(|meta| meta.column == column)
    }

    /// The column groups, in the order in which they lie in the files. Each column is in one.
    pub fn groups(&self) -> &[GroupMeta] {
        match &self.joined {
            Some(joined) => &joined.groups,
            None => &self.opened.directory.groups,
        }
    }

    /// The group of a column; `None` for a column added later.
    pub fn group_of(&self, column: ColumnId) -> Option<&GroupMeta> {
        let place = self.place_of(column)?;
        self.groups().iter().find(|group| group.columns.contains(&place))
    }

    /// How a column is packed in dense pages; `None` when it lies in none.
    pub fn page_packing(&self, column: ColumnId) -> Option<PagePacking> {
        let (file, within) = self.source(self.place_of(column)?);
        let (group, member) = file.members[within];
        Some(file.directory.groups[group].dense.as_ref()?.fields[member].packing)
    }

    /// The dictionary version that a column's codes refer to.
    pub fn dictionary(&self, column: ColumnId) -> Option<&Arc<DictionaryVersion>> {
        self.dictionaries.get(&column)
    }

    /// Number of zones.
    pub fn zones(&self) -> usize {
        self.opened.directory.zones()
    }

    /// Records of a zone.
    pub fn zone_rows(&self, zone: usize) -> Range<usize> {
        self.opened.directory.zone(zone)
    }

    /// Zone map of a column, without reading its blocks; `None` for a column added later.
    pub fn zone_map(&self, column: ColumnId, zone: usize) -> Option<ZoneMap> {
        let place = self.place_of(column)?;
        let (file, within) = self.source(place);
        let block = file.directory.block(within, zone);
        let coded = self.columns()[place].encoding != Encoding::Plain;
        Some(ZoneMap { min: block.min, max: block.max, nulls: block.nulls, coded })
    }

    /// The column's values in a zone; loads and verifies its blocks when they are not in the cache. A column that the
    /// segment does not have is the constant `definition.initial`.
    pub fn view(&self, definition: &ColumnDefinition, zone: usize) -> Result<ColumnView> {
        self.view_with(definition, zone, &ZoneMemo::default())
    }

    /// [`Self::view`] for a reader of several columns of the zone: what `memo` has of pages that they share is not read again.
    pub(crate) fn view_with<'a>(
        &'a self,
        definition: &ColumnDefinition,
        zone: usize,
        memo: &ZoneMemo<'a>,
    ) -> Result<ColumnView> {
        let rows = self.zone_rows(zone).len();
        let logical_type = definition.logical_type.clone();
        let Some(place) = self.place_of(definition.id) else {
            let validity = definition.initial.is_null().then(|| BooleanBuffer::new_unset(rows));
            let shape = PhysicalLayout::Constant(definition.initial.clone());
            return Ok(ColumnView { rows, logical_type, validity, shape, meaning: CodeMeaning::Value });
        };
        let (meta, (file, within)) = (&self.columns()[place], self.source(place));
        if meta.logical_type.to_arrow() != logical_type.to_arrow() {
            let detail =
                format!("column '{}' is {} here and {logical_type} in the table", definition.name, meta.logical_type);
            return Err(Error::corrupt(&file.place, detail));
        }
        let meaning = self.meaning(meta, &definition.name)?;
        let (shape, validity) = file.load(within, zone, &definition.name, memo)?;
        Ok(ColumnView { rows, logical_type, validity, shape, meaning })
    }

    /// Reads every block of its files past the cache and verifies checksums, bounds and zone maps, and that filters of keys are
    /// those of the records; one error per damaged block or filter.
    pub fn check(&self) -> Vec<Error> {
        let mut errors = Vec::new();
        for file in self.files() {
            for zone in 0..self.zones() {
                let memo = ZoneMemo::default();
                for place in 0..file.directory.columns.len() {
                    errors.extend(file.load_alone(place, zone, None, &memo).err());
                }
            }
        }
        if errors.is_empty() {
            errors = self.check_filters();
        }
        errors
    }

    /// Entries of the block table.
    #[cfg(test)]
    pub(crate) fn blocks(&self) -> &[crate::segment::format::BlockEntry] {
        &self.opened.directory.blocks
    }

    pub(super) fn files(&self) -> &[Arc<Opened>] {
        match &self.joined {
            Some(joined) => &joined.files,
            None => slice::from_ref(&self.opened),
        }
    }

    /// The file of a column and its place there, by its place among the segment's.
    pub(super) fn source(&self, place: usize) -> (&Opened, usize) {
        match &self.joined {
            Some(joined) => {
                let (file, place) = joined.sources[place];
                (&joined.files[file], place)
            }
            None => (&self.opened, place),
        }
    }

    pub(super) fn place_of(&self, column: ColumnId) -> Option<usize> {
        self.columns().iter().position(|meta| meta.column == column)
    }

    fn meaning(&self, meta: &ColumnMeta, name: &str) -> Result<CodeMeaning> {
        Ok(match meta.encoding {
            Encoding::FrameOfReference { base } => CodeMeaning::FrameOfReference { base },
            Encoding::ScaledFloat { base, digits } => CodeMeaning::ScaledFloat { base, digits },
            Encoding::FloatOrder { base } => CodeMeaning::FloatOrder { base },
            Encoding::Plain => CodeMeaning::Value,
            Encoding::Dictionary => match self.dictionaries.get(&meta.column) {
                Some(version) => CodeMeaning::Dictionary(Arc::clone(version)),
                None => {
                    let detail = format!("column '{name}' is coded by a dictionary that the catalog does not have");
                    return Err(Error::corrupt(&self.opened.place, detail));
                }
            },
        })
    }

    /// Codes stay below the number of entries of the version they refer to.
    fn verify_dictionaries(&self) -> Result<()> {
        for (place, meta) in self.columns().iter().enumerate() {
            let Some(version) = self.dictionaries.get(&meta.column) else { continue };
            if meta.encoding != Encoding::Dictionary {
                continue;
            }
            let (file, within) = self.source(place);
            for zone in 0..self.zones() {
                let (largest, entries) = (file.directory.block(within, zone).max, version.entries.len());
                if largest >= entries as u64 {
                    let detail = format!(
                        "column {} zone {zone}: code {largest} in a dictionary of {entries} entries (version {})",
                        meta.column, version.version
                    );
                    return Err(Error::corrupt(&file.place, detail));
                }
            }
        }
        Ok(())
    }
}

impl Opened {
    fn new(
        source: SegmentBytes,
        id: SegmentId,
        place: String,
        directory_checksum: Option<u32>,
        cache: Arc<BlockCache>,
    ) -> Result<Self> {
        static OPENED: AtomicU64 = AtomicU64::new(0);
        let corrupt = |detail: String| Error::corrupt(&place, detail);
        let length = source.length()?;
        if length < (HEADER + TRAILER) as u64 {
            return Err(corrupt(format!("{length} bytes are no segment: it is cut off")));
        }
        let start = source.read(0, HEADER)?;
        let header = start.first_chunk().ok_or("no header".to_owned()).and_then(Header::parse).map_err(corrupt)?;
        if header.segment != id || header.delta != directory_checksum.is_none() {
            return Err(corrupt(format!("this is segment {} where {id} is expected", header.segment)));
        }
        let (trailer, bytes) = read_directory(&source, length, &place)?;
        if directory_checksum.is_some_and(|expected| expected != trailer.checksum) {
            return Err(corrupt("directory: not the one that the catalog names".into()));
        }
        let directory = Directory::parse(&bytes, trailer.offset).map_err(corrupt)?;
        let forms = directory.forms().map_err(corrupt)?;
        let mut members = vec![(0, 0); directory.columns.len()];
        for (number, group) in directory.groups.iter().enumerate() {
            group.columns.iter().enumerate().for_each(|(member, place)| members[*place] = (number, member));
        }
        let mut regions = vec![0];
        regions.extend(forms.iter().scan(0, |all, form| {
            *all += form.regions();
            Some(*all)
        }));
        let key = OPENED.fetch_add(1, Ordering::Relaxed);
        Ok(Self { id, key, place, source, length, delta: header.delta, directory, forms, members, regions, cache })
    }

    /// A zone of a column: as its group lies, in the cache, or the column alone when the budget has no room. `name` is
    /// the column's, for errors.
    fn load<'a>(
        &'a self,
        place: usize,
        zone: usize,
        name: &str,
        memo: &ZoneMemo<'a>,
    ) -> Result<(PhysicalLayout, Option<BooleanBuffer>)> {
        let (group, member) = self.members[place];
        let form = &self.forms[group];
        let region = if form.regions() > 1 { member } else { 0 };
        let Some(memory) = self.cache.group((self.key, self.regions[group] + region), || self.parts(group, region))?
        else {
            let (codes, bytes, validity) = self.load_alone(place, zone, Some(name), memo)?;
            return Ok((self.directory.columns[place].native().shape(codes, bytes), validity));
        };
        memory.fill(zone, |codes, bytes| match form {
            Form::Dense(_) => Ok(vec![self.decode_dense(place, zone, Some(name), memo, codes, bytes)?]),
            _ => self.fill(group, zone, (place, name), codes, bytes),
        })?;
        let Some((codes, bytes, validity)) = memory.buffers(zone) else {
            return Err(Error::corrupt(&self.place, "a block was lost while it was read"));
        };
        let rows = self.directory.zone(zone).len();
        let validity = if let Form::Dense(_) = form { &validity[0] } else { &validity[member] };
        Ok((form.shape(member, rows, codes, bytes), validity.clone()))
    }

    /// Where the zones of a group lie in one of its regions.
    fn parts(&self, group: usize, region: usize) -> Vec<ZoneParts> {
        let (form, members) = (&self.forms[group], &self.directory.groups[group].columns);
        let members = if form.regions() > 1 { &members[region..=region] } else { members };
        let (mut codes, mut bytes) = (0, 0);
        (0..self.directory.zones())
            .map(|zone| {
                let start = (codes, bytes);
                codes += form.length(region, self.directory.zone(zone).len());
                let strings = |place: &usize| self.directory.block(*place, zone).string_bytes as usize;
                bytes += members.iter().map(strings).sum::<usize>();
                ZoneParts { codes: start.0..codes, bytes: start.1..bytes }
            })
            .collect()
    }

    /// Reads, verifies and lays out a zone of a group: its blocks lie one behind the other. `named` is a column's place
    /// and its name in errors.
    fn fill(
        &self,
        group: usize,
        zone: usize,
        named: (usize, &str),
        codes: &mut [u8],
        bytes: &mut [u8],
    ) -> Result<Vec<Option<BooleanBuffer>>> {
        let columns = &self.directory.groups[group].columns;
        let name = |place: usize| Some(named.1).filter(|_| place == named.0);
        let blocks = || columns.iter().map(|place| self.directory.block(*place, zone));
        let offset = blocks().map(|block| block.offset).min().unwrap_or_default();
        let read = self.source.read(offset, blocks().map(|block| block.length as usize).sum())?;
        if let Form::Alone(_) = self.forms[group] {
            return Ok(vec![self.decode(columns[0], zone, name(columns[0]), &read, codes, bytes)?]);
        }
        let rows = self.directory.zone(zone).len();
        let lengths = |place: &usize| {
            let strings = self.directory.block(*place, zone).string_bytes as usize;
            (self.directory.columns[*place].native().length(rows), strings)
        };
        let lengths: Vec<(usize, usize)> = columns.iter().map(lengths).collect();
        scratch::with_columns(&lengths, |natives| {
            let mut validity = Vec::with_capacity(columns.len());
            for (place, (codes, bytes)) in columns.iter().zip(&mut *natives) {
                let entry = self.directory.block(*place, zone);
                let block = &read[(entry.offset - offset) as usize..][..entry.length as usize];
                validity.push(self.decode(*place, zone, name(*place), block, codes, bytes)?);
            }
            self.forms[group].lay_out(rows, natives, codes, bytes);
            Ok(validity)
        })
    }

    /// Reads a zone of one column past the cache, native, into memory of its own.
    fn load_alone<'a>(
        &'a self,
        place: usize,
        zone: usize,
        name: Option<&str>,
        memo: &ZoneMemo<'a>,
    ) -> Result<(Buffer, Buffer, Option<BooleanBuffer>)> {
        let entry = self.directory.block(place, zone);
        let rows = self.directory.zone(zone).len();
        let codes = 0..self.directory.columns[place].native().length(rows);
        let parts = ZoneParts { codes, bytes: 0..entry.string_bytes as usize };
        let memory = Arc::new(ZonedRegion::new(vec![parts], None)?);
        memory.fill(0, |codes, bytes| match self.forms[self.members[place].0] {
            Form::Dense(_) => self.decode_dense(place, zone, name, memo, codes, bytes),
            _ => {
                let block = self.source.read(entry.offset, entry.length as usize)?;
                self.decode(place, zone, name, &block, codes, bytes)
            }
        })?;
        match memory.buffers(0) {
            Some((codes, bytes, validity)) => Ok((codes, bytes, validity.clone())),
            None => Err(Error::corrupt(&self.place, "a block was lost while it was read")),
        }
    }

    /// Verifies and decodes a zone of a column that lies in dense pages.
    fn decode_dense<'a>(
        &'a self,
        place: usize,
        zone: usize,
        name: Option<&str>,
        memo: &ZoneMemo<'a>,
        codes: &mut [u8],
        bytes: &mut [u8],
    ) -> Result<Option<BooleanBuffer>> {
        let (group, member) = self.members[place];
        let (Form::Dense(form), Some(meta)) = (&self.forms[group], &self.directory.groups[group].dense) else {
            return Err(Error::Internal(format!("group {group} has no dense pages")));
        };
        let records = self.directory.zone(zone);
        let read = || {
            let (offset, length) = span(meta, &records);
            let buffer = self.source.read(offset, length)?;
            ZonePages::parse((meta, form), records, self.directory.rows, buffer)
                .map_err(|detail| Error::corrupt(&self.place, detail))
        };
        let entry = self.directory.block(place, zone);
        let decoded = match form.fields.len() {
            1 => read()?.decode(member, entry, codes, bytes),
            _ => memo.pages((self.key, group), read)?.decode(member, entry, codes, bytes),
        };
        decoded.map_err(|detail| {
            Error::corrupt(&self.place, format!("{} zone {zone}: {detail}", self.column_text(place, name)))
        })
    }

    /// A column in errors.
    fn column_text(&self, place: usize, name: Option<&str>) -> String {
        let number = self.directory.columns[place].column;
        name.map_or_else(|| format!("column {number}"), |name| format!("column '{name}'"))
    }

    /// Verifies and decodes one block, given its column's name where that is known.
    fn decode(
        &self,
        place: usize,
        zone: usize,
        name: Option<&str>,
        block: &[u8],
        codes: &mut [u8],
        bytes: &mut [u8],
    ) -> Result<Option<BooleanBuffer>> {
        let (entry, meta) = (*self.directory.block(place, zone), &self.directory.columns[place]);
        let expected = Expected { rows: self.directory.zone(zone).len(), native: meta.native(), entry };
        decode(block, &expected, codes, bytes).map_err(|detail| {
            let column = self.column_text(place, name);
            Error::corrupt(&self.place, format!("{column} zone {zone} (at byte {}): {detail}", entry.offset))
        })
    }
}

/// Trailer and directory of a segment of `length` bytes; the directory's checksum holds.
fn read_directory(source: &SegmentBytes, length: u64, place: &str) -> Result<(Trailer, Vec<u8>)> {
    let corrupt = |detail: String| Error::corrupt(place, detail);
    let tail_start = length.saturating_sub(TAIL);
    let tail = source.read(tail_start, (length - tail_start) as usize)?;
    let trailer = tail.last_chunk().ok_or("no trailer".to_owned()).and_then(Trailer::parse).map_err(corrupt)?;
    let end = length - TRAILER as u64;
    if trailer.offset < HEADER as u64 || trailer.offset.checked_add(trailer.length.into()) != Some(end) {
        return Err(corrupt(format!(
            "the directory is {} bytes at {} where it must end at {end}: the file is cut off or too long",
            trailer.length, trailer.offset
        )));
    }
    let bytes = match trailer.offset.checked_sub(tail_start) {
        Some(start) => tail[start as usize..tail.len() - TRAILER].to_vec(),
        None => source.read(trailer.offset, trailer.length as usize)?.into_owned(),
    };
    let found = crc32c::crc32c(&bytes);
    if found != trailer.checksum {
        return Err(corrupt(format!("directory: checksum is {found:08x} where {:08x} was written", trailer.checksum)));
    }
    Ok((trailer, bytes))
}
