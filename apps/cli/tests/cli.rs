//! The command `gingham` as its users run it: arguments, pipes, formats, exit statuses, loads.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A folder with a database in it.
struct Place {
    folder: tempfile::TempDir,
}

/// What a run of the command gave.
#[derive(Debug)]
struct Run {
    status: i32,
    out: String,
    err: String,
}

/// What was told on standard error besides that a database is new.
fn without_notice(err: &str) -> String {
    err.split_inclusive('\n').filter(|line| !line.starts_with("made a new database at ")).collect()
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        let (out, err) = (text(output.stdout), without_notice(&text(output.stderr)));
        Self { status: output.status.code().unwrap_or(-1), out, err }
    }
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    /// Writes a file and gives its name.
    fn file(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        fs::write(self.folder.path().join(name), text).expect("a file");
        name.to_owned()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gingham"));
        command.args(arguments).current_dir(self.folder.path()).env("HOME", self.folder.path()).stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Run {
        self.command(arguments).output().expect("the command runs").into()
    }

    /// Runs, and expects success and a silent standard error.
    fn good(&self, arguments: &[&str]) -> String {
        let run = self.run(arguments);
        assert_eq!((run.status, run.err.as_str()), (0, ""), "{arguments:?}: {}", run.out);
        run.out
    }

    /// Runs one statement on the database `db` and gives its CSV without the header.
    fn csv(&self, sql: &str) -> String {
        let text = self.good(&["db", "--format", "csv", "-c", sql]);
        text.split_once('\n').map(|(_, rows)| rows.to_owned()).unwrap_or(text)
    }

    fn pipe(&self, arguments: &[&str], input: &str) -> Run {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the command starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(input.as_bytes()).expect("input");
        drop(stdin);
        child.wait_with_output().expect("the command ends").into()
    }
}

/// A pipe is a session: each statement is run when it was sent, and answered before the next.
#[test]
fn a_pipe_is_a_conversation() {
    let place = Place::new();
    let mut command = place.command(&["db", "--format", "csv"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut answers = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut ask = |text: &str, expected: &[&str]| {
        stdin.write_all(text.as_bytes()).expect("it is read");
        for line in expected {
            assert_eq!(answers.next().expect("an answer").expect("text"), *line, "{text}");
        }
    };
    ask("CREATE TABLE t (a INTEGER);\nINSERT INTO t VALUES (1), (2);\nSELECT sum(a) AS s FROM t;\n", &["s", "3"]);
    // One in several pieces, with a `;` that ends nothing, and two in a line.
    ask("SELECT ';' AS x,\n", &[]);
    ask(" 'a;\nb' AS y;", &[]);
    ask(" SELECT 7 AS z;\n", &["x,y", ";,\"a;", "b\"", "z", "7"]);
    ask("BEGIN; DELETE FROM t;\nROLLBACK;\nSELECT count(*) AS n FROM t;\n", &["n", "2"]);
    // The last one needs no `;`; errors count lines from the first.
    ask("SELECT\n nosuch", &[]);
    drop(stdin);
    assert!(answers.next().is_none());
    let ended = child.wait_with_output().expect("it ends");
    let told = String::from_utf8(ended.stderr).expect("text");
    assert_eq!(ended.status.code(), Some(1));
    assert!(told.contains("line 10: ") && told.contains("nosuch"), "{told}");
}

#[test]
fn statements_come_from_arguments_files_and_pipes_in_order() {
    let place = Place::new();
    place.file("b.sql", "SELECT 2 AS b; -- and\nSELECT 3 AS c");
    let out = place.good(&[
        "--format",
        "csv",
        "-c",
        "-- a comment first\nSELECT 1 AS a",
        "-f",
        "b.sql",
        "-c",
        "SELECT 4 AS d",
    ]);
    assert_eq!(out, "a\n1\nb\n2\nc\n3\nd\n4\n");
    let run = place.pipe(&["--format", "csv"], "select 1 as x");
    assert_eq!((run.status, run.out.as_str(), run.err.as_str()), (0, "x\n1\n", ""));
}

#[test]
fn statements_without_rows_print_nothing() {
    let place = Place::new();
    for format in ["table", "csv", "json", "markdown"] {
        let sql = "CREATE OR REPLACE TABLE t (a INT); INSERT INTO t VALUES (1), (2)";
        assert_eq!(place.good(&["db", "--format", format, "-c", sql]), "");
    }
    assert_eq!(place.csv("SELECT sum(a) FROM t"), "3\n");
}

#[test]
fn formats_are_exact() {
    let place = Place::new();
    let sql = "SELECT 1 AS n, CAST(1.5 AS DECIMAL(15,2)) AS price, 'a,\"b\"' AS text, '' AS empty, \
               CAST(NULL AS VARCHAR) AS nothing, DATE '2024-02-29' AS day, TIMESTAMP '2024-02-29 13:45:00' AS at, \
               TRUE AS yes";
    assert_eq!(
        place.good(&["--format", "csv", "-c", sql]),
        "n,price,text,empty,nothing,day,at,yes\n1,1.50,\"a,\"\"b\"\"\",\"\",,2024-02-29,2024-02-29T13:45:00,true\n"
    );
    assert_eq!(
        place.good(&["--format", "json", "-c", sql]),
        "[{\"n\":1,\"price\":1.50,\"text\":\"a,\\\"b\\\"\",\"empty\":\"\",\"nothing\":null,\"day\":\"2024-02-29\",\
         \"at\":\"2024-02-29T13:45:00\",\"yes\":true}]\n"
    );
    let table = place.good(&["-c", sql]);
    assert!(
        table.contains("│ 1 │  1.50 │ a,\"b\" │       │ NULL    │ 2024-02-29 │ 2024-02-29 13:45:00 │ true │"),
        "{table}"
    );
    assert!(!table.contains('\u{1b}'), "no colours in a pipe");
    assert!(place.good(&["--format", "markdown", "-c", sql]).starts_with("| n | price |"));
}

#[test]
fn the_first_failing_statement_ends_the_run_and_is_named() {
    let place = Place::new();
    place.file("bad.sql", "SELECT 1 AS a;\n\nSELECT *\nFROM nowhere;\nSELECT 2 AS b;\n");
    let run = place.run(&["db", "--format", "csv", "-f", "bad.sql", "-c", "SELECT 3"]);
    assert_eq!((run.status, run.out.as_str()), (1, "a\n1\n"));
    assert!(run.err.starts_with("error: bad.sql:3: ") && run.err.contains("nowhere"), "{}", run.err);
    let run = place.run(&["-c", "SELECT 1; SELEC 2"]);
    assert!(run.status == 1 && run.err.starts_with("error: statement 2: "), "{run:?}");
    let run = place.pipe(&[], "SELECT 1;\nSELECT 1/0;");
    assert!(run.status == 1 && run.err.starts_with("error: line 2: "), "{run:?}");
}

#[test]
fn a_database_is_closed_when_a_statement_fails() {
    let place = Place::new();
    let failing = [
        "SELECT 1 / (a - 1) FROM t",
        "INSERT INTO t VALUES ('x')",
        "SELECT b FROM t",
        "INSERT INTO t VALUES (2); SELEC",
    ];
    for sql in failing {
        let run = place.run(&["db", "-c", &format!("DROP TABLE IF EXISTS t; CREATE TABLE t AS SELECT 1 AS a; {sql}")]);
        assert_eq!(run.status, 1, "{sql}: {}", run.err);
        let lock = fs::read_to_string(place.folder.path().join("db/writer.lock")).expect("the lock's file");
        assert_eq!(lock, "closed", "{sql}");
        assert!(!place.good(&["db", "check"]).contains("did not close"), "{sql}");
    }
}

#[test]
fn usage_errors_have_their_own_status() {
    let place = Place::new();
    for arguments in [
        &["--nonsense"][..],
        &["-f", "missing.sql"],
        &["load", "x.csv", "--into", "t"],
        &["db", "load", "x.csv"],
        &["db", "load", "missing.csv", "--into", "t"],
        &["db", "demo"],
        &["db", "check", "-c", "SELECT 1"],
        &["--format", "xml", "-c", "SELECT 1"],
    ] {
        let run = place.run(arguments);
        assert_eq!((run.status, run.out.as_str()), (2, ""), "{arguments:?}");
        assert!(run.err.contains("error:"), "{arguments:?}: {}", run.err);
    }
    assert!(!place.folder.path().join("db").exists(), "a wrong call makes no database");
    let run = place.run(&["db", "check"]);
    assert_eq!(run.status, 1, "a missing database can't be checked: {run:?}");
    assert!(!place.folder.path().join("db").exists());
}

#[test]
fn timing_goes_to_standard_error() {
    let place = Place::new();
    let run = place.run(&["--timing", "--format", "csv", "-c", "SELECT 1 AS a; SELECT 2 AS b"]);
    assert_eq!(run.out, "a\n1\nb\n2\n");
    let times: Vec<&str> = run.err.lines().collect();
    assert_eq!(times.len(), 2);
    for line in times {
        let (number, phases) = line["Time: ".len()..].split_once(" ms (planning ").expect("psql's line");
        assert!(number.split('.').nth(1).map(str::len) == Some(3) && phases.contains(" ms, running "), "{line}");
        number.parse::<f64>().expect("a number");
    }
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let place = Place::new();
    let mut command = place.command(&["--format", "csv", "-c", "SELECT * FROM generate_series(1, 2000000)"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
    let mut stdout = child.stdout.take().expect("a pipe");
    std::io::Read::read_exact(&mut stdout, &mut [0; 16]).expect("some output");
    drop(stdout);
    let run = Run::from(child.wait_with_output().expect("the command ends"));
    assert_eq!((run.status, run.err.as_str()), (0, ""));
}

#[test]
fn read_only_never_writes() {
    let place = Place::new();
    let run = place.run(&["db", "--read-only", "-c", "SELECT 1"]);
    assert_eq!(run.status, 1, "a missing database is not made: {run:?}");
    place.good(&["db", "-c", "CREATE TABLE t (a INT)"]);
    let run = place.run(&["db", "--read-only", "-c", "INSERT INTO t VALUES (1)"]);
    assert_eq!((run.status, run.out.as_str()), (1, ""));
    assert!(run.err.contains("read"), "{}", run.err);
    assert_eq!(place.csv("SELECT count(*) FROM t"), "0\n");
}

#[test]
fn what_reads_works_beside_a_writer() {
    let place = Place::new();
    place.good(&["db", "-c", "CREATE TABLE t AS SELECT 7 AS a"]);
    let writer = gingham::Database::open(place.folder.path().join("db")).expect("this process writes");
    assert_eq!(place.good(&["db", "--read-only", "--format", "csv", "-c", "SELECT a FROM t"]), "a\n7\n");
    assert!(place.good(&["db", "check"]).contains("no damage found"));
    place.good(&["db", "layout", "t"]);
    place.good(&["db", "backup", "copy"]);
    assert_eq!(place.good(&["copy", "--format", "csv", "-c", "SELECT a FROM t"]), "a\n7\n");
    drop(writer);
    place.good(&["db", "-c", "DROP TABLE t"]);
}

#[test]
fn what_is_written_as_text_loads_back() {
    let place = Place::new();
    place.good(&[
        "db",
        "-c",
        "CREATE TABLE t (i BINARY, s VARCHAR); INSERT INTO t VALUES (X'00ff', ''), (X'', NULL), (NULL, 'x')",
    ]);
    let text = place.good(&["db", "--format", "csv", "-c", "SELECT * FROM t"]);
    assert_eq!(text, "i,s\n\\x00ff,\"\"\n\\x,\n,x\n");
    place.file("t.csv", text);
    place.good(&["db", "-c", "CREATE TABLE u (i BINARY, s VARCHAR)"]);
    place.good(&["db", "load", "t.csv", "--into", "u"]);
    assert_eq!(place.csv("SELECT count(*) FROM (SELECT * FROM t EXCEPT SELECT * FROM u)"), "0\n");
    assert_eq!(place.csv("SELECT encode(i, 'hex') FROM u WHERE s = ''"), "00ff\n");
}

#[test]
fn null_without_a_type_is_null() {
    let place = Place::new();
    let sql = "SELECT NULL AS a, 1 AS b";
    assert_eq!(place.good(&["--format", "json", "-c", sql]), "[{\"a\":null,\"b\":1}]\n");
    assert_eq!(place.good(&["--format", "csv", "-c", sql]), "a,b\n,1\n");
    assert!(place.good(&["-c", sql]).contains("NULL"));
}

#[test]
fn csv_is_sniffed() {
    let place = Place::new();
    place.file(
        "people.csv",
        "\u{feff}name, born, score, note\r\nAnna, 1990-01-31, 1.5, \"likes \"\"tea\"\",\nand milk\"\r\nBob, , 2, \"\"\r\n, 2000-02-29, , x\r\n",
    );
    let out = place.good(&["db", "load", "people.csv", "--into", "people"]);
    assert!(out.starts_with("people: 3 records from 1 file"), "{out}");
    assert_eq!(
        place.csv("SELECT * FROM people"),
        "Anna,1990-01-31,1.5,\"likes \"\"tea\"\",\nand milk\"\nBob,,2.0,\"\"\n,2000-02-29,,x\n"
    );
    place.file("more.csv", "born;score;note;name\n2001-01-01;3.25;new;Cleo\n");
    place.good(&["db", "load", "more.csv", "--into", "people"]);
    assert_eq!(place.csv("SELECT name, score FROM people WHERE note = 'new'"), "Cleo,3.25\n");
}

#[test]
fn options_say_what_the_text_does_not() {
    let place = Place::new();
    place.file("odd.txt", b"1#caf\xe9#31.12.1999\n2#NA#01.01.2000\n");
    place.good(&[
        "db",
        "load",
        "odd.txt",
        "--into",
        "odd",
        "--delimiter",
        "#",
        "--null",
        "NA",
        "--date-format",
        "%d.%m.%Y",
        "--encoding",
        "latin1",
        "--no-header",
    ]);
    assert_eq!(place.csv("SELECT * FROM odd"), "1,café,1999-12-31\n2,,2000-01-01\n");
    place.file("ids.csv", "id,amount\n007,12.5\n");
    place.good(&["db", "load", "ids.csv", "--into", "ids"]);
    assert_eq!(place.csv("SELECT * FROM ids"), "007,12.5\n");
    place.good(&["db", "load", "ids.csv", "--into", "typed", "--schema", "id INT PRIMARY KEY, amount DECIMAL(9,2)"]);
    assert_eq!(place.csv("SELECT * FROM typed"), "7,12.50\n");
    let run = place.run(&["db", "load", "ids.csv", "--into", "typed"]);
    assert!(run.status == 1 && run.err.contains('7'), "the key is taken: {run:?}");
    let run = place.run(&["db", "load", "ids.csv", "--into", "x", "--layout", "colunm"]);
    assert!(run.status == 1 && run.err.contains("column"), "{run:?}");
}

#[test]
fn a_pipe_is_loaded() {
    let place = Place::new();
    let arguments = ["db", "load", "/dev/stdin", "--into", "t", "--format-of-files", "csv"];
    let run = place.pipe(&arguments, "a,b\n1,2\n");
    assert_eq!((run.status, place.csv("SELECT a + b AS c FROM t").as_str()), (0, "3\n"), "{run:?}");
    let run = place.pipe(&arguments, "a,b\n1,x\n");
    assert!(run.status == 1 && run.err.starts_with("error: stdin:2, column 'b': "), "{run:?}");
}

#[test]
fn numbers_that_do_not_fit_are_refused() {
    let place = Place::new();
    place.file("f.csv", "f\n1\n1e400\ninf\n");
    let run = place.run(&["db", "load", "f.csv", "--into", "f", "--schema", "f DOUBLE"]);
    assert_eq!(run.err, "error: f.csv:3, column 'f': value '1e400' is not a valid DOUBLE\n");
    place.good(&["db", "load", "f.csv", "--into", "f"]);
    assert_eq!(place.csv("SELECT arrow_typeof(f), f FROM f WHERE f LIKE '1e%'"), "Utf8View,1e400\n");
    let run = place.run(&["db", "load", "f.csv", "--into", "g", "--date-format", "%d.%m"]);
    assert!(run.status == 1 && run.err.contains("'%d.%m' does not say a whole date"), "{run:?}");
}

#[test]
fn bad_lines_are_named_and_may_be_skipped() {
    let place = Place::new();
    place.good(&["db", "-c", "CREATE TABLE t (a INT NOT NULL, b DATE, c VARCHAR(3))"]);
    let text = "a,b,c\n1,2024-01-01,x\n2,2024-13-01,x\n3,2024-01-01\n4,2024-01-01,\"long\ner\"\n,2024-01-01,x\n6,2024-01-02,y\n";
    place.file("bad.csv", text);
    let run = place.run(&["db", "load", "bad.csv", "--into", "t"]);
    assert_eq!(run.status, 1);
    assert_eq!(run.err, "error: bad.csv:3, column 'b': value '2024-13-01' is not a valid DATE\n");
    assert_eq!(place.csv("SELECT count(*) FROM t"), "0\n", "nothing of a failed load is left");
    let run = place.run(&["db", "load", "bad.csv", "--into", "t", "--skip-bad", "3"]);
    assert!(run.status == 1 && run.err.contains("more than 3 bad lines"), "{run:?}");
    let run = place.run(&["db", "load", "bad.csv", "--into", "t", "--skip-bad", "4"]);
    assert_eq!(run.status, 0, "{run:?}");
    let skipped: Vec<&str> = run.err.lines().collect();
    assert_eq!(skipped.len(), 4, "{}", run.err);
    for (line, start) in skipped.iter().zip(["bad.csv:3", "bad.csv:4", "bad.csv:5", "bad.csv:7"]) {
        assert!(line.starts_with(&format!("skipped: {start}")), "{line}");
    }
    assert_eq!(place.csv("SELECT a FROM t ORDER BY a"), "1\n6\n");
}

#[test]
fn files_that_can_not_be_loaded_say_why() {
    let place = Place::new();
    place.file("empty.csv", "");
    place.file("header.csv", "a,b\n");
    place.file("fake.parquet", "a,b\n1,2\n");
    place.file("packed.csv", b"\x1f\x8b\x08\x00");
    place.file("unknown.xyz", "a,b\n1,2\n");
    place.file("other.tbl", "1|2|\n");
    place.file("x.csv.gz", b"\x1f\x8b\x08\x00");
    fs::create_dir(place.folder.path().join("folder")).expect("a folder");
    for (file, reason) in [
        ("empty.csv", "is empty"),
        ("header.csv", "give a schema"),
        ("fake.parquet", "can't be read as Parquet"),
        ("packed.csv", "can't be unpacked as gzip"),
        ("unknown.xyz", "say it (format)"),
        ("other.tbl", "give a schema"),
        ("x.csv.gz", "can't be unpacked as gzip"),
        ("folder", "folder without files"),
    ] {
        let run = place.run(&["db", "load", file, "--into", "t"]);
        assert!(
            run.status == 1 && run.err.contains(reason) && run.err.contains(file.split('.').next().unwrap_or(file)),
            "{file}: {run:?}"
        );
    }
    place.good(&["db", "load", "header.csv", "--into", "t", "--schema", "a INT, b INT"]);
    place.good(&["db", "load", "unknown.xyz", "--into", "t", "--format-of-files", "csv"]);
    assert_eq!(place.csv("SELECT * FROM t"), "1,2\n");
}

#[test]
fn types_that_show_late_in_a_file_are_found() {
    let place = Place::new();
    let mut text = String::from("n,word\n");
    for row in 0..700_000 {
        text.push_str(&format!("{row},w\n"));
    }
    text.push_str("0.5,w\n");
    assert!(text.len() > 5 << 20, "longer than the sample");
    place.file("long.csv", &text);
    place.good(&["db", "load", "long.csv", "--into", "long"]);
    assert_eq!(place.csv("SELECT count(*), max(n), min(n) FROM long"), "700001,699999.0,0.0\n");
    assert_eq!(place.csv("SELECT n FROM long LIMIT 3"), "0.0\n1.0\n2.0\n", "the order of the file is kept");
}

#[test]
fn tbl_files_have_the_columns_of_tpch() {
    let place = Place::new();
    place.file("region.tbl", "0|AFRICA|lar deposits|\n1|AMERICA|hs \"use\"|\n");
    place.good(&["db", "load", "region.tbl", "--into", "region"]);
    assert_eq!(place.csv("SELECT r_regionkey, r_comment FROM region"), "0,lar deposits\n1,\"hs \"\"use\"\"\"\n");
}

#[test]
fn parquet_and_csv_make_a_round_trip() {
    let place = Place::new();
    fs::create_dir(place.folder.path().join("parts")).unwrap();
    place.good(&[
        "db",
        "-c",
        "CREATE TABLE t (a BIGINT, d DECIMAL(9,2), s VARCHAR, day DATE, at TIMESTAMP); \
         INSERT INTO t VALUES (1, 1.50, 'x, \"y\"', DATE '2024-02-29', TIMESTAMP '2024-02-29 13:45:01'), \
         (NULL, NULL, NULL, NULL, NULL); \
         COPY t TO 'parts/one.parquet'; COPY t TO 'parts/two.parquet'",
    ]);
    place.good(&["db", "load", "parts", "--into", "again"]);
    let row = "1,1.50,\"x, \"\"y\"\"\",2024-02-29,2024-02-29T13:45:01\n,,,,\n";
    assert_eq!(place.csv("SELECT * FROM again"), format!("{row}{row}"));
    let text = place.good(&["db", "--format", "csv", "-c", "SELECT * FROM t"]);
    place.file("t.csv", text);
    place.good(&["db", "load", "t.csv", "--into", "t"]);
    assert_eq!(place.csv("SELECT * FROM t"), format!("{row}{row}"));
}

#[test]
fn layout_check_and_backup() {
    let place = Place::new();
    place.good(&[
        "db",
        "-c",
        "CREATE TABLE t AS SELECT value AS n, 'w' || (value % 3) AS w FROM generate_series(1, 300000)",
    ]);
    let picture = place.good(&["db", "layout", "t"]);
    for part in ["t: 300,000 records, layout column", "BIGINT", "record 7: segment", "distinct"] {
        assert!(picture.contains(part), "{part}: {picture}");
    }
    assert!(place.good(&["db", "layout", "t", "--record", "299999"]).contains("record 299999: segment"));
    let run = place.run(&["db", "layout", "t", "--record", "300000"]);
    assert!(run.err.contains("table 't' has no record 300000: its 300000 records are numbered from 0"), "{run:?}");
    assert!(place.run(&["db", "layout", "tt"]).err.contains("did you mean 't'"));
    assert!(place.good(&["db", "check"]).contains("no damage found"));
    place.good(&["db", "backup", "copy"]);
    assert_eq!(place.good(&["copy", "--format", "csv", "-c", "SELECT count(*) AS n FROM t"]), "n\n300000\n");
    assert_eq!(place.run(&["db", "backup", "copy"]).status, 1, "a backup never overwrites");
    damage(&place.folder.path().join("db/segments"));
    let run = place.run(&["db", "check"]);
    assert!(run.status == 1 && run.out.contains("damaged: "), "{run:?}");
    let run = place.run(&["db", "rescue", "saved"]);
    assert!(run.status == 1 && run.out.contains("partial: table 't' has "), "{run:?}");
    assert!(place.good(&["saved", "check"]).contains("no damage found"));
    assert!(place.run(&["db", "rescue", "saved"]).err.contains("is there already"));
}

#[test]
fn a_rescue_drops_what_needs_lost_tables() {
    let place = Place::new();
    let sql = "CREATE TABLE t AS SELECT value AS n FROM generate_series(1, 5);
        CREATE TABLE gone AS SELECT 7 AS n; CREATE VIEW v AS SELECT n FROM gone; CREATE VIEW w AS SELECT n FROM t";
    place.good(&["db", "-c", sql]);
    assert!(place.good(&["db", "rescue", "whole"]).contains("whole: all tables are whole"));
    let data = place.folder.path().join("db/catalog/data.mdb");
    let mut bytes = fs::read(&data).expect("a catalog");
    let wanted = b"\"table\":\"gone\"";
    let found: Vec<usize> = (0..bytes.len() - wanted.len()).filter(|at| bytes[*at..].starts_with(wanted)).collect();
    found.iter().for_each(|at| bytes[at + wanted.len() + 20] ^= 4);
    fs::write(&data, bytes).expect("a damaged catalog");
    let run = place.run(&["db", "rescue", "saved"]);
    assert!(run.status == 1 && run.out.contains("whole: table 't', 5 records"), "{run:?}");
    assert!(run.out.contains("lost: table '") && run.out.contains("changed: view 'v' was dropped"), "{run:?}");
    assert_eq!(place.good(&["saved", "--format", "csv", "-c", "SELECT sum(n) AS n FROM w"]), "n\n15\n");
    assert!(place.good(&["saved", "check"]).contains("no damage found"));
}

#[test]
fn every_layout_is_loaded_drawn_and_written_as_sql() {
    let place = Place::new();
    let lines: String = (0..3000).map(|id| format!("{id},{},{}\n", id % 100, id % 7)).collect();
    place.file("n.csv", format!("a,b,c\n{lines}"));
    for (layout, drawn) in [
        ("column", "bytes 14-15"),
        ("row", "record at 28: bytes 28-29"),
        ("mempax(5)", "chunk 1 at 20: bytes 24-25"),
        ("bit_packed", "bits 84-95 in bytes 10-11"),
        ("vbp", "words 0, 1, 2, 3 of 512 bits, bit 7 of each"),
        ("vbp(256)", "words 0, 1, 2, 3 of 256 bits, bit 7 of each"),
        ("hbp", "the delimiter"),
        ("byteslice", "slice 0, byte 7"),
        ("byteslice16", "slice 0, bytes 14-15"),
        ("groups((b,c) row, (a) byteslice, (*) mempax(9))", "row of 2 columns"),
        ("super_tuple", "super_tuple of 3 columns, delta"),
        ("dense_column", "page 0, record 7 there; in memory bytes 14-15"),
    ] {
        let table = format!("t{}", layout.len());
        place.good(&["db", "load", "n.csv", "--into", &table, "--layout", layout]);
        place.good(&["db", "-c", &format!("OPTIMIZE {table}")]);
        let picture = place.good(&["db", "layout", &table]);
        assert!(picture.contains(&format!("layout {layout}")) && picture.contains(drawn), "{layout}: {picture}");
        let count = format!("SELECT count(*) AS n FROM {table} WHERE b < 10 AND c = 3");
        assert_eq!(place.csv(&count), "43\n", "{layout}");
        place.good(&["db", "-c", &format!("DROP TABLE {table}")]);
    }
    let run = place.run(&["db", "load", "n.csv", "--into", "t", "--layout", "byteslcie"]);
    assert!(run.err.contains("did you mean 'byteslice'?"), "{run:?}");
    let sql =
        "CREATE TABLE s (a INTEGER, b VARCHAR) WITH (layout = 'groups((a) vbp(256), (*) row)', encoding = 'b plain')";
    place.good(&["db", "-c", sql]);
}

/// Flips a byte in the middle of the first file in a folder or below.
fn damage(folder: &Path) {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let mut bytes = fs::read(&path).expect("a file");
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            return fs::write(&path, bytes).expect("the file");
        }
    }
    panic!("there is no file to damage");
}

/// The folder of public data sets beside the repository, where there is one.
fn public_data() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    folder.is_dir().then_some(folder)
}

#[test]
fn public_data_sets_load_whole() {
    let Some(folder) = public_data() else { return };
    let place = Place::new();
    let load = |file: &str, table: &str| {
        let path = folder.join(file);
        place.good(&["db", "load", &path.display().to_string(), "--into", table])
    };
    assert!(load("adult.csv", "adult").contains("32561 records"));
    assert_eq!(
        place.csv("SELECT workclass, count(*) FROM adult WHERE \"capital-gain\" > 50000 GROUP BY workclass ORDER BY 2 DESC LIMIT 1"),
        "Private,82\n"
    );
    for (file, rows) in
        [("AllstarFull", 5375), ("HallOfFame", 4191), ("People", 20262), ("Salaries", 26428), ("Teams", 2955)]
    {
        assert!(load(&format!("baseball/{file}.csv"), file).contains(&format!("{rows} records")), "{file}");
    }
    assert_eq!(place.csv("SELECT sum(salary) FROM salaries"), format!("{}\n", sum_of_salaries(&folder)));
}

/// The sum that the command must give, computed in the plainest way.
fn sum_of_salaries(folder: &Path) -> i64 {
    let text = fs::read_to_string(folder.join("baseball/Salaries.csv")).expect("the file");
    text.lines().skip(1).map(|line| line.rsplit(',').next().expect("a field").parse::<i64>().expect("a number")).sum()
}
