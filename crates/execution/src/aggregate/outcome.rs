//! From the words of states to keys and results.

use super::plan::{Plan, Reading};
use super::states::{States, wide};
use crate::{Error, Result};

/// The groups that have records, in the order of their keys, NULL last. Without keys there is one, of no records perhaps.
#[derive(Debug, PartialEq, Eq)]
pub struct Groups {
    /// How many.
    pub rows: usize,
    /// For each key its value in each group; `None` is NULL.
    pub keys: Vec<Vec<Option<i64>>>,
    /// For each aggregate its result in each group; `None` is NULL.
    pub results: Vec<Vec<Option<i128>>>,
}

impl Groups {
    /// Reads them. `place` names the table, for the error of values outside of what the metadata says; `take` is asked for
    /// the bytes that they need.
    pub(crate) fn new(
        plan: &Plan,
        states: &States,
        place: &str,
        take: impl FnOnce(usize) -> Result<()>,
    ) -> Result<Self> {
        let found = found(plan, states, place)?;
        let keys = plan.keys.len() * size_of::<Option<i64>>();
        let results = plan.readings.len() * size_of::<Option<i128>>();
        take(found.len() * (keys + results))?;
        let mut keys = vec![Vec::with_capacity(found.len()); plan.keys.len()];
        for (number, _) in &found {
            let mut rest = i128::from(*number);
            for (key, values) in plan.keys.iter().zip(&mut keys).rev() {
                let digit = rest % key.size;
                rest /= key.size;
                let null = key.nullable && digit == key.size - 1;
                values.push((!null).then_some((key.low + digit) as i64));
            }
        }
        let read = |reading: &Reading| found.iter().map(|(_, state)| reading.read(state)).collect();
        let results = plan.readings.iter().map(read).collect();
        Ok(Self { rows: found.len(), keys, results })
    }
}

/// Number and state of each group.
fn found<'a>(plan: &Plan, states: &'a States, place: &str) -> Result<Vec<(u64, &'a [u64])>> {
    let all = states.words.chunks_exact(plan.stride);
    let Some(table) = &states.table else {
        let spare = all.len() - 1;
        if states.words[spare * plan.stride] != 0 {
            let detail = "a column has values outside of the range in its metadata; run `check`";
            return Err(Error::Corrupt { place: place.to_owned(), detail: detail.to_owned() });
        }
        let wanted = |state: &[u64]| state[0] != 0 || plan.keys.is_empty();
        return Ok((0..).zip(all.take(spare)).filter(|(_, state)| wanted(state)).collect());
    };
    let mut found: Vec<_> = table.numbers().iter().copied().zip(all).collect();
    found.sort_unstable_by_key(|(number, _)| *number);
    Ok(found)
}

impl Reading {
    fn read(&self, state: &[u64]) -> Option<i128> {
        match *self {
            Self::Count(word) => Some(state[word].into()),
            Self::Sum { count, .. } if state[count] == 0 => None,
            Self::Sum { word, wide: true, .. } => Some(wide(&state[word..])),
            Self::Sum { word, wide: false, .. } => Some((state[word] as i64).into()),
            Self::Extreme { word, end, down } => {
                let distance = i128::from(state[word]);
                (distance != 0).then_some(if down { end - distance } else { end + distance })
            }
        }
    }
}
