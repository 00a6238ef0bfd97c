//! Progress of long jobs: bars on a terminal, a line per finished step elsewhere.

use gingham::StatementProgress;
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// Lets a bar show how far a statement is.
pub fn show(bar: &ProgressBar, progress: StatementProgress) {
    bar.set_length(progress.total);
    bar.set_position(progress.done);
    bar.set_message(format!("{} records", HumanCount(progress.records)));
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

/// A number with a space between its thousands.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Bytes in the decimal unit that suits them, to three digits.
pub fn bytes(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "kB", "MB", "GB"] {
        // 999.5 would be printed as 1000.
        if value < 999.5 || unit == "GB" {
            return match value {
                value if unit == "B" || value >= 99.95 => format!("{value:.0} {unit}"),
                value => format!("{value:.1} {unit}"),
            };
        }
        value /= 1000.0;
    }
    unreachable!("the last unit takes any number")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(1000), "1 000");
        assert_eq!(thousands(12_345_678), "12 345 678");
        assert_eq!(bytes(17), "17 B");
        assert_eq!(bytes(1500), "1.5 kB");
        assert_eq!(bytes(999_960), "1.0 MB");
        assert_eq!(bytes(234_000_000), "234 MB");
        assert_eq!(bytes(5_000_000_000_000), "5000 GB");
    }
}
