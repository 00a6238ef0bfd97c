//! Ctrl-C cancels the running statement, not the program.

use crate::failure::Failure;
use gingham::Connection;
use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set while a statement or a load runs.
static RUNNING: AtomicBool = AtomicBool::new(false);
/// Set by the first Ctrl-C of a run.
static CANCELLED: AtomicBool = AtomicBool::new(false);
/// Set while there is a prompt to go back to.
static PROMPT: AtomicBool = AtomicBool::new(false);

/// Makes Ctrl-C cancel what `connection` runs. Without a prompt, a second Ctrl-C (or one while nothing runs) ends the
/// process with status 130, as shells expect; at a prompt it never does. (The line editor takes Ctrl-C itself while a
/// line is typed.)
pub fn cancel_on_interrupt(connection: &Connection) -> Result<(), Failure> {
    let handle = connection.cancel_handle();
    ctrlc::set_handler(move || {
        let running = RUNNING.load(Ordering::SeqCst);
        let again = CANCELLED.swap(true, Ordering::SeqCst);
        if !PROMPT.load(Ordering::SeqCst) && (!running || again) {
            exit(130);
        }
        if running {
            handle.cancel();
        }
    })
    .map_err(|error| Failure::failed(format!("can't handle Ctrl-C: {error}")))
}

/// From now on there is a prompt to go back to.
pub fn at_prompt() {
    PROMPT.store(true, Ordering::SeqCst);
}

/// Marks that something runs which Ctrl-C can cancel, until dropped.
#[derive(Debug)]
pub struct Running;

impl Running {
    /// Starts.
    pub fn start() -> Self {
        CANCELLED.store(false, Ordering::SeqCst);
        RUNNING.store(true, Ordering::SeqCst);
        Self
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.store(false, Ordering::SeqCst);
    }
}
