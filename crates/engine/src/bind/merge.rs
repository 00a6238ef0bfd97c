//! The query of MERGE: target and source are joined once, each row is told which clause takes it, and gets the values of that.
//!
//! It comes as `SELECT … FROM target JOIN source ON condition`, whose items are, clause by clause, its condition if it has one and its
//! values; [`MergeShape`] says which are which. The plan gives the number of the clause, the id and the columns of the target's
//! record, the values of all clauses, of which those of others are NULL, and the columns of the source.

use crate::bind::binder::{Beside, Binder, Instead, QueryContext, column_of};
use crate::bind::expression::NameContext;
use crate::bind::from::{From, FromContext, once};
use crate::bind::scope::NameScope;
use crate::bind::statement::begun;
use crate::bind::tables::{Lookup, Tables};
use crate::bind::with;
use crate::{Error, Result};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{Expr as Planned, Filter, JoinType, LogicalPlan, lit, when};
use datafusion::sql::sqlparser::ast::{Expr, JoinConstraint, JoinOperator, Query, Select, SelectItem, SetExpr};
use gingham_storage::snapshot::TableSnapshot;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

/// Which rows a clause of MERGE is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MergeSide {
    /// MATCHED: rows of both tables.
    Both,
    /// NOT MATCHED [BY TARGET]: rows of the source alone.
    Source,
    /// NOT MATCHED BY SOURCE: records of the target alone.
    Target,
}

/// What one clause has among the items of the query.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MergeClauseShape {
    /// The rows that it is about.
    pub(crate) side: MergeSide,
    /// Whether it has a condition, which is the first of its items.
    pub(crate) has_condition: bool,
    /// How many values it gives.
    pub(crate) values: usize,
}

/// What is asked of the query.
#[derive(Debug)]
pub(crate) struct MergeShape {
    /// The clauses, in their order.
    pub(crate) clauses: Vec<MergeClauseShape>,
    /// The target's state, with the ids of its records.
    pub(crate) target: Arc<TableSnapshot>,
    /// What the column of these ids is called.
    pub(crate) id: String,
    /// Whether RETURNING may look at the source's columns.
    pub(crate) returning: bool,
}

/// The plan, and where its columns are. The first is the number of the clause.
#[derive(Debug)]
pub(crate) struct BoundMerge {
    pub(crate) plan: LogicalPlan,
    /// The ids of the target's records; `None` where no clause is about any.
    pub(crate) id: Option<usize>,
    /// The target's columns; none where no clause is about any record.
    pub(crate) target: Range<usize>,
    /// The values of each clause.
    pub(crate) values: Vec<Range<usize>>,
    /// The first of the source's columns, which stand at the end.
    pub(crate) source: usize,
    /// The members of the source.
    pub(crate) beside: Vec<Beside>,
}

/// Binds the query of a MERGE.
pub(crate) async fn bind_merge(
    state: &SessionState,
    query: &mut Query,
    lookup: Arc<dyn Lookup>,
    shape: &MergeShape,
) -> Result<BoundMerge> {
    let tables = Tables::of(query, lookup).await?;
    let (mut binder, place) = begun(state, query, tables, Vec::new(), "MERGE")?;
    let behind = match &query.with {
        None => place,
        Some(with) => with::behind(with, &place)?,
    };
    let SetExpr::Select(select) = query.body.as_ref() else { return Err(unexpected()) };
    let bound = binder.merge(select, shape, &behind)?;
    if let Some(with) = &query.with {
        binder.unnamed(with.cte_tables.len(), &behind)?;
    }
    Ok(bound)
}

fn unexpected() -> Error {
    Error::Internal("the query of a MERGE is a SELECT from a join".into())
}

/// The joined rows: what names of each side mean, and which columns tell whether its row is there.
struct JoinedSides {
    from: From,
    kind: JoinType,
    target: Option<NameScope>,
    source: Option<NameScope>,
    id: Option<Planned>,
    /// There is a row of the source.
    present: Option<Planned>,
}

impl JoinedSides {
    /// What a clause about a side may name.
    fn scope(&self, side: MergeSide) -> Result<NameScope> {
        let own = match side {
            MergeSide::Both => return Ok(self.from.scope.clone()),
            MergeSide::Source => &self.source,
            MergeSide::Target => &self.target,
        };
        let own = own.clone().ok_or_else(unexpected)?;
        Ok(own.over(Arc::clone(self.from.plan.schema())))
    }

    /// Whether a row is of a side; `None` for all of them.
    fn is_of(&self, side: MergeSide) -> Option<Planned> {
        let is_there = |column: &Option<Planned>| column.clone().map(Planned::is_not_null);
        let is_missing = |column: &Option<Planned>| column.clone().map(Planned::is_null);
        match side {
            MergeSide::Both if self.kind == JoinType::Inner => None,
            MergeSide::Source if self.kind == JoinType::Right => None,
            MergeSide::Both => {
                let both = [is_there(&self.id), is_there(&self.present)];
                both.into_iter().flatten().reduce(Planned::and)
            }
            MergeSide::Source => is_missing(&self.id),
            MergeSide::Target => is_missing(&self.present),
        }
    }
}

impl JoinedSides {
    /// Whether no clause takes some of the rows.
    fn leaves_rows(&self, clauses: &[MergeClauseShape]) -> bool {
        let of = |side| clauses.iter().filter(move |clause| clause.side == side);
        let sides = [MergeSide::Both, MergeSide::Source, MergeSide::Target];
        let is_left = |side| of(side).next().is_some() && of(side).all(|clause| clause.has_condition);
        let others = matches!(self.kind, JoinType::Left | JoinType::Full) && of(MergeSide::Both).next().is_none();
        others || sides.into_iter().any(is_left)
    }
}

impl Binder<'_> {
    fn merge(&mut self, select: &Select, shape: &MergeShape, place: &QueryContext) -> Result<BoundMerge> {
        let joined = self.merged_rows(select, shape, place)?;
        let mut items = select.projection.iter().map(|item| match item {
            SelectItem::UnnamedExpr(item) | SelectItem::ExprWithAlias { expr: item, .. } => Ok(item),
            _ => Err(unexpected()),
        });
        let (mut conditions, mut values) = (Vec::new(), Vec::new());
        for clause in &shape.clauses {
            let scope = joined.scope(clause.side)?;
            let mut next = || -> Result<&Expr> { items.next().ok_or_else(unexpected)? };
            conditions.push(match clause.has_condition {
                true => Some(self.condition(next()?, NameContext::of(&scope, place), "MERGE … WHEN")?),
                false => None,
            });
            let mut own = Vec::with_capacity(clause.values);
            for _ in 0..clause.values {
                own.push(self.condition(next()?, NameContext::of(&scope, place), "MERGE")?);
            }
            values.push(own);
        }
        let mut from = joined.from.plan.clone();
        let is_one = shape.clauses.len() == 1;
        let (mut clause, mut leaves) = (lit(0_i64), false);
        if let ([only], true) = (shape.clauses.as_slice(), is_one) {
            let condition = conditions.pop().flatten();
            if let Some(condition) = joined.is_of(only.side).into_iter().chain(condition).reduce(Planned::and) {
                from = LogicalPlan::Filter(Filter::try_new(condition, Arc::new(from))?);
            }
        } else {
            clause = chosen(&joined, &shape.clauses, conditions)?;
            leaves = joined.leaves_rows(&shape.clauses);
        }
        // Each row is told its clause once, also where a condition gives something else each time.
        let clause = self.renamed(clause, "clause");
        let number = Planned::Column(column_of(&clause));
        let own = from.schema().columns().into_iter().map(Planned::Column);
        let mut plan = self.project(from, own.chain([clause]).collect())?;
        if leaves {
            let taken = number.clone().gt_eq(lit(0_i64));
            plan = LogicalPlan::Filter(Filter::try_new(taken, Arc::new(plan))?);
        }
        let mut columns = vec![number.clone()];
        let id = joined.id.clone().map(|id| {
            columns.push(id);
            columns.len() - 1
        });
        let first = columns.len();
        if let (Some(target), Some(_)) = (&joined.target, &joined.id) {
            let own = target.relations.iter().flat_map(|relation| &relation.columns);
            let own = own.filter(|own| own.name != shape.id);
            columns.extend(own.map(|own| Planned::Column(own.column.clone())));
        }
        let target = first..columns.len();
        let mut places = Vec::with_capacity(values.len());
        for (at, own) in values.into_iter().enumerate() {
            let first = columns.len();
            for value in own {
                let value = match is_one {
                    true => value,
                    false => when(number.clone().eq(lit(at as i64)), value).end()?,
                };
                columns.push(self.renamed(value, "value"));
            }
            places.push(first..columns.len());
        }
        let (source, mut beside) = (columns.len(), Vec::new());
        if let Some(scope) = joined.source.as_ref().filter(|_| shape.returning) {
            let scope = scope.clone().over(Arc::clone(plan.schema()));
            for relation in &scope.relations {
                let fields = relation.columns.iter().map(|own| scope.field(&own.column)).collect::<Result<_>>()?;
                beside.push(Beside { relation: relation.clone(), fields });
                for own in &relation.columns {
                    columns.push(self.renamed(Planned::Column(own.column.clone()), "source"));
                }
            }
        }
        Ok(BoundMerge { plan: self.project(plan, columns)?, id, target, values: places, source, beside })
    }

    /// The target joined with the source, with all rows that a clause is about and no more than it takes.
    fn merged_rows(&mut self, select: &Select, shape: &MergeShape, place: &QueryContext) -> Result<JoinedSides> {
        let [tables] = select.from.as_slice() else { return Err(unexpected()) };
        let [join] = tables.joins.as_slice() else { return Err(unexpected()) };
        let JoinOperator::Inner(JoinConstraint::On(on)) = &join.join_operator else { return Err(unexpected()) };
        let has = |side| shape.clauses.iter().any(|clause| clause.side == side);
        let of_source = FromContext { place, before: None, is_whole: shape.returning };
        if !has(MergeSide::Both) && !has(MergeSide::Target) {
            let target = FromContext { place, before: None, is_whole: false };
            let source = self.factor(&join.relation, of_source)?;
            let target = self.factor(&tables.relation, target)?;
            once(&source.scope, &target.scope)?;
            let own = Some(source.scope.clone());
            let from = self.joined_on(source, target, JoinType::LeftAnti, on, place)?;
            return Ok(JoinedSides {
                from,
                kind: JoinType::LeftAnti,
                target: None,
                source: own,
                id: None,
                present: None,
            });
        }
        let instead = Rc::from([Instead::Table(Arc::clone(&shape.target))]);
        let target = QueryContext { instead, ..place.clone() };
        let target = self.factor(&tables.relation, FromContext { place: &target, before: None, is_whole: true })?;
        let mut source = self.factor(&join.relation, of_source)?;
        once(&target.scope, &source.scope)?;
        let kind = match (has(MergeSide::Both), has(MergeSide::Source), has(MergeSide::Target)) {
            (_, false, false) => JoinType::Inner,
            (_, true, false) => JoinType::Right,
            (false, false, true) if !shape.returning => JoinType::LeftAnti,
            (_, false, true) => JoinType::Left,
            (_, true, true) => JoinType::Full,
        };
        let mut present = None;
        if matches!(kind, JoinType::Left | JoinType::Full) {
            let mark = self.renamed(lit(true), "present");
            present = Some(Planned::Column(column_of(&mark)));
            let own = source.plan.schema().columns().into_iter().map(Planned::Column);
            source.plan = self.project(source.plan.clone(), own.chain([mark]).collect())?;
            source.scope = source.scope.over(Arc::clone(source.plan.schema()));
        }
        let id = target.scope.relations.iter().flat_map(|own| &own.columns).find(|own| own.name == shape.id);
        let id = Some(Planned::Column(id.ok_or_else(unexpected)?.column.clone()));
        let (own, others) = (Some(target.scope.clone()), Some(source.scope.clone()));
        let from = self.joined_on(target, source, kind, on, place)?;
        Ok(JoinedSides { from, kind, target: own, source: others.filter(|_| kind != JoinType::LeftAnti), id, present })
    }
}

/// The number of the clause that takes a row, the first whose condition holds; -1 where none does.
fn chosen(joined: &JoinedSides, clauses: &[MergeClauseShape], conditions: Vec<Option<Planned>>) -> Result<Planned> {
    let mut all: Vec<(Option<Planned>, Planned)> = Vec::new();
    for side in [MergeSide::Both, MergeSide::Source, MergeSide::Target] {
        let own = || clauses.iter().zip(&conditions).enumerate().filter(|(_, (clause, _))| clause.side == side);
        let mut number = lit(-1_i64);
        // A clause without a condition takes what those before it have left.
        let last = own().find(|(_, (_, condition))| condition.is_none()).map(|(at, _)| at);
        if let Some(last) = last {
            number = lit(last as i64);
        }
        let before: Vec<_> = own().filter(|(at, _)| last.is_none_or(|last| *at < last)).collect();
        for (at, (_, condition)) in before.into_iter().rev() {
            if let Some(condition) = condition {
                number = when(condition.clone(), lit(at as i64)).otherwise(number)?;
            }
        }
        if own().next().is_some() {
            all.push((joined.is_of(side), number));
        }
    }
    // A side that no column tells is that of all rows.
    let rest = match all.iter().position(|(is_of, _)| is_of.is_none()) {
        Some(at) => all.remove(at).1,
        None => lit(-1_i64),
    };
    all.into_iter().rev().try_fold(rest, |rest, (is_of, number)| match is_of {
        Some(is_of) => Ok(when(is_of, number).otherwise(rest)?),
        None => Ok(number),
    })
}
