//! Bit vectors a word at a time.

#[inline(always)]
pub(super) fn count(bits: &[u64]) -> usize {
    bits.iter().map(|word| word.count_ones() as usize).sum()
}

pub(super) fn to_tids(bits: &[u64], base: u32, out: &mut Vec<u32>) {
    for (i, &word) in bits.iter().enumerate() {
        each_bit(word, |bit| out.push(base + (i * 64) as u32 + bit));
    }
}

/// Calls `visit` with the number of each set bit.
#[inline(always)]
pub(super) fn each_bit(word: u64, mut visit: impl FnMut(u32)) {
    let mut rest = word;
    while rest != 0 {
        visit(rest.trailing_zeros());
        rest &= rest - 1;
    }
}
