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
mod demo;
mod failure;
mod interrupt;
mod lab;
mod layout;
mod load;
mod output;
mod pager;
mod progress;
mod prompt;
mod read_args;
mod rows;
mod script;
mod show;
mod spinner;

use args::{Arguments, Script, Verb};
use failure::Failure;
use gingham::storage::panics::guarded;
use gingham::{Connection, Database, DatabaseOptions};
use script::Runner;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

/// How long the end of a query that failed may take.
const PATIENCE: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
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
        Some(Verb::Check) => with_database(&arguments, admin::check),
        Some(Verb::Backup { ref to }) => with_database(&arguments, |database| admin::backup(database, to)),
        Some(Verb::Rescue { ref to }) => admin::rescue(arguments.database.as_deref().unwrap_or(to), to),
        None => statements(&arguments, scripts),
    }
}

/// Opens the database of the arguments, or a scratch one. Only running SQL and loading make a missing database; the
/// other verbs read it, beside another process that writes and where nothing can be written.
fn open(arguments: &Arguments) -> Result<Database, Failure> {
    let Some(path) = &arguments.database else {
        return Ok(Database::in_memory()?);
    };
    let makes = matches!(arguments.verb, None | Some(Verb::Load(_)));
    let applies = matches!(&arguments.verb, Some(Verb::Advise(advise)) if advise.apply);
    if applies && arguments.read_only {
        return Err(Failure::usage("--apply writes, which --read-only forbids"));
    }
    let writes = (makes || applies) && !arguments.read_only;
    let options = DatabaseOptions::new().create(makes && writes).read_only(!writes);
    options.open(path).map_err(|error| Failure::failed(format!("{}: {error}", path.display())))
}

/// Opens the database of the arguments for `work`, and closes it before the process ends, which would leave it to the next open
/// to find out that all is in order.
fn with_database(arguments: &Arguments, work: impl FnOnce(&Database) -> Result<(), Failure>) -> Result<(), Failure> {
    let database = open(arguments)?;
    let done = guarded(|| work(&database));
    database.close(PATIENCE);
    done
}

/// Runs the scripts, the pipe or the prompt.
fn statements(arguments: &Arguments, scripts: Vec<Script>) -> Result<(), Failure> {
    let texts = read_scripts(scripts)?;
    with_database(arguments, |database| {
        let connection = database.connect();
        interrupt::handle_interrupts()?;
        if texts.is_empty() && std::io::stdin().is_terminal() {
            return prompt::run(database, connection, arguments.format, arguments.timing);
        }
        run_scripts(connection, arguments, texts)
    })
}

fn run_scripts(connection: Connection, arguments: &Arguments, texts: Vec<Text>) -> Result<(), Failure> {
    let mut runner = Runner::new(connection, arguments.format, arguments.timing);
    if texts.is_empty() {
        return runner.run_arriving(&mut std::io::stdin().lock());
    }
    for text in texts {
        match text {
            Text::Argument(text) => runner.run(&script::Origin::Argument, &text)?,
            Text::File(file, text) => runner.run(&script::Origin::File(file), &text)?,
            Text::Arriving => runner.run_arriving(&mut std::io::stdin().lock())?,
        }
    }
    Ok(())
}

/// A script as it is read.
enum Text {
    Argument(String),
    /// A file's name and what is in it.
    File(String, String),
    /// A script that standard input will give, for a file that is called `-`.
    Arriving,
}

/// Reads all files first, so that a missing one is a usage error before anything has run.
fn read_scripts(scripts: Vec<Script>) -> Result<Vec<Text>, Failure> {
    let read = |script| match script {
        Script::Text(text) => Ok(Text::Argument(text)),
        Script::File(path) if path.as_os_str() == "-" => Ok(Text::Arriving),
        Script::File(path) => match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Text::File(path.display().to_string(), text)),
            Err(error) => Err(Failure::usage(format!("can't read {}: {error}", path.display()))),
        },
    };
    scripts.into_iter().map(read).collect()
}
