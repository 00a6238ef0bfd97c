//! Groups in windows, against one array for all groups.

use crate::codegen::{Generator, LoopEnd, Scratch};
use crate::data::source::{Records, VECTOR, Vector, VectorInput};
use crate::operators::aggregate::{Having, MorselBounds, MorselGroups, Plan, States};
use crate::operators::interpret::Interpreter;
use crate::tests::run::{By, Place, rows_of, run};
use crate::tests::{Column, fields, finishes};
use crate::{Aggregate, Aggregation, Comparison, Error, Expression, Function, Rows};
use gingham_kernels::Isa;
use gingham_storage::scan::OpenMorsel;
use std::sync::Arc;

const MORSEL: usize = 1000;

/// Keys that ascend but for a few, five records each, and what is summed.
fn columns(disorder: u64) -> [Column; 2] {
    columns_of(&|record| record / 5 + if record.is_multiple_of(97) { disorder } else { 0 })
}

/// Every tenth key, and two morsels at the end whose records have keys of all others.
fn scattered_columns() -> [Column; 2] {
    columns_of(&|record| if record < 18_000 { record } else { record * 7919 % 18_000 } / 5 * 10)
}

fn columns_of(key: &dyn Fn(u64) -> u64) -> [Column; 2] {
    let column = |base, width, codes: &dyn Fn(u64) -> u64| Column {
        base,
        width,
        codes: (0..20_000).map(|record| Some(codes(record))).collect(),
        packed: false,
    };
    [column(1000, 4, key), column(-7, 1, &|record| record % 200)]
}

fn plan(columns: &[Column]) -> (Aggregation, Arc<Plan>) {
    let aggregates = [Function::Sum, Function::Max, Function::Count];
    let aggregate = |function| Aggregate { function, argument: Some(Expression::Column(1)), filter: None };
    let aggregates = aggregates.map(aggregate).to_vec();
    let aggregation = Aggregation { keys: vec![Expression::Column(0)], aggregates, ..Aggregation::default() };
    let plan = Arc::new(Plan::new(&aggregation, fields(columns.iter().map(Column::facts)), 20_000).unwrap());
    (aggregation, plan)
}

/// The keys of each morsel.
fn keys(column: &Column) -> Vec<Vec<i64>> {
    let keys: Vec<i64> =
        (0..column.codes.len()).filter_map(|record| column.value(record)).map(|key| key as i64).collect();
    keys.chunks(MORSEL).map(<[i64]>::to_vec).collect()
}

/// What is known of each morsel.
fn ends(keys: &[Vec<i64>]) -> Vec<MorselBounds> {
    let ends = |keys: &Vec<i64>| MorselBounds {
        rows: keys.len(),
        keys: keys.iter().copied().min().zip(keys.iter().copied().max()),
    };
    keys.iter().map(ends).collect()
}

/// Windows for morsels with these ends, none of which is scattered.
fn windows(plan: &Plan, ends: &[MorselBounds]) -> Option<MorselGroups> {
    MorselGroups::new(plan, ends, |morsel| panic!("morsel {morsel} is not scattered")).unwrap()
}

/// Two threads take the morsels in turn.
fn in_windows(
    (plan, aggregation): (&Arc<Plan>, &Aggregation),
    columns: &[Column],
    windows: &MorselGroups,
    having: Option<&Arc<Having>>,
    by: By,
) -> Result<Rows, Error> {
    let mut threads = [States::in_windows(plan), States::in_windows(plan)];
    let views: Vec<_> = columns.iter().map(Column::view).collect();
    let (mut interpreter, mut scratch) = (Interpreter::new(&plan.stage), Scratch::default());
    let generator = Generator::default();
    for morsel in 0..20_000 / MORSEL {
        let states = &mut threads[morsel % 2];
        states.open(windows, morsel);
        for first in (morsel * MORSEL..(morsel + 1) * MORSEL).step_by(VECTOR) {
            let length = VECTOR.min((morsel + 1) * MORSEL - first);
            let inputs = [VectorInput { views: &views, records: Records::Run { first, length } }];
            let vector = Vector { inputs: &inputs, isa: Isa::best() };
            match by {
                By::Interpreter => interpreter.aggregate(plan, &vector, states)?,
                By::Generator if windows.of(morsel).is_none() => interpreter.aggregate(plan, &vector, states)?,
                By::Generator => {
                    let loops = generator
                        .loops(&plan.stage, LoopEnd::Array(plan), &vector, crate::Mode::Staged)?
                        .expect("code");
                    loops.aggregate(plan, &vector, states, &mut scratch)?;
                }
            }
        }
        let having = having.map(|having| (&**having, Isa::best()));
        states.close(plan, (windows, morsel), having, || "a test".to_owned())?;
    }
    let [first, second] = threads;
    rows_of(plan, vec![first, second], &finishes(aggregation), having, &[])
}

/// Groups whose sum, the column behind the key, is large.
fn having(aggregation: &Aggregation, columns: &[Column]) -> Arc<Having> {
    let known: Vec<_> = columns.iter().map(Column::facts).collect();
    let (finishes, Aggregation { keys, aggregates, .. }) = (finishes(aggregation), aggregation);
    let facts: Vec<_> =
        finishes.iter().map(|finish| finish.facts(keys, aggregates, (&known, u64::MAX)).unwrap()).collect();
    let large = Expression::Constant(Some(700));
    let condition = Expression::compare(Comparison::Greater, Expression::Column(1), large);
    Arc::new(Having::new(&condition, &finishes, &facts).unwrap())
}

#[test]
fn windows_give_the_groups_of_one_array() {
    let cases = [0, 3, 150].map(|disorder| (format!("disorder {disorder}"), columns(disorder), 20));
    for (case, columns, near) in cases.into_iter().chain([("scattered".to_owned(), scattered_columns(), 18)]) {
        let (aggregation, plan) = plan(&columns);
        assert_eq!(plan.clustered, Some(0));
        let keys = keys(&columns[0]);
        let windows = MorselGroups::new(&plan, &ends(&keys), |morsel| Ok(keys[morsel].clone())).unwrap();
        let windows = windows.expect("keys that nearly ascend");
        let with_window: Vec<usize> = (0..keys.len()).filter(|morsel| windows.of(*morsel).is_some()).collect();
        assert!(with_window.into_iter().eq(0..near), "{case}");
        let morsel = OpenMorsel::new(20_000, None, columns.iter().map(Column::view).collect());
        for by in [By::Interpreter, By::Generator] {
            let expected = run(&plan, &finishes(&aggregation), None, &morsel, by, Place::Array).unwrap();
            let found = in_windows((&plan, &aggregation), &columns, &windows, None, by).unwrap();
            assert_eq!(found, expected, "{by:?}, {case}");
            let having = having(&aggregation, &columns);
            let some = run(&plan, &finishes(&aggregation), Some(&having), &morsel, by, Place::Array).unwrap();
            let found = in_windows((&plan, &aggregation), &columns, &windows, Some(&having), by).unwrap();
            assert_eq!(found, some, "{by:?}, {case}, with a condition");
            assert!(found.rows > 100 && found.rows < expected.rows / 2, "{} of {}", found.rows, expected.rows);
        }
    }
}

#[test]
fn keys_without_an_order_have_no_windows() {
    let columns = columns(0);
    let (_, plan) = plan(&columns);
    let ends = ends(&keys(&columns[0]));
    let with = |keys| ends.iter().copied().chain([MorselBounds { rows: MORSEL, keys }]).collect::<Vec<_>>();
    let all = vec![MorselBounds { rows: MORSEL, keys: Some((1000, 4999)) }; ends.len()];
    assert!(windows(&plan, &all).is_none(), "each morsel has all keys");
    assert!(windows(&plan, &with(None)).is_none(), "a morsel that tells nothing");
    assert!(windows(&plan, &with(Some((0, 5)))).is_none(), "a key that is none of the column's");
    assert!(windows(&plan, &ends).is_some());
}

#[test]
fn many_scattered_records_and_keys_that_contradict_the_metadata_have_no_windows() {
    let columns = scattered_columns();
    let (_, plan) = plan(&columns);
    let keys = keys(&columns[0]);
    let ends = ends(&keys);
    assert!(MorselGroups::new(&plan, &ends, |morsel| Ok(keys[morsel].clone())).unwrap().is_some());
    let many: Vec<MorselBounds> = ends.iter().copied().chain([ends[19]; 10]).collect();
    assert!(windows(&plan, &many).is_none(), "more than one in eight");
    assert!(MorselGroups::new(&plan, &ends, |_| Ok(vec![1000, 7])).unwrap().is_none(), "a key below the smallest");
    assert!(MorselGroups::new(&plan, &ends, |_| Err(Error::Cancelled)).is_err());
}

#[test]
fn a_key_outside_of_its_morsels_range_is_found() {
    let columns = columns(0);
    let (aggregation, plan) = plan(&columns);
    let mut ends = ends(&keys(&columns[0]));
    // The metadata is wrong about the tenth morsel.
    ends[10].keys = ends[10].keys.map(|(min, max)| (min + 3, max));
    let windows = windows(&plan, &ends).unwrap();
    for by in [By::Interpreter, By::Generator] {
        let error = in_windows((&plan, &aggregation), &columns, &windows, None, by).unwrap_err();
        assert!(matches!(&error, Error::Corrupt { place, .. } if place == "a test"), "{error}");
    }
}
