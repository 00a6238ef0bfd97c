//! Results in formats that are read again: what was written is what comes back.

use std::path::Path;
use std::process::{Command, Output, Stdio};

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gingham"));
    command.args(arguments).current_dir(folder).env("HOME", folder).stdin(Stdio::null());
    command.output().expect("the command runs")
}

fn good(folder: &Path, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    let (out, told) = (text(output.stdout), text(output.stderr));
    let told: Vec<&str> = told.lines().filter(|line| !line.starts_with("made a new database at ")).collect();
    assert_eq!((output.status.code(), told), (Some(0), Vec::new()), "{arguments:?}: {out}");
    out
}

const COLUMNS: &str = "i BIGINT, s SMALLINT, d DECIMAL(38,10), x DOUBLE, r REAL, b BOOLEAN, v VARCHAR, y BYTEA, \
     day DATE, at TIMESTAMP, seconds TIMESTAMP(0), zoned TIMESTAMP WITH TIME ZONE, clock TIME";

/// Rows of all types with their ends, NULLs, and texts that are hard to quote.
const ROWS: &str = r#"INSERT INTO t VALUES
    (-9223372036854775808, -32768, 1234567890123456789012345678.0123456789, 1.7976931348623157e308, '3.4028235e38', true,
     E'it''s " a \\ \t,; | \n\r\n; \n\\.\n.quit', '\x00ff', '0044-03-15 BC', '0044-03-15 10:00:00.123456 BC', '1969-12-31 23:59:59',
     '2024-01-31 10:20:00.5+00', '23:59:59.999999'),
    (9223372036854775807, 32767, -0.0000000001, 5e-324, '1e-45', false, '', '\x', '12024-01-31', '2024-02-29 00:00:00', 'infinity',
     '-infinity', '00:00:00'),
    (0, 0, 0, 'NaN', '-Infinity', NULL, 'NULL', NULL, 'infinity', '-infinity', NULL, NULL, NULL),
    (1, 1, 1, 'Infinity', 'NaN', true, ' blanks ', '\x5c', '2024-01-31', '2024-01-31', '2024-01-31', '2024-01-31 00:00:00+00', '12:00'),
    (2, 2, 2.5, '2.8288697201043678', '16777217', true, '日本 👩‍👩‍👧‍👦', '\x27', '2024-01-31', '9999-12-31', '2024-01-31', '2024-01-31 00:00:00+00', '12:00'),
    (3, 3, 3, '-0.000039839459216139476', '5.519171348714339e-6', true, '-- x', '\x27', '2024-01-31', '9999-12-31', '2024-01-31', '2024-01-31 00:00:00+00', '12:00'),
    (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"#;

const ALL: &str = "SELECT * FROM t ORDER BY i";

fn filled(folder: &Path) {
    good(folder, &["db", "-c", &format!("CREATE TABLE t ({COLUMNS})"), "-c", ROWS]);
}

#[test]
fn insert_makes_the_same_table_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    filled(folder);
    let script = good(folder, &["db", "--format", "insert", "-c", ALL]);
    assert_eq!(script.matches("INSERT INTO t ").count(), 7, "{script}");
    std::fs::write(folder.join("again.sql"), script).expect("a file");
    good(folder, &["again", "-c", &format!("CREATE TABLE t ({COLUMNS})"), "-f", "again.sql"]);
    let of = |database| good(folder, &[database, "--format", "json", "-c", ALL]);
    assert_eq!(of("again"), of("db"));
}

#[test]
fn csv_tabs_and_jsonlines_are_read_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    filled(folder);
    let expected = good(folder, &["db", "--format", "json", "-c", ALL]);
    for (format, file) in [("csv", "t.csv"), ("tabs", "t.tsv"), ("jsonlines", "t.jsonl")] {
        std::fs::write(folder.join(file), good(folder, &["db", "--format", format, "-c", ALL])).expect("a file");
        let (database, load) = (format!("of_{format}"), ["load", file, "--into", "t"]);
        good(folder, &[&database, "-c", &format!("CREATE TABLE t ({COLUMNS})")]);
        good(folder, &[&[database.as_str()][..], &load].concat());
        assert_eq!(good(folder, &[&database, "--format", "json", "-c", ALL]), expected, "{format}");
    }
}

#[test]
fn statements_without_rows_write_nothing_in_any_format() {
    let folder = tempfile::tempdir().expect("a folder");
    for format in ["table", "csv", "tabs", "list", "json", "jsonlines", "line", "markdown", "html", "insert"] {
        assert_eq!(good(folder.path(), &["--format", format, "-c", "CREATE TABLE t (a INT)"]), "", "{format}");
    }
}

#[test]
fn a_plan_is_plain_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = good(folder.path(), &["-c", "EXPLAIN FORMAT tree SELECT count(*) FROM generate_series(1, 9)"]);
    assert!(!plan.contains('┌') && !plan.contains("plan\n"), "{plan}");
}

#[test]
fn a_file_that_is_full_is_told() {
    let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else { return };
    let mut command = Command::new(env!("CARGO_BIN_EXE_gingham"));
    let output = command.args(["-c", "SELECT 1"]).stdin(Stdio::null()).stdout(full).output().expect("the command runs");
    let told = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(1));
    assert!(told.starts_with("error: ") && told.contains("can't write the result: "), "{told}");
}
