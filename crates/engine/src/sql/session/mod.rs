//! The syntax of statements about the session: settings, transactions, cursors and what clients of PostgreSQL send besides. The
//! parser knows other databases' forms of them, and lacks most of PostgreSQL's.
//!
//! | file | what |
//! |---|---|
//! | `reader` | words and names, one after the other |
//! | `settings` | SET, RESET, SHOW, DISCARD |
//! | `transactions` | BEGIN, ABORT, SET TRANSACTION, LOCK TABLE |
//! | `cursors` | DECLARE, FETCH, MOVE, CLOSE |

mod cursors;
mod reader;
mod settings;
mod transactions;

pub(crate) use cursors::{Count, Declare, Fetch};
pub(crate) use settings::{Discarded, SetScope};

use crate::settings::TransactionModes;
use crate::sql::session::reader::Reader;
use crate::{Error, Result};
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::ast::ObjectName;
use datafusion::sql::sqlparser::parser::Parser;
use gingham_storage::{Problem, SqlState};
use std::fmt;

/// A statement about the session.
#[derive(Debug, Clone)]
pub(crate) enum SessionStatement {
    /// SET; without a value `SET name TO DEFAULT`.
    Set { scope: SetScope, name: String, value: Option<String> },
    /// RESET of a setting, or of all.
    Reset(Option<String>),
    /// SHOW of a setting, or of all.
    Show { name: Option<String>, verbose: bool },
    /// DISCARD.
    Discard(Discarded),
    /// SET CONSTRAINTS: all are checked at once, none is deferred.
    SetConstraints { deferred: bool },
    /// BEGIN and START TRANSACTION; `immediate` takes the turn to write at once.
    Begin { immediate: bool, modes: TransactionModes },
    /// SET TRANSACTION, and SET SESSION CHARACTERISTICS AS TRANSACTION when `session`.
    SetTransaction { session: bool, modes: TransactionModes },
    /// COMMIT, END, ROLLBACK and ABORT, of the whole transaction.
    End { commit: bool, chain: bool },
    /// LOCK TABLE.
    Lock { tables: Vec<ObjectName>, nowait: bool },
    /// DECLARE … CURSOR.
    Declare(Box<Declare>),
    /// FETCH, and MOVE, which tells the number of rows alone.
    Fetch(Fetch),
    /// CLOSE of a cursor, or of all.
    Close(Option<String>),
    /// LISTEN and UNLISTEN, `None` for all channels: nobody can notify.
    Listen { stop: bool },
    /// ANALYZE, and VACUUM ANALYZE.
    Analyze(Analyze),
}

/// ANALYZE of some tables, or of all when there are none.
#[derive(Debug, Clone)]
pub(crate) struct Analyze {
    pub(crate) tables: Vec<ObjectName>,
    /// It stands behind VACUUM, which is done too.
    pub(crate) vacuum: bool,
}

impl SessionStatement {
    /// What the statement is called: PostgreSQL's tag.
    pub(crate) fn command(&self) -> &'static str {
        match self {
            Self::Set { .. } | Self::SetTransaction { .. } => "SET",
            Self::Reset(_) => "RESET",
            Self::Show { .. } => "SHOW",
            Self::Discard(what) => what.command(),
            Self::SetConstraints { .. } => "SET CONSTRAINTS",
            Self::Begin { .. } => "BEGIN",
            Self::End { commit: true, .. } => "COMMIT",
            Self::End { commit: false, .. } => "ROLLBACK",
            Self::Lock { .. } => "LOCK TABLE",
            Self::Declare(_) => "DECLARE CURSOR",
            Self::Fetch(fetch) if fetch.moves => "MOVE",
            Self::Fetch(_) => "FETCH",
            Self::Close(None) => "CLOSE CURSOR ALL",
            Self::Close(Some(_)) => "CLOSE CURSOR",
            Self::Listen { stop: false } => "LISTEN",
            Self::Listen { stop: true } => "UNLISTEN",
            Self::Analyze(Analyze { vacuum: true, .. }) => "VACUUM",
            Self::Analyze(_) => "ANALYZE",
        }
    }
}

impl fmt::Display for SessionStatement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Set { name, value: Some(value), .. } => write!(f, "SET {name} = '{}'", value.replace('\'', "''")),
            Self::Set { name, value: None, .. } => write!(f, "SET {name} TO DEFAULT"),
            Self::Declare(declare) => write!(f, "DECLARE {} CURSOR FOR {}", declare.name, declare.query),
            Self::Fetch(fetch) => write!(f, "{} {}", self.command(), fetch.cursor),
            other => f.write_str(other.command()),
        }
    }
}

/// The statement that the parser stands at, when it is one of these.
pub(crate) fn parse(parser: &mut Parser<'_>) -> Result<Option<SessionStatement>> {
    let mut reader = Reader::of(parser);
    let parsed = match reader.word(0).as_str() {
        "SET" => settings::set(&mut reader),
        "RESET" => settings::reset(&mut reader),
        "SHOW" if settings::is_own_show(&reader) => settings::show(&mut reader),
        "DISCARD" => settings::discard(&mut reader),
        "BEGIN" | "START" => transactions::begin(&mut reader),
        "COMMIT" | "END" | "ABORT" => transactions::end(&mut reader),
        "ROLLBACK" if !transactions::is_to_savepoint(&reader) => transactions::end(&mut reader),
        "LOCK" => transactions::lock(&mut reader),
        "DECLARE" => cursors::declare(&mut reader),
        "FETCH" | "MOVE" => cursors::fetch(&mut reader),
        "CLOSE" => cursors::close(&mut reader),
        "LISTEN" | "UNLISTEN" => listen(&mut reader),
        "ANALYZE" | "ANALYSE" => analyze(&mut reader, false),
        "VACUUM" if is_vacuum_analyze(&reader) => {
            reader.take();
            analyze(&mut reader, true)
        }
        _ => return Ok(None),
    };
    parsed.map(Some)
}

/// `LISTEN channel`, `UNLISTEN channel`, `UNLISTEN *`.
fn listen(reader: &mut Reader<'_, '_>) -> Result<SessionStatement> {
    let stop = reader.word(0) == "UNLISTEN";
    reader.take();
    if !(stop && reader.eat_symbol("*")) {
        reader.name("a channel")?;
    }
    Ok(SessionStatement::Listen { stop })
}

/// Whether VACUUM is told to do ANALYZE too, by the word or as an option in brackets.
fn is_vacuum_analyze(reader: &Reader<'_, '_>) -> bool {
    reader.word(1) == "ANALYZE" || (reader.is_bracket(1) && (2..8).any(|at| reader.word(at) == "ANALYZE"))
}

/// `ANALYZE [(options)] [VERBOSE] [table [(columns)], …]`, and the same behind VACUUM, which has been passed over.
fn analyze(reader: &mut Reader<'_, '_>, vacuum: bool) -> Result<SessionStatement> {
    if !reader.eat("ANALYZE") {
        reader.eat("ANALYSE");
    }
    reader.skip_brackets();
    reader.eat("VERBOSE");
    let mut tables = Vec::new();
    while !reader.is_at_end() {
        tables.push(reader.object_name()?);
        reader.skip_brackets();
        if !reader.eat_symbol(",") {
            break;
        }
    }
    Ok(SessionStatement::Analyze(Analyze { tables, vacuum }))
}

fn wrong(text: impl Into<String>) -> Error {
    Error::InvalidInput(Problem::new(SqlState::SyntaxError, text))
}

fn of_parser(error: datafusion::sql::sqlparser::parser::ParserError) -> Error {
    DataFusionError::from(error).into()
}
