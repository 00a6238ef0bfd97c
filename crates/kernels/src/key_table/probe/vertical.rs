//! Vertical vectorisation: each lane of a register searches for a key of its own, and gets the next key when it is done
//! (Polychroniou, Raghavan, Ross: "Rethinking SIMD Vectorization for In-Memory Databases", linear probing). All lanes are
//! hashed again for each slot, since some of them have a new key: the cost that the relaxed operator fusion paper names.

use super::lanes::{KeyLanes, Numbers};
use super::{Slots, each};
use crate::hash::Function;
use crate::key_table::NONE;

/// Keys that are searched before the number of a row might not fit its lane.
const MOST_ROWS: usize = 1 << 30;

/// The search.
///
/// # Safety
/// The instruction set of the lanes exists.
#[inline(always)]
pub(super) unsafe fn search<S: Slots<Key = L::Key>, L: KeyLanes>(
    table: S,
    function: impl Function,
    keys: &[S::Key],
    links: &mut [u32],
) {
    for (keys, links) in keys.chunks(MOST_ROWS).zip(links.chunks_mut(MOST_ROWS)) {
        // SAFETY: the machine has the instruction set: `Isa::best` was asked before this type was chosen.
        let done = unsafe { in_lanes::<S, L>(table, function, keys, links) };
        each::scalar(table, function, &keys[done..], &mut links[done..]);
    }
}

/// Searches for the first keys, as long as there are enough to fill a register; returns how many are done.
///
/// # Safety
/// The instruction set of the lanes exists.
#[inline(always)]
unsafe fn in_lanes<S: Slots<Key = L::Key>, L: KeyLanes>(
    table: S,
    function: impl Function,
    keys: &[S::Key],
    links: &mut [u32],
) -> usize {
    if keys.len() < L::COUNT {
        return 0;
    }
    let all = u32::MAX >> (32 - L::COUNT);
    let mut next = 0;
    // SAFETY: the machine has the instruction set: `Isa::best` was asked before this type was chosen.
    let (rows, free) = unsafe {
        let (none, zero, one) = (L::Slots::splat(NONE), L::Slots::splat(0), L::Slots::splat(1));
        let (mut wanted, mut rows, mut offsets) = (L::load(keys), zero, zero);
        let mut free = all;
        while next + L::COUNT <= keys.len() {
            wanted = wanted.expand(free, L::load(&keys[next..]));
            rows = rows.expand(free, L::Slots::count_from(next as u32));
            offsets = zero.or_else(free, offsets);
            next += free.count_ones() as usize;
            let slots = function.of(wanted).shifted(table.shift()).plus(offsets);
            let (found, link) = table.gather::<L>(slots);
            let equal = found.equal(wanted);
            free = equal | link.equal(none);
            link.or_else(equal, none).scatter(free, links, rows);
            offsets = offsets.plus(one);
        }
        let mut last = [0; 32];
        rows.store(&mut last);
        (last, free)
    };
    // What is under way begins anew.
    for lane in (0..L::COUNT).filter(|lane| free >> lane & 1 == 0) {
        let row = rows[lane] as usize;
        links[row] = each::link_from(table, each::home(table, function, keys[row]), keys[row]);
    }
    next
}
