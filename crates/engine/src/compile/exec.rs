//! The operator that runs a query of pipelines on the pool's threads and gives its rows as batches.
//!
//! What it replaced is kept. When memory runs out, or a value leaves its type, before a row was given (which is always, as
//! rows are given at the end), the query goes on in DataFusion's operators: they spill where they can, and find the value
//! that an error has to name.

use crate::compile::clock::CompileClock;
use crate::compile::draft::Scanned;
use crate::compile::functions::CompiledFunction;
use crate::compile::given::{ExternalInput, gathered};
use crate::compile::groups::OutputColumn;
use crate::compile::results::{ResultBatches, WantedRows, are_distinct, array, ranked};
use crate::compile::subtree::Subtree;
use crate::compile::wanted::OutputOrder;
use crate::settings::{PlanNotes, Settings};
use crate::table::{ScanExec, datum};
use crate::words::physical;
use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::compute::SortOptions;
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{ScalarValue, Statistics, internal_err};
use datafusion::error::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::output_requirements::OutputRequirements;
use datafusion::physical_plan::execution_plan::{
    Boundedness, ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions, SchedulingType, reset_plan_states,
};
use datafusion::physical_plan::filter_pushdown::{ChildFilterDescription, FilterDescription, FilterPushdownPhase};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, execute_stream,
};
use futures::stream::{self, StreamExt, TryStreamExt};
use gingham_execution::{
    Error as ExecutionError, InternedStrings, Memory, Pool, Prepared, Query, QueryInputs, Report, Rows, ScanSource,
    Sink, ordered,
};
use gingham_kernels::Isa;
use gingham_storage::scan::TableScan;
use gingham_storage::{ColumnId, Datum, LogicalType};
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tokio::sync::oneshot;

/// Batches that are made when they are asked for.
pub(super) type BatchIterator = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// Rules that make a plan runnable.
type Rules = Arc<[Arc<dyn PhysicalOptimizerRule + Send + Sync>]>;

/// Runs pipelines over scans.
#[derive(Debug)]
pub(crate) struct CompiledExec {
    shape: Arc<CompiledShape>,
    /// By number of the scan its [`ScanExec`], and behind them what gives rows.
    inputs: Vec<Arc<dyn ExecutionPlan>>,
    wanted: Arc<OutputOrder>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
    /// Records of its scans that were read.
    read: Arc<AtomicU64>,
    /// The report of its run, of all partitions together; `None` before.
    told: Arc<Mutex<Option<Report>>>,
}

/// What copies of the operator share.
#[derive(Debug)]
struct CompiledShape {
    query: Arc<Prepared>,
    fallback: Arc<dyn ExecutionPlan>,
    rest: Rules,
    scans: Vec<Scanned>,
    given: Vec<ExternalInput>,
    functions: Vec<CompiledFunction>,
    /// What is known when the query runs: integers.
    parameters: Vec<Arc<dyn PhysicalExpr>>,
    /// What pipelines read of the scans, once it is known.
    sources: Vec<OnceLock<ScanSource>>,
    outputs: Vec<OutputColumn>,
    needs_uniqueness_check: Vec<usize>,
    by_morsel: bool,
    workers: usize,
    pool: Arc<Pool>,
    /// Who wants to know of the code that is made.
    notes: Option<Arc<PlanNotes>>,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
}

impl CompiledShape {
    /// Whether the query's rows come in the same order each time: those of records do, those of groups need not.
    fn is_placed(&self) -> bool {
        self.query.query().pipelines.last().is_some_and(|last| matches!(last.sink, Sink::Rows { .. }))
    }
}

/// A reservation of the query's memory that grows while the pipelines run.
struct Reserved(Mutex<MemoryReservation>);

impl Reserved {
    /// Bytes that are held.
    fn bytes(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).size()
    }

    /// Gives back all but so many bytes.
    fn keep(&self, bytes: usize) {
        let reservation = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        reservation.shrink(reservation.size().saturating_sub(bytes));
    }

    /// No answer, and no memory held for one: what answers instead may begin before the last of it is freed.
    fn nothing<T>(&self) -> Result<Option<T>> {
        self.keep(0);
        Ok(None)
    }
}

impl Memory for Reserved {
    fn grow(&self, bytes: usize) -> gingham_execution::Result<()> {
        let reservation = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        reservation.try_grow(bytes).map_err(|error| ExecutionError::OutOfMemory(error.to_string()))
    }
}

impl CompiledExec {
    /// In the place of `subtree`, on threads of `pool`. `rest` make what it replaced runnable.
    pub(super) fn new(subtree: Subtree, settings: &Settings, pool: Arc<Pool>, rest: Rules) -> Self {
        let Subtree {
            fallback,
            query,
            scans,
            given,
            functions,
            parameters,
            outputs,
            needs_uniqueness_check,
            wanted,
            by_morsel,
        } = subtree;
        let schema = fallback.schema();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            // As many as its scan has, when it gives rows as they come.
            Partitioning::UnknownPartitioning(if by_morsel { scans.first().map_or(1, Scanned::partitions) } else { 1 }),
            if by_morsel { EmissionType::Incremental } else { EmissionType::Final },
            Boundedness::Bounded,
        )
        .with_scheduling_type(SchedulingType::Cooperative);
        let (query, properties) = (Arc::new(query), Arc::new(properties));
        let inputs = scans.iter().map(|scan| &scan.plan).chain(given.iter().map(|given| &given.plan));
        let inputs = inputs.cloned().collect();
        let sources = scans.iter().map(|_| OnceLock::new()).collect();
        let shape = CompiledShape {
            query,
            fallback,
            rest,
            scans,
            given,
            functions,
            parameters,
            sources,
            outputs,
            needs_uniqueness_check,
            by_morsel,
            workers: settings.threads,
            pool,
            notes: settings.notes.clone(),
            schema,
            properties,
        };
        let properties = Arc::clone(&shape.properties);
        Self::of(Arc::new(shape), inputs, Arc::default(), properties).with(wanted)
    }

    fn of(
        shape: Arc<CompiledShape>,
        inputs: Vec<Arc<dyn ExecutionPlan>>,
        wanted: Arc<OutputOrder>,
        properties: Arc<PlanProperties>,
    ) -> Self {
        Self {
            shape,
            inputs,
            wanted,
            properties,
            metrics: ExecutionPlanMetricsSet::new(),
            read: Arc::default(),
            told: Arc::default(),
        }
    }

    /// This query over other inputs.
    fn over(&self, inputs: Vec<Arc<dyn ExecutionPlan>>) -> Self {
        Self::of(Arc::clone(&self.shape), inputs, Arc::clone(&self.wanted), Arc::clone(&self.properties))
    }

    /// This query for someone who wants other rows of it.
    fn with(&self, wanted: OutputOrder) -> Self {
        let mut properties = PlanProperties::clone(&self.shape.properties);
        if let Some(order) = wanted.order() {
            let schema = Arc::clone(&self.shape.schema);
            properties =
                properties.with_eq_properties(EquivalenceProperties::new_with_orderings(schema, [order.clone()]));
        }
        Self::of(Arc::clone(&self.shape), self.inputs.clone(), Arc::new(wanted), Arc::new(properties))
    }

    /// This query for someone who wants its rows in the order of some columns, at most `fetch` of them. `None` when it can't
    /// order them.
    pub(super) fn sorted(&self, columns: &[(usize, SortOptions)], fetch: Option<usize>) -> Option<Self> {
        Some(self.with(self.wanted.sorted(columns, fetch, &self.shape.outputs, &self.shape.schema)?))
    }

    /// This query for someone who wants its rows behind the first `skip`, at most `fetch` of them.
    pub(super) fn limited(&self, skip: usize, fetch: Option<usize>) -> Self {
        self.with(self.wanted.limited(skip, fetch))
    }

    /// This query for someone who wants the first `rows` rows in the order of a column, and perhaps of others after it. `None`
    /// when its order is not that of integers.
    pub(super) fn with_top(&self, column: usize, options: SortOptions, rows: usize) -> Option<Self> {
        Some(self.with(self.wanted.top(column, options, rows, &self.shape.outputs)?))
    }

    /// Whether rows are given as they come, by several partitions.
    pub(super) fn gives_by_morsel(&self) -> bool {
        self.shape.by_morsel
    }

    /// What it stands in the place of.
    pub(crate) fn fallback(&self) -> &Arc<dyn ExecutionPlan> {
        &self.shape.fallback
    }

    /// The operator of a query that has one scan, which its partitions share.
    pub(super) fn scan(&self) -> Result<&ScanExec> {
        let scan = self.inputs.first().and_then(|input| input.downcast_ref::<ScanExec>());
        scan.map_or_else(|| internal_err!("a pipeline without a scan"), Ok)
    }

    /// The report of its run, of all partitions together; `None` before.
    pub(crate) fn report(&self) -> Option<Report> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The pipelines that it runs.
    pub(super) fn query(&self) -> &Query {
        self.shape.query.query()
    }

    /// One of its inputs: scans, and behind them what gives rows.
    pub(super) fn input(&self, number: usize) -> Option<&Arc<dyn ExecutionPlan>> {
        self.inputs.get(number)
    }

    /// The names of the columns that pipelines read of a scan; of records' numbers, the column that these stand for.
    pub(super) fn scanned_names(&self, scan: usize) -> Vec<Option<String>> {
        let Some(Scanned { columns, numbers, .. }) = self.shape.scans.get(scan) else { return Vec::new() };
        let table = self.inputs.get(scan).and_then(|input| input.downcast_ref::<ScanExec>()).map(ScanExec::table);
        let name = |id: &ColumnId| Some(table?.definition.column_by_id(*id)?.name.clone());
        let of_record = |id: &Option<ColumnId>| id.as_ref().map_or_else(|| Some("the record".to_owned()), name);
        columns.iter().map(name).chain(numbers.iter().map(of_record)).collect()
    }

    /// The inputs as they were planned: scans, so many of them, and behind them what gives rows.
    pub(super) fn planned_inputs(&self) -> (Vec<Arc<dyn ExecutionPlan>>, usize) {
        let CompiledShape { scans, given, .. } = &*self.shape;
        let inputs = scans.iter().map(|scan| &scan.plan).chain(given.iter().map(|given| &given.plan));
        (inputs.cloned().collect(), scans.len())
    }

    /// What the pipelines read of a scan: the scan that they ran, once they have, and the columns.
    pub(super) fn scanned(&self, scan: usize) -> Option<(Option<&TableScan>, &[ColumnId])> {
        let run = self.shape.sources.get(scan)?.get().map(|source| &*source.scan);
        Some((run, &self.shape.scans.get(scan)?.columns))
    }

    /// An expression that DataFusion evaluates for pipelines, in words.
    pub(super) fn evaluated(&self, function: usize) -> Option<String> {
        Some(physical(&self.shape.functions.get(function)?.expression))
    }

    /// The rows that it gives, in words.
    pub(crate) fn in_words(&self) -> String {
        let names = self.shape.schema.fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>();
        let come = if self.shape.by_morsel { " as they come" } else { "" };
        format!("compiled pipelines{come}{}: {}", self.wanted.in_words(), names.join(", "))
    }

    /// The plans whose rows it is given.
    pub(crate) fn given(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.inputs[self.shape.scans.len()..].iter().collect()
    }

    /// The records that it has read of its scans, and those that it is to read.
    pub(crate) fn progress(&self) -> (u64, u64) {
        let scans = self.inputs.iter().filter_map(|input| input.downcast_ref::<ScanExec>());
        (self.read.load(Ordering::Relaxed), scans.map(|scan| scan.progress().1).sum())
    }

    /// The metrics of one partition, for whoever runs it.
    pub(super) fn baseline(&self, partition: usize) -> BaselineMetrics {
        BaselineMetrics::new(&self.metrics, partition)
    }

    /// What the pipelines read.
    fn sources(&self) -> crate::Result<Vec<ScanSource>> {
        let CompiledShape { scans, sources, .. } = &*self.shape;
        let source = |(scanned, known): (&Scanned, &OnceLock<ScanSource>)| -> crate::Result<ScanSource> {
            if let Some(source) = known.get() {
                return Ok(source.clone());
            }
            let exec = scanned.exec()?;
            let mut scan = Arc::clone(exec.scan());
            if scanned.columns != exec.columns() {
                scan = Arc::new(scan.projected(scanned.columns.clone())?);
            }
            let Scanned { facts, numbers, predicate, .. } = scanned.clone();
            let source = ScanSource { scan, facts, numbers, predicate };
            Ok(known.get_or_init(|| source).clone())
        };
        scans.iter().zip(sources).map(source).collect()
    }

    /// Starts the query over its scans and waits for its rows.
    async fn answer(
        &self,
        sources: Vec<ScanSource>,
        strings: &Arc<InternedStrings>,
        isa: Isa,
        (context, memory): (&Arc<TaskContext>, &Arc<Reserved>),
        morsels: Option<Range<usize>>,
    ) -> gingham_execution::Result<(Rows, Report)> {
        let (sender, receiver) = oneshot::channel();
        let CompiledShape { query, pool, workers, parameters, functions, .. } = &*self.shape;
        let memory: Arc<dyn Memory> = Arc::<Reserved>::clone(memory);
        let functions = functions.iter().map(|function| function.running(strings, isa)).collect();
        let parameters = parameters.iter().map(parameter).collect::<Result<Vec<_>>>();
        let parameters = parameters.map_err(|error| ExecutionError::Internal(error.to_string()))?;
        let done = move |result| drop(sender.send(result));
        let enough = if self.shape.needs_uniqueness_check.is_empty() { self.wanted.enough() } else { None };
        let mut given = Vec::new();
        for (plan, ExternalInput { columns, .. }) in self.given().into_iter().zip(&self.shape.given) {
            given.push(gathered(plan, columns, context, strings, &memory).await?);
        }
        let top = self.wanted.first();
        let read = Arc::clone(&self.read);
        let input = QueryInputs { scans: sources, given, parameters, functions, enough, top, morsels, isa, read };
        let _stopper = Arc::clone(query).run(input, pool, *workers, memory, done);
        let none = || ExecutionError::Internal("pipelines ended without an answer".to_owned());
        receiver.await.unwrap_or_else(|_| Err(none()))
    }

    /// The batches, from the pipelines or, when they can't, from what they replaced.
    async fn rows(self: Arc<Self>, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let Some((rows, batches, report)) = self.answered(&context, None).await? else {
            return self.rows_of_fallback(context);
        };
        self.tell(report, &context);
        BaselineMetrics::new(&self.metrics, 0).record_output(rows);
        let schema = Arc::clone(&self.shape.schema);
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, stream::iter(batches))))
    }

    /// How many rows the pipelines give, of all records or of these morsels', and the rows batch by batch. `None` when they
    /// can't give any.
    pub(super) async fn answered(
        &self,
        context: &Arc<TaskContext>,
        morsels: Option<Range<usize>>,
    ) -> Result<Option<(usize, BatchIterator, Report)>> {
        let baseline = BaselineMetrics::new(&self.metrics, 0);
        let timer = baseline.elapsed_compute().timer();
        let CompiledShape { outputs, needs_uniqueness_check, schema, .. } = &*self.shape;
        let sources = self.sources()?;
        let isa = sources.first().map_or_else(Isa::best, |source| source.scan.isa());
        let strings = Arc::<InternedStrings>::default();
        let reservation = MemoryConsumer::new("CompiledExec").register(context.memory_pool());
        let memory = Arc::new(Reserved(Mutex::new(reservation)));
        let (rows, mut report) = match self.answer(sources, &strings, isa, (context, &memory), morsels).await {
            Ok(answer) => answer,
            Err(ExecutionError::Overflow | ExecutionError::OutOfMemory(_) | ExecutionError::Unsupported(_)) => {
                return memory.nothing();
            }
            Err(error) => return Err(crate::Error::from(error).into()),
        };
        for output in needs_uniqueness_check {
            if !are_distinct(&rows, &outputs[*output], isa)? {
                return memory.nothing();
            }
        }
        if memory.grow(self.wanted.bytes(rows.rows)).is_err() {
            return memory.nothing();
        }
        // Nothing was given back so far.
        report.memory = memory.bytes();
        let is_placed = self.shape.is_placed();
        let (pool, workers) = (&self.shape.pool, self.shape.workers);
        let text = |rows: &Rows, output: usize| array(&outputs[output], rows, &strings, isa);
        let (rows, places) = self
            .wanted
            .of(rows, is_placed, (pool, workers), text, |rows, texts| ranked(rows, outputs, texts, &strings, isa))?;
        memory.keep(rows.bytes() + places.bytes());
        timer.done();
        let given = places.len();
        let (outputs, schema) = (outputs.clone(), Arc::clone(schema));
        let batch_rows = context.session_config().batch_size().max(1);
        let wanted = WantedRows { rows, places, outputs, schema, strings, isa };
        let batches = ResultBatches::new(wanted, Arc::clone(pool), workers);
        // The rows are the query's until the last of them was given.
        let batches = batches.flat_map(move |batch| {
            let _memory = &memory;
            parts(batch, batch_rows)
        });
        Ok(Some((given, Box::new(batches), report)))
    }

    /// The rows by the operators that were replaced.
    fn rows_of_fallback(&self, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        MetricBuilder::new(&self.metrics).counter("left_to_datafusion", 0).add(1);
        let config = context.session_config().options();
        // Later rules keep an order only where something asks for it.
        let ordered = self.wanted.over(reset_plan_states(Arc::clone(&self.shape.fallback))?);
        let mut plan = OutputRequirements::new_add_mode().optimize(ordered, config)?;
        for rule in self.shape.rest.iter() {
            plan = rule.optimize(plan, config)?;
        }
        execute_stream(plan, context)
    }

    /// Tells EXPLAIN ANALYZE, and the statement's stopwatch how long code was made.
    pub(super) fn tell(&self, report: Report, context: &TaskContext) {
        CompileClock::add(context, report.compiled_now);
        let counter = |name, value| MetricBuilder::new(&self.metrics).counter(name, 0).add(value);
        counter("records", report.records);
        counter("loops", report.loops);
        counter("code_bytes", report.code_bytes);
        let time = |name, time| MetricBuilder::new(&self.metrics).subset_time(name, 0).add_duration(time);
        time("compile_time".to_owned(), report.compile_time);
        for (number, pipeline) in report.pipelines.iter().enumerate() {
            let table = pipeline.table.map_or_else(String::new, |table| format!("_{table}"));
            time(format!("pipeline{number}_time"), pipeline.time);
            let rows = format!("pipeline{number}_rows{table}");
            MetricBuilder::new(&self.metrics).counter(rows, 0).add(pipeline.rows);
            let stages = format!("pipeline{number}_{}_stages", pipeline.ran);
            MetricBuilder::new(&self.metrics).counter(stages, 0).add(pipeline.stages);
            let own = |name: &str, value| {
                let name = format!("pipeline{number}_{name}");
                MetricBuilder::new(&self.metrics).counter(name, 0).add(value);
            };
            own("loops", pipeline.loops);
            own("code_bytes", pipeline.code_bytes);
            time(format!("pipeline{number}_compile_time"), pipeline.compile_time);
            pipeline.chosen.iter().for_each(|(name, size)| own(name, *size));
            if let Some(reads) = &pipeline.reads {
                own(&format!("reads_by_{}", reads.way), reads.reads as usize);
                own("read_bytes", reads.bytes as usize);
                own("read_mb_per_s", reads.megabytes_per_second() as usize);
                time(format!("pipeline{number}_read_time"), reads.elapsed);
                time(format!("pipeline{number}_read_waited"), reads.waited);
                time(format!("pipeline{number}_read_computed"), reads.computed);
            }
            if let (Some(notes), false) = (&self.shape.notes, pipeline.code.is_empty()) {
                notes.code(number, &pipeline.code);
            }
        }
        match &mut *self.told.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(told) => told.add(report),
            told => *told = Some(report),
        }
    }
}

/// The value of an expression that is the same for all records of this run.
fn parameter(expression: &Arc<dyn PhysicalExpr>) -> Result<Option<i128>> {
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let batch = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)?;
    let value = ScalarValue::try_from_array(&expression.evaluate(&batch)?.into_array(1)?, 0)?;
    let logical_type = LogicalType::from_arrow("", &value.data_type()).map_err(crate::Error::from)?;
    match datum(&value, &logical_type) {
        Some(Datum::Integer(value)) => Ok(Some(value)),
        Some(Datum::Float(value)) => Ok(Some(ordered(value.get()).into())),
        Some(Datum::Null) => Ok(None),
        _ => internal_err!("the value {value} where a number was promised"),
    }
}

/// A batch in parts of at most `rows`.
fn parts(batch: crate::Result<RecordBatch>, rows: usize) -> Vec<Result<RecordBatch>> {
    let batch = match batch {
        Ok(batch) => batch,
        Err(error) => return vec![Err(error.into())],
    };
    let starts = (0..batch.num_rows()).step_by(rows);
    starts.map(|start| Ok(batch.slice(start, rows.min(batch.num_rows() - start)))).collect()
}

impl DisplayAs for CompiledExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CompiledShape { query, schema, .. } = &*self.shape;
        let pipelines = query.query().pipelines.len();
        match format {
            DisplayFormatType::TreeRender => writeln!(f, "mode={}\npipelines={pipelines}", query.mode()),
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                let names: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
                let choices: String = query.choices().iter().map(|choice| format!("; {choice}")).collect();
                let come = if self.shape.by_morsel { " as they come" } else { "" };
                let (mode, query, wanted, names) = (query.mode(), query.query(), &self.wanted, names.join(", "));
                write!(f, "CompiledExec: mode={mode}, {query}{come}{wanted}: [{names}]{choices}")
            }
        }
    }
}

impl ExecutionPlan for CompiledExec {
    fn name(&self) -> &str {
        "CompiledExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.inputs.iter().collect()
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        // It takes morsels itself.
        vec![false; self.inputs.len()]
    }

    fn apply_expressions(
        &self,
        _visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let scans = children.iter().take(self.shape.scans.len()).all(|child| child.is::<ScanExec>());
        if children.len() != self.inputs.len() || !scans {
            return internal_err!("pipelines over {} inputs were given something else", self.inputs.len());
        }
        Ok(Arc::new(self.over(children)))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(self.over(self.inputs.clone())))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let (metrics, read, told) = (self.metrics.clone(), Arc::clone(&self.read), Arc::clone(&self.told));
        let run = Arc::new(Self { metrics, read, told, ..self.over(self.inputs.clone()) });
        if self.shape.by_morsel {
            return run.by_morsel(partition, context);
        }
        if partition != 0 {
            return internal_err!("a pipeline has one partition, not {partition}");
        }
        let rows = stream::once(run.rows(context)).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.shape.schema), rows.boxed())))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn partition_statistics(&self, _partition: Option<usize>) -> Result<Arc<Statistics>> {
        Ok(Arc::new(Statistics::new_unknown(&self.shape.schema)))
    }

    fn gather_filters_for_pushdown(
        &self,
        _phase: FilterPushdownPhase,
        parents: Vec<Arc<dyn PhysicalExpr>>,
        _config: &ConfigOptions,
    ) -> Result<FilterDescription> {
        let child = ChildFilterDescription::all_unsupported(&parents);
        Ok(self.inputs.iter().fold(FilterDescription::new(), |all, _| all.with_child(child.clone())))
    }
}
