//! Which database is opened, and how: scratch ones, new ones, and those that another process writes.

mod place;

use place::Place;

#[test]
fn scratch_databases_leave_nothing() {
    let place = Place::new();
    let script = "CREATE TABLE t AS SELECT 7 AS a; SELECT a FROM t";
    assert_eq!(place.good(&[":memory:", "--format", "csv", "-c", script], ""), "a\n7\n");
    assert_eq!(place.good(&["--format", "csv", "-c", script], ""), "a\n7\n");
    assert_eq!(std::fs::read_dir(place.path()).expect("the folder").count(), 0);
}

#[test]
fn new_databases_are_told_of() {
    let place = Place::new();
    let run = place.run(&["db", "-c", "CREATE TABLE t (a INT)"], "");
    assert_eq!((run.status, run.err.as_str()), (0, "made a new database at db\n"));
    let run = place.run(&["db", "-c", "SELECT * FROM t"], "");
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    let run = place.run(&["no/such/folder/db", "-c", "SELECT 1"], "");
    assert!(run.status == 1 && run.err.contains("no folder no/such/folder to make it in"), "{run:?}");
    assert!(!place.path().join("no").exists());
    place.file("file", "");
    let run = place.run(&["file", "-c", "SELECT 1"], "");
    assert!(run.status == 1 && run.err.contains("file is a file"), "{run:?}");
    assert!(!run.err.contains("made a new"), "{run:?}");
}

#[test]
fn scripts_that_read_are_run_beside_a_writer() {
    let place = Place::new();
    place.good(&["db", "-c", "CREATE TABLE t AS SELECT 7 AS a"], "");
    let writer = gingham::Database::open(place.path().join("db")).expect("this process writes");
    place.file("reads.sql", ".mode csv\nEXPLAIN SELECT a FROM t;\nSHOW TABLES;\n");
    let run = place.run(&["db", "--format", "csv", "-c", "SELECT a FROM t; .tables", "-f", "reads.sql"], "");
    assert_eq!(run.status, 1, "'.tables' is no command behind a statement: {run:?}");
    let run = place.run(&["db", "--format", "csv", "-c", "SELECT a FROM t", "-f", "reads.sql"], "");
    assert!(run.status == 0 && run.out.starts_with("a\n7\n"), "{run:?}");
    assert!(run.err.starts_with("notice: database ") && run.err.lines().count() == 1, "{run:?}");
    assert!(run.err.contains("is open for writing in ") && !run.err.contains("--read-only"), "{run:?}");
    // Whoever reads because he was asked to is told nothing.
    assert_eq!(place.good(&["db", "--read-only", "--format", "csv", "-c", "SELECT a FROM t"], ""), "a\n7\n");
    for (arguments, input) in [
        (vec!["db", "-c", "SELECT a FROM t", "-c", "DELETE FROM t"], ""),
        (vec!["db", "-c", "EXPLAIN ANALYZE DELETE FROM t"], ""),
        (vec!["db", "-c", ".import reads.sql t"], ""),
        (vec!["db"], "SELECT a FROM t;"),
        (vec!["db", "-f", "-"], "SELECT a FROM t;"),
        (vec!["db", "load", "reads.sql", "--into", "t"], ""),
    ] {
        let run = place.run(&arguments, input);
        assert_eq!((run.status, run.out.as_str()), (1, ""), "{arguments:?}");
        assert!(run.err.contains("is open for writing in ") && run.err.contains("--read-only"), "{run:?}");
    }
    drop(writer);
    assert_eq!(place.good(&["db", "--format", "csv", "-c", "DELETE FROM t", "-c", "SELECT * FROM t"], ""), "a\n");
}

#[test]
fn who_writes_is_named_where_the_system_tells() {
    let place = Place::new();
    place.good(&["db", "-c", "CREATE TABLE t AS SELECT 7 AS a"], "");
    let _writer = gingham::Database::open(place.path().join("db")).expect("this process writes");
    let run = place.run(&["db", "-c", "DELETE FROM t"], "");
    let holder = format!("in another process ({});", std::process::id());
    assert!(run.err.contains(&holder) || run.err.contains("in another process;"), "{run:?}");
}
