//! DataFusion's join selection, which chooses how a hash join's build side is shared out, kept from choosing sides
//! where [`crate::optimizer::JoinOrder`] has.

use crate::table::{CountExec, ScanExec};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNode;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::Result;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::join_selection::JoinSelection;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use std::sync::Arc;

/// The rule, in the place of DataFusion's.
#[derive(Debug)]
pub(crate) struct SelectJoins;

impl PhysicalOptimizerRule for SelectJoins {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        if !is_ours(&plan) {
            return JoinSelection::new().optimize(plan, config);
        }
        // One that is collected stays so, unless sides are chosen.
        let undecided = |join: &HashJoinExec| *join.partition_mode() != PartitionMode::CollectLeft;
        if !plan.exists(|plan| Ok(plan.downcast_ref::<HashJoinExec>().is_some_and(undecided)))? {
            return Ok(plan);
        }
        let mut config = config.clone();
        config.optimizer.join_reordering = false;
        JoinSelection::new().optimize(plan, &config)
    }

    fn name(&self) -> &str {
        "join_selection"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// True when all rows come from tables of ours, or from the query's own text.
fn is_ours(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let children = plan.children();
    if children.is_empty() {
        let values = plan
            .downcast_ref::<DataSourceExec>()
            .is_some_and(|source| source.data_source().downcast_ref::<MemorySourceConfig>().is_some());
        return values
            || plan.is::<ScanExec>()
            || plan.is::<CountExec>()
            || plan.is::<EmptyExec>()
            || plan.is::<PlaceholderRowExec>();
    }
    children.into_iter().all(is_ours)
}
