//! Dynamic filters whose columns can't be told apart by name.
//!
//! DataFusion hands a filter down through joins by the names of its columns. Where an operator gives two columns of one name
//! the filter may end at a scan of the other one, and leave out records that the query needs. Such filters are taken off the
//! scans below the operator that makes them.

use super::scan_exec::ScanExec;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use std::collections::HashSet;
use std::sync::Arc;

/// Takes filters off scans that they may have come to by mistake; runs after they were handed down.
#[derive(Debug)]
pub(crate) struct DropMisledFilters;

impl PhysicalOptimizerRule for DropMisledFilters {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let mut misled = Vec::new();
        find_misled(&plan, &mut misled);
        if misled.is_empty() {
            return Ok(plan);
        }
        let dropped = plan.transform_up(|plan| {
            Ok(match plan.downcast_ref::<ScanExec>().and_then(|scan| scan.without(&misled)) {
                Some(scan) => Transformed::yes(scan),
                None => Transformed::no(plan),
            })
        });
        Ok(dropped?.data)
    }

    fn name(&self) -> &str {
        "drop_misled_filters"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Adds the numbers of the filters that are made above columns of one name. Returns whether there are such in `plan`.
fn find_misled(plan: &Arc<dyn ExecutionPlan>, misled: &mut Vec<u64>) -> bool {
    let mut twins = false;
    for child in plan.children() {
        twins |= find_misled(child, misled);
    }
    if twins {
        misled.extend(plan.dynamic_expressions_produced().iter().filter_map(|filter| filter.expression_id()));
    }
    let schema = plan.schema();
    let mut names = HashSet::new();
    twins || !schema.fields().iter().all(|field| names.insert(field.name()))
}
