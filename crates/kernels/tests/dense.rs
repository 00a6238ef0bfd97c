//! Entries of dense pages against plain loops over single bits, for every instruction set and width.

mod common;

use common::Numbers;
use gingham_kernels::bitpack::pack;
use gingham_kernels::dense::{
    Deltas, PageBits, Runs, SPARE, expand_runs, fields, fields_at, sum_deltas, translate, zeros_bits,
};
use gingham_kernels::{Code, Isa};

fn noise(seed: u64) -> impl Iterator<Item = u64> {
    let mut numbers = Numbers(seed);
    std::iter::repeat_with(move || numbers.next())
}

/// `width` bits from bit `at` on, one by one.
fn plain(bytes: &[u8], at: usize, width: u32) -> u64 {
    (0..width as usize).fold(0, |field, bit| field | u64::from(bytes[(at + bit) / 8] >> ((at + bit) % 8) & 1) << bit)
}

fn low(value: u64, width: u32) -> u64 {
    if width == 0 { 0 } else { value & (u64::MAX >> (64 - width)) }
}

/// Bits as they are appended to a page.
#[derive(Default)]
struct Bits(Vec<bool>);

impl Bits {
    fn put(&mut self, value: u64, width: u32) {
        self.0.extend((0..width).map(|bit| value >> bit & 1 == 1));
    }

    /// The bytes, and what must follow them.
    fn page(&self) -> Vec<u8> {
        let bytes = self.0.chunks(8).map(|bits| bits.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit)));
        bytes.chain([0xa5; SPARE]).collect()
    }
}

fn check_fields<C: Code>() {
    let bytes: Vec<u8> = noise(1).map(|word| word as u8).take(4000 + SPARE).collect();
    let page = PageBits::new(&bytes, 4000 * 8).unwrap();
    for width in 0..=C::BITS {
        for (first, stride) in [(0, width), (3, width), (32, width), (5, width + 13), (64, 150), (7, 1)] {
            let most = if stride == 0 { 70 } else { (4000 * 8 - first - width as usize) / stride as usize + 1 };
            for count in [0, 1, 7, 8, 9, 64, 100, most.min(600), most] {
                let count = count.min(most);
                let expected: Vec<C> = (0..count)
                    .map(|field| C::truncate(plain(&bytes, first + field * stride as usize, width)))
                    .collect();
                let starts: Vec<u32> = (0..count as u32).map(|field| first as u32 + field * stride).collect();
                for isa in Isa::available() {
                    let mut out = vec![C::MAX; count];
                    fields(isa, page, first, stride as usize, width, &mut out);
                    assert_eq!(out, expected, "{width} bits every {stride} from {first} under {isa:?}");
                    let shift = first.min(3);
                    let starts: Vec<u32> = starts.iter().rev().map(|start| start - shift as u32).collect();
                    out.fill(C::MAX);
                    fields_at(isa, page, &starts, shift, width, &mut out);
                    out.reverse();
                    assert_eq!(out, expected, "{width} bits at starts under {isa:?}");
                }
            }
        }
    }
}

#[test]
fn fields_of_every_width_lie_where_they_are_put() {
    check_fields::<u8>();
    check_fields::<u16>();
    check_fields::<u32>();
    check_fields::<u64>();
}

#[test]
fn masked_fields_are_those_of_their_width() {
    let bytes: Vec<u8> = noise(2).map(|word| word as u8).take(100 + SPARE).collect();
    let page = PageBits::new(&bytes, 800).unwrap();
    for width in 0..=57 {
        let mask = (1_u64 << width) - 1;
        assert!(
            (0..=800 - width).all(|at| page.masked(at, mask) == Some(plain(&bytes, at, width as u32))),
            "{width} bits"
        );
    }
    assert_eq!([page.masked(801, 1), page.masked(usize::MAX, 1)], [None, None]);
}

#[test]
#[should_panic(expected = "past 80 bits")]
fn fields_past_the_page_are_refused() {
    let bytes = [0; 10 + SPARE];
    fields(Isa::best(), PageBits::new(&bytes, 80).unwrap(), 8, 9, 9, &mut [0_u16; 9]);
}

#[test]
#[should_panic(expected = "past 80 bits")]
fn starts_past_the_page_are_refused() {
    let bytes = [0; 10 + SPARE];
    fields_at(Isa::best(), PageBits::new(&bytes, 80).unwrap(), &[3, 70, 9], 2, 9, &mut [0_u16; 3]);
}

#[test]
fn a_page_has_bytes_to_spare() {
    assert!(PageBits::new(&[0; SPARE], 0).is_some() && PageBits::new(&[0; SPARE], 1).is_none());
    assert!(PageBits::new(&[0; SPARE], usize::MAX).is_none());
    let page = [0xff; SPARE + 2];
    let page = PageBits::new(&page, 12).unwrap();
    assert_eq!([page.field(3, 9), page.field(4, 9), page.field(usize::MAX, 1)], [Some(511), None, None]);
}

fn check_runs<C: Code>() {
    for word_bytes in [4, 8] {
        for code_bits in (0..C::BITS.min(word_bytes as u32 * 8 - 1)).chain([C::BITS.min(word_bytes as u32 * 8 - 1)]) {
            let most = u64::MAX >> (64 - (word_bytes as u32 * 8 - code_bits));
            let (mut words, mut expected) = (Vec::new(), Vec::new());
            for (code, length) in noise(code_bits.into()).zip(noise(99)).take(60) {
                let (code, length) = (low(code, code_bits), (length % 90 + 1).min(most));
                let word = code | length << code_bits;
                words.extend_from_slice(&word.to_le_bytes()[..word_bytes]);
                expected.extend(std::iter::repeat_n(C::truncate(code), length as usize));
            }
            for isa in Isa::available() {
                let runs = Runs { words: &words, word_bytes, code_bits };
                let all = expected.len();
                for part in [0..all, all / 3..all, 1.min(all)..all / 2, all..all, all - 1..all] {
                    let mut out = vec![C::default(); part.len()];
                    assert!(expand_runs(isa, runs, part.start, &mut out));
                    assert_eq!(out, expected[part], "codes of {code_bits} bits under {isa:?}");
                }
                assert!(!expand_runs(isa, runs, 0, &mut vec![C::default(); all + 1]), "too few");
                let mut none = words.clone();
                none[word_bytes..2 * word_bytes].fill(0);
                let runs = Runs { words: &none, ..runs };
                assert!(!expand_runs(isa, runs, 0, &mut vec![C::default(); all]), "a run of 0");
            }
        }
    }
}

#[test]
fn runs_of_every_width_are_expanded() {
    check_runs::<u8>();
    check_runs::<u16>();
    check_runs::<u32>();
    check_runs::<u64>();
}

#[test]
fn a_run_may_be_longer_than_any_zone() {
    let word = (u64::from(u32::MAX) << 3 | 5).to_le_bytes();
    let mut out = [0_u8; 100];
    assert!(expand_runs(Isa::best(), Runs { words: &word, word_bytes: 8, code_bits: 3 }, 1 << 31, &mut out));
    assert_eq!(out, [5; 100]);
}

#[test]
fn differences_add_up() {
    for width in 1..=64 {
        for rest in [0, 1, 40, 200] {
            let mut numbers: Vec<u64> = noise(width.into()).map(|number| low(number, width)).take(80).collect();
            numbers.extend([0, u64::MAX >> (64 - width), 7 & (u64::MAX >> (64 - width))]);
            numbers.sort_unstable();
            let (mut bits, mut starts) = (Bits::default(), Vec::new());
            bits.put(0b10101, 5);
            for (at, number) in numbers.iter().enumerate() {
                if at == 0 {
                    bits.put(*number, width);
                } else {
                    let difference = number - numbers[at - 1];
                    let zeros = difference.leading_zeros() - (64 - width);
                    bits.put(zeros.into(), zeros_bits(width));
                    bits.put(difference, width - zeros);
                }
                starts.push(bits.0.len() as u32);
                (0..rest / 8).for_each(|_| bits.put(0xff, 8));
                bits.put(0xff, (rest % 8) as u32);
            }
            let bytes = bits.page();
            let deltas = Deltas { first: 5, before: None, width, rest };
            for isa in Isa::available() {
                for count in [0, 1, 2, numbers.len()] {
                    let (mut values, mut found) = (vec![9; count], vec![9; count]);
                    let page = PageBits::new(&bytes, bits.0.len()).unwrap();
                    assert!(sum_deltas(isa, page, deltas, &mut values, &mut found), "{width} bits under {isa:?}");
                    assert_eq!((&values, &found), (&numbers[..count].to_vec(), &starts[..count].to_vec()));
                }
                // From any number on.
                for skip in [1, 2, 40, numbers.len()] {
                    let (first, before) = (starts[skip - 1] as usize + rest, Some(numbers[skip - 1]));
                    let count = numbers.len() - skip;
                    let (mut values, mut found) = (vec![9; count], vec![9; count]);
                    let page = PageBits::new(&bytes, bits.0.len()).unwrap();
                    let deltas = Deltas { first, before, ..deltas };
                    assert!(sum_deltas(isa, page, deltas, &mut values, &mut found));
                    assert_eq!((&values[..], &found[..]), (&numbers[skip..], &starts[skip..]));
                }
                let short = PageBits::new(&bytes, bits.0.len() - 1).unwrap();
                let count = numbers.len();
                assert!(!sum_deltas(isa, short, deltas, &mut vec![0; count], &mut vec![0; count]), "one bit too few");
            }
        }
    }
}

#[test]
fn hostile_differences_are_refused() {
    for isa in Isa::available() {
        // Every bit set: 7 leading zeros of 5 bits.
        let page = [0xff; 8 + SPARE];
        let page = PageBits::new(&page, 64).unwrap();
        let deltas = |first, width, rest| Deltas { first, before: None, width, rest };
        assert!(!sum_deltas(isa, page, deltas(0, 5, 0), &mut [0; 2], &mut [0; 2]));
        // A first number, or what follows it, past the end.
        assert!(!sum_deltas(isa, page, deltas(60, 5, 0), &mut [0], &mut [0]));
        assert!(!sum_deltas(isa, page, deltas(0, 5, 60), &mut [0], &mut [0]));
        assert!(!sum_deltas(isa, page, deltas(usize::MAX, 5, 0), &mut [0], &mut [0]));
        assert!(sum_deltas(isa, page, deltas(59, 5, 0), &mut [0], &mut [0]));
        // The zeros themselves end past the page.
        assert!(!sum_deltas(isa, page, deltas(0, 64, 0), &mut [0; 2], &mut [0; 2]));
        // Any bytes at all are refused or taken, and nothing else.
        for seed in 1..400 {
            let bytes: Vec<u8> = noise(seed).map(|word| word as u8).take(100 + SPARE).collect();
            let page = PageBits::new(&bytes, 800).unwrap();
            sum_deltas(isa, page, deltas(0, seed as u32 % 64 + 1, seed as usize % 90), &mut [0; 90], &mut [0; 90]);
        }
    }
}

fn check_translation<C: Code>() {
    // Around what registers hold, and what the codes' width allows.
    for count in [1, 7, 16, 17, 31, 32, 33, 63, 64, 65, 255] {
        let entries: Vec<C> = noise(count).map(C::truncate).take(count as usize).collect();
        for length in [0, 1, 15, 16, 17, 31, 32, 33, 1000] {
            let indexes: Vec<u16> = noise(length + 9).map(|word| (word % count) as u16).take(length as usize).collect();
            let expected: Vec<C> = indexes.iter().map(|index| entries[usize::from(*index)]).collect();
            for isa in Isa::available() {
                let mut out = vec![C::MAX; length as usize];
                assert!(translate(isa, &indexes, &entries, &mut out));
                assert_eq!(out, expected, "{count} entries under {isa:?}");
                let mut wrong = indexes.clone();
                if let Some(last) = wrong.last_mut() {
                    *last = count as u16;
                    assert!(!translate(isa, &wrong, &entries, &mut out), "an index past {count} entries");
                }
            }
        }
    }
}

#[test]
fn indexes_are_translated() {
    check_translation::<u8>();
    check_translation::<u16>();
    check_translation::<u32>();
    check_translation::<u64>();
    assert!(translate(Isa::best(), &[], &[], &mut [] as &mut [u8]));
    assert!(!translate(Isa::best(), &[0], &[], &mut [0_u8]));
}

#[test]
fn following_fields_are_those_that_are_packed() {
    let codes: Vec<u32> = noise(8).map(|word| low(word, 27) as u32).take(1000).collect();
    let mut bytes = vec![1, 2, 3, 4];
    pack(&codes, 0, 27, &mut bytes);
    let bits = bytes.len() * 8;
    bytes.extend([0; SPARE]);
    for isa in Isa::available() {
        for part in [0..1000, 8..900, 13..14, 13..999] {
            let mut out = vec![0; part.len()];
            let page = PageBits::new(&bytes, bits).unwrap();
            fields(isa, page, 32 + part.start * 27, 27, 27, &mut out);
            assert_eq!(out, codes[part]);
        }
    }
}
