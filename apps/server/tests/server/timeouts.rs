//! Statements, waits, sessions and transactions that take too long: what each client is told, what becomes of its transaction, and
//! that nobody else notices. No time is asserted, only what comes of it.

use crate::harness::{Served, code, told};
use crate::messages::{Wire, bind, execute, field, message, parse, query, shown, sync};
use std::time::Duration;
use tokio_postgres::Client;

const LONG: &str = "SELECT count(*) FROM generate_series(1, 10000000) a, generate_series(1, 100000) b";

async fn number(client: &Client, sql: &str) -> i64 {
    client.query_one(sql, &[]).await.unwrap().get(0)
}

/// A server with an empty table `t (n)`.
async fn with_table() -> (Served, Client) {
    let served = Served::start();
    let other = served.client().await;
    other.batch_execute("CREATE TABLE t (n BIGINT)").await.unwrap();
    (served, other)
}

#[tokio::test]
async fn statements_that_take_too_long_are_cancelled() {
    let (served, other) = with_table().await;
    let client = served.client().await;
    let expected = |error: &tokio_postgres::Error| {
        let (state, text) = told(error);
        assert_eq!(state, "57014", "{text}");
        assert!(text.contains("statement_timeout"), "{text}");
    };
    client.batch_execute("SET statement_timeout = '150ms'").await.unwrap();
    for sql in [LONG, "SELECT pg_sleep(1000)", "INSERT INTO t SELECT n FROM generate_series(1, 100000000000) AS g(n)"] {
        expected(&client.batch_execute(sql).await.unwrap_err());
        expected(&client.execute(sql, &[]).await.unwrap_err());
    }
    // One of a text takes the others along.
    expected(&client.batch_execute(&format!("INSERT INTO t VALUES (1); {LONG}")).await.unwrap_err());
    assert_eq!(number(&other, "SELECT count(*) FROM t").await, 0);
    // A transaction has failed then like after any error, and a limit of its own goes with it.
    client.batch_execute("SET statement_timeout = 0").await.unwrap();
    client.batch_execute("BEGIN; INSERT INTO t VALUES (1); SET LOCAL statement_timeout = '100ms'").await.unwrap();
    expected(&client.batch_execute(LONG).await.unwrap_err());
    assert_eq!(code(&client.batch_execute("SELECT 1").await.unwrap_err()), "25P02");
    client.batch_execute("ROLLBACK").await.unwrap();
    client.batch_execute("SELECT pg_sleep(0.3)").await.unwrap();
    assert_eq!(number(&other, "SELECT count(*) FROM t").await, 0);
}

#[tokio::test]
async fn waits_for_the_turn_to_write_end() {
    let (served, holder) = with_table().await;
    let client = served.client().await;
    holder.batch_execute("BEGIN; INSERT INTO t VALUES (1)").await.unwrap();
    client.batch_execute("SET lock_timeout = '100ms'").await.unwrap();
    assert_eq!(code(&client.batch_execute("INSERT INTO t VALUES (2)").await.unwrap_err()), "55P03");
    assert_eq!(code(&client.execute("INSERT INTO t VALUES (2)", &[]).await.unwrap_err()), "55P03");
    client.batch_execute("BEGIN; SELECT 1").await.unwrap();
    assert_eq!(code(&client.batch_execute("INSERT INTO t VALUES (2)").await.unwrap_err()), "55P03");
    assert_eq!(code(&client.batch_execute("SELECT 1").await.unwrap_err()), "25P02");
    client.batch_execute("ROLLBACK").await.unwrap();
    // Reading waits for nobody, and the holder was not disturbed.
    assert_eq!(number(&client, "SELECT count(*) FROM t").await, 0);
    holder.batch_execute("INSERT INTO t VALUES (3); COMMIT").await.unwrap();
    client.batch_execute("INSERT INTO t VALUES (4)").await.unwrap();
    assert_eq!(number(&client, "SELECT count(*) FROM t").await, 3);
}

/// The error with which a connection ends.
fn farewell(wire: &mut Wire) -> (String, String, String) {
    let (letter, body) = wire.next().expect("a farewell");
    assert_eq!(letter, b'E');
    assert!(wire.next().is_none(), "the connection ends with it");
    (field(&body, b'S'), field(&body, b'C'), field(&body, b'M'))
}

#[test]
fn idle_sessions_are_ended() {
    let served = Served::start();
    let mut other = Wire::ready(served.port());
    for sql in ["SET idle_session_timeout = '200ms'", "SET gingham.idle_session_timeout = '200ms'"] {
        let mut wire = Wire::ready(served.port());
        assert_eq!(wire.ask(&[query(sql)]), "C[SET] ZI");
        let (severity, state, text) = farewell(&mut wire);
        assert_eq!((severity.as_str(), state.as_str()), ("FATAL", "57P05"), "{sql}: {text}");
        assert!(text.contains("idle_session_timeout"), "{text}");
    }
    // Within a transaction, and while a statement runs, a session is not idle.
    let mut wire = Wire::ready(served.port());
    assert_eq!(wire.ask(&[query("SET idle_session_timeout = '200ms'; BEGIN")]), "C[SET] C[BEGIN] ZT");
    std::thread::sleep(Duration::from_millis(600));
    assert_eq!(wire.ask(&[query("SELECT pg_sleep(0.6)")]), "T D C[SELECT 1] ZT");
    assert_eq!(wire.ask(&[query("COMMIT")]), "C[COMMIT] ZI");
    assert_eq!(farewell(&mut wire).1, "57P05");
    assert_eq!(other.ask(&[query("SELECT 1")]), "T D C[SELECT 1] ZI");
}

/// Waits until a session's transaction was rolled back, as another session sees it.
async fn is_rolled_back(other: &Client, user: &str) {
    let asked = format!("SELECT state FROM pg_stat_activity WHERE usename = '{user}'");
    for _ in 0..6000 {
        let state: String = other.query_one(&asked, &[]).await.unwrap().get(0);
        if state == "idle in transaction (aborted)" {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it is not rolled back");
}

#[tokio::test]
async fn transactions_that_stand_still_are_rolled_back() {
    let (served, other) = with_table().await;
    for (setting, begins, writes) in [
        ("idle_in_transaction_session_timeout", "BEGIN; SELECT 1", false),
        ("idle_in_transaction_session_timeout", "BEGIN; INSERT INTO t VALUES (1)", true),
        ("gingham.idle_in_transaction_timeout", "BEGIN; INSERT INTO t VALUES (1)", true),
        ("gingham.idle_writer_timeout", "BEGIN; INSERT INTO t VALUES (1)", true),
    ] {
        let client = served.connect("user=idler").await.unwrap();
        client.batch_execute(&format!("SET {setting} = '100ms'; {begins}")).await.unwrap();
        if writes {
            // Whoever waits gets the turn when the transaction is rolled back.
            other.batch_execute("INSERT INTO t VALUES (2)").await.unwrap();
        }
        is_rolled_back(&other, "idler").await;
        for _ in 0..2 {
            assert_eq!(code(&client.batch_execute("SELECT 1").await.unwrap_err()), "25P03", "{setting}");
            assert_eq!(code(&client.execute("SELECT 1", &[]).await.unwrap_err()), "25P03", "{setting}");
        }
        client.batch_execute("ROLLBACK").await.unwrap();
        client.batch_execute(&format!("SET {setting} = 0")).await.unwrap();
        assert_eq!(number(&client, "SELECT count(*) FROM t WHERE n = 1").await, 0, "{setting}");
        client.batch_execute("BEGIN; INSERT INTO t VALUES (3); COMMIT; DELETE FROM t").await.unwrap();
    }
}

/// Who has written nothing may stand still for the idle writer's limit, and COMMIT of one who was rolled back fails.
#[tokio::test]
async fn only_writers_keep_others_waiting() {
    let (served, other) = with_table().await;
    let client = served.connect("user=idler").await.unwrap();
    let limit = client.query_one("SHOW gingham.idle_writer_timeout", &[]).await.unwrap();
    assert_eq!(limit.get::<_, &str>(0), "1 min", "what sessions of a server begin with");
    client.batch_execute("SET gingham.idle_writer_timeout = '100ms'; BEGIN; SELECT count(*) FROM t").await.unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    client.batch_execute("INSERT INTO t VALUES (1)").await.unwrap();
    is_rolled_back(&other, "idler").await;
    assert_eq!(code(&client.batch_execute("COMMIT").await.unwrap_err()), "25P03");
    client.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(number(&other, "SELECT count(*) FROM t").await, 0);
}

/// A server with a table, and two clients who speak by bare messages.
fn two_with_table() -> (Served, Wire, Wire) {
    let served = Served::start();
    let (wire, mut other) = (Wire::ready(served.port()), Wire::ready(served.port()));
    assert_eq!(other.ask(&[query("CREATE TABLE t (n BIGINT)")]), "C[CREATE TABLE] ZI");
    (served, wire, other)
}

/// The transaction around a pipeline, whose end the client never sends.
#[test]
fn pipelines_that_stand_still_are_rolled_back() {
    let (_served, mut wire, mut other) = two_with_table();
    assert_eq!(wire.ask(&[query("SET gingham.idle_writer_timeout = '100ms'")]), "C[SET] ZI");
    let insert = [parse("", "INSERT INTO t VALUES (1)"), bind("", "", &[]), execute("", 0)].concat();
    wire.send(&[insert, message(b'H', &[])].concat());
    let answers: Vec<_> = (0..3).map(|_| wire.next().unwrap()).collect();
    assert_eq!(shown(&answers), "1 2 C[INSERT 0 1]");
    assert_eq!(other.ask(&[query("INSERT INTO t VALUES (2)")]), "C[INSERT 0 1] ZI");
    wire.send(&sync());
    assert_eq!(shown(&wire.until_ready()), "E25P03 ZI");
    assert_eq!(other.ask(&[query("DELETE FROM t")]), "C[DELETE 1] ZI");
    assert_eq!(wire.ask(&[query("INSERT INTO t VALUES (3)")]), "C[INSERT 0 1] ZI");
}

/// A COPY whose rows don't come.
#[test]
fn copies_that_stand_still_are_cancelled() {
    let (_served, mut wire, mut other) = two_with_table();
    assert_eq!(wire.ask(&[query("SET statement_timeout = '200ms'")]), "C[SET] ZI");
    wire.send(&query("COPY t FROM STDIN"));
    assert_eq!(wire.next().unwrap().0, b'G');
    wire.send(&message(b'd', b"1\n"));
    // Nobody waits for it meanwhile.
    assert_eq!(other.ask(&[query("INSERT INTO t VALUES (2)")]), "C[INSERT 0 1] ZI");
    std::thread::sleep(Duration::from_millis(600));
    wire.send(&[message(b'd', b"3\n"), message(b'c', b"")].concat());
    assert_eq!(shown(&wire.until_ready()), "E57014 ZI");
    assert_eq!(other.ask(&[query("DELETE FROM t")]), "C[DELETE 1] ZI");
    assert_eq!(wire.ask(&[query("SET statement_timeout = 0; SELECT 1")]), "C[SET] T D C[SELECT 1] ZI");
}
