//! Those who write together, transactions that stay open, and VACUUM, which comes by itself.

use crate::{alone, database, expect_fault, fails, reopened, rows, run};
use gingham::lab::{PanicPoint, disarm, panic_at};
use gingham::{Database, Error, TransactionStatus};
use std::time::{Duration, Instant};

const WRITERS: usize = 8;
const STATEMENTS: usize = 30;

/// Threads that write at a time, each statement by itself; gives how many records were promised, and the errors.
fn write_together(database: &Database, statement: impl Fn(usize) -> String + Sync) -> (usize, Vec<Error>) {
    let ended: Vec<Result<u64, Error>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (connection, statement) = (database.connect(), &statement);
                scope.spawn(move || {
                    let all =
                        (0..STATEMENTS).map(|number| connection.execute(&statement(writer * STATEMENTS + number)));
                    all.collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic leaves the engine")).collect()
    });
    let promised = ended.iter().filter_map(|ended| ended.as_ref().ok()).sum::<u64>();
    (promised as usize, ended.into_iter().filter_map(Result::err).collect())
}

#[test]
fn others_of_a_group_keep_their_work() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let database = database(folder.path());
    let mut promised = [0, 0];
    for round in 0..6 {
        for (kind, table) in ["log", "p"].into_iter().enumerate() {
            let first = 10_000 * (round + 1);
            let values = |number: usize| match kind {
                0 => format!("{}, 'x'", first + number),
                _ => format!("{}, 0, 'x'", first + number),
            };
            panic_at(PanicPoint::Job, 40 + round as u32 * 7);
            let (written, failed) =
                write_together(&database, |number| format!("INSERT INTO {table} VALUES ({})", values(number)));
            assert!(!disarm());
            promised[kind] += written;
            assert_eq!((written, failed.len()), (WRITERS * STATEMENTS - 1, 1), "{failed:?}");
            expect_fault(&failed[0], PanicPoint::Job);
        }
    }
    let database = reopened(database, folder.path());
    let count = |sql: &str| rows(&database.connect(), sql).unwrap();
    assert_eq!(count("SELECT count(*), count(DISTINCT n) FROM log"), [format!("{0}|{0}", promised[0])]);
    assert_eq!(count("SELECT count(*) FROM p WHERE n > 1000"), [promised[1].to_string()]);
}

/// A panic in what all of a group share fails all of it: each is told, and nothing of it is there.
#[test]
fn a_group_whose_commit_panics_is_undone_as_a_whole() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let database = database(folder.path());
    let mut promised = 0;
    for round in 0..6 {
        let first = 10_000 * (round + 1);
        panic_at(PanicPoint::Commit, 11 + round as u32);
        let (written, failed) =
            write_together(&database, |number| format!("INSERT INTO log VALUES ({}, 'x')", first + number));
        assert!(!disarm());
        assert!(!failed.is_empty());
        failed.iter().for_each(|error| expect_fault(error, PanicPoint::Commit));
        assert_eq!(written + failed.len(), WRITERS * STATEMENTS);
        promised += written;
    }
    assert_eq!(database.connect().table("log").unwrap().rows(), promised as u64);
    let database = reopened(database, folder.path());
    assert_eq!(database.connect().table("log").unwrap().rows(), promised as u64);
}

/// What is committed stands, whatever becomes of the work behind it.
#[test]
fn a_panic_behind_a_commit_takes_nothing_back() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let database = database(folder.path());
    let connection = database.connect();
    for sql in [
        "INSERT INTO log SELECT value, 'x' FROM generate_series(1, 200000)",
        "INSERT INTO log VALUES (0, 'x')",
        "UPDATE log SET n = n + 1",
        "UPDATE p SET a = 1 WHERE n = 7",
        "UPDATE p SET a = a + 1",
        "CREATE VIEW v AS SELECT * FROM log",
        "ALTER TABLE log SET (layout = 'row')",
    ] {
        panic_at(PanicPoint::Committed, 0);
        run(&connection, sql);
        assert!(!disarm(), "{sql}");
    }
    let check = |database: &Database| {
        let one = |sql| rows(&database.connect(), sql).unwrap();
        assert_eq!(one("SELECT count(*), sum(n) FROM v"), [format!("200001|{}", 200_000u64 * 200_001 / 2 + 200_001)]);
        assert_eq!(one("SELECT count(*), sum(a) FROM p"), ["1000|1001"]);
    };
    check(&database);
    drop(connection);
    check(&reopened(database, folder.path()));
}

/// A statement of a transaction fails alone; the transaction goes on.
#[test]
fn a_panic_in_a_transaction_is_one_statements() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let database = database(folder.path());
    let (connection, other) = (database.connect(), database.connect());
    for table in ["log (n, what)", "p (n, s)"] {
        run(&connection, &format!("BEGIN; INSERT INTO {table} VALUES (2001, 'x'); SAVEPOINT s"));
        let more = format!("INSERT INTO {table} VALUES (2002, 'x')");
        for point in [PanicPoint::Launch, PanicPoint::Statement, PanicPoint::Blocking] {
            fails(point, 0, || connection.execute(&more));
        }
        fails(PanicPoint::Morsel, 0, || connection.execute("SELECT g, sum(n) FROM t GROUP BY g"));
        assert_eq!(connection.transaction_status(), TransactionStatus::Open);
        run(&connection, &more);
        run(&connection, "ROLLBACK TO s; COMMIT");
    }
    run(&other, "INSERT INTO log VALUES (2003, 'x')");
    // The thread that holds the transaction: it is gone with it, and the next one begins.
    for (sql, commits) in [("SAVEPOINT again", false), ("INSERT INTO log VALUES (2005, 'x')", false), ("COMMIT", true)]
    {
        run(&connection, "BEGIN; INSERT INTO log VALUES (2004, 'x')");
        fails(PanicPoint::OpenTransaction, 0, || connection.execute(sql));
        if !commits {
            let error = connection.execute("INSERT INTO log VALUES (2005, 'x')").expect_err("it is gone");
            assert_eq!(error.sqlstate(), "25P02", "{error}");
            run(&connection, "ROLLBACK");
        }
        assert_eq!(connection.transaction_status(), TransactionStatus::None);
        run(&other, "INSERT INTO log VALUES (2003, 'x')");
    }
    run(&connection, "BEGIN; INSERT INTO log VALUES (2006, 'x')");
    fails(PanicPoint::Commit, 0, || connection.execute("COMMIT"));
    run(&connection, "BEGIN; INSERT INTO log VALUES (2007, 'x'); COMMIT");
    drop((connection, other));
    let database = reopened(database, folder.path());
    let logged = rows(&database.connect(), "SELECT n, count(*) FROM log GROUP BY n ORDER BY n").unwrap();
    assert_eq!(logged, ["2001|1", "2003|4", "2007|1"]);
    assert_eq!(rows(&database.connect(), "SELECT n FROM p WHERE n > 1000").unwrap(), ["2001"]);
}

/// The VACUUM that nobody asked for fails for itself.
#[test]
fn a_panic_in_a_vacuum_of_its_own_is_nobodys() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let database = database(folder.path());
    let connection = database.connect();
    run(&connection, "SET gingham.auto_vacuum = false");
    run(
        &connection,
        "INSERT INTO p SELECT value, 0, 'a text that is as long as it takes to fill some pages with ' || value FROM generate_series(1001, 60000)",
    );
    // Pages that somebody reads are not written again: the file grows.
    let reader = database.connect();
    run(&reader, "BEGIN");
    assert_eq!(rows(&reader, "SELECT sum(a) FROM p").unwrap(), ["0"]);
    for _ in 0..5 {
        run(&connection, "UPDATE p SET a = a + 1");
    }
    run(&connection, "SET gingham.auto_vacuum = true");
    panic_at(PanicPoint::Vacuum, 0);
    run(&connection, "UPDATE p SET a = a + 1 WHERE n = 1");
    let begun = Instant::now();
    let catalog = folder.path().join("db/catalog/data.mdb");
    let bytes = || std::fs::metadata(&catalog).expect("the catalog").len();
    // It is asked for after a commit, by a thread of its own.
    while !is_spent() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it never came");
        std::thread::sleep(Duration::from_millis(10));
    }
    run(&connection, "UPDATE p SET a = a + 1 WHERE n = 2");
    let before = bytes();
    run(&connection, "VACUUM");
    assert!(bytes() < before);
    drop((connection, reader));
    let database = reopened(database, folder.path());
    let sums = rows(&database.connect(), "SELECT count(*), sum(a) FROM p").unwrap();
    assert_eq!(sums, [format!("60000|{}", 5 * 60_000 + 2)]);
}

/// Whether the panic has come.
fn is_spent() -> bool {
    let armed = disarm();
    if armed {
        panic_at(PanicPoint::Vacuum, 0);
    }
    !armed
}
