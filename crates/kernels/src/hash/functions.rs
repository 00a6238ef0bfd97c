//! The hash functions, written once for single keys and for registers of keys. A function is a type, so that the loop
//! that calls it has it compiled in.

use crate::Code;

/// An integer key: `u32` or `u64`. Its hash is as wide as itself.
pub trait Key: Code + Word<Key = Self> {
    /// Shifts of MurmurHash3's finaliser, and the factors between them.
    #[doc(hidden)]
    const MURMUR3: ([u32; 3], [Self; 2]);
    /// Factors of [`Multiply`]: 2^BITS over the golden ratio, whose multiples are spread evenly, and one of other bits.
    #[doc(hidden)]
    const FACTORS: [Self; 2];

    /// Keys in a register of AVX-512.
    #[doc(hidden)]
    #[cfg(target_arch = "x86_64")]
    type Wide: crate::key_table::KeyLanes<Key = Self>;

    /// CRC-32C by its table; of a 64-bit key one half is that of the key, the other that of the key's halves exchanged.
    #[doc(hidden)]
    fn crc32_by_table(self) -> Self;

    /// CRC-32C of the key by the processor's instruction.
    ///
    /// # Safety
    /// The processor has SSE4.2.
    #[doc(hidden)]
    #[cfg(target_arch = "x86_64")]
    unsafe fn crc32(self) -> Self;
}

/// What hash functions are made of: arithmetic on a key, or on each key of a register.
pub trait Word: Copy {
    /// The key, or one of them.
    type Key: Key;

    /// Product modulo the width of the key.
    #[doc(hidden)]
    fn times(self, factor: Self::Key) -> Self;

    /// The key exclusive-or itself, shifted down by `bits`.
    #[doc(hidden)]
    fn folded(self, bits: u32) -> Self;

    /// What no register can do.
    #[doc(hidden)]
    fn each(self, function: impl Fn(Self::Key) -> Self::Key) -> Self;
}

/// A hash function.
pub(crate) trait Function: Copy {
    /// The hash of a key, or of each key of a register.
    fn of<W: Word>(self, word: W) -> W;
}

/// MurmurHash3's finaliser, `fmix32` or `fmix64`.
#[derive(Clone, Copy)]
pub(crate) struct Murmur3;

impl Function for Murmur3 {
    #[inline(always)]
    fn of<W: Word>(self, word: W) -> W {
        let ([first, second, third], [one, two]) = W::Key::MURMUR3;
        word.folded(first).times(one).folded(second).times(two).folded(third)
    }
}

/// A product, a fold, a product.
#[derive(Clone, Copy)]
pub(crate) struct Multiply;

impl Function for Multiply {
    #[inline(always)]
    fn of<W: Word>(self, word: W) -> W {
        let [first, second] = W::Key::FACTORS;
        word.times(first).folded(W::Key::BITS / 2).times(second)
    }
}

/// CRC-32C by its table.
#[derive(Clone, Copy)]
pub(crate) struct Crc32Table;

impl Function for Crc32Table {
    #[inline(always)]
    fn of<W: Word>(self, word: W) -> W {
        word.each(Key::crc32_by_table)
    }
}

/// CRC-32C by the processor's instruction. There is a value only where there is the instruction.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(crate) struct Crc32Instruction(());

#[cfg(target_arch = "x86_64")]
impl Crc32Instruction {
    /// The function, for code that is compiled for the instruction already.
    #[inline]
    #[target_feature(enable = "sse4.2")]
    pub(crate) fn here() -> Self {
        Self(())
    }
}

#[cfg(target_arch = "x86_64")]
impl Function for Crc32Instruction {
    #[inline(always)]
    fn of<W: Word>(self, word: W) -> W {
        // SAFETY: `here` alone makes this value, and runs only where SSE4.2 is.
        word.each(|key| unsafe { key.crc32() })
    }
}

/// CRC-32C's polynomial (Castagnoli), reflected.
const POLYNOMIAL: u32 = 0x82f6_3b78;

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

/// The remainder after `bytes`, as the instruction computes it: from 0 on, and not inverted.
fn remainder(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |crc, byte| crc >> 8 ^ TABLE[usize::from(crc as u8 ^ byte)])
}

impl Key for u32 {
    const MURMUR3: ([u32; 3], [Self; 2]) = ([16, 13, 16], [0x85eb_ca6b, 0xc2b2_ae35]);
    const FACTORS: [Self; 2] = [0x9e37_79b9, 0xc2b2_ae35];
    #[cfg(target_arch = "x86_64")]
    type Wide = crate::key_table::Keys16;

    fn crc32_by_table(self) -> Self {
        remainder(&self.to_le_bytes())
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn crc32(self) -> Self {
        // SAFETY: the processor has the instruction, which was detected before this function was chosen.
        unsafe { std::arch::x86_64::_mm_crc32_u32(0, self) }
    }
}

impl Key for u64 {
    const MURMUR3: ([u32; 3], [Self; 2]) = ([33, 33, 33], [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53]);
    const FACTORS: [Self; 2] = [0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93];
    #[cfg(target_arch = "x86_64")]
    type Wide = crate::key_table::Keys8;

    fn crc32_by_table(self) -> Self {
        let half = |key: Self| Self::from(remainder(&key.to_le_bytes()));
        half(self.rotate_left(32)) << 32 | half(self)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn crc32(self) -> Self {
        use std::arch::x86_64::_mm_crc32_u64;
        // SAFETY: the processor has the instruction, which was detected before this function was chosen.
        unsafe { _mm_crc32_u64(0, self.rotate_left(32)) << 32 | _mm_crc32_u64(0, self) }
    }
}

macro_rules! word {
    ($($key:ty),*) => {$(
        impl Word for $key {
            type Key = Self;

            #[inline(always)]
            fn times(self, factor: Self) -> Self {
                self.wrapping_mul(factor)
            }

            #[inline(always)]
            fn folded(self, bits: u32) -> Self {
                self ^ self >> bits
            }

            #[inline(always)]
            fn each(self, function: impl Fn(Self) -> Self) -> Self {
                function(self)
            }
        }
    )*};
}

word!(u32, u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_that_are_published() {
        // fmix32 and fmix64 of 1, as MurmurHash3.cpp computes them; CRC-32C of "12345678" from 0, not inverted.
        assert_eq!(Murmur3.of(1_u32), 0x514e_28b7);
        assert_eq!(Murmur3.of(1_u64), 0xb456_bcfc_34c2_cb2c);
        // The check value of CRC-32C, over "123456789", starts from all ones and is inverted at the end.
        let check = b"123456789".iter().fold(u32::MAX, |crc, byte| crc >> 8 ^ TABLE[usize::from(crc as u8 ^ byte)]);
        assert_eq!(!check, 0xe306_9283);
    }
}
