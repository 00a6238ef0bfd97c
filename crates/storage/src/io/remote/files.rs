//! Remote files as their readers see them: bytes at offsets, of chunks that are here, on their way, or asked for now.
//!
//! Chunks that were read ahead are charged to the memory limit and give way; they take no more than a share of it. One that somebody
//! waits for is brought whatever the limit says, and kept no longer than until it was taken when it could not be charged.

use crate::io::memory::{CacheCharge, Evict, MemoryBudget};
use crate::io::remote::chunks::ChunkCuts;
use crate::io::remote::folder::ChunkFolder;
use crate::io::remote::ranged_reads::RangedReads;
use crate::io::remote::requests::{ChunkRun, Turns, runs};
use crate::{Error, Result};
use bytes::Bytes;
use hashbrown::{HashMap, HashSet};
use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The part of the memory limit that chunks may take: what is made of them is of more use.
const SHARE: usize = 4;

/// A chunk: the number of its file within the process, and its own there.
type ChunkKey = (u64, u32);

/// Files that are read by one connection, and their chunks.
#[derive(Debug)]
pub struct RemoteFiles {
    reads: Arc<dyn RangedReads>,
    budget: Arc<MemoryBudget>,
    folder: Option<ChunkFolder>,
    state: Mutex<ChunkStates>,
    /// Notified when chunks have come, or have failed to.
    came: Condvar,
}

#[derive(Debug, Default)]
struct ChunkStates {
    chunks: HashMap<ChunkKey, ChunkState>,
    /// Chunks that were charged, in the order in which they came.
    clock: VecDeque<ChunkKey>,
    /// Bytes of those.
    bytes: usize,
    turns: Turns<Request>,
}

#[derive(Debug)]
enum ChunkState {
    /// Its request waits for its turn.
    Queued,
    /// A request is under way.
    Reading(Option<CacheCharge>),
    /// It is here.
    Here(Bytes, Option<CacheCharge>),
    /// The request has failed.
    Failed(io::ErrorKind, String),
}

/// A run of chunks of a file.
#[derive(Debug, Clone)]
struct Request {
    file: Arc<RemoteFile>,
    run: ChunkRun,
}

impl Request {
    /// The chunks, and their keys.
    fn chunks(&self) -> impl Iterator<Item = (u32, ChunkKey)> + use<> {
        let file = self.file.number;
        self.run.chunks.clone().map(move |chunk| (chunk, (file, chunk)))
    }

    fn bytes(&self) -> usize {
        (self.run.bytes.end - self.run.bytes.start) as usize
    }
}

/// A request that was handed on. It ends once, whatever becomes of who reads.
struct Awaited {
    files: Arc<RemoteFiles>,
    request: Option<Request>,
}

impl Awaited {
    fn ended(&mut self, came: io::Result<Bytes>) {
        if let Some(request) = self.request.take() {
            self.files.ended(&request, came);
        }
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        self.ended(Err(io::Error::other("the connection was closed")));
    }
}

/// A file that lies elsewhere.
#[derive(Debug)]
pub struct RemoteFile {
    files: Arc<RemoteFiles>,
    name: String,
    number: u64,
    cuts: ChunkCuts,
}

impl RemoteFiles {
    /// Files that `reads` reads. Their chunks are charged to `budget`, and kept in `folder` when there is one.
    pub fn new(reads: Arc<dyn RangedReads>, budget: Arc<MemoryBudget>, folder: Option<ChunkFolder>) -> Arc<Self> {
        let files = Arc::new(Self { reads, budget, folder, state: Mutex::default(), came: Condvar::new() });
        files.budget.register(&files);
        files
    }

    /// The file of that name and length.
    pub fn file(self: &Arc<Self>, name: String, length: u64) -> Arc<RemoteFile> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Arc::new(RemoteFile { files: Arc::clone(self), name, number, cuts: ChunkCuts::new(length) })
    }

    /// What messages call a file.
    pub fn place(&self, name: &str) -> String {
        self.reads.place(name)
    }

    fn state(&self) -> MutexGuard<'_, ChunkStates> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins requests whose turn it is.
    fn pump(self: &Arc<Self>) {
        loop {
            let Some(request) = self.state().turns.next() else { return };
            let charges = self.charges(&request);
            let mut state = self.state();
            // Somebody may have asked for some of them meanwhile.
            let waits = |key: ChunkKey| matches!(state.chunks.get(&key), Some(ChunkState::Queued));
            let waiting: Vec<(u32, ChunkKey)> = request.chunks().filter(|(_, key)| waits(*key)).collect();
            let is_whole = waiting.len() == request.run.chunks.len();
            match charges.filter(|_| is_whole) {
                Some(charges) => {
                    for ((_, key), charge) in waiting.into_iter().zip(charges) {
                        state.chunks.insert(key, ChunkState::Reading(Some(charge)));
                    }
                    drop(state);
                    self.begin(request);
                }
                None => {
                    state.turns.ended();
                    if is_whole {
                        waiting.iter().for_each(|(_, key)| drop(state.chunks.remove(key)));
                    } else {
                        for run in runs(request.file.cuts, waiting.iter().map(|(chunk, _)| *chunk)) {
                            state.turns.add_first(Request { file: Arc::clone(&request.file), run });
                        }
                    }
                    drop(state);
                }
            }
        }
    }

    /// Memory for the chunks of a request; `None` when there is none.
    fn charges(&self, request: &Request) -> Option<Vec<CacheCharge>> {
        let share = self.budget.limit() / SHARE;
        let excess = (self.state().bytes + request.bytes()).saturating_sub(share);
        if excess > 0 && self.evict(excess) < excess {
            return None;
        }
        request.chunks().map(|(chunk, _)| self.budget.charge(request.file.cuts.length_of(chunk))).collect()
    }

    /// Hands a request, which counts as under way already, to who has the connection.
    fn begin(self: &Arc<Self>, request: Request) {
        let (file, bytes) = (Arc::clone(&request.file), request.run.bytes.clone());
        let mut awaited = Awaited { files: Arc::clone(self), request: Some(request) };
        self.reads.read(&file.name, bytes, Box::new(move |came| awaited.ended(came)));
    }

    /// Takes what a request gave.
    fn ended(self: &Arc<Self>, request: &Request, came: io::Result<Bytes>) {
        let (cuts, start) = (request.file.cuts, request.run.bytes.start);
        let came = came.and_then(|all| match all.len() == request.bytes() {
            true => Ok(all),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        });
        let part = |all: &Bytes, chunk: u32| {
            let own = cuts.bytes(chunk);
            all.slice((own.start - start) as usize..(own.end - start) as usize)
        };
        if let (Ok(all), Some(folder)) = (&came, &self.folder) {
            request.chunks().for_each(|(chunk, _)| folder.put(&request.file.kept_name(chunk), &part(all, chunk)));
        }
        let mut state = self.state();
        for (chunk, key) in request.chunks() {
            let before = state.chunks.remove(&key);
            let now = match &came {
                Ok(all) => {
                    let charge = if let Some(ChunkState::Reading(charge)) = before { charge } else { None };
                    // A part of a larger buffer would keep all of it.
                    let own = Bytes::copy_from_slice(&part(all, chunk));
                    if charge.is_some() {
                        state.bytes += own.len();
                        state.clock.push_back(key);
                    }
                    ChunkState::Here(own, charge)
                }
                Err(error) => ChunkState::Failed(error.kind(), error.to_string()),
            };
            state.chunks.insert(key, now);
        }
        state.turns.ended();
        drop(state);
        self.came.notify_all();
        self.pump();
    }
}

impl Evict for RemoteFiles {
    fn evict(&self, bytes: usize) -> usize {
        let (mut freed, mut gone) = (0, Vec::new());
        let mut state = self.state();
        while freed < bytes
            && let Some(key) = state.clock.pop_front()
        {
            if let Some(ChunkState::Here(own, charge)) = state.chunks.remove(&key) {
                freed += own.len();
                gone.push((own, charge));
            }
        }
        state.bytes -= freed;
        drop(state);
        drop(gone);
        freed
    }
}

impl RemoteFile {
    /// Its number within the process.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Its bytes.
    pub fn length(&self) -> u64 {
        self.cuts.length()
    }

    /// What messages call it.
    pub fn place(&self) -> String {
        self.files.place(&self.name)
    }

    /// What a chunk of it is called in the folder.
    fn kept_name(&self, chunk: u32) -> String {
        format!("{}.{chunk}", self.name.replace('/', "_"))
    }

    /// `length` bytes from `offset` on, which lie within the file. Waits for those that are not here.
    pub fn read(self: &Arc<Self>, offset: u64, length: usize) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        if bytes.try_reserve_exact(length).is_err() {
            return Err(Error::OutOfMemory(format!("{length} bytes to read {}", self.place())));
        }
        let end = offset + length as u64;
        for (chunk, part) in self.cuts.of(offset, length).zip(self.chunks(offset, length)?) {
            let own = self.cuts.bytes(chunk);
            let wanted = offset.max(own.start) - own.start..end.min(own.end) - own.start;
            bytes.extend_from_slice(&part[wanted.start as usize..wanted.end as usize]);
        }
        Ok(bytes)
    }

    /// The chunks that have a range, waited for.
    fn chunks(self: &Arc<Self>, offset: u64, length: usize) -> Result<Vec<Bytes>> {
        let chunks = self.cuts.of(offset, length);
        let mut here: HashMap<u32, Bytes> = HashMap::new();
        // Those that this reader has asked for: when one of them fails, so does it.
        let mut asked: HashSet<u32> = HashSet::new();
        loop {
            let mut absent = Vec::new();
            let mut state = self.files.state();
            for chunk in chunks.clone().filter(|chunk| !here.contains_key(chunk)).collect::<Vec<_>>() {
                let key = (self.number, chunk);
                match state.chunks.get(&key) {
                    Some(ChunkState::Here(bytes, charge)) => {
                        let (bytes, is_charged) = (bytes.clone(), charge.is_some());
                        here.insert(chunk, bytes);
                        if !is_charged {
                            state.chunks.remove(&key);
                        }
                    }
                    Some(ChunkState::Reading(_)) => {}
                    Some(ChunkState::Failed(kind, text)) if asked.contains(&chunk) => {
                        let error = self.failed(*kind, text, chunk);
                        state.chunks.remove(&key);
                        return Err(error);
                    }
                    Some(ChunkState::Failed(..) | ChunkState::Queued) | None => absent.push(chunk),
                }
            }
            if here.len() == chunks.len() {
                return Ok(chunks.filter_map(|chunk| here.remove(&chunk)).collect());
            }
            if absent.is_empty() {
                drop(self.files.came.wait(state).unwrap_or_else(PoisonError::into_inner));
                continue;
            }
            for chunk in &absent {
                state.chunks.insert((self.number, *chunk), ChunkState::Reading(None));
            }
            drop(state);
            self.bring(absent, &mut here, &mut asked);
        }
    }

    /// Brings chunks that this reader has taken on itself: from the folder, or by requests.
    fn bring(self: &Arc<Self>, chunks: Vec<u32>, here: &mut HashMap<u32, Bytes>, asked: &mut HashSet<u32>) {
        let mut absent = Vec::new();
        for chunk in chunks {
            match self.kept(chunk) {
                Some(bytes) => {
                    self.files.state().chunks.remove(&(self.number, chunk));
                    here.insert(chunk, bytes);
                }
                None => absent.push(chunk),
            }
        }
        self.files.came.notify_all();
        asked.extend(&absent);
        for run in runs(self.cuts, absent) {
            let request = Request { file: Arc::clone(self), run };
            let charges = self.files.charges(&request);
            let mut state = self.files.state();
            for ((_, key), charge) in request.chunks().zip(charges.unwrap_or_default()) {
                state.chunks.insert(key, ChunkState::Reading(Some(charge)));
            }
            state.turns.begins();
            drop(state);
            self.files.begin(request);
        }
    }

    /// A chunk from the folder.
    fn kept(&self, chunk: u32) -> Option<Bytes> {
        self.files.folder.as_ref()?.get(&self.kept_name(chunk), self.cuts.length_of(chunk))
    }

    fn failed(&self, kind: io::ErrorKind, text: &str, chunk: u32) -> Error {
        let (place, bytes) = (self.place(), self.cuts.bytes(chunk));
        match kind {
            io::ErrorKind::NotFound => Error::corrupt(place, "this object is missing"),
            io::ErrorKind::UnexpectedEof => {
                Error::corrupt(place, format!("cut off: no {} bytes at {}", bytes.end - bytes.start, bytes.start))
            }
            _ => Error::io("reading", Path::new(&place))(io::Error::new(
                kind,
                format!("{text} (at byte {})", bytes.start),
            )),
        }
    }

    /// Reads ranges ahead, of which somebody will want all: those chunks that are not here or in the folder, in the order of the file.
    pub(crate) fn read_ahead(self: &Arc<Self>, ranges: impl Iterator<Item = (u64, usize)>) {
        let mut wanted: Vec<u32> = ranges.flat_map(|(offset, length)| self.cuts.of(offset, length)).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let is_kept = |chunk: u32| self.files.folder.as_ref().is_some_and(|folder| folder.has(&self.kept_name(chunk)));
        wanted.retain(|chunk| !is_kept(*chunk));
        let mut state = self.files.state();
        wanted.retain(|chunk| !state.chunks.contains_key(&(self.number, *chunk)));
        for run in runs(self.cuts, wanted) {
            let request = Request { file: Arc::clone(self), run };
            request.chunks().for_each(|(_, key)| drop(state.chunks.insert(key, ChunkState::Queued)));
            state.turns.add(request);
        }
        drop(state);
        self.files.pump();
    }

    /// Reads its last chunk ahead.
    pub(crate) fn read_end_ahead(self: &Arc<Self>) {
        let last = self.cuts.last();
        self.read_ahead(std::iter::once((self.cuts.bytes(last).start, self.cuts.length_of(last))));
    }

    /// Forgets what is kept of a range, which is not what was written: the next reader asks for it again.
    pub(crate) fn forget(&self, offset: u64, length: usize) {
        for chunk in self.cuts.of(offset, length) {
            self.files.folder.iter().for_each(|folder| folder.forget(&self.kept_name(chunk)));
            self.files.drop_chunk((self.number, chunk));
        }
    }
}

impl RemoteFiles {
    /// Forgets a chunk that is here.
    fn drop_chunk(&self, key: ChunkKey) {
        let mut state = self.state();
        if let Some(ChunkState::Here(bytes, Some(_))) = state.chunks.get(&key) {
            state.bytes -= bytes.len();
            state.clock.retain(|other| *other != key);
            state.chunks.remove(&key);
        }
    }
}

/// Its chunks in memory go with the last who has it open.
impl Drop for RemoteFile {
    fn drop(&mut self) {
        let mut state = self.files.state();
        let number = self.number;
        let keys: Vec<ChunkKey> = (0..=self.cuts.last()).map(|chunk| (number, chunk)).collect();
        let gone: Vec<_> = keys.iter().filter_map(|key| state.chunks.remove(key)).collect();
        for state_of in &gone {
            if let ChunkState::Here(own, Some(_)) = state_of {
                state.bytes -= own.len();
            }
        }
        state.clock.retain(|key| key.0 != number);
        drop(state);
        drop(gone);
    }
}
