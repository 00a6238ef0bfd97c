//! DataFusion's rules for subqueries, kept from plans that have none: each walks through the whole plan otherwise, and one
//! of them puts together the schemas of all operators (docs/decisions/0023-planning-time.md).

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::decorrelate_predicate_subquery::DecorrelatePredicateSubquery;
use datafusion::optimizer::rewrite_set_comparison::RewriteSetComparison;
use datafusion::optimizer::scalar_subquery_to_join::ScalarSubqueryToJoin;
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// A rule as it is, or kept from plans without the subqueries that it is for.
pub(crate) fn only_with_subqueries(rule: Arc<dyn OptimizerRule + Send + Sync>) -> Arc<dyn OptimizerRule + Send + Sync> {
    let names = [
        RewriteSetComparison::new().name() == rule.name(),
        DecorrelatePredicateSubquery::new().name() == rule.name(),
        ScalarSubqueryToJoin::new().name() == rule.name(),
    ];
    let wanted: fn(&Expr) -> bool = match names {
        [true, ..] => |part| matches!(part, Expr::SetComparison(_)),
        [_, true, _] => |part| matches!(part, Expr::Exists(_) | Expr::InSubquery(_)),
        [.., true] => |part| matches!(part, Expr::ScalarSubquery(_)),
        _ => return rule,
    };
    Arc::new(OnlyWith { rule, wanted })
}

/// A rule for plans with some kind of expression.
#[derive(Debug)]
struct OnlyWith {
    rule: Arc<dyn OptimizerRule + Send + Sync>,
    wanted: fn(&Expr) -> bool,
}

impl OptimizerRule for OnlyWith {
    fn name(&self) -> &str {
        self.rule.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        None
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        if !has(&plan, self.wanted)? {
            return Ok(Transformed::no(plan));
        }
        match self.rule.apply_order() {
            None => self.rule.rewrite(plan, config),
            Some(ApplyOrder::TopDown) => plan.transform_down_with_subqueries(|node| self.rule.rewrite(node, config)),
            Some(ApplyOrder::BottomUp) => plan.transform_up_with_subqueries(|node| self.rule.rewrite(node, config)),
        }
    }
}

/// True when `wanted` holds for a part of an expression of a plan or of its subqueries' plans.
fn has(plan: &LogicalPlan, wanted: fn(&Expr) -> bool) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expression| {
            found = found || expression.exists(|part| Ok(wanted(part)))?;
            Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })?;
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}
