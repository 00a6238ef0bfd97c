//! Files that can't grow: a statement that finds no room says so and changes nothing, and the database goes on.
//!
//! The limit on the size of a process's files stands for a full disk. The shell sets it for a child.

use crate::verify::{open, rows};
use crate::{DATABASE, child, hooks};
use gingham::Error;
use std::path::Path;
use std::process::{Command, Stdio};

/// Blocks that a file may have: of 512 or 1024 bytes, as the shell counts.
const LIMIT: u32 = 1500;

/// Fills a table until the system refuses, then goes on when there is room again.
#[test]
fn filling_child() {
    let Some(argument) = child::argument("refused::filling_child") else { return };
    let (path, layout) = argument.split_once('\n').expect("a path and a layout");
    let connection = open(Path::new(path), true).expect("a database").connect();
    let run = |sql: &str| connection.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    run(&format!(
        "CREATE TABLE t (id BIGINT PRIMARY KEY, a DOUBLE, b DOUBLE, c DOUBLE, d DOUBLE) WITH (layout = '{layout}')"
    ));
    run("CREATE TABLE small (n BIGINT) WITH (layout = 'nsm')");
    run("INSERT INTO small VALUES (7)");
    let step = if layout == "column" { 60_000 } else { 4000 };
    let insert = |first: u64| {
        let last = first + step - 1;
        let numbers = "value, random(), random(), random(), random()";
        connection.execute(&format!("INSERT INTO t SELECT {numbers} FROM generate_series({first}, {last})"))
    };
    let mut found = 0;
    let error = loop {
        match insert(found) {
            Ok(rows) => found += rows,
            Err(error) => break error,
        }
    };
    assert!(matches!(&error, Error::DiskFull(text) if text.contains(path) && text.contains("make room")), "{error}");
    let count = || rows(&connection, "SELECT count(*), count(DISTINCT id) FROM t").expect("a query");
    assert!(insert(found).is_err(), "there is no more room than before");
    assert_eq!(count(), [format!("{found}|{found}")]);
    hooks::allow_large_files();
    assert_eq!(insert(found).expect("there is room"), step);
    run("DELETE FROM small");
    run("INSERT INTO small VALUES (1), (2)");
    assert_eq!(count(), [format!("{0}|{0}", found + step)]);
    println!("\nfilled {}", found + step);
}

#[test]
fn a_statement_that_finds_no_room_changes_nothing() {
    for layout in ["nsm", "dsm", "pax", "column"] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(DATABASE);
        let own = child::command("refused::filling_child", &format!("{}\n{layout}", path.display()));
        let mut limited = Command::new("sh");
        // Without a handler the signal ends the process; ignored, it is an error of the write.
        limited.arg("-c").arg(format!("trap '' XFSZ; ulimit -S -f {LIMIT}; exec \"$0\" \"$@\""));
        limited.arg(own.get_program()).args(own.get_args()).stdin(Stdio::null());
        limited.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = limited.output().expect("a shell");
        let text = String::from_utf8_lossy(&output.stdout);
        let Some(count) = text.lines().find_map(|line| line.strip_prefix("filled ")) else {
            panic!("{layout}: {text}\n{}", String::from_utf8_lossy(&output.stderr));
        };
        let database = open(&path, false).expect("it is whole");
        let report = database.check().expect("a check");
        // The child ended without waiting for its threads.
        let left: Vec<&String> = report.notes.iter().filter(|note| !note.contains("did not close")).collect();
        assert!(report.errors.is_empty() && left.is_empty(), "{layout}: {report:?}");
        let sql = "SELECT (SELECT count(*) FROM t) AS large, sum(n) FROM small";
        assert_eq!(rows(&database.connect(), sql), Ok(vec![format!("{count}|3")]), "{layout}");
    }
}
