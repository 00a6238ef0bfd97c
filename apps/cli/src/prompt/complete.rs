//! Completion of keywords, dot commands, tables and columns; and when Enter runs a statement.

use crate::prompt::{dot, input};
use arrow::array::AsArray;
use gingham::Connection;
use gingham::storage::panics::caught;
use rustyline::completion::Completer;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper};

const KEYWORDS: &[&str] = &[
    "ALTER",
    "ANALYZE",
    "AND",
    "AS",
    "ASC",
    "AVG",
    "BEGIN",
    "BETWEEN",
    "BIGINT",
    "BOOLEAN",
    "BY",
    "CASE",
    "CAST",
    "CHECK",
    "COLUMN",
    "COMMIT",
    "COPY",
    "COUNT",
    "CREATE",
    "CROSS",
    "DATE",
    "DECIMAL",
    "DEFAULT",
    "DELETE",
    "DESC",
    "DESCRIBE",
    "DISTINCT",
    "DOUBLE",
    "DROP",
    "ELSE",
    "END",
    "EXCEPT",
    "EXECUTE",
    "EXISTS",
    "EXPLAIN",
    "EXTRACT",
    "FALSE",
    "FROM",
    "FULL",
    "GROUP",
    "HAVING",
    "IN",
    "INNER",
    "INSERT",
    "INTEGER",
    "INTERSECT",
    "INTERVAL",
    "INTO",
    "IS",
    "JOIN",
    "KEY",
    "LEFT",
    "LIKE",
    "LIMIT",
    "MAX",
    "MIN",
    "NOT",
    "NULL",
    "OFFSET",
    "ON",
    "OPTIMIZE",
    "OR",
    "ORDER",
    "OUTER",
    "OVER",
    "PARTITION",
    "PREPARE",
    "PRIMARY",
    "REFERENCES",
    "RENAME",
    "RIGHT",
    "ROLLBACK",
    "SCHEMA",
    "SELECT",
    "SET",
    "SHOW",
    "SUM",
    "SUMMARIZE",
    "TABLE",
    "TABLES",
    "TEMP",
    "THEN",
    "TIMESTAMP",
    "TRUE",
    "TRUNCATE",
    "UNION",
    "UNIQUE",
    "UPDATE",
    "USING",
    "VALUES",
    "VARCHAR",
    "VIEW",
    "WHEN",
    "WHERE",
    "WITH",
];

/// What the line editor asks.
pub struct PromptHelper {
    connection: Connection,
}

impl PromptHelper {
    /// Completes names of what `connection` sees.
    pub fn new(connection: Connection) -> Self {
        Self { connection }
    }

    /// Tables and columns; none when they can't be read, which a statement will say better.
    fn names(&self) -> Vec<String> {
        const NAMES: &str = "SELECT table_name FROM information_schema.columns WHERE table_schema <> 'information_schema' \
             UNION SELECT column_name FROM information_schema.columns WHERE table_schema <> 'information_schema'";
        let batches = self.connection.query(NAMES).and_then(gingham::QueryResult::collect_batches).unwrap_or_default();
        let mut names = Vec::new();
        for batch in batches {
            let Ok(text) = arrow::compute::cast(batch.column(0), &arrow::datatypes::DataType::Utf8) else { continue };
            names.extend(text.as_string::<i32>().iter().flatten().map(gingham::quoted));
        }
        names
    }
}

/// Those of `words` that begin as `typed` does, whatever the case; lower-case when the user types lower case.
fn matching<'a>(typed: &str, words: impl Iterator<Item = &'a str>) -> Vec<String> {
    let lower = typed.chars().all(|c| !c.is_ascii_uppercase());
    words
        .filter(|word| {
            word.len() > typed.len() && word.get(..typed.len()).is_some_and(|start| start.eq_ignore_ascii_case(typed))
        })
        .map(|word| if lower { word.to_ascii_lowercase() } else { word.to_owned() })
        .collect()
}

impl Completer for PromptHelper {
    type Candidate = String;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        // The terminal is the line editor's until a line is typed: nothing may go through it.
        caught(|| self.completions(line, pos)).unwrap_or_else(|_| Ok((pos, Vec::new())))
    }
}

impl PromptHelper {
    fn completions(&self, line: &str, pos: usize) -> rustyline::Result<(usize, Vec<String>)> {
        let typed = &line[..pos];
        if typed.starts_with('.') && !typed.contains(' ') {
            return Ok((0, matching(typed, dot::COMMANDS.iter().map(|command| command.name))));
        }
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '"');
        let start =
            typed.rfind(|c| !is_word(c)).map_or(0, |at| at + typed[at..].chars().next().map_or(1, char::len_utf8));
        let word = &typed[start..];
        if word.is_empty() {
            return Ok((pos, Vec::new()));
        }
        let bare = word.trim_start_matches('"');
        let mut all: Vec<String> = self
            .names()
            .into_iter()
            .filter(|name| {
                let name = name.trim_matches('"');
                name.get(..bare.len()).is_some_and(|start| start.eq_ignore_ascii_case(bare))
            })
            .collect();
        all.sort();
        if !word.starts_with('"') && !typed.starts_with('.') {
            all.extend(matching(word, KEYWORDS.iter().copied()));
        }
        Ok((start, all))
    }
}

impl Validator for PromptHelper {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(match input::is_complete(context.input()) {
            true => ValidationResult::Valid(None),
            false => ValidationResult::Incomplete,
        })
    }
}

impl Hinter for PromptHelper {
    type Hint = String;
}
impl Highlighter for PromptHelper {}
impl Helper for PromptHelper {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_sorted_for_the_search() {
        assert!(KEYWORDS.is_sorted());
    }

    #[test]
    fn completion_keeps_the_case_of_the_typist() {
        assert_eq!(matching("sel", KEYWORDS.iter().copied()), ["select"]);
        assert_eq!(matching("SEL", KEYWORDS.iter().copied()), ["SELECT"]);
        assert!(matching("é", KEYWORDS.iter().copied()).is_empty());
    }
}
