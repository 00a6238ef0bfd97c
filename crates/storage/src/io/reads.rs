//! Reads that are under way side by side: by the system's ring of requests, or by threads where that is refused.
//!
//! Only reads go through the ring; what is written and synced stays with plain calls, which the durability tests record.

use crate::io::direct::{DirectFile, ReadBuffer};
use crate::panics::{self, PanicPoint, caught};
use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Threads that read in the place of a ring, at most.
const THREADS: usize = 16;

/// Set by tests: the ring is refused, as containers do.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// Refuses the ring from now on, or no longer: for tests.
pub fn refuse_ring(refused: bool) {
    REFUSED.store(refused, Ordering::Relaxed);
}

/// One read.
#[derive(Debug)]
pub(crate) struct UnitRead {
    /// Whose it is.
    pub tag: usize,
    /// The file.
    pub file: Arc<DirectFile>,
    /// Where it starts in the file, a multiple of the file's alignment.
    pub offset: u64,
    /// Bytes to read, a multiple of it too; the buffer has at least as many.
    pub length: usize,
    /// Bytes that must come: the file may end behind them.
    pub needed: usize,
    /// Where they go.
    pub buffer: ReadBuffer,
}

/// A read that has ended.
#[derive(Debug)]
pub(crate) struct EndedRead {
    /// Whose it was.
    pub tag: usize,
    /// The bytes that came.
    pub buffer: ReadBuffer,
    /// Whether the needed bytes came.
    pub result: io::Result<()>,
}

/// A read with what of it has come.
#[derive(Debug)]
struct ReadProgress {
    read: UnitRead,
    done: usize,
}

impl ReadProgress {
    /// Where the rest goes: what came is repeated from a multiple of the alignment on.
    fn rest(&self) -> Range<usize> {
        self.done & !(self.read.file.alignment() - 1)..self.read.length
    }

    /// Notes what one call gave; `None` when more must be read.
    fn ended(&mut self, came: io::Result<usize>) -> Option<io::Result<()>> {
        match came {
            // At the end of the file the last bytes come again.
            Ok(came) if self.rest().start + came <= self.done => Some(Err(io::ErrorKind::UnexpectedEof.into())),
            Ok(came) => {
                self.done = self.rest().start + came;
                (self.done >= self.read.needed).then_some(Ok(()))
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) => None,
            Err(error) => Some(Err(error)),
        }
    }

    fn end(self, result: io::Result<()>) -> EndedRead {
        self.read.file.forget(self.read.offset, self.read.length);
        EndedRead { tag: self.read.tag, buffer: self.read.buffer, result }
    }
}

/// Reads that are under way.
#[derive(Debug)]
pub(crate) enum Reads {
    /// By the system's ring.
    #[cfg(target_os = "linux")]
    Ring(Box<Ring>),
    /// By threads.
    Threads(ReadThreads),
}

impl Reads {
    /// Nothing is under way yet, and about `depth` reads may be at once.
    pub fn start(depth: usize) -> Self {
        #[cfg(target_os = "linux")]
        if !REFUSED.load(Ordering::Relaxed)
            && let Ok(ring) = Ring::new(depth)
        {
            return Self::Ring(Box::new(ring));
        }
        Self::Threads(ReadThreads::start(depth.clamp(1, THREADS)))
    }

    /// The name of the way in which reads are done, for EXPLAIN.
    pub fn name(&self) -> &'static str {
        match self {
            #[cfg(target_os = "linux")]
            Self::Ring(_) => "io_uring",
            Self::Threads(_) => "threads",
        }
    }

    /// Begins a read.
    pub fn submit(&mut self, read: UnitRead) {
        let read = ReadProgress { read, done: 0 };
        match self {
            #[cfg(target_os = "linux")]
            Self::Ring(ring) => ring.submit(read),
            Self::Threads(threads) => threads.submit(read),
        }
    }

    /// Tells the system of reads that were submitted; `wait` does so too.
    pub fn flush(&mut self) {
        match self {
            #[cfg(target_os = "linux")]
            Self::Ring(ring) => ring.flush(),
            Self::Threads(_) => {}
        }
    }

    /// Waits until a read has ended, when any is under way; gives those that have.
    pub fn wait(&mut self) -> Vec<EndedRead> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Ring(ring) => ring.wait(),
            Self::Threads(threads) => threads.wait(),
        }
    }
}

/// The system's ring. Its reads own their memory until they have ended: dropping it waits for them.
#[cfg(target_os = "linux")]
pub(crate) struct Ring {
    ring: io_uring::IoUring,
    /// Reads by the number that the system knows them by.
    under_way: Vec<Option<ReadProgress>>,
    free: Vec<usize>,
    /// Reads that the ring had no room for.
    queued: VecDeque<usize>,
    /// Reads that the system has.
    submitted: usize,
}

#[cfg(target_os = "linux")]
impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ring").field("submitted", &self.submitted).finish_non_exhaustive()
    }
}

#[cfg(target_os = "linux")]
impl Ring {
    fn new(depth: usize) -> io::Result<Self> {
        let entries = depth.clamp(1, 1024).next_power_of_two() as u32;
        let ring = io_uring::IoUring::new(entries)?;
        let (under_way, free, queued) = (Vec::new(), Vec::new(), VecDeque::new());
        Ok(Self { ring, under_way, free, queued, submitted: 0 })
    }

    fn submit(&mut self, read: ReadProgress) {
        let number = self.free.pop().unwrap_or_else(|| {
            self.under_way.push(None);
            self.under_way.len() - 1
        });
        self.under_way[number] = Some(read);
        self.queued.push_back(number);
        self.push();
    }

    fn flush(&mut self) {
        self.push();
        if !self.ring.submission().is_empty() {
            // A refusal (of memory, or because of completions that wait) is met again by the next `wait`.
            let _ = self.ring.submit();
        }
    }

    /// Gives queued reads to the ring as far as it has room.
    fn push(&mut self) {
        use std::os::fd::AsRawFd;
        while let Some(number) = self.queued.front().copied() {
            let Some(progress) = &mut self.under_way[number] else {
                self.queued.pop_front();
                continue;
            };
            let rest = progress.rest();
            let descriptor = io_uring::types::Fd(progress.read.file.file().as_raw_fd());
            let offset = progress.read.offset + rest.start as u64;
            let out = &mut progress.read.buffer.bytes_mut()[rest];
            let entry = io_uring::opcode::Read::new(descriptor, out.as_mut_ptr(), out.len() as u32);
            let entry = entry.offset(offset).build().user_data(number as u64);
            // SAFETY: the memory and the descriptor belong to the read, which stays in `under_way` until its completion
            // was taken from the ring, also when the ring is dropped; nobody touches the memory before.
            let pushed = unsafe { self.ring.submission().push(&entry) };
            if pushed.is_err() {
                return;
            }
            self.queued.pop_front();
            self.submitted += 1;
        }
    }

    fn wait(&mut self) -> Vec<EndedRead> {
        let mut ended = Vec::new();
        while ended.is_empty() && (self.submitted > 0 || !self.queued.is_empty()) {
            self.push();
            if let Err(error) = self.ring.submit_and_wait(1)
                && !matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY))
                && self.ring.completion().is_empty()
            {
                return self.give_up(&error);
            }
            let came: Vec<(u64, i32)> =
                self.ring.completion().map(|entry| (entry.user_data(), entry.result())).collect();
            for (number, result) in came {
                let number = number as usize;
                self.submitted -= 1;
                let Some(progress) = self.under_way.get_mut(number).and_then(Option::as_mut) else { continue };
                let came = usize::try_from(result).map_err(|_| io::Error::from_raw_os_error(-result));
                match progress.ended(came) {
                    None => self.queued.push_back(number),
                    Some(result) => {
                        ended.extend(self.under_way[number].take().map(|progress| progress.end(result)));
                        self.free.push(number);
                    }
                }
            }
        }
        self.flush();
        ended
    }

    /// The system takes no reads and gives none: all end with its error. It may still write to the memory of those that it got,
    /// which is left to it.
    fn give_up(&mut self, error: &io::Error) -> Vec<EndedRead> {
        (self.submitted, self.free) = (0, Vec::new());
        self.queued.clear();
        let all = std::mem::take(&mut self.under_way).into_iter().flatten();
        let failed = all.map(|mut progress| {
            std::mem::forget(std::mem::take(&mut progress.read.buffer));
            progress.end(Err(io::Error::from(error.kind())))
        });
        failed.collect()
    }
}

#[cfg(target_os = "linux")]
impl Drop for Ring {
    fn drop(&mut self) {
        self.queued.clear();
        while self.submitted > 0 {
            match self.ring.submit_and_wait(1) {
                Err(error) if !matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY)) => {
                    // The system may still write there: the memory is left to it.
                    std::mem::forget(std::mem::take(&mut self.under_way));
                    return;
                }
                _ => self.submitted -= self.ring.completion().count(),
            }
        }
    }
}

/// Threads that read one after the other what they are given.
#[derive(Debug)]
pub(crate) struct ReadThreads {
    reads: Option<Sender<ReadProgress>>,
    ended: Receiver<EndedRead>,
    under_way: usize,
    /// Empty where the system gives none: then reads are done when they are submitted.
    threads: Vec<JoinHandle<()>>,
    ready: Vec<EndedRead>,
}

impl ReadThreads {
    fn start(threads: usize) -> Self {
        let (reads, taken) = channel::<ReadProgress>();
        let (give, ended) = channel();
        let taken = Arc::new(Mutex::new(taken));
        let start = |_| {
            let (taken, give) = (Arc::clone(&taken), give.clone());
            std::thread::Builder::new().name("gingham read".to_owned()).spawn(move || read_all(&taken, &give)).ok()
        };
        let threads = (0..threads).filter_map(start).collect();
        Self { reads: Some(reads), ended, under_way: 0, threads, ready: Vec::new() }
    }

    fn submit(&mut self, read: ReadProgress) {
        if self.threads.is_empty() {
            self.ready.push(read_whole(read));
        } else if let Some(reads) = &self.reads {
            // The receiver lives as long as a thread does.
            self.under_way += usize::from(reads.send(read).is_ok());
        }
    }

    fn wait(&mut self) -> Vec<EndedRead> {
        let mut ended = std::mem::take(&mut self.ready);
        if self.under_way > 0 {
            ended.extend(self.ended.recv());
            ended.extend(self.ended.try_iter());
            self.under_way -= ended.len();
        }
        ended
    }
}

impl Drop for ReadThreads {
    fn drop(&mut self) {
        self.reads = None;
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

/// Reads until nobody sends more.
fn read_all(taken: &Mutex<Receiver<ReadProgress>>, give: &Sender<EndedRead>) {
    loop {
        let next = taken.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(progress) = next else { return };
        if give.send(read_whole(progress)).is_err() {
            return;
        }
    }
}

/// Reads until all that is needed has come. A panic is the error of this read, for which somebody waits.
fn read_whole(mut progress: ReadProgress) -> EndedRead {
    let result = caught(|| {
        panics::pass(PanicPoint::Read);
        loop {
            let (rest, offset) = (progress.rest(), progress.read.offset);
            let out = &mut progress.read.buffer.bytes_mut()[rest.clone()];
            let came = progress.read.file.read(out, offset + rest.start as u64);
            if let Some(result) = progress.ended(came) {
                return result;
            }
        }
    });
    progress.end(result.unwrap_or_else(|panic| Err(io::Error::other(panic))))
}
