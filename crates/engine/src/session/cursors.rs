//! Cursors: queries whose rows are fetched in portions. A cursor goes back as well unless NO SCROLL says that it does not: with
//! SCROLL however far, without by as many rows as a few megabytes hold. It ends with its transaction, unless it was declared WITH HOLD.

use crate::session::{CancelToken, Session};
use crate::sql::session::Count;
use crate::{Error, Result};
use arrow::array::{RecordBatch, UInt32Array};
use arrow::compute::take_record_batch;
use arrow::datatypes::SchemaRef;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use futures::StreamExt;
use gingham_storage::SqlState;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, MutexGuard, PoisonError};
use tokio::sync::Mutex;

/// Bytes of rows that a cursor keeps when nothing says whether it goes back.
const SPARED: usize = 4 << 20;

/// The cursors of a session by their names.
#[derive(Debug, Default)]
pub(crate) struct Cursors(std::sync::Mutex<BTreeMap<String, OpenCursor>>);

#[derive(Debug, Clone)]
struct OpenCursor {
    /// It outlasts its transaction.
    hold: bool,
    /// The savepoints that were open when it was declared in a transaction that is still open.
    depth: Option<usize>,
    schema: SchemaRef,
    cursor: Arc<Mutex<Cursor>>,
}

/// How a cursor is declared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CursorOptions {
    pub(crate) hold: bool,
    /// SCROLL and NO SCROLL.
    pub(crate) scroll: Option<bool>,
    /// The savepoints of the transaction that it is declared in, when there is one.
    pub(crate) depth: Option<usize>,
}

/// The rows of a cursor. They are counted from 1; at 0 it stands before the first, behind the last one more than there are.
struct Cursor {
    /// What was not read yet; `None` at the end.
    stream: Option<SendableRecordBatchStream>,
    scroll: Option<bool>,
    /// Rows that were read, without those that are not needed any more.
    kept: VecDeque<RecordBatch>,
    /// The first of them.
    first: u64,
    /// Where it stands.
    position: u64,
    held: MemoryReservation,
}

impl std::fmt::Debug for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cursor").field("scroll", &self.scroll).field("position", &self.position).finish_non_exhaustive()
    }
}

impl Cursors {
    fn open(&self) -> MutexGuard<'_, BTreeMap<String, OpenCursor>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a cursor over `rows`.
    pub(crate) fn declare(
        &self,
        session: &Session,
        name: String,
        options: CursorOptions,
        rows: SendableRecordBatchStream,
    ) -> Result<()> {
        let held = MemoryConsumer::new(format!("cursor {name}")).register(&session.environment.memory_pool);
        let schema = rows.schema();
        let (kept, scroll) = (VecDeque::new(), options.scroll);
        let cursor = Cursor { stream: Some(rows), scroll, kept, first: 1, position: 0, held };
        let mut open = self.open();
        if open.contains_key(&name) {
            return Err(Error::invalid(SqlState::DuplicateCursor, format!("cursor '{name}' already exists")));
        }
        let CursorOptions { hold, scroll: _, depth } = options;
        open.insert(name, OpenCursor { hold, depth, schema, cursor: Arc::new(Mutex::new(cursor)) });
        Ok(())
    }

    /// The schema of a cursor's rows.
    pub(crate) fn schema(&self, name: &str) -> Result<SchemaRef> {
        self.open().get(name).map(|found| Arc::clone(&found.schema)).ok_or_else(|| unknown(name))
    }

    /// The rows that a FETCH gives.
    pub(crate) async fn fetch(&self, name: &str, count: Count) -> Result<(SchemaRef, Vec<RecordBatch>)> {
        let found = self.open().get(name).cloned().ok_or_else(|| unknown(name))?;
        let rows = found.cursor.lock().await.fetch(name, count).await?;
        Ok((found.schema, rows))
    }

    /// CLOSE of one.
    pub(crate) fn close(&self, name: &str) -> Result<()> {
        self.open().remove(name).map(drop).ok_or_else(|| unknown(name))
    }

    /// CLOSE ALL.
    pub(crate) fn close_all(&self) {
        self.open().clear();
    }

    /// Reads the rows of cursors that outlast the transaction, which is about to be committed.
    pub(crate) async fn hold(&self, cancel: &CancelToken) -> Result<()> {
        let held = self.open().values().filter(|own| own.hold && own.depth.is_some()).cloned().collect::<Vec<_>>();
        for own in held {
            let read = async { own.cursor.lock().await.read_to(u64::MAX).await };
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(cancel.error()),
                read = read => read?,
            };
        }
        Ok(())
    }

    /// The transaction was committed.
    pub(crate) fn committed(&self) {
        self.open().retain(|_, own| own.hold || own.depth.is_none());
        self.open().values_mut().for_each(|own| own.depth = None);
    }

    /// The transaction was rolled back.
    pub(crate) fn rolled_back(&self) {
        self.open().retain(|_, own| own.depth.is_none());
    }

    /// The transaction went back to where it had `depth` savepoints.
    pub(crate) fn back_to(&self, depth: usize) {
        self.open().retain(|_, own| own.depth.is_none_or(|own| own < depth));
    }
}

fn unknown(name: &str) -> Error {
    Error::invalid(SqlState::InvalidCursorName, format!("cursor '{name}' does not exist"))
}

impl Cursor {
    /// The number of the last row that was read.
    fn last(&self) -> u64 {
        self.first - 1 + self.kept.iter().map(|batch| batch.num_rows() as u64).sum::<u64>()
    }

    /// Reads on until row `wanted` is there, or all are.
    async fn read_to(&mut self, wanted: u64) -> Result<u64> {
        let mut last = self.last();
        while last < wanted {
            let Some(stream) = &mut self.stream else { break };
            match stream.next().await {
                Some(batch) => {
                    let batch = batch?;
                    last += batch.num_rows() as u64;
                    self.held.try_grow(batch.get_array_memory_size())?;
                    self.kept.push_back(batch);
                }
                None => self.stream = None,
            }
        }
        Ok(last)
    }

    /// Rows `from` to `to`, both of which were read.
    fn rows(&self, from: u64, to: u64) -> Vec<RecordBatch> {
        let mut found = Vec::new();
        let mut begin = self.first;
        for batch in &self.kept {
            let end = begin + batch.num_rows() as u64;
            let (start, stop) = (from.max(begin), (to + 1).min(end));
            if start < stop {
                found.push(batch.slice((start - begin) as usize, (stop - start) as usize));
            }
            begin = end;
        }
        found
    }

    /// Forgets rows that can't be asked for again.
    fn forget(&mut self) {
        let spared = match self.scroll {
            Some(true) => return,
            Some(false) => 0,
            None => SPARED,
        };
        while self.held.size() > spared
            && let Some(batch) = self.kept.front()
        {
            let rows = batch.num_rows() as u64;
            if self.first + rows > self.position {
                return;
            }
            self.held.shrink(batch.get_array_memory_size().min(self.held.size()));
            self.first += rows;
            self.kept.pop_front();
        }
    }

    async fn fetch(&mut self, name: &str, count: Count) -> Result<Vec<RecordBatch>> {
        let rows = match count {
            Count::ForwardAll => self.forward(u64::MAX).await?,
            Count::Relative(rows) if rows > 0 => self.forward(rows as u64).await?,
            Count::BackwardAll => self.backward(name, u64::MAX)?,
            Count::Relative(0) => self.one(name, self.position).await?,
            Count::Relative(rows) => self.backward(name, rows.unsigned_abs())?,
            Count::OneRelative(distance) => {
                let place = self.position.saturating_add_signed(distance);
                self.one(name, place).await?
            }
            Count::Absolute(place) if place >= 0 => self.one(name, place as u64).await?,
            Count::Absolute(from_end) => {
                let last = self.read_to(u64::MAX).await?;
                self.one(name, (last + 1).saturating_sub(from_end.unsigned_abs())).await?
            }
        };
        self.forget();
        Ok(rows)
    }

    async fn forward(&mut self, rows: u64) -> Result<Vec<RecordBatch>> {
        let wanted = self.position.saturating_add(rows);
        let last = self.read_to(wanted).await?;
        let found = self.rows(self.position + 1, wanted.min(last));
        self.position = if last < wanted { last + 1 } else { wanted };
        Ok(found)
    }

    /// Rows before the one where it stands, the last first.
    fn backward(&mut self, name: &str, rows: u64) -> Result<Vec<RecordBatch>> {
        self.require_scroll(name, self.position.saturating_sub(rows).max(1))?;
        let to = self.position.saturating_sub(1);
        let from = (to + 1).saturating_sub(rows).max(1);
        let found = self.rows(from, to);
        self.position = self.position.saturating_sub(rows);
        let turned = |batch: &RecordBatch| -> Result<RecordBatch> {
            let places: UInt32Array = (0..batch.num_rows() as u32).rev().collect();
            Ok(take_record_batch(batch, &places)?)
        };
        found.iter().rev().map(turned).collect()
    }

    /// The one row at a place, where it stands from now on.
    async fn one(&mut self, name: &str, place: u64) -> Result<Vec<RecordBatch>> {
        if place <= self.position {
            self.require_scroll(name, place)?;
        }
        let last = self.read_to(place).await?;
        self.position = place.min(last + 1);
        let is_row = (1..=last).contains(&place);
        Ok(if is_row { self.rows(place, place) } else { Vec::new() })
    }

    /// An error where the rows from `from` on are not to be given again.
    fn require_scroll(&self, name: &str, from: u64) -> Result<()> {
        let text = match self.scroll {
            Some(true) => return Ok(()),
            None if from >= self.first => return Ok(()),
            None => format!(
                "cursor '{name}' does not keep rows as far back as {from}; DECLARE {name} SCROLL CURSOR makes one that does"
            ),
            Some(false) => {
                format!("cursor '{name}' only goes forward; DECLARE {name} SCROLL CURSOR makes one that goes back")
            }
        };
        Err(Error::invalid(SqlState::ObjectNotInPrerequisiteState, text))
    }
}
