//! The prompt: statements ended by `;`, and commands.

mod complete;
mod helper;
mod highlight;
mod history;
mod input;
mod keys;
mod margin;
mod place;
mod words;

use crate::failure::Failure;
use crate::interrupt;
use crate::script::{Next, Origin, Runner};
use crate::{Text, run_scripts};
use gingham::Connection;
use helper::PromptHelper;
use history::{PromptHistory, Search};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{ColorMode, CompletionType, Config, Editor, EventHandler};
use std::io::IsTerminal;
use std::path::PathBuf;

/// Statements kept from one session to the next.
const HISTORY_SIZE: usize = 10_000;

/// Runs the prompt until Ctrl-D or `.quit`, after what it begins with. A failing statement does not end it.
pub fn run(runner: &mut Runner, init: Vec<Text>) -> Result<Next, Failure> {
    interrupt::at_prompt();
    if let Next::Quit(status) = reported(run_scripts(runner, init))? {
        return Ok(Next::Quit(status));
    }
    let mut editor = editor(runner.connection.clone()).map_err(unusable)?;
    let history = std::env::home_dir().map(|home| home.join(".gingham_history"));
    if let Some(history) = &history {
        // A missing or unreadable history is an empty one.
        let _ = editor.load_history(history);
    }
    (runner.interactive, runner.changes) = (true, true);
    runner.say(&format!(
        "gingham {} on {}{}\nStatements end with ';'. Type .help for help, Ctrl-D to leave.",
        gingham_commit::VERSION,
        runner.place.name,
        if runner.place.read_only { ", for reading only" } else { "" }
    ))?;
    // A Ctrl-C with nothing to cancel or to clear.
    let mut asked_to_leave = false;
    loop {
        let read = editor.readline(margin::PROMPT).map(|line| margin::without(&line).into_owned());
        let again = std::mem::take(&mut asked_to_leave);
        match read {
            Ok(line) if line.trim().is_empty() => {}
            Ok(line) => {
                remember(&mut editor, history.as_ref(), &line);
                if let Next::Quit(status) = take(runner, line.trim())? {
                    return Ok(Next::Quit(status));
                }
            }
            Err(ReadlineError::Interrupted) if editor.helper().is_none_or(PromptHelper::was_empty) => {
                if again {
                    return Ok(Next::Quit(0));
                }
                asked_to_leave = true;
                eprintln!("(Ctrl-C once more leaves, as Ctrl-D and .quit do)");
            }
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => return Ok(Next::Quit(0)),
            Err(error) => return Err(unusable(error)),
        }
    }
}

/// Runs what was typed, and tells of what is wrong with it.
fn take(runner: &mut Runner, line: &str) -> Result<Next, Failure> {
    let word = line.trim_end_matches(';').trim_end();
    let command = match word.to_ascii_lowercase().as_str() {
        "quit" | "exit" => ".quit",
        "help" => ".help",
        _ => line,
    };
    reported(runner.run(&Origin::Prompt, command))
}

/// Tells of a failure that the prompt survives.
fn reported(ran: Result<Next, Failure>) -> Result<Next, Failure> {
    match ran {
        Err(failure) if failure.is_broken_pipe() => Err(failure),
        Err(failure) => {
            eprintln!("error: {}", failure.message());
            Ok(Next::GoOn)
        }
        next => next,
    }
}

type PromptEditor = Editor<PromptHelper, PromptHistory>;

fn editor(connection: Connection) -> rustyline::Result<PromptEditor> {
    let is_terminal = std::io::stdout().is_terminal();
    let config = Config::builder()
        .completion_type(CompletionType::List)
        .completion_show_all_if_ambiguous(true)
        .history_ignore_space(true)
        .max_history_size(HISTORY_SIZE)?
        // The prompts of lines that go on are shown by what colours are, whether or not these are wanted.
        .color_mode(if is_terminal { ColorMode::Forced } else { ColorMode::Disabled })
        .build();
    let search = Search::default();
    let history = PromptHistory::new(FileHistory::with_config(&config), search.clone());
    let mut editor = Editor::with_history(config, history)?;
    editor.set_helper(Some(PromptHelper::new(connection)));
    if is_terminal {
        for (key, handler) in keys::handlers(&search) {
            editor.bind_sequence(key, EventHandler::Conditional(Box::new(handler)));
        }
    }
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
    use crate::output::{Display, Format};
    use crate::script::Place;
    use gingham::Database;
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
        let place = Place { name: "a scratch database".to_owned(), read_only: false };
        let mut runner = Runner::new(connection, place, Display::new(Format::Csv));
        for point in [PanicPoint::Launch, PanicPoint::Statement, PanicPoint::Show] {
            panic_at(point, 0);
            assert!(take(&mut runner, "SELECT count(*) FROM t").is_ok_and(|next| next == Next::GoOn));
            assert!(!disarm(), "{point:?}");
            panic_at(point, 0);
            assert!(take(&mut runner, ".tables").is_ok_and(|next| next == Next::GoOn));
            assert!(!disarm(), "{point:?}");
        }
        assert_eq!(take(&mut runner, "INSERT INTO t VALUES (1)").unwrap(), Next::GoOn);
        assert_eq!(runner.connection.table("t").unwrap().rows(), 1);
        for leaves in [".quit", "quit", "EXIT;", "\\q"] {
            assert_eq!(take(&mut runner, leaves).unwrap(), Next::Quit(0), "{leaves}");
        }
        assert_eq!(take(&mut runner, "help").unwrap(), Next::GoOn);
    }
}
