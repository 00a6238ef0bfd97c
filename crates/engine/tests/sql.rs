//! The SQL corpus: every `tests/sql/**/*.slt` is a test of its own, run on a database of its own. It is run as it is, and
//! again under settings of `factors`: another layout for tables that name none, another instruction set, other threads.
//! Each file meets each layout, and all files together each setting; under `GINGHAM_NIGHTLY` each file meets each. Those
//! that tables in heap pages can answer meet one of their layouts, or all of them. Under
//! a setting most statements that write are followed by OPTIMIZE, so that records lie in that layout, not in the delta.
//!
//! ```text
//! cargo test --test sql                     all files
//! cargo test --test sql joins               files whose name has "joins"
//! cargo test --test sql 'plain/'            all files as they are
//! cargo test --test sql 'vbp scalar'        files under one setting
//! GINGHAM_BLESS=1 cargo test --test sql joins      writes what came out into the file: read the difference
//! ```
//!
//! How values are written in the files (one row a line, values parted by a blank):
//!
//! | value | written |
//! |---|---|
//! | NULL | `NULL` |
//! | empty string | `(empty)` |
//! | string | as it is; a line's end as `\n`, a blank at its start or end as `·` |
//! | integers, decimals | digits; a decimal with all digits of its scale |
//! | floats | shortest text that reads back the same: `0.1`, `1.0`, `1e16`, `NaN`, `Infinity` |
//! | booleans | `true`, `false` |
//! | dates and times | ISO 8601: `2024-02-29`, `12:30:00`, `2024-02-29T12:30:00` |
//! | BINARY | `0x` and hexadecimal digits |
//!
//! A query's column types are checked: `B` boolean, `I` integer, `R` float or decimal, `T` string, `D` date,
//! `P` timestamp, `?` anything else. `statement error` takes a regular expression. In a file with
//! `control substitution on`, `${DATA}` is the folder `tests/sql/data` and `${__TEST_DIR__}` a folder that is removed
//! at the end. `onlyif plain` marks what tells of the layout, so that it differs from setting to setting.

#[path = "../../../tests/support/factors.rs"]
mod factors;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use factors::Setting;
use gingham::{Connection, Database};
use sqllogictest::harness::{Arguments, Failed, Trial};
use sqllogictest::{ColumnType, DB, DBOutput, Record, Runner};
use std::path::{Path, PathBuf};

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sql");
    let mut files = Vec::new();
    collect(&folder, &mut files);
    files.sort();
    assert!(!files.is_empty(), "no .slt file under {}", folder.display());
    let settings = if blessing() { Vec::new() } else { factors::settings(factors::LAYOUTS) };
    let mut trials = Vec::new();
    for (number, file) in files.iter().enumerate() {
        let in_pages = if asks_for_columns(file) { Vec::new() } else { pages(&settings, number) };
        let others = shared(&settings, number).into_iter().chain(in_pages);
        for setting in std::iter::once(None).chain(others.map(Some)) {
            let under = setting.map_or("plain".to_owned(), |setting| setting.to_string());
            let name = format!("{under}/{}", file.strip_prefix(&folder).unwrap_or(file).display());
            let (file, data) = (file.clone(), folder.join("data"));
            trials.push(Trial::test(name, move || run(&file, &data, setting)));
        }
    }
    sqllogictest::harness::run(&Arguments::from_args(), trials).exit();
}

/// What is written into the files are the answers of the plain run.
fn blessing() -> bool {
    std::env::var_os("GINGHAM_BLESS").is_some()
}

/// The settings for file `number`: in CI one for each layout, so that the files share all of them.
fn shared(settings: &[Setting], number: usize) -> Vec<Setting> {
    if std::env::var_os("GINGHAM_NIGHTLY").is_some() {
        return settings.to_vec();
    }
    let of_layout = |layout: &&str| {
        let same: Vec<&Setting> = settings.iter().filter(|setting| setting.layout == *layout).collect();
        same.get(number % same.len().max(1)).map(|setting| **setting)
    };
    factors::LAYOUTS.iter().filter_map(of_layout).collect()
}

/// Files whose statements need what heap pages do not have: columns that come and go, sorting, encodings.
const OF_COLUMNS: &[&str] = &[
    "statements/alter.slt",
    "statements/layouts.slt",
    "statements/show.slt",
    "statements/unsupported.slt",
    "storage/optimize.slt",
    "storage/system_tables.slt",
];

fn asks_for_columns(file: &Path) -> bool {
    OF_COLUMNS.iter().any(|name| file.ends_with(name))
}

/// The settings for file `number` under which tables lie in heap pages.
fn pages(settings: &[Setting], number: usize) -> Vec<Setting> {
    let Some(other) = settings.get(number * 5 % settings.len().max(1)) else { return Vec::new() };
    let all = factors::PAGES.iter().map(|layout| Setting { layout, ..*other });
    match std::env::var_os("GINGHAM_NIGHTLY") {
        Some(_) => all.collect(),
        None => all.skip(number % factors::PAGES.len()).take(1).collect(),
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("an entry of the corpus can be read").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "slt") {
            files.push(path);
        }
    }
}

/// Runs all records of a file, and fails with every one that did not give what it should.
fn run(file: &Path, data: &Path, setting: Option<Setting>) -> Result<(), Failed> {
    let database = Database::in_memory()?;
    let mut runner = Runner::new(|| std::future::ready(Ok(Session::new(database.connect(), setting))));
    if setting.is_none() {
        runner.add_label("plain");
    }
    runner.with_column_validator(sqllogictest::strict_column_validator);
    runner.set_var("DATA".to_owned(), data.display().to_string());
    if blessing() {
        let update = runner.update_test_file(
            file,
            " ",
            sqllogictest::default_validator,
            sqllogictest::default_normalizer,
            sqllogictest::strict_column_validator,
        );
        return futures::executor::block_on(update).map_err(|error| Failed::from(error.to_string()));
    }
    let mut failures = Vec::new();
    for record in sqllogictest::parse_file::<Kind>(file)? {
        if matches!(record, Record::Halt { .. }) {
            break;
        }
        if let Err(error) = runner.run(record) {
            failures.push(error.to_string());
        }
    }
    match failures.len() {
        0 => Ok(()),
        count => Err(format!("{count} records failed\n\n{}", failures.join("\n")).into()),
    }
}

/// A connection as the runner drives it.
struct Session {
    connection: Connection,
    setting: Option<Setting>,
    /// Statements that wrote so far.
    writes: usize,
    /// Between BEGIN and COMMIT, where nothing can be rewritten.
    in_transaction: bool,
}

impl Session {
    fn new(connection: Connection, setting: Option<Setting>) -> Self {
        if let Some(setting) = setting {
            setting.apply(&connection);
        }
        Self { connection, setting, writes: 0, in_transaction: false }
    }

    /// Has all records written into segments, two times of three that `sql` may have added some.
    fn settle(&mut self, sql: &str) -> Result<(), gingham::Error> {
        let first = sql.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
        match first.as_str() {
            "BEGIN" | "START" => self.in_transaction = true,
            "COMMIT" | "END" => self.in_transaction = false,
            "ROLLBACK" => self.in_transaction = sql.contains(" TO "),
            _ => {}
        }
        if self.in_transaction
            || self.setting.is_none()
            || !["INSERT", "COPY", "CREATE", "EXECUTE"].contains(&first.as_str())
        {
            return Ok(());
        }
        self.writes += 1;
        if self.writes.is_multiple_of(3) {
            return Ok(());
        }
        let names = "SELECT table_schema, table_name, temporary FROM gingham_tables WHERE delta_rows > 0";
        for batch in self.connection.query(names)?.collect_batches()? {
            let name = |column: usize, row| batch.column(column).as_string_view().value(row).replace('"', "\"\"");
            for row in 0..batch.num_rows() {
                // A temporary table is found by a bare name only.
                let bare = batch.column(2).as_boolean().value(row);
                let schema = if bare { String::new() } else { format!("\"{}\".", name(0, row)) };
                self.connection.execute(&format!("OPTIMIZE {schema}\"{}\"", name(1, row)))?;
            }
        }
        Ok(())
    }
}

impl DB for Session {
    type Error = gingham::Error;
    type ColumnType = Kind;

    fn run(&mut self, sql: &str) -> Result<DBOutput<Kind>, gingham::Error> {
        let result = self.connection.query(sql)?;
        let schema = result.schema();
        if schema.fields().is_empty() {
            let affected = result.rows_affected();
            result.collect_batches()?;
            self.settle(sql)?;
            return Ok(DBOutput::StatementComplete(affected.unwrap_or_default()));
        }
        let types = schema.fields().iter().map(|field| Kind::of(field.data_type())).collect();
        let mut rows = Vec::new();
        for batch in result.collect_batches()? {
            let columns: Vec<Vec<String>> = batch.columns().iter().map(texts).collect();
            rows.extend((0..batch.num_rows()).map(|row| columns.iter().map(|column| column[row].clone()).collect()));
        }
        Ok(DBOutput::Rows { types, rows })
    }

    fn engine_name(&self) -> &str {
        "gingham"
    }
}

/// Type of a result's column, as the letters after `query` tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Boolean,
    Integer,
    Real,
    Text,
    Date,
    Timestamp,
    Other,
}

impl Kind {
    fn of(data_type: &DataType) -> Self {
        match data_type {
            DataType::Boolean => Self::Boolean,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Self::Text,
            DataType::Date32 | DataType::Date64 => Self::Date,
            DataType::Timestamp(_, _) => Self::Timestamp,
            DataType::Dictionary(_, values) => Self::of(values),
            number if number.is_integer() => Self::Integer,
            number if number.is_numeric() => Self::Real,
            _ => Self::Other,
        }
    }
}

impl ColumnType for Kind {
    fn from_char(letter: char) -> Option<Self> {
        Some(match letter {
            'B' => Self::Boolean,
            'I' => Self::Integer,
            'R' => Self::Real,
            'T' => Self::Text,
            'D' => Self::Date,
            'P' => Self::Timestamp,
            '?' => Self::Other,
            _ => return None,
        })
    }

    fn to_char(&self) -> char {
        match self {
            Self::Boolean => 'B',
            Self::Integer => 'I',
            Self::Real => 'R',
            Self::Text => 'T',
            Self::Date => 'D',
            Self::Timestamp => 'P',
            Self::Other => '?',
        }
    }
}

/// The values of a column as the files write them.
fn texts(column: &ArrayRef) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL");
    let formatter = ArrayFormatter::try_new(column, &options).expect("Arrow can show every type that a query returns");
    let text = |row: usize| match column.data_type() {
        _ if column.is_null(row) => "NULL".to_owned(),
        DataType::Float32 => float(&format!("{:?}", column.as_primitive::<Float32Type>().value(row))),
        DataType::Float64 => float(&format!("{:?}", column.as_primitive::<Float64Type>().value(row))),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            format!("0x{}", formatter.value(row))
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => string(&formatter.value(row).to_string()),
        _ => formatter.value(row).to_string(),
    };
    (0..column.len()).map(text).collect()
}

fn float(text: &str) -> String {
    text.replace("inf", "Infinity")
}

fn string(text: &str) -> String {
    if text.is_empty() {
        return "(empty)".to_owned();
    }
    let inner = text.trim_matches(' ');
    let start = text.len() - text.trim_start_matches(' ').len();
    let end = text.len() - start - inner.len();
    format!("{}{}{}", "·".repeat(start), inner.replace('\n', "\\n"), "·".repeat(end))
}
