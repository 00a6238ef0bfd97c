//! The start of a statement: at once on the caller's thread where it is about one record, by a plan that was kept, or on the
//! database's threads.

use crate::session::{
    Beginning, CachedPlan, CancelToken, RunningGuard, Session, Started, StatementHandle, StatementTables, Stopwatch,
};
use crate::session::{finished, finished_change, start, start_kept, wait};
use crate::statements::Statement;
use crate::statements::admin::prepare;
use crate::statements::beginning::{beginning, writes};
use crate::statements::dml::point::{self, AloneChange, PointChange};
use crate::statements::rights::needs_writer;
use crate::{Error, Result, statements};
use datafusion::common::ParamValues;
use datafusion::sql::sqlparser::ast::Statement as SqlStatement;
use gingham_storage::panics::{self, PanicPoint, guarded};
use std::borrow::Cow;
use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

/// Bytes of a statement that others see, and so many as one may have whose plan is kept.
const SHOWN_BYTES: usize = 16 << 10;

/// Who runs a statement, by which handle, and with which tables of its own.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    /// It waits until the statement is done, and has nothing else to do.
    waits: bool,
    cancel: CancelToken,
    tables: StatementTables,
    /// The statement as others see it, where it is not the text that is started.
    text: Option<Arc<str>>,
    /// The text of the prepared statement that is executed.
    prepared: Option<Arc<str>>,
    /// The files that it names are the program's own.
    owns_files: bool,
}

impl Caller {
    /// A thread that waits until the statement is done.
    pub(super) fn waits(tables: &StatementTables) -> Self {
        let (cancel, tables) = (CancelToken::new(), tables.clone());
        Self { waits: true, cancel, tables, text: None, prepared: None, owns_files: false }
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

    /// This caller with the text of what it runs, as others see it.
    pub(super) fn of_text(self, text: &Arc<str>) -> Self {
        Self { text: Some(Arc::clone(text)), ..self }
    }

    /// This caller, who executes a prepared statement of that text.
    pub(super) fn executing(self, text: &Arc<str>) -> Self {
        Self { prepared: Some(Arc::clone(text)), ..self.of_text(text) }
    }

    /// This caller, who has made the files that its statement names.
    pub(super) fn with_own_files(self) -> Self {
        Self { owns_files: true, ..self }
    }

    /// Lets others see that it runs a statement called `command`.
    fn enter(&self, session: &Session, command: &str) -> Result<RunningGuard> {
        let text = self.text.clone().unwrap_or_else(|| command.into());
        session.running.enter(self.cancel.clone(), text)
    }
}

/// Whether a statement was run at once.
enum AtOnce {
    Done(Started),
    /// Not so; perhaps it is a change of one record.
    NotSo(Stopwatch, Option<PointChange>),
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

/// A text as others see it: of a long one the beginning, since it is a copy.
pub(super) fn shown(sql: &str) -> Arc<str> {
    let end = (0..=sql.len().min(SHOWN_BYTES)).rev().find(|at| sql.is_char_boundary(*at));
    sql[..end.unwrap_or(0)].into()
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
    let text = shown(sql);
    let entered = session.running.enter(caller.cancel.clone(), Arc::clone(&text))?;
    if let Some(kept) = CachedPlan::find(session, &caller.tables, sql)? {
        return Ok(start_kept(session, watch, (caller.cancel, entered), kept)?.called("SELECT"));
    }
    let begun = Instant::now();
    let statement = statements::parse_single(sql)?;
    watch.note(|times| times.parse = begun.elapsed());
    // Of a longer one no plan is kept.
    let text = (is_query(&statement) && text.len() == sql.len()).then_some(text);
    launch(session, Cow::Owned(statement), None, watch, (caller, entered), text)
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
        let entered = caller.enter(session, statements::command(statement))?;
        launch(session, Cow::Borrowed(statement), parameters, Stopwatch::start(), (caller, entered), None)
    })
}

fn launch(
    session: &Arc<Session>,
    statement: Cow<'_, Statement>,
    parameters: Option<ParamValues>,
    watch: Stopwatch,
    (caller, entered): (Caller, RunningGuard),
    text: Option<Arc<str>>,
) -> Result<Started> {
    // EXECUTE is called what it executes is.
    let executed = prepare::executed(session, &statement);
    let command = statements::command(executed.as_ref().map_or(&statement, |prepared| &prepared.statement));
    let meant = executed.as_ref().map_or(&*statement, |prepared| &prepared.statement);
    let refused = match session.is_reader() {
        true => needs_writer(session, meant),
        false => writes(session, meant) && session.is_read_only(),
    };
    if refused {
        return Err(session.read_only(command));
    }
    let (watch, change) = match at_once(session, &statement, parameters.as_ref(), watch, &caller)? {
        AtOnce::Done(started) => return Ok(started.called(command)),
        AtOnce::NotSo(watch, change) => (watch, change),
    };
    let mut statement = statement.into_owned();
    let beginning = match executed {
        Some(prepared) => beginning(session, &mut prepared.statement.clone())?,
        None => beginning(session, &mut statement)?,
    };
    if matches!(beginning, Beginning::Locks { .. }) && session.is_read_only() {
        return Err(session.read_only("a lock of records"));
    }
    // What locks is not the same when it comes again.
    let is_repeatable = beginning == Beginning::Reads && is_query(&statement);
    let prepared = caller.prepared.filter(|_| is_repeatable);
    let has_values = parameters.as_ref().is_some_and(has_values);
    let text = match &prepared {
        Some(prepared) if !has_values => Some(Arc::clone(prepared)),
        _ => text.filter(|_| is_repeatable),
    };
    if let Some(prepared) = prepared.as_deref().filter(|_| !has_values)
        && let Some(kept) = CachedPlan::find(session, &caller.tables, prepared)?
    {
        return Ok(start_kept(session, watch, (caller.cancel, entered), kept)?.called(command));
    }
    let owns_files = caller.owns_files;
    let (changing, cancel) = (Arc::clone(session), caller.cancel.clone());
    let first = async move {
        match change {
            Some(change) => change.send(&changing, cancel).await,
            None => Ok(None),
        }
    };
    let how = (caller.cancel, beginning, entered);
    let started = start(session, caller.tables, watch, how, first, move |mut context| async move {
        context.text = text;
        context.prepared = prepared;
        context.owns_files = owns_files;
        // It is large, and would be copied with each of those around it.
        Box::pin(statements::run(&context, statement, parameters)).await
    });
    Ok(started?.called(command))
}

/// Runs a statement about one record, on this thread. One that writes waits for others, and is sent to them when the caller must not
/// wait.
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
    let change = match point::alone(session, &caller.tables, statement, parameters)? {
        None => return Ok(AtOnce::NotSo(watch, None)),
        Some(AloneChange::InVain) => return Ok(AtOnce::Done(finished_change(watch, 0))),
        Some(AloneChange::Change(change)) => change,
    };
    if !caller.waits || session.with_settings(|settings| settings.statement_timeout.is_some()) {
        return Ok(AtOnce::NotSo(watch, Some(change)));
    }
    Ok(match change.make(session, &caller.cancel).map_err(|error| caller.cancel.why(error))? {
        Some(records) => AtOnce::Done(finished_change(watch, records)),
        None => AtOnce::NotSo(watch, None),
    })
}

fn has_values(parameters: &ParamValues) -> bool {
    match parameters {
        ParamValues::List(values) => !values.is_empty(),
        ParamValues::Map(values) => !values.is_empty(),
    }
}

fn is_query(statement: &Statement) -> bool {
    matches!(statement.tree(), Some(SqlStatement::Query(_)))
}
