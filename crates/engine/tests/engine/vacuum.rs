//! VACUUM beside what else a database does: readers that began before it, writers, backups, transactions; and the one that comes
//! by itself.

use crate::rows;
use gingham::{Connection, Database, Error};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn run(connection: &Connection, sql: &str) -> u64 {
    connection.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// A database in `folder` with a table of so many records in heap pages.
fn database(folder: &Path, records: usize) -> Database {
    let database = Database::open(folder.join("db")).expect("a new database");
    let connection = database.connect();
    run(&connection, "CREATE TABLE t (id BIGINT PRIMARY KEY, a BIGINT, b VARCHAR) WITH (layout = 'pax')");
    let text = "'a text that is as long as it takes to fill some pages with ' || value";
    run(&connection, &format!("INSERT INTO t SELECT value, 0, {text} FROM generate_series(1, {records})"));
    database
}

/// Bytes of the catalog's file.
fn file_bytes(folder: &Path) -> u64 {
    std::fs::metadata(folder.join("db/catalog/data.mdb")).expect("the catalog's file").len()
}

/// Names beside those that every database has.
fn left(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder.join("db")).expect("the database");
    let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    names.filter(|name| !["catalog", "format", "segments", "writer.lock"].contains(&name.as_str())).collect()
}

/// Ends the threads that look at it.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn readers_that_began_before_a_vacuum_see_what_they_saw() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = database(folder.path(), 40_000);
    let (writer, other) = (database.connect(), database.connect());
    run(&writer, "SET gingham.auto_vacuum = false");
    run(&other, "BEGIN");
    assert_eq!(rows(&other, "SELECT sum(a) FROM t"), ["0"]);
    let mut readers = Vec::new();
    for round in 1..=3 {
        let connection = database.connect();
        let mut reader = connection.query("SELECT a FROM t").expect("a query");
        let first = reader.next().expect("the table has rows").expect("a batch").num_rows();
        readers.push((round, first, reader));
        run(&writer, &format!("UPDATE t SET a = {round}"));
        let before = file_bytes(folder.path());
        run(&writer, "VACUUM");
        assert!(file_bytes(folder.path()) < before, "round {round}");
        run(&writer, "UPDATE t SET a = a WHERE id = 1");
        assert_eq!(
            rows(&database.connect(), "SELECT min(a), max(a), count(*) FROM t"),
            [format!("{round}|{round}|40000")]
        );
    }
    for (round, first, reader) in readers {
        let (mut count, old) = (first, round - 1);
        for batch in reader {
            let batch = batch.expect("a batch");
            let column = batch.column(0).as_any().downcast_ref::<arrow::array::Int64Array>().expect("numbers");
            assert!(column.values().iter().all(|value| *value == old), "reader {round}");
            count += batch.num_rows();
        }
        assert_eq!(count, 40_000, "reader {round}");
    }
    assert_eq!(rows(&other, "SELECT sum(a) FROM t"), ["0"], "a transaction reads what it began with");
    run(&other, "ROLLBACK");
    assert!(left(folder.path()).is_empty());
    assert!(database.check().expect("a report").errors.is_empty());
    drop((writer, other));
    let path = database.path().to_path_buf();
    drop(database);
    let again = Database::open(path).expect("the same database");
    assert_eq!(rows(&again.connect(), "SELECT min(a), max(a), count(*) FROM t"), ["3|3|40000"]);
}

#[test]
fn a_vacuum_waits_for_who_writes() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = database(folder.path(), 100);
    let (writer, other) = (database.connect(), database.connect());
    run(&writer, "BEGIN");
    run(&writer, "UPDATE t SET a = 1");
    run(&other, "SET gingham.lock_timeout = '50 ms'");
    match other.execute("VACUUM") {
        Err(Error::LockTimeout(text)) => assert!(text.contains("gingham.lock_timeout"), "{text}"),
        result => panic!("{result:?}"),
    }
    run(&writer, "COMMIT");
    run(&other, "VACUUM");
    assert_eq!(rows(&other, "SELECT sum(a) FROM t"), ["100"]);
    // One that begins to write on what it read before is no conflict: nothing was committed.
    run(&writer, "BEGIN");
    assert_eq!(rows(&writer, "SELECT sum(a) FROM t"), ["100"]);
    run(&other, "VACUUM");
    run(&writer, "UPDATE t SET a = 2");
    run(&writer, "COMMIT");
    assert_eq!(rows(&other, "SELECT sum(a) FROM t"), ["200"]);
}

#[test]
fn backups_queries_and_changes_go_on_beside_vacuums() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = database(folder.path(), 2000);
    run(&database.connect(), "CREATE TABLE c (id BIGINT PRIMARY KEY, a BIGINT)");
    run(&database.connect(), "INSERT INTO c SELECT id, a FROM t");
    let over = AtomicBool::new(false);
    let until = Instant::now() + Duration::from_secs(3);
    std::thread::scope(|scope| {
        for (own, table) in ["t", "c", "t"].into_iter().enumerate() {
            let (database, over) = (&database, &over);
            scope.spawn(move || {
                let connection = database.connect();
                for step in 0.. {
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                    // What one gets another loses.
                    let (to, from) = (1 + (step * 7 + own) % 1000, 1001 + (step * 11 + own) % 1000);
                    run(
                        &connection,
                        &format!(
                            "UPDATE {table} SET a = a + CASE id WHEN {to} THEN 1 ELSE -1 END WHERE id IN ({to}, {from})"
                        ),
                    );
                }
            });
        }
        for table in ["t", "c"] {
            let (database, over) = (&database, &over);
            scope.spawn(move || {
                let connection = database.connect();
                while !over.load(Ordering::Relaxed) {
                    let sums = rows(&connection, &format!("SELECT sum(a), count(*) FROM {table}"));
                    assert_eq!(sums, ["0|2000"]);
                    let one = rows(&connection, &format!("SELECT id FROM {table} WHERE id = 77"));
                    assert_eq!(one, ["77"]);
                }
            });
        }
        let (own, over) = (&database, &over);
        let vacuums = scope.spawn(move || {
            let (connection, mut done) = (own.connect(), 0);
            while !over.load(Ordering::Relaxed) {
                run(&connection, "VACUUM");
                done += 1;
            }
            done
        });
        // Also when something fails here.
        let ends = Over(over);
        let mut number = 0;
        while Instant::now() < until {
            number += 1;
            let to = folder.path().join(format!("backup{number}"));
            database.backup(&to).expect("a backup");
            let copy = Database::open(&to).expect("a copy");
            assert_eq!(rows(&copy.connect(), "SELECT sum(a), count(*) FROM t"), ["0|2000"]);
            assert_eq!(rows(&copy.connect(), "SELECT sum(a), count(*) FROM c"), ["0|2000"]);
        }
        drop(ends);
        assert!(vacuums.join().expect("it ends") > 0);
    });
    assert!(database.check().expect("a report").errors.is_empty());
    assert!(left(folder.path()).is_empty());
}

#[test]
fn a_file_that_is_mostly_free_becomes_smaller_by_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = database(folder.path(), 60_000);
    let connection = database.connect();
    run(&connection, "SET gingham.auto_vacuum = false");
    let reader = database.connect();
    run(&reader, "BEGIN");
    assert_eq!(rows(&reader, "SELECT sum(a) FROM t"), ["0"]);
    let small = file_bytes(folder.path());
    for round in 0..5 {
        run(&connection, &format!("UPDATE t SET a = {round}"));
    }
    let large = file_bytes(folder.path());
    assert!(large > 16 << 20 && large > 3 * small, "{small}, then {large} bytes");
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(file_bytes(folder.path()), large, "it is switched off");
    run(&connection, "SET gingham.auto_vacuum = true");
    run(&connection, "UPDATE t SET a = 7 WHERE id = 1");
    let begun = Instant::now();
    // The commit that starts it makes the file larger first.
    while file_bytes(folder.path()) >= 2 * small {
        assert!(begun.elapsed() < Duration::from_secs(60), "{} bytes", file_bytes(folder.path()));
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(rows(&connection, "SELECT sum(a), count(*) FROM t"), [format!("{}|60000", 4 * 59_999 + 7)]);
    assert_eq!(rows(&reader, "SELECT sum(a) FROM t"), ["0"], "the reader goes on");
}

#[test]
fn the_age_of_a_reader_is_told_by_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = database(folder.path(), 100);
    let (reader, writer) = (database.connect(), database.connect());
    run(&writer, "CREATE TABLE other (id BIGINT) WITH (layout = 'nsm')");
    let ages = "SELECT table_name, oldest_reader_ms >= 20 FROM gingham_tables ORDER BY table_name";
    run(&reader, "BEGIN");
    assert_eq!(rows(&reader, "SELECT count(*) FROM t"), ["100"]);
    assert_eq!(rows(&writer, ages), ["other|", "t|"], "it keeps nothing that is old");
    run(&writer, "UPDATE t SET a = 1");
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(rows(&writer, ages), ["other|", "t|true"]);
    run(&writer, "VACUUM");
    assert_eq!(rows(&writer, ages), ["other|", "t|true"], "it reads the old file now");
    run(&reader, "COMMIT");
    assert_eq!(rows(&writer, ages), ["other|", "t|"]);
}

#[test]
fn what_a_vacuum_has_left_is_swept() {
    let folder = tempfile::tempdir().expect("a folder");
    drop(database(folder.path(), 100));
    // Until the last thread that has it ends.
    let lock = std::fs::File::open(folder.path().join("db/writer.lock")).expect("the lock's file");
    lock.lock().expect("the database is closed");
    drop(lock);
    for name in ["catalog.new", "catalog.new.7"] {
        let new = folder.path().join("db").join(name);
        std::fs::create_dir(&new).expect("a folder");
        std::fs::write(new.join("data.mdb"), b"half a copy").expect("a file");
    }
    let database = Database::open(folder.path().join("db")).expect("the same database");
    assert!(left(folder.path()).is_empty());
    assert_eq!(rows(&database.connect(), "SELECT count(*) FROM t"), ["100"]);
}
