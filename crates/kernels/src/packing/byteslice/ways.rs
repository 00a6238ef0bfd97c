//! How a scan of slices goes about its answer, which is the same in every way: what callers leave to the machine, and
//! tests and experiments choose.

use crate::cache::last_cache;

/// The way of a scan.
#[derive(Clone, Copy)]
pub(super) struct Ways {
    /// The bits of a previous predicate are expanded to masks: [`scan_expanded`](super::variants::scan_expanded).
    pub(super) expanded: bool,
    /// Bytes of the scanned rows in a slice beyond which answers go past the caches. Such a scan leaves nothing in them
    /// that the next reader could find first, and reading 64 bytes for 8 of answers is all that it does: to read those 8
    /// before they are written took a sixth of the time (Zen 5, codes of 8 bits). A wider column that has its first slice
    /// in cache is scanned from there, mostly.
    pub(super) far: usize,
}

impl Ways {
    /// Those of every query.
    pub(super) fn usual() -> Self {
        Self { expanded: false, far: last_cache() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{Combine, Options, test::Comparison};
    use super::super::{Format, Packed, Packing, Ways, bytes, pack, scan, scan_in};
    use crate::{Isa, bits::cut};

    /// Lengths around those of words, groups of words, and runs of groups at one depth.
    const LENGTHS: [usize; 14] = [0, 1, 63, 64, 65, 511, 512, 513, 1023, 1024, 4097, 5000, 8192, 20_011];

    /// Codes in runs: evenly spread ones, those near the constant in all of their slices but the last, and the
    /// constant itself.
    fn codes(rows: usize, max: u64, constant: u64) -> Vec<u64> {
        let mut state = rows as u64 + 1;
        let code = |row| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            match row / 700 % 3 {
                0 => (state >> 16) & max,
                1 => constant ^ (state >> 60 & max),
                _ => constant,
            }
        };
        (0..rows).map(code).collect()
    }

    /// Scans past the caches, whatever the column's size, and as usual, under every instruction set.
    fn assert_same(packed: Packed<'_>, comparison: Comparison, negate: bool, early_stop: bool) {
        let options = Options { combine: Combine::Set, early_stop };
        let words = packed.rows().div_ceil(64);
        // A word more on either side, and full of ones, so that one too many and one left alone are seen.
        let mut expected = vec![u64::MAX; words + 2];
        scan(Isa::Scalar, packed, comparison, negate, options, &mut expected[1..=words]);
        cut(&mut expected[1..=words], packed.rows());
        for isa in Isa::available() {
            let mut out = vec![u64::MAX; words + 2];
            let ways = Ways { expanded: false, far: 0 };
            scan_in(isa, packed, comparison, negate, options, ways, &mut out[1..=words]);
            cut(&mut out[1..=words], packed.rows());
            assert_eq!(out, expected, "{isa:?}, {comparison:?}, {negate}, {packed:?}");
        }
    }

    #[test]
    fn past_the_caches() {
        for (i, width) in [3, 8, 12, 16, 23, 32, 64].into_iter().enumerate() {
            for packing in [Packing::ByteSlice, Packing::ByteSlice16] {
                let format = Format::new(packing, width).unwrap();
                let max = format.max_code();
                for (j, rows) in LENGTHS.into_iter().enumerate() {
                    let constant = max / 3;
                    let codes = codes(rows, max, constant);
                    let mut packed = vec![0; bytes(format, rows)];
                    pack(Isa::Scalar, format, &codes, &mut packed);
                    let packed = Packed::new(format, rows, &packed).unwrap();
                    let comparisons = [
                        Comparison::Equal(constant),
                        Comparison::Less(constant),
                        Comparison::Within { low: constant / 2, end: constant },
                    ];
                    for comparison in comparisons {
                        for negate in [false, true] {
                            assert_same(packed, comparison, negate, (i + j) % 3 > 0);
                        }
                    }
                }
            }
        }
    }
}
