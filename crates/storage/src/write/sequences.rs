//! Sequences: made, changed, dropped, and asked for values.

use crate::lmdb::records;
use crate::model::sequence::{SequenceDefinition, SequencePosition, SequenceRecord};
use crate::open::shared::Store;
use crate::write::transaction::{NameEntry, Transaction};
use crate::{ColumnId, Error, Result, SqlState, TableDefinition, TableId, TableName};

/// How many values are made at once, so that no statement asks for more memory than its batches take.
const AT_ONCE: u64 = 1 << 20;

impl Store {
    /// As many values as `wanted` of what this process has taken of a sequence already, which whoever sees `record` may have;
    /// `None` when that is less: then [`Transaction::take_numbers`] has them.
    pub fn numbers_at_hand(&self, record: &SequenceRecord, wanted: u64) -> Option<Vec<i64>> {
        self.sequences.at_hand(record, wanted)
    }

    /// The last value that a sequence has given, how many more have been taken with it, and whether it has given that value.
    pub fn sequence_shown(&self, record: &SequenceRecord) -> (i64, u64, bool) {
        self.sequences.shown(record)
    }
}

impl Transaction<'_> {
    /// Creates a sequence that begins at its start; gives it its number. Fails when something has that name.
    pub fn create_sequence(&mut self, mut definition: SequenceDefinition) -> Result<u64> {
        self.require_free(&definition.name)?;
        definition.number = self.state.next_number();
        let (number, name) = (definition.number, definition.name.clone());
        self.names_mut()?.insert(name, NameEntry::Sequence(number));
        let position = self.beginning(definition.start);
        self.put_sequence(&SequenceRecord { definition, position })?;
        Ok(number)
    }

    /// Replaces the definition of a sequence, which goes on behind its last value, or begins anew at `restart`.
    pub fn alter_sequence(&mut self, definition: SequenceDefinition, restart: Option<i64>) -> Result<()> {
        let before = self.sequence(definition.number)?;
        if definition.name != before.definition.name {
            self.require_free(&definition.name)?;
            let names = self.names_mut()?;
            names.remove(&before.definition.name);
            names.insert(definition.name.clone(), NameEntry::Sequence(definition.number));
        }
        let position = match restart {
            Some(value) => self.beginning(value),
            // What is left of the block was counted in another way.
            None => SequencePosition { block: self.store.allocate_segment(), ..before.position },
        };
        self.put_sequence(&SequenceRecord { definition, position })
    }

    /// Drops a sequence.
    pub fn drop_sequence(&mut self, number: u64) -> Result<()> {
        let name = self.sequence(number)?.definition.name;
        self.names_mut()?.remove(&name);
        self.changes.changed = true;
        records::remove_sequence(self.environment, &mut self.transaction, number)
    }

    /// Sets the value behind which a sequence goes on, or, unless it is `called`, the next one.
    pub fn set_sequence(&mut self, number: u64, last: i64, called: bool) -> Result<()> {
        let before = self.sequence(number)?;
        let position = SequencePosition { last, called, block: self.store.allocate_segment(), ..before.position };
        self.put_sequence(&SequenceRecord { position, ..before })?;
        // As PostgreSQL has it, this is not undone by a rollback.
        self.store.sequences.set(&position);
        Ok(())
    }

    /// As many values of a sequence as `wanted`: what this process has of them, or a new block, which is part of this transaction.
    /// They may be given to anybody once it is committed, and before to what it does itself.
    pub fn take_numbers(&mut self, number: u64, wanted: u64) -> Result<Vec<i64>> {
        if wanted > AT_ONCE {
            return Err(Error::invalid(
                SqlState::ProgramLimitExceeded,
                format!("{wanted} values of a sequence are wanted at once; at most {AT_ONCE} are given"),
            ));
        }
        let record = self.sequence(number)?;
        if let Some(values) = self.store.sequences.at_hand(&record, wanted) {
            return Ok(values);
        }
        let block = self.store.allocate_segment();
        let (values, record) = self.store.sequences.take(&record, wanted, block)?;
        self.put_sequence(&record)?;
        Ok(values)
    }

    /// A sequence with this transaction's changes.
    pub fn sequence(&self, number: u64) -> Result<SequenceRecord> {
        records::sequence(self.environment, &self.transaction, number)?.ok_or_else(|| {
            Error::invalid(SqlState::UndefinedTable, format!("sequence number {number} does not exist (any more)"))
        })
    }

    /// All sequences with this transaction's changes.
    pub fn sequences(&self) -> Result<Vec<SequenceRecord>> {
        records::sequences(self.environment, &self.transaction)
    }

    /// Gives no number below `first` to a table, a sequence or anything else from now on: those of two stores that a session sees
    /// together are not the same then.
    pub fn skip_numbers(&mut self, first: u64) -> Result<()> {
        self.names_mut()?;
        self.state.next_table = self.state.next_table.max(first);
        self.changes.changed = true;
        Ok(())
    }

    /// Whether no table, view or sequence has that name.
    pub fn is_free(&mut self, name: &TableName) -> Result<bool> {
        Ok(!self.names_mut()?.contains_key(name))
    }

    /// The sequence of that name, with this transaction's changes.
    pub fn sequence_named(&mut self, name: &TableName) -> Result<SequenceRecord> {
        match self.names_mut()?.get(name) {
            Some(NameEntry::Sequence(number)) => {
                let number = *number;
                self.sequence(number)
            }
            Some(_) => Err(Error::invalid(SqlState::WrongObjectType, format!("'{name}' is not a sequence"))),
            None => Err(Error::invalid(SqlState::UndefinedTable, format!("sequence '{name}' does not exist"))),
        }
    }

    /// A position at which nothing was given yet, whatever was before.
    fn beginning(&self, first: i64) -> SequencePosition {
        let (generation, block) = (self.store.allocate_segment(), self.store.allocate_segment());
        SequencePosition { last: first, called: false, generation, block }
    }

    pub(crate) fn put_sequence(&mut self, record: &SequenceRecord) -> Result<()> {
        // The next snapshot is read from the catalog.
        self.names_mut()?;
        self.changes.changed = true;
        records::put_sequence(self.environment, &mut self.transaction, record)
    }

    /// Lets the sequences of a table's columns begin anew.
    pub fn restart_sequences_of(&mut self, table: TableId) -> Result<()> {
        for record in self.sequences()? {
            if record.definition.owner.is_some_and(|owner| owner.table == table) {
                let start = record.definition.start;
                self.alter_sequence(record.definition, Some(start))?;
            }
        }
        Ok(())
    }

    /// Drops the sequences of columns that are gone: all of a table's where there is no definition any more.
    pub(crate) fn drop_sequences_of(&mut self, table: TableId, after: Option<&TableDefinition>) -> Result<()> {
        let stays = |column: ColumnId| after.is_some_and(|after| after.column_by_id(column).is_some());
        for record in self.sequences()? {
            let owner = record.definition.owner.filter(|owner| owner.table == table);
            if owner.is_some_and(|owner| !stays(owner.column)) {
                self.drop_sequence(record.definition.number)?;
            }
        }
        Ok(())
    }
}
