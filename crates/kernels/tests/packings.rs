//! Every packing under every instruction set of this machine against a plain loop over the codes: all widths, lengths
//! round the edges of vectors and segments, bytes at odd addresses, codes that differ early, late or not at all.

mod common;

use common::Numbers;
use gingham_kernels::lab::variants;
use gingham_kernels::packing::{
    self, Combine, Connective, Format, Operator, Options, Packed, Packing, Predicate, Test, Way,
};
use gingham_kernels::{Code, Isa};

/// Lengths round the edges of registers, result words, segments and the runs of 4096 codes.
const LENGTHS: &[usize] = &[
    0, 1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 300, 447, 448, 449, 511, 512, 513, 767, 768,
    1000, 1023, 1024, 1025, 1537, 4095, 4096, 4097, 4700,
];

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

/// How codes are spread over their domain.
#[derive(Debug, Clone, Copy)]
enum Spread {
    /// Evenly, with many at the ends.
    Random,
    /// About one code, so that they agree in all but their last bits, and runs that agree in their first.
    Skewed,
    /// Ascending: long runs are decided by the first bits.
    Sorted,
}

const SPREADS: [Spread; 3] = [Spread::Random, Spread::Skewed, Spread::Sorted];

fn codes(numbers: &mut Numbers, rows: usize, max: u64, spread: Spread) -> Vec<u64> {
    let centre = numbers.next() & max;
    let mut codes: Vec<u64> = (0..rows)
        .map(|row| match spread {
            Spread::Random | Spread::Sorted => match numbers.next() % 8 {
                0 => 0,
                1 => max,
                _ => numbers.next() & max,
            },
            Spread::Skewed if row / 600 % 2 == 1 => centre.wrapping_add(numbers.next() & max >> 7) & max,
            Spread::Skewed => centre.wrapping_add(numbers.next() % 5) & max,
        })
        .collect();
    if matches!(spread, Spread::Sorted) {
        codes.sort_unstable();
    }
    codes
}

/// A packed column whose bytes start at an odd address and end where its format says.
struct Column {
    format: Format,
    codes: Vec<u64>,
    bytes: Vec<u8>,
    offset: usize,
}

impl Column {
    fn new(format: Format, codes: Vec<u64>, offset: usize) -> Self {
        let mut bytes = vec![0xee; offset];
        packing::pack(Isa::best(), format, &codes, &mut bytes);
        assert_eq!(bytes.len() - offset, format.bytes(codes.len()), "{format:?}");
        Self { format, codes, bytes, offset }
    }

    fn packed(&self) -> Packed<'_> {
        Packed::new(self.format, self.codes.len(), &self.bytes[self.offset..]).unwrap()
    }
}

/// Every format of `width` bits.
fn formats(width: u8) -> impl Iterator<Item = Format> {
    Packing::ALL.into_iter().flat_map(move |packing| {
        let format = Format::new(packing, width).unwrap();
        [format.with_segment_bits(256).unwrap(), format]
    })
}

/// Calls `check` with columns of every format, width and spread, each in several of the lengths, and what makes the
/// next numbers.
fn each_column(seed: u64, lengths_each: usize, mut check: impl FnMut(&Column, &mut Numbers)) {
    let mut numbers = Numbers(seed);
    let mut length = 0;
    for width in 1..=64 {
        for format in formats(width) {
            for spread in SPREADS {
                for _ in 0..lengths_each {
                    length = (length + 1) % LENGTHS.len();
                    let codes = codes(&mut numbers, LENGTHS[length], format.max_code(), spread);
                    let offset = numbers.below(5);
                    check(&Column::new(format, codes, offset), &mut numbers);
                }
            }
        }
    }
}

fn words(rows: usize, mut bit: impl FnMut(usize) -> bool) -> Vec<u64> {
    let mut words = vec![0; rows.div_ceil(64)];
    (0..rows).for_each(|row| words[row / 64] |= u64::from(bit(row)) << (row % 64));
    words
}

/// Bits of a previous predicate: none, few, many or all in a run.
fn previous(numbers: &mut Numbers, rows: usize) -> Vec<u64> {
    let mut density = 0;
    words(rows, |row| {
        if row % 192 == 0 {
            density = numbers.next() % 5;
        }
        match density {
            0 => false,
            1 => numbers.next().is_multiple_of(40),
            2 => numbers.next().is_multiple_of(2),
            3 => !numbers.next().is_multiple_of(40),
            _ => true,
        }
    })
}

const OPTIONS: [Options; 6] = {
    let mut all = [Options { combine: Combine::Set, early_stop: true }; 6];
    let mut i = 0;
    while i < 6 {
        all[i].combine = [Combine::Set, Combine::And, Combine::Or][i / 2];
        all[i].early_stop = i % 2 == 0;
        i += 1;
    }
    all
};

/// Runs a scan under every instruction set and option, and holds it against the answer `expected`.
fn assert_scan(
    column: &Column,
    expected: &[u64],
    previous: &[u64],
    what: &dyn Fn() -> String,
    scan: &dyn Fn(Isa, Options, &mut [u64]),
) {
    let rows = column.codes.len();
    for isa in Isa::available() {
        for options in OPTIONS {
            // The words of a `Set` come in full of ones, so that one left alone is seen.
            let mut out = match options.combine {
                Combine::Set => vec![u64::MAX; expected.len()],
                _ => previous.to_vec(),
            };
            scan(isa, options, &mut out);
            for (i, out) in out.iter().enumerate() {
                let expected = match options.combine {
                    Combine::Set => expected[i],
                    Combine::And => expected[i] & previous[i],
                    Combine::Or => expected[i] | previous[i],
                };
                assert_eq!(
                    *out,
                    expected,
                    "word {i}: {}, {rows} rows, {:?}, {isa:?}, {options:?}",
                    what(),
                    column.format
                );
            }
        }
    }
}

/// Constants that matter to a column: the ends of the domain and past them, and codes that it has.
fn constants(column: &Column, numbers: &mut Numbers) -> Vec<u64> {
    let max = column.format.max_code();
    let mut constants = vec![0, 1, max / 2, max, max.saturating_add(1), u64::MAX];
    for _ in 0..3 {
        if !column.codes.is_empty() {
            let code = column.codes[numbers.below(column.codes.len())];
            constants.extend([code, code.wrapping_add(numbers.next() % 3).wrapping_sub(1)]);
        }
    }
    constants
}

#[test]
fn scans() {
    each_column(1, 1, |column, numbers| {
        let rows = column.codes.len();
        let constants = constants(column, numbers);
        let compare = |constant| Operator::ALL.map(|operator| Test::Compare(operator, constant));
        let mut tests: Vec<Test> = constants.iter().flat_map(|constant| compare(*constant)).collect();
        for _ in 0..8 {
            let [low, high] = [(); 2].map(|()| constants[numbers.below(constants.len())]);
            tests.extend([Test::Between(low, high), Test::Outside(low, high)]);
        }
        let previous = previous(numbers, rows);
        for test in tests {
            let expected = words(rows, |row| test.holds(column.codes[row]));
            assert_scan(column, &expected, &previous, &|| format!("{test:?}"), &|isa, options, out| {
                packing::scan(isa, column.packed(), test, options, out);
            });
        }
    });
}

#[test]
fn operators_hold() {
    use Operator::{AtLeast, AtMost, Equal, Greater, Less, NotEqual};
    let holds = |left, right| Operator::ALL.into_iter().filter(move |operator| operator.holds(left, right));
    assert!(holds(1, 2).eq([NotEqual, Less, AtMost]));
    assert!(holds(2, 2).eq([Equal, AtMost, AtLeast]));
    assert!(holds(3, 2).eq([NotEqual, Greater, AtLeast]));
    assert_eq!([1, 2, 3, 4, 5].map(|code| Test::Between(2, 4).holds(code)), [false, true, true, true, false]);
    assert_eq!([1, 2, 3, 4, 5].map(|code| Test::Outside(2, 4).holds(code)), [true, false, false, false, true]);
    assert!(Test::Outside(4, 2).holds(3) && !Test::Between(4, 2).holds(3));
}

#[test]
fn lists_and_bitmaps() {
    each_column(2, 1, |column, numbers| {
        let rows = column.codes.len();
        let previous = previous(numbers, rows);
        let constants = constants(column, numbers);
        for length in [0, 1, 2, 7, 20] {
            let values: Vec<u64> = (0..length).map(|_| constants[numbers.below(constants.len())]).collect();
            let expected = words(rows, |row| values.contains(&column.codes[row]));
            assert_scan(column, &expected, &previous, &|| format!("any of {values:?}"), &|isa, options, out| {
                packing::scan_any(isa, column.packed(), &values, options, out);
            });
        }
        for length in [0, 1, 4, 5, 70] {
            let bitmap: Vec<u64> = (0..length).map(|_| numbers.next()).collect();
            let in_bitmap =
                |code: u64| bitmap.get((code / 64) as usize).is_some_and(|word| word >> (code % 64) & 1 == 1);
            let expected = words(rows, |row| in_bitmap(column.codes[row]));
            assert_scan(column, &expected, &previous, &|| format!("bitmap of {length} words"), &|isa, options, out| {
                packing::scan_bitmap(isa, column.packed(), &bitmap, options, out);
            });
        }
    });
}

#[test]
fn columns_against_columns() {
    each_column(3, 1, |column, numbers| {
        let (rows, max) = (column.codes.len(), column.format.max_code());
        let near = |numbers: &mut Numbers, code: u64| match numbers.next() % 4 {
            0 => code.wrapping_add(1) & max,
            1 => numbers.next() & max,
            _ => code,
        };
        let others: Vec<u64> = column.codes.iter().map(|code| near(numbers, *code)).collect();
        let previous = previous(numbers, rows);
        let packings = [column.format.packing(), Packing::ALL[numbers.below(Packing::ALL.len())]];
        for packing in packings {
            let other = Column::new(Format::new(packing, column.format.width()).unwrap(), others.clone(), 1);
            for operator in Operator::ALL {
                let expected = words(rows, |row| operator.holds(column.codes[row], others[row]));
                assert_scan(
                    column,
                    &expected,
                    &previous,
                    &|| format!("{operator:?} {packing}"),
                    &|isa, options, out| {
                        packing::compare(isa, column.packed(), operator, other.packed(), options, out);
                    },
                );
            }
        }
    });
    // Codes of different widths: what they mean is the same.
    let narrow = Column::new(Format::new(Packing::ByteSlice, 9).unwrap(), vec![0, 5, 511, 77], 0);
    let wide = Column::new(Format::new(Packing::ByteSlice, 20).unwrap(), vec![1, 5, 510, 1 << 19], 0);
    for isa in Isa::available() {
        let mut out = [0];
        packing::compare(isa, narrow.packed(), Operator::Less, wide.packed(), Options::default(), &mut out);
        assert_eq!(out, [0b1001]);
    }
}

/// Checks what gives codes back as integers of type `C`.
fn assert_codes<C: Code>(column: &Column, tids: &[u32], bits: &[u64], numbers: &mut Numbers) {
    if C::BITS < u32::from(column.format.width()) {
        return;
    }
    let (packed, rows) = (column.packed(), column.codes.len());
    let at = |row: usize| C::truncate(column.codes[row]);
    let start = numbers.below(rows + 1);
    let end = start + numbers.below(rows - start + 1);
    for isa in Isa::available() {
        let what = || format!("{:?}, {rows} rows, {isa:?}, to {} bits", column.format, C::BITS);
        for range in [0..rows, start..end, end..rows, 0..start] {
            let mut out = vec![C::MAX];
            packing::unpack(isa, packed, range.clone(), &mut out);
            assert!(out[1..].iter().copied().eq(range.map(at)), "unpack: {}", what());
        }
        let mut out = vec![C::MAX];
        packing::lookup(isa, packed, tids, &mut out);
        assert!(out[1..].iter().copied().eq(tids.iter().map(|tid| at(*tid as usize))), "lookup: {}", what());
        // Many of the codes, and few.
        for mask in [u64::MAX, 1 << 40 | 1] {
            let (bits, mut out) = (bits.iter().map(|word| word & mask).collect::<Vec<_>>(), vec![C::MAX]);
            packing::lookup_bits(isa, packed, &bits, &mut out);
            let set = (0..rows).filter(|row| bits[row / 64] >> (row % 64) & 1 == 1);
            assert!(out[1..].iter().copied().eq(set.map(at)), "lookup of bits: {}", what());
        }
        let mut bytes = Vec::new();
        let codes: Vec<C> = (0..rows).map(at).collect();
        packing::pack(isa, column.format, &codes[..start], &mut bytes);
        packing::append(isa, column.format, start, &codes[start..end], &mut bytes);
        packing::append(isa, column.format, end, &codes[end..], &mut bytes);
        assert!(bytes == column.bytes[column.offset..], "append at {start} and {end}: {}", what());
    }
}

#[test]
fn codes_come_back() {
    each_column(4, 1, |column, numbers| {
        let rows = column.codes.len();
        for (row, code) in column.codes.iter().enumerate() {
            assert_eq!(packing::get(column.packed(), row as u32), *code, "row {row} of {:?}", column.format);
        }
        let mut tids: Vec<u32> = (0..rows).map(|_| numbers.below(rows) as u32).collect();
        if numbers.next().is_multiple_of(2) {
            tids.sort_unstable();
        }
        let bits = previous(numbers, rows);
        assert_codes::<u8>(column, &tids, &bits, numbers);
        assert_codes::<u16>(column, &tids, &bits, numbers);
        assert_codes::<u32>(column, &tids, &bits, numbers);
        assert_codes::<u64>(column, &tids, &bits, numbers);
    });
}

#[test]
fn lookups_past_the_cache() {
    let mut numbers = Numbers(6);
    let rows = 500_000;
    for packing in Packing::ALL {
        let format = Format::new(packing, 19).unwrap();
        let column = Column::new(format, codes(&mut numbers, rows, format.max_code(), Spread::Random), 1);
        assert!(column.bytes.len() > 1 << 20, "lookups don't read ahead in {} bytes", column.bytes.len());
        let mut tids: Vec<u32> = (0..3000).map(|_| numbers.below(rows) as u32).collect();
        for _ in 0..2 {
            for isa in Isa::available() {
                let mut out = Vec::<u32>::new();
                packing::lookup(isa, column.packed(), &tids, &mut out);
                let expected = tids.iter().map(|tid| column.codes[*tid as usize] as u32);
                assert!(out.into_iter().eq(expected), "{format:?}, {isa:?}");
            }
            // Again in order, with runs of neighbours.
            tids.extend(7000..8000);
            tids.sort_unstable();
        }
    }
}

#[test]
fn parts_are_columns() {
    let mut numbers = Numbers(5);
    for width in [1, 3, 8, 11, 16, 23, 33, 64] {
        for format in formats(width) {
            let column = Column::new(format, codes(&mut numbers, 3000, format.max_code(), Spread::Random), 3);
            for range in [0..3000, 512..3000, 1024..1025, 1536..2560, 2560..3000, 512..512] {
                let part = column.packed().part(range.clone()).unwrap().part(0..range.len()).unwrap();
                let expected = &column.codes[range.clone()];
                let test = Test::Compare(Operator::Less, format.max_code() / 2);
                for isa in Isa::available() {
                    let mut out = vec![u64::MAX; range.len().div_ceil(64)];
                    packing::scan(isa, part, test, Options::default(), &mut out);
                    assert_eq!(out, words(range.len(), |row| test.holds(expected[row])), "{format:?}, {isa:?}");
                    let mut all = Vec::<u64>::new();
                    packing::unpack(isa, part, 0..range.len(), &mut all);
                    assert_eq!(all, expected, "{format:?}, {isa:?}");
                    let (mut out, last) = (Vec::<u64>::new(), range.len().saturating_sub(1));
                    packing::lookup(isa, part, &vec![last as u32; range.len().min(1)], &mut out);
                    assert!(out.iter().eq(expected.last()), "{format:?}, {isa:?}");
                }
                if let Some(last) = expected.last() {
                    assert_eq!(packing::get(part, range.len() as u32 - 1), *last);
                }
            }
            assert!(column.packed().part(511..600).is_none() && column.packed().part(0..3001).is_none());
        }
    }
}

#[test]
fn formats_are_checked() {
    for packing in Packing::ALL {
        assert_eq!(Packing::parse(packing.name()), Some(packing));
        assert!(Format::new(packing, 0).is_err() && Format::new(packing, 65).is_err());
        let format = Format::new(packing, 13).unwrap();
        assert_eq!((format.packing(), format.width(), format.max_code()), (packing, 13, 8191));
        assert!(format.with_segment_bits(128).is_err());
        assert_eq!(format.bytes(0), 0);
        let bytes = vec![0; format.bytes(100)];
        assert_eq!(Packed::new(format, 100, &bytes).unwrap().rows(), 100);
        let error = Packed::new(format, 100, &bytes[1..]).unwrap_err().to_string();
        assert_eq!(error, format!("{} bytes of packed codes, which take {}", bytes.len() - 1, bytes.len()));
        assert!(Packed::new(format, packing::MAX_ROWS + 1, &bytes).is_err());
        assert!(Packed::new(format, packing::MAX_ROWS, &bytes).is_err());
    }
    assert_eq!(Packing::parse("byte slice"), None);
}

#[test]
fn bits_above_the_width_are_cut_off() {
    for format in formats(5) {
        let column = Column::new(format, vec![0xffe1, 0x20, 0x1f], 0);
        let mut out = Vec::<u8>::new();
        packing::unpack(Isa::best(), column.packed(), 0..3, &mut out);
        assert_eq!(out, [1, 0, 31], "{format:?}");
    }
}

#[test]
#[should_panic(expected = "TID 3 in a run of 3 records")]
fn lookup_past_the_rows() {
    let column = Column::new(Format::new(Packing::ByteSlice, 5).unwrap(), vec![1, 2, 3], 0);
    packing::lookup::<u8>(Isa::best(), column.packed(), &[0, 3], &mut Vec::new());
}

#[test]
#[should_panic(expected = "codes of 9 bits don't fit 8")]
fn lookup_into_too_few_bits() {
    let column = Column::new(Format::new(Packing::ByteSlice, 9).unwrap(), vec![1, 2, 3], 0);
    packing::lookup::<u8>(Isa::best(), column.packed(), &[0], &mut Vec::new());
}

#[test]
#[should_panic(expected = "a bit set past the last of 3 records")]
fn bits_past_the_rows() {
    let column = Column::new(Format::new(Packing::ByteSlice, 9).unwrap(), vec![1, 2, 3], 0);
    packing::lookup_bits::<u16>(Isa::best(), column.packed(), &[8], &mut Vec::new());
}

/// Code of a row in the compat file: the upper bits of multiples of the golden ratio.
fn compat_code(row: usize, width: u8) -> u64 {
    (row as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - width)
}

#[test]
fn compat_file_is_read() {
    let file = include_str!("../../../tests/compat/packings-v1.txt");
    let mut found = Vec::new();
    for line in file.lines().filter(|line| !line.starts_with('#')) {
        let [packing, width, segment_bits, rows, hex] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("five fields: {line}");
        };
        let packing = Packing::parse(packing).unwrap();
        found.push(packing);
        let width = width.parse().unwrap();
        let rows: usize = rows.parse().unwrap();
        let format = Format::new(packing, width).unwrap().with_segment_bits(segment_bits.parse().unwrap()).unwrap();
        let bytes: Vec<u8> =
            (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
        let codes: Vec<u64> = (0..rows).map(|row| compat_code(row, width)).collect();
        for isa in Isa::available() {
            let mut out = Vec::<u64>::new();
            packing::unpack(isa, Packed::new(format, rows, &bytes).unwrap(), 0..rows, &mut out);
            assert_eq!(out, codes, "{format:?}, {isa:?}");
            let mut packed = Vec::new();
            packing::pack(isa, format, &codes, &mut packed);
            assert_eq!(packed, bytes, "{format:?}, {isa:?}");
        }
    }
    assert!(Packing::ALL.iter().all(|packing| found.contains(packing)), "a packing without a line in the compat file");
}

/// Three columns of the same rows, in packings that differ or not, with tests and validities.
fn complex_predicates(numbers: &mut Numbers, rows: usize, packings: [Packing; 3]) -> Vec<(Column, Test, Vec<u64>)> {
    packings
        .into_iter()
        .map(|packing| {
            let format = Format::new(packing, 1 + numbers.below(40) as u8).unwrap();
            let spread = SPREADS[numbers.below(3)];
            let column = Column::new(format, codes(numbers, rows, format.max_code(), spread), numbers.below(5));
            let constants = constants(&column, numbers);
            let [low, high] = [(); 2].map(|()| constants[numbers.below(constants.len())]);
            let test = match numbers.below(8) {
                6 => Test::Between(low, high),
                7 => Test::Outside(low, high),
                operator => Test::Compare(Operator::ALL[operator], low),
            };
            (column, test, previous(numbers, rows))
        })
        .collect()
}

#[test]
fn complex_predicates_in_every_way() {
    let mut numbers = Numbers(6);
    for round in 0..700 {
        let rows = LENGTHS[round % LENGTHS.len()];
        let first = Packing::ALL[round % Packing::ALL.len()];
        let alike = numbers.next().is_multiple_of(2);
        let other = |numbers: &mut Numbers| if alike { first } else { Packing::ALL[numbers.below(Packing::ALL.len())] };
        let packings = [first, other(&mut numbers), other(&mut numbers)];
        let columns = complex_predicates(&mut numbers, rows, packings);
        let nulls = numbers.below(8);
        let predicates: Vec<Predicate<'_>> = columns
            .iter()
            .enumerate()
            .map(|(i, (column, test, validity))| {
                let validity = (nulls >> i & 1 == 1).then_some(&validity[..]);
                Predicate { column: column.packed(), test: *test, validity }
            })
            .collect();
        let holds = |i: usize, row: usize| {
            let (column, test, validity) = &columns[i];
            test.holds(column.codes[row]) && (nulls >> i & 1 == 0 || validity[row / 64] >> (row % 64) & 1 == 1)
        };
        for length in 0..=columns.len() {
            for connective in [Connective::And, Connective::Or] {
                let expected = words(rows, |row| match connective {
                    Connective::And => (0..length).all(|i| holds(i, row)),
                    Connective::Or => (0..length).any(|i| holds(i, row)),
                });
                for (isa, way) in Isa::available().flat_map(|isa| Way::ALL.map(|way| (isa, way))) {
                    for early_stop in [true, false] {
                        let mut out = vec![0x55; rows.div_ceil(64)];
                        packing::evaluate(isa, rows, &predicates[..length], connective, way, early_stop, &mut out);
                        assert_eq!(out, expected, "{isa:?}, {connective:?}, {way:?}, {:?}", &predicates[..length]);
                    }
                }
            }
        }
    }
}

#[test]
fn expanded_conditions() {
    let mut numbers = Numbers(7);
    for round in 0..2000 {
        let packing = [Packing::ByteSlice, Packing::ByteSlice16][round % 2];
        let format = Format::new(packing, 1 + numbers.below(64) as u8).unwrap();
        let rows = LENGTHS[round % LENGTHS.len()];
        let spread = SPREADS[numbers.below(3)];
        let column = Column::new(format, codes(&mut numbers, rows, format.max_code(), spread), numbers.below(5));
        let constants = constants(&column, &mut numbers);
        let operator = Operator::ALL[numbers.below(6)];
        let tests = constants.iter().map(|constant| Test::Compare(operator, *constant));
        let between = Test::Between(constants[0].min(constants[6 % constants.len()]), constants[2]);
        let before = previous(&mut numbers, rows);
        for test in tests.chain([between]) {
            for (isa, combine) in Isa::available().flat_map(|isa| [Combine::And, Combine::Or].map(|way| (isa, way))) {
                let (mut out, mut expected) = (before.clone(), before.clone());
                variants::scan_expanded(isa, column.packed(), test, combine, &mut out);
                packing::scan(Isa::Scalar, column.packed(), test, Options::from(combine), &mut expected);
                assert_eq!(out, expected, "{isa:?}, {test:?}, {combine:?}, {format:?}, {rows} rows");
            }
        }
    }
}

#[test]
fn tails_of_bits() {
    let mut numbers = Numbers(8);
    for width in 1..=64 {
        for spread in SPREADS {
            let format = Format::new(Packing::ByteSlice, width).unwrap();
            let rows = LENGTHS[numbers.below(LENGTHS.len())];
            let column = Column::new(format, codes(&mut numbers, rows, format.max_code(), spread), 0);
            let tail = variants::BitTail::new(Isa::best(), width, &column.codes).unwrap();
            assert!((0..rows).all(|row| tail.get(row as u32) == column.codes[row]), "{width} bits, {rows} rows");
            for constant in constants(&column, &mut numbers) {
                for isa in Isa::available() {
                    let mut out = vec![u64::MAX; rows.div_ceil(64)];
                    tail.scan_less(isa, constant, &mut out);
                    assert_eq!(
                        out,
                        words(rows, |row| column.codes[row] < constant),
                        "{isa:?}, {width} bits, {rows} rows"
                    );
                }
            }
        }
    }
    assert_eq!(variants::BitTail::new(Isa::best(), 11, &[0; 512]).unwrap().bytes(), 512 + 3 * 64);
}

#[test]
fn slices_are_counted() {
    // 20 bits in three slices: the constant's are 0x12, 0x34 and 0x50.
    let format = Format::new(Packing::ByteSlice, 20).unwrap();
    let mut codes = vec![0; 100];
    codes[40] = 0x12000;
    codes[70] = 0x12344;
    let column = Column::new(format, codes, 0);
    assert_eq!(variants::slices_needed(column.packed(), 0x12345, 32), [2, 1, 1]);
    assert_eq!(variants::slices_needed(column.packed(), 0x12345, 64), [0, 1, 1]);
    assert_eq!(variants::slices_needed(column.packed(), 0x22345, 64), [2, 0, 0]);
}
