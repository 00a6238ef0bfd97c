//! The line of those who want to write: one has the turn, the others wait in the order in which they came.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Who writes, and who waits to.
#[derive(Debug, Default)]
pub(crate) struct Line {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    busy: bool,
    waiting: VecDeque<u64>,
    next: u64,
}

/// How the wait for a turn ended.
#[derive(Debug)]
pub(crate) enum Entered<'l> {
    /// It is the caller's turn.
    Turn(Turn<'l>),
    /// Somebody else did the caller's work.
    Answered,
    /// The caller has waited for as long as it wanted to.
    TooLate,
}

/// The turn; the next one's begins when it is dropped.
#[derive(Debug)]
pub(crate) struct Turn<'l>(&'l Line);

impl Line {
    /// Waits for the turn, for `limit` at most, or until `answered` says that there is no need to. It is asked again
    /// whenever a turn ends.
    pub(crate) fn enter(&self, limit: Option<Duration>, answered: impl Fn() -> bool) -> Entered<'_> {
        let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        state.waiting.push_back(number);
        loop {
            if answered() {
                self.leave(&mut state, number);
                return Entered::Answered;
            }
            if !state.busy && state.waiting.front() == Some(&number) {
                state.waiting.pop_front();
                state.busy = true;
                return Entered::Turn(Turn(self));
            }
            let wait = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            state = match wait {
                Some(Duration::ZERO) => {
                    self.leave(&mut state, number);
                    return Entered::TooLate;
                }
                Some(wait) => self.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0,
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// Whether somebody waits.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.state().waiting.len()
    }

    fn leave(&self, state: &mut State, number: u64) {
        state.waiting.retain(|waiting| *waiting != number);
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.state().busy = false;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_taken_in_order_and_the_wait_for_one_ends() {
        let line = Line::default();
        let Entered::Turn(first) = line.enter(None, || false) else { panic!("nobody was before") };
        assert!(matches!(line.enter(Some(Duration::from_millis(5)), || false), Entered::TooLate));
        assert!(matches!(line.enter(Some(Duration::ZERO), || true), Entered::Answered));
        let came = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for number in 0..4 {
                let (line, came) = (&line, &came);
                scope.spawn(move || {
                    let turn = line.enter(None, || false);
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
