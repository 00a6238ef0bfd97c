//! A sign of life on a terminal's standard error while a statement takes longer than a second: a bar where it is known how
//! far the statement is. One that has read all it reads has no bar: it would be full, and say that nothing is left to do.

use crate::progress::{has_read_all, show};
use gingham::{Connection, StatementProgress};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Shows itself after a second; gone when dropped.
#[derive(Debug)]
pub struct Spinner {
    running: Option<(Sender<()>, JoinHandle<()>)>,
}

const SPINNER: &str = "{spinner} running for {elapsed} (Ctrl-C cancels)";
const BAR: &str = "{bar:30} {percent} %, {msg} (Ctrl-C cancels)";
const READ: &str = "{spinner} {msg}, running for {elapsed} (Ctrl-C cancels)";

/// The line for a statement that is so far.
fn template(progress: Option<StatementProgress>) -> &'static str {
    match progress {
        None => SPINNER,
        Some(progress) if has_read_all(progress) => READ,
        Some(_) => BAR,
    }
}

impl Spinner {
    /// Starts waiting; does nothing when standard error is not a terminal. `connection` is asked how far it is.
    pub fn start(connection: Option<&Connection>) -> Self {
        if !std::io::stderr().is_terminal() {
            return Self { running: None };
        }
        let (sender, receiver) = channel::<()>();
        let connection = connection.cloned();
        let thread = std::thread::spawn(move || {
            let stopped = |wait| receiver.recv_timeout(wait) != Err(std::sync::mpsc::RecvTimeoutError::Timeout);
            if stopped(Duration::from_secs(1)) {
                return;
            }
            let bar = ProgressBar::new_spinner().with_elapsed(Duration::from_secs(1));
            let mut shown = "";
            while !stopped(Duration::from_millis(100)) {
                let progress = connection.as_ref().and_then(Connection::progress);
                if let Some(progress) = progress {
                    show(&bar, progress);
                }
                let wanted = template(progress);
                if shown != wanted
                    && let Ok(style) = ProgressStyle::with_template(wanted)
                {
                    shown = wanted;
                    bar.set_style(style.progress_chars("█▌ "));
                }
                bar.tick();
            }
            bar.finish_and_clear();
        });
        Self { running: Some((sender, thread)) }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.running.take() {
            drop(sender);
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_bar_is_not_shown() {
        let progress = |done| Some(StatementProgress { done, total: 10, records: done });
        assert_eq!([None, progress(9), progress(10)].map(template), [SPINNER, BAR, READ]);
        for line in [SPINNER, BAR, READ] {
            assert!(!line.contains("{eta}"), "{line}");
        }
    }
}
