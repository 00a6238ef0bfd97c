//! What is written down of statements: each has a number, and a slow one is logged with its plan.

use crate::metrics::Metrics;
use arrow::array::AsArray;
use gingham::{Connection, Database, ScalarValue, SessionOptions, Values};
use pgwire::error::PgWireError;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Characters of a statement that are logged.
const MOST: usize = 2_000;
/// Tags of statements that have a plan.
const PLANNED: [&str; 5] = ["SELECT", "INSERT", "UPDATE", "DELETE", "MERGE"];

/// Settings on which a statement's plan depends.
const OF_PLANS: [&str; 2] = ["search_path", "gingham.execution"];

/// Where statements are written down.
pub(crate) struct StatementLog {
    pub(crate) metrics: Arc<Metrics>,
    next: AtomicU64,
    /// From how long on a statement is slow; `None` for never.
    slow: Option<Duration>,
    database: Database,
}

/// The number of a statement, and when it began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Beginning {
    number: u64,
    begun: Instant,
}

/// A statement that runs.
pub(crate) struct LoggedStatement<'l> {
    log: &'l StatementLog,
    pub(crate) beginning: Beginning,
    pub(crate) connection: &'l Connection,
    pub(crate) sql: &'l str,
    pub(crate) values: &'l [ScalarValue],
}

impl StatementLog {
    pub(crate) fn new(metrics: Arc<Metrics>, slow: Option<Duration>, database: Database) -> Self {
        Self { metrics, next: AtomicU64::new(1), slow, database }
    }

    /// A statement begins.
    pub(crate) fn begin<'l>(
        &'l self,
        connection: &'l Connection,
        sql: &'l str,
        values: &'l [ScalarValue],
    ) -> LoggedStatement<'l> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        tracing::debug!(session = connection.session_id(), statement = number, "begins: {}", cut(sql));
        self.go_on(Beginning { number, begun: Instant::now() }, connection, sql, values)
    }

    /// A statement goes on that has begun before.
    pub(crate) fn go_on<'l>(
        &'l self,
        beginning: Beginning,
        connection: &'l Connection,
        sql: &'l str,
        values: &'l [ScalarValue],
    ) -> LoggedStatement<'l> {
        LoggedStatement { log: self, beginning, connection, sql, values }
    }
}

impl LoggedStatement<'_> {
    /// Rows of it were sent, and there may be more.
    pub(crate) fn has_sent(&self, rows: usize) {
        self.log.metrics.rows_sent(rows);
    }

    /// It has ended with a tag, and so many rows were sent.
    pub(crate) fn ended(&self, tag: &str, rows: usize) {
        let took = self.beginning.begun.elapsed();
        let command = tag.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == ' ');
        self.log.metrics.statement(command, took, rows);
        let (session, statement) = (self.connection.session_id(), self.beginning.number);
        tracing::debug!(session, statement, "{tag} after {:.3} s", took.as_secs_f64());
        if self.log.slow.is_some_and(|slow| took >= slow) {
            self.tell_slow(command, took);
        }
    }

    /// It has failed.
    pub(crate) fn failed(&self, error: &PgWireError) {
        let (session, statement) = (self.connection.session_id(), self.beginning.number);
        let took = self.beginning.begun.elapsed();
        tracing::debug!(session, statement, "failed after {:.3} s: {error}", took.as_secs_f64());
    }

    fn tell_slow(&self, command: &str, took: Duration) {
        let (session, statement, seconds) = (self.connection.session_id(), self.beginning.number, took.as_secs_f64());
        let sql = cut(self.sql);
        if !PLANNED.contains(&command) {
            return tracing::warn!(session, statement, "took {seconds:.3} s: {sql}");
        }
        let (database, text, values) =
            (self.log.database.clone(), format!("EXPLAIN {}", self.sql), self.values.to_vec());
        // A session of its own: the client's goes on, and shows what the client runs. Its temporary tables are not there.
        let mut options = SessionOptions::new();
        for name in OF_PLANS {
            if let Ok(value) = self.connection.setting(name) {
                options = options.setting(name, value);
            }
        }
        tokio::spawn(async move {
            let plan = plan_of(database, options, text, values).await;
            tracing::warn!(session, statement, "took {seconds:.3} s: {sql}\n{plan}");
        });
    }
}

/// The plan of a statement as it would be made now; why there is none where that can't be told.
async fn plan_of(database: Database, options: SessionOptions, text: String, values: Vec<ScalarValue>) -> String {
    let explained = async {
        let batches = tokio::task::spawn_blocking(move || {
            let connection = database.connect_with(&options)?;
            connection.query_with(&text, Values::Numbered(values))?.collect_batches()
        });
        let mut lines = Vec::new();
        for batch in batches.await.map_err(|error| gingham::Error::Internal(error.to_string()))?? {
            let texts = gingham::as_text(batch.column(0))?;
            lines.extend(texts.as_string_view().iter().flatten().map(str::to_owned));
        }
        Ok::<_, gingham::Error>(lines.join("\n"))
    };
    explained.await.unwrap_or_else(|error| format!("(without a plan: {error})"))
}

fn cut(sql: &str) -> String {
    match sql.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &sql[..end]),
        None => sql.to_owned(),
    }
}
