//! The domain: the distinct values of the outer columns that a subquery looks at, for which the subquery is computed at once. One
//! that calls random() or the like is another one for each outer row.

use crate::unnest::Unnesting;
use crate::unnest::free::{is_volatile, outer_columns};
use crate::unnest::rows::{UnnestedRows, project};
use datafusion::common::{Column, HashMap};
use datafusion::error::{DataFusionError, Result};
use datafusion::functions_window::row_number::row_number;
use datafusion::logical_expr::{Distinct, Expr, ExprSchemable, LogicalPlan, Window};
use std::sync::Arc;

/// The distinct values of outer columns.
#[derive(Debug)]
pub(super) struct Domain {
    /// A row for each combination that occurs.
    plan: LogicalPlan,
    /// The outer columns, and what they are called in `plan`.
    columns: Vec<(Column, Column)>,
}

impl Domain {
    /// The outer columns, in the order of the domain's own.
    pub(super) fn outer(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().map(|(outer, _)| outer)
    }
}

impl Unnesting<'_> {
    /// What `plan` looks at in those of `rows` for which `guard` holds: its outer columns' values, and the number of the row where it
    /// gives other rows each time it is computed. Both will read the rows.
    pub(super) fn domain_of(&mut self, rows: &mut UnnestedRows, plan: &LogicalPlan, guard: &[Expr]) -> Result<Domain> {
        let mut outer = outer_columns(plan)?;
        if is_volatile(plan)? {
            let number = Column::new_unqualified(self.fresh("row"));
            let numbered = row_number().alias(&number.name);
            let input = Arc::new(std::mem::take(&mut rows.plan));
            rows.plan = LogicalPlan::Window(Window::try_new(vec![numbered], input)?);
            outer.push(number);
        }
        self.domain(rows, &outer, guard)
    }

    /// The values of `outer` in those of `rows` for which `guard` holds. Both will read the rows.
    pub(super) fn domain(&mut self, rows: &mut UnnestedRows, outer: &[Column], guard: &[Expr]) -> Result<Domain> {
        let mut bound = Vec::with_capacity(outer.len());
        let mut columns = Vec::with_capacity(outer.len());
        for column in outer {
            let binding = rows.binding(column).ok_or_else(|| unknown(column))?;
            let own = Column::new_unqualified(self.fresh(&column.name));
            bound.push(binding.alias(&own.name));
            columns.push((column.clone(), own));
        }
        rows.plan = self.shared(std::mem::take(&mut rows.plan))?;
        let mut asking = UnnestedRows::of(self.read_again(&rows.plan)?);
        asking.keep(guard.to_vec())?;
        let values = Arc::new(project(asking.plan, bound)?);
        let plan = self.shared(LogicalPlan::Distinct(Distinct::All(values)))?;
        Ok(Domain { plan, columns })
    }

    /// The domain as rows, under names of their own.
    pub(super) fn rows_of(&mut self, domain: &Domain) -> Result<UnnestedRows> {
        let mut bindings = HashMap::new();
        let mut shown = Vec::with_capacity(domain.columns.len());
        for (outer, own) in &domain.columns {
            let name = self.fresh(&outer.name);
            shown.push(Expr::Column(own.clone()).alias(&name));
            bindings.insert(outer.clone(), Expr::Column(Column::new_unqualified(name)));
        }
        let plan = project(self.read_again(&domain.plan)?, shown)?;
        Ok(UnnestedRows { plan, bindings })
    }
}

/// Pairs of what outer columns are in two plans.
pub(super) fn pairs<'c>(
    outer: impl Iterator<Item = &'c Column>,
    left: &UnnestedRows,
    right: &UnnestedRows,
) -> Result<Vec<(Expr, Expr)>> {
    outer
        .map(|column| match (left.binding(column), right.binding(column)) {
            (Some(left), Some(right)) => Ok((left, right)),
            _ => Err(unknown(column)),
        })
        .collect()
}

/// Whether an expression over rows may be NULL.
pub(super) fn may_be_null(expression: &Expr, plan: &LogicalPlan) -> bool {
    expression.nullable(plan.schema().as_ref()).unwrap_or(true)
}

pub(super) fn unknown(column: &Column) -> DataFusionError {
    DataFusionError::Internal(format!("column {column} of a query around a subquery is not there"))
}
