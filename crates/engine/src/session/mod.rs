//! What DataFusion is given for a connection: a session state, the catalog of one snapshot per statement, settings and
//! memory.
//!
//! | file | what |
//! |---|---|
//! | `engine` | what all sessions of a database share: store, memory, threads |
//! | `shared` | the session: what the clones of a connection share |
//! | `options`, `identity` | whose a session is, and how it begins |
//! | `rights` | what its user may do |
//! | `registry`, `listed` | the sessions of a database as they see each other |
//! | `state` | the DataFusion session state: rules, functions, settings |
//! | `advisory_locks` | advisory locks, and who has them |
//! | `advisory` | how a session takes them |
//! | `begin` | how a statement begins |
//! | `context` | one statement: pinned snapshots, planning and running |
//! | `object_tables` | comments and sequences as tables |
//! | `system_columns` | columns of system tables as they are filled |
//! | `system_tables` | what each table is and how it is stored, open transactions, fallbacks |
//! | `external_files` | files that a query reads in place |
//! | `catalog` | schemas, tables and views of a snapshot as DataFusion looks them up |
//! | `pg_catalog` | PostgreSQL's catalog, as far as its clients read it |
//! | `statement_tables` | tables of the program that one statement finds |
//! | `transaction` | transactions over statements, and how a statement writes |
//! | `plans` | plans kept for when a text comes again |
//! | `bound_queries`, `prepared_queries` | queries kept for when they come again with other values |
//! | `write_waits` | statements that may wait for the write lock |
//! | `run`, `result` | running a statement on the database's threads, and its rows |
//! | `settings/` | SET, RESET and SHOW |
//! | `ending_tables` | TEMP tables that ON COMMIT changes |
//! | `cursors` | queries whose rows are fetched in portions |
//! | `sequence_defaults` | DEFAULTs that ask sequences |
//! | `sequence_values` | what a session has got of sequences |
//! | `sequences` | how a statement asks sequences for values |
//! | `memory` | DataFusion's memory pool over the one memory limit |
//! | `running` | the statements that a session runs |
//! | `idle_watch` | who looks after transactions that stand still |
//! | `session_tables` | the sessions as a table |
//! | `cancel`, `progress` | cancelling, and how far a statement is |
//! | `explaining` | what EXPLAIN sees of a statement |
//! | `times` | how long a statement is planned |
//! | `notices` | what statements have to say besides their results |

mod advisory;
mod advisory_locks;
mod begin;
mod bound_queries;
mod cancel;
mod catalog;
mod context;
mod cursors;
mod ending_tables;
mod engine;
mod explaining;
pub(crate) mod external_files;
mod identity;
mod idle_watch;
mod information_schema;
mod listed;
mod memory;
mod notices;
mod object_tables;
mod options;
mod pg_catalog;
mod plans;
mod prepared_queries;
pub(crate) mod progress;
mod registry;
mod result;
mod rights;
mod run;
mod running;
pub(crate) mod sequence_defaults;
mod sequence_values;
mod sequences;
mod session_tables;
mod settings;
mod shared;
mod state;
mod statement_tables;
mod system_columns;
pub(crate) mod system_tables;
mod times;
mod transaction;
mod watched_pool;
mod write_waits;

pub(crate) use crate::settings::{Execution, PlanNotes, Settings};
pub(crate) use crate::sql::literals::make_plannable;
pub(crate) use crate::suggest::did_you_mean;
pub(crate) use cancel::CancelToken;
pub use cancel::{StatementHandle, StatementProgress};
pub(crate) use context::{Outcome, StatementContext, TargetTable, names_schema};
pub(crate) use cursors::CursorOptions;
pub(crate) use engine::{Engine, blocking, wait};
pub(crate) use explaining::{Explaining, Until};
pub use notices::{Notice, NoticeListener, Notices, Severity};
pub use options::SessionOptions;
pub(crate) use plans::CachedPlan;
pub use registry::{SessionInfo, SessionState};
pub use result::{CommandTag, QueryResult, plain_strings};
pub(crate) use run::{Beginning, Started, finished, finished_change, start, start_in, start_kept};
pub(crate) use running::RunningGuard;
pub(crate) use sequences::SequenceAccess;
pub(crate) use settings::{GivenBack, SettingChange, SettingChanges, ShownSetting};
pub(crate) use shared::{PreparedStatement, Session, TableStandIn};
pub(crate) use state::BARE_NAMES;
pub use statement_tables::StatementTables;
pub use times::PlanningTimes;
pub(crate) use times::Stopwatch;
pub use transaction::TransactionStatus;
pub(crate) use transaction::{ReadSet, SessionTransaction, Slot, Use, Writing};
