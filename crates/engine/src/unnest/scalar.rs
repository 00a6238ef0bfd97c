//! Subqueries that stand for a value: the one row's, NULL where there is none. A second row is an error where the value is
//! asked for, and only there.

use crate::shared::{SharedRows, reader};
use crate::unnest::Unnesting;
use crate::unnest::free::is_correlated;
use crate::unnest::inline::{first_rows, is_one_row};
use crate::unnest::join::joined;
use crate::unnest::one_row::one_row;
use crate::unnest::or_null::or_null;
use crate::unnest::pull::in_order;
use crate::unnest::recursive::is_round;
use crate::unnest::rows::{UnnestedRows, columns_of, project};
use crate::unnest::value::where_present;
use arrow::datatypes::DataType;
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{Column, Constraint, DFSchema, JoinType, Spans};
use datafusion::error::Result;
use datafusion::functions_aggregate::count::count;
use datafusion::functions_aggregate::expr_fn::{first_value, min};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{
    Aggregate, BinaryExpr, Expr, ExprSchemable, FetchType, LogicalPlan, Operator, Subquery, lit,
};
use std::sync::Arc;

impl Unnesting<'_> {
    /// The value of a subquery for each of `rows`.
    pub(super) fn scalar(&mut self, rows: &mut UnnestedRows, plan: &LogicalPlan, guard: &[Expr]) -> Result<Expr> {
        // Where a row need not ask for it, a second row is no error before one does.
        let is_asked = guard.is_empty() || is_one_row(plan)? || is_first(plan)?;
        if is_asked && !is_correlated(plan)? {
            let alone = self.whole(plan.clone())?;
            let is_single = is_at_most_one(plan)? || alone.exists(|node| Ok(is_round(node)))?;
            return if is_single { Ok(as_value(or_null(alone)?)) } else { self.only_value(alone) };
        }
        if is_one_row(plan)? {
            let inlined = self.inline(rows, plan, guard)?;
            return where_present(inlined.present.clone(), inlined.first());
        }
        let related = self.related(rows, plan, guard)?;
        let own = columns_of(plan).next().unwrap_or_else(|| lit(true));
        let name = self.fresh("value");
        let value = Expr::Column(Column::new_unqualified(name.clone()));
        if is_first(plan)? || is_by_key(plan, &related.keys) {
            let shown = related.keys.iter().filter(|key| **key != own).cloned().chain([own.clone().alias(name)]);
            let keys: Vec<Expr> =
                related.keys.iter().map(|key| if *key == own { value.clone() } else { key.clone() }).collect();
            let plan = project(related.plan.clone(), shown.collect())?;
            let (plan, keys) = if keys.contains(&value) { (plan, keys) } else { self.renamed_keys(plan, &keys)? };
            rows.plan = joined(std::mem::take(&mut rows.plan), plan, JoinType::Left, related.condition(&keys))?;
            return Ok(value);
        }
        let rows_name = self.fresh("rows");
        let data_type = own.get_type(related.plan.schema().as_ref())?;
        let any = if is_ordered(&data_type) { min(own) } else { first_value(own, Vec::new()) };
        self.add_groups(rows, &related, vec![any.alias(name), count(lit(1_i64)).alias(&rows_name)])?;
        Ok(one_row(value, Expr::Column(Column::new_unqualified(rows_name))))
    }
}

impl Unnesting<'_> {
    /// The value of a subquery that looks at nothing around it. It is computed before there are outer rows: that it has several rows
    /// is found out then, and told where one asks.
    fn only_value(&mut self, alone: LogicalPlan) -> Result<Expr> {
        let own = columns_of(&alone).next().unwrap_or_else(|| lit(true));
        let (name, rows_name) = (self.fresh("value"), self.fresh("rows"));
        let any =
            if is_ordered(&own.get_type(alone.schema().as_ref())?) { min(own) } else { first_value(own, Vec::new()) };
        let calls = vec![any.alias(&name), count(lit(1_i64)).alias(&rows_name)];
        let group = LogicalPlan::Aggregate(Aggregate::try_new(Arc::new(alone), Vec::new(), calls)?);
        let shared = SharedRows::new(group, false);
        let column = |name: String| project(reader(&shared)?, vec![Expr::Column(Column::new_unqualified(name))]);
        Ok(one_row(as_value(or_null(column(name)?)?), as_value(column(rows_name)?)))
    }
}

/// Whether a plan gives at most one row, whatever there is in tables.
fn is_at_most_one(plan: &LogicalPlan) -> Result<bool> {
    Ok(match plan {
        _ if is_one_row(plan)? || is_by_key(plan, &[]) => true,
        LogicalPlan::Limit(limit) => {
            matches!(limit.get_fetch_type()?, FetchType::Literal(Some(0 | 1))) || is_at_most_one(&limit.input)?
        }
        LogicalPlan::Values(values) => values.values.len() <= 1,
        LogicalPlan::EmptyRelation(_) => true,
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        LogicalPlan::Projection(projection) => {
            let has_unnest = projection
                .expr
                .iter()
                .any(|own| own.exists(|part| Ok(matches!(part, Expr::Unnest(_)))).unwrap_or(true));
            !has_unnest && is_at_most_one(&projection.input)?
        }
        LogicalPlan::Filter(_)
        | LogicalPlan::Sort(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Distinct(_)
        | LogicalPlan::Window(_) => is_at_most_one(plan.inputs()[0])?,
        _ => false,
    })
}

/// A plan of one column as a value.
pub(super) fn as_value(plan: LogicalPlan) -> Expr {
    Expr::ScalarSubquery(Subquery { subquery: Arc::new(plan), outer_ref_columns: Vec::new(), spans: Spans::new() })
}

/// Whether a plan is the first row of others.
fn is_first(plan: &LogicalPlan) -> Result<bool> {
    Ok(match plan {
        LogicalPlan::Projection(projection) => is_first(&projection.input)?,
        LogicalPlan::Limit(limit) => {
            first_rows(limit)? && matches!(limit.get_fetch_type()?, FetchType::Literal(Some(1)))
        }
        _ => false,
    })
}

/// Whether a table's key is among `keys`, and all there is are rows of that table.
fn is_by_key(plan: &LogicalPlan, keys: &[Expr]) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => is_by_key(&projection.input, keys),
        LogicalPlan::Filter(filter) => {
            let known = split_conjunction(&filter.predicate);
            let known = known.into_iter().filter_map(|own| known_column(own, filter.input.schema()));
            is_by_key(&filter.input, &keys.iter().cloned().chain(known).collect::<Vec<_>>())
        }
        LogicalPlan::Sort(_) => in_order(plan).is_ok_and(|(plan, _)| is_by_key(&plan, keys)),
        LogicalPlan::TableScan(scan) => {
            let columns = scan.projected_schema.columns();
            let all = scan.source.schema();
            let is_key = |position: &usize| {
                let name = all.field(*position).name();
                let own = columns.iter().find(|column| column.name == *name);
                own.is_some_and(|own| keys.contains(&Expr::Column(own.clone())))
            };
            scan.source.constraints().is_some_and(|known| {
                known.iter().any(|constraint| match constraint {
                    Constraint::PrimaryKey(columns) | Constraint::Unique(columns) => columns.iter().all(is_key),
                })
            })
        }
        _ => false,
    }
}

/// The column that a condition says to be one value.
fn known_column(condition: &Expr, schema: &DFSchema) -> Option<Expr> {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = condition else { return None };
    let is_value = |own: &Expr| matches!(own, Expr::Literal(..) | Expr::Placeholder(_));
    let column = match (is_value(left), is_value(right)) {
        (false, true) => left,
        (true, false) => right,
        _ => return None,
    };
    match column.as_ref() {
        Expr::Column(_) => Some(column.as_ref().clone()),
        // Integers of another type are different as long as they were.
        Expr::Cast(cast) if cast.field.data_type().is_integer() && cast.expr.get_type(schema).ok()?.is_integer() => {
            matches!(*cast.expr, Expr::Column(_)).then(|| cast.expr.as_ref().clone())
        }
        _ => None,
    }
}

/// Whether pipelines know the least of values of a type.
pub(super) fn is_ordered(data_type: &DataType) -> bool {
    data_type.is_numeric()
        || data_type.is_temporal() && !matches!(data_type, DataType::Interval(_))
        || data_type.is_string()
        || data_type.is_binary()
}
