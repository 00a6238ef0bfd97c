//! Gingham: an embeddable analytical SQL engine that stores each table in the physical layout its workload wants.
//!
//! | file | what |
//! |---|---|
//! | `database`, `connection`, `text`, `load/` | the Rust API |
//! | `bind/` | names resolved: from syntax trees to logical plans |
//! | `published/` | databases published to a folder or a store of objects |
//! | `session/` | what DataFusion is given: catalogs, settings, memory |
//! | `unnest/` | subqueries become joins |
//! | `recursion/` | WITH RECURSIVE, round by round |
//! | `shared/` | rows that a statement computes once for several readers |
//! | `table/` | tables as DataFusion sees them: scans, filters on codes, statistics |
//! | `optimizer/` | the order of joins |
//! | `advisor/` | designs worth trying for a workload, and what each costs, about |
//! | `statements/` | each kind of SQL statement, done or refused by name |
//! | `compile/` | parts of plans as compiled pipelines |
//! | `datafusion/` | fixes of DataFusion, and shortcuts through it; `upstream_texts` reads its errors |
//! | `explain/`, `words` | EXPLAIN as a tree, and expressions in plain words |
//! | `settings/` | `SET gingham.…` |
//! | `lab` | what only experiments have |
//! | `recording/` | the statements that sessions run, kept for the advisor |
//! | `rewrite` | what rules over logical plans share |
//! | `suggest`, `type_name` | the nearest of the names that exist, and types as messages show them |
//! | `sql/` | the text of SQL: parsed, refused, put right |
//! | `arithmetic/` | numbers: overflow is an error, quotients and means, rounding |
//! | `casts/` | casts as PostgreSQL has them |
//! | `equality/` | values that are equal and look different |
//! | `guards/` | what CASE, AND, OR and FILTER guard does not fail |
//! | `temporal/` | dates, times and intervals |
//! | `percentiles/` | percentile_cont, percentile_disc and median |
//! | `functions/`, `windows/` | other functions of ours |
//! | `wire/` | values in the protocol of PostgreSQL |

pub mod advisor;
mod arithmetic;
mod bind;
mod bytes;
mod casts;
mod compile;
mod connection;
mod database;
mod datafusion;
mod equality;
mod error;
mod explain;
mod files;
mod for_arrow;
mod functions;
mod guards;
mod inputs;
#[doc(hidden)]
pub mod lab;
pub mod load;
mod optimizer;
mod percentiles;
mod postgres;
mod published;
mod recording;
mod recursion;
mod rewrite;
mod session;
mod settings;
mod shared;
mod sql;
mod statements;
mod suggest;
mod table;
mod temporal;
mod text;
mod type_name;
mod unnest;
mod upstream_texts;
mod windows;
pub mod wire;
mod words;

pub use ::datafusion::common::ScalarValue;
pub use connection::{
    Appender, CancelHandle, Connection, CopyIn, CopyOut, Prepared, RunningStatement, Transaction, Values,
};
pub use database::{Database, DatabaseOptions};
pub use error::{Error, Result};
pub use for_arrow::require_arrow_times;
pub use functions::built_from;
pub use gingham_storage as storage;
pub use gingham_storage::{Position, Problem, SqlState};
pub use postgres::Role;
pub use published::{PublishOptions, PublishReport, SweepReport, age, is_url};
pub use session::{
    CommandTag, Notice, NoticeListener, Notices, PlanningTimes, QueryResult, SessionInfo, SessionOptions, SessionState,
    Severity, StatementHandle, StatementProgress, StatementTables, TransactionStatus, plain_strings,
};
pub use sql::quoted::quoted;
pub use sql::splitter::{ScriptPart, StatementSplitter};
pub use statements::kind::StatementKind;
pub use statements::transfer::stream::CopyStream;
pub use statements::transfer::streams::piece::CopyPiece;
pub use table::readable;
pub use text::as_text;
pub use type_name::type_name;
