//! Rows of the program's own data in the order in which it has them, where nothing in a query reorders them.
//!
//! DataFusion gathers the rows of several tasks as they come. Where there is nothing but filters, projections, limits and the like
//! between such a place and the batches of the program, each task reads a portion of them here, and the portions' rows are given one
//! portion after the other: as many threads are at work as before, each a few batches ahead at most.

use crate::datafusion::cancellation::StoppableExec;
use crate::files::FileExec;
use crate::functions::ORDERED_AGGREGATES;
use crate::table::RegisteredExec;
use arrow::array::RecordBatch;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNode;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::common::spawn_buffered;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::execution_plan::{
    Boundedness, ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions, SchedulingType,
};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::StreamingTableExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::unnest::UnnestExec;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties};
use futures::StreamExt;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

/// Batches that a task may be ahead of the reader: those of a portion, unless they became more.
const AHEAD: usize = 16;

/// Puts an [`InOrderExec`] where rows of the program's data are gathered that nothing has reordered.
#[derive(Debug)]
pub(crate) struct FramesInOrder;

impl PhysicalOptimizerRule for FramesInOrder {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let reads = |plan: &Arc<dyn ExecutionPlan>| {
            Ok(plan.is::<RegisteredExec>() || plan.is::<StreamingTableExec>() || plan.is::<FileExec>())
        };
        if !plan.exists(reads)? {
            return Ok(plan);
        }
        match in_order(&plan)? {
            Some(own) if parts(&own) > 1 => Ok(Arc::new(InOrderExec::of(own, Some(plan)))),
            Some(own) => Ok(own),
            None => settled(&plan),
        }
    }

    fn name(&self) -> &str {
        "frames_in_order"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// A plan as it was before its rows were put in order, for those to whom their order is nothing.
pub(crate) fn as_they_come(plan: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    let before = plan.downcast_ref::<InOrderExec>().and_then(|own| own.before.clone());
    before.unwrap_or(plan)
}

fn parts(plan: &Arc<dyn ExecutionPlan>) -> usize {
    plan.properties().partitioning.partition_count()
}

/// The plan with parts that have, one after the other, the rows in their order; `None` where something below reorders them.
fn in_order(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(read) = plan.downcast_ref::<RegisteredExec>() {
        return Ok(Some(limited(plan, Arc::new(read.by_portions()))));
    }
    if let Some(read) = plan.downcast_ref::<FileExec>() {
        return Ok(Some(limited(plan, Arc::new(read.by_portions()))));
    }
    if let Some(gathered) = plan.downcast_ref::<CoalescePartitionsExec>() {
        return Ok(in_order(gathered.input())?.map(|input| gather(input, gathered.fetch())));
    }
    if let Some(dealt) = plan.downcast_ref::<RepartitionExec>()
        && matches!(dealt.partitioning(), Partitioning::RoundRobinBatch(_))
    {
        return in_order(dealt.input());
    }
    let passes = plan.is::<FilterExec>()
        || plan.is::<ProjectionExec>()
        || plan.is::<UnionExec>()
        || plan.is::<UnnestExec>()
        || plan.is::<LocalLimitExec>()
        || plan.is::<StoppableExec>()
        || plan.is::<CooperativeExec>();
    if passes {
        let mut children = Vec::new();
        for child in plan.children() {
            let Some(child) = in_order(child)? else { return Ok(None) };
            children.push(child);
        }
        return Ok(Some(limited(plan, with_children(plan, children)?)));
    }
    if plan.is::<GlobalLimitExec>()
        && let [child] = plan.children().as_slice()
        && let Some(child) = in_order(child)?
    {
        return Ok(Some(with_children(plan, vec![gather(child, None)])?));
    }
    if parts(plan) == 1 { Ok(Some(settled(plan)?)) } else { Ok(None) }
}

fn with_children(
    plan: &Arc<dyn ExecutionPlan>,
    children: Vec<Arc<dyn ExecutionPlan>>,
) -> Result<Arc<dyn ExecutionPlan>> {
    Arc::clone(plan).replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
}

/// An operator that has more parts now. Where it had one, its own limit was that of all rows; each part has it now.
fn limited(before: &Arc<dyn ExecutionPlan>, now: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    match before.fetch() {
        limit @ Some(_) if parts(before) == 1 && parts(&now) > 1 => gather(now, limit),
        _ => now,
    }
}

/// The rows of all parts, in their order: at most `limit`.
fn gather(input: Arc<dyn ExecutionPlan>, limit: Option<usize>) -> Arc<dyn ExecutionPlan> {
    let rows = if parts(&input) > 1 { Arc::new(InOrderExec::of(input, None)) } else { input };
    match limit {
        Some(_) => Arc::new(GlobalLimitExec::new(rows, 0, limit)),
        None => rows,
    }
}

/// The plan with rows in order wherever they are gathered below it.
fn settled(plan: &Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    if plan.is::<CoalescePartitionsExec>()
        && let Some(own) = in_order(plan)?
    {
        return Ok(own);
    }
    let tells_order = plan.downcast_ref::<AggregateExec>().is_some_and(|aggregate| {
        aggregate.aggr_expr().iter().any(|one| ORDERED_AGGREGATES.contains(&one.fun().name()))
    });
    let (mut children, mut changed) = (Vec::new(), false);
    for child in plan.children() {
        let own = match tells_order.then(|| in_order(child)).transpose()?.flatten() {
            Some(own) => gather(own, None),
            None => settled(child)?,
        };
        changed |= !Arc::ptr_eq(&own, child);
        children.push(own);
    }
    if changed { with_children(plan, children) } else { Ok(Arc::clone(plan)) }
}

/// Gives the rows of its input's parts, one part after the other.
#[derive(Debug)]
pub(crate) struct InOrderExec {
    input: Arc<dyn ExecutionPlan>,
    /// At the top of a plan, what it was without this operator.
    before: Option<Arc<dyn ExecutionPlan>>,
    properties: Arc<PlanProperties>,
}

impl InOrderExec {
    fn of(input: Arc<dyn ExecutionPlan>, before: Option<Arc<dyn ExecutionPlan>>) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(input.schema()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self { input, before, properties: Arc::new(properties.with_scheduling_type(SchedulingType::Cooperative)) }
    }
}

impl DisplayAs for InOrderExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InOrderExec")
    }
}

impl ExecutionPlan for InOrderExec {
    fn name(&self) -> &str {
        "InOrderExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    crate::inputs::reads_one!(input, |_, input| Self::of(input, None));

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let parts = parts(&self.input);
        let ahead = context.session_config().target_partitions().max(1);
        let turns = Turns { input: Arc::clone(&self.input), context, begun: VecDeque::new(), next: 0, parts, ahead };
        let rows = futures::stream::unfold(turns, async |mut turns| Some((turns.next().await?, turns)));
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.input.schema(), rows)))
    }
}

/// The parts that are at work, and the number of the one that is next.
struct Turns {
    input: Arc<dyn ExecutionPlan>,
    context: Arc<TaskContext>,
    begun: VecDeque<SendableRecordBatchStream>,
    next: usize,
    parts: usize,
    ahead: usize,
}

impl Turns {
    async fn next(&mut self) -> Option<Result<RecordBatch>> {
        loop {
            while self.begun.len() < self.ahead && self.next < self.parts {
                match self.input.execute(self.next, Arc::clone(&self.context)) {
                    Ok(rows) => self.begun.push_back(spawn_buffered(rows, AHEAD)),
                    Err(error) => {
                        self.next = self.parts;
                        return Some(Err(error));
                    }
                }
                self.next += 1;
            }
            match self.begun.front_mut()?.next().await {
                Some(batch) => return Some(batch),
                None => drop(self.begun.pop_front()),
            }
        }
    }
}
