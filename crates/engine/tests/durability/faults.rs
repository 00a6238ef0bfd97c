//! A disk that refuses: the calls that write below a folder are counted, and from one of them on, or that one alone, the system has
//! no room.
//!
//! Files are known by their paths, which the system tells of open ones, since a refused call may be the one that makes a file.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

static ARMED: AtomicBool = AtomicBool::new(false);
static FAULTS: Mutex<Option<Faults>> = Mutex::new(None);
/// Held while a disk refuses: there is one for the process.
static TURN: Mutex<()> = Mutex::new(());

/// The kind of a call to the system, by what it would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallKind {
    /// Write bytes: how many, and where when the call says so.
    Write(usize, Option<i64>),
    /// Make a file longer.
    Lengthen,
    /// Wait for the disk.
    Sync,
    /// Make a file or a folder.
    Create,
}

/// A call that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    pub kind: CallKind,
    pub path: PathBuf,
}

impl Refused {
    /// Whether LMDB or the store can't tell what has become of a commit: it was visible, or half of its last page may be.
    pub fn leaves_doubt(&self) -> bool {
        // The checksum of a commit is written where the file's position is.
        let of_meta =
            matches!(self.kind, CallKind::Write(bytes, at) if bytes < 4096 && at.is_none_or(|at| at < 2 * 4096));
        self.path.ends_with("catalog/data.mdb") && (of_meta || self.kind == CallKind::Sync)
    }
}

/// When calls are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The call of that number, from 0, and none after it.
    Once(u64),
    /// That call and all that come after it are refused.
    Lasting(u64),
    /// No call is refused: calls are counted.
    Never,
}

#[derive(Debug)]
struct Faults {
    root: PathBuf,
    refusal: Refusal,
    calls: u64,
    refused: Vec<Refused>,
}

/// The outcome of a statement on a disk that refused.
#[derive(Debug)]
pub struct Outcome<R> {
    pub result: R,
    /// Calls that write below the folder.
    pub calls: u64,
    /// The calls that were refused, in their order.
    pub refused: Vec<Refused>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does `work` while calls that write below `root` are refused.
pub fn refusing<R>(root: &Path, refusal: Refusal, work: impl FnOnce() -> R) -> Outcome<R> {
    let _turn = lock(&TURN);
    let root = root.canonicalize().expect("the folder is there");
    *lock(&FAULTS) = Some(Faults { root, refusal, calls: 0, refused: Vec::new() });
    ARMED.store(true, Ordering::Release);
    let result = work();
    ARMED.store(false, Ordering::Release);
    let faults = lock(&FAULTS).take().expect("nobody else takes it");
    Outcome { result, calls: faults.calls, refused: faults.refused }
}

/// Whether calls are counted.
pub fn is_armed() -> bool {
    ARMED.load(Ordering::Acquire)
}

/// Whether a call is refused. `path` is asked for when something may be.
pub fn refuses(kind: CallKind, path: impl FnOnce() -> Option<PathBuf>) -> bool {
    if !is_armed() {
        return false;
    }
    let Some(path) = path() else { return false };
    let mut faults = lock(&FAULTS);
    let Some(faults) = faults.as_mut().filter(|faults| path.starts_with(&faults.root)) else { return false };
    let number = faults.calls;
    faults.calls += 1;
    let refused = match faults.refusal {
        Refusal::Once(at) => number == at,
        Refusal::Lasting(first) => number >= first,
        Refusal::Never => false,
    };
    if refused {
        faults.refused.push(Refused { kind, path });
    }
    refused
}
