//! The columns that a plan takes from queries around it.

use datafusion::common::Column;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, LogicalPlan, Subquery};

/// The columns of queries around `plan` that it, or a query in it, looks at, each once.
pub(crate) fn outer_columns(plan: &LogicalPlan) -> Result<Vec<Column>> {
    let mut found: Vec<Column> = Vec::new();
    plan.apply_with_subqueries(|node| node.apply_expressions(|expression| add_outer(expression, &mut found)))?;
    // Most plans have none.
    if found.is_empty() { Ok(found) } else { looked_at(plan) }
}

/// Outer columns that `plan`, or a query in it, refers to, operator by operator. A query in an operator's expressions sees the
/// columns of the operator's inputs, a join's right side those of the left.
fn looked_at(plan: &LogicalPlan) -> Result<Vec<Column>> {
    let inputs = plan.inputs();
    let mut found: Vec<Column> = Vec::new();
    let mut add = |columns: Vec<Column>, seen: &[&LogicalPlan]| {
        for column in columns {
            let is_seen = seen.iter().any(|input| input.schema().has_column(&column));
            if !is_seen && !found.contains(&column) {
                found.push(column);
            }
        }
    };
    for (number, input) in inputs.iter().enumerate() {
        let before = if matches!(plan, LogicalPlan::Join(_)) { &inputs[..number] } else { &[] };
        add(looked_at(input)?, before);
    }
    plan.apply_expressions(|expression| {
        let mut own = Vec::new();
        add_outer(expression, &mut own)?;
        add(own, &[]);
        expression.apply(|part| {
            if let Some(query) = subquery_of(part) {
                add(looked_at(&query.subquery)?, &inputs);
            }
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok(found)
}

/// Outer columns that an expression, or a query within it, refers to.
pub(super) fn outer_columns_in(expression: &Expr) -> Result<Vec<Column>> {
    let mut found: Vec<Column> = Vec::new();
    add_outer(expression, &mut found)?;
    expression.apply(|part| {
        if let Some(query) = subquery_of(part) {
            for column in outer_columns(&query.subquery)? {
                if !found.contains(&column) {
                    found.push(column);
                }
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(found)
}

fn add_outer(expression: &Expr, found: &mut Vec<Column>) -> Result<TreeNodeRecursion> {
    expression.apply(|part| {
        if let Expr::OuterReferenceColumn(_, column) = part
            && !found.contains(column)
        {
            found.push(column.clone());
        }
        Ok(TreeNodeRecursion::Continue)
    })
}

/// Whether a plan looks at columns around it.
pub(crate) fn is_correlated(plan: &LogicalPlan) -> Result<bool> {
    Ok(!outer_columns(plan)?.is_empty())
}

/// Whether a plan, or a query in it, gives other rows each time it is computed.
pub(super) fn is_volatile(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expression| {
            found = found || expression.is_volatile();
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

/// Whether an expression itself has a column of a query around it.
pub(super) fn has_outer(expression: &Expr) -> bool {
    expression.exists(|part| Ok(matches!(part, Expr::OuterReferenceColumn(..)))).unwrap_or(true)
}

/// The query that an expression is about.
pub(crate) fn subquery_of(expression: &Expr) -> Option<&Subquery> {
    match expression {
        Expr::ScalarSubquery(query) => Some(query),
        Expr::Exists(exists) => Some(&exists.subquery),
        Expr::InSubquery(within) => Some(&within.subquery),
        Expr::SetComparison(compared) => Some(&compared.subquery),
        _ => None,
    }
}

/// Whether there is a query in an expression.
pub(super) fn has_query(expression: &Expr) -> bool {
    expression.exists(|part| Ok(subquery_of(part).is_some())).unwrap_or(true)
}

/// Whether there is a query in a plan's expressions, or beside another member of FROM that it looks at.
pub(super) fn has_queries(plan: &LogicalPlan) -> Result<bool> {
    plan.exists(|node| {
        let mut any = matches!(node, LogicalPlan::Subquery(_));
        node.apply_expressions(|expression| {
            any = any || has_query(expression);
            Ok(if any { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })?;
        Ok(any)
    })
}
