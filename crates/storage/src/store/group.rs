//! Group commit: those who wait for the write lock leave what they want to do in a list, and who has the lock does it all
//! in one transaction, with one sync. Each job is a transaction within that one, so that its failure undoes it alone.

use crate::open::options::WriteOptions;
use crate::open::shared::Store;
use crate::open::writer_queue::Entered;
use crate::panics::{self, PanicPoint, guarded};
use crate::store::nested::Follows;
use crate::store::point_updates::PointUpdate;
use crate::write::transaction::Transaction;
use crate::{Error, Result};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::thread::Thread;
use std::time::{Duration, Instant};

/// Most jobs of a group.
const TOGETHER: usize = 64;
/// A group ends with the job by which so many heap pages have been written: each job after it would need copies of them. Those
/// of a job that has written more by itself, as a load does, are never copied.
const PAGES: usize = 1024;
/// How often who waits looks whether it is to give up.
const LOOK: Duration = Duration::from_millis(10);

/// Jobs that wait.
#[derive(Debug, Default)]
pub(crate) struct Jobs(Mutex<JobList>);

#[derive(Debug, Default)]
struct JobList {
    waiting: Vec<WriteJob>,
    /// Whether a thread sees to the jobs whose senders are no threads.
    is_led: bool,
}

/// What somebody wants to have done in a transaction, and whether that was committed.
struct WriteJob {
    work: JobKind,
    options: WriteOptions,
    outcome: Arc<Outcome>,
}

/// What a job does in its transaction.
type JobWork = dyn FnOnce(&mut Transaction<'_>) -> Result<()> + Send;

/// Where work leaves its result for who sent it.
pub(crate) struct Given<R>(Arc<Mutex<Option<R>>>);

/// Leaves its result in a [`Given`].
pub(crate) enum JobKind {
    /// Anything.
    Any(Box<JobWork>),
    /// A change of a record of a heap table: `points.rs`.
    Point(PointUpdate),
}

/// How a job ended, and who waits for that.
pub(crate) struct Outcome {
    ended: Mutex<Option<Ended>>,
    /// Why its sender waits no longer, if it could not take it back.
    given_up: Mutex<Option<Error>>,
    sender: Sender,
}

/// Who waits for a job.
enum Sender {
    /// A thread, which sees to it that the job is done.
    Thread(Thread),
    /// Asynchronous code, once it has asked.
    Task(Mutex<Option<Waker>>),
}

enum Ended {
    Committed,
    Failed(Error),
}

impl std::fmt::Debug for WriteJob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").field("options", &self.options).finish_non_exhaustive()
    }
}

impl<R> Default for Given<R> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<R> Clone for Given<R> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<R> Given<R> {
    /// Leaves a result; the last one counts.
    pub(crate) fn put(&self, result: R) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    }

    /// The result of work that was committed.
    pub(crate) fn take(&self) -> Result<R> {
        let result = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        result.ok_or_else(|| Error::Internal("a transaction was committed that gave no result".into()))
    }
}

impl JobKind {
    fn run(self, transaction: &mut Transaction<'_>) -> Result<()> {
        match self {
            Self::Any(work) => work(transaction)?,
            Self::Point(point) => point.run(transaction)?,
        }
        // Where others would see most of what a panic leaves undone.
        panics::pass(PanicPoint::Job);
        Ok(())
    }
}

impl Outcome {
    /// An outcome for a job that this thread sends.
    fn of_thread() -> Self {
        Self { ended: Mutex::default(), given_up: Mutex::default(), sender: Sender::Thread(std::thread::current()) }
    }

    /// An outcome for a job that asynchronous code sends.
    fn of_task() -> Self {
        Self { ended: Mutex::default(), given_up: Mutex::default(), sender: Sender::Task(Mutex::default()) }
    }

    /// The result once there is one. `waker` is told when there is.
    pub(crate) fn poll(&self, waker: &Waker) -> Option<Result<()>> {
        let mut ended = self.get();
        if let (None, Sender::Task(sender)) = (&*ended, &self.sender) {
            *sender.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker.clone());
        }
        ended.take().map(Ended::result)
    }

    fn get(&self) -> MutexGuard<'_, Option<Ended>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn given_up(&self) -> MutexGuard<'_, Option<Error>> {
        self.given_up.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, ended: Ended) {
        *self.get() = Some(ended);
        match &self.sender {
            Sender::Thread(sender) => sender.unpark(),
            Sender::Task(sender) => {
                let waker = sender.lock().unwrap_or_else(PoisonError::into_inner).take();
                waker.iter().for_each(Waker::wake_by_ref);
            }
        }
    }
}

impl Ended {
    fn result(self) -> Result<()> {
        match self {
            Self::Committed => Ok(()),
            Self::Failed(error) => Err(error),
        }
    }
}

impl WriteJob {
    /// Does the work; gives who waits for it when it is to be committed. A panic is its failure alone.
    fn run(self, within: impl FnOnce(JobKind) -> Result<()>) -> Option<Arc<Outcome>> {
        match guarded(|| within(self.work)) {
            Ok(()) => return Some(self.outcome),
            Err(error) => self.outcome.end(Ended::Failed(error)),
        }
        None
    }

    /// The change of a single record that it is.
    fn point(&self) -> Option<&PointUpdate> {
        match &self.work {
            JobKind::Point(point) => Some(point),
            JobKind::Any(_) => None,
        }
    }

    /// Jobs that are alike in this can be in one group: all may be undone by a power loss or none, and all are changes of
    /// single records or none.
    fn kind(&self) -> (bool, bool) {
        (self.options.relaxed, self.point().is_some())
    }
}

impl Jobs {
    fn list(&self) -> MutexGuard<'_, JobList> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job of asynchronous code; says whether a thread has to [`lead`](Store::lead) from now on.
    pub(crate) fn send(&self, options: &WriteOptions, work: JobKind) -> (Arc<Outcome>, bool) {
        let outcome = Arc::new(Outcome::of_task());
        let mut list = self.list();
        list.waiting.push(WriteJob { work, options: options.clone(), outcome: Arc::clone(&outcome) });
        (outcome, !std::mem::replace(&mut list.is_led, true))
    }

    /// The first job whose sender is no thread. When there is none, nobody leads any more.
    fn first_of_tasks(&self) -> Option<Arc<Outcome>> {
        let mut list = self.list();
        let of_task = |job: &&WriteJob| matches!(job.outcome.sender, Sender::Task(_));
        let first = list.waiting.iter().find(of_task).map(|job| Arc::clone(&job.outcome));
        list.is_led = first.is_some();
        first
    }

    /// Takes a job back that nobody has begun; one that somebody has taken is not put back, but fails with `error`.
    pub(crate) fn withdraw(&self, outcome: &Arc<Outcome>, error: Error) -> bool {
        outcome.given_up().get_or_insert(error);
        let list = &mut self.list().waiting;
        let waiting = list.len();
        list.retain(|job| !Arc::ptr_eq(&job.outcome, outcome));
        list.len() < waiting
    }

    /// The next jobs of the kind of one that waits: others' senders have their own turns, and threads that are made for them.
    fn take(&self, own: &Arc<Outcome>) -> Vec<WriteJob> {
        let list = &mut self.list().waiting;
        let kind = list.iter().find(|job| Arc::ptr_eq(&job.outcome, own)).map(WriteJob::kind);
        let mut together = 0;
        let mut goes = |job: &mut WriteJob| {
            let goes = together < TOGETHER && Some(job.kind()) == kind;
            together += usize::from(goes);
            goes
        };
        list.extract_if(.., &mut goes).collect()
    }

    /// Puts jobs back for the next turn, but for those whose senders would have taken them back meanwhile.
    fn put_back(&self, jobs: Vec<WriteJob>) {
        let list = &mut self.list().waiting;
        let mut wanted = Vec::with_capacity(jobs.len());
        for job in jobs {
            let given_up = job.outcome.given_up().take();
            match given_up {
                Some(error) => job.outcome.end(Ended::Failed(error)),
                None => wanted.push(job),
            }
        }
        list.splice(..0, wanted);
    }
}

impl Store {
    /// Runs `work` as the one writer and commits when it returns `Ok`; nothing is visible otherwise. It may be run by another
    /// thread, which is at the writer's work just then, and share its commit. Blocks until that is done.
    pub fn submit<R: Send + 'static>(
        self: &Arc<Self>,
        options: &WriteOptions,
        work: impl FnOnce(&mut Transaction<'_>) -> Result<R> + Send + 'static,
    ) -> Result<R> {
        let given = Given::default();
        let slot = given.clone();
        let work = move |transaction: &mut Transaction<'_>| {
            slot.put(work(transaction)?);
            Ok(())
        };
        self.wait_for(options, JobKind::Any(Box::new(work)), None)?;
        given.take()
    }

    /// Waits until `work` is committed, does it with others' meanwhile, or gives it up when `given_up` says so in time.
    pub(crate) fn wait_for(
        self: &Arc<Self>,
        options: &WriteOptions,
        work: JobKind,
        given_up: Option<&dyn Fn() -> bool>,
    ) -> Result<()> {
        let jobs = self.waiting_jobs()?;
        let outcome = Arc::new(Outcome::of_thread());
        jobs.list().waiting.push(WriteJob { work, options: options.clone(), outcome: Arc::clone(&outcome) });
        // A job that is put back has waited already.
        let deadline = options.patience().and_then(|limit| Instant::now().checked_add(limit));
        let (mut deadline, mut given_up) = (deadline, given_up);
        loop {
            let limit = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let is_given_up = || given_up.is_some_and(|given_up| given_up());
            match self.line.enter(limit, given_up.map(|_| LOOK), || outcome.get().is_some() || is_given_up()) {
                Entered::Turn(_turn) => self.do_jobs(jobs, &outcome),
                Entered::Answered if outcome.get().is_none() => {
                    if jobs.withdraw(&outcome, Error::Cancelled) {
                        return Err(Error::Cancelled);
                    }
                    // Somebody is at it.
                    given_up = None;
                }
                Entered::Answered => {}
                Entered::TooLate if jobs.withdraw(&outcome, options.waited()) => return Err(options.waited()),
                Entered::TooLate => deadline = None,
            }
            let ended = outcome.get().take();
            if let Some(ended) = ended {
                return ended.result();
            }
        }
    }

    /// Does the jobs of asynchronous code until none is left. Blocks.
    pub fn lead(self: &Arc<Self>) -> Result<()> {
        let jobs = self.waiting_jobs()?;
        while let Some(first) = jobs.first_of_tasks() {
            // When the turn comes, others may have done it, or its sender may have taken it back.
            if let Entered::Turn(_turn) = self.line.enter(None, None, || false) {
                self.do_jobs(jobs, &first);
            }
        }
        Ok(())
    }

    pub(crate) fn waiting_jobs(&self) -> Result<&Jobs> {
        let known = self.jobs.downcast_ref::<Jobs>();
        known.ok_or_else(|| Error::Internal("the store was opened without a list of jobs".into()))
    }

    /// Does the jobs that wait, as many as go together with the caller's `own`. The caller has the turn.
    fn do_jobs(self: &Arc<Self>, waiting: &Jobs, own: &Arc<Outcome>) {
        let jobs = waiting.take(own);
        let Some(options) = jobs.first().map(|job| job.options.clone()) else { return };
        let outcomes: Vec<Arc<Outcome>> = jobs.iter().map(|job| Arc::clone(&job.outcome)).collect();
        match guarded(|| Ok(self.do_together(jobs, &options))) {
            Ok(left) => waiting.put_back(left),
            // Behind LMDB's commit nothing panics that is not caught there: all of it is undone.
            Err(error) => end(outcomes.into_iter().filter(|outcome| outcome.get().is_none()), Err(error)),
        }
    }

    /// Does jobs in one transaction; gives back those that are to have another one.
    fn do_together(self: &Arc<Self>, mut jobs: Vec<WriteJob>, options: &WriteOptions) -> Vec<WriteJob> {
        let environment = &match self.environment() {
            Ok(environment) => environment,
            Err(error) => {
                end(jobs.into_iter().map(|job| job.outcome), Err(error));
                return Vec::new();
            }
        };
        let points: Option<Vec<&PointUpdate>> = jobs.iter().map(WriteJob::point).collect();
        if let Some(result) = points.and_then(|points| self.change_points(environment, points, options)) {
            end(jobs.into_iter().map(|job| job.outcome), result);
            return Vec::new();
        }
        let mut transaction = match self.begin_writing(environment, options) {
            Ok(transaction) => transaction,
            Err(error) => {
                end(jobs.into_iter().map(|job| job.outcome), Err(error));
                return Vec::new();
            }
        };
        let mut done = Vec::with_capacity(jobs.len());
        if jobs.len() == 1 {
            // Nothing of a job that failed is committed, so that it needs no transaction of its own.
            done.extend(jobs.pop().and_then(|job| job.run(|work| work.run(&mut transaction))));
            if done.is_empty() {
                return jobs;
            }
        }
        let mut jobs = jobs.into_iter();
        while let Some(job) = jobs.next() {
            let follows = if jobs.len() > 0 { Follows::OthersUnless(PAGES) } else { Follows::Nothing };
            done.extend(job.run(|work| transaction.nested(follows, |inner| work.run(inner))));
            if !transaction.can_go_on() || transaction.base().copied_pages() > PAGES {
                break;
            }
        }
        end(done.into_iter(), transaction.commit());
        jobs.collect()
    }
}

/// Tells those whose jobs were in a transaction how that ended.
fn end(outcomes: impl Iterator<Item = Arc<Outcome>>, result: Result<()>) {
    for outcome in outcomes {
        outcome.end(match &result {
            Ok(()) => Ended::Committed,
            Err(error) => Ended::Failed(error.again()),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::memory::MemoryBudget;

    #[test]
    fn what_a_statement_has_waited_before_counts() {
        let store = Store::scratch(MemoryBudget::new(1 << 30)).unwrap();
        let options = WriteOptions { lock_timeout: Some(Duration::from_secs(3600)), ..WriteOptions::default() };
        assert_eq!(options.patience(), Some(Duration::from_secs(3600)));
        let turn = store.turn(&options).unwrap();
        options.clone().waited.add(Duration::from_secs(3599));
        assert_eq!(options.patience(), Some(Duration::from_secs(1)));
        options.waited.add(Duration::from_secs(2));
        // Nobody waits for an hour.
        assert!(matches!(store.turn(&options), Err(Error::LockTimeout(_))));
        assert!(matches!(store.submit(&options, |_| Ok(())), Err(Error::LockTimeout(_))));
        drop(turn);
        store.submit(&options, |_| Ok(())).unwrap();
        assert_eq!(WriteOptions::default().patience(), None);
    }
}
