//! Groups of which a part of the keys is said to tell them apart. Where a primary key `a` of one table stands in `GROUP BY a, id`
//! beside a column of another table, DataFusion says of the groups that `a` is unique among them (DataFusion 55,
//! `aggregate_functional_dependencies`: it asks whether the keys determine more together than `a` does, not whether `a` determines
//! `id`). A join whose side has one row for each `a` is left out then where nobody reads that side, and its rows with it.
//!
//! The rule here takes that back right before the rules that read it; a rule that makes a plan anew brings it back.

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Dependency, FunctionalDependence, FunctionalDependencies};
use datafusion::error::Result;
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan};
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The rules that read what columns determine.
const READERS: [&str; 3] = ["eliminate_join", "optimize_projections", "replace_distinct_aggregate"];

/// Takes back what is wrong about keys of groups.
#[derive(Debug)]
pub(crate) struct WholeKeys;

impl WholeKeys {
    /// Whether a rule reads what this one takes back.
    pub(crate) fn is_for(rule: &str) -> bool {
        READERS.contains(&rule)
    }
}

impl OptimizerRule for WholeKeys {
    fn name(&self) -> &str {
        "whole_keys"
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let mut is_wrong = false;
        plan.apply_with_subqueries(|node| {
            is_wrong |= matches!(node, LogicalPlan::Aggregate(aggregate) if has_part_of_keys(aggregate));
            Ok(if is_wrong { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })?;
        if is_wrong { mended(plan) } else { Ok(Transformed::no(plan)) }
    }
}

/// Whether groups are said to be told apart by columns that do not determine the other keys.
fn has_part_of_keys(aggregate: &Aggregate) -> bool {
    let dependencies = aggregate.schema.functional_dependencies();
    dependencies.iter().any(|dependency| !holds(aggregate, dependency))
}

/// Whether columns of groups determine all keys of these: where the input says so, or where they are all keys.
fn holds(aggregate: &Aggregate, dependency: &FunctionalDependence) -> bool {
    let input = aggregate.input.schema();
    let names = input.field_names();
    let place = |key: usize| {
        let name = aggregate.group_expr.get(key)?.schema_name().to_string();
        names.iter().position(|other| *other == name)
    };
    let keys = aggregate.group_expr.len();
    let own: BTreeSet<usize> = dependency.source_indices.iter().copied().collect();
    let sources: BTreeSet<usize> = own.iter().filter_map(|key| place(*key)).collect();
    let mut determined = sources.clone();
    for of_input in input.functional_dependencies().iter() {
        if of_input.source_indices.iter().all(|column| sources.contains(column)) {
            determined.extend(&of_input.target_indices);
        }
    }
    (0..keys).all(|key| own.contains(&key) || place(key).is_some_and(|column| determined.contains(&column)))
}

/// The plan where groups are told apart by all of their keys, and nothing is said of what is made of them.
fn mended(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let plan = plan.map_subqueries(mended)?.data;
    let Transformed { data: plan, transformed: below, .. } = plan.map_children(mended)?;
    let nothing = FunctionalDependencies::empty;
    let none = |schema: &DFSchema| schema.clone().with_functional_dependencies(nothing()).map(Arc::new);
    Ok(match plan {
        LogicalPlan::Aggregate(mut aggregate) if below || has_part_of_keys(&aggregate) => {
            let schema = aggregate.schema.as_ref().clone();
            aggregate.schema = Arc::new(schema.with_functional_dependencies(of_all_keys(&aggregate))?);
            Transformed::yes(LogicalPlan::Aggregate(aggregate))
        }
        LogicalPlan::Projection(mut projection) if below => {
            projection.schema = none(&projection.schema)?;
            Transformed::yes(LogicalPlan::Projection(projection))
        }
        LogicalPlan::SubqueryAlias(mut alias) if below => {
            alias.schema = none(&alias.schema)?;
            Transformed::yes(LogicalPlan::SubqueryAlias(alias))
        }
        LogicalPlan::Join(mut join) if below => {
            join.schema = none(&join.schema)?;
            Transformed::yes(LogicalPlan::Join(join))
        }
        LogicalPlan::Window(mut window) if below => {
            window.schema = none(&window.schema)?;
            Transformed::yes(LogicalPlan::Window(window))
        }
        plan => Transformed::new_transformed(plan, below),
    })
}

/// That all keys of groups tell them apart.
fn of_all_keys(aggregate: &Aggregate) -> FunctionalDependencies {
    let (keys, width) = (aggregate.group_expr.len(), aggregate.schema.fields().len());
    if keys == 0 || matches!(aggregate.group_expr[..], [Expr::GroupingSet(_)]) {
        return FunctionalDependencies::empty();
    }
    let nullable = (0..keys).any(|key| aggregate.schema.field(key).is_nullable());
    let dependency = FunctionalDependence::new((0..keys).collect(), (0..width).collect(), nullable);
    FunctionalDependencies::new(vec![dependency.with_mode(Dependency::Single)])
}
