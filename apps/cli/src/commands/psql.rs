//! Some of psql's commands, for those whose fingers know them.

use crate::commands::call::{Call, on_or_off};
use crate::commands::session::{self, list, print, quit, read, run_shell};
use crate::commands::show::{INDEXES, RELATIONS, create_statement, database, literal, of_table};
use crate::commands::{Action, Command, Effect, ON_OFF, Takes, display};
use crate::failure::Failure;
use crate::script::{Next, Runner};

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "\\?",
        aliases: &["\\h"],
        argument: "",
        help: "this list",
        takes: Takes::Other,
        effect: Effect::Reads,
        action: Action::Run(|runner, _| {
            runner.say(&list(|name| name.starts_with('\\')))?;
            Ok(Next::GoOn)
        }),
    },
    Command {
        name: "\\d",
        aliases: &["\\d+"],
        argument: "[TABLE]",
        help: "tables and views, or the columns, indexes and constraints of one",
        takes: Takes::Table,
        effect: Effect::Reads,
        action: Action::Run(describe),
    },
    Command {
        name: "\\dt",
        aliases: &["\\dt+"],
        argument: "[PATTERN]",
        help: "tables (* and ? stand for any characters and for one)",
        takes: Takes::Table,
        effect: Effect::Reads,
        action: Action::Sql(|call| relations(call, " AND table_type <> 'VIEW'")),
    },
    Command {
        name: "\\dv",
        aliases: &["\\dv+"],
        argument: "[PATTERN]",
        help: "views",
        takes: Takes::Table,
        effect: Effect::Reads,
        action: Action::Sql(|call| relations(call, " AND table_type = 'VIEW'")),
    },
    Command {
        name: "\\di",
        aliases: &["\\di+"],
        argument: "[PATTERN]",
        help: "indexes",
        takes: Takes::Other,
        effect: Effect::Reads,
        action: Action::Sql(|call| {
            let wanted = like("index_name", call)?.map_or_else(String::new, |like| format!(" WHERE {like}"));
            Ok(format!("{INDEXES}{wanted} ORDER BY 1, 2, 3"))
        }),
    },
    Command {
        name: "\\dn",
        aliases: &["\\dn+"],
        argument: "[PATTERN]",
        help: "schemas",
        takes: Takes::Other,
        effect: Effect::Reads,
        action: Action::Sql(|call| {
            let wanted = like("schema_name", call)?.map_or_else(String::new, |like| format!(" AND {like}"));
            Ok(format!(
                "SELECT schema_name AS schema FROM information_schema.schemata \
                 WHERE schema_name <> 'information_schema'{wanted} ORDER BY 1"
            ))
        }),
    },
    Command {
        name: "\\l",
        aliases: &["\\conninfo"],
        argument: "",
        help: "the database that is open",
        takes: Takes::Other,
        effect: Effect::Reads,
        action: Action::Run(database),
    },
    Command {
        name: "\\x",
        aliases: &[],
        argument: "[on|off]",
        help: "show a line for each value",
        takes: ON_OFF,
        effect: Effect::Reads,
        action: Action::Run(|runner, call| {
            toggle(runner, call, "expanded display", |runner| &mut runner.display.expanded)
        }),
    },
    Command {
        name: "\\timing",
        aliases: &[],
        argument: "[on|off]",
        help: "tell the time of each statement",
        takes: ON_OFF,
        effect: Effect::Reads,
        action: Action::Run(|runner, call| toggle(runner, call, "timing", |runner| &mut runner.timing)),
    },
    Command {
        name: "\\i",
        aliases: &[],
        argument: "FILE",
        help: "run the statements and commands of a file",
        takes: Takes::File,
        effect: Effect::AsFile,
        action: Action::Run(read),
    },
    Command {
        name: "\\o",
        aliases: &[],
        argument: "[FILE]",
        help: "write results to a file, or with '|command' to a command; without one, to standard output again",
        takes: Takes::File,
        effect: Effect::Reads,
        action: Action::Run(display::output),
    },
    Command {
        name: "\\copy",
        aliases: &[],
        argument: "TABLE|(QUERY) FROM|TO FILE [OPTIONS]",
        help: "COPY, with a file's name that needs no quotes",
        takes: Takes::Copy,
        effect: Effect::Writes,
        action: Action::Sql(|call| copy_statement(call.text).ok_or_else(|| call.wrong())),
    },
    Command {
        name: "\\echo",
        aliases: &[],
        argument: "TEXT",
        help: "write a line of text",
        takes: Takes::Other,
        effect: Effect::Reads,
        action: Action::Run(print),
    },
    Command {
        name: "\\cd",
        aliases: &[],
        argument: "FOLDER",
        help: "names of files are from there on",
        takes: Takes::File,
        effect: Effect::Reads,
        action: Action::Run(session::cd),
    },
    Command {
        name: "\\!",
        aliases: &[],
        argument: "COMMAND",
        help: "run a command of the shell's",
        takes: Takes::File,
        effect: Effect::Reads,
        action: Action::Run(run_shell),
    },
    Command {
        name: "\\q",
        aliases: &[],
        argument: "",
        help: "leave (as Ctrl-D does)",
        takes: Takes::Other,
        effect: Effect::Reads,
        action: Action::Run(quit),
    },
];

/// Switches something on or off, to the other state when no argument says which, and tells.
fn toggle(
    runner: &mut Runner,
    call: &Call<'_>,
    what: &str,
    switched: impl Fn(&mut Runner) -> &mut bool,
) -> Result<Next, Failure> {
    let state = match call.word()?.as_deref() {
        None => !*switched(runner),
        Some(word) => on_or_off(word).ok_or_else(|| call.wrong())?,
    };
    *switched(runner) = state;
    runner.say(&format!("{what} is {}", if state { "on" } else { "off" }))?;
    Ok(Next::GoOn)
}

fn describe(runner: &mut Runner, call: &Call<'_>) -> Result<Next, Failure> {
    let Some(table) = call.table()?.filter(|table| table.contains('"') || !table.contains(['*', '?'])) else {
        runner.query(&relations(call, "")?)?;
        return Ok(Next::GoOn);
    };
    let statement = match create_statement(runner, &table) {
        Err(failure) if failure.message().contains("system table") => String::new(),
        // A wrong name is told of before anything is shown.
        statement => statement?,
    };
    let condition = of_table(&table);
    runner.query(&format!(
        "SELECT column_name AS column, data_type AS type, is_nullable AS nullable, column_default AS default \
         FROM information_schema.columns WHERE {condition} ORDER BY ordinal_position"
    ))?;
    let indexes = format!("FROM gingham_indexes WHERE {condition} AND NOT of_constraint");
    if runner.connection.execute(&format!("SELECT index_name {indexes}"))? > 0 {
        runner.query(&format!("SELECT index_name AS index, columns, is_unique AS unique {indexes} ORDER BY 1"))?;
    }
    for constraint in statement.lines().filter_map(|line| line.strip_prefix("  CONSTRAINT ")) {
        runner.say(constraint.trim_end_matches(','))?;
    }
    Ok(Next::GoOn)
}

/// The query for the tables and views of a kind, all or those that are like a pattern.
fn relations(call: &Call<'_>, of_kind: &str) -> Result<String, Failure> {
    let wanted = like("table_name", call)?.map_or_else(String::new, |like| format!(" AND {like}"));
    Ok(format!("{RELATIONS}{of_kind}{wanted} ORDER BY 1, 2"))
}

/// The condition that a column is like the pattern in the arguments, in which `*` and `?` stand for others.
fn like(column: &str, call: &Call<'_>) -> Result<Option<String>, Failure> {
    let pattern = call.word()?;
    Ok(pattern.map(|pattern| {
        let pattern = pattern.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
        format!("{column} LIKE {}", literal(&pattern.replace('*', "%").replace('?', "_")))
    }))
}

/// Whether a command is a `\copy` to a file.
pub(super) fn copies_out(call: &Call<'_>) -> bool {
    call.name == "\\copy" && halves(call.text).is_some_and(|(_, word, _)| word.eq_ignore_ascii_case("to"))
}

/// The COPY statement of a `\copy`: the file's name is put in quotes where it stands without.
fn copy_statement(text: &str) -> Option<String> {
    let (before, word, after) = halves(text)?;
    if before.is_empty() || after.is_empty() {
        return None;
    }
    let end = match after.strip_prefix('\'') {
        Some(quoted) => quoted.find('\'').map(|at| at + 2)?,
        None => after.find(char::is_whitespace).unwrap_or(after.len()),
    };
    let (file, options) = after.split_at(end);
    let file = match file.to_ascii_lowercase().as_str() {
        "stdin" | "stdout" => file.to_owned(),
        "pstdin" => "STDIN".to_owned(),
        "pstdout" => "STDOUT".to_owned(),
        _ if file.starts_with('\'') => file.to_owned(),
        _ => literal(file),
    };
    Some(format!("COPY {before} {word} {file}{options}"))
}

/// What stands before the FROM or TO of a COPY, that word, and what stands behind it.
fn halves(text: &str) -> Option<(&str, &str, &str)> {
    let (mut depth, mut quote, mut start) = (0_usize, None, 0);
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match (quote, c) {
            (Some(open), c) => quote = (c != open).then_some(open),
            (None, '\'' | '"') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => depth = depth.saturating_sub(1),
            _ => {}
        }
        if c.is_whitespace() || matches!(c, '(' | ')') {
            let word = &text[start..at];
            if depth == 0 && quote.is_none() && (word.eq_ignore_ascii_case("from") || word.eq_ignore_ascii_case("to")) {
                return Some((text[..start].trim(), word, text[at..].trim()));
            }
            start = at + c.len_utf8();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_name_files_without_quotes() {
        let sql = |text| copy_statement(text).unwrap_or_default();
        assert_eq!(sql("t FROM a.csv csv header"), "COPY t FROM 'a.csv' csv header");
        assert_eq!(sql("t (a, b) from 'a b.csv' (FORMAT csv)"), "COPY t (a, b) from 'a b.csv' (FORMAT csv)");
        assert_eq!(sql("(SELECT ' to ' FROM t) TO b.csv"), "COPY (SELECT ' to ' FROM t) TO 'b.csv'");
        assert_eq!(sql("t TO stdout"), "COPY t TO stdout");
        assert_eq!(sql("t FROM pstdin"), "COPY t FROM STDIN");
        assert_eq!(copy_statement("t"), None);
        assert_eq!(copy_statement("t FROM"), None);
        assert!(copies_out(&Call::parse("\\copy (SELECT 1) TO x")) && !copies_out(&Call::parse("\\copy t FROM x")));
    }
}
