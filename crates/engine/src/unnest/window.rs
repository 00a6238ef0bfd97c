//! Windows and LIMIT of subqueries: rows are numbered within those that belong to the same outer values.

use crate::unnest::Unnesting;
use crate::unnest::rows::{UnnestedRows, columns_of, named};
use arrow::datatypes::DataType;
use datafusion::common::Column;
use datafusion::error::Result;
use datafusion::functions_window::row_number::row_number;
use datafusion::logical_expr::{Expr, ExprFunctionExt, Limit, LogicalPlan, SortExpr, Window, cast, lit};
use std::sync::Arc;

impl Unnesting<'_> {
    /// The functions of `window` over rows that belong together by `keys`.
    pub(super) fn windows(&mut self, mut rows: UnnestedRows, keys: &[Expr], window: &Window) -> Result<LogicalPlan> {
        let columns: Vec<Expr> = columns_of(&rows.plan).collect();
        let schema = &window.schema;
        let first = schema.fields().len() - window.window_expr.len();
        let mut calls = Vec::with_capacity(window.window_expr.len());
        for (call, column) in
            self.prepared(&mut rows, window.window_expr.clone())?.into_iter().zip(&schema.columns()[first..])
        {
            let mut call = call.unalias();
            if let Expr::WindowFunction(own) = &mut call {
                own.params.partition_by.extend(keys.iter().cloned());
            }
            calls.push(named(call, column));
        }
        let results = schema.columns().split_off(first).into_iter().map(Expr::Column);
        rows.plan = LogicalPlan::Window(Window::try_new(calls, Arc::new(rows.plan))?);
        crate::unnest::rows::project(rows.plan, columns.into_iter().chain(results).collect())
    }

    /// The rows that a LIMIT leaves of those that belong together by `keys`, in an order.
    pub(super) fn limited(
        &mut self,
        mut rows: UnnestedRows,
        keys: &[Expr],
        order: Vec<SortExpr>,
        limit: &Limit,
    ) -> Result<LogicalPlan> {
        let order = order.into_iter().map(|key| Ok(SortExpr { expr: rows.bind(key.expr)?, ..key }));
        let order = order.collect::<Result<Vec<_>>>()?;
        let number = Column::new_unqualified(self.fresh("number"));
        let numbered = row_number().partition_by(keys.to_vec()).order_by(order).build()?.alias(&number.name);
        rows.plan = LogicalPlan::Window(Window::try_new(vec![numbered], Arc::new(rows.plan))?);
        let number = cast(Expr::Column(number), DataType::Int64);
        let mut skipped = lit(0_i64);
        let mut conditions = Vec::new();
        if let Some(skip) = &limit.skip {
            let skip = self.value(&mut rows, cast(skip.as_ref().clone(), DataType::Int64), &[])?;
            if !matches!(&skip, Expr::Literal(value, _) if value.is_null()) {
                skipped = datafusion::functions::core::expr_fn::coalesce(vec![skip, skipped]);
                conditions.push(number.clone().gt(skipped.clone()));
            }
        }
        if let Some(fetch) = &limit.fetch {
            let fetch = self.value(&mut rows, cast(fetch.as_ref().clone(), DataType::Int64), &[])?;
            let last = if conditions.is_empty() { fetch.clone() } else { skipped + fetch.clone() };
            let within = number.lt_eq(last);
            let is_known = matches!(&fetch, Expr::Cast(own) if matches!(*own.expr, Expr::Literal(..)));
            // NULL is no limit.
            conditions.push(if is_known { within } else { within.or(fetch.is_null()) });
        }
        rows.keep(conditions)?;
        Ok(rows.plan)
    }
}
