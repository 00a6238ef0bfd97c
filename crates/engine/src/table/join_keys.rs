//! The keys of a join's build side as a set of integers, for the scans of its probe side.
//!
//! DataFusion hands scans a list of keys, made of one expression per record of the build side: past some thousands that
//! costs more than it spares. Here the keys are gathered as the batches pass, and become one bit each.

use crate::table::scan_exec::ScanExec;
use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, RecordBatch};
use arrow::datatypes::*;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{JoinType, NullEquality, Statistics};
use datafusion::error::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::filter_pushdown::{
    ChildPushdownResult, FilterDescription, FilterPushdownPhase, FilterPushdownPropagation,
};
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::StreamExt;
use gingham_storage::IntegerSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Keys that are gathered at most: each takes eight bytes until the set is made.
const MOST_GATHERED: usize = 1 << 20;

/// The keys of one join.
#[derive(Debug)]
pub(super) struct JoinKeys {
    /// Positions of the key columns on the build side; `None` for a key that is no column of integers.
    columns: Vec<Option<usize>>,
    /// What is known of each key before any is gathered.
    whole: Vec<KeysOfWhole>,
    gathered: Mutex<GatheredKeys>,
}

/// What is known of a join's key before it runs.
#[derive(Debug, Clone, Copy)]
pub(super) enum KeysOfWhole {
    /// It is no column of integers, or has too many records.
    NotGathered,
    /// The build side may be any part of its table.
    Unknown,
    /// The build side has all records of a table, with so many distinct keys, about.
    Distinct(u64),
}

/// Whether the values of a type can be gathered as keys.
pub(super) fn can_be_gathered(data_type: &DataType) -> bool {
    (data_type.is_integer() && *data_type != DataType::UInt64) || *data_type == DataType::Date32
}

/// One set per key of a join; `None` for a key that is no integer, or too far from others.
pub(super) type Sets = Arc<[Option<Arc<IntegerSet>>]>;

#[derive(Debug)]
struct GatheredKeys {
    /// Which partitions have begun.
    begun: Vec<bool>,
    /// Partitions that have not ended.
    left: usize,
    /// One per key; empty for a key that is no column.
    keys: Vec<Vec<i64>>,
    /// Too many, or a partition ran twice.
    given_up: bool,
    /// What keys and sets take of the memory limit; made when the first partition begins.
    held: Option<MemoryReservation>,
    /// Made when they are first asked for.
    sets: Option<Sets>,
}

impl JoinKeys {
    fn new(columns: Vec<Option<usize>>, whole: Vec<KeysOfWhole>, partitions: usize) -> Self {
        let keys = vec![Vec::new(); columns.len()];
        let begun = vec![false; partitions];
        let gathered = GatheredKeys { begun, left: partitions, keys, given_up: false, held: None, sets: None };
        Self { columns, whole, gathered: Mutex::new(gathered) }
    }

    /// What is known of each key before any is gathered.
    pub(super) fn distinct_of_whole(&self) -> impl Iterator<Item = KeysOfWhole> {
        self.whole.iter().copied()
    }

    fn gathered(&self) -> MutexGuard<'_, GatheredKeys> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, partition: usize, pool: &Arc<dyn MemoryPool>) {
        let mut gathered = self.gathered();
        gathered.held.get_or_insert_with(|| MemoryConsumer::new("keys of a join").register(pool));
        match gathered.begun.get_mut(partition) {
            Some(begun) if !*begun => *begun = true,
            _ => gathered.given_up = true,
        }
    }

    fn add(&self, batch: &RecordBatch) {
        let mut gathered = self.gathered();
        if gathered.given_up {
            return;
        }
        for (number, column) in self.columns.iter().enumerate() {
            let Some(column) = column else { continue };
            let keys = &mut gathered.keys[number];
            if keys.len() + batch.num_rows() > MOST_GATHERED || !integers(batch.column(*column), keys) {
                return gathered.give_up();
            }
        }
        let bytes = gathered.keys.iter().map(|keys| keys.capacity() * size_of::<i64>()).sum();
        if !gathered.hold(bytes) {
            gathered.give_up();
        }
    }

    fn end(&self) {
        let mut gathered = self.gathered();
        gathered.left = gathered.left.saturating_sub(1);
    }

    /// The keys, once all are gathered.
    pub(super) fn sets(&self) -> Option<Sets> {
        let mut gathered = self.gathered();
        if gathered.left > 0 || gathered.given_up {
            return None;
        }
        if gathered.sets.is_none() {
            let keys = std::mem::take(&mut gathered.keys);
            let set =
                |(column, keys): (&Option<usize>, Vec<i64>)| column.and_then(|_| IntegerSet::new(&keys)).map(Arc::new);
            let sets: Sets = self.columns.iter().zip(keys).map(set).collect();
            if !gathered.hold(sets.iter().flatten().map(|set| set.bytes()).sum()) {
                gathered.give_up();
                return None;
            }
            gathered.sets = Some(sets);
        }
        gathered.sets.clone()
    }
}

impl GatheredKeys {
    /// Takes `bytes` of the memory limit instead of what it has; false when they can't be had. Filters only spare work, so
    /// that a query goes on without.
    fn hold(&self, bytes: usize) -> bool {
        self.held.as_ref().is_some_and(|held| held.try_resize(bytes).is_ok())
    }

    fn give_up(&mut self) {
        self.given_up = true;
        self.keys.iter_mut().for_each(|keys| *keys = Vec::new());
        self.held = None;
    }
}

/// Appends the values of an array of integers that are not NULL; false for another type.
fn integers(array: &ArrayRef, out: &mut Vec<i64>) -> bool {
    fn append<T: ArrowPrimitiveType<Native: Into<i64>>>(array: &ArrayRef, out: &mut Vec<i64>) -> bool {
        let array = array.as_primitive::<T>();
        if array.null_count() == 0 {
            out.extend(array.values().iter().map(|value| (*value).into()));
        } else {
            out.extend(array.iter().flatten().map(Into::into));
        }
        true
    }
    match array.data_type() {
        DataType::Int8 => append::<Int8Type>(array, out),
        DataType::Int16 => append::<Int16Type>(array, out),
        DataType::Int32 => append::<Int32Type>(array, out),
        DataType::Int64 => append::<Int64Type>(array, out),
        DataType::UInt8 => append::<UInt8Type>(array, out),
        DataType::UInt16 => append::<UInt16Type>(array, out),
        DataType::UInt32 => append::<UInt32Type>(array, out),
        DataType::Date32 => append::<Date32Type>(array, out),
        _ => false,
    }
}

/// Puts a [`JoinKeysExec`] on the build side of each join whose dynamic filter a scan takes.
#[derive(Debug)]
pub(crate) struct GatherJoinKeys;

impl PhysicalOptimizerRule for GatherJoinKeys {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let gathering = plan.transform_up(|plan| match plan.downcast_ref::<HashJoinExec>() {
            Some(join) => Ok(match gathering(join)? {
                Some(join) => Transformed::yes(join),
                None => Transformed::no(plan),
            }),
            None => Ok(Transformed::no(plan)),
        });
        Ok(gathering?.data)
    }

    fn name(&self) -> &str {
        "gather_join_keys"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The join with its keys gathered; `None` when that is not worth while.
fn gathering(join: &HashJoinExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    // Elsewhere a NULL finds a partner, or NULLs of the probe side count.
    let types = [JoinType::Inner, JoinType::Left, JoinType::LeftSemi, JoinType::LeftAnti, JoinType::RightSemi];
    let plain =
        types.contains(join.join_type()) && !join.null_aware && join.null_equality() == NullEquality::NullEqualsNothing;
    let filter = join.dynamic_expressions_produced().first().and_then(|filter| filter.expression_id());
    let (true, Some(filter)) = (plain, filter) else { return Ok(None) };
    let left = match join.left().downcast_ref::<JoinKeysExec>() {
        Some(known) => &known.input,
        None => join.left(),
    };
    let schema = left.schema();
    let column = |key: &Arc<dyn PhysicalExpr>| {
        let position = key.downcast_ref::<Column>()?.index();
        can_be_gathered(schema.field(position).data_type()).then_some(position)
    };
    let columns: Vec<_> = join.on().iter().map(|(key, _)| column(key)).collect();
    if columns.iter().all(Option::is_none) {
        return Ok(None);
    }
    let whole = columns.iter().map(|column| match column.map(|column| distinct_of_whole(left, column)) {
        None => KeysOfWhole::NotGathered,
        Some(None) => KeysOfWhole::Unknown,
        // They would be given up half-way.
        Some(Some((_, rows))) if rows > MOST_GATHERED as u64 => KeysOfWhole::NotGathered,
        Some(Some((distinct, _))) => KeysOfWhole::Distinct(distinct),
    });
    let whole = whole.collect();
    let keys = Arc::new(JoinKeys::new(columns, whole, left.properties().partitioning.partition_count()));
    let right = Arc::clone(join.right()).transform_up(|plan| {
        let scan = plan.downcast_ref::<ScanExec>().and_then(|scan| scan.with_join_keys(filter, &keys));
        Ok(match scan {
            Some(scan) => Transformed::yes(scan),
            None => Transformed::no(plan),
        })
    })?;
    if !right.transformed {
        return Ok(None);
    }
    let left = Arc::new(JoinKeysExec { input: Arc::clone(left), keys });
    Ok(Some(join.builder().with_new_children(vec![left, right.data])?.build_exec()?))
}

/// Distinct values of a column of a plan, about, and its rows, when it has all records of a table, as they are.
fn distinct_of_whole(plan: &Arc<dyn ExecutionPlan>, position: usize) -> Option<(u64, u64)> {
    if let Some(scan) = plan.downcast_ref::<ScanExec>() {
        return scan.distinct_of_whole(position);
    }
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let column = projection.expr().get(position)?.expr.downcast_ref::<Column>()?.index();
        return distinct_of_whole(projection.input(), column);
    }
    let passes = plan.is::<RepartitionExec>() || plan.is::<CoalescePartitionsExec>() || plan.is::<JoinKeysExec>();
    match plan.children().as_slice() {
        [input] if passes && plan.fetch().is_none() => distinct_of_whole(input, position),
        _ => None,
    }
}

/// Passes batches on and gathers the keys in them.
#[derive(Debug)]
pub(crate) struct JoinKeysExec {
    input: Arc<dyn ExecutionPlan>,
    keys: Arc<JoinKeys>,
}

impl DisplayAs for JoinKeysExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schema = self.input.schema();
        let names: Vec<_> = self.keys.columns.iter().flatten().map(|at| schema.field(*at).name().as_str()).collect();
        match format {
            DisplayFormatType::TreeRender => writeln!(f, "keys={}", names.join(", ")),
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                write!(f, "JoinKeysExec: [{}]", names.join(", "))
            }
        }
    }
}

impl ExecutionPlan for JoinKeysExec {
    fn name(&self) -> &str {
        "JoinKeysExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    crate::inputs::reads_one!(input, |own, input| Self { input, keys: Arc::clone(&own.keys) });

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        // The scans forget the keys too: see `ScanExec`.
        let partitions = self.properties().partitioning.partition_count();
        let keys = Arc::new(JoinKeys::new(self.keys.columns.clone(), self.keys.whole.clone(), partitions));
        Ok(Arc::new(Self { input: Arc::clone(&self.input), keys }))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let pool = Arc::clone(context.memory_pool());
        let mut input = self.input.execute(partition, context)?;
        self.keys.begin(partition, &pool);
        let keys = Arc::clone(&self.keys);
        let mut ended = false;
        let stream = futures::stream::poll_fn(move |context| {
            let item = std::task::ready!(input.poll_next_unpin(context));
            match &item {
                Some(Ok(batch)) => keys.add(batch),
                Some(Err(_)) => {}
                None if ended => {}
                None => {
                    ended = true;
                    keys.end();
                }
            }
            std::task::Poll::Ready(item)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), stream)))
    }

    fn partition_statistics(&self, _partition: Option<usize>) -> Result<Arc<Statistics>> {
        Ok(Arc::new(Statistics::new_unknown(&self.schema())))
    }

    fn gather_filters_for_pushdown(
        &self,
        _phase: FilterPushdownPhase,
        parent_filters: Vec<Arc<dyn PhysicalExpr>>,
        _config: &ConfigOptions,
    ) -> Result<FilterDescription> {
        FilterDescription::from_children(parent_filters, &self.children())
    }

    fn handle_child_pushdown_result(
        &self,
        _phase: FilterPushdownPhase,
        child_pushdown_result: ChildPushdownResult,
        _config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        Ok(FilterPushdownPropagation::if_all(child_pushdown_result))
    }
}
