//! OPTIMIZE: delta and small segments become full segments, sorted when the table says so.
//!
//! Records are read and written while others may commit. The swap happens only when all that was read is still there;
//! when it is not (records came into the last delta block, say), the work is done once more with the writer's lock held.

use crate::SqlState;
use crate::lmdb::records;
use crate::maintenance::layout_rewrite::Watch;
use crate::model::design::SEGMENT_ROWS;
use crate::model::table::Arrangement;
use crate::open::options::WriteOptions;
use crate::open::shared::Store;
use crate::scan::rows::{for_each_batch, read_rows, sort_rows};
use crate::segment::SegmentId;
use crate::segment::reader::Segment;
use crate::snapshot::table_snapshot::TableSnapshot;
use crate::write::sorted;
use crate::write::sorted::SortKeys;
use crate::write::table_writer::{TableWriter, WrittenRows};
use crate::write::transaction::Transaction;
use crate::{Error, Predicate, Result, TableId, TableName};
use std::collections::HashMap;
use std::sync::Arc;

/// A segment below this many records is merged with its neighbours.
const SMALL: usize = SEGMENT_ROWS / 2;

/// Segments and delta blocks that are to be replaced, each with the number of its deleted records when it has any.
pub(crate) type Replaced = HashMap<SegmentId, Option<u64>>;

/// Records that OPTIMIZE rewrites.
#[derive(Debug)]
struct Plan {
    /// The table reduced to what is rewritten.
    part: Arc<TableSnapshot>,
    replaced: Replaced,
    /// Whether all of it is sorted as one.
    sorted: bool,
}

impl Store {
    /// Merges the delta and small segments of a table into full segments, then commits. Returns the records rewritten.
    ///
    /// A table with `sort_by` is sorted as a whole, but for the segments at its beginning that no record behind them
    /// belongs before, as long as one zone of each segment fits in a quarter of the memory limit; otherwise each new
    /// segment is sorted in itself.
    pub fn optimize(self: &Arc<Self>, table: &TableName) -> Result<u64> {
        self.optimize_with(table, &WriteOptions::default())
    }

    /// Merges a table's delta, or writes its heap pages anew when much of them is free; its commit waits for others as `options` say.
    pub fn optimize_with(self: &Arc<Self>, table: &TableName, options: &WriteOptions) -> Result<u64> {
        let snapshot = self.snapshot()?;
        let missing = || Error::invalid(SqlState::UndefinedTable, format!("table '{table}' does not exist"));
        let current = snapshot.table(table)?.ok_or_else(missing)?;
        if current.heap.is_some() {
            return self.compact_pages(table, options);
        }
        let Some(plan) = self.plan(current)? else { return Ok(0) };
        let rows = self.rewrite(&plan, &mut |_| Ok(()))?;
        let id = current.definition.id;
        self.write_with(options, move |transaction| {
            let now = transaction.current(id)?;
            if now.definition == current.definition && still_there(&now, &plan.replaced) {
                return transaction.replace(&now, &plan.replaced, rows, None);
            }
            drop(rows);
            let Some(plan) = self.plan(&now)? else { return Ok(0) };
            let rows = self.rewrite(&plan, &mut |_| Ok(()))?;
            transaction.replace(&now, &plan.replaced, rows, None)
        })
    }

    /// What to rewrite; `None` when the table is as it should be.
    fn plan(&self, table: &Arc<TableSnapshot>) -> Result<Option<Plan>> {
        let sorted = !table.definition.sort_by.is_empty() && merge_bytes(table) < self.budget.limit() as u64;
        let segments: Vec<Arc<Segment>> = if sorted {
            table.segments[in_place(table)?..].to_vec()
        } else {
            let small = |segment: &&Arc<Segment>| segment.rows() < SMALL || table.deleted_rows(segment) > 0;
            table.segments.iter().filter(small).cloned().collect()
        };
        if table.delta.is_empty() && segments.len() < 2 && !table.has_deleted() {
            return Ok(None);
        }
        let replaced = table.states(segments.iter().chain(&table.delta));
        let part = table.reduced(segments, table.delta.clone());
        Ok(Some(Plan { part: Arc::new(part), replaced, sorted }))
    }

    /// Refuses to sort a table whose segments can't be merged within the memory limit.
    pub(crate) fn require_mergeable(&self, table: &TableSnapshot, arrangement: &Arrangement) -> Result<()> {
        let (needed, limit) = (merge_bytes(table), self.budget.limit() as u64);
        if table.segments.len() < 2 || needed < limit {
            return Ok(());
        }
        let names = arrangement.sort_by.iter().filter_map(|id| table.definition.column_by_id(*id));
        let names: Vec<&str> = names.map(|column| column.name.as_str()).collect();
        Err(Error::OutOfMemory(format!(
            "table '{}' can't be sorted by {}: merging its {} segments takes up to {:.0} MB, and gingham.memory_limit is {:.0} MB; \
             raise it",
            table.definition.name,
            names.join(", "),
            table.segments.len(),
            needed as f64 / 1e6,
            limit as f64 / 1e6
        )))
    }

    /// Writes the planned records anew; `watch` is told how many are written.
    fn rewrite(self: &Arc<Self>, plan: &Plan, watch: &mut dyn FnMut(u64) -> Result<()>) -> Result<WrittenRows> {
        let definition = &plan.part.definition;
        let writer = TableWriter::new(Arc::clone(self), Arc::clone(definition)).without_delta();
        if plan.sorted {
            let mut runs = Vec::with_capacity(plan.part.segments.len() + 1);
            for segment in &plan.part.segments {
                runs.push(sorted::run(&only(&plan.part, segment))?);
            }
            let delta = plan.part.reduced(Vec::new(), plan.part.delta.clone());
            runs.push(Box::new(sort_rows(definition, read_rows(&Arc::new(delta))?)?.into_iter().map(Ok)));
            let mut done = 0;
            sorted::merge(&SortKeys::new(definition)?, runs, |batch| {
                done += batch.num_rows() as u64;
                writer.append(0, batch)?;
                watch(done)
            })?;
        } else {
            let columns = definition.columns.iter().map(|column| column.id).collect();
            for_each_batch(&plan.part, columns, Predicate::Constant(true), |batch| writer.append(0, batch))?;
        }
        writer.finish()
    }
}

impl TableSnapshot {
    /// Some of its segments and delta blocks, with the numbers of their deleted records.
    pub(crate) fn states<'s>(&self, segments: impl Iterator<Item = &'s Arc<Segment>>) -> Replaced {
        let state = |id: SegmentId| (id, self.deleted.get(&id).map(|deleted| deleted.number()));
        segments.map(|segment| state(segment.id())).collect()
    }
}

/// Bytes that the merge of a table's sorted segments takes at most: it holds one zone of each, in native form and as Arrow arrays,
/// and needs as much again for what it writes.
fn merge_bytes(table: &TableSnapshot) -> u64 {
    let zone_bytes = |segment: &Arc<Segment>| {
        let native: u64 = segment.columns().iter().map(|column| column.native_bytes).sum();
        native / segment.zones().max(1) as u64
    };
    table.segments.iter().map(zone_bytes).sum::<u64>().saturating_mul(4)
}

/// Whether all that was read is in the table, and no other of its records is deleted.
fn still_there(table: &TableSnapshot, replaced: &Replaced) -> bool {
    let now = table.states(table.segments.iter().chain(&table.delta));
    replaced.iter().all(|(id, deleted)| now.get(id) == Some(deleted))
        && table.delta.iter().all(|block| replaced.contains_key(&block.id()))
}

/// The part of `table` that is one segment.
fn only(table: &TableSnapshot, segment: &Arc<Segment>) -> Arc<TableSnapshot> {
    Arc::new(table.reduced(vec![Arc::clone(segment)], Vec::new()))
}

/// Number of segments at the beginning of a sorted table that can stay: large ones that no record behind them, in a
/// segment or the delta, belongs before.
fn in_place(table: &TableSnapshot) -> Result<usize> {
    let definition = &table.definition;
    let keys = SortKeys::new(definition)?;
    let mut bounds = Vec::with_capacity(table.segments.len());
    for segment in &table.segments {
        bounds.push(keys.bounds(sorted::ends(&only(table, segment))?)?);
    }
    let delta = table.reduced(Vec::new(), table.delta.clone());
    let delta = sort_rows(definition, read_rows(&Arc::new(delta))?)?;
    let delta = delta.into_iter().map(|batch| Ok(batch.project(keys.places())?));
    // The least key behind each segment.
    let mut least = keys.bounds(Box::new(delta))?.map(|(first, _)| first);
    let mut stays = vec![false; bounds.len()];
    for (number, bounds) in bounds.into_iter().enumerate().rev() {
        let Some((first, last)) = bounds else { continue };
        let before_all = least.as_ref().is_none_or(|least| last <= *least);
        let segment = &table.segments[number];
        stays[number] = before_all && segment.rows() >= SMALL && table.deleted_rows(segment) == 0;
        least = Some(match least {
            Some(least) if least < first => least,
            _ => first,
        });
    }
    Ok(stays.iter().take_while(|stays| **stays).count())
}

impl Transaction<'_> {
    /// Merges a table's segments, each of which is sorted in itself. `watch` is told of the records as of ones behind those that
    /// were written before.
    pub(crate) fn merge_sorted(&mut self, table: TableId, watch: &mut Watch<'_>) -> Result<()> {
        let now = self.current(table)?;
        let all = now.rows();
        if let Some(plan) = self.store.plan(&now)? {
            // The last record is told of when nothing but the commit is left.
            let mut told = |done: u64| if done < all { watch(all + done, all) } else { Ok(()) };
            let rows = self.store.rewrite(&plan, &mut told)?;
            self.replace(&now, &plan.replaced, rows, None)?;
        }
        watch(2 * all, all)
    }

    /// Puts `rows` in the place of segments and of all delta blocks, and gives the table another arrangement when there is
    /// one.
    pub(crate) fn replace(
        &mut self,
        table: &TableSnapshot,
        replaced: &Replaced,
        mut rows: WrittenRows,
        arrangement: Option<&Arrangement>,
    ) -> Result<u64> {
        let id = table.definition.id;
        let mut record = self.record(id)?;
        if let Some(arrangement) = arrangement {
            record.definition = arrangement.of(&record.definition);
        }
        if let Some(files) = rows.take_files() {
            self.changes.made.absorb(files);
        }
        for (position, segment) in records::segments(self.environment, &self.transaction, &record)? {
            if replaced.contains_key(&segment.id) {
                self.remove_segment(&mut record, position, segment.id)?;
            }
        }
        self.remove_delta(&mut record)?;
        for segment in &rows.segments {
            self.add_segment(&mut record, segment)?;
        }
        self.remove_unused_dictionaries(&record)?;
        self.put_record(record)?;
        self.sync_segments(id)?;
        Ok(rows.rows)
    }
}
