//! ALTER TABLE … SET (layout = …): a table's records written anew in another design.
//!
//! As OPTIMIZE does, records are read from a snapshot and written while others read and write, and one commit swaps
//! segments and definition together: before it all is as it was, after a crash too. When records came or went
//! meanwhile, the work is done once more with the writer's lock held.

use crate::catalog::rows::for_each_batch;
use crate::catalog::{Store, TableSnapshot, TableWriter, WrittenRows};
use crate::{Design, Error, Predicate, Result, TableDefinition, TableName};
use std::sync::Arc;

/// Watches a rewrite: called with the records written and those there are in all, before the first and after each
/// batch. An error, such as [`Error::Cancelled`], ends the rewrite and leaves the table as it was.
pub type Watch<'a> = dyn FnMut(u64, u64) -> Result<()> + Send + 'a;

impl Store {
    /// Gives a table another design and rewrites all its records, the delta too. Returns the records rewritten; none
    /// when the table has that design. Errors name what the table can't be, and columns whose values can't be stored so.
    pub fn set_design(self: &Arc<Self>, table: &TableName, design: Design, watch: &mut Watch<'_>) -> Result<u64> {
        let snapshot = self.snapshot()?;
        let missing = || Error::InvalidInput(format!("table '{table}' does not exist"));
        let current = snapshot.tables.get(table).ok_or_else(missing)?;
        if current.definition.design == design {
            return Ok(0);
        }
        let rows = self.write_as(current, &design, watch)?;
        let id = current.definition.id;
        self.write(move |transaction| {
            let now = transaction.current(id)?;
            let unchanged = now.definition == current.definition && now.version == current.version;
            let rows = if unchanged {
                rows
            } else {
                drop(rows);
                self.write_as(&now, &design, watch)?
            };
            let replaced = now.segments.iter().chain(&now.delta).map(|segment| segment.id()).collect();
            transaction.replace(&now, &replaced, rows, Some(design))
        })
    }

    /// Writes all records of a table in a design.
    fn write_as(
        self: &Arc<Self>,
        table: &Arc<TableSnapshot>,
        design: &Design,
        watch: &mut Watch<'_>,
    ) -> Result<WrittenRows> {
        let definition = TableDefinition { design: design.clone(), ..TableDefinition::clone(&table.definition) };
        design.validate(&definition)?;
        let columns = definition.columns.iter().map(|column| column.id).collect();
        let writer = TableWriter::new(Arc::clone(self), Arc::new(definition)).without_delta();
        let (mut done, all) = (0, table.rows());
        watch(done, all)?;
        for_each_batch(table, columns, Predicate::Constant(true), |batch| {
            done += batch.num_rows() as u64;
            writer.append(0, batch)?;
            watch(done, all)
        })?;
        writer.finish()
    }
}
