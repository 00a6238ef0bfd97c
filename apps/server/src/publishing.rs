//! Publishing while the database is served: one process writes, so that it is this one that publishes.

use crate::failure::Failure;
use gingham::{Database, PublishOptions};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// A plan says where the database is published, and how often.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) url: String,
    pub(crate) every: Duration,
    pub(crate) keep: Option<Duration>,
}

/// A thread that publishes until this is dropped, which waits for a publication that is under way.
#[derive(Debug)]
pub(crate) struct Publishing {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Publishing {
    /// Starts it.
    pub(crate) fn start(database: Database, plan: Plan) -> Result<Self, Failure> {
        let (stop, stopped) = channel();
        let thread = Builder::new().name("gingham-publish".into()).spawn(move || run(&database, &plan, &stopped));
        let thread = thread.map_err(|error| Failure(format!("starting a thread: {error}")))?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Publishing {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("publishing has ended by a fault of its own");
        }
    }
}

fn run(database: &Database, plan: &Plan, stopped: &Receiver<()>) {
    let url = &plan.url;
    let mut options = PublishOptions::new();
    if let Some(keep) = plan.keep {
        options = options.keep(keep);
    }
    let mut now = options.clone();
    loop {
        match database.publish(url, &now) {
            Ok(report) => {
                if report.is_new {
                    tracing::info!("published at {url} as number {}: {} bytes sent", report.number, report.sent_bytes);
                }
                now = options.clone().after(&report);
            }
            // The next may do.
            Err(error) => tracing::error!("publishing at {url}: {error}"),
        }
        if stopped.recv_timeout(plan.every) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}
