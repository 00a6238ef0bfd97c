//! The command `gingham`: a prompt, scripts, and the jobs round a database.

/// Prints a line on standard output. A reader that has gone away, as behind `| head`, is no failure: files that were asked for are
/// written all the same.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write;
        let _ = writeln!(std::io::stdout(), $($text)*);
    }};
}

mod admin;
mod advise;
mod args;
mod commands;
mod demo;
mod failure;
mod interrupt;
mod lab;
mod layout;
mod load;
mod opening;
mod output;
mod pager;
mod progress;
mod prompt;
mod publish;
mod read_args;
mod reading;
mod rows;
mod script;
mod serve;
mod show;
mod sink;
mod spinner;
mod tokens;

use args::{Arguments, Script, Verb};
use failure::Failure;
use gingham::Database;
use gingham::storage::panics::guarded;
use output::Display;
use script::{Next, Origin, Place, Runner};
use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// How long the end of a query that failed may take.
const PATIENCE: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    gingham::built_from(gingham_commit::COMMIT);
    #[cfg(debug_assertions)]
    let_panic();
    let (arguments, scripts) = Arguments::read();
    match guarded(|| run(arguments, scripts)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Lets a thread panic, as tests ask by `GINGHAM_LAB_PANIC=point,after`. Builds for users know no such variable.
#[cfg(debug_assertions)]
fn let_panic() {
    use gingham::lab::{PanicPoint, panic_at};
    let Ok(asked) = std::env::var("GINGHAM_LAB_PANIC") else { return };
    let (name, after) = asked.split_once(',').unwrap_or((&asked, "0"));
    let point = PanicPoint::ALL.iter().find(|point| point.name() == name);
    if let (Some(point), Ok(after)) = (point, after.parse()) {
        panic_at(*point, after);
    }
}

fn run(arguments: Arguments, scripts: Vec<Script>) -> Result<(), Failure> {
    if let Some(verb) = &arguments.verb {
        let (name, needs_database) = verb.name();
        if needs_database && arguments.database.is_none() {
            return Err(Failure::usage(format!(
                "{name} needs a database before it: gingham DB {name} …  (a database named '{name}' is ./{name})"
            )));
        }
        if !needs_database && arguments.database.is_some() {
            return Err(Failure::usage(format!("{name} takes no database before it: gingham {name} …")));
        }
        if !scripts.is_empty() {
            return Err(Failure::usage(format!("-c and -f do not go together with {name}")));
        }
    }
    match arguments.verb {
        Some(Verb::Demo(demo)) => demo::run(demo),
        Some(Verb::Lab(command)) => lab::run(command),
        Some(Verb::Load(ref load)) => {
            load::check_files(load)?;
            with_database(&arguments, |database| load::run(database, load))
        }
        Some(Verb::Layout { ref table, record }) => {
            with_database(&arguments, |database| admin::layout(database, table, record))
        }
        Some(Verb::Advise(ref arguments_of)) => {
            with_database(&arguments, |database| advise::run(database, arguments_of))
        }
        Some(Verb::Serve { ref options }) => {
            serve::run(arguments.database.as_deref().unwrap_or(Path::new("")), options)
        }
        Some(Verb::Check) => with_database(&arguments, admin::check),
        Some(Verb::Backup { ref to }) => with_database(&arguments, |database| admin::backup(database, to)),
        Some(Verb::Publish(ref publish)) => publish::publish(&arguments, publish),
        Some(Verb::Sweep { keep, dry_run }) => publish::sweep(arguments.database.as_deref(), keep, dry_run),
        Some(Verb::Rescue { ref to }) => admin::rescue(arguments.database.as_deref().unwrap_or(to), to),
        None => statements(&arguments, scripts),
    }
}

/// Opens the database of the arguments for `work`, and closes it before the process ends, which would leave it to the next open
/// to find out that all is in order.
fn with_database(arguments: &Arguments, work: impl FnOnce(&Database) -> Result<(), Failure>) -> Result<(), Failure> {
    with_place(arguments, false, |database, _| work(database))
}

/// As [`with_database`], with what it is called; `only_reads` tells whether reading will do.
fn with_place(
    arguments: &Arguments,
    only_reads: bool,
    work: impl FnOnce(&Database, Place) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let (database, place) = opening::open(arguments, only_reads)?;
    let done = guarded(|| work(&database, place));
    database.close(PATIENCE);
    done
}

/// Runs the scripts, the pipe or the prompt.
fn statements(arguments: &Arguments, scripts: Vec<Script>) -> Result<(), Failure> {
    let is_prompt = scripts.is_empty() && std::io::stdin().is_terminal();
    let arrives = scripts.is_empty() && !is_prompt;
    let mut texts: Vec<Text> = arguments.init.iter().map(|file| read_file(file)).collect::<Result<_, _>>()?;
    if is_prompt && arguments.init.is_none() {
        texts.extend(init_of_home());
    }
    texts.extend(read_scripts(scripts)?);
    if arrives {
        texts.push(Text::Arriving);
    }
    // Nobody knows what will be typed, or come through a pipe.
    let only_reads = !is_prompt && texts.iter().all(Text::only_reads);
    with_place(arguments, only_reads, |database, place| {
        let mut runner = Runner::new(database.connect(), place, Display::new(arguments.format));
        (runner.timing, runner.bail) = (arguments.timing, arguments.bail || !arguments.no_bail);
        interrupt::handle_interrupts()?;
        let next = if is_prompt { prompt::run(&mut runner, texts)? } else { run_scripts(&mut runner, texts)? };
        runner.end(next)
    })
}

fn run_scripts(runner: &mut Runner, texts: Vec<Text>) -> Result<Next, Failure> {
    for text in texts {
        let next = match text {
            Text::Argument(text) => runner.run(&Origin::Argument, &text)?,
            Text::File(file, text) => runner.run(&Origin::File(file), &text)?,
            Text::Arriving => runner.run_arriving(&mut std::io::stdin().lock())?,
        };
        if next != Next::GoOn {
            return Ok(next);
        }
    }
    Ok(Next::GoOn)
}

/// A script as it is read.
enum Text {
    Argument(String),
    /// A file's name and what is in it.
    File(String, String),
    /// A script that standard input will give, for a file that is called `-`.
    Arriving,
}

impl Text {
    /// Whether it is known that it leaves the database as it is.
    fn only_reads(&self) -> bool {
        match self {
            Self::Argument(text) | Self::File(_, text) => reading::only_reads(text),
            Self::Arriving => false,
        }
    }
}

/// Reads all files first, so that a missing one is a usage error before anything has run.
fn read_scripts(scripts: Vec<Script>) -> Result<Vec<Text>, Failure> {
    let read = |script| match script {
        Script::Text(text) => Ok(Text::Argument(text)),
        Script::File(path) if path.as_os_str() == "-" => Ok(Text::Arriving),
        Script::File(path) => read_file(&path),
    };
    scripts.into_iter().map(read).collect()
}

fn read_file(path: &Path) -> Result<Text, Failure> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Text::File(path.display().to_string(), text)),
        Err(error) => Err(Failure::usage(format!("can't read {}: {error}", path.display()))),
    }
}

/// What each prompt begins with: the file `.ginghamrc` in the user's folder.
fn init_of_home() -> Option<Text> {
    let path = std::env::home_dir()?.join(".ginghamrc");
    let text = std::fs::read_to_string(&path);
    match text {
        Ok(text) => Some(Text::File(path.display().to_string(), text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => {
            eprintln!("warning: can't read {}: {error}", path.display());
            None
        }
    }
}
