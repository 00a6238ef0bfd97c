//! Dot commands of the prompt.

use crate::failure::Failure;
use crate::layout;
use crate::output::Format;
use crate::script::{Origin, Runner};
use clap::ValueEnum;

/// What to do after a dot command.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// Prompt again.
    Prompt,
    /// Leave.
    Quit,
}

/// A dot command, for help, completion and suggestions.
pub struct Command {
    /// Its name with the dot.
    pub name: &'static str,
    argument: &'static str,
    help: &'static str,
}

/// All of them.
pub const COMMANDS: &[Command] = &[
    Command { name: ".help", argument: "", help: "this list" },
    Command { name: ".tables", argument: "", help: "tables and views" },
    Command { name: ".schema", argument: "[TABLE]", help: "the CREATE statement of a table, or of all" },
    Command { name: ".layout", argument: "TABLE", help: "where each bit of a table lies" },
    Command { name: ".timing", argument: "on|off", help: "tell the time of each statement" },
    Command { name: ".mode", argument: "table|csv|json|markdown", help: "how results are written" },
    Command { name: ".read", argument: "FILE", help: "run the statements of a file" },
    Command { name: ".quit", argument: "", help: "leave (as Ctrl-D does)" },
];

const TABLES: &str = "SELECT table_schema AS schema, table_name AS name, table_type AS kind \
     FROM information_schema.tables WHERE table_schema <> 'information_schema' ORDER BY 1, 2";

/// Runs the dot command of a line.
pub fn run(runner: &mut Runner, line: &str) -> Result<Next, Failure> {
    let line = line.trim_end_matches(';').trim();
    let (name, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let argument = argument.trim();
    match (name, argument) {
        (".quit" | ".exit", "") => return Ok(Next::Quit),
        (".help", _) => runner.say(&help())?,
        (".tables", "") => runner.run(&Origin::Prompt, TABLES)?,
        (".schema", "") => all_schemas(runner)?,
        (".schema", table) => {
            let table = runner.connection.table(table)?;
            runner.say(&layout::create_statement(&table.definition))?;
        }
        (".layout", table) if !table.is_empty() => {
            let table = runner.connection.table(table)?;
            runner.say(layout::picture(&table, None)?.trim_end())?;
        }
        (".timing", "") => runner.say(if runner.timing { "timing is on" } else { "timing is off" })?,
        (".timing", "on") => runner.timing = true,
        (".timing", "off") => runner.timing = false,
        (".mode", "") => runner.say(&format!("mode is {}", runner.display.format.name()))?,
        (".mode", mode) if Format::from_str(mode, true).is_ok() => {
            runner.display.format = Format::from_str(mode, true).unwrap_or(runner.display.format);
        }
        (".read", file) if !file.is_empty() => {
            let text = std::fs::read_to_string(file)
                .map_err(|error| Failure::failed(format!("can't read {file}: {error}")))?;
            runner.run(&Origin::File(file.to_owned()), &text)?;
        }
        _ => return Err(Failure::failed(wrong(name))),
    }
    Ok(Next::Prompt)
}

fn help() -> String {
    let mut lines: Vec<String> = COMMANDS
        .iter()
        .map(|command| format!("{:32} {}", format!("{} {}", command.name, command.argument), command.help))
        .collect();
    lines.push(String::from(
        "Anything else is SQL and ends with ';'. Tab completes names, Ctrl-C cancels a statement or clears the line.",
    ));
    lines.join("\n")
}

/// What to say of a command that does not exist or has a wrong argument.
fn wrong(name: &str) -> String {
    if let Some(command) = COMMANDS.iter().find(|command| command.name == name) {
        return format!("{name} is used as: {} {}", command.name, command.argument);
    }
    let start: String = name.chars().take(2).collect();
    let distance = |command: &&Command| edit_distance(name, command.name);
    match COMMANDS.iter().min_by_key(distance) {
        Some(near) if edit_distance(name, near.name) <= 2 || (start.len() == 2 && near.name.starts_with(&start)) => {
            format!("there is no {name}; did you mean {}?", near.name)
        }
        _ => format!("there is no {name}; .help lists the commands"),
    }
}

/// Levenshtein's distance, in bytes.
fn edit_distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// The CREATE statement of every table.
fn all_schemas(runner: &mut Runner) -> Result<(), Failure> {
    const NAMES: &str = "SELECT table_schema || '.' || '\"' || replace(table_name, '\"', '\"\"') || '\"' \
         FROM information_schema.tables WHERE table_type = 'BASE TABLE' AND table_schema <> 'information_schema' ORDER BY 1";
    for batch in runner.connection.query(NAMES)? {
        let names = arrow::compute::cast(batch?.column(0), &arrow::datatypes::DataType::Utf8)?;
        let names = arrow::array::AsArray::as_string::<i32>(&names);
        for name in names.iter().flatten() {
            // External files are tables of the session without a definition in the catalog.
            if let Ok(table) = runner.connection.table(name) {
                runner.say(&layout::create_statement(&table.definition))?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_command_is_answered_with_the_near_one() {
        assert_eq!(wrong(".table"), "there is no .table; did you mean .tables?");
        assert_eq!(wrong(".shcema"), "there is no .shcema; did you mean .schema?");
        assert_eq!(wrong(".xyzzy"), "there is no .xyzzy; .help lists the commands");
        assert_eq!(wrong(".mode"), ".mode is used as: .mode table|csv|json|markdown");
    }

    #[test]
    fn help_names_every_command() {
        assert!(COMMANDS.iter().all(|command| help().contains(command.name)));
    }
}
