//! Pairs one link at a time, without a branch on whether there is one.

use super::{NONE, Room};

#[inline(always)]
pub(super) fn found(links: &[u32], first: u32, probe: Room<'_>, build: Room<'_>) -> usize {
    let mut count = 0;
    for (key, link) in (first..).zip(links) {
        probe[count].write(key);
        build[count].write(*link);
        count += usize::from(*link != NONE);
    }
    count
}
