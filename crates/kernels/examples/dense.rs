//! The cost of decoding entries of dense pages, beside what is done already: ticks of the time stamp counter for each code, by
//! instruction set, the best of some rounds that take turns. `cargo run --release -p gingham-kernels --example dense`; it takes seconds.

use gingham_kernels::bitpack::{pack, unpack};
use gingham_kernels::dense::{
    Deltas, PageBits, Runs, SPARE, expand_runs, fields, fields_at, sum_deltas, translate, zeros_bits,
};
use gingham_kernels::{Isa, ticks};
use std::hint::black_box;

/// Codes of a zone, and of a page of 32 KB with codes of 16 bits.
const CODES: usize = 1 << 14;
const ROUNDS: usize = 400;

fn mixed(number: u64) -> u64 {
    let state = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

/// A kernel under a name.
type Kernel<'a> = (String, Box<dyn FnMut(Isa) + 'a>);

/// The best of all rounds, in which the kernels take turns.
fn compare(title: &str, mut kernels: Vec<Kernel<'_>>) {
    for isa in Isa::available() {
        let mut best = vec![u64::MAX; kernels.len()];
        for _ in 0..ROUNDS {
            for ((_, kernel), best) in kernels.iter_mut().zip(&mut best) {
                let start = ticks().unwrap_or(0);
                kernel(isa);
                *best = (*best).min(ticks().unwrap_or(0) - start);
            }
        }
        let first = best[0] as f64;
        for ((name, _), best) in kernels.iter().zip(&best) {
            let (each, share) = (*best as f64 / CODES as f64, *best as f64 / first);
            println!("{title:<22} {:<7} {name:<34} {each:>7.3} ticks a code, {share:>5.2} of the first", isa.name());
        }
    }
}

fn padded(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.extend([0; SPARE]);
    bytes
}

/// Bits of a fixed stride, and the same through a dictionary, beside the unpacking of blocks.
fn bit_fields() {
    for width in [5, 11, 17, 27] {
        let codes: Vec<u32> = (0..CODES as u64).map(|row| (mixed(row) & ((1 << width) - 1)) as u32).collect();
        let mut bytes = vec![0; 4];
        pack(&codes, 0, width, &mut bytes);
        let (bytes, bits) = (padded(bytes.clone()), bytes.len() * 8);
        let page = PageBits::new(&bytes, bits).expect("bytes to spare");
        let (mut one, mut two) = (vec![0_u32; CODES], vec![0_u32; CODES]);
        let (mut indexes, mut three) = (vec![0_u16; CODES], vec![0_u32; CODES]);
        let entries: Vec<u32> = (0..1_u64 << width.min(12)).map(|entry| mixed(entry) as u32).collect();
        let mut kernels: Vec<Kernel<'_>> = vec![
            (format!("unpack, {width} bits"), Box::new(|isa| unpack(isa, &bytes[4..], width, 0, black_box(&mut one)))),
            (
                format!("bit_packed, {width} bits"),
                Box::new(|isa| fields(isa, page, 32, width as usize, width, black_box(&mut two))),
            ),
        ];
        if width <= 12 {
            kernels.push((
                format!("page_dictionary, {width} bits"),
                Box::new(|isa| {
                    for (indexes, (at, out)) in indexes.chunks_mut(2048).zip((0..).zip(three.chunks_mut(2048))) {
                        fields(isa, page, 32 + at * 2048 * width as usize, width as usize, width, indexes);
                        assert!(translate(isa, indexes, &entries, black_box(out)));
                    }
                }),
            ));
        }
        compare("fields", kernels);
    }
}

fn runs() {
    for length in [4_usize, 16, 64, 256, 4096] {
        let words: Vec<u8> = (0..CODES.div_ceil(length) as u32)
            .flat_map(|run| ((run % 100) | ((length as u32) << 12)).to_le_bytes())
            .collect();
        let (mut one, mut two) = (vec![0_u32; CODES], vec![0_u32; CODES]);
        let kernels: Vec<Kernel<'_>> = vec![
            ("fill".into(), Box::new(|_| black_box(&mut one).fill(black_box(7)))),
            (
                format!("run_length, runs of {length}"),
                Box::new(|isa| {
                    assert!(expand_runs(
                        isa,
                        Runs { words: &words, word_bytes: 4, code_bits: 12 },
                        0,
                        black_box(&mut two)
                    ));
                }),
            ),
        ];
        compare("runs", kernels);
    }
}

/// Rows of `rest` bits behind a delta-coded number, and one column of them.
fn tuples() {
    let (width, rest) = (50_u32, 90_usize);
    let mut bits: Vec<bool> = Vec::new();
    let mut put = |value: u64, count: u32| bits.extend((0..count).map(|bit| value >> bit & 1 == 1));
    let mut number = 0_u64;
    put(0, width);
    put(0, rest as u32 - 64);
    put(mixed(9), 64);
    for row in 1..CODES as u64 {
        let difference = mixed(row) >> (64 - 17 - mixed(row) % 4);
        number += difference;
        let zeros = difference.leading_zeros() - (64 - width);
        put(zeros.into(), zeros_bits(width));
        put(difference, width - zeros);
        put(mixed(row), 64);
        put(mixed(row), rest as u32 - 64);
    }
    black_box(number);
    let bytes = bits.chunks(8).map(|bits| bits.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit))).collect();
    let (bytes, all) = (padded(bytes), bits.len());
    let page = PageBits::new(&bytes, all).expect("bytes to spare");
    let (mut numbers, mut starts, mut out) = (vec![0; CODES], vec![0; CODES], vec![0_u32; CODES]);
    let deltas = Deltas { first: 0, before: None, width, rest };
    assert!(sum_deltas(Isa::Scalar, page, deltas, &mut numbers, &mut starts));
    let known = starts.clone();
    let mut strided = vec![0_u32; CODES];
    let kernels: Vec<Kernel<'_>> = vec![
        (
            "delta of a tuple".into(),
            Box::new(|isa| assert!(sum_deltas(isa, page, deltas, black_box(&mut numbers), &mut starts))),
        ),
        ("a field behind it".into(), Box::new(|isa| fields_at(isa, page, &known, 20, 27, black_box(&mut out)))),
        (
            "a field every 150 bits".into(),
            Box::new(|isa| {
                let count = CODES.min((all - 200) / 150);
                fields(isa, page, 20, 150, 27, black_box(&mut strided[..count]));
            }),
        ),
    ];
    compare("tuples", kernels);
}

fn main() {
    bit_fields();
    runs();
    tuples();
}
