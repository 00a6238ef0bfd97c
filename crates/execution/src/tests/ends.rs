//! Random pipelines with joins that end in groups or marks, cut into stages in each way, against nested loops.

use crate::plan::pipeline_plan::PipelineEnd;
use crate::plan::query::{Pipeline, Probe, Sink, Step};
use crate::run::worker::LocalSinkState;
use crate::tests::joins::{
    Join, Row, SOURCE, WAYS, expected, in_order, join, pipeline, relation, renamed, rows, run, ways,
};
use crate::tests::run::rows_of;
use crate::tests::{cases, evaluate, truth};
use crate::{Aggregate, Aggregation, Error, Expression, Finish, Function};
use proptest::prelude::*;

/// Records, and the sum of a column, by whether another is NULL; or of all.
fn aggregation(keys: bool, filter: Option<Expression>) -> Aggregation {
    let keys = if keys { vec![Expression::IsNull(Box::new(Expression::Column(0)))] } else { Vec::new() };
    let count = Aggregate { function: Function::Count, argument: None, filter: None };
    let sum = Aggregate { function: Function::Sum, argument: Some(Expression::Column(1)), filter: None };
    Aggregation { filter, keys, aggregates: vec![count, sum], ..Aggregation::default() }
}

/// Groups of rows that the same pipeline gives: by key, records and sum.
fn groups(rows: &[Row], keys: bool) -> Vec<Row> {
    let of = |rows: Vec<&Row>, key: Option<i128>| {
        let sum = rows.iter().filter_map(|row| row[1]).reduce(|a, b| a + b);
        let values = [Some(rows.len() as i128), sum];
        key.map(Some).into_iter().chain(values).collect::<Row>()
    };
    if !keys {
        return vec![of(rows.iter().collect(), None)];
    }
    let group = |null: bool| {
        let rows: Vec<&Row> = rows.iter().filter(|row| row[0].is_none() == null).collect();
        (!rows.is_empty()).then(|| of(rows, Some(null.into())))
    };
    [false, true].into_iter().filter_map(group).collect()
}

/// A bit for each row of the last join's build side: whether a row of the pipeline before it matches.
fn marks(rows: &[Row], last: &Join, condition: Option<&Expression>) -> Result<Vec<u64>, ()> {
    let mut marks = vec![0; last.rows.len().div_ceil(64)];
    for row in rows {
        for (number, build) in last.rows.iter().enumerate() {
            let equal = last.keys.iter().zip(build).all(|(key, own)| own.is_some() && row[*key] == *own);
            let value = |column: usize| if column < SOURCE { row[column] } else { build[column - SOURCE] };
            if equal && condition.map_or(Ok(Some(1)), |condition| evaluate(condition, &value))? == Some(1) {
                marks[number / 64] |= 1 << (number % 64);
            }
        }
    }
    Ok(marks)
}

fn tids(source: &[Row], half: bool) -> (Option<Vec<u32>>, Vec<Row>) {
    let tids: Option<Vec<u32>> = half.then(|| (0..source.len() as u32).step_by(2).collect());
    let qualifying = source.iter().step_by(if half { 2 } else { 1 }).cloned().collect();
    (tids, qualifying)
}

fn check_groups(
    source: &[Row],
    joins: &[Join],
    filter: Option<&Expression>,
    (by, half): (bool, bool),
    way: usize,
) -> TestResult {
    let rows = pipeline(joins, filter);
    let joins = &in_order(joins, &rows);
    let (tids, qualifying) = tids(source, half);
    let Ok((exact, _)) = expected(&qualifying, joins, &rows) else { return Ok(()) };
    let exact = groups(&exact, by);
    let columns: Vec<Finish> = by.then_some(Finish::Key(0)).into_iter().chain([0, 1].map(Finish::Value)).collect();
    // The last filter may also stand with the aggregation.
    let mut steps = rows.steps.clone();
    let last = match steps.pop() {
        Some(Step::Filter(last)) => Some(last),
        other => {
            steps.extend(other);
            None
        }
    };
    let sink =
        Sink::Aggregate { aggregation: aggregation(by, last), columns: columns.clone(), having: None, keys: None };
    let whole = Pipeline { steps, sink, ..rows };
    let way = ways(joins.len())[way];
    match run(&relation(source), joins, &whole, way, tids.as_deref()) {
        Ok((course, flow)) => {
            let (PipelineEnd::Aggregate { plan, .. }, LocalSinkState::States(states)) = (&course.ready.end, flow.ended)
            else {
                return Err(TestCaseError::fail("a pipeline without groups"));
            };
            let found = rows_of(plan, vec![*states], &columns, None, &[]);
            let found = found.map_err(|error| TestCaseError::fail(error.to_string()))?;
            let row = |row| found.columns.iter().map(|column| column.get(row)).collect::<Row>();
            prop_assert_eq!((0..found.rows).map(row).collect::<Vec<_>>(), exact.clone(), "{:?}", way);
        }
        Err(Error::Overflow | Error::Unsupported(_)) => {}
        Err(error) => return Err(TestCaseError::fail(error.to_string())),
    }
    Ok(())
}

fn check_marks(source: &[Row], joins: &[Join], condition: Option<&Expression>, half: bool, way: usize) -> TestResult {
    let Some((_, before)) = joins.split_last() else { return Ok(()) };
    let rows = pipeline(before, None);
    let joins = &in_order(joins, &rows);
    let Some((last, before)) = joins.split_last() else { return Ok(()) };
    let (tids, qualifying) = tids(source, half);
    let Ok((exact, _)) = expected(&qualifying, before, &rows) else { return Ok(()) };
    let Ok(exact) = marks(&exact, last, condition) else { return Ok(()) };
    // The build side's columns come last.
    let first = pipeline(before, None).fields.len();
    let mut whole = pipeline(joins, None);
    whole.steps = rows.steps;
    let keys = last.keys.iter().map(|key| Expression::Column(*key)).collect();
    let condition = condition.map(|condition| renamed(condition, first, 2));
    whole.sink = Sink::Marks(Probe { build: before.len(), kind: crate::JoinKind::Semi, keys, range: None, condition });
    whole.fields.truncate(first);
    whole.fields.extend((0..2).map(|column| crate::Field { input: joins.len(), column }));
    let way = ways(joins.len())[way];
    match run(&relation(source), joins, &whole, way, tids.as_deref()) {
        Ok((_, flow)) => prop_assert_eq!(&flow.marks, &exact, "{:?}", way),
        Err(Error::Overflow | Error::Unsupported(_)) => {}
        Err(error) => return Err(TestCaseError::fail(error.to_string())),
    }
    Ok(())
}

type TestResult = Result<(), TestCaseError>;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]
    #[test]
    fn groups_behind_joins_agree_with_nested_loops(
        source in rows(40),
        joins in prop::collection::vec(join(), 1..4),
        filter in prop::option::weighted(0.5, truth(1).prop_map(|truth| renamed(&truth, 0, SOURCE))),
        options in any::<(bool, bool)>(),
        way in 0..WAYS,
    ) {
        check_groups(&source, &joins, filter.as_ref(), options, way)?;
    }

    #[test]
    fn marks_agree_with_nested_loops(
        source in rows(40),
        joins in prop::collection::vec(join(), 1..3),
        condition in prop::option::weighted(0.5, truth(1)),
        half in any::<bool>(),
        way in 0..WAYS,
    ) {
        check_marks(&source, &joins, condition.as_ref(), half, way)?;
    }
}
