//! The operator above one that may work for long: it lets it know whether the statement goes on, and pauses between its batches, so
//! that the task can be dropped and others have their turn. DataFusion sees to the pauses of the leaves only.

use crate::datafusion::cancellation::signal::StopSignal;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Statistics, internal_err};
use datafusion::error::Result;
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::coop::{cooperative, make_cooperative};
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions, SchedulingType};
use datafusion::physical_plan::filter_pushdown::{
    ChildPushdownResult, FilterDescription, FilterPushdownPhase, FilterPushdownPropagation,
};
use datafusion::physical_plan::{
    ChildStats, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, StatisticsArgs,
};
use futures::Stream;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Gives the rows of an operator, and stops it.
#[derive(Debug)]
pub(crate) struct StoppableExec {
    input: Arc<dyn ExecutionPlan>,
    /// Whether what the operator says of equal values, and of the order of its rows, is not passed on.
    hides_equalities: bool,
    properties: Arc<PlanProperties>,
}

impl StoppableExec {
    pub(super) fn new(input: Arc<dyn ExecutionPlan>) -> Self {
        Self::of(input, false)
    }

    /// Above an operator that says of columns that they are equal, or the same in all rows, and may be wrong.
    pub(crate) fn without_equalities(input: Arc<dyn ExecutionPlan>) -> Self {
        Self::of(input, true)
    }

    fn of(input: Arc<dyn ExecutionPlan>, hides_equalities: bool) -> Self {
        let mut own = PlanProperties::clone(input.properties()).with_scheduling_type(SchedulingType::Cooperative);
        if hides_equalities {
            own.eq_properties = EquivalenceProperties::new(input.schema());
        }
        Self { input, hides_equalities, properties: Arc::new(own) }
    }
}

impl DisplayAs for StoppableExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoppableExec")
    }
}

impl ExecutionPlan for StoppableExec {
    fn name(&self) -> &str {
        "StoppableExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        // Else a sort is asked of the operator below, which says that its rows are in order.
        vec![!self.hides_equalities]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.is_empty()) {
            (Some(input), true) => Ok(Arc::new(match options.children_properties {
                ChildrenPropertiesMode::Keep => {
                    Self { input, hides_equalities: self.hides_equalities, properties: Arc::clone(&self.properties) }
                }
                ChildrenPropertiesMode::Recompute => Self::of(input, self.hides_equalities),
            })),
            _ => internal_err!("what can be stopped is one operator"),
        }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let signal = context.session_config().get_extension::<StopSignal>();
        let rows = self.input.execute(partition, context)?;
        Ok(match signal {
            Some(signal) => Box::pin(cooperative(Stoppable { rows, signal })),
            None => make_cooperative(rows),
        })
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    /// The statistics of the operator below. By them operators above a filter take a column for constant, and do not sort by it.
    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], _: &StatisticsArgs) -> Result<Arc<Statistics>> {
        match inputs {
            [own] => Ok(Arc::clone(own)),
            _ => internal_err!("what can be stopped is one operator"),
        }
    }

    fn gather_filters_for_pushdown(
        &self,
        _: FilterPushdownPhase,
        above: Vec<Arc<dyn PhysicalExpr>>,
        _: &ConfigOptions,
    ) -> Result<FilterDescription> {
        FilterDescription::from_children(above, &self.children())
    }

    fn handle_child_pushdown_result(
        &self,
        _: FilterPushdownPhase,
        below: ChildPushdownResult,
        _: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        Ok(FilterPushdownPropagation::if_all(below))
    }
}

/// The rows of an operator that may ask for its signal while it is at work.
struct Stoppable {
    rows: SendableRecordBatchStream,
    signal: Arc<StopSignal>,
}

impl Stream for Stoppable {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        // An operator above that takes all there is in one go hears it by this.
        if let Err(stopped) = self.signal.check() {
            return Poll::Ready(Some(Err(stopped)));
        }
        let Self { rows, signal } = &mut *self;
        signal.during(|| rows.as_mut().poll_next(context))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rows.size_hint()
    }
}

impl RecordBatchStream for Stoppable {
    fn schema(&self) -> SchemaRef {
        self.rows.schema()
    }
}
