//! The statements that a session runs now, and which it has run last.

use crate::session::cancel::{CancelToken, StatementProgress};
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::watch;

/// The statements that a connection and its clones run now.
#[derive(Debug)]
pub(crate) struct RunningStatements {
    state: Mutex<Running>,
    /// Whether the session was ended.
    ended: watch::Sender<bool>,
}

#[derive(Debug)]
struct Running {
    tokens: BTreeMap<u64, CancelToken>,
    /// Number of the last statement that began.
    number: u64,
    text: Option<Arc<str>>,
    began: Option<Instant>,
    /// When it began to run something, or to run nothing.
    changed: Instant,
    /// Why no other statement can begin.
    ended: Option<Error>,
}

/// What a session does.
#[derive(Debug)]
pub(crate) struct Activity {
    /// Whether something runs.
    pub(crate) runs: bool,
    /// Since when that is so.
    pub(crate) since: Instant,
    /// The number of the last statement that began.
    pub(crate) number: u64,
    /// Its text.
    pub(crate) text: Option<Arc<str>>,
    pub(crate) began: Option<Instant>,
    pub(crate) progress: Option<StatementProgress>,
}

impl Default for RunningStatements {
    fn default() -> Self {
        let (tokens, number, text, began) = Default::default();
        let state = Running { tokens, number, text, began, changed: Instant::now(), ended: None };
        Self { state: Mutex::new(state), ended: watch::Sender::new(false) }
    }
}

impl RunningStatements {
    fn state(&self) -> MutexGuard<'_, Running> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a statement; it is taken off the list when the guard is dropped. Fails once the session was ended.
    pub(crate) fn enter(self: &Arc<Self>, token: CancelToken, text: Arc<str>) -> Result<RunningGuard> {
        let now = Instant::now();
        let mut state = self.state();
        if let Some(ended) = &state.ended {
            return Err(ended.clone());
        }
        if state.tokens.is_empty() {
            state.changed = now;
        }
        state.number += 1;
        let number = state.number;
        state.tokens.insert(number, token);
        state.began = Some(now);
        let before = state.text.replace(text);
        drop(state);
        drop(before);
        Ok(RunningGuard { running: Arc::clone(self), number })
    }

    /// True when nothing runs.
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.state().tokens.is_empty()
    }

    /// Cancels all statements that run now.
    pub(crate) fn cancel_all(&self) {
        self.state().tokens.values().for_each(CancelToken::cancel);
    }

    /// Cancels all statements that run now, and lets none begin any more: `why` is their error.
    pub(crate) fn end(&self, why: &Error) {
        let mut state = self.state();
        state.ended.get_or_insert_with(|| why.clone());
        state.tokens.values().for_each(|token| token.cancel_for(why.clone()));
        drop(state);
        self.ended.send_replace(true);
    }

    /// Fails once the session was ended.
    pub(crate) fn require_open(&self) -> Result<()> {
        self.state().ended.clone().map_or(Ok(()), Err)
    }

    /// Waits until the session is ended.
    pub(crate) fn wait_for_end(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut ended = self.ended.subscribe();
        async move {
            // Whoever waits has the session, and with it the sender.
            drop(ended.wait_for(|ended| *ended).await);
        }
    }

    /// How far the statement is that was started last among those that count.
    pub(crate) fn progress(&self) -> Option<StatementProgress> {
        progress(&self.state())
    }

    /// What the session does.
    pub(crate) fn activity(&self) -> Activity {
        let state = self.state();
        Activity {
            runs: !state.tokens.is_empty(),
            since: state.changed,
            number: state.number,
            text: state.text.clone(),
            began: state.began,
            progress: progress(&state),
        }
    }
}

fn progress(state: &Running) -> Option<StatementProgress> {
    state.tokens.values().rev().find_map(CancelToken::progress)
}

/// Keeps a statement on the list of running ones.
#[derive(Debug)]
pub(crate) struct RunningGuard {
    running: Arc<RunningStatements>,
    number: u64,
}

impl Drop for RunningGuard {
    fn drop(&mut self) {
        let mut state = self.running.state();
        let ended = state.tokens.remove(&self.number);
        if state.tokens.is_empty() {
            state.changed = Instant::now();
        }
        drop(state);
        // The plan holds memory.
        if let Some(token) = ended {
            token.forget_progress();
        }
    }
}
