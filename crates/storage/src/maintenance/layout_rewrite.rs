//! ALTER TABLE … SET (layout = …, sort_by = …): a table's records written anew in another design or order.
//!
//! As OPTIMIZE does, records are read from a snapshot and written while others read and write, and one commit swaps
//! segments and definition together: before it all is as it was, after a crash too. Segments never change, so that the
//! records of each new one are rewritten by themselves, on as many threads as there are, and what came meanwhile, with
//! the end of a table in chunks, is all that is left to rewrite with the writer's lock held. `cuts.rs` says where a new
//! segment begins.
//!
//! Where the order of records changes, each new segment is sorted in itself, and all of them are then merged with the lock held,
//! before the one commit.

use crate::SqlState;
use crate::model::table::Arrangement;
use crate::open::options::WriteOptions;
use crate::open::shared::Store;
use crate::panics::{self, PanicPoint, guarded, joined};
use crate::scan::rows::for_each_batch_of;
use crate::snapshot::table_snapshot::TableSnapshot;
use crate::write::cuts::{Cuts, Origin};
use crate::write::ranges::check_design;
use crate::write::table_writer::{TableWriter, WrittenRows};
use crate::write::transaction::Transaction;
use crate::{Design, Error, Result, TableDefinition, TableId, TableName};
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
    /// Gives a table another design; its order stays. See [`set_arrangement`](Self::set_arrangement).
    pub fn set_design(
        self: &Arc<Self>,
        table: &TableName,
        design: Design,
        threads: usize,
        watch: &mut Watch<'_>,
    ) -> Result<u64> {
        let snapshot = self.snapshot()?;
        let current = snapshot.table(table)?.ok_or_else(|| missing(table))?;
        let arrangement = Arrangement { design, ..Arrangement::present(&current.definition) };
        self.set_arrangement(table, &arrangement, threads, watch, &WriteOptions::default())
    }

    /// Gives a table another design, order or indexes and rewrites all its records, the delta too, on up to `threads` threads, each of
    /// which holds a segment's records. Returns the records rewritten; none when the table is arranged so already, or only its
    /// order was dropped. Errors name what the table can't be, columns whose values can't be stored so, and the memory that
    /// sorting takes where the limit is less. Commits as `options` say.
    pub fn set_arrangement(
        self: &Arc<Self>,
        table: &TableName,
        arrangement: &Arrangement,
        threads: usize,
        watch: &mut Watch<'_>,
        options: &WriteOptions,
    ) -> Result<u64> {
        let snapshot = self.snapshot()?;
        let current = snapshot.table(table)?.ok_or_else(|| missing(table))?;
        let Arrangement { design, indexes, .. } = arrangement;
        let present = Arrangement::present(&current.definition);
        if present == *arrangement {
            return Ok(0);
        }
        let (id, sorts) = (current.definition.id, arrangement.sorts(&current.definition));
        if present.design == *design && present.indexes == *indexes && !sorts {
            return self.write_with(options, |transaction| transaction.rename_arrangement(id, &present, arrangement));
        }
        if sorts {
            self.require_mergeable(current, arrangement)?;
        }
        // What is sorted is written twice.
        let mut watch = |done, all| watch(done, if sorts { 2 * all } else { all });
        if current.heap.is_some() || design.heap.is_some() {
            return self.set_pages(table, arrangement, &mut watch, options);
        }
        if let Some(index) = indexes.first() {
            return Err(Error::Unsupported(format!(
                "table '{table}' can't have the index '{}': only the layouts nsm, dsm and pax can",
                index.name
            )));
        }
        check_design(current, design)?;
        let parts = self.write_as(current, arrangement, Vec::new(), threads, &mut watch)?;
        self.write_with(options, move |transaction| {
            let now = transaction.current(id)?;
            let there = now.states(now.segments.iter().chain(&now.delta));
            let parts = if now.definition == current.definition { parts } else { Vec::new() };
            check_design(&now, design)?;
            let parts = self.write_as(&now, arrangement, parts, threads, &mut watch)?;
            let mut rows = self.writer(arrangement.of(&now.definition))?.finish()?;
            parts.into_iter().for_each(|(_, part)| rows.absorb(part));
            let rewritten = transaction.replace(&now, &there, rows, Some(arrangement))?;
            if sorts {
                transaction.merge_sorted(id, &mut watch)?;
            }
            Ok(rewritten)
        })
    }

    /// Writes all records of a table in a design that are not in `parts`, as far as these still fit, and gives these and
    /// those in the records' order.
    fn write_as(
        self: &Arc<Self>,
        table: &Arc<TableSnapshot>,
        arrangement: &Arrangement,
        parts: Vec<RewrittenRows>,
        threads: usize,
        watch: &mut Watch<'_>,
    ) -> Result<Vec<RewrittenRows>> {
        let cuts = Cuts::new(table, &arrangement.design);
        let mut parts = cuts.keep(parts);
        let runs = cuts.left(parts.iter().map(|(records, _)| records.clone()));
        let done = parts.iter().map(|(_, part)| part.rows).sum();
        let progress = Progress { state: Mutex::new(RewriteState { watch, done, ended: false }), all: table.rows() };
        progress.add(0)?;
        if !runs.is_empty() {
            let threads = self.threads_for(&cuts, &runs, threads);
            parts.extend(self.write_runs(table, arrangement, &cuts, &runs, threads, &progress)?);
        }
        parts.sort_by_key(|(records, _)| records.start);
        Ok(parts.into_iter().map(|(records, part)| (cuts.origin(&records), part)).collect())
    }

    /// Writes each of `runs` by itself.
    fn write_runs(
        self: &Arc<Self>,
        table: &Arc<TableSnapshot>,
        arrangement: &Arrangement,
        cuts: &Cuts<'_>,
        runs: &[Range<u64>],
        threads: usize,
        progress: &Progress<'_, '_>,
    ) -> Result<Vec<(Range<u64>, WrittenRows)>> {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut parts = Vec::new();
            while let Some(records) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
                let rows = guarded(|| {
                    panics::pass(PanicPoint::Rewrite);
                    self.write_run(table, arrangement, cuts, records, progress)
                });
                let rows = rows.inspect_err(|_| progress.end())?;
                parts.push((records.clone(), rows));
            }
            Ok(parts)
        };
        let results: Vec<Result<Vec<_>>> = std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let own = work();
            std::iter::once(own).chain(others.into_iter().map(|other| joined(other.join()))).collect()
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
        arrangement: &Arrangement,
        cuts: &Cuts<'_>,
        records: &Range<u64>,
        progress: &Progress<'_, '_>,
    ) -> Result<WrittenRows> {
        let writer = self.writer(arrangement.of(&table.definition))?;
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

    /// A writer of segments for a table of this definition.
    pub(crate) fn writer(self: &Arc<Self>, definition: TableDefinition) -> Result<TableWriter> {
        definition.design.validate(&definition)?;
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

fn missing(table: &TableName) -> Error {
    Error::invalid(SqlState::UndefinedTable, format!("table '{table}' does not exist"))
}

impl Transaction<'_> {
    /// Changes what is said of a table's arrangement while its records stay as they are: that they are in an order, or why.
    fn rename_arrangement(&mut self, table: TableId, present: &Arrangement, arrangement: &Arrangement) -> Result<u64> {
        let mut record = self.record(table)?;
        if Arrangement::present(&record.definition) != *present {
            return Err(Error::Conflict(format!("table '{}' was altered meanwhile", record.definition.name)));
        }
        record.definition = arrangement.of(&record.definition);
        self.put_record(record)?;
        Ok(0)
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
