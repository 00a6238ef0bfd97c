//! Odd files: each is read by FROM, by `read_csv` and by a load to the same values, which tests/files/odd.txt has. DuckDB's reading
//! is beside it (`tests/files/beside_duckdb.py`), and Python reads them too (`python/tests/test_files.py`). `GINGHAM_BLESS=1` writes the
//! answers anew, to be looked at.

use crate::{connect, rows};
use gingham::load::{LoadOptions, OptionValue, ReadOptions};
use gingham::{Connection, QueryResult, StatementHandle};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/files/odd.txt");
const ROWS: &str = "--- rows";

/// A case of the file.
struct OddFile {
    name: String,
    /// Its lines before the text: comments, options, how it is packed, what DuckDB makes of it.
    head: Vec<String>,
    text: Vec<String>,
    expected: Vec<String>,
}

impl OddFile {
    fn field(&self, name: &str) -> Option<&str> {
        self.head.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// Its bytes.
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for line in &self.text {
            let (line, ends) = line.strip_suffix("\\c").map_or((line.as_str(), true), |line| (line, false));
            bytes.extend(unescaped(line));
            if ends {
                bytes.push(b'\n');
            }
        }
        match self.field("packed") {
            Some("gzip") => {
                let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                packed.write_all(&bytes).expect("packed");
                packed.finish().expect("packed")
            }
            Some("zstd") => zstd::encode_all(bytes.as_slice(), 1).expect("packed"),
            Some(other) => panic!("packed by {other}"),
            None => bytes,
        }
    }

    /// Its options as a load takes them.
    fn options(&self) -> ReadOptions {
        let mut options = ReadOptions::default();
        let text = self.field("options").unwrap_or_default();
        for option in parts(text) {
            let (name, value) = option.split_once(" = ").expect("name = value");
            let value: serde_json::Value = serde_json::from_str(&value.replace('\'', "\"")).expect("a value");
            options.set(name, &value_of(&value)).expect("an option");
        }
        options
    }
}

fn value_of(value: &serde_json::Value) -> OptionValue {
    match value {
        serde_json::Value::String(text) => OptionValue::Text(text.clone()),
        serde_json::Value::Array(values) => OptionValue::List(values.iter().map(value_of).collect()),
        serde_json::Value::Object(values) => {
            OptionValue::Map(values.iter().map(|(name, value)| (name.clone(), value_of(value))).collect())
        }
        other => OptionValue::Text(other.to_string()),
    }
}

/// Options cut at the commas between them.
fn parts(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut quoted) = (Vec::new(), 0, 0, false);
    for (at, letter) in text.char_indices() {
        match letter {
            '\'' => quoted = !quoted,
            '[' | '{' if !quoted => depth += 1,
            ']' | '}' if !quoted => depth -= 1,
            ',' if !quoted && depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

fn unescaped(line: &str) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::new(), line.as_bytes());
    while let Some((byte, behind)) = rest.split_first() {
        rest = behind;
        if *byte != b'\\' {
            bytes.push(*byte);
            continue;
        }
        let (kind, behind) = rest.split_first().expect("a letter behind a backslash");
        rest = behind;
        bytes.push(match kind {
            b'r' => b'\r',
            b'n' => b'\n',
            b't' => b'\t',
            b'\\' => b'\\',
            b'x' => {
                let digits = std::str::from_utf8(&rest[..2]).expect("two digits");
                rest = &rest[2..];
                u8::from_str_radix(digits, 16).expect("two hexadecimal digits")
            }
            other => panic!("\\{} in {line}", char::from(*other)),
        });
    }
    bytes
}

fn cases() -> Vec<OddFile> {
    let text = std::fs::read_to_string(FILE).expect("the odd files");
    let mut cases: Vec<OddFile> = Vec::new();
    let mut place = 0;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            cases.push(OddFile { name: name.to_owned(), head: Vec::new(), text: Vec::new(), expected: Vec::new() });
            place = 0;
            continue;
        }
        let Some(case) = cases.last_mut() else { continue };
        match (place, line) {
            (0, "---") | (1, ROWS) => place += 1,
            (0, _) => case.head.push(line.to_owned()),
            (1, _) => case.text.push(line.to_owned()),
            (_, "") => {}
            _ => case.expected.push(line.to_owned()),
        }
    }
    cases
}

/// Columns with their types, then the rows, as lines; or the error.
fn read(connection: &Connection, from: &str, folder: &Path) -> Vec<String> {
    let described = connection.query(&format!("DESCRIBE SELECT * FROM {from}")).and_then(QueryResult::collect_batches);
    if let Err(error) = described {
        return vec![told(&error, folder)];
    }
    let columns = rows(connection, &format!("DESCRIBE SELECT * FROM {from}"));
    let columns = columns.iter().map(|line| line.split('|').take(2).collect::<Vec<_>>().join(" "));
    let names: Vec<String> = columns.collect();
    // Every value as text, so that all of its digits are compared, and NULL differs from an empty text.
    let batches = match connection.query(&format!("SELECT * FROM {from}")).and_then(QueryResult::collect_batches) {
        Ok(batches) => batches,
        Err(error) => return vec![told(&error, folder)],
    };
    let mut lines = vec![names.join("|")];
    for batch in batches {
        let texts: Vec<Vec<Option<String>>> = batch.columns().iter().map(|column| texts(connection, column)).collect();
        for row in 0..batch.num_rows() {
            let cells = texts.iter().map(|column| column[row].as_deref().unwrap_or("NULL"));
            lines.push(
                cells
                    .collect::<Vec<_>>()
                    .join("|")
                    .escape_default()
                    .to_string()
                    .replace("\\\"", "\"")
                    .replace("\\'", "'"),
            );
        }
    }
    lines.iter().map(|line| unicode(line)).collect()
}

/// The values of a column as the engine writes them.
fn texts(connection: &Connection, column: &arrow::array::ArrayRef) -> Vec<Option<String>> {
    use arrow::array::AsArray;
    let batch = arrow::array::RecordBatch::try_from_iter_with_nullable([("c", column.clone(), true)]).expect("a batch");
    connection.register("odd_column", vec![batch]).expect("registered");
    let batches =
        connection.query("SELECT CAST(c AS VARCHAR) AS c FROM odd_column").and_then(QueryResult::collect_batches);
    let all = batches.expect("texts");
    let of = |batch: &arrow::array::RecordBatch| {
        let texts = batch.column(0).as_string_view().iter().map(|text| text.map(str::to_owned));
        texts.collect::<Vec<_>>()
    };
    all.iter().flat_map(of).collect()
}

/// Letters that `escape_default` writes as `\u{…}`, as they are.
fn unicode(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, behind)) = rest.split_once("\\u{") {
        let (digits, after) = behind.split_once('}').expect("an escape");
        let letter = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32).expect("a letter");
        text.push_str(before);
        if letter.is_control() {
            write!(text, "\\u{{{digits}}}").expect("a text")
        } else {
            text.push(letter)
        }
        rest = after;
    }
    text + rest
}

fn told(error: &gingham::Error, folder: &Path) -> String {
    format!("error {}: {error}", error.sqlstate()).replace(&format!("{}/", folder.display()), "").replace('\n', "\\n")
}

/// What a load makes of a file in a new table.
fn loaded(connection: &Connection, path: &Path, case: &OddFile, folder: &Path) -> Vec<String> {
    connection.execute("DROP TABLE IF EXISTS loaded").expect("no table");
    let options = LoadOptions { table: "loaded".into(), read: case.options(), ..LoadOptions::default() };
    match connection.load(&[path.to_owned()], &options, &StatementHandle::new()) {
        Ok(_) => read(connection, "loaded", folder),
        Err(error) => vec![told(&error, folder)],
    }
}

#[test]
fn odd_files_are_read_alike_everywhere() {
    let (connection, folder) = (connect(), tempfile::tempdir().expect("a folder"));
    let bless = std::env::var_os("GINGHAM_BLESS").is_some();
    let (mut written, mut wrong) = (String::new(), String::new());
    let all = cases();
    assert!(all.len() >= 60, "{} cases", all.len());
    for case in &all {
        let path: PathBuf = folder.path().join(&case.name);
        std::fs::write(&path, case.bytes()).expect("a file");
        let options = case.field("options").map(|options| format!(", {options}")).unwrap_or_default();
        let function = if case.name.ends_with(".json") { "read_json" } else { "read_csv" };
        let called = read(&connection, &format!("{function}('{}'{options})", path.display()), folder.path());
        if options.is_empty() {
            let named = read(&connection, &format!("'{}'", path.display()), folder.path());
            assert_eq!(named, called, "{}: FROM 'file' and read_csv", case.name);
        }
        if case.field("load").is_none() {
            let loaded = loaded(&connection, &path, case, folder.path());
            if loaded != called {
                writeln!(wrong, "{}: a load gives {loaded:#?}, FROM {called:#?}", case.name).expect("a text");
            }
        }
        if called != case.expected && !bless {
            writeln!(wrong, "{}: {called:#?} instead of {:#?}", case.name, case.expected).expect("a text");
        }
        writeln!(written, "## {}", case.name).expect("a text");
        for line in case.head.iter().map(String::as_str).chain(["---"]).chain(case.text.iter().map(String::as_str)) {
            writeln!(written, "{line}").expect("a text");
        }
        writeln!(written, "{ROWS}\n{}\n", called.join("\n")).expect("a text");
    }
    if bless {
        std::fs::write(FILE, written.trim_end().to_owned() + "\n").expect("the odd files");
    }
    assert!(wrong.is_empty(), "{wrong}");
}
