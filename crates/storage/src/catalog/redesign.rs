//! ALTER TABLE … SET (layout = …): a table's records written anew in another design.
//!
//! As OPTIMIZE does, records are read from a snapshot and written while others read and write, and one commit swaps
//! segments and definition together: before it all is as it was, after a crash too. Segments never change, so that each
//! is rewritten by itself, on as many threads as there are, and what came meanwhile is all that is left to rewrite
//! with the writer's lock held.

use crate::catalog::ranges::check_design;
use crate::catalog::rows::for_each_batch;
use crate::catalog::{Store, TableSnapshot, TableWriter, WrittenRows};
use crate::segment::{Segment, SegmentId};
use crate::{Design, Error, Predicate, Result, TableDefinition, TableName};
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Watches a rewrite: called with the records written and those there are in all, before the first and after each
/// batch. An error, such as [`Error::Cancelled`], ends the rewrite and leaves the table as it was.
pub type Watch<'a> = dyn FnMut(u64, u64) -> Result<()> + Send + 'a;

/// Segments, or delta blocks, that are rewritten together.
type Sources = Vec<Arc<Segment>>;

/// Sources in their new form.
struct Part {
    sources: HashSet<SegmentId>,
    rows: WrittenRows,
}

/// How far a rewrite is; shared by its threads.
struct Progress<'a, 'b> {
    state: Mutex<State<'a, 'b>>,
    all: u64,
}

struct State<'a, 'b> {
    watch: &'a mut Watch<'b>,
    done: u64,
    /// Some thread has failed, or was told to end.
    ended: bool,
}

impl Store {
    /// Gives a table another design and rewrites all its records, the delta too, on up to `threads` threads, each of
    /// which holds a segment's records. Returns the records rewritten; none when the table has that design. Errors name
    /// what the table can't be, and columns whose values can't be stored so.
    pub fn set_design(
        self: &Arc<Self>,
        table: &TableName,
        design: Design,
        threads: usize,
        watch: &mut Watch<'_>,
    ) -> Result<u64> {
        let snapshot = self.snapshot()?;
        let missing = || Error::InvalidInput(format!("table '{table}' does not exist"));
        let current = snapshot.tables.get(table).ok_or_else(missing)?;
        if current.definition.design == design {
            return Ok(0);
        }
        check_design(current, &design)?;
        let parts = self.write_as(current, &design, Vec::new(), threads, watch)?;
        let id = current.definition.id;
        self.write(move |transaction| {
            let now = transaction.current(id)?;
            let there: HashSet<SegmentId> = now.segments.iter().chain(&now.delta).map(|segment| segment.id()).collect();
            let same = now.definition == current.definition;
            let (kept, gone): (Vec<Part>, Vec<Part>) =
                parts.into_iter().partition(|part| same && part.sources.is_subset(&there));
            // Their files go.
            drop(gone);
            check_design(&now, &design)?;
            let parts = self.write_as(&now, &design, kept, threads, watch)?;
            let mut rows = self.writer(&now, &design)?.finish()?;
            parts.into_iter().for_each(|part| rows.absorb(part.rows));
            transaction.replace(&now, &there, rows, Some(design))
        })
    }

    /// Writes all records of a table in a design that are not in `parts`, and gives these and those in the records' order.
    fn write_as(
        self: &Arc<Self>,
        table: &Arc<TableSnapshot>,
        design: &Design,
        mut parts: Vec<Part>,
        threads: usize,
        watch: &mut Watch<'_>,
    ) -> Result<Vec<Part>> {
        let written = |segment: &Arc<Segment>| parts.iter().any(|part| part.sources.contains(&segment.id()));
        let left = |segments: &[Arc<Segment>]| -> Sources {
            segments.iter().filter(|segment| !written(segment)).cloned().collect()
        };
        let mut sources = together(left(&table.segments), design.segment_rows());
        sources.extend(Some(left(&table.delta)).filter(|delta| !delta.is_empty()));
        let done = parts.iter().map(|part| part.rows.rows).sum();
        let progress = Progress { state: Mutex::new(State { watch, done, ended: false }), all: table.rows() };
        progress.add(0)?;
        if !sources.is_empty() {
            let threads = self.threads_for(&sources, threads);
            parts.extend(self.write_parts(table, design, &sources, threads, &progress)?);
        }
        let place = |part: &Part| {
            table.segments.iter().chain(&table.delta).position(|segment| part.sources.contains(&segment.id()))
        };
        parts.sort_by_key(place);
        Ok(parts)
    }

    /// Writes each of `sources` by itself.
    fn write_parts(
        self: &Arc<Self>,
        table: &Arc<TableSnapshot>,
        design: &Design,
        sources: &[Sources],
        threads: usize,
        progress: &Progress<'_, '_>,
    ) -> Result<Vec<Part>> {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut parts = Vec::new();
            while let Some(sources) = sources.get(next.fetch_add(1, Ordering::Relaxed)) {
                parts.push(self.write_part(table, design, sources, progress).inspect_err(|_| progress.end())?);
            }
            Ok(parts)
        };
        let results: Vec<Result<Vec<Part>>> = std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let own = work();
            let joined = others.into_iter().map(|thread| match thread.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            std::iter::once(own).chain(joined).collect()
        });
        // Of several errors the one that made the others end.
        let mut parts = Vec::with_capacity(sources.len());
        let mut failed = None;
        for result in results {
            match result {
                Ok(mut written) => parts.append(&mut written),
                Err(error) if matches!(failed, None | Some(Error::Cancelled)) => failed = Some(error),
                Err(_) => {}
            }
        }
        failed.map_or(Ok(parts), Err)
    }

    fn write_part(
        self: &Arc<Self>,
        table: &Arc<TableSnapshot>,
        design: &Design,
        sources: &Sources,
        progress: &Progress<'_, '_>,
    ) -> Result<Part> {
        let rows = sources.iter().map(|segment| segment.rows()).sum();
        let writer = self.writer(table, design)?.with_segments_of(rows);
        let columns = table.definition.columns.iter().map(|column| column.id).collect();
        // Delta blocks are segments to a reader.
        let part = Arc::new(table.reduced(sources.clone(), Vec::new()));
        for_each_batch(&part, columns, Predicate::Constant(true), |batch| {
            let rows = batch.num_rows() as u64;
            writer.append(0, batch)?;
            progress.add(rows)
        })?;
        Ok(Part { sources: sources.iter().map(|segment| segment.id()).collect(), rows: writer.finish()? })
    }

    fn writer(self: &Arc<Self>, table: &TableSnapshot, design: &Design) -> Result<TableWriter> {
        let definition = TableDefinition { design: design.clone(), ..TableDefinition::clone(&table.definition) };
        design.validate(&definition)?;
        Ok(TableWriter::new(Arc::clone(self), Arc::new(definition)).without_delta())
    }

    /// As many threads as have work, and as half of the memory limit has room for: each holds the records of its
    /// sources, native and as Arrow arrays.
    fn threads_for(&self, sources: &[Sources], threads: usize) -> usize {
        let bytes = |sources: &Sources| -> u64 {
            sources.iter().flat_map(|segment| segment.columns()).map(|column| column.native_bytes).sum()
        };
        let largest = sources.iter().map(bytes).max().unwrap_or(0).max(1);
        let room = self.budget.limit() as u64 / 2 / (2 * largest);
        threads.min(sources.len()).min(usize::try_from(room).unwrap_or(usize::MAX)).max(1)
    }
}

impl Progress<'_, '_> {
    /// Tells the watch of records that were written.
    fn add(&self, records: u64) -> Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.ended {
            return Err(Error::Cancelled);
        }
        state.done += records;
        let done = state.done;
        let told = (state.watch)(done, self.all);
        state.ended = told.is_err();
        told
    }

    /// Makes the other threads end.
    fn end(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).ended = true;
    }
}

/// Neighbours that make a segment of at most `rows` records together; larger ones by themselves.
fn together(segments: Sources, rows: usize) -> Vec<Sources> {
    let mut parts: Vec<Sources> = Vec::new();
    let mut last = 0;
    for segment in segments {
        let own = segment.rows();
        match parts.last_mut() {
            Some(part) if last + own <= rows => {
                part.push(segment);
                last += own;
            }
            _ => {
                parts.push(vec![segment]);
                last = own;
            }
        }
    }
    parts
}
