//! Indexes of heap tables: made, dropped and checked. Their entries are crate::heap's.

use crate::SqlState;
use crate::write::transaction::Transaction;
use crate::{ColumnId, Error, IndexDefinition, Result, TableDefinition, TableId};

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

/// Takes the indexes of keys from the definition of a table that leaves its pages. Fails when it has others.
pub(crate) fn remove_key_indexes(definition: &mut TableDefinition) -> Result<()> {
    if let Some(index) = definition.indexes.iter().find(|index| !index.of_constraint) {
        return Err(Error::invalid(
            SqlState::InvalidParameterValue,
            format!(
                "table '{}' has the index '{}', which only the layouts nsm, dsm and pax can have; drop it first",
                definition.name, index.name
            ),
        ));
    }
    definition.indexes.clear();
    Ok(())
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
