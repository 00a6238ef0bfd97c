//! Subqueries that stand for a value: the one row's, NULL where there is none. A second row is an error where the value is
//! asked for, and only there.

use crate::unnest::Unnesting;
use crate::unnest::free::is_correlated;
use crate::unnest::inline::{first_rows, is_one_row};
use crate::unnest::join::joined;
use crate::unnest::one_row::one_row;
use crate::unnest::or_null::or_null;
use crate::unnest::pull::in_order;
use crate::unnest::rows::{UnnestedRows, columns_of, project};
use crate::unnest::value::where_present;
use arrow::datatypes::DataType;
use datafusion::common::{Column, Constraint, JoinType, Spans};
use datafusion::error::Result;
use datafusion::functions_aggregate::count::count;
use datafusion::functions_aggregate::expr_fn::{first_value, min};
use datafusion::logical_expr::{Expr, ExprSchemable, FetchType, LogicalPlan, Subquery, lit};
use std::sync::Arc;

impl Unnesting<'_> {
    /// The value of a subquery for each of `rows`.
    pub(super) fn scalar(&mut self, rows: &mut UnnestedRows, plan: &LogicalPlan, guard: &[Expr]) -> Result<Expr> {
        // Where a row need not ask for it, a second row is no error before one does.
        let is_asked = guard.is_empty() || is_one_row(plan)? || is_first(plan)?;
        if is_asked && !is_correlated(plan)? {
            let alone = self.whole(plan.clone())?;
            return Ok(as_value(or_null(alone)?));
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
        LogicalPlan::Filter(filter) => is_by_key(&filter.input, keys),
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

/// Whether pipelines know the least of values of a type.
pub(super) fn is_ordered(data_type: &DataType) -> bool {
    data_type.is_numeric()
        || data_type.is_temporal() && !matches!(data_type, DataType::Interval(_))
        || data_type.is_string()
}
