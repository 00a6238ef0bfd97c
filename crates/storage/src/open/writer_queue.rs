//! The line of those who want to write: one has the turn, the others wait in the order in which they came.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// Who writes, and who waits to. Only those are woken who have something to do: the first in line when a turn ends, and, by who
/// did it, those whose work is done.
#[derive(Debug, Default)]
pub(crate) struct WriterQueue {
    state: Mutex<QueueState>,
}

#[derive(Debug, Default)]
struct QueueState {
    busy: bool,
    waiting: VecDeque<(u64, Thread)>,
    next: u64,
}

/// How the wait for a turn ended.
#[derive(Debug)]
pub(crate) enum Entered<'l> {
    /// It is the caller's turn.
    Turn(WriteLock<'l>),
    /// Somebody else did the caller's work, or the caller gave it up.
    Answered,
    /// The caller has waited for as long as it wanted to.
    TooLate,
}

/// The turn; the next one's begins when it is dropped.
#[derive(Debug)]
pub(crate) struct WriteLock<'l>(&'l WriterQueue);

impl WriterQueue {
    /// Waits for the turn, for `limit` at most, or until `answered` says that there is no need to. It is asked again
    /// whenever the caller's thread is unparked, and at least every `look`.
    pub(crate) fn enter(
        &self,
        limit: Option<Duration>,
        look: Option<Duration>,
        answered: impl Fn() -> bool,
    ) -> Entered<'_> {
        let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
        let number = {
            let mut state = self.state();
            let number = state.next;
            state.next += 1;
            state.waiting.push_back((number, std::thread::current()));
            number
        };
        loop {
            if answered() {
                self.leave(number);
                return Entered::Answered;
            }
            {
                let mut state = self.state();
                if !state.busy && state.waiting.front().is_some_and(|(first, _)| *first == number) {
                    state.waiting.pop_front();
                    state.busy = true;
                    return Entered::Turn(WriteLock(self));
                }
            }
            let wait = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            match wait.into_iter().chain(look).min() {
                _ if wait == Some(Duration::ZERO) => {
                    self.leave(number);
                    return Entered::TooLate;
                }
                Some(wait) => std::thread::park_timeout(wait),
                None => std::thread::park(),
            }
        }
    }

    /// Whether somebody waits.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.state().waiting.len()
    }

    fn leave(&self, number: u64) {
        let mut state = self.state();
        state.waiting.retain(|(waiting, _)| *waiting != number);
        state.wake_first();
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueueState {
    /// Tells the first in line that the turn is free.
    fn wake_first(&self) {
        if let Some((_, first)) = self.waiting.front().filter(|_| !self.busy) {
            first.unpark();
        }
    }
}

impl Drop for WriteLock<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.busy = false;
        state.wake_first();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_taken_in_order_and_the_wait_for_one_ends() {
        let line = WriterQueue::default();
        let Entered::Turn(first) = line.enter(None, None, || false) else { panic!("nobody was before") };
        assert!(matches!(line.enter(Some(Duration::from_millis(5)), None, || false), Entered::TooLate));
        assert!(matches!(line.enter(Some(Duration::ZERO), None, || true), Entered::Answered));
        let came = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for number in 0..4 {
                let (line, came) = (&line, &came);
                scope.spawn(move || {
                    let turn = line.enter(None, None, || false);
                    came.lock().unwrap().push(number);
                    drop(turn);
                });
                while line.waiting() <= number {
                    std::thread::yield_now();
                }
            }
            drop(first);
        });
        assert_eq!(came.into_inner().unwrap(), [0, 1, 2, 3]);
    }
}
