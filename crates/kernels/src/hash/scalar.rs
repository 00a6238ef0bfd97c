//! Hashes one key at a time.

use super::{Crc32Table, Function, HashFunction, Key, with_function};

pub(super) fn hash<K: Key>(function: HashFunction, keys: &[K], out: &mut [K]) {
    with_function!(function, Crc32Table, function => each(function, keys, out));
}

#[inline(always)]
pub(super) fn each<K: Key>(function: impl Function, keys: &[K], out: &mut [K]) {
    for (key, out) in keys.iter().zip(out) {
        *out = function.of(*key);
    }
}
