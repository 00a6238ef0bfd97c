//! Overflow is an error wherever it happens, and arithmetic keeps its column names.

use crate::{connect, failure, rows};

#[test]
fn integers_that_overflow_fail_with_the_operation() {
    let connection = connect();
    connection.execute("CREATE TABLE t (a TINYINT, b BIGINT, u INT UNSIGNED)").unwrap();
    connection
        .execute("INSERT INTO t VALUES (127, 9223372036854775807, 0), (-128, -5, 1), (NULL, NULL, NULL)")
        .unwrap();
    connection.execute("CREATE VIEW v AS SELECT b + 1 AS more FROM t").unwrap();
    for (sql, text) in [
        ("SELECT 9223372036854775807 + 1", "9223372036854775807 + 1 is out of range for BIGINT"),
        ("SELECT a + 1 FROM (SELECT 9223372036854775807 AS a)", "9223372036854775807 + 1 is out of range for BIGINT"),
        ("SELECT a + a FROM t", "127 + 127 is out of range for TINYINT"),
        ("SELECT a * a FROM t", "127 * 127 is out of range for TINYINT"),
        ("SELECT -a FROM t", "-(-128) is out of range for TINYINT"),
        ("SELECT -(arrow_cast(-128, 'Int8'))", "-(-128) is out of range for TINYINT"),
        ("SELECT u - arrow_cast(1, 'UInt32') FROM t", "0 - 1 is out of range for INTEGER UNSIGNED"),
        ("SELECT count(*) FROM t WHERE b * 2 > 0", "9223372036854775807 * 2"),
        ("SELECT b FROM t ORDER BY b + 1", "9223372036854775807 + 1"),
        ("SELECT b + 1, count(*) FROM t GROUP BY b + 1", "9223372036854775807 + 1"),
        ("SELECT x.b FROM t x JOIN t y ON x.b + 1 = y.b", "9223372036854775807 + 1"),
        ("SELECT CASE WHEN b > 0 THEN b + 1 ELSE 0 END FROM t", "9223372036854775807 + 1"),
        ("SELECT (SELECT max(b + 1) FROM t)", "9223372036854775807 + 1"),
        (
            "SELECT sum(b) OVER (ORDER BY a ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM (SELECT 1 AS a, 99999999999999999999999999999999999999 AS b UNION ALL SELECT 2, 1)",
            "sum",
        ),
        ("SELECT * FROM v", "9223372036854775807 + 1"),
        (
            "SELECT sum(b) FROM (SELECT 99999999999999999999999999999999999999 AS b UNION ALL SELECT 1)",
            "sum has more than 38 digits",
        ),
        (
            "SELECT a, sum(b) FROM (SELECT 1 AS a, 99999999999999999999999999999999999999 AS b UNION ALL SELECT 1, 1) GROUP BY a",
            "sum has more than 38 digits",
        ),
    ] {
        let error = failure(&connection, sql).to_string();
        assert!(error.contains("overflow") && error.contains(text), "{sql}: {error}");
    }
    let prepared = connection.prepare("SELECT b + $1 FROM t WHERE b > 0").unwrap();
    let error = prepared.query(&[1i64.into()]).unwrap().collect_batches().unwrap_err().to_string();
    assert!(error.contains("9223372036854775807 + 1"), "{error}");
}

#[test]
fn what_fits_is_computed() {
    let connection = connect();
    assert_eq!(
        rows(&connection, "SELECT 9223372036854775806 + 1, -9223372036854775807 - 1, 3 * -7, -(5)"),
        ["9223372036854775807|-9223372036854775808|-21|-5"]
    );
    // A sum may leave the type on its way, whatever the order of the rows.
    let sql =
        "SELECT sum(b) FROM (VALUES (9223372036854775807), (9223372036854775807), (-9223372036854775807)) AS t(b)";
    assert_eq!(rows(&connection, sql), ["9223372036854775807"]);
    assert_eq!(
        rows(
            &connection,
            "SELECT CASE WHEN a < 0 THEN a - 1 ELSE 0 END FROM (VALUES (9223372036854775807), (1)) AS t(a)"
        ),
        ["0", "0"]
    );
    assert_eq!(rows(&connection, "SELECT NULL + 1, sum(a) FROM (VALUES (CAST(NULL AS BIGINT))) AS t(a)"), ["|"]);
    assert_eq!(
        rows(
            &connection,
            "SELECT sum(a) FILTER (WHERE a > 1), sum(DISTINCT a) FROM (VALUES (1), (2), (2), (NULL)) AS t(a)"
        ),
        ["4|3"]
    );
    assert_eq!(
        rows(&connection, "SELECT sum(DISTINCT a), count(DISTINCT b) FROM (VALUES (1, 1), (2, 1), (2, 3)) AS t(a, b)"),
        ["3|2"]
    );
    assert_eq!(
        rows(&connection, "SELECT date '2024-02-28' + interval '2 days', date '2024-03-01' - date '2024-02-28'"),
        ["2024-03-01T00:00:00|2"]
    );
    assert_eq!(rows(&connection, "SELECT 1.5 + 2.25, 1.5 * 2.25, 0.1 + 0.2 = 0.3, 1e0 * 3"), ["3.75|3.375|true|3.0"]);
    let windows =
        "SELECT sum(a) OVER (ORDER BY a ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM (VALUES (1), (2), (4)) AS t(a)";
    assert_eq!(rows(&connection, windows), ["1", "3", "6"]);
}

#[test]
fn decimals_that_overflow_fail() {
    let connection = connect();
    let nines = "99999999999999999999999999999999999999";
    connection.execute("CREATE TABLE d (x DECIMAL(38,0), y DECIMAL(20,2))").unwrap();
    connection.execute(&format!("INSERT INTO d VALUES ({nines}, 12345678901234567.25), (1, -2.50)")).unwrap();
    for sql in [
        "SELECT x + x FROM d",
        "SELECT x + 1 FROM d",
        "SELECT -x - 1 FROM d",
        "SELECT x * x FROM d",
        "SELECT x * 10 FROM d",
        "SELECT sum(x) FROM d",
        "SELECT y, sum(x) OVER () FROM d",
    ] {
        let error = failure(&connection, sql).to_string();
        assert!(error.contains("decimal overflow"), "{sql}: {error}");
    }
    assert_eq!(
        rows(&connection, "SELECT sum(y), sum(y * y), min(y * 3) FROM d"),
        ["12345678901234564.75|152415787532388351699436206294778.8125|-7.50"]
    );
}

#[test]
fn columns_are_named_as_they_are_written() {
    let connection = connect();
    let result =
        connection.query("SELECT a + b, a * (b - 1), -a, sum(a * b) OVER () FROM (SELECT 1 AS a, 2 AS b)").unwrap();
    let names: Vec<_> = result.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names[0], "a + b");
    assert_eq!(names[1], "a * (b - 1)");
    assert_eq!(names[2], "-a");
    assert_eq!(names[3], "sum(a * b) OVER ()");
}
