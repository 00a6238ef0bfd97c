//! The work that rules over logical plans share: a look at expressions before work that few plans need, and the rewriting of each part.

use datafusion::common::DFSchema;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, LogicalPlan};

/// True when `wanted` holds for a part of an expression of the plan's own, not of its inputs or subqueries.
pub(crate) fn has_expression(plan: &LogicalPlan, wanted: impl Fn(&Expr) -> bool) -> Result<bool> {
    let mut found = false;
    plan.apply_expressions(|expression| {
        found = expression.exists(|part| Ok(wanted(part)))?;
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

/// The columns that the plan's own expressions may name: those of its inputs, and of the table that it scans.
pub(crate) fn columns_around(plan: &LogicalPlan) -> Result<DFSchema> {
    let mut schema = merge_schema(&plan.inputs());
    if let LogicalPlan::TableScan(scan) = plan {
        schema.merge(&DFSchema::try_from_qualified_schema(scan.table_name.clone(), &scan.source.schema())?);
    }
    Ok(schema)
}

/// The plan with each part of its own expressions rewritten, the innermost first. The columns keep their names.
pub(crate) fn each_part(
    plan: LogicalPlan,
    mut rewrite: impl FnMut(Expr) -> Result<Transformed<Expr>>,
) -> Result<Transformed<LogicalPlan>> {
    let names = NamePreserver::new(&plan);
    plan.map_expressions(|expression| {
        let name = names.save(&expression);
        let rewritten = expression.transform_up(&mut rewrite)?;
        Ok(rewritten.update_data(|expression| name.restore(expression)))
    })
}
