//! Hundreds of clients that write at a time, more than there are threads for what blocks: each is served, and who has the turn to
//! write goes on however many wait for it.

use crate::rows;
use futures::future::join_all;
use gingham::{Connection, Database, Result};
use std::time::Duration;

/// More than the threads that the runtime has for what blocks.
const CLIENTS: i64 = 600;
/// Long enough for the clients to be in line, if they are at all.
const GATHERED: Duration = Duration::from_millis(500);

/// A database with a table `t` (k, v), and its clients.
fn database(layout: &str) -> (Database, Vec<Connection>) {
    let database = Database::in_memory().expect("a scratch database");
    let table = format!("CREATE TABLE t (k BIGINT PRIMARY KEY, v BIGINT) WITH (layout = '{layout}')");
    database.connect().execute(&table).expect("a table");
    let clients = (0..CLIENTS).map(|_| database.connect()).collect();
    (database, clients)
}

/// Each client runs a statement, all of them at a time.
fn all_at_once(clients: &[Connection], statement: impl Fn(usize) -> String) -> Vec<Result<()>> {
    let statement = &statement;
    let run = |(number, client): (usize, &Connection)| {
        let client = client.clone();
        async move { client.query_async(&statement(number)).await.map(drop) }
    };
    futures::executor::block_on(join_all(clients.iter().enumerate().map(run)))
}

fn expect_all(results: Vec<Result<()>>, what: &str) {
    results.into_iter().for_each(|result| result.unwrap_or_else(|error| panic!("{what}: {error}")));
}

#[test]
fn hundreds_of_clients_write() {
    for layout in ["column", "nsm", "dsm", "pax"] {
        let (database, clients) = database(layout);
        expect_all(all_at_once(&clients, |number| format!("INSERT INTO t VALUES ({number}, 0)")), layout);
        expect_all(all_at_once(&clients, |number| format!("UPDATE t SET v = v + 1 WHERE k = {number}")), layout);
        let found = rows(&database.connect(), "SELECT count(*), sum(v), sum(k) FROM t");
        assert_eq!(found, [format!("{CLIENTS}|{CLIENTS}|{}", CLIENTS * (CLIENTS - 1) / 2)], "{layout}");
    }
}

/// Each statement finds that others have changed the table since it read it, and reads it again with the write lock.
#[test]
fn hundreds_of_clients_change_the_same_record() {
    for layout in ["column", "pax"] {
        let (database, clients) = database(layout);
        database.connect().execute("INSERT INTO t VALUES (1, 0)").expect("a record");
        expect_all(all_at_once(&clients, |_| "UPDATE t SET v = v + 1 WHERE k >= 1".into()), layout);
        assert_eq!(rows(&database.connect(), "SELECT * FROM t"), [format!("1|{CLIENTS}")], "{layout}");
    }
}

#[test]
fn who_has_the_turn_goes_on() {
    for layout in ["column", "pax"] {
        let (database, clients) = database(layout);
        let writer = database.connect();
        writer.execute("BEGIN IMMEDIATE; INSERT INTO t VALUES (-1, 0)").expect("the turn");
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| all_at_once(&clients, |number| format!("INSERT INTO t VALUES ({number}, 0)")));
            std::thread::sleep(GATHERED);
            writer
                .execute("INSERT INTO t VALUES (-2, 0); SAVEPOINT s; UPDATE t SET v = 7; COMMIT")
                .expect("it goes on");
            expect_all(waiting.join().expect("no panic"), layout);
        });
        let found = rows(&database.connect(), "SELECT count(*), sum(v) FROM t");
        assert_eq!(found, [format!("{}|14", CLIENTS + 2)], "{layout}");
    }
}

/// Those who would wait for a thread wait no longer than those who have one.
#[test]
fn a_wait_ends_without_a_thread_too() {
    let (database, clients) = database("column");
    let writer = database.connect();
    writer.execute("BEGIN IMMEDIATE; INSERT INTO t VALUES (-1, 0)").expect("the turn");
    for client in &clients {
        client.execute("SET gingham.lock_timeout = '100 ms'").expect("a setting");
    }
    for result in all_at_once(&clients, |number| format!("INSERT INTO t VALUES ({number}, 0)")) {
        let error = result.expect_err("the turn is taken");
        assert_eq!(error.sqlstate(), "55P03", "{error}");
    }
    writer.execute("COMMIT").expect("nobody kept it");
    assert_eq!(rows(&database.connect(), "SELECT count(*) FROM t"), ["1"]);
}
