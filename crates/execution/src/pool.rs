//! The threads that run pipelines. They take turns among the queries at work, a morsel each, so that a short query beside
//! a long one does not wait for its end.

use crate::{Error, Result};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Stack of a thread in bytes: pipelines are loops, not trees that are walked.
const STACK_BYTES: usize = 2 << 20;

/// Work in small steps that several threads may do at once.
pub(crate) trait Job: Send + Sync {
    /// One step, by the `worker`th thread at it; no other has that number meanwhile. False when no step is left to begin.
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
}

#[derive(Default)]
struct State {
    /// Jobs with steps left, the one whose turn it is first.
    jobs: VecDeque<Entry>,
    threads: usize,
    waiting: usize,
    closed: bool,
    /// Number of the next job.
    next: u64,
}

struct Entry {
    number: u64,
    job: Arc<dyn Job>,
    /// Numbers of workers that are free.
    free: Vec<usize>,
    /// Threads at work on it.
    busy: usize,
    /// No step is left to begin.
    ended: bool,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("jobs", &self.jobs.len()).field("threads", &self.threads).finish_non_exhaustive()
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

    /// Has a job done by at most `workers` threads. Fails when the system gives no thread at all.
    pub(crate) fn start(&self, job: Arc<dyn Job>, workers: usize) -> Result<()> {
        let workers = workers.max(1);
        let mut state = self.shared.lock();
        while state.threads < workers {
            let shared = Arc::clone(&self.shared);
            let thread = std::thread::Builder::new().name("gingham-pipeline".to_owned()).stack_size(STACK_BYTES);
            match thread.spawn(move || shared.work()) {
                Ok(_) => state.threads += 1,
                Err(_) if state.threads > 0 => break,
                Err(error) => return Err(Error::Internal(format!("starting a thread: {error}"))),
            }
        }
        let number = state.next;
        state.next += 1;
        state.jobs.push_back(Entry { number, job, free: (0..workers).rev().collect(), busy: 0, ended: false });
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

    /// A thread's life.
    fn work(&self) {
        let mut state = self.lock();
        loop {
            let Some((number, job, worker)) = state.take() else {
                // What is left has its threads.
                if state.closed {
                    state.threads -= 1;
                    return;
                }
                state.waiting += 1;
                state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.waiting -= 1;
                continue;
            };
            drop(state);
            let more = catch_unwind(AssertUnwindSafe(|| job.step(worker))).unwrap_or_else(|panic| {
                job.fail(Error::Internal(format!("a pipeline panicked: {}", panic_text(panic.as_ref()))));
                false
            });
            let last = self.lock().give_back(number, worker, more);
            if last && let Err(panic) = catch_unwind(AssertUnwindSafe(|| job.end())) {
                job.fail(Error::Internal(format!("a pipeline's end panicked: {}", panic_text(panic.as_ref()))));
                job.end();
            }
            // Whoever lets go of a job last may let go of the database with it, and so of this pool, whose end locks.
            drop(job);
            state = self.lock();
        }
    }
}

impl State {
    /// The next step: a job that may take another thread, and the worker to be. The job goes to the end of the line.
    fn take(&mut self) -> Option<(u64, Arc<dyn Job>, usize)> {
        let at = self.jobs.iter().position(|entry| !entry.ended && !entry.free.is_empty())?;
        let mut entry = self.jobs.remove(at)?;
        let worker = entry.free.pop()?;
        entry.busy += 1;
        let taken = (entry.number, Arc::clone(&entry.job), worker);
        self.jobs.push_back(entry);
        Some(taken)
    }

    /// A worker is free again. True when it was the last one of a job that has ended, which is forgotten.
    fn give_back(&mut self, number: u64, worker: usize, more: bool) -> bool {
        let Some(at) = self.jobs.iter().position(|entry| entry.number == number) else { return false };
        let entry = &mut self.jobs[at];
        entry.free.push(worker);
        entry.busy -= 1;
        entry.ended |= !more;
        let last = entry.ended && entry.busy == 0;
        if last {
            self.jobs.remove(at);
        }
        last
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::sync::atomic::{AtomicUsize, Ordering};
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
            pool.start(Arc::clone(&count) as Arc<dyn Job>, workers).unwrap();
            assert_eq!(ended.recv().unwrap(), None);
            assert_eq!(count.left.load(Ordering::SeqCst), 0);
            drop(count);
            assert!(ended.recv().is_err(), "a second end");
        }
    }

    #[test]
    fn a_short_job_does_not_wait_for_a_long_one() {
        let pool = Pool::new();
        let (long, long_ended) = job('l', 20_000, false);
        let log = Arc::clone(&long.log);
        pool.start(long, 1).unwrap();
        let (ended, short_ended) = mpsc::channel();
        let (at_work, failed) = (Mutex::default(), Mutex::default());
        let log_of_short = Arc::clone(&log);
        let left = AtomicUsize::new(10);
        let short = Count { left, at_work, log: log_of_short, name: 's', panics: false, failed, ended };
        pool.start(Arc::new(short), 1).unwrap();
        short_ended.recv().unwrap();
        long_ended.recv().unwrap();
        let log = log.lock().unwrap();
        let first = log.iter().position(|name| *name == 's').unwrap();
        let last = log.iter().rposition(|name| *name == 's').unwrap();
        assert!(last - first <= 21, "its {} steps were among {}", 11, last - first);
    }

    #[test]
    fn a_panic_fails_its_job_alone() {
        let pool = Pool::new();
        let (bad, bad_ended) = job('b', 5, true);
        pool.start(bad, 2).unwrap();
        assert!(bad_ended.recv().unwrap().unwrap().contains("no luck"));
        let (good, good_ended) = job('g', 5, false);
        pool.start(good, 2).unwrap();
        assert_eq!(good_ended.recv().unwrap(), None);
    }
}
