//! What ALTER TABLE may ask of records that exist. They are not rewritten, and all have one value in a column that is
//! new: keys and references are judged by that value.

use crate::SqlState;
use crate::model::labels::CommentSubject;
use crate::scan::TableScan;
use crate::snapshot::table_snapshot::TableSnapshot;
use crate::write::transaction::{Transaction, validate};
use crate::{
    ColumnDefinition, ColumnId, Datum, Error, KeyDefinition, Predicate, ReferenceDefinition, Result, TableDefinition,
    TableId,
};
use std::sync::Arc;

impl Transaction<'_> {
    /// Errors when a key, a reference or a NOT NULL of `after` that `before` does not have fails for a record.
    pub(crate) fn require_new_constraints(
        &self,
        before: &Arc<TableSnapshot>,
        after: &TableDefinition,
        verified: &[String],
    ) -> Result<()> {
        let change = TableChange { before, after };
        change.require_values()?;
        let is_known = |key: &&KeyDefinition| {
            let same = |known: &KeyDefinition| known.columns == key.columns && (known.primary || !key.primary);
            verified.contains(&key.name) || before.definition.keys.iter().any(same)
        };
        for key in after.keys.iter().filter(|key| !is_known(key)) {
            change.require_key(key)?;
        }
        let is_known = |reference: &&ReferenceDefinition| {
            let same = |known: &ReferenceDefinition| {
                (&known.columns, known.table, &known.referred)
                    == (&reference.columns, reference.table, &reference.referred)
            };
            let is_asked = !after.not_valid.contains(&reference.name);
            !is_asked || verified.contains(&reference.name) || before.definition.references.iter().any(same)
        };
        for reference in after.references.iter().filter(|reference| !is_known(reference)) {
            if !change.holds_without_looking(reference) {
                self.require_reference(&change, reference)?;
            }
        }
        Ok(())
    }

    /// Replaces the definition of a table by one with other names of constraints and indexes, and nothing else that is another.
    pub fn relabel_table(&mut self, definition: TableDefinition) -> Result<()> {
        let mut record = self.record(definition.id)?;
        validate(&definition)?;
        record.definition = definition;
        self.put_record(record)
    }

    /// The definition of a table, with this transaction's changes.
    pub fn definition(&self, table: TableId) -> Result<TableDefinition> {
        Ok(self.record(table)?.definition)
    }

    /// Sets or removes a comment on a table or a part of it.
    pub fn comment_table(&mut self, table: TableId, on: CommentSubject, text: Option<String>) -> Result<()> {
        let mut record = self.record(table)?;
        record.definition.set_comment(on, text);
        self.put_record(record)
    }

    /// Looks for the values of the new columns among the keys that they refer to.
    fn require_reference(&self, change: &TableChange<'_>, reference: &ReferenceDefinition) -> Result<()> {
        let referred = self.current(reference.table)?;
        let mut parts = Vec::with_capacity(reference.columns.len());
        let mut values = Vec::with_capacity(reference.columns.len());
        for (own, theirs) in reference.columns.iter().zip(&reference.referred) {
            let Some(column) = change.added(*own).filter(|_| referred.definition.column_by_id(*theirs).is_some())
            else {
                return Err(Error::Unsupported(format!(
                    "table '{}': reference '{}' can't be added over columns that exist",
                    change.after.name, reference.name
                )));
            };
            parts.push(Predicate::In { column: *theirs, values: vec![column.initial.clone()], negated: false });
            values.push(format!("{} = {}", column.name, column.default.as_deref().unwrap_or("NULL")));
        }
        let isa = gingham_kernels::Isa::best();
        let scan = TableScan::new(Arc::clone(&referred), Vec::new(), Predicate::And(parts), 1, isa)?;
        for morsel in 0..scan.morsels() {
            if scan.count(morsel)? > 0 {
                return Ok(());
            }
        }
        Err(Error::constraint(
            SqlState::ForeignKeyViolation,
            format!(
                "{} of the {} records of table '{}' does not exist in table '{}' (constraint '{}')",
                values.join(", "),
                change.before.rows(),
                change.after.name,
                referred.definition.name,
                reference.name
            ),
        ))
    }
}

/// A table as it is, and the definition that it is to have.
struct TableChange<'a> {
    before: &'a Arc<TableSnapshot>,
    after: &'a TableDefinition,
}

impl TableChange<'_> {
    /// The column of that number, when it is new.
    fn added(&self, id: ColumnId) -> Option<&ColumnDefinition> {
        let new = self.before.definition.column_by_id(id).is_none();
        self.after.column_by_id(id).filter(|_| new)
    }

    fn added_as_null(&self, id: ColumnId) -> bool {
        self.added(id).is_some_and(|column| column.initial == Datum::Null)
    }

    /// A column that is NOT NULL has a value for the records that exist.
    fn require_values(&self) -> Result<()> {
        let missing = |column: &&ColumnDefinition| !column.nullable && self.added_as_null(column.id);
        match self.after.columns.iter().find(missing).filter(|_| self.before.rows() > 0) {
            None => Ok(()),
            Some(column) => Err(Error::constraint(
                SqlState::NotNullViolation,
                format!(
                    "column '{}' is NOT NULL and has no DEFAULT, but table '{}' has {} records that would need a value",
                    column.name,
                    self.after.name,
                    self.before.rows()
                ),
            )),
        }
    }

    /// One value in all records is no key, unless it is NULL.
    fn require_key(&self, key: &KeyDefinition) -> Result<()> {
        let distinct = !key.primary && key.columns.iter().any(|column| self.added_as_null(*column));
        if distinct || self.before.rows() <= 1 {
            return Ok(());
        }
        let kind = if key.primary { "PRIMARY KEY" } else { "UNIQUE" };
        let columns = key.columns.iter().filter_map(|column| self.added(*column));
        let defaults: Vec<String> = columns
            .map(|column| format!("{} = {}", column.name, column.default.as_deref().unwrap_or("NULL")))
            .collect();
        if defaults.len() < key.columns.len() {
            return Err(Error::Unsupported(format!(
                "table '{}': key '{}' can't be added over columns that exist",
                self.after.name, key.name
            )));
        }
        Err(Error::constraint(
            SqlState::UniqueViolation,
            format!(
                "{kind} ({}) can't hold: all {} records of table '{}' would have it (constraint '{}')",
                defaults.join(", "),
                self.before.rows(),
                self.after.name,
                key.name
            ),
        ))
    }

    /// True when no record has a value that refers to something, or each refers to itself.
    fn holds_without_looking(&self, reference: &ReferenceDefinition) -> bool {
        self.before.rows() == 0
            || reference.columns.iter().any(|column| self.added_as_null(*column))
            || (reference.table == self.after.id && reference.columns == reference.referred)
    }
}
