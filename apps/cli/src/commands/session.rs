//! Commands of the session: help, scripts, the shell, folders, leaving.

use crate::commands::call::Call;
use crate::commands::{Action, Command, Effect, ON_OFF, Takes, all, named, unknown};
use crate::failure::Failure;
use crate::script::{Next, Runner};
use crate::sink::shell;
use std::io::IsTerminal;
use std::process::Stdio;

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: ".help",
        aliases: &[],
        argument: "[COMMAND]",
        help: "this list, or how a command is used",
        takes: Takes::Command,
        effect: Effect::Reads,
        action: Action::Run(help),
    },
    Command {
        name: ".read",
        aliases: &[],
        argument: "FILE",
        help: "run the statements and commands of a file",
        takes: Takes::File,
        effect: Effect::AsFile,
        action: Action::Run(read),
    },
    Command {
        name: ".shell",
        aliases: &[".system"],
        argument: "COMMAND",
        help: "run a command of the shell's",
        takes: Takes::File,
        effect: Effect::Reads,
        action: Action::Run(run_shell),
    },
    Command {
        name: ".cd",
        aliases: &[],
        argument: "FOLDER",
        help: "names of files are from there on",
        takes: Takes::File,
        effect: Effect::Reads,
        action: Action::Run(cd),
    },
    Command {
        name: ".print",
        aliases: &[],
        argument: "TEXT",
        help: "write a line of text",
        takes: Takes::Other,
        effect: Effect::Reads,
        action: Action::Run(print),
    },
    Command {
        name: ".bail",
        aliases: &[],
        argument: "on|off",
        help: "end a script with the first statement that fails",
        takes: ON_OFF,
        effect: Effect::Reads,
        action: Action::Run(|runner, call| call.switch(runner, "bail", |runner| &mut runner.bail)),
    },
    Command {
        name: ".echo",
        aliases: &[],
        argument: "on|off",
        help: "show each statement before it is run",
        takes: ON_OFF,
        effect: Effect::Reads,
        action: Action::Run(|runner, call| call.switch(runner, "echo", |runner| &mut runner.echo)),
    },
    Command {
        name: ".quit",
        aliases: &[".exit"],
        argument: "[STATUS]",
        help: "leave (as Ctrl-D does)",
        takes: Takes::Other,
        effect: Effect::Reads,
        action: Action::Run(quit),
    },
];

fn help(runner: &mut Runner, call: &Call<'_>) -> Result<Next, Failure> {
    match call.word()? {
        None => runner.say(&list(|name| name.starts_with('.')))?,
        Some(name) => {
            let name = if name.starts_with(['.', '\\']) { name } else { format!(".{name}") };
            let command = named(&name).ok_or_else(|| Failure::failed(unknown(&name)))?;
            runner.say(format!("{name} {}", command.argument).trim_end())?;
            runner.say(&format!("    {}", command.help))?;
        }
    }
    Ok(Next::GoOn)
}

/// Columns of text that help takes at most, and those before what is said of a command.
const HELP_COLUMNS: (usize, usize) = (80, 25);

/// The commands whose names are wanted, with what is said of each.
pub(super) fn list(is_wanted: impl Fn(&str) -> bool) -> String {
    let (columns, before) = HELP_COLUMNS;
    let mut lines = Vec::new();
    for command in all().filter(|command| is_wanted(command.name)) {
        let use_of = format!("{} {}", command.name, command.argument);
        // A long one has a line of its own.
        let mut first = format!("{:before$}", use_of.trim_end());
        if first.len() > before {
            lines.push(std::mem::take(&mut first));
        }
        for text in wrapped(command.help, columns - before) {
            lines.push(format!("{first:before$}{text}"));
            first.clear();
        }
    }
    let rest = match is_wanted(".") {
        true => {
            "Of psql's commands there are some, too: \\? lists them. Anything else is SQL and ends with ';'. At the prompt, Tab \
             completes names, Up finds what began as this line does, Ctrl-R searches, and Ctrl-C cancels a statement or \
             clears the line."
        }
        false => ".help lists the others.",
    };
    lines.extend(wrapped(rest, columns));
    lines.join("\n")
}

/// A text in lines of at most so many characters, cut at blanks.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.len() + 1 + word.len() <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// `.read FILE`, and psql's `\i`.
pub(super) fn read(runner: &mut Runner, call: &Call<'_>) -> Result<Next, Failure> {
    runner.run_file(&call.one()?)
}

/// `.shell COMMAND`, and psql's `\!`.
pub(super) fn run_shell(runner: &mut Runner, call: &Call<'_>) -> Result<Next, Failure> {
    if call.text.is_empty() {
        return Err(call.wrong());
    }
    let mut command = shell(call.text);
    if !std::io::stdin().is_terminal() {
        // What is left there is the script's.
        command.stdin(Stdio::null());
    }
    let failed = |error| Failure::failed(format!("can't run '{}': {error}", call.text));
    let status = match runner.out.is_stdout() {
        true => command.status().map_err(failed)?,
        false => {
            use std::io::Write;
            let output = command.stderr(Stdio::inherit()).output().map_err(failed)?;
            runner.out.write_all(&output.stdout)?;
            output.status
        }
    };
    match status.success() {
        true => Ok(Next::GoOn),
        false => Err(Failure::failed(format!("'{}' has failed ({status})", call.text))),
    }
}

/// `.cd FOLDER`, and psql's `\cd`.
pub(super) fn cd(_: &mut Runner, call: &Call<'_>) -> Result<Next, Failure> {
    let folder = call.one()?;
    std::env::set_current_dir(&folder)
        .map_err(|error| Failure::failed(format!("can't go to the folder {folder}: {error}")))?;
    Ok(Next::GoOn)
}

/// `.print TEXT`, and psql's `\echo`.
pub(super) fn print(runner: &mut Runner, call: &Call<'_>) -> Result<Next, Failure> {
    let words = call.words()?;
    runner.say(&words.join(" "))?;
    Ok(Next::GoOn)
}

/// `.quit`, and psql's `\q`.
pub(super) fn quit(_: &mut Runner, call: &Call<'_>) -> Result<Next, Failure> {
    match call.word()? {
        None => Ok(Next::Quit(0)),
        Some(status) => Ok(Next::Quit(status.parse().map_err(|_| call.wrong())?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_names_every_command() {
        let (dots, slashes) = (list(|name| name.starts_with('.')), list(|name| name.starts_with('\\')));
        assert!(all().all(|command| dots.contains(command.name) || slashes.contains(command.name)));
        let widest = dots.lines().chain(slashes.lines()).max_by_key(|line| line.chars().count());
        assert!(widest.is_some_and(|line| line.chars().count() <= HELP_COLUMNS.0), "{widest:?}");
    }
}
