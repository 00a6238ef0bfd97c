//! Searches with AVX-512: gathers and compressions for those that take several keys at once.

use super::lanes::{KeyLanes, Numbers};
use super::matching::{self, Homes, UndecidedKeys};
use super::{Probing, Slots, scalar, vertical};
use crate::hash::{Crc32Instruction, Key, Word, with_function};
use crate::key_table::{Entry, NONE};
use std::arch::x86_64::*;

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2,popcnt")]
pub(super) fn locate<S: Slots>(table: S, probing: Probing, keys: &[S::Key], links: &mut [u32]) {
    with_function!(table.function(), Crc32Instruction::here(), function => match probing {
        Probing::Match => matching::search(table, function, keys, links, |table, keys, homes, links, undecided| {
            // SAFETY: this function runs only where its own target features exist.
            unsafe { home_slots::<S, <S::Key as Key>::Wide>(table, keys, homes, links, undecided) }
        }),
        // SAFETY: as above.
        Probing::Vertical => unsafe { vertical::search::<S, <S::Key as Key>::Wide>(table, function, keys, links) },
        _ => scalar::search(table, function, probing, keys, links),
    });
}

/// The first round of [`matching::search`], but for a last part that fills no register.
///
/// # Safety
/// The instruction set of the lanes exists.
#[inline(always)]
unsafe fn home_slots<S: Slots<Key = L::Key>, L: KeyLanes>(
    table: S,
    keys: &[S::Key],
    homes: &Homes,
    links: &mut [u32],
    undecided: &mut UndecidedKeys,
) -> usize {
    let whole = keys.len() / L::COUNT * L::COUNT;
    let UndecidedKeys { rows, slots, count } = undecided;
    // SAFETY: the machine has the instruction set: `Isa::best` was asked before this type was chosen.
    unsafe {
        let (none, one) = (L::Slots::splat(NONE), L::Slots::splat(1));
        for row in (0..whole).step_by(L::COUNT) {
            homes.ask_ahead(table, row..row + L::COUNT);
            let looked_at = L::Slots::load(&homes.slots[row..]);
            let (found, link) = table.gather::<L>(looked_at);
            let equal = found.equal(L::load(&keys[row..]));
            link.or_else(equal, none).store(&mut links[row..]);
            let left = !(equal | link.equal(none)) & (u32::MAX >> (32 - L::COUNT));
            L::Slots::count_from(row as u32).compress(left).store(&mut rows[*count..]);
            looked_at.plus(one).compress(left).store(&mut slots[*count..]);
            *count += left.count_ones() as usize;
        }
    }
    whole
}

/// Sixteen 32-bit keys.
#[derive(Clone, Copy)]
pub struct Keys16(__m512i);

/// Eight 64-bit keys.
#[derive(Clone, Copy)]
pub struct Keys8(__m512i);

/// Sixteen numbers.
#[derive(Clone, Copy)]
pub struct Numbers16(__m512i);

/// Eight numbers.
#[derive(Clone, Copy)]
pub struct Numbers8(__m256i);

impl KeyLanes for Keys16 {
    const COUNT: usize = 16;
    type Slots = Numbers16;

    #[inline(always)]
    unsafe fn load(keys: &[u32]) -> Self {
        // SAFETY: so many keys exist, or the slice would panic; the load asks for no alignment.
        Self(unsafe { _mm512_loadu_si512(keys[..16].as_ptr().cast()) })
    }

    #[inline(always)]
    unsafe fn expand(self, mask: u32, next: Self) -> Self {
        // SAFETY: the machine has the instruction set: `Isa::best` was asked before this type was chosen.
        Self(unsafe { _mm512_mask_expand_epi32(self.0, mask as __mmask16, next.0) })
    }

    #[inline(always)]
    unsafe fn shifted(self, bits: u32) -> Numbers16 {
        // SAFETY: the machine has the instruction set: `Isa::best` was asked before this type was chosen.
        Numbers16(unsafe { _mm512_srl_epi32(self.0, _mm_cvtsi32_si128(bits as i32)) })
    }

    #[inline(always)]
    unsafe fn equal(self, other: Self) -> u32 {
        // SAFETY: the machine has the instruction set: `Isa::best` was asked before this type was chosen.
        unsafe { _mm512_cmpeq_epi32_mask(self.0, other.0) }.into()
    }

    #[inline(always)]
    unsafe fn gather(entries: *const Entry<u32>, slots: Numbers16, mask: u32) -> (Self, Numbers16) {
        const { assert!(size_of::<Entry<u32>>() == 8) };
        // SAFETY: the machine has the instruction set: `Isa::best` was asked before this type was chosen, and so are the
        // entries, of eight bytes without padding, as many as the masked slots can tell apart. Each is read whole, key and link,
        // since gathers cost by the lane.
        unsafe {
            let slots = _mm512_and_si512(slots.0, _mm512_set1_epi32(mask as i32));
            let low = _mm512_i32gather_epi64::<8>(_mm512_castsi512_si256(slots), entries.cast());
            let high = _mm512_i32gather_epi64::<8>(_mm512_extracti64x4_epi64::<1>(slots), entries.cast());
            let even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
            let odd = _mm512_or_si512(even, _mm512_set1_epi32(1));
            let half = |places| _mm512_permutex2var_epi32(low, places, high);
            (Self(half(even)), Numbers16(half(odd)))
        }
    }

    #[inline(always)]
    unsafe fn from_each(slots: Numbers16, entry: impl Fn(u32) -> (u32, u32)) -> (Self, Numbers16) {
        let (mut keys, mut numbers) = ([0; 16], [0; 16]);
        // SAFETY: the machine has the instruction set: `Isa::best` was asked before this type was chosen.
        unsafe { slots.store(&mut numbers) };
        for (key, number) in keys.iter_mut().zip(&mut numbers) {
            (*key, *number) = entry(*number);
        }
        // SAFETY: the same.
        unsafe { (Self::load(&keys), Numbers16::load(&numbers)) }
    }
}

impl KeyLanes for Keys8 {
    const COUNT: usize = 8;
    type Slots = Numbers8;

    #[inline(always)]
    unsafe fn load(keys: &[u64]) -> Self {
        // SAFETY: so many keys exist, or the slice would panic; the load asks for no alignment.
        Self(unsafe { _mm512_loadu_si512(keys[..8].as_ptr().cast()) })
    }

    #[inline(always)]
    unsafe fn expand(self, mask: u32, next: Self) -> Self {
        // SAFETY: the machine has the instruction set: `Isa::best` was asked before this type was chosen.
        Self(unsafe { _mm512_mask_expand_epi64(self.0, mask as __mmask8, next.0) })
    }

    #[inline(always)]
    unsafe fn shifted(self, bits: u32) -> Numbers8 {
        // SAFETY: the machine has the instruction set: `Isa::best` was asked before this type was chosen.
        Numbers8(unsafe { _mm512_cvtepi64_epi32(_mm512_srl_epi64(self.0, _mm_cvtsi32_si128(bits as i32))) })
    }

    #[inline(always)]
    unsafe fn equal(self, other: Self) -> u32 {
        // SAFETY: the machine has the instruction set: `Isa::best` was asked before this type was chosen.
        unsafe { _mm512_cmpeq_epi64_mask(self.0, other.0) }.into()
    }

    #[inline(always)]
    unsafe fn gather(entries: *const Entry<u64>, slots: Numbers8, mask: u32) -> (Self, Numbers8) {
        const { assert!(size_of::<Entry<u64>>() == 16 && std::mem::offset_of!(Entry<u64>, link) == 8) };
        // SAFETY: the machine has the instruction set: `Isa::best` was asked before this type was chosen, and so are the
        // entries, of sixteen bytes, as many as the masked slots, below 2^30, can tell apart: in units of eight bytes keys lie
        // at twice the slot and links behind them.
        unsafe {
            let slots = _mm256_and_si256(slots.0, _mm256_set1_epi32(mask as i32));
            let places = _mm256_add_epi32(slots, slots);
            let keys = _mm512_i32gather_epi64::<8>(places, entries.cast());
            let places = _mm256_or_si256(places, _mm256_set1_epi32(1));
            (Self(keys), Numbers8(_mm256_i32gather_epi32::<8>(entries.cast(), places)))
        }
    }

    #[inline(always)]
    unsafe fn from_each(slots: Numbers8, entry: impl Fn(u32) -> (u64, u32)) -> (Self, Numbers8) {
        let (mut keys, mut numbers) = ([0; 8], [0; 8]);
        // SAFETY: the machine has the instruction set: `Isa::best` was asked before this type was chosen.
        unsafe { slots.store(&mut numbers) };
        for (key, number) in keys.iter_mut().zip(&mut numbers) {
            (*key, *number) = entry(*number);
        }
        // SAFETY: the same.
        unsafe { (Self::load(&keys), Numbers8::load(&numbers)) }
    }
}

/// `Word` for a register of keys. Its functions are safe to call: a register of keys is made by [`KeyLanes`] alone, which run
/// only where AVX-512 exists.
macro_rules! word {
    ($name:ident, $key:ty, $count:literal, $splat:ident, $integer:ty, $multiply:ident, $shift:ident) => {
        impl Word for $name {
            type Key = $key;

            #[inline(always)]
            fn times(self, factor: $key) -> Self {
                // SAFETY: the register proves the instruction set.
                Self(unsafe { $multiply(self.0, $splat(factor as $integer)) })
            }

            #[inline(always)]
            fn folded(self, bits: u32) -> Self {
                // SAFETY: the register proves the instruction set.
                Self(unsafe { _mm512_xor_si512(self.0, $shift(self.0, _mm_cvtsi32_si128(bits as i32))) })
            }

            #[inline(always)]
            fn each(self, function: impl Fn($key) -> $key) -> Self {
                let mut keys = [0; $count];
                // SAFETY: the array has the bytes of a register, the store asks for no alignment, and the register proves
                // the instruction set.
                unsafe { _mm512_storeu_si512(keys.as_mut_ptr().cast(), self.0) };
                // SAFETY: the register proves the instruction set.
                unsafe { Self::load(&keys.map(function)) }
            }
        }
    };
}

word!(Keys16, u32, 16, _mm512_set1_epi32, i32, _mm512_mullo_epi32, _mm512_srl_epi32);
word!(Keys8, u64, 8, _mm512_set1_epi64, i64, _mm512_mullo_epi64, _mm512_srl_epi64);

macro_rules! numbers {
    ($name:ident, $count:literal, $mask:ty, $splat:ident, $load:ident, $store:ident, $add:ident, $equal:ident,
     $blend:ident, $compress:ident, $expand:ident, $less:ident, $scatter:ident) => {
        impl Numbers for $name {
            #[inline(always)]
            unsafe fn splat(number: u32) -> Self {
                // SAFETY: the machine has the instruction set: `Isa::best` was asked before this type was chosen.
                Self(unsafe { $splat(number as i32) })
            }

            #[inline(always)]
            unsafe fn count_from(first: u32) -> Self {
                const COUNT: [u32; $count] = {
                    let mut count = [0; $count];
                    let mut lane = 0;
                    while lane < $count {
                        count[lane] = lane as u32;
                        lane += 1;
                    }
                    count
                };
                // SAFETY: the machine has the instruction set: `Isa::best` was asked before this type was chosen.
                unsafe { Self::load(&COUNT).plus(Self::splat(first)) }
            }

            #[inline(always)]
            unsafe fn load(numbers: &[u32]) -> Self {
                // SAFETY: so many numbers exist, or the slice would panic; the load asks for no alignment.
                Self(unsafe { $load(numbers[..$count].as_ptr().cast()) })
            }

            #[inline(always)]
            unsafe fn store(self, numbers: &mut [u32]) {
                // SAFETY: there is so much room, or the slice would panic; the store asks for no alignment.
                unsafe { $store(numbers[..$count].as_mut_ptr().cast(), self.0) };
            }

            #[inline(always)]
            unsafe fn plus(self, other: Self) -> Self {
                // SAFETY: the machine has the instruction set: `Isa::best` was asked before this type was chosen.
                Self(unsafe { $add(self.0, other.0) })
            }

            #[inline(always)]
            unsafe fn equal(self, other: Self) -> u32 {
                // SAFETY: the machine has the instruction set: `Isa::best` was asked before this type was chosen.
                unsafe { $equal(self.0, other.0) }.into()
            }

            #[inline(always)]
            unsafe fn or_else(self, mask: u32, other: Self) -> Self {
                // SAFETY: the machine has the instruction set: `Isa::best` was asked before this type was chosen.
                Self(unsafe { $blend(mask as $mask, other.0, self.0) })
            }

            #[inline(always)]
            unsafe fn compress(self, mask: u32) -> Self {
                // SAFETY: the machine has the instruction set: `Isa::best` was asked before this type was chosen.
                Self(unsafe { $compress(mask as $mask, self.0) })
            }

            #[inline(always)]
            unsafe fn expand(self, mask: u32, next: Self) -> Self {
                // SAFETY: the machine has the instruction set: `Isa::best` was asked before this type was chosen.
                Self(unsafe { $expand(self.0, mask as $mask, next.0) })
            }

            #[inline(always)]
            unsafe fn scatter(self, mask: u32, numbers: &mut [u32], at: Self) {
                let mask = mask as $mask;
                let end = numbers.len().min(i32::MAX as usize) as u32;
                // SAFETY: the machine has the instruction set: `Isa::best` was asked before this type was chosen; each place of
                // the mask is below the length and below 2^31, as compared.
                unsafe {
                    assert_eq!($less(at.0, Self::splat(end).0) & mask, mask, "a place past the end");
                    $scatter::<4>(numbers.as_mut_ptr().cast(), mask, at.0, self.0);
                }
            }
        }
    };
}

numbers!(
    Numbers16,
    16,
    __mmask16,
    _mm512_set1_epi32,
    _mm512_loadu_si512,
    _mm512_storeu_si512,
    _mm512_add_epi32,
    _mm512_cmpeq_epi32_mask,
    _mm512_mask_blend_epi32,
    _mm512_maskz_compress_epi32,
    _mm512_mask_expand_epi32,
    _mm512_cmplt_epu32_mask,
    _mm512_mask_i32scatter_epi32
);
numbers!(
    Numbers8,
    8,
    __mmask8,
    _mm256_set1_epi32,
    _mm256_loadu_si256,
    _mm256_storeu_si256,
    _mm256_add_epi32,
    _mm256_cmpeq_epi32_mask,
    _mm256_mask_blend_epi32,
    _mm256_maskz_compress_epi32,
    _mm256_mask_expand_epi32,
    _mm256_cmplt_epu32_mask,
    _mm256_mask_i32scatter_epi32
);
