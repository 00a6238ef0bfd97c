//! ALTER TABLE … SET (layout = …): a table's records written anew in another design.
//!
//! As OPTIMIZE does, records are read from a snapshot and written while others read and write, and one commit swaps
//! segments and definition together: before it all is as it was, after a crash too. Segments never change, so that the
//! records of each new one are rewritten by themselves, on as many threads as there are, and what came meanwhile, with
//! the end of a table in chunks, is all that is left to rewrite with the writer's lock held. `cuts.rs` says where a new
//! segment begins.

use crate::open::options::WriteOptions;
use crate::open::shared::Store;
use crate::scan::rows::for_each_batch_of;
use crate::snapshot::table_snapshot::TableSnapshot;
use crate::write::cuts::{Cuts, Origin};
use crate::write::ranges::check_design;
use crate::write::table_writer::{TableWriter, WrittenRows};
use crate::{Design, Error, Result, TableDefinition, TableName};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Watches a rewrite: called with the records written and those there are in all, before the first and after each
/// batch. An error, such as [`Error::Cancelled`], ends the rewrite and leaves the table as it was.
pub type Watch<'a> = dyn FnMut(u64, u64) -> Result<()> + Send + 'a;

/// Records of a table in their new form.
type RewrittenRows = (Origin, WrittenRows);

/// How far a rewrite is; shared by its threads.
struct Progress<'a, 'b> {
    state: Mutex<RewriteState<'a, 'b>>,
    all: u64,
}

struct RewriteState<'a, 'b> {
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
        self.set_design_with(table, design, threads, watch, &WriteOptions::default())
    }

    /// Changes a table's design; its commit waits for others as `options` say.
    pub fn set_design_with(
        self: &Arc<Self>,
        table: &TableName,
        design: Design,
        threads: usize,
        watch: &mut Watch<'_>,
        options: &WriteOptions,
    ) -> Result<u64> {
        let snapshot = self.snapshot()?;
        let missing = || Error::InvalidInput(format!("table '{table}' does not exist"));
        let current = snapshot.tables.get(table).ok_or_else(missing)?;
        if current.definition.design == design {
            return Ok(0);
        }
        if current.heap.is_some() || design.heap.is_some() {
            return self.set_pages(table, &design, watch, options);
        }
        check_design(current, &design)?;
        let parts = self.write_as(current, &design, Vec::new(), threads, watch)?;
        let id = current.definition.id;
        self.write_with(options, move |transaction| {
            let now = transaction.current(id)?;
            let there = now.states(now.segments.iter().chain(&now.delta));
            let parts = if now.definition == current.definition { parts } else { Vec::new() };
            check_design(&now, &design)?;
            let parts = self.write_as(&now, &design, parts, threads, watch)?;
            let mut rows = self.writer(&now, &design)?.finish()?;
            parts.into_iter().for_each(|(_, part)| rows.absorb(part));
            transaction.replace(&now, &there, rows, Some(design))
        })
    }

    /// Writes all records of a table in a design that are not in `parts`, as far as these still fit, and gives these and
    /// those in the records' order.
    fn write_as(
        self: &Arc<Self>,
        table: &Arc<TableSnapshot>,
        design: &Design,
        parts: Vec<RewrittenRows>,
        threads: usize,
        watch: &mut Watch<'_>,
    ) -> Result<Vec<RewrittenRows>> {
        let cuts = Cuts::new(table, design);
        let mut parts = cuts.keep(parts);
        let runs = cuts.left(parts.iter().map(|(records, _)| records.clone()));
        let done = parts.iter().map(|(_, part)| part.rows).sum();
        let progress = Progress { state: Mutex::new(RewriteState { watch, done, ended: false }), all: table.rows() };
        progress.add(0)?;
        if !runs.is_empty() {
            let threads = self.threads_for(&cuts, &runs, threads);
            parts.extend(self.write_runs(table, design, &cuts, &runs, threads, &progress)?);
        }
        parts.sort_by_key(|(records, _)| records.start);
        Ok(parts.into_iter().map(|(records, part)| (cuts.origin(&records), part)).collect())
    }

    /// Writes each of `runs` by itself.
    fn write_runs(
        self: &Arc<Self>,
        table: &Arc<TableSnapshot>,
        design: &Design,
        cuts: &Cuts<'_>,
        runs: &[Range<u64>],
        threads: usize,
        progress: &Progress<'_, '_>,
    ) -> Result<Vec<(Range<u64>, WrittenRows)>> {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut parts = Vec::new();
            while let Some(records) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
                let rows = self.write_run(table, design, cuts, records, progress).inspect_err(|_| progress.end())?;
                parts.push((records.clone(), rows));
            }
            Ok(parts)
        };
        let results: Vec<Result<Vec<_>>> = std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let own = work();
            let joined = others.into_iter().map(|thread| match thread.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            std::iter::once(own).chain(joined).collect()
        });
        // Of several errors the one that made the others end.
        let mut parts = Vec::with_capacity(runs.len());
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

    fn write_run(
        self: &Arc<Self>,
        table: &Arc<TableSnapshot>,
        design: &Design,
        cuts: &Cuts<'_>,
        records: &Range<u64>,
        progress: &Progress<'_, '_>,
    ) -> Result<WrittenRows> {
        let writer = self.writer(table, design)?;
        let columns = table.definition.columns.iter().map(|column| column.id).collect();
        let (sources, within) = cuts.sources(records);
        // Delta blocks are segments to a reader.
        let part = Arc::new(table.reduced(sources, Vec::new()));
        for_each_batch_of(&part, columns, within, |batch| {
            let rows = batch.num_rows() as u64;
            writer.append(0, batch)?;
            progress.add(rows)
        })?;
        writer.finish()
    }

    pub(crate) fn writer(self: &Arc<Self>, table: &TableSnapshot, design: &Design) -> Result<TableWriter> {
        let definition = TableDefinition { design: design.clone(), ..TableDefinition::clone(&table.definition) };
        design.validate(&definition)?;
        Ok(TableWriter::new(Arc::clone(self), Arc::new(definition)).without_delta())
    }

    /// As many threads as have work, and as half of the memory limit has room for: each holds the records of a new
    /// segment, as Arrow arrays, and the native ones that they come from.
    fn threads_for(&self, cuts: &Cuts<'_>, runs: &[Range<u64>], threads: usize) -> usize {
        let bytes = |records: &Range<u64>| -> u64 {
            let sources = cuts.sources(records).0;
            sources.iter().flat_map(|segment| segment.columns()).map(|column| column.native_bytes).sum()
        };
        let largest = runs.iter().map(bytes).max().unwrap_or(0).max(1);
        let room = self.budget.limit() as u64 / 2 / (2 * largest);
        threads.min(runs.len()).min(usize::try_from(room).unwrap_or(usize::MAX)).max(1)
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
