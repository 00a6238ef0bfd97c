//! DataFusion's rules for physical plans, kept from those that are a single [`CompiledExec`], in which they have nothing to do:
//! the one that distributes a plan over threads would look at it a dozen times (docs/decisions/0023-planning-time.md).

use crate::compile::CompiledExec;
use crate::table::ScanExec;
use datafusion::common::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::output_requirements::OutputRequirementExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use std::sync::Arc;

/// The rule, for plans of which something is left to DataFusion.
#[derive(Debug)]
pub(crate) struct UnlessWhole {
    pub(crate) rule: Arc<dyn PhysicalOptimizerRule + Send + Sync>,
}

impl PhysicalOptimizerRule for UnlessWhole {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        if is_whole(&plan)? { Ok(plan) } else { self.rule.optimize(plan, config) }
    }

    fn name(&self) -> &str {
        self.rule.name()
    }

    fn schema_check(&self) -> bool {
        self.rule.schema_check()
    }
}

/// True for pipelines of tables with nothing above them but projections, whose one partition has the order that is asked
/// for.
fn is_whole(plan: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    if plan.is::<CompiledExec>() {
        let reads_tables = plan.children().into_iter().all(|input| input.is::<ScanExec>());
        return Ok(reads_tables && plan.output_partitioning().partition_count() == 1);
    }
    if !plan.is::<ProjectionExec>() && !plan.is::<OutputRequirementExec>() {
        return Ok(false);
    }
    for (input, order) in plan.children().into_iter().zip(plan.required_input_ordering()) {
        let known = input.equivalence_properties();
        if let Some(order) = order
            && !known.ordering_satisfy_requirement(order.into_single())?
        {
            return Ok(false);
        }
        if !is_whole(input)? {
            return Ok(false);
        }
    }
    Ok(true)
}
