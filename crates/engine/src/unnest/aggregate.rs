//! Aggregations of subqueries by keys that stand for outer columns, and what aggregates are of no rows at all.

use crate::unnest::Unnesting;
use crate::unnest::domain::Domain;
use crate::unnest::free::{has_query, outer_columns_in};
use crate::unnest::pull::Keyed;
use crate::unnest::rows::{UnnestedRows, named, project};
use arrow::datatypes::{Field, Schema};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, ExprSchema, ScalarValue, internal_err};
use datafusion::error::Result;
use datafusion::functions_aggregate::count::count;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::{Aggregate, Cast, Expr, ExprSchemable, GroupingSet, LogicalPlan, lit, when};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateExprBuilder;
use datafusion::physical_expr::expressions::{Column as PhysicalColumn, Literal};
use std::sync::Arc;

impl Unnesting<'_> {
    /// `aggregate` over the rows of `input` by further keys, which are columns of these and the first ones of the result; with
    /// a column `there` that has no NULL.
    pub(super) fn groups(
        &mut self,
        mut input: UnnestedRows,
        keys: Vec<Expr>,
        aggregate: &Aggregate,
        there: Option<&str>,
    ) -> Result<LogicalPlan> {
        let mut own_keys = self.prepared(&mut input, aggregate.group_expr.clone())?;
        let mut calls = self.prepared(&mut input, aggregate.aggr_expr.clone())?;
        let before = aggregate.schema.columns();
        let first_call = before.len() - calls.len();
        if !matches!(own_keys.as_slice(), [Expr::GroupingSet(_)]) {
            for (key, column) in own_keys.iter_mut().zip(&before) {
                *key = named(std::mem::take(key), column);
            }
        }
        for (call, column) in calls.iter_mut().zip(&before[first_call..]) {
            *call = named(std::mem::take(call), column);
        }
        calls.extend(there.map(|there| count(lit(1_i64)).alias(there)));
        let all_keys = match own_keys.as_slice() {
            [Expr::GroupingSet(sets)] => vec![Expr::GroupingSet(with_keys(sets, &keys))],
            _ => keys.iter().cloned().chain(own_keys).collect(),
        };
        let groups = LogicalPlan::Aggregate(Aggregate::try_new(Arc::new(input.plan), all_keys, calls)?);
        // What tells grouping sets apart may have another type for more keys.
        let schema = Arc::clone(groups.schema());
        let shown = keys.iter().cloned().map(Ok).chain(before.iter().map(|column| {
            let wanted = aggregate.schema.field_from_column(column)?.data_type().clone();
            let own = Expr::Column(column.clone());
            if *schema.field_from_column(column)?.data_type() == wanted {
                return Ok(own);
            }
            Ok(named(Expr::Cast(Cast::new(Box::new(own), wanted)), column))
        }));
        let marker = there.map(|there| Ok(Expr::Column(Column::new_unqualified(there))));
        let shown = shown.chain(marker).collect::<Result<Vec<_>>>()?;
        project(groups, once(shown))
    }

    /// `aggregate` by the values of a domain.
    pub(super) fn groups_of(
        &mut self,
        domain: &Domain,
        aggregate: &Aggregate,
        there: Option<&str>,
    ) -> Result<UnnestedRows> {
        let input = self.push(&aggregate.input, domain)?;
        let bindings = input.bindings.clone();
        let keys = input.bound_columns();
        Ok(UnnestedRows { plan: self.groups(input, keys, aggregate, there)?, bindings })
    }

    /// The rows below an aggregation, if outer columns are compared with keys of theirs and occur nowhere else.
    pub(super) fn keyed_input(&mut self, aggregate: &Aggregate) -> Result<Option<Keyed>> {
        for call in aggregate.aggr_expr.iter().chain(&aggregate.group_expr) {
            let knows = outer_columns_in(call)?.iter().all(|column| aggregate.input.schema().has_column(column));
            if !knows || call.is_volatile() {
                return Ok(None);
            }
        }
        let Some(pulled) = self.pull(&aggregate.input)? else { return Ok(None) };
        self.keyed(pulled)
    }

    /// Keys or calls over rows to which what has subqueries in it was added as columns.
    pub(super) fn prepared(&mut self, rows: &mut UnnestedRows, expressions: Vec<Expr>) -> Result<Vec<Expr>> {
        let mut added: Vec<Expr> = Vec::new();
        let mut known: Vec<(Expr, Column)> = Vec::new();
        let mut prepared = Vec::with_capacity(expressions.len());
        for expression in expressions {
            let mut part_of = |part: Expr| {
                if !has_query(&part) {
                    return Ok(Transformed::yes(rows.bind(part)?));
                }
                if let Some((_, column)) = known.iter().find(|(known, _)| *known == part) {
                    return Ok(Transformed::yes(Expr::Column(column.clone())));
                }
                let column = Column::new_unqualified(self.fresh("value"));
                let value = self.value(rows, part.clone(), &[])?;
                added.push(value.alias(&column.name));
                known.push((part, column.clone()));
                Ok(Transformed::yes(Expr::Column(column)))
            };
            prepared.push(match expression {
                Expr::Alias(mut alias) => {
                    alias.expr = Box::new(parts(*alias.expr, &mut part_of)?);
                    Expr::Alias(alias)
                }
                other => parts(other, &mut part_of)?,
            });
        }
        if !added.is_empty() {
            rows.add(added)?;
        }
        Ok(prepared)
    }
}

/// Changes what a call, or a set of keys, is computed from; a key as a whole.
fn parts(expression: Expr, change: &mut dyn FnMut(Expr) -> Result<Transformed<Expr>>) -> Result<Expr> {
    Ok(match expression {
        call @ (Expr::AggregateFunction(_) | Expr::WindowFunction(_) | Expr::GroupingSet(_)) => {
            call.map_children(change)?.data
        }
        key => change(key)?.data,
    })
}

/// Grouping sets by further keys, which come first: bits that tell the others are counted from the last.
fn with_keys(sets: &GroupingSet, keys: &[Expr]) -> GroupingSet {
    let with = |set: &Vec<Expr>| keys.iter().chain(set).cloned().collect::<Vec<_>>();
    match sets {
        GroupingSet::GroupingSets(sets) => GroupingSet::GroupingSets(sets.iter().map(with).collect()),
        GroupingSet::Rollup(own) => {
            GroupingSet::GroupingSets((0..=own.len()).rev().map(|length| with(&own[..length].to_vec())).collect())
        }
        GroupingSet::Cube(own) => {
            let chosen = |bits: usize| {
                own.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1).map(|(_, key)| key.clone()).collect()
            };
            GroupingSet::GroupingSets((0..1_usize << own.len()).rev().map(|bits| with(&chosen(bits))).collect())
        }
    }
}

/// Expressions, each once.
pub(super) fn once(expressions: Vec<Expr>) -> Vec<Expr> {
    let mut kept: Vec<Expr> = Vec::with_capacity(expressions.len());
    for expression in expressions {
        if !kept.contains(&expression) {
            kept.push(expression);
        }
    }
    kept
}

/// Whether an aggregation has a group where there are no rows: one without keys, or of an empty set of them.
pub(super) fn empty_sets(aggregate: &Aggregate) -> usize {
    match aggregate.group_expr.as_slice() {
        [] => 1,
        [Expr::GroupingSet(GroupingSet::GroupingSets(sets))] => sets.iter().filter(|set| set.is_empty()).count(),
        [Expr::GroupingSet(_)] => 1,
        _ => 0,
    }
}

/// An aggregate's column, or, where `there` is NULL since it had no rows, what it is of none. `input` has its arguments.
pub(super) fn or_default(call: &Expr, column: &Column, there: &Expr, input: &DFSchema) -> Result<Expr> {
    let own = Expr::Column(column.clone());
    let default = of_nothing(call, input)?;
    if default.is_null() {
        return Ok(own);
    }
    when(there.clone().is_null(), Expr::Literal(default, None)).otherwise(own)
}

/// What an aggregate is of no rows.
pub(super) fn of_nothing(call: &Expr, input: &DFSchema) -> Result<ScalarValue> {
    let Expr::AggregateFunction(AggregateFunction { func, params }) = call.clone().unalias() else {
        return internal_err!("{call} is no aggregate");
    };
    let (mut fields, mut arguments): (Vec<Field>, Vec<Arc<dyn PhysicalExpr>>) = (Vec::new(), Vec::new());
    for argument in &params.args {
        if let Expr::Literal(value, _) = argument {
            arguments.push(Arc::new(Literal::new(value.clone())));
            continue;
        }
        // Of which values there are none only the type counts.
        let name = format!("argument_{}", fields.len());
        arguments.push(Arc::new(PhysicalColumn::new(&name, fields.len())));
        fields.push(Field::new(name, argument.get_type(input)?, true));
    }
    let built = AggregateExprBuilder::new(func, arguments).schema(Arc::new(Schema::new(fields))).alias("of_nothing");
    built.with_distinct(params.distinct).build()?.create_accumulator()?.evaluate()
}
