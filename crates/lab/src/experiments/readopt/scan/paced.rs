//! A file page by page, at the full rate of the disk, or as a slower disk would bring its pages.
//!
//! The slower disk brings a unit after the other at its rate, of all files in turn that have room: each scanner has requests for so many units
//! ahead of the page that it works on, as the paper's has (section 5.3). A page that has not come yet is waited for. Real reads go
//! on meanwhile.

use gingham::storage::Result;
use gingham::storage::io::ReadOptions;
use gingham::storage::lab::{DenseFile, DenseStream, FilePage};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;
use std::time::{Duration, Instant};

/// The paper's units and depth: 128 KB, 48 of them ahead.
pub const PAPER_READS: ReadOptions = ReadOptions { unit: 128 << 10, depth: 48 };
/// Bytes that are requested ahead.
const AHEAD: u64 = PAPER_READS.unit as u64 * PAPER_READS.depth as u64;

/// A disk of a given rate, shared by the scanners of a query.
#[derive(Debug)]
pub struct SlowDisk {
    bytes_per_second: f64,
    work: RefCell<DiskWork>,
}

/// Requests of a slow disk, done and to be done.
#[derive(Debug)]
struct DiskWork {
    /// When it can bring the next unit.
    free: Instant,
    files: Vec<Requests>,
    /// The file whose turn it is.
    turn: usize,
}

/// The requests of one scanner.
#[derive(Debug)]
struct Requests {
    /// Bytes of the file, and how many of them have been brought or are on their way.
    length: u64,
    brought: u64,
    /// Bytes up to which requests go: so many ahead of what is worked on.
    requested: u64,
    /// Ends of units, in bytes from the file's start, and when they come.
    coming: VecDeque<(u64, Instant)>,
}

impl SlowDisk {
    /// A disk that is idle now.
    pub fn new(bytes_per_second: f64) -> Self {
        Self { bytes_per_second, work: RefCell::new(DiskWork { free: Instant::now(), files: Vec::new(), turn: 0 }) }
    }

    /// Adds the requests of a file of so many bytes; returns its number.
    fn add(&self, length: u64) -> usize {
        let files = &mut self.work.borrow_mut().files;
        files.push(Requests { length, brought: 0, requested: AHEAD, coming: VecDeque::new() });
        files.len() - 1
    }

    /// When these bytes of a file will have come, as seen at `now`. Those before are not needed any longer.
    fn comes(&self, file: usize, bytes: Range<u64>, now: Instant) -> Instant {
        let mut work = self.work.borrow_mut();
        // What it has done by itself until now; then it was idle, if it had nothing to do.
        while work.free <= now && self.bring(&mut work) {}
        work.free = work.free.max(now);
        work.files[file].requested = bytes.start + AHEAD;
        while work.files[file].brought < bytes.end && self.bring(&mut work) {}
        let coming = &mut work.files[file].coming;
        while coming.front().is_some_and(|(last, _)| *last < bytes.end) {
            coming.pop_front();
        }
        coming.front().map_or(now, |(_, comes)| *comes)
    }

    /// Brings the next unit of the file whose turn it is; false when no file has room for one.
    fn bring(&self, work: &mut DiskWork) -> bool {
        let has_room = |file: &Requests| file.brought < file.length.min(file.requested);
        let count = work.files.len();
        let Some(turn) = (0..count).map(|step| (work.turn + step) % count).find(|file| has_room(&work.files[*file]))
        else {
            return false;
        };
        let file = &mut work.files[turn];
        let unit = (file.length - file.brought).min(PAPER_READS.unit as u64);
        file.brought += unit;
        work.free += Duration::from_secs_f64(unit as f64 / self.bytes_per_second);
        file.coming.push_back((file.brought, work.free));
        work.turn = (turn + 1) % count;
        true
    }
}

/// The pages of a file, one after the other.
pub struct PacedStream<'f> {
    stream: DenseStream<'f>,
    /// The slower disk, and the file's number there.
    slow: Option<(&'f SlowDisk, usize)>,
    bytes: u64,
    /// Time that was spent on waiting for the slower disk.
    held: Duration,
}

impl<'f> PacedStream<'f> {
    /// Begins a pass, at the rate of a slower disk where one is given.
    pub fn start(file: &'f DenseFile, disk: Option<&'f SlowDisk>) -> Result<Self> {
        let slow = disk.map(|disk| (disk, disk.add(file.bytes())));
        Ok(Self { stream: file.stream(PAPER_READS)?, slow, bytes: 0, held: Duration::ZERO })
    }

    /// The next page; `None` behind the last.
    pub fn next_page(&mut self) -> Result<Option<FilePage<'f>>> {
        let Some(page) = self.stream.next_page()? else { return Ok(None) };
        let start = self.bytes;
        self.bytes += page.length() as u64;
        if let Some((disk, file)) = self.slow {
            let now = Instant::now();
            let comes = disk.comes(file, start..self.bytes, now);
            if comes > now {
                std::thread::sleep(comes - now);
                self.held += now.elapsed();
            }
        }
        Ok(Some(page))
    }

    /// Bytes of the pages so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Time that was spent on waiting for pages so far.
    pub fn waited(&self) -> Duration {
        self.stream.times().waited + self.held
    }
}
