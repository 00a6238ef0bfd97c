//! Whose turn it is at the threads. Each query pays for the time that its steps take, the more the longer it has run, and the one
//! that has paid least is next: a short query beside long ones is nearly alone, and long ones share what is left. Why and
//! how it was weighed is in docs/decisions/0050-turns-of-queries.md.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Nanoseconds after which a query pays twice, three times and so on for its time.
const SHORT: u64 = 4_000_000;
/// The most it pays. Beside seven long queries a short one has two thirds of a thread.
const DEAREST: u64 = 16;
/// What one query has to have paid more than another before it is interrupted for it: a quarter of a millisecond of a long one's
/// time.
pub(crate) const AHEAD: u64 = 4_000_000;
/// In the place of what somebody has paid, when nobody waits.
pub(crate) const NOBODY: u64 = u64::MAX;

/// What a query has had of the threads, and paid for it, in nanoseconds.
#[derive(Debug, Default)]
pub(crate) struct Share {
    had: AtomicU64,
    paid: AtomicU64,
}

impl Share {
    pub(crate) fn paid(&self) -> u64 {
        self.paid.load(Ordering::Relaxed)
    }

    /// What it pays for a time.
    fn price(&self, time: Duration) -> u64 {
        let price = (1 + self.had.load(Ordering::Relaxed) / SHORT).min(DEAREST);
        nanoseconds(time).saturating_mul(price)
    }

    /// What it will have paid when a step that has taken so long ends now.
    pub(crate) fn paid_after(&self, time: Duration) -> u64 {
        self.paid().saturating_add(self.price(time))
    }

    /// It has had so much time. Several threads may say so at once.
    pub(crate) fn pay(&self, time: Duration) {
        self.paid.fetch_add(self.price(time), Ordering::Relaxed);
        self.had.fetch_add(nanoseconds(time), Ordering::Relaxed);
    }

    /// It was not there while others paid, and is not ahead of them for that.
    fn raise(&self, to: u64) {
        self.paid.fetch_max(to, Ordering::Relaxed);
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Jobs that have steps left or under way.
pub(crate) struct FairScheduler<J: ?Sized> {
    jobs: Vec<ScheduledJob<J>>,
    /// Number of the next job.
    next: u64,
    /// Steps taken so far.
    taken: u64,
    /// What those had paid whose steps were taken.
    now: u64,
}

struct ScheduledJob<J: ?Sized> {
    number: u64,
    job: Arc<J>,
    share: Arc<Share>,
    /// The number of its last step among all steps of the scheduler.
    last: u64,
    /// Numbers of workers that are free.
    free: Vec<usize>,
    /// Threads at work on it.
    busy: usize,
    /// No step is left to begin.
    ended: bool,
}

/// A step to do.
pub(crate) struct ScheduledTurn<J: ?Sized> {
    number: u64,
    pub(crate) job: Arc<J>,
    pub(crate) share: Arc<Share>,
    pub(crate) worker: usize,
}

impl<J: ?Sized> Default for FairScheduler<J> {
    fn default() -> Self {
        Self { jobs: Vec::new(), next: 0, taken: 0, now: 0 }
    }
}

impl<J: ?Sized> ScheduledJob<J> {
    fn waits(&self) -> bool {
        !self.ended && !self.free.is_empty()
    }
}

impl<J: ?Sized> FairScheduler<J> {
    pub(crate) fn len(&self) -> usize {
        self.jobs.len()
    }

    /// A job that at most `workers` threads do at once.
    pub(crate) fn add(&mut self, job: Arc<J>, share: Arc<Share>, workers: usize) {
        share.raise(self.jobs.iter().map(|entry| entry.share.paid()).min().unwrap_or(self.now));
        let (number, free) = (self.next, (0..workers).rev().collect());
        self.next += 1;
        self.jobs.push(ScheduledJob { number, job, share, last: self.taken, free, busy: 0, ended: false });
    }

    /// What the next one has paid that may take another thread; [`NOBODY`] when there is none.
    pub(crate) fn wanted(&self) -> u64 {
        let waiting = self.jobs.iter().filter(|entry| entry.waits());
        waiting.map(|entry| entry.share.paid()).min().unwrap_or(NOBODY)
    }

    /// The next step, of a job whose query has paid at most so much.
    pub(crate) fn take(&mut self, most: u64) -> Option<ScheduledTurn<J>> {
        let waiting = self.jobs.iter_mut().filter(|entry| entry.waits());
        let entry = waiting.min_by_key(|entry| (entry.share.paid(), entry.last))?;
        let paid = entry.share.paid();
        if paid > most {
            return None;
        }
        let worker = entry.free.pop()?;
        self.now = self.now.max(paid);
        self.taken += 1;
        entry.last = self.taken;
        entry.busy += 1;
        Some(ScheduledTurn {
            number: entry.number,
            job: Arc::clone(&entry.job),
            share: Arc::clone(&entry.share),
            worker,
        })
    }

    /// A worker is free again. True when it was the last one of a job that has ended, which is forgotten.
    pub(crate) fn give_back(&mut self, turn: &ScheduledTurn<J>, more: bool) -> bool {
        let Some(at) = self.jobs.iter().position(|entry| entry.number == turn.number) else { return false };
        let entry = &mut self.jobs[at];
        entry.free.push(turn.worker);
        entry.busy -= 1;
        entry.ended |= !more;
        let last = entry.ended && entry.busy == 0;
        if last {
            self.jobs.swap_remove(at);
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets one thread do `steps` of jobs that take so many milliseconds each, and says how many each had.
    fn shared(turns: &mut FairScheduler<u64>, steps: usize) -> [usize; 4] {
        let mut had = [0; 4];
        for _ in 0..steps {
            let turn = turns.take(NOBODY).unwrap();
            had[turn.number as usize] += 1;
            turn.share.pay(Duration::from_millis(*turn.job));
            assert!(!turns.give_back(&turn, true));
        }
        had
    }

    #[test]
    fn who_has_paid_least_is_next() {
        let mut turns: FairScheduler<u64> = FairScheduler::default();
        assert_eq!(turns.wanted(), NOBODY);
        assert!(turns.take(NOBODY).is_none());
        for milliseconds in [10, 20] {
            turns.add(Arc::new(milliseconds), Arc::default(), 1);
        }
        // Both are long from their first steps on: time is shared, not steps.
        let [first, second, ..] = shared(&mut turns, 300);
        assert!((195..=205).contains(&first), "{first} of 10 ms, {second} of 20 ms");
        // A new one is not ahead for the time that it was not there, but pays little.
        turns.add(Arc::new(1), Arc::default(), 1);
        let [first, second, third, _] = shared(&mut turns, 60);
        assert!(third >= 20 && first > 0 && second > 0, "{first}, {second}, {third}");
    }

    #[test]
    fn a_job_has_as_many_threads_as_it_asked_for() {
        let mut turns: FairScheduler<u64> = FairScheduler::default();
        turns.add(Arc::new(1), Arc::default(), 2);
        let (first, second) = (turns.take(NOBODY).unwrap(), turns.take(0).unwrap());
        assert_eq!((first.worker, second.worker), (0, 1));
        assert!(turns.take(NOBODY).is_none());
        assert_eq!(turns.wanted(), NOBODY);
        first.share.pay(Duration::from_nanos(7));
        assert!(!turns.give_back(&first, true));
        assert_eq!(turns.wanted(), 7);
        assert!(turns.take(6).is_none(), "it has paid 7");
        let third = turns.take(7).unwrap();
        assert_eq!(third.worker, 0);
        assert!(!turns.give_back(&third, false), "a thread is at work on it");
        assert!(turns.take(NOBODY).is_none(), "no step is left");
        assert!(turns.give_back(&second, true));
        assert_eq!(turns.len(), 0);
    }

    #[test]
    fn time_gets_dearer() {
        let share = Share::default();
        share.pay(Duration::from_millis(1));
        assert_eq!(share.paid(), 1_000_000);
        share.pay(Duration::from_millis(7));
        assert_eq!(share.paid(), 8_000_000);
        share.pay(Duration::from_millis(1));
        assert_eq!(share.paid(), 11_000_000);
        share.pay(Duration::from_secs(1));
        share.pay(Duration::from_millis(1));
        assert_eq!(share.paid_after(Duration::from_millis(1)) - share.paid(), 1_000_000 * DEAREST);
    }
}
