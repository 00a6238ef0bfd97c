//! pg_cancel_backend and pg_terminate_backend: of what runs, is idle or stands in a transaction, by who may and who may not.

use crate::harness::{Served, code, told};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_postgres::{AsyncMessage, Client, NoTls};

const LONG: &str = "SELECT count(*) FROM generate_series(1, 10000000) a, generate_series(1, 100000) b";

async fn pid(client: &Client) -> i32 {
    client.query_one("SELECT pg_backend_pid()::int", &[]).await.unwrap().get(0)
}

/// The answer of a function about a session.
async fn ask(by: &Client, function: &str, pid: i32) -> Result<bool, tokio_postgres::Error> {
    Ok(by.query_one(&format!("SELECT {function}({pid})"), &[]).await?.get(0))
}

/// Runs a statement that has no end, and waits until another session sees it run.
async fn runs(client: &Arc<Client>, by: &Client, sql: &str) -> JoinHandle<Result<(), tokio_postgres::Error>> {
    let pid = pid(client).await;
    let (own, text) = (Arc::clone(client), sql.to_owned());
    let running = tokio::spawn(async move { own.batch_execute(&text).await });
    let asked = format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {pid} AND state = 'active' AND query = $1");
    while by.query_one(&asked, &[&sql]).await.unwrap().get::<_, i64>(0) == 0 {
        assert!(!running.is_finished(), "{sql}: {:?}", running.await);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    running
}

/// Waits until the server has given a session up.
async fn is_gone(by: &Client, pid: i32) {
    let asked = format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {pid}");
    for _ in 0..6000 {
        if by.query_one(&asked, &[]).await.unwrap().get::<_, i64>(0) == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("session {pid} is there still");
}

#[tokio::test]
async fn what_runs_is_cancelled_or_ended() {
    let served = Served::with_users(&[]);
    let admin = served.user("ada").await;
    admin.batch_execute("CREATE TABLE t (n BIGINT)").await.unwrap();
    let client = Arc::new(served.user("eve").await);
    let own = pid(&client).await;
    for sql in [LONG, "SELECT pg_sleep(1000)", "INSERT INTO t SELECT n FROM generate_series(1, 100000000000) AS g(n)"] {
        let running = runs(&client, &admin, sql).await;
        assert!(ask(&admin, "pg_cancel_backend", own).await.unwrap());
        let (state, text) = told(&running.await.unwrap().unwrap_err());
        assert_eq!((state.as_str(), text.as_str()), ("57014", "canceling statement due to user request"), "{sql}");
    }
    // In a transaction: that has failed, and goes on to its ROLLBACK.
    client.batch_execute("BEGIN; INSERT INTO t VALUES (1)").await.unwrap();
    let running = runs(&client, &admin, LONG).await;
    assert!(ask(&admin, "pg_cancel_backend", own).await.unwrap());
    assert_eq!(code(&running.await.unwrap().unwrap_err()), "57014");
    assert_eq!(code(&client.batch_execute("SELECT 1").await.unwrap_err()), "25P02");
    client.batch_execute("ROLLBACK; BEGIN; INSERT INTO t VALUES (2)").await.unwrap();
    // Ended, its transaction is undone, and others write.
    let running = runs(&client, &admin, LONG).await;
    assert!(ask(&admin, "pg_terminate_backend", own).await.unwrap());
    assert_eq!(code(&running.await.unwrap().unwrap_err()), "57P01");
    is_gone(&admin, own).await;
    assert!(client.is_closed() || client.batch_execute("SELECT 1").await.is_err());
    admin.batch_execute("INSERT INTO t VALUES (3)").await.unwrap();
    assert_eq!(admin.query_one("SELECT sum(n)::bigint FROM t", &[]).await.unwrap().get::<_, i64>(0), 3);
}

#[tokio::test]
async fn who_waits_for_the_turn_to_write_is_cancelled_or_ended() {
    let served = Served::start();
    let (holder, admin) = (served.client().await, served.client().await);
    holder.batch_execute("CREATE TABLE t (n BIGINT)").await.unwrap();
    holder.batch_execute("BEGIN; INSERT INTO t VALUES (1)").await.unwrap();
    for (function, state) in [("pg_cancel_backend", "57014"), ("pg_terminate_backend", "57P01")] {
        let client = Arc::new(served.client().await);
        let running = runs(&client, &admin, "INSERT INTO t VALUES (2)").await;
        assert!(ask(&admin, function, pid_of(&admin, "INSERT INTO t VALUES (2)").await).await.unwrap());
        assert_eq!(code(&running.await.unwrap().unwrap_err()), state);
        drop(client);
    }
    holder.batch_execute("COMMIT").await.unwrap();
    assert_eq!(admin.query_one("SELECT count(*) FROM t", &[]).await.unwrap().get::<_, i64>(0), 1);
}

async fn pid_of(by: &Client, sql: &str) -> i32 {
    let asked = "SELECT pid FROM pg_stat_activity WHERE query = $1 AND state = 'active'";
    by.query_one(asked, &[&sql]).await.unwrap().get(0)
}

#[tokio::test]
async fn what_is_idle_is_not_harmed_by_cancelling_and_is_ended() {
    let served = Served::start();
    let admin = served.client().await;
    admin.batch_execute("CREATE TABLE t (n BIGINT)").await.unwrap();
    for begins in ["SELECT 1", "BEGIN", "BEGIN; INSERT INTO t VALUES (1)"] {
        let client = served.client().await;
        let own = pid(&client).await;
        client.batch_execute(begins).await.unwrap();
        assert!(ask(&admin, "pg_cancel_backend", own).await.unwrap(), "there is such a session");
        client.batch_execute("SELECT 1").await.unwrap();
        assert!(ask(&admin, "pg_terminate_backend", own).await.unwrap());
        let error = client.batch_execute("SELECT 1").await.unwrap_err();
        assert!(error.is_closed() || code(&error) == "57P01", "{error}");
        is_gone(&admin, own).await;
        admin.batch_execute("INSERT INTO t VALUES (2)").await.unwrap();
    }
    assert_eq!(admin.query_one("SELECT sum(n)::bigint FROM t", &[]).await.unwrap().get::<_, i64>(0), 6);
}

/// A client that is ended while it is idle hears why.
#[test]
fn who_is_ended_is_told() {
    use crate::messages::{Wire, field, query};
    let served = Served::start();
    let (mut admin, mut idle) = (Wire::ready(served.port()), Wire::ready(served.port()));
    assert_eq!(idle.ask(&[query("SET application_name = 'idle'")]), "S C[SET] ZI");
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'idle'";
    assert_eq!(admin.ask(&[query(end)]), "T D C[SELECT 1] ZI");
    let hears = |wire: &mut Wire| {
        let (letter, body) = wire.next().unwrap();
        assert_eq!((letter, field(&body, b'S'), field(&body, b'C')), (b'E', "FATAL".into(), "57P01".into()));
        assert!(wire.next().is_none(), "nothing comes behind it");
    };
    hears(&mut idle);
    // One that runs something hears the same, once.
    let mut busy = Wire::ready(served.port());
    assert_eq!(busy.ask(&[query("SET application_name = 'busy'")]), "S C[SET] ZI");
    busy.send(&query("SELECT pg_sleep(1000)"));
    assert_eq!(admin.ask(&[query(&end.replace("idle", "busy"))]), "T D C[SELECT 1] ZI");
    let (letter, _) = busy.next().unwrap();
    if letter == b'T' {
        hears(&mut busy);
    } else {
        assert_eq!((letter, busy.next().is_none()), (b'E', true));
    }
}

#[tokio::test]
async fn a_session_may_stop_itself() {
    let served = Served::with_users(&[]);
    for name in ["ada", "eve", "bob"] {
        let client = served.user(name).await;
        let own = pid(&client).await;
        let error = ask(&client, "pg_cancel_backend", own).await.unwrap_err();
        assert_eq!(code(&error), "57014", "{name}");
        client.batch_execute("SELECT 1").await.unwrap();
        let error = ask(&client, "pg_terminate_backend", own).await.unwrap_err();
        assert_eq!(code(&error), "57P01", "{name}");
        assert!(client.batch_execute("SELECT 1").await.is_err(), "{name}");
    }
}

#[tokio::test]
async fn roles_say_whom() {
    let served = Served::with_users(&[]);
    let admin = served.user("ada").await;
    for (by, of, may) in [
        ("bob", "bob", true),
        ("eve", "eve", true),
        ("ada", "bob", true),
        ("bob", "eve", false),
        ("eve", "bob", false),
        ("eve", "ada", false),
    ] {
        let (client, target) = (served.user(by).await, Arc::new(served.user(of).await));
        let own = pid(&target).await;
        let running = runs(&target, &admin, LONG).await;
        let cancelled = ask(&client, "pg_cancel_backend", own).await;
        if may {
            assert!(cancelled.unwrap());
        } else {
            for error in [cancelled.unwrap_err(), ask(&client, "pg_terminate_backend", own).await.unwrap_err()] {
                let (state, text) = told(&error);
                assert_eq!(state, "42501", "{by} of {of}: {text}");
                assert!(text.contains(&format!("of user '{of}' needs role admin; user '{by}' has role")), "{text}");
            }
            assert!(!running.is_finished());
            assert!(ask(&admin, "pg_cancel_backend", own).await.unwrap());
        }
        assert_eq!(code(&running.await.unwrap().unwrap_err()), "57014", "{by} of {of}");
        // What others run is not shown either.
        let asked = format!("SELECT query FROM pg_stat_activity WHERE pid = {own}");
        let seen: String = client.query_one(&asked, &[]).await.unwrap().get(0);
        assert_eq!(seen == "<insufficient privilege>", !may, "{by} of {of}: {seen}");
    }
}

#[tokio::test]
async fn numbers_that_nobody_has_are_a_warning() {
    let served = Served::start();
    let config = format!("host=127.0.0.1 port={} user=tester", served.port());
    let (client, mut connection) = tokio_postgres::connect(&config, NoTls).await.unwrap();
    let notices = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&notices);
    tokio::spawn(async move {
        while let Some(Ok(message)) = std::future::poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notice(notice) = message {
                heard.lock().unwrap().push(format!("{} {}", notice.code().code(), notice.message()));
            }
        }
    });
    for function in ["pg_cancel_backend", "pg_terminate_backend"] {
        for pid in [2_147_483_000, -1, 0] {
            assert!(!ask(&client, function, pid).await.unwrap());
            let text = format!("01000 PID {pid} is not a session of this database");
            assert_eq!(std::mem::take(&mut *notices.lock().unwrap()), [text]);
        }
        // One that has gone.
        let gone = served.client().await;
        let number = pid(&gone).await;
        drop(gone);
        is_gone(&client, number).await;
        assert!(!ask(&client, function, number).await.unwrap());
        notices.lock().unwrap().clear();
    }
}
