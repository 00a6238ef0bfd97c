//! Reading a segment: open, verify, and give column views.

use crate::encoding::meta::Encoding;
use crate::io::ahead::AheadFile;
use crate::io::remote::chunks::TAIL;
use crate::io::remote::files::RemoteFile;
use crate::model::dictionary::DictionaryVersion;
use crate::model::page_packing::PagePacking;
use crate::model::view::{CodeMeaning, ColumnView, PhysicalLayout};
use crate::segment::cache::BlockCache;
use crate::segment::dense::resume::ResumePoints;
use crate::segment::directory::Directory;
use crate::segment::format::{HEADER, Header, TRAILER, Trailer};
use crate::segment::group::{Form, GroupMeta};
use crate::segment::joined::Joined;
use crate::segment::memo::ZoneMemo;
use crate::segment::meta::{ColumnMeta, SegmentId, ZoneMap};
use crate::segment::source::SegmentBytes;
use crate::{ColumnDefinition, ColumnId, Error, Result};
use arrow::array::Array;
use arrow::buffer::BooleanBuffer;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// An open segment. Holds its files open, so that they can be unlinked while readers use it.
#[derive(Debug)]
pub struct Segment {
    opened: Arc<Opened>,
    /// Where its columns lie, when its own file does not have all of them.
    joined: Option<Arc<Joined>>,
    dictionaries: BTreeMap<ColumnId, Arc<DictionaryVersion>>,
    /// The table that it is of, for errors.
    table: Option<Arc<str>>,
}

/// An open file or image: what segments with different dictionary versions share.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(super) id: SegmentId,
    /// Number of this opening within the process, by which the cache knows its columns.
    pub(super) key: u64,
    pub(super) place: String,
    pub(super) source: SegmentBytes,
    length: u64,
    delta: bool,
    pub(super) directory: Directory,
    /// How the groups lie in memory.
    pub(super) forms: Vec<Form>,
    /// For each column its group and its place there.
    pub(super) members: Vec<(usize, usize)>,
    /// For each group the number of its first region in the cache, and behind the last how many there are.
    pub(super) regions: Vec<usize>,
    /// Where delta-coded pages may be read on.
    pub(super) resume: ResumePoints,
    pub(super) cache: Arc<BlockCache>,
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
        Self::of_opened(Arc::new(opened), dictionaries)
    }

    /// Opens a segment that lies elsewhere, as [`Self::open`] does.
    pub(crate) fn open_remote(
        file: Arc<RemoteFile>,
        id: SegmentId,
        directory_checksum: u32,
        dictionaries: BTreeMap<ColumnId, Arc<DictionaryVersion>>,
        cache: Arc<BlockCache>,
    ) -> Result<Self> {
        let place = file.place();
        let opened = Opened::new(SegmentBytes::Remote(file), id, place, Some(directory_checksum), cache)?;
        Self::of_opened(Arc::new(opened), dictionaries)
    }

    /// A file that is open as a segment with these dictionaries.
    pub(crate) fn of_opened(
        opened: Arc<Opened>,
        dictionaries: BTreeMap<ColumnId, Arc<DictionaryVersion>>,
    ) -> Result<Self> {
        let segment = Self { opened, joined: None, dictionaries, table: None };
        segment.verify_dictionaries()?;
        Ok(segment)
    }

    /// Its own file, as those share it that open it.
    pub(crate) fn opened(&self) -> &Arc<Opened> {
        &self.opened
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
        Some(Self { opened, joined: None, dictionaries: BTreeMap::new(), table: None })
    }

    /// The columns that lie in its own file.
    pub(crate) fn own_columns(&self) -> impl Iterator<Item = ColumnId> {
        self.opened.directory.columns.iter().map(|meta| meta.column)
    }

    /// Opens a delta image. `place` names it in errors ("delta block 3 of table t").
    pub fn from_image(image: Arc<[u8]>, id: SegmentId, place: &str, cache: Arc<BlockCache>) -> Result<Self> {
        let opened = Opened::new(SegmentBytes::Image(image), id, place.to_owned(), None, cache)?;
        Ok(Self { opened: Arc::new(opened), joined: None, dictionaries: BTreeMap::new(), table: None })
    }

    /// This open segment with other dictionary versions (their arrays to the newest change when the union grows); shares the file
    /// and the cached blocks.
    pub fn with_dictionaries(&self, dictionaries: BTreeMap<ColumnId, Arc<DictionaryVersion>>) -> Self {
        Self { opened: Arc::clone(&self.opened), joined: self.joined.clone(), dictionaries, table: self.table.clone() }
    }

    /// This segment as one of `table`, which is what errors of reading it say.
    pub(crate) fn of_table(self, table: &Arc<str>) -> Self {
        Self { table: Some(Arc::clone(table)), ..self }
    }

    /// The table that it is of, where that was told.
    pub(crate) fn table(&self) -> Option<&Arc<str>> {
        self.table.as_ref()
    }

    /// An error of reading it, with the name of its table.
    pub(super) fn failed(&self, error: Error) -> Error {
        match &self.table {
            Some(table) => error.of_table(table),
            None => error,
        }
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

    /// Bytes that a zone of a column takes when it is decoded alone; 0 of a column that the segment does not have.
    pub(crate) fn native_bytes(&self, column: ColumnId, zone: usize) -> usize {
        let Some(place) = self.place_of(column) else { return 0 };
        let (file, within) = self.source(place);
        let strings = file.directory.block(within, zone).string_bytes as usize;
        self.columns()[place].native().length(self.zone_rows(zone).len()) + strings
    }

    /// Where the bytes of a zone of a column lie: the number of the file's opening, offset and length; `None` of a column that has none.
    pub(crate) fn span(&self, column: ColumnId, zone: usize) -> Option<(u64, u64, usize)> {
        let (file, within) = self.source(self.place_of(column)?);
        let (offset, length) = file.span(within, zone);
        Some((file.key, offset, length))
    }

    /// Whether a file of it lies elsewhere.
    pub(crate) fn is_remote(&self) -> bool {
        self.files().iter().any(|file| file.source.remote().is_some())
    }

    /// What has to come from elsewhere before a zone of a column can be loaded: file, offset and length.
    pub(crate) fn unread(&self, column: ColumnId, zone: usize) -> Option<(Arc<RemoteFile>, u64, usize)> {
        let (file, within) = self.source(self.place_of(column)?);
        let remote = file.source.remote()?;
        let (offset, length) = file.unread(within, zone)?;
        Some((Arc::clone(remote), offset, length))
    }

    /// The segment's files, opened to be read past the system's cache, by the number of their opening, with their names. An image has none.
    pub(crate) fn direct_files(&self) -> Result<Vec<(u64, AheadFile)>> {
        let mut files = Vec::new();
        for file in self.files() {
            if let Some((direct, path)) = file.source.direct().map_err(|error| self.failed(error))? {
                let place = match &self.table {
                    Some(table) => format!("table '{table}', {}", path.display()),
                    None => path.display().to_string(),
                };
                files.push((file.key, AheadFile { file: Arc::new(direct), place }));
            }
        }
        Ok(files)
    }

    /// The packing of a column in dense pages; `None` when it lies in none.
    pub fn page_packing(&self, column: ColumnId) -> Option<PagePacking> {
        let (file, within) = self.source(self.place_of(column)?);
        let (group, member) = file.members[within];
        Some(file.directory.groups[group].dense.as_ref()?.fields[member].packing)
    }

    /// The file and the group of its dense pages that a column lies in; `None` when it lies in none.
    pub(crate) fn dense_group(&self, column: ColumnId) -> Option<(Arc<Opened>, usize)> {
        let (file, within) = self.source(self.place_of(column)?);
        let (group, _) = file.members[within];
        file.directory.groups[group].dense.as_ref()?;
        Some((Arc::clone(file), group))
    }

    /// The number of the dense page that has a record of a zone, and the record's place among the page's; `None` when the column
    /// lies in none.
    pub fn dense_page(&self, column: ColumnId, zone: usize, tid: usize) -> Option<(usize, usize)> {
        let (file, within) = self.source(self.place_of(column)?);
        let dense = file.directory.groups[file.members[within].0].dense.as_ref()?;
        let record = self.zone_rows(zone).start + tid;
        let page = dense.pages_of(&(record..record + 1)).start;
        Some((page, record - dense.table.get(page)?.first as usize))
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
            return Err(self.failed(Error::corrupt(&file.place, detail)));
        }
        let meaning = self.meaning(meta, &definition.name).map_err(|error| self.failed(error))?;
        let loaded = file.load(within, zone, &definition.name, memo);
        let (shape, validity) = loaded.map_err(|error| self.failed(error))?;
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
    pub(super) fn source(&self, place: usize) -> (&Arc<Opened>, usize) {
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
        let delta = directory_checksum.is_none();
        // One that lies elsewhere has the name of its content, and was verified when it was put there: a request less.
        if source.remote().is_none() {
            let start = source.read(0, HEADER)?;
            let header = start.first_chunk().ok_or("no header".to_owned()).and_then(Header::parse).map_err(corrupt)?;
            if header.segment != id || header.delta != delta {
                return Err(corrupt(format!("this is segment {} where {id} is expected", header.segment)));
            }
        }
        let directory = read_directory(&source, length, &place).and_then(|(trailer, bytes)| {
            if directory_checksum.is_some_and(|expected| expected != trailer.checksum) {
                return Err(corrupt("directory: not the one that the catalog names".into()));
            }
            Directory::parse(&bytes, trailer.offset).map_err(corrupt)
        });
        let directory = directory.inspect_err(|_| {
            let tail = length.min(TAIL);
            source.is_damaged(length - tail, tail as usize);
        })?;
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
        let (key, resume) = (OPENED.fetch_add(1, Ordering::Relaxed), ResumePoints::default());
        Ok(Self { id, key, place, source, length, delta, directory, forms, members, regions, resume, cache })
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
