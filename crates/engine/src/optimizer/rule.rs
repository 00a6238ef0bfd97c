//! The logical rule that orders joins: the last of a pass, and idempotent, since there may be more passes
//! ([`crate::datafusion::shortcuts::passes`]).
//!
//! It orders the plans of which all rows come from tables of ours. Others stay in the order of their text, and DataFusion
//! chooses their sides ([`crate::datafusion::shortcuts::select_joins`]).

use crate::optimizer::assemble::{WantedColumns, assemble, restored};
use crate::optimizer::cluster::{Cluster, is_part};
use crate::optimizer::estimate::Estimator;
use crate::optimizer::model::{Model, sides_cost};
use crate::optimizer::search::search;
use crate::table::GinghamTable;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, HashSet};
use datafusion::datasource::source_as_provider;
use datafusion::error::Result;
use datafusion::logical_expr::{Aggregate, Expr, Join, JoinType, LogicalPlan, Projection};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// Orders joins.
#[derive(Debug)]
pub(crate) struct JoinOrder;

impl OptimizerRule for JoinOrder {
    fn name(&self) -> &str {
        "join_order"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        None
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        if !is_ours(&plan) {
            return Ok(Transformed::no(plan));
        }
        order(plan, &config.options())
    }
}

/// True for a plan with joins, all of whose tables are ours.
fn is_ours(plan: &LogicalPlan) -> bool {
    let (mut joins, mut ours) = (false, true);
    let visited = plan.apply_with_subqueries(|node| {
        match node {
            LogicalPlan::Join(_) => joins = true,
            LogicalPlan::TableScan(scan) => {
                ours &= source_as_provider(&scan.source).is_ok_and(|table| table.is::<GinghamTable>());
            }
            LogicalPlan::Extension(_) | LogicalPlan::RecursiveQuery(_) => ours = false,
            _ => {}
        }
        Ok(if ours { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    });
    visited.is_ok() && joins && ours
}

/// The plan, its joins ordered.
pub(super) fn order(plan: LogicalPlan, options: &ConfigOptions) -> Result<Transformed<LogicalPlan>> {
    if is_part(&plan)
        && let Some(ordered) = ordered(&plan, WantedColumns::AsBefore, options)?
    {
        return Ok(Transformed::yes(ordered));
    }
    plan.map_uncorrelated_subqueries(|subquery| order(subquery, options))?
        .transform_sibling(|plan| match under_named_columns(&plan, options)? {
            Some(plan) => Ok(Transformed::yes(plan)),
            None => plan.map_children(|child| order(child, options)),
        })?
        .transform_data(|plan| match plan {
            LogicalPlan::Join(join) => with_best_sides(join, options),
            other => Ok(Transformed::no(other)),
        })
}

/// A projection or groups over joins, which need not give more than the columns that it names; `None` for anything else.
fn under_named_columns(plan: &LogicalPlan, options: &ConfigOptions) -> Result<Option<LogicalPlan>> {
    let columns = |expressions: &mut dyn Iterator<Item = &Expr>| -> HashSet<Column> {
        expressions.flat_map(Expr::column_refs).cloned().collect()
    };
    match plan {
        LogicalPlan::Projection(Projection { expr, input, schema, .. }) if is_part(input) => {
            let wanted = WantedColumns::These(columns(&mut expr.iter()));
            let Some(ordered) = ordered(input, wanted, options)? else { return Ok(None) };
            let projection = Projection::try_new_with_schema(expr.clone(), Arc::new(ordered), Arc::clone(schema))?;
            Ok(Some(LogicalPlan::Projection(projection)))
        }
        LogicalPlan::Aggregate(Aggregate { input, group_expr, aggr_expr, schema, .. }) if is_part(input) => {
            let wanted = WantedColumns::TheseAlone(columns(&mut group_expr.iter().chain(aggr_expr)));
            let Some(ordered) = ordered(input, wanted, options)? else { return Ok(None) };
            let (groups, values) = (group_expr.clone(), aggr_expr.clone());
            let aggregate = Aggregate::try_new_with_schema(Arc::new(ordered), groups, values, Arc::clone(schema))?;
            Ok(Some(LogicalPlan::Aggregate(aggregate)))
        }
        _ => Ok(None),
    }
}

/// The joins at the top of `plan` in their best order; `None` when they can't be taken apart.
fn ordered(plan: &LogicalPlan, wanted: WantedColumns, options: &ConfigOptions) -> Result<Option<LogicalPlan>> {
    let Some(cluster) = Cluster::new(plan, &|leaf| Ok(order(leaf, options)?.data))? else { return Ok(None) };
    let model = Model::new(&cluster, &Estimator::new(options));
    let tree = search(&model);
    // What can't be put together in another way stays as it was written.
    Ok(assemble(&cluster, &model, &tree, &wanted).ok())
}

/// A join that is not reordered, built from the side from which it is cheaper.
fn with_best_sides(join: Join, options: &ConfigOptions) -> Result<Transformed<LogicalPlan>> {
    if join.null_aware || !join.join_type.supports_swap() {
        return Ok(Transformed::no(LogicalPlan::Join(join)));
    }
    let estimator = Estimator::new(options);
    if sides_cost(&estimator, &join, false) <= sides_cost(&estimator, &join, true) {
        return Ok(Transformed::no(LogicalPlan::Join(join)));
    }
    let Join { left, right, on, filter, join_type, join_constraint, schema, null_equality, null_aware } = join;
    let on = on.into_iter().map(|(left, right)| (right, left)).collect();
    let swapped = Join::try_new(right, left, on, filter, join_type.swap(), join_constraint, null_equality, null_aware)?;
    let swapped = match join_type {
        // Its mark is named after the side that was looked at, which it still is.
        JoinType::LeftMark | JoinType::RightMark => Join { schema, ..swapped },
        _ => return Ok(Transformed::yes(restored(LogicalPlan::Join(swapped), &schema))),
    };
    Ok(Transformed::yes(LogicalPlan::Join(swapped)))
}
