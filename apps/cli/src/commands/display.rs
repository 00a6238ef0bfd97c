//! Commands about how results are shown, and where they go.

use crate::commands::call::{Call, unescaped};
use crate::commands::{Action, Command, Effect, ON_OFF, Takes};
use crate::failure::Failure;
use crate::output::Format;
use crate::script::{Next, Runner};
use clap::ValueEnum;

const MODES: Takes =
    Takes::Words(&["table", "csv", "tabs", "list", "json", "jsonlines", "line", "markdown", "html", "insert"]);

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: ".mode",
        aliases: &[],
        argument: "[MODE [TABLE]]",
        help: "how results are written: table, csv, tabs, list, json, jsonlines, line, markdown, html, insert",
        takes: MODES,
        effect: Effect::Reads,
        action: Action::Run(mode),
    },
    Command {
        name: ".headers",
        aliases: &[],
        argument: "on|off",
        help: "write the names of the columns",
        takes: ON_OFF,
        effect: Effect::Reads,
        action: Action::Run(|runner, call| call.switch(runner, "headers", |runner| &mut runner.display.headers)),
    },
    Command {
        name: ".nullvalue",
        aliases: &[],
        argument: "[TEXT]",
        help: "what stands for NULL; without a text, what the mode has",
        takes: Takes::Other,
        effect: Effect::Reads,
        action: Action::Run(|runner, call| {
            runner.display.null = call.word()?;
            Ok(Next::GoOn)
        }),
    },
    Command {
        name: ".separator",
        aliases: &[],
        argument: "[TEXT]",
        help: "what stands between values in csv, tabs and list (\\t is a tab); without a text, what the mode has",
        takes: Takes::Other,
        effect: Effect::Reads,
        action: Action::Run(|runner, call| {
            runner.display.separator = call.word()?.map(|text| unescaped(&text));
            Ok(Next::GoOn)
        }),
    },
    Command {
        name: ".width",
        aliases: &[],
        argument: "[N …]",
        help: "characters of the columns in table, from the first; 0, and without numbers, what suits the values",
        takes: Takes::Other,
        effect: Effect::Reads,
        action: Action::Run(width),
    },
    Command {
        name: ".maxrows",
        aliases: &[],
        argument: "[N]",
        help: "rows that a table shows on a terminal, 0 for all; without a number, 40",
        takes: Takes::Other,
        effect: Effect::Reads,
        action: Action::Run(|runner, call| {
            runner.display.max_rows =
                call.word()?.map(|number| number.parse()).transpose().map_err(|_| call.wrong())?;
            Ok(Next::GoOn)
        }),
    },
    Command {
        name: ".output",
        aliases: &[],
        argument: "[FILE]",
        help: "write results to a file, or with '|command' to a command; without one, to standard output again",
        takes: Takes::File,
        effect: Effect::Reads,
        action: Action::Run(output),
    },
    Command {
        name: ".once",
        aliases: &[],
        argument: "FILE",
        help: "write what the next statement or command gives to a file, or with '|command' to a command",
        takes: Takes::File,
        effect: Effect::Reads,
        action: Action::Run(|runner, call| {
            runner.out.redirect(&target(call)?.ok_or_else(|| call.wrong())?, true)?;
            Ok(Next::GoOn)
        }),
    },
    Command {
        name: ".changes",
        aliases: &[],
        argument: "on|off",
        help: "tell how many records a statement has changed",
        takes: ON_OFF,
        effect: Effect::Reads,
        action: Action::Run(|runner, call| call.switch(runner, "changes", |runner| &mut runner.changes)),
    },
    Command {
        name: ".timing",
        aliases: &[".timer"],
        argument: "on|off",
        help: "tell the time of each statement",
        takes: ON_OFF,
        effect: Effect::Reads,
        action: Action::Run(|runner, call| call.switch(runner, "timing", |runner| &mut runner.timing)),
    },
];

fn mode(runner: &mut Runner, call: &Call<'_>) -> Result<Next, Failure> {
    // The second is a table.
    let words = call.tables();
    let (mode, table) = match words.as_slice() {
        [] => {
            runner.say(&format!("mode is {}", runner.display.format.name()))?;
            return Ok(Next::GoOn);
        }
        [mode] => (mode, None),
        [mode, table] => (mode, Some(table)),
        _ => return Err(call.wrong()),
    };
    let format = Format::from_str(mode, true).map_err(|_| {
        let Takes::Words(modes) = MODES else { return call.wrong() };
        Failure::failed(format!("there is no mode '{mode}'; the modes are {}", modes.join(", ")))
    })?;
    match table {
        Some(_) if format != Format::Insert => {
            return Err(Failure::failed(format!("mode {} takes no table; mode insert does", format.name())));
        }
        Some(table) => runner.display.insert_table.clone_from(table),
        None => {}
    }
    runner.display.format = format;
    Ok(Next::GoOn)
}

fn width(runner: &mut Runner, call: &Call<'_>) -> Result<Next, Failure> {
    let words = call.words()?;
    let widths = words.iter().map(|word| word.parse::<usize>());
    runner.display.widths = widths.collect::<Result<_, _>>().map_err(|_| call.wrong())?;
    Ok(Next::GoOn)
}

/// `.output [FILE]`, and psql's `\o`.
pub(super) fn output(runner: &mut Runner, call: &Call<'_>) -> Result<Next, Failure> {
    match target(call)? {
        None => runner.out.restore()?,
        Some(target) if target == "stdout" => runner.out.restore()?,
        Some(target) => runner.out.redirect(&target, false)?,
    }
    Ok(Next::GoOn)
}

/// The file in the arguments, or a `|` with all that stands behind it.
fn target(call: &Call<'_>) -> Result<Option<String>, Failure> {
    if call.text.starts_with('|') { Ok(Some(call.text.to_owned())) } else { call.word() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_modes_are_named() {
        let Takes::Words(modes) = MODES else { panic!("no words") };
        let formats: Vec<&str> = Format::value_variants().iter().map(|format| format.name()).collect();
        assert_eq!(modes, formats);
        let help = COMMANDS.iter().find(|command| command.name == ".mode").map_or("", |command| command.help);
        assert!(help.ends_with(&formats.join(", ")), "{help}");
    }
}
