//! One statement, run and answered.

use crate::backend::copy;
use crate::backend::rows::{self, Rows};
use crate::backend::session::Session;
use crate::backend::transaction::{Admitted, as_rollback, modes_of};
use crate::backend::{Out, rows::about};
use crate::errors::{Place, warning};
use crate::statement_log::LoggedStatement;
use futures::{SinkExt, TryStreamExt};
use gingham::{Connection, QueryResult, StatementKind};
use pgwire::error::PgWireResult;
use pgwire::messages::PgWireBackendMessage as Answer;
use pgwire::messages::response::CommandComplete;

/// The end of a statement of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ran {
    /// The statement has run, and was answered.
    Done,
    /// The client is to send the rows of a COPY.
    Copies,
}

/// A word that statements begin with which are more to the protocol than a statement.
const SPECIAL: [&str; 14] = [
    "ABORT",
    "ALTER",
    "BEGIN",
    "COMMIT",
    "COPY",
    "DEALLOCATE",
    "DISCARD",
    "END",
    "OPTIMIZE",
    "RELEASE",
    "ROLLBACK",
    "SAVEPOINT",
    "START",
    "VACUUM",
];

/// The kind of a statement. Most are known by their first word, and are parsed when they run.
pub(super) fn kind_of(sql: &str) -> gingham::Result<StatementKind> {
    let first = Connection::first_word(sql);
    match SPECIAL.iter().any(|word| first.eq_ignore_ascii_case(word)) {
        true => Connection::statement_kind(sql),
        false => Ok(StatementKind::Other),
    }
}

impl Session {
    /// Runs a statement of a client's text, which `is_alone` there or not, and answers it by texts.
    pub(super) async fn run(&self, out: Out<'_>, sql: &str, place: Place<'_>, is_alone: bool) -> PgWireResult<Ran> {
        let logged = self.begin(sql, &[]);
        let ran = self.run_logged(out, &logged, place, is_alone).await;
        ran.inspect_err(|error| logged.failed(error))
    }

    async fn run_logged(
        &self,
        out: Out<'_>,
        logged: &LoggedStatement<'_>,
        place: Place<'_>,
        is_alone: bool,
    ) -> PgWireResult<Ran> {
        let sql = logged.sql;
        let kind = kind_of(sql).map_err(|error| about(&error, place))?;
        let admitted = self.admit(&kind, is_alone).await?;
        let instead = self.instead(out, (sql, &kind), admitted).await?;
        if let Some(tag) = instead.or_else(|| self.deallocated(&kind)) {
            self.complete(out, logged, &tag, 0).await?;
            return Ok(Ran::Done);
        }
        match kind {
            StatementKind::CopyIn => {
                copy::begin(self, out, logged, place, true).await?;
                return Ok(Ran::Copies);
            }
            StatementKind::CopyOut => copy::send(self, out, logged, place).await?,
            _ => {
                let result = self.connection.query_async(sql).await.map_err(|error| about(&error, place))?;
                if kind != StatementKind::Alone && !result.schema().fields().is_empty() {
                    out.feed(rows::description(&result.schema(), &[])).await?;
                    let tag = result.tag().to_string();
                    let (sent, _) = rows::send(out, &mut Rows::new(result, Vec::new()), 0).await?;
                    self.complete(out, logged, &with_rows(&tag, sent), sent).await?;
                } else {
                    let tag = done(result).await.map_err(|error| about(&error, place))?;
                    self.complete(out, logged, &tag, 0).await?;
                }
            }
        }
        self.has_run(&kind);
        Ok(Ran::Done)
    }

    /// Does what stands for a statement that is not run as it is, and gives its tag.
    pub(super) async fn instead(
        &self,
        out: Out<'_>,
        (sql, kind): (&str, &StatementKind),
        admitted: Admitted,
    ) -> PgWireResult<Option<String>> {
        let tag = match admitted {
            Admitted::Runs => return Ok(None),
            Admitted::EndsNone => {
                out.feed(warning("25P01", "there is no transaction in progress")).await?;
                return Ok(None);
            }
            Admitted::RollsBack => {
                self.run_text(&as_rollback(sql)).await?;
                "ROLLBACK"
            }
            Admitted::Adopts => {
                if let Some(modes) = modes_of(sql) {
                    self.run_text(&modes).await?;
                }
                "BEGIN"
            }
        };
        self.has_run(kind);
        Ok(Some(tag.to_owned()))
    }

    /// Says that a statement is done, behind what else was said.
    pub(super) async fn complete(
        &self,
        out: Out<'_>,
        logged: &LoggedStatement<'_>,
        tag: &str,
        rows: usize,
    ) -> PgWireResult<()> {
        logged.ended(tag, rows);
        self.tell(out).await?;
        out.feed(Answer::CommandComplete(CommandComplete::new(tag.to_owned()))).await
    }
}

/// The tag of a result whose rows nobody is sent.
pub(super) async fn done(mut result: QueryResult) -> gingham::Result<String> {
    while let Some(batch) = result.try_next().await? {
        drop(batch);
    }
    Ok(result.tag().to_string())
}

/// A tag that was made before any row came, with their number.
pub(super) fn with_rows(tag: &str, rows: usize) -> String {
    match tag.rsplit_once(' ') {
        Some((command, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => format!("{command} {rows}"),
        _ => tag.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_tell_the_rows() {
        assert_eq!(with_rows("SELECT 0", 7), "SELECT 7");
        assert_eq!(with_rows("INSERT 0 0", 2), "INSERT 0 2");
        assert_eq!(with_rows("SHOW", 1), "SHOW");
    }

    #[test]
    fn kinds_are_known_by_their_words() {
        assert_eq!(kind_of("/* a */ begin").unwrap(), StatementKind::Begin);
        assert_eq!(kind_of("SELECT nothing at all(").unwrap(), StatementKind::Other);
        assert_eq!(kind_of("ALTER TABLE t SET (layout = 'row')").unwrap(), StatementKind::Alone);
        assert_eq!(kind_of("ALTER TABLE t ADD COLUMN a INT").unwrap(), StatementKind::Other);
    }
}
