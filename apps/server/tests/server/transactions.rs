//! Transactions as the protocol has them. The answers are those of PostgreSQL 15, which was sent the same messages.

use crate::harness::{Served, code};
use crate::messages::{Wire, bind, execute, parse, query, run, sync};

/// Messages, and the answers in short.
fn check(wire: &mut Wire, cases: &[(&str, Vec<Vec<u8>>, &str)]) {
    for (what, messages, expected) in cases {
        assert_eq!(wire.ask(messages), *expected, "{what}");
    }
}

#[test]
fn statements_of_one_text_are_one_transaction() {
    let served = Served::start();
    let mut wire = Wire::ready(served.port());
    check(
        &mut wire,
        &[
            ("create", vec![query("CREATE TABLE t (a INT PRIMARY KEY)")], "C[CREATE TABLE] ZI"),
            (
                "one fails, all are undone",
                vec![query("INSERT INTO t VALUES (1); INSERT INTO t VALUES (1)")],
                "C[INSERT 0 1] E23505 ZI",
            ),
            ("nothing is there", vec![query("SELECT a FROM t")], "T C[SELECT 0] ZI"),
            ("a text that can't be parsed", vec![query("INSERT INTO t VALUES (1); SELEKT")], "E42601 ZI"),
            ("nothing is there", vec![query("SELECT a FROM t")], "T C[SELECT 0] ZI"),
            (
                "BEGIN within keeps what came before",
                vec![query("INSERT INTO t VALUES (1); BEGIN; INSERT INTO t VALUES (2)")],
                "C[INSERT 0 1] C[BEGIN] C[INSERT 0 1] ZT",
            ),
            ("ROLLBACK undoes it too", vec![query("ROLLBACK; SELECT a FROM t")], "C[ROLLBACK] T C[SELECT 0] ZI"),
            (
                "COMMIT within",
                vec![query("INSERT INTO t VALUES (1); COMMIT; INSERT INTO t VALUES (1)")],
                "C[INSERT 0 1] N C[COMMIT] E23505 ZI",
            ),
            ("the first stays", vec![query("SELECT a FROM t")], "T D C[SELECT 1] ZI"),
            ("savepoints are for BEGIN", vec![query("SELECT 1; SAVEPOINT s")], "T D C[SELECT 1] E25P01 ZI"),
            ("VACUUM is alone", vec![query("SELECT 1; VACUUM")], "T D C[SELECT 1] E25001 ZI"),
            ("nothing", vec![query(" ; -- nothing")], "I ZI"),
        ],
    );
}

#[test]
fn a_failed_transaction_takes_its_end_alone() {
    let served = Served::start();
    let mut wire = Wire::ready(served.port());
    check(
        &mut wire,
        &[
            ("create", vec![query("CREATE TABLE t (a INT PRIMARY KEY)")], "C[CREATE TABLE] ZI"),
            ("begin", vec![query("BEGIN")], "C[BEGIN] ZT"),
            ("insert", vec![query("INSERT INTO t VALUES (1)")], "C[INSERT 0 1] ZT"),
            ("savepoint", vec![query("SAVEPOINT s")], "C[SAVEPOINT] ZT"),
            ("fails", vec![query("SELECT 1 / 0")], "T E22012 ZE"),
            ("refused", vec![query("SELECT 1")], "E25P02 ZE"),
            ("refused to be parsed", vec![parse("", "SELECT 1"), sync()], "E25P02 ZE"),
            ("back to", vec![query("ROLLBACK TO s")], "C[ROLLBACK] ZT"),
            ("goes on", vec![query("INSERT INTO t VALUES (2)")], "C[INSERT 0 1] ZT"),
            ("fails again", vec![query("SELEKT")], "E42601 ZE"),
            ("COMMIT rolls back", vec![query("COMMIT")], "C[ROLLBACK] ZI"),
            ("nothing is there", vec![query("SELECT a FROM t")], "T C[SELECT 0] ZI"),
            ("COMMIT with none", vec![query("COMMIT")], "N C[COMMIT] ZI"),
        ],
    );
}

#[test]
fn a_pipeline_is_one_transaction() {
    let served = Served::start();
    let mut wire = Wire::ready(served.port());
    let insert = |value: &str| run("INSERT INTO t VALUES ($1)", &[value]);
    check(
        &mut wire,
        &[
            ("create", vec![query("CREATE TABLE t (a INT PRIMARY KEY)")], "C[CREATE TABLE] ZI"),
            ("two", vec![insert("1"), insert("2"), sync()], "1 2 n C[INSERT 0 1] 1 2 n C[INSERT 0 1] ZI"),
            (
                "the second fails, the third is passed over",
                vec![insert("3"), insert("1"), insert("4"), sync()],
                "1 2 n C[INSERT 0 1] 1 2 n E23505 ZI",
            ),
            ("neither is there", vec![run("SELECT count(*) FROM t", &[]), sync()], "1 2 T D C[SELECT 1] ZI"),
            ("a lone one", vec![insert("3"), sync()], "1 2 n C[INSERT 0 1] ZI"),
            (
                "BEGIN within a pipeline",
                vec![run("BEGIN", &[]), insert("5"), sync()],
                "1 2 n C[BEGIN] 1 2 n C[INSERT 0 1] ZT",
            ),
            (
                "its end in another",
                vec![insert("6"), run("ROLLBACK", &[]), sync()],
                "1 2 n C[INSERT 0 1] 1 2 n C[ROLLBACK] ZI",
            ),
            ("nobody is there who is not asked", vec![bind("", "none", &[]), execute("", 0), sync()], "E26000 ZI"),
        ],
    );
    let mut count = Wire::ready(served.port());
    count.send(&query("SELECT count(*)::text FROM t"));
    let row = count.until_ready().into_iter().find(|(letter, _)| *letter == b'D').unwrap().1;
    assert_eq!(row, b"\0\x01\0\0\0\x013");
}

#[tokio::test]
async fn levels_are_those_of_postgresql() {
    let served = Served::start();
    let (one, two) = (served.client().await, served.client().await);
    one.batch_execute("CREATE TABLE t (a INT) WITH (layout = 'nsm'); INSERT INTO t VALUES (1)").await.unwrap();
    one.batch_execute("BEGIN").await.unwrap();
    let count = "SELECT count(*) FROM t";
    assert_eq!(one.query_one(count, &[]).await.unwrap().get::<_, i64>(0), 1);
    two.batch_execute("INSERT INTO t VALUES (2)").await.unwrap();
    // READ COMMITTED sees what others have committed.
    assert_eq!(one.query_one(count, &[]).await.unwrap().get::<_, i64>(0), 2);
    one.batch_execute("COMMIT; BEGIN ISOLATION LEVEL REPEATABLE READ").await.unwrap();
    assert_eq!(one.query_one(count, &[]).await.unwrap().get::<_, i64>(0), 2);
    two.batch_execute("INSERT INTO t VALUES (3)").await.unwrap();
    assert_eq!(one.query_one(count, &[]).await.unwrap().get::<_, i64>(0), 2);
    let error = one.batch_execute("UPDATE t SET a = 0").await.unwrap_err();
    assert_eq!(code(&error), "40001");
    one.batch_execute("ROLLBACK").await.unwrap();
}
