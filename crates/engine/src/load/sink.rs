//! Where the records of a load go, whatever they are read from: into the table, or, when they are bad, on a list.

use crate::files::{FileSource, KEPT_REJECTS, Reject, text_lines, without};
use crate::session::{CancelToken, StatementProgress};
use crate::statements::dml::ingest::{BadRow, ConvertError, Ingest};
use crate::{Error, Result};
use arrow::array::RecordBatch;
use gingham_storage::SqlState;
use gingham_storage::panics::{self, PanicPoint, guarded, joined};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Records that are converted at once where some are bad.
const PIECE_ROWS: usize = 256;

/// Where a record stands in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RecordPosition {
    /// Byte of a text file.
    Offset(u64),
    /// Row of a file with rows, from 1.
    Row(u64),
}

/// A bad record.
#[derive(Debug)]
struct Bad {
    file: usize,
    place: RecordPosition,
    row: BadRow,
}

/// Bad records that a load passed over.
#[derive(Debug, Default)]
pub(super) struct SkippedRecords {
    /// How many they are.
    pub(super) count: u64,
    /// File, line and reason of those that are kept, in order.
    pub(super) rejects: Vec<Reject>,
    /// The kept ones as texts.
    pub(super) texts: Vec<String>,
}

/// Takes the records of all lanes.
pub(super) struct Sink<'a> {
    ingest: &'a Ingest,
    files: &'a [FileSource],
    cancel: &'a CancelToken,
    total_bytes: u64,
    bytes: AtomicU64,
    rows: AtomicU64,
    allowed: u64,
    /// Bad records, as many as are kept.
    bad: Mutex<Vec<Bad>>,
    bad_count: AtomicU64,
    stop: AtomicBool,
}

impl<'a> Sink<'a> {
    /// A sink that puts up with `allowed` bad records of `files`.
    pub(super) fn new(
        ingest: &'a Ingest,
        files: &'a [FileSource],
        allowed: u64,
        cancel: &'a CancelToken,
        total_bytes: u64,
    ) -> Self {
        Self {
            ingest,
            files,
            cancel,
            total_bytes,
            bytes: AtomicU64::new(0),
            rows: AtomicU64::new(0),
            allowed,
            bad: Mutex::default(),
            bad_count: AtomicU64::new(0),
            stop: AtomicBool::new(false),
        }
    }

    /// False when lanes should end: another one failed. An error once cancelled.
    pub(super) fn goes_on(&self) -> Result<bool> {
        self.cancel.check()?;
        Ok(!self.stop.load(Ordering::Relaxed))
    }

    /// Makes all lanes end.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Counts bytes that were read.
    pub(super) fn advance(&self, bytes: u64) {
        let done = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let (total, records) = (self.total_bytes, self.rows.load(Ordering::Relaxed));
        self.cancel.report(StatementProgress { done: done.min(total), total, records });
    }

    /// Adds the records of a batch, of which record `i` stands at `place(i)` of file `file`.
    pub(super) fn append(
        &self,
        lane: usize,
        file: usize,
        batch: &RecordBatch,
        place: &dyn Fn(usize) -> RecordPosition,
    ) -> Result<()> {
        match self.ingest.converter().convert(batch) {
            Ok(converted) => self.add(lane, converted)?,
            Err(ConvertError::Other(error)) => return Err(error),
            Err(ConvertError::Row(_)) => {
                // A conversion ends at the first bad record, so that where there are many, pieces cost less.
                for start in (0..batch.num_rows()).step_by(PIECE_ROWS) {
                    let piece = batch.slice(start, PIECE_ROWS.min(batch.num_rows() - start));
                    self.append_good(lane, file, piece, &|row| place(start + row))?;
                }
            }
        }
        self.check()
    }

    /// Adds the good records of a batch that has bad ones.
    fn append_good(
        &self,
        lane: usize,
        file: usize,
        mut batch: RecordBatch,
        place: &dyn Fn(usize) -> RecordPosition,
    ) -> Result<()> {
        // Positions in the batch that was given, of the records that are left.
        let mut left: Vec<usize> = (0..batch.num_rows()).collect();
        while batch.num_rows() > 0 {
            match self.ingest.converter().convert(&batch) {
                Ok(converted) => return self.add(lane, converted),
                Err(ConvertError::Other(error)) => return Err(error),
                Err(ConvertError::Row(bad)) => {
                    let row = bad.row;
                    self.reject(file, place(left[row]), bad);
                    self.check()?;
                    left.remove(row);
                    batch = without(&batch, &[row])?;
                }
            }
        }
        Ok(())
    }

    fn add(&self, lane: usize, converted: RecordBatch) -> Result<()> {
        self.rows.fetch_add(converted.num_rows() as u64, Ordering::Relaxed);
        self.ingest.converted(lane, converted)
    }

    /// Puts a bad record on the list. [`Sink::append`] tells when there are too many: a buffer's records are all looked
    /// at first, so that the first bad one is named.
    pub(super) fn reject(&self, file: usize, place: RecordPosition, row: BadRow) {
        self.bad_count.fetch_add(1, Ordering::Relaxed);
        let mut bad = self.bad.lock().unwrap_or_else(PoisonError::into_inner);
        if bad.len() < KEPT_REJECTS {
            bad.push(Bad { file, place, row });
        }
    }

    /// An error when there are too many bad records; what it says is replaced by [`Sink::finish`].
    fn check(&self) -> Result<()> {
        let bad = self.bad_count.load(Ordering::Relaxed);
        if bad <= self.allowed {
            Ok(())
        } else {
            Err(Error::invalid(SqlState::BadCopyFileFormat, format!("{bad} bad records")))
        }
    }

    /// The bad records in order; or, when they are too many, the error.
    pub(super) fn finish(self) -> Result<SkippedRecords> {
        let mut bad = self.bad.into_inner().unwrap_or_else(PoisonError::into_inner);
        bad.sort_by_key(|bad| (bad.file, bad.place));
        let count = self.bad_count.into_inner();
        let too_many = count > self.allowed;
        if too_many {
            bad.truncate(1);
        }
        let lines = lines(self.files, &bad)?;
        let name = |bad: &Bad| self.files[bad.file].path().display().to_string();
        let line = |bad: &Bad| match bad.place {
            RecordPosition::Offset(offset) => lines.get(&(bad.file, offset)).copied().unwrap_or(0),
            RecordPosition::Row(row) => row,
        };
        let place = |bad: &Bad| match bad.place {
            RecordPosition::Offset(_) => format!("{}:{}", name(bad), line(bad)),
            RecordPosition::Row(_) => format!("{}: row {}", name(bad), line(bad)),
        };
        if !too_many {
            let mut skipped = SkippedRecords { count, ..Default::default() };
            for bad in bad {
                let (file, line, place) = (name(&bad), line(&bad), place(&bad));
                let (column, error) = (bad.row.column.clone(), bad.row.problem.text.clone());
                skipped.rejects.push(Reject { file, line, column, error });
                // One line each, even where a value has several.
                skipped.texts.push(bad.row.into_error(&place).to_string().replace('\n', "\\n"));
            }
            return Ok(skipped);
        }
        let more = match self.allowed {
            0 => String::new(),
            allowed => format!("more than {allowed} bad lines; the first: "),
        };
        match bad.into_iter().next() {
            Some(first) => {
                let place = format!("{more}{}", place(&first));
                Err(first.row.into_error(&place))
            }
            None => Ok(SkippedRecords::default()),
        }
    }
}

/// Lines of the bad records' offsets, by file and offset.
fn lines(files: &[FileSource], bad: &[Bad]) -> Result<BTreeMap<(usize, u64), u64>> {
    let mut all = BTreeMap::new();
    for run in bad.chunk_by(|a, b| a.file == b.file) {
        let offset = |bad: &Bad| if let RecordPosition::Offset(offset) = bad.place { Some(offset) } else { None };
        let offsets: Vec<u64> = run.iter().filter_map(offset).collect();
        if offsets.is_empty() {
            continue;
        }
        let file = run[0].file;
        let lines = text_lines(&files[file], &offsets)?;
        all.extend(offsets.into_iter().map(|offset| (file, offset)).zip(lines));
    }
    Ok(all)
}

/// Runs `work` for each lane, each on a thread of its own, and gives the error of the lowest lane that failed. A lane
/// that fails stops the others.
pub(super) fn run_lanes(lanes: usize, sink: &Sink<'_>, work: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
    let work = &work;
    let results = std::thread::scope(|scope| {
        let start = |lane| {
            scope.spawn(move || {
                let result = guarded(|| {
                    panics::pass(PanicPoint::Load);
                    work(lane)
                });
                if result.is_err() {
                    sink.stop();
                }
                result
            })
        };
        let threads: Vec<_> = (0..lanes).map(start).collect();
        threads.into_iter().map(|thread| joined(thread.join())).collect::<Vec<_>>()
    });
    results.into_iter().collect()
}
