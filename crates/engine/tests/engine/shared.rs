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
