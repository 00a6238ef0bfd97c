//! `load FILE… --into T`, with a progress bar on a terminal.

use crate::args::LoadArgs;
use crate::failure::Failure;
use crate::interrupt::{Running, handle_interrupts};
use crate::script::counted;
use gingham::Database;
use gingham::load::Progress;
use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::time::Instant;

const BAR: &str = "{bar:30} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left, {msg}";

struct Bar(ProgressBar);

impl Progress for Bar {
    fn update(&self, done: u64, total: u64, rows: u64) {
        self.0.set_length(total);
        self.0.set_position(done);
        self.0.set_message(format!("{} records", HumanCount(rows)));
    }
}

/// Refuses missing files, before a database is opened or made for them.
pub fn check_files(arguments: &LoadArgs) -> Result<(), Failure> {
    match arguments.files.iter().find(|file| !file.exists()) {
        Some(missing) => Err(Failure::usage(format!("{}: no such file", missing.display()))),
        None => Ok(()),
    }
}

/// Loads the files and says how many records came in.
pub fn run(database: &Database, arguments: &LoadArgs) -> Result<(), Failure> {
    let connection = database.connect();
    handle_interrupts()?;
    let bar = ProgressBar::with_draw_target(None, target());
    if let Ok(style) = ProgressStyle::with_template(BAR) {
        bar.set_style(style.progress_chars("█▌ "));
    }
    let started = Instant::now();
    let running = Running::start(&connection);
    let bar = Bar(bar);
    let result = connection.load(&arguments.files, &arguments.options(), &bar);
    drop(running);
    bar.0.finish_and_clear();
    let report = result?;
    for line in &report.skipped {
        eprintln!("skipped: {line}");
    }
    let skipped = match report.skipped.len() as u64 {
        0 => String::new(),
        lines => format!(", {} skipped", counted(lines, "line")),
    };
    let seconds = started.elapsed().as_secs_f64();
    Ok(writeln!(
        std::io::stdout(),
        "{}: {} from {} ({}) in {seconds:.2} s{skipped}",
        arguments.into,
        counted(report.rows, "record"),
        counted(arguments.files.len() as u64, "file"),
        HumanBytes(report.bytes),
    )?)
}

fn target() -> ProgressDrawTarget {
    if std::io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() }
}
