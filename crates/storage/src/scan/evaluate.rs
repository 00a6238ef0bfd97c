//! Evaluating a translated predicate on a zone: one bit per record, set where the predicate is TRUE.
//!
//! A leaf compares codes, then ANDs the validity bits in (and ORs the NULLs, for the few leaves that NULL fulfils).
//! The parts of an AND or OR come in the order and way that [`crate::scan::rank`] chose. Column-first, each part is told which
//! records the ones before left undecided: a part that must look at values looks only at those, and when none is left
//! the rest is not read.

use crate::decode::access::{Strings, misfit, slice, with_code, with_codes};
use crate::decode::arrays::{Selection, values};
use crate::decode::gather::{check_chunks, from_chunks, from_packed, packed, spans};
use crate::model::view::{AttributeAddress, ColumnView, PhysicalLayout, code_bytes};
use crate::scan::code::{CodePredicate, CodeTest, Junction, Leaf};
use crate::scan::condition::{Condition, is_true, run_test};
use crate::scan::observe::Tally;
use crate::scan::prune::{Verdict, judge_leaf};
use crate::scan::rank::in_place;
use crate::segment::ZoneMap;
use crate::{ColumnDefinition, ColumnId, Result};
use arrow::array::Array;
use arrow::buffer::Buffer;
use gingham_kernels::packing::{self, Combine, Connective, Options, Packed, Predicate, Test, Way};
use gingham_kernels::{Code, Isa, bits, chunks, integers, scan};

/// Codes of chunks that are copied together at once: they stay in the first-level cache.
const SCRATCH: usize = 1024;

/// A zone as the evaluation sees it: views are asked for when a leaf needs them.
pub(super) struct EvaluatedZone<'a> {
    pub(super) rows: usize,
    pub(super) isa: Isa,
    pub(super) view: &'a dyn Fn(&ColumnDefinition) -> Result<ColumnView>,
    pub(super) zone_map: &'a dyn Fn(ColumnId) -> Option<ZoneMap>,
    /// Where to count what each part lets through, when this zone is looked at closely.
    pub(super) tally: Option<&'a Tally>,
}

impl EvaluatedZone<'_> {
    /// The records that qualify. With `candidates`, only their bits mean anything.
    pub(super) fn evaluate(&self, predicate: &CodePredicate, candidates: Option<&[u64]>) -> Result<Vec<u64>> {
        match predicate {
            CodePredicate::Constant(value) => Ok(self.all(*value)),
            CodePredicate::Leaf(leaf) => match judge_leaf(leaf, self.rows, (self.zone_map)(leaf.column.id)) {
                Verdict::All => Ok(self.all(true)),
                Verdict::None => Ok(self.all(false)),
                Verdict::Some => self.evaluate_leaf(leaf, candidates),
            },
            CodePredicate::Junction(junction) => {
                // Each part can be counted column-first only.
                if junction.way == Way::PredicateFirst
                    && self.tally.is_none()
                    && let Some(result) = self.predicate_first(junction)?
                {
                    return Ok(result);
                }
                self.in_turn(junction, candidates)
            }
        }
    }

    /// One part after the other: column-first, or each for itself.
    fn in_turn(&self, junction: &Junction, candidates: Option<&[u64]>) -> Result<Vec<u64>> {
        let and = junction.connective == Connective::And;
        let mut answer: Option<Vec<u64>> = None;
        // What the parts so far left undecided, where that is not what the answer itself says.
        let mut open: Option<Vec<u64>> = None;
        for part in &junction.parts {
            let known = match &answer {
                Some(answer) if and && candidates.is_none() => Some(answer.as_slice()),
                _ => open.as_deref().or(candidates),
            };
            let result = self.evaluate(part, if junction.way == Way::Baseline { candidates } else { known })?;
            self.count(part, known, &result);
            let answer = match &mut answer {
                None => answer.insert(result),
                Some(answer) => {
                    let join = if and { bits::and } else { bits::or };
                    join(answer, &result);
                    answer
                }
            };
            if !and || candidates.is_some() {
                let open = open.insert(answer.clone());
                if !and {
                    bits::not(open, self.rows);
                }
                if let Some(candidates) = candidates {
                    bits::and(open, candidates);
                }
            }
            if bits::is_empty(open.as_deref().unwrap_or(answer)) {
                break;
            }
        }
        Ok(answer.unwrap_or_else(|| self.all(and)))
    }

    /// Notes which of the undecided records a part lets through.
    pub(super) fn count(&self, part: &CodePredicate, open: Option<&[u64]>, result: &[u64]) {
        let Some(tally) = self.tally else { return };
        let (node, expected) = match part {
            CodePredicate::Constant(_) => return,
            CodePredicate::Leaf(leaf) => {
                if judge_leaf(leaf, self.rows, (self.zone_map)(leaf.column.id)) != Verdict::Some {
                    return;
                }
                (leaf.node, leaf.expected)
            }
            CodePredicate::Junction(junction) => (junction.node, junction.expected),
        };
        let looked = open.map_or(self.rows, |open| bits::count(self.isa, open));
        let mut passed = result.to_vec();
        if let Some(open) = open {
            bits::and(&mut passed, open);
        }
        tally.add(node, looked, bits::count(self.isa, &passed), expected);
    }

    /// All parts over a short run of records before the next; `None` when they are not all comparisons of columns that
    /// lie packed in this zone.
    fn predicate_first(&self, junction: &Junction) -> Result<Option<Vec<u64>>> {
        if !in_place(junction) {
            return Ok(None);
        }
        let mut views = Vec::with_capacity(junction.parts.len());
        for part in &junction.parts {
            let CodePredicate::Leaf(leaf) = part else { return Ok(None) };
            let view = self.view_of(leaf)?;
            let validity = self.validity(&view)?;
            views.push((leaf, view, validity));
        }
        let mut predicates = Vec::with_capacity(views.len());
        for (leaf, view, validity) in &views {
            let test = match leaf.codes {
                CodeTest::Range { low, high } => Test::Between(low, high),
                CodeTest::Outside { low, high } => Test::Outside(low, high),
                _ => return Ok(None),
            };
            // Without memory for the packed form, a column is loaded native.
            let PhysicalLayout::Packed { bytes, format } = &view.shape else { return Ok(None) };
            predicates.push(Predicate { column: packed(view, bytes, *format)?, test, validity: validity.as_deref() });
        }
        let mut result = self.all(false);
        let (rows, way) = (self.rows, Way::PredicateFirst);
        packing::evaluate(self.isa, rows, &predicates, junction.connective, way, true, &mut result);
        Ok(Some(result))
    }

    fn all(&self, value: bool) -> Vec<u64> {
        let mut result = vec![0; bits::words(self.rows)];
        if value {
            bits::fill(&mut result, self.rows);
        }
        result
    }

    fn evaluate_leaf(&self, leaf: &Leaf, candidates: Option<&[u64]>) -> Result<Vec<u64>> {
        let view = self.view_of(leaf)?;
        if let PhysicalLayout::Constant(value) = &view.shape {
            return Ok(self.all(leaf.condition.holds_for(&leaf.column, value)?));
        }
        let mut result = match (&leaf.codes, &view.shape) {
            (CodeTest::All, _) => self.all(true),
            (CodeTest::None, _) => self.all(false),
            (CodeTest::Values, _) => self.evaluate_values(leaf, &view, candidates)?,
            (test, PhysicalLayout::Contiguous { codes, width }) => with_codes!(&view, codes, *width, |codes| {
                let mut result = self.all(false);
                evaluate_codes(self.isa, test, &fitting(test), codes, &mut result);
                Ok(result)
            })?,
            (test, PhysicalLayout::Chunked { bytes, place, width }) => with_code!(&view, *width, C => {
                check_chunks::<C>(&view, bytes, *place)?;
                Ok(self.evaluate_chunks::<C>(test, bytes, *place, candidates))
            })?,
            (test, PhysicalLayout::Packed { bytes, format }) => {
                let packed = packed(&view, bytes, *format)?;
                with_code!(&view, code_bytes(format.width()), C => {
                    Ok(self.evaluate_packed::<C>(test, packed, candidates))
                })?
            }
            _ => return Err(misfit(&view, "codes expected")),
        };
        if let Some(mut valid) = self.validity(&view)? {
            bits::and(&mut result, &valid);
            if leaf.nulls {
                bits::not(&mut valid, self.rows);
                bits::or(&mut result, &valid);
            }
        }
        Ok(result)
    }

    fn view_of(&self, leaf: &Leaf) -> Result<ColumnView> {
        let view = (self.view)(&leaf.column)?;
        if view.rows != self.rows {
            return Err(misfit(&view, &format!("{} records expected", self.rows)));
        }
        Ok(view)
    }

    /// A bit per record whose value is not NULL; `None` where no value is.
    fn validity(&self, view: &ColumnView) -> Result<Option<Vec<u64>>> {
        let Some(validity) = &view.validity else { return Ok(None) };
        if validity.len() < self.rows {
            return Err(misfit(view, &format!("{} validity bits", validity.len())));
        }
        let mut valid = vec![0; bits::words(self.rows)];
        bits::load(validity.values(), validity.offset(), self.rows, &mut valid);
        Ok(Some(valid))
    }

    /// Compares codes in chunks: long runs of them where they lie, others copied together first.
    fn evaluate_chunks<C: Code>(
        &self,
        test: &CodeTest,
        bytes: &Buffer,
        place: AttributeAddress,
        candidates: Option<&[u64]>,
    ) -> Vec<u64> {
        let mut result = self.all(false);
        let fitting = fitting(test);
        // A run starts at a word of the result.
        let long = place.records() >= SCRATCH && place.records().is_multiple_of(64);
        let step = if long { place.records() } else { SCRATCH };
        let mut scratch = Vec::new();
        for (start, out) in (0..self.rows).step_by(step).zip(result.chunks_mut(step / 64)) {
            if candidates.is_some_and(|bits| bits::is_empty(&bits[start / 64..][..out.len()])) {
                continue;
            }
            let rows = start..self.rows.min(start + step);
            let run = &bytes[place.address(start as u32, size_of::<C>())..];
            match integers::<C>(run, rows.len()).filter(|_| long) {
                Some(codes) => evaluate_codes(self.isa, test, &fitting, codes, out),
                None => {
                    scratch.resize(rows.len(), C::default());
                    chunks::run(self.isa, bytes, place, rows, &mut scratch);
                    evaluate_codes(self.isa, test, &fitting, &scratch, out);
                }
            }
        }
        result
    }

    /// Compares packed codes where they lie, column-first: what the candidates have decided is not read.
    fn evaluate_packed<C: Code>(&self, test: &CodeTest, packed: Packed<'_>, candidates: Option<&[u64]>) -> Vec<u64> {
        let isa = self.isa;
        let (mut result, combine) = match candidates {
            Some(candidates) => (candidates.to_vec(), Combine::And),
            None => (self.all(false), Combine::Set),
        };
        let (out, options) = (&mut result, Options::from(combine));
        match test {
            CodeTest::All | CodeTest::Values => bits::fill(out, self.rows),
            CodeTest::None => out.fill(0),
            CodeTest::Range { low, high } => packing::scan(isa, packed, Test::Between(*low, *high), options, out),
            CodeTest::Outside { low, high } => packing::scan(isa, packed, Test::Outside(*low, *high), options, out),
            CodeTest::Any { codes, negated: false } => packing::scan_any(isa, packed, codes, options, out),
            CodeTest::Any { codes, negated: true } => {
                // Of the candidates, those that are to go.
                let mut listed = out.clone();
                packing::scan_any(isa, packed, codes, options, &mut listed);
                if combine == Combine::Set {
                    bits::fill(out, self.rows);
                }
                out.iter_mut().zip(listed).for_each(|(out, listed)| *out &= !listed);
            }
            CodeTest::Bitmap { words, negated: false, .. } => packing::scan_bitmap(isa, packed, words, options, out),
            CodeTest::Bitmap { words, negated: true, .. } => {
                packing::scan_bitmap(isa, packed, words, Options::default(), out);
                bits::not(out, self.rows);
            }
            CodeTest::Sorted { .. } | CodeTest::Set { .. } => {
                let codes = from_packed::<C>(packed, &Selection::Run(0..self.rows), isa);
                out.fill(0);
                evaluate_codes(isa, test, &fitting(test), &codes, out);
            }
        }
        result
    }

    /// A leaf on values that have no codes, or that a test must see.
    fn evaluate_values(&self, leaf: &Leaf, view: &ColumnView, candidates: Option<&[u64]>) -> Result<Vec<u64>> {
        match (&*leaf.condition, &view.shape) {
            (Condition::Test { test, .. }, _) => {
                let candidates = candidates.filter(|bits| bits::count(self.isa, bits) < self.rows / 2);
                let mut result = self.all(false);
                if let Some(candidates) = candidates {
                    let mut tids = Vec::new();
                    bits::to_tids(self.isa, candidates, 0, &mut tids);
                    let values = values(view, &Selection::Tids(&tids), self.isa)?;
                    let results = run_test(&leaf.column, test.as_ref(), &values)?;
                    for (at, tid) in tids.iter().enumerate() {
                        result[*tid as usize / 64] |= u64::from(is_true(&results, at)) << (tid % 64);
                    }
                } else if let PhysicalLayout::Bytes { offsets, bytes } = &view.shape
                    && let Some(found) = test.test_run(Strings::new(view, offsets, bytes)?.offsets(), bytes)
                {
                    result = found;
                } else {
                    let values = values(view, &Selection::Run(0..self.rows), self.isa)?;
                    let results = run_test(&leaf.column, test.as_ref(), &values)?;
                    bits::load(results.values().values(), results.values().offset(), self.rows, &mut result);
                    if let Some(known) = results.nulls() {
                        let mut valid = self.all(false);
                        bits::load(known.validity(), known.offset(), self.rows, &mut valid);
                        bits::and(&mut result, &valid);
                    }
                }
                Ok(result)
            }
            (
                condition @ (Condition::Keys { .. } | Condition::KeySet { .. } | Condition::Among(_)),
                PhysicalLayout::Wide { values },
            ) => {
                let values: &[i128] = slice(view, values, view.rows)?;
                Ok(self.select(candidates, |tid| condition.holds_for_key(values[tid])))
            }
            (
                condition @ (Condition::Bytes { .. } | Condition::BytesSet { .. }),
                PhysicalLayout::Bytes { offsets, bytes },
            ) => {
                let strings = Strings::new(view, offsets, bytes)?;
                Ok(self.select(candidates, |tid| condition.holds_for_bytes(strings.get(tid))))
            }
            (
                condition @ (Condition::Keys { .. } | Condition::KeySet { .. } | Condition::Among(_)),
                PhysicalLayout::Chunked { bytes, place, width: 16 },
            ) => {
                let values: Vec<i128> = from_chunks(view, bytes, *place, &Selection::Run(0..self.rows), self.isa)?;
                Ok(self.select(candidates, |tid| condition.holds_for_key(values[tid])))
            }
            (
                condition @ (Condition::Bytes { .. } | Condition::BytesSet { .. }),
                PhysicalLayout::ChunkedBytes { slots, place, bytes },
            ) => {
                let spans = spans(view, slots, *place, bytes, &Selection::Run(0..self.rows), self.isa)?;
                Ok(self.select(candidates, |tid| condition.holds_for_bytes(&bytes[spans[tid].clone()])))
            }
            _ => Err(misfit(view, "a condition of another class")),
        }
    }

    /// The candidates for which `test` holds.
    fn select(&self, candidates: Option<&[u64]>, test: impl Fn(usize) -> bool) -> Vec<u64> {
        let mut result = match candidates {
            Some(candidates) => candidates.to_vec(),
            None => self.all(true),
        };
        for (at, word) in result.iter_mut().enumerate() {
            let mut rest = *word;
            while rest != 0 {
                let bit = rest.trailing_zeros();
                rest &= rest - 1;
                *word &= !(u64::from(!test(at * 64 + bit as usize)) << bit);
            }
        }
        result
    }
}

/// The codes of a list that fit the native width: others stand for codes that this zone can't have.
fn fitting<C: Code>(test: &CodeTest) -> Vec<C> {
    match test {
        CodeTest::Any { codes, .. } | CodeTest::Sorted { codes, .. } => {
            codes.iter().filter(|code| **code <= C::MAX.to_u64()).map(|code| C::truncate(*code)).collect()
        }
        _ => Vec::new(),
    }
}

/// Compares codes, whose bits in `out` are zero; NULLs count by whatever code their slot has. `list` is what
/// [`fitting`] makes of the test.
fn evaluate_codes<C: Code>(isa: Isa, test: &CodeTest, list: &[C], codes: &[C], out: &mut [u64]) {
    let max = C::MAX.to_u64();
    match test {
        CodeTest::All | CodeTest::Values => bits::fill(out, codes.len()),
        CodeTest::None => {}
        CodeTest::Range { low, .. } if *low > max => {}
        CodeTest::Outside { low, .. } if *low > max => bits::fill(out, codes.len()),
        CodeTest::Range { low, high } => {
            scan::range(isa, codes, C::truncate(*low), C::truncate((*high).min(max)), out);
        }
        CodeTest::Outside { low, high } => {
            scan::outside(isa, codes, C::truncate(*low), C::truncate((*high).min(max)), out);
        }
        CodeTest::Any { .. } => scan::equal_any(isa, codes, list, out),
        CodeTest::Bitmap { words, .. } => scan::in_bitmap(isa, codes, words, out),
        CodeTest::Set { set, base } => {
            for (at, code) in codes.iter().enumerate() {
                out[at / 64] |= u64::from(set.contains(base + i128::from(code.to_u64()))) << (at % 64);
            }
        }
        CodeTest::Sorted { .. } => {
            for (at, code) in codes.iter().enumerate() {
                out[at / 64] |= u64::from(list.binary_search(code).is_ok()) << (at % 64);
            }
        }
    }
    if let CodeTest::Any { negated: true, .. }
    | CodeTest::Bitmap { negated: true, .. }
    | CodeTest::Sorted { negated: true, .. } = test
    {
        bits::not(out, codes.len());
    }
}
