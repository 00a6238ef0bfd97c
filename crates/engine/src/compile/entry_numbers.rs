//! Strings that a function makes of a dictionary's entries get their numbers once an entry, and not once a record: so a join of a
//! dictionary's strings with others costs little more than one of integers.

use arrow::buffer::BooleanBuffer;
use gingham_execution::{Column, Error, Memory, Result, Values};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The mark of an entry whose number is not known yet.
const UNKNOWN: u64 = 0;
/// The mark of an entry of which the function makes NULL.
const NULL: u64 = 1;
/// Numbers are kept as their sums with this.
const NUMBER: u64 = 2;

/// The numbers that records of a run have asked for: one for each entry, and behind them that of NULL.
#[derive(Debug)]
pub(super) struct EntryNumbers {
    entries: usize,
    known: OnceLock<Vec<AtomicU64>>,
}

impl EntryNumbers {
    /// Numbers of so many entries, none of which is known.
    pub(super) fn new(entries: usize) -> Self {
        Self { entries, known: OnceLock::new() }
    }

    /// The numbers for records with this argument. `ask` gives those that are not known yet, for columns of so many rows.
    pub(super) fn numbers(
        &self,
        argument: &Column,
        memory: &dyn Memory,
        ask: impl FnOnce(&[Column], usize) -> Result<Column>,
    ) -> Result<Column> {
        let Values::Short(codes) = &argument.values else {
            return Err(Error::Internal("entries of a dictionary by codes of more than 64 bits".to_owned()));
        };
        if self.known.get().is_none() {
            memory.grow((self.entries + 1) * size_of::<AtomicU64>())?;
        }
        let known = self.known.get_or_init(|| (0..=self.entries).map(|_| AtomicU64::new(UNKNOWN)).collect());
        let place = |row: usize| match &argument.valid {
            Some(valid) if !valid.value(row) => Ok(self.entries),
            _ => usize::try_from(codes[row]).ok().filter(|code| *code < self.entries).ok_or_else(|| {
                Error::Internal(format!("code {} of a dictionary of {} entries", codes[row], self.entries))
            }),
        };
        let places = (0..codes.len()).map(place).collect::<Result<Vec<usize>>>()?;
        let number = |place: &usize| known[*place].load(Ordering::Relaxed);
        let mut unknown: Vec<usize> = places.iter().copied().filter(|place| number(place) == UNKNOWN).collect();
        unknown.sort_unstable();
        unknown.dedup();
        if !unknown.is_empty() {
            let values = Values::Short(unknown.iter().map(|place| *place as i64).collect());
            let valid = unknown.iter().map(|place| *place < self.entries).collect();
            let asked = ask(&[Column { values, valid: Some(valid) }], unknown.len())?;
            for (row, place) in unknown.into_iter().enumerate() {
                let number = asked.get(row).map_or(NULL, |number| number as u64 + NUMBER);
                known[place].store(number, Ordering::Relaxed);
            }
        }
        let numbers: Vec<u64> = places.iter().map(number).collect();
        let valid =
            numbers.contains(&NULL).then(|| numbers.iter().map(|number| *number != NULL).collect::<BooleanBuffer>());
        let values = Values::Short(numbers.into_iter().map(|number| number.saturating_sub(NUMBER) as i64).collect());
        Ok(Column { values, valid })
    }
}
