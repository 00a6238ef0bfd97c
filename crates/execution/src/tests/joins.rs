//! Random pipelines with joins: interpreted and by generated code, cut into stages in each way, against nested loops over all pairs of rows.

use crate::codegen::cache::CodeCache;
use crate::data::relation::Relation;
use crate::data::rows::{Column, Rows, Values};
use crate::data::source::VECTOR;
use crate::operators::inequality::Range;
use crate::operators::join::{JoinTable, KeyRanges, TableChoice};
use crate::plan::pipeline_plan::{Build, PipelineEnd, PipelineInputs, PipelinePlan};
use crate::plan::query::{Pipeline, Probe, Sink, Source, Step};
use crate::plan::stages::{Cut, Stages};
use crate::run::worker::{LocalSinkState, PipelineContext, PipelineWorker};
use crate::schedule::helpers::Helpers;
use crate::tests::{cases, evaluate, truth};
use crate::{Error, Expression, Field, JoinKind, Limits, Memory, Mode};
use arrow::buffer::{BooleanBuffer, Buffer};
use gingham_kernels::Isa;
use gingham_kernels::hash::HashFunction;
use gingham_kernels::key_table::Probing;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

pub(super) type Row = Vec<Option<i128>>;

/// Columns of the source and of each build side; the random conditions of the module above look at as many as these are.
pub(super) const SOURCE: usize = 2;
pub(super) const BUILD: usize = 2;

/// A join of a random query.
#[derive(Debug, Clone)]
pub(super) struct Join {
    pub(super) rows: Vec<Row>,
    pub(super) kind: JoinKind,
    /// Which columns of the source equal the first ones of the build side.
    pub(super) keys: Vec<usize>,
    pub(super) condition: Option<Expression>,
    pub(super) filter: Option<Expression>,
}

pub(super) fn rows(most: usize) -> impl Strategy<Value = Vec<Row>> {
    // Few different values, so that there are matches; some far away, so that keys are several words, or none is no key.
    let far = prop::sample::select(vec![i64::MIN, i64::MIN + 1, -1 << 62, 1 << 62, i64::MAX]);
    let value = prop_oneof![
        2 => Just(None),
        16 => (0..6i128).prop_map(Some),
        2 => (-(1i128 << 40)..1 << 40).prop_map(Some),
        1 => far.prop_map(|far| Some(far.into())),
    ];
    prop::collection::vec(prop::collection::vec(value, SOURCE.max(BUILD)), 0..most)
}

pub(super) fn join() -> impl Strategy<Value = Join> {
    let kind = prop_oneof![
        3 => Just(JoinKind::Inner),
        2 => Just(JoinKind::Left),
        2 => Just(JoinKind::Semi),
        2 => Just(JoinKind::Anti),
        2 => Just(JoinKind::NotIn),
        2 => Just(JoinKind::Mark),
    ];
    let keys = prop_oneof![2 => Just(vec![0]), 2 => Just(vec![1]), 2 => Just(vec![1, 0]), 1 => Just(vec![])];
    (rows(12), kind, keys, prop::option::weighted(0.4, truth(1)), prop::option::weighted(0.3, truth(1))).prop_map(
        |(rows, kind, keys, condition, filter)| {
            let condition = condition.filter(|_| !matches!(kind, JoinKind::Inner | JoinKind::NotIn));
            // SQL's NOT IN has a key.
            let keys = if kind == JoinKind::NotIn { keys.into_iter().chain([1]).take(1).collect() } else { keys };
            Join { rows, kind, keys, condition, filter }
        },
    )
}

/// Columns of the source, and per join those it adds: two, or for the mark a third.
pub(super) fn pipeline(joins: &[Join], filter: Option<&Expression>) -> Pipeline {
    let field = |input| move |column| Field { input, column };
    let mut fields: Vec<Field> = (0..SOURCE).map(field(0)).collect();
    let mut steps: Vec<Step> = filter.cloned().map(Step::Filter).into_iter().collect();
    let mut kept: Vec<usize> = (0..SOURCE).collect();
    for (build, join) in joins.iter().enumerate() {
        let first = fields.len();
        let marks = join.kind == JoinKind::Mark;
        // Conditions look at the columns 0 to 3: those of the source and of this build side.
        let here = |expression: &Expression| renamed(expression, first, BUILD);
        fields.extend((0..BUILD + usize::from(marks)).map(field(build + 1)));
        let keys: Vec<_> = join.keys.iter().map(|key| Expression::Column(*key)).collect();
        let condition = join.condition.as_ref().map(here);
        let known = if join.kind == JoinKind::Inner { join.filter.as_ref().map(here) } else { condition.clone() };
        let range =
            known.filter(|_| keys.is_empty()).and_then(|known| Range::of(&known, first..first + BUILD)).map(Box::new);
        steps.push(Step::Probe(Probe { build, kind: join.kind, keys, range, condition }));
        match join.kind {
            JoinKind::Semi | JoinKind::Anti | JoinKind::NotIn => {}
            JoinKind::Mark => {
                kept.push(first + BUILD);
                let mark = |expression: &Expression| renamed(expression, first + BUILD, 1);
                steps.extend(join.filter.as_ref().map(mark).map(Step::Filter));
            }
            JoinKind::Inner | JoinKind::Left | JoinKind::Full => {
                kept.extend(first..first + BUILD);
                steps.extend(join.filter.as_ref().map(here).map(Step::Filter));
            }
        }
    }
    let columns = kept.into_iter().map(Expression::Column).collect();
    let (sink, hints) = (Sink::Rows { columns, keys: None }, Vec::new());
    Pipeline { source: Source::Rows(0), computed: Vec::new(), fields, steps, sink, hints, behind: None }
}

/// The columns 2 and 3 of an expression become those from `first` on, of which there are `added`.
pub(super) fn renamed(expression: &Expression, first: usize, added: usize) -> Expression {
    expression.with_leaves(&|leaf| match leaf {
        Expression::Column(column) if *column >= SOURCE => Expression::Column(first + (column - SOURCE).min(added - 1)),
        other => other.clone(),
    })
}

/// The rows that come out, by loops over all pairs, and those of a full join's build side that have a match. `Err` is an
/// overflow.
pub(super) fn expected(source: &[Row], joins: &[Join], pipeline: &Pipeline) -> Result<(Vec<Row>, Vec<usize>), ()> {
    let holds = |expression: &Expression, row: &Row| {
        evaluate(expression, &|column| row.get(column).copied().flatten()).map(|truth| truth == Some(1))
    };
    // Rows over all fields, those of semi and anti joins NULL.
    let mut current: Vec<Row> = source.iter().map(|row| row[..SOURCE].to_vec()).collect();
    let mut marked = BTreeSet::new();
    for step in &pipeline.steps {
        let mut next = Vec::new();
        for row in current {
            let probe = match step {
                Step::Filter(condition) => {
                    if holds(condition, &row)? {
                        next.push(row);
                    }
                    continue;
                }
                Step::Probe(probe) => probe,
            };
            let mut matches = Vec::new();
            for (number, build) in joins[probe.build].rows.iter().enumerate() {
                let equal =
                    joins[probe.build].keys.iter().zip(build).all(|(key, own)| own.is_some() && row[*key] == *own);
                let pair = [row.clone(), build[..BUILD].to_vec()].concat();
                if equal && probe.condition.as_ref().map_or(Ok(true), |condition| holds(condition, &pair))? {
                    matches.push(pair);
                    marked.extend((probe.kind == JoinKind::Full).then_some(number));
                }
            }
            let nulls = [row.clone(), vec![None; BUILD]].concat();
            let build = &joins[probe.build];
            // What NOT IN is with NULLs: unknown, unless nothing is in an empty list.
            let unknown =
                || build.keys.iter().any(|key| row[*key].is_none()) || build.rows.iter().any(|row| row[0].is_none());
            match probe.kind {
                JoinKind::Inner => next.extend(matches),
                JoinKind::Left | JoinKind::Full if matches.is_empty() => next.push(nulls),
                JoinKind::Left | JoinKind::Full => next.extend(matches),
                JoinKind::Semi if !matches.is_empty() => next.push(nulls),
                JoinKind::Anti if matches.is_empty() => next.push(nulls),
                JoinKind::NotIn if build.rows.is_empty() => next.push(nulls),
                JoinKind::NotIn if matches.is_empty() && !unknown() => next.push(nulls),
                JoinKind::Semi | JoinKind::Anti | JoinKind::NotIn => {}
                JoinKind::Mark => next.push([nulls, vec![Some((!matches.is_empty()).into())]].concat()),
            }
        }
        current = next;
    }
    let Sink::Rows { columns, .. } = &pipeline.sink else { unreachable!("pipelines here end in rows") };
    let shown = |row: Row| {
        let value = |column: &Expression| evaluate(column, &|column| row[column]);
        columns.iter().map(value).collect()
    };
    let rows = current.into_iter().map(shown).collect::<Result<_, _>>()?;
    Ok((rows, marked.into_iter().collect()))
}

pub(super) fn relation(rows: &[Row]) -> Relation {
    let column = |column: usize| Column {
        values: Values::Short(rows.iter().map(|row| row[column].unwrap_or_default() as i64).collect()),
        valid: Some(rows.iter().map(|row| row[column].is_some()).collect()),
    };
    let columns = (0..SOURCE.max(BUILD)).map(column);
    Relation::new(&Rows { rows: rows.len(), columns: columns.collect() }).unwrap()
}

/// How many ways [`ways`] gives.
pub(super) const WAYS: usize = 9;

/// Ways to run a pipeline with so many probes: each mode, and a boundary in the middle, all of which must agree; staging
/// vectors that are long, or so short that most of them are handed on full.
pub(super) fn ways(probes: usize) -> Vec<(Mode, Stages)> {
    let modes = [Mode::Interpreted, Mode::Staged, Mode::Vectorized, Mode::Fused];
    let mut ways: Vec<_> = modes.into_iter().map(|mode| (mode, Stages::of(mode, probes))).collect();
    let half = Stages { cut: Cut::Probes(probes.div_ceil(2)), ..Stages::of(Mode::Fused, probes) };
    ways.push((Mode::Fused, half));
    for number in 1..ways.len() {
        let (mode, stages) = ways[number];
        // Longer and shorter vectors, and what the planner would not choose.
        let table = TableChoice { array: false, function: HashFunction::ALL[number % 3] };
        let probing = [Probing::Scalar, Probing::Group(5), Probing::Pipelined(2), Probing::Amac(3)][number % 4];
        ways.push((mode, Stages { vector: 3, probing, table, ..stages }));
    }
    ways
}

/// What a pipeline over `source` ends in, all of whose rows qualify, or those of `tids`.
pub(super) fn run(
    source: &Relation,
    joins: &[Join],
    pipeline: &Pipeline,
    (mode, stages): (Mode, Stages),
    tids: Option<&[u32]>,
) -> Result<(PipelineContext, PipelineWorker), Error> {
    let mut given = Vec::new();
    let mut builds = Vec::new();
    for (join, probe) in joins.iter().zip(pipeline.probes()) {
        let relation = relation(&join.rows);
        let keys: Vec<usize> = (0..join.keys.len()).collect();
        let mut table = JoinTable::build(&relation, &keys, (stages.table, Isa::best()), &Helpers::none())?;
        if let Some(range) = &probe.range {
            table.sorted = relation.integers(range.column, Isa::best())?;
        }
        given.push(Build::of(&relation, &table, stages.probing));
        builds.push((Arc::new(table), Arc::new(relation)));
    }
    let (facts, rows) = (source.facts.clone(), source.rows as u64);
    let given = PipelineInputs {
        source: facts,
        rows,
        likely: rows,
        builds: given,
        parameters: Vec::new(),
        stages,
        predicate: None,
    };
    let ready = Arc::new(PipelinePlan::new(pipeline, given)?);
    let code = Arc::new(CodeCache::new(&ready));
    let records = (0..ready.stages()).map(|_| AtomicUsize::new(0)).collect();
    let (begun, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (marks, isa) = (vec![Relation::marks(BUILD)?; joins.len()], Isa::best());
    let (memory, stopped) = (Arc::new(Unlimited), Arc::default());
    let course = PipelineContext {
        compiled_before: std::time::Duration::ZERO,
        functions: Vec::new(),
        ready,
        code,
        computing: Default::default(),
        builds,
        marks,
        windows: None,
        place: String::new(),
        mode,
        isa,
        morsels: 1,
        table_bytes: usize::MAX,
        enough: None,
        begun,
        taken,
        records,
        memory,
        stopped,
    };
    let mut flow = PipelineWorker::new(&course)?;
    flow.morsel(&course, 0, &source.views, source.rows, tids)?;
    Ok((course, flow))
}

#[derive(Debug)]
struct Unlimited;

impl Memory for Unlimited {
    fn grow(&self, _bytes: usize) -> crate::Result<()> {
        Ok(())
    }
}

/// Sorted: a join's order is nobody's wish.
fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort();
    rows
}

/// Joins of which a pipeline looks for ranges, with their rows in order.
pub(super) fn in_order(joins: &[Join], pipeline: &Pipeline) -> Vec<Join> {
    let mut joins = joins.to_vec();
    for (join, probe) in joins.iter_mut().zip(pipeline.probes()) {
        if let Some(range) = &probe.range {
            join.rows.sort_by_key(|row| (row[range.column].is_none(), row[range.column]));
        }
    }
    joins
}

fn check(
    source: &[Row],
    joins: &[Join],
    filter: Option<&Expression>,
    half: bool,
    ways: &[(Mode, Stages)],
) -> Result<(), TestCaseError> {
    let pipeline = pipeline(joins, filter);
    let joins = &in_order(joins, &pipeline);
    let all = relation(source);
    let tids: Option<Vec<u32>> = half.then(|| (0..source.len() as u32).step_by(2).collect());
    let qualifying: Vec<Row> = match &tids {
        Some(tids) => tids.iter().map(|tid| source[*tid as usize].clone()).collect(),
        None => source.to_vec(),
    };
    let exact = expected(&qualifying, joins, &pipeline);
    for way in ways.iter().copied() {
        match run(&all, joins, &pipeline, way, tids.as_deref()) {
            Ok((course, flow)) => {
                let (PipelineEnd::Rows { columns, .. }, LocalSinkState::Rows { done, .. }) =
                    (&course.ready.end, flow.ended)
                else {
                    return Err(TestCaseError::fail("a pipeline that ends in no rows"));
                };
                let chunks: Vec<_> = done.into_iter().map(|(_, chunk)| chunk).collect();
                let rows = crate::operators::gathered::rows(&chunks, columns);
                let marked = BooleanBuffer::new(Buffer::from_vec(flow.marks.clone()), 0, flow.marks.len() * 64);
                let found = (0..rows.rows).map(|row| rows.columns.iter().map(|column| column.get(row)).collect());
                // An overflow where SQL's operators would not have looked is another operator's to tell.
                if let Ok((exact, matched)) = &exact {
                    prop_assert_eq!(sorted(found.collect()), sorted(exact.clone()), "{:?}", way);
                    prop_assert_eq!(&marked.set_indices().collect::<Vec<_>>(), matched, "{:?}", way);
                }
                let whole = course.ready.fused.as_ref().is_some_and(|fused| fused.first == 0);
                let conditional = |join: &Join| join.kind == JoinKind::Mark && join.condition.is_some();
                let fusible = way.1.table.function != HashFunction::Crc32 && !joins.iter().any(conditional);
                let numbered = course.ready.given.builds.iter().all(|build| build.ranges.numbers().is_some());
                let fusible = fusible && numbered && way.1.cut == Cut::Probes(0);
                prop_assert!(!fusible || whole, "not fused");
            }
            Err(Error::Overflow | Error::Unsupported(_)) => {}
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]
    #[test]
    fn joins_agree_with_nested_loops(
        source in rows(40),
        joins in prop::collection::vec(join(), 1..4),
        filter in prop::option::weighted(0.3, truth(1).prop_map(|truth| renamed(&truth, 0, SOURCE))),
        half in any::<bool>(),
        full in any::<bool>(),
        way in 0..WAYS,
    ) {
        // One at most in a pipeline.
        let mut joins = joins;
        if let (true, JoinKind::Left) = (full, joins[0].kind) {
            joins[0].kind = JoinKind::Full;
        }
        check(&source, &joins, filter.as_ref(), half, &ways(joins.len())[way..=way])?;
    }
}

/// More records and matches than vectors hold, and one key with most of the rows: keys that are a number of few digits, one
/// that is the key itself, and such of several words.
#[test]
fn vectors_are_filled_across_duplicates() {
    for (keys, shift) in [(vec![0], 0), (vec![0], 58), (vec![0, 1], 58)] {
        let row = |number: usize, modulus: usize| {
            let (key, other) = ((number % modulus) as i128 - 30, (number % 4) as i128);
            vec![Some(key << shift), Some(if shift == 0 { number as i128 } else { other << shift })]
        };
        filled_across_duplicates(&keys, row);
    }
}

fn filled_across_duplicates(keys: &[usize], row: impl Fn(usize, usize) -> Row) {
    let source: Vec<Row> = (0..VECTOR + 700).map(|number| row(number, 50)).collect();
    for kind in [JoinKind::Inner, JoinKind::Left, JoinKind::Full, JoinKind::Semi, JoinKind::Anti, JoinKind::Mark] {
        let build: Vec<Row> = (0..300).map(|number| row(if number < 200 { 7 } else { number }, 60)).collect();
        let later = Expression::compare(crate::Comparison::Less, Expression::Column(1), Expression::Column(3));
        for condition in [None, Some(later)] {
            let condition = condition.filter(|_| kind != JoinKind::Inner);
            let join = Join { rows: build.clone(), kind, keys: keys.to_vec(), condition, filter: None };
            let second = Join { kind: JoinKind::Inner, condition: None, ..join.clone() };
            check(&source, std::slice::from_ref(&join), None, false, &ways(1)).unwrap();
            check(&source[..600], &[join, second], None, true, &ways(2)).unwrap();
        }
    }
}

/// The words of keys over columns with these ends.
fn ranges(ends: &[(i64, i64)]) -> KeyRanges {
    KeyRanges::new(ends.iter().map(|(min, max)| (Limits::new(*min, *max), true))).unwrap()
}

#[test]
fn keys_are_a_number_where_a_number_is_left_for_records_without_a_match() {
    let of = |ends: &[(i64, i64)]| {
        let ranges = ranges(ends);
        (ranges.words(), ranges.numbers(), ranges.none())
    };
    assert_eq!(of(&[]), (1, Some(1), -1));
    assert_eq!(of(&[(-3, 6), (0, 9)]), (1, Some(100), -1));
    assert_eq!(of(&[(-1 << 61, 1 << 61)]), (1, Some((1 << 62) + 1), -1));
    // The key itself.
    assert_eq!(of(&[(i64::MIN, 5)]), (1, Some((1 << 63) + 6), i64::MAX));
    assert_eq!(of(&[(i64::MIN + 1, i64::MAX)]), (1, Some(u64::MAX), i64::MIN));
    for wide in [&[(i64::MIN, i64::MAX)][..], &[(0, i64::MAX), (0, 0)], &[(0, 1 << 40), (0, 1 << 40), (0, 1)]] {
        assert_eq!(ranges(wide).numbers(), None, "{wide:?}");
    }
    assert_eq!(ranges(&[(0, 1 << 40), (0, 1 << 40), (0, 1)]).words(), 2);
    assert!(KeyRanges::new([(Limits::new(0, 1i128 << 64), false)].into_iter()).is_err());
}
