//! Radix sort straight on byte slices (ByteSlice paper, section 6).
//!
//! A run that fits the caches is sorted from its last slice up. Each pass reads one slice, through the permutation
//! that the passes before it have made, and moves TIDs alone: a slice that has been sorted by is not read again, as the
//! paper has it. The other way, to carry the slices that are still to come along with the TIDs, moves more bytes with a
//! store for each; it was level for two slices and took half as long again for four (Zen 5, 2^16 codes).
//!
//! More codes than that are first partitioned by their leading slices, until the runs fit: what is read through a
//! permutation must lie near. Of a partition only the slices that are still to come are carried; those before them are
//! the same for a whole bucket, and are filled in.

use super::partition::{each_block, fill, put_all};
use super::{Ordered, slices};
use crate::order::{DigitOffsets, Histogram, Output, RUN, SMALL, bounds, histogram, is_single};
use crate::packing::Packed;
use crate::packing::byteslice::{GROUP, Slices};
use std::ops::Range;

/// Memory that a sort works in. What it holds is of no use.
#[derive(Debug, Default)]
pub struct SliceScratch {
    /// The column, partitioned.
    column: Ordered,
    /// Permutations of a run: passes go from one to the other.
    orders: [Vec<u32>; 2],
    /// A slice of a run.
    bytes: Vec<u8>,
}

/// Sorts a column: `out` gets the rows in the order of their codes, and of equal codes in the order of their TIDs.
///
/// # Panics
/// When the packing is not byteslice.
pub fn sort(packed: Packed<'_>, scratch: &mut SliceScratch, out: &mut Ordered) {
    let source = slices(packed);
    out.fit(packed);
    if source.rows > RUN {
        scratch.column.fit(packed);
    }
    let stride = source.rows.next_multiple_of(GROUP);
    let SliceScratch { column, orders, bytes } = scratch;
    SliceSorter { source, stride, sets: [out, column], orders, bytes }.run(RunLocation::Source, 0..source.rows, 0);
}

/// Where a run lies.
#[derive(Clone, Copy)]
enum RunLocation {
    /// In the column as it came, where TIDs are rows.
    Source,
    /// In the output (0) or in the scratch (1).
    Set(usize),
}

struct SliceSorter<'a> {
    source: Slices<'a, u8>,
    /// Bytes of a slice of a set.
    stride: usize,
    /// The output, and the scratch.
    sets: [&'a mut Ordered; 2],
    orders: &'a mut [Vec<u32>; 2],
    bytes: &'a mut Vec<u8>,
}

impl SliceSorter<'_> {
    /// Sorts a run, which agrees in the slices before `slice`, to the output.
    fn run(&mut self, place: RunLocation, rows: Range<usize>, slice: usize) {
        if rows.is_empty() {
            return;
        }
        if slice == self.source.count {
            return self.finish(place, rows);
        }
        // A column of one slice is sorted once it is partitioned.
        if rows.len() <= RUN && self.source.count > 1 {
            return self.sort_run(place, rows, slice);
        }
        let counts = histogram(self.slice(place, slice, rows.clone()), |digit| digit);
        if is_single(&counts, rows.len()) {
            fill(&counts, &mut self.sets[0].bytes[slice * self.stride..][rows.clone()]);
            return self.run(place, rows, slice + 1);
        }
        let to = match place {
            RunLocation::Set(set) => 1 - set,
            RunLocation::Source => usize::from(slice + 1 < self.source.count),
        };
        self.partition(place, to, rows.clone(), slice, &counts);
        fill(&counts, &mut self.sets[0].bytes[slice * self.stride..][rows.clone()]);
        let mut start = rows.start;
        for count in counts {
            self.run(RunLocation::Set(to), start..start + count as usize, slice + 1);
            start += count as usize;
        }
    }

    fn slice(&self, place: RunLocation, slice: usize, rows: Range<usize>) -> &[u8] {
        match place {
            RunLocation::Source => &self.source.slice(slice)[rows],
            RunLocation::Set(set) => &self.sets[set].bytes[slice * self.stride..][rows],
        }
    }

    /// Takes a run's TIDs and the slices after `slice` to their places by that slice, in the set `to`.
    fn partition(&mut self, place: RunLocation, to: usize, rows: Range<usize>, slice: usize, counts: &Histogram) {
        let (source, stride) = (self.source, self.stride);
        let (first, second) = self.sets.split_at_mut(1);
        let (to, from) = if to == 0 { (&mut *first[0], &*second[0]) } else { (&mut *second[0], &*first[0]) };
        let from_slice = |slice: usize| match place {
            RunLocation::Source => &source.slice(slice)[rows.clone()],
            RunLocation::Set(_) => &from.bytes[slice * stride..][rows.clone()],
        };
        let bounds = bounds(counts);
        let (tids, next) = (&mut to.tids[rows.clone()], &mut to.bytes[(slice + 1) * stride..]);
        let mut tids = Output::new(tids, &bounds);
        let carried = (slice + 1..source.count).zip(next.chunks_mut(stride));
        let mut carried: Vec<_> =
            carried.map(|(slice, to)| (from_slice(slice), Output::new(&mut to[rows.clone()], &bounds))).collect();
        each_block(from_slice(slice), &mut DigitOffsets::new(counts), |start, digits, places| {
            match place {
                RunLocation::Source => put_all(digits, places, start as u32.., &mut tids),
                RunLocation::Set(_) => {
                    put_all(digits, places, from.tids[rows.clone()][start..].iter().copied(), &mut tids);
                }
            }
            for (from, to) in &mut carried {
                put_all(digits, places, from[start..].iter().copied(), to);
            }
        });
        tids.finish();
        carried.into_iter().for_each(|(_, to)| to.finish());
    }

    /// Sorts a run that fits the cache by the slices from `first` on.
    fn sort_run(&mut self, place: RunLocation, rows: Range<usize>, first: usize) {
        let [mut order, mut next] = std::mem::take(self.orders);
        order.clear();
        order.extend(0..rows.len() as u32);
        if rows.len() <= SMALL {
            order.sort_by_key(|row| self.code(place, rows.start + *row as usize, first));
            self.gather(place, rows, first, &order);
        } else {
            next.resize(rows.len(), 0);
            for slice in (first..self.source.count).rev() {
                let digits = self.slice(place, slice, rows.clone());
                let counts = histogram(digits, |digit| digit);
                if !is_single(&counts, rows.len()) {
                    let mut places = DigitOffsets::new(&counts);
                    order.iter().for_each(|row| next[places.take(digits[*row as usize])] = *row);
                    std::mem::swap(&mut order, &mut next);
                }
                if slice == first {
                    fill(&counts, &mut self.sets[0].bytes[first * self.stride..][rows.clone()]);
                }
            }
            self.gather(place, rows, first + 1, &order);
        }
        *self.orders = [order, next];
    }

    /// The slices from `first` on of a row's code, as a number.
    fn code(&self, place: RunLocation, row: usize, first: usize) -> u64 {
        (first..self.source.count)
            .fold(0, |code, slice| code << 8 | u64::from(self.slice(place, slice, row..row + 1)[0]))
    }

    /// Takes a run to the output in the given order: its TIDs, and the slices from `first` on.
    fn gather(&mut self, place: RunLocation, rows: Range<usize>, first: usize, order: &[u32]) {
        for slice in first..self.source.count {
            let mut bytes = std::mem::take(self.bytes);
            bytes.clear();
            bytes.extend_from_slice(self.slice(place, slice, rows.clone()));
            let to = &mut self.sets[0].bytes[slice * self.stride..][rows.clone()];
            to.iter_mut().zip(order).for_each(|(to, row)| *to = bytes[*row as usize]);
            *self.bytes = bytes;
        }
        let [out, scratch] = &mut self.sets;
        let to = &mut out.tids[rows.clone()];
        match place {
            RunLocation::Source => to.copy_from_slice(order),
            RunLocation::Set(1) => {
                let from = &scratch.tids[rows];
                to.iter_mut().zip(order).for_each(|(to, row)| *to = from[*row as usize]);
            }
            RunLocation::Set(_) => {
                let from = &mut scratch.tids[rows];
                from.copy_from_slice(to);
                to.iter_mut().zip(order).for_each(|(to, row)| *to = from[*row as usize]);
            }
        }
    }

    /// Takes the TIDs of a run that is sorted to the output; its slices are there.
    fn finish(&mut self, place: RunLocation, rows: Range<usize>) {
        let [out, scratch] = &mut self.sets;
        let to = &mut out.tids[rows.clone()];
        match place {
            RunLocation::Source => to.iter_mut().zip(rows).for_each(|(tid, row)| *tid = row as u32),
            RunLocation::Set(1) => to.copy_from_slice(&scratch.tids[rows]),
            RunLocation::Set(_) => {}
        }
    }
}
