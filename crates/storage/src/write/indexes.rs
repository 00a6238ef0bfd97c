//! Indexes of heap tables: made, dropped and checked. Their entries are crate::heap's.

use crate::SqlState;
use crate::write::transaction::Transaction;
use crate::{ColumnId, Error, IndexDefinition, KeyDefinition, RecordedIndex, Result, TableDefinition, TableId};

impl Transaction<'_> {
    /// Makes an index of a heap table over its records. Fails when a table of its schema has one of that name, when it lies in
    /// no pages, and for a unique one when two records have the same values. `wanted` is asked now and then.
    pub fn create_index(
        &mut self,
        table: TableId,
        name: &str,
        columns: Vec<ColumnId>,
        unique: bool,
        wanted: &dyn Fn() -> bool,
    ) -> Result<()> {
        let mut record = self.record(table)?;
        let definition = &mut record.definition;
        if record.heap.is_none() {
            return Err(Error::Unsupported(format!(
                "table '{}' has the layout {}, whose zone maps take the place of indexes; they are for the layouts nsm, dsm \
                 and pax",
                definition.name,
                definition.design.text(definition)
            )));
        }
        for other in self.table_ids() {
            let other = self.record(other)?.definition;
            if other.name.schema == definition.name.schema && other.indexes.iter().any(|index| index.name == name) {
                return Err(Error::invalid(
                    SqlState::DuplicateTable,
                    format!("index '{name}' already exists, of table '{}'", other.name),
                ));
            }
        }
        let number = add_index(definition, name, columns, unique, false);
        self.put_record(record)?;
        self.heap(table, |heap| heap.fill_index(number, wanted))
    }

    /// Drops an index of a heap table. Fails for one that a constraint needs.
    pub fn drop_index(&mut self, table: TableId, name: &str) -> Result<()> {
        let mut record = self.record(table)?;
        let definition = &mut record.definition;
        let found = definition.indexes.iter().position(|index| index.name == name).ok_or_else(|| {
            Error::invalid(SqlState::UndefinedObject, format!("table '{}' has no index '{name}'", definition.name))
        })?;
        if definition.indexes[found].of_constraint {
            return Err(Error::constraint(
                SqlState::DependentObjectsStillExist,
                format!("index '{name}' can't be dropped: constraint '{name}' of table '{}' needs it", definition.name),
            ));
        }
        let number = definition.indexes.remove(found).number;
        self.remove_entries(record.prefix(), number)?;
        self.put_record(record)
    }
}

/// Gives the definition of a table in heap pages the indexes of its keys.
pub(crate) fn add_key_indexes(definition: &mut TableDefinition) {
    for key in definition.keys.clone() {
        add_index(definition, &key.name, key.columns, true, true);
    }
}

/// Makes indexes of what was recorded of a table that goes into heap pages, and of its keys.
pub(crate) fn into_pages(definition: &mut TableDefinition) {
    let recorded = std::mem::take(&mut definition.recorded);
    // A unique index was the key of its name.
    definition.keys.retain(|key| !recorded.iter().any(|index| index.unique && index.name == key.name));
    add_key_indexes(definition);
    for RecordedIndex { name, columns, unique } in recorded {
        add_index(definition, &name, columns, unique, false);
    }
}

/// Records the indexes of a table that leaves its pages; a unique one becomes the key of its name.
pub(crate) fn out_of_pages(definition: &mut TableDefinition) {
    let all = std::mem::take(&mut definition.indexes);
    for IndexDefinition { name, columns, unique, .. } in all.into_iter().filter(|index| !index.of_constraint) {
        if unique {
            definition.keys.push(KeyDefinition { name: name.clone(), columns: columns.clone(), primary: false });
        }
        definition.recorded.push(RecordedIndex { name, columns, unique });
    }
}

/// Adds an index and returns its number: one that no other has, which one that was dropped may have had.
fn add_index(
    definition: &mut TableDefinition,
    name: &str,
    columns: Vec<ColumnId>,
    unique: bool,
    of_constraint: bool,
) -> u32 {
    let number = definition.indexes.iter().map(|index| index.number + 1).max().unwrap_or(0);
    definition.indexes.push(IndexDefinition { number, name: name.to_owned(), columns, unique, of_constraint });
    number
}
