//! What DataFusion is given for a connection: a session state, the catalog of one snapshot per statement, settings and
//! memory.
//!
//! | file | what |
//! |---|---|
//! | `engine` | what all sessions of a database share: store, memory, threads |
//! | `state` | the DataFusion session state: rules, functions, settings |
//! | `context` | one statement: pinned snapshots, planning and running |
//! | `object_tables` | comments and sequences as tables |
//! | `system_tables` | what each table is and how it is stored, open transactions, fallbacks |
//! | `external_files` | files that a query reads in place |
//! | `catalog` | schemas, tables and views of a snapshot as DataFusion looks them up |
//! | `pg_catalog` | PostgreSQL's catalog, as far as its clients read it |
//! | `statement_tables` | tables of the program that one statement finds |
//! | `transaction` | transactions over statements, and how a statement writes |
//! | `plans` | plans kept for when a text comes again |
//! | `write_waits` | statements that may wait for the write lock |
//! | `run`, `result` | running a statement on the database's threads, and its rows |
//! | `settings/` | SET, RESET and SHOW |
//! | `ending_tables` | TEMP tables that ON COMMIT changes |
//! | `cursors` | queries whose rows are fetched in portions |
//! | `sequence_defaults` | DEFAULTs that ask sequences |
//! | `sequences` | how a statement asks sequences for values |
//! | `memory` | DataFusion's memory pool over the one memory limit |
//! | `cancel`, `progress` | cancelling, and how far a statement is |
//! | `explaining` | what EXPLAIN sees of a statement |
//! | `times` | how long a statement is planned |
//! | `notices` | what statements have to say besides their results |

mod cancel;
mod catalog;
mod context;
mod cursors;
mod ending_tables;
mod engine;
mod explaining;
pub(crate) mod external_files;
mod information_schema;
mod memory;
mod notices;
mod object_tables;
mod pg_catalog;
mod plans;
pub(crate) mod progress;
mod result;
mod run;
pub(crate) mod sequence_defaults;
mod sequences;
mod settings;
mod state;
mod statement_tables;
pub(crate) mod system_tables;
mod times;
mod transaction;
mod write_waits;

pub(crate) use crate::settings::{Execution, PlanNotes, Settings};
pub(crate) use crate::sql::literals::make_plannable;
pub(crate) use crate::suggest::did_you_mean;
pub(crate) use cancel::{CancelToken, RunningStatements};
pub use cancel::{StatementHandle, StatementProgress};
pub(crate) use context::{Outcome, StatementContext, TargetTable, names_schema};
pub(crate) use cursors::{CursorOptions, Cursors};
pub(crate) use ending_tables::EndingTables;
pub(crate) use engine::{Engine, blocking, wait};
pub(crate) use explaining::{Explaining, Until};
pub use notices::{Notice, NoticeListener, Notices, Severity};
pub(crate) use plans::CachedPlan;
pub use result::{CommandTag, QueryResult, plain_strings};
pub(crate) use run::{Beginning, Started, finished, finished_change, start, start_in, start_kept};
pub(crate) use sequences::{SequenceAccess, SequenceValues};
pub(crate) use settings::{GivenBack, SettingChange, SettingChanges, ShownSetting};
pub(crate) use state::BARE_NAMES;
pub use statement_tables::StatementTables;
pub use times::PlanningTimes;
pub(crate) use times::Stopwatch;
pub use transaction::TransactionStatus;
pub(crate) use transaction::{ReadSet, SessionTransaction, Slot, Use, Writing};

use crate::Result;
use crate::files::Rejects;
use crate::recording::Recording;
use crate::statements::Statement;
use datafusion::catalog::{MemorySchemaProvider, SchemaProvider};
use datafusion::execution::{FunctionRegistry, SessionState};
use datafusion::prelude::SessionConfig;
use gingham_storage::panics::guarded;
use gingham_storage::snapshot::{Snapshot, TableSnapshot};
use gingham_storage::store::Store;
use gingham_storage::{DEFAULT_SCHEMA, SqlState, TableName};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, Weak};

/// The first number of TEMP tables and sequences, which no database has so many of.
const FIRST_TEMP_NUMBER: u64 = 1 << 28;

/// What the clones of a connection share.
pub(crate) struct Session {
    /// The database.
    pub(crate) engine: Arc<Engine>,
    /// Functions, rules and settings; each statement clones it and adds the catalog of its snapshot.
    state: RwLock<SessionState>,
    /// Number of the settings in `state`: no two sets of settings in the process share one.
    settings_number: AtomicU64,
    /// Home of TEMP tables, made when the first one is.
    temp: OnceLock<Arc<Store>>,
    /// External tables of this session (CREATE EXTERNAL TABLE).
    pub(crate) externals: Arc<MemorySchemaProvider>,
    /// Statements of PREPARE, by name.
    pub(crate) prepared: Mutex<BTreeMap<String, Arc<PreparedStatement>>>,
    /// Statements that run now.
    pub(crate) running: Arc<RunningStatements>,
    /// The transaction between BEGIN and COMMIT.
    transaction: Mutex<Slot>,
    /// `gingham.record_workload`, where each statement looks at it.
    pub(crate) records: AtomicBool,
    /// A table that statements find in the place of another.
    stand_in: OnceLock<TableStandIn>,
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
}

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
        let state = state::template(&engine);
        let engine_settings = engine.settings_number;
        let rejects = Rejects::default();
        let notices = Notices::new(rejects.clone());
        Arc::new_cyclic(|own| Self {
            engine,
            state: RwLock::new(with_functions(state, own)),
            settings_number: AtomicU64::new(engine_settings),
            temp: OnceLock::new(),
            externals: Arc::new(MemorySchemaProvider::new()),
            prepared: Mutex::default(),
            running: Arc::default(),
            transaction: Mutex::default(),
            records: AtomicBool::new(false),
            stand_in: OnceLock::new(),
            rejects,
            sequence_values: SequenceValues::default(),
            ending_tables: EndingTables::default(),
            notices,
            cursors: Cursors::default(),
        })
    }

    /// Pins the latest snapshots, or those of the transaction, for something that writes: a transaction takes the turn first. Blocks.
    pub(crate) fn begin_writing(self: &Arc<Self>, cancel: CancelToken) -> Result<StatementContext> {
        let context = self.begin(cancel)?;
        if self.is_read_only() {
            return Err(read_only("write"));
        }
        match &context.transaction {
            Some(open) if !open.writes() => {
                open.take_turn(&self.engine.store, &context.write_options())?;
                self.begin(context.cancel)
            }
            _ => Ok(context),
        }
    }

    /// Pins the latest snapshots, or those of the transaction, for one statement without tables of its own.
    pub(crate) fn begin(self: &Arc<Self>, cancel: CancelToken) -> Result<StatementContext> {
        self.begin_with(cancel, StatementTables::new())
    }

    /// Pins the latest snapshots, or those of the transaction, for one statement that finds `tables`, too.
    pub(crate) fn begin_with(
        self: &Arc<Self>,
        cancel: CancelToken,
        tables: StatementTables,
    ) -> Result<StatementContext> {
        guarded(|| {
            let context = StatementContext::new(Arc::clone(self), cancel, tables, true)?;
            context.require_live()?;
            Ok(context)
        })
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

    /// Looks at the settings.
    pub(crate) fn with_settings<R>(&self, look: impl FnOnce(&Settings) -> R) -> R {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        match state.config_options().extensions.get::<Settings>() {
            Some(settings) => look(settings),
            None => look(&Settings::of(state.config_options())),
        }
    }

    /// Looks at the configuration.
    fn with_config<R>(&self, look: impl FnOnce(&SessionConfig) -> R) -> R {
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

/// The state with the functions that know their session.
fn with_functions(mut state: SessionState, session: &Weak<Session>) -> SessionState {
    for function in settings::functions(session) {
        // There is none of the name before.
        drop(state.register_udf(function));
    }
    state
}

/// The error of a statement that may not write.
pub(crate) fn read_only(what: &str) -> crate::Error {
    let text = format!("{what} can't run in a transaction that is READ ONLY");
    crate::Error::invalid(SqlState::ReadOnlySqlTransaction, text)
}
