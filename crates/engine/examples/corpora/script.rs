//! Scripts of psql as records: PostgreSQL's own regression tests are such scripts. A statement ends at a semicolon outside
//! of quotes and parentheses, a line that begins with a backslash is a command of psql's, and the data of a COPY from
//! stdin follow the statement; they become a file here.

use crate::order::words;
use crate::reader::{Corpus, File, Record, What};
use std::collections::HashMap;
use std::path::Path;

/// The options by which Gingham reads PostgreSQL's format of text, which it takes for the one that is meant.
const TEXT_FORMAT: &str = r" (FORMAT csv, DELIMITER E'\t', NULL '\N')";

/// The script that makes the tables that all others use.
const SETUP: &str = "test_setup";

/// The scripts that are run, by name.
pub const SCRIPTS: &[&str] = &[
    "boolean",
    "int2",
    "int4",
    "int8",
    "numeric",
    "float4",
    "float8",
    "char",
    "varchar",
    "text",
    "date",
    "time",
    "timestamp",
    "timestamptz",
    "join",
    "subselect",
    "aggregates",
    "groupingsets",
    "window",
    "with",
    "union",
    "case",
    "limit",
    "insert",
    "insert_conflict",
    "update",
    "delete",
    "merge",
    "select",
    "select_distinct",
    "select_distinct_on",
    "transactions",
    "prepare",
    "sequence",
    "identity",
    "generated",
    "alter_table",
    "create_view",
    "strings",
];

/// The records of `file`, behind those of the script that makes its tables. `scratch` takes the data of COPY.
pub fn read(file: &File, scratch: &Path) -> Result<Vec<Record>, String> {
    debug_assert_eq!(file.corpus, Corpus::Postgres);
    let folder = file.path.parent().ok_or("a script without a folder")?;
    let mut records = Vec::new();
    for (path, what) in [(folder.join(format!("{SETUP}.sql")), What::Setup), (file.path.clone(), What::Script)] {
        let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let text = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
        let sources = folder.parent().unwrap_or(folder).to_string_lossy().into_owned();
        let variables = HashMap::from([("PG_ABS_SRCDIR".to_owned(), sources)]);
        let mut script = Script { text: &text, at: 0, line: 1, environment: variables, variables: HashMap::new() };
        for (line, sql, data) in script.statements() {
            let sql = match data {
                None if from_client(&sql).is_some_and(|(_, path, rest)| !path.is_empty() && rest.trim().is_empty()) => {
                    format!("{sql}{TEXT_FORMAT}")
                }
                None => sql,
                Some(data) => {
                    let path = scratch.join(format!("stdin_{line}.data"));
                    std::fs::write(&path, data).map_err(|error| format!("{}: {error}", path.display()))?;
                    from_file(&sql, &path)
                }
            };
            records.push(Record { line, connection: String::new(), sql, what: what.clone() });
        }
    }
    Ok(records)
}

/// A statement of a script: its line, its text without comments, and the data that COPY reads.
type Statement = (usize, String, Option<String>);

struct Script<'a> {
    text: &'a str,
    at: usize,
    line: usize,
    environment: HashMap<String, String>,
    variables: HashMap<String, String>,
}

/// The statements of a script that uses no variables.
#[cfg(test)]
pub fn statements(text: &str) -> Vec<Statement> {
    Script { text, at: 0, line: 1, environment: HashMap::new(), variables: HashMap::new() }.statements()
}

impl<'a> Script<'a> {
    fn statements(&mut self) -> Vec<Statement> {
        let mut found = Vec::new();
        let (mut sql, mut begun, mut depth) = (String::new(), None, 0_usize);
        while let Some(c) = self.rest().chars().next() {
            let rest = self.rest();
            if begun.is_none() && !c.is_whitespace() && !rest.starts_with("--") && !rest.starts_with("/*") {
                begun = Some(self.line);
            }
            match c {
                '-' if rest.starts_with("--") => {
                    self.take_line();
                    sql.push('\n');
                }
                '/' if rest.starts_with("/*") => {
                    self.take(comment(rest));
                    sql.push(' ');
                }
                '\'' => {
                    let escapes = ends_with_e(&sql);
                    sql.push_str(self.take(quoted(rest, '\'', escapes)));
                }
                '"' => sql.push_str(self.take(quoted(rest, '"', false))),
                '$' if !sql.ends_with(|c: char| c.is_alphanumeric() || c == '_') => {
                    sql.push_str(self.take(dollars(rest)))
                }
                ':' => sql.push_str(&self.variable()),
                '\\' => {
                    if rest.starts_with("\\;") {
                        self.take(1);
                        continue;
                    }
                    // `\gset` and its like send the statement before them.
                    let line = self.take_line().to_owned();
                    self.command(&line);
                    if line.starts_with("\\g") || sql.trim().is_empty() {
                        self.end(&mut found, &mut sql, &mut begun, &mut depth);
                    }
                }
                ';' if depth == 0 => {
                    self.take(1);
                    self.end(&mut found, &mut sql, &mut begun, &mut depth);
                }
                _ => {
                    match c {
                        '(' => depth += 1,
                        ')' => depth = depth.saturating_sub(1),
                        _ => {}
                    }
                    sql.push_str(self.take(c.len_utf8()));
                }
            }
        }
        found
    }

    fn end(&mut self, found: &mut Vec<Statement>, sql: &mut String, begun: &mut Option<usize>, depth: &mut usize) {
        let text = std::mem::take(sql).trim().to_owned();
        *depth = 0;
        let line = begun.take().unwrap_or(self.line);
        if text.is_empty() {
            return;
        }
        let data = if reads_stdin(&text) { self.data() } else { None };
        found.push((line, text, data));
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn take(&mut self, bytes: usize) -> &'a str {
        let taken = &self.text[self.at..self.at + bytes];
        self.at += bytes;
        self.line += taken.matches('\n').count();
        taken
    }

    /// The rest of this line, without its end.
    fn take_line(&mut self) -> &'a str {
        let end = self.rest().find('\n').unwrap_or(self.rest().len());
        let line = self.take(end);
        self.take(usize::from(!self.rest().is_empty()));
        line
    }

    /// The lines up to `\.`. There are none when another statement comes before it: psql sends none to a COPY that fails.
    fn data(&mut self) -> Option<String> {
        let below = self.rest().find('\n').map(|end| end + 1)?;
        let lines = &self.rest()[below..];
        let end = lines.split_inclusive('\n').scan(0, |at, line| {
            let start = *at;
            *at += line.len();
            Some((start, line.trim_end()))
        });
        let (length, _) = end.clone().find(|(_, line)| *line == "\\.")?;
        if end.clone().take_while(|(start, _)| *start < length).any(|(_, line)| line.ends_with(';')) {
            return None;
        }
        let data = lines[..length].to_owned();
        self.take(below + length);
        self.take_line();
        Some(data)
    }

    /// The text for `:name`, `:'name'` and `:"name"`; a colon alone when there is no such variable.
    fn variable(&mut self) -> String {
        let rest = self.rest();
        if rest.starts_with("::") {
            return self.take(2).to_owned();
        }
        let quote = rest[1..].chars().next().filter(|c| ['\'', '"'].contains(c));
        let name = &rest[1 + usize::from(quote.is_some())..];
        let length = name.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(name.len());
        let closed = quote.is_none_or(|quote| name[length..].starts_with(quote));
        match self.variables.get(&name[..length]).cloned() {
            Some(value) if closed => {
                self.take(1 + length + 2 * usize::from(quote.is_some()));
                quote.map_or(value.clone(), |quote| {
                    let doubled = value.replace(quote, &format!("{quote}{quote}"));
                    format!("{quote}{doubled}{quote}")
                })
            }
            _ => self.take(1).to_owned(),
        }
    }

    /// Heeds `\set` and `\getenv`, and passes over what prints or describes.
    fn command(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["\\getenv", name, from] => {
                let value = self.environment.get(*from).cloned().unwrap_or_default();
                self.variables.insert((*name).to_owned(), value);
            }
            ["\\set", name, ..] => {
                let rest = line.split_once(name).map_or("", |(_, rest)| rest);
                let value = self.joined(rest);
                self.variables.insert((*name).to_owned(), value);
            }
            _ => {}
        }
    }

    /// The words of a `\set`, put together: psql puts no blanks between them.
    fn joined(&self, text: &str) -> String {
        let mut value = String::new();
        let mut rest = text.trim_start();
        while let Some(c) = rest.chars().next() {
            let length = match c {
                '\'' => quoted(rest, '\'', false),
                _ => rest.find(char::is_whitespace).unwrap_or(rest.len()),
            };
            let (word, after) = rest.split_at(length);
            match word.strip_prefix(':').and_then(|name| self.variables.get(name)) {
                Some(known) => value.push_str(known),
                None if c == '\'' => value.push_str(&word[1..length - 1].replace("''", "'")),
                None => value.push_str(word),
            }
            rest = after.trim_start();
        }
        value
    }
}

/// Whether a quote that comes now is that of `E'…'`, in which a backslash escapes.
fn ends_with_e(sql: &str) -> bool {
    let mut before = sql.chars().rev();
    matches!(before.next(), Some('e' | 'E')) && before.next().is_none_or(|c| !(c.is_alphanumeric() || c == '_'))
}

/// The length of what is quoted at the start of `text`, with its quotes.
fn quoted(text: &str, quote: char, escapes: bool) -> usize {
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((place, c)) = characters.next() {
        // A quote that stands twice is one of the text.
        let is_escaped =
            c == '\\' && escapes || c == quote && characters.peek().is_some_and(|(_, next)| *next == quote);
        if is_escaped {
            characters.next();
        } else if c == quote {
            return place + 1;
        }
    }
    text.len()
}

/// The length of what stands between dollar signs, or of the one sign that begins nothing.
fn dollars(text: &str) -> usize {
    let name = text[1..].find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len() - 1);
    if !text[1 + name..].starts_with('$') || text[1..].starts_with(|c: char| c.is_ascii_digit()) {
        return 1;
    }
    let tag = &text[..name + 2];
    text[tag.len()..].find(tag).map_or(text.len(), |place| place + 2 * tag.len())
}

/// The length of a comment, within which there may be others.
fn comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        match &text.as_bytes()[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] if depth == 1 => return at + 2,
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    text.len()
}

fn reads_stdin(sql: &str) -> bool {
    let words: Vec<String> = words(sql).collect();
    words.first().is_some_and(|first| first == "copy") && words.windows(2).any(|two| two == ["from", "stdin"])
}

/// A COPY from stdin as one from a file.
fn from_file(sql: &str, path: &Path) -> String {
    let lower = sql.to_ascii_lowercase();
    let place = lower.find("stdin").unwrap_or(sql.len());
    let after = sql.get(place + "stdin".len()..).unwrap_or_default();
    let format = if after.trim().is_empty() { TEXT_FORMAT } else { "" };
    format!("{}'{}'{after}{format}", &sql[..place], path.display())
}

/// A COPY from a file as one that the server reads from us, the file, and what stands behind it.
pub fn from_client(sql: &str) -> Option<(String, String, String)> {
    let lower = sql.to_ascii_lowercase();
    if !lower.starts_with("copy ") {
        return None;
    }
    let start = lower.find("from '")? + "from ".len();
    let length = quoted(&sql[start..], '\'', false);
    let path = sql[start + 1..start + length - 1].replace("''", "'");
    let rest = sql[start + length..].replace(TEXT_FORMAT, "");
    Some((format!("{}STDIN{rest}", &sql[..start]), path, rest))
}
