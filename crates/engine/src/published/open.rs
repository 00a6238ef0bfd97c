//! A published database opened, and brought up to date by REFRESH.

use crate::published::newest::{latest, wanted};
use crate::published::place::ObjectPlace;
use crate::published::reads::ObjectReads;
use crate::published::threads;
use crate::{Error, Result};
use gingham_storage::SqlState;
use gingham_storage::io::{ChunkFolder, MemoryBudget, RemoteFiles, free_bytes};
use gingham_storage::published::DatabaseId;
use gingham_storage::store::Store;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of the folder of chunks, unless another number is given.
const CHUNK_BYTES: u64 = 10 << 30;

/// How a published database is opened.
#[derive(Debug, Clone, Default)]
pub(crate) struct UrlOptions {
    /// The number of the manifest; the newest without.
    pub(crate) as_of: Option<u64>,
    /// The folder for chunks of objects.
    pub(crate) cache: Option<PathBuf>,
    /// Bytes that it may have.
    pub(crate) cache_bytes: Option<u64>,
}

/// A published database, opened: its store, and where newer states of it come from.
pub(crate) type OpenedUrl = (Arc<Store>, Arc<PublishedSource>);

/// Where a database was opened from.
#[derive(Debug)]
pub(crate) struct PublishedSource {
    place: Arc<ObjectPlace>,
    database: DatabaseId,
    /// It stays as it was then.
    as_of: Option<u64>,
    /// The number of the manifest that is shown. Held while another is taken.
    shown: Mutex<u64>,
}

impl PublishedSource {
    /// Opens what is published at `url`.
    pub(crate) fn open(url: &str, options: &UrlOptions, budget: Arc<MemoryBudget>) -> Result<OpenedUrl> {
        Self::open_at(ObjectPlace::of(url)?, options, budget)
    }

    /// Opens what is published at a place.
    pub(super) fn open_at(
        place: Arc<ObjectPlace>,
        options: &UrlOptions,
        budget: Arc<MemoryBudget>,
    ) -> Result<OpenedUrl> {
        let (own, as_of) = (Arc::clone(&place), options.as_of);
        let manifest = threads::wait(async move { wanted(&own, as_of).await })?;
        let chunks = chunk_folder(&place, options, manifest.database)?;
        let files = RemoteFiles::new(Arc::new(ObjectReads(Arc::clone(&place))), Arc::clone(&budget), chunks);
        let store = Store::open_published(&manifest, &files, &std::env::temp_dir(), budget)?;
        let shown = Mutex::new(manifest.number);
        Ok((store, Arc::new(Self { place, database: manifest.database, as_of, shown })))
    }

    /// Shows the newest state from here on. Gives its number.
    pub(crate) fn refresh(&self, store: &Store) -> Result<u64> {
        if let Some(number) = self.as_of {
            return Err(Error::invalid(
                SqlState::ObjectNotInPrerequisiteState,
                format!("{} was opened as of number {number}, and stays so", self.place.url()),
            ));
        }
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let place = Arc::clone(&self.place);
        let Some(manifest) = threads::wait(async move { latest(&place).await })? else {
            return Err(Error::Io(format!("there is nothing at {} any more", self.place.url())));
        };
        if manifest.database != self.database {
            return Err(Error::Conflict(format!(
                "{} has another database by now; close this one and open it again",
                self.place.url()
            )));
        }
        if manifest.number > *shown {
            store.take_published(&manifest)?;
            *shown = manifest.number;
        }
        Ok(*shown)
    }

    /// Its URL.
    pub(crate) fn url(&self) -> &str {
        self.place.url()
    }

    /// The number of the manifest that is shown.
    pub(crate) fn shown(&self) -> u64 {
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The folder for chunks: of what lies in a folder of this machine there is one only when it was asked for.
fn chunk_folder(place: &ObjectPlace, options: &UrlOptions, database: DatabaseId) -> Result<Option<ChunkFolder>> {
    let root = match &options.cache {
        Some(folder) => folder.clone(),
        None if place.is_folder() => return Ok(None),
        None => default_cache(),
    };
    let folder = root.join(database.to_string());
    let free = free_bytes(existing(&root)).unwrap_or(u64::MAX);
    let bytes = options.cache_bytes.unwrap_or_else(|| CHUNK_BYTES.min(free / 2));
    Ok(Some(ChunkFolder::open(&folder, bytes)?))
}

/// The next folder above that is there.
fn existing(path: &Path) -> &Path {
    path.ancestors().find(|above| above.exists()).unwrap_or(path)
}

/// Where chunks lie when nobody says: the user's folder for caches.
fn default_cache() -> PathBuf {
    let of_user = || std::env::home_dir().map(|home| home.join(".cache"));
    let caches =
        std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute()).or_else(of_user);
    caches.unwrap_or_else(std::env::temp_dir).join("gingham")
}
