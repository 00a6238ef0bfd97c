//! Hash joins as probes of rows that an earlier pipeline left.
//!
//! The probing side is the one whose records an outer join keeps, or of which a semi, anti or mark join gives a part. Where
//! DataFusion builds from that side, since it is the smaller one, the records of the other mark the rows that have a
//! match, and a further pipeline goes on with those that do or don't.

use super::draft::{Draft, Open};
use super::translate::{Scope, Typed};
use arrow::datatypes::DataType;
use datafusion::common::{JoinSide, JoinType, NullEquality};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::joins::utils::JoinFilter;
use gingham_execution::{Expression, Field, Finish, Hint, JoinKind, Pipeline, Probe, Sink, Source, Step};

/// Rows that are probed: the pipeline, and what its columns are.
struct Built {
    pipeline: usize,
    columns: Vec<Option<Typed>>,
}

impl Draft {
    /// The rows of a join.
    pub(super) fn join(&mut self, join: &HashJoinExec) -> Option<Open> {
        if join.null_equality() != NullEquality::NullEqualsNothing || join.null_aware || join.fetch().is_some() {
            return None;
        }
        let (kind, builds_left) = match join.join_type() {
            JoinType::Inner => (JoinKind::Inner, true),
            JoinType::Right => (JoinKind::Left, true),
            JoinType::RightSemi => (JoinKind::Semi, true),
            JoinType::RightAnti => (JoinKind::Anti, true),
            JoinType::RightMark => (JoinKind::Mark, true),
            JoinType::Left => (JoinKind::Left, false),
            JoinType::LeftMark => (JoinKind::Mark, false),
            JoinType::LeftSemi => return self.marking(join, true),
            JoinType::LeftAnti => return self.marking(join, false),
            JoinType::Full => return None,
        };
        let (build, probe) = if builds_left { (join.left(), join.right()) } else { (join.right(), join.left()) };
        let built = self.open(build)?;
        let (pipeline, columns) = self.end_in_rows(built)?;
        let built = Built { pipeline, columns };
        let mut open = self.open(probe)?;
        let added = self.probe(&mut open, join, &built, kind, builds_left)?;
        let own = open.scope.columns().to_vec();
        let columns = match kind {
            JoinKind::Inner | JoinKind::Left if builds_left => [added, own].concat(),
            JoinKind::Inner | JoinKind::Left => [own, added].concat(),
            JoinKind::Semi | JoinKind::Anti => own,
            JoinKind::Mark => {
                let mark = Expression::Column(open.fields.len() - 1);
                [own, vec![Some(Typed::new(mark, DataType::Boolean))]].concat()
            }
        };
        open.scope.set_columns(columns);
        if let Some(projection) = &join.projection {
            open.project(projection);
        }
        Some(open)
    }

    /// Adds a probe to a pipeline. Gives what the columns of the build side are there.
    fn probe(
        &mut self,
        open: &mut Open,
        join: &HashJoinExec,
        built: &Built,
        kind: JoinKind,
        builds_left: bool,
    ) -> Option<Vec<Option<Typed>>> {
        let (probe, added, equal) = self.matched(open, join, built, kind, builds_left)?;
        let narrows = matches!(kind, JoinKind::Inner | JoinKind::Semi);
        if narrows {
            self.narrow(open, &probe);
        }
        let Probe { condition, .. } = &probe;
        let inner = condition.clone().filter(|_| kind == JoinKind::Inner);
        let condition = condition.clone().filter(|_| kind != JoinKind::Inner);
        open.steps.push(Step::Probe(Probe { condition, ..probe }));
        open.steps.extend(inner.map(Step::Filter));
        open.inputs += 1;
        if kind == JoinKind::Inner {
            open.scope.equate(&equal);
        }
        Some(added)
    }

    /// A probe of the built rows by the records of an open pipeline; the columns of a match; and pairs of equal columns.
    #[expect(clippy::type_complexity, reason = "used by two functions below")]
    fn matched(
        &mut self,
        open: &mut Open,
        join: &HashJoinExec,
        built: &Built,
        kind: JoinKind,
        builds_left: bool,
    ) -> Option<(Probe, Vec<Option<Typed>>, Vec<(Typed, Typed)>)> {
        let facts = self.left[built.pipeline].clone();
        let (left, right) = (join.left().schema(), join.right().schema());
        let (build_schema, probe_schema) = if builds_left { (left, right) } else { (right, left) };
        let build_scope = Scope::new(facts.clone(), built.columns.clone(), self.rows[built.pipeline], &self.parameters);
        let (mut keys, mut build_keys, mut equal) = (Vec::new(), Vec::new(), Vec::new());
        for (left, right) in join.on() {
            let (build, probe) = if builds_left { (left, right) } else { (right, left) };
            let build = build_scope.translate(build, &build_schema)?;
            let probe = open.scope.translate(probe, &probe_schema)?;
            if !build.has_values_of(&probe) {
                return None;
            }
            let Expression::Column(column) = build.expression else { return None };
            build_keys.push(column);
            keys.push(probe.expression.clone());
            equal.push((probe, build));
        }
        self.set_keys(built.pipeline, build_keys)?;
        // The columns of a match, as a mark join's condition sees them, or those that are added.
        let first = open.fields.len();
        if kind == JoinKind::Mark && join.filter().is_none() {
            open.fields.push(Field { input: open.inputs, column: 0 });
            open.scope.add_facts(&[(gingham_execution::Limits::new(0, 1), false)]);
        } else if kind == JoinKind::Mark {
            return None;
        } else {
            open.fields.extend((0..facts.len()).map(|column| Field { input: open.inputs, column }));
            let nullable = kind == JoinKind::Left;
            let facts: Vec<_> = facts.iter().map(|(limits, null)| (*limits, *null || nullable)).collect();
            open.scope.add_facts(&facts);
        }
        let shifted = |typed: &Typed| match typed.expression {
            Expression::Column(column) => {
                Some(Typed { expression: Expression::Column(first + column), ..typed.clone() })
            }
            // A constant is none for a record without a match.
            _ => (kind != JoinKind::Left).then(|| typed.clone()),
        };
        let added: Vec<Option<Typed>> = built.columns.iter().map(|column| column.as_ref().and_then(shifted)).collect();
        let condition = match join.filter() {
            Some(filter) => {
                let (left, right) =
                    if builds_left { (&added[..], open.scope.columns()) } else { (open.scope.columns(), &added[..]) };
                Some(condition(&open.scope, filter, left, right)?)
            }
            None => None,
        };
        Some((Probe { build: built.pipeline, kind, keys, condition }, added, equal))
    }

    /// A semi or anti join of the side that is built: what has a match is marked by the other side's records.
    fn marking(&mut self, join: &HashJoinExec, marked: bool) -> Option<Open> {
        let built = self.open(join.left())?;
        let (rows, columns) = self.end_in_rows(built)?;
        let built = Built { pipeline: rows, columns };
        let mut open = self.open(join.right())?;
        let (probe, _, _) = self.matched(&mut open, join, &built, JoinKind::Semi, true)?;
        self.narrow(&mut open, &probe);
        let Open { source, fields, steps, hints, .. } = open;
        self.pipelines.push(Pipeline { source, fields, steps, sink: Sink::Marks(probe), hints });
        self.left.push(Vec::new());
        self.rows.push(0);
        let source = Source::Marked { rows, marks: self.pipelines.len() - 1, marked };
        let mut open = self.over(source, rows, built.columns);
        if let Some(projection) = &join.projection {
            open.project(projection);
        }
        Some(open)
    }

    /// The keys by which a pipeline's rows are probed. They have one set.
    fn set_keys(&mut self, pipeline: usize, wanted: Vec<usize>) -> Option<()> {
        let (Sink::Rows { keys, .. } | Sink::Aggregate { keys, .. }) = &mut self.pipelines[pipeline].sink else {
            return None;
        };
        keys.is_none().then(|| *keys = Some(wanted))
    }

    /// Records without a match are dropped: tells the scans that the keys come from.
    fn narrow(&mut self, open: &mut Open, probe: &Probe) {
        for (key, expression) in probe.keys.iter().enumerate() {
            let Expression::Column(column) = expression else { continue };
            let Some(field) = open.fields.get(*column).copied() else { continue };
            match (field.input.checked_sub(1), open.source) {
                (None, Source::Scan(_)) => open.hints.push(Hint { column: field.column, build: probe.build, key }),
                (None, Source::Rows(rows) | Source::Marked { rows, .. }) => {
                    self.hint(rows, field.column, probe.build, key);
                }
                (Some(input), _) => {
                    let probes = open.steps.iter().filter_map(|step| match step {
                        Step::Probe(probe) => Some((probe.build, probe.kind)),
                        Step::Filter(_) => None,
                    });
                    if let Some((rows, JoinKind::Inner)) = { probes }.nth(input) {
                        self.hint(rows, field.column, probe.build, key);
                    }
                }
            }
        }
    }

    /// Rows that a pipeline leaves are of use only when their column has one of a later join's keys.
    fn hint(&mut self, pipeline: usize, column: usize, build: usize, key: usize) {
        // What is probed must be there before.
        if build >= pipeline {
            return;
        }
        let target = &mut self.pipelines[pipeline];
        let expression = match &target.sink {
            Sink::Rows { columns, .. } => columns.get(column),
            // A group's key is that of all its records.
            Sink::Aggregate { aggregation, columns, .. } => match columns.get(column) {
                Some(Finish::Key(number)) => aggregation.keys.get(*number),
                _ => None,
            },
            Sink::Marks(_) => None,
        };
        let Some(Expression::Column(column)) = expression else { return };
        let Some(field) = target.fields.get(*column).copied() else { return };
        match (field.input.checked_sub(1), target.source) {
            (None, Source::Scan(_)) => target.hints.push(Hint { column: field.column, build, key }),
            (None, Source::Rows(rows) | Source::Marked { rows, .. }) => self.hint(rows, field.column, build, key),
            (Some(input), _) => {
                let probe = target.probes().nth(input).map(|probe| (probe.build, probe.kind));
                if let Some((rows, JoinKind::Inner)) = probe {
                    self.hint(rows, field.column, build, key);
                }
            }
        }
    }
}

/// The condition of a join over the columns of a pipeline behind the probe.
fn condition(
    scope: &Scope,
    filter: &JoinFilter,
    left: &[Option<Typed>],
    right: &[Option<Typed>],
) -> Option<Expression> {
    let column = |index: &datafusion::physical_plan::joins::utils::ColumnIndex| match index.side {
        JoinSide::Left => left.get(index.index).cloned().flatten(),
        JoinSide::Right => right.get(index.index).cloned().flatten(),
        JoinSide::None => None,
    };
    let columns = filter.column_indices().iter().map(column).collect();
    scope.with_columns(columns).translate(filter.expression(), filter.schema())?.truth()
}
