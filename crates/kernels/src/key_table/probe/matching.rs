//! Searches in rounds. The first compares the home slots of all keys of a block, without a branch on the answer, so that a
//! processor has the misses of dozens of keys under way and mispredicts nothing; keys whose slot holds another key
//! are listed, and go to the next round with the slot after it.

use super::{BLOCK, Slots, each};
use crate::hash::Function;
use crate::key_table::NONE;
use std::ops::Range;

/// How many keys ahead slots are asked for. On Zen 5 that costs nothing in the caches; in memory it takes a third to a half off
/// the time with registers, and more off that without, whose many stores let the processor look ahead by few keys only.
const AHEAD: usize = 32;

/// The home slots of a block of keys, and places behind them that are asked for in vain.
pub(super) struct Homes {
    pub(super) slots: [u32; BLOCK + AHEAD],
}

/// Keys that a round has left undecided: the rows, and the slots to look at next. The first `count` of each count.
pub(super) struct UndecidedKeys {
    pub(super) rows: [u32; BLOCK],
    pub(super) slots: [u32; BLOCK],
    pub(super) count: usize,
}

/// The search. `vectors` does a part of the first round, from the first row on, with registers: it is given the table, the
/// keys, their home slots, the place of their links and that of the undecided, and returns how many rows it has done.
#[inline(always)]
pub(super) fn search<S: Slots>(
    table: S,
    function: impl Function,
    keys: &[S::Key],
    links: &mut [u32],
    vectors: impl Fn(S, &[S::Key], &Homes, &mut [u32], &mut UndecidedKeys) -> usize,
) {
    let mut homes = Homes { slots: [0; BLOCK + AHEAD] };
    let mut undecided = UndecidedKeys { rows: [0; BLOCK], slots: [0; BLOCK], count: 0 };
    for (keys, links) in keys.chunks(BLOCK).zip(links.chunks_mut(BLOCK)) {
        for (slot, key) in homes.slots.iter_mut().zip(keys) {
            *slot = each::home(table, function, *key);
        }
        homes.slots[..AHEAD].iter().for_each(|slot| table.prefetch(*slot));
        undecided.count = 0;
        let done = vectors(table, keys, &homes, links, &mut undecided);
        for row in done..keys.len() {
            homes.ask_ahead(table, row..row + 1);
            undecided.look(table, row as u32, homes.slots[row], keys, links);
        }
        while undecided.count > 0 {
            let count = std::mem::take(&mut undecided.count);
            for place in 0..count {
                table.prefetch(undecided.slots[(place + AHEAD) % BLOCK]);
                undecided.look(table, undecided.rows[place], undecided.slots[place], keys, links);
            }
        }
    }
}

impl Homes {
    /// Asks for the home slots of the keys that are so many rows behind some.
    #[inline(always)]
    pub(super) fn ask_ahead<S: Slots>(&self, table: S, rows: Range<usize>) {
        self.slots[rows.start + AHEAD..rows.end + AHEAD].iter().for_each(|slot| table.prefetch(*slot));
    }
}

impl UndecidedKeys {
    /// Looks at one slot for the key of a row: writes its link, or lists the row again. Rows come in their order, so that
    /// the list is never longer than the rows looked at.
    #[inline(always)]
    fn look<S: Slots>(&mut self, table: S, row: u32, slot: u32, keys: &[S::Key], links: &mut [u32]) {
        let (found, link) = table.entry(slot);
        let equal = found == keys[row as usize];
        links[row as usize] = if equal { link } else { NONE };
        self.rows[self.count] = row;
        self.slots[self.count] = slot + 1;
        self.count += usize::from(!equal & (link != NONE));
    }
}
