//! A stream of Arrow batches into a table: made, appended to, or replaced.

use crate::error::{told, wrong_argument};
use adbc_core::constants;
use adbc_core::error::Result;
use arrow::array::RecordBatchReader;
use gingham::{Connection, StatementHandle, StatementTables, TransactionStatus, quoted};

/// The way to treat a table that is there, or is not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum IngestMode {
    /// The table is made, and must not be there.
    #[default]
    Create,
    /// It must be there, with columns of the stream's names.
    Append,
    /// It is dropped where it is there, and made.
    Replace,
    /// It is made where it is not there.
    CreateAppend,
}

impl IngestMode {
    pub(crate) fn of(text: &str) -> Result<Self> {
        let modes = [Self::Create, Self::Append, Self::Replace, Self::CreateAppend];
        modes.into_iter().find(|mode| mode.name() == text).ok_or_else(|| {
            let names = modes.map(Self::name).join(", ");
            wrong_argument(format!("the mode of an ingest is one of {names}, not '{text}'"))
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Create => constants::ADBC_INGEST_OPTION_MODE_CREATE,
            Self::Append => constants::ADBC_INGEST_OPTION_MODE_APPEND,
            Self::Replace => constants::ADBC_INGEST_OPTION_MODE_REPLACE,
            Self::CreateAppend => constants::ADBC_INGEST_OPTION_MODE_CREATE_APPEND,
        }
    }
}

/// The table that a stream goes to.
#[derive(Debug, Default)]
pub(crate) struct Target {
    pub(crate) table: Option<String>,
    pub(crate) schema: Option<String>,
    pub(crate) temporary: bool,
    pub(crate) mode: IngestMode,
}

impl Target {
    fn name(&self) -> String {
        let table = quoted(self.table.as_deref().unwrap_or_default());
        match &self.schema {
            Some(schema) if !self.temporary => format!("{}.{table}", quoted(schema)),
            _ => table,
        }
    }
}

/// Stores the rows of a stream, all or none, and gives their number. `note` is told what runs.
pub(crate) fn run(
    connection: &Connection,
    target: &Target,
    rows: Box<dyn RecordBatchReader + Send>,
    note: impl Fn(StatementHandle),
) -> Result<i64> {
    // The name of the stream, which only these statements have. It is not the target's.
    let mut source = "gingham_ingest".to_owned();
    while target.table.as_ref() == Some(&source) {
        source.push('_');
    }
    let columns: Vec<String> = rows.schema().fields().iter().map(|field| quoted(field.name())).collect();
    let (columns, name) = (columns.join(", "), target.name());
    let is_there = connection.table(&name).is_ok();
    let temporary = if target.temporary { "TEMP " } else { "" };
    let create = format!("CREATE {temporary}TABLE {name} AS SELECT {columns} FROM {source}");
    let append = format!("INSERT INTO {name} ({columns}) SELECT {columns} FROM {source}");
    let statements = match target.mode {
        IngestMode::Append => vec![append],
        IngestMode::CreateAppend if is_there => vec![append],
        IngestMode::Replace if is_there => vec![format!("DROP TABLE {name}"), create],
        IngestMode::Create | IngestMode::CreateAppend | IngestMode::Replace => vec![create],
    };
    let own = statements.len() > 1 && connection.transaction_status() == TransactionStatus::None;
    let mut tables = StatementTables::new();
    tables.insert_stream(&source, rows).map_err(told)?;
    all_of(&connection.with_tables(tables), &statements, own, note)
}

/// Runs statements, in a transaction of their own where that is wanted. Gives the records of the last one.
fn all_of(connection: &Connection, statements: &[String], own: bool, note: impl Fn(StatementHandle)) -> Result<i64> {
    let one = |sql: &str| -> gingham::Result<u64> {
        let running = connection.start(sql)?;
        note(running.handle());
        Ok(running.wait()?.rows_affected().unwrap_or(0))
    };
    let all = || -> gingham::Result<u64> {
        let mut records = 0;
        for sql in statements {
            records = one(sql)?;
        }
        Ok(records)
    };
    if !own {
        return all().map(|records| records as i64).map_err(told);
    }
    one("BEGIN").map_err(told)?;
    let ran = all();
    one(if ran.is_ok() { "COMMIT" } else { "ROLLBACK" }).map_err(told)?;
    ran.map(|records| records as i64).map_err(told)
}
