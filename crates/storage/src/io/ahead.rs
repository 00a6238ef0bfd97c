//! Reads of a scan's coming morsels, side by side, past the system's cache (read-optimized paper, section 5.3).
//!
//! The bytes that morsels need are cut into units. Each unit is read once and kept until the last morsel that needs it is done, so that morsels
//! share what lies across their bounds. Units are read in the order of morsels, as many ahead as the depth says and the memory
//! limit allows. There is no thread for this: whoever needs a unit that has not come waits for reads to end, and submits the next.

use crate::io::direct::{DirectFile, ReadBuffer};
use crate::io::memory::MemoryBudget;
use crate::io::pool;
use crate::io::reads::{EndedRead, Reads, UnitRead};
use crate::io::system::process_time;
use crate::panics::{self, Panic, PanicPoint, caught};
use crate::{Error, Result};
use arrow::buffer::Buffer;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Unit and depth of a scan's reads ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadOptions {
    /// Bytes of one read.
    pub unit: usize,
    /// Reads ahead of the morsels that are worked on, at most.
    pub depth: usize,
}

/// Bytes that a morsel needs, at one place of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileSpan {
    /// The file, by its place in the list.
    pub file: usize,
    /// Where they start.
    pub offset: u64,
    /// The number of bytes.
    pub length: usize,
}

/// A file that is read, and its name in errors.
#[derive(Debug)]
pub(crate) struct AheadFile {
    /// The file.
    pub file: Arc<DirectFile>,
    /// The file's name.
    pub place: String,
}

/// Reads of a scan so far, and their times.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReadTimes {
    /// How: `io_uring` or `threads`, of files without O_DIRECT with `_cached`.
    pub way: String,
    /// Reads that have ended.
    pub reads: u64,
    /// Bytes that they brought.
    pub bytes: u64,
    /// From the first that was begun to the last that ended.
    pub elapsed: Duration,
    /// Time that threads waited, all together.
    pub waited: Duration,
    /// Time that the process computed meanwhile.
    pub computed: Duration,
}

impl ReadTimes {
    /// Megabytes (10^6 bytes) that came in a second.
    pub fn megabytes_per_second(&self) -> f64 {
        self.bytes as f64 / 1e6 / self.elapsed.as_secs_f64().max(1e-9)
    }
}

/// The text that EXPLAIN shows.
impl fmt::Display for ReadTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { way, reads, bytes, elapsed, waited, computed } = self;
        let rate = self.megabytes_per_second();
        write!(f, "{way}: {reads} reads, {bytes} bytes in {elapsed:.1?} ({rate:.0} MB/s), ")?;
        write!(f, "waited {waited:.1?}, computed {computed:.1?}")
    }
}

/// One read, of a unit or less.
#[derive(Debug)]
struct ReadUnit {
    file: usize,
    offset: u64,
    /// Bytes to read.
    length: usize,
    /// Bytes that must be there.
    needed: usize,
    /// Morsels that need it and have not begun.
    planned: usize,
    /// Morsels that are worked on and need it.
    active: usize,
    state: UnitState,
}

#[derive(Debug)]
enum UnitState {
    Absent,
    Reading,
    Ready(Arc<ReadBuffer>),
    Failed(std::io::ErrorKind, String),
}

impl ReadUnit {
    /// Gives up what it has; its memory, when nobody else looks at it.
    fn leave(&mut self) -> Option<ReadBuffer> {
        match std::mem::replace(&mut self.state, UnitState::Absent) {
            UnitState::Ready(buffer) => Arc::try_unwrap(buffer).ok(),
            other => {
                self.state = other;
                None
            }
        }
    }

    /// True of one that takes memory for a morsel that has not begun.
    fn is_ahead(&self) -> bool {
        self.active == 0 && matches!(self.state, UnitState::Reading | UnitState::Ready(_))
    }
}

/// Units that follow one another in a file.
#[derive(Debug)]
struct Stretch {
    start: u64,
    end: u64,
    first: usize,
}

/// The reads of one scan.
#[derive(Debug)]
pub(crate) struct ReadAhead {
    files: Vec<AheadFile>,
    /// By file and start.
    stretches: BTreeMap<(usize, u64), Stretch>,
    /// For each morsel its units, ascending.
    morsels: Vec<Vec<u32>>,
    options: ReadOptions,
    /// Bytes of a buffer, and what they are aligned to.
    buffer: (usize, usize),
    budget: Arc<MemoryBudget>,
    state: Mutex<AheadState>,
    /// Told whenever reads have ended.
    ended: Condvar,
}

#[derive(Debug)]
struct AheadState {
    /// Reads that are under way; `None` while a thread waits for them, or before the first.
    reads: Option<Reads>,
    is_started: bool,
    units: Vec<ReadUnit>,
    /// Units in the order in which morsels need them, and the next of these to be read.
    order: Vec<u32>,
    next: usize,
    /// Units that take memory for morsels that have not begun.
    ahead: usize,
    free: Vec<ReadBuffer>,
    /// Buffers that the budget was asked for.
    buffers: usize,
    /// The morsels that have begun.
    begun: Vec<bool>,
    times: ReadTimes,
    start: Option<(Instant, Duration)>,
    /// Set by a panic of who read, or waited for reads, for others: whoever needs a unit fails.
    panic: Option<Panic>,
}

impl ReadAhead {
    /// Plans the reads of morsels that need these spans each.
    pub fn new(
        files: Vec<AheadFile>,
        spans: &[Vec<FileSpan>],
        options: ReadOptions,
        budget: Arc<MemoryBudget>,
    ) -> Self {
        let alignment = files.iter().map(|file| file.file.alignment()).max().unwrap_or(1);
        let unit = options.unit.next_multiple_of(alignment);
        let mut units = Vec::new();
        let mut stretches = BTreeMap::new();
        for (file, range) in merged(spans, alignment as u64) {
            let stretch = Stretch { start: range.start, end: range.end, first: units.len() };
            let (from, to) = (range.start & !(alignment as u64 - 1), range.end.next_multiple_of(alignment as u64));
            for offset in (from..to).step_by(unit) {
                let end = to.min(offset + unit as u64);
                units.push(ReadUnit {
                    file,
                    offset,
                    length: (end - offset) as usize,
                    needed: (range.end.min(end) - offset) as usize,
                    planned: 0,
                    active: 0,
                    state: UnitState::Absent,
                });
            }
            stretches.insert((file, range.start), stretch);
        }
        let mut ahead = Self {
            files,
            stretches,
            morsels: Vec::with_capacity(spans.len()),
            options: ReadOptions { unit, ..options },
            buffer: (unit, alignment),
            budget,
            state: Mutex::new(AheadState {
                reads: None,
                is_started: false,
                units,
                order: Vec::new(),
                next: 0,
                ahead: 0,
                free: Vec::new(),
                buffers: 0,
                begun: vec![false; spans.len()],
                times: ReadTimes::default(),
                start: None,
                panic: None,
            }),
            ended: Condvar::new(),
        };
        ahead.plan(spans);
        ahead
    }

    /// Finds each morsel's units.
    fn plan(&mut self, spans: &[Vec<FileSpan>]) {
        for spans in spans {
            let mut own: Vec<u32> = Vec::new();
            for span in spans {
                if let Some((units, _)) = self.units_of(*span) {
                    own.extend(units.map(|unit| unit as u32));
                }
            }
            own.sort_unstable();
            own.dedup();
            self.morsels.push(own);
        }
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut known = vec![false; state.units.len()];
        for unit in self.morsels.iter().flatten() {
            state.units[*unit as usize].planned += 1;
            if !std::mem::replace(&mut known[*unit as usize], true) {
                state.order.push(*unit);
            }
        }
    }

    /// The units that hold a span, and where the first of them starts in the file; `None` when the span is not planned.
    fn units_of(&self, span: FileSpan) -> Option<(Range<usize>, u64)> {
        let ((file, _), stretch) = self.stretches.range(..=(span.file, span.offset)).next_back()?;
        let end = span.offset.checked_add(span.length as u64)?;
        if *file != span.file || end > stretch.end || span.length == 0 {
            return None;
        }
        let (from, unit) = (stretch.start & !(self.buffer.1 as u64 - 1), self.options.unit as u64);
        let place = |byte: u64| ((byte - from) / unit) as usize;
        let (first, last) = (place(span.offset), place(end - 1));
        Some((stretch.first + first..stretch.first + last + 1, from + first as u64 * unit))
    }

    /// Begins a morsel: its units are kept until the guard is dropped.
    pub fn begin(self: &Arc<Self>, morsel: usize) -> MorselReads {
        let mut state = self.lock();
        let is_new = !std::mem::replace(&mut state.begun[morsel], true);
        for unit in &self.morsels[morsel] {
            let unit = &mut state.units[*unit as usize];
            let was_ahead = unit.is_ahead();
            unit.active += 1;
            unit.planned -= usize::from(is_new);
            state.ahead -= usize::from(was_ahead);
        }
        self.pump(&mut state);
        MorselReads { ahead: Arc::clone(self), morsel }
    }

    fn end(&self, morsel: usize) {
        let mut state = self.lock();
        for number in &self.morsels[morsel] {
            let unit = &mut state.units[*number as usize];
            unit.active -= 1;
            if unit.active > 0 {
                continue;
            }
            if unit.planned > 0 || matches!(unit.state, UnitState::Reading) {
                state.ahead += usize::from(unit.is_ahead());
            } else {
                let buffer = unit.leave();
                state.free.extend(buffer);
            }
        }
        self.pump(&mut state);
    }

    /// Submits coming units as far as depth and memory allow.
    fn pump(&self, state: &mut AheadState) {
        if state.is_started && state.reads.is_none() {
            // Another thread waits; it submits when it comes back.
            return;
        }
        while state.ahead < self.options.depth
            && let Some(number) = state.order.get(state.next).copied()
        {
            let unit = &state.units[number as usize];
            if unit.planned == 0 || !matches!(unit.state, UnitState::Absent) {
                state.next += 1;
                continue;
            }
            let Some(buffer) = self.buffer(state, false) else { return };
            state.next += 1;
            self.submit(state, number as usize, buffer);
            state.ahead += usize::from(state.units[number as usize].active == 0);
        }
        if let Some(reads) = &mut state.reads {
            reads.flush();
        }
    }

    /// Memory for a unit; `None` when the limit leaves none, unless it is `wanted` now, or the system has none.
    fn buffer(&self, state: &mut AheadState, wanted: bool) -> Option<ReadBuffer> {
        if let Some(buffer) = state.free.pop() {
            return Some(buffer);
        }
        let (length, alignment) = self.buffer;
        if !self.budget.try_reserve(length + alignment) {
            if !wanted {
                return None;
            }
            self.budget.reserve(length + alignment);
        }
        state.buffers += 1;
        ReadBuffer::new(length, alignment)
    }

    fn submit(&self, state: &mut AheadState, number: usize, buffer: ReadBuffer) {
        if state.start.is_none() {
            state.start = Some((Instant::now(), process_time()));
        }
        if !state.is_started {
            (state.is_started, state.reads) = (true, Some(Reads::start(self.options.depth)));
        }
        let unit = &mut state.units[number];
        let file = Arc::clone(&self.files[unit.file].file);
        unit.state = UnitState::Reading;
        let ReadUnit { offset, length, needed, .. } = *unit;
        if let Some(reads) = &mut state.reads {
            if state.times.way.is_empty() {
                let cached = if file.is_direct() { "" } else { "_cached" };
                state.times.way = format!("{}{cached}", reads.name());
            }
            reads.submit(UnitRead { tag: number, file, offset, length, needed, buffer });
        }
    }

    /// The bytes of some units, once all of them have come.
    fn wait(&self, numbers: Range<usize>) -> Result<Vec<Arc<ReadBuffer>>> {
        let start = Instant::now();
        let mut state = self.lock();
        let mut waited = false;
        loop {
            if let Some(panic) = &state.panic {
                return Err(panic.clone().into());
            }
            let mut ready = Vec::with_capacity(numbers.len());
            for number in numbers.clone() {
                match &state.units[number].state {
                    UnitState::Ready(buffer) => ready.push(Arc::clone(buffer)),
                    UnitState::Failed(kind, text) => return Err(self.failed(&state.units[number], *kind, text)),
                    UnitState::Absent if !state.is_started || state.reads.is_some() => {
                        let no_memory = || Error::OutOfMemory(format!("{} bytes to read", self.buffer.0));
                        let buffer = self.buffer(&mut state, true).ok_or_else(no_memory)?;
                        self.submit(&mut state, number, buffer);
                    }
                    UnitState::Absent | UnitState::Reading => {}
                }
            }
            if ready.len() == numbers.len() {
                if waited {
                    state.times.waited += start.elapsed();
                }
                return Ok(ready);
            }
            waited = true;
            match state.reads.take() {
                Some(mut reads) => {
                    drop(state);
                    let came = caught(|| {
                        panics::pass(PanicPoint::ReadAhead);
                        let ended = reads.wait();
                        let mut state = self.lock();
                        state.reads = Some(reads);
                        self.take(&mut state, ended);
                        self.pump(&mut state);
                    });
                    state = self.lock();
                    // Others wait for what this one was to bring.
                    if let Err(panic) = came {
                        state.panic.get_or_insert(panic);
                    }
                    self.ended.notify_all();
                }
                None => state = self.ended.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// Notes what reads gave.
    fn take(&self, state: &mut AheadState, ended: Vec<EndedRead>) {
        for EndedRead { tag, buffer, result } in ended {
            if let Some(panic) = result.as_ref().err().and_then(panic_of) {
                state.panic.get_or_insert(panic.clone());
            }
            let unit = &mut state.units[tag];
            state.times.reads += 1;
            state.times.bytes += unit.length as u64;
            let is_ahead = unit.is_ahead();
            unit.state = match result {
                Ok(()) => UnitState::Ready(Arc::new(buffer)),
                Err(error) => UnitState::Failed(error.kind(), error.to_string()),
            };
            let is_kept = unit.active > 0 || unit.planned > 0;
            if !is_kept {
                let buffer = unit.leave();
                state.free.extend(buffer);
            }
            let unit = &state.units[tag];
            state.ahead -= usize::from(is_ahead && !unit.is_ahead());
        }
        if let Some((start, computed)) = state.start {
            (state.times.elapsed, state.times.computed) = (start.elapsed(), process_time().saturating_sub(computed));
        }
    }

    /// The error of a unit that could not be read.
    fn failed(&self, unit: &ReadUnit, kind: std::io::ErrorKind, text: &str) -> Error {
        let (place, offset) = (&self.files[unit.file].place, unit.offset);
        if kind == std::io::ErrorKind::UnexpectedEof {
            return Error::corrupt(place, format!("cut off: no {} bytes at {offset}", unit.needed));
        }
        let error = std::io::Error::new(kind, format!("{text} (at byte {offset})"));
        Error::io("reading", std::path::Path::new(place))(error)
    }

    /// The reads so far, and their times.
    pub fn times(&self) -> ReadTimes {
        self.lock().times.clone()
    }

    fn lock(&self) -> MutexGuard<'_, AheadState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The panic that has ended a read.
fn panic_of(error: &std::io::Error) -> Option<&Panic> {
    error.get_ref()?.downcast_ref()
}

/// Reads that are under way own their memory and end before they are dropped.
impl Drop for ReadAhead {
    fn drop(&mut self) {
        let (length, alignment) = self.buffer;
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        state.reads = None;
        self.budget.release(state.buffers * (length + alignment));
    }
}

/// The spans of all morsels, those that touch or share a page of the alignment as one.
fn merged(spans: &[Vec<FileSpan>], alignment: u64) -> Vec<(usize, Range<u64>)> {
    let mut all: Vec<FileSpan> = spans.iter().flatten().filter(|span| span.length > 0).copied().collect();
    all.sort_unstable();
    let mut merged: Vec<(usize, Range<u64>)> = Vec::new();
    for FileSpan { file, offset, length } in all {
        let end = offset + length as u64;
        match merged.last_mut() {
            Some((last, range)) if *last == file && offset <= range.end.next_multiple_of(alignment) => {
                range.end = range.end.max(end);
            }
            _ => merged.push((file, offset..end)),
        }
    }
    merged
}

/// A morsel that is worked on.
#[derive(Debug)]
pub(crate) struct MorselReads {
    ahead: Arc<ReadAhead>,
    morsel: usize,
}

impl Drop for MorselReads {
    fn drop(&mut self) {
        self.ahead.end(self.morsel);
    }
}

impl MorselReads {
    /// The bytes of a span, waited for; `None` when nobody planned it.
    pub fn bytes(&self, span: FileSpan) -> Result<Option<Buffer>> {
        let Some((numbers, first)) = self.ahead.units_of(span) else { return Ok(None) };
        if numbers.clone().any(|unit| self.ahead.morsels[self.morsel].binary_search(&(unit as u32)).is_err()) {
            return Ok(None);
        }
        let units = self.ahead.wait(numbers)?;
        let start = (span.offset - first) as usize;
        if let [unit] = units.as_slice() {
            let owner = ReadPart { buffer: Arc::clone(unit), range: start..start + span.length };
            return Ok(Some(Buffer::from(bytes::Bytes::from_owner(owner))));
        }
        let mut joined = pool::take(span.length);
        let mut skip = start;
        for unit in units {
            let rest = &unit.bytes()[skip..];
            joined.extend_from_slice(&rest[..rest.len().min(span.length - joined.len())]);
            skip = 0;
        }
        Ok(Some(pool::lend(joined)))
    }
}

/// A part of a unit's bytes.
struct ReadPart {
    buffer: Arc<ReadBuffer>,
    range: Range<usize>,
}

impl AsRef<[u8]> for ReadPart {
    fn as_ref(&self) -> &[u8] {
        &self.buffer.bytes()[self.range.clone()]
    }
}

#[cfg(test)]
mod tests;
