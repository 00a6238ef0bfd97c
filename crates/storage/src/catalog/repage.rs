//! ALTER TABLE … SET (layout = …) into heap pages, out of them, and from one kind of them to another.
//!
//! Pages are changed within LMDB's write transaction alone, so that all of it is done with the writer's lock held: others
//! read the old records meanwhile, and one commit swaps records and definition.

use crate::catalog::heap::new_record;
use crate::catalog::rows::for_each_batch;
use crate::catalog::{Store, TableSnapshot, Transaction, Watch, WriteOptions, indexes};
use crate::{ColumnId, Design, Error, Predicate, Result, TableDefinition, TableName};
use std::sync::Arc;

impl Store {
    /// Gives a table another design, of which the old or the new one has heap pages. Returns the records rewritten.
    pub(crate) fn set_pages(
        self: &Arc<Self>,
        table: &TableName,
        design: &Design,
        watch: &mut Watch<'_>,
        options: &WriteOptions,
    ) -> Result<u64> {
        loop {
            let snapshot = self.pinned()?;
            let missing = || Error::InvalidInput(format!("table '{table}' does not exist"));
            let current = snapshot.tables.get(table).ok_or_else(missing)?;
            let rewritten = self.write_with(options, |transaction| {
                // Someone may have written between the snapshot and the lock.
                if transaction.current(current.definition.id)?.version != current.version {
                    return Ok(None);
                }
                transaction.repage(current, design, watch).map(Some)
            })?;
            if let Some(rows) = rewritten {
                return Ok(rows);
            }
        }
    }
}

impl Transaction<'_> {
    /// Replaces the records of a table by the same in another design.
    fn repage(&mut self, table: &Arc<TableSnapshot>, design: &Design, watch: &mut Watch<'_>) -> Result<u64> {
        let mut definition = TableDefinition { design: design.clone(), ..TableDefinition::clone(&table.definition) };
        design.validate(&definition)?;
        match (table.heap.is_some(), design.heap.is_some()) {
            (false, true) => indexes::add_key_indexes(&mut definition),
            (true, false) => indexes::remove_key_indexes(&mut definition)?,
            _ => {}
        }
        let heap = design.heap.map(|options| new_record(&definition, options)).transpose()?;
        let (id, all) = (definition.id, table.rows());
        watch(0, all)?;
        let columns: Vec<ColumnId> = definition.columns.iter().map(|column| column.id).collect();
        let mut done = 0;
        let mut told = |rows: usize| {
            done += rows as u64;
            watch(done, all)
        };
        if heap.is_some() {
            let mut record = self.record(id)?;
            self.remove_rows(&mut record)?;
            (record.definition, record.heap) = (definition, heap);
            self.put_record(record)?;
            self.heap(id, |pages| {
                for_each_batch(table, columns, Predicate::Constant(true), |batch| {
                    pages.load(&batch)?;
                    told(batch.num_rows())
                })
            })?;
            return Ok(all);
        }
        let writer = self.store.writer(table, design)?;
        for_each_batch(table, columns, Predicate::Constant(true), |batch| {
            let rows = batch.num_rows();
            writer.append(0, batch)?;
            told(rows)
        })?;
        let mut rows = writer.finish()?;
        self.check_ranges(id, &definition, &rows, &[])?;
        let mut record = self.record(id)?;
        self.remove_rows(&mut record)?;
        (record.definition, record.heap) = (definition, None);
        if let Some(files) = rows.take_files() {
            self.made.absorb(files);
        }
        for segment in &rows.segments {
            self.add_segment(&mut record, segment)?;
        }
        self.put_record(record)?;
        self.sync_segments(id)?;
        Ok(all)
    }
}
