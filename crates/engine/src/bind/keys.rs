//! Keys of tables, kept from DataFusion where it would be misled by them.
//!
//! Above an aggregation DataFusion takes a key that is among the groups' columns for one of all groups, whatever tables are joined
//! below it: of `SELECT DISTINCT t.key, u.x FROM t, u` it believes that `key` tells `x`. A second aggregation above then leaves
//! `x` out of its groups. Tables below an aggregation that is below another one therefore have no keys.

use crate::Result;
use crate::table::GinghamTable;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::logical_plan::TableScanBuilder;
use std::sync::Arc;

/// `plan`, which an aggregation or DISTINCT stands above, without the keys of tables that are below another one.
pub(super) fn forgotten(plan: LogicalPlan) -> Result<LogicalPlan> {
    if !plan.exists(|node| Ok(is_aggregation(node)))? {
        return Ok(plan);
    }
    let without = plan.transform_down(|node| {
        if is_aggregation(&node) {
            return Ok(Transformed::new(node.transform_up(without_keys)?.data, true, TreeNodeRecursion::Jump));
        }
        Ok(Transformed::no(node))
    })?;
    Ok(without.data.transform_up(|node| Ok(Transformed::yes(node.recompute_schema()?)))?.data)
}

fn is_aggregation(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Aggregate(_) | LogicalPlan::Distinct(_))
}

fn without_keys(node: LogicalPlan) -> datafusion::error::Result<Transformed<LogicalPlan>> {
    if let LogicalPlan::TableScan(scan) = &node {
        let provider = source_as_provider(&scan.source)?;
        let Some(table) = provider.downcast_ref::<GinghamTable>() else { return Ok(Transformed::no(node)) };
        let source = provider_as_source(Arc::new(table.without_keys()));
        let scan = TableScanBuilder::new(scan.table_name.clone(), source).build()?;
        return Ok(Transformed::yes(LogicalPlan::TableScan(scan)));
    }
    Ok(Transformed::yes(node.recompute_schema()?))
}
