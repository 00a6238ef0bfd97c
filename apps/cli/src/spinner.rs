//! A sign of life on a terminal's standard error while a statement takes longer than a second.

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

impl Spinner {
    /// Starts waiting; does nothing when standard error is not a terminal.
    pub fn start() -> Self {
        if !std::io::stderr().is_terminal() {
            return Self { running: None };
        }
        let (sender, receiver) = channel::<()>();
        let thread = std::thread::spawn(move || {
            let stopped = |wait| receiver.recv_timeout(wait) != Err(std::sync::mpsc::RecvTimeoutError::Timeout);
            if stopped(Duration::from_secs(1)) {
                return;
            }
            let bar = ProgressBar::new_spinner().with_elapsed(Duration::from_secs(1));
            if let Ok(style) = ProgressStyle::with_template("{spinner} running for {elapsed} (Ctrl-C cancels)") {
                bar.set_style(style);
            }
            while !stopped(Duration::from_millis(100)) {
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
