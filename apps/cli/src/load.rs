//! `load FILE… --into T`, with a progress bar on a terminal.

use crate::args::LoadArgs;
use crate::failure::Failure;
use crate::interrupt::{Running, handle_interrupts};
use crate::progress::show;
use crate::script::counted;
use gingham::{Database, StatementHandle};
use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

const BAR: &str = "{bar:30} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left, {msg}";
/// How often the bar is brought up to date.
const LOOK: Duration = Duration::from_millis(100);

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
    let report = watched(&bar, |handle| connection.load(&arguments.files, &arguments.options(), handle));
    drop(running);
    bar.finish_and_clear();
    let report = report?;
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

/// Loads, while a bar shows how far it is.
fn watched<R>(bar: &ProgressBar, load: impl FnOnce(&StatementHandle) -> R) -> R {
    let handle = StatementHandle::new();
    let (ended, waits) = channel::<()>();
    let looks = handle.clone();
    let watch = move || {
        while waits.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
            if let Some(progress) = looks.progress() {
                show(bar, progress);
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(watch);
        let loaded = load(&handle);
        drop(ended);
        loaded
    })
}

fn target() -> ProgressDrawTarget {
    if std::io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() }
}
