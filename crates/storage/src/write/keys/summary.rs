//! What is known of a key over the records of one segment from the time when they were written: ascending runs.
//!
//! Loads mostly bring keys in order, in one run or in one per part of the input. Runs that do not overlap have no
//! duplicates between them, so nothing has to be kept or read again.

use crate::write::keys::encode::{KeyEncoder, key_columns};
use crate::{Result, TableDefinition};
use arrow::array::RecordBatch;

/// A segment with more runs than this is taken as unordered.
const MAX_RUNS: usize = 1024;

/// Keys that ascend strictly from `first` to `last`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AscendingKeys {
    first: Box<[u8]>,
    last: Box<[u8]>,
}

/// One key over one written segment.
#[derive(Debug)]
pub(crate) struct KeySummary {
    /// `None` when the keys are not in order.
    pub(crate) runs: Option<Vec<AscendingKeys>>,
}

impl KeySummary {
    /// One per key of the table.
    pub(crate) fn of_table(table: &TableDefinition, batches: &[RecordBatch]) -> Result<Vec<Self>> {
        table.keys.iter().map(|key| Ok(Self { runs: runs(table, &key.columns, batches)? })).collect()
    }
}

fn runs(table: &TableDefinition, columns: &[u32], batches: &[RecordBatch]) -> Result<Option<Vec<AscendingKeys>>> {
    let encoder = KeyEncoder::new(table, columns)?;
    let mut runs: Vec<AscendingKeys> = Vec::new();
    for batch in batches {
        // In parts, so that the encoded keys stay in the processor's cache.
        for start in (0..batch.num_rows()).step_by(PART) {
            let part = batch.slice(start, PART.min(batch.num_rows() - start));
            let keys = encoder.encode(&key_columns(table, &part, columns))?;
            let mut previous: Option<&[u8]> = None;
            for (_, key) in keys.iter() {
                let ascends = match (previous, runs.last()) {
                    (Some(previous), _) => previous < key,
                    (None, Some(run)) => *run.last < *key,
                    (None, None) => false,
                };
                if !ascends {
                    if let (Some(previous), Some(run)) = (previous, runs.last_mut()) {
                        run.last = previous.into();
                    }
                    if runs.len() == MAX_RUNS {
                        return Ok(None);
                    }
                    runs.push(AscendingKeys { first: key.into(), last: key.into() });
                }
                previous = Some(key);
            }
            if let (Some(previous), Some(run)) = (previous, runs.last_mut()) {
                run.last = previous.into();
            }
        }
    }
    Ok(Some(runs))
}

/// Records encoded at a time.
const PART: usize = 8192;

/// True when all keys are known to be different: every segment is in runs, and no two runs overlap.
pub(crate) fn all_distinct<'s>(summaries: impl Iterator<Item = &'s KeySummary>) -> bool {
    let mut all: Vec<&AscendingKeys> = Vec::new();
    for summary in summaries {
        match &summary.runs {
            Some(runs) => all.extend(runs),
            None => return false,
        }
    }
    all.sort_unstable_by(|left, right| left.first.cmp(&right.first));
    all.windows(2).all(|pair| pair[0].last < pair[1].first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(runs: &[(u8, u8)]) -> KeySummary {
        let run = |(first, last): &(u8, u8)| AscendingKeys { first: [*first].into(), last: [*last].into() };
        KeySummary { runs: Some(runs.iter().map(run).collect()) }
    }

    #[test]
    fn runs_that_interleave_without_overlap_are_distinct() {
        assert!(all_distinct([summary(&[(0, 1), (4, 5)]), summary(&[(2, 3), (6, 9)])].iter()));
        assert!(all_distinct([summary(&[])].iter()));
    }

    #[test]
    fn runs_that_touch_or_overlap_are_not_known_to_be() {
        assert!(!all_distinct([summary(&[(0, 3)]), summary(&[(3, 5)])].iter()));
        assert!(!all_distinct([summary(&[(0, 9)]), summary(&[(3, 5)])].iter()));
        assert!(!all_distinct([summary(&[(0, 1)]), KeySummary { runs: None }].iter()));
    }
}
