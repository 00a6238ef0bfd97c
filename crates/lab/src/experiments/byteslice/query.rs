//! The selection and projection of a query over a wide table (section 4.2): scans combined column-first to one bit vector,
//! then lookups of the projected attributes at its set bits, in every packing.

use super::scan::{compare_bits, format, packings, poison};
use crate::data::PackedColumn;
use crate::data::wide::{Attribute, Wide};
use crate::experiment::{Bench, Laps, Levels, Subject, Variant};
use gingham_kernels::packing::{Combine, Operator, Options, Test, compare, lookup_bits, scan};
use gingham_kernels::{Isa, bits};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// What a query selects by. Attributes are named by their place in the wide table.
#[derive(Debug, Clone)]
pub enum Condition {
    /// A test of one attribute.
    Test(usize, Test),
    /// A comparison of two attributes whose codes mean the same.
    Compare(usize, Operator, usize),
    /// All of them.
    And(Vec<Condition>),
    /// At least one of them.
    Or(Vec<Condition>),
}

impl Condition {
    /// The places of all attributes.
    fn places(&self, found: &mut BTreeSet<usize>) {
        match self {
            Self::Test(place, _) => found.extend([*place]),
            Self::Compare(left, _, right) => found.extend([*left, *right]),
            Self::And(parts) | Self::Or(parts) => parts.iter().for_each(|part| part.places(found)),
        }
    }

    /// Whether it holds of a row: the oracle.
    fn holds(&self, wide: &Wide, row: usize) -> bool {
        let code = |place: usize| wide.attributes[place].codes.get(row);
        match self {
            Self::Test(place, test) => test.holds(code(*place)),
            Self::Compare(left, operator, right) => operator.holds(code(*left), code(*right)),
            Self::And(parts) => parts.iter().all(|part| part.holds(wide, row)),
            Self::Or(parts) => parts.iter().any(|part| part.holds(wide, row)),
        }
    }
}

/// Conditions on the attributes of one table, by their names.
pub struct WideTable<'a>(pub &'a Wide);

impl WideTable<'_> {
    fn attribute(&self, name: &str) -> (usize, &Attribute) {
        let place = self.0.place(name);
        (place, &self.0.attributes[place])
    }

    /// `low <= number < end`
    pub fn within(&self, name: &str, low: i64, end: i64) -> Condition {
        let (place, attribute) = self.attribute(name);
        match (attribute.at_least(low), attribute.at_least(end)) {
            (low, end) if low < end => Condition::Test(place, Test::Between(low, end - 1)),
            // No code is less than 0.
            _ => Condition::Test(place, Test::Compare(Operator::Less, 0)),
        }
    }

    /// `number < end`
    pub fn below(&self, name: &str, end: i64) -> Condition {
        let (place, attribute) = self.attribute(name);
        Condition::Test(place, Test::Compare(Operator::Less, attribute.at_least(end)))
    }

    /// `number >= low`
    pub fn at_least(&self, name: &str, low: i64) -> Condition {
        let (place, attribute) = self.attribute(name);
        Condition::Test(place, Test::Compare(Operator::AtLeast, attribute.at_least(low)))
    }

    /// `text = …`; nothing equals a text that the column does not have.
    pub fn is(&self, name: &str, text: &str) -> Condition {
        let (place, attribute) = self.attribute(name);
        // A skewed table has the same dictionaries, so only small tables lack a text.
        let code = if attribute.has_text(text) { attribute.of_text(text) } else { u64::MAX };
        Condition::Test(place, Test::Compare(Operator::Equal, code))
    }

    /// `text IN (…)`
    pub fn is_any(&self, name: &str, texts: &[&str]) -> Condition {
        Condition::Or(texts.iter().map(|text| self.is(name, text)).collect())
    }

    /// A comparison of two attributes.
    pub fn compare(&self, left: &str, operator: Operator, right: &str) -> Condition {
        Condition::Compare(self.0.place(left), operator, self.0.place(right))
    }
}

/// A query: what it selects by, and the attributes that it looks up.
pub struct WideQuery {
    /// Its name in figures.
    pub name: &'static str,
    /// What it selects by.
    pub condition: Condition,
    /// The names of what it projects.
    pub projection: &'static [&'static str],
}

/// The variants of a query: one for each packing, with the `shared` levels.
pub fn variants(bench: &Bench, wide: &Wide, query: &WideQuery, shared: &Levels) -> Vec<Variant> {
    let rows = wide.rows();
    let projection: Vec<usize> = query.projection.iter().map(|name| wide.place(name)).collect();
    let mut places: BTreeSet<usize> = projection.iter().copied().collect();
    query.condition.places(&mut places);
    let selected: Vec<usize> = (0..rows).filter(|row| query.condition.holds(wide, *row)).collect();
    let mut expected_bits = vec![0; bits::words(rows)];
    selected.iter().for_each(|row| expected_bits[row / 64] |= 1 << (row % 64));
    let projected = |place: &usize| selected.iter().map(|row| wide.attributes[*place].codes.get(*row) as u32).collect();
    let expected = Rc::new(ExpectedQuery { bits: expected_bits, codes: projection.iter().map(projected).collect() });
    let out = Rc::new(RefCell::new(QueryOutput {
        bits: vec![0; bits::words(rows)],
        codes: projection.iter().map(|_| Vec::with_capacity(selected.len())).collect(),
    }));
    packings()
        .into_iter()
        .map(|packing| {
            let column = |place: &usize| {
                let attribute = &wide.attributes[*place];
                (*place, PackedColumn::new(bench.isa(), format(packing, attribute.width), &attribute.codes))
            };
            let columns: BTreeMap<usize, PackedColumn> = places.iter().map(column).collect();
            let mut levels = shared.clone();
            levels.extend([("query", query.name.to_string()), ("packing", packing.to_string())]);
            Variant {
                levels,
                units: (rows as f64, "tuple"),
                facts: vec![
                    ("rows", rows as f64),
                    ("bytes", columns.values().map(PackedColumn::bytes).sum::<usize>() as f64),
                    ("selectivity", selected.len() as f64 / rows as f64),
                ],
                subject: Box::new(Selection {
                    isa: bench.isa(),
                    columns,
                    condition: query.condition.clone(),
                    projection: projection.clone(),
                    out: Rc::clone(&out),
                    spare: RefCell::default(),
                    expected: Rc::clone(&expected),
                }),
            }
        })
        .collect()
}

/// A query's answer: its rows' bits, and the codes of each projected attribute.
struct QueryOutput {
    bits: Vec<u64>,
    codes: Vec<Vec<u32>>,
}

struct ExpectedQuery {
    bits: Vec<u64>,
    codes: Vec<Vec<u32>>,
}

/// A query in one packing.
struct Selection {
    isa: Isa,
    columns: BTreeMap<usize, PackedColumn>,
    condition: Condition,
    projection: Vec<usize>,
    out: Rc<RefCell<QueryOutput>>,
    /// Bit vectors of parts that can't be combined in place, kept so that no run pays for new memory.
    spare: RefCell<Vec<Vec<u64>>>,
    expected: Rc<ExpectedQuery>,
}

impl Selection {
    /// Combines the condition's rows with the bits in `out`. Parts of an AND are scanned column after column, each told
    /// by the bits so far which codes still matter.
    fn select(&self, condition: &Condition, combine: Combine, out: &mut [u64]) {
        let column = |place: &usize| self.columns[place].packed();
        match condition {
            Condition::Test(place, test) => scan(self.isa, column(place), *test, combine.into(), out),
            Condition::Compare(left, operator, right) => {
                compare(self.isa, column(left), *operator, column(right), Options::from(combine), out);
            }
            Condition::And(parts) => self.select_all(parts, Combine::And, combine, out),
            Condition::Or(parts) => self.select_all(parts, Combine::Or, combine, out),
        }
    }

    /// Combines parts with each other by `inner`, and the whole with `out` by `combine`.
    fn select_all(&self, parts: &[Condition], inner: Combine, combine: Combine, out: &mut [u64]) {
        let in_place = combine == Combine::Set || combine == inner;
        if in_place {
            for (number, part) in parts.iter().enumerate() {
                self.select(part, if number == 0 { combine } else { inner }, out);
            }
            return;
        }
        let spare = self.spare.borrow_mut().pop();
        let mut whole = spare.unwrap_or_else(|| vec![0; out.len()]);
        self.select_all(parts, inner, Combine::Set, &mut whole);
        match combine {
            Combine::And => bits::and(out, &whole),
            _ => bits::or(out, &whole),
        }
        self.spare.borrow_mut().push(whole);
    }
}

impl Subject for Selection {
    fn prepare(&mut self) {
        poison(&mut self.out.borrow_mut().bits, &self.expected.bits);
    }

    fn run(&mut self, laps: &mut Laps) {
        let out = &mut *self.out.borrow_mut();
        self.select(&self.condition, Combine::Set, &mut out.bits);
        laps.lap("scan");
        for (place, codes) in self.projection.iter().zip(&mut out.codes) {
            codes.clear();
            lookup_bits(self.isa, self.columns[place].packed(), &out.bits, codes);
        }
        laps.lap("lookup");
    }

    fn check(&mut self) -> Result<(), String> {
        let out = self.out.borrow();
        compare_bits(&out.bits, &self.expected.bits)?;
        let differs = out.codes.iter().zip(&self.expected.codes).position(|(found, expected)| found != expected);
        differs
            .map_or(Ok(()), |place| Err(format!("the codes of projected attribute {place} differ from the oracle's")))
    }
}
