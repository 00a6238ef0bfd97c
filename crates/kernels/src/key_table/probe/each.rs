//! Searches a key at a time. They differ in when the home slots are asked for: not at all, for a group before it is
//! searched, a number of keys ahead, or for each key in flight before its next visit (section 2.3 of the paper).

use super::{MOST_AHEAD, Slots};
use crate::Code;
use crate::hash::Function;
use crate::key_table::NONE;

/// The slot at which the search for a key begins.
#[inline(always)]
pub(super) fn home<S: Slots>(table: S, function: impl Function, key: S::Key) -> u32 {
    (function.of(key).to_u64() >> table.shift()) as u32
}

/// The link of a key whose search goes on at a slot.
#[inline(always)]
pub(super) fn link_from<S: Slots>(table: S, mut slot: u32, key: S::Key) -> u32 {
    loop {
        let (found, link) = table.entry(slot);
        if found == key || link == NONE {
            return link;
        }
        slot += 1;
    }
}

/// One key after the other.
#[inline(always)]
pub(super) fn scalar<S: Slots>(table: S, function: impl Function, keys: &[S::Key], links: &mut [u32]) {
    for (key, link) in keys.iter().zip(links) {
        *link = link_from(table, home(table, function, *key), *key);
    }
}

/// Home slots of a group, then its keys.
#[inline(always)]
pub(super) fn group<S: Slots>(
    table: S,
    function: impl Function,
    keys_ahead: usize,
    keys: &[S::Key],
    links: &mut [u32],
) {
    let size = keys_ahead.clamp(1, MOST_AHEAD);
    let mut slots = [0; MOST_AHEAD];
    for (keys, links) in keys.chunks(size).zip(links.chunks_mut(size)) {
        for (slot, key) in slots.iter_mut().zip(keys) {
            *slot = home(table, function, *key);
            table.prefetch(*slot);
        }
        for ((slot, key), link) in slots.iter().zip(keys).zip(links) {
            *link = link_from(table, *slot, *key);
        }
    }
}

/// The home slot of a later key, then a key.
#[inline(always)]
pub(super) fn pipelined<S: Slots>(
    table: S,
    function: impl Function,
    keys_ahead: usize,
    keys: &[S::Key],
    links: &mut [u32],
) {
    let ahead = keys_ahead.clamp(1, MOST_AHEAD);
    let ask = |key: S::Key| {
        let slot = home(table, function, key);
        table.prefetch(slot);
        slot
    };
    // Slots of keys under way: a key's place is free again when the key `MOST_AHEAD` rows on needs it.
    let mut slots = [0; MOST_AHEAD];
    for (slot, key) in slots.iter_mut().zip(keys).take(ahead) {
        *slot = ask(*key);
    }
    for (row, (key, link)) in keys.iter().zip(links).enumerate() {
        let slot = slots[row % MOST_AHEAD];
        if let Some(later) = keys.get(row + ahead) {
            slots[(row + ahead) % MOST_AHEAD] = ask(*later);
        }
        *link = link_from(table, slot, *key);
    }
}

/// A key in flight.
#[derive(Clone, Copy, Default)]
struct Flight<K> {
    row: usize,
    key: K,
    slot: u32,
}

/// A slot of one key, then of the next in flight.
#[inline(always)]
pub(super) fn amac<S: Slots>(table: S, function: impl Function, keys_ahead: usize, keys: &[S::Key], links: &mut [u32]) {
    let mut waiting = keys.iter().enumerate().map(|(row, &key)| {
        let slot = home(table, function, key);
        table.prefetch(slot);
        Flight { row, key, slot }
    });
    let mut flights = [Flight::default(); MOST_AHEAD];
    let mut count = 0;
    for (flight, next) in flights.iter_mut().zip(waiting.by_ref()).take(keys_ahead.clamp(1, MOST_AHEAD)) {
        *flight = next;
        count += 1;
    }
    let mut at = 0;
    while count > 0 {
        at = if at < count { at } else { 0 };
        let flight = &mut flights[at];
        let (found, link) = table.entry(flight.slot);
        if found != flight.key && link != NONE {
            flight.slot += 1;
            table.prefetch(flight.slot);
            at += 1;
            continue;
        }
        links[flight.row] = link;
        if let Some(next) = waiting.next() {
            *flight = next;
            at += 1;
        } else {
            count -= 1;
            flights[at] = flights[count];
        }
    }
}
