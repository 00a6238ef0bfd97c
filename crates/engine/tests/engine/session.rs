//! What a session says besides results, how long its statements may take, and which transactions it begins.

use crate::{connect, rows};
use gingham::{Connection, Error, Severity};
use std::sync::{Arc, Mutex};

fn said(connection: &Connection, sql: &str) -> Vec<String> {
    connection.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let told = connection.notices().take().into_iter();
    told.map(|notice| format!("{} {} {}", notice.severity, notice.sqlstate.sqlstate(), notice.text)).collect()
}

#[test]
fn what_has_no_effect_is_said() {
    let connection = connect();
    for (sql, notice) in [
        ("COMMIT", "WARNING 25P01 there is no transaction in progress"),
        ("ROLLBACK", "WARNING 25P01 there is no transaction in progress"),
        ("SET LOCAL work_mem = '1MB'", "WARNING 25P01 SET LOCAL has an effect within a transaction only"),
        ("SET TRANSACTION READ ONLY", "WARNING 25P01 SET TRANSACTION has an effect within a transaction only"),
        ("LISTEN channel", "NOTICE 00000 LISTEN has no effect: there is no NOTIFY"),
        (
            "SET CONSTRAINTS ALL DEFERRED",
            "NOTICE 00000 SET CONSTRAINTS DEFERRED has no effect: constraints are checked by each statement",
        ),
        (
            "SET timezone = 'Europe/Berlin'",
            "NOTICE 00000 times are shown in UTC, whatever the time zone ('Europe/Berlin') is; zones within texts are heeded",
        ),
    ] {
        assert_eq!(said(&connection, sql), [notice], "{sql}");
    }
    for sql in ["SET timezone = 'UTC'", "SET TIME ZONE 'Z'", "UNLISTEN *", "SET CONSTRAINTS ALL IMMEDIATE", "BEGIN"] {
        assert!(said(&connection, sql).is_empty(), "{sql}");
    }
    assert_eq!(said(&connection, "BEGIN"), ["WARNING 25001 there is already a transaction in progress"]);
    assert!(said(&connection, "COMMIT").is_empty());
}

#[test]
fn notices_are_as_many_as_the_client_wants() {
    let connection = connect();
    assert!(said(&connection, "SET client_min_messages = warning; LISTEN channel").is_empty());
    assert_eq!(said(&connection, "COMMIT").len(), 1);
    assert!(said(&connection, "SET client_min_messages = error; COMMIT").is_empty());
    assert_eq!(said(&connection, "RESET client_min_messages; LISTEN channel").len(), 1);
    for _ in 0..1100 {
        connection.execute("COMMIT").expect("a warning");
    }
    assert_eq!(connection.notices().take().len(), 1000, "the newest are kept");
}

#[test]
fn a_listener_hears_notices_at_once() {
    let connection = connect();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let own = Arc::clone(&heard);
    connection.notices().listen(Some(Arc::new(move |notice| {
        own.lock().expect("nobody panics").push((notice.severity, notice.text.clone()));
    })));
    connection.execute("LISTEN channel; COMMIT").expect("a notice and a warning");
    let severities: Vec<Severity> =
        heard.lock().expect("nobody panics").iter().map(|(severity, _)| *severity).collect();
    assert_eq!(severities, [Severity::Notice, Severity::Warning]);
    connection.notices().listen(None);
    assert_eq!(said(&connection, "COMMIT").len(), 1);
    assert_eq!(heard.lock().expect("nobody panics").len(), 2);
}

#[test]
fn a_statement_that_takes_too_long_is_cancelled() {
    let connection = connect();
    connection.execute("CREATE TABLE t (n BIGINT); SET statement_timeout = '50ms'").expect("a setting");
    let long = "SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b";
    let rows_of = connection.query(long).and_then(|rows| rows.collect_batches());
    let error = rows_of.expect_err("it takes longer");
    assert!(matches!(&error, Error::StatementTimeout(_)) && error.sqlstate() == "57014", "{error:?}");
    assert_eq!(error.to_string(), "the statement was cancelled: it took longer than 0.05 s (statement_timeout)");
    let inserted = connection.execute(&format!("INSERT INTO t {long}"));
    assert_eq!(inserted.expect_err("it takes longer").sqlstate(), "57014");
    connection.execute("SET statement_timeout = 0").expect("a setting");
    assert_eq!(rows(&connection, "SELECT count(*) FROM t"), ["0"]);
}

#[test]
fn transactions_begin_as_the_session_says() {
    let connection = connect();
    let level = || rows(&connection, "SHOW transaction_isolation");
    assert_eq!(level(), ["repeatable read"]);
    for sql in [
        "SET gingham.default_isolation = 'read committed'",
        "SET default_transaction_isolation TO 'read committed'",
        "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED",
    ] {
        connection.execute(sql).expect(sql);
        connection.execute("BEGIN").expect("a transaction");
        assert_eq!(level(), ["read committed"], "{sql}");
        connection.execute("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE").expect("nothing was read yet");
        assert_eq!(level(), ["repeatable read"], "{sql}");
        connection.execute("COMMIT; RESET default_transaction_isolation").expect("it ends");
        assert_eq!(level(), ["repeatable read"], "{sql}");
    }
}

#[test]
fn a_transaction_of_the_api_is_ended_once() {
    let connection = connect();
    let open = connection.transaction().expect("a transaction");
    assert_eq!(connection.transaction().expect_err("there is one").sqlstate(), "25001");
    open.execute("COMMIT").expect("a statement ends it");
    assert_eq!(open.commit().expect_err("it has ended").sqlstate(), "25P01");
}

#[test]
fn a_statement_that_locks_is_prepared() {
    let connection = connect();
    connection.execute("CREATE TABLE t (n BIGINT); INSERT INTO t VALUES (1), (2)").expect("a table");
    let prepared = connection.prepare("SELECT n FROM t WHERE n = $1 FOR UPDATE").expect("it is described");
    assert_eq!(prepared.schema().expect("a query has one").field(0).name(), "n");
    let batches = prepared.query(&[2_i64.into()]).and_then(|rows| rows.collect_batches()).expect("rows");
    assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 1);
    assert_eq!(connection.query("FETCH nosuch").expect_err("there is none").sqlstate(), "34000");
    connection.execute("BEGIN; DECLARE c CURSOR FOR SELECT n FROM t").expect("a cursor");
    let mut rows = connection.query("FETCH ALL c").expect("rows");
    rows.by_ref().for_each(|batch| drop(batch.expect("a batch")));
    assert_eq!(rows.tag().to_string(), "FETCH 2");
}
