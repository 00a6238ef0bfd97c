//! Which chunks one request brings, and how many requests are under way: those that somebody waits for at once, those that are read
//! ahead when their turn comes.

use crate::io::remote::chunks::ChunkCuts;
use std::collections::VecDeque;
use std::ops::Range;

/// Bytes of a request, at most: what a link of 100 MB/s brings in 40 ms, about as long as a store takes to answer.
const LARGEST: u64 = 4 << 20;
/// Requests that are under way at a time, at most, those apart that somebody waits for.
const SIDE_BY_SIDE: usize = 32;

/// Chunks of a file that lie side by side, which one request brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChunkRun {
    /// The chunks.
    pub chunks: Range<u32>,
    /// Their bytes in the file.
    pub bytes: Range<u64>,
}

/// Chunks of a file, which ascend, as runs that are not too large.
pub(crate) fn runs(cuts: ChunkCuts, chunks: impl IntoIterator<Item = u32>) -> Vec<ChunkRun> {
    let mut made: Vec<ChunkRun> = Vec::new();
    for chunk in chunks {
        let bytes = cuts.bytes(chunk);
        match made.last_mut() {
            Some(last) if last.chunks.end == chunk && bytes.end - last.bytes.start <= LARGEST => {
                (last.chunks.end, last.bytes.end) = (chunk + 1, bytes.end);
            }
            _ => made.push(ChunkRun { chunks: chunk..chunk + 1, bytes }),
        }
    }
    made
}

/// Requests that wait for their turn.
#[derive(Debug)]
pub(crate) struct Turns<R> {
    waiting: VecDeque<R>,
    under_way: usize,
}

impl<R> Default for Turns<R> {
    fn default() -> Self {
        Self { waiting: VecDeque::new(), under_way: 0 }
    }
}

impl<R> Turns<R> {
    /// Adds one that is to be read ahead.
    pub fn add(&mut self, request: R) {
        self.waiting.push_back(request);
    }

    /// Adds one whose turn had come, and which must begin anew.
    pub fn add_first(&mut self, request: R) {
        self.waiting.push_front(request);
    }

    /// One begins, whether it had to wait or not.
    pub fn begins(&mut self) {
        self.under_way += 1;
    }

    /// One has ended.
    pub fn ended(&mut self) {
        self.under_way -= 1;
    }

    /// The next whose turn it is, which begins.
    pub fn next(&mut self) -> Option<R> {
        let next = if self.under_way < SIDE_BY_SIDE { self.waiting.pop_front() } else { None };
        self.under_way += usize::from(next.is_some());
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_run_as_far_as_that_is_not_too_large() {
        let cuts = ChunkCuts::new(64 << 20);
        let found = runs(cuts, [0, 1, 2, 5, 6]);
        assert_eq!(found.iter().map(|run| run.chunks.clone()).collect::<Vec<_>>(), [0..3, 5..7]);
        assert_eq!(found[0].bytes, 0..cuts.bytes(2).end);
        let all = runs(cuts, 0..cuts.last() + 1);
        assert!(all.iter().all(|run| run.bytes.end - run.bytes.start <= LARGEST));
        assert!(all.windows(2).all(|pair| pair[0].bytes.end == pair[1].bytes.start));
        assert_eq!(all.last().map(|run| run.bytes.end), Some(64 << 20));
    }

    #[test]
    fn so_many_are_under_way_and_no_more() {
        let mut turns = Turns::default();
        (0..SIDE_BY_SIDE + 2).for_each(|number| turns.add(number));
        let begun: Vec<usize> = std::iter::from_fn(|| turns.next()).collect();
        assert_eq!(begun.len(), SIDE_BY_SIDE);
        turns.ended();
        assert_eq!((turns.next(), turns.next()), (Some(SIDE_BY_SIDE), None));
    }
}
