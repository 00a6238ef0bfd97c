//! Folders of databases that nobody wants to keep. Each goes with the last who has it, and all that are left when the process ends:
//! a program may end while it still has a database open, and then drops nothing.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;
use tempfile::TempDir;

/// The folders that are there, of this process and, in a fork of it, of the one before.
static FOLDERS: LazyLock<Mutex<HashSet<KnownFolder>>> = LazyLock::new(Mutex::default);
/// Notified when one is gone.
static GONE: Condvar = Condvar::new();
/// How often the end of a process tries to remove a folder that others still write to, and the time between.
const TRIES: (usize, Duration) = (50, Duration::from_millis(10));

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct KnownFolder {
    path: PathBuf,
    /// Who made it: a fork must not remove what its parent has.
    process: u32,
}

/// A folder that is removed when this is dropped, or at the end of the process.
#[derive(Debug)]
pub(crate) struct TemporaryFolder {
    /// Taken when it is removed.
    folder: Option<TempDir>,
    known: KnownFolder,
}

fn folders() -> MutexGuard<'static, HashSet<KnownFolder>> {
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl TemporaryFolder {
    /// A new folder in `place`, whose name begins with `prefix`.
    pub(crate) fn new(prefix: &str, place: &Path) -> io::Result<Self> {
        static AT_EXIT: Once = Once::new();
        AT_EXIT.call_once(remove_at_exit);
        let folder = tempfile::Builder::new().prefix(prefix).tempdir_in(place)?;
        let known = KnownFolder { path: folder.path().to_path_buf(), process: std::process::id() };
        folders().insert(known.clone());
        Ok(Self { folder: Some(folder), known })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.known.path
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let Some(folder) = self.folder.take() else { return };
        if self.known.process != std::process::id() {
            let _kept = folder.keep();
            return;
        }
        if let Err(error) = folder.close() {
            tracing::warn!("removing {}: {error}", self.known.path.display());
        }
        folders().remove(&self.known);
        GONE.notify_all();
    }
}

/// Waits until the folder at `path` is gone, if it is one of these; false when it is there after `patience`.
pub(crate) fn wait_until_gone(path: &Path, patience: Duration) -> bool {
    let is_there = |folders: &mut HashSet<KnownFolder>| folders.iter().any(|known| known.path == path);
    let waited = GONE.wait_timeout_while(folders(), patience, is_there);
    !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
}

/// Lets the end of the process remove what is left.
#[cfg(unix)]
fn remove_at_exit() {
    // SAFETY: `remove_left` is a function without arguments, as atexit wants, and stays where it is for as long as this library is
    // loaded; it does not unwind.
    if unsafe { libc::atexit(remove_left) } != 0 {
        tracing::warn!("the folders of databases in memory may stay behind when this process ends");
    }
}

/// There the folders go with the last who has them.
#[cfg(not(unix))]
fn remove_at_exit() {}

/// Removes the folders of this process. Its other threads may be at work in them: what they make meanwhile is removed by another
/// try, and once a folder is gone they can't make anything in it.
#[cfg(unix)]
extern "C" fn remove_left() {
    // In a fork a thread that is not there any more may have the lock for ever.
    let Ok(folders) = FOLDERS.try_lock() else { return };
    let process = std::process::id();
    for known in folders.iter().filter(|known| known.process == process) {
        for _ in 0..TRIES.0 {
            match std::fs::remove_dir_all(&known.path) {
                Ok(()) => break,
                Err(error) if error.kind() == io::ErrorKind::NotFound => break,
                Err(_) => std::thread::sleep(TRIES.1),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_with_who_has_it() {
        let folder = TemporaryFolder::new("gingham-", &std::env::temp_dir()).unwrap();
        let path = folder.path().to_path_buf();
        std::fs::write(path.join("file"), "text").unwrap();
        assert!(!wait_until_gone(&path, Duration::ZERO));
        let waits = std::thread::spawn({
            let path = path.clone();
            move || wait_until_gone(&path, Duration::from_secs(60))
        });
        drop(folder);
        assert!(waits.join().unwrap() && !path.exists());
        assert!(wait_until_gone(&path, Duration::ZERO), "none of them");
    }
}
