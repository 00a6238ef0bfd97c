//! The operator that reads a table: its partitions take morsels from one counter, so that none waits while another has
//! work left.

use super::statistics::{selectivity, statistics};
use super::stream::ScanStream;
use crate::Result;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Statistics, internal_err};
use datafusion::error::Result as DataFusionResult;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::coop::cooperative;
use datafusion::physical_plan::execution_plan::{
    Boundedness, CardinalityEffect, ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions, SchedulingType,
};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties};
use gingham_kernels::Isa;
use gingham_storage::catalog::TableSnapshot;
use gingham_storage::scan::TableScan;
use gingham_storage::{ColumnId, Predicate};
use std::fmt;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError};

/// Reads the records of a table that satisfy a predicate.
#[derive(Debug)]
pub(super) struct ScanExec {
    shape: Arc<Shape>,
    /// Most records that a partition gives.
    fetch: Option<usize>,
    properties: Arc<PlanProperties>,
    rounds: Rounds,
    metrics: ExecutionPlanMetricsSet,
}

/// What copies of the operator share.
#[derive(Debug)]
struct Shape {
    table: Arc<TableSnapshot>,
    columns: Vec<ColumnId>,
    predicate: Predicate,
    /// The filters as EXPLAIN shows them.
    filters: String,
    scan: Arc<TableScan>,
}

/// The counters of morsels, one for each time that the plan is run: a partition that is run again begins a new round, or
/// joins the one that another partition began.
#[derive(Debug, Default)]
struct Rounds {
    state: Mutex<(Vec<usize>, Vec<Arc<AtomicUsize>>)>,
}

impl Rounds {
    fn counter(&self, partition: usize) -> Arc<AtomicUsize> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (runs, counters) = &mut *state;
        if runs.len() <= partition {
            runs.resize(partition + 1, 0);
        }
        let round = runs[partition];
        runs[partition] += 1;
        if counters.len() <= round {
            counters.resize_with(round + 1, Arc::default);
        }
        Arc::clone(&counters[round])
    }
}

impl ScanExec {
    /// A scan of `columns` with at most `threads` partitions.
    #[expect(clippy::too_many_arguments, reason = "called once, by the table")]
    pub(super) fn new(
        table: Arc<TableSnapshot>,
        columns: Vec<ColumnId>,
        predicate: Predicate,
        filters: String,
        isa: Isa,
        batch_rows: usize,
        threads: usize,
        fetch: Option<usize>,
    ) -> Result<Self> {
        let scan = TableScan::new(Arc::clone(&table), columns.clone(), predicate.clone(), batch_rows, isa)?;
        let partitions = threads.min(scan.morsels()).max(1);
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(scan.schema())),
            Partitioning::UnknownPartitioning(partitions),
            EmissionType::Incremental,
            Boundedness::Bounded,
        )
        .with_scheduling_type(SchedulingType::Cooperative);
        let shape = Arc::new(Shape { table, columns, predicate, filters, scan: Arc::new(scan) });
        Ok(Self::of(shape, fetch, Arc::new(properties)))
    }

    fn of(shape: Arc<Shape>, fetch: Option<usize>, properties: Arc<PlanProperties>) -> Self {
        Self { shape, fetch, properties, rounds: Rounds::default(), metrics: ExecutionPlanMetricsSet::new() }
    }

    /// The same scan, not yet run.
    fn fresh(&self, fetch: Option<usize>) -> Arc<dyn ExecutionPlan> {
        Arc::new(Self::of(Arc::clone(&self.shape), fetch, Arc::clone(&self.properties)))
    }

    fn partitions(&self) -> usize {
        self.properties.partitioning.partition_count()
    }
}

impl DisplayAs for ScanExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shape { table, columns, filters, scan, .. } = &*self.shape;
        let name = |id: &ColumnId| table.definition.column_by_id(*id).map_or("?", |column| column.name.as_str());
        let columns: Vec<_> = columns.iter().map(name).collect();
        let zones = scan.morsels() + scan.skipped();
        match format {
            DisplayFormatType::TreeRender => {
                writeln!(f, "table={}", table.definition.name)?;
                if !filters.is_empty() {
                    writeln!(f, "predicate={filters}")?;
                }
                writeln!(f, "zones={} of {zones}", scan.morsels())
            }
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                write!(f, "ScanExec: table={}, columns=[{}]", table.definition.name, columns.join(", "))?;
                if !filters.is_empty() {
                    write!(f, ", predicate={filters}")?;
                }
                if let Some(fetch) = self.fetch {
                    write!(f, ", fetch={fetch}")?;
                }
                write!(f, ", zones={} of {zones}", scan.morsels())
            }
        }
    }
}

impl ExecutionPlan for ScanExec {
    fn name(&self) -> &str {
        "ScanExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> DataFusionResult<TreeNodeRecursion>,
    ) -> DataFusionResult<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        if children.is_empty() { Ok(self) } else { internal_err!("a scan has no children") }
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn reset_state(self: Arc<Self>) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        Ok(self.fresh(self.fetch))
    }

    fn execute(&self, partition: usize, _context: Arc<TaskContext>) -> DataFusionResult<SendableRecordBatchStream> {
        if partition >= self.partitions() {
            return internal_err!("a scan of {} partitions was asked for number {partition}", self.partitions());
        }
        let counter = self.rounds.counter(partition);
        let scan = Arc::clone(&self.shape.scan);
        let filtered = !matches!(self.shape.predicate, Predicate::Constant(_));
        let stream = ScanStream::new(scan, counter, filtered, self.fetch, &self.metrics, partition);
        Ok(Box::pin(cooperative(stream)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn partition_statistics(&self, partition: Option<usize>) -> DataFusionResult<Arc<Statistics>> {
        let Shape { table, columns, predicate, .. } = &*self.shape;
        let mut result = statistics(table, columns);
        if !matches!(predicate, Predicate::Constant(true)) {
            let rows = (table.rows() as f64 * selectivity(table, predicate)).ceil() as usize;
            result = result.to_inexact();
            result.num_rows = Precision::Inexact(rows);
            for column in &mut result.column_statistics {
                if let Precision::Inexact(distinct) = column.distinct_count {
                    column.distinct_count = Precision::Inexact(distinct.min(rows));
                }
                column.byte_size = Precision::Absent;
            }
            result.total_byte_size = Precision::Absent;
        }
        if partition.is_some() {
            let share = result.num_rows.get_value().map(|rows| rows.div_ceil(self.partitions()));
            result = result.to_inexact();
            result.num_rows = share.map_or(Precision::Absent, Precision::Inexact);
        }
        let partitions = if partition.is_some() { 1 } else { self.partitions() };
        Ok(Arc::new(if self.fetch.is_some() { result.with_fetch(self.fetch, 0, partitions)? } else { result }))
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        Some(self.fresh(limit))
    }

    fn fetch(&self) -> Option<usize> {
        self.fetch
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::LowerEqual
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn a_partition_that_runs_again_begins_a_new_round() {
        let rounds = Rounds::default();
        rounds.counter(0).fetch_add(5, Ordering::Relaxed);
        assert_eq!(rounds.counter(1).load(Ordering::Relaxed), 5, "partitions of one run share their counter");
        assert_eq!(rounds.counter(1).load(Ordering::Relaxed), 0, "a second run starts at the first morsel");
        assert_eq!(rounds.counter(0).fetch_add(1, Ordering::Relaxed), 0, "which the other partition joins");
    }
}
