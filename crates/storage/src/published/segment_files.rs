//! Where a snapshot's segment files are opened: in the database's folder, or as the manifest of a published database names them.
//!
//! A published file that is open already is not opened again when a newer manifest names it too: what is cached of it stays of use.

use crate::io::remote::files::{RemoteFile, RemoteFiles};
use crate::lmdb::folder;
use crate::model::dictionary::DictionaryVersion;
use crate::published::manifest::{Manifest, PublishedSegment};
use crate::segment::SegmentId;
use crate::segment::cache::BlockCache;
use crate::segment::reader::{Opened, Segment};
use crate::{ColumnId, Error, Result, TableId};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};

/// Where segment files are opened.
#[derive(Debug)]
pub(crate) enum SegmentFiles {
    /// Under the database's folder.
    Folder(PathBuf),
    /// As a manifest says: that which belongs to the catalog of a number, of the last few.
    Published(RwLock<VecDeque<(u64, Arc<PublishedFiles>)>>),
}

/// Manifests that may be read while a newer one is: by who has begun before.
const MANIFESTS: usize = 4;

/// The segment files of one manifest.
#[derive(Debug)]
pub struct PublishedFiles {
    files: Arc<RemoteFiles>,
    segments: HashMap<(TableId, SegmentId), PublishedSegment>,
    /// Those that are open, by the names of their objects, of earlier manifests too.
    opened: Arc<Mutex<HashMap<String, Weak<Opened>>>>,
    /// Those whose ends are read ahead, and which nobody has opened since.
    begun: Mutex<HashMap<String, Arc<RemoteFile>>>,
}

impl PublishedFiles {
    /// Those of `manifest`, read by `files`.
    pub fn new(files: Arc<RemoteFiles>, manifest: &Manifest) -> Self {
        Self { segments: by_number(manifest), files, opened: Arc::default(), begun: Mutex::default() }
    }

    /// Those of another manifest of the same database.
    pub(crate) fn of(&self, manifest: &Manifest) -> Self {
        let (files, opened) = (Arc::clone(&self.files), Arc::clone(&self.opened));
        Self { segments: by_number(manifest), files, opened, begun: Mutex::default() }
    }

    /// Who reads them.
    pub(crate) fn remote(&self) -> &Arc<RemoteFiles> {
        &self.files
    }

    /// The object of a segment file.
    fn named(&self, table: TableId, segment: SegmentId) -> Result<&PublishedSegment> {
        self.segments.get(&(table, segment)).ok_or_else(|| {
            let name = format!("segments/{table}/{segment}");
            Error::corrupt(self.files.place(&name), "the manifest names no such segment file")
        })
    }

    /// The file, when it is open.
    fn open_already(&self, name: &str) -> Option<Arc<Opened>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).get(name)?.upgrade()
    }

    /// Reads the ends of all files that are not open, several at once: what opening them needs.
    pub(crate) fn read_ends_ahead(&self) {
        let closed = self.segments.values().filter(|segment| self.open_already(&segment.name()).is_none());
        for segment in closed {
            let file = self.files.file(segment.name(), segment.length);
            file.read_end_ahead();
            self.begun().insert(segment.name(), file);
        }
    }

    /// Forgets the ends of files that nobody has opened.
    pub(crate) fn forget_ends(&self) {
        let unused = std::mem::take(&mut *self.begun());
        drop(unused);
    }

    fn begun(&self) -> MutexGuard<'_, HashMap<String, Arc<RemoteFile>>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(
        &self,
        (table, id): (TableId, SegmentId),
        directory_checksum: u32,
        dictionaries: BTreeMap<ColumnId, Arc<DictionaryVersion>>,
        cache: Arc<BlockCache>,
    ) -> Result<Segment> {
        let published = self.named(table, id)?;
        let name = published.name();
        if let Some(opened) = self.open_already(&name) {
            return Segment::of_opened(opened, dictionaries);
        }
        let begun = self.begun().remove(&name);
        let file = begun.unwrap_or_else(|| self.files.file(name.clone(), published.length));
        let segment = Segment::open_remote(file, id, directory_checksum, dictionaries, cache)?;
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        opened.retain(|_, known| known.strong_count() > 0);
        opened.insert(name, Arc::downgrade(segment.opened()));
        Ok(segment)
    }
}

fn by_number(manifest: &Manifest) -> HashMap<(TableId, SegmentId), PublishedSegment> {
    manifest.segments.iter().map(|segment| ((segment.table, segment.segment), *segment)).collect()
}

impl SegmentFiles {
    /// Those of a published database, whose catalog has that number.
    pub(crate) fn of_published(catalog: u64, files: PublishedFiles) -> Self {
        Self::Published(RwLock::new(VecDeque::from([(catalog, Arc::new(files))])))
    }

    /// Whether they lie in the database's folder.
    pub(crate) fn is_folder(&self) -> bool {
        matches!(self, Self::Folder(_))
    }

    /// What messages call the database whose folder is `path`.
    pub(crate) fn place(&self, path: &Path) -> String {
        let newest = match self {
            Self::Folder(_) => None,
            Self::Published(known) => known.read().unwrap_or_else(PoisonError::into_inner).back().cloned(),
        };
        newest.map_or_else(
            || path.display().to_string(),
            |(_, files)| files.files.place("").trim_end_matches('/').to_owned(),
        )
    }

    /// What a segment file is called, for errors; of a published one that is no path to look at.
    pub(crate) fn path(&self, catalog: u64, table: TableId, segment: SegmentId) -> PathBuf {
        match self {
            Self::Folder(database) => folder::segment_file(database, table, segment),
            Self::Published(_) => match self.published(catalog) {
                Ok(files) => {
                    let name = files.named(table, segment).map(PublishedSegment::name);
                    PathBuf::from(files.files.place(&name.unwrap_or_else(|_| format!("segments/{table}/{segment}"))))
                }
                Err(_) => PathBuf::from(format!("segments/{table}/{segment}")),
            },
        }
    }

    /// Opens one that the catalog of a number names, and verifies its directory against the checksum that is there.
    pub(crate) fn open(
        &self,
        catalog: u64,
        (table, id): (TableId, SegmentId),
        directory_checksum: u32,
        dictionaries: BTreeMap<ColumnId, Arc<DictionaryVersion>>,
        cache: Arc<BlockCache>,
    ) -> Result<Segment> {
        match self {
            Self::Folder(database) => {
                let path = folder::segment_file(database, table, id);
                Segment::open(&path, id, directory_checksum, dictionaries, cache)
            }
            Self::Published(_) => self.published(catalog)?.open((table, id), directory_checksum, dictionaries, cache),
        }
    }

    /// The published files that belong to a catalog. Fails for a database in a folder.
    pub(crate) fn published(&self, catalog: u64) -> Result<Arc<PublishedFiles>> {
        let Self::Published(known) = self else { return Err(Error::Internal("this database is not published".into())) };
        let known = known.read().unwrap_or_else(PoisonError::into_inner);
        let files = known.iter().find(|(number, _)| *number == catalog).map(|(_, files)| Arc::clone(files));
        files.ok_or_else(|| Error::Internal(format!("the manifest of catalog {catalog} was given up")))
    }

    /// Adds the files that belong to another catalog, before that is read.
    pub(crate) fn add_published(&self, catalog: u64, files: PublishedFiles) {
        if let Self::Published(known) = self {
            let mut known = known.write().unwrap_or_else(PoisonError::into_inner);
            known.push_back((catalog, Arc::new(files)));
            while known.len() > MANIFESTS {
                known.pop_front();
            }
        }
    }
}
