//! A published database opened: its catalog in a local folder, its segment files where they were published.

use crate::io::lmdb::Access;
use crate::io::memory::MemoryBudget;
use crate::io::remote::files::RemoteFiles;
use crate::io::system;
use crate::io::temporary::TemporaryFolder;
use crate::lmdb::environment::Environment;
use crate::lmdb::{folder, records};
use crate::open::current::open_for_reading;
use crate::open::shared::Store;
use crate::published::fetch::fetch_catalog;
use crate::published::manifest::Manifest;
use crate::published::segment_files::{PublishedFiles, SegmentFiles};
use crate::{Error, Result};
use std::fs;
use std::path::Path;
use std::sync::Arc;

impl Store {
    /// Opens a state of a published database for reading. Its catalog is brought into a temporary folder in `place`, which goes with
    /// the store.
    pub fn open_published(
        manifest: &Manifest,
        files: &Arc<RemoteFiles>,
        place: &Path,
        budget: Arc<MemoryBudget>,
    ) -> Result<Arc<Self>> {
        system::raise_open_file_limit();
        let temporary = TemporaryFolder::new("gingham-", place).map_err(Error::io("creating a folder in", place))?;
        let path = temporary.path().to_path_buf();
        let environment = bring_catalog(manifest, files, &path)?;
        let published = PublishedFiles::new(Arc::clone(files), manifest);
        let segment_files = SegmentFiles::of_published(environment.generation(), published);
        let mut store = Self::assemble(&path, environment, None, Access::Read, budget)?;
        (store.segment_files, store._temporary) = (segment_files, Some(temporary));
        let store = Arc::new(store);
        let published = store.segment_files.published(store.environment()?.generation())?;
        published.read_ends_ahead();
        store.snapshot()?;
        published.forget_ends();
        Ok(store)
    }

    /// Shows another state of the same database from here on; what reads the one before goes on. When it can't be opened, nothing
    /// is changed.
    pub fn take_published(&self, manifest: &Manifest) -> Result<()> {
        let before = self.environment()?;
        let known = self.segment_files.published(before.generation())?;
        let environment = bring_catalog(manifest, known.remote(), self.path())?;
        let catalog = environment.generation();
        self.segment_files.add_published(catalog, known.of(manifest));
        let published = self.segment_files.published(catalog)?;
        published.read_ends_ahead();
        // Open files are shared with who has them, of both states, for as long as somebody does.
        let _before = self.snapshot()?;
        let _after = environment.read(|transaction| {
            let state = records::state(&environment, transaction)?;
            self.loader(&environment).snapshot(transaction, state, None)
        })?;
        published.forget_ends();
        self.set_environment(environment);
        self.snapshot()?;
        // Who reads it still has its files open.
        if let Some(folder) = before.folder().parent()
            && let Err(error) = fs::remove_dir_all(folder)
        {
            tracing::warn!("removing {}: {error}", folder.display());
        }
        Ok(())
    }
}

/// Brings the catalog of a manifest into a folder of its own in `root`, and opens it.
fn bring_catalog(manifest: &Manifest, files: &Arc<RemoteFiles>, root: &Path) -> Result<Environment> {
    let holder =
        tempfile::Builder::new().prefix("state-").tempdir_in(root).map_err(Error::io("creating a folder in", root))?;
    let catalog = folder::catalog(holder.path());
    fs::create_dir(&catalog).map_err(Error::io("creating folder", &catalog))?;
    fetch_catalog(files, manifest, &catalog.join("data.mdb"))?;
    let environment = open_for_reading(holder.path())?;
    // It goes with the store.
    let _kept = holder.keep();
    Ok(environment)
}
