//! Rows that a statement computes once and reads in several places.

use crate::{connect, failure, rows};
use gingham::DatabaseOptions;

#[test]
fn they_go_to_a_file_where_memory_ends() {
    let options = DatabaseOptions::new().memory_limit(32 << 20).threads(2);
    let connection = options.temporary().expect("a database").connect();
    // Some 60 MB of rows.
    connection
        .execute("CREATE TABLE wide AS SELECT value AS id, repeat('x', 200) || value AS text FROM generate_series(1, 300000)")
        .expect("a table");
    let sql = "WITH q AS MATERIALIZED (SELECT id, text FROM wide)
               SELECT count(*), sum(id), max(length(text)) FROM (SELECT * FROM q UNION ALL SELECT * FROM q WHERE id > 299990)";
    assert_eq!(rows(&connection, sql), ["300010|45003149955|206"]);
}

#[test]
fn they_are_the_same_for_all_readers_and_others_in_the_next_run() {
    let connection = connect();
    connection.execute("CREATE TABLE t AS SELECT value AS a FROM generate_series(1, 50)").expect("a table");
    let same =
        "WITH q AS (SELECT a, random() AS r FROM t) SELECT count(*) FROM q x JOIN q y ON x.a = y.a AND x.r = y.r";
    assert_eq!(rows(&connection, same), ["50"]);
    let prepared = connection
        .prepare("WITH q AS (SELECT random() AS r FROM t LIMIT 1) SELECT x.r FROM q x, q y")
        .expect("a query");
    let run = || prepared.query(&[]).expect("rows").collect_batches().expect("rows");
    assert_ne!(run(), run());
}

#[test]
fn an_error_in_them_is_told_by_its_words() {
    let connection = connect();
    connection.execute("CREATE TABLE t AS SELECT value AS a FROM generate_series(0, 3)").expect("a table");
    let sql = "WITH q AS MATERIALIZED (SELECT 6 / a AS b FROM t) SELECT count(*) FROM q x JOIN q y ON x.b = y.b";
    let error = failure(&connection, sql);
    assert!(error.to_string().contains("zero"), "{error}");
}

/// The number of lines that a query's plans take: a measure of the work of planning it.
fn plan_lines(connection: &gingham::Connection, sql: &str) -> usize {
    rows(connection, &format!("EXPLAIN FORMAT indent {sql}")).iter().map(|row| row.lines().count()).sum()
}

/// Each names the one before twice, so that naming them all out would double with each.
#[test]
fn chains_of_queries_grow_with_their_length() {
    let connection = connect();
    connection.execute("CREATE TABLE t AS SELECT value AS id FROM generate_series(1, 100)").expect("a table");
    let products = |length: i64| {
        let next = |at: i64| {
            let before = at - 1;
            format!(", c{at} AS (SELECT min(p.x) + max(q.x) % 7 AS x FROM c{before} p CROSS JOIN c{before} q)")
        };
        let chain: String = (1..=length).map(next).collect();
        format!("WITH c0 AS (SELECT max(id) AS x FROM t){chain} SELECT x FROM c{length}")
    };
    let filters = |length: i64| {
        let next = |at: i64| {
            let (before, divisor) = (at - 1, at + 1);
            format!(
                ", c{at} AS (SELECT id FROM c{before} WHERE id IN (SELECT id FROM c{before} WHERE id % {divisor} <> 0))"
            )
        };
        let chain: String = (1..=length).map(next).collect();
        format!("WITH c0 AS (SELECT id FROM t){chain} SELECT count(*) FROM c{length}")
    };
    for length in [1, 2, 5, 9, 16, 33] {
        let last = (0..length).fold(100, |x, _| x + x % 7);
        assert_eq!(rows(&connection, &products(length)), [last.to_string()], "{length}");
        let left = (1..=100).filter(|id| (2..=length + 1).all(|divisor| id % divisor != 0)).count();
        assert_eq!(rows(&connection, &filters(length)), [left.to_string()], "{length}");
    }
    for (name, chain) in [("products", &products as &dyn Fn(i64) -> String), ("filters", &filters)] {
        let (once, twice) = (plan_lines(&connection, &chain(11)), plan_lines(&connection, &chain(22)));
        assert!(twice <= 3 * once, "{name}: {once} lines of 11 queries, {twice} of 22");
    }
}
