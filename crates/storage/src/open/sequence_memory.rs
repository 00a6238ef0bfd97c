//! What this process has given of each sequence: the rest of the block that was taken last, and the last value given, which no rolled
//! back transaction takes back.
//!
//! Numbers come in blocks. A block is part of a commit, and what of it is left is given without another one. The values in it may be
//! given by whoever sees the commit, or is in the transaction, that took it: the record that they see then names that block. One
//! that was rolled back is named by no record, and what is left of it is never given. The next block begins behind the last
//! value that was given in any case, so that none is given twice while the process lives; a process that starts begins behind
//! the last block that was committed.

use crate::model::sequence::{SequenceDefinition, SequencePosition, SequenceRecord};
use crate::{Error, Result, SqlState};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Values that a block has besides those that were asked for: PostgreSQL logs as many ahead.
const AHEAD: u64 = 32;

/// What is known of the sequences of a store, by their generation.
#[derive(Debug, Default)]
pub(crate) struct SequenceMemory(Mutex<HashMap<u64, GivenNumbers>>);

/// What was given of one.
#[derive(Debug, Clone, Copy)]
struct GivenNumbers {
    last: i64,
    called: bool,
    block: u64,
    left: u64,
}

impl GivenNumbers {
    /// What a record says, where nothing was given since.
    fn of(position: &SequencePosition) -> Self {
        Self { last: position.last, called: position.called, block: position.block, left: 0 }
    }

    /// Steps to the next value; `None` behind the last one of all.
    fn step(&mut self, definition: &SequenceDefinition) -> Option<i64> {
        let next = if self.called { definition.after(self.last)? } else { self.last };
        (self.last, self.called) = (next, true);
        Some(next)
    }
}

impl SequenceMemory {
    fn all(&self) -> MutexGuard<'_, HashMap<u64, GivenNumbers>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As many values as `wanted` of the block that `record` names; `None` when that has not as many left.
    pub(crate) fn at_hand(&self, record: &SequenceRecord, wanted: u64) -> Option<Vec<i64>> {
        let mut all = self.all();
        let given = all.get_mut(&record.position.generation)?;
        if given.block != record.position.block || given.left < wanted {
            return None;
        }
        given.left -= wanted;
        (0..wanted).map(|_| given.step(&record.definition)).collect()
    }

    /// Takes a block with as many values as `wanted` and some more, whose number is `block`. Gives these values and the record as it
    /// has to be committed before any of them is given.
    pub(crate) fn take(&self, record: &SequenceRecord, wanted: u64, block: u64) -> Result<(Vec<i64>, SequenceRecord)> {
        let (definition, position) = (&record.definition, record.position);
        let mut all = self.all();
        let mut given = all.get(&position.generation).copied().unwrap_or_else(|| GivenNumbers::of(&position));
        let mut values = Vec::with_capacity(usize::try_from(wanted).unwrap_or_default());
        for _ in 0..wanted {
            values.push(given.step(definition).ok_or_else(|| at_its_end(definition))?);
        }
        let (mut end, mut left) = (given, 0);
        let definition_once = SequenceDefinition { cycle: false, ..definition.clone() };
        while left < definition.cache - 1 + AHEAD && end.step(&definition_once).is_some() {
            left += 1;
        }
        all.insert(position.generation, GivenNumbers { block, left, ..given });
        let position = SequencePosition { last: end.last, called: end.called, block, ..position };
        Ok((values, SequenceRecord { position, ..record.clone() }))
    }

    /// Notes that the next block of the sequence begins at, or behind, a value.
    pub(crate) fn set(&self, position: &SequencePosition) {
        self.all().insert(position.generation, GivenNumbers::of(position));
    }

    /// The last value that was given, whether it was, and how many are left of the block.
    pub(crate) fn shown(&self, record: &SequenceRecord) -> (i64, u64, bool) {
        let known = self.all().get(&record.position.generation).copied();
        let given = known.unwrap_or_else(|| GivenNumbers::of(&record.position));
        (given.last, if given.block == record.position.block { given.left } else { 0 }, given.called)
    }
}

fn at_its_end(definition: &SequenceDefinition) -> Error {
    let (what, value) =
        if definition.increment > 0 { ("maximum", definition.most) } else { ("minimum", definition.least) };
    Error::invalid(
        SqlState::SequenceGeneratorLimitExceeded,
        format!("sequence '{}' has reached its {what} value ({value})", definition.name),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TableName;

    fn record(definition: SequenceDefinition) -> SequenceRecord {
        let position = SequencePosition { last: definition.start, called: false, generation: 1, block: 1 };
        SequenceRecord { definition, position }
    }

    fn plain() -> SequenceDefinition {
        SequenceDefinition::new(TableName { schema: "public".into(), table: "s".into() })
    }

    #[test]
    fn a_block_that_no_record_names_is_not_given() {
        let (memory, before) = (SequenceMemory::default(), record(plain()));
        assert_eq!(memory.at_hand(&before, 1), None);
        let (values, after) = memory.take(&before, 2, 7).unwrap();
        assert_eq!((values, after.position.last), (vec![1, 2], 34));
        // Rolled back: the record is the one before.
        assert_eq!(memory.at_hand(&before, 1), None);
        let (values, again) = memory.take(&before, 1, 8).unwrap();
        assert_eq!((values, again.position.last), (vec![3], 35));
        assert_eq!(memory.at_hand(&after, 1), None);
        assert_eq!(memory.at_hand(&again, 32), Some((4..36).collect()));
        assert_eq!(memory.at_hand(&again, 1), None);
        // Another process begins behind what was committed.
        let (values, _) = SequenceMemory::default().take(&again, 1, 9).unwrap();
        assert_eq!(values, [36]);
    }

    #[test]
    fn blocks_end_where_the_sequence_does() {
        let (memory, short) = (SequenceMemory::default(), record(SequenceDefinition { most: 3, ..plain() }));
        let (values, after) = memory.take(&short, 1, 2).unwrap();
        assert_eq!((values, after.position.last), (vec![1], 3));
        assert_eq!(memory.at_hand(&after, 3), None);
        let error = memory.take(&after, 3, 3).unwrap_err();
        assert_eq!(error.to_string(), "sequence 's' has reached its maximum value (3)");
        assert_eq!(memory.at_hand(&after, 2), Some(vec![2, 3]));
        let around = record(SequenceDefinition { most: 3, cycle: true, ..plain() });
        assert_eq!(SequenceMemory::default().take(&around, 5, 2).unwrap().0, [1, 2, 3, 1, 2]);
    }
}
