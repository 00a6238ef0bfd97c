//! The commands that are no SQL: dot commands as sqlite3 has them, and some of psql's with a backslash. They work at the prompt, in
//! files, in pipes and in a -c, each on a line of its own.
//!
//! | file | what |
//! |---|---|
//! | `call` | a command as it was written: its name and its arguments |
//! | `session` | help, scripts, the shell, leaving |
//! | `display` | how results are shown, and where they go |
//! | `show` | what is in the database |
//! | `data` | files in and out, `.dump` |
//! | `psql` | backslash commands |

mod call;
mod data;
mod display;
mod dump;
mod psql;
mod session;
mod show;

use crate::failure::Failure;
use crate::rows::Rows;
use crate::script::{Next, Runner};
use call::Call;

/// A command, for running it, help, completion and suggestions.
pub struct Command {
    /// The name, with the dot or the backslash.
    pub name: &'static str,
    /// Other names of it.
    aliases: &'static [&'static str],
    /// The argument, as help writes it.
    argument: &'static str,
    /// A few words on what the command does.
    help: &'static str,
    /// The kind of its argument, for completion.
    pub takes: Takes,
    /// The change that it may make.
    effect: Effect,
    /// The code that runs it.
    action: Action,
}

/// The code of a command.
enum Action {
    /// A function.
    Run(fn(&mut Runner, &Call<'_>) -> Result<Next, Failure>),
    /// The statement that the command stands for.
    Sql(fn(&Call<'_>) -> Result<String, Failure>),
}

/// The kind of a command's argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// A file, or a folder.
    File,
    /// A table or a view.
    Table,
    /// The arguments of COPY.
    Copy,
    /// A command's name.
    Command,
    /// One of these words.
    Words(&'static [&'static str]),
    /// Anything else, or nothing.
    Other,
}

/// The change that a command may make to the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// Nothing.
    Reads,
    /// What the script in its argument does.
    AsFile,
    /// It changes it.
    Writes,
}

const ON_OFF: Takes = Takes::Words(&["on", "off"]);

/// All of them.
pub fn all() -> impl Iterator<Item = &'static Command> {
    let tables = [session::COMMANDS, display::COMMANDS, show::COMMANDS, data::COMMANDS, psql::COMMANDS];
    tables.into_iter().flatten()
}

/// Their names, with those that are short for others.
pub fn names() -> impl Iterator<Item = &'static str> {
    all().flat_map(|command| std::iter::once(command.name).chain(command.aliases.iter().copied()))
}

/// The command of that name.
pub fn named(name: &str) -> Option<&'static Command> {
    all().find(|command| command.name == name || command.aliases.contains(&name))
}

/// Runs the command of a line. `rows` are for one that is a COPY of a stream.
pub fn run(runner: &mut Runner, line: &str, rows: Rows<'_>) -> Result<Next, Failure> {
    let call = Call::parse(line);
    match named(call.name).map(|command| &command.action) {
        Some(Action::Run(run)) => run(runner, &call),
        Some(Action::Sql(sql)) => runner.statement(&sql(&call)?, rows).map(|()| Next::GoOn),
        None => Err(Failure::failed(unknown(call.name))),
    }
}

/// Whether the command of a line changes nothing in the database; that of a script's file is `reads`'s to tell.
pub fn only_reads(line: &str, reads: &dyn Fn(&str) -> bool) -> bool {
    let call = Call::parse(line);
    match named(call.name).map(|command| command.effect) {
        Some(Effect::Reads) => true,
        Some(Effect::AsFile) => {
            matches!(call.words().as_deref(), Ok([file]) if std::fs::read_to_string(file).is_ok_and(|text| reads(&text)))
        }
        Some(Effect::Writes) => psql::copies_out(&call),
        None => true,
    }
}

/// What to say of a command that does not exist.
fn unknown(name: &str) -> String {
    let start: String = name.chars().take(2).collect();
    let distance = |near: &&str| edit_distance(name, near);
    let help = if name.starts_with('\\') { "\\?" } else { ".help" };
    let same_kind = names().filter(|near| near[..1] == start[..1]);
    // One letter that is right is no hint.
    let letters = name.chars().count() - 1;
    match same_kind.min_by_key(distance) {
        Some(near) if edit_distance(name, near) < letters.min(3) || (letters > 0 && near.starts_with(&start)) => {
            format!("there is no {name}; did you mean {near}?")
        }
        _ => format!("there is no {name}; {help} lists the commands"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_command_is_answered_with_the_near_one() {
        assert_eq!(unknown(".table"), "there is no .table; did you mean .tables?");
        assert_eq!(unknown(".shcema"), "there is no .shcema; did you mean .schema?");
        assert_eq!(unknown(".xyzzy"), "there is no .xyzzy; .help lists the commands");
        assert_eq!(unknown("\\zz"), "there is no \\zz; \\? lists the commands");
        assert_eq!(unknown("\\timign"), "there is no \\timign; did you mean \\timing?");
        assert_eq!(unknown("."), "there is no .; .help lists the commands");
    }

    #[test]
    fn a_name_is_one_commands() {
        let mut all: Vec<&str> = names().collect();
        all.sort_unstable();
        assert!(all.windows(2).all(|two| two[0] != two[1]), "{all:?}");
        assert!(all.iter().all(|name| name.starts_with(['.', '\\'])));
    }
}
