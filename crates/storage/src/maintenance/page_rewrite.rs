//! ALTER TABLE … SET (layout = …) into heap pages, out of them, and from one kind of them to another.
//!
//! All of it is done with the write lock: others read the old records meanwhile, and one commit swaps records and
//! definition. New pages are committed before it, in batches, under keys that no table has (`batched_load.rs`).

use crate::SqlState;
use crate::lmdb::environment::Environment;
use crate::lmdb::records;
use crate::maintenance::layout_rewrite::Watch;
use crate::model::heap_options::HeapOptions;
use crate::model::table::Arrangement;
use crate::open::options::WriteOptions;
use crate::open::shared::Store;
use crate::scan::rows::for_each_batch;
use crate::snapshot::table_snapshot::TableSnapshot;
use crate::write::batched_load::BatchedLoad;
use crate::write::heap_tables::new_record;
use crate::write::indexes;
use crate::write::transaction::Transaction;
use crate::{ColumnId, Error, Predicate, Result, TableDefinition, TableName};
use std::sync::Arc;

impl Store {
    /// Gives a table another arrangement, of which the old or the new one has heap pages. Returns the records rewritten.
    pub(crate) fn set_pages(
        self: &Arc<Self>,
        table: &TableName,
        arrangement: &Arrangement,
        watch: &mut Watch<'_>,
        options: &WriteOptions,
    ) -> Result<u64> {
        let _turn = self.turn(options)?;
        let (environment, snapshot) = (self.environment()?, self.pinned()?);
        let missing = || Error::invalid(SqlState::UndefinedTable, format!("table '{table}' does not exist"));
        let current = snapshot.table(table)?.ok_or_else(missing)?;
        let (design, mut definition) = (&arrangement.design, arrangement.of(&current.definition));
        design.validate(&definition)?;
        match (current.heap.is_some(), design.heap.is_some()) {
            (false, true) => indexes::into_pages(&mut definition),
            (true, false) => indexes::out_of_pages(&mut definition),
            _ => {}
        }
        watch(0, current.rows())?;
        match design.heap {
            Some(pages) => self.into_pages(&environment, current, (definition, pages), watch, options)?,
            None => {
                let mut transaction = self.begin_writing(&environment, options)?;
                transaction.out_of_pages(current, definition, watch)?;
                if arrangement.sorts(&current.definition) {
                    transaction.merge_sorted(current.definition.id, watch)?;
                }
                transaction.commit()?;
            }
        }
        Ok(current.rows())
    }

    /// Writes the pages of a heap table anew when more than a quarter of their bytes is free, or some were made for other columns.
    /// Returns the records written. Their ids change, and so do the entries of indexes.
    pub(crate) fn compact_pages(self: &Arc<Self>, table: &TableName, options: &WriteOptions) -> Result<u64> {
        let _turn = self.turn(options)?;
        let (environment, snapshot) = (self.environment()?, self.pinned()?);
        let Some(current) = snapshot.table(table)? else { return Ok(0) };
        let (Some(heap), Some(reader)) = (&current.heap, &current.pages) else { return Ok(0) };
        let (free, all) = reader.free_of_pages()?;
        if all == 0 || free < all / 4 && heap.shapes.older.is_empty() {
            return Ok(0);
        }
        let definition = TableDefinition::clone(&current.definition);
        self.into_pages(&environment, current, (definition, heap.options), &mut |_, _| Ok(()), options)?;
        Ok(current.rows())
    }

    /// Writes the records of a table into new pages, which take the place of all that it has. The caller has the turn.
    fn into_pages(
        self: &Arc<Self>,
        environment: &Arc<Environment>,
        table: &Arc<TableSnapshot>,
        (definition, pages): (TableDefinition, HeapOptions),
        watch: &mut Watch<'_>,
        options: &WriteOptions,
    ) -> Result<()> {
        let (mut heap, id) = (new_record(&definition, pages)?, definition.id);
        let (mut record, next) = environment.read(|transaction| {
            Ok((
                records::existing(environment, transaction, id)?,
                records::state(environment, transaction)?.next_number(),
            ))
        })?;
        if record.heap.is_some() {
            // The old pages stay where they are until the end.
            heap.prefix = next;
        }
        (record.definition, record.heap) = (definition.clone(), Some(heap));
        let columns: Vec<ColumnId> = definition.columns.iter().map(|column| column.id).collect();
        let (mut done, all) = (0, table.rows());
        let load = |portions: &mut BatchedLoad<'_>| {
            for_each_batch(table, columns, Predicate::Constant(true), |batch| {
                portions.load(&batch)?;
                done += batch.num_rows() as u64;
                watch(done, all)
            })
        };
        self.in_portions(environment, options, &|| Ok(()), record, load, |transaction| {
            let mut record = transaction.record(id)?;
            transaction.remove_rows(&mut record)?;
            // The number is of no other table, whether it was needed or not.
            transaction.state.next_number();
            record.definition = definition;
            Ok(record)
        })
    }
}

impl Transaction<'_> {
    /// Writes the records of a table that lie in pages as segments, in their place.
    fn out_of_pages(
        &mut self,
        table: &Arc<TableSnapshot>,
        definition: TableDefinition,
        watch: &mut Watch<'_>,
    ) -> Result<()> {
        let (id, all, mut done) = (definition.id, table.rows(), 0);
        let columns = definition.columns.iter().map(|column| column.id).collect();
        let writer = self.store.writer(definition.clone())?;
        for_each_batch(table, columns, Predicate::Constant(true), |batch| {
            done += batch.num_rows() as u64;
            writer.append(0, batch)?;
            watch(done, all)
        })?;
        let mut rows = writer.finish()?;
        self.check_ranges(id, &definition, &rows, &[])?;
        let mut record = self.record(id)?;
        self.remove_rows(&mut record)?;
        (record.definition, record.heap) = (definition, None);
        if let Some(files) = rows.take_files() {
            self.changes.made.absorb(files);
        }
        for segment in &rows.segments {
            self.add_segment(&mut record, segment)?;
        }
        self.put_record(record)?;
        self.sync_segments(id)
    }
}
