//! Where a database is published: a folder of this machine or of its network, or a part of a store of objects.

use crate::published::cloud;
use crate::{Error, Result};
use bytes::Bytes;
use chrono::{DateTime, Utc};
use datafusion::object_store::local::LocalFileSystem;
use datafusion::object_store::path::Path;
use datafusion::object_store::{
    Error as StoreError, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, WriteMultipart,
};
use futures::{StreamExt, TryStreamExt};
use gingham_storage::SqlState;
use std::fs::File;
use std::io::Read;
use std::path::Path as FilePath;
use std::sync::Arc;
use url::Url;

/// Files up to this size are sent by one request.
const WHOLE: u64 = 16 << 20;
/// Bytes of a part of a larger one, and parts that are under way at a time.
const PARTS: (usize, usize) = (8 << 20, 4);

/// Whether a text is a URL of a place that a database may be published at, and no path.
///
/// ```
/// assert!(gingham::is_url("s3://bucket/shop") && gingham::is_url("file:///srv/shop"));
/// assert!(!gingham::is_url("shop.gingham") && !gingham::is_url("/srv/shop"));
/// ```
pub fn is_url(text: &str) -> bool {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| scheme == "file" || cloud::feature_of(scheme).is_some())
}

/// A place, opened.
#[derive(Debug)]
pub(super) struct ObjectPlace {
    store: Arc<dyn ObjectStore>,
    root: Path,
    /// What messages call it.
    url: String,
    /// Set of a folder, whose files are synced.
    folder: Option<LocalFileSystem>,
}

/// An object that is there.
#[derive(Debug)]
pub(super) struct FoundObject {
    /// Its name at the place.
    pub(super) name: String,
    /// Its bytes.
    pub(super) length: u64,
    /// When it was put there, by the store's clock.
    pub(super) put: DateTime<Utc>,
}

impl ObjectPlace {
    /// The place of a URL.
    pub(super) fn of(text: &str) -> Result<Arc<Self>> {
        let wrong =
            |why: String| Error::invalid(SqlState::InvalidParameterValue, format!("'{}' {why}", without_user(text)));
        let url = Url::parse(text).map_err(|error| wrong(format!("is no URL: {error}")))?;
        // Azure's name the container there.
        let is_user = !url.username().is_empty() && !url.scheme().starts_with("abfs");
        if is_user || url.password().is_some() {
            return Err(wrong("has a user or a password in it: credentials come from the environment".into()));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(wrong("has something behind ? or #, where a place has nothing".into()));
        }
        let shown = text.trim_end_matches('/').to_owned();
        if url.scheme() != "file" {
            let (store, root) = cloud::store(&url)?;
            return Ok(Arc::new(Self { store, root, url: shown, folder: None }));
        }
        let path =
            url.to_file_path().map_err(|()| wrong("is no folder of this machine: write file:///folder".into()))?;
        let root = Path::from_absolute_path(&path).map_err(|error| wrong(format!("is no folder: {error}")))?;
        let folder = LocalFileSystem::new();
        Ok(Arc::new(Self { store: Arc::new(LocalFileSystem::new()), root, url: shown, folder: Some(folder) }))
    }

    /// A place in a store, for tests.
    #[cfg(test)]
    pub(super) fn in_store(store: Arc<dyn ObjectStore>, url: &str) -> Arc<Self> {
        Arc::new(Self { store, root: Path::default(), url: url.to_owned(), folder: None })
    }

    /// What messages call it.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Whether it is a folder, whose files are kept in memory by the system.
    pub(super) fn is_folder(&self) -> bool {
        self.folder.is_some()
    }

    /// What messages call an object.
    pub(super) fn show(&self, name: &str) -> String {
        format!("{}/{name}", self.url)
    }

    fn path(&self, name: &str) -> Path {
        name.split('/').fold(self.root.clone(), Path::join)
    }

    fn failed(&self, action: &str, name: &str, error: &StoreError) -> Error {
        Error::Io(format!("{action} {}: {error}", self.show(name)))
    }

    /// An object, whole; `None` when it is missing.
    pub(super) async fn get(&self, name: &str) -> Result<Option<Bytes>> {
        let came = match self.store.get(&self.path(name)).await {
            Ok(found) => found.bytes().await,
            Err(error) => Err(error),
        };
        match came {
            Ok(bytes) => Ok(Some(bytes)),
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.failed("reading", name, &error)),
        }
    }

    /// Bytes of an object.
    pub(super) async fn range(&self, name: &str, range: std::ops::Range<u64>) -> Result<Bytes, StoreError> {
        self.store.get_range(&self.path(name), range).await
    }

    /// Length and age of an object; `None` when it is missing.
    pub(super) async fn look(&self, name: &str) -> Result<Option<FoundObject>> {
        match self.store.head(&self.path(name)).await {
            Ok(meta) => Ok(Some(FoundObject { name: name.to_owned(), length: meta.size, put: meta.last_modified })),
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.failed("looking for", name, &error)),
        }
    }

    /// Puts an object, in the place of another of that name.
    pub(super) async fn put(&self, name: &str, bytes: Vec<u8>) -> Result<()> {
        let put = self.store.put(&self.path(name), PutPayload::from(bytes)).await;
        put.map_err(|error| self.failed("writing", name, &error))?;
        self.sync(name)
    }

    /// Puts an object unless there is one of that name; false when there is.
    pub(super) async fn create(&self, name: &str, bytes: Vec<u8>) -> Result<bool> {
        let options = PutOptions::from(PutMode::Create);
        match self.store.put_opts(&self.path(name), PutPayload::from(bytes), options).await {
            Ok(_) => self.sync(name).map(|()| true),
            Err(StoreError::AlreadyExists { .. }) => Ok(false),
            Err(error) => Err(self.failed("writing", name, &error)),
        }
    }

    /// Sends a file of `length` bytes, in the place of another object of that name. `Ok(false)` when the file is gone.
    pub(super) async fn send(&self, name: &str, file: &FilePath, length: u64) -> Result<bool> {
        let mut source = match File::open(file) {
            Ok(source) => source,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(Error::Io(format!("opening {}: {error}", file.display()))),
        };
        let reading = |error: std::io::Error| Error::Io(format!("reading {}: {error}", file.display()));
        let writing = |error: StoreError| self.failed("writing", name, &error);
        if length <= WHOLE {
            let mut bytes = Vec::new();
            source.read_to_end(&mut bytes).map_err(reading)?;
            return self.put(name, bytes).await.map(|()| true);
        }
        let upload = self.store.put_multipart(&self.path(name)).await.map_err(writing)?;
        let mut upload = WriteMultipart::new_with_chunk_size(upload, PARTS.0);
        let mut part = vec![0; PARTS.0];
        loop {
            let came = source.read(&mut part).map_err(reading);
            let room = upload.wait_for_capacity(PARTS.1).await.map_err(writing);
            match came.and_then(|came| room.map(|()| came)) {
                Ok(0) => break,
                Ok(came) => upload.write(&part[..came]),
                Err(error) => {
                    drop(upload.abort().await);
                    return Err(error);
                }
            }
        }
        upload.finish().await.map_err(writing)?;
        self.sync(name).map(|()| true)
    }

    /// Syncs a file of a folder, and its name.
    fn sync(&self, name: &str) -> Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let path = folder.path_to_filesystem(&self.path(name)).map_err(|error| self.failed("finding", name, &error))?;
        let failed = |error: std::io::Error| Error::Io(format!("syncing {}: {error}", path.display()));
        File::open(&path).and_then(|file| file.sync_all()).map_err(failed)?;
        // What is above was there, or was made just now.
        for above in path.ancestors().skip(1).take(3) {
            if let Ok(above) = File::open(above) {
                drop(above.sync_all());
            }
        }
        Ok(())
    }

    /// The objects under a prefix.
    pub(super) async fn list(&self, prefix: &str) -> Result<Vec<FoundObject>> {
        let (start, whole) = (self.path(prefix), self.root.as_ref().len());
        let found: Vec<_> = match self.store.list(Some(&start)).try_collect().await {
            Ok(found) => found,
            Err(StoreError::NotFound { .. }) => Vec::new(),
            Err(error) => return Err(self.failed("listing", prefix, &error)),
        };
        let name = |path: &Path| path.as_ref()[whole..].trim_start_matches('/').to_owned();
        let found = found.into_iter();
        Ok(found
            .map(|meta| FoundObject { name: name(&meta.location), length: meta.size, put: meta.last_modified })
            .collect())
    }

    /// Removes objects. One that is gone already is no error.
    pub(super) async fn remove(&self, names: &[String]) -> Result<()> {
        let paths: Vec<_> = names.iter().map(|name| Ok(self.path(name))).collect();
        let mut removed = self.store.delete_stream(futures::stream::iter(paths).boxed());
        while let Some(one) = removed.next().await {
            match one {
                Ok(_) | Err(StoreError::NotFound { .. }) => {}
                Err(error) => return Err(Error::Io(format!("removing objects of {}: {error}", self.url))),
            }
        }
        Ok(())
    }
}

/// A URL without what stands before its host, which may be a password.
fn without_user(text: &str) -> String {
    match text.split_once("://").map(|(scheme, rest)| (scheme, rest.split_once('@'))) {
        Some((scheme, Some((_, rest)))) => format!("{scheme}://…@{rest}"),
        _ => text.to_owned(),
    }
}
