//! Where the records of a table are cut when all its segments are written anew.
//!
//! Chunks of k records ask for segments of a multiple of k, all but the table's last (runtime-fragility paper, section
//! 2), which segments of another layout are not: they are then cut within. Where nothing asks for that, a new segment
//! has the records of whole old ones, so that none is read twice. Deleted records are not counted: they are not written.

use crate::Design;
use crate::segment::SegmentId;
use crate::segment::reader::Segment;
use crate::snapshot::delete_vector::DeleteVector;
use crate::snapshot::table_snapshot::TableSnapshot;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Segments and delta blocks of a table as one run of records that are not deleted, numbered from 0, and the size of new segments.
pub(crate) struct Cuts<'a> {
    deleted: &'a BTreeMap<SegmentId, Arc<DeleteVector>>,
    sources: Vec<&'a Arc<Segment>>,
    /// The number of each source's first record, and that of all records.
    starts: Vec<u64>,
    /// The first record of the delta.
    delta: u64,
    /// Records of a full segment, a multiple of `chunk`.
    full: u64,
    chunk: u64,
}

/// A run of records by its sources: what stays true when the table gets others.
#[derive(Debug, PartialEq)]
pub(crate) struct Origin {
    /// Each with the number of its deleted records, when it has any.
    sources: Vec<(SegmentId, Option<u64>)>,
    /// Records of the first source that come before the run.
    skipped: u64,
    rows: u64,
}

impl<'a> Cuts<'a> {
    /// The records of `table`, to be written in `design`.
    pub fn new(table: &'a TableSnapshot, design: &Design) -> Self {
        let sources: Vec<&Arc<Segment>> = table.segments.iter().chain(&table.delta).collect();
        let mut starts = vec![0];
        for source in &sources {
            starts.push(starts[starts.len() - 1] + table.live_rows(source));
        }
        let delta = starts[table.segments.len()];
        Self {
            deleted: &table.deleted,
            sources,
            starts,
            delta,
            full: design.segment_rows() as u64,
            chunk: design.chunk_rows() as u64,
        }
    }

    /// All records.
    pub fn rows(&self) -> u64 {
        self.starts[self.starts.len() - 1]
    }

    /// The places of the sources that have records of a run.
    fn places(&self, records: &Range<u64>) -> Range<usize> {
        let first = self.starts.partition_point(|start| *start <= records.start).saturating_sub(1);
        first..self.starts[..self.sources.len()].partition_point(|start| *start < records.end).max(first)
    }

    /// The sources that have records of a run, and the numbers of these counted from the first source on.
    pub fn sources(&self, records: &Range<u64>) -> (Vec<Arc<Segment>>, Range<u64>) {
        let places = self.places(records);
        let start = self.starts[places.start];
        let sources = self.sources[places].iter().map(|source| Arc::clone(source)).collect();
        (sources, records.start - start..records.end - start)
    }

    /// Where a run comes from.
    pub fn origin(&self, records: &Range<u64>) -> Origin {
        let (sources, within) = self.sources(records);
        let sources = sources.iter().map(|source| self.state(source)).collect();
        Origin { sources, skipped: within.start, rows: within.end - within.start }
    }

    /// A source as it is now.
    fn state(&self, source: &Segment) -> (SegmentId, Option<u64>) {
        (source.id(), self.deleted.get(&source.id()).map(|deleted| deleted.number()))
    }

    /// Where a run of an earlier state of the table lies now, if all of it still lies together.
    fn place_of(&self, origin: &Origin) -> Option<Range<u64>> {
        let first = origin.sources.first()?;
        let place = self.sources.iter().position(|source| self.state(source) == *first)?;
        let now = self.sources.get(place..place + origin.sources.len())?;
        let same = now.iter().zip(&origin.sources).all(|(now, before)| self.state(now) == *before);
        let start = self.starts[place] + origin.skipped;
        same.then_some(start..start + origin.rows)
    }

    /// The parts that can stay of those that were written in an earlier state of the table, each with its records: between them
    /// lie whole chunks.
    pub fn keep<P>(&self, parts: Vec<(Origin, P)>) -> Vec<(Range<u64>, P)> {
        let mut placed: Vec<(Range<u64>, P)> =
            parts.into_iter().filter_map(|(origin, part)| Some((self.place_of(&origin)?, part))).collect();
        placed.sort_by_key(|(records, _)| records.start);
        let mut end = 0;
        placed.retain(|(records, _)| {
            let last = records.end == self.rows();
            let fits = (records.start - end).is_multiple_of(self.chunk)
                && (last || (records.end - records.start).is_multiple_of(self.chunk));
            if fits {
                end = records.end;
            }
            fits
        });
        placed
    }

    /// The runs of records, a new segment each, that lie before, between and after those that stay.
    pub fn left(&self, kept: impl Iterator<Item = Range<u64>>) -> Vec<Range<u64>> {
        let (mut runs, mut end) = (Vec::new(), 0);
        for records in kept.chain(std::iter::once(self.rows()..self.rows())) {
            while end < records.start {
                let run = end..self.cut(end, records.start);
                end = run.end;
                runs.push(run);
            }
            end = records.end;
        }
        runs
    }

    /// Where the segment ends that starts at record `start`, at `end` at the latest.
    fn cut(&self, start: u64, end: u64) -> u64 {
        let most = end.min(start + self.full);
        // The delta changes most: nothing but the rest of a chunk is written with it.
        let before_delta = start + self.delta.saturating_sub(start) / self.chunk * self.chunk;
        let apart = self.delta < self.rows() && (start + 1..most).contains(&before_delta);
        let most = if apart { before_delta } else { most };
        if most == end {
            return end;
        }
        let whole = |at: &&u64| **at > start && **at <= most && (**at - start).is_multiple_of(self.chunk);
        self.starts.iter().rev().find(whole).copied().unwrap_or(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sources of so many records, the last `blocks` of them the delta; segments of 12 in chunks of `chunk`.
    fn cut(rows: &[u64], blocks: usize, chunk: u64) -> Vec<u64> {
        let mut starts = vec![0];
        rows.iter().for_each(|rows| starts.push(starts[starts.len() - 1] + rows));
        let none = BTreeMap::new();
        let (all, delta) = (starts[rows.len()], starts[rows.len() - blocks]);
        let cuts = Cuts { deleted: &none, sources: Vec::new(), starts, delta, full: 12, chunk };
        let mut ends = vec![0];
        while ends[ends.len() - 1] < all {
            ends.push(cuts.cut(ends[ends.len() - 1], all));
        }
        ends.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    #[test]
    fn segments_are_cut_where_chunks_ask_for_it_alone() {
        assert_eq!(cut(&[], 0, 1), [0; 0]);
        assert_eq!(cut(&[12, 12, 5], 0, 1), [12, 12, 5]);
        assert_eq!(cut(&[5, 5, 5, 12, 1, 1], 0, 1), [10, 5, 12, 2]);
        assert_eq!(cut(&[5, 5, 2, 1], 2, 1), [10, 3]);
        assert_eq!(cut(&[30], 0, 1), [12, 12, 6]);
        // Old segments end within chunks of 3, or of 4, or just right.
        assert_eq!(cut(&[10, 10, 10, 1], 0, 3), [12, 12, 7]);
        assert_eq!(cut(&[10, 10, 10, 1], 0, 4), [12, 8, 11]);
        assert_eq!(cut(&[9, 9, 9], 0, 3), [9, 9, 9]);
        // The rest of a chunk goes with the delta.
        assert_eq!(cut(&[10, 10, 1, 1], 2, 3), [12, 6, 4]);
        assert_eq!(cut(&[10, 1, 20], 2, 3), [9, 12, 10]);
        assert_eq!(cut(&[2, 20], 1, 3), [12, 10]);
    }
}
