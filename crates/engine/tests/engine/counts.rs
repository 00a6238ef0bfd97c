//! Counting on codes: no batches, and the number that reading the records gives.

use crate::{connect, rows};

/// Conditions over nullable and other columns: none, some and all records; decided by zone maps, by codes, by tests.
const CONDITIONS: &[&str] = &[
    "true",
    "false",
    "a BETWEEN 10 AND 20",
    "a IS NULL",
    "a IS NOT NULL",
    "a <> 11",
    "a IN (3, 50, 96, 12345)",
    "NOT (a < 90 OR s = 'x3')",
    "b > 199000",
    "b >= 0",
    "b < 0 OR s LIKE '%7'",
    "s IS NULL AND b < 70000",
    "a = 5 AND b BETWEEN 65000 AND 66000",
    "a > s_length",
];

#[test]
fn counts_are_those_of_the_records() {
    let connection = connect();
    connection
        .execute(
            "CREATE TABLE t (a INTEGER, b BIGINT NOT NULL, s VARCHAR, s_length INTEGER);
             INSERT INTO t SELECT CASE WHEN value % 13 = 0 THEN NULL ELSE value % 97 END, value,
                 CASE WHEN value % 5 = 0 THEN NULL ELSE 'x' || (value % 11) END, value % 31
                 FROM generate_series(0, 199999) AS g(value);
             OPTIMIZE t;
             INSERT INTO t VALUES (11, 500000, NULL, 1), (NULL, -3, 'x7', 2), (15, -4, 'y', NULL)",
        )
        .expect("a table of several zones and a delta");
    for threads in [1, 2, 5] {
        connection.execute(&format!("SET gingham.threads = {threads}")).expect("a setting");
        for condition in CONDITIONS {
            let read = rows(&connection, &format!("SELECT b FROM t WHERE {condition}")).len();
            let counted = format!("SELECT count(*), count(b), count(1) FROM t WHERE {condition}");
            assert_eq!(
                rows(&connection, &counted),
                [format!("{read}|{read}|{read}")],
                "{condition}, {threads} threads"
            );
            let nulls =
                format!("SELECT count(a), count(*) FILTER (WHERE a > 3), count(DISTINCT s) FROM t WHERE {condition}");
            let cross = format!(
                "SELECT coalesce(sum(CASE WHEN a IS NULL THEN 0 ELSE 1 END), 0),
                     coalesce(sum(CASE WHEN a > 3 THEN 1 ELSE 0 END), 0),
                     (SELECT count(*) FROM (SELECT s FROM t WHERE ({condition}) AND s IS NOT NULL GROUP BY s))
                 FROM t WHERE {condition}"
            );
            assert_eq!(rows(&connection, &nulls), rows(&connection, &cross), "{condition}, {threads} threads");
        }
        let limited = "SELECT count(*) FROM (SELECT b FROM t WHERE a = 5 LIMIT 7)";
        assert_eq!(rows(&connection, limited), ["7"]);
        let grouped = "SELECT count(*) FROM t WHERE b < 6 AND b >= 0 GROUP BY b";
        assert_eq!(rows(&connection, grouped), ["1"; 6]);
        let joined =
            "SELECT count(*) FROM t JOIN (SELECT 7 AS k UNION ALL SELECT 7 UNION ALL SELECT NULL) u ON t.b = u.k";
        assert_eq!(rows(&connection, joined), ["2"]);
        let twice = "SELECT count(*) FROM t WHERE b > 10 UNION ALL SELECT count(*) FROM t WHERE b <= 10";
        let mut twice = rows(&connection, twice);
        twice.sort();
        assert_eq!(twice, ["13", "199990"]);
    }
}

#[test]
fn plans_say_where_records_are_counted() {
    let connection = connect();
    connection.execute("CREATE TABLE t (a INTEGER, b INTEGER NOT NULL)").expect("a table");
    connection.execute("INSERT INTO t VALUES (1, 1), (NULL, 2), (3, 3)").expect("rows");
    let counted =
        |sql: &str| rows(&connection, &format!("EXPLAIN FORMAT indent {sql}")).join("\n").contains("CountExec");
    assert!(counted("SELECT count(*) FROM t WHERE b > 1"));
    assert!(counted("SELECT count(b) FROM t WHERE a > 1"));
    for sql in [
        "SELECT count(a) FROM t WHERE b > 1",
        "SELECT count(DISTINCT b) FROM t WHERE b > 1",
        "SELECT count(*) FILTER (WHERE a = 1) FROM t WHERE b > 1",
        "SELECT count(*) FROM t WHERE b > 1 GROUP BY a",
        "SELECT count(*) FROM (SELECT * FROM t WHERE b > 1 LIMIT 1)",
        "SELECT count(*), sum(b) FROM t WHERE b > 1",
        "SELECT count(*) FROM t WHERE b > a",
    ] {
        assert!(!counted(sql), "{sql}");
    }
}
