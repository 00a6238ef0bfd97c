//! The operator of a recursive query.

use crate::recursion::round::{RoundExec, RoundId, WorkingRound};
use crate::recursion::run::Run;
use arrow::datatypes::SchemaRef;
use datafusion::common::internal_err;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::coop::cooperative;
use datafusion::physical_plan::execution_plan::{
    Boundedness, ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions, SchedulingType, reset_plan_states,
};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::work_table::WorkTableExec;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, InputDistributionRequirements, Partitioning,
    PlanProperties,
};
use std::fmt;
use std::sync::Arc;

/// Runs the first part, then the step with the rows of the round before, until a round has no rows.
#[derive(Debug)]
pub(crate) struct RecursionExec {
    name: String,
    id: RoundId,
    first: Arc<dyn ExecutionPlan>,
    step: Arc<dyn ExecutionPlan>,
    is_distinct: bool,
    metrics: ExecutionPlanMetricsSet,
    properties: Arc<PlanProperties>,
}

impl RecursionExec {
    /// The operator over plans of DataFusion's planner, in which a table of that name stands for the round before.
    pub(super) fn planned(
        name: &str,
        schema: SchemaRef,
        first: Arc<dyn ExecutionPlan>,
        step: Arc<dyn ExecutionPlan>,
        is_distinct: bool,
        partitions: usize,
    ) -> Result<Self> {
        let id = RoundId::new();
        let step = step.transform_up(|plan| match plan.downcast_ref::<WorkTableExec>() {
            Some(table) if table.name() == name => {
                let round = RoundExec::planned(id, name, &schema, &WorkTableExec::schema(table), partitions)?;
                Ok(Transformed::yes(Arc::new(round) as Arc<dyn ExecutionPlan>))
            }
            _ => Ok(Transformed::no(plan)),
        })?;
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        let properties = Arc::new(properties.with_scheduling_type(SchedulingType::Cooperative));
        let (name, metrics) = (name.to_owned(), ExecutionPlanMetricsSet::new());
        Ok(Self { name, id, first, step: step.data, is_distinct, metrics, properties })
    }

    /// The name of the query.
    pub(crate) fn query(&self) -> &str {
        &self.name
    }

    /// The number of the rounds that the step reads.
    pub(super) fn id(&self) -> RoundId {
        self.id
    }

    /// The plan of a step whose readers of the round look at `round`. It has nothing in common with other runs.
    fn step_over(&self, round: &Arc<WorkingRound>) -> Result<Arc<dyn ExecutionPlan>> {
        let own = Arc::clone(&self.step).transform_up(|plan| match plan.downcast_ref::<RoundExec>() {
            Some(reader) if reader.id() == self.id => {
                Ok(Transformed::yes(Arc::new(reader.over(round)) as Arc<dyn ExecutionPlan>))
            }
            _ => Ok(Transformed::no(plan)),
        })?;
        reset_plan_states(own.data)
    }
}

impl DisplayAs for RecursionExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecursionExec: {}, distinct={}", self.name, self.is_distinct)
    }
}

impl ExecutionPlan for RecursionExec {
    fn name(&self) -> &str {
        "RecursionExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.first, &self.step]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![false, false]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false, false]
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![Distribution::SinglePartition, Distribution::UnspecifiedDistribution])
    }

    fn required_input_distribution(&self) -> Vec<Distribution> {
        self.input_distribution_requirements().into_per_child()
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Ok([first, step]) = <[Arc<dyn ExecutionPlan>; 2]>::try_from(children) else {
            return internal_err!("a recursive query has two parts");
        };
        Ok(Arc::new(Self {
            name: self.name.clone(),
            id: self.id,
            first,
            step,
            is_distinct: self.is_distinct,
            metrics: ExecutionPlanMetricsSet::new(),
            properties: Arc::clone(&self.properties),
        }))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition != 0 {
            return internal_err!("a recursive query has one partition, not {partition}");
        }
        let schema = self.schema();
        let round = Arc::new(WorkingRound::new(&schema, &context));
        let step = self.step_over(&round)?;
        let first = self.first.execute(0, Arc::clone(&context))?;
        let run = Run::new((&self.name, self.id), (first, step), round, self.is_distinct, &self.metrics, context)?;
        let rows = futures::stream::try_unfold(run, Run::next);
        Ok(Box::pin(cooperative(RecordBatchStreamAdapter::new(schema, Box::pin(rows)))))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}
