//! Filters by an equality of a column and a function, as `WHERE power(x, 2) = y`. DataFusion makes the column the same as the function
//! in what is above, where it knows no order of a function without a range of its own type: windows over rows that are sorted by
//! the column are refused (DataFusion 55, `EquivalenceProperties::get_expr_properties`). What is above such a filter is not told.

use crate::datafusion::cancellation::StoppableExec;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column, Literal};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use std::sync::Arc;

/// Runs before sorts are put in and left out.
#[derive(Debug)]
pub(crate) struct EqualFunctions;

impl PhysicalOptimizerRule for EqualFunctions {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let hidden = plan.transform_up(|plan| {
            if !plan.is::<FilterExec>() || !equals_function(&plan) {
                return Ok(Transformed::no(plan));
            }
            Ok(Transformed::yes(Arc::new(StoppableExec::without_equalities(plan)) as Arc<dyn ExecutionPlan>))
        });
        Ok(hidden?.data)
    }

    fn name(&self) -> &str {
        "equal_functions"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Whether something else than columns and constants is said to be equal to another value.
fn equals_function(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let is_plain = |expression: &Arc<dyn PhysicalExpr>| expression.is::<Column>() || expression.is::<Literal>();
    let classes = plan.equivalence_properties().eq_group();
    classes.iter().any(|class| class.len() > 1 && !class.iter().all(is_plain))
}
