//! ALTER TABLE whose records are written anew, and what its caller has looked at already.

use crate::write::heap_tables as heap;
use crate::write::indexes;
use crate::write::table_writer::WrittenRows;
use crate::write::transaction::{NameEntry, Transaction, validate};
use crate::{Result, TableDefinition};

/// What the caller of [`Transaction::alter_table_knowing`] has found to hold for the records that exist.
#[derive(Debug, Clone, Default)]
pub struct CheckedRows {
    /// Names of keys and references.
    pub constraints: Vec<String>,
    /// NOT NULL of columns that may be NULL so far.
    pub not_null: bool,
}

impl Transaction<'_> {
    /// Replaces the definition of a table and all of its records: `rows` were written for that definition. Keys and references of it
    /// are checked over them.
    pub fn rewrite_table(&mut self, mut definition: TableDefinition, rows: WrittenRows) -> Result<()> {
        let id = definition.id;
        let mut record = self.record(id)?;
        validate(&definition)?;
        self.refuse_dropped_referred_columns(&record.definition, &definition)?;
        self.remove_rows(&mut record)?;
        if record.heap.is_some() {
            definition.indexes.retain(|index| !index.of_constraint);
            indexes::add_key_indexes(&mut definition);
            if let Some(options) = definition.design.heap {
                // A record of the new columns has to fit a page.
                heap::new_record(&definition, options)?;
            }
        }
        if definition.name != record.definition.name {
            self.require_free(&definition.name)?;
            let names = self.names_mut()?;
            names.remove(&record.definition.name);
            names.insert(definition.name.clone(), NameEntry::Table(id));
        }
        record.definition = definition;
        self.put_record(record.clone())?;
        self.drop_sequences_of(id, Some(&record.definition))?;
        self.append(id, rows)
    }
}
