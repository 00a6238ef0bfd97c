//! Predicates on several columns, joined by AND or by OR, in the three ways of the ByteSlice paper (section 3.1.2).
//!
//! What comes out is the rows for which the whole is true. NULLs follow three-valued logic: a predicate on a NULL is
//! not true, so that it fails a conjunction and leaves a disjunction to the others. A negation above the whole belongs
//! into the predicates (NOT (a AND b) is NOT a OR NOT b, and [`Test`] has the negation of each test), since what is
//! neither true nor false stays so.

use super::test::Plan;
use super::{Combine, Options, PART_ROWS, Packed, Packing, Test, byteslice};
use crate::{Isa, bits};

/// A test of one column, as part of a conjunction or disjunction.
#[derive(Debug, Clone, Copy)]
pub struct Predicate<'a> {
    /// The column.
    pub column: Packed<'a>,
    /// What is asked of its codes.
    pub test: Test,
    /// A bit per record, set where the value is not NULL; `None` where there is no NULL.
    pub validity: Option<&'a [u64]>,
}

/// How predicates are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Connective {
    /// All must hold.
    And,
    /// One must hold.
    Or,
}

/// The order of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Way {
    /// Each predicate over its whole column, for itself; then the bits are combined.
    Baseline,
    /// Each over its whole column, leaving out what the ones before have decided (Algorithm 2).
    ColumnFirst,
    /// All predicates over a short run of records before the next: 64 when every column is byte slices of one kind and
    /// no disjunction has NULLs, else 512.
    PredicateFirst,
}

impl Way {
    /// Every way.
    pub const ALL: [Self; 3] = [Self::Baseline, Self::ColumnFirst, Self::PredicateFirst];
}

/// Rows for which the predicates, joined so, are true, in the order in which they come; a conjunction of none is true, a
/// disjunction of none is not. Without `early_stop` no predicate leaves out anything.
///
/// # Panics
/// When columns differ in rows, or `out` or a validity has not one word per 64 of the `rows`.
pub fn evaluate(
    isa: Isa,
    rows: usize,
    predicates: &[Predicate<'_>],
    connective: Connective,
    way: Way,
    early_stop: bool,
    out: &mut [u64],
) {
    assert_eq!(out.len(), bits::words(rows), "words for the bits of {rows} records");
    for predicate in predicates {
        assert_eq!(predicate.column.rows(), rows, "rows of the columns of a complex predicate");
        assert!(predicate.validity.is_none_or(|validity| validity.len() == out.len()), "a validity of {rows} records");
    }
    match way {
        Way::Baseline => baseline(isa, predicates, connective, early_stop, out),
        Way::ColumnFirst => column_first(isa, predicates, connective, early_stop, out),
        Way::PredicateFirst => predicate_first(isa, predicates, connective, early_stop, out),
    }
    bits::cut(out, rows);
}

impl Connective {
    fn combine(self) -> Combine {
        match self {
            Self::And => Combine::And,
            Self::Or => Combine::Or,
        }
    }

    /// 64 bits of the answer before the first predicate.
    fn start(self) -> u64 {
        match self {
            Self::And => u64::MAX,
            Self::Or => 0,
        }
    }
}

fn baseline(isa: Isa, predicates: &[Predicate<'_>], connective: Connective, early_stop: bool, out: &mut [u64]) {
    let mut answers = vec![0; out.len()];
    out.fill(connective.start());
    for predicate in predicates {
        let options = Options { combine: Combine::Set, early_stop };
        super::scan(isa, predicate.column, predicate.test, options, &mut answers);
        if let Some(validity) = predicate.validity {
            bits::and(&mut answers, validity);
        }
        match connective {
            Connective::And => bits::and(out, &answers),
            Connective::Or => bits::or(out, &answers),
        }
    }
}

fn column_first(isa: Isa, predicates: &[Predicate<'_>], connective: Connective, early_stop: bool, out: &mut [u64]) {
    out.fill(connective.start());
    let mut decided = Vec::new();
    for (i, predicate) in predicates.iter().enumerate() {
        let combine = if i == 0 { Combine::Set } else { connective.combine() };
        let options = Options { combine, early_stop };
        match (predicate.validity, connective) {
            (None, _) => super::scan(isa, predicate.column, predicate.test, options, out),
            (Some(validity), Connective::And) => {
                // Before the scan, so that it leaves out NULLs as well.
                bits::and(out, validity);
                let options = Options { combine: Combine::And, early_stop };
                super::scan(isa, predicate.column, predicate.test, options, out);
            }
            (Some(validity), Connective::Or) => {
                // NULLs count as decided for the scan; afterwards only what was true before or is not NULL stays.
                decided.clear();
                decided.extend(out.iter().zip(validity).map(|(word, valid)| word | !valid));
                let options = Options { combine: Combine::Or, early_stop };
                super::scan(isa, predicate.column, predicate.test, options, &mut decided);
                for ((word, decided), valid) in out.iter_mut().zip(&decided).zip(validity) {
                    *word |= decided & valid;
                }
            }
        }
    }
}

fn predicate_first(isa: Isa, predicates: &[Predicate<'_>], connective: Connective, early_stop: bool, out: &mut [u64]) {
    let kind = predicates.first().map(|predicate| predicate.column.format().packing());
    let alike = predicates.iter().all(|predicate| Some(predicate.column.format().packing()) == kind);
    let no_nulls = predicates.iter().all(|predicate| predicate.validity.is_none());
    match kind {
        Some(Packing::ByteSlice | Packing::ByteSlice16) if alike && (no_nulls || connective == Connective::And) => {
            slices_first(isa, predicates, connective, early_stop, out);
        }
        _ => runs_first(isa, predicates, connective, early_stop, out),
    }
}

/// Predicate-first on byte slices of one kind.
fn slices_first(isa: Isa, predicates: &[Predicate<'_>], connective: Connective, early_stop: bool, out: &mut [u64]) {
    let mut comparisons = Vec::with_capacity(predicates.len());
    for predicate in predicates {
        let plan = predicate.test.plan(predicate.column.format().max_code());
        match (plan, connective) {
            (Plan::Compare(comparison, negate), _) => comparisons.push((predicate.column, comparison, negate)),
            (Plan::All, Connective::And) | (Plan::Nothing, Connective::Or) => {}
            (Plan::All, Connective::Or) => return out.fill(u64::MAX),
            (Plan::Nothing, Connective::And) => return out.fill(0),
        }
    }
    byteslice::predicate_first(isa, &comparisons, connective == Connective::And, early_stop, out);
    for validity in predicates.iter().filter_map(|predicate| predicate.validity) {
        bits::and(out, validity);
    }
}

/// Predicate-first on any columns, by runs of [`PART_ROWS`].
fn runs_first(isa: Isa, predicates: &[Predicate<'_>], connective: Connective, early_stop: bool, out: &mut [u64]) {
    let mut parts = Vec::with_capacity(predicates.len());
    let words = PART_ROWS / 64;
    for (i, out) in out.chunks_mut(words).enumerate() {
        parts.clear();
        parts.extend(predicates.iter().map(|predicate| {
            let rows = i * PART_ROWS..predicate.column.rows().min((i + 1) * PART_ROWS);
            let column = predicate.column.part(rows).expect("runs start at multiples of PART_ROWS within the rows");
            let validity = predicate.validity.map(|validity| &validity[i * words..][..out.len()]);
            Predicate { column, test: predicate.test, validity }
        }));
        column_first(isa, &parts, connective, early_stop, out);
    }
}
