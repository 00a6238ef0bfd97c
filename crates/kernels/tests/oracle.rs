//! Every kernel under every instruction set of this machine against a plain loop, at all lengths round the edges of
//! vectors and words, all alignments, all widths.

mod common;

use common::Numbers;
use gingham_kernels::{Code, Isa, Value, bitpack, bits, decode, integers, lookup, minmax, scan};

/// Lengths round the edges of registers, words and blocks.
const LENGTHS: &[usize] = &[
    0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 95, 96, 97, 127, 128, 129, 191, 192, 193, 255,
    256, 257, 511, 512, 513, 1023, 1024, 1025,
];

impl Numbers {
    /// Codes of `bits` bits, many of them at the ends of the domain.
    fn codes<C: Code>(&mut self, rows: usize, bits: u32) -> Vec<C> {
        let mask = if bits == 0 { 0 } else { u64::MAX >> (64 - bits) };
        let code = |numbers: &mut Self| match numbers.next() % 8 {
            0 => 0,
            1 => mask,
            _ => numbers.next() & mask,
        };
        (0..rows).map(|_| C::truncate(code(self))).collect()
    }
}

fn bit(bits: &[u64], at: usize) -> bool {
    bits[at / 64] >> (at % 64) & 1 == 1
}

/// Checks `result` (preset to ones, so that a word left alone is seen) against `expected`.
fn assert_bits(result: &[u64], rows: usize, expected: impl Fn(usize) -> bool, what: &str) {
    assert_eq!(result.len(), rows.div_ceil(64));
    for at in 0..result.len() * 64 {
        assert_eq!(bit(result, at), at < rows && expected(at), "{what}: bit {at} of {rows}");
    }
}

fn scans<C: Code>() {
    let mut numbers = Numbers(C::BITS.into());
    for (round, &rows) in LENGTHS.iter().enumerate() {
        let start = round % 5;
        let all: Vec<C> = numbers.codes(rows + start, C::BITS);
        let codes = &all[start..];
        let (a, b) = (C::truncate(numbers.next()), C::truncate(numbers.next()));
        let zero = C::default();
        let bounds = [
            (zero, zero),
            (zero, C::MAX),
            (C::MAX, C::MAX),
            (a, a),
            (a.min(b), a.max(b)),
            (a.max(b), a.min(b)),
            (zero, a),
            (a, C::MAX),
        ];
        for isa in Isa::available() {
            let mut out = vec![u64::MAX; rows.div_ceil(64)];
            for (low, high) in bounds {
                let what = format!("{isa:?} {low:?}..={high:?}");
                scan::range(isa, codes, low, high, &mut out);
                assert_bits(&out, rows, |at| low <= codes[at] && codes[at] <= high, &what);
                out.fill(u64::MAX);
                scan::outside(isa, codes, low, high, &mut out);
                assert_bits(&out, rows, |at| codes[at] < low || codes[at] > high, &what);
            }
            for values in 0..6 {
                let values: Vec<C> =
                    (0..values).map(|i| if i == 0 { C::MAX } else { C::truncate(numbers.next() % 4) }).collect();
                out.fill(u64::MAX);
                scan::equal_any(isa, codes, &values, &mut out);
                assert_bits(&out, rows, |at| values.contains(&codes[at]), &format!("{isa:?} {values:?}"));
            }
            for (words, domain) in [(0, 0), (1, 7), (4, 8), (8, 9), (9, 10), (100, 13), (1024, 16), (1500, 20)] {
                let bitmap: Vec<u64> = (0..words).map(|_| numbers.next()).collect();
                let codes: Vec<C> = numbers.codes(rows, C::BITS.min(domain));
                out.fill(u64::MAX);
                scan::in_bitmap(isa, &codes, &bitmap, &mut out);
                let expected = |at: usize| {
                    let code = codes[at].to_u64() as usize;
                    code < words * 64 && bit(&bitmap, code)
                };
                assert_bits(&out, rows, expected, &format!("{isa:?} bitmap of {words}"));
            }
        }
    }
}

#[test]
fn scans_of_every_width() {
    scans::<u8>();
    scans::<u16>();
    scans::<u32>();
    scans::<u64>();
}

#[test]
fn bitmap_scan_of_huge_codes() {
    for isa in Isa::available() {
        let mut out = [u64::MAX];
        scan::in_bitmap(isa, &[u64::MAX, 3, 1 << 40, 64], &[0b1000, 1], &mut out);
        assert_eq!(out, [0b1010]);
        scan::in_bitmap(isa, &[u32::MAX, 3, 1 << 31, 64], &[0b1000, 1], &mut out);
        assert_eq!(out, [0b1010]);
    }
}

#[test]
fn bit_vectors() {
    let mut numbers = Numbers(1);
    for &rows in LENGTHS {
        for density in 0..6 {
            let mut a = vec![0; rows.div_ceil(64)];
            let mut b = a.clone();
            bits::fill(&mut a, rows);
            assert_bits(&a, rows, |_| true, "fill");
            for at in 0..a.len() {
                let word = numbers.next();
                let few = 1 << (word % 64) | 1 << ((word >> 6) % 64);
                let rare = u64::from(word.is_multiple_of(11)) << ((word >> 32) % 64);
                let eighth = word & numbers.next() & numbers.next();
                a[at] &= [word, eighth, u64::MAX, word & 0xff00, few, rare][density];
                b[at] = numbers.next();
            }
            let mut both = a.clone();
            bits::and(&mut both, &b);
            assert_bits(&both, rows, |at| bit(&a, at) && bit(&b, at), "and");
            let mut without = a.clone();
            bits::and_not(&mut without, &b);
            assert_bits(&without, rows, |at| bit(&a, at) && !bit(&b, at), "and not");
            let mut not = a.clone();
            bits::not(&mut not, rows);
            assert_bits(&not, rows, |at| !bit(&a, at), "not");
            bits::or(&mut without, &both);
            assert_eq!(without, a, "or");
            let expected: Vec<u32> = (0..rows as u32).filter(|&at| bit(&a, at as usize)).collect();
            assert_eq!(bits::is_empty(&a), expected.is_empty());
            for isa in Isa::available() {
                assert_eq!(bits::count(isa, &a), expected.len());
                let mut tids = vec![7];
                bits::to_tids(isa, &a, 1000, &mut tids);
                assert_eq!(tids[0], 7);
                assert!(tids[1..].iter().copied().eq(expected.iter().map(|tid| tid + 1000)), "{isa:?}, {rows} rows");
            }
        }
    }
}

/// Few words with many bits between many with few, and the other way round: ways to take words go by both.
#[test]
fn tids_of_dense_words_among_sparse_ones() {
    let mut numbers = Numbers(4);
    for every in [1, 2, 3, 7, 50, 150] {
        for set in [0, 1, 2, 3, 4, 5, 15, 16, 17, 47, 48, 49, 63, 64] {
            let bits: Vec<u64> = (0..301)
                .map(|at| {
                    let fewer = (1 << (numbers.next() % 64)) & (numbers.next() % 4).wrapping_sub(1);
                    let many = (0..set).fold(0, |word: u64, i| word | 1 << (i * 37 % 64));
                    if at % every == 0 { many.rotate_left(at as u32) } else { fewer }
                })
                .collect();
            let expected: Vec<u32> = (0..301 * 64).filter(|&at| bit(&bits, at as usize)).collect();
            for isa in Isa::available() {
                let mut tids = Vec::new();
                bits::to_tids(isa, &bits, 0, &mut tids);
                assert_eq!(tids, expected, "{isa:?}, {set} bits in each {every}th word");
            }
        }
    }
}

/// Stretches of every density, long enough that each way to take words is chosen and met by words of another, with room
/// for all TIDs that there could be and with none.
#[test]
fn tids_of_stretches() {
    let mut numbers = Numbers(5);
    for words in [511, 512, 513, 1024, 5000] {
        let bits: Vec<u64> = (0..words)
            .map(|at| {
                let share = [1, 20, 70, 150, 300, 2000, 10_000, 0][at / 600 % 8];
                (0..64).fold(0, |word, bit| word | u64::from(numbers.next() % 10_000 < share) << bit)
            })
            .collect();
        let expected: Vec<u32> =
            (0..words as u32 * 64).filter(|&at| bit(&bits, at as usize)).map(|at| at + 3).collect();
        for isa in Isa::available() {
            for room in [0, 40_000, words * 64 + 64] {
                let mut tids = Vec::with_capacity(room);
                bits::to_tids(isa, &bits, 3, &mut tids);
                assert!(tids == expected, "{isa:?}, {words} words, room for {room}");
            }
        }
    }
}

#[test]
fn largest_tids() {
    for isa in Isa::available() {
        let mut tids = Vec::new();
        bits::to_tids(isa, &[1 << 63 | 1], u32::MAX - 63, &mut tids);
        assert_eq!(tids, [u32::MAX - 63, u32::MAX], "{isa:?}");
    }
}

#[test]
fn bits_loaded_at_any_offset() {
    let mut numbers = Numbers(2);
    let bytes: Vec<u8> = (0..200).map(|_| numbers.next() as u8).collect();
    for offset in (0..20).chain([63, 64, 65]) {
        for &rows in LENGTHS.iter().filter(|&&rows| rows <= 1025) {
            let bytes = &bytes[..(offset + rows).div_ceil(8)];
            let mut out = vec![u64::MAX; rows.div_ceil(64)];
            bits::load(bytes, offset, rows, &mut out);
            assert_bits(&out, rows, |at| bytes[(offset + at) / 8] >> ((offset + at) % 8) & 1 == 1, "load");
        }
    }
}

fn packed<C: Code>() {
    let mut numbers = Numbers(3);
    for width in 0..=C::BITS {
        for &rows in LENGTHS.iter().filter(|&&rows| rows < 300) {
            let base = C::truncate(numbers.next());
            let offsets: Vec<C> = numbers.codes(rows, width);
            let codes: Vec<C> = offsets.iter().map(|offset| base.wrapping_add(*offset)).collect();
            let mut bytes = vec![0xee];
            bitpack::pack(&codes, base, width, &mut bytes);
            assert_eq!(bytes.len() - 1, bitpack::packed_bytes(rows, width));
            for (at, offset) in offsets.iter().enumerate() {
                for i in 0..width as usize {
                    let bit = at * width as usize + i;
                    assert_eq!(bytes[1 + bit / 8] >> (bit % 8) & 1, (offset.to_u64() >> i) as u8 & 1);
                }
            }
            for isa in Isa::available() {
                let mut out = vec![C::MAX; rows];
                bitpack::unpack(isa, &bytes[1..], width, base, &mut out);
                assert_eq!(out, codes, "{isa:?}, {rows} codes of {width} bits");
            }
        }
    }
}

#[test]
fn packing_of_every_width() {
    packed::<u8>();
    packed::<u16>();
    packed::<u32>();
    packed::<u64>();
    assert_eq!([0, 1, 2, 255, 256, u64::MAX].map(bitpack::bits_for), [0, 1, 2, 8, 9, 64]);
}

#[test]
#[should_panic(expected = "65 codes of 3 bits in 24 bytes")]
fn unpacking_too_few_bytes() {
    bitpack::unpack(Isa::best(), &[0; 24], 3, 0u8, &mut [0; 65]);
}

fn decoded<C: Code, V: Value>(bases: &[V]) {
    let mut numbers = Numbers(4);
    for &rows in LENGTHS {
        let all: Vec<C> = numbers.codes(rows + 1, C::BITS);
        let codes = &all[1..];
        let tids: Vec<u32> = (0..rows as u32).filter(|_| numbers.next() % 3 != 1).collect();
        for isa in Isa::available() {
            for &base in bases {
                let expected: Vec<V> = codes.iter().map(|code| base.offset(code.to_u64())).collect();
                let mut out = vec![base];
                decode::widen(isa, codes, base, &mut out);
                assert_eq!(out[1..], expected, "{isa:?}, {rows} rows from {base:?}");
                let expected: Vec<V> = tids.iter().map(|tid| base.offset(codes[*tid as usize].to_u64())).collect();
                let mut out = vec![base];
                lookup::widen(isa, codes, &tids, base, &mut out);
                assert_eq!(out[1..], expected, "{isa:?}, lookup in {rows} rows from {base:?}");
            }
            let mut out = Vec::new();
            lookup::copy(isa, codes, &tids, &mut out);
            assert!(out.iter().copied().eq(tids.iter().map(|tid| codes[*tid as usize])));
            assert_eq!(minmax::min_max(isa, codes), codes.iter().min().copied().zip(codes.iter().max().copied()));
        }
    }
}

fn decoded_to_all<C: Code>() {
    decoded::<C, i8>(&[0, i8::MIN, -1]);
    decoded::<C, i16>(&[0, i16::MIN, -1]);
    decoded::<C, i32>(&[0, i32::MIN, 77]);
    decoded::<C, i64>(&[0, i64::MIN, 1 << 40]);
    decoded::<C, u8>(&[0, 200]);
    decoded::<C, u16>(&[0, 20_000]);
    decoded::<C, u32>(&[0, 1 << 31]);
    decoded::<C, u64>(&[0, 1 << 63]);
    decoded::<C, i128>(&[0, -1, i128::MIN, 1 << 64, i64::MAX as i128, i64::MIN as i128, -(1 << 63) - 5]);
}

#[test]
fn decoding_and_lookups() {
    decoded_to_all::<u8>();
    decoded_to_all::<u16>();
    decoded_to_all::<u32>();
    decoded_to_all::<u64>();
}

#[test]
fn offsets_are_sums() {
    assert_eq!((-5i128).offset(u64::MAX), u64::MAX as i128 - 5);
    assert_eq!((-5i8).offset(10), 5);
    assert_eq!(i64::MIN.offset(u64::MAX), i64::MAX);
}

#[test]
fn scaled_floats() {
    let mut numbers = Numbers(5);
    for &rows in LENGTHS {
        let codes: Vec<u32> = numbers.codes(rows, 32);
        for (base, divisor) in [(0, 1.0), (-1_000_000, 100.0), (1 << 52, 1e6)] {
            for isa in Isa::available() {
                let mut out = vec![0.5];
                decode::scaled(isa, &codes, base, divisor, &mut out);
                let expected = codes.iter().map(|&code| ((base + i64::from(code)) as f64 / divisor).to_bits());
                assert!(out[1..].iter().map(|value| value.to_bits()).eq(expected), "{isa:?}");
            }
        }
    }
}

#[test]
fn entries_by_code() {
    let entries: Vec<u128> = (0..200).map(|i| i << 90 | 1).collect();
    for isa in Isa::available() {
        for &rows in LENGTHS {
            let codes: Vec<u16> = (0..rows).map(|at| (at * 7 % 200) as u16).collect();
            let mut out = Vec::new();
            lookup::entries(isa, &codes, &entries, &mut out);
            assert!(out.into_iter().eq(codes.iter().map(|code| entries[*code as usize])));
        }
    }
}

#[test]
#[should_panic(expected = "TID 3 in a run of 3 records")]
fn lookup_past_the_run() {
    lookup::copy(Isa::best(), &[1u8, 2, 3], &[0, 3], &mut Vec::new());
}

#[test]
fn integers_in_bytes() {
    let words = [1u64, u64::MAX, 3];
    let bytes = words.map(u64::to_ne_bytes);
    let aligned: Vec<u8> = bytes.concat();
    let start = aligned.as_ptr().align_offset(8);
    assert_eq!(integers::<u8>(&aligned, 24).map(<[u8]>::len), Some(24));
    assert_eq!(integers::<u8>(&aligned, 25), None);
    assert_eq!(integers::<i128>(&aligned, usize::MAX), None);
    if start == 0 {
        assert_eq!(integers::<u64>(&aligned, 3), Some(&words[..]));
        assert_eq!(integers::<u32>(&aligned[1..], 2), None);
    }
}
