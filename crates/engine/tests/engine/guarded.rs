//! Guards over segments of several zones: the error of a row that is asked is the statement's, and rows that are not asked fail nothing.

use crate::{connect, failure, rows};

#[test]
fn an_error_of_a_row_that_asks_is_the_error() {
    let connection = connect();
    connection
        .execute(
            "CREATE TABLE t AS SELECT value AS id, CASE WHEN value % 3 > 0 THEN value % 3 = 1 END AS f,
                 CAST(value % 5 AS INTEGER) AS y, 'x' || value AS s FROM generate_series(0, 69999)",
        )
        .expect("a table");
    for (sql, error) in [
        ("SELECT (f AND 10 / y > 4) IS FALSE, count(*) FROM t GROUP BY 1", "division by zero"),
        ("SELECT (f OR 10 / y > 4) IS FALSE, count(*) FROM t GROUP BY 1", "division by zero"),
        ("SELECT count(*) FROM t WHERE (f AND 10 / y > 4) IS FALSE", "division by zero"),
        ("SELECT count(*) FILTER (WHERE f AND 10 / y > 4) FROM t WHERE f IS NULL", "division by zero"),
        ("SELECT CASE WHEN f AND CAST(s AS INTEGER) > 4 THEN 1 END FROM t WHERE f IS NULL", "not a valid INTEGER"),
    ] {
        let found = failure(&connection, sql).to_string();
        assert!(found.contains(error), "{sql}: {found}");
    }
    // WHERE and ON ask no further where a part of AND is not true, NULL or false.
    let asked = "SELECT count(*) FROM t WHERE (f OR id < 0) AND 10 / (CASE WHEN f THEN 5 ELSE 0 END) > 1 AND y = y";
    assert_eq!(rows(&connection, asked), ["23333"]);
}
