//! One file on Gingham, in a process of its own, so that a crash or a thread that never comes back ends this file only. It
//! prints a journal, a JSON array for each record, that the process which started it reads.

use crate::expect::{self, Fit};
use crate::reader::{Accepts, Corpus, File, Query, Record, What, read};
use crate::table::Table;
use gingham::{CancelHandle, Connection, Database, DatabaseOptions, Error};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a statement may take before it is cancelled.
pub const STATEMENT: Duration = Duration::from_secs(20);
/// How long it may then go on before the process is given up.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long all statements of a file may take together.
const WHOLE_FILE: Duration = Duration::from_secs(300);
/// Answers of more rows are not handed on.
const MOST_ROWS: usize = 20_000;
const MEMORY: usize = 3 << 30;

/// Runs `file` but for the records numbered in `without`, at which an earlier process came to its end.
pub fn run(file: &File, without: &HashSet<usize>) -> Result<(), String> {
    let scratch = std::env::current_dir().map_err(|error| error.to_string())?;
    let records = read(file, &scratch)?;
    std::panic::set_hook(Box::new(|panic| say(&json!(["panic", panic.to_string()]))));
    let watch = Arc::new(Mutex::new(None));
    watch_over(Arc::clone(&watch));
    let mut session = Session::new(file.corpus, watch)?;
    let begun = Instant::now();
    for (number, record) in records.iter().enumerate() {
        if begun.elapsed() > WHOLE_FILE {
            break;
        }
        if !without.contains(&number) {
            session.record(number, record)?;
        }
    }
    say(&json!(["end"]));
    Ok(())
}

fn say(line: &Value) {
    let mut out = std::io::stdout().lock();
    // Nobody is left to tell when the reader of the journal is gone.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// The statement that runs now.
struct Now {
    number: usize,
    since: Instant,
    cancel: CancelHandle,
}

type Watch = Arc<Mutex<Option<Now>>>;

/// Cancels what takes too long, and ends the process when that does not help.
fn watch_over(watch: Watch) {
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_millis(200));
            let now = watch.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(now) = now.as_ref() else { continue };
            if now.since.elapsed() > STATEMENT + PATIENCE {
                say(&json!([now.number, "stuck"]));
                std::process::exit(3);
            }
            if now.since.elapsed() > STATEMENT {
                now.cancel.cancel();
            }
        }
    });
}

struct Session {
    corpus: Corpus,
    database: Database,
    connections: HashMap<String, Connection>,
    /// The digest of the first answer to each label.
    labels: HashMap<String, String>,
    watch: Watch,
}

impl Session {
    fn new(corpus: Corpus, watch: Watch) -> Result<Self, String> {
        Ok(Self { corpus, database: fresh()?, connections: HashMap::new(), labels: HashMap::new(), watch })
    }

    fn record(&mut self, number: usize, record: &Record) -> Result<(), String> {
        if matches!(record.what, What::Fresh) {
            self.connections.clear();
            self.database = fresh()?;
            return Ok(());
        }
        let connection = self.connections.entry(record.connection.clone()).or_insert_with(|| connect(&self.database));
        let now = Now { number, since: Instant::now(), cancel: connection.cancel_handle() };
        let since = now.since;
        *self.watch.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
        let outcome = answer(connection, &record.sql);
        *self.watch.lock().unwrap_or_else(PoisonError::into_inner) = None;
        say(&match (outcome, &record.what) {
            (Err(Error::Cancelled), _) if since.elapsed() >= STATEMENT => json!([number, "slow"]),
            (Err(error), What::Statement(Accepts::No)) if !matches!(error, Error::Internal(_)) => {
                json!([number, "right"])
            }
            (Err(error), _) => {
                let fault = matches!(error, Error::Internal(_));
                json!([number, "refused", error.to_string(), fault, error.sqlstate()])
            }
            (Ok(answer), What::Script | What::Setup) if !answer.table.kinds.is_empty() => {
                handed_on(number, &answer.table)
            }
            (Ok(answer), What::Query(query)) => self.held(number, query, &answer.table),
            (Ok(answer), _) => json!([number, "done", answer.changed]),
        });
        Ok(())
    }

    /// Holds an answer against its file, or against the first of its label.
    fn held(&mut self, number: usize, query: &Query, table: &Table) -> Value {
        let mut fit = expect::fit(self.corpus, query, table);
        if let (None, Some(label)) = (&query.expected, &query.label) {
            let digest = expect::label_digest(self.corpus, query, table);
            let first = self.labels.entry(label.clone()).or_insert_with(|| digest.clone());
            fit = if *first == digest { Fit::Same } else { Fit::Different };
        }
        match fit {
            Fit::Same => json!([number, "right"]),
            Fit::Unclear => json!([number, "unclear"]),
            Fit::Different => handed_on(number, table),
        }
    }
}

fn handed_on(number: usize, table: &Table) -> Value {
    match table.rows.len() > MOST_ROWS {
        true => json!([number, "big"]),
        false => json!([number, "different", table.to_json()]),
    }
}

fn fresh() -> Result<Database, String> {
    let options = DatabaseOptions::new().memory_limit(MEMORY).threads(1);
    options.temporary().map_err(|error| error.to_string())
}

/// A connection that waits for no other one of its file, since all of them belong to one thread.
fn connect(database: &Database) -> Connection {
    let connection = database.connect();
    if let Err(error) = connection.execute("SET gingham.lock_timeout = '200ms'") {
        say(&json!(["panic", error.to_string()]));
    }
    connection
}

struct Answer {
    table: Table,
    changed: Option<u64>,
}

/// Runs all statements of `sql`, and gives the answer of the last one.
fn answer(connection: &Connection, sql: &str) -> Result<Answer, Error> {
    let mut last = Answer { table: Table::default(), changed: None };
    for statement in Connection::split_statements(sql) {
        let result = connection.query(&statement)?;
        let (schema, changed) = (result.schema(), result.rows_affected());
        let batches = result.collect_batches()?;
        last = Answer { table: Table::of(&schema, &batches), changed };
    }
    Ok(last)
}
