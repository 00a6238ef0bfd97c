//! Panics: faults of ours, or of a crate below, that must cost no more than the statement in which they come.
//!
//! [`caught`] makes one the caller's error, with what it says and where it was. So that the process's standard error stays the
//! program's, one hook listens to all panics of the process: it keeps quiet about those that are caught here, and on threads of
//! ours, whose tasks' panics reach a statement by another way; all others go to the hook that was there before, as they do when
//! `RUST_BACKTRACE` asks to see everything. docs/decisions/0063-panics.md says what becomes of locks, transactions and files.
//!
//! Tests let a thread panic at a [`PanicPoint`].

use std::any::Any;
use std::cell::Cell;
use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Panics whose places are remembered until somebody asks for them.
const REMEMBERED: usize = 64;
/// What a panic says that has no text.
const NO_TEXT: &str = "a panic without a message";

/// A panic that was caught: what it said, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Panic(String);

impl fmt::Display for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Panic {}

impl Panic {
    /// The panic of a payload that somebody else has caught: a task's, a thread's.
    pub fn of(payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or(NO_TEXT);
        Self::remembered(|said| said == text).unwrap_or_else(|| Self(text.to_owned()))
    }

    /// The panic that an error's text tells of, as tokio's does: `task 7 panicked with message "…"`.
    pub fn told(text: &str) -> Self {
        Self::remembered(|said| text.contains(&format!("{said:?}"))).unwrap_or_else(|| Self(text.to_owned()))
    }

    /// The last panic that said so.
    fn remembered(said: impl Fn(&str) -> bool) -> Option<Self> {
        let remembered = remembered();
        let found = remembered.iter().rev().find(|(text, _)| said(text));
        found.map(|(text, place)| Self(format!("{text} ({place})")))
    }
}

thread_local! {
    /// How many [`caught`] are under way on this thread; one more on a thread of ours.
    static LISTENED_TO: Cell<u32> = const { Cell::new(0) };
}

/// What was said last, and where. Those who give a panic on, as tasks do, have its text alone.
static PANICS: Mutex<VecDeque<(String, String)>> = Mutex::new(VecDeque::new());
/// Whether the hook was set.
static LISTENS: AtomicBool = AtomicBool::new(false);

fn remembered() -> MutexGuard<'static, VecDeque<(String, String)>> {
    PANICS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `work`; a panic in it is an error. What `work` had changed half way must be nobody's any more, or be given up.
pub fn caught<R>(work: impl FnOnce() -> R) -> Result<R, Panic> {
    listen();
    LISTENED_TO.set(LISTENED_TO.get() + 1);
    let ended = catch_unwind(AssertUnwindSafe(work));
    LISTENED_TO.set(LISTENED_TO.get() - 1);
    ended.map_err(|payload| Panic::of(payload.as_ref()))
}

/// Runs `work`, of whose errors a panic in it is one.
pub fn guarded<R, E: From<Panic>>(work: impl FnOnce() -> Result<R, E>) -> Result<R, E> {
    caught(work).unwrap_or_else(|panic| Err(panic.into()))
}

/// What a thread or a task came to that was waited for: `Err` has the payload of its panic.
pub fn joined<R, E: From<Panic>>(ended: std::thread::Result<Result<R, E>>) -> Result<R, E> {
    ended.unwrap_or_else(|payload| Err(Panic::of(payload.as_ref()).into()))
}

/// Called at the start of a thread of ours whose panics all come to light elsewhere, as those of a runtime's tasks do.
pub fn own_thread() {
    listen();
    LISTENED_TO.set(LISTENED_TO.get() + 1);
}

/// Sets the hook, once in a process. It keeps the one that was there.
fn listen() {
    // None can be set while a panic is under way on this thread; the next one who comes does it.
    if LISTENS.load(Ordering::Relaxed) || std::thread::panicking() || LISTENS.swap(true, Ordering::Relaxed) {
        return;
    }
    let before = take_hook();
    set_hook(Box::new(move |panic| {
        // A thread at its end has no such counter any more.
        let is_listened_to = LISTENED_TO.try_with(|count| count.get() > 0).unwrap_or(false);
        if is_listened_to {
            remember(panic);
        }
        if !is_listened_to || is_asked_for() {
            before(panic);
        }
    }));
}

fn remember(panic: &PanicHookInfo<'_>) {
    let text = panic.payload_as_str().unwrap_or(NO_TEXT).to_owned();
    let place = panic.location().map_or_else(|| "no place".to_owned(), |at| place(at.file(), at.line()));
    let mut panics = remembered();
    if panics.len() >= REMEMBERED {
        panics.pop_front();
    }
    panics.push_back((text, place));
}

/// A line of source as whoever mends it looks for it: without the folder where a crate lies on the machine that built it.
fn place(file: &str, line: u32) -> String {
    let of_crate = file.split_once("/registry/src/").and_then(|(_, rest)| rest.split_once('/'));
    format!("{}:{line}", of_crate.map_or(file, |(_, rest)| rest))
}

/// Whether whoever runs the process wants to see every panic.
fn is_asked_for() -> bool {
    std::env::var_os("RUST_BACKTRACE").is_some_and(|value| !value.is_empty() && value != "0")
}

macro_rules! points {
    ($($(#[$docs:meta])* $name:ident = $text:literal,)*) => {
        /// A place at which tests let a thread panic: one for each kind of thread, and for each part of its work whose end
        /// others wait for.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum PanicPoint {
            $($(#[$docs])* $name,)*
        }

        impl PanicPoint {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Its name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

points! {
    /// The caller's thread, before a statement is handed on.
    Launch = "launch",
    /// The caller's thread, as a batch of rows is given out.
    Deliver = "deliver",
    /// A program over the engine, as it shows or converts rows.
    Show = "show",
    /// The task that drives a statement.
    Statement = "statement",
    /// A task that reads a table for DataFusion's operators.
    Scan = "scan",
    /// A thread for what blocks.
    Blocking = "blocking",
    /// A pool's thread, in a pipeline's morsel.
    Morsel = "morsel",
    /// A pool's thread, at a pipeline's end.
    PipelineEnd = "pipeline_end",
    /// A pool's thread, or the one that it helps, in a piece of a pipeline's end.
    Piece = "piece",
    /// A thread that reads in the place of the system's ring.
    Read = "read",
    /// Whoever waits for the reads of a scan.
    ReadAhead = "read_ahead",
    /// A thread of a load.
    Load = "load",
    /// A thread that works on a part of what is written.
    Part = "part",
    /// A thread that syncs a file.
    Sync = "sync",
    /// A thread that rewrites a table in another layout.
    Rewrite = "rewrite",
    /// Who does a job of a group commit, within the job.
    Job = "job",
    /// Who does a group commit, before it is committed.
    Commit = "commit",
    /// Who does a group commit, behind LMDB's commit.
    Committed = "committed",
    /// The thread of a transaction that stays open, between two statements.
    OpenTransaction = "open_transaction",
    /// VACUUM, asked for or not, before catalogs are exchanged.
    Vacuum = "vacuum",
}

/// Number of the point whose passing is a panic, from 1, above how often it is passed before; 0 when none is.
static ARMED: AtomicU64 = AtomicU64::new(0);
/// How often a point was passed since.
static PASSED: AtomicU32 = AtomicU32::new(0);

/// Lets the thread panic that passes `point` next, after so many others: once. For tests.
pub fn panic_at(point: PanicPoint, after: u32) {
    PASSED.store(0, Ordering::SeqCst);
    ARMED.store((point as u64 + 1) << 32 | u64::from(after), Ordering::SeqCst);
}

/// Lets no thread panic any more; true when none has since [`panic_at`].
pub fn disarm() -> bool {
    ARMED.swap(0, Ordering::SeqCst) != 0
}

/// A thread passes a point, at which tests may let it panic.
#[inline]
pub fn pass(point: PanicPoint) {
    let armed = ARMED.load(Ordering::Relaxed);
    if armed >> 32 == point as u64 + 1 {
        pass_armed(point, armed);
    }
}

#[cold]
fn pass_armed(point: PanicPoint, armed: u64) {
    let after = armed as u32;
    if PASSED.fetch_add(1, Ordering::SeqCst) == after
        && ARMED.compare_exchange(armed, 0, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    {
        panic!("a fault made by a test at '{}'", point.name());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_with_its_text_and_its_place() {
        let line = line!() + 1;
        let error = caught(|| [1, 2, 3][std::hint::black_box(7)]).unwrap_err().to_string();
        assert!(error.starts_with("index out of bounds: the len is 3 but the index is 7 ("), "{error}");
        assert!(error.ends_with(&format!("panics.rs:{line})")), "{error}");
        assert_eq!(caught(|| 5), Ok(5));
        let silent = caught(|| std::panic::panic_any(7)).unwrap_err();
        assert!(silent.to_string().starts_with(NO_TEXT), "{silent}");
        // One within another is the inner one's, and the outer goes on.
        let outer = caught(|| caught(|| panic!("inner")).unwrap_err().to_string()).unwrap();
        assert!(outer.starts_with("inner ("), "{outer}");
        assert_eq!(LISTENED_TO.get(), 0);
    }

    #[test]
    fn a_panic_of_a_thread_keeps_its_place() {
        let thread = std::thread::spawn(|| {
            own_thread();
            panic!("elsewhere, {}", 1)
        });
        let payload: Box<dyn Any + Send> = thread.join().unwrap_err();
        let panic = Panic::of(payload.as_ref());
        assert!(panic.to_string().starts_with("elsewhere, 1 (") && panic.to_string().contains("panics.rs:"), "{panic}");
        assert_eq!(Panic::told("task 7 panicked with message \"elsewhere, 1\""), panic);
        assert_eq!(Panic::told("something else"), Panic("something else".to_owned()));
    }

    #[test]
    fn places_are_without_the_folder_of_a_machine() {
        let file = "/of/cargo/registry/src/index.crates.io-1949cf8c6b5b557f/arrow-array-59.0.0/src/array/mod.rs";
        assert_eq!(place(file, 7), "arrow-array-59.0.0/src/array/mod.rs:7");
        assert_eq!(place("crates/storage/src/panics.rs", 7), "crates/storage/src/panics.rs:7");
    }

    #[test]
    fn points_are_passed_as_often_as_was_said() {
        // `Show` is passed by nobody within this crate.
        panic_at(PanicPoint::Show, 2);
        let passes = || caught(|| pass(PanicPoint::Show)).is_ok();
        assert_eq!([passes(), passes(), passes(), passes()], [true, true, false, true]);
        assert!(!disarm());
        panic_at(PanicPoint::Show, 0);
        assert!(disarm() && passes());
    }
}
