//! Look-ups by key: a predicate that gives each column of a key one of few values asks the filters of segments, which leave out
//! most segments that have no such record.

use crate::segment::key_hash::hash_key;
use crate::segment::reader::Segment;
use crate::{ColumnId, Datum, Predicate, Result};
use std::ops::Bound;

/// Up to this many keys are asked for: many would mostly find one that a filter lets through.
const FEW: usize = 64;

/// The values that a predicate asks of columns, all of which a record must have one of.
#[derive(Debug, Default)]
pub(super) struct Asked<'p> {
    columns: Vec<(ColumnId, &'p [Datum])>,
}

impl<'p> Asked<'p> {
    /// What `predicate` asks, as far as its parts that must all hold say so.
    pub(super) fn of(predicate: &'p Predicate) -> Self {
        let mut asked = Self::default();
        asked.add(predicate);
        asked
    }

    fn add(&mut self, predicate: &'p Predicate) {
        match predicate {
            Predicate::Range { column, low: Bound::Included(low), high: Bound::Included(high) } if low == high => {
                self.columns.push((*column, std::slice::from_ref(low)));
            }
            Predicate::In { column, values, negated: false } if values.len() <= FEW => {
                self.columns.push((*column, values));
            }
            Predicate::And(parts) => parts.iter().for_each(|part| self.add(part)),
            _ => {}
        }
    }

    /// True when a filter says that a segment has no such record. Fails when the filter is damaged.
    pub(super) fn is_missing_in(&self, segment: &Segment) -> Result<bool> {
        if self.columns.is_empty() {
            return Ok(false);
        }
        for key in segment.filtered_keys() {
            let Some(hashes) = self.hashes(key) else { continue };
            if segment.may_have(key, &hashes)?.is_some_and(|found| found.is_empty()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The hashes of all keys that it asks for; `None` when they are many, or when a column may have any value.
    fn hashes(&self, key: &[ColumnId]) -> Option<Vec<u64>> {
        let mut keys: Vec<Vec<&Datum>> = vec![Vec::new()];
        for column in key {
            let (_, values) = self.columns.iter().find(|(asked, _)| asked == column)?;
            if keys.len() * values.len() > FEW {
                return None;
            }
            let with = |key: &Vec<&'p Datum>, value: &'p Datum| key.iter().copied().chain([value]).collect();
            keys = keys.iter().flat_map(|key| values.iter().map(move |value| with(key, value))).collect();
        }
        Some(keys.into_iter().filter_map(hash_key).collect())
    }
}
