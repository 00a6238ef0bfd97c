//! What is kept apart from states: against plain sums and comparisons of the same records.

use crate::codegen::Generator;
use crate::codegen::{LoopEnd, Scratch};
use crate::data::rows::Column as Values;
use crate::data::source::{Records, Vector, VectorInput};
use crate::operators::aggregate::{Distinct, Plan, States};
use crate::operators::interpret::Interpreter;
use crate::program::computed::Compute;
use crate::program::float::float;
use crate::program::stage::Stage;
use crate::tests::run::{By, rows_of};
use crate::tests::{Column, fields};
use crate::{
    Aggregation, Error, Expression, Finish, Gathering, Limits, Memory, Moment, OutOfLine, Result, Rows, ordered,
};
use arrow::array::BinaryViewArray;
use gingham_kernels::Isa;
use gingham_storage::model::ColumnView;
use proptest::prelude::*;
use std::sync::Arc;

/// Memory without a limit.
pub(super) struct Endless;

impl Memory for Endless {
    fn grow(&self, _: usize) -> Result<()> {
        Ok(())
    }
}

fn emit(part: &Stage, by: By, vector: &Vector<'_>, scratch: &mut Scratch, outputs: &mut [Vec<i64>]) -> Result<()> {
    let mut passed = Vec::new();
    match by {
        By::Interpreter => Interpreter::new(part).emit(part, vector, &mut passed, outputs),
        By::Generator => {
            let loops = Generator::default().loops(part, LoopEnd::Emit, vector, crate::Mode::Staged)?.expect("code");
            loops.emit(part, vector, scratch, &mut passed, outputs)
        }
    }
}

/// Updates what is no word of a state.
pub(super) fn beside(
    plan: &Plan,
    by: By,
    vector: &Vector<'_>,
    states: &mut States,
    scratch: &mut Scratch,
) -> Result<()> {
    beside_with(plan, by, vector, states, (scratch, &[]))
}

fn beside_with(
    plan: &Plan,
    by: By,
    vector: &Vector<'_>,
    states: &mut States,
    (scratch, functions): (&mut Scratch, &[Arc<dyn Compute>]),
) -> Result<()> {
    for (set, distinct) in plan.distinct.iter().enumerate() {
        let (mut outputs, mut words) = (vec![Vec::new(); distinct.part.outputs.len()], Vec::new());
        emit(&distinct.part, by, vector, scratch, &mut outputs)?;
        Distinct::counted(&outputs, &mut words);
        states.gather(set, &words)?;
    }
    if let Some(apart) = &plan.apart {
        let mut outputs = vec![Vec::new(); apart.part.outputs.len()];
        emit(&apart.part, by, vector, scratch, &mut outputs)?;
        states.gather_apart(apart, &outputs, (functions, &Endless))?;
    }
    Ok(())
}

/// Makes strings of integers: their digits, and none of every seventh.
#[derive(Debug)]
struct Digits;

fn digits(value: i128) -> Option<String> {
    (value % 7 != 0).then(|| value.to_string())
}

impl Compute for Digits {
    fn compute(&self, _: &[Values], _: usize, _: &dyn Memory) -> Result<Values> {
        Err(Error::Internal("strings that nobody numbers".to_owned()))
    }

    fn texts(&self, arguments: &[Values], rows: usize) -> Result<BinaryViewArray> {
        let text = |row| arguments[0].get(row).map_or_else(|| Some("none".to_owned()), digits);
        Ok((0..rows).map(text).map(|text| text.map(String::into_bytes)).collect())
    }

    /// Where such a text lies among all that integers of three digits have.
    fn numbers(&self, texts: &[Option<&[u8]>], _: &dyn Memory) -> Result<Vec<Option<u32>>> {
        let number =
            |text: &[u8]| texts_of_all().iter().position(|known| known.as_bytes() == text).expect("a text") as u32;
        Ok(texts.iter().map(|text| text.map(number)).collect())
    }
}

fn texts_of_all() -> Vec<String> {
    let mut all: Vec<String> = (-999..1000).filter_map(digits).collect();
    all.push("none".to_owned());
    all
}

/// Keys, floats of eighths far from zero or not, and integers of three digits.
fn columns() -> impl Strategy<Value = Vec<[Option<i64>; 4]>> {
    let eighths = |far: i64| prop::option::weighted(0.9, (-4000..4000i64).prop_map(move |value| value + far));
    let record = move |far| {
        let few = (prop::option::weighted(0.9, 0..5i64), prop::option::weighted(0.9, -999..1000i64));
        (few, eighths(far), eighths(0)).prop_map(|((key, number), x, y)| [key, x, y, number])
    };
    prop_oneof![Just(0), Just(1i64 << 40)].prop_flat_map(move |far| prop::collection::vec(record(far), 0..300))
}

/// The groups of some records, those of each vector in the states of one of two threads. Where the columns' values lie is known
/// beforehand, or not.
fn groups(aggregation: &Aggregation, finishes: &[Finish], records: &[[Option<i64>; 4]], by: By, known: bool) -> Rows {
    let column = |number: usize| {
        let values = || records.iter().filter_map(|record| record[number]);
        let base = values().min().unwrap_or(0);
        let codes = records.iter().map(|record| record[number].map(|value| value.abs_diff(base))).collect();
        Column { base, width: 8, codes, packed: false }
    };
    let columns: Vec<Column> = (0..4).map(column).collect();
    let views: Vec<ColumnView> = columns.iter().map(Column::view).collect();
    let any = Limits::new(i64::MIN + 1, i64::MAX);
    let facts = columns.iter().map(Column::facts).map(|(limits, null)| (if known { limits } else { any }, null));
    let plan = Plan::new(aggregation, fields(facts), records.len() as u64).expect("a plan");
    let functions: Vec<Arc<dyn Compute>> = vec![Arc::new(Digits)];
    let plan = Arc::new(plan);
    let mut states = [States::new(&plan, true), States::new(&plan, true)];
    let mut scratch = Scratch::default();
    for (number, start) in (0..records.len()).step_by(64).enumerate() {
        let records = Records::Run { first: start, length: 64.min(records.len() - start) };
        let inputs = [VectorInput { views: &views, records }];
        let vector = Vector { inputs: &inputs, isa: Isa::best() };
        let states = &mut states[number % 2];
        Interpreter::new(&plan.stage).aggregate(&plan, &vector, states).expect("states");
        beside_with(&plan, by, &vector, states, (&mut scratch, &functions)).expect("what is beside them");
    }
    rows_of(&plan, states.into(), finishes, None, &functions).expect("rows")
}

fn eighth(column: usize) -> Expression {
    let argument = Box::new(Expression::Column(column));
    Expression::float(
        crate::FloatArithmetic::Divide,
        Expression::ToFloat { argument, digits: 0 },
        Expression::Constant(Some(ordered(8.0).into())),
    )
}

fn near(found: Option<i128>, expected: Option<f64>) -> bool {
    match (found.map(|value| float(value as i64)), expected) {
        (None, None) => true,
        (Some(found), Some(expected)) => (found - expected).abs() <= 1e-12 * expected.abs(),
        _ => false,
    }
}

/// Statistics of pairs of integers, where all of it is exact: their number, and that many times the sums of squared distances and
/// of products of distances.
fn distances(pairs: &[(i128, i128)]) -> [f64; 3] {
    let count = pairs.len() as i128;
    let sum = |value: &dyn Fn(&(i128, i128)) -> i128| pairs.iter().map(value).sum::<i128>();
    let (x, y) = (sum(&|pair| pair.0), sum(&|pair| pair.1));
    [
        (count * sum(&|pair| pair.0 * pair.0) - x * x) as f64,
        (count * sum(&|pair| pair.1 * pair.1) - y * y) as f64,
        (count * sum(&|pair| pair.0 * pair.1) - x * y) as f64,
    ]
}

proptest! {
    #[test]
    fn moments_and_texts_are_those_of_plain_values(records in columns(), keyed in any::<bool>(), generated in any::<bool>()) {
        let keys = if keyed { vec![Expression::Column(0)] } else { Vec::new() };
        let few = Expression::compare(crate::Comparison::Less, Expression::Column(3), Expression::Constant(Some(500)));
        let text = |largest| OutOfLine {
            what: Gathering::Text { function: 0, largest },
            arguments: vec![Expression::Column(3)],
            filter: (!largest).then(|| few.clone()),
        };
        let floats = |arguments| OutOfLine { what: Gathering::Floats { squares: true }, arguments, filter: None };
        let different = OutOfLine { what: Gathering::DistinctFloats, arguments: vec![eighth(1)], filter: None };
        let apart = vec![floats(vec![eighth(1)]), floats(vec![eighth(1), eighth(2)]), text(false), text(true), different];
        let aggregation = Aggregation { keys, apart, ..Aggregation::default() };
        let spread = |sample, root| Finish::Moment(0, Moment::Spread { sample, root });
        let finishes = [
            Finish::Moment(0, Moment::Sum), spread(false, false), spread(true, true),
            Finish::Moment(1, Moment::Covariance { sample: true }), Finish::Moment(1, Moment::Correlation),
            Finish::Text(2), Finish::Text(3), Finish::Moment(4, Moment::Sum), Finish::Counted(4),
        ];
        let rows = groups(&aggregation, &finishes, &records, if generated { By::Generator } else { By::Interpreter }, true);
        let mut all: Vec<Option<i64>> = records.iter().map(|record| record[0].filter(|_| keyed)).collect();
        all.sort_by_key(|key| (key.is_none(), *key));
        all.dedup();
        if all.is_empty() && !keyed {
            all.push(None);
        }
        prop_assert_eq!(rows.rows, all.len());
        let texts = texts_of_all();
        for (row, key) in all.into_iter().enumerate() {
            let own: Vec<_> = records.iter().filter(|record| !keyed || record[0] == key).collect();
            let x: Vec<(i128, i128)> = own.iter().filter_map(|record| Some((record[1]?.into(), 0))).collect();
            let xy: Vec<(i128, i128)> = own.iter().filter_map(|record| Some((record[1]?.into(), record[2]?.into()))).collect();
            let get = |column: usize| rows.columns[column].get(row);
            let count = x.len() as f64;
            let [squares, ..] = distances(&x);
            let sum = x.iter().map(|pair| pair.0).sum::<i128>() as f64 / 8.0;
            prop_assert!(near(get(0), (count > 0.0).then_some(sum)));
            prop_assert!(near(get(1), (count > 0.0).then(|| squares / count / count / 64.0)));
            prop_assert!(near(get(2), (count > 1.0).then(|| (squares / count / (count - 1.0) / 64.0).sqrt())));
            let count = xy.len() as f64;
            let [first, second, both] = distances(&xy);
            prop_assert!(near(get(3), (count > 1.0).then(|| both / count / (count - 1.0) / 64.0)));
            prop_assert!(near(get(4), (first * second > 0.0).then(|| both / first.sqrt() / second.sqrt())));
            let text = |record: &&&[Option<i64>; 4]| record[3].map_or_else(|| Some("none".to_owned()), |value| digits(value.into()));
            let different: std::collections::BTreeSet<i128> = x.iter().map(|pair| pair.0).collect();
            let sum = different.iter().sum::<i128>() as f64 / 8.0;
            prop_assert!(near(get(7), (!different.is_empty()).then_some(sum)));
            prop_assert_eq!(get(8), Some(different.len() as i128));
            let smallest = own.iter().filter(|record| record[3].is_some_and(|value| value < 500)).filter_map(|record| text(&record)).min();
            let largest = own.iter().filter_map(|record| text(&record)).max();
            let found = |column| get(column).map(|number| texts[number as usize].clone());
            prop_assert_eq!((found(5), found(6)), (smallest, largest));
        }
    }

    #[test]
    fn sums_of_what_may_not_be_finite_are_taken_too(values in prop::collection::vec(0..9usize, 0..200)) {
        const SOME: [f64; 9] = [1e300, -1e300, 0.1, 1e-300, -7.5, 0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
        for kinds in [9, 8, 7, 6] {
            let values: Vec<f64> = values.iter().map(|value| SOME[value % kinds]).collect();
            let records: Vec<[Option<i64>; 4]> = values.iter().map(|value| [None, Some(ordered(*value)), None, None]).collect();
            let sum = crate::Aggregate { function: crate::Function::FloatSum, argument: Some(Expression::Column(1)), filter: None };
            let aggregation = Aggregation { aggregates: vec![sum], ..Aggregation::default() };
            let rows = groups(&aggregation, &[Finish::Value(0)], &records, By::Generator, false);
            let found = rows.columns[0].get(0).map(|sum| float(sum as i64));
            let large = values.iter().filter(|value| value.abs() >= 1e300).sum::<f64>();
            let small = values.iter().filter(|value| value.abs() < 1e300 || value.is_nan()).sum::<f64>();
            match found {
                None => prop_assert!(values.is_empty()),
                Some(found) if (large + small).is_finite() && large == 0.0 => prop_assert!((found - small).abs() < 1e-9),
                Some(found) => prop_assert!(found == large || (found.is_nan() && (large + small).is_nan()) || (found - large).abs() <= 1e288, "{found} {large}"),
            }
        }
    }
}

#[test]
fn numbers_that_are_not_finite_have_no_spread() {
    let spread = |sample| Finish::Moment(0, Moment::Spread { sample, root: false });
    let of = |values: &[f64]| {
        let records: Vec<[Option<i64>; 4]> =
            values.iter().map(|value| [None, Some(ordered(*value)), None, None]).collect();
        let floats = OutOfLine {
            what: Gathering::Floats { squares: true },
            arguments: vec![Expression::Column(1)],
            filter: None,
        };
        let aggregation = Aggregation { apart: vec![floats], ..Aggregation::default() };
        let rows = groups(&aggregation, &[spread(false), spread(true)], &records, By::Interpreter, true);
        [0, 1].map(|column| rows.columns[column].get(0).map(|value| float(value as i64)))
    };
    assert_eq!(of(&[]), [None, None]);
    assert_eq!(of(&[3.5]), [Some(0.0), None]);
    assert_eq!(of(&[1e9 + 0.1; 1000]), [Some(0.0); 2]);
    assert_eq!(of(&[1e150, -1e150, 1e150, -1e150]), [Some(1e150 * 1e150), Some(1e150 * 1e150 / 3.0 * 4.0)]);
    for other in [f64::NAN, f64::INFINITY] {
        assert!(of(&[1.0, other]).iter().all(|value| value.is_some_and(f64::is_nan)));
        assert_eq!(of(&[other])[1], None);
    }
}
