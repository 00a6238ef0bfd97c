//! OPTIMIZE: delta and small segments become full segments, sorted when the table says so.
//!
//! Records are read and written while others may commit. The swap happens only when all that was read is still there;
//! when it is not (records came into the last delta block, say), the work is done once more with the writer's lock held.

use crate::catalog::rows::{for_each_batch, read_rows, sort_rows};
use crate::catalog::{Store, TableSnapshot, TableWriter, Transaction, WrittenRows, records};
use crate::segment::{SEGMENT_ROWS, Segment, SegmentId};
use crate::{Design, Error, Predicate, Result, TableName};
use std::collections::HashSet;
use std::sync::Arc;

/// A segment below this many records is merged with its neighbours.
const SMALL: usize = SEGMENT_ROWS / 2;

/// Records that OPTIMIZE rewrites.
#[derive(Debug)]
struct Plan {
    /// The table reduced to what is rewritten.
    part: Arc<TableSnapshot>,
    replaced: HashSet<SegmentId>,
    /// Whether all of it is sorted as one.
    sorted: bool,
}

impl Store {
    /// Merges the delta and small segments of a table into full segments, then commits. Returns the records rewritten.
    ///
    /// A table with `sort_by` is sorted as a whole when its records as Arrow arrays fit in half of the memory limit;
    /// otherwise each new segment is sorted in itself.
    pub fn optimize(self: &Arc<Self>, table: &TableName) -> Result<u64> {
        let snapshot = self.snapshot()?;
        let missing = || Error::InvalidInput(format!("table '{table}' does not exist"));
        let current = snapshot.tables.get(table).ok_or_else(missing)?;
        let Some(plan) = self.plan(current) else { return Ok(0) };
        let rows = self.rewrite(&plan)?;
        let id = current.definition.id;
        self.write(move |transaction| {
            let now = transaction.current(id)?;
            if now.definition == current.definition && still_there(&now, &plan.replaced) {
                return transaction.replace(&now, &plan.replaced, rows, None);
            }
            drop(rows);
            let Some(plan) = self.plan(&now) else { return Ok(0) };
            let rows = self.rewrite(&plan)?;
            transaction.replace(&now, &plan.replaced, rows, None)
        })
    }

    /// What to rewrite; `None` when the table is as it should be.
    fn plan(&self, table: &Arc<TableSnapshot>) -> Option<Plan> {
        let definition = &table.definition;
        let small: Vec<&Arc<Segment>> = table.segments.iter().filter(|segment| segment.rows() < SMALL).collect();
        let unsorted = !definition.sort_by.is_empty() && table.segments.len() > 1 && !in_order(table);
        let bytes: u64 = table
            .segments
            .iter()
            .chain(&table.delta)
            .flat_map(|segment| segment.columns())
            .map(|column| column.native_bytes)
            .sum();
        // Arrow's arrays are wider than the stored codes: about twice, by TPC-H's tables.
        let sorted = !definition.sort_by.is_empty() && bytes.saturating_mul(4) < self.budget.limit() as u64;
        if table.delta.is_empty() && small.len() < 2 && !(sorted && unsorted) {
            return None;
        }
        let segments: Vec<Arc<Segment>> =
            if sorted { table.segments.clone() } else { small.into_iter().cloned().collect() };
        let replaced = segments.iter().chain(&table.delta).map(|segment| segment.id()).collect();
        let part = TableSnapshot { segments, ..copy_of(table) };
        Some(Plan { part: Arc::new(part), replaced, sorted })
    }

    /// Writes the planned records anew.
    fn rewrite(self: &Arc<Self>, plan: &Plan) -> Result<WrittenRows> {
        let definition = &plan.part.definition;
        let writer = TableWriter::new(Arc::clone(self), Arc::clone(definition)).without_delta();
        if plan.sorted {
            for batch in sort_rows(definition, read_rows(&plan.part)?)? {
                writer.append(0, batch)?;
            }
        } else {
            let columns = definition.columns.iter().map(|column| column.id).collect();
            for_each_batch(&plan.part, columns, Predicate::Constant(true), |batch| writer.append(0, batch))?;
        }
        writer.finish()
    }
}

/// A snapshot that shares everything with `table`.
fn copy_of(table: &TableSnapshot) -> TableSnapshot {
    TableSnapshot {
        definition: Arc::clone(&table.definition),
        version: table.version,
        segments: table.segments.clone(),
        delta: table.delta.clone(),
        dictionaries: table.dictionaries.clone(),
        summaries: Default::default(),
    }
}

fn still_there(table: &TableSnapshot, replaced: &HashSet<SegmentId>) -> bool {
    let present = table.segments.iter().chain(&table.delta).filter(|segment| replaced.contains(&segment.id())).count();
    present == replaced.len() && table.delta.iter().all(|block| replaced.contains(&block.id()))
}

/// Whether the segments follow each other by the first column of `sort_by`.
fn in_order(table: &TableSnapshot) -> bool {
    let Some(first) = table.definition.sort_by.first() else { return true };
    let bounds: Vec<_> = table.segments.iter().filter_map(|segment| segment.column(*first)).collect();
    bounds.len() == table.segments.len()
        && bounds.windows(2).all(|pair| {
            let order = pair[0].statistics.max.compare(&pair[1].statistics.min);
            order.is_some_and(|order| order.is_le())
        })
}

impl Transaction<'_> {
    /// Puts `rows` in the place of segments and of all delta blocks, and gives the table another design when there is
    /// one.
    pub(crate) fn replace(
        &mut self,
        table: &TableSnapshot,
        replaced: &HashSet<SegmentId>,
        mut rows: WrittenRows,
        design: Option<Design>,
    ) -> Result<u64> {
        let id = table.definition.id;
        let mut record = self.record(id)?;
        if let Some(design) = design {
            record.definition.design = design;
        }
        if let Some(files) = rows.take_files() {
            self.made.absorb(files);
        }
        for (position, segment) in records::segments(self.environment(), &self.transaction, &record)? {
            if replaced.contains(&segment.id) {
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
