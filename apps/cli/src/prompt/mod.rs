//! The prompt: statements ended by `;`, and dot commands.

mod complete;
mod dot;
mod input;

use crate::failure::Failure;
use crate::interrupt;
use crate::output::Format;
use crate::script::{Origin, Runner};
use complete::PromptHelper;
use gingham::storage::panics::guarded;
use gingham::{Connection, Database};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Editor};
use std::path::PathBuf;

/// Statements kept from one session to the next.
const HISTORY_SIZE: usize = 10_000;

/// Runs the prompt until Ctrl-D or `.quit`. A failing statement does not end it.
pub fn run(database: &Database, connection: Connection, format: Format, timing: bool) -> Result<(), Failure> {
    interrupt::at_prompt();
    let mut editor = editor(connection.clone()).map_err(unusable)?;
    let history = std::env::home_dir().map(|home| home.join(".gingham_history"));
    if let Some(history) = &history {
        // A missing or unreadable history is an empty one.
        let _ = editor.load_history(history);
    }
    let mut runner = Runner::new(connection, format, timing);
    runner.interactive = true;
    runner.say(&format!(
        "gingham {} on {}\nStatements end with ';'. Type .help for help, Ctrl-D to leave.",
        env!("CARGO_PKG_VERSION"),
        database.path().display()
    ))?;
    loop {
        match editor.readline("gingham> ") {
            Ok(line) if line.trim().is_empty() => {}
            Ok(line) => {
                remember(&mut editor, history.as_ref(), &line);
                if !take(&mut runner, line.trim())? {
                    return Ok(());
                }
            }
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => return Ok(()),
            Err(error) => return Err(unusable(error)),
        }
    }
}

/// Runs what was typed; false to leave.
fn take(runner: &mut Runner, line: &str) -> Result<bool, Failure> {
    let result = if line.starts_with('.') {
        guarded(|| dot::run(runner, line))
    } else {
        runner.run(&Origin::Prompt, line).map(|()| dot::Next::Prompt)
    };
    match result {
        Ok(dot::Next::Prompt) => Ok(true),
        Ok(dot::Next::Quit) => Ok(false),
        Err(failure) if failure.is_broken_pipe() => Err(failure),
        Err(failure) => {
            eprintln!("error: {}", failure.message());
            Ok(true)
        }
    }
}

type PromptEditor = Editor<PromptHelper, FileHistory>;

fn editor(connection: Connection) -> rustyline::Result<PromptEditor> {
    let config = Config::builder()
        .completion_type(CompletionType::List)
        .history_ignore_space(true)
        .max_history_size(HISTORY_SIZE)?
        .build();
    let mut editor = Editor::with_config(config)?;
    editor.set_helper(Some(PromptHelper::new(connection)));
    Ok(editor)
}

fn remember(editor: &mut PromptEditor, history: Option<&PathBuf>, line: &str) {
    // History is a convenience: a home that can't be written costs the next session its history, nothing else.
    let _ = editor.add_history_entry(line);
    if let Some(history) = history {
        let _ = editor.append_history(history);
    }
}

fn unusable(error: ReadlineError) -> Failure {
    Failure::failed(format!("the terminal can't be used for a prompt: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gingham::lab::{PanicPoint, disarm, panic_at};

    /// The test is run anew in a process of its own: another test's thread could pass the point that is to panic.
    const OWN_PROCESS: &str = "GINGHAM_TEST_OF_PANICS";

    #[test]
    fn the_prompt_comes_back_after_a_panic() {
        if std::env::var_os(OWN_PROCESS).is_none() {
            let name = "prompt::tests::the_prompt_comes_back_after_a_panic";
            let mut own = std::process::Command::new(std::env::current_exe().unwrap());
            let output = own.args(["--exact", name]).env(OWN_PROCESS, "1").output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && text.contains("1 passed"), "{text}");
            return;
        }
        let connection = Database::in_memory().unwrap().connect();
        connection.execute("CREATE TABLE t (n INTEGER)").unwrap();
        let mut runner = Runner::new(connection, Format::Csv, false);
        for point in [PanicPoint::Launch, PanicPoint::Statement, PanicPoint::Show] {
            panic_at(point, 0);
            assert!(take(&mut runner, "SELECT count(*) FROM t").is_ok_and(|goes_on| goes_on));
            assert!(!disarm(), "{point:?}");
            panic_at(point, 0);
            assert!(take(&mut runner, ".tables").is_ok_and(|goes_on| goes_on));
            assert!(!disarm(), "{point:?}");
        }
        assert!(take(&mut runner, "INSERT INTO t VALUES (1)").unwrap());
        assert_eq!(runner.connection.table("t").unwrap().rows(), 1);
        assert!(!take(&mut runner, ".quit").unwrap());
    }
}
