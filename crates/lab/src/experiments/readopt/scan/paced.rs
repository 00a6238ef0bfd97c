//! A file page by page, at the full rate of the disk, or as a slower disk would bring its pages.
//!
//! The slower disk serves one request after the other at its rate. Each scanner has requests for so many units ahead of the page that
//! it works on, as the paper's has (section 5.3); a page that has not come yet is waited for. Real reads go on meanwhile.

use gingham::storage::Result;
use gingham::storage::io::ReadOptions;
use gingham::storage::lab::{DenseFile, DenseStream, FilePage};
use std::cell::Cell;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The paper's units and depth: 128 KB, 48 of them ahead.
pub const PAPER_READS: ReadOptions = ReadOptions { unit: 128 << 10, depth: 48 };
/// Bytes that are requested ahead.
const AHEAD: u64 = PAPER_READS.unit as u64 * PAPER_READS.depth as u64;

/// A disk of a given rate, shared by the scanners of a query.
#[derive(Debug)]
pub struct SlowDisk {
    bytes_per_second: f64,
    /// When it has served all requests so far.
    free: Cell<Instant>,
}

impl SlowDisk {
    /// A disk that is idle now.
    pub fn new(bytes_per_second: f64) -> Self {
        Self { bytes_per_second, free: Cell::new(Instant::now()) }
    }

    /// When the bytes of a request that is made now will have come.
    fn request(&self, bytes: usize, now: Instant) -> Instant {
        let served = self.free.get().max(now) + Duration::from_secs_f64(bytes as f64 / self.bytes_per_second);
        self.free.set(served);
        served
    }
}

/// The pages of a file, one after the other.
pub struct PacedStream<'f> {
    stream: DenseStream<'f>,
    slow: Option<Requests<'f>>,
    bytes: u64,
}

/// Requests to a slow disk.
struct Requests<'f> {
    disk: &'f SlowDisk,
    /// Bytes that have not been requested.
    left: u64,
    /// Ends of the requests, in bytes from the file's start, and when they will have come.
    coming: VecDeque<(u64, Instant)>,
    requested: u64,
    waited: Duration,
}

impl Requests<'_> {
    /// Requests units until so many bytes are under way or there.
    fn request_to(&mut self, bytes: u64, now: Instant) {
        while self.left > 0 && self.requested < bytes {
            let unit = self.left.min(PAPER_READS.unit as u64);
            self.left -= unit;
            self.requested += unit;
            self.coming.push_back((self.requested, self.disk.request(unit as usize, now)));
        }
    }

    /// Waits until the bytes up to `end` have come; `start` and what comes before is not needed any longer.
    fn wait(&mut self, start: u64, end: u64) {
        let now = Instant::now();
        self.request_to(start + AHEAD, now);
        while self.coming.front().is_some_and(|(last, _)| *last < end) {
            self.coming.pop_front();
        }
        if let Some((_, comes)) = self.coming.front()
            && *comes > now
        {
            std::thread::sleep(*comes - now);
            self.waited += now.elapsed();
        }
    }
}

impl<'f> PacedStream<'f> {
    /// Begins a pass, at the rate of a slower disk where one is given.
    pub fn start(file: &'f DenseFile, disk: Option<&'f SlowDisk>) -> Result<Self> {
        let slow = disk.map(|disk| {
            let mut requests =
                Requests { disk, left: file.bytes(), coming: VecDeque::new(), requested: 0, waited: Duration::ZERO };
            requests.request_to(AHEAD, Instant::now());
            requests
        });
        Ok(Self { stream: file.stream(PAPER_READS)?, slow, bytes: 0 })
    }

    /// The next page; `None` behind the last.
    pub fn next_page(&mut self) -> Result<Option<FilePage<'f>>> {
        let Some(page) = self.stream.next_page()? else { return Ok(None) };
        let start = self.bytes;
        self.bytes += page.length() as u64;
        if let Some(slow) = &mut self.slow {
            slow.wait(start, self.bytes);
        }
        Ok(Some(page))
    }

    /// Bytes of the pages so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Time that was spent on waiting for pages so far.
    pub fn waited(&self) -> Duration {
        self.stream.times().waited + self.slow.as_ref().map_or(Duration::ZERO, |slow| slow.waited)
    }
}
