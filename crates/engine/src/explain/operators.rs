//! Operators of a physical plan in plain words. Pipelines are a node each, and their steps the nodes below.

use crate::compile::{CompiledExec, ExplainedPipeline, expected_rows};
use crate::datafusion::cancellation::StoppableExec;
use crate::datafusion::fixes::InMemory;
use crate::datafusion::in_order::InOrderExec;
use crate::explain::node::PlanNode;
use crate::files::FileExec;
use crate::recursion::RecursionExec;
use crate::settings::Fallback;
use crate::shared::SharedExec;
use crate::table::{JoinKeysExec, ScanExec};
use crate::words::{all, physical, plain, sort_keys};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::Literal;
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
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use std::sync::Arc;
use std::time::Duration;

/// Reads plans of one statement.
#[derive(Debug)]
pub(crate) struct PlanReader {
    /// The operators that pipelines leave to DataFusion, each with the reason, as far as no node has it.
    left: Vec<Fallback>,
    /// Whether the plans have run.
    has_run: bool,
    /// Whether operators are told that only hand rows on.
    is_verbose: bool,
    /// Names of shared rows whose plan was told.
    shared: Vec<String>,
    /// What DataFusion calls aggregates, and these in words: its names have no brackets.
    aggregates: Vec<(String, String)>,
}

impl PlanReader {
    /// A reader of plans that leave operators to DataFusion, and have run or not.
    pub(crate) fn new(left: &[Fallback], has_run: bool, is_verbose: bool) -> Self {
        Self { left: left.to_vec(), has_run, is_verbose, shared: Vec::new(), aggregates: Vec::new() }
    }

    /// The tree of a plan.
    pub(crate) fn tree(&mut self, plan: &Arc<dyn ExecutionPlan>) -> PlanNode {
        let mut tree = self.node(plan);
        // A name may be a part of another one.
        self.aggregates.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        tree.change(&|node| {
            let what = self.aggregates.iter().fold(node.what.clone(), |what, (name, words)| what.replace(name, words));
            node.what = plain(&what);
        });
        tree
    }

    /// Takes the names of a plan's aggregates, and of those below, and of what DataFusion computes once for several of them.
    fn name_aggregates(&mut self, plan: &Arc<dyn ExecutionPlan>) {
        let group = plan.downcast_ref::<AggregateExec>().map(|aggregate| aggregate.group_expr().expr());
        let made = plan.downcast_ref::<ProjectionExec>().map(ProjectionExec::expr).into_iter().flatten();
        let made = made.map(|column| (&column.alias, &column.expr));
        for (name, expression) in made.chain(group.into_iter().flatten().map(|(expression, name)| (name, expression))) {
            let words = physical(expression);
            if is_made_up(name) && words != *name {
                // Alone in a function's brackets it needs none of its own.
                self.aggregates.push((format!("({name})"), format!("({words})")));
                let is_one = expression.children().is_empty();
                self.aggregates.push((name.clone(), if is_one { words } else { format!("({words})") }));
            }
        }
        if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
            let calls = aggregate.aggr_expr().iter().zip(aggregate.filter_expr());
            let named = calls.map(|(call, filter)| (call.name().to_owned(), aggregate_in_words(call, filter.as_ref())));
            self.aggregates.extend(named);
        }
        plan.children().into_iter().for_each(|input| self.name_aggregates(input));
    }

    fn node(&mut self, plan: &Arc<dyn ExecutionPlan>) -> PlanNode {
        // What hands rows on as they are is nothing that a reader of a plan looks for.
        if let ([input], true) = (plan.children().as_slice(), hands_on(plan) && !self.is_verbose) {
            return self.node(input);
        }
        if plan.is::<AggregateExec>() {
            self.name_aggregates(plan);
        }
        let seen = if self.has_run { SeenFigures::of(plan) } else { SeenFigures::default() };
        if let Some(compiled) = plan.downcast_ref::<CompiledExec>() {
            return self.of_pipelines(compiled, seen);
        }
        let mut notes = self.reason(plan).into_iter().collect::<Vec<_>>();
        let mut bytes = None;
        if let Some(scan) = plan.downcast_ref::<ScanExec>() {
            notes.extend(scan.way_in_words(None));
            bytes = scan.bytes_of_columns(scan.columns());
        }
        let mut children: Vec<PlanNode> = plan.children().into_iter().map(|input| self.node(input)).collect();
        children.extend(self.shared(plan));
        let SeenFigures { rows, time, memory } = seen;
        PlanNode {
            what: what(plan),
            notes,
            expected: expected_rows(plan.as_ref()),
            rows,
            time,
            bytes,
            memory,
            children,
        }
    }

    /// Why an operator is not compiled.
    fn reason(&mut self, plan: &Arc<dyn ExecutionPlan>) -> Option<String> {
        let place = self.left.iter().position(|fallback| fallback.operator == plan.name())?;
        let reason = self.left.remove(place).reason;
        // That pipelines have no such operator, or none of an input, needs no more words.
        let is_missing = reason.starts_with("pipelines have no ") && reason.ends_with("Exec");
        Some(if is_missing { "left to DataFusion".to_owned() } else { format!("not compiled: {}", plain(&reason)) })
    }

    /// The plan of the shared rows that an operator reads, told once.
    fn shared(&mut self, plan: &Arc<dyn ExecutionPlan>) -> Option<PlanNode> {
        let (name, plan) = plan.downcast_ref::<SharedExec>()?.shared();
        if self.shared.iter().any(|known| known == name) {
            return None;
        }
        self.shared.push(name.to_owned());
        Some(self.node(&plan))
    }

    /// Pipelines: a node each, of which the last gives the rows.
    fn of_pipelines(&mut self, compiled: &CompiledExec, seen: SeenFigures) -> PlanNode {
        self.name_aggregates(compiled.fallback());
        let pipelines = compiled.explained();
        let own: Duration = pipelines.iter().filter_map(|pipeline| Some(pipeline.seen.as_ref()?.time)).sum();
        let mut children: Vec<PlanNode> =
            pipelines.into_iter().enumerate().map(|(number, own)| of_pipeline(number, own)).collect();
        children.reverse();
        children.extend(compiled.given().into_iter().map(|input| self.node(input)));
        let memory = compiled.report().filter(|_| self.has_run).map(|report| report.memory);
        let fell_back = self.has_run && compiled.report().is_none();
        let notes = fell_back.then(|| "the pipelines could not answer, and DataFusion's operators did".to_owned());
        PlanNode {
            what: compiled.in_words(),
            notes: notes.into_iter().collect(),
            expected: expected_rows(compiled.fallback().as_ref()),
            rows: seen.rows,
            // Its time has that of its pipelines in it.
            time: seen.time.map(|time| time.saturating_sub(own)),
            bytes: None,
            memory,
            children,
        }
    }
}

fn of_pipeline(number: usize, pipeline: ExplainedPipeline) -> PlanNode {
    let ExplainedPipeline { steps, expected, seen } = pipeline;
    let how = seen.as_ref().map_or_else(String::new, |seen| format!(", {}", seen.ran));
    let (rows, time) = (seen.as_ref().map(|seen| seen.rows), seen.as_ref().map(|seen| seen.time));
    let read = seen.and_then(|seen| Some(seen.reads?.bytes));
    let children = steps.into_iter().rev().map(|step| {
        // What came past the caches is known to the byte.
        let bytes = step.bytes.map(|about| read.unwrap_or(about));
        PlanNode { notes: step.notes, expected: step.expected, bytes, ..PlanNode::new(step.what) }
    });
    PlanNode { expected, rows, time, children: children.collect(), ..PlanNode::new(format!("pipeline {number}{how}")) }
}

/// Whether an operator gives its input's rows, in other batches or by other threads.
fn hands_on(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.is::<StoppableExec>()
        || plan.is::<CoalescePartitionsExec>()
        || plan.is::<RepartitionExec>()
        || plan.is::<JoinKeysExec>()
        || plan.is::<InOrderExec>()
        || ["CoalesceBatchesExec", "CooperativeExec", "OutputRequirementExec"].contains(&plan.name())
}

/// What was seen of an operator.
#[derive(Debug, Default)]
struct SeenFigures {
    rows: Option<usize>,
    time: Option<Duration>,
    memory: Option<usize>,
}

impl SeenFigures {
    fn of(plan: &Arc<dyn ExecutionPlan>) -> Self {
        let Some(metrics) = plan.metrics() else { return Self::default() };
        let time = metrics.elapsed_compute().map(|nanoseconds| Duration::from_nanos(nanoseconds as u64));
        // Joins and groups of DataFusion's say what they hold.
        let held = ["build_mem_used", "peak_mem_used"].into_iter().filter_map(|name| metrics.sum_by_name(name));
        let memory = held.map(|value| value.as_usize()).max().filter(|bytes| *bytes > 0);
        Self { rows: metrics.output_rows(), time, memory }
    }
}

fn what(plan: &Arc<dyn ExecutionPlan>) -> String {
    if let Some(scan) = plan.downcast_ref::<ScanExec>() {
        return scan.in_words();
    }
    if let Some(files) = plan.downcast_ref::<FileExec>() {
        return files.in_words();
    }
    if let Some(shared) = plan.downcast_ref::<SharedExec>() {
        return format!("rows of {}, which are computed once", shared.shared().0);
    }
    if let Some(recursion) = plan.downcast_ref::<RecursionExec>() {
        return format!("{}: the first rows, then rounds until one gives none", recursion.query());
    }
    joins(plan).or_else(|| rows_of(plan)).unwrap_or_else(|| unknown(plan))
}

/// Operators with one input.
fn rows_of(plan: &Arc<dyn ExecutionPlan>) -> Option<String> {
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        return Some(format!("filter row by row where {}", physical(filter.predicate())));
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

/// Whether DataFusion has made up the name of a column.
fn is_made_up(name: &str) -> bool {
    let number = name.strip_prefix("__common_expr_").or_else(|| name.strip_prefix("alias"));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A call of an aggregate function.
fn aggregate_in_words(call: &AggregateFunctionExpr, filter: Option<&Arc<dyn PhysicalExpr>>) -> String {
    let arguments = call.expressions();
    let is_star = call.fun().name() == "count" && arguments.iter().all(|argument| argument.is::<Literal>());
    let distinct = if call.is_distinct() { "DISTINCT " } else { "" };
    let arguments = if is_star { "*".to_owned() } else { all(arguments.iter()) };
    let filter = filter.map_or_else(String::new, |filter| format!(" FILTER (WHERE {})", physical(filter)));
    format!("{}({distinct}{arguments}){filter}", call.fun().name())
}

fn groups(aggregate: &AggregateExec) -> String {
    let keys = all(aggregate.group_expr().expr().iter().map(|(key, _)| key));
    let calls = aggregate.aggr_expr().iter().zip(aggregate.filter_expr());
    let called = calls.map(|(call, filter)| aggregate_in_words(call, filter.as_ref()));
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
        let kind = apart(&join.join_type().to_string());
        return Some(format!("{kind} join by {}{also}", on.collect::<Vec<_>>().join(" AND ")));
    }
    if let Some(join) = plan.downcast_ref::<InMemory>() {
        return joins(join.join());
    }
    if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
        let on = join.filter().map_or_else(String::new, |filter| format!(" where {}", physical(filter.expression())));
        return Some(format!("{} join of all pairs{on}", apart(&join.join_type().to_string())));
    }
    plan.is::<CrossJoinExec>().then(|| "all pairs".to_owned())
}

fn unknown(plan: &Arc<dyn ExecutionPlan>) -> String {
    match plan.name() {
        "UnionExec" => "one behind the other".to_owned(),
        "PlaceholderRowExec" => "one row".to_owned(),
        "EmptyExec" => "no rows".to_owned(),
        "StoppableExec" => "stop when the statement is cancelled".to_owned(),
        "CooperativeExec" => "give way to other statements".to_owned(),
        "CoalescePartitionsExec" => "gather the rows of all partitions".to_owned(),
        "RepartitionExec" => "hand rows out to partitions".to_owned(),
        "JoinKeysExec" => "gather keys for the scans of the other side".to_owned(),
        "InOrderExec" => "partitions in their order".to_owned(),
        "CountExec" => "count what is known to be there".to_owned(),
        "RegisteredExec" => "read rows of the program".to_owned(),
        "RoundExec" => "rows of the round before".to_owned(),
        "ScalarSubqueryExec" => "with the values of subqueries".to_owned(),
        "DataSourceExec" => "read rows of the statement, or of files of columns".to_owned(),
        "LazyMemoryExec" => "rows of a table function".to_owned(),
        name => apart(name.trim_end_matches("Exec")),
    }
}

/// Words that are written as one: `LeftAnti` is `left anti`.
fn apart(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words
}

fn first(fetch: Option<usize>) -> String {
    fetch.map_or_else(String::new, |rows| format!(", the first {rows}"))
}
