//! The engine's one error type.

use crate::upstream_texts::plain_words;
use arrow::error::ArrowError;
use datafusion::common::{Column, SchemaError};
use datafusion::error::DataFusionError;
use std::any::Any;

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
    InvalidInput(String),
    /// A row breaks a constraint of its table.
    #[error("{0}")]
    Constraint(String),
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
    /// The transaction was rolled back: it takes no more statements.
    #[error("{0}")]
    RolledBack(String),
    /// The operating system refused a file operation, or the database is locked.
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

impl Error {
    /// The code of the SQL standard, or PostgreSQL's where that has none: `40001` for a transaction that is to be done again.
    ///
    /// ```
    /// let database = gingham::Database::in_memory()?;
    /// let (one, two) = (database.connect(), database.connect());
    /// one.execute("CREATE TABLE t (n INT); BEGIN")?;
    /// two.execute("INSERT INTO t VALUES (1)")?;
    /// assert_eq!(one.execute("INSERT INTO t VALUES (2)").unwrap_err().sqlstate(), "40001");
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn sqlstate(&self) -> &'static str {
        match self {
            Self::InvalidInput(_) => "42000",
            Self::Constraint(_) => "23000",
            Self::Unsupported(_) => "0A000",
            Self::Corrupt { .. } => "XX001",
            Self::Conflict(_) => "40001",
            Self::LockTimeout(_) => "55P03",
            Self::RolledBack(_) => "25P02",
            Self::Io(_) => "58030",
            Self::OutOfMemory(_) => "53200",
            Self::Cancelled => "57014",
            Self::Internal(_) => "XX000",
        }
    }

    /// The error for a panic's payload.
    pub(crate) fn from_panic(payload: &(dyn Any + Send)) -> Self {
        let text = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("a panic without a message");
        Self::Internal(text.to_string())
    }
}

impl From<&gingham_storage::Error> for Error {
    fn from(error: &gingham_storage::Error) -> Self {
        use gingham_storage::Error as Storage;
        match error {
            Storage::Corrupt { place, detail } => Self::Corrupt { place: place.clone(), detail: detail.clone() },
            Storage::InvalidInput(text) => Self::InvalidInput(text.clone()),
            Storage::Constraint(text) => Self::Constraint(text.clone()),
            Storage::Unsupported(text) => Self::Unsupported(text.clone()),
            Storage::OutOfMemory(text) => Self::OutOfMemory(text.clone()),
            Storage::Conflict(text) => Self::Conflict(text.clone()),
            Storage::LockTimeout(text) => Self::LockTimeout(text.clone()),
            Storage::RolledBack(text) => Self::RolledBack(text.clone()),
            Storage::Cancelled => Self::Cancelled,
            Storage::Internal(text) => Self::Internal(text.clone()),
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
        DataFusionError::ParquetError(inner) => Error::InvalidInput(format!("Parquet: {}", clean(&inner.to_string()))),
        DataFusionError::ObjectStore(inner) => Error::Io(clean(&inner.to_string())),
        DataFusionError::IoError(inner) => Error::Io(inner.to_string()),
        DataFusionError::SQL(inner, _) => Error::InvalidInput(clean(&inner.to_string())),
        DataFusionError::NotImplemented(text) => Error::Unsupported(format!("not supported: {}", clean(text))),
        DataFusionError::Internal(text) => Error::Internal(clean(text)),
        DataFusionError::SchemaError(inner, _) => Error::InvalidInput(schema_error(inner)),
        DataFusionError::ResourcesExhausted(text) => Error::OutOfMemory(clean(text)),
        DataFusionError::ExecutionJoin(inner) if inner.is_cancelled() => Error::Cancelled,
        DataFusionError::ExecutionJoin(inner) => Error::Internal(inner.to_string()),
        DataFusionError::Plan(text) | DataFusionError::Execution(text) | DataFusionError::Configuration(text) => {
            Error::InvalidInput(clean(text))
        }
        other => Error::InvalidInput(clean(&other.strip_backtrace())),
    }
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
    } else {
        Error::InvalidInput(clean(&error.to_string()))
    }
}

fn from_arrow(error: &ArrowError) -> Error {
    match error {
        ArrowError::ExternalError(inner) => from_boxed(inner.as_ref()),
        ArrowError::ArithmeticOverflow(text) => Error::InvalidInput(clean(text)),
        ArrowError::DivideByZero => Error::InvalidInput("division by zero".into()),
        ArrowError::IoError(text, _) => Error::Io(text.clone()),
        ArrowError::MemoryError(text) => Error::OutOfMemory(text.clone()),
        ArrowError::NotYetImplemented(text) => Error::Unsupported(format!("not supported: {}", clean(text))),
        ArrowError::InvalidArgumentError(text)
        | ArrowError::CastError(text)
        | ArrowError::ParseError(text)
        | ArrowError::ComputeError(text)
        | ArrowError::CsvError(text)
        | ArrowError::JsonError(text)
        | ArrowError::SchemaError(text) => Error::InvalidInput(clean(text)),
        other => Error::InvalidInput(clean(&other.to_string())),
    }
}

/// Puts `context` before the text of a user's error; names of DataFusion's rules are no help to a user.
fn with_context(context: &str, error: Error) -> Error {
    match error {
        Error::InvalidInput(text) if context.starts_with("view '") => Error::InvalidInput(format!("{context}: {text}")),
        error => error,
    }
}

/// "column 'x' does not exist; did you mean 'y'?"
fn schema_error(error: &SchemaError) -> String {
    match error {
        SchemaError::FieldNotFound { field, valid_fields } => {
            let wanted = show(field);
            // A name without its table is compared with names without theirs.
            let names: Vec<String> = valid_fields
                .iter()
                .map(|valid| if field.relation.is_some() { show(valid) } else { valid.name.clone() })
                .collect();
            let suggestion = crate::session::did_you_mean(&wanted, names.iter().map(String::as_str));
            format!("column '{wanted}' does not exist{suggestion}")
        }
        SchemaError::AmbiguousReference { field } => {
            format!("column '{}' is ambiguous; put its table's name before it", show(field))
        }
        SchemaError::DuplicateQualifiedField { qualifier, name } => {
            format!("column '{}.{name}' appears twice", qualifier.table())
        }
        SchemaError::DuplicateUnqualifiedField { name } => format!("column '{name}' appears twice"),
    }
}

fn show(column: &Column) -> String {
    match &column.relation {
        Some(relation) => format!("{}.{}", relation.table(), column.name),
        None => column.name.clone(),
    }
}

/// Types as SQL writes them instead of Arrow, outside quotes.
fn sql_types(text: &str) -> String {
    const NAMES: &[(&str, &str)] = &[
        ("Boolean", "BOOLEAN"),
        ("Int8", "TINYINT"),
        ("Int16", "SMALLINT"),
        ("Int32", "INTEGER"),
        ("Int64", "BIGINT"),
        ("UInt8", "TINYINT UNSIGNED"),
        ("UInt16", "SMALLINT UNSIGNED"),
        ("UInt32", "INTEGER UNSIGNED"),
        ("UInt64", "BIGINT UNSIGNED"),
        ("Float32", "REAL"),
        ("Float64", "DOUBLE"),
        ("Decimal128", "DECIMAL"),
        ("Decimal256", "DECIMAL"),
        ("Utf8View", "VARCHAR"),
        ("LargeUtf8", "VARCHAR"),
        ("Utf8", "VARCHAR"),
        ("BinaryView", "BINARY"),
        ("Date32", "DATE"),
    ];
    let mut plain = String::with_capacity(text.len());
    for (number, part) in text.split('\'').enumerate() {
        plain.push_str(if number == 0 { "" } else { "'" });
        if number % 2 == 1 {
            plain.push_str(part);
            continue;
        }
        for word in part.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
            let name = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
            let known = NAMES.iter().find(|(arrow, _)| *arrow == name);
            plain.push_str(known.map_or(name, |(_, sql)| sql));
            plain.push_str(&word[name.len()..]);
        }
    }
    plain
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
