//! Progress of long jobs: bars on a terminal, a line per finished step elsewhere.

use gingham::StatementProgress;
use gingham_lab::words::{plural, thousands};
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// Lets a bar show how far a statement is.
pub fn show(bar: &ProgressBar, progress: StatementProgress) {
    bar.set_length(progress.total);
    bar.set_position(progress.done);
    bar.set_message(message(progress, bar.eta()));
}

/// Whether a statement has read all that it reads. It may join, sort or write for long then, of which nothing is counted.
pub fn has_read_all(progress: StatementProgress) -> bool {
    progress.done >= progress.total
}

/// How far a statement is, in words; `left` is 0 where nobody knows.
fn message(progress: StatementProgress, left: Duration) -> String {
    let records = format!("{} {}", thousands(progress.records), plural(progress.records, "record"));
    if has_read_all(progress) {
        format!("all {records} read; still working")
    } else if left < Duration::from_secs(1) {
        records
    } else {
        format!("{records}, {:#} left", HumanDuration(left))
    }
}

/// One step, shown as it advances.
pub struct Step {
    title: String,
    start: Instant,
    bar: ProgressBar,
}

impl Step {
    /// Starts a step of about `total` units. The bar is drawn on standard error, and only on a terminal.
    pub fn start(title: String, total: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(10));
        if let Ok(style) = ProgressStyle::with_template("{prefix} [{bar:30}] {percent}% {msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_prefix(title.clone());
        Self { title, start: Instant::now(), bar }
    }

    /// `units` more are done.
    pub fn advance(&self, units: u64) {
        self.bar.inc(units);
    }

    /// So many units are done in all.
    pub fn reach(&self, units: u64) {
        self.bar.set_position(units);
    }

    /// What is being done now.
    pub fn note(&self, text: String) {
        self.bar.set_message(text);
    }

    /// Takes the bar away; the step did not end well.
    pub fn abandon(&self) {
        self.bar.finish_and_clear();
    }

    /// Replaces the bar by a line on standard output and returns the time the step took.
    pub fn finish(self, result: &str) -> Duration {
        let elapsed = self.start.elapsed();
        self.bar.finish_and_clear();
        say!("{}: {result}, {:.2} s", self.title, elapsed.as_secs_f64());
        elapsed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_read_all_has_no_time_left() {
        let progress = |done, records| StatementProgress { done, total: 60_175, records };
        let left = Duration::from_secs(3);
        assert_eq!(message(progress(30_000, 30_000), left), "30 000 records, 3s left");
        assert_eq!(message(progress(1, 1), Duration::ZERO), "1 record");
        for left in [Duration::ZERO, left] {
            assert_eq!(message(progress(60_175, 60_175), left), "all 60 175 records read; still working");
        }
        assert!(!has_read_all(progress(60_174, 60_174)));
    }
}
