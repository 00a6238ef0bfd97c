//! What a statement that is no query is about, as far as its first words say.

use crate::child::Outcome;
use crate::order::words;

/// What is not the same in two programs after one of them has refused the statement.
pub enum Subject {
    /// Tables, views, types or prepared statements; `made` by this statement or only changed.
    Named {
        names: Vec<String>,
        made: bool,
    },
    Transaction,
    Setting,
    Nothing,
}

const WRITES: &[&str] = &["insert", "update", "delete", "merge"];

/// Words between the first one and the name.
const SKIPPED: &[&str] = &[
    "create",
    "on",
    "or",
    "replace",
    "temp",
    "temporary",
    "unique",
    "table",
    "view",
    "index",
    "sequence",
    "schema",
    "macro",
    "function",
    "type",
    "if",
    "not",
    "exists",
    "insert",
    "into",
    "delete",
    "from",
    "update",
    "alter",
    "drop",
    "copy",
    "ignore",
    "only",
    "recursive",
    "materialized",
    "unlogged",
    "external",
    "unbounded",
    "truncate",
    "merge",
    "prepare",
    "materialized",
    "unlogged",
    "domain",
    "procedure",
    "aggregate",
    "role",
];

/// Whether `sql` leaves everything as it is.
pub fn only_reads(sql: &str) -> bool {
    let words: Vec<String> = words(sql).collect();
    match words.first().map(String::as_str) {
        Some("select" | "values" | "from" | "show") => true,
        Some("with" | "explain") => !words.iter().any(|word| WRITES.contains(&word.as_str())),
        _ => false,
    }
}

pub fn subject(sql: &str) -> Subject {
    let words: Vec<String> = words(sql).collect();
    let Some(first) = words.first() else { return Subject::Nothing };
    let after = |start: usize| words[start..].iter().find(|word| !SKIPPED.contains(&word.as_str())).cloned();
    let place = |wanted: &[&str]| words.iter().position(|word| wanted.contains(&word.as_str()));
    let name = |start| after(start).into_iter().collect::<Vec<_>>();
    let behind = |word: &str| place(&[word]).and_then(|place| after(place + 1)).into_iter().collect::<Vec<_>>();
    let names: Vec<String> = match first.as_str() {
        "begin" | "start" | "commit" | "rollback" | "abort" | "end" | "savepoint" | "release" => {
            return Subject::Transaction;
        }
        "set" | "reset" => return Subject::Setting,
        "create" if place(&["trigger"]).is_some_and(|place| place < 4) => behind("on"),
        "create" if place(&["rule"]).is_some_and(|place| place < 4) => behind("to"),
        // The rows of a table that inherits another's columns are among that one's.
        "create" if place(&["inherits"]).is_some() => [name(0), behind("inherits")].concat(),
        "create" if place(&["of"]).is_some() => [name(0), behind("of")].concat(),
        "alter" if place(&["inherit", "attach"]).is_some() => {
            [name(0), behind("inherit"), behind("partition")].concat()
        }
        "declare" | "close" => words.get(1).cloned().into_iter().collect(),
        "fetch" | "move" => words.last().cloned().into_iter().collect(),
        // A unique index says something about its table.
        "create" if place(&["unique"]) == Some(1) => [behind("on"), behind("index")].concat(),
        "create" | "insert" | "delete" | "update" | "alter" | "drop" | "copy" | "truncate" | "merge" | "prepare" => {
            name(0)
        }
        "with" | "explain" => {
            let writes = words.iter().enumerate().filter(|(_, word)| WRITES.contains(&word.as_str()));
            writes.filter_map(|(place, _)| after(place)).collect()
        }
        _ => return Subject::Nothing,
    };
    let changes = ["trigger", "rule", "inherits", "of"].iter().any(|word| place(&[*word]).is_some());
    let made = ["create", "prepare", "declare"].contains(&first.as_str())
        && !changes
        && place(&["unique"]).is_none_or(|place| place != 1);
    Subject::Named { names, made }
}

/// Whether `sql` ends a transaction: a ROLLBACK to a savepoint does not.
pub fn ends_transaction(sql: &str) -> bool {
    let words: Vec<String> = words(sql).collect();
    let first = words.first().map(String::as_str).unwrap_or_default();
    ["commit", "rollback", "abort", "end"].contains(&first)
        && !words.iter().any(|word| ["to", "prepared"].contains(&word.as_str()))
}

/// Whether as many records were changed: `INSERT 0 3` says three.
pub fn same_count(tag: &str, outcome: &Outcome) -> bool {
    let words: Vec<&str> = tag.split(' ').collect();
    match (words.as_slice(), outcome) {
        (["INSERT", _, count] | ["UPDATE" | "DELETE", count], Outcome::Done(Some(ours))) => *count == ours.to_string(),
        _ => true,
    }
}
