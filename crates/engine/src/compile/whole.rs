//! DataFusion's rules for physical plans, kept from plans that they have nothing to do in: distributing one that is a single
//! [`CompiledExec`] over threads, at which the rule would look a dozen times; pushing filters down where there are none
//! (docs/decisions/0023-planning-time.md).

use super::exec::CompiledExec;
use crate::table::ScanExec;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNode;
use datafusion::error::Result;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::output_requirements::OutputRequirementExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use std::sync::Arc;

/// A rule for some plans.
#[derive(Debug)]
struct OnlyWhere {
    rule: Arc<dyn PhysicalOptimizerRule + Send + Sync>,
    wanted: fn(&Arc<dyn ExecutionPlan>) -> Result<bool>,
}

/// The rule, for plans of which something is left to DataFusion.
pub(crate) fn unless_whole(
    rule: Arc<dyn PhysicalOptimizerRule + Send + Sync>,
) -> Arc<dyn PhysicalOptimizerRule + Send + Sync> {
    Arc::new(OnlyWhere { rule, wanted: |plan| Ok(!is_whole(plan)?) })
}

/// The rule, for plans with filters.
pub(crate) fn where_filtered(
    rule: Arc<dyn PhysicalOptimizerRule + Send + Sync>,
) -> Arc<dyn PhysicalOptimizerRule + Send + Sync> {
    Arc::new(OnlyWhere { rule, wanted: |plan| plan.exists(|plan| Ok(plan.is::<FilterExec>())) })
}

impl PhysicalOptimizerRule for OnlyWhere {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        if (self.wanted)(&plan)? { self.rule.optimize(plan, config) } else { Ok(plan) }
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

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::Schema;
    use datafusion::logical_expr::Operator;
    use datafusion::physical_expr::PhysicalExpr;
    use datafusion::physical_expr::expressions::{binary, lit};
    use datafusion::physical_plan::empty::EmptyExec;
    use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;

    /// Puts no rows in the place of any plan.
    #[derive(Debug)]
    struct Emptied;

    impl PhysicalOptimizerRule for Emptied {
        fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
            Ok(Arc::new(EmptyExec::new(plan.schema())))
        }

        fn name(&self) -> &str {
            "emptied"
        }

        fn schema_check(&self) -> bool {
            true
        }
    }

    #[test]
    fn plans_with_filters_are_given_to_the_rule_for_them() {
        let schema = Arc::new(Schema::empty());
        let row: Arc<dyn ExecutionPlan> = Arc::new(PlaceholderRowExec::new(Arc::clone(&schema)));
        let condition = binary(lit(1), Operator::Lt, lit(2), &schema).unwrap();
        let filter: Arc<dyn ExecutionPlan> = Arc::new(FilterExec::try_new(condition, Arc::clone(&row)).unwrap());
        let above: Arc<dyn ExecutionPlan> = Arc::new(
            ProjectionExec::try_new(Vec::<(Arc<dyn PhysicalExpr>, String)>::new(), Arc::clone(&filter)).unwrap(),
        );
        let rule = where_filtered(Arc::new(Emptied));
        for (plan, given) in [(row, false), (filter, true), (above, true)] {
            let after = rule.optimize(plan, &ConfigOptions::default()).unwrap();
            assert_eq!(after.is::<EmptyExec>(), given, "{after:?}");
        }
    }
}
