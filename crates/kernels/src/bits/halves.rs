//! Bits to TIDs with AVX2 where words have few bits: eight halves of words at a time, whose lowest bits are found at once.
//!
//! AVX2 has no count of trailing zeros in lanes. A lowest bit alone is a power of two, though, whose float has the bit's
//! number as its exponent, exactly. Halves are integers of 32 bits, as wide as such floats and as TIDs.

use super::avx2::by_bytes;
use super::parts::PART;
use super::scalar::each_bit;
use std::arch::x86_64::*;
use std::mem::MaybeUninit;

/// Halves in a register.
const EIGHT: usize = 8;
/// What a float's exponent is more than the power of two.
const BIAS: u32 = 127;

/// The halves of a part that are not zero, and the TID of each one's first bit, less [`BIAS`].
pub(super) struct Halves {
    bits: HalfLanes,
    first: HalfLanes,
}

/// Room for the halves of a part, and the other lanes of the last register.
#[repr(align(64))]
struct HalfLanes([MaybeUninit<u32>; 2 * PART + EIGHT]);

/// What moves the lanes whose bits in the number are zero to the front.
static ZEROS_FIRST: [[u32; EIGHT]; 256] = zeros_first();
/// Permutations that move the halves that are there to the front. Their index has a bit for each half without a second one.
static PAIRS: [[u32; EIGHT]; 16] = pairs();

const fn zeros_first() -> [[u32; EIGHT]; 256] {
    let mut table = [[0; EIGHT]; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut lane, mut found) = (0, 0);
        while lane < EIGHT {
            if mask >> lane & 1 == 0 {
                table[mask][found] = lane as u32;
                found += 1;
            }
            lane += 1;
        }
        mask += 1;
    }
    table
}

const fn pairs() -> [[u32; EIGHT]; 16] {
    let mut table = [[0; EIGHT]; 16];
    let mut single = 0;
    while single < 16 {
        let (mut half, mut found) = (0, 0);
        while half < EIGHT / 2 {
            table[single][found] = 2 * half as u32;
            found += 1;
            if single >> half & 1 == 0 {
                table[single][found] = 2 * half as u32 + 1;
                found += 1;
            }
            half += 1;
        }
        single += 1;
    }
    table
}

impl Halves {
    pub(super) fn new() -> Self {
        Self { bits: HalfLanes::new(), first: HalfLanes::new() }
    }

    /// Lists the halves of a part that are not zero, and gives their number.
    ///
    /// # Safety
    /// There are at most [`PART`] words.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn list(&mut self, part: &[u64], first: u32) -> usize {
        let (fours, rest) = part.as_chunks::<4>();
        let (bits, firsts) = (self.bits.start(), self.first.start());
        let mut length = 0;
        let mut first_bits =
            _mm256_add_epi32(splat(first.wrapping_sub(BIAS)), _mm256_setr_epi32(0, 32, 64, 96, 128, 160, 192, 224));
        for four in fours {
            // SAFETY: four words are eight halves. Fewer halves than the part has came before, and there are eight places
            // more than that.
            unsafe {
                let halves = load(four.as_ptr().cast());
                let zero = lanes_of(_mm256_cmpeq_epi32(halves, splat(0)));
                let order = load(ZEROS_FIRST[zero].as_ptr());
                store(bits.add(length), _mm256_permutevar8x32_epi32(halves, order));
                store(firsts.add(length), _mm256_permutevar8x32_epi32(first_bits, order));
                length += EIGHT - zero.count_ones() as usize;
            }
            first_bits = _mm256_add_epi32(first_bits, splat(4 * 64));
        }
        for (i, word) in (fours.len() * 4..).zip(rest) {
            for (half, at) in [(*word as u32, 0), ((word >> 32) as u32, 32)] {
                // SAFETY: as above.
                unsafe {
                    bits.add(length).write(half);
                    firsts.add(length).write(first.wrapping_sub(BIAS).wrapping_add(i as u32 * 64 + at));
                }
                length += usize::from(half != 0);
            }
        }
        length
    }
}

impl HalfLanes {
    fn new() -> Self {
        Self([MaybeUninit::uninit(); 2 * PART + EIGHT])
    }

    fn start(&mut self) -> *mut u32 {
        self.0.as_mut_ptr().cast()
    }
}

/// Bits of a half that [`listed`] looks for first.
pub(super) const TWO: u8 = 2;
pub(super) const FOUR: u8 = 4;

/// Writes the TIDs of a part whose halves that are not zero have `BITS` bits at most, mostly, and gives the place behind
/// them.
///
/// # Safety
/// There are at most [`PART`] words, and `place` has room for the TIDs and twice [`EIGHT`] more.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) unsafe fn listed<const BITS: u8>(
    part: &[u64],
    halves: &mut Halves,
    first: u32,
    place: *mut u32,
) -> *mut u32 {
    let mut end = place;
    // SAFETY: `list` may be given a part, which has at most `PART` words.
    let length = unsafe { halves.list(part, first) };
    let padding = length.next_multiple_of(EIGHT) - length;
    let (bits, firsts) = (halves.bits.start(), halves.first.start());
    for i in length..length + padding {
        // Halves of one bit each, whose TIDs are taken off again: cheaper than the last halves one by one.
        // SAFETY: there are eight places more than halves.
        unsafe {
            bits.add(i).write(1);
            firsts.add(i).write(0);
        }
    }
    for i in (0..length).step_by(EIGHT) {
        // SAFETY: eight halves have been written from there on. At most the bits of the halves before came before theirs, so
        // that there is room for theirs, for those of fewer than eight halves of padding, and for eight more.
        end = unsafe { eight::<BITS>(bits.add(i), firsts.add(i), end) };
    }
    // SAFETY: the padding's TIDs were written last.
    unsafe { end.sub(padding) }
}

/// Writes the TIDs of eight halves that are not zero, and gives the place behind them.
///
/// # Safety
/// The halves and their first TIDs less [`BIAS`] are there, and `place` has room for the TIDs and eight more.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
unsafe fn eight<const BITS: u8>(bits: *const u32, firsts: *const u32, place: *mut u32) -> *mut u32 {
    // SAFETY: eight halves lie at `bits`, as `# Safety` says; `listed` pads its lists to eights.
    let halves = unsafe { load(bits) };
    if BITS == TWO {
        let lowest = lowest_bits(halves);
        let rest = _mm256_xor_si256(halves, lowest);
        let second = lowest_bits(rest);
        if _mm256_testc_si256(second, rest) == 1 {
            // SAFETY: eight first TIDs lie at `firsts`, and `place` has room for the TIDs and eight more: `listed` steps by
            // eights.
            return unsafe { pairs_of(lowest, second, load(firsts), place) };
        }
    }
    let mut end = place;
    if let Some([numbers]) = numbers(halves) {
        let numbers = InMemory::new(numbers);
        for half in 0..EIGHT {
            // SAFETY: the halves are there, and four of the bytes for each; half a register is less than what there is
            // room for beyond the TIDs, as many of which are written as the half has bits.
            unsafe {
                let tids = _mm_cvtepu8_epi32(_mm_loadu_si32(numbers.bytes().add(4 * half)));
                let first = _mm_set1_epi32(firsts.add(half).read() as i32);
                _mm_storeu_si128(end.cast(), _mm_add_epi32(tids, first));
                end = end.add(bits.add(half).read().count_ones() as usize);
            }
        }
    } else if let Some(numbers) = numbers(halves) {
        // SAFETY: eight halves and first TIDs are there, and `place` has room for the TIDs and eight more: `listed` steps by
        // eights.
        end = unsafe { eights_of(bits, numbers, |half| splat(firsts.add(half).read()), end) };
    } else {
        for half in 0..EIGHT {
            // SAFETY: `half` is below eight, and so many halves and first TIDs are there.
            let (half, first) = unsafe { (bits.add(half).read(), firsts.add(half).read()) };
            each_bit(half.into(), |bit| {
                // SAFETY: each TID is written at `end`, which moves by one: `place` has room for all of them.
                unsafe {
                    end.write(first.wrapping_add(BIAS + bit));
                    end = end.add(1);
                }
            });
        }
    }
    end
}

/// Writes the TIDs of one or two bits of each of eight halves, each bit alone in a lane, and gives the place behind them.
///
/// # Safety
/// As for [`eight`].
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
unsafe fn pairs_of(lowest: __m256i, second: __m256i, firsts: __m256i, place: *mut u32) -> *mut u32 {
    let tids = |bit| {
        // The float of bit 31 is negative, and its sign is no part of the exponent.
        let exponent = _mm256_and_si256(_mm256_srli_epi32::<23>(floats(bit)), splat(255));
        _mm256_add_epi32(firsts, exponent)
    };
    let (a, b) = (tids(lowest), tids(second));
    let (low, high) = (_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
    let fours = [_mm256_permute2x128_si256::<0x20>(low, high), _mm256_permute2x128_si256::<0x31>(low, high)];
    let single = lanes_of(_mm256_cmpeq_epi32(second, splat(0)));
    let mut end = place;
    for (pairs, single) in fours.into_iter().zip([single & 15, single >> 4]) {
        // SAFETY: there is room for eight more than the TIDs before these, of which there are as many as the
        // halves have bits.
        unsafe {
            let order = load(PAIRS[single].as_ptr());
            store(end, _mm256_permutevar8x32_epi32(pairs, order));
            end = end.add(EIGHT - single.count_ones() as usize);
        }
    }
    end
}

/// Writes the TIDs of a part whose halves have eight bits at most, mostly, and gives the place behind them.
///
/// # Safety
/// `place` has room for the TIDs and eight more.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) unsafe fn in_place(part: &[u64], first: u32, place: *mut u32) -> *mut u32 {
    let mut end = place;
    let (fours, rest) = part.as_chunks::<4>();
    for (i, four) in fours.iter().enumerate() {
        let first = first.wrapping_add(i as u32 * 4 * 64);
        let bits = four.as_ptr().cast();
        // SAFETY: four words are eight halves. At most the TIDs of the words before came before these.
        end = unsafe {
            match numbers(load(bits)) {
                Some(numbers) => {
                    let first = splat(first.wrapping_sub(BIAS));
                    eights_of(bits, numbers, |half| _mm256_add_epi32(first, splat(32 * half as u32)), end)
                }
                None => by_bytes(four, first, end),
            }
        };
    }
    // SAFETY: `end` has room for the TIDs of the rest and eight more, since it moves by the TIDs that were written.
    unsafe { by_bytes(rest, first.wrapping_add(fours.len() as u32 * 4 * 64), end) }
}

/// Writes the TIDs of eight halves with up to eight bits each, whose numbers are given, and gives the place behind them.
/// `first` tells each half's first TID, less [`BIAS`].
///
/// # Safety
/// The halves are there, and `place` has room for the TIDs and eight more.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
unsafe fn eights_of(
    bits: *const u32,
    [low, high]: [__m256i; 2],
    first: impl Fn(usize) -> __m256i,
    place: *mut u32,
) -> *mut u32 {
    let mut end = place;
    // Those of halves 0, 1, 4 and 5, then of 2, 3, 6 and 7.
    let numbers = [InMemory::new(_mm256_unpacklo_epi32(low, high)), InMemory::new(_mm256_unpackhi_epi32(low, high))];
    for half in 0..EIGHT {
        // SAFETY: the halves are there, and eight bytes for each. At most the bits of the halves before came before its TIDs,
        // as many of which are written as it has bits.
        unsafe {
            let bytes = numbers[half / 2 % 2].bytes().add(half / 4 * 16 + half % 2 * 8);
            let tids = _mm256_cvtepu8_epi32(_mm_loadl_epi64(bytes.cast()));
            store(end, _mm256_add_epi32(tids, first(half)));
            end = end.add(bits.add(half).read().count_ones() as usize);
        }
    }
    end
}

/// The numbers of the lowest bits of each half, plus [`BIAS`]: four bytes each in as many registers as are asked for. Past
/// the last bit they mean nothing. `None` when a half has more bits.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn numbers<const FOURS: usize>(mut halves: __m256i) -> Option<[__m256i; FOURS]> {
    let mut take = || {
        let lowest = lowest_bits(halves);
        halves = _mm256_xor_si256(halves, lowest);
        floats(lowest)
    };
    let mut numbers = [splat(0); FOURS];
    for four in &mut numbers {
        // Exponents lie above 23 bits of zeros. A sign, which bit 31 has, gets into the number after its own only, and
        // bit 31 is the last.
        let [a, b, c, d] = [take(), take(), take(), take()];
        let upper = _mm256_or_si256(_mm256_srli_epi32::<8>(_mm256_or_si256(_mm256_srli_epi32::<8>(b), c)), d);
        *four = _mm256_or_si256(_mm256_srli_epi32::<23>(a), _mm256_slli_epi32::<1>(upper));
    }
    (_mm256_testz_si256(halves, halves) == 1).then_some(numbers)
}

/// A register's bytes in memory, from where each half's are loaded in one instruction with their widening.
#[repr(align(32))]
struct InMemory(MaybeUninit<__m256i>);

impl InMemory {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new(register: __m256i) -> Self {
        let mut stored = Self(MaybeUninit::uninit());
        // Volatile, because the compiler would otherwise shuffle the bytes out of the register, which takes a tenth
        // longer (Zen 3).
        // SAFETY: a place of ours.
        unsafe { stored.0.as_mut_ptr().write_volatile(register) };
        stored
    }

    #[inline(always)]
    fn bytes(&self) -> *const u8 {
        self.0.as_ptr().cast()
    }
}

/// # Safety
/// Eight lanes are there.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn load(lanes: *const u32) -> __m256i {
    // SAFETY: eight lanes are there, as `# Safety` says; the load asks for no alignment.
    unsafe { _mm256_loadu_si256(lanes.cast()) }
}

/// # Safety
/// There is room for eight lanes.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn store(place: *mut u32, lanes: __m256i) {
    // SAFETY: there is room for eight lanes, as `# Safety` says; the store asks for no alignment.
    unsafe { _mm256_storeu_si256(place.cast(), lanes) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn lowest_bits(halves: __m256i) -> __m256i {
    _mm256_and_si256(halves, _mm256_sub_epi32(splat(0), halves))
}

/// Lanes as floats.
#[inline]
#[target_feature(enable = "avx2")]
fn floats(lanes: __m256i) -> __m256i {
    _mm256_castps_si256(_mm256_cvtepi32_ps(lanes))
}

/// A bit per lane of ones.
#[inline]
#[target_feature(enable = "avx2")]
fn lanes_of(lanes: __m256i) -> usize {
    _mm256_movemask_ps(_mm256_castsi256_ps(lanes)) as usize
}

#[inline]
#[target_feature(enable = "avx2")]
fn splat(lane: u32) -> __m256i {
    _mm256_set1_epi32(lane as i32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Isa;
    use crate::bits::parts::BEYOND;
    use crate::bits::{avx2, scalar};

    type Write = unsafe fn(&[u64], u32, *mut u32) -> *mut u32;

    unsafe fn twos(part: &[u64], first: u32, place: *mut u32) -> *mut u32 {
        // SAFETY: the test's parts have at most `PART` words and room, and it runs where the machine has AVX2.
        unsafe { listed::<TWO>(part, &mut Halves::new(), first, place) }
    }

    unsafe fn fours(part: &[u64], first: u32, place: *mut u32) -> *mut u32 {
        // SAFETY: as above.
        unsafe { listed::<FOUR>(part, &mut Halves::new(), first, place) }
    }

    unsafe fn eights(part: &[u64], first: u32, place: *mut u32) -> *mut u32 {
        // SAFETY: as above.
        unsafe { in_place(part, first, place) }
    }

    unsafe fn bytes(part: &[u64], first: u32, place: *mut u32) -> *mut u32 {
        // SAFETY: as above.
        unsafe { by_bytes(part, first, place) }
    }

    fn assert_tids(part: &[u64], first: u32) {
        let mut expected = Vec::new();
        scalar::to_tids(part, first, &mut expected);
        for (i, write) in [twos as Write, fours, eights, bytes].into_iter().enumerate() {
            // What may be written beyond the TIDs, and as much that may not.
            let mut out = vec![7; expected.len() + 2 * BEYOND];
            // SAFETY: the machine has AVX2, the words are a part's, and there is room.
            let length = unsafe { write(part, first, out.as_mut_ptr()).offset_from_unsigned(out.as_ptr()) };
            assert_eq!(out[..length], expected, "way {i}, {} words from {first} on", part.len());
            assert!(out[length + BEYOND..].iter().all(|after| *after == 7), "way {i} writes past its room");
        }
        if part.len() <= 64 {
            let mut out = vec![1, 2];
            // SAFETY: the machine has AVX2.
            unsafe { avx2::to_tids(part, first, &mut out) };
            assert!(out[..2] == [1, 2] && out[2..] == expected);
        }
    }

    #[test]
    fn every_way_tells_the_same_tids() {
        if Isa::best() < Isa::Avx2 {
            return;
        }
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            state >> 33
        };
        for permille in [0, 1, 10, 30, 60, 100, 150, 300, 700, 1000] {
            for words in [0, 1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65, PART - 1, PART] {
                // Some words have far more bits than the others, and some none.
                let part: Vec<u64> = (0..words)
                    .map(|word| match (word / 5 % 7, permille) {
                        (5, 1..) => u64::MAX << (random() % 64),
                        (6, _) => 0,
                        _ => (0..64).fold(0, |bits, bit| bits | u64::from(random() % 1000 < permille) << bit),
                    })
                    .collect();
                // The last part of 2^32 bits among them.
                assert_tids(&part, u32::MAX - (words as u32 * 64).saturating_sub(1));
            }
        }
        // Each number of bits in a half, the uppermost among them.
        for set in 0..=32 {
            let half = u64::from(u32::MAX.checked_shl(32 - set).unwrap_or(0));
            for word in [half, half << 32, half << 32 | half, half << 32 | 1 << 31] {
                assert_tids(&[word; 12], 100);
            }
        }
    }
}
