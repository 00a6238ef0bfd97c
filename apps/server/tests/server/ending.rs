//! How statements and the server end.

use crate::harness::{Served, code};
use crate::messages::{Wire, message, query};
use nix::sys::signal::Signal;
use std::time::Duration;
use tokio_postgres::NoTls;

const LONG: &str = "SELECT count(*) FROM generate_series(1, 10000000) a, generate_series(1, 100000) b";

#[tokio::test]
async fn a_statement_is_cancelled() {
    let served = Served::start();
    let client = served.client().await;
    let token = client.cancel_token();
    let cancel = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(300)).await;
        token.cancel_query(NoTls).await
    });
    let error = client.simple_query(LONG).await.unwrap_err();
    assert_eq!(code(&error), "57014");
    cancel.await.unwrap().unwrap();
    // The connection goes on.
    assert_eq!(client.query_one("SELECT 1", &[]).await.unwrap().get::<_, i64>(0), 1);
}

/// A wrong key cancels nothing, and nobody is told.
#[test]
fn a_wrong_key_does_nothing() {
    let served = Served::start();
    let mut wire = Wire::ready(served.port());
    for pid in 0..100_u32 {
        let mut stranger = Wire::open(served.port());
        let body = [&[4, 210, 22, 46], pid.to_be_bytes().as_slice(), &[0, 0, 0, 1]].concat();
        stranger.send(&message(0, &body)[1..]);
        assert!(stranger.next().is_none());
    }
    assert_eq!(wire.ask(&[query("SELECT 1")]), "T D C[SELECT 1] ZI");
}

/// A client that leaves cancels its statement, and what it had begun is undone.
#[test]
fn a_client_that_leaves_is_noticed() {
    let served = Served::start();
    let mut wire = Wire::ready(served.port());
    assert_eq!(wire.ask(&[query("CREATE TABLE t (a BIGINT)")]), "C[CREATE TABLE] ZI");
    let mut leaves = Wire::ready(served.port());
    assert_eq!(leaves.ask(&[query("BEGIN; INSERT INTO t VALUES (1)")]), "C[BEGIN] C[INSERT 0 1] ZT");
    leaves.send(&query(LONG));
    drop(leaves);
    // The turn to write is free again.
    assert_eq!(wire.ask(&[query("INSERT INTO t VALUES (2)")]), "C[INSERT 0 1] ZI");
    assert_eq!(wire.ask(&[query("SELECT a FROM t")]), "T D C[SELECT 1] ZI");
}

#[test]
fn the_server_drains() {
    let folder = tempfile::tempdir().unwrap();
    let served = Served::within(folder, "FOLDER/shop.gingham", &["--grace", "60"]);
    let (mut idle, mut busy) = (Wire::ready(served.port()), Wire::ready(served.port()));
    assert_eq!(busy.ask(&[query("CREATE TABLE t (a BIGINT)")]), "C[CREATE TABLE] ZI");
    busy.send(&query("INSERT INTO t SELECT n FROM generate_series(1, 3000000) AS g(n)"));
    std::thread::sleep(Duration::from_millis(200));
    served.signal(Signal::SIGTERM);
    let (letter, body) = idle.next().unwrap();
    assert_eq!((letter, crate::messages::field(&body, b'C')), (b'E', "57P01".into()));
    assert!(idle.next().is_none());
    // What runs goes on to its end.
    let answers = crate::messages::shown(&busy.until_ready());
    assert!(answers.starts_with("C[INSERT 0 3000000] ZI"), "{answers}");
    let (status, folder) = served.wait();
    assert!(status.success());
    let database = gingham::DatabaseOptions::new().create(false).open(folder.path().join("shop.gingham")).unwrap();
    assert_eq!(database.connect().table("t").unwrap().rows(), 3_000_000);
}

#[test]
fn what_does_not_end_in_time_is_cut() {
    let served = Served::with(&["--grace", "0"]);
    let mut busy = Wire::ready(served.port());
    busy.send(&query(LONG));
    std::thread::sleep(Duration::from_millis(200));
    served.signal(Signal::SIGTERM);
    let error = std::iter::from_fn(|| busy.next()).find(|(letter, _)| *letter == b'E').unwrap().1;
    assert_eq!(crate::messages::field(&error, b'C'), "57P01");
    assert!(served.wait().0.success());
}

#[tokio::test]
async fn there_are_only_so_many_sessions() {
    let served = Served::with(&["--max-connections", "2"]);
    let (one, _two) = (served.client().await, served.client().await);
    let error = served.connect("user=tester").await.unwrap_err();
    assert_eq!(code(&error), "53300");
    drop(one);
    for _ in 0..100 {
        if served.connect("user=tester").await.is_ok() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("no place becomes free");
}
