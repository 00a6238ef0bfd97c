//! Portals: rows by portions, and how long they are there.

use crate::harness::Served;
use crate::messages::{Wire, bind, close, describe, execute, flush, parse, query, run, sync};

#[test]
fn rows_come_by_portions() {
    let served = Served::start();
    let mut wire = Wire::ready(served.port());
    let sql = "SELECT n FROM generate_series(1, 5) AS g(n)";
    let begin = [parse("s", sql), bind("p", "s", &[]), execute("p", 2)].concat();
    assert_eq!(wire.ask(&[query("BEGIN")]), "C[BEGIN] ZT");
    assert_eq!(
        wire.ask(&[begin, execute("p", 2), execute("p", 2), execute("p", 2), sync()]),
        "1 2 D D s D D s D C[SELECT 1] C[SELECT 0] ZT"
    );
    // Another one is there until it is closed, or the transaction ends.
    assert_eq!(wire.ask(&[bind("q", "s", &[]), execute("q", 1), sync()]), "2 D s ZT");
    assert_eq!(wire.ask(&[bind("q", "s", &[]), sync()]), "E42P03 ZE");
    assert_eq!(wire.ask(&[query("ROLLBACK")]), "C[ROLLBACK] ZI");
    assert_eq!(wire.ask(&[execute("q", 1), sync()]), "E34000 ZI");
    assert_eq!(
        wire.ask(&[bind("q", "s", &[]), execute("q", 1), close(b'P', "q"), execute("q", 1), sync()]),
        "2 D s 3 E34000 ZI"
    );
    // Outside of a transaction it ends with Sync.
    assert_eq!(wire.ask(&[bind("q", "s", &[]), execute("q", 1), sync()]), "2 D s ZI");
    assert_eq!(wire.ask(&[execute("q", 1), sync()]), "E34000 ZI");
}

#[test]
fn statements_are_there_until_they_are_closed() {
    let served = Served::start();
    let mut wire = Wire::ready(served.port());
    assert_eq!(wire.ask(&[parse("s", "SELECT 1"), parse("s", "SELECT 2"), sync()]), "1 E42P05 ZI");
    assert_eq!(wire.ask(&[parse("", "SELECT 1"), parse("", "SELECT 2"), sync()]), "1 1 ZI");
    assert_eq!(wire.ask(&[describe(b'S', "s"), close(b'S', "s"), describe(b'S', "s"), sync()]), "t T 3 E26000 ZI");
    assert_eq!(wire.ask(&[parse("s", "SELECT 1"), sync()]), "1 ZI");
    assert_eq!(wire.ask(&[query("DEALLOCATE s")]), "C[DEALLOCATE] ZI");
    assert_eq!(wire.ask(&[bind("", "s", &[]), sync()]), "E26000 ZI");
    assert_eq!(wire.ask(&[parse("s", "SELECT 1"), parse("r", ""), sync()]), "1 1 ZI");
    assert_eq!(wire.ask(&[bind("", "r", &[]), describe(b'P', ""), execute("", 0), sync()]), "2 n I ZI");
    assert_eq!(wire.ask(&[query("DISCARD ALL")]), "C[DISCARD ALL] ZI");
    assert_eq!(wire.ask(&[parse("s", "SELECT 1"), parse("r", ""), sync()]), "1 1 ZI");
    assert_eq!(wire.ask(&[close(b'S', "nobody"), close(b'P', "nobody"), sync()]), "3 3 ZI");
}

#[test]
fn answers_come_at_once_when_they_are_asked_for() {
    let served = Served::start();
    let mut wire = Wire::ready(served.port());
    wire.send(&[run("SELECT 1", &[]), flush()].concat());
    let letters: Vec<u8> = (0..5).map(|_| wire.next().unwrap().0).collect();
    assert_eq!(letters, b"12TDC");
    assert_eq!(wire.ask(&[sync()]), "ZI");
}

/// A statement that only tells its columns when it runs is described all the same.
#[test]
fn every_statement_is_described() {
    let served = Served::start();
    let mut wire = Wire::ready(served.port());
    let cases = [
        ("SHOW server_version", "1 t T 2 T D C[SHOW] ZI"),
        ("CREATE TABLE t (a INT)", "1 t n 2 n C[CREATE TABLE] ZI"),
        ("EXPLAIN SELECT 1", "1 t T 2 T D C[EXPLAIN] ZI"),
        ("INSERT INTO t VALUES (1) RETURNING a", "1 t T 2 T D C[INSERT 0 1] ZI"),
        ("SET application_name = 'x'", "1 t n 2 n S C[SET] ZI"),
        ("VACUUM", "1 t n 2 n C[VACUUM] ZI"),
    ];
    for (sql, expected) in cases {
        let messages =
            [parse("", sql), describe(b'S', ""), bind("", "", &[]), describe(b'P', ""), execute("", 0), sync()];
        let mut found = wire.ask(&messages);
        while found.contains("D D") {
            found = found.replace("D D", "D");
        }
        assert_eq!(found, expected, "{sql}");
    }
}

/// Rows of another shape than the client was told of are refused.
#[test]
fn a_changed_table_is_told() {
    let served = Served::start();
    let mut wire = Wire::ready(served.port());
    assert_eq!(wire.ask(&[query("CREATE TABLE t (a INT)")]), "C[CREATE TABLE] ZI");
    assert_eq!(
        wire.ask(&[parse("s", "SELECT * FROM t"), bind("", "s", &[]), execute("", 0), sync()]),
        "1 2 C[SELECT 0] ZI"
    );
    assert_eq!(wire.ask(&[query("ALTER TABLE t ADD COLUMN b TEXT")]), "C[ALTER TABLE] ZI");
    assert_eq!(wire.ask(&[bind("", "s", &[]), execute("", 0), sync()]), "2 E0A000 ZI");
}
