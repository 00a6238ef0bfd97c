//! Which queries of WITH are computed once, however often they are named.

use crate::Result;
use datafusion::common::HashSet;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::cte_worktable::CteWorkTable;
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::{Expr, LogicalPlan};

/// Whether a plan may give other rows when it runs again: random values, or any so many of more rows.
pub(super) fn may_differ(plan: &LogicalPlan) -> Result<bool> {
    has(plan, |node| matches!(node, LogicalPlan::Limit(_)), |expression| expression.is_volatile())
}

/// Whether a plan costs more than to keep its rows: no pipeline does what it does.
pub(super) fn is_dear(plan: &LogicalPlan) -> Result<bool> {
    has(plan, |node| matches!(node, LogicalPlan::Window(_) | LogicalPlan::RecursiveQuery(_)), |_| false)
}

/// Whether a plan is the same wherever it stands: it looks at no columns around it and no rows of a round, and waits for no
/// parameters.
pub(super) fn is_alone(plan: &LogicalPlan) -> Result<bool> {
    let (mut rounds, mut recursive) = (HashSet::new(), HashSet::new());
    plan.apply_with_subqueries(|node| {
        match node {
            LogicalPlan::RecursiveQuery(query) => {
                recursive.insert(query.name.clone());
            }
            LogicalPlan::TableScan(scan)
                if source_as_provider(&scan.source)?.downcast_ref::<CteWorkTable>().is_some() =>
            {
                rounds.insert(scan.table_name.table().to_owned());
            }
            _ => {}
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    let waits = has(
        plan,
        |_| false,
        |expression| expression.exists(|part| Ok(matches!(part, Expr::Placeholder(_)))).unwrap_or(true),
    )?;
    Ok(!waits && rounds.is_subset(&recursive) && !crate::unnest::is_correlated(plan)?)
}

fn has(plan: &LogicalPlan, is_wanted: fn(&LogicalPlan) -> bool, has_wanted: fn(&Expr) -> bool) -> Result<bool> {
    let mut any = false;
    plan.apply_with_subqueries(|node| {
        any |= is_wanted(node);
        node.apply_expressions(|expression| {
            any |= has_wanted(expression);
            Ok(if any { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })?;
        Ok(if any { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(any)
}
