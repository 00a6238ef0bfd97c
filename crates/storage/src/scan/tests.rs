//! Scans of views built by hand against the same condition on plain values, one record at a time.

use crate::decode::{decode, lookup};
use crate::model::dictionary::DictionaryVersion;
use crate::model::view::{CodeMeaning, ColumnView, PhysicalLayout, float_order, real_order};
use crate::scan::code::{CodePredicate, Junction, Reach};
use crate::scan::estimate::Metadata;
use crate::scan::evaluate::EvaluatedZone;
use crate::scan::observe::Tally;
use crate::scan::prune::{Verdict, judge};
use crate::scan::translate::{Facts, Prepared, translate};
use crate::segment::ZoneMap;
use crate::segment::group::GroupMeta;
use crate::{
    ColumnDefinition, ColumnId, ColumnTest, Datum, FloatBits, Layout, LogicalType, Predicate, Result, TableDefinition,
    TableName, Unit,
};
use arrow::array::*;
use arrow::buffer::{BooleanBuffer, Buffer};
use arrow::datatypes::*;
use gingham_kernels::Isa;
use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

pub(crate) mod order;
pub(crate) mod output;
pub(crate) mod shapes;

/// A fixed sequence of well-mixed numbers.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn chance(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }
}

/// How a column of the test is stored.
#[derive(Debug, Clone, Copy)]
enum Storing {
    Codes { width: u8, spread: u64 },
    Wide,
    Scaled { digits: u8 },
    Ordered,
    Dictionary { entries: usize, width: u8 },
    Bytes,
    Constant,
}

/// A column of the test.
struct Column {
    definition: ColumnDefinition,
    values: Vec<Datum>,
    view: ColumnView,
    facts: Facts,
    zone_map: Option<ZoneMap>,
}

fn kinds() -> Vec<(LogicalType, Storing)> {
    use LogicalType::*;
    let codes = |width, spread| Storing::Codes { width, spread };
    vec![
        (Boolean, codes(1, 2)),
        (Boolean, codes(1, 1)),
        (Int(8), codes(1, 256)),
        (Int(16), codes(2, 300)),
        (Int(32), codes(1, 40)),
        (Int(32), codes(4, 1 << 32)),
        (Int(64), codes(2, 1 << 16)),
        (Int(64), codes(8, u64::MAX)),
        (UInt(8), codes(1, 256)),
        (UInt(16), codes(1, 7)),
        (UInt(32), codes(4, 1 << 20)),
        (UInt(64), codes(8, u64::MAX)),
        (Decimal { precision: 15, scale: 2 }, codes(4, 1 << 30)),
        (Decimal { precision: 38, scale: 0 }, codes(8, 1 << 60)),
        (Decimal { precision: 38, scale: 5 }, Storing::Wide),
        (Date, codes(2, 2500)),
        (Time(Unit::Second), codes(4, 86_400)),
        (Time(Unit::Millisecond), codes(4, 86_400)),
        (Time(Unit::Microsecond), codes(4, 86_400)),
        (Time(Unit::Nanosecond), codes(8, 1 << 40)),
        (Timestamp(Unit::Second, None), codes(4, 1 << 20)),
        (Timestamp(Unit::Millisecond, Some("+02:00".into())), codes(4, 1 << 20)),
        (Timestamp(Unit::Microsecond, None), codes(8, 1 << 50)),
        (Timestamp(Unit::Nanosecond, None), codes(8, 1 << 50)),
        (Float64, Storing::Scaled { digits: 2 }),
        (Float64, Storing::Scaled { digits: 0 }),
        (Float64, Storing::Ordered),
        (Float32, Storing::Ordered),
        (Varchar(None), Storing::Dictionary { entries: 5, width: 1 }),
        (Char(20), Storing::Dictionary { entries: 400, width: 2 }),
        (Binary, Storing::Dictionary { entries: 900, width: 4 }),
        (Varchar(None), Storing::Bytes),
        (Binary, Storing::Bytes),
        (Int(32), Storing::Constant),
        (Varchar(Some(30)), Storing::Constant),
        (Float32, Storing::Constant),
    ]
}

/// A code below `spread`, often small so that values repeat.
fn code(numbers: &mut Numbers, spread: u64) -> u64 {
    match numbers.below(4) {
        0 => numbers.next() % spread.min(3),
        1 => spread - 1 - numbers.next() % spread.min(3),
        _ => numbers.next() % spread,
    }
}

fn string(numbers: &mut Numbers) -> String {
    let length = [0, 1, 3, 11, 12, 13, 30][numbers.below(7)];
    (0..length).map(|_| ['a', 'b', 'é', 'z'][numbers.below(4)]).collect()
}

fn pack(codes: &[u64], width: u8) -> Buffer {
    match width {
        1 => Buffer::from_vec(codes.iter().map(|code| *code as u8).collect()),
        2 => Buffer::from_vec(codes.iter().map(|code| *code as u16).collect()),
        4 => Buffer::from_vec(codes.iter().map(|code| *code as u32).collect()),
        _ => Buffer::from_vec(codes.to_vec()),
    }
}

/// Values, codes (when there are any), shape, meaning and largest code.
fn stored(
    numbers: &mut Numbers,
    logical_type: &LogicalType,
    storing: Storing,
    rows: usize,
) -> (Vec<Datum>, Option<Vec<u64>>, PhysicalLayout, CodeMeaning) {
    match storing {
        Storing::Codes { width, spread } => {
            let base: i128 = match logical_type {
                LogicalType::Boolean => (2 - spread).into(),
                LogicalType::UInt(_) => 0,
                LogicalType::Int(64) if width == 8 => i64::MIN.into(),
                LogicalType::Int(32) if width == 4 => i32::MIN.into(),
                LogicalType::Int(8) => -128,
                LogicalType::Decimal { scale: 0, .. } => 10i128.pow(36),
                LogicalType::Time(_) => 0,
                _ => -100,
            };
            let codes: Vec<u64> = (0..rows).map(|_| code(numbers, spread)).collect();
            let values = codes.iter().map(|code| Datum::Integer(base + i128::from(*code))).collect();
            let shape = PhysicalLayout::Contiguous { codes: pack(&codes, width), width };
            (values, Some(codes), shape, CodeMeaning::FrameOfReference { base })
        }
        Storing::Wide => {
            let wide: Vec<i128> =
                (0..rows).map(|_| i128::from(code(numbers, 1 << 40) as i64 - (1 << 39)) * 10i128.pow(20)).collect();
            let values = wide.iter().map(|value| Datum::Integer(*value)).collect();
            (values, None, PhysicalLayout::Wide { values: Buffer::from_vec(wide) }, CodeMeaning::Value)
        }
        Storing::Scaled { digits } => {
            let base = -500;
            let codes: Vec<u64> = (0..rows).map(|_| code(numbers, 2000)).collect();
            let value = |code: &u64| (base + *code as i64) as f64 / 10f64.powi(digits.into());
            let values = codes.iter().map(|code| Datum::Float(FloatBits::new(value(code)))).collect();
            let shape = PhysicalLayout::Contiguous { codes: pack(&codes, 2), width: 2 };
            (values, Some(codes), shape, CodeMeaning::ScaledFloat { base, digits })
        }
        Storing::Ordered => {
            let special =
                [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.5, -1e-300, f64::MAX, -f64::NAN, 1e-40];
            let mut float = |_| match numbers.below(3) {
                0 => special[numbers.below(special.len())],
                _ => numbers.below(1000) as f64 / 7.0 - 50.0,
            };
            let real = *logical_type == LogicalType::Float32;
            let floats: Vec<f64> = (0..rows).map(&mut float).collect();
            let floats: Vec<f64> =
                floats.into_iter().map(|float| if real { f64::from(float as f32) } else { float }).collect();
            let order = |float: &f64| if real { real_order(*float as f32).into() } else { float_order(*float) };
            let base = floats.iter().map(order).min().unwrap_or(0);
            let codes: Vec<u64> = floats.iter().map(|float| order(float) - base).collect();
            let values = floats.iter().map(|float| Datum::Float(FloatBits::new(*float))).collect();
            let width = if real { 4 } else { 8 };
            (
                values,
                Some(codes.clone()),
                PhysicalLayout::Contiguous { codes: pack(&codes, width), width },
                CodeMeaning::FloatOrder { base },
            )
        }
        Storing::Dictionary { entries, width } => {
            let entries: Vec<String> =
                (0..entries).map(|_| string(numbers)).collect::<BTreeSet<_>>().into_iter().collect();
            let codes: Vec<u64> = (0..rows).map(|_| code(numbers, entries.len() as u64)).collect();
            let values = codes.iter().map(|code| Datum::Bytes(entries[*code as usize].as_bytes().into())).collect();
            let newest = (0..entries.len() as u32).collect();
            let entries: ArrayRef = match logical_type {
                LogicalType::Binary => Arc::new(BinaryViewArray::from_iter_values(entries)),
                _ => Arc::new(StringViewArray::from_iter_values(entries)),
            };
            let version = Arc::new(DictionaryVersion { version: 1 + entries.len() as u32, entries, newest });
            let shape = PhysicalLayout::Contiguous { codes: pack(&codes, width), width };
            (values, Some(codes), shape, CodeMeaning::Dictionary(version))
        }
        Storing::Bytes => {
            let strings: Vec<String> = (0..rows).map(|_| string(numbers)).collect();
            let mut offsets = vec![5u32];
            let mut bytes = b"junk!".to_vec();
            for string in &strings {
                bytes.extend_from_slice(string.as_bytes());
                offsets.push(bytes.len() as u32);
            }
            let values = strings.iter().map(|string| Datum::Bytes(string.as_bytes().into())).collect();
            let shape = PhysicalLayout::Bytes { offsets: Buffer::from_vec(offsets), bytes: Buffer::from_vec(bytes) };
            (values, None, shape, CodeMeaning::Value)
        }
        Storing::Constant => {
            let value = match (logical_type, numbers.chance(4)) {
                (_, true) => Datum::Null,
                (LogicalType::Float32, _) => Datum::Float(FloatBits::new(0.5)),
                (LogicalType::Varchar(_), _) => Datum::Bytes(string(numbers).as_bytes().into()),
                _ => Datum::Integer(-7),
            };
            (vec![value.clone(); rows], None, PhysicalLayout::Constant(value), CodeMeaning::Value)
        }
    }
}

impl Column {
    fn new(numbers: &mut Numbers, id: ColumnId, rows: usize) -> Self {
        let kinds = kinds();
        let (logical_type, storing) = kinds[numbers.below(kinds.len())].clone();
        let mut column = Self::of_kind(numbers, id, logical_type, storing, rows);
        column.view = shapes::any(numbers, &column.view);
        column.lies_as_its_view();
        column
    }

    /// Makes the facts agree with the view's shape, as those of a segment do.
    fn lies_as_its_view(&mut self) {
        let Facts::Coded { reach, .. } = &mut self.facts else { return };
        *reach = match &self.view.shape {
            PhysicalLayout::Packed { format, .. } => Reach::Packed(*format),
            PhysicalLayout::Chunked { width, .. } => Reach::Chunks { width: *width, gathering: 450.0 },
            PhysicalLayout::Contiguous { width, .. } => Reach::Native(*width),
            _ => Reach::Values,
        };
    }

    fn of_kind(numbers: &mut Numbers, id: ColumnId, logical_type: LogicalType, storing: Storing, rows: usize) -> Self {
        let (mut values, codes, shape, meaning) = stored(numbers, &logical_type, storing, rows);
        let mut validity = None;
        if !matches!(storing, Storing::Constant) && !numbers.chance(3) {
            let share = [1, 2, 5, 1000][numbers.below(4)];
            let valid: Vec<bool> = (0..rows).map(|_| !numbers.chance(share)).collect();
            // Bits at an odd offset, as a slice of a larger vector would have them.
            let bits = BooleanBuffer::collect_bool(rows + 3, |at| at >= 3 && valid[at - 3]);
            validity = Some(bits.slice(3, rows));
            let at_null = values.iter_mut().zip(&valid).filter(|(_, valid)| !**valid);
            at_null.for_each(|(value, _)| *value = Datum::Null);
        }
        let nulls = values.iter().filter(|value| value.is_null()).count() as u32;
        let present =
            || codes.iter().flatten().zip(&values).filter(|(_, value)| !value.is_null()).map(|(code, _)| *code);
        let zone_map = (!numbers.chance(4)).then(|| ZoneMap {
            min: present().min().unwrap_or(0),
            max: present().max().unwrap_or(0),
            nulls,
            coded: codes.is_some(),
        });
        let facts = match (&shape, &codes) {
            (PhysicalLayout::Constant(value), _) => Facts::Absent(value.clone()),
            (_, Some(codes)) => {
                let max = codes.iter().copied().max().unwrap_or(0);
                let max_code = max.checked_next_power_of_two().map_or(u64::MAX, |power| (power - 1).max(max));
                Facts::Coded { meaning: meaning.clone(), max_code, reach: Reach::Native(1) }
            }
            (_, None) => {
                let ordered = |a: &&Datum, b: &&Datum| a.compare(b).expect("values of one column");
                let min = values.iter().filter(|value| !value.is_null()).min_by(ordered);
                let max = values.iter().filter(|value| !value.is_null()).max_by(ordered);
                Facts::Values { min: min.cloned().unwrap_or(Datum::Null), max: max.cloned().unwrap_or(Datum::Null) }
            }
        };
        let definition = ColumnDefinition::new(id, format!("c{id}"), logical_type.clone());
        let zone_map = zone_map.filter(|_| !matches!(storing, Storing::Constant));
        let view = ColumnView { rows, logical_type, validity, shape, meaning };
        Self { definition, values, view, facts, zone_map }
    }

    /// A constant to compare with: a value of the column, or one beside it.
    fn constant(&self, numbers: &mut Numbers) -> Datum {
        let present: Vec<&Datum> = self.values.iter().filter(|value| !value.is_null()).collect();
        let value = (!present.is_empty()).then(|| present[numbers.below(present.len())].clone());
        let beside = numbers.chance(3);
        match (value, self.definition.logical_type.class()) {
            (Some(Datum::Integer(value)), _) if beside => {
                let far = [1, -1, 1000, i128::MAX / 2, i128::MIN / 2][numbers.below(5)];
                Datum::Integer(value.saturating_add(far))
            }
            (Some(Datum::Float(value)), _) if beside => {
                let near = [value.get() + 0.001, f64::INFINITY, f64::NAN, -0.0, -1e300][numbers.below(5)];
                Datum::Float(FloatBits::new(near))
            }
            (Some(Datum::Bytes(_)), _) if beside => Datum::Bytes(string(numbers).as_bytes().into()),
            (Some(value), _) => value,
            (None, crate::ValueClass::Integer) => Datum::Integer(3),
            (None, crate::ValueClass::Float) => Datum::Float(FloatBits::new(1.0)),
            (None, crate::ValueClass::Bytes) => Datum::Bytes(string(numbers).as_bytes().into()),
        }
    }
}

/// The value of an array, as Arrow's own accessors give it.
fn datum(array: &ArrayRef, at: usize) -> Datum {
    if array.is_null(at) {
        return Datum::Null;
    }
    match array.data_type() {
        DataType::Boolean => Datum::Integer(array.as_boolean().value(at).into()),
        DataType::Float32 => Datum::Float(FloatBits::new(array.as_primitive::<Float32Type>().value(at).into())),
        DataType::Float64 => Datum::Float(FloatBits::new(array.as_primitive::<Float64Type>().value(at))),
        DataType::Utf8View => Datum::Bytes(array.as_string_view().value(at).as_bytes().into()),
        DataType::BinaryView => Datum::Bytes(array.as_binary_view().value(at).into()),
        DataType::Decimal128(_, _) => Datum::Integer(array.as_primitive::<Decimal128Type>().value(at)),
        DataType::UInt64 => Datum::Integer(array.as_primitive::<UInt64Type>().value(at).into()),
        _ => {
            let text = arrow::compute::cast(array, &DataType::Int64).expect("an integer");
            Datum::Integer(text.as_primitive::<Int64Type>().value(at).into())
        }
    }
}

/// An arbitrary but fixed condition on values; of NULL it says `nulls`.
#[derive(Debug)]
struct Arbitrary {
    salt: u64,
    nulls: Option<bool>,
}

impl Arbitrary {
    fn holds(&self, value: &Datum) -> Option<bool> {
        let mixed = |number: u64| Numbers(number ^ self.salt).next() % 3;
        let mixed = match value {
            Datum::Null => return self.nulls,
            Datum::Integer(value) => mixed(*value as u64),
            Datum::Float(value) => mixed(value.0),
            Datum::Bytes(bytes) => {
                mixed(bytes.iter().fold(7, |sum: u64, byte| sum.wrapping_mul(31) ^ u64::from(*byte)))
            }
        };
        (mixed > 0).then_some(mixed > 1)
    }
}

impl ColumnTest for Arbitrary {
    fn test(&self, values: &ArrayRef) -> Result<BooleanArray> {
        Ok((0..values.len()).map(|at| self.holds(&datum(values, at))).collect())
    }
}

/// A predicate and the same as a function of a record.
type Oracle = Box<dyn Fn(&[Column], usize) -> bool>;

fn predicate(numbers: &mut Numbers, columns: &[Column], depth: usize) -> (Predicate, Oracle) {
    let at = numbers.below(columns.len());
    let (column, id) = (&columns[at], columns[at].definition.id);
    match numbers.below(if depth == 0 { 6 } else { 9 }) {
        0 | 1 => {
            let mut bound = || match numbers.below(3) {
                0 => Bound::Included(column.constant(numbers)),
                1 => Bound::Excluded(column.constant(numbers)),
                _ => Bound::Unbounded,
            };
            let (low, high) = (bound(), bound());
            let (from, to) = (low.clone(), high.clone());
            let oracle = move |columns: &[Column], row: usize| {
                let value = &columns[at].values[row];
                let against = |other: &Datum| value.compare(other).expect("not NULL");
                !value.is_null()
                    && match &from {
                        Bound::Included(low) => against(low).is_ge(),
                        Bound::Excluded(low) => against(low).is_gt(),
                        Bound::Unbounded => true,
                    }
                    && match &to {
                        Bound::Included(high) => against(high).is_le(),
                        Bound::Excluded(high) => against(high).is_lt(),
                        Bound::Unbounded => true,
                    }
            };
            (Predicate::Range { column: id, low, high }, Box::new(oracle))
        }
        2 | 3 => {
            let values: Vec<Datum> =
                (0..[0, 1, 2, 5, 40][numbers.below(5)]).map(|_| column.constant(numbers)).collect();
            let negated = numbers.chance(2);
            let list = values.clone();
            let oracle = move |columns: &[Column], row: usize| {
                let value = &columns[at].values[row];
                !value.is_null()
                    && list.iter().any(|other| value.compare(other).is_some_and(|order| order.is_eq())) != negated
            };
            (Predicate::In { column: id, values, negated }, Box::new(oracle))
        }
        4 => {
            let negated = numbers.chance(2);
            let oracle = move |columns: &[Column], row: usize| columns[at].values[row].is_null() != negated;
            (Predicate::IsNull { column: id, negated }, Box::new(oracle))
        }
        5 => {
            let (salt, nulls) = (numbers.next(), [None, Some(true), Some(false)][numbers.below(3)]);
            let test = Arc::new(Arbitrary { salt, nulls });
            let same = Arc::clone(&test);
            let oracle = move |columns: &[Column], row: usize| same.holds(&columns[at].values[row]) == Some(true);
            (Predicate::Test { column: id, test }, Box::new(oracle))
        }
        choice => {
            let count = numbers.below(4);
            let (parts, oracles): (Vec<_>, Vec<_>) = (0..count).map(|_| predicate(numbers, columns, depth - 1)).unzip();
            if choice == 8 {
                let oracle = move |columns: &[Column], row: usize| oracles.iter().any(|oracle| oracle(columns, row));
                (Predicate::Or(parts), Box::new(oracle))
            } else {
                let oracle = move |columns: &[Column], row: usize| oracles.iter().all(|oracle| oracle(columns, row));
                (Predicate::And(parts), Box::new(oracle))
            }
        }
    }
}

fn table(columns: &[Column]) -> TableDefinition {
    TableDefinition {
        id: 1,
        ..TableDefinition::new(
            TableName { schema: "public".into(), table: "t".into() },
            columns.iter().map(|column| column.definition.clone()).collect(),
        )
    }
}

/// More parts than any predicate of the tests has.
const NODES: usize = 200;

/// A predicate on the columns' codes, with what their zone maps let expect.
fn translated(predicate: &Predicate, columns: &[Column]) -> CodePredicate {
    let mut nodes = 0;
    let mut prepared = Prepared::new(predicate, &table(columns), &mut nodes).expect("constants fit");
    assert!(nodes < NODES);
    let facts = |column: &ColumnDefinition| Ok(columns[column.id as usize].facts.clone());
    let rows = columns.first().map_or(0, |column| column.values.len());
    let mut translated = translate(&mut prepared, rows, &facts).expect("translates");
    let zone_map = |column: ColumnId, _| columns[column as usize].zone_map;
    Metadata { zones: &[rows], zone_map: &zone_map, distinct: &|_| None }.estimate(&mut translated);
    translated
}

const ROWS: &[usize] = &[0, 1, 5, 63, 64, 65, 127, 200, 513, 1100];

#[test]
fn random_predicates_on_random_zones() {
    let mut qualifying = 0;
    for seed in 0..3000 {
        let mut numbers = Numbers(seed);
        let rows = ROWS[numbers.below(ROWS.len())];
        let columns: Vec<Column> =
            (0..1 + numbers.below(3)).map(|id| Column::new(&mut numbers, id as u32, rows)).collect();
        let (predicate, oracle) = predicate(&mut numbers, &columns, 3);
        let expected: Vec<bool> = (0..rows).map(|row| oracle(&columns, row)).collect();
        qualifying += expected.iter().filter(|holds| **holds).count();

        let translated = translated(&predicate, &columns);
        let zone_map = |column: ColumnId| columns[column as usize].zone_map;
        let verdict = judge(&translated, rows, &zone_map);
        let all = expected.iter().all(|holds| *holds);
        assert!(verdict != Verdict::All || all, "seed {seed}: all, by zone map, of {predicate:?}");
        let none = !expected.iter().any(|holds| *holds);
        assert!(verdict != Verdict::None || none, "seed {seed}: none, by zone map, of {predicate:?}");
        for isa in Isa::available() {
            let view = |column: &ColumnDefinition| Ok(columns[column.id as usize].view.clone());
            let tally = numbers.chance(2).then(|| Tally::new(NODES));
            let zone = EvaluatedZone { rows, isa, view: &view, zone_map: &zone_map, tally: tally.as_ref() };
            for arranged in order::any(&mut numbers, isa, &translated) {
                let result = zone.evaluate(&arranged, None).expect("evaluates");
                assert_eq!(result.len(), rows.div_ceil(64));
                for row in 0..result.len() * 64 {
                    let holds = row < rows && expected[row];
                    assert_eq!(
                        result[row / 64] >> (row % 64) & 1 == 1,
                        holds,
                        "seed {seed}, {isa:?}, row {row} of {rows}: {predicate:?} as {arranged:?}"
                    );
                }
            }
        }
    }
    assert!(qualifying > 50_000, "the predicates select too little to prove anything: {qualifying}");
}

#[test]
fn values_of_every_type() {
    for (seed, (logical_type, storing)) in (0..6).flat_map(|round| kinds().into_iter().map(move |kind| (round, kind))) {
        for &rows in ROWS {
            let mut numbers = Numbers(seed + rows as u64 * 100);
            let mut column = Column::of_kind(&mut numbers, 0, logical_type.clone(), storing, rows);
            column.view = shapes::any(&mut numbers, &column.view);
            for isa in Isa::available() {
                let (start, end) = (rows / 3, rows - rows / 5);
                let array = decode(&column.view, start..end, isa).expect("decodes");
                assert_eq!(array.data_type(), &logical_type.to_arrow());
                assert_eq!(array.len(), end - start);
                for at in 0..array.len() {
                    assert_eq!(datum(&array, at), column.values[start + at], "{logical_type} {storing:?} {isa:?}");
                }
                let share = 1 + numbers.below(6);
                let tids: Vec<u32> = (0..rows as u32).rev().filter(|_| numbers.chance(share)).collect();
                let array = lookup(&column.view, &tids, isa).expect("looks up");
                assert_eq!(array.data_type(), &logical_type.to_arrow());
                assert_eq!(array.len(), tids.len());
                for (at, tid) in tids.iter().enumerate() {
                    assert_eq!(datum(&array, at), column.values[*tid as usize], "{logical_type} {storing:?} {isa:?}");
                }
            }
        }
    }
}
