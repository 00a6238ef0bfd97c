//! One store per canonical path and process: a second `open` of a path gives the store that is open.
//!
//! LMDB forbids two environments on one file in a process: the second one's close would drop the first one's locks.

use crate::Result;
use crate::open::shared::Store;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// Paths that are open, being opened or being closed; the latter two have a store that can't be upgraded.
static OPEN: LazyLock<Mutex<HashMap<PathBuf, Weak<Store>>>> = LazyLock::new(Mutex::default);
/// Notified when a path leaves [`OPEN`] or its store is ready.
static CHANGED: Condvar = Condvar::new();

fn open_paths() -> MutexGuard<'static, HashMap<PathBuf, Weak<Store>>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A path's place in the registry. Dropping it, after all else of the store and of its environments, makes the path free again.
#[derive(Debug)]
pub(crate) struct Registration {
    path: PathBuf,
}

impl Drop for Registration {
    fn drop(&mut self) {
        open_paths().remove(&self.path);
        CHANGED.notify_all();
    }
}

/// Waits until canonical `path` is free; false when it is not after `patience`.
pub(crate) fn wait_until_free(path: &Path, patience: Duration) -> bool {
    let waited = CHANGED.wait_timeout_while(open_paths(), patience, |paths| paths.contains_key(path));
    !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
}

/// The open store of canonical `path`, or the one that `open` makes.
pub(crate) fn get_or_open(path: &Path, open: impl FnOnce(Registration) -> Result<Store>) -> Result<Arc<Store>> {
    let mut paths = open_paths();
    while let Some(entry) = paths.get(path) {
        if let Some(store) = entry.upgrade() {
            return Ok(store);
        }
        paths = CHANGED.wait(paths).unwrap_or_else(PoisonError::into_inner);
    }
    paths.insert(path.to_path_buf(), Weak::new());
    drop(paths);
    // From here on a failure drops the registration, which frees the path.
    let store = Arc::new(open(Registration { path: path.to_path_buf() })?);
    open_paths().insert(path.to_path_buf(), Arc::downgrade(&store));
    CHANGED.notify_all();
    Ok(store)
}
