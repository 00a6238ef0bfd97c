//! What the queries of statements that change records are called by and may have.

use crate::{Error, Result};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr, LogicalPlan, Volatility};
use gingham_storage::SqlState;

/// What ON CONFLICT calls the rows that were to be inserted.
pub(crate) const EXCLUDED: &str = "excluded";

/// Refuses what a clause of MERGE reads when other clauses, which read it too, would find something else: a function in USING,
/// ON or AND that gives another value each time. What the clause makes of each row, at the plan's top, may have some.
pub(crate) fn refuse_volatile(plan: &LogicalPlan) -> Result<()> {
    let mut found = None;
    let mut look = |part: &Expr| match part {
        Expr::ScalarFunction(call) if call.func.signature().volatility == Volatility::Volatile => {
            found = Some(call.name().to_owned());
            Ok(TreeNodeRecursion::Stop)
        }
        _ => Ok(TreeNodeRecursion::Continue),
    };
    for input in plan.inputs() {
        input.apply_with_subqueries(|node| node.apply_expressions(|expression| expression.apply(&mut look)))?;
    }
    match found {
        None => Ok(()),
        Some(name) => Err(Error::invalid(
            SqlState::CardinalityViolation,
            format!(
                "MERGE: each of several clauses reads what USING, ON and AND give, and {name} gives something else each time; put \
             the rows into a table first, with CREATE TEMP TABLE … AS"
            ),
        )),
    }
}
