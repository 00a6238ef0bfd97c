//! Operators of a physical plan in plain words. Pipelines are a node each, and their steps the nodes below.

use crate::compile::{CompiledExec, ExplainedPipeline};
use crate::datafusion::cancellation::StoppableExec;
use crate::explain::node::PlanNode;
use crate::settings::Fallback;
use crate::table::ScanExec;
use crate::words::{all, physical, plain, sort_keys};
use datafusion::common::stats::Precision;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec};
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use std::sync::Arc;
use std::time::Duration;

/// The tree of a plan. `left` are the operators that pipelines leave to DataFusion, each with the reason.
pub(crate) fn tree(plan: &Arc<dyn ExecutionPlan>, left: &[Fallback], has_run: bool) -> PlanNode {
    let mut tree = node(plan, &mut left.to_vec(), has_run);
    tree.change(&|node| node.what = plain(&node.what));
    tree
}

fn node(plan: &Arc<dyn ExecutionPlan>, left: &mut Vec<Fallback>, has_run: bool) -> PlanNode {
    // What hands rows on as they are is nothing that a reader of a plan looks for.
    if let ([input], true) = (plan.children().as_slice(), hands_on(plan)) {
        return node(input, left, has_run);
    }
    let (rows, time) = if has_run { seen(plan) } else { (None, None) };
    let reason = left.iter().position(|fallback| fallback.operator == plan.name());
    let reason = reason.map(|place| reason_in_words(left.remove(place).reason));
    if let Some(compiled) = plan.downcast_ref::<CompiledExec>() {
        return of_pipelines(compiled, (rows, time), left, has_run);
    }
    let children = plan.children().into_iter().map(|input| node(input, left, has_run)).collect();
    PlanNode { what: what(plan), left: reason, estimated: estimated(plan), rows, time, children }
}

/// Why an operator is not compiled. That pipelines have no such operator, or none of an input, needs no more words.
fn reason_in_words(reason: String) -> String {
    let is_missing = reason.starts_with("pipelines have no ") && reason.ends_with("Exec");
    if is_missing { "left to DataFusion".to_owned() } else { format!("not compiled: {}", plain(&reason)) }
}

/// Whether an operator gives its input's rows, in other batches or by other threads.
fn hands_on(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.is::<StoppableExec>()
        || plan.is::<CoalescePartitionsExec>()
        || plan.is::<RepartitionExec>()
        || ["CoalesceBatchesExec", "CooperativeExec", "OutputRequirementExec"].contains(&plan.name())
}

fn seen(plan: &Arc<dyn ExecutionPlan>) -> (Option<usize>, Option<Duration>) {
    let metrics = plan.metrics();
    let time = metrics.as_ref().and_then(|metrics| metrics.elapsed_compute());
    let rows = metrics.as_ref().and_then(|metrics| metrics.output_rows());
    (rows, time.map(|nanoseconds| Duration::from_nanos(nanoseconds as u64)))
}

fn estimated(plan: &Arc<dyn ExecutionPlan>) -> Option<usize> {
    let statistics = StatisticsContext::new().compute(plan.as_ref(), &StatisticsArgs::new()).ok()?;
    match statistics.num_rows {
        Precision::Exact(rows) | Precision::Inexact(rows) => Some(rows),
        Precision::Absent => None,
    }
}

/// Pipelines: a node each, of which the last gives the rows.
fn of_pipelines(
    compiled: &CompiledExec,
    (rows, time): (Option<usize>, Option<Duration>),
    left: &mut Vec<Fallback>,
    has_run: bool,
) -> PlanNode {
    let pipelines = compiled.explained();
    let own: Duration = pipelines.iter().filter_map(|pipeline| Some(pipeline.seen.as_ref()?.time)).sum();
    let mut children: Vec<PlanNode> = pipelines.into_iter().enumerate().map(of_pipeline).collect();
    children.reverse();
    children.extend(compiled.given().into_iter().map(|input| node(input, left, has_run)));
    PlanNode {
        what: compiled.in_words(),
        left: None,
        estimated: estimated(compiled.fallback()),
        rows,
        // Its time has that of its pipelines in it.
        time: time.filter(|_| has_run).map(|time| time.saturating_sub(own)),
        children,
    }
}

fn of_pipeline((number, pipeline): (usize, ExplainedPipeline)) -> PlanNode {
    let ExplainedPipeline { steps, seen } = pipeline;
    let how = seen.as_ref().map_or_else(String::new, |seen| format!(", {}", seen.ran));
    let (rows, time) = (seen.as_ref().map(|seen| seen.rows), seen.as_ref().map(|seen| seen.time));
    let children = steps.into_iter().rev().map(PlanNode::new).collect();
    PlanNode { what: format!("pipeline {number}{how}"), rows, time, children, ..PlanNode::default() }
}

fn what(plan: &Arc<dyn ExecutionPlan>) -> String {
    if let Some(scan) = plan.downcast_ref::<ScanExec>() {
        return scan.in_words();
    }
    joins(plan).or_else(|| rows_of(plan)).unwrap_or_else(|| unknown(plan))
}

/// Operators with one input.
fn rows_of(plan: &Arc<dyn ExecutionPlan>) -> Option<String> {
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        return Some(format!("filter where {}", physical(filter.predicate())));
    }
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let columns = projection.expr().iter().map(|column| {
            let expression = physical(&column.expr);
            if expression == column.alias { expression } else { format!("{expression} AS {}", column.alias) }
        });
        return Some(format!("compute {}", columns.collect::<Vec<_>>().join(", ")));
    }
    if let Some(sort) = plan.downcast_ref::<SortExec>() {
        return Some(format!("sort by {}{}", sort_keys(sort.expr()), first(sort.fetch())));
    }
    if let Some(merge) = plan.downcast_ref::<SortPreservingMergeExec>() {
        return Some(format!("merge in the order of {}{}", sort_keys(merge.expr()), first(merge.fetch())));
    }
    if let Some(limit) = plan.downcast_ref::<GlobalLimitExec>() {
        let skipped = if limit.skip() > 0 { format!(" behind the first {}", limit.skip()) } else { String::new() };
        let rows = limit.fetch().map_or_else(|| "all rows".to_owned(), |rows| format!("the first {rows} rows"));
        return Some(format!("{rows}{skipped}"));
    }
    if let Some(limit) = plan.downcast_ref::<LocalLimitExec>() {
        return Some(format!("the first {} rows of each part", limit.fetch()));
    }
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        return Some(groups(aggregate));
    }
    let windows = plan.downcast_ref::<WindowAggExec>().map(WindowAggExec::window_expr);
    let windows =
        windows.or_else(|| plan.downcast_ref::<BoundedWindowAggExec>().map(BoundedWindowAggExec::window_expr))?;
    let window = windows.iter().map(|window| window.name().to_owned());
    Some(format!("window {}", window.collect::<Vec<_>>().join(", ")))
}

fn groups(aggregate: &AggregateExec) -> String {
    let keys = all(aggregate.group_expr().expr().iter().map(|(key, _)| key));
    let called = aggregate.aggr_expr().iter().map(|call| call.human_display().unwrap_or(call.name()).to_owned());
    let called = called.collect::<Vec<_>>().join(", ");
    match (keys.is_empty(), called.is_empty()) {
        (true, _) => format!("one group: {called}"),
        (false, true) => format!("different {keys}"),
        (false, false) => format!("group by {keys}: {called}"),
    }
}

fn joins(plan: &Arc<dyn ExecutionPlan>) -> Option<String> {
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        let on = join.on().iter().map(|(left, right)| format!("{} = {}", physical(left), physical(right)));
        let also = join.filter().map_or_else(String::new, |filter| format!(" AND {}", physical(filter.expression())));
        let kind = join.join_type().to_string().to_lowercase();
        return Some(format!("{kind} join by {}{also}", on.collect::<Vec<_>>().join(" AND ")));
    }
    if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
        let on = join.filter().map_or_else(String::new, |filter| format!(" where {}", physical(filter.expression())));
        return Some(format!("{} join of all pairs{on}", join.join_type().to_string().to_lowercase()));
    }
    plan.is::<CrossJoinExec>().then(|| "all pairs".to_owned())
}

fn unknown(plan: &Arc<dyn ExecutionPlan>) -> String {
    match plan.name() {
        "UnionExec" => "one behind the other".to_owned(),
        "PlaceholderRowExec" => "one row".to_owned(),
        "EmptyExec" => "no rows".to_owned(),
        name => {
            let mut words = String::new();
            for letter in name.trim_end_matches("Exec").chars() {
                if letter.is_uppercase() && !words.is_empty() {
                    words.push(' ');
                }
                words.extend(letter.to_lowercase());
            }
            words
        }
    }
}

fn first(fetch: Option<usize>) -> String {
    fetch.map_or_else(String::new, |rows| format!(", the first {rows}"))
}
