//! The engine's one error type.

use crate::upstream_texts::{blames_itself, is_read_twice, parser_place, plain_words, sql_types, state_of};
use arrow::error::ArrowError;
use datafusion::common::{Column, SchemaError};
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::parser::ParserError;
use gingham_storage::panics::Panic;
use gingham_storage::{Position, Problem, SqlState};
use std::sync::Arc;
use tokio::task::JoinError;

/// Result of every operation of the engine.
///
/// ```
/// fn count(connection: &gingham::Connection) -> gingham::Result<u64> {
///     connection.execute("SELECT * FROM generate_series(1, 3)")
/// }
/// assert_eq!(count(&gingham::Database::in_memory()?.connect())?, 3);
/// # Ok::<(), gingham::Error>(())
/// ```
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a statement or an operation failed.
///
/// ```
/// use gingham::{Database, Error};
///
/// let connection = Database::in_memory()?.connect();
/// connection.execute("CREATE TABLE t (n INT PRIMARY KEY)")?;
/// let fails = |sql| connection.execute(sql).unwrap_err();
/// assert!(matches!(fails("SELEKT 1"), Error::InvalidInput(_)));
/// assert!(matches!(fails("INSERT INTO t VALUES (1), (1)"), Error::Constraint(_)));
/// assert!(matches!(fails("REINDEX"), Error::Unsupported(_)));
/// let unknown = fails("SELECT * FROM tt").to_string();
/// assert_eq!(unknown, "table 'tt' does not exist; did you mean 't'? (line 1, column 15)");
/// # Ok::<(), gingham::Error>(())
/// ```
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The statement can't be parsed or planned, or a value is wrong.
    #[error("{0}")]
    InvalidInput(Problem),
    /// A row breaks a constraint of its table.
    #[error("{0}")]
    Constraint(Problem),
    /// Understood, but not offered.
    #[error("{0}")]
    Unsupported(String),
    /// Bytes on disk are not what was written.
    #[error("corrupt data in {place}: {detail}")]
    Corrupt {
        /// File, and block, key or offset in it.
        place: String,
        /// What was expected and what was found.
        detail: String,
    },
    /// Another transaction has committed since this one began to read, so that it can't write: roll it back and do it again.
    #[error("{0}")]
    Conflict(String),
    /// Another transaction was writing for longer than `gingham.lock_timeout`.
    #[error("{0}")]
    LockTimeout(String),
    /// The statement took longer than `statement_timeout`, and was cancelled.
    #[error("{0}")]
    StatementTimeout(String),
    /// The transaction was rolled back: it takes no more statements.
    #[error("{0}")]
    RolledBack(String),
    /// The transaction stood still for too long and was rolled back: it takes no more statements.
    #[error("{0}")]
    IdleTimeout(String),
    /// The session was ended by somebody else: it takes no more statements.
    #[error("{0}")]
    Terminated(String),
    /// Another process has the database open for writing.
    #[error("{0}")]
    Locked(String),
    /// The disk is full.
    #[error("{0}")]
    DiskFull(String),
    /// The operating system refused a file operation.
    #[error("{0}")]
    Io(String),
    /// A reservation went past `gingham.memory_limit`.
    #[error("out of memory: {0}")]
    OutOfMemory(String),
    /// The statement was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// A fault of Gingham's own: please report it.
    #[error("internal error: {0}")]
    Internal(String),
}

/// A mistake as an error of DataFusion's that keeps its kind: `invalid!(DivisionByZero, "…")`.
macro_rules! invalid {
    ($state:ident, $($text:tt)*) => {
        Err(datafusion::error::DataFusionError::from($crate::Error::invalid(
            gingham_storage::SqlState::$state,
            format!($($text)*),
        )))
    };
}
pub(crate) use invalid;

impl Error {
    /// A mistake of whoever wrote the statement or gave the value.
    ///
    /// ```
    /// use gingham::{Error, SqlState};
    ///
    /// let error = Error::invalid(SqlState::UndefinedTable, "table 't' does not exist");
    /// assert_eq!((error.sqlstate(), error.to_string().as_str()), ("42P01", "table 't' does not exist"));
    /// ```
    pub fn invalid(state: SqlState, text: impl Into<String>) -> Self {
        Self::InvalidInput(Problem::new(state, text))
    }

    /// A row, or a change, that breaks a constraint.
    pub(crate) fn constraint(state: SqlState, text: impl Into<String>) -> Self {
        Self::Constraint(Problem::new(state, text))
    }

    /// This error with words before its text that say what it is about, where it is a mistake of the user's.
    ///
    /// ```
    /// let error = gingham::Database::in_memory()?.connect().execute("SELECT * FROM t").unwrap_err();
    /// let told = error.about("report.sql, line 7");
    /// assert_eq!(told.to_string(), "report.sql, line 7: table 't' does not exist (line 1, column 15)");
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn about(self, words: impl std::fmt::Display) -> Self {
        match self {
            Self::InvalidInput(problem) => Self::InvalidInput(problem.about(words)),
            Self::Constraint(problem) => Self::Constraint(problem.about(words)),
            Self::Unsupported(text) => Self::Unsupported(format!("{words}: {text}")),
            other => other,
        }
    }

    /// Where in the statement's text the mistake is, when that is known.
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// let position = connection.execute("SELECT 1 AS one,\n  tow").unwrap_err().position();
    /// assert_eq!(position, Some(gingham::Position { line: 2, column: 3 }));
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn position(&self) -> Option<Position> {
        match self {
            Self::InvalidInput(problem) | Self::Constraint(problem) => problem.position,
            _ => None,
        }
    }

    /// The code of the SQL standard, or PostgreSQL's where that has none: `40001` for a transaction that is to be done again.
    ///
    /// ```
    /// let database = gingham::Database::in_memory()?;
    /// let (one, two) = (database.connect(), database.connect());
    /// one.execute("CREATE TABLE t (n INT); BEGIN; SELECT n FROM t")?;
    /// two.execute("INSERT INTO t VALUES (1)")?;
    /// assert_eq!(one.execute("INSERT INTO t VALUES (2)").unwrap_err().sqlstate(), "40001");
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn sqlstate(&self) -> &'static str {
        match self {
            Self::InvalidInput(problem) | Self::Constraint(problem) => problem.state.sqlstate(),
            Self::Unsupported(_) => "0A000",
            Self::Corrupt { .. } => "XX001",
            Self::Conflict(_) => "40001",
            Self::LockTimeout(_) => "55P03",
            Self::RolledBack(_) => "25P02",
            Self::IdleTimeout(_) => "25P03",
            Self::Terminated(_) => "57P01",
            Self::Locked(_) => "55006",
            Self::DiskFull(_) => "53100",
            Self::Io(_) => "58030",
            Self::OutOfMemory(_) => "53200",
            Self::Cancelled | Self::StatementTimeout(_) => "57014",
            Self::Internal(_) => "XX000",
        }
    }

    /// The error of a task that gave no result: it panicked, or its runtime ends.
    pub(crate) fn of_task(error: JoinError) -> Self {
        match error.try_into_panic() {
            Ok(payload) => Panic::of(payload.as_ref()).into(),
            Err(_) => Self::Cancelled,
        }
    }
}

impl From<Panic> for Error {
    fn from(panic: Panic) -> Self {
        Self::Internal(panic.to_string())
    }
}

impl From<&gingham_storage::Error> for Error {
    fn from(error: &gingham_storage::Error) -> Self {
        use gingham_storage::Error as Storage;
        match error {
            Storage::Corrupt { place, detail } => Self::Corrupt { place: place.clone(), detail: detail.clone() },
            Storage::InvalidInput(problem) => Self::InvalidInput(problem.clone()),
            Storage::Constraint(problem) => Self::Constraint(problem.clone()),
            Storage::Unsupported(text) => Self::Unsupported(text.clone()),
            Storage::OutOfMemory(text) => Self::OutOfMemory(text.clone()),
            Storage::Conflict(text) => Self::Conflict(text.clone()),
            Storage::LockTimeout(text) => Self::LockTimeout(text.clone()),
            Storage::RolledBack(text) => Self::RolledBack(text.clone()),
            Storage::Cancelled => Self::Cancelled,
            Storage::Internal(text) => Self::Internal(text.clone()),
            Storage::Locked(text) => Self::Locked(text.clone()),
            Storage::Io { source, .. } if is_full(source) => Self::DiskFull(error.to_string()),
            other => Self::Io(other.to_string()),
        }
    }
}

impl From<gingham_storage::Error> for Error {
    fn from(error: gingham_storage::Error) -> Self {
        Self::from(&error)
    }
}

impl From<gingham_execution::Error> for Error {
    fn from(error: gingham_execution::Error) -> Self {
        use gingham_execution::Error as Execution;
        match error {
            Execution::Storage(error) => Self::from(error),
            Execution::Corrupt { place, detail } => Self::Corrupt { place, detail },
            Execution::Unsupported(text) => Self::Unsupported(text),
            Execution::OutOfMemory(text) => Self::OutOfMemory(text),
            Execution::Cancelled => Self::Cancelled,
            Execution::Internal(text) => Self::Internal(text),
            other => Self::Internal(other.to_string()),
        }
    }
}

impl From<ArrowError> for Error {
    fn from(error: ArrowError) -> Self {
        from_arrow(&error)
    }
}

impl From<DataFusionError> for Error {
    /// Unwraps contexts and our own errors that travelled through DataFusion.
    fn from(error: DataFusionError) -> Self {
        from_datafusion(&error)
    }
}

impl From<Error> for DataFusionError {
    fn from(error: Error) -> Self {
        Self::External(Box::new(error))
    }
}

/// Whether the system says that there is no room.
pub(crate) fn is_full(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// Whether a library's error has one of the system's within it that says that there is no room. Errors of libraries and of the
/// system may stand within each other several times.
fn says_full(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        next = match error.downcast_ref::<std::io::Error>() {
            Some(found) if is_full(found) => return true,
            Some(found) => match found.get_ref() {
                Some(inner) => Some(inner as &(dyn std::error::Error + 'static)),
                None => None,
            },
            None => error.source(),
        };
    }
    false
}

/// A mistake by its text alone, of kind `state` where the text does not tell another.
fn invalid_text(text: &str, state: SqlState) -> Error {
    Error::invalid(state_of(text).unwrap_or(state), clean(text))
}

/// A cast between types that none is there for.
fn no_cast(text: &str) -> Option<Error> {
    let (from, to) = text.strip_prefix("Unsupported CAST from ")?.split_once(" to ")?;
    Some(Error::invalid(SqlState::CannotCoerce, format!("{} can't be cast to {}", clean(from), clean(to))))
}

fn from_parser(error: &ParserError) -> Error {
    let (state, text) = match error {
        ParserError::RecursionLimitExceeded => (SqlState::StatementTooComplex, error.to_string()),
        ParserError::ParserError(text) | ParserError::TokenizerError(text) => (SqlState::SyntaxError, text.clone()),
    };
    let (text, position) = parser_place(&text);
    Error::InvalidInput(Problem::new(state, clean(text)).at(position))
}

fn from_datafusion(error: &DataFusionError) -> Error {
    match error {
        DataFusionError::External(inner) => from_boxed(inner.as_ref()),
        DataFusionError::Shared(inner) => from_datafusion(inner),
        DataFusionError::Context(context, inner) => with_context(context, from_datafusion(inner)),
        DataFusionError::Diagnostic(_, inner) => from_datafusion(inner),
        DataFusionError::Collection(errors) => match errors.first() {
            Some(first) => from_datafusion(first),
            None => Error::Internal("an empty list of errors".into()),
        },
        DataFusionError::ArrowError(inner, _) => from_arrow(inner),
        DataFusionError::ParquetError(inner) if says_full(inner.as_ref()) => Error::DiskFull(clean(&inner.to_string())),
        DataFusionError::ParquetError(inner) => {
            Error::invalid(SqlState::BadCopyFileFormat, format!("Parquet: {}", clean(&inner.to_string())))
        }
        DataFusionError::ObjectStore(inner) => {
            let text = clean(&inner.to_string());
            if says_full(inner.as_ref()) { Error::DiskFull(text) } else { Error::Io(text) }
        }
        DataFusionError::IoError(inner) if says_full(inner) => Error::DiskFull(inner.to_string()),
        DataFusionError::IoError(inner) => Error::Io(inner.to_string()),
        DataFusionError::SQL(inner, _) => from_parser(inner),
        DataFusionError::NotImplemented(text) if let Some(cast) = no_cast(text) => cast,
        DataFusionError::NotImplemented(text) => Error::Unsupported(format!("not supported: {}", clean(text))),
        DataFusionError::Internal(text) if is_read_twice(text) => Error::invalid(
            SqlState::InvalidRecursion,
            "a recursive query reads itself in two places of one round, such as in FROM and in a subquery; read it once",
        ),
        DataFusionError::Internal(text) if blames_itself(text) => invalid_text(text, SqlState::InvalidStatement),
        DataFusionError::Internal(text) => Error::Internal(clean(text)),
        DataFusionError::SchemaError(inner, _) => schema_error(inner),
        DataFusionError::ResourcesExhausted(text) => Error::OutOfMemory(clean(text)),
        DataFusionError::ExecutionJoin(inner) => from_task(inner),
        DataFusionError::Plan(text) | DataFusionError::Execution(text) | DataFusionError::Configuration(text) => {
            invalid_text(text, SqlState::InvalidStatement)
        }
        other => invalid_text(&other.strip_backtrace(), SqlState::InvalidStatement),
    }
}

/// The error of a task that others have, too.
fn from_task(error: &JoinError) -> Error {
    if error.is_cancelled() { Error::Cancelled } else { Panic::told(&error.to_string()).into() }
}

/// Our own error inside a boxed one, however deep.
fn from_boxed(error: &(dyn std::error::Error + Send + Sync + 'static)) -> Error {
    if let Some(own) = error.downcast_ref::<Error>() {
        own.clone()
    } else if let Some(storage) = error.downcast_ref::<gingham_storage::Error>() {
        storage.into()
    } else if let Some(inner) = error.downcast_ref::<DataFusionError>() {
        from_datafusion(inner)
    } else if let Some(inner) = error.downcast_ref::<ArrowError>() {
        from_arrow(inner)
    } else if let Some(inner) = error.downcast_ref::<Arc<DataFusionError>>() {
        from_datafusion(inner)
    } else if let Some(inner) = error.downcast_ref::<JoinError>() {
        from_task(inner)
    } else if let Some(inner) = error.downcast_ref::<Arc<JoinError>>() {
        // A task whose rows several partitions wait for.
        from_task(inner)
    } else {
        invalid_text(&error.to_string(), SqlState::InvalidStatement)
    }
}

fn from_arrow(error: &ArrowError) -> Error {
    match error {
        ArrowError::ExternalError(inner) => from_boxed(inner.as_ref()),
        ArrowError::ArithmeticOverflow(text) => invalid_text(text, SqlState::NumericValueOutOfRange),
        ArrowError::DivideByZero => Error::invalid(SqlState::DivisionByZero, "division by zero"),
        ArrowError::IoError(text, inner) if is_full(inner) => Error::DiskFull(text.clone()),
        ArrowError::IoError(text, _) => Error::Io(text.clone()),
        ArrowError::MemoryError(text) => Error::OutOfMemory(text.clone()),
        ArrowError::NotYetImplemented(text) => Error::Unsupported(format!("not supported: {}", clean(text))),
        ArrowError::CastError(text) | ArrowError::ParseError(text) => {
            invalid_text(text, SqlState::InvalidTextRepresentation)
        }
        ArrowError::CsvError(text) | ArrowError::JsonError(text) => invalid_text(text, SqlState::BadCopyFileFormat),
        ArrowError::InvalidArgumentError(text) | ArrowError::ComputeError(text) | ArrowError::SchemaError(text) => {
            invalid_text(text, SqlState::DataException)
        }
        other => invalid_text(&other.to_string(), SqlState::DataException),
    }
}

/// Puts `context` before the text of a user's error; names of DataFusion's rules are no help to a user.
fn with_context(context: &str, error: Error) -> Error {
    if context.starts_with("view '") { error.about(context) } else { error }
}

/// "column 'x' does not exist; did you mean 'y'?"
fn schema_error(error: &SchemaError) -> Error {
    let (state, text) = match error {
        SchemaError::FieldNotFound { field, valid_fields } => {
            let wanted = show(field);
            // A name without its table is compared with names without theirs.
            let names: Vec<String> = valid_fields
                .iter()
                .map(|valid| if field.relation.is_some() { show(valid) } else { valid.name.clone() })
                .collect();
            let suggestion = crate::session::did_you_mean(&wanted, names.iter().map(String::as_str));
            (SqlState::UndefinedColumn, format!("column '{wanted}' does not exist{suggestion}"))
        }
        SchemaError::AmbiguousReference { field } => {
            let text = format!("column '{}' is ambiguous; put its table's name before it", show(field));
            (SqlState::AmbiguousColumn, text)
        }
        SchemaError::DuplicateQualifiedField { qualifier, name } => {
            (SqlState::DuplicateColumn, format!("column '{}.{name}' appears twice", qualifier.table()))
        }
        SchemaError::DuplicateUnqualifiedField { name } => {
            (SqlState::DuplicateColumn, format!("column '{name}' appears twice"))
        }
    };
    Error::invalid(state, text)
}

fn show(column: &Column) -> String {
    match &column.relation {
        Some(relation) => format!("{}.{}", relation.table(), column.name),
        None => column.name.clone(),
    }
}

/// DataFusion's text without its prefixes, its backtrace and its wish for a bug report, in SQL's names of types.
fn clean(text: &str) -> String {
    const PREFIXES: &[&str] = &[
        "Error during planning: ",
        "Execution error: ",
        "External error: ",
        "Arrow error: ",
        "Compute error: ",
        "Cast error: ",
        "Parser error: ",
        "Invalid argument error: ",
        "Arithmetic overflow: ",
        "SQL error: ",
        "sql parser error: ",
        "type_coercion: ",
        "Generic LocalFileSystem error: ",
    ];
    let mut text = text;
    for marker in ["\n\nbacktrace:", "backtrace:", "\nThis issue was likely caused by a bug"] {
        text = text.split(marker).next().unwrap_or(text);
    }
    while let Some(rest) = PREFIXES.iter().find_map(|prefix| text.strip_prefix(prefix)) {
        text = rest;
    }
    if let Some(plain) = plain_words(text) {
        return plain;
    }
    sql_types(text.trim_end().trim_end_matches('.'))
}
