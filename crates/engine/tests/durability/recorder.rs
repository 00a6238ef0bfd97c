//! What a process did to the files of one folder: every write with its bytes, every change of a name, every sync, in their order.
//!
//! Files are told apart by their inodes: `hooks.rs` asks for them with each call, so that nothing has to be known of open
//! file descriptors. An inode that is given to a new file gets a new number here.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Device and inode number.
pub type Inode = (u64, u64);

/// Number of a file or folder within a log; the recorded folder itself is 0.
pub type NodeId = usize;

/// A name within a folder.
pub type Name = (NodeId, Vec<u8>);

/// One thing that was done.
#[derive(Debug, Clone)]
pub enum Event {
    /// A new file or folder; nodes are numbered in this order.
    Create { name: Name, node: NodeId, folder: bool },
    /// A file or an empty folder lost its name.
    Remove { name: Name },
    /// A file or folder has another name.
    Rename { from: Name, to: Name, node: NodeId },
    /// Two names have changed places: each with what it stands for from then on.
    Exchange { one: (Name, NodeId), other: (Name, NodeId) },
    /// Bytes were written; with `synced` they were on the disk when the call came back.
    Write { node: NodeId, at: u64, bytes: Vec<u8>, synced: bool },
    /// A file has another length.
    Truncate { node: NodeId, length: u64 },
    /// A finished barrier: what was done to the file, or to the names in the folder, is on the disk.
    Sync { node: NodeId },
    /// So many statements have been answered, and must not be lost.
    Acknowledged(usize),
}

static RECORDING: AtomicBool = AtomicBool::new(false);
static RECORDER: Mutex<Option<Recorder>> = Mutex::new(None);
/// Held while something is recorded: one process can be recorded once at a time.
static TURN: Mutex<()> = Mutex::new(());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records what `work` does below `root`, an empty folder.
pub fn record<R>(root: &Path, work: impl FnOnce() -> R) -> (Vec<Event>, R) {
    let _turn = lock(&TURN);
    let inode = inode(root).expect("the folder to record exists");
    *lock(&RECORDER) =
        Some(Recorder { nodes: HashMap::from([(inode, 0)]), next: 1, events: Vec::new(), failing: None });
    RECORDING.store(true, Ordering::Release);
    let result = work();
    RECORDING.store(false, Ordering::Release);
    let recorder = lock(&RECORDER).take().expect("nobody else takes it");
    (recorder.events, result)
}

/// Notes that `count` statements have been answered.
pub fn acknowledge(count: usize) {
    if let Some(recorder) = lock(&RECORDER).as_mut() {
        recorder.events.push(Event::Acknowledged(count));
    }
}

/// Makes the next sync of the file `path` fail.
pub fn fail_next_sync(path: &Path) {
    let inode = inode(path).expect("the file exists");
    if let Some(recorder) = lock(&RECORDER).as_mut() {
        recorder.failing = recorder.node(inode);
    }
}

/// Runs `call` with the recorder, or without one when nothing is recorded. Calls are recorded one after the other, so that
/// their order in the log is that in which they happened.
pub fn with_recorder<R>(call: impl FnOnce(Option<&mut Recorder>) -> R) -> R {
    if is_recording() { call(lock(&RECORDER).as_mut()) } else { call(None) }
}

/// Whether something is recorded.
pub fn is_recording() -> bool {
    RECORDING.load(Ordering::Acquire)
}

/// The inode of a path, symbolic links followed.
pub fn inode(path: &Path) -> Option<Inode> {
    fs::metadata(path).ok().map(|facts| (facts.dev(), facts.ino()))
}

/// The log while it is written.
#[derive(Debug)]
pub struct Recorder {
    nodes: HashMap<Inode, NodeId>,
    next: NodeId,
    events: Vec<Event>,
    /// A file whose next sync fails.
    failing: Option<NodeId>,
}

impl Recorder {
    /// The number of a file or folder, when it is one of those that are recorded.
    pub fn node(&self, inode: Inode) -> Option<NodeId> {
        self.nodes.get(&inode).copied()
    }

    /// What had this inode is gone. The system gives the number to others' files, which are not to be taken for it.
    pub fn forget(&mut self, inode: Option<Inode>) {
        inode.and_then(|inode| self.nodes.remove(&inode));
    }

    /// Whether a sync of this file is to fail: the first one that is asked about.
    pub fn fails(&mut self, node: NodeId) -> bool {
        self.failing.take_if(|failing| *failing == node).is_some()
    }

    /// Adds an event.
    pub fn push(&mut self, event: Event) {
        self.events.push(event);
    }

    /// A file or folder that did not exist before has got `name`.
    pub fn create(&mut self, name: Name, inode: Inode, folder: bool) {
        let node = self.next;
        self.next += 1;
        self.nodes.insert(inode, node);
        self.events.push(Event::Create { name, node, folder });
    }
}
