//! Group joins: where records that are joined are grouped by the key of the join, and each record of the probing side has a
//! key of its own, what is computed of the build side is computed per key before the join. The join then has one match at
//! most for a record, and its records are the groups (relaxed operator fusion paper, section 5.1, whose planner does so
//! for TPC-H's queries 3 and 13). Where nothing promises that keys differ, the same is done when the build side has several
//! rows a key, and the join's records are grouped as they were: what was computed before is put together there.

use crate::compile::draft::{PipelineBuilder, QueryBuilder};
use crate::compile::groups::GroupParts;
use gingham_execution::{
    Aggregate, Aggregation, Expression, Field, Finish, Function, JoinKind, Pipeline, Sink, Source, Spread, Step,
};

impl QueryBuilder {
    /// The pipeline that gives the groups, by the columns that `parts` would finish with; `None` when it is no group join,
    /// and nothing has changed then.
    pub(super) fn group_join(&mut self, open: &mut PipelineBuilder, parts: &GroupParts) -> Option<usize> {
        let (Source::Scan(scan), 2, Some(Step::Probe(probe))) = (open.source, open.inputs, open.steps.last()) else {
            return None;
        };
        let (build, kind) = (probe.build, probe.kind);
        let is_whole = self.pipelines[build].behind.is_none();
        let is_kept = is_whole
            && parts.apart.is_empty()
            && matches!(kind, JoinKind::Inner | JoinKind::Left)
            && probe.condition.is_none();
        let same_key = parts.keys == probe.keys && parts.keys.len() == 1;
        if !is_kept || !same_key {
            return None;
        }
        let Sink::Rows { columns, keys: Some(keys) } = &self.pipelines[build].sink else { return None };
        let ([key], columns) = (keys.as_slice(), columns.clone()) else { return None };
        let (key, first) = (*key, open.fields.iter().position(|field| field.input == 1)?);
        let split = Split { parts, first, left: kind == JoinKind::Left };
        let is_unique = parts.traces[0].determines.contains(&scan);
        let (finishes, sink) = if is_unique {
            let (finishes, columns) = split.finishes()?;
            (finishes, Sink::Rows { columns, keys: None })
        } else {
            let (limits, _) = self.left[build][key];
            let numbers = (limits.max - limits.min).checked_add(1)?;
            if numbers.saturating_mul(ROWS_A_KEY) > self.rows[build].into() {
                return None;
            }
            let (finishes, aggregates) = split.merged()?;
            // A sum of a key's rows goes to the join in 64 bits.
            let most = i64::MAX.unsigned_abs() / self.rows[build].max(1);
            let fits = |aggregate: &Aggregate| match (aggregate.function, &aggregate.argument) {
                (Function::Sum, Some(argument)) => {
                    argument.facts(&self.left[build]).is_ok_and(|(limits, _)| limits.magnitude() <= most.into())
                }
                _ => true,
            };
            if !split.aggregates(&|leaf| split.of_rows(leaf)).iter().all(fits) {
                return None;
            }
            let aggregation = Aggregation { keys: parts.keys.clone(), aggregates, ..Aggregation::default() };
            (finishes, Sink::Aggregate { aggregation, columns: parts.finishes.clone(), having: None, keys: None })
        };
        self.aggregate_build(open, &split, (build, key, &columns), finishes, sink)
    }

    /// Makes groups of the rows of `build` by the column `key`, with what `finishes` says; a pipeline that ends in `sink`
    /// reads them.
    fn aggregate_build(
        &mut self,
        open: &mut PipelineBuilder,
        split: &Split<'_>,
        (build, key, columns): (usize, usize, &[Expression]),
        finishes: Vec<Finish>,
        sink: Sink,
    ) -> Option<usize> {
        let first = split.first;
        // What is known of the groups' columns, by what is known of the rows that are grouped.
        let rows = split.aggregates(&|leaf| split.of_rows(leaf));
        let key_of_rows = [Expression::Column(key)];
        let facts =
            finishes.iter().map(|finish| finish.expected(&key_of_rows, &rows, (&self.left[build], self.rows[build])));
        let facts = facts.collect::<Result<Vec<_>, _>>().ok()?;
        let left = match &sink {
            // They are what they would be of the joined records.
            Sink::Aggregate { columns, .. } => {
                let GroupParts { keys, aggregates, .. } = split.parts;
                let joined = (open.scope.facts(), open.most);
                columns.iter().map(|finish| finish.expected(keys, aggregates, joined)).collect::<Result<Vec<_>, _>>()
            }
            Sink::Rows { columns, .. } => {
                let mut known = open.scope.facts()[..first].to_vec();
                known.extend(facts.iter().map(|(limits, null)| (*limits, *null || split.left)));
                columns.iter().map(|output| output.facts(&known)).collect()
            }
            Sink::Marks(_) => return None,
        };
        let left = left.ok()?;
        let before = |leaf: &Expression| match leaf {
            Expression::Column(column) if *column >= first => columns[column - first].clone(),
            other => other.clone(),
        };
        let (keys, aggregates) = (vec![columns[key].clone()], split.aggregates(&before));
        let aggregation = Aggregation { keys, aggregates, ..Aggregation::default() };
        self.pipelines[build].sink =
            Sink::Aggregate { aggregation, columns: finishes, having: None, keys: Some(vec![0]) };
        open.fields.truncate(first);
        open.fields.extend((0..facts.len()).map(|column| Field { input: 1, column }));
        self.left[build] = facts;
        self.left.push(left);
        self.rows.push(open.scope.rows());
        self.pipelines.push(Pipeline {
            source: open.source,
            computed: std::mem::take(&mut open.computed),
            fields: std::mem::take(&mut open.fields),
            steps: std::mem::take(&mut open.steps),
            sink,
            hints: std::mem::take(&mut open.hints),
            behind: None,
        });
        Some(self.pipelines.len() - 1)
    }
}

/// Rows of a build side for each number that a key can be, from which on it is aggregated before a join whose records are
/// grouped anyway.
const ROWS_A_KEY: i128 = 4;

/// What is computed before the join, and what after it.
struct Split<'p> {
    parts: &'p GroupParts,
    /// The first column of the build side.
    first: usize,
    /// Records without a match are groups too.
    left: bool,
}

impl Split<'_> {
    /// The columns of the groups by key, the key first, and what becomes of them and of the probing side's in the place of
    /// each column that was to be finished.
    fn finishes(&self) -> Option<(Vec<Finish>, Vec<Expression>)> {
        let mut finishes = vec![Finish::Key(0)];
        let mut outputs = Vec::with_capacity(self.parts.finishes.len());
        for finish in &self.parts.finishes {
            let (first, others) = match finish {
                Finish::Key(_) => {
                    outputs.push(self.parts.keys[0].clone());
                    continue;
                }
                Finish::Value(number) | Finish::Within(number, _) => (*number, [*number; 2]),
                Finish::Mean { sum, count, .. } => (*sum, [*count; 2]),
                Finish::Moment(..) | Finish::Pair(_) | Finish::Counted(_) | Finish::Text(_) => return None,
                Finish::Spread(Spread { sum, squares, count, .. }) => (*sum, [*squares, *count]),
            };
            let aggregate = &self.parts.aggregates[first];
            if self.is_carried(aggregate) {
                outputs.extend(aggregate.argument.clone());
                continue;
            }
            if !self.is_of_build(first) || !others.iter().all(|other| self.is_of_build(*other)) {
                return None;
            }
            let column = Expression::Column(self.first + finishes.len());
            finishes.push(*finish);
            let is_count = matches!(aggregate.function, Function::Count | Function::CountDistinct);
            let counts = self.left && is_count && matches!(finish, Finish::Value(_));
            outputs.push(if counts { none_is_zero(column) } else { column });
        }
        Some((finishes, outputs))
    }

    /// The columns of the groups by key, the key first, and the aggregates that put those of records with equal keys
    /// together, each in the place of its own.
    fn merged(&self) -> Option<(Vec<Finish>, Vec<Aggregate>)> {
        let mut finishes = vec![Finish::Key(0)];
        let merged = self.parts.aggregates.iter().enumerate().map(|(number, aggregate)| {
            if self.is_carried(aggregate) {
                return Some(aggregate.clone());
            }
            if !self.is_of_build(number) {
                return None;
            }
            let column = Expression::Column(self.first + finishes.len());
            finishes.push(Finish::Value(number));
            let (function, argument) = match aggregate.function {
                Function::Count if self.left => (Function::Sum, none_is_zero(column)),
                Function::Count => (Function::Sum, column),
                function @ (Function::Sum | Function::Min | Function::Max) => (function, column),
                _ => return None,
            };
            Some(Aggregate { function, argument: Some(argument), filter: None })
        });
        let merged = merged.collect::<Option<Vec<_>>>()?;
        Some((finishes, merged))
    }

    /// Whether an aggregate gives a column of the probing side that is carried along: it is the record's own.
    fn is_carried(&self, aggregate: &Aggregate) -> bool {
        let Aggregate { function: Function::Max, argument: Some(Expression::Column(column)), filter: None } = aggregate
        else {
            return false;
        };
        *column < self.first
    }

    /// Whether an aggregate is over columns of the build side, and NULLs of these alone give it nothing.
    fn is_of_build(&self, number: usize) -> bool {
        let Aggregate { argument, filter, .. } = &self.parts.aggregates[number];
        let strict = matches!(argument, Some(Expression::Column(_))) && filter.is_none();
        (strict || !self.left) && argument.iter().chain(filter).all(|expression| self.reads_build(expression))
    }

    fn reads_build(&self, expression: &Expression) -> bool {
        let other = std::cell::Cell::new(false);
        expression.with_leaves(&|leaf| {
            let outside = matches!(leaf, Expression::Column(column) if *column < self.first);
            other.set(other.get() || outside);
            leaf.clone()
        });
        !other.get()
    }

    /// A column of the joined records as one of the build side's rows.
    fn of_rows(&self, leaf: &Expression) -> Expression {
        match leaf {
            Expression::Column(column) if *column >= self.first => Expression::Column(column - self.first),
            other => other.clone(),
        }
    }

    /// All aggregates, by other leaves; those of the probing side, of which nothing is read, count.
    fn aggregates(&self, leaf: &impl Fn(&Expression) -> Expression) -> Vec<Aggregate> {
        let aggregate = |(number, aggregate): (usize, &Aggregate)| {
            if !self.is_of_build(number) {
                return Aggregate { function: Function::Count, argument: None, filter: None };
            }
            Aggregate {
                function: aggregate.function,
                argument: aggregate.argument.as_ref().map(|argument| argument.with_leaves(leaf)),
                filter: aggregate.filter.as_ref().map(|filter| filter.with_leaves(leaf)),
            }
        };
        self.parts.aggregates.iter().enumerate().map(aggregate).collect()
    }
}

/// A count of nothing.
fn none_is_zero(count: Expression) -> Expression {
    let none = Expression::IsNull(Box::new(count.clone()));
    Expression::Case { branches: vec![(none, Expression::Constant(Some(0)))], otherwise: Box::new(count) }
}
