//! Groups in windows, against one array for all groups.

use super::{By, Column, fields, finishes, run};
use crate::aggregate::{self, Having, Plan, States, Windows};
use crate::codegen::{End, Generator, Scratch};
use crate::interpret::Interpreter;
use crate::source::{Input, Records, VECTOR, Vector};
use crate::{Aggregate, Aggregation, Comparison, Error, Expression, Function, Rows};
use gingham_kernels::Isa;
use gingham_storage::scan::OpenMorsel;

const MORSEL: usize = 1000;

/// Keys that ascend but for a few, five records each, and what is summed.
fn columns(disorder: u64) -> [Column; 2] {
    let key = |record: u64| record / 5 + if record.is_multiple_of(97) { disorder } else { 0 };
    let column = |base, width, codes: &dyn Fn(u64) -> u64| Column {
        base,
        width,
        codes: (0..20_000).map(|record| Some(codes(record))).collect(),
        packed: false,
    };
    [column(1000, 4, &key), column(-7, 1, &|record| record % 200)]
}

fn plan(columns: &[Column]) -> (Aggregation, Plan) {
    let aggregates = [Function::Sum, Function::Max, Function::Count];
    let aggregate = |function| Aggregate { function, argument: Some(Expression::Column(1)), filter: None };
    let aggregates = aggregates.map(aggregate).to_vec();
    let aggregation = Aggregation { filter: None, keys: vec![Expression::Column(0)], aggregates };
    let plan = Plan::new(&aggregation, fields(columns.iter().map(Column::facts)), 20_000).unwrap();
    (aggregation, plan)
}

/// Smallest and largest key of each morsel.
fn keys(column: &Column) -> Vec<Option<(i64, i64)>> {
    let keys: Vec<i64> =
        (0..column.codes.len()).filter_map(|record| column.value(record)).map(|key| key as i64).collect();
    keys.chunks(MORSEL).map(|keys| keys.iter().min().copied().zip(keys.iter().max().copied())).collect()
}

/// Two threads take the morsels in turn.
fn in_windows(
    (plan, aggregation): (&Plan, &Aggregation),
    columns: &[Column],
    windows: &Windows,
    having: Option<&Having>,
    by: By,
) -> Result<Rows, Error> {
    let having = having.map(|having| (having, Isa::best()));
    let mut threads = [States::in_windows(plan), States::in_windows(plan)];
    let views: Vec<_> = columns.iter().map(Column::view).collect();
    let (mut interpreter, mut scratch) = (Interpreter::new(&plan.stage), Scratch::default());
    let generator = Generator::default();
    for morsel in 0..20_000 / MORSEL {
        let (states, window) = (&mut threads[morsel % 2], windows.of(morsel).unwrap());
        states.open(window);
        for first in (morsel * MORSEL..(morsel + 1) * MORSEL).step_by(VECTOR) {
            let length = VECTOR.min((morsel + 1) * MORSEL - first);
            let inputs = [Input { views: &views, records: Records::Run { first, length } }];
            let vector = Vector { inputs: &inputs, isa: Isa::best() };
            match by {
                By::Interpreter => interpreter.aggregate(plan, &vector, states)?,
                By::Generator => {
                    let loops =
                        generator.loops(&plan.stage, End::Array(plan), &vector, crate::Mode::Staged)?.expect("code");
                    loops.aggregate(plan, &vector, states, &mut scratch)?;
                }
            }
        }
        states.close(plan, window, having, || "a test".to_owned())?;
    }
    let [mut first, second] = threads;
    first.merge(plan, second)?;
    first.settle(plan, having)?;
    aggregate::rows(plan, &first, &finishes(aggregation), having, "a test", |_| Ok(()))
}

/// Groups whose sum, the column behind the key, is large.
fn having(aggregation: &Aggregation, columns: &[Column]) -> Having {
    let known: Vec<_> = columns.iter().map(Column::facts).collect();
    let (finishes, Aggregation { keys, aggregates, .. }) = (finishes(aggregation), aggregation);
    let facts: Vec<_> =
        finishes.iter().map(|finish| finish.facts(keys, aggregates, (&known, u64::MAX)).unwrap()).collect();
    let large = Expression::Constant(Some(700));
    let condition = Expression::compare(Comparison::Greater, Expression::Column(1), large);
    Having::new(&condition, &finishes, &facts).unwrap()
}

#[test]
fn windows_give_the_groups_of_one_array() {
    for disorder in [0, 3, 150] {
        let columns = columns(disorder);
        let (aggregation, plan) = plan(&columns);
        assert_eq!(plan.clustered, Some(0));
        let windows = Windows::new(&plan, keys(&columns[0]).into_iter()).expect("keys that nearly ascend");
        let morsel = OpenMorsel { rows: 20_000, tids: None, views: columns.iter().map(Column::view).collect() };
        for by in [By::Interpreter, By::Generator] {
            let expected = run(&plan, &finishes(&aggregation), None, &morsel, by, true).unwrap();
            let found = in_windows((&plan, &aggregation), &columns, &windows, None, by).unwrap();
            assert_eq!(found, expected, "{by:?}, disorder {disorder}");
            let having = having(&aggregation, &columns);
            let some = run(&plan, &finishes(&aggregation), Some(&having), &morsel, by, true).unwrap();
            let found = in_windows((&plan, &aggregation), &columns, &windows, Some(&having), by).unwrap();
            assert_eq!(found, some, "{by:?}, disorder {disorder}, with a condition");
            assert!(found.rows > 100 && found.rows < expected.rows / 2, "{} of {}", found.rows, expected.rows);
        }
    }
}

#[test]
fn keys_without_an_order_have_no_windows() {
    let columns = columns(0);
    let (_, plan) = plan(&columns);
    let ends = keys(&columns[0]);
    let all = Some((1000, 4999));
    assert!(Windows::new(&plan, ends.iter().map(|_| all)).is_none(), "each morsel has all keys");
    assert!(Windows::new(&plan, ends.iter().copied().chain([None])).is_none(), "a morsel that tells nothing");
    assert!(
        Windows::new(&plan, ends.iter().copied().chain([Some((0, 5))])).is_none(),
        "a key that is none of the column's"
    );
    assert!(Windows::new(&plan, ends.into_iter()).is_some());
}

#[test]
fn a_key_outside_of_its_morsels_range_is_found() {
    let columns = columns(0);
    let (aggregation, plan) = plan(&columns);
    let mut ends = keys(&columns[0]);
    // The metadata is wrong about the tenth morsel.
    ends[10] = ends[10].map(|(min, max)| (min + 3, max));
    let windows = Windows::new(&plan, ends.into_iter()).unwrap();
    for by in [By::Interpreter, By::Generator] {
        let error = in_windows((&plan, &aggregation), &columns, &windows, None, by).unwrap_err();
        assert!(matches!(&error, Error::Corrupt { place, .. } if place == "a test"), "{error}");
    }
}
