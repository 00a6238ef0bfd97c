//! Conditions about no column, or none but constants, stay above aggregations without keys. DataFusion hands them down: below an
//! aggregation that gives a row of nothing for no rows, `SELECT * FROM (SELECT count(*) FROM t) WHERE (SELECT max(a) FROM u) < 0` would have that row.

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, GroupingSet, Limit, LogicalPlan};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// Puts a LIMIT of nothing above aggregations without keys where there are conditions above: DataFusion's rule for these does not
/// look below. None about a result may go there either.
#[derive(Debug)]
pub(crate) struct LimitOneGroup;

impl OptimizerRule for LimitOneGroup {
    fn name(&self) -> &str {
        "limit_one_group"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        None
    }

    fn rewrite(&self, plan: LogicalPlan, _config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        if !any(&plan, |node| is_conditional(node) && node.inputs().into_iter().any(has_one_group))? {
            return Ok(Transformed::no(plan));
        }
        plan.transform_up_with_subqueries(|node| {
            Ok(if is_one_group(&node) { Transformed::yes(limited(node)) } else { Transformed::no(node) })
        })
    }
}

/// Takes it away again.
#[derive(Debug)]
pub(crate) struct UnlimitOneGroup;

impl OptimizerRule for UnlimitOneGroup {
    fn name(&self) -> &str {
        "unlimit_one_group"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        None
    }

    fn rewrite(&self, plan: LogicalPlan, _config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        if !any(&plan, is_limit_of_nothing)? {
            return Ok(Transformed::no(plan));
        }
        plan.transform_up_with_subqueries(|node| {
            Ok(match node {
                LogicalPlan::Limit(Limit { skip: None, fetch: None, input }) => {
                    Transformed::yes(Arc::unwrap_or_clone(input))
                }
                other => Transformed::no(other),
            })
        })
    }
}

fn is_limit_of_nothing(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Limit(Limit { skip: None, fetch: None, .. }))
}

fn limited(plan: LogicalPlan) -> LogicalPlan {
    LogicalPlan::Limit(Limit { skip: None, fetch: None, input: Arc::new(plan) })
}

/// Whether an aggregation gives a row for no rows: one without keys, or with a grouping set that has none.
fn is_one_group(plan: &LogicalPlan) -> bool {
    let LogicalPlan::Aggregate(aggregate) = plan else { return false };
    match aggregate.group_expr.as_slice() {
        [] => true,
        [Expr::GroupingSet(GroupingSet::GroupingSets(sets))] => sets.iter().any(Vec::is_empty),
        _ => false,
    }
}

fn has_one_group(plan: &LogicalPlan) -> bool {
    plan.exists(|node| Ok(is_one_group(node))).unwrap_or(true)
}

/// Whether there is a condition at an operator. A column of it may be a constant below.
fn is_conditional(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Filter(_) => true,
        LogicalPlan::Join(join) => join.filter.is_some(),
        _ => false,
    }
}

fn any(plan: &LogicalPlan, wanted: impl Fn(&LogicalPlan) -> bool) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        found = wanted(node);
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}
