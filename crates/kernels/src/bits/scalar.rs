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

/// Words with up to this many bits set are taken bit by bit by vector code too.
#[cfg(target_arch = "x86_64")]
pub(super) const FEW: u32 = 4;

/// The numbers of the first [`FEW`] set bits, 64 where there are fewer: without a branch, which would go wrong at every
/// other word of random bits.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn few_bits(word: u64) -> [u32; FEW as usize] {
    let mut rest = word;
    std::array::from_fn(|_| {
        let bit = rest.trailing_zeros();
        rest &= rest.wrapping_sub(1);
        bit
    })
}

/// Where fewer than one word in so many has a bit, vector code leaves it to this file's: whether there is one is then
/// foreseen.
#[cfg(target_arch = "x86_64")]
pub(super) const RARE: usize = 8;
