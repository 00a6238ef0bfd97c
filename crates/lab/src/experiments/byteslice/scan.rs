//! Scans of one column as variants of a trial: every packing, several tests, the same codes.

use crate::data::{Codes, PackedColumn};
use crate::experiment::{Bench, Error, Laps, Levels, Sizing, Subject, Variant};
use crate::random::Random;
use gingham_kernels::Isa;
use gingham_kernels::packing::{Format, Operator, Options, PART_ROWS, Packing, Test, scan};
use std::cell::RefCell;
use std::rc::Rc;

/// The paper's default selectivity.
pub const SELECTIVITY: f64 = 0.1;

/// The packings that the paper compares, and native codes beside them; in the paper's order of figures' keys.
pub fn packings() -> Vec<Packing> {
    named(&["bit_packed", "hbp", "vbp", "byteslice", "native"])
}

/// The packings of those names.
pub fn named(names: &[&str]) -> Vec<Packing> {
    names.iter().filter_map(|name| Packing::parse(name)).collect()
}

/// A packing's format for codes of `width` bits.
pub fn format(packing: Packing, width: u8) -> Format {
    Format::new(packing, width).expect("the lab's widths are from 1 to 64")
}

/// The formats of several packings.
pub fn formats(packings: &[Packing], width: u8) -> Vec<Format> {
    packings.iter().map(|packing| format(*packing, width)).collect()
}

/// Bytes per row of a trial that holds codes of `width` bits raw and in all `packings`, with `bits` bit vectors.
pub fn footprint(width: u8, packings: &[Packing], bits: usize) -> f64 {
    const ROWS: usize = 1 << 20;
    let packed: usize = packings.iter().map(|packing| format(*packing, width).bytes(ROWS)).sum();
    let raw = usize::from(width).div_ceil(8).next_power_of_two();
    packed as f64 / ROWS as f64 + raw as f64 + bits as f64 / 8.0
}

/// The test that selects about `part` of evenly distributed codes of `width` bits. `=` and `<>` compare with the constant
/// of `<`, since their selectivity is not theirs to choose.
pub fn test(operator: Operator, width: u8, part: f64) -> Test {
    let domain = 2_f64.powi(width.into());
    let share = (part * domain).round().clamp(1.0, domain - 1.0) as u64;
    let max = u64::MAX >> (64 - width);
    let constant = match operator {
        Operator::Less | Operator::Equal | Operator::NotEqual => share,
        Operator::AtMost => share - 1,
        Operator::Greater => max - share,
        Operator::AtLeast => max - share + 1,
    };
    Test::Compare(operator, constant)
}

/// The operator as SQL writes it.
pub fn sign(operator: Operator) -> &'static str {
    match operator {
        Operator::Equal => "=",
        Operator::NotEqual => "<>",
        Operator::Less => "<",
        Operator::AtMost => "<=",
        Operator::Greater => ">",
        Operator::AtLeast => ">=",
    }
}

/// One scan of a trial, under each of its packings.
pub struct Case {
    /// Levels that tell it from the trial's other cases.
    pub levels: Levels,
    /// What is asked.
    pub test: Test,
    /// How.
    pub options: Options,
}

/// The variants of a trial: `cases` over evenly distributed codes in each of `packings`.
pub fn variants(
    bench: &Bench,
    sizing: Sizing,
    width: u8,
    packings: &[Packing],
    cases: Vec<Case>,
) -> Result<Vec<Variant>, Error> {
    let rows = bench.rows(sizing, width, footprint(width, packings, cases.len() + 1));
    let mut random = Random::named(bench.settings.seed, &format!("codes of {width} bits"));
    let codes = Codes::uniform(width, rows, &mut random);
    let shared = vec![("size", sizing.name().to_string()), ("width", width.to_string())];
    Ok(over(&codes, &formats(packings, width), &Setup { isa: bench.isa(), threads: 1, shared }, cases))
}

/// What the variants of [`over`] have in common.
pub struct Setup {
    /// The instruction set.
    pub isa: Isa,
    /// Threads that share the rows.
    pub threads: usize,
    /// Levels of all variants.
    pub shared: Levels,
}

/// `cases` over `codes` in each of `formats`.
pub fn over(codes: &Codes, formats: &[Format], setup: &Setup, cases: Vec<Case>) -> Vec<Variant> {
    let rows = codes.rows();
    let (isa, threads) = (setup.isa, setup.threads);
    let out = Rc::new(RefCell::new(vec![0; rows.div_ceil(64)]));
    let columns: Vec<Rc<PackedColumn>> =
        formats.iter().map(|format| Rc::new(PackedColumn::new(isa, *format, codes))).collect();
    let mut variants = Vec::new();
    for case in cases {
        let expected = Rc::new(codes.select(case.test));
        let selected: u64 = expected.iter().map(|word| u64::from(word.count_ones())).sum();
        for column in &columns {
            let mut levels = setup.shared.clone();
            levels.extend(case.levels.iter().cloned());
            levels.push(("packing", column.format().packing().to_string()));
            let (test, options) = (case.test, case.options);
            let (out, expected) = (Rc::clone(&out), Rc::clone(&expected));
            variants.push(Variant {
                levels,
                units: (rows as f64, "code"),
                facts: vec![
                    ("rows", rows as f64),
                    ("bytes", column.bytes() as f64),
                    ("selectivity", selected as f64 / rows as f64),
                ],
                subject: Box::new(ColumnScan { isa, threads, column: Rc::clone(column), test, options, out, expected }),
            });
        }
    }
    variants
}

/// A scan of a column to a bit vector.
pub struct ColumnScan {
    /// The instruction set.
    pub isa: Isa,
    /// Threads that share the rows.
    pub threads: usize,
    /// The column.
    pub column: Rc<PackedColumn>,
    /// What is asked.
    pub test: Test,
    /// How.
    pub options: Options,
    /// The answer; of all variants of the trial, which run one after the other.
    pub out: Rc<RefCell<Vec<u64>>>,
    /// The oracle's answer.
    pub expected: Rc<Vec<u64>>,
}

impl Subject for ColumnScan {
    fn prepare(&mut self) {
        poison(&mut self.out.borrow_mut(), &self.expected);
    }

    fn run(&mut self, _: &mut Laps) {
        let (isa, test, options) = (self.isa, self.test, self.options);
        let packed = self.column.packed();
        let out = &mut *self.out.borrow_mut();
        if self.threads == 1 {
            return scan(isa, packed, test, options, out);
        }
        let share = packed.rows().div_ceil(self.threads).next_multiple_of(PART_ROWS);
        std::thread::scope(|scope| {
            for (number, words) in out.chunks_mut(share / 64).enumerate() {
                let end = (share * (number + 1)).min(packed.rows());
                let part = packed.part(share * number..end).expect("parts start at a multiple of PART_ROWS");
                scope.spawn(move || scan(isa, part, test, options, words));
            }
        });
    }

    fn check(&mut self) -> Result<(), String> {
        compare_bits(&self.out.borrow(), &self.expected)
    }
}

/// Makes every word wrong, so that no earlier answer can pass for the next one.
pub fn poison(out: &mut [u64], expected: &[u64]) {
    out.iter_mut().zip(expected).for_each(|(out, expected)| *out = !expected);
}

/// Compares two bit vectors; an error names the first row that differs.
pub fn compare_bits(found: &[u64], expected: &[u64]) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    let words = found.iter().zip(expected).enumerate();
    let wrong = words.filter(|(_, (found, expected))| found != expected);
    let rows: u32 = wrong.clone().map(|(_, (found, expected))| (found ^ expected).count_ones()).sum();
    let first = wrong.map(|(word, (found, expected))| word * 64 + (found ^ expected).trailing_zeros() as usize).next();
    Err(format!("{rows} rows differ from the oracle's, the first is row {}", first.unwrap_or(expected.len() * 64)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Mode, Settings};

    #[test]
    fn tests_select_their_part() {
        for width in [1, 4, 8, 12, 20] {
            let codes = Codes::generate(width, 1 << width, {
                let mut next = 0;
                move || {
                    next += 1;
                    next - 1
                }
            });
            let rows = codes.rows() as f64;
            for part in [0.01, 0.1, 0.9] {
                let expected = (part * rows).round().clamp(1.0, rows - 1.0);
                for operator in [Operator::Less, Operator::AtMost, Operator::Greater, Operator::AtLeast] {
                    let bits = codes.select(test(operator, width, part));
                    let selected: u32 = bits.iter().map(|word| word.count_ones()).sum();
                    assert_eq!(f64::from(selected), expected, "{} at {width} bits, {part}", sign(operator));
                }
            }
        }
    }

    #[test]
    fn differences_are_named() {
        assert_eq!(compare_bits(&[1, 2], &[1, 2]), Ok(()));
        let error = compare_bits(&[1, 0b1000], &[1, 0b0011]).unwrap_err();
        assert_eq!(error, "3 rows differ from the oracle's, the first is row 64");
    }

    #[test]
    fn threads_share_the_rows_and_a_wrong_answer_is_seen() {
        let bench = Bench::new(Settings::of(Mode::Tiny));
        let codes = Codes::uniform(12, 3 * 512 + 77, &mut Random::new(2));
        let case = || Case { levels: Vec::new(), test: test(Operator::Less, 12, 0.4), options: Options::default() };
        for threads in [1, 2, 3, 7] {
            let setup = Setup { isa: bench.isa(), threads, shared: Vec::new() };
            for mut variant in over(&codes, &formats(&packings(), 12), &setup, vec![case()]) {
                variant.subject.prepare();
                assert!(variant.subject.check().is_err(), "nothing has run yet");
                variant.subject.run(&mut Laps::start(bench.clock));
                assert_eq!(variant.subject.check(), Ok(()));
            }
        }
    }
}
