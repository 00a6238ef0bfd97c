//! `load FILE… --into T`, with a progress bar on a terminal.

use crate::args::LoadArgs;
use crate::failure::Failure;
use crate::interrupt::{Running, handle_interrupts};
use crate::progress::show;
use gingham::load::LoadOptions;
use gingham::{Connection, Database, StatementHandle};
use gingham_lab::words::counted;
use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

const BAR: &str = "{bar:30} {bytes} of {total_bytes}, {bytes_per_sec}, {msg}";
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
    let options = arguments.options().map_err(|error| Failure::usage(error.to_string()))?;
    handle_interrupts()?;
    let told = load(&connection, &arguments.files, &options)?;
    Ok(writeln!(std::io::stdout(), "{told}")?)
}

/// Loads files, and tells how many records came in.
pub fn load(connection: &Connection, files: &[PathBuf], options: &LoadOptions) -> Result<String, Failure> {
    let folder = tempfile::tempdir().map_err(|error| Failure::failed(format!("making a temporary folder: {error}")))?;
    let regular = files.iter().map(|file| regular(file, folder.path())).collect::<Result<Vec<_>, _>>()?;
    let bar = ProgressBar::with_draw_target(None, target());
    if let Ok(style) = ProgressStyle::with_template(BAR) {
        bar.set_style(style.progress_chars("█▌ "));
    }
    let started = Instant::now();
    let running = Running::start(connection);
    let report = watched(&bar, |handle| connection.load(&regular, options, handle));
    drop(running);
    bar.finish_and_clear();
    let report = report.map_err(|error| {
        let text = error.to_string();
        Failure::failed(text.replace(&format!("{}/", folder.path().display()), ""))
    })?;
    for line in &report.skipped {
        eprintln!("skipped: {line}");
    }
    if report.skipped_records > report.skipped.len() as u64 {
        eprintln!("skipped: and {} more", report.skipped_records - report.skipped.len() as u64);
    }
    let skipped = match report.skipped_records {
        0 => String::new(),
        lines => format!(", {} skipped", counted(lines, "line")),
    };
    let seconds = started.elapsed().as_secs_f64();
    Ok(format!(
        "{}: {} from {} ({}) in {seconds:.2} s{skipped}",
        options.table,
        counted(report.rows, "record"),
        counted(files.len() as u64, "file"),
        HumanBytes(report.bytes),
    ))
}

/// The file to load in the place of a pipe or a device, which can't be read in parts: a file with its bytes in `folder`.
fn regular(file: &Path, folder: &Path) -> Result<PathBuf, Failure> {
    let failed = |error: std::io::Error| Failure::failed(format!("{}: {error}", file.display()));
    let known = std::fs::metadata(file).map_err(failed)?;
    if known.is_file() || known.is_dir() {
        return Ok(file.to_owned());
    }
    let copy = folder.join(file.file_name().unwrap_or(file.as_os_str()));
    let mut to = std::fs::File::create_new(&copy).map_err(failed)?;
    std::io::copy(&mut std::fs::File::open(file).map_err(failed)?, &mut to).map_err(failed)?;
    Ok(copy)
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
