//! Rows of a plan that no rule has changed yet: filters are still above the scans that they will be part of.

use crate::optimizer::estimate::{Estimator, with_table};
use datafusion::common::config::ConfigOptions;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::utils::split_conjunction_owned;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use std::sync::Arc;

/// About how many rows a plan gives.
pub(crate) fn rows_about(plan: &LogicalPlan, options: &ConfigOptions) -> f64 {
    filtered_scan(plan, options).unwrap_or_else(|| Estimator::new(options).size(plan).rows)
}

/// Those of a table under filters, which are sampled.
fn filtered_scan(plan: &LogicalPlan, options: &ConfigOptions) -> Option<f64> {
    let (mut plan, mut filters) = (plan, Vec::new());
    loop {
        plan = match plan {
            LogicalPlan::Filter(filter) => {
                filters.extend(split_conjunction_owned(filter.predicate.clone()));
                &filter.input
            }
            LogicalPlan::Projection(projection) if filters.is_empty() => &projection.input,
            LogicalPlan::TableScan(scan) => {
                let context = SimplifyContext::builder()
                    .with_schema(Arc::clone(plan.schema()))
                    .with_config_options(Arc::new(options.clone()))
                    .build();
                let simplifier = ExprSimplifier::new(context);
                let simple = |filter: Expr| simplifier.simplify(filter.clone()).unwrap_or(filter);
                let filters: Vec<Expr> = filters.into_iter().map(simple).collect();
                return with_table(scan, |table| table.rows_of(&filters, options));
            }
            _ => return None,
        };
    }
}
