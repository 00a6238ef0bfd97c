//! A look at expressions before work that few plans need.

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, LogicalPlan};

/// True when `wanted` holds for a part of an expression of the plan's own, not of its inputs or subqueries.
pub(super) fn has_expression(plan: &LogicalPlan, wanted: impl Fn(&Expr) -> bool) -> Result<bool> {
    let mut found = false;
    plan.apply_expressions(|expression| {
        found = expression.exists(|part| Ok(wanted(part)))?;
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}
