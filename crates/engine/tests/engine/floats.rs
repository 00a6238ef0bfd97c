//! Floats in compiled pipelines.

use crate::{by_datafusion, connect, rows};
use gingham::Connection;

fn explain(connection: &Connection, sql: &str) -> String {
    rows(connection, &format!("EXPLAIN FORMAT indent {sql}")).join("\n")
}

/// Each mode with several numbers of threads; the answers, which must all be the same to the last digit.
fn answer(connection: &Connection, sql: &str) -> Vec<String> {
    assert!(explain(connection, sql).contains("CompiledExec"), "{sql}");
    let mut answers = Vec::new();
    for execution in ["staged", "interpreted", "auto"] {
        for threads in [1, 2, 7] {
            let settings = format!("SET gingham.execution = '{execution}'; SET gingham.threads = {threads}");
            connection.execute(&settings).expect("settings");
            answers.push(rows(connection, sql));
        }
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{sql}: {answers:?}");
    answers.swap_remove(0)
}

#[test]
fn sums_are_exact_whatever_the_order_and_the_threads() {
    let connection = connect();
    connection
        .execute(
            "CREATE TABLE f AS SELECT value AS i, value % 3 AS k, CASE value % 4 WHEN 0 THEN 1e15 WHEN 1 THEN 0.1e0
                 WHEN 2 THEN -1e15 ELSE value / 7e0 END AS x FROM generate_series(0, 199999);
             CREATE TABLE tenths AS SELECT 0.1e0 AS x FROM generate_series(1, 100000)",
        )
        .expect("tables");
    // 0.1 is a little more than a tenth: a sum that rounds at each step drifts away.
    assert_eq!(answer(&connection, "SELECT sum(x), avg(x), count(x) FROM tenths"), ["10000.0|0.1|100000"]);
    let plain = "SELECT k, sum(CASE WHEN abs(x) < 1e14 THEN x END) FROM f GROUP BY k ORDER BY k";
    let near = by_datafusion(&connection, plain);
    connection.execute("SET gingham.execution = 'staged'").expect("a setting");
    let sums = answer(&connection, "SELECT k, sum(x) FROM f GROUP BY k ORDER BY k");
    for (sum, near) in sums.iter().zip(&near) {
        let value = |row: &str| row.split('|').nth(1).and_then(|value| value.parse::<f64>().ok()).expect("a sum");
        // The large values cancel out, but for one at most in each third.
        let rest = value(sum) % 1e15;
        let rest = if rest < 0.0 { rest + 1e15 } else { rest };
        assert!((rest - value(near)).abs() < 1.0, "{sum} beside {near}");
    }
    answer(&connection, "SELECT min(x), max(x), min(-x), avg(x * 2), sum(x / 3 - i) FROM f WHERE x < 1e14 AND x > -i");
}

#[test]
fn what_can_not_be_summed_exactly_is_left() {
    let connection = connect();
    connection
        .execute(
            "CREATE TABLE wide AS SELECT CASE value % 2 WHEN 0 THEN 1e300 ELSE 1e-300 END AS x, value AS i
                 FROM generate_series(0, 9);
             CREATE TABLE odd (x DOUBLE); INSERT INTO odd VALUES (1), ('NaN'), ('inf')",
        )
        .expect("tables");
    let analyzed = rows(&connection, "EXPLAIN ANALYZE FORMAT indent SELECT sum(x) FROM wide").join("\n");
    assert!(analyzed.contains("left_to_datafusion=1"), "{analyzed}");
    // A small group keeps its digits beside a large one.
    let groups = rows(&connection, "SELECT i % 2, sum(x) FROM wide GROUP BY i % 2 ORDER BY 1");
    assert_eq!(groups, ["0|5e300", "1|5e-300"]);
    // What may not be finite has sums of any size, which take digits as they come.
    assert_eq!(answer(&connection, "SELECT sum(x), avg(x), max(x), count(x) FROM odd"), ["NaN|NaN|NaN|3"]);
    assert_eq!(answer(&connection, "SELECT sum(x) FROM odd WHERE x < 'NaN'"), ["inf"]);
    let sql = "SELECT sum(CASE WHEN i < 20 THEN x / (i - 20) END), sum(x / i) FILTER (WHERE i > 0) FROM wide";
    let expected = by_datafusion(&connection, sql);
    assert_eq!(answer_of(&connection, sql), expected);
    assert_eq!(rows(&connection, "SELECT sum(x), max(x), count(x) FROM odd WHERE x < 2"), ["1.0|1.0|1"]);
}

#[test]
fn floats_are_compared_joined_and_grouped_as_the_rest() {
    let connection = connect();
    connection
        .execute(
            "CREATE TABLE a AS SELECT value AS i, value % 50 / 8e0 AS x, CAST(value % 9 AS REAL) AS r
                 FROM generate_series(0, 4999);
             CREATE TABLE b AS SELECT value / 4e0 AS x, value AS n FROM generate_series(1, 20)",
        )
        .expect("tables");
    for sql in [
        "SELECT x + 1 AS key, count(*), max(r) FROM a WHERE x > 5.5e0 GROUP BY x + 1 ORDER BY key",
        "SELECT sum(b.n), sum(a.x), count(*) FROM a, b WHERE a.x = b.x + 1 AND a.x > 0",
        // Means in the middle of a plan, and one that is compared with.
        "SELECT count(*), max(m) FROM (SELECT r, avg(x) AS m FROM a GROUP BY r) WHERE m > 3.06e0",
        "SELECT count(*), max(m) FROM (SELECT r, avg(i) AS m FROM a GROUP BY r) WHERE m > 2500",
        "SELECT count(*) FROM a WHERE x * 2 > (SELECT avg(x) FROM a) + r",
    ] {
        // Eighths are added without rounding, in any order.
        let expected = by_datafusion(&connection, sql);
        connection.execute("SET gingham.execution = 'staged'").expect("a setting");
        assert_eq!(answer(&connection, sql), expected, "{sql}");
    }
}

#[test]
fn integers_divide_as_sql_says_and_by_zero_is_an_error() {
    let connection = connect();
    connection
        .execute(
            "CREATE TABLE d AS SELECT value AS a, value % 100003 - 50001 AS b, NULLIF(value % 5, 0) AS c
                 FROM generate_series(-150000, 150000)",
        )
        .expect("a table");
    let sql = "SELECT sum(a / b), sum(a % b), sum(b / c), count(a % c) FROM d WHERE b <> 0";
    let found = rows(&connection, &format!("EXPLAIN FORMAT indent {sql}")).join("\n");
    assert!(found.contains("CompiledExec"), "{found}");
    let expected = by_datafusion(&connection, sql);
    assert_eq!(answer_of(&connection, sql), expected);
    for execution in ["datafusion", "staged", "interpreted"] {
        connection.execute(&format!("SET gingham.execution = '{execution}'")).expect("a setting");
        let error = crate::failure(&connection, "SELECT sum(a / b) FROM d").to_string();
        assert!(error.contains("division by zero"), "{execution}: {error}");
    }
}

fn answer_of(connection: &Connection, sql: &str) -> Vec<String> {
    connection.execute("SET gingham.execution = 'staged'").expect("a setting");
    answer(connection, sql)
}

#[test]
fn spread_and_bits_follow_datafusion() {
    let connection = connect();
    connection
        .execute(
            "CREATE TABLE s AS SELECT value % 7 AS k, CAST(value AS DECIMAL(12,3)) / 8 AS d, value AS i, value > 900 AS big
                 FROM generate_series(1, 1000);
             CREATE TABLE far AS SELECT 4000000000000 + value AS i FROM generate_series(1, 3)",
        )
        .expect("tables");
    // 1, 2, 3 spread by 1 and 2/3, however far they lie from zero.
    let sql = "SELECT stddev(i), var(i), var_pop(i), stddev_pop(i) FROM far";
    assert_eq!(answer(&connection, sql), ["1.0|1.0|0.6666666666666666|0.816496580927726"]);
    assert_eq!(answer(&connection, "SELECT stddev(i), var_pop(i), var(i) FROM far WHERE i < 4000000000002"), ["|0.0|"]);
    assert_eq!(answer(&connection, "SELECT stddev(i), var_pop(i) FROM far WHERE i < 0"), ["|"]);
    let sql = "SELECT bit_and(i + 1024), bit_or(i), bit_xor(i), bool_and(big), bool_or(big), bit_and(i) FILTER (WHERE i < 0) FROM s";
    assert_eq!(answer(&connection, sql), ["1024|1023|1000|false|true|"]);
}

/// 0.0 and -0.0 are one number to comparisons, wherever they come from.
#[test]
fn both_zeros_compare_alike() {
    let connection = connect();
    connection
        .execute(
            "CREATE TABLE z (f DOUBLE, i INTEGER);
             INSERT INTO z VALUES (0.0, 1), ('-0.0'::double, 2), (5.0, 3), (NULL, 4), (2.5, 5), (-1.5, 6)",
        )
        .expect("a table");
    for (sql, expected) in [
        (
            "SELECT i FROM z WHERE f > '-0.0'::double OR f IN ('2.5'::double, 'inf'::double, 'NaN'::double, '-3.25'::double)",
            2,
        ),
        (
            "SELECT count(*) FILTER (WHERE f > '-0.0'::double), count(*) FILTER (WHERE f = '-0.0'::double), sum(i) FROM z",
            1,
        ),
        (
            "SELECT count(*) FILTER (WHERE f BETWEEN '-0.0'::double AND '-0.0'::double), count(*) FILTER (WHERE -f >= f) FROM z",
            1,
        ),
        ("SELECT sum(CASE WHEN 0 - f < -f THEN i ELSE 0 END), sum(i) FROM z", 1),
        ("SELECT i FROM z WHERE -f = f * 2 OR -f > 1.0", 3),
        ("SELECT a.i, b.i FROM z a JOIN z b ON a.f < -b.f AND a.i <> b.i", 4),
    ] {
        assert_eq!(crate::compiled_joins::agree(&connection, sql), expected, "{sql}");
    }
}

/// A large mean takes no digits, and neither the order of records nor threads change any.
#[test]
fn floats_spread_as_exactly_as_integers_do() {
    let connection = connect();
    connection
        .execute(
            "CREATE TABLE s AS SELECT value AS i, value % 3 AS k, 1e9 + CAST(value % 10 AS DOUBLE) / 8 AS far,
                     CAST(value % 10 AS DOUBLE) / 8 AS near, sqrt(value) AS root, CAST(value * 7919 % 1000 AS REAL) / 7 AS r
                 FROM generate_series(0, 199999);
             CREATE TABLE few (k INTEGER, x DOUBLE, y DOUBLE);
             INSERT INTO few VALUES (1, 'NaN', 1), (1, 2, 3), (2, 'inf', 1), (2, 1, 1), (3, 5, 7), (4, NULL, 1), (4, 1, NULL),
                 (5, 1, 2), (5, 1, 3), (5, NULL, 9), (6, 1e150, 1), (6, -1e150, 2)",
        )
        .expect("tables");
    for functions in ["var(#)", "var_pop(#)", "stddev(#)", "stddev_pop(#)", "covar_samp(#, i)", "corr(#, r)"] {
        let of = |column: &str| format!("SELECT k, {} FROM s GROUP BY k ORDER BY k", functions.replace('#', column));
        // What is added to all of them changes nothing.
        assert_eq!(answer(&connection, &of("far")), answer(&connection, &of("near")), "{functions}");
    }
    let sql = "SELECT k, var(root), stddev_pop(r), covar_pop(root, r), corr(root, i), sum(root), var(root) FILTER (WHERE i > 9)
               FROM s GROUP BY k ORDER BY k";
    let expected = by_datafusion(&connection, sql);
    for (found, expected) in answer_of(&connection, sql).iter().zip(&expected) {
        for (found, expected) in found.split('|').zip(expected.split('|')) {
            let [found, expected] = [found, expected].map(|value| value.parse::<f64>().expect("a number"));
            assert!((found - expected).abs() <= 1e-8 * expected.abs(), "{found} for {expected}");
        }
    }
    let sql = "SELECT k, count(x), var(x), var_pop(x), stddev(x), covar_samp(x, y), covar_pop(x, y), corr(x, y)
               FROM few GROUP BY k ORDER BY k";
    assert_eq!(
        answer(&connection, sql),
        [
            "1|2|NaN|NaN|NaN|NaN|NaN|",
            "2|2|NaN|NaN|NaN|NaN|NaN|NaN",
            "3|1||0.0|||0.0|",
            "4|1||0.0||||",
            "5|2|0.0|0.0|0.0|0.0|0.0|",
            "6|2|1.9999999999999998e300|9.999999999999999e299|1.414213562373095e150|-1e150|-5e149|-1.0",
        ]
    );
    assert_eq!(answer(&connection, "SELECT var(x), stddev_pop(x), corr(x, y) FROM few WHERE k > 9"), ["||"]);
}
