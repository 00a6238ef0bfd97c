//! The operator that reads a table: its partitions take morsels from one counter, so that none waits while another has
//! work left.

use crate::Result;
use crate::table::dynamic::{Implied, is_dynamic};
use crate::table::filter::all_of;
use crate::table::join_keys::{JoinKeys, KeysOfWhole};
use crate::table::statistics::{selectivity, statistics};
use crate::table::stream::{ScanStream, external};
use crate::words::all_hold;
use arrow::datatypes::SchemaRef;
use datafusion::common::config::ConfigOptions;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Statistics, internal_err};
use datafusion::error::Result as DataFusionResult;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Expr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_expr_common::physical_expr::snapshot_generation;
use datafusion::physical_plan::coop::cooperative;
use datafusion::physical_plan::execution_plan::{
    Boundedness, CardinalityEffect, ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions, SchedulingType,
};
use datafusion::physical_plan::filter_pushdown::{ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties};
use gingham_kernels::Isa;
use gingham_storage::model::ZONE_ROWS;
use gingham_storage::scan::TableScan;
use gingham_storage::snapshot::TableSnapshot;
use gingham_storage::{ColumnId, IntegerSet, Predicate};
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Reads the records of a table that satisfy a predicate.
#[derive(Debug)]
pub(crate) struct ScanExec {
    shape: Arc<ScanShape>,
    /// Most records that a partition gives.
    fetch: Option<usize>,
    /// Filters that change while the query runs.
    dynamic: Vec<Arc<dyn PhysicalExpr>>,
    /// Keys that the joins of some of them gather, by the filters' numbers.
    join_keys: Vec<(u64, Arc<JoinKeys>)>,
    properties: Arc<PlanProperties>,
    rounds: ScanRounds,
    metrics: ExecutionPlanMetricsSet,
}

/// What copies of the operator share.
#[derive(Debug)]
struct ScanShape {
    table: Arc<TableSnapshot>,
    columns: Vec<ColumnId>,
    predicate: Predicate,
    /// What the predicate was made of.
    filters: Vec<Expr>,
    scan: Arc<TableScan>,
    batch_rows: usize,
    isa: Isa,
}

/// One run of the plan: its partitions share the counter of morsels.
#[derive(Debug, Default)]
pub(super) struct Round {
    /// The next morsel that no partition has taken.
    pub(super) next: AtomicUsize,
    /// The scan under the dynamic filters as they were when the first partition began to read, and their generation.
    filtered: OnceLock<(Arc<TableScan>, u64)>,
}

/// The runs of the plan. A partition that is run again begins a new one, or joins the one that another partition began.
#[derive(Debug, Default)]
struct ScanRounds {
    state: Mutex<(Vec<usize>, Vec<Arc<Round>>)>,
}

impl ScanRounds {
    fn enter(&self, partition: usize) -> Arc<Round> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (runs, rounds) = &mut *state;
        if runs.len() <= partition {
            runs.resize(partition + 1, 0);
        }
        let round = runs[partition];
        runs[partition] += 1;
        if rounds.len() <= round {
            rounds.resize_with(round + 1, Arc::default);
        }
        Arc::clone(&rounds[round])
    }

    /// The last run.
    fn last(&self) -> Option<Arc<Round>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).1.last().cloned()
    }

    /// The scan of the last run that has begun to read.
    fn last_scan(&self) -> Option<Arc<TableScan>> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.1.iter().rev().find_map(|round| Some(Arc::clone(&round.filtered.get()?.0)))
    }
}

/// What a partition needs to begin to read.
#[derive(Debug, Clone)]
pub(crate) struct PartitionSource {
    shape: Arc<ScanShape>,
    dynamic: Vec<Arc<dyn PhysicalExpr>>,
    join_keys: Vec<(u64, Arc<JoinKeys>)>,
    pub(super) round: Arc<Round>,
}

impl PartitionSource {
    /// Schema of the batches.
    pub(super) fn schema(&self) -> &SchemaRef {
        self.shape.scan.schema()
    }

    /// True when fewer records may be given than read.
    pub(super) fn is_filtered(&self) -> bool {
        !self.dynamic.is_empty() || !matches!(self.shape.predicate, Predicate::Constant(_))
    }

    /// The scan, the same for all partitions of the round, and the generation of the dynamic filters in it; called when
    /// the first batch is wanted, since a join knows its keys by then.
    pub(crate) fn scan(&self) -> Result<(Arc<TableScan>, u64)> {
        if let Some(scan) = self.round.filtered.get() {
            return Ok(scan.clone());
        }
        let generation = self.generation();
        let scan = match self.implied() {
            Predicate::Constant(true) => Arc::clone(&self.shape.scan),
            implied => Arc::new(self.shape.scan_of(all_of([self.shape.predicate.clone(), implied]))?),
        };
        let scan = scan.for_run().map_err(external)?;
        Ok(self.round.filtered.get_or_init(|| (scan, generation)).clone())
    }

    /// The scan under filters that became stricter since `generation`, which is brought up to date; `None` when they
    /// did not. Its morsels have the numbers that they have in [`PartitionSource::scan`].
    pub(super) fn with_filter(&self, generation: &mut u64) -> Result<Option<Arc<TableScan>>> {
        let now = self.generation();
        if now == *generation {
            return Ok(None);
        }
        *generation = now;
        Ok(Some(Arc::new(self.scan()?.0.with_filter(&self.implied())?)))
    }

    /// The next morsel that no partition has taken.
    pub(crate) fn take(&self) -> usize {
        self.round.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Changes whenever a dynamic filter does.
    fn generation(&self) -> u64 {
        self.dynamic.iter().map(snapshot_generation).fold(0, u64::wrapping_add)
    }

    /// What the dynamic filters say as they are now.
    fn implied(&self) -> Predicate {
        let ScanShape { table, columns, .. } = &*self.shape;
        let columns = columns.iter().filter_map(|id| table.definition.column_by_id(*id)).collect();
        let distinct = |column| table.summary(column).map_or(u64::MAX, |summary| summary.distinct);
        let implied = Implied { columns, rows: table.rows(), distinct: &distinct, join_keys: &self.join_keys };
        all_of(self.dynamic.iter().map(|filter| implied.predicate(filter)))
    }
}

impl ScanShape {
    /// The scan by another predicate.
    fn scan_of(&self, predicate: Predicate) -> Result<TableScan> {
        let table = Arc::clone(&self.table);
        let scan = TableScan::new(table, self.columns.clone(), predicate, self.batch_rows, self.isa)?;
        Ok(scan.with_reads(self.scan.read_options()).named(Arc::clone(self.scan.schema())))
    }
}

impl ScanExec {
    /// `scan`, which is of `columns` by `predicate`, with at most `threads` partitions.
    #[expect(clippy::too_many_arguments, reason = "called once, by the table")]
    pub(super) fn new(
        scan: TableScan,
        table: Arc<TableSnapshot>,
        columns: Vec<ColumnId>,
        predicate: Predicate,
        filters: Vec<Expr>,
        isa: Isa,
        batch_rows: usize,
        threads: usize,
        fetch: Option<usize>,
    ) -> Self {
        // A few of all records come from the first zone or two: one thread gives the table's first ones, and no other is
        // woken for work that is thrown away.
        let few = matches!(predicate, Predicate::Constant(true)) && fetch.is_some_and(|rows| rows <= ZONE_ROWS);
        let partitions = if few { 1 } else { threads.min(scan.morsels()).max(1) };
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(scan.schema())),
            Partitioning::UnknownPartitioning(partitions),
            EmissionType::Incremental,
            Boundedness::Bounded,
        )
        .with_scheduling_type(SchedulingType::Cooperative);
        let shape = Arc::new(ScanShape { table, columns, predicate, filters, scan: Arc::new(scan), batch_rows, isa });
        Self::of(shape, fetch, Arc::new(properties))
    }

    fn of(shape: Arc<ScanShape>, fetch: Option<usize>, properties: Arc<PlanProperties>) -> Self {
        let (rounds, metrics) = (ScanRounds::default(), ExecutionPlanMetricsSet::new());
        Self { shape, fetch, dynamic: Vec::new(), join_keys: Vec::new(), properties, rounds, metrics }
    }

    /// This scan, not yet run, with other dynamic filters.
    fn fresh(&self, fetch: Option<usize>, dynamic: Vec<Arc<dyn PhysicalExpr>>) -> Arc<dyn ExecutionPlan> {
        Arc::new(Self { dynamic, ..Self::of(Arc::clone(&self.shape), fetch, Arc::clone(&self.properties)) })
    }

    /// This scan with the keys of the join that makes its dynamic filter number `filter`; `None` when it takes no such one, or
    /// when the keys can't rule out much: those of a whole table that has nearly all of this one's values.
    pub(super) fn with_join_keys(&self, filter: u64, keys: &Arc<JoinKeys>) -> Option<Arc<dyn ExecutionPlan>> {
        let mut useful = false;
        for known in &self.dynamic {
            // The walk does not fail.
            let _ = known.apply(|part| {
                let found = part.expression_id() == Some(filter);
                let mut keys = part.children().into_iter().zip(keys.distinct_of_whole());
                useful |= found && keys.any(|(key, distinct)| self.is_narrowed_by(key, distinct));
                Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
            });
        }
        if !useful {
            return None;
        }
        let mut join_keys = self.join_keys.clone();
        join_keys.retain(|(known, _)| *known != filter);
        join_keys.push((filter, Arc::clone(keys)));
        let (shape, properties) = (Arc::clone(&self.shape), Arc::clone(&self.properties));
        let dynamic = self.dynamic.clone();
        Some(Arc::new(Self { dynamic, join_keys, ..Self::of(shape, self.fetch, properties) }))
    }

    /// Whether a set of keys may rule out values of a column: `Some` of so many keys, when all of them are known to come.
    fn is_narrowed_by(&self, key: &Arc<dyn PhysicalExpr>, distinct: KeysOfWhole) -> bool {
        match (self.column(key), distinct) {
            (None, _) | (_, KeysOfWhole::NotGathered) => false,
            (_, KeysOfWhole::Unknown) => true,
            (Some(column), KeysOfWhole::Distinct(keys)) => {
                let distinct = self.shape.table.summary(column).map_or(u64::MAX, |summary| summary.distinct);
                IntegerSet::rules_out_enough(keys as f64, distinct as f64)
            }
        }
    }

    /// The column that an expression over the scan's output is.
    fn column(&self, expression: &Arc<dyn PhysicalExpr>) -> Option<ColumnId> {
        self.shape.columns.get(expression.downcast_ref::<Column>()?.index()).copied()
    }

    /// Distinct values of an output column, about, and the records, when the scan gives all of its table's.
    pub(super) fn distinct_of_whole(&self, position: usize) -> Option<(u64, u64)> {
        let whole = self.counts_all() && matches!(self.shape.predicate, Predicate::Constant(true));
        let column = self.shape.columns.get(position).filter(|_| whole)?;
        let table = &self.shape.table;
        Some((table.summary(*column)?.distinct, table.rows()))
    }

    /// Bytes of memory that it takes besides the table, about.
    pub(crate) fn bytes(&self) -> usize {
        self.shape.scan.bytes()
    }

    /// Whether another scan gives the same records' columns.
    pub(crate) fn reads_like(&self, other: &Self) -> bool {
        let (own, others) = (&self.shape, &other.shape);
        let is_plain = self.is_plain() && other.is_plain() && self.dynamic.is_empty() && other.dynamic.is_empty();
        is_plain
            && Arc::ptr_eq(&own.table, &others.table)
            && (&own.columns, &own.filters, own.isa) == (&others.columns, &others.filters, others.isa)
    }

    /// True when it takes filters that change while the query runs.
    pub(crate) fn is_dynamic(&self) -> bool {
        !self.dynamic.is_empty()
    }

    /// True when a pipeline may read the table in its place: it has no limit.
    pub(crate) fn is_plain(&self) -> bool {
        self.fetch.is_none()
    }

    /// The table that it reads.
    pub(crate) fn table(&self) -> &Arc<TableSnapshot> {
        &self.shape.table
    }

    /// What its records fulfil.
    pub(crate) fn predicate(&self) -> &Predicate {
        &self.shape.predicate
    }

    /// The scan by its own predicate.
    pub(crate) fn scan(&self) -> &Arc<TableScan> {
        &self.shape.scan
    }

    /// The columns that it gives.
    pub(crate) fn columns(&self) -> &[ColumnId] {
        &self.shape.columns
    }

    /// True when it gives every record that satisfies its predicate.
    pub(super) fn counts_all(&self) -> bool {
        self.fetch.is_none() && self.dynamic.is_empty()
    }

    /// Begins to run a partition.
    pub(crate) fn enter(&self, partition: usize) -> DataFusionResult<PartitionSource> {
        if partition >= self.partitions() {
            return internal_err!("a scan of {} partitions was asked for number {partition}", self.partitions());
        }
        let (shape, dynamic) = (Arc::clone(&self.shape), self.dynamic.clone());
        let join_keys = self.join_keys.clone();
        Ok(PartitionSource { shape, dynamic, join_keys, round: self.rounds.enter(partition) })
    }

    /// The records that the last run has begun to read, and those that it is to read.
    pub(crate) fn progress(&self) -> (u64, u64) {
        let scan = &self.shape.scan;
        let records = |morsels: Range<usize>| morsels.map(|morsel| scan.records(morsel) as u64).sum();
        let taken = self.rounds.last().map_or(0, |round| round.next.load(Ordering::Relaxed));
        (records(0..taken.min(scan.morsels())), records(0..scan.morsels()))
    }

    /// The records that it reads, in words.
    pub(crate) fn in_words(&self) -> String {
        let ScanShape { table, filters, .. } = &*self.shape;
        let conditions = all_hold(filters);
        let conditions = if conditions.is_empty() { conditions } else { format!(" where {conditions}") };
        let first = self.fetch.map_or_else(String::new, |rows| format!(", {rows} rows at most"));
        format!("scan {}{conditions}{first}", table.definition.name)
    }

    /// How the records are found, in words: the zones that zone maps leave, and the parts of the predicate that are evaluated on
    /// codes, once zones were read in their order. `run` is the scan of a run, when there was one.
    pub(crate) fn way_in_words(&self, run: Option<&TableScan>) -> Vec<String> {
        let last = self.rounds.last_scan();
        let scan = run.or(last.as_deref()).unwrap_or(&self.shape.scan);
        let all = scan.morsels() + scan.skipped();
        let zones = format!("zone maps leave {} of {all} zones", scan.morsels());
        let mut parts = scan.on_codes();
        // The order goes by this machine's costs until something was read.
        if !scan.has_seen() {
            parts.sort_by(|a, b| a.column.cmp(&b.column).then(a.expected.total_cmp(&b.expected)));
        }
        let shown = parts.iter().map(|part| {
            let seen = part.seen.map_or_else(String::new, |seen| format!(" (seen {:.1} %)", seen * 100.0));
            format!("{} {:.1} %{seen}", part.column, part.expected * 100.0)
        });
        let on_codes = format!("on codes, of which pass: {}", shown.collect::<Vec<_>>().join(", "));
        let zones = (scan.skipped() > 0).then_some(zones);
        zones.into_iter().chain((!parts.is_empty()).then_some(on_codes)).collect()
    }

    /// Bytes that the columns take in memory in the zones that are read, with those of the predicate, about; `None` of records in pages.
    pub(crate) fn bytes_of_columns(&self, columns: &[ColumnId]) -> Option<u64> {
        let ScanShape { table, scan, filters, .. } = &*self.shape;
        if table.heap.is_some() {
            return None;
        }
        let of_filters = filters.iter().flat_map(Expr::column_refs);
        let of_filters = of_filters.filter_map(|column| Some(table.definition.column(&column.name)?.id));
        let all: BTreeSet<ColumnId> = columns.iter().copied().chain(of_filters).collect();
        let parts = table.segments.iter().chain(&table.delta);
        let bytes = parts.flat_map(|part| all.iter().filter_map(|column| Some(part.column(*column)?.native_bytes)));
        let zones = (scan.morsels() + scan.skipped()).max(1) as f64;
        Some((bytes.sum::<u64>() as f64 * scan.morsels() as f64 / zones) as u64)
    }

    fn partitions(&self) -> usize {
        self.properties.partitioning.partition_count()
    }
}

/// Filters as EXPLAIN shows them.
fn shown(filters: &[Expr]) -> String {
    filters.iter().map(ToString::to_string).collect::<Vec<_>>().join(" AND ")
}

impl DisplayAs for ScanExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ScanShape { table, columns, filters, scan, .. } = &*self.shape;
        let name = |id: &ColumnId| table.definition.column_by_id(*id).map_or("?", |column| column.name.as_str());
        let columns: Vec<_> = columns.iter().map(name).collect();
        let zones = scan.morsels() + scan.skipped();
        match format {
            DisplayFormatType::TreeRender => {
                writeln!(f, "table={}", table.definition.name)?;
                if !filters.is_empty() {
                    writeln!(f, "predicate={}", shown(filters))?;
                }
                writeln!(f, "zones={} of {zones}", scan.morsels())
            }
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                write!(f, "ScanExec: table={}, columns=[{}]", table.definition.name, columns.join(", "))?;
                if !filters.is_empty() {
                    write!(f, ", predicate={}", shown(filters))?;
                }
                if let Some(fetch) = self.fetch {
                    write!(f, ", fetch={fetch}")?;
                }
                if !self.dynamic.is_empty() {
                    let dynamic: Vec<_> = self.dynamic.iter().map(ToString::to_string).collect();
                    write!(f, ", dynamic={}", dynamic.join(" AND "))?;
                }
                write!(f, ", zones={} of {zones}", scan.morsels())?;
                // Before anything was read it is an estimate of this machine's costs, which are not for every EXPLAIN.
                let last = self.rounds.last_scan();
                let scan = last.as_ref().unwrap_or(scan);
                if let Some(reads) = scan.read_times() {
                    write!(f, ", read=[{reads}]")?;
                }
                match scan.order().filter(|_| scan.has_seen() || format == DisplayFormatType::Verbose) {
                    Some(order) => write!(f, ", order=[{order}]"),
                    None => Ok(()),
                }
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
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> DataFusionResult<TreeNodeRecursion>,
    ) -> DataFusionResult<TreeNodeRecursion> {
        let mut recursion = TreeNodeRecursion::Continue;
        for filter in &self.dynamic {
            recursion = recursion.visit_sibling(|| visit(filter))?;
        }
        Ok(recursion)
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
        // The filters belong to the joins as they were: they are not those of the plan that runs next.
        Ok(self.fresh(self.fetch, Vec::new()))
    }

    fn execute(&self, partition: usize, _context: Arc<TaskContext>) -> DataFusionResult<SendableRecordBatchStream> {
        let stream = ScanStream::new(self.enter(partition)?, self.fetch, &self.metrics, partition);
        Ok(Box::pin(cooperative(stream)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn partition_statistics(&self, partition: Option<usize>) -> DataFusionResult<Arc<Statistics>> {
        let ScanShape { table, columns, predicate, .. } = &*self.shape;
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
        let (shape, properties) = (Arc::clone(&self.shape), Arc::clone(&self.properties));
        let (dynamic, join_keys) = (self.dynamic.clone(), self.join_keys.clone());
        Some(Arc::new(Self { dynamic, join_keys, ..Self::of(shape, limit, properties) }))
    }

    fn fetch(&self) -> Option<usize> {
        self.fetch
    }

    fn handle_child_pushdown_result(
        &self,
        phase: FilterPushdownPhase,
        result: ChildPushdownResult,
        _config: &ConfigOptions,
    ) -> DataFusionResult<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        // Nothing is taken off the parents: what is kept here spares them work.
        let filters = result.parent_filters.iter().map(|parent| Arc::clone(&parent.filter));
        let dynamic: Vec<_> = filters.filter(is_dynamic).collect();
        let mut propagation = FilterPushdownPropagation::all_unsupported(result);
        if phase == FilterPushdownPhase::Post && !dynamic.is_empty() {
            propagation.updated_node = Some(self.fresh(self.fetch, dynamic));
        }
        Ok(propagation)
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
        let rounds = ScanRounds::default();
        let taken = |partition| rounds.enter(partition).next.fetch_add(1, Ordering::Relaxed);
        assert_eq!((taken(0), taken(1)), (0, 1), "partitions of one run share their counter");
        assert_eq!(taken(1), 0, "a second run starts at the first morsel");
        assert_eq!(taken(0), 1, "which the other partition joins");
    }
}
