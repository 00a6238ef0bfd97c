//! Transactions over statements: each anomaly that snapshot isolation forbids, who waits and who fails, what is undone; plans
//! and pages that a transaction has made are nobody else's.

use crate::{connect, rows};
use gingham::{Connection, Database, Error};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const LAYOUTS: [&str; 4] = ["column", "nsm", "dsm", "pax"];

/// A database with a table `t` (k, v) of ten records.
fn database(layout: &str) -> Database {
    let database = Database::in_memory().expect("a scratch database");
    let connection = database.connect();
    run(&connection, &format!("CREATE TABLE t (k INTEGER PRIMARY KEY, v BIGINT) WITH (layout = '{layout}')"));
    run(&connection, "INSERT INTO t SELECT value, value * 10 FROM generate_series(1, 10)");
    database
}

/// Two connections to such a database.
fn two(layout: &str) -> (Connection, Connection) {
    let database = database(layout);
    (database.connect(), database.connect())
}

fn run(connection: &Connection, sql: &str) -> u64 {
    connection.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn all(connection: &Connection) -> Vec<String> {
    rows(connection, "SELECT count(*), sum(v) FROM t")
}

#[test]
fn nobody_reads_what_is_not_committed() {
    for layout in LAYOUTS {
        let (one, other) = two(layout);
        run(&one, "BEGIN; INSERT INTO t VALUES (11, 1000)");
        assert_eq!((all(&one), all(&other)), (vec!["11|1550".to_owned()], vec!["10|550".to_owned()]), "{layout}");
        run(&one, "ROLLBACK");
        assert_eq!((all(&one), all(&other)), (vec!["10|550".to_owned()], vec!["10|550".to_owned()]), "{layout}");
    }
}

#[test]
fn what_was_read_once_is_read_again() {
    for layout in LAYOUTS {
        let (one, other) = two(layout);
        run(&one, "BEGIN");
        assert_eq!(all(&one), ["10|550"], "{layout}");
        run(&other, "INSERT INTO t VALUES (11, 5)");
        assert_eq!(all(&one), ["10|550"], "{layout}: no record that came after the first statement");
        run(&other, "UPDATE t SET v = 0 WHERE k = 1; DELETE FROM t WHERE k = 2");
        run(&other, "TRUNCATE t; INSERT INTO t VALUES (1, 1)");
        if layout == "column" {
            run(&other, "ALTER TABLE t ADD COLUMN w INTEGER");
        }
        assert_eq!(rows(&one, "SELECT * FROM t WHERE k < 3 ORDER BY k"), ["1|10", "2|20"], "{layout}");
        assert_eq!(all(&one), ["10|550"], "{layout}: no phantom either");
        run(&one, "COMMIT");
        assert_eq!(all(&one), ["1|1"], "{layout}");
    }
}

#[test]
fn no_update_is_lost() {
    for layout in LAYOUTS {
        let (one, other) = two(layout);
        run(&one, "BEGIN");
        assert_eq!(rows(&one, "SELECT v FROM t WHERE k = 1"), ["10"]);
        run(&other, "UPDATE t SET v = v + 5 WHERE k = 1");
        let error = one.execute("UPDATE t SET v = 11 WHERE k = 1").expect_err("the other one was first");
        assert!(matches!(error, Error::Conflict(_)) && error.sqlstate() == "40001", "{layout}: {error:?}");
        run(&one, "ROLLBACK; BEGIN IMMEDIATE; UPDATE t SET v = v + 1 WHERE k = 1; COMMIT");
        assert_eq!(rows(&other, "SELECT v FROM t WHERE k = 1"), ["16"], "{layout}");
    }
}

#[test]
fn plans_and_pages_of_a_transaction_are_its_own() {
    for layout in LAYOUTS {
        let (one, other) = two(layout);
        let sql = "SELECT count(*), sum(v) FROM t";
        for round in 0..3u64 {
            for connection in [&one, &other, &one] {
                assert_eq!(rows(connection, sql), ["10|550"], "{layout}, kept before");
            }
            // The numbers of commits are given again after each rollback.
            run(&one, &format!("BEGIN; INSERT INTO t SELECT value, 1 FROM generate_series(11, {})", 20 + round));
            let expected = format!("{}|{}", 20 + round, 560 + round);
            for _ in 0..3 {
                assert_eq!(rows(&one, sql), [expected.as_str()], "{layout}");
                assert_eq!(rows(&other, sql), ["10|550"], "{layout}");
            }
            run(&one, "ROLLBACK");
        }
        run(&other, "INSERT INTO t VALUES (11, 7)");
        for connection in [&one, &other] {
            assert_eq!(rows(connection, sql), ["11|557"], "{layout}");
        }
    }
}

/// Records are found by their keys as the transaction sees them, before and after it has written: entries of indexes are those of
/// the latest commit, or of what is written just now.
#[test]
fn keys_are_looked_up_in_what_the_transaction_sees() {
    for layout in &LAYOUTS[1..] {
        let (one, other) = two(layout);
        run(&one, "CREATE UNIQUE INDEX by_v ON t (v); BEGIN");
        assert_eq!(all(&one), ["10|550"], "{layout}: the first statement decides what is seen");
        run(&other, "UPDATE t SET v = 1 WHERE k = 1; DELETE FROM t WHERE k = 2; INSERT INTO t VALUES (50, 500)");
        let by_key = |k: u64| rows(&one, &format!("SELECT v FROM t WHERE k = {k}"));
        let by_value = |v: u64| rows(&one, &format!("SELECT k FROM t WHERE v = {v}"));
        assert_eq!(
            (by_key(1), by_key(2), by_key(50).len()),
            (vec!["10".to_owned()], vec!["20".to_owned()], 0),
            "{layout}"
        );
        assert_eq!((by_value(10), by_value(500).len()), (vec!["1".to_owned()], 0), "{layout}");
        run(&one, "ROLLBACK; BEGIN; DELETE FROM t WHERE k = 3; INSERT INTO t VALUES (60, 600); SAVEPOINT s");
        // The record may have taken the place of the one that was deleted.
        assert_eq!(
            (by_key(3).len(), by_key(60), by_value(600)),
            (0, vec!["600".to_owned()], vec!["60".to_owned()]),
            "{layout}"
        );
        run(&one, "UPDATE t SET v = 30 WHERE k = 60");
        assert_eq!((by_value(30), by_value(600).len()), (vec!["60".to_owned()], 0), "{layout}");
        assert!(matches!(one.execute("INSERT INTO t VALUES (61, 30)"), Err(Error::Constraint(_))), "{layout}");
        run(&one, "CREATE INDEX both ON t (v, k); INSERT INTO t VALUES (61, 610); ROLLBACK TO s");
        assert_eq!((by_value(30).len(), by_value(600), by_value(610).len()), (0, vec!["60".to_owned()], 0), "{layout}");
        run(&one, "COMMIT");
        assert_eq!((by_value(600), by_key(60), by_key(3).len()), (vec!["60".to_owned()], vec!["600".to_owned()], 0));
        assert_eq!(rows(&other, "SELECT count(*) FROM gingham_indexes WHERE index_name = 'both'"), ["0"], "{layout}");
    }
}

/// Deletions and updates of segments' records are seen, undone and committed as others are.
#[test]
fn records_of_segments_are_changed_and_changed_back() {
    let (one, other) = two("column");
    run(&one, "INSERT INTO t SELECT value, value FROM generate_series(11, 200000); OPTIMIZE t");
    let total = "SELECT count(*), sum(v) FROM t";
    let before = rows(&one, total);
    run(
        &one,
        "BEGIN; DELETE FROM t WHERE k % 2 = 0; SAVEPOINT s; UPDATE t SET v = 0 WHERE k > 100; DELETE FROM t WHERE k = 1",
    );
    assert_eq!(rows(&one, "SELECT count(*), max(v), min(k) FROM t"), ["99999|99|3"]);
    assert_eq!(rows(&other, total), before);
    run(&one, "ROLLBACK TO s");
    assert_eq!(rows(&one, "SELECT count(*), max(v), min(k) FROM t"), ["100000|199999|1"]);
    run(&one, "DELETE FROM t WHERE k = 3; ROLLBACK");
    // Numbers of what was undone are given again.
    run(&other, "DELETE FROM t WHERE k = 5");
    assert_eq!(rows(&one, "SELECT count(*), min(k) FROM t WHERE k <> 1 AND k <> 2 AND k <> 4"), ["199996|3"]);
    run(&one, "BEGIN; DELETE FROM t WHERE k = 3; COMMIT");
    assert_eq!(rows(&other, "SELECT count(*) FROM t WHERE k < 6"), ["3"]);
}

#[test]
fn a_result_reads_what_its_transaction_saw() {
    for layout in LAYOUTS {
        let (one, _) = two(layout);
        run(&one, "BEGIN; INSERT INTO t SELECT value, 1 FROM generate_series(11, 100000)");
        let mut result = one.query("SELECT k FROM t").expect("a query");
        let first = result.next().expect("rows").expect("no error").num_rows();
        run(&one, "TRUNCATE t; INSERT INTO t VALUES (1, 1); ROLLBACK");
        let rest: usize = result.map(|batch| batch.expect("they are as they were").num_rows()).sum();
        assert_eq!(first + rest, 100_000, "{layout}");
        assert_eq!(all(&one), ["10|550"]);
    }
}

#[test]
fn a_dropped_connection_rolls_back_and_others_go_on() {
    let (one, other) = two("pax");
    run(&one, "BEGIN; DELETE FROM t");
    drop(one);
    run(&other, "INSERT INTO t VALUES (11, 5)");
    assert_eq!(all(&other), ["11|555"]);
    // One that waits is served.
    let connection = other.clone();
    run(&connection, "BEGIN; INSERT INTO t VALUES (12, 5)");
    run(&connection, "ROLLBACK");
    assert_eq!(all(&other), ["11|555"]);
}

#[test]
fn a_transaction_that_is_idle_is_rolled_back() {
    let (one, other) = two("pax");
    run(&one, "SET gingham.idle_in_transaction_timeout = '50 ms'; BEGIN; DELETE FROM t WHERE k = 1");
    let seen = rows(&other, "SELECT own, writes, age_ms >= idle_ms FROM gingham_transactions");
    assert_eq!(seen, ["false|true|true"]);
    // It waits for the other one's end.
    run(&other, "DELETE FROM t WHERE k = 2");
    for sql in ["SELECT 1", "INSERT INTO t VALUES (20, 1)", "BEGIN", "ROLLBACK TO s"] {
        let error = one.execute(sql).expect_err("there is no transaction to do it in");
        assert!(matches!(error, Error::IdleTimeout(_)) && error.sqlstate() == "25P03", "{sql}: {error}");
    }
    assert!(one.table("t").is_err() && one.appender("t").is_err());
    let error = one.execute("COMMIT").expect_err("nothing is committed");
    assert!(error.to_string().starts_with("the transaction was rolled back: no statement came for 0.05 s"), "{error}");
    assert_eq!(all(&one), ["9|530"]);
    // A statement that takes long is not idle.
    run(&one, "BEGIN; INSERT INTO t VALUES (20, 1)");
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(300) {
        run(&one, "SELECT count(*) FROM generate_series(1, 200000)");
    }
    // Nor is the reading of a result.
    let mut result = one.query("SELECT value FROM generate_series(1, 1000000)").expect("a query");
    result.next().expect("rows").expect("no error");
    std::thread::sleep(Duration::from_millis(300));
    assert!(result.all(|batch| batch.is_ok()));
    let unread = one.query("SELECT value FROM generate_series(1, 1000000)").expect("a query");
    run(&one, "COMMIT");
    assert_eq!(rows(&one, "SELECT count(*) FROM gingham_transactions"), ["0"]);
    drop(unread);
}

/// A statement that is late for its transaction's end says so, and its rows are nowhere.
#[test]
fn what_ends_behind_its_transaction_is_refused() {
    for end in ["COMMIT", "ROLLBACK"] {
        for first in ["", "INSERT INTO t VALUES (99, 1);"] {
            let (one, other) = two("pax");
            run(&one, &format!("BEGIN; {first}"));
            let mut appender = one.appender("t").expect("an appender");
            appender.append_row(&[11.into(), 1i64.into()]).expect("a row");
            run(&one, end);
            let error = appender.finish().expect_err("the transaction is over");
            assert!(matches!(error, Error::RolledBack(_)), "{end}: {error}");
            let kept = usize::from(end == "COMMIT" && !first.is_empty());
            assert_eq!(rows(&other, "SELECT count(*) FROM t"), [(10 + kept).to_string()], "{end}");
            run(&one, "INSERT INTO t VALUES (12, 1)");
        }
    }
}

/// One that was cancelled while it waited for its turn is not begun when the turn comes.
#[test]
fn a_cancelled_begin_begins_nothing() {
    let (one, other) = two("pax");
    run(&one, "BEGIN IMMEDIATE");
    let handle = other.cancel_handle();
    let cancelled = std::thread::scope(|scope| {
        let begins = scope.spawn(|| other.execute("BEGIN IMMEDIATE"));
        while !begins.is_finished() {
            std::thread::sleep(Duration::from_millis(20));
            handle.cancel();
        }
        begins.join().expect("no panic")
    });
    assert!(matches!(cancelled, Err(Error::Cancelled)), "{cancelled:?}");
    run(&one, "COMMIT; BEGIN IMMEDIATE; ROLLBACK");
    assert_eq!(other.transaction_status(), gingham::TransactionStatus::None);
    run(&one, "INSERT INTO t VALUES (11, 1)");
}

/// A change of one record waits on the caller's thread: until it is cancelled, for as long as `lock_timeout` says, or to its turn.
#[test]
fn a_change_of_one_record_waits_as_others_do() {
    let (one, other) = two("pax");
    run(&one, "CREATE TABLE p (k BIGINT PRIMARY KEY, v BIGINT) WITH (layout = 'pax')");
    run(&one, "INSERT INTO p SELECT value, value FROM generate_series(1, 10)");
    run(&one, "BEGIN IMMEDIATE; UPDATE p SET v = v + 100 WHERE k = 3");
    let handle = other.cancel_handle();
    for change in ["UPDATE p SET v = 0 WHERE k = 3", "DELETE FROM p WHERE k = 3"] {
        let cancelled = std::thread::scope(|scope| {
            let changes = scope.spawn(|| other.execute(change));
            while !changes.is_finished() {
                std::thread::sleep(Duration::from_millis(20));
                handle.cancel();
            }
            changes.join().expect("no panic")
        });
        assert!(matches!(cancelled, Err(Error::Cancelled)), "{cancelled:?}");
    }
    run(&other, "SET gingham.lock_timeout = '20 ms'");
    let late = other.execute("UPDATE p SET v = 0 WHERE k = 3");
    assert!(matches!(late, Err(Error::LockTimeout(_))), "{late:?}");
    assert_eq!(other.execute("UPDATE p SET v = 0 WHERE k = 300").ok(), Some(0), "there is nothing to wait for");
    run(&other, "RESET gingham.lock_timeout");
    let changed = std::thread::scope(|scope| {
        let changes = scope.spawn(|| other.execute("UPDATE p SET v = v + 1 WHERE k = 3"));
        std::thread::sleep(Duration::from_millis(20));
        run(&one, "COMMIT");
        changes.join().expect("no panic")
    });
    assert_eq!(changed.ok(), Some(1));
    assert_eq!(rows(&one, "SELECT v FROM p WHERE k = 3"), ["104"]);
    assert_eq!(rows(&one, "SELECT sum(v), count(*) FROM p"), ["156|10"]);
}

/// As many as there may be are known to a part that begins to write behind them.
#[test]
fn savepoints_have_a_limit() {
    let (one, _) = two("pax");
    run(&one, "BEGIN");
    for number in 0..64 {
        run(&one, &format!("SAVEPOINT s{number}"));
    }
    let error = one.execute("SAVEPOINT more").expect_err("there are too many").to_string();
    assert_eq!(error, "a transaction has at most 64 savepoints at a time; RELEASE some");
    run(
        &one,
        "DELETE FROM t WHERE k < 4; ROLLBACK TO s30; DELETE FROM t WHERE k = 1; RELEASE s7; SAVEPOINT more; COMMIT",
    );
    assert_eq!(all(&one), ["9|540"]);
}

#[test]
fn a_long_reader_stops_no_writer() {
    for layout in LAYOUTS {
        let (one, other) = two(layout);
        run(&one, "BEGIN");
        assert_eq!(all(&one), ["10|550"]);
        for step in 0..20 {
            run(&other, &format!("INSERT INTO t VALUES ({}, 1)", 100 + step));
        }
        assert_eq!((all(&one), all(&other)), (vec!["10|550".to_owned()], vec!["30|570".to_owned()]), "{layout}");
        run(&one, "END");
    }
}

#[test]
fn many_clients_share_commits_and_fail_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("shop.gingham");
    let database = Database::open(&path).expect("a database");
    for layout in LAYOUTS {
        let setup = database.connect();
        run(&setup, &format!("CREATE OR REPLACE TABLE t (k INTEGER PRIMARY KEY, v BIGINT) WITH (layout = '{layout}')"));
        std::thread::scope(|scope| {
            for client in 0..8 {
                let connection = database.connect();
                scope.spawn(move || {
                    for step in 0..6 {
                        // Every key is tried by two clients, of which one is late.
                        let key = client / 2 * 100 + step;
                        match connection.execute(&format!("INSERT INTO t VALUES ({key}, 1)")) {
                            Ok(_) => {}
                            Err(Error::Constraint(_)) => {}
                            Err(error) => panic!("{error}"),
                        }
                    }
                });
            }
        });
        assert_eq!(all(&setup), ["24|24"], "{layout}");
    }
    assert!(database.check().expect("a check").errors.is_empty());
}

/// Readers see no money made or lost while writers move it, with statements alone and in transactions, which some roll back.
#[test]
fn the_sum_of_accounts_stays() {
    let time = if std::env::var_os("GINGHAM_NIGHTLY").is_some() { 60_000 } else { 1000 };
    for layout in LAYOUTS {
        let database = database(layout);
        let setup = database.connect();
        run(&setup, "UPDATE t SET v = 1000");
        let (ended, moved) = (AtomicBool::new(false), std::sync::atomic::AtomicU64::new(0));
        std::thread::scope(|scope| {
            for writer in 0..3u64 {
                let (connection, ended, moved) = (database.connect(), &ended, &moved);
                scope.spawn(move || {
                    let mut step = writer * 7919;
                    while !ended.load(Ordering::Relaxed) {
                        step += 1;
                        match transfer(&connection, writer, step) {
                            Ok(()) => drop(moved.fetch_add(1, Ordering::Relaxed)),
                            Err(Error::Conflict(_)) => {}
                            Err(error) => panic!("{error}"),
                        }
                    }
                });
            }
            for _ in 0..2 {
                let (connection, ended) = (database.connect(), &ended);
                scope.spawn(move || {
                    while !ended.load(Ordering::Relaxed) {
                        assert_eq!(all(&connection), ["10|10000"]);
                        run(&connection, "BEGIN");
                        let first = rows(&connection, "SELECT k, v FROM t ORDER BY k");
                        assert_eq!(rows(&connection, "SELECT k, v FROM t ORDER BY k"), first);
                        run(&connection, "COMMIT");
                    }
                });
            }
            std::thread::sleep(Duration::from_millis(time));
            ended.store(true, Ordering::Relaxed);
        });
        assert!(moved.into_inner() > 0, "{layout}");
        assert_eq!(all(&setup), ["10|10000"], "{layout}");
    }
}

/// Moves money: in a statement, in a transaction that waits for its turn, or in one that may fail.
fn transfer(connection: &Connection, writer: u64, step: u64) -> Result<(), Error> {
    let (from, to) = (step % 10 + 1, (step / 10 + writer) % 10 + 1);
    if from == to {
        return Ok(());
    }
    if writer == 0 {
        let change = format!("CASE WHEN k = {from} THEN -1 ELSE 1 END");
        connection.execute(&format!("UPDATE t SET v = v + {change} WHERE k IN ({from}, {to})"))?;
        return Ok(());
    }
    let transaction = if writer == 1 { connection.write_transaction()? } else { connection.transaction()? };
    transaction.execute(&format!("UPDATE t SET v = v - 1 WHERE k = {from}"))?;
    transaction.execute(&format!("SAVEPOINT s; DELETE FROM t WHERE k = {to}; ROLLBACK TO s"))?;
    transaction.execute(&format!("UPDATE t SET v = v + 1 WHERE k = {to}"))?;
    assert_eq!(all(&transaction), ["10|10000"]);
    if step.is_multiple_of(5) { transaction.roll_back() } else { transaction.commit() }
}

#[test]
fn what_was_rolled_back_leaves_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("shop.gingham");
    let database = Database::open(&path).expect("a database");
    let connection = database.connect();
    run(&connection, "BEGIN; CREATE TABLE t AS SELECT value AS v FROM generate_series(1, 300000)");
    run(&connection, "CREATE TABLE u WITH (layout = 'pax') AS SELECT v, v * 2 AS w FROM t; SAVEPOINT s; DROP TABLE t");
    assert_eq!(rows(&connection, "SELECT count(*), max(w) FROM u"), ["300000|600000"]);
    run(&connection, "ROLLBACK");
    assert_eq!(rows(&connection, "SELECT table_name FROM gingham_tables"), Vec::<String>::new());
    let report = database.check().expect("a check");
    assert!(report.errors.is_empty() && report.notes.is_empty(), "{report:?}");
    run(&connection, "BEGIN; CREATE TABLE t AS SELECT value AS v FROM generate_series(1, 300000); COMMIT");
    drop((connection, database));
    let database = Database::open(&path).expect("a database");
    assert_eq!(rows(&database.connect(), "SELECT count(*) FROM t"), ["300000"]);
}

#[test]
fn what_is_prepared_or_appended_is_part_of_the_transaction() {
    let connection = connect();
    run(&connection, "CREATE TABLE t (n INTEGER)");
    let insert = connection.prepare("INSERT INTO t VALUES ($1)").expect("a statement");
    let transaction = connection.transaction().expect("a transaction");
    insert.query(&[1.into()]).expect("it runs");
    let mut appender = connection.appender("t").expect("an appender");
    appender.append_row(&[2.into()]).expect("a row");
    appender.finish().expect("it is written");
    assert_eq!(connection.table("t").expect("the table").rows(), 2);
    drop(transaction);
    assert_eq!(connection.table("t").expect("the table").rows(), 0);
}
