//! Reads ahead of a scan whose segments lie elsewhere: some morsels before they are worked on, what they need and the cache does not have
//! is asked for, so that many requests are under way and those for neighbours are one.

use crate::io::remote::files::RemoteFile;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Morsels whose needs are asked for together: two full segments.
const TOGETHER: usize = 32;
/// Morsels that were asked for and have not begun, at least.
const AHEAD: usize = 16;

/// How far a run of a scan has read ahead.
#[derive(Debug, Default)]
pub(super) struct FarReads {
    /// The first morsel that was not asked for.
    next: Mutex<usize>,
}

/// Ranges of files that lie elsewhere, by the files' numbers.
#[derive(Debug, Default)]
pub(super) struct FarRanges(BTreeMap<u64, FileRanges>);

/// Offsets and lengths of what is wanted of one.
#[derive(Debug)]
struct FileRanges {
    file: Arc<RemoteFile>,
    ranges: Vec<(u64, usize)>,
}

impl FarReads {
    /// A morsel begins, of so many: those behind it whose needs are to be asked for now.
    pub(super) fn begin(&self, morsel: usize, morsels: usize) -> Range<usize> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        if morsel + AHEAD < *next || *next >= morsels {
            return 0..0;
        }
        let first = *next;
        *next = (first.max(morsel) + TOGETHER).min(morsels);
        first..*next
    }
}

impl FarRanges {
    /// Adds a range of `length` bytes.
    pub(super) fn add(&mut self, file: Arc<RemoteFile>, offset: u64, length: usize) {
        let own = self.0.entry(file.number()).or_insert_with(|| FileRanges { file, ranges: Vec::new() });
        own.ranges.push((offset, length));
    }

    /// Asks for all of them.
    pub(super) fn read_ahead(self) {
        self.0.into_values().for_each(|own| own.file.read_ahead(own.ranges.into_iter()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_morsel_is_asked_for_once_and_before_its_turn() {
        let (reads, morsels) = (FarReads::default(), 100);
        let mut asked = 0;
        for morsel in 0..morsels {
            let range = reads.begin(morsel, morsels);
            if !range.is_empty() {
                assert_eq!(range.start, asked);
                asked = range.end;
            }
            assert!(asked > morsel && (asked > morsel + AHEAD || asked == morsels), "{morsel}");
        }
        assert!(reads.begin(0, morsels).is_empty());
    }
}
