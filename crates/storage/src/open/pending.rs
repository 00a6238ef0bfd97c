//! Segment files whose fate is open: written but not committed, or replaced but still being copied by a backup.

use crate::lmdb::folder;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Decides when files may be removed. Readers of this process hold theirs open, so a file can go as soon as its
/// successor is committed; only backups reach for files by name.
#[derive(Debug, Default)]
pub(crate) struct FileKeeper {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    backups: usize,
    waiting: Vec<PathBuf>,
    uncommitted: HashSet<PathBuf>,
}

impl FileKeeper {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes files that the latest commit no longer names, when the last backup ends at the latest.
    pub(crate) fn remove(&self, database: &Path, files: Vec<PathBuf>) {
        let mut inner = self.inner();
        if inner.backups > 0 {
            inner.waiting.extend(files);
        } else {
            drop(inner);
            folder::remove_files(database, &files);
        }
    }

    /// Keeps files from being removed while the guard lives.
    pub(crate) fn hold(self: &Arc<Self>, database: &Path) -> HeldFiles {
        self.inner().backups += 1;
        HeldFiles { keeper: Arc::clone(self), database: database.to_path_buf() }
    }

    /// Whether a file is being written by this process, so that no commit can name it yet.
    pub(crate) fn is_uncommitted(&self, file: &Path) -> bool {
        self.inner().uncommitted.contains(file)
    }
}

/// Keeps replaced files for a backup.
#[derive(Debug)]
pub(crate) struct HeldFiles {
    keeper: Arc<FileKeeper>,
    database: PathBuf,
}

impl Drop for HeldFiles {
    fn drop(&mut self) {
        let mut inner = self.keeper.inner();
        inner.backups -= 1;
        if inner.backups == 0 {
            let waiting = std::mem::take(&mut inner.waiting);
            drop(inner);
            folder::remove_files(&self.database, &waiting);
        }
    }
}

/// Files of a writer or a transaction. Those that are still here when it is dropped are removed.
#[derive(Debug)]
pub(crate) struct WrittenFiles {
    keeper: Arc<FileKeeper>,
    database: PathBuf,
    files: Vec<PathBuf>,
}

impl WrittenFiles {
    /// An empty list.
    pub(crate) fn new(keeper: Arc<FileKeeper>, database: PathBuf) -> Self {
        Self { keeper, database, files: Vec::new() }
    }

    /// Adds a file that is about to be made.
    pub(crate) fn add(&mut self, file: PathBuf) {
        self.keeper.inner().uncommitted.insert(file.clone());
        self.files.push(file);
    }

    /// True when there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Takes over the files of `other`.
    pub(crate) fn absorb(&mut self, mut other: Self) {
        self.files.append(&mut other.files);
    }

    /// A file has another name now.
    pub(crate) fn rename(&mut self, from: &Path, to: &Path) {
        let mut inner = self.keeper.inner();
        for file in self.files.iter_mut().filter(|file| *file == from) {
            inner.uncommitted.remove(file);
            *file = to.to_path_buf();
            inner.uncommitted.insert(file.clone());
        }
    }

    /// Lets the files stay: the catalog names them now, or may.
    pub(crate) fn keep(mut self) {
        let mut inner = self.keeper.inner();
        for file in self.files.drain(..) {
            inner.uncommitted.remove(&file);
        }
    }
}

impl Drop for WrittenFiles {
    fn drop(&mut self) {
        if self.files.is_empty() {
            return;
        }
        folder::remove_files(&self.database, &self.files);
        let mut inner = self.keeper.inner();
        for file in &self.files {
            inner.uncommitted.remove(file);
        }
    }
}
