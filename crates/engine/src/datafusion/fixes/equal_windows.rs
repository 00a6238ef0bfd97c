//! Window functions that became the same, as `bool_or(TRUE = v) OVER w` and `bool_or(v) OVER w` do once constants are folded.
//!
//! DataFusion's rule for common subexpressions takes two equal ones for a value to be computed beforehand, in a projection,
//! where no window function can be. So they are computed once here, and shown twice.

use datafusion::common::tree_node::Transformed;
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, LogicalPlan, Projection, Window};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// The optimizer rule; it runs behind the one that simplifies expressions.
#[derive(Debug)]
pub(crate) struct EqualWindows;

impl OptimizerRule for EqualWindows {
    fn name(&self) -> &str {
        "equal_windows"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Window(window) = plan else { return Ok(Transformed::no(plan)) };
        let first_of = |at: usize| {
            let own = bare(&window.window_expr[at]);
            window.window_expr[..at].iter().position(|other| bare(other) == own)
        };
        let firsts: Vec<Option<usize>> = (0..window.window_expr.len()).map(first_of).collect();
        if firsts.iter().all(Option::is_none) {
            return Ok(Transformed::no(LogicalPlan::Window(window)));
        }
        let width = window.input.schema().fields().len();
        let columns: Vec<Expr> = window.schema.columns().into_iter().map(Expr::Column).collect();
        let mut shown = columns.clone();
        for (at, first) in firsts.iter().enumerate() {
            if let (Some(first), Expr::Column(own)) = (first, &columns[width + at]) {
                shown[width + at] =
                    columns[width + *first].clone().alias_qualified(own.relation.clone(), own.name.clone());
            }
        }
        let once = window.window_expr.into_iter().zip(&firsts).filter(|(_, first)| first.is_none());
        let once = once.map(|(expression, _)| expression).collect();
        let plan = LogicalPlan::Window(Window::try_new(once, window.input)?);
        Ok(Transformed::yes(LogicalPlan::Projection(Projection::try_new(shown, Arc::new(plan))?)))
    }
}

/// The expression itself, without the name that it is given.
fn bare(expression: &Expr) -> &Expr {
    match expression {
        Expr::Alias(alias) => bare(&alias.expr),
        other => other,
    }
}
