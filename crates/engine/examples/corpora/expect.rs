//! Whether an answer is what its file says.

use crate::reader::{Corpus, Query, Sort};
use crate::table::{Row, Table, close};
use md5::{Digest, Md5};

/// What comes of holding an answer against its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    Same,
    Different,
    /// The file gives a pattern, or names another file.
    Unclear,
}

/// Holds `table` against what the file says of `query`.
pub fn fit(corpus: Corpus, query: &Query, table: &Table) -> Fit {
    let Some(expected) = &query.expected else { return Fit::Same };
    if expected.iter().any(|line| ["<REGEX>", "<!REGEX>", "<FILE>", "<slt:"].iter().any(|sign| line.contains(sign))) {
        return Fit::Unclear;
    }
    let same = match hash_in(expected) {
        Some((count, hash)) => {
            let values = values(corpus, query, table);
            values.len() == count && digest(&values) == hash
        }
        None => same_lines(corpus, query, table, expected),
    };
    if same { Fit::Same } else { Fit::Different }
}

/// The digest of an answer, so that queries of one label can be held against each other.
pub fn label_digest(corpus: Corpus, query: &Query, table: &Table) -> String {
    digest(&values(corpus, query, table))
}

/// `30 values hashing to 3c13dee48d9356ae19af2515e05e6b54`
fn hash_in(expected: &[String]) -> Option<(usize, String)> {
    let [line] = expected else { return None };
    let words: Vec<&str> = line.split_whitespace().collect();
    let [count, "values", "hashing", "to", hash] = words.as_slice() else { return None };
    Some((count.parse().ok()?, (*hash).to_owned()))
}

fn digest(values: &[String]) -> String {
    let mut hasher = Md5::new();
    for value in values {
        hasher.update(value.as_bytes());
        hasher.update(b"\n");
    }
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// All values as the file writes them, sorted as it asks.
fn values(corpus: Corpus, query: &Query, table: &Table) -> Vec<String> {
    let mut rows: Vec<Vec<String>> = table.rows.iter().map(|row| written_row(corpus, query, table, row)).collect();
    if query.sort == Sort::Rows {
        rows.sort();
    }
    let mut values: Vec<String> = rows.into_iter().flatten().collect();
    if query.sort == Sort::Values {
        values.sort();
    }
    values
}

fn written_row(corpus: Corpus, query: &Query, table: &Table, row: &Row) -> Vec<String> {
    let letters = query.types.chars().chain(std::iter::repeat('T'));
    let cells = row.iter().zip(&table.kinds).zip(letters);
    cells.map(|((cell, kind), letter)| written(corpus, cell.as_deref(), *kind, letter)).collect()
}

/// A value as the file writes it. SQLite's runner forces each value to the type that the letter names.
fn written(corpus: Corpus, cell: Option<&str>, kind: char, letter: char) -> String {
    let Some(text) = cell else { return "NULL".to_owned() };
    if text.is_empty() {
        return "(empty)".to_owned();
    }
    match (corpus, letter) {
        (Corpus::Sqlite, 'I') => match text {
            "true" => "1".to_owned(),
            "false" => "0".to_owned(),
            _ if kind == 'I' => text.to_owned(),
            _ => text.parse::<f64>().map_or(0, |number| number as i64).to_string(),
        },
        (Corpus::Sqlite, 'R') => format!("{:.3}", text.parse::<f64>().unwrap_or_default()),
        (Corpus::Sqlite, _) => text.chars().map(|c| if (' '..='~').contains(&c) { c } else { '@' }).collect(),
        _ => text.replace('\n', "\\n"),
    }
}

/// Compares line by line; what a line holds, a row or a value, is tried in turn.
fn same_lines(corpus: Corpus, query: &Query, table: &Table, expected: &[String]) -> bool {
    let width = table.kinds.len();
    let rows: Vec<Vec<String>> = table.rows.iter().map(|row| written_row(corpus, query, table, row)).collect();
    let mut readings: Vec<Vec<Vec<String>>> = Vec::new();
    if expected.len() == rows.len() * width {
        readings.push(expected.chunks(width.max(1)).map(<[String]>::to_vec).collect());
    }
    if corpus != Corpus::Sqlite && expected.len() == rows.len() {
        readings.push(expected.iter().map(|line| line.split('\t').map(str::to_owned).collect()).collect());
        if corpus == Corpus::Datafusion {
            let one = |row: &Vec<String>| row.join(" ").split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            let ours: Vec<Vec<String>> = rows.iter().map(one).collect();
            let theirs = expected.iter().map(|line| line.split_whitespace().map(str::to_owned).collect()).collect();
            if same_rows(query.sort, ours, theirs, &[]) {
                return true;
            }
        }
    }
    readings.into_iter().any(|theirs| same_rows(query.sort, rows.clone(), theirs, &table.kinds))
}

fn same_rows(sort: Sort, mut ours: Vec<Vec<String>>, mut theirs: Vec<Vec<String>>, kinds: &[char]) -> bool {
    if ours.len() != theirs.len() || ours.iter().zip(&theirs).any(|(ours, theirs)| ours.len() != theirs.len()) {
        return false;
    }
    match sort {
        Sort::None => {}
        Sort::Rows => {
            ours.sort();
            theirs.sort();
        }
        Sort::Values => {
            let flat = |rows: Vec<Vec<String>>| {
                let mut values: Vec<String> = rows.into_iter().flatten().collect();
                values.sort();
                vec![values]
            };
            (ours, theirs) = (flat(ours), flat(theirs));
        }
    }
    let float = |place: usize| kinds.get(place).is_some_and(|kind| *kind == 'f');
    let mut pairs = ours.iter().zip(&theirs);
    pairs.all(|(ours, theirs)| ours.iter().zip(theirs).enumerate().all(|(place, (a, b))| same(a, b, float(place))))
}

fn same(ours: &str, theirs: &str, float: bool) -> bool {
    if ours == theirs || ours.trim() == theirs.trim() {
        return true;
    }
    match (ours, theirs) {
        ("true", "1" | "True") | ("false", "0" | "False") => true,
        ("NULL", _) | (_, "NULL") | ("true" | "false", _) => false,
        _ => match (ours.parse::<f64>(), theirs.parse::<f64>()) {
            (Ok(a), Ok(b)) => close(a, b, if float { 1e-5 } else { 1e-9 }),
            // DataFusion's files write a time with a T, DuckDB's with a blank.
            _ => crate::table::plain_time(theirs) == ours,
        },
    }
}
