//! The files that hold statements with PostgreSQL's answers. They are made of blocks with an empty line between:
//!
//! ```text
//! world
//! CREATE TABLE t (a INTEGER)
//! INSERT INTO t VALUES (1), (NULL)
//!
//! query ordered
//! SELECT a FROM t ORDER BY 1
//! ----
//! 1
//! NULL
//!
//! change t
//! -- refused by Gingham: not supported
//! DELETE FROM t RETURNING a
//! ---- rows
//! 1
//! NULL
//! ---- table
//! ```
//!
//! A `query` that is not `ordered` may give its rows in any order. After a `change` come the rows that it returned, and all
//! rows of the table that it changed, or of the query that stands in its place. What PostgreSQL answered stands there also for a statement that Gingham refuses.

use crate::answer::{Answer, Cell, read, written};
use std::fmt::Write;

/// What marks a statement that Gingham refuses.
const MARK: &str = "-- refused by Gingham: ";

/// A statement with PostgreSQL's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub sql: String,
    /// The table that it changes.
    pub changes: Option<String>,
    /// True when it orders all of its rows.
    pub ordered: bool,
    pub refused: Option<String>,
    pub answer: Answer,
}

/// The script of a schema, and the statements about it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Section {
    pub script: Vec<String>,
    pub entries: Vec<Entry>,
}

/// Reads a file. Lines that start with `#` say what it is.
pub fn parse(text: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for block in text.split("\n\n").map(|block| block.trim_matches('\n')) {
        let lines: Vec<&str> = block.lines().filter(|line| !line.starts_with("# ")).collect();
        let Some((head, rest)) = lines.split_first() else { continue };
        if *head == "world" {
            let script = rest.iter().map(|line| (*line).to_owned()).collect();
            sections.push(Section { script, entries: Vec::new() });
        } else {
            let section = sections.last_mut().unwrap_or_else(|| panic!("a statement before any world: {block}"));
            section.entries.push(entry(head, rest));
        }
    }
    sections
}

fn entry(head: &str, rest: &[&str]) -> Entry {
    let refused = rest.first().and_then(|line| line.strip_prefix(MARK)).map(str::to_owned);
    let rest = &rest[usize::from(refused.is_some())..];
    let (sql, rest) = rest.split_first().unwrap_or_else(|| panic!("no statement after: {head}"));
    let changes = head.strip_prefix("change ").map(str::to_owned);
    let all = |lines: &[&str]| -> Vec<Vec<Cell>> { lines.iter().map(|line| read(line)).collect() };
    let answer = match rest.iter().position(|line| *line == "---- table") {
        Some(at) => Answer { rows: all(&rest[1..at]), after: Some(all(&rest[at + 1..])) },
        None => Answer { rows: all(rest.get(1..).unwrap_or_default()), after: None },
    };
    Entry { sql: (*sql).to_owned(), changes, ordered: head == "query ordered", refused, answer }
}

/// Writes a file that is read as these sections.
pub fn text(sections: &[Section]) -> String {
    let mut text = String::new();
    for section in sections {
        writeln!(text, "\nworld\n{}", section.script.join("\n")).expect("a string takes it");
        for entry in &section.entries {
            let head = match (&entry.changes, entry.ordered) {
                (Some(table), _) => format!("change {table}"),
                (None, true) => "query ordered".to_owned(),
                (None, false) => "query".to_owned(),
            };
            let line = |error: &String| format!("{MARK}{}\n", error.lines().next().unwrap_or_default());
            let mark = entry.refused.as_ref().map_or(String::new(), line);
            write!(text, "\n{head}\n{mark}{}\n{}", entry.sql, answer(&entry.answer)).expect("a string takes it");
        }
    }
    text
}

/// The lines of an answer.
pub fn answer(answer: &Answer) -> String {
    let all = |rows: &[Vec<Cell>]| rows.iter().map(|row| written(row) + "\n").collect::<String>();
    match &answer.after {
        Some(after) => format!("---- rows\n{}---- table\n{}", all(&answer.rows), all(after)),
        None => format!("----\n{}", all(&answer.rows)),
    }
}

#[test]
fn files_are_read_as_they_were_written() {
    let row = |text: &str| read(text);
    let query = Entry {
        sql: "SELECT a FROM t ORDER BY 1".into(),
        changes: None,
        ordered: true,
        refused: None,
        answer: Answer { rows: vec![row("1 | (empty)"), row("NULL | x")], after: None },
    };
    let change = Entry {
        sql: "DELETE FROM s1.t".into(),
        changes: Some("s1.t".into()),
        ordered: false,
        refused: Some("not supported".into()),
        answer: Answer { rows: Vec::new(), after: Some(vec![row("2 | y")]) },
    };
    let none = Entry { answer: Answer::default(), ordered: false, ..query.clone() };
    let script = vec!["CREATE SCHEMA s1".into(), "CREATE TABLE s1.t (a INTEGER, c VARCHAR)".into()];
    let sections = vec![Section { script, entries: vec![query, change, none] }, Section::default()];
    assert_eq!(parse(&format!("# What this is.\n{}", text(&sections))), sections);
}
