//! Chunks against the formula, for every instruction set, width and k.

use gingham_kernels::chunks::{AttributeAddress, lookup, run, scatter};
use gingham_kernels::{Isa, Value};

const KS: [u32; 10] = [1, 2, 3, 7, 16, 17, 100, 1000, 1024, 65_536];

fn value(record: usize) -> i128 {
    (record as i128 + 1).wrapping_mul(0x1234_5678_9abc_def1_0fed_cba9_8765_4321)
}

/// Three attributes of the width in each chunk, the second of which is looked at; the chunk ends with some bytes more.
fn check<T: Value + std::fmt::Debug>() {
    let width = size_of::<T>();
    for k in KS {
        for rows in [1, 2, 63, 64, 1000, 1024, 1025, 3000] {
            let chunk = 3 * width * k as usize + 5;
            let place = AttributeAddress::new(k, chunk, width * k as usize);
            let values: Vec<T> = (0..rows).map(|record| T::narrow(value(record))).collect();
            let mut bytes = vec![0xa5; rows.div_ceil(k as usize) * chunk];
            scatter(&values, place, &mut bytes);
            let mut written = vec![false; bytes.len()];
            for (record, value) in values.iter().enumerate() {
                let start = record / k as usize * chunk + width * k as usize + record % k as usize * width;
                assert_eq!(place.address(record as u32, width), start, "record {record} of chunks of {k}");
                let mut alone = vec![0; width];
                scatter(&[*value], AttributeAddress::new(1, width, 0), &mut alone);
                assert_eq!(bytes[start..start + width], alone, "record {record} of chunks of {k}");
                written[start..start + width].fill(true);
            }
            let untouched = bytes.iter().zip(&written).all(|(byte, written)| *written || *byte == 0xa5);
            assert!(untouched, "bytes between the attributes stay");
            for isa in Isa::available() {
                for part in [0..rows, rows / 3..rows, 1.min(rows)..rows - rows / 4, rows..rows] {
                    let mut out = vec![T::default(); part.len()];
                    run(isa, &bytes, place, part.clone(), &mut out);
                    assert_eq!(out, values[part.clone()], "{part:?} of chunks of {k} under {isa:?}");
                }
                let tids: Vec<u32> =
                    (0..rows as u32).map(|at| (at.wrapping_mul(2_654_435_761)) % rows as u32).collect();
                let expected: Vec<T> = tids.iter().map(|tid| values[*tid as usize]).collect();
                let mut out = vec![T::narrow(7)];
                lookup(isa, &bytes, place, &tids, &mut out);
                assert_eq!(out[1..], expected, "lookups in chunks of {k} under {isa:?}");
                lookup(isa, &bytes, place, &[], &mut out);
                assert_eq!(out.len(), rows + 1);
            }
        }
    }
}

#[test]
fn every_width_lies_where_the_formula_says() {
    check::<u8>();
    check::<u16>();
    check::<u32>();
    check::<u64>();
    check::<i128>();
}

#[test]
fn division_is_exact_up_to_the_last_tid() {
    for k in KS.into_iter().chain([u32::MAX, u32::MAX - 1, 1 << 31, (1 << 31) + 1, 999_983]) {
        let place = AttributeAddress::new(k, 1 << 20, 0);
        for tid in (0..1000).chain(u32::MAX - 1000..=u32::MAX).chain((0..1000).map(|at| at * 4_294_967 + 12_345)) {
            let expected = (tid / k) as usize * (1 << 20) + (tid % k) as usize * 4;
            assert_eq!(place.address(tid, 4), expected, "{tid} div {k}");
        }
    }
}

#[test]
#[should_panic(expected = "records end at")]
fn records_past_the_bytes_are_refused() {
    run(Isa::best(), &[0; 99], AttributeAddress::new(1, 10, 2), 0..10, &mut [0_u64; 10]);
}

#[test]
#[should_panic(expected = "of a chunk of")]
fn attributes_past_their_chunk_are_refused() {
    lookup(Isa::best(), &[0; 999], AttributeAddress::new(4, 10, 0), &[1], &mut vec![0_u32]);
}
