//! Running a statement: on the database's threads, its rows coming back through a channel of a few batches.

use crate::recording::Recording;
use crate::session::result::{QueryResult, ResultHead};
use crate::session::{
    CachedPlan, CancelToken, Outcome, RunningGuard, Session, StatementContext, StatementTables, Stopwatch, Use,
};
use crate::{Error, Result};
use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::runtime::SpawnedTask;
use futures::future::FutureExt;
use futures::stream::StreamExt;
use gingham_storage::panics::{self, PanicPoint, joined};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Batches that may wait for the reader of a result.
const WAITING_BATCHES: usize = 4;

/// When it is known.
#[derive(Debug)]
enum Told {
    Now(ResultHead),
    Later(oneshot::Receiver<Result<ResultHead>>),
}

/// What a statement gives, and its part in the session's transaction, which is not idle while the rows are being read.
type StatementOutcome = (Outcome, Option<Arc<Use>>);

/// A statement that was started.
#[derive(Debug)]
pub(crate) struct Started {
    command: &'static str,
    head: Told,
    batches: mpsc::Receiver<Result<RecordBatch>>,
    cancel: CancelToken,
    watch: Arc<Stopwatch>,
    recording: Option<Recording>,
}

/// What a statement needs of the session's transaction before it sees anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// It is about the session, and reads nothing.
    OfSession,
    /// It reads.
    Reads,
    /// It writes: a transaction takes the turn first.
    Writes,
    /// It keeps others from writing; with `nowait` it does not wait for those who do, and with `skips` it gives no rows then.
    Locks { nowait: bool, skips: bool },
}

impl Beginning {
    /// The context of a statement that begins so.
    async fn context(
        self,
        session: Arc<Session>,
        cancel: CancelToken,
        tables: StatementTables,
    ) -> Result<StatementContext> {
        let new = |reads| StatementContext::new(Arc::clone(&session), cancel.clone(), tables.clone(), reads);
        let in_turn = |context: &StatementContext| context.transaction.as_ref().is_some_and(|open| open.writes());
        match self {
            Self::OfSession => new(false),
            Self::Reads => new(true),
            Self::Writes => {
                let context = new(false)?;
                let is_alone = context.transaction.is_none();
                if is_alone || in_turn(&context) { Ok(context) } else { context.with_turn(false).await }
            }
            Self::Locks { nowait, skips } => {
                let context = new(false)?;
                context.require_live()?;
                if in_turn(&context) {
                    return Ok(context);
                }
                match context.with_turn(nowait || skips).await {
                    Err(Error::LockTimeout(_)) if skips => Ok(new(true)?.skipping_locked()),
                    context => context,
                }
            }
        }
    }
}

/// Starts `work`, which runs one statement that has `entered`, with `tables` of its own, in the context it is given, until it is
/// cancelled by `cancel`. It is done, and so many records are changed, where `first` says so, which has no context.
pub(crate) fn start<F, W>(
    session: &Arc<Session>,
    tables: StatementTables,
    watch: Stopwatch,
    (cancel, beginning, entered): (CancelToken, Beginning, RunningGuard),
    first: impl Future<Output = Result<Option<u64>>> + Send + 'static,
    work: W,
) -> Result<Started>
where
    W: FnOnce(StatementContext) -> F + Send + 'static,
    F: Future<Output = Result<Outcome>> + Send + 'static,
{
    let (begun, watch) = (Arc::clone(session), Arc::new(watch));
    let (own, known) = (cancel.clone(), Arc::clone(&watch));
    let (sender, head) = oneshot::channel();
    let work = async move {
        if let Some(records) = first.await? {
            return Ok((Outcome::Affected(records), None));
        }
        let mut context = beginning.context(Arc::clone(&begun), own, tables).await?;
        context.watch = known;
        let part = context.transaction.clone();
        let (state, number) = (Arc::clone(&context.state), context.settings_number);
        let outcome = work(context).await?;
        begun.take_back(state, number);
        Ok((outcome, part))
    };
    start_with(session, (cancel, watch, entered), (Told::Later(head), Some(sender)), work, || ())
}

/// Starts `work` in a context that is there already: in the transaction that the session was in when it was made. Others see the
/// context's text as its statement.
pub(crate) fn start_in<F, W>(context: StatementContext, work: W) -> Result<Started>
where
    W: FnOnce(StatementContext) -> F,
    F: Future<Output = Result<Outcome>> + Send + 'static,
{
    let session = Arc::clone(&context.session);
    let text = context.text.clone().unwrap_or_else(|| "".into());
    let entered = session.running.enter(context.cancel.clone(), text)?;
    let known = (context.cancel.clone(), Arc::clone(&context.watch), entered);
    let (sender, head) = oneshot::channel();
    let part = context.transaction.clone();
    let work = work(context);
    start_with(&session, known, (Told::Later(head), Some(sender)), async move { Ok((work.await?, part)) }, || ())
}

/// Starts a statement whose plan was kept, and with it the schema: nobody has to wait for the threads to tell it.
pub(crate) fn start_kept(
    session: &Arc<Session>,
    watch: Stopwatch,
    (cancel, entered): (CancelToken, RunningGuard),
    kept: CachedPlan,
) -> Result<Started> {
    let head = ResultHead { schema: kept.schema(), affected: None };
    let again = kept.at_rest();
    let watch = Arc::new(watch);
    let (own, known) = (cancel.clone(), Arc::clone(&watch));
    start_with(
        session,
        (cancel, watch, entered),
        (Told::Now(head), None),
        async move { Ok((Outcome::Rows(kept.rows(&own, &known)?), None)) },
        move || again.make_ready(),
    )
}

/// A statement that has run already and gave these rows.
pub(crate) fn finished(watch: Stopwatch, schema: SchemaRef, batch: RecordBatch) -> Started {
    let (sender, batches) = mpsc::channel(1);
    watch.is_planned();
    if batch.num_rows() > 0 {
        // There is room for one.
        drop(sender.try_send(Ok(batch)));
    }
    let head = Told::Now(ResultHead { schema, affected: None });
    Started { command: "", head, batches, cancel: CancelToken::new(), watch: Arc::new(watch), recording: None }
}

/// A statement that has run already and changed so many records.
pub(crate) fn finished_change(watch: Stopwatch, records: u64) -> Started {
    let (_, batches) = mpsc::channel(1);
    watch.is_planned();
    let head = Told::Now(ResultHead { schema: Arc::new(Schema::empty()), affected: Some(records) });
    Started { command: "", head, batches, cancel: CancelToken::new(), watch: Arc::new(watch), recording: None }
}

/// Starts `work`, and does `after` when all that it gave was taken.
fn start_with(
    session: &Arc<Session>,
    (cancel, watch, guard): (CancelToken, Arc<Stopwatch>, RunningGuard),
    (head, mut head_sender): (Told, Option<oneshot::Sender<Result<ResultHead>>>),
    work: impl Future<Output = Result<StatementOutcome>> + Send + 'static,
    after: impl FnOnce() + Send + 'static,
) -> Result<Started> {
    let (sender, batches) = mpsc::channel(WAITING_BATCHES);
    let started =
        Started { command: "", head, batches, cancel: cancel.clone(), watch: Arc::clone(&watch), recording: None };
    let handle = session.engine.handle()?.clone();
    let limit = session.with_settings(|settings| settings.statement_timeout);
    let session = Arc::clone(session);
    handle.spawn(async move {
        // What a cancelled statement has left is dropped within it, which can panic too.
        let driven = AssertUnwindSafe(within(limit, &cancel, async {
            tokio::select! {
                biased;
                () = cancel.cancelled() => Err(cancel.error()),
                result = drive(work, &cancel, &watch, &mut head_sender, &sender) => result,
            }
        }));
        let result = joined(driven.catch_unwind().await).map_err(|error| cancel.why(error));
        // The plan goes with it.
        drop(guard);
        session.notices.flush();
        let panicked = matches!(result, Err(Error::Internal(_)));
        if let Err(error) = result {
            // Nobody listens any more when the result was dropped.
            match head_sender {
                Some(head) => drop(head.send(Err(error))),
                None => drop(sender.send(Err(error)).await),
            }
        }
        // It has the threads that run this, and goes after all that the statement held. Who sees the end of the rows may close the
        // database.
        drop(session);
        drop(sender);
        if !panicked {
            after();
        }
    });
    Ok(started)
}

/// Cancels `work` by its token once it has taken as long as `limit`. What is about to commit goes on. Another task watches the
/// time: a function that waits, or work that goes on without a pause, would keep this one from looking.
async fn within(limit: Option<Duration>, cancel: &CancelToken, work: impl Future<Output = Result<()>>) -> Result<()> {
    let Some(limit) = limit else { return work.await };
    let cancel = cancel.clone();
    // It ends when it is dropped.
    let _watch = SpawnedTask::spawn(async move {
        tokio::time::sleep(limit).await;
        cancel.cancel_for(Error::StatementTimeout(format!(
            "the statement was cancelled: it took longer than {} s (statement_timeout)",
            limit.as_secs_f64()
        )));
    });
    work.await
}

async fn drive(
    work: impl Future<Output = Result<StatementOutcome>>,
    cancel: &CancelToken,
    watch: &Stopwatch,
    head: &mut Option<oneshot::Sender<Result<ResultHead>>>,
    batches: &mpsc::Sender<Result<RecordBatch>>,
) -> Result<()> {
    let mut tell = |schema, affected| {
        if let Some(head) = head.take() {
            drop(head.send(Ok(ResultHead { schema, affected })));
        }
    };
    panics::pass(PanicPoint::Statement);
    let (outcome, part) = work.await?;
    let _part = part.filter(|_| matches!(outcome, Outcome::Rows(_)));
    watch.is_planned();
    let mut rows = match outcome {
        Outcome::Rows(rows) => rows,
        Outcome::Affected(number) => {
            tell(Arc::new(Schema::empty()), Some(number));
            return Ok(());
        }
        Outcome::Done => {
            tell(Arc::new(Schema::empty()), None);
            return Ok(());
        }
    };
    tell(rows.schema(), None);
    while let Some(batch) = rows.next().await {
        if batches.send(Ok(batch?)).await.is_err() {
            break;
        }
    }
    // One that has cancelled itself has not looked.
    cancel.check()
}

impl Told {
    async fn wait(self) -> Result<ResultHead> {
        match self {
            Self::Now(head) => Ok(head),
            Self::Later(head) => {
                head.await.unwrap_or_else(|_| Err(Error::Internal("the statement ended without a result".into())))
            }
        }
    }
}

impl Started {
    /// This statement, recorded when it has run to its end.
    pub(crate) fn recorded(self, recording: Option<Recording>) -> Self {
        Self { recording, ..self }
    }

    /// This statement under its name.
    pub(crate) fn called(self, command: &'static str) -> Self {
        Self { command, ..self }
    }

    /// Tells it to stop, and others how far it is.
    pub(crate) fn token(&self) -> &CancelToken {
        &self.cancel
    }

    /// Waits for the schema.
    pub(crate) async fn result(self) -> Result<QueryResult> {
        let Self { command, head, batches, cancel, watch, recording } = self;
        let abandoned = CancelOnDrop(Some(cancel));
        let head = tokio::select! {
            biased;
            head = head.wait() => head?,
            () = abandoned.cancelled() => return Err(abandoned.error()),
        };
        Ok(QueryResult::new(command, head, batches, abandoned.keep(), (watch, recording)))
    }
}

/// Cancels a statement when the wait for its schema is given up.
struct CancelOnDrop(Option<CancelToken>);

impl CancelOnDrop {
    async fn cancelled(&self) {
        if let Some(cancel) = &self.0 {
            cancel.cancelled().await;
        }
    }

    fn error(&self) -> Error {
        self.0.as_ref().map_or(Error::Cancelled, CancelToken::error)
    }

    fn keep(mut self) -> CancelToken {
        self.0.take().unwrap_or_else(CancelToken::new)
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(cancel) = &self.0 {
            cancel.cancel();
        }
    }
}
