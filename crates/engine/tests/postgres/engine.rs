//! Gingham's side: a database of its own for each schema, and answers as PostgreSQL would write them.

use crate::answer::{Answer, Cell, Kind, Outcome, Typed, shown};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Schema};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use gingham::{CancelHandle, Connection, Database, QueryResult};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// After so long a statement is taken for one that never ends.
const PATIENCE: Duration = Duration::from_secs(20);

/// A database in memory.
pub struct Engine {
    connection: Connection,
    /// True when a view has a quotient.
    has_quotient: AtomicBool,
}

impl Engine {
    /// A database after a script.
    pub fn with(script: &[String]) -> Result<Self, String> {
        let database = Database::in_memory().expect("a database in memory");
        gingham::lab::register(&database);
        let connection = database.connect();
        let engine = Self { connection, has_quotient: AtomicBool::new(false) };
        for sql in script {
            engine.run(sql).map_err(|error| format!("{error}: {sql}"))?;
        }
        Ok(engine)
    }

    /// Runs one statement for what it does.
    pub fn run(&self, sql: &str) -> Result<(), String> {
        if sql.starts_with("CREATE VIEW") && sql.contains(" / ") {
            self.has_quotient.store(true, Ordering::Relaxed);
        }
        self.connection.execute(sql).map(|_| ()).map_err(|error| error.to_string())
    }

    /// The answer to a query, or to a statement that changes `table` as [`shown`] shows it, which is rolled back.
    pub fn answer(&self, sql: &str, table: Option<&str>) -> Outcome<Typed> {
        let _watch = Watch::start(self.connection.cancel_handle());
        let outcome = match table {
            None => self.rows(sql).map(|(rows, kinds)| Typed {
                answer: Answer { rows, after: None },
                kinds,
                kinds_after: Vec::new(),
            }),
            Some(table) => self.changed(sql, table),
        };
        match outcome {
            Ok(typed) => Outcome::Answer(typed),
            Err(error) => Outcome::Error(error.sqlstate().to_owned(), error.to_string()),
        }
    }

    fn changed(&self, sql: &str, table: &str) -> gingham::Result<Typed> {
        let transaction = self.connection.transaction()?;
        let (rows, kinds) = self.rows(sql)?;
        let (after, kinds_after) = self.rows(&shown(table))?;
        transaction.roll_back()?;
        Ok(Typed { answer: Answer { rows, after: Some(after) }, kinds, kinds_after })
    }

    fn rows(&self, sql: &str) -> gingham::Result<(Vec<Vec<Cell>>, Vec<Kind>)> {
        let result = self.connection.query(sql)?;
        let kinds = kinds(&result.schema(), self.has_quotient.load(Ordering::Relaxed) || sql.contains(" / "));
        let batches = QueryResult::collect_batches(result)?;
        Ok((if kinds.is_empty() { Vec::new() } else { batches.iter().flat_map(texts).collect() }, kinds))
    }
}

/// What columns are.
fn kinds(schema: &Schema, has_quotient: bool) -> Vec<Kind> {
    let kind = |data_type: &DataType| match data_type {
        DataType::Decimal128(..) | DataType::Float32 | DataType::Float64 if has_quotient => Kind::Quotient,
        DataType::Decimal128(..) => Kind::Decimal,
        DataType::Interval(_) => Kind::Interval,
        other if other.is_numeric() => Kind::Number,
        _ => Kind::Text,
    };
    schema.fields().iter().map(|field| kind(field.data_type())).collect()
}

fn texts(batch: &RecordBatch) -> Vec<Vec<Cell>> {
    let columns: Vec<Vec<Cell>> = batch.columns().iter().map(column).collect();
    (0..batch.num_rows()).map(|row| columns.iter().map(|column| column[row].clone()).collect()).collect()
}

fn column(values: &ArrayRef) -> Vec<Cell> {
    let written =
        values.data_type().is_temporal().then(|| gingham::as_text(values).expect("dates and times have texts"));
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(values, &options).expect("Arrow can show every type that a query returns");
    let text = |row: usize| match values.data_type() {
        DataType::Boolean => if values.as_boolean().value(row) { "t" } else { "f" }.to_owned(),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => format!("\\x{}", formatter.value(row)),
        _ => match &written {
            Some(texts) => texts.as_string_view().value(row).to_owned(),
            None => formatter.value(row).to_string(),
        },
    };
    let is_null = |row: usize| values.is_null(row) || *values.data_type() == DataType::Null;
    (0..values.len()).map(|row| (!is_null(row)).then(|| text(row))).collect()
}

/// Cancels what runs when it is not dropped in time.
struct Watch {
    done: Option<Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Watch {
    fn start(handle: CancelHandle) -> Self {
        let (done, waits) = channel::<()>();
        let thread = std::thread::spawn(move || {
            if waits.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                handle.cancel();
            }
        });
        Self { done: Some(done), thread: Some(thread) }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.done.take();
        self.thread.take().map(std::thread::JoinHandle::join);
    }
}
