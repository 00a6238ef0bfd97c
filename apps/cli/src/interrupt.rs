//! Ctrl-C cancels the running statement, not the program.

use crate::failure::Failure;
use gingham::{CancelHandle, Connection};
use gingham_lab::advisor::Stop;
use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What runs now and can be cancelled. Kept here only while it runs: it keeps the database open.
static RUNNING: Mutex<Option<CancelHandle>> = Mutex::new(None);
/// Set by the first Ctrl-C of a run.
static CANCELLED: AtomicBool = AtomicBool::new(false);
/// Set while a pager has the screen.
static PAGING: AtomicBool = AtomicBool::new(false);
/// Set while there is a prompt to go back to.
static PROMPT: AtomicBool = AtomicBool::new(false);

/// Makes Ctrl-C cancel what runs. Without a prompt, a second Ctrl-C (or one while nothing runs) ends the process with
/// status 130, as shells expect; at a prompt it never does. (The line editor takes Ctrl-C itself while a line is typed.)
pub fn handle_interrupts() -> Result<(), Failure> {
    ctrlc::set_handler(|| {
        if PAGING.load(Ordering::SeqCst) {
            return;
        }
        let running = running();
        let again = CANCELLED.swap(true, Ordering::SeqCst);
        if !PROMPT.load(Ordering::SeqCst) && (running.is_none() || again) {
            exit(130);
        }
        if let Some(handle) = &*running {
            handle.cancel();
        }
    })
    .map_err(|error| Failure::failed(format!("can't handle Ctrl-C: {error}")))
}

/// Makes Ctrl-C stop the advisor; a second one ends the process.
pub fn stops(stop: &Arc<Stop>) -> Result<(), Failure> {
    let stop = Arc::clone(stop);
    ctrlc::set_handler(move || {
        if stop.is_stopped() {
            exit(130);
        }
        stop.stop();
    })
    .map_err(|error| Failure::failed(format!("can't handle Ctrl-C: {error}")))
}

/// A pager has the screen, or has it no more. Ctrl-C is the pager's while it has.
pub fn paging(is_on: bool) {
    PAGING.store(is_on, Ordering::SeqCst);
}

/// From now on there is a prompt to go back to.
pub fn at_prompt() {
    PROMPT.store(true, Ordering::SeqCst);
}

fn running() -> MutexGuard<'static, Option<CancelHandle>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Marks that a connection runs something which Ctrl-C can cancel, until dropped.
#[derive(Debug)]
pub struct Running;

impl Running {
    /// Starts.
    pub fn start(connection: &Connection) -> Self {
        CANCELLED.store(false, Ordering::SeqCst);
        *running() = Some(connection.cancel_handle());
        Self
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        *running() = None;
    }
}
