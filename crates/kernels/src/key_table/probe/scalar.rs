//! Searches without vectors, compiled for any instruction set.

use super::{Probing, Slots, each, matching};
use crate::hash::{Crc32Table, Function, with_function};

pub(super) fn locate<S: Slots>(table: S, probing: Probing, keys: &[S::Key], links: &mut [u32]) {
    with_function!(table.function(), Crc32Table, function => search(table, function, probing, keys, links));
}

#[inline(always)]
pub(super) fn search<S: Slots, F: Function>(
    table: S,
    function: F,
    probing: Probing,
    keys: &[S::Key],
    links: &mut [u32],
) {
    match probing {
        Probing::Scalar | Probing::Vertical => each::scalar(table, function, keys, links),
        Probing::Group(keys_ahead) => each::group(table, function, keys_ahead, keys, links),
        Probing::Pipelined(keys_ahead) => each::pipelined(table, function, keys_ahead, keys, links),
        Probing::Amac(keys_ahead) => each::amac(table, function, keys_ahead, keys, links),
        Probing::Match => matching::search(table, function, keys, links, |_, _, _, _, _| 0),
    }
}
