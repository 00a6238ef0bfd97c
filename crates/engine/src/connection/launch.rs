//! The start of a statement: at once on the caller's thread where it is about one record, by a plan that was kept, or on the
//! database's threads.

use crate::session::{
    Beginning, CachedPlan, CancelToken, Session, Started, StatementHandle, StatementTables, Stopwatch,
};
use crate::session::{finished, finished_change, read_only, start, start_kept, wait};
use crate::statements::Statement;
use crate::statements::admin::prepare;
use crate::statements::beginning::{beginning, writes};
use crate::statements::dml::point;
use crate::{Error, Result, statements};
use datafusion::common::ParamValues;
use datafusion::sql::sqlparser::ast::Statement as SqlStatement;
use gingham_storage::panics::{self, PanicPoint, guarded};
use std::borrow::Cow;
use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

/// Who runs a statement, by which handle, and with which tables of its own.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    /// It waits until the statement is done, and has nothing else to do.
    waits: bool,
    cancel: CancelToken,
    tables: StatementTables,
}

impl Caller {
    /// A thread that waits until the statement is done.
    pub(super) fn waits(tables: &StatementTables) -> Self {
        Self { waits: true, cancel: CancelToken::new(), tables: tables.clone() }
    }

    /// A thread that has other things to do.
    pub(super) fn goes_on(tables: &StatementTables) -> Self {
        Self { waits: false, ..Self::waits(tables) }
    }

    /// A thread that waits until the statement is done, or is cancelled by a handle of before. Errors when that was done already.
    pub(super) fn waits_by(tables: &StatementTables, handle: &StatementHandle) -> Result<Self> {
        let cancel = handle.token().part();
        cancel.check()?;
        Ok(Self { cancel, ..Self::waits(tables) })
    }

    /// As [`waits_by`](Self::waits_by), for a thread that has other things to do.
    pub(super) fn goes_on_by(tables: &StatementTables, handle: &StatementHandle) -> Result<Self> {
        Ok(Self { waits: false, ..Self::waits_by(tables, handle)? })
    }
}

/// Whether a statement was run at once.
enum AtOnce {
    Done(Started),
    NotSo(Stopwatch),
}

/// Runs `work` on the database's threads, whose stacks are deep enough to plan on, and waits for it.
pub(super) fn wait_for<R: Send + 'static>(
    session: &Session,
    work: impl Future<Output = Result<R>> + Send + 'static,
) -> Result<R> {
    wait(on_threads(session, work)?)
}

/// Runs `work` on the database's threads, for asynchronous code of any runtime.
pub(super) fn on_threads<R: Send + 'static>(
    session: &Session,
    work: impl Future<Output = Result<R>> + Send + 'static,
) -> Result<impl Future<Output = Result<R>> + Send + 'static> {
    let task = session.engine.handle()?.spawn(work);
    Ok(async move { task.await.unwrap_or_else(|error| Err(Error::of_task(error))) })
}

/// Starts the one statement of a text, by a plan that was kept when there is one.
pub(super) fn text(session: &Arc<Session>, sql: &str, caller: Caller) -> Result<Started> {
    guarded(|| {
        panics::pass(PanicPoint::Launch);
        let recording = session.recording(|| Some(sql.to_owned()));
        Ok(unrecorded(session, sql, caller)?.recorded(recording))
    })
}

fn unrecorded(session: &Arc<Session>, sql: &str, caller: Caller) -> Result<Started> {
    let watch = Stopwatch::start();
    if let Some(kept) = CachedPlan::find(session, &caller.tables, sql)? {
        return Ok(start_kept(session, watch, kept)?.called("SELECT"));
    }
    let begun = Instant::now();
    let statement = statements::parse_single(sql)?;
    watch.note(|times| times.parse = begun.elapsed());
    let text = is_query(&statement).then(|| Arc::from(sql));
    launch(session, Cow::Owned(statement), None, watch, caller, text)
}

/// Starts a statement that is parsed already, with values for its parameters.
pub(super) fn statement(
    session: &Arc<Session>,
    statement: &Statement,
    parameters: Option<ParamValues>,
    caller: Caller,
) -> Result<Started> {
    guarded(|| {
        panics::pass(PanicPoint::Launch);
        launch(session, Cow::Borrowed(statement), parameters, Stopwatch::start(), caller, None)
    })
}

fn launch(
    session: &Arc<Session>,
    statement: Cow<'_, Statement>,
    parameters: Option<ParamValues>,
    watch: Stopwatch,
    caller: Caller,
    text: Option<Arc<str>>,
) -> Result<Started> {
    // EXECUTE is called what it executes is.
    let executed = prepare::executed(session, &statement);
    let command = statements::command(executed.as_ref().map_or(&statement, |prepared| &prepared.statement));
    let meant = executed.as_ref().map_or(&*statement, |prepared| &prepared.statement);
    if writes(session, meant) && session.is_read_only() {
        return Err(read_only(command));
    }
    let watch = match at_once(session, &statement, parameters.as_ref(), watch, &caller)? {
        AtOnce::Done(started) => return Ok(started.called(command)),
        AtOnce::NotSo(watch) => watch,
    };
    let mut statement = statement.into_owned();
    let beginning = match executed {
        Some(prepared) => beginning(session, &mut prepared.statement.clone())?,
        None => beginning(session, &mut statement)?,
    };
    if matches!(beginning, Beginning::Locks { .. }) && session.is_read_only() {
        return Err(read_only("a lock of records"));
    }
    let how = (caller.cancel, beginning);
    let started = start(session, caller.tables, watch, how, |mut context| async move {
        context.text = text;
        statements::run(&context, statement, parameters).await
    });
    Ok(started?.called(command))
}

/// Runs a statement about one record, on this thread. One that writes waits for others, and is left to the database's
/// threads when the caller must not.
fn at_once(
    session: &Arc<Session>,
    statement: &Statement,
    parameters: Option<&ParamValues>,
    watch: Stopwatch,
    caller: &Caller,
) -> Result<AtOnce> {
    if let Some((schema, batch)) = point::select(session, &caller.tables, statement, parameters)? {
        return Ok(AtOnce::Done(finished(watch, schema, batch)));
    }
    if caller.waits
        && session.with_settings(|settings| settings.statement_timeout.is_none())
        && let Some(records) = point::change_now(session, &caller.tables, statement, parameters)?
    {
        return Ok(AtOnce::Done(finished_change(watch, records)));
    }
    Ok(AtOnce::NotSo(watch))
}

fn is_query(statement: &Statement) -> bool {
    matches!(statement.tree(), Some(SqlStatement::Query(_)))
}
