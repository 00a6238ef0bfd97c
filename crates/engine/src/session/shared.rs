//! The session: what the clones of a connection share.

use crate::Result;
use crate::files::Rejects;
use crate::recording::Recording;
use crate::session::advisory_locks::HeldLocks;
use crate::session::cursors::Cursors;
use crate::session::ending_tables::EndingTables;
use crate::session::engine::Engine;
use crate::session::identity::Identity;
use crate::session::idle_watch::IdleWatch;
use crate::session::notices::Notices;
use crate::session::options::SessionOptions;
use crate::session::registry::ListedSession;
use crate::session::running::RunningStatements;
use crate::session::sequence_values::SequenceValues;
use crate::session::statement_tables::StatementTables;
use crate::session::transaction::Slot;
use crate::session::{settings, state};
use crate::settings::Settings;
use crate::statements::Statement;
use datafusion::catalog::{MemoryCatalogProviderList, MemorySchemaProvider, SchemaProvider};
use datafusion::execution::{FunctionRegistry, SessionState};
use datafusion::logical_expr::ScalarUDF;
use datafusion::prelude::SessionConfig;
use gingham_storage::snapshot::{Snapshot, TableSnapshot};
use gingham_storage::store::Store;
use gingham_storage::{DEFAULT_SCHEMA, TableName};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, Weak};

/// The first number of TEMP tables and sequences, which no database has so many of.
const FIRST_TEMP_NUMBER: u64 = 1 << 28;

/// What the clones of a connection share.
pub(crate) struct Session {
    /// The database.
    pub(crate) engine: Arc<Engine>,
    /// Whose it is, and what it may do.
    pub(crate) identity: Identity,
    /// Functions, rules and settings; each statement clones it and adds the catalog of its snapshot.
    pub(super) state: RwLock<SessionState>,
    /// The state of a statement that has ended, for the next one, and the number of its settings. Hundreds of functions by name are
    /// copied for as long as a short statement runs.
    spare: Mutex<Option<(SessionState, u64)>>,
    /// Number of the settings in `state`: no two sets of settings in the process share one.
    pub(super) settings_number: AtomicU64,
    /// Home of TEMP tables, made when the first one is.
    pub(super) temp: OnceLock<Arc<Store>>,
    /// External tables of this session (CREATE EXTERNAL TABLE).
    pub(crate) externals: Arc<MemorySchemaProvider>,
    /// Statements of PREPARE, by name.
    pub(crate) prepared: Mutex<BTreeMap<String, Arc<PreparedStatement>>>,
    /// Statements that run now.
    pub(crate) running: Arc<RunningStatements>,
    /// The transaction between BEGIN and COMMIT.
    pub(super) transaction: Mutex<Slot>,
    /// Who looks after transactions that stand still.
    pub(super) idle_watch: IdleWatch,
    /// The settings that it began with, where it was given some.
    pub(super) defaults: OnceLock<SessionDefaults>,
    /// `gingham.record_workload`, where each statement looks at it.
    pub(crate) records: AtomicBool,
    /// A table that statements find in the place of another.
    pub(super) stand_in: OnceLock<TableStandIn>,
    /// Records of files that the last statement passed over which was to ignore errors.
    pub(crate) rejects: Rejects,
    /// What the session has got of sequences.
    pub(crate) sequence_values: SequenceValues,
    /// TEMP tables that change when a transaction ends.
    pub(crate) ending_tables: EndingTables,
    /// What statements say besides their results.
    pub(crate) notices: Notices,
    /// Queries whose rows are fetched in portions.
    pub(crate) cursors: Cursors,
    /// Advisory locks that it has until it gives them back.
    pub(crate) advisory: HeldLocks,
}

/// Settings that a session was given when it began, by the names and as the values that they are kept by.
pub(super) type SessionDefaults = BTreeMap<String, String>;

/// A table in the place of another, which has the same columns.
#[derive(Debug)]
pub(crate) struct TableStandIn {
    /// The table that statements name.
    pub(crate) hidden: TableName,
    /// The one that they find.
    pub(crate) stands_in: TableName,
}

/// A statement of PREPARE name AS …, parsed.
#[derive(Debug, Clone)]
pub(crate) struct PreparedStatement {
    /// The statement with its `$1`, `$2`, ….
    pub(crate) statement: Statement,
    /// How many `$1`, `$2`, … it has.
    pub(crate) parameters: usize,
    /// Types given in PREPARE name (type, …), or empty.
    pub(crate) types: Vec<arrow::datatypes::DataType>,
    /// The tables that came with PREPARE.
    pub(crate) tables: StatementTables,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("engine", &self.engine).finish_non_exhaustive()
    }
}

impl Session {
    /// A session with default settings.
    pub(crate) fn new(engine: Arc<Engine>) -> Arc<Self> {
        Self::made(engine, &SessionOptions::default())
    }

    /// A session as `options` say. Fails for settings that there are not, or that are not the session's.
    pub(crate) fn begun(engine: Arc<Engine>, options: &SessionOptions) -> Result<Arc<Self>> {
        let own = Self::made(engine, options);
        own.take_defaults(options)?;
        Ok(own)
    }

    fn made(engine: Arc<Engine>, options: &SessionOptions) -> Arc<Self> {
        let state = state::template(&engine);
        let engine_settings = engine.settings_number;
        let rejects = Rejects::default();
        let notices = Notices::new(rejects.clone());
        let identity = Identity::new(options, &engine.sessions);
        let own = Arc::new_cyclic(|own| Self {
            state: RwLock::new(with_functions(state, own, identity.functions(&engine.recorder))),
            engine,
            identity,
            spare: Mutex::default(),
            settings_number: AtomicU64::new(engine_settings),
            temp: OnceLock::new(),
            externals: Arc::new(MemorySchemaProvider::new()),
            prepared: Mutex::default(),
            running: Arc::default(),
            transaction: Mutex::default(),
            idle_watch: IdleWatch::default(),
            defaults: OnceLock::new(),
            records: AtomicBool::new(false),
            stand_in: OnceLock::new(),
            rejects,
            sequence_values: SequenceValues::default(),
            ending_tables: EndingTables::default(),
            notices,
            cursors: Cursors::default(),
            advisory: HeldLocks::default(),
        });
        let listed: Weak<Self> = Arc::downgrade(&own);
        own.engine.sessions.add(&own.identity.number, listed as Weak<dyn ListedSession>);
        own
    }

    /// Whether statements are recorded.
    pub(crate) fn records(&self) -> bool {
        self.records.load(Ordering::Relaxed)
    }

    /// Begins to record a statement, where they are recorded.
    pub(crate) fn recording(&self, text: impl FnOnce() -> Option<String>) -> Option<Recording> {
        if self.records() { text().map(|text| self.engine.recorder.begin(text)) } else { None }
    }

    /// Lets statements from now on find one table in the place of another. Plans of before are not used again. There can be one.
    pub(crate) fn let_stand_in(&self, stand_in: TableStandIn) -> Result<()> {
        let set = self.stand_in.set(stand_in);
        set.map_err(|_| crate::Error::Internal("a session has one stand-in".into()))?;
        self.change_state(|_| ());
        Ok(())
    }

    /// A snapshot as this session's statements see it.
    pub(crate) fn seen(&self, snapshot: Arc<Snapshot>) -> Arc<Snapshot> {
        match self.stand_in.get() {
            Some(TableStandIn { hidden, stands_in }) => Arc::new(snapshot.with_stand_in(hidden, stands_in)),
            None => snapshot,
        }
    }

    /// The table that the name means to this session, of the database as it was committed last; its heap pages are pinned.
    pub(crate) fn pinned_table(&self, name: &TableName) -> Result<Option<Arc<TableSnapshot>>> {
        let stand_in = self.stand_in.get().filter(|stand_in| stand_in.hidden == *name);
        Ok(self.engine.store.pinned_table(stand_in.map_or(name, |stand_in| &stand_in.stands_in))?)
    }

    /// A copy of the session state, without the catalog of a statement, and the number of its settings.
    pub(crate) fn state(&self) -> (SessionState, u64) {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        (state.clone(), self.settings_number())
    }

    /// As [`state`](Self::state), for a statement, which sets what is its own.
    pub(super) fn statement_state(&self) -> (SessionState, u64) {
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).take();
        spare.filter(|(_, number)| *number == self.settings_number()).unwrap_or_else(|| self.state())
    }

    /// Takes the state of a statement that has ended, unless something has kept it. Nothing stays in it of what the statement saw.
    pub(super) fn take_back(&self, state: Arc<SessionState>, number: u64) {
        let Some(mut state) = Arc::into_inner(state).filter(|_| number == self.settings_number()) else { return };
        state.register_catalog_list(Arc::new(MemoryCatalogProviderList::new()));
        state.config_mut().options_mut().extensions.insert(self.with_settings(Settings::clone));
        // They have the settings, too.
        state.mark_start_execution();
        *self.spare.lock().unwrap_or_else(PoisonError::into_inner) = Some((state, number));
    }

    /// Looks at the settings.
    pub(crate) fn with_settings<R>(&self, look: impl FnOnce(&Settings) -> R) -> R {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        match state.config_options().extensions.get::<Settings>() {
            Some(settings) => look(settings),
            None => look(&Settings::of(state.config_options())),
        }
    }

    /// Looks at the configuration.
    pub(super) fn with_config<R>(&self, look: impl FnOnce(&SessionConfig) -> R) -> R {
        look(self.state.read().unwrap_or_else(PoisonError::into_inner).config())
    }

    /// Number of the settings as they are now.
    pub(crate) fn settings_number(&self) -> u64 {
        self.settings_number.load(Ordering::Acquire)
    }

    /// Changes the session state for the statements that follow.
    pub(crate) fn change_state<R>(&self, change: impl FnOnce(&mut SessionState) -> R) -> R {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        self.settings_number.store(settings::next_number(), Ordering::Release);
        change(&mut state)
    }

    /// The store of TEMP tables, made on first use.
    pub(crate) fn temp_store(&self) -> Result<Arc<Store>> {
        if let Some(store) = self.temp.get() {
            return Ok(Arc::clone(store));
        }
        let store = Store::scratch(Arc::clone(&self.engine.budget))?;
        // So that a number means one thing of this session's.
        store.write(|transaction| transaction.skip_numbers(FIRST_TEMP_NUMBER))?;
        Ok(Arc::clone(self.temp.get_or_init(|| store)))
    }

    /// The store of TEMP tables when there is one.
    pub(crate) fn existing_temp_store(&self) -> Option<&Arc<Store>> {
        self.temp.get()
    }

    /// Names of the tables and views that only this session sees: external, registered and TEMP ones.
    pub(crate) fn own_names(&self) -> Result<Vec<String>> {
        let mut names = self.externals.table_names();
        if let Some(temp) = self.existing_temp_store() {
            let temp = temp.snapshot()?;
            let kept = temp.definitions().map(|(name, _)| name).chain(temp.views.keys());
            names.extend(kept.map(|name| name.table.clone()));
        }
        Ok(names)
    }

    /// Whether only this session sees what it finds under a name.
    pub(crate) fn has_own(&self, name: &TableName) -> Result<bool> {
        if name.schema == DEFAULT_SCHEMA && self.externals.table_exist(&name.table) {
            return Ok(true);
        }
        let Some(temp) = self.existing_temp_store() else { return Ok(false) };
        let temp = match self.open_transaction() {
            Some(open) => open.temp_snapshot(temp)?,
            None => temp.snapshot()?,
        };
        let mut kept = temp.definitions().map(|(name, _)| name).chain(temp.views.keys());
        Ok(kept.any(|own| own.table == name.table))
    }
}

/// The state with the functions that know their session, and those that are this one's alone.
fn with_functions(mut state: SessionState, session: &Weak<Session>, own: Vec<Arc<ScalarUDF>>) -> SessionState {
    for function in settings::functions(session).into_iter().chain(own) {
        // It takes the place of the one of its name, where there is one.
        drop(state.register_udf(function));
    }
    state
}
