//! Panics in the command: its statement's error, on one line of standard error, and nothing else there. Builds for users can't be
//! asked for one.
#![cfg(debug_assertions)]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Exit status, standard output and standard error of a run in which a thread panics as was asked for.
fn run(folder: &Path, panic: &str, arguments: &[&str], input: &str) -> (i32, String, String) {
    run_with(folder, panic, arguments, input, None)
}

fn run_with(
    folder: &Path,
    panic: &str,
    arguments: &[&str],
    input: &str,
    backtrace: Option<&str>,
) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gingham"));
    command.args(arguments).current_dir(folder).env("HOME", folder).env("GINGHAM_LAB_PANIC", panic);
    command.env_remove("RUST_BACKTRACE").envs(backtrace.map(|value| ("RUST_BACKTRACE", value)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command starts");
    // Who ends at once reads nothing.
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    let output = child.wait_with_output().expect("the command ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

/// A database `db` with tables `t`, of so many records that several threads read them, and `log`.
fn place() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let made = "CREATE TABLE t AS SELECT value AS n, value % 100 AS g FROM generate_series(1, 200000);
                CREATE TABLE log (n BIGINT); INSERT INTO log VALUES (0)";
    let told = "made a new database at db\n".to_owned();
    assert_eq!(run(folder.path(), "", &["db", "-c", made], ""), (0, String::new(), told));
    folder
}

#[test]
fn standard_error_has_the_statements_error_alone() {
    let folder = place();
    let groups = "SELECT g, count(*) FROM t GROUP BY g";
    for (panic, sql) in [
        ("launch", groups),
        ("statement", groups),
        ("morsel", groups),
        ("pipeline_end", groups),
        ("deliver", groups),
        ("show", groups),
        ("scan", "SET gingham.execution = 'datafusion'; SELECT max(n) FROM t WHERE g > 7"),
        ("read_ahead", "SET gingham.io = 'direct'; SELECT max(n) FROM t WHERE g > 7"),
        ("blocking", "INSERT INTO log SELECT n FROM t"),
        ("job", "INSERT INTO log VALUES (1)"),
        ("commit", "INSERT INTO log VALUES (1)"),
        ("open_transaction", "BEGIN; INSERT INTO log VALUES (1); COMMIT"),
        ("part", "UPDATE t SET g = g + 1"),
        ("rewrite", "ALTER TABLE t SET (layout = 'row')"),
        ("vacuum", "VACUUM"),
    ] {
        let (status, _, err) = run(folder.path(), panic, &["db", "-c", sql], "");
        assert_eq!(status, 1, "{panic}: {err}");
        let told = format!("internal error: a fault made by a test at '{panic}' (");
        assert!(err.starts_with("error: ") && err.contains(&told) && err.lines().count() == 1, "{panic}: {err}");
        // What was open is closed, and another run finds all as it was.
        let lock = std::fs::read_to_string(folder.path().join("db/writer.lock")).expect("the lock's file");
        assert_eq!(lock, "closed", "{panic}");
        let after = "SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM log)";
        let (status, out, err) = run(folder.path(), "", &["db", "--format", "json", "-c", after], "");
        assert_eq!((status, err.as_str()), (0, ""), "{panic}");
        assert!(out.contains("200000") && out.contains(":1}"), "{panic}: {out}");
    }
    let (status, out, err) = run(folder.path(), "", &["db", "check"], "");
    assert!(status == 0 && err.is_empty() && out.contains("no damage found"), "{out}{err}");
}

#[test]
fn what_is_committed_is_told_so() {
    let folder = place();
    let (status, out, err) = run(folder.path(), "committed", &["db", "-c", "INSERT INTO log VALUES (1)"], "");
    assert_eq!((status, out.as_str(), err.as_str()), (0, "", ""));
    let (_, out, _) = run(folder.path(), "", &["db", "--format", "csv", "-c", "SELECT count(*) AS n FROM log"], "");
    assert_eq!(out, "n\n2\n");
}

/// Who wants to see where a panic comes from is shown it, and the command goes on all the same.
#[test]
fn a_backtrace_is_shown_to_who_asks() {
    let folder = place();
    let sql = "SELECT g, count(*) FROM t GROUP BY g";
    let (status, _, err) = run_with(folder.path(), "morsel", &["db", "-c", sql], "", Some("1"));
    assert_eq!(status, 1);
    assert!(err.contains("panicked at") && err.contains("stack backtrace:"), "{err}");
    assert!(err.trim_end().lines().last().is_some_and(|last| last.starts_with("error: internal error: ")), "{err}");
}

#[test]
fn a_load_that_panics_is_an_error() {
    let folder = place();
    std::fs::write(folder.path().join("numbers.csv"), "n\n1\n2\n3\n").expect("a file");
    let arguments = ["db", "load", "numbers.csv", "--into", "log"];
    for panic in ["load", "job", "commit"] {
        let (status, out, err) = run(folder.path(), panic, &arguments, "");
        assert!(
            status == 1 && out.is_empty() && err.starts_with("error: internal error: a fault"),
            "{status} {out}{err}"
        );
        assert_eq!(err.lines().count(), 1, "{err}");
    }
    let (status, out, err) = run(folder.path(), "", &arguments, "");
    assert!(status == 0 && out.contains("3 records") && err.is_empty(), "{status} {out}{err}");
}
