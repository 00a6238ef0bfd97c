//! The threads that run pipelines, a morsel at a time. They take turns among the queries at work ([`crate::schedule::turns`]), and a thread
//! in the middle of a long query's morsel does a shorter one's steps first, so that this waits neither for its end nor for the morsel's.

use crate::schedule::fair::{AHEAD, FairScheduler, NOBODY, ScheduledTurn, Share};
use crate::{Error, Result};
use gingham_storage::panics::{caught, own_thread};
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Stack of a thread in bytes: pipelines are loops, not trees that are walked.
const STACK_BYTES: usize = 2 << 20;

/// Work in small steps that several threads may do at once.
pub(crate) trait Job: Send + Sync {
    /// One step, by the `worker`th thread at it; no other has that number meanwhile. False when no step is left to begin.
    /// Long ones call [`give_way`] now and then, with no lock held that another query may want.
    fn step(&self, worker: usize) -> bool;

    /// Called once, when the last step has ended.
    fn end(&self);

    /// Called in place of what is left when a step panicked.
    fn fail(&self, error: Error);
}

/// Threads that belong to nobody else and wait for nothing but work.
#[derive(Debug)]
pub struct Pool {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    work: Condvar,
    /// What the query has paid that waits for a thread and has paid least.
    wanted: AtomicU64,
}

#[derive(Default)]
struct State {
    turns: FairScheduler<dyn Job>,
    threads: usize,
    waiting: usize,
    closed: bool,
}

/// The step that a thread is at.
struct RunningStep {
    shared: Arc<Shared>,
    share: Arc<Share>,
    since: Instant,
    /// Time that went to steps of others within it.
    others: Duration,
    /// It is such a step itself: nobody interrupts it.
    within: bool,
}

thread_local! {
    static STEP: RefCell<Option<RunningStep>> = const { RefCell::new(None) };
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("jobs", &self.turns.len()).field("threads", &self.threads).finish_non_exhaustive()
    }
}

impl Default for Pool {
    fn default() -> Self {
        Self::new()
    }
}

impl Pool {
    /// No threads yet: they start when there is work for them.
    pub fn new() -> Self {
        Self { shared: Arc::default() }
    }

    /// Has a job done by at most `workers` threads, for the query with this share. Fails when the system gives no thread at
    /// all.
    pub(crate) fn start(&self, job: Arc<dyn Job>, share: &Arc<Share>, workers: usize) -> Result<()> {
        let workers = workers.max(1);
        let mut state = self.shared.lock();
        while state.threads < workers {
            let shared = Arc::clone(&self.shared);
            let thread = std::thread::Builder::new().name("gingham-pipeline".to_owned()).stack_size(STACK_BYTES);
            let work = move || {
                own_thread();
                shared.work();
            };
            match thread.spawn(work) {
                Ok(_) => state.threads += 1,
                Err(_) if state.threads > 0 => break,
                Err(error) => return Err(Error::Internal(format!("starting a thread: {error}"))),
            }
        }
        state.turns.add(job, Arc::clone(share), workers);
        self.shared.tell(&state);
        for _ in 0..workers.min(state.waiting) {
            self.shared.work.notify_one();
        }
        Ok(())
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.work.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets those at work know who waits.
    fn tell(&self, state: &State) {
        self.wanted.store(state.turns.wanted(), Ordering::Relaxed);
    }

    /// The next step of a query that has paid at most so much.
    fn take(&self, state: &mut State, most: u64) -> Option<ScheduledTurn<dyn Job>> {
        let turn = state.turns.take(most);
        self.tell(state);
        turn
    }

    /// A thread's life.
    fn work(self: Arc<Self>) {
        let mut state = self.lock();
        loop {
            if let Some(turn) = self.take(&mut state, NOBODY) {
                drop(state);
                self.step(turn, false);
                state = self.lock();
                continue;
            }
            // What is left has its threads.
            if state.closed {
                state.threads -= 1;
                return;
            }
            state.waiting += 1;
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
        }
    }

    /// Does a step, and its job's end behind the last one.
    fn step(self: &Arc<Self>, turn: ScheduledTurn<dyn Job>, within: bool) {
        let (shared, share) = (Arc::clone(self), Arc::clone(&turn.share));
        STEP.set(Some(RunningStep { shared, share, since: Instant::now(), others: Duration::ZERO, within }));
        let more = caught(|| turn.job.step(turn.worker)).unwrap_or_else(|panic| {
            turn.job.fail(panic.into());
            false
        });
        let ended = Instant::now();
        if let Some(step) = STEP.take() {
            step.share.pay(ended.duration_since(step.since).saturating_sub(step.others));
        }
        let mut state = self.lock();
        let last = state.turns.give_back(&turn, more);
        self.tell(&state);
        drop(state);
        if last && let Err(panic) = caught(|| turn.job.end()) {
            turn.job.fail(panic.into());
            // Whoever waits hears of the one before; of this one, that there is no answer.
            drop(caught(|| turn.job.end()));
        }
        if last {
            turn.share.pay(ended.elapsed());
        }
        // Whoever lets go of a job last may let go of the database with it, and so of this pool, whose end locks. The thread
        // goes on whatever that comes to.
        drop(caught(|| drop(turn)));
    }
}

/// Called in the middle of a step: does what queries wait for first that have paid less than the one at work. Costs a few
/// nanoseconds when none does. Outside of a pool's thread nothing happens.
pub(crate) fn give_way() {
    let waiting = STEP.with_borrow(|step| {
        let step = step.as_ref().filter(|step| !step.within)?;
        let wanted = step.shared.wanted.load(Ordering::Relaxed);
        if wanted == NOBODY {
            return None;
        }
        let paid = step.share.paid_after(step.since.elapsed().saturating_sub(step.others));
        let most = paid.checked_sub(AHEAD)?;
        (wanted <= most).then(|| (Arc::clone(&step.shared), most))
    });
    let Some((shared, most)) = waiting else { return };
    let (began, mut interrupted) = (Instant::now(), STEP.take());
    loop {
        let turn = shared.take(&mut shared.lock(), most);
        let Some(turn) = turn else { break };
        shared.step(turn, true);
    }
    if let Some(step) = &mut interrupted {
        step.others += began.elapsed();
    }
    STEP.set(interrupted);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::sync::atomic::{AtomicBool, AtomicUsize};
    use std::sync::mpsc;

    struct Count {
        left: AtomicUsize,
        at_work: Mutex<BTreeSet<usize>>,
        log: Arc<Mutex<Vec<char>>>,
        name: char,
        panics: bool,
        failed: Mutex<Option<Error>>,
        ended: mpsc::Sender<Option<String>>,
    }

    impl Job for Count {
        fn step(&self, worker: usize) -> bool {
            assert!(self.at_work.lock().unwrap().insert(worker), "two threads are worker {worker}");
            self.log.lock().unwrap().push(self.name);
            std::thread::yield_now();
            self.at_work.lock().unwrap().remove(&worker);
            assert!(!self.panics, "no luck");
            self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
        }

        fn end(&self) {
            assert!(self.at_work.lock().unwrap().is_empty(), "a step is under way");
            let failed = self.failed.lock().unwrap().take();
            self.ended.send(failed.map(|error| error.to_string())).unwrap();
        }

        fn fail(&self, error: Error) {
            *self.failed.lock().unwrap() = Some(error);
        }
    }

    fn job(name: char, steps: usize, panics: bool) -> (Arc<Count>, mpsc::Receiver<Option<String>>) {
        let (ended, receiver) = mpsc::channel();
        let (at_work, log, failed) = (Mutex::default(), Arc::default(), Mutex::default());
        (Arc::new(Count { left: AtomicUsize::new(steps), at_work, log, name, panics, failed, ended }), receiver)
    }

    #[test]
    fn every_step_is_done_and_the_end_comes_once() {
        let pool = Pool::new();
        for workers in [1, 2, 7] {
            let (count, ended) = job('a', 1000, false);
            pool.start(Arc::clone(&count) as Arc<dyn Job>, &Arc::default(), workers).unwrap();
            assert_eq!(ended.recv().unwrap(), None);
            assert_eq!(count.left.load(Ordering::SeqCst), 0);
            drop(count);
            assert!(ended.recv().is_err(), "a second end");
        }
    }

    /// A job of one step, which ends when it is told to.
    struct Long {
        enough: AtomicBool,
        ended: mpsc::Sender<()>,
    }

    impl Job for Long {
        fn step(&self, _: usize) -> bool {
            while !self.enough.load(Ordering::SeqCst) {
                give_way();
            }
            false
        }

        fn end(&self) {
            self.ended.send(()).unwrap();
        }

        fn fail(&self, error: Error) {
            panic!("{error}");
        }
    }

    #[test]
    fn a_long_step_gives_way_to_other_queries() {
        let pool = Pool::new();
        let (ended, long_ended) = mpsc::channel();
        let long = Arc::new(Long { enough: AtomicBool::new(false), ended });
        pool.start(Arc::clone(&long) as Arc<dyn Job>, &Arc::default(), 1).unwrap();
        // The pool has one thread, which is in the long job's step until all of these have ended.
        for panics in [false, true, false] {
            let (short, ended) = job('s', 5, panics);
            let log = Arc::clone(&short.log);
            pool.start(short, &Arc::default(), 1).unwrap();
            assert_eq!(ended.recv().unwrap().is_some(), panics);
            assert_eq!(log.lock().unwrap().len(), if panics { 1 } else { 6 });
        }
        assert!(long_ended.try_recv().is_err());
        long.enough.store(true, Ordering::SeqCst);
        long_ended.recv().unwrap();
    }

    #[test]
    fn giving_way_is_for_steps_of_a_pool_alone() {
        give_way();
        assert!(STEP.with_borrow(Option::is_none));
    }

    #[test]
    fn a_panic_fails_its_job_alone() {
        let pool = Pool::new();
        let (bad, bad_ended) = job('b', 5, true);
        pool.start(bad, &Arc::default(), 2).unwrap();
        assert!(bad_ended.recv().unwrap().unwrap().contains("no luck"));
        let (good, good_ended) = job('g', 5, false);
        pool.start(good, &Arc::default(), 2).unwrap();
        assert_eq!(good_ended.recv().unwrap(), None);
    }
}
