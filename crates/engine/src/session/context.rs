//! One statement: the snapshots that it sees, planning against them, and running.

use crate::bind::{BoundMerge, BoundQuery, Instead, Lookup, MergeShape, bind, bind_merge};
use crate::compile::CompileClock;
use crate::datafusion::cancellation::StopSignal;
use crate::session::catalog::{Catalogs, Planned, SessionOnly, unknown_catalog};
use crate::session::pg_catalog::StatementNames;
use crate::session::state::{BARE_NAMES, CATALOG};
use crate::session::{
    CancelToken, Explaining, Notice, PlanNotes, PlanningTimes, ReadSet, SequenceAccess, Session, Settings, Severity,
    StatementTables, Stopwatch, Use,
};
use crate::session::{Until, Writing, progress};
use crate::settings::ClientSettings;
use crate::shared::{KeepsPlans, SharedRuns};
use crate::sql::literals::make_plannable;
use crate::sql::postgres::show_items;
use crate::upstream_texts::is_lost_order;
use crate::{Error, Result};
use arrow::datatypes::DataType;
use chrono::SubsecRound;
use datafusion::common::{ParamValues, TableReference};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::{SendableRecordBatchStream, SessionState, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::explain::ExplainExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::prelude::SessionConfig;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{Query, Statement as Sql};
use futures::StreamExt;
use gingham_storage::snapshot::{Snapshot, TableSnapshot};
use gingham_storage::store::{Store, Waited, WriteOptions};
use gingham_storage::{DEFAULT_SCHEMA, SqlState, TableDefinition, TableName};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What a statement gives.
pub(crate) enum Outcome {
    /// Rows.
    Rows(SendableRecordBatchStream),
    /// The number of records that it inserted, loaded or removed.
    Affected(u64),
    /// Nothing to tell.
    Done,
}

/// One statement in progress. Everything that it reads is of the snapshots pinned here.
#[derive(Debug, Clone)]
pub(crate) struct StatementContext {
    /// The session that runs the statement.
    pub(crate) session: Arc<Session>,
    /// Session state whose catalog is that of the pinned snapshots.
    pub(crate) state: Arc<SessionState>,
    /// The database at the statement's start.
    pub(crate) snapshot: Arc<Snapshot>,
    /// TEMP tables at the statement's start.
    pub(crate) temp: Option<Arc<Snapshot>>,
    /// The tables that came with the statement.
    pub(crate) tables: StatementTables,
    /// The files that it names are the program's own, made for it.
    pub(crate) owns_files: bool,
    /// The statement's text, when it is one that a plan may be kept for.
    pub(crate) text: Option<Arc<str>>,
    /// The types that a client says its parameters have, `None` for those that are open. Only a statement that is described has them;
    /// one that runs has values.
    pub(crate) parameter_types: Option<Arc<[Option<DataType>]>>,
    /// The text of the prepared statement that it is an execution of, when that is a query.
    pub(crate) prepared: Option<Arc<str>>,
    /// Number of the session's settings in `state`.
    pub(crate) settings_number: u64,
    /// Tells when to stop: check it in loops that do not await.
    pub(crate) cancel: CancelToken,
    /// Takes the time of its planning.
    pub(crate) watch: Arc<Stopwatch>,
    /// What EXPLAIN sees of it, when it is explained.
    pub(crate) explaining: Option<Arc<Explaining>>,
    /// Its part in the session's transaction.
    pub(crate) transaction: Option<Arc<Use>>,
    /// Where it notes which tables it reads of the database, in a transaction that may have to know.
    read_set: Option<Arc<ReadSet>>,
    /// Why no statement but the one that ends it can be in the session's transaction.
    ended: Option<Error>,
    /// Others write, and records that they may change are passed over: SKIP LOCKED.
    pub(crate) skips_locked: bool,
    /// How long it has waited to write.
    pub(super) waited: Waited,
    /// Set once the statement runs: see `Visible` of the catalog.
    listing: Arc<AtomicBool>,
    /// What names of tables stand for.
    catalogs: Arc<Catalogs>,
    /// The catalog that functions ask.
    names: Arc<StatementNames>,
}

/// Whether a reference names a schema, as `public.t` does: then it means no TEMP table.
pub(crate) fn names_schema(reference: &TableReference) -> bool {
    reference.schema().is_some_and(|schema| schema != BARE_NAMES)
}

/// A table that a statement changes.
#[derive(Debug, Clone)]
pub(crate) struct TargetTable {
    /// Where it is kept.
    pub(crate) store: Arc<Store>,
    /// Its state in the statement's snapshot.
    pub(crate) table: Arc<TableSnapshot>,
}

impl StatementContext {
    /// Pins the latest snapshots, or those of the session's transaction.
    /// A statement that neither `reads` nor writes the database leaves the transaction free to begin at a later commit.
    pub(super) fn new(
        session: Arc<Session>,
        cancel: CancelToken,
        tables: StatementTables,
        reads: bool,
    ) -> Result<Self> {
        let (transaction, ended) = session.enter_transaction();
        let context = Self::within(session, cancel, tables, transaction, reads)?;
        Ok(Self { ended, ..context })
    }

    /// The snapshots of a transaction, or the latest.
    pub(super) fn within(
        session: Arc<Session>,
        cancel: CancelToken,
        tables: StatementTables,
        transaction: Option<Arc<Use>>,
        reads: bool,
    ) -> Result<Self> {
        let temp = session.existing_temp_store();
        let (snapshot, temp) = match &transaction {
            Some(open) => {
                (open.snapshot(&session.engine.store, reads)?, temp.map(|store| open.temp_snapshot(store)).transpose()?)
            }
            None => (session.engine.store.pinned()?, temp.map(|store| store.pinned()).transpose()?),
        };
        let snapshot = session.seen(snapshot);
        let read_set = transaction.as_ref().and_then(|open| open.reads());
        let (mut state, settings_number) = session.statement_state();
        let listing = Arc::new(AtomicBool::new(false));
        let catalogs = Catalogs::of_statement(
            Arc::clone(&session),
            Arc::clone(&snapshot),
            SessionOnly { temp: temp.clone(), tables: tables.clone() },
            Arc::clone(&listing),
            Vec::new(),
            state.config(),
        )
        .noting(read_set.clone());
        let names = StatementNames::new(catalogs.visible().seen(), &cancel);
        let own = Settings::of(state.config_options());
        let sequences = SequenceAccess::new(&session, transaction.as_ref(), own.write_options());
        let settings = Settings {
            fallbacks: Arc::default(),
            catalog: Some(Arc::downgrade(&names) as _),
            sequences: Some(Arc::new(sequences)),
            ..own
        };
        state.config_mut().options_mut().extensions.insert(settings);
        state.register_catalog_list(Arc::clone(&catalogs) as _);
        state.mark_start_execution();
        let start = &mut state.execution_props_mut().query_execution_start_time;
        let moment = transaction.as_ref().map_or(*start, |open| Some(open.moment));
        // What a column keeps of it is it, and no later.
        *start = moment.map(|moment| moment.trunc_subsecs(6));
        let state = Arc::new(state);
        let watch = Arc::new(Stopwatch::start());
        let (text, ended, waited) = (None, None, Waited::default());
        Ok(Self {
            session,
            state,
            snapshot,
            temp,
            tables,
            owns_files: false,
            prepared: None,
            text,
            parameter_types: None,
            settings_number,
            cancel,
            watch,
            explaining: None,
            transaction,
            read_set,
            ended,
            skips_locked: false,
            waited,
            listing,
            catalogs,
            names,
        })
    }

    /// Errors when the session's transaction was rolled back, so that it takes no more statements.
    pub(crate) fn require_live(&self) -> Result<()> {
        self.ended.clone().map_or(Ok(()), Err)
    }

    /// Says something besides the result.
    pub(crate) fn say(&self, severity: Severity, sqlstate: SqlState, text: impl Into<String>) {
        self.session.notices.say(Notice { severity, sqlstate, text: text.into() });
    }

    /// How it waits and commits when it writes.
    pub(crate) fn write_options(&self) -> WriteOptions {
        WriteOptions { waited: self.waited.clone(), ..self.settings().write_options() }
    }

    /// How the statement writes.
    pub(crate) fn writing(&self) -> Writing {
        Writing::new(self)
    }

    /// This statement once its transaction has the turn to write, or, outside of one, once nobody else has it. It sees the newest
    /// commit. With `nowait` it fails when others have the turn.
    pub(super) async fn with_turn(self, nowait: bool) -> Result<Self> {
        let store = Arc::clone(&self.session.engine.store);
        let mut options = self.write_options();
        if nowait {
            options.lock_timeout = Some(Duration::ZERO);
        }
        let (own, open, wanted) = (Arc::clone(&store), self.transaction.clone(), options.clone());
        let take = move || match open {
            Some(open) => open.take_turn(&own, &wanted),
            None => {
                own.begin(&wanted, None)?.roll_back();
                Ok(())
            }
        };
        self.in_line_by(&store, &options, take).await?;
        let (session, transaction) = (Arc::clone(&self.session), self.transaction.clone());
        let newest = Self::within(session, self.cancel, self.tables, transaction, true)?;
        Ok(Self { waited: self.waited, watch: self.watch, owns_files: self.owns_files, text: self.text, ..newest })
    }

    /// This statement, which passes over records that others may change.
    pub(super) fn skipping_locked(self) -> Self {
        Self { skips_locked: true, ..self }
    }

    /// Notes that lists of what is in the database are read.
    pub(crate) fn reads_catalog(&self) {
        self.read_set.iter().for_each(|own| own.note_everything());
    }

    /// This statement, in which no view may lead to view `name`: it is being defined. It sees no tables of the statement, which
    /// the view would outlast.
    pub(crate) fn defining(&self, name: TableName, temporary: bool) -> Self {
        self.seeing(StatementTables::new(), vec![Planned { name, temporary }])
    }

    /// This statement with other tables of its own.
    pub(crate) fn with_tables(&self, tables: StatementTables) -> Self {
        self.seeing(tables, Vec::new())
    }

    fn seeing(&self, tables: StatementTables, planning: Vec<Planned>) -> Self {
        let mut state = (*self.state).clone();
        let (session, snapshot) = (Arc::clone(&self.session), Arc::clone(&self.snapshot));
        let (own, listing) =
            (SessionOnly { temp: self.temp.clone(), tables: tables.clone() }, Arc::clone(&self.listing));
        let catalogs = Catalogs::of_statement(session, snapshot, own, listing, planning, state.config());
        let catalogs = catalogs.noting(self.read_set.clone());
        state.register_catalog_list(Arc::clone(&catalogs) as _);
        Self { state: Arc::new(state), catalogs, tables, ..self.clone() }
    }

    /// Whether a reference means a table that came with the statement: one that names no schema, since those have none.
    pub(crate) fn is_given(&self, reference: &TableReference) -> bool {
        !names_schema(reference) && self.tables.has(reference.table())
    }

    /// This statement as one that is explained.
    pub(crate) fn explained(&self, until: Until) -> (Self, Arc<Explaining>) {
        let explaining = Arc::new(Explaining::new(until, self.state.runtime_env()));
        let mut own = Self { explaining: Some(Arc::clone(&explaining)), ..self.clone() };
        if own.is_planned_only() {
            own.state = Arc::new(self.without_sequences());
        }
        (own, explaining)
    }

    /// The state of a statement that is not run, which takes no values of sequences.
    fn without_sequences(&self) -> SessionState {
        let mut state = (*self.state).clone();
        let settings = self.settings();
        let sequences = settings.sequences.as_ref().map(|access| access.planned());
        state.config_mut().options_mut().extensions.insert(Settings { sequences, ..settings });
        let start = state.execution_props().query_execution_start_time;
        state.mark_start_execution();
        state.execution_props_mut().query_execution_start_time = start;
        state
    }

    /// This statement as one that is not explained: a part of it that is computed first.
    pub(crate) fn not_explained(&self) -> Self {
        Self { explaining: None, ..self.clone() }
    }

    /// Whether it is explained, and not run.
    pub(crate) fn is_planned_only(&self) -> bool {
        self.explaining.as_ref().is_some_and(|explaining| !explaining.runs())
    }

    /// This statement, with what EXPLAIN notes of it.
    pub(crate) fn noting(&self) -> (Self, Arc<PlanNotes>) {
        let (mut state, notes) = ((*self.state).clone(), Arc::new(PlanNotes::default()));
        let settings = Settings { notes: Some(Arc::clone(&notes)), ..self.settings() };
        state.config_mut().options_mut().extensions.insert(settings);
        (Self { state: Arc::new(state), ..self.clone() }, notes)
    }

    /// The settings of the session at the statement's start.
    pub(crate) fn settings(&self) -> Settings {
        Settings::of(self.state.config_options())
    }

    /// Schema and name that a reference means: without a schema, those of the first one of `search_path` that has it. Errors on
    /// another catalog.
    pub(crate) fn name(&self, reference: &TableReference) -> Result<TableName> {
        let (schema, table) = self.resolved(reference)?;
        if let Some(schema) = schema {
            return Ok(TableName { schema, table });
        }
        let named = |schema: &str| TableName { schema: schema.to_owned(), table: table.clone() };
        let has = |snapshot: &Snapshot, name: &TableName| snapshot.has_table(name) || snapshot.views.contains_key(name);
        let own = named(DEFAULT_SCHEMA);
        let client = ClientSettings::of(self.state.config());
        let is_own = self.temp.as_ref().is_some_and(|temp| has(temp, &own));
        let Some(path) = client.search_path().filter(|_| !is_own) else { return Ok(own) };
        let found = path.iter().map(|schema| named(schema)).find(|name| has(&self.snapshot, name));
        match found {
            Some(found) => Ok(found),
            None => self.new_name(reference, false),
        }
    }

    /// Schema and name that something gets which is made under a reference: without a schema, the first one of `search_path` that there
    /// is. What is `temporary` has no schema of its own.
    pub(crate) fn new_name(&self, reference: &TableReference, temporary: bool) -> Result<TableName> {
        let (schema, table) = self.resolved(reference)?;
        let client = ClientSettings::of(self.state.config());
        let schema = match (schema, client.search_path().filter(|_| !temporary)) {
            (Some(schema), _) => schema,
            (None, None) => DEFAULT_SCHEMA.to_owned(),
            (None, Some(path)) => {
                let known = |schema: &&String| *schema == DEFAULT_SCHEMA || self.snapshot.schemas.contains(*schema);
                path.iter().find(known).cloned().ok_or_else(|| {
                    let text = format!("'{table}' names no schema, and search_path has none that exists");
                    Error::invalid(SqlState::UndefinedSchema, text)
                })?
            }
        };
        Ok(TableName { schema, table })
    }

    /// The schema, where one is named, and the name of a reference.
    fn resolved(&self, reference: &TableReference) -> Result<(Option<String>, String)> {
        let options = &self.state.config_options().catalog;
        let resolved = reference.clone().resolve(&options.default_catalog, &options.default_schema);
        if &*resolved.catalog != CATALOG {
            return Err(unknown_catalog(&resolved.catalog));
        }
        let schema = (&*resolved.schema != BARE_NAMES).then(|| resolved.schema.to_string());
        Ok((schema, resolved.table.to_string()))
    }

    /// Whether a name without a schema stands for a table, a view or a file.
    pub(crate) async fn is_known(&self, name: &str) -> Result<bool> {
        Ok(self.catalogs.visible().look_up(&TableReference::bare(name)).await?.is_some())
    }

    /// Whether there is a table of that name, a TEMP table or another, damaged or not.
    pub(crate) fn has_table(&self, name: &TableName) -> bool {
        self.snapshots().any(|snapshot| snapshot.has_table(name))
    }

    /// Where the table is looked for that a reference means: among TEMP tables first, but only when it names no schema.
    pub(super) fn places(&self, reference: &TableReference) -> impl Iterator<Item = (&Arc<Snapshot>, &Arc<Store>)> {
        let temp = self.temp.as_ref().zip(self.session.existing_temp_store()).filter(|_| !names_schema(reference));
        temp.into_iter().chain([(&self.snapshot, &self.session.engine.store)])
    }

    /// The table that a reference means, `None` when there is none. Fails when it can't be read.
    pub(crate) fn find(&self, reference: &TableReference) -> Result<Option<TargetTable>> {
        let name = self.name(reference)?;
        self.read_set.iter().for_each(|own| own.note(&name));
        for (snapshot, store) in self.places(reference) {
            if let Some(table) = snapshot.table(&name)? {
                return Ok(Some(TargetTable { store: Arc::clone(store), table: Arc::clone(table) }));
            }
        }
        Ok(None)
    }

    /// The table that a reference means. The error of an unknown one suggests a name, that of a view says so.
    pub(crate) fn table(&self, reference: &TableReference) -> Result<TargetTable> {
        let name = self.name(reference)?;
        self.find(reference)?.ok_or_else(|| self.no_table(&name))
    }

    /// The store and the definition of the table that a reference means, for what can be done with one that can't be read.
    pub(crate) fn defined(&self, reference: &TableReference) -> Result<(Arc<Store>, Arc<TableDefinition>)> {
        let name = self.name(reference)?;
        self.read_set.iter().for_each(|own| own.note(&name));
        let mut found =
            self.places(reference).filter_map(|(snapshot, store)| Some((store, snapshot.definition(&name)?)));
        let (store, definition) = found.next().ok_or_else(|| self.no_table(&name))?;
        Ok((Arc::clone(store), Arc::clone(definition)))
    }

    fn no_table(&self, name: &TableName) -> Error {
        let is_view = self.snapshots().any(|snapshot| snapshot.views.contains_key(name));
        if is_view {
            return Error::invalid(SqlState::WrongObjectType, format!("'{name}' is a view, not a table"));
        }
        self.unknown_table(name)
    }

    /// "table 'x' does not exist; did you mean 'y'?"
    pub(crate) fn unknown_table(&self, name: &TableName) -> Error {
        self.catalogs.visible().unknown_table(name)
    }

    /// TEMP tables' snapshot, then the database's.
    fn snapshots(&self) -> impl Iterator<Item = &Snapshot> {
        self.temp.iter().chain([&self.snapshot]).map(AsRef::as_ref)
    }

    /// The logical plan of a statement with `$1`, `$2`, … replaced; not yet optimised. Queries are bound; what is left is
    /// planned by DataFusion.
    pub(crate) async fn plan(&self, statement: Statement, parameters: Option<ParamValues>) -> Result<LogicalPlan> {
        match statement {
            Statement::Statement(statement) => match *statement {
                Sql::Query(query) => Ok(self.bind(*query, parameters).await?.plan),
                other => Ok(self.state.statement_to_plan(Statement::Statement(Box::new(other))).await?),
            },
            other => Ok(self.state.statement_to_plan(other).await?),
        }
    }

    /// The plan of a query and the names of its columns.
    pub(crate) async fn bind(&self, query: Query, parameters: Option<ParamValues>) -> Result<BoundQuery> {
        self.bind_instead(query, Vec::new(), "", parameters).await
    }

    /// The plan of a query in which others stand for the first tables of its FROM, of the statement `verb`.
    pub(crate) async fn bind_instead(
        &self,
        mut query: Query,
        instead: Vec<Instead>,
        verb: &'static str,
        parameters: Option<ParamValues>,
    ) -> Result<BoundQuery> {
        let begun = Instant::now();
        make_plannable(&mut query)?;
        show_items(&mut query.body);
        let lookup = Arc::new(Arc::clone(self.catalogs.visible()));
        let mut bound = bind(&self.state, &mut query, lookup, instead, verb).await?;
        self.watch.note(|times| times.logical += begun.elapsed());
        if let Some(values) = parameters {
            bound.plan = bound.plan.with_param_values(values)?;
        }
        Ok(bound)
    }

    /// The plan of the query of a MERGE.
    pub(crate) async fn bind_merge(
        &self,
        mut query: Query,
        shape: &MergeShape,
        parameters: Option<ParamValues>,
    ) -> Result<BoundMerge> {
        let begun = Instant::now();
        make_plannable(&mut query)?;
        let lookup = Arc::new(Arc::clone(self.catalogs.visible()));
        let mut bound = bind_merge(&self.state, &mut query, lookup, shape).await?;
        self.watch.note(|times| times.logical += begun.elapsed());
        if let Some(values) = parameters {
            bound.plan = bound.plan.with_param_values(values)?;
        }
        Ok(bound)
    }

    /// The plan after all rules.
    pub(crate) fn optimized(&self, plan: LogicalPlan) -> Result<LogicalPlan> {
        Ok(optimized(&self.state, plan)?)
    }

    /// Optimises a logical plan and makes it a physical one.
    pub(crate) async fn physical_plan(&self, plan: LogicalPlan) -> Result<Arc<dyn ExecutionPlan>> {
        let begun = Instant::now();
        let plan = optimized(&self.state, plan)?;
        let optimized = Instant::now();
        let planner = self.state.query_planner();
        let mut made = planner.create_physical_plan(&plan, &*self.state).await;
        // DataFusion pushes sorts into the inputs of a union, and may not see any more that its rows are in order.
        if made.as_ref().is_err_and(|error| is_lost_order(&error.to_string())) {
            let mut state = (*self.state).clone();
            state.config_mut().options_mut().optimizer.repartition_sorts = false;
            made = planner.create_physical_plan(&plan, &state).await;
        }
        let plan = made?;
        self.watch.note(|times: &mut PlanningTimes| {
            times.optimize += optimized - begun;
            times.physical += optimized.elapsed();
        });
        match &self.explaining {
            Some(explaining) => explaining.planned(plan),
            None => Ok(plan),
        }
    }

    /// A plan of the statement is about to run.
    pub(crate) fn starts(&self, plan: &Arc<dyn ExecutionPlan>) {
        progress::watch(&self.cancel, plan);
        if let Some(explaining) = &self.explaining {
            explaining.started(plan);
        }
    }

    /// Runs a logical plan (optimising it first) and gives its rows.
    pub(crate) async fn rows(&self, plan: LogicalPlan) -> Result<SendableRecordBatchStream> {
        let plan = self.physical_plan(plan).await?;
        self.execute(plan)
    }

    /// Starts a physical plan.
    pub(crate) fn execute(&self, plan: Arc<dyn ExecutionPlan>) -> Result<SendableRecordBatchStream> {
        self.listing.store(true, Ordering::Relaxed);
        // EXPLAIN shows a plan, which is not run.
        if !plan.is::<ExplainExec>() {
            self.session.engine.fallbacks.count(&self.settings().fallbacks.take_new());
            self.starts(&plan);
        }
        let rows = execute_stream(plan, self.task())?;
        let Some(names) = self.names.kept() else { return Ok(rows) };
        let schema = rows.schema();
        let rows = rows.map(move |batch| {
            let _kept = &names;
            batch
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }

    /// What operators run with. It has no functions by name, hundreds of them: operators have theirs in their expressions.
    pub(crate) fn task(&self) -> Arc<TaskContext> {
        let state = &*self.state;
        let (mut config, mut environment) = (state.config().clone(), state.runtime_env());
        if let Some(explaining) = &self.explaining {
            config = config.with_extension(Arc::new(KeepsPlans));
            environment = explaining.environment();
        }
        let environment = Arc::clone(environment);
        stoppable(state.session_id().to_owned(), config, environment, (&self.cancel, &self.watch))
    }
}

/// The context of a run that `cancel` stops and `watch` takes the time of.
pub(super) fn stoppable(
    session: String,
    config: SessionConfig,
    environment: Arc<RuntimeEnv>,
    (cancel, watch): (&CancelToken, &Arc<Stopwatch>),
) -> Arc<TaskContext> {
    let cancel = cancel.clone();
    let config =
        config.with_extension(StopSignal::new(move || cancel.is_cancelled())).with_extension(SharedRuns::new());
    let watch = Arc::clone(watch);
    let clock = CompileClock::new(move |time| watch.note(|times| times.compile += time));
    let config = config.with_extension(Arc::new(clock));
    let (scalar, higher, aggregate, window) = Default::default();
    Arc::new(TaskContext::new(None, session, config, scalar, higher, aggregate, window, environment))
}

/// The plan after all rules, as `SessionState::optimize` has it, which would copy all of it first.
fn optimized(state: &SessionState, plan: LogicalPlan) -> datafusion::error::Result<LogicalPlan> {
    // Of an EXPLAIN, what each rule made of the plan is kept.
    if let LogicalPlan::Explain(_) = plan {
        return state.optimize(&plan);
    }
    let plan = state.analyzer().execute_and_check(plan, state.config_options(), |_, _| {})?;
    state.optimizer().optimize(plan, state, |_, _| {})
}
