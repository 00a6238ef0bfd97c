//! Joins as probes of rows that an earlier pipeline left.
//!
//! The probing side is the one whose records an outer join keeps, or of which a semi, anti or mark join gives a part. Where
//! DataFusion builds from that side, since it is the smaller one, the records of the other mark the rows that have a
//! match, and a further pipeline goes on with those that do or don't. A full join keeps both: its probe marks, and the rows
//! without a mark come behind what the probe gives. Joins without an equality are probes without keys.

use crate::compile::branches::keeps_a_part_of_union;
use crate::compile::draft::{PipelineBuilder, QueryBuilder};
use crate::compile::functions::is_string;
use crate::compile::joined::Joined;
use crate::compile::not_compiled::{Compiled, NotCompiled};
use crate::compile::translate::{ColumnScope, Typed};
use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::{JoinSide, JoinType};
use datafusion::physical_expr::PhysicalExprRef;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::joins::utils::JoinFilter;
use gingham_execution::{
    Expression, Field, Finish, Hint, JoinKind, Limits, Pipeline, Probe, Range, Sink, Source, Step,
};
use std::sync::Arc;

/// A join of which one side is built.
#[derive(Clone)]
struct Side<'j> {
    join: &'j Joined<'j>,
    kind: JoinKind,
    /// The left side is the one.
    left: bool,
    /// The pipeline that leaves its rows, and what the columns of these are.
    pipeline: usize,
    columns: Vec<Option<Typed>>,
    /// Keys of which NULL equals NULL.
    safe: Vec<SafeKey>,
}

/// A key whose NULLs equal each other, as two without NULLs: its value, and whether it has none.
#[derive(Debug, Clone)]
struct SafeKey {
    /// Its position among the join's keys.
    position: usize,
    /// Stands for NULL among the values.
    instead: i128,
    /// The columns of the rows that were built.
    value: usize,
    is_null: usize,
}

impl SafeKey {
    /// The two keys of an expression.
    fn split(typed: &Typed, instead: i128) -> [Typed; 2] {
        let is_null = Expression::IsNull(Box::new(typed.expression.clone()));
        let branches = vec![(is_null.clone(), Expression::Constant(Some(instead)))];
        let value = Expression::Case { branches, otherwise: Box::new(typed.expression.clone()) };
        [Typed::new(value, typed.data_type.clone()), Typed::new(is_null, DataType::Boolean)]
    }
}

impl<'j> Side<'j> {
    /// Schemas of the side that is built, and of the other.
    fn schemas(&self) -> (SchemaRef, SchemaRef) {
        let (left, right) = (self.join.left.schema(), self.join.right.schema());
        if self.left { (left, right) } else { (right, left) }
    }

    /// Keys of the side that is built, each with its equal.
    fn keys(&self) -> impl Iterator<Item = (&'j PhysicalExprRef, &'j PhysicalExprRef)> + use<'j> {
        let left = self.left;
        self.join.on.iter().map(move |(own, other)| if left { (own, other) } else { (other, own) })
    }
}

/// What probes a side, and what becomes of a record that has a match.
struct Matched {
    probe: Probe,
    /// The columns of the match.
    added: Vec<Option<Typed>>,
    /// Columns that are equal then: the record's and the match's.
    equal: Vec<(Typed, Typed)>,
    /// The join's condition is nothing that pipelines compute.
    is_late: bool,
}

impl QueryBuilder {
    /// The rows of a join.
    pub(super) fn join(&mut self, join: &Joined<'_>) -> Compiled<PipelineBuilder> {
        let Some((kind, left)) = build_side(join) else {
            return match join.join_type {
                JoinType::LeftSemi => self.marking(join, true),
                JoinType::LeftAnti => self.marking(join, false),
                _ => self.full(join),
            };
        };
        let probing = if left { join.right } else { join.left };
        if keeps_a_part_of_union(join) {
            let united = self.attempt(|draft| {
                let each = draft.join_each(join)?;
                draft.unite(each)
            });
            if united.is_ok() {
                return united;
            }
        }
        let mut side = self.side(join, kind, left)?;
        let open = self.open(probing)?;
        self.joined(join, &mut side, open)
    }

    /// The rows that a join keeps of each input of a union.
    pub(super) fn join_each(&mut self, join: &Joined<'_>) -> Compiled<Vec<PipelineBuilder>> {
        let (kind, left) = build_side(join).ok_or_else(|| NotCompiled::new("a join that is done in two parts"))?;
        let side = self.side(join, kind, left)?;
        let branches = self.branches(if left { join.right } else { join.left })?;
        // A side with strings' numbers is another one for each input.
        branches.into_iter().map(|open| self.joined(join, &mut side.clone(), open)).collect()
    }

    /// The records of a pipeline, joined with a side.
    fn joined(
        &mut self,
        join: &Joined<'_>,
        side: &mut Side<'_>,
        mut open: PipelineBuilder,
    ) -> Compiled<PipelineBuilder> {
        let (kind, left) = (side.kind, side.left);
        self.match_keys(side, &mut open)?;
        let (added, is_late) = self.probe(&mut open, side)?;
        let own = open.scope.columns().to_vec();
        let columns = match kind {
            JoinKind::Inner | JoinKind::Left | JoinKind::Full if left => [added, own].concat(),
            JoinKind::Inner | JoinKind::Left | JoinKind::Full => [own, added].concat(),
            JoinKind::Semi | JoinKind::Anti | JoinKind::NotIn => own,
            JoinKind::Mark => {
                let mark = Expression::Column(open.fields.len() - 1);
                [own, vec![Some(Typed::new(mark, DataType::Boolean))]].concat()
            }
        };
        open.scope.set_columns(columns);
        if is_late {
            let (condition, schema) =
                join.condition().ok_or_else(|| NotCompiled::new("a condition over no columns"))?;
            self.filter(&mut open, &condition, &schema)?;
        }
        open.project_as(join);
        Ok(open)
    }

    /// A full join: what a left join gives, and behind it the rows of the build side that it has not marked.
    fn full(&mut self, join: &Joined<'_>) -> Compiled<PipelineBuilder> {
        let mut side = self.side(join, JoinKind::Full, true)?;
        let mut open = self.open(join.right)?;
        self.match_keys(&mut side, &mut open)?;
        let (added, _) = self.probe(&mut open, &side)?;
        let own = open.scope.columns().to_vec();
        let null = |column: &Option<Typed>| {
            column.clone().map(|typed| Typed { expression: Expression::Constant(None), ..typed })
        };
        let nulls: Vec<Option<Typed>> = own.iter().map(null).collect();
        open.set_output([added, own].concat(), join);
        // The pipeline of the probe is the next.
        let source = Source::Marked { rows: side.pipeline, marks: self.pipelines.len(), marked: false };
        let mut others = self.over(source, side.pipeline, side.columns);
        let columns = [others.scope.columns(), &nulls].concat();
        others.set_output(columns, join);
        self.unite(vec![open, others])
    }

    /// Builds a side of a join.
    fn side<'j>(&mut self, join: &'j Joined<'j>, kind: JoinKind, left: bool) -> Compiled<Side<'j>> {
        let open = self.open(if left { join.left } else { join.right })?;
        let (pipeline, columns) = self.end_in_rows(open)?;
        Ok(Side { join, kind, left, pipeline, columns, safe: Vec::new() })
    }

    /// Makes keys comparable: strings get numbers in common, and NULLs that equal each other a key of their own.
    fn match_keys(&mut self, side: &mut Side<'_>, open: &mut PipelineBuilder) -> Compiled<()> {
        self.share_strings(side, open)?;
        if side.join.nulls_equal { self.split_keys(side, open) } else { Ok(()) }
    }

    /// Splits the keys that may be NULL on both sides.
    fn split_keys(&mut self, side: &mut Side<'_>, open: &PipelineBuilder) -> Compiled<()> {
        let (build_schema, probe_schema) = side.schemas();
        let mut built = self.over(Source::Rows(side.pipeline), side.pipeline, side.columns.clone());
        let mut columns = built.scope.columns().to_vec();
        let own = columns.len();
        for (position, (build, probe)) in side.keys().enumerate() {
            let build = built.scope.translate(build, &build_schema)?;
            let probe = open.scope.translate(probe, &probe_schema)?;
            // Where only one side has them it does not matter what they equal.
            if !has_nulls(&build, &built.scope) || !has_nulls(&probe, &open.scope) {
                continue;
            }
            let facts = build.expression.facts(built.scope.facts()).map_err(|_| NotCompiled::too_wide())?;
            let instead = facts.0.min;
            side.safe.push(SafeKey { position, instead, value: columns.len(), is_null: columns.len() + 1 });
            columns.extend(SafeKey::split(&build, instead).map(Some));
        }
        if side.safe.is_empty() {
            return Ok(());
        }
        built.scope.set_columns(columns);
        let (pipeline, mut columns) = self.end_in_rows(built)?;
        for safe in &mut side.safe {
            let place = |column: usize| match columns.get(column)?.as_ref()?.expression {
                Expression::Column(column) => Some(column),
                _ => None,
            };
            let places = place(safe.value).zip(place(safe.is_null));
            (safe.value, safe.is_null) = places.ok_or_else(|| NotCompiled::new("a join by a constant key"))?;
        }
        columns.truncate(own);
        (side.pipeline, side.columns) = (pipeline, columns);
        Ok(())
    }

    /// Where keys are strings that have no codes in common, makes them numbers of the query's own.
    fn share_strings(&mut self, side: &mut Side<'_>, open: &mut PipelineBuilder) -> Compiled<()> {
        let (build_schema, probe_schema) = side.schemas();
        let mut built = self.over(Source::Rows(side.pipeline), side.pipeline, side.columns.clone());
        let (mut builds, mut probes) = (Vec::new(), Vec::new());
        for (build, probe) in side.keys() {
            let Some(column) = build.downcast_ref::<Column>() else { continue };
            let Some(own) = built.scope.column(column.index()) else { continue };
            let Ok(other) = open.scope.translate(probe, &probe_schema) else { continue };
            let strings = is_string(&own.data_type) && own.data_type == other.data_type;
            if !strings || own.has_values_of(&other) {
                continue;
            }
            if !own.trace.numbered && !builds.contains(build) {
                builds.push(Arc::clone(build));
            }
            if !other.trace.numbered && !probes.contains(probe) {
                probes.push(Arc::clone(probe));
            }
        }
        if !builds.is_empty() {
            self.compute(&mut built, &builds, &build_schema)?;
            let mut columns = built.scope.columns().to_vec();
            for (known, typed) in built.scope.known() {
                if let Some(column) = known.downcast_ref::<Column>() {
                    columns[column.index()] = Some(typed.clone());
                }
            }
            built.scope.set_columns(columns);
            (side.pipeline, side.columns) = self.end_in_rows(built)?;
        }
        self.compute(open, &probes, &probe_schema)
    }

    /// Adds a probe to a pipeline. Gives what the columns of the build side are there, and whether the join's condition is
    /// left to a filter.
    fn probe(&mut self, open: &mut PipelineBuilder, side: &Side<'_>) -> Compiled<(Vec<Option<Typed>>, bool)> {
        let kind = side.kind;
        let Matched { mut probe, added, equal, is_late } = self.matched(open, side)?;
        if matches!(kind, JoinKind::Inner | JoinKind::Semi) {
            self.narrow(open, &probe);
        }
        if matches!(kind, JoinKind::Inner | JoinKind::Left | JoinKind::Full) {
            open.most = open.most.saturating_mul(self.rows[side.pipeline].max(1));
        }
        let filter = if kind == JoinKind::Inner { probe.condition.take() } else { None };
        open.steps.push(Step::Probe(probe));
        open.steps.extend(filter.map(Step::Filter));
        open.inputs += 1;
        if kind == JoinKind::Inner {
            open.scope.equate(&equal);
        }
        Ok((added, is_late))
    }

    /// How the records of an open pipeline, to which the columns of a match are added, probe a side.
    fn matched(&mut self, open: &mut PipelineBuilder, side: &Side<'_>) -> Compiled<Matched> {
        let Side { join, kind, left, pipeline, columns, safe } = side;
        let facts = self.left[*pipeline].clone();
        let (build_schema, probe_schema) = side.schemas();
        let build_scope = ColumnScope::new(facts.clone(), columns.clone(), self.rows[*pipeline], &self.parameters);
        let (mut keys, mut build_keys, mut equal) = (Vec::new(), Vec::new(), Vec::new());
        for (position, (build, probe)) in side.keys().enumerate() {
            let build = build_scope.translate(build, &build_schema)?;
            let probe = open.scope.translate(probe, &probe_schema)?;
            if !build.has_values_of(&probe) {
                return Err(NotCompiled::new(format!(
                    "keys of types {} and {} in a join",
                    build.data_type, probe.data_type
                )));
            }
            if let Some(safe) = safe.iter().find(|safe| safe.position == position) {
                build_keys.extend([safe.value, safe.is_null]);
                keys.extend(SafeKey::split(&probe, safe.instead).map(|key| key.expression));
                continue;
            }
            let Expression::Column(column) = build.expression else {
                return Err(NotCompiled::new("a join by a constant key"));
            };
            build_keys.push(column);
            keys.push(probe.expression.clone());
            equal.push((probe, build));
        }
        self.set_keys(*pipeline, build_keys)?;
        let first = open.fields.len();
        let added = add_match(open, side, &facts);
        let mut is_late = false;
        let condition = match join.filter {
            Some(filter) => {
                let own = open.scope.columns();
                let (left, right) = if *left { (&added[..], own) } else { (own, &added[..]) };
                let condition = condition(&open.scope, filter, left, right);
                // An inner join may leave it to a filter behind.
                is_late = condition.is_err() && *kind == JoinKind::Inner;
                if is_late { None } else { Some(condition?) }
            }
            None => None,
        };
        let range = condition.as_ref().filter(|_| keys.is_empty());
        let range = range.and_then(|condition| Range::of(condition, first..first + facts.len()).map(Box::new));
        let probe = Probe { build: *pipeline, kind: *kind, keys, range, condition };
        Ok(Matched { probe, added, equal, is_late })
    }

    /// A semi or anti join of the side that is built: what has a match is marked by the other side's records.
    fn marking(&mut self, join: &Joined<'_>, marked: bool) -> Compiled<PipelineBuilder> {
        let mut side = self.side(join, JoinKind::Semi, true)?;
        let mut open = self.open(join.right)?;
        self.match_keys(&mut side, &mut open)?;
        let Matched { probe, .. } = self.matched(&mut open, &side)?;
        self.narrow(&mut open, &probe);
        let PipelineBuilder { source, computed, fields, steps, hints, .. } = open;
        self.pipelines.push(Pipeline {
            source,
            computed,
            fields,
            steps,
            sink: Sink::Marks(probe),
            hints,
            behind: None,
        });
        self.left.push(Vec::new());
        self.rows.push(0);
        let source = Source::Marked { rows: side.pipeline, marks: self.pipelines.len() - 1, marked };
        let mut open = self.over(source, side.pipeline, side.columns);
        let columns = open.scope.columns().to_vec();
        open.set_output(columns, join);
        Ok(open)
    }

    /// The keys by which a pipeline's rows are probed. They have one set.
    fn set_keys(&mut self, pipeline: usize, wanted: Vec<usize>) -> Compiled<()> {
        let (Sink::Rows { keys, .. } | Sink::Aggregate { keys, .. }) = &mut self.pipelines[pipeline].sink else {
            return Err(NotCompiled::new("a join with marks"));
        };
        match keys {
            Some(keys) if *keys == wanted => Ok(()),
            Some(_) => Err(NotCompiled::new("joins of the same rows by different keys")),
            None => {
                *keys = Some(wanted);
                Ok(())
            }
        }
    }

    /// Records without a match are dropped: tells the scans that the keys come from.
    fn narrow(&mut self, open: &mut PipelineBuilder, probe: &Probe) {
        for (key, expression) in probe.keys.iter().enumerate() {
            let Expression::Column(column) = expression else { continue };
            let Some(field) = open.fields.get(*column).copied() else { continue };
            let hint = self.follow(open.source, field, added_by(&open.steps, field), (probe.build, key));
            open.hints.extend(hint);
        }
    }

    /// Rows that a pipeline leaves are of use only when their column has one of a later join's keys.
    fn hint(&mut self, pipeline: usize, column: usize, (build, key): (usize, usize)) {
        // What is probed must be there before.
        if build >= pipeline {
            return;
        }
        if let Some(first) = self.pipelines[pipeline].behind {
            self.hint(first, column, (build, key));
        }
        let target = &self.pipelines[pipeline];
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
        let hint = self.follow(target.source, field, added_by(&target.steps, field), (build, key));
        self.pipelines[pipeline].hints.extend(hint);
    }

    /// Follows a field of a pipeline, which has this source, to the scan that it comes from: gives the hint when that is the
    /// source. `added` is the pipeline whose rows have the field, when an inner join adds it.
    fn follow(
        &mut self,
        source: Source,
        field: Field,
        added: Option<usize>,
        (build, key): (usize, usize),
    ) -> Option<Hint> {
        let rows = match (field.input, source) {
            (0, Source::Scan(_)) => return Some(Hint { column: field.column, build, key }),
            (0, Source::Given(_)) => None,
            (0, Source::Rows(rows) | Source::Marked { rows, .. }) => Some(rows),
            _ => added,
        };
        self.hint(rows?, field.column, (build, key));
        None
    }
}

/// What probes do for a join, and whether its left side is built; `None` for one that is done in two parts.
pub(super) fn build_side(join: &Joined<'_>) -> Option<(JoinKind, bool)> {
    let without_keys = join.on.is_empty();
    Some(match join.join_type {
        JoinType::Inner => (JoinKind::Inner, true),
        JoinType::Right => (JoinKind::Left, true),
        JoinType::RightSemi => (JoinKind::Semi, true),
        JoinType::RightAnti => (JoinKind::Anti, true),
        JoinType::RightMark => (JoinKind::Mark, true),
        JoinType::Left => (JoinKind::Left, false),
        JoinType::LeftMark => (JoinKind::Mark, false),
        JoinType::LeftAnti if join.null_aware => (JoinKind::NotIn, false),
        // Each record would mark all rows.
        JoinType::LeftSemi if without_keys => (JoinKind::Semi, false),
        JoinType::LeftAnti if without_keys => (JoinKind::Anti, false),
        JoinType::LeftSemi | JoinType::LeftAnti | JoinType::Full => return None,
    })
}

fn has_nulls(typed: &Typed, scope: &ColumnScope) -> bool {
    typed.expression.facts(scope.facts()).map_or(true, |facts| facts.1)
}

/// The pipeline whose rows have a field, when an inner join adds it.
fn added_by(steps: &[Step], field: Field) -> Option<usize> {
    let probes = steps.iter().filter_map(|step| match step {
        Step::Probe(probe) => Some(probe),
        Step::Filter(_) => None,
    });
    let probe = { probes }.nth(field.input.checked_sub(1)?)?;
    (probe.kind == JoinKind::Inner).then_some(probe.build)
}

impl PipelineBuilder {
    /// The columns that a join gives.
    fn set_output(&mut self, columns: Vec<Option<Typed>>, join: &Joined<'_>) {
        self.scope.set_columns(columns);
        self.project_as(join);
    }

    /// Projects the columns of both sides to those that a join gives.
    fn project_as(&mut self, join: &Joined<'_>) {
        if let Some(projection) = join.projection {
            self.project(projection);
        }
    }
}

/// Adds the columns of a match to those of a pipeline, and behind them the mark. Gives what the build side's are there.
fn add_match(open: &mut PipelineBuilder, side: &Side<'_>, facts: &[(Limits, bool)]) -> Vec<Option<Typed>> {
    let first = open.fields.len();
    let outer = matches!(side.kind, JoinKind::Left | JoinKind::Full);
    let mut facts: Vec<_> = facts.iter().map(|(limits, null)| (*limits, *null || outer)).collect();
    if side.kind == JoinKind::Mark {
        facts.push((Limits::new(0, 1), false));
    }
    open.fields.extend((0..facts.len()).map(|column| Field { input: open.inputs, column }));
    open.scope.add_facts(&facts);
    let shifted = |typed: &Typed| match typed.expression {
        Expression::Column(column) => Some(Typed { expression: Expression::Column(first + column), ..typed.clone() }),
        // A constant is none for a record without a match.
        _ => (!outer).then(|| typed.clone()),
    };
    side.columns.iter().map(|column| column.as_ref().and_then(shifted)).collect()
}

/// The condition of a join over the columns of a pipeline behind the probe.
fn condition(
    scope: &ColumnScope,
    filter: &JoinFilter,
    left: &[Option<Typed>],
    right: &[Option<Typed>],
) -> Compiled<Expression> {
    let column = |index: &datafusion::physical_plan::joins::utils::ColumnIndex| match index.side {
        JoinSide::Left => left.get(index.index).cloned().flatten(),
        JoinSide::Right => right.get(index.index).cloned().flatten(),
        JoinSide::None => None,
    };
    let columns = filter.column_indices().iter().map(column).collect();
    scope.with_columns(columns).truth(filter.expression(), filter.schema())
}
