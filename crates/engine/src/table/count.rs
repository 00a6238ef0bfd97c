//! Counting without rows: `SELECT count(*) FROM t WHERE …` needs the number of bits set, zone by zone, and no batches.

use crate::table::scan_exec::ScanExec;
use crate::table::stream::external;
use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Statistics, internal_err};
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::{Column, Literal};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, SchedulingType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet};
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties};
use gingham_storage::scan::TableScan;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Zones that a task counts before others have their turn.
const ZONES_AT_ONCE: usize = 32;

/// Puts a [`CountExec`] where an aggregation only counts the records of a scan.
#[derive(Debug)]
pub(crate) struct CountOnCodes;

impl PhysicalOptimizerRule for CountOnCodes {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let counted = plan.transform_up(|plan| {
            Ok(match plan.downcast_ref::<AggregateExec>().and_then(CountExec::instead_of) {
                Some(count) => Transformed::yes(Arc::new(count) as Arc<dyn ExecutionPlan>),
                None => Transformed::no(plan),
            })
        });
        Ok(counted?.data)
    }

    fn name(&self) -> &str {
        "count_on_codes"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Gives one row per partition: the number of records that the scan below would have given, once per count.
#[derive(Debug)]
pub(crate) struct CountExec {
    scan: Arc<dyn ExecutionPlan>,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl CountExec {
    /// This count as an aggregation; `None` when that does more than count.
    pub(crate) fn instead_of(aggregate: &AggregateExec) -> Option<Self> {
        let first = matches!(
            aggregate.mode(),
            AggregateMode::Single | AggregateMode::SinglePartitioned | AggregateMode::Partial
        );
        let plain = aggregate.group_expr().is_true_no_grouping()
            && aggregate.limit_options().is_none()
            && aggregate.filter_expr().iter().all(Option::is_none);
        let schema = aggregate.schema();
        // Batches dealt out to more threads than there are zones need not be counted apart.
        let input = match aggregate.input().downcast_ref::<RepartitionExec>() {
            Some(dealt) if matches!(dealt.partitioning(), Partitioning::RoundRobinBatch(_)) => dealt.input(),
            _ => aggregate.input(),
        };
        let scan = input.downcast_ref::<ScanExec>().filter(|scan| scan.counts_all())?;
        let counts = aggregate.aggr_expr().iter().all(|function| counts_rows(function, &scan.schema()));
        // A count's state is the count, so that a first step of two gives the same row.
        let rows = schema.fields().len() == aggregate.aggr_expr().len()
            && schema.fields().iter().all(|field| *field.data_type() == DataType::Int64);
        (first && plain && counts && rows && !schema.fields().is_empty()).then(|| Self::new(Arc::clone(input), schema))
    }

    fn new(scan: Arc<dyn ExecutionPlan>, schema: SchemaRef) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            Partitioning::UnknownPartitioning(scan.properties().partitioning.partition_count()),
            EmissionType::Final,
            Boundedness::Bounded,
        )
        .with_scheduling_type(SchedulingType::Cooperative);
        Self { scan, schema, properties: Arc::new(properties), metrics: ExecutionPlanMetricsSet::new() }
    }

    fn scan(&self) -> Result<&ScanExec> {
        match self.scan.downcast_ref() {
            Some(scan) => Ok(scan),
            None => internal_err!("a count has a scan below it"),
        }
    }
}

/// True for `count(*)`, `count(1)` and `count(c)` of a column that can't be NULL.
fn counts_rows(function: &AggregateFunctionExpr, input: &SchemaRef) -> bool {
    let never_null = |argument: &Arc<dyn PhysicalExpr>| {
        if let Some(literal) = argument.downcast_ref::<Literal>() {
            return !literal.value().is_null();
        }
        argument
            .downcast_ref::<Column>()
            .is_some_and(|column| input.fields().get(column.index()).is_some_and(|field| !field.is_nullable()))
    };
    function.fun().name() == "count"
        && !function.is_distinct()
        && function.order_bys().is_empty()
        && function.expressions().iter().all(never_null)
}

impl DisplayAs for CountExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match format {
            DisplayFormatType::TreeRender => Ok(()),
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                let names: Vec<_> = self.schema.fields().iter().map(|field| field.name().as_str()).collect();
                write!(f, "CountExec: [{}]", names.join(", "))
            }
        }
    }
}

impl ExecutionPlan for CountExec {
    fn name(&self) -> &str {
        "CountExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    crate::inputs::reads_one!(scan, |own, scan| Self::new(scan, Arc::clone(&own.schema)));

    fn execute(&self, partition: usize, _context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let round = self.scan()?.enter(partition)?;
        let baseline = BaselineMetrics::new(&self.metrics, partition);
        let zones_read = MetricBuilder::new(&self.metrics).counter("zones_read", partition);
        let schema = Arc::clone(&self.schema);
        let work = async move {
            let (scan, _) = round.scan()?;
            let mut records = 0;
            loop {
                let timer = baseline.elapsed_compute().timer();
                let (counted, ended) =
                    count_some(&scan, || round.round.next.fetch_add(1, Ordering::Relaxed), &mut records)
                        .map_err(external)?;
                zones_read.add(counted);
                timer.done();
                if ended {
                    break;
                }
                tokio::task::yield_now().await;
            }
            let value: ArrayRef = Arc::new(Int64Array::from(vec![records as i64]));
            let columns = vec![value; schema.fields().len()];
            baseline.record_output(1);
            Ok(RecordBatch::try_new(schema, columns)?)
        };
        let stream = RecordBatchStreamAdapter::new(Arc::clone(&self.schema), futures::stream::once(work));
        Ok(Box::pin(stream))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn partition_statistics(&self, _partition: Option<usize>) -> Result<Arc<Statistics>> {
        Ok(Arc::new(Statistics::new_unknown(&self.schema)))
    }
}

/// Adds the records of some morsels; the number of morsels, and whether none is left.
fn count_some(
    scan: &TableScan,
    next: impl Fn() -> usize,
    records: &mut usize,
) -> gingham_storage::Result<(usize, bool)> {
    for counted in 0..ZONES_AT_ONCE {
        let morsel = next();
        if morsel >= scan.morsels() {
            return Ok((counted, true));
        }
        *records += scan.count(morsel)?;
    }
    Ok((ZONES_AT_ONCE, false))
}
