//! The files of the corpora as records. The three projects write the same format in three ways, and each has commands of
//! its own; this reader takes what tells a statement or a query from its answer, and passes over the rest. The parser of
//! crate `sqllogictest` ends at the first line that it does not know, which most of DuckDB's files have.

use crate::loops;
use crate::script;
use std::path::{Path, PathBuf};

/// Where a file comes from, which decides how it writes values and what it may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Corpus {
    /// SQLite's sqllogictest: one value a line, formatted by the letters after `query`.
    Sqlite,
    /// DuckDB's: values of a row parted by tabs, loops, several connections.
    Duckdb,
    /// DataFusion's: values of a row parted by blanks.
    Datafusion,
    /// PostgreSQL's own scripts for psql, whose answers PostgreSQL is asked for.
    Postgres,
}

/// All corpora, in the order of the report.
pub const CORPORA: [Corpus; 4] = [Corpus::Sqlite, Corpus::Duckdb, Corpus::Datafusion, Corpus::Postgres];

impl Corpus {
    /// The folder's name under DIR.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Duckdb => "duckdb",
            Self::Datafusion => "datafusion",
            Self::Postgres => "postgres",
        }
    }
}

/// A file of a corpus.
#[derive(Debug, Clone)]
pub struct File {
    pub corpus: Corpus,
    /// Where it lies.
    pub path: PathBuf,
    /// Its path below DIR, with `/`.
    pub name: String,
}

/// What a file says of a statement without rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepts {
    Yes,
    No,
    /// `statement maybe`: either is right.
    Either,
}

/// The order in which a query's values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    None,
    Rows,
    Values,
}

/// A query and the answer that its file gives.
#[derive(Debug, Clone)]
pub struct Query {
    /// One letter a column: `I`, `R`, `T` and others.
    pub types: String,
    pub sort: Sort,
    /// The lines after `----`; `None` when there is no such line.
    pub expected: Option<Vec<String>>,
    /// Queries of one label have the same answer.
    pub label: Option<String>,
}

#[derive(Debug, Clone)]
pub enum What {
    Statement(Accepts),
    Query(Query),
    /// A statement of a script: PostgreSQL's answer is the right one.
    Script,
    /// A statement of the script that others need, which is not counted.
    Setup,
    /// From here on there is a new, empty database.
    Fresh,
}

/// A statement or a query.
#[derive(Debug, Clone)]
pub struct Record {
    /// Line of the file, from 1.
    pub line: usize,
    /// Name of the connection that runs it; empty for the first one.
    pub connection: String,
    pub sql: String,
    pub what: What,
}

/// The records of `file`, with loops unrolled. `scratch` stands for the folder that tests may write to.
pub fn read(file: &File, scratch: &Path) -> Result<Vec<Record>, String> {
    if file.corpus == Corpus::Postgres {
        return script::read(file, scratch);
    }
    let mut reader = Reader { corpus: file.corpus, records: Vec::new(), skipping: false };
    reader.file(&file.path, scratch, 0)?;
    Ok(reader.records)
}

/// A line and its number.
pub type Line = (usize, String);

struct Reader {
    corpus: Corpus,
    records: Vec<Record>,
    /// Between `mode skip` and `mode unskip`.
    skipping: bool,
}

impl Reader {
    fn file(&mut self, path: &Path, scratch: &Path, depth: usize) -> Result<(), String> {
        let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let folder = scratch.to_string_lossy();
        let text = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
        let text = text.replace("__TEST_DIR__", &folder).replace("{TEST_DIR}", &folder);
        let text = text.replace("{DATA_DIR}", "data");
        let lines: Vec<Line> = text.lines().enumerate().map(|(n, line)| (n + 1, line.to_owned())).collect();
        let lines = loops::unroll(&lines);
        let mut at = 0;
        let mut runs = true;
        while at < lines.len() {
            let (number, line) = &lines[at];
            at += 1;
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                [] => {}
                [first, ..] if first.starts_with('#') => {}
                ["skipif", name, ..] => runs &= !is_ours(name),
                ["onlyif", name, ..] => runs &= is_ours(name),
                ["mode", "skip", ..] => self.skipping = true,
                ["mode", "unskip", ..] => self.skipping = false,
                ["halt", ..] if runs => return Ok(()),
                ["require", rest @ ..] if runs && unmet(rest) => return Ok(()),
                ["require-env", ..] if runs => return Ok(()),
                ["load", ..] if runs => self.push(*number, What::Fresh, "", String::new()),
                ["include", name, ..] if depth < 4 => self.include(path, name, scratch, depth)?,
                ["statement", ..] | ["query", ..] => {
                    let block = Block::take(&lines, &mut at);
                    if runs && !self.skipping {
                        self.record(*number, &words, block);
                    }
                    runs = true;
                }
                // Other commands are about the program that the file was written for.
                _ => runs = true,
            }
        }
        Ok(())
    }

    /// Reads the files that `include` names in place of that line.
    fn include(&mut self, path: &Path, name: &str, scratch: &Path, depth: usize) -> Result<(), String> {
        let folder = path.parent().unwrap_or(path);
        let Some(start) = name.strip_suffix('*') else {
            // DuckDB names such a file from the top of its checkout.
            let found = path.ancestors().skip(1).map(|folder| folder.join(name)).find(|path| path.is_file());
            return self.file(&found.unwrap_or_else(|| folder.join(name)), scratch, depth + 1);
        };
        let full = folder.join(start);
        let mut found: Vec<PathBuf> = std::fs::read_dir(full.parent().unwrap_or(folder))
            .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
            .unwrap_or_default();
        found.retain(|path| path.is_file() && path.to_string_lossy().starts_with(&*full.to_string_lossy()));
        found.sort();
        found.iter().try_for_each(|path| self.file(path, scratch, depth + 1))
    }

    fn record(&mut self, line: usize, words: &[&str], block: Block) {
        let rest = words.get(2..).unwrap_or_default();
        let named = |word: &&&str| words[0] == "statement" || word.starts_with("con");
        let connection = rest.iter().find(named).copied().unwrap_or_default();
        let what = match (words[0], words.get(1).copied().unwrap_or_default()) {
            (_, "error") => What::Statement(Accepts::No),
            ("statement", "maybe") => What::Statement(Accepts::Either),
            ("statement", _) => What::Statement(Accepts::Yes),
            (_, types) => What::Query(Query {
                types: types.to_owned(),
                sort: sort(rest),
                label: label(rest),
                expected: block.expected,
            }),
        };
        let connection = if self.corpus == Corpus::Duckdb { connection } else { "" };
        self.push(line, what, connection, block.sql);
    }

    fn push(&mut self, line: usize, what: What, connection: &str, sql: String) {
        self.records.push(Record { line, connection: connection.to_owned(), sql, what });
    }
}

/// What follows the line of a record: its SQL, and the answer below `----`.
struct Block {
    sql: String,
    expected: Option<Vec<String>>,
}

impl Block {
    fn take(lines: &[Line], at: &mut usize) -> Self {
        let mut sql = Vec::new();
        let mut expected: Option<Vec<String>> = None;
        while let Some((_, line)) = lines.get(*at) {
            if line.trim().is_empty() {
                break;
            }
            *at += 1;
            match &mut expected {
                Some(values) => values.push(line.clone()),
                None if line.trim() == "----" => expected = Some(Vec::new()),
                None => sql.push(line.as_str()),
            }
        }
        Self { sql: sql.join("\n"), expected }
    }
}

fn sort(words: &[&str]) -> Sort {
    match words {
        _ if words.contains(&"rowsort") => Sort::Rows,
        _ if words.contains(&"sort") => Sort::Rows,
        _ if words.contains(&"valuesort") => Sort::Values,
        _ => Sort::None,
    }
}

fn label(words: &[&str]) -> Option<String> {
    let known = |word: &str| ["nosort", "rowsort", "sort", "valuesort"].contains(&word) || word.starts_with("con");
    words.iter().find(|word| !known(word)).map(|word| (*word).to_owned())
}

/// Records for PostgreSQL are run, since PostgreSQL is what decides in the end. What a file keeps from it, it keeps from
/// releases of long ago; so `skipif postgresql` is passed over.
fn is_ours(name: &str) -> bool {
    ["gingham", "postgres", "postgresql", "yes"].contains(&name)
}

/// Whether a file asks for something that it can't go on without: another's extension with functions of its own.
fn unmet(words: &[&str]) -> bool {
    let foreign = ["tpch", "tpcds", "spatial", "sqlsmith", "httpfs", "excel", "fts", "inet", "vss", "delta", "iceberg"];
    words.first().is_some_and(|name| foreign.contains(name))
}
