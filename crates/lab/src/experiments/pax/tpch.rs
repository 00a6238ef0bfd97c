//! The TPC-H queries of section 7.1 as the paper runs them: scans of pages that push predicates, aggregates on what
//! qualifies, joins by hash tables of the attributes that the query needs, here in memory. Parameters are those of appendix B.

use super::scan::{Operator, Range, RangeQuery, scan};
use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Date32Type, Decimal128Type, Int32Type, Int64Type};
use gingham::storage::Result;
use gingham::storage::lab::{DirectPages, PageColumn};
use std::collections::{BTreeMap, HashMap};

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// Range selections on lineitem whose projected values are written to an output.
    Rs,
    /// Pricing summary.
    Q1,
    /// Revenue change.
    Q6,
    /// Shipping modes and priorities.
    Q12,
    /// Promotions.
    Q14,
}

impl Question {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Rs, Self::Q1, Self::Q6, Self::Q12, Self::Q14];

    /// Its name as a level.
    pub fn name(self) -> &'static str {
        ["RS", "Q1", "Q6", "Q12", "Q14"][self as usize]
    }
}

/// The tables that are asked: their pages, or the batches that these were loaded from.
#[derive(Debug, Clone, Copy)]
pub enum Tables<'t> {
    /// lineitem, orders and part in pages.
    Pages([&'t DirectPages; 3]),
    /// Tables as record batches.
    Batches([&'t [RecordBatch]; 3]),
}

/// Numbers of tables.
const LINEITEM: usize = 0;
const ORDERS: usize = 1;
const PART: usize = 2;

/// Attributes of lineitem.
const ORDERKEY: usize = 0;
const PARTKEY: usize = 1;
const SUPPKEY: usize = 2;
const QUANTITY: usize = 4;
const PRICE: usize = 5;
const DISCOUNT: usize = 6;
const TAX: usize = 7;
const FLAG: usize = 8;
const STATUS: usize = 9;
const SHIPPED: usize = 10;
const COMMITTED: usize = 11;
const RECEIVED: usize = 12;
const MODE: usize = 14;

/// Days since 1970 as codes of dates.
const fn day(days: u64) -> u64 {
    days + (1 << 31)
}

/// The signed number of a code of 8 bytes.
#[inline]
fn number(code: u64) -> i128 {
    (code ^ (1 << 63)).cast_signed().into()
}

/// The code of 8 bytes of a number.
const fn code(number: i64) -> u64 {
    number.cast_unsigned() ^ (1 << 63)
}

/// An answer: its groups and their numbers.
pub type GroupAnswer = BTreeMap<Vec<u8>, Vec<i128>>;

/// Answers a question.
pub fn answer(tables: Tables<'_>, question: Question) -> Result<GroupAnswer> {
    match question {
        Question::Rs => selections(tables),
        Question::Q1 => {
            let mut pricing = Pricing::default();
            tables.scan(LINEITEM, &mut pricing)?;
            Ok(pricing.groups.into_iter().map(|(key, sums)| (key.to_vec(), sums.to_vec())).collect())
        }
        Question::Q6 => {
            let mut revenue = Revenue(0);
            tables.scan(LINEITEM, &mut revenue)?;
            Ok([(Vec::new(), vec![revenue.0])].into())
        }
        Question::Q12 => {
            let mut orders = Orders::default();
            tables.scan(ORDERS, &mut orders)?;
            let mut modes = Modes { urgent: &orders.urgent, groups: BTreeMap::new() };
            tables.scan(LINEITEM, &mut modes)?;
            Ok(modes.groups)
        }
        Question::Q14 => {
            let mut parts = Parts::default();
            tables.scan(PART, &mut parts)?;
            let mut share = Share { promoted: &parts.promoted, sums: [0; 2] };
            tables.scan(LINEITEM, &mut share)?;
            Ok([(Vec::new(), share.sums.to_vec())].into())
        }
    }
}

impl Tables<'_> {
    fn scan(self, table: usize, operator: &mut impl Operator) -> Result<()> {
        match self {
            Self::Pages(pages) => scan(pages[table], operator),
            Self::Batches(batches) => {
                for batch in batches[table] {
                    let column = |attribute: &usize| BatchColumn(batch.column(*attribute).as_ref());
                    let columns: Vec<_> = operator.attributes().iter().map(column).collect();
                    operator.page(&columns, batch.num_rows());
                }
                Ok(())
            }
        }
    }
}

/// A column of a batch with the codes that pages have.
struct BatchColumn<'b>(&'b dyn Array);

impl PageColumn for BatchColumn<'_> {
    fn code(&self, row: usize) -> u64 {
        match self.0.data_type() {
            DataType::Int64 => code(self.0.as_primitive::<Int64Type>().value(row)),
            DataType::Decimal128(..) => code(self.0.as_primitive::<Decimal128Type>().value(row) as i64),
            DataType::Int32 => (i64::from(self.0.as_primitive::<Int32Type>().value(row)) + (1 << 31)) as u64,
            _ => (i64::from(self.0.as_primitive::<Date32Type>().value(row)) + (1 << 31)) as u64,
        }
    }

    fn bytes(&self, row: usize) -> &[u8] {
        self.0.as_string_view().value(row).as_bytes()
    }
}

/// A selection whose projected values are written out.
struct SelectionOutput {
    query: RangeQuery,
    attributes: Vec<usize>,
    rows: Vec<u64>,
}

impl Operator for SelectionOutput {
    fn attributes(&self) -> &[usize] {
        &self.attributes
    }

    #[inline]
    fn page<C: PageColumn>(&mut self, columns: &[C], rows: usize) {
        let (tested, projected) = columns.split_at(self.query.ranges.len());
        for row in 0..rows {
            if self.query.ranges.iter().zip(tested).all(|(range, column)| range.holds(column.code(row))) {
                self.rows.extend(projected.iter().map(|column| column.code(row)));
            }
        }
    }
}

/// Selections of about a tenth of lineitem, by the orders' dates of shipping and with more predicates that all pass, of one
/// attribute and of four. The answer is the output's length and sum.
fn selections(tables: Tables<'_>) -> Result<GroupAnswer> {
    let all = |attribute| Range { attribute, low: 0, high: u64::MAX };
    // 1994-06-01 to 1995-02-01 of seven years.
    let first = Range { attribute: SHIPPED, low: day(8916), high: day(9163) };
    let mut answer = GroupAnswer::new();
    for ranges in [vec![first], vec![first, all(QUANTITY), all(DISCOUNT)]] {
        for projected in [vec![PRICE], vec![PRICE, SUPPKEY, PARTKEY, TAX]] {
            let attributes = ranges.iter().map(|range| range.attribute).chain(projected.iter().copied()).collect();
            let name = format!("{} of {}", projected.len(), ranges.len()).into_bytes();
            let mut output = SelectionOutput {
                query: RangeQuery { ranges: ranges.clone(), projected },
                attributes,
                rows: Vec::new(),
            };
            tables.scan(LINEITEM, &mut output)?;
            let sum = output.rows.iter().map(|code| number(*code)).sum();
            answer.insert(name, vec![output.rows.len() as i128, sum]);
        }
    }
    Ok(answer)
}

/// Query 1: quantity, price, discounted price, charge, discount and number of each group.
#[derive(Default)]
struct Pricing {
    groups: Vec<([u8; 2], [i128; 6])>,
}

impl Operator for Pricing {
    fn attributes(&self) -> &[usize] {
        &[SHIPPED, FLAG, STATUS, QUANTITY, PRICE, DISCOUNT, TAX]
    }

    #[inline]
    fn page<C: PageColumn>(&mut self, columns: &[C], rows: usize) {
        let [shipped, flag, status, quantity, price, discount, tax] = columns else { return };
        for row in 0..rows {
            if shipped.code(row) > day(10_445) {
                continue;
            }
            let first = |bytes: &[u8]| bytes.first().copied().unwrap_or(b' ');
            let key = [first(flag.bytes(row)), first(status.bytes(row))];
            let known = self.groups.iter().position(|(known, _)| *known == key);
            let place = known.unwrap_or_else(|| {
                self.groups.push((key, [0; 6]));
                self.groups.len() - 1
            });
            let (price, discount) = (number(price.code(row)), number(discount.code(row)));
            let discounted = price * (100 - discount);
            let charge = discounted * (100 + number(tax.code(row)));
            let values = [number(quantity.code(row)), price, discounted, charge, discount, 1];
            self.groups[place].1.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
    }
}

/// Query 6.
struct Revenue(i128);

impl Operator for Revenue {
    fn attributes(&self) -> &[usize] {
        &[SHIPPED, DISCOUNT, QUANTITY, PRICE]
    }

    #[inline]
    fn page<C: PageColumn>(&mut self, columns: &[C], rows: usize) {
        let [shipped, discount, quantity, price] = columns else { return };
        let (year, discounts) = (day(9862)..day(10_227), code(4)..=code(6));
        for row in 0..rows {
            let holds = year.contains(&shipped.code(row))
                && discounts.contains(&discount.code(row))
                && quantity.code(row) < code(2400);
            if holds {
                self.0 += number(price.code(row)) * number(discount.code(row));
            }
        }
    }
}

/// The build side of query 12: whether an order is urgent.
#[derive(Default)]
struct Orders {
    urgent: HashMap<u64, bool>,
}

impl Operator for Orders {
    fn attributes(&self) -> &[usize] {
        &[0, 5]
    }

    #[inline]
    fn page<C: PageColumn>(&mut self, columns: &[C], rows: usize) {
        let [key, priority] = columns else { return };
        self.urgent.extend((0..rows).map(|row| {
            let priority = priority.bytes(row);
            (key.code(row), priority == b"1-URGENT" || priority == b"2-HIGH")
        }));
    }
}

/// The probe side of query 12.
struct Modes<'o> {
    urgent: &'o HashMap<u64, bool>,
    groups: GroupAnswer,
}

impl Operator for Modes<'_> {
    fn attributes(&self) -> &[usize] {
        &[RECEIVED, COMMITTED, SHIPPED, MODE, ORDERKEY]
    }

    #[inline]
    fn page<C: PageColumn>(&mut self, columns: &[C], rows: usize) {
        let [received, committed, shipped, mode, key] = columns else { return };
        let year = day(8766)..day(9131);
        for row in 0..rows {
            let (arrived, promised) = (received.code(row), committed.code(row));
            if !year.contains(&arrived) || promised >= arrived || shipped.code(row) >= promised {
                continue;
            }
            let mode = mode.bytes(row);
            if mode != b"SHIP" && mode != b"RAIL" {
                continue;
            }
            if let Some(urgent) = self.urgent.get(&key.code(row)) {
                let counts = self.groups.entry(mode.to_vec()).or_insert_with(|| vec![0; 2]);
                counts[usize::from(!urgent)] += 1;
            }
        }
    }
}

/// The build side of query 14: whether a part is promoted.
#[derive(Default)]
struct Parts {
    promoted: HashMap<u64, bool>,
}

impl Operator for Parts {
    fn attributes(&self) -> &[usize] {
        &[0, 4]
    }

    #[inline]
    fn page<C: PageColumn>(&mut self, columns: &[C], rows: usize) {
        let [key, kind] = columns else { return };
        self.promoted.extend((0..rows).map(|row| (key.code(row), kind.bytes(row).starts_with(b"PROMO"))));
    }
}

/// The probe side of query 14: promoted revenue, and all of it.
struct Share<'p> {
    promoted: &'p HashMap<u64, bool>,
    sums: [i128; 2],
}

impl Operator for Share<'_> {
    fn attributes(&self) -> &[usize] {
        &[SHIPPED, PARTKEY, PRICE, DISCOUNT]
    }

    #[inline]
    fn page<C: PageColumn>(&mut self, columns: &[C], rows: usize) {
        let [shipped, key, price, discount] = columns else { return };
        let month = day(10_105)..day(10_135);
        for row in (0..rows).filter(|row| month.contains(&shipped.code(*row))) {
            if let Some(promoted) = self.promoted.get(&key.code(row)) {
                let revenue = number(price.code(row)) * (100 - number(discount.code(row)));
                self.sums[0] += if *promoted { revenue } else { 0 };
                self.sums[1] += revenue;
            }
        }
    }
}
