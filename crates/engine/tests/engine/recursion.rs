//! WITH RECURSIVE: what its answers alone don't show (tests/sql/queries/recursion.slt has these).

use crate::{connect, failure, rows};
use arrow::array::{ArrayRef, Int64Array, RecordBatch, RecordBatchIterator};
use gingham::DatabaseOptions;
use std::sync::Arc;

/// Every row becomes two, so that the last round has 2^`rounds` of them.
fn doubling(union: &str, rounds: u32) -> String {
    format!(
        "WITH RECURSIVE r (n, d) AS (SELECT 1::BIGINT, 0 {union} SELECT n * 2 + v, d + 1 FROM r, generate_series(0, 1) g(v)
            WHERE d < {rounds}) SELECT count(*), sum(n), count(DISTINCT d) FROM r"
    )
}

#[test]
fn rounds_go_to_files_where_memory_ends() {
    let options = DatabaseOptions::new().memory_limit(8 << 20).threads(2);
    let connection = options.temporary().expect("a database").connect();
    // The last round has 2^19 rows of 12 bytes.
    let total = (1_i64 << 20) - 1;
    assert_eq!(rows(&connection, &doubling("UNION ALL", 19)), [format!("{total}|{}|20", total * (total + 1) / 2)]);
}

#[test]
fn rows_of_union_that_need_more_memory_than_there_is_are_an_error_by_name() {
    let options = DatabaseOptions::new().memory_limit(8 << 20).threads(2);
    let connection = options.temporary().expect("a database").connect();
    assert_eq!(rows(&connection, &doubling("UNION", 10)), ["2047|2096128|11"]);
    let error = failure(&connection, &doubling("UNION", 24));
    assert_eq!(error.sqlstate(), "53200", "{error}");
    assert!(error.to_string().contains("recursive query r"), "{error}");
}

/// A stream gives its rows once.
#[test]
fn the_table_of_a_join_is_built_once() {
    let connection = connect();
    let column = |values: Vec<i64>| Arc::new(Int64Array::from(values)) as ArrayRef;
    let of = |values: Vec<i64>| RecordBatch::try_from_iter([("n", column(values))]).unwrap();
    for (join, expected) in [
        ("JOIN s ON s.n = r.n", "600|600"),
        ("LEFT JOIN s ON s.n = r.n AND r.n > 1000", "600|600"),
        ("WHERE EXISTS (SELECT 1 FROM s WHERE s.n = r.n) AND 1 = 1", "600|600"),
        ("WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.n = r.n + 1000) AND 1 = 1", "600|600"),
    ] {
        let batch = of((1..=700).collect());
        connection
            .register_stream("s", Box::new(RecordBatchIterator::new([Ok(batch.clone())], batch.schema())))
            .unwrap();
        let (join, condition) = join.split_once("WHERE").map_or((join, "TRUE"), |(join, condition)| (join, condition));
        let sql = format!(
            "WITH RECURSIVE r (n) AS (SELECT 1::BIGINT UNION ALL SELECT r.n + 1 FROM r {join} WHERE {condition} AND r.n < 600)
                SELECT count(*), max(n) FROM r"
        );
        assert_eq!(rows(&connection, &sql), [expected], "{sql}");
    }
}

/// Rows without end are made as far as somebody reads them, in each run of a plan that is kept.
#[test]
fn readers_of_rows_without_end_get_theirs() {
    let connection = connect();
    let prepared = "PREPARE p AS WITH RECURSIVE r (n) AS (SELECT $1::BIGINT UNION ALL SELECT n + 1 FROM r)
        SELECT (SELECT n FROM r LIMIT 1 OFFSET 3000), (SELECT sum(n) FROM (SELECT n FROM r LIMIT 10) q),
            (SELECT count(*) FROM (SELECT n FROM r LIMIT 2) x, (SELECT n FROM r LIMIT 3) y)";
    connection.execute(prepared).expect("a query");
    for first in [1, 1, 50] {
        let expected = format!("{}|{}|6", first + 3000, 10 * first + 45);
        assert_eq!(rows(&connection, &format!("EXECUTE p({first})")), [expected]);
    }
}

/// Rows that a reader asked for come before the error of a step behind them.
#[test]
fn a_step_that_fails_fails_whoever_asks_for_it() {
    let connection = connect();
    let sql = |limit: usize| {
        format!(
            "WITH RECURSIVE r (n) AS (SELECT 90 UNION ALL SELECT n - 1 + 0 / (n - 1) FROM r) SELECT n FROM r LIMIT {limit}"
        )
    };
    assert_eq!(rows(&connection, &sql(90)).len(), 90);
    assert_eq!(failure(&connection, &sql(91)).sqlstate(), "22012");
}
