//! Random aggregations over random columns: the interpreter against a plain evaluation record by record, and generated
//! code against both.

mod apart;
mod ends;
mod float_sums;
mod joins;
mod run;
mod wide;
mod windows;

use crate::data::source::VECTOR;
use crate::operators::aggregate::{Having, Plan};
use crate::program::float::float;
use crate::tests::run::{By, Place, ordered_rows, run};
use crate::{
    Aggregate, Aggregation, Arithmetic, Comparison, Error, Expression, Field, Finish, FloatArithmetic, Function,
    Limits, LookupTable, Rows, Values, ordered,
};
use arrow::buffer::{BooleanBuffer, Buffer};
use gingham_kernels::Isa;
use gingham_kernels::packing::{self, Packing};
use gingham_storage::LogicalType;
use gingham_storage::model::{CodeMeaning, ColumnView, Format, PhysicalLayout};
use gingham_storage::scan::OpenMorsel;
use proptest::prelude::*;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

const COLUMNS: usize = 4;
const ANY: Limits = Limits { min: i128::MIN, max: i128::MAX };

/// A column: its base, the bytes of its codes, its codes (`None` is NULL), and whether they lie packed.
#[derive(Debug, Clone)]
struct Column {
    base: i64,
    width: u8,
    codes: Vec<Option<u64>>,
    packed: bool,
}

impl Column {
    fn value(&self, record: usize) -> Option<i128> {
        self.codes[record].map(|code| i128::from(self.base) + i128::from(code))
    }

    fn facts(&self) -> (Limits, bool) {
        let values = || (0..self.codes.len()).filter_map(|record| self.value(record));
        let range = Limits { min: values().min().unwrap_or(0), max: values().max().unwrap_or(0) };
        (range, self.codes.contains(&None))
    }

    fn view(&self) -> ColumnView {
        // A NULL's code may be any that its width allows.
        let codes: Vec<u64> = self.codes.iter().map(|code| code.unwrap_or(u64::MAX >> (64 - 8 * self.width))).collect();
        let shape = if self.packed {
            let format = Format::new(Packing::ByteSlice, self.width * 8).unwrap();
            let mut bytes = Vec::new();
            packing::pack(Isa::best(), format, &codes, &mut bytes);
            PhysicalLayout::Packed { bytes: Buffer::from(bytes), format }
        } else {
            let bytes = codes.iter().flat_map(|code| code.to_le_bytes()[..self.width.into()].to_vec());
            let mut bytes: Vec<u8> = bytes.collect();
            bytes.extend([0; 64]);
            PhysicalLayout::Contiguous { codes: Buffer::from(aligned(&bytes)), width: self.width }
        };
        let valid = || BooleanBuffer::collect_bool(self.codes.len(), |record| self.codes[record].is_some());
        ColumnView {
            rows: self.codes.len(),
            logical_type: LogicalType::Int(64),
            validity: self.codes.contains(&None).then(valid),
            shape,
            meaning: CodeMeaning::FrameOfReference { base: self.base.into() },
        }
    }
}

/// The bytes as a buffer that starts at a multiple of 8.
fn aligned(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks(8).map(|part| part.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))).collect()
}

/// An evaluation that looks at one record at a time. `Err` is an overflow, of branches that are not taken too.
fn evaluate(expression: &Expression, value: &dyn Fn(usize) -> Option<i128>) -> Result<Option<i128>, ()> {
    let get = |expression: &Expression| evaluate(expression, value);
    Ok(match expression {
        Expression::Column(column) => value(*column),
        Expression::Constant(value) => *value,
        Expression::Parameter { number, .. } => unreachable!("parameter {number} before a run"),
        Expression::Arithmetic { operator, left, right, limits } => {
            let (Some(left), Some(right)) = (get(left)?, get(right)?) else { return Ok(None) };
            let value = match operator {
                Arithmetic::Add => left.checked_add(right),
                Arithmetic::Subtract => left.checked_sub(right),
                Arithmetic::Multiply => left.checked_mul(right),
            };
            Some(value.filter(|value| (limits.min..=limits.max).contains(value)).ok_or(())?)
        }
        Expression::Division { remainder, left, right, limits } => {
            let (Some(left), Some(right)) = (get(left)?, get(right)?) else { return Ok(None) };
            let value = if *remainder { left.checked_rem(right) } else { left.checked_div(right) };
            Some(value.filter(|value| (limits.min..=limits.max).contains(value)).ok_or(())?)
        }
        Expression::Float { operator, left, right } => {
            let (Some(left), Some(right)) = (get(left)?, get(right)?) else { return Ok(None) };
            let (left, right) = (float(left as i64), float(right as i64));
            let value = match operator {
                FloatArithmetic::Add => left + right,
                FloatArithmetic::Subtract => left - right,
                FloatArithmetic::Multiply => left * right,
                FloatArithmetic::Divide => left / right,
            };
            Some(ordered(value).into())
        }
        Expression::ToFloat { argument, digits } => {
            get(argument)?.map(|value| ordered(value as f64 / 10f64.powi(*digits as i32)).into())
        }
        Expression::Compare { operator, left, right } => {
            let (left, right) = (get(left)?, get(right)?);
            left.zip(right).map(|(left, right)| operator.holds(&left, &right).into())
        }
        Expression::And(left, right) => match (get(left)?, get(right)?) {
            (Some(0), _) | (_, Some(0)) => Some(0),
            (Some(_), Some(_)) => Some(1),
            _ => None,
        },
        Expression::Or(left, right) => match (get(left)?, get(right)?) {
            (Some(1), _) | (_, Some(1)) => Some(1),
            (Some(_), Some(_)) => Some(0),
            _ => None,
        },
        Expression::Not(inner) => get(inner)?.map(|truth| 1 - truth),
        Expression::IsNull(inner) => Some(get(inner)?.is_none().into()),
        Expression::Case { branches, otherwise } => {
            let mut result = get(otherwise)?;
            for (condition, value) in branches.iter().rev() {
                let value = get(value)?;
                if get(condition)? == Some(1) {
                    result = value;
                }
            }
            result
        }
        Expression::Map { map, argument } => {
            // More than 64 bits are refused before.
            map.get(get(argument)?.map(|argument| argument as i64)).map(i128::from)
        }
    })
}

/// The sum of floats, rounded once: sums that lost nothing, largest last (Shewchuk, Adaptive Precision Floating-Point
/// Arithmetic), of which the last is the sum but for half a unit that those before it may tip.
fn exact_sum(values: &[i128]) -> i128 {
    let plain: f64 = values.iter().map(|value| float(*value as i64)).sum();
    if !plain.is_finite() {
        return ordered(if plain.is_nan() { f64::NAN } else { plain }).into();
    }
    let mut parts: Vec<f64> = Vec::new();
    for value in values {
        let mut value = float(*value as i64);
        let mut kept = Vec::new();
        for part in parts {
            let (large, small) = if value.abs() < part.abs() { (part, value) } else { (value, part) };
            let sum = large + small;
            let rest = small - (sum - large);
            kept.extend((rest != 0.0).then_some(rest));
            value = sum;
        }
        kept.push(value);
        parts = kept;
    }
    let Some(mut sum) = parts.pop() else { return 0 };
    while let Some(part) = parts.pop() {
        let next = sum + part;
        let rest = part - (next - sum);
        sum = next;
        if rest != 0.0 {
            let tips = parts.last().is_some_and(|last| (*last < 0.0) == (rest < 0.0));
            let tipped = sum + rest * 2.0;
            if tips && tipped - sum == rest * 2.0 {
                sum = tipped;
            }
            break;
        }
    }
    // A sum of nothing but negative zeros is a zero.
    ordered(sum + 0.0).into()
}

type Row = Vec<Option<i128>>;
/// A key with its place in the order of keys, NULL last.
type Order = Vec<(bool, i128)>;
/// Keys, and the values that each aggregate met.
type Gathered = (Row, Vec<Vec<i128>>);

/// Keys and results of each group, plainly.
fn expected(
    aggregation: &Aggregation,
    columns: &[Column],
    records: &[usize],
) -> Result<BTreeMap<Order, (Row, Row)>, ()> {
    let get = |expression: &Expression, record: usize| evaluate(expression, &|column| columns[column].value(record));
    let mut groups: BTreeMap<Order, Gathered> = BTreeMap::new();
    let none = || vec![Vec::new(); aggregation.aggregates.len()];
    if aggregation.keys.is_empty() {
        groups.insert(Vec::new(), (Vec::new(), none()));
    }
    let mut passed = Vec::new();
    for record in records {
        if aggregation.filter.as_ref().map_or(Ok(Some(1)), |filter| get(filter, *record))? == Some(1) {
            passed.push(*record);
        }
    }
    for record in passed {
        let key: Row = aggregation.keys.iter().map(|key| get(key, record)).collect::<Result<_, _>>()?;
        let order = key.iter().map(|value| (value.is_none(), value.unwrap_or_default())).collect();
        let (_, values) = groups.entry(order).or_insert_with(|| (key, none()));
        for (aggregate, values) in aggregation.aggregates.iter().zip(values) {
            let argument = aggregate.argument.as_ref().map_or(Ok(Some(0)), |argument| get(argument, record));
            let counts = aggregate.filter.as_ref().map_or(Ok(Some(1)), |filter| get(filter, record))? == Some(1);
            values.extend(argument?.filter(|_| counts));
        }
    }
    let finish = |(key, values): Gathered| {
        let results = aggregation.aggregates.iter().zip(values).map(|(aggregate, values)| match aggregate.function {
            Function::Count => Some(values.len() as i128),
            Function::Sum => values.into_iter().reduce(|a, b| a.wrapping_add(b)),
            Function::Min => values.into_iter().min(),
            Function::Max => values.into_iter().max(),
            Function::CountDistinct => Some(values.into_iter().collect::<HashSet<_>>().len() as i128),
            Function::SumDistinct => values.into_iter().collect::<HashSet<_>>().into_iter().reduce(|a, b| a + b),
            Function::FloatSum => (!values.is_empty()).then(|| exact_sum(&values)),
            Function::BitAnd => values.into_iter().reduce(|a, b| a & b),
            Function::BitOr => values.into_iter().reduce(|a, b| a | b),
            Function::BitXor => values.into_iter().reduce(|a, b| a ^ b),
        });
        (key, results.collect())
    };
    Ok(groups.into_iter().map(|(order, group)| (order, finish(group))).collect())
}

fn column(rows: usize) -> impl Strategy<Value = Column> {
    let codes =
        prop_oneof![Just((1u8, 5u64)), Just((1, 255)), Just((2, 60_000)), Just((4, 1 << 31)), Just((8, 1 << 50))];
    (codes, prop_oneof![Just(0i64), -100..100i64, Just(-(1 << 40))], any::<bool>(), any::<bool>()).prop_flat_map(
        move |((width, max), base, nullable, packed)| {
            let code = (0..=max, 0..8u8).prop_map(move |(code, dice)| (!nullable || dice != 0).then_some(code));
            prop::collection::vec(code, rows).prop_map(move |codes| Column { base, width, codes, packed })
        },
    )
}

fn comparison() -> impl Strategy<Value = Comparison> {
    prop_oneof![
        Just(Comparison::Equal),
        Just(Comparison::NotEqual),
        Just(Comparison::Less),
        Just(Comparison::LessOrEqual),
        Just(Comparison::Greater),
        Just(Comparison::GreaterOrEqual),
    ]
}

/// A map over a few integers, and an argument that lies outside of them at times.
fn map(result: impl Strategy<Value = i64> + Clone + 'static) -> impl Strategy<Value = Expression> {
    let low = prop_oneof![-300..300i64, Just(-(1 << 40)), Just(-(1 << 40) - 9), Just(i64::MIN), Just(i64::MAX - 50)];
    let results = prop::collection::vec(prop::option::weighted(0.9, result.clone()), 0..300);
    let all = prop::collection::vec(result.clone().prop_map(Some), 1..300);
    let map = (low, prop_oneof![results, all], prop::option::of(result))
        .prop_map(|(low, results, null)| LookupTable::new(low, &results, null));
    (map, number(0)).prop_map(|(map, argument)| Expression::Map { map, argument: Box::new(argument) })
}

/// A number.
fn number(depth: u32) -> BoxedStrategy<Expression> {
    let leaf = prop_oneof![
        6 => (0..COLUMNS).prop_map(Expression::Column),
        2 => (-300..300i128).prop_map(|value| Expression::Constant(Some(value))),
        1 => Just(Expression::Constant(None)),
    ];
    if depth == 0 {
        return leaf.boxed();
    }
    let operator = prop_oneof![Just(Arithmetic::Add), Just(Arithmetic::Subtract), Just(Arithmetic::Multiply)];
    let limits = prop_oneof![4 => Just(ANY), 1 => Just(Limits::new(i32::MIN, i32::MAX)), 1 => Just(Limits::new(i64::MIN, i64::MAX))];
    let arithmetic = (operator, number(depth - 1), number(depth - 1), limits)
        .prop_map(|(operator, left, right, limits)| Expression::arithmetic(operator, left, right, limits));
    let case = (prop::collection::vec((truth(depth - 1), number(depth - 1)), 1..3), number(depth - 1))
        .prop_map(|(branches, otherwise)| Expression::Case { branches, otherwise: Box::new(otherwise) });
    let map = map(prop_oneof![Just(7i64), -9..9i64, -3000..3000i64, any::<i32>().prop_map(i64::from), any::<i64>()]);
    let division = (any::<bool>(), number(depth - 1), number(depth - 1)).prop_map(|(remainder, left, right)| {
        Expression::Division { remainder, left: Box::new(left), right: Box::new(right), limits: ANY }
    });
    prop_oneof![2 => leaf, 4 => arithmetic, 1 => division, 1 => case, 1 => map].boxed()
}

/// A float.
fn floats(depth: u32) -> BoxedStrategy<Expression> {
    let leaf = prop_oneof![
        4 => (number(0), 0..3u32).prop_map(|(argument, digits)| Expression::ToFloat { argument: Box::new(argument), digits }),
        1 => (-300..300i32).prop_map(|value| Expression::Constant(Some(ordered(f64::from(value) / 8.0).into()))),
    ];
    if depth == 0 {
        return leaf.boxed();
    }
    let operator = prop_oneof![
        Just(FloatArithmetic::Add),
        Just(FloatArithmetic::Subtract),
        Just(FloatArithmetic::Multiply),
        Just(FloatArithmetic::Divide),
    ];
    let arithmetic = (operator, floats(depth - 1), floats(depth - 1))
        .prop_map(|(operator, left, right)| Expression::float(operator, left, right));
    prop_oneof![1 => leaf, 2 => arithmetic].boxed()
}

/// A truth.
fn truth(depth: u32) -> BoxedStrategy<Expression> {
    let numbers = (comparison(), number(depth.saturating_sub(1)), number(depth.saturating_sub(1)));
    let compared = prop_oneof![4 => numbers, 1 => (comparison(), floats(1), floats(0))];
    let compare = compared.prop_map(|(operator, left, right)| Expression::compare(operator, left, right));
    if depth == 0 {
        return compare.boxed();
    }
    let pair = || (truth(depth - 1), truth(depth - 1)).prop_map(|(left, right)| (Box::new(left), Box::new(right)));
    prop_oneof![
        4 => compare,
        1 => pair().prop_map(|(left, right)| Expression::And(left, right)),
        1 => pair().prop_map(|(left, right)| Expression::Or(left, right)),
        1 => truth(depth - 1).prop_map(|inner| Expression::Not(Box::new(inner))),
        1 => number(depth - 1).prop_map(|inner| Expression::IsNull(Box::new(inner))),
        1 => map(0..=1i64),
    ]
    .boxed()
}

fn aggregation() -> impl Strategy<Value = Aggregation> {
    let function = prop_oneof![
        2 => Just(Function::Count),
        2 => Just(Function::Sum),
        2 => Just(Function::Min),
        2 => Just(Function::Max),
        2 => Just(Function::CountDistinct),
        1 => Just(Function::SumDistinct),
        3 => prop::sample::select(vec![Function::BitAnd, Function::BitOr, Function::BitXor]),
    ];
    let of_floats = prop_oneof![2 => Just(Function::FloatSum), 1 => Just(Function::Min), 1 => Just(Function::Max)];
    let called = prop_oneof![3 => (function, number(3)), 1 => (of_floats, floats(2))];
    let aggregate = (called, prop::option::weighted(0.2, truth(1)))
        .prop_map(|((function, argument), filter)| Aggregate { function, argument: Some(argument), filter });
    let records = Just(Aggregate { function: Function::Count, argument: None, filter: None });
    let aggregates = prop::collection::vec(prop_oneof![5 => aggregate, 1 => records], 0..4);
    let key = prop_oneof![3 => (0..COLUMNS).prop_map(Expression::Column), 1 => truth(1), 1 => number(1)];
    (prop::option::weighted(0.5, truth(2)), prop::collection::vec(key, 0..3), aggregates)
        .prop_map(|(filter, keys, aggregates)| Aggregation { filter, keys, aggregates, ..Aggregation::default() })
}

fn finishes(aggregation: &Aggregation) -> Vec<Finish> {
    let keys = (0..aggregation.keys.len()).map(Finish::Key);
    keys.chain((0..aggregation.aggregates.len()).map(Finish::Value)).collect()
}

/// The columns of one input, in order.
fn fields(facts: impl IntoIterator<Item = (Limits, bool)>) -> impl Iterator<Item = (Field, Limits, bool)> {
    let field = |(column, (limits, nullable))| (Field { input: 0, column }, limits, nullable);
    facts.into_iter().enumerate().map(field)
}

fn check(columns: &[Column], tids: Option<Vec<u32>>, aggregation: &Aggregation) -> Result<(), TestCaseError> {
    let rows = columns[0].codes.len();
    let records: Vec<usize> = match &tids {
        Some(tids) => tids.iter().map(|tid| *tid as usize).collect(),
        None => (0..rows).collect(),
    };
    let plan = match Plan::new(aggregation, fields(columns.iter().map(Column::facts)), rows as u64) {
        Ok(plan) => Arc::new(plan),
        Err(Error::Unsupported(_)) => return Ok(()),
        Err(error) => return Err(TestCaseError::fail(error.to_string())),
    };
    let exact = expected(aggregation, columns, &records);
    let morsel = OpenMorsel::new(rows, tids, columns.iter().map(Column::view).collect());
    for by in [By::Interpreter, By::Generator] {
        for place in [Place::Array, Place::Table, Place::Parts] {
            // Without keys there is an array, always.
            if if place == Place::Array { plan.groups() > 1 << 20 } else { aggregation.keys.is_empty() } {
                continue;
            }
            match run(&plan, &finishes(aggregation), None, &morsel, by, place) {
                Ok(groups) => {
                    check_having(&plan, aggregation, columns, &groups, |having| {
                        run(&plan, &finishes(aggregation), Some(having), &morsel, by, place)
                    })?;
                    prop_assert!(exact.is_ok(), "{by:?}, {place:?}: an overflow went unseen");
                    let Ok(exact) = &exact else { continue };
                    let expected = exact.values().map(|(keys, results)| keys.iter().chain(results).copied().collect());
                    let mut expected: Vec<Row> = expected.collect();
                    if place == Place::Array {
                        // In the order of the keys.
                        let row = |row| groups.columns.iter().map(|column| column.get(row)).collect();
                        prop_assert_eq!(&(0..groups.rows).map(row).collect::<Vec<Row>>(), &expected, "{:?}", by);
                    }
                    expected.sort_unstable();
                    prop_assert_eq!(ordered_rows(&groups), expected, "{:?}, {:?}", by, place);
                }
                Err(Error::Overflow) => {
                    // A float with bits below the unit of its sum is one too.
                    let floats = aggregation.aggregates.iter().any(|known| known.function == Function::FloatSum);
                    prop_assert!(exact.is_err() || floats, "{by:?}, {place:?}: no overflow");
                }
                Err(error) => return Err(TestCaseError::fail(error.to_string())),
            }
        }
    }
    Ok(())
}

/// Groups whose last column is not above one of its values, or NULL: as many as a look at all rows finds, and these.
fn check_having(
    plan: &Plan,
    aggregation: &Aggregation,
    columns: &[Column],
    all: &Rows,
    run: impl Fn(&Arc<Having>) -> Result<Rows, Error>,
) -> Result<(), TestCaseError> {
    let Some(last) = all.columns.last().filter(|_| all.rows > 0) else { return Ok(()) };
    let column = Expression::Column(all.columns.len() - 1);
    let bound = Expression::Constant(last.get(all.rows / 2));
    let condition = Expression::Or(
        Box::new(Expression::compare(Comparison::LessOrEqual, column.clone(), bound)),
        Box::new(Expression::IsNull(Box::new(column))),
    );
    let known: Vec<_> = columns.iter().map(Column::facts).collect();
    let Aggregation { keys, aggregates, .. } = aggregation;
    let facts = finishes(aggregation).into_iter().map(|finish| finish.facts(keys, aggregates, (&known, u64::MAX)));
    let all_finishes = finishes(aggregation);
    let having =
        match facts.collect::<Result<Vec<_>, _>>().and_then(|facts| Having::new(&condition, &all_finishes, &facts)) {
            Ok(having) => Arc::new(having),
            Err(error) => return Err(TestCaseError::fail(format!("{plan:?}: {error}"))),
        };
    let fulfils = |row: &usize| evaluate(&condition, &|column| all.columns[column].get(*row)) == Ok(Some(1));
    let wanted: Vec<usize> = (0..all.rows).filter(fulfils).collect();
    match run(&having) {
        Ok(found) => {
            prop_assert_eq!(ordered_rows(&found), ordered_rows(&all.take(&wanted)));
        }
        // 128 bits are not looked at.
        Err(Error::Unsupported(_)) => prop_assert!(matches!(last.values, Values::Wide(_))),
        Err(error) => return Err(TestCaseError::fail(error.to_string())),
    }
    Ok(())
}

fn cases() -> u32 {
    if std::env::var_os("GINGHAM_NIGHTLY").is_some() { 20_000 } else { 400 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]
    #[test]
    fn code_and_interpreter_agree_with_a_plain_evaluation(
        (columns, every) in (1..40usize).prop_flat_map(|rows| (prop::collection::vec(column(rows), COLUMNS), 1..4usize)),
        aggregation in aggregation(),
    ) {
        let rows = columns[0].codes.len() as u32;
        let tids = (every > 1).then(|| (0..rows).step_by(every).collect());
        check(&columns, tids, &aggregation)?;
    }
}

/// Several vectors, with groups that come again, and sums that need 128 bits.
#[test]
fn many_vectors() {
    let rows = 3 * VECTOR + 17;
    let column = |width: u8, modulus: u64, nullable: bool, packed: bool| {
        let code = |record: u64| {
            let mixed = record.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7;
            (!nullable || !mixed.is_multiple_of(11)).then_some(mixed % modulus)
        };
        Column { base: -3, width, codes: (0..rows as u64).map(code).collect(), packed }
    };
    let columns = [
        column(1, 6, true, false),
        column(2, 5000, false, true),
        column(8, 1 << 52, true, false),
        column(4, 9, false, true),
    ];
    let square = Expression::arithmetic(Arithmetic::Multiply, Expression::Column(2), Expression::Column(2), ANY);
    let sum = |argument| Aggregate { function: Function::Sum, argument: Some(argument), filter: None };
    for keys in [vec![], vec![0], vec![1], vec![0, 3], vec![2]] {
        let aggregation = Aggregation {
            filter: Some(Expression::compare(
                Comparison::NotEqual,
                Expression::Column(3),
                Expression::Constant(Some(0)),
            )),
            keys: keys.into_iter().map(Expression::Column).collect(),
            aggregates: vec![sum(square.clone()), sum(Expression::Column(1)), sum(Expression::Column(2))],
            apart: Vec::new(),
        };
        for tids in [None, Some((0..rows as u32).filter(|tid| !tid.is_multiple_of(3)).collect())] {
            check(&columns, tids, &aggregation).unwrap();
        }
    }
}

#[test]
fn values_outside_of_the_metadata_are_found_and_write_nowhere() {
    let columns = [Column { base: 0, width: 1, codes: (0..200).map(Some).collect(), packed: false }];
    let aggregation = Aggregation { keys: vec![Expression::Column(0)], ..Aggregation::default() };
    // The metadata says 0 to 9.
    let plan = Arc::new(Plan::new(&aggregation, fields([(Limits::new(0, 9), false)]), 200).unwrap());
    let morsel = OpenMorsel::new(200, None, vec![columns[0].view()]);
    for by in [By::Interpreter, By::Generator] {
        let error = run(&plan, &finishes(&aggregation), None, &morsel, by, Place::Array).unwrap_err();
        assert!(matches!(&error, Error::Corrupt { place, .. } if place == "a test"), "{error}");
    }
}
