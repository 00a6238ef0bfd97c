//! The order of a scan's predicates: shown by EXPLAIN, corrected while a query runs, and without effect on answers.

use crate::{connect, rows};
use gingham::Connection;

/// The order in EXPLAIN's line of the scan.
fn order(connection: &Connection, explain: &str, sql: &str) -> Option<String> {
    let plan = rows(connection, &format!("{explain} {sql}")).join("\n");
    let scan = plan.lines().find(|line| line.contains("ScanExec: table=")).expect("a scan");
    let (_, rest) = scan.split_once("order=[")?;
    Some(rest.split_once(']').expect("a bracket").0.to_string())
}

/// A table about which zone maps are wrong: nearly all of `a` is small and nearly all of `b` too, but each zone has a
/// few large values, so that a small value of `a` looks rare and a large one of `b` likely.
fn skewed(layout: &str) -> Connection {
    let connection = connect();
    let sql = format!(
        "CREATE TABLE skewed (a INTEGER, b INTEGER, c INTEGER) WITH (layout = '{layout}');
         INSERT INTO skewed SELECT
             CASE WHEN value % 100 = 0 THEN 60000 ELSE value % 1000 END,
             CASE WHEN value % 100 = 7 THEN 60000 WHEN value % 11 = 0 THEN NULL ELSE value % 1000 END,
             value % 10
         FROM generate_series(0, 399999)"
    );
    connection.execute(&sql).expect("a table");
    connection
}

#[test]
fn explain_shows_what_was_expected_and_what_was_seen() {
    for layout in ["byteslice", "hbp", "groups((a) vbp, (b) bit_packed)"] {
        let connection = skewed(layout);
        connection.execute("SET gingham.threads = 1").expect("a setting");
        let sql = "SELECT count(*) FROM skewed WHERE a < 1000 AND b >= 1000";
        assert_eq!(
            order(&connection, "EXPLAIN FORMAT indent", sql),
            None,
            "nothing was read, and costs differ between machines"
        );
        let expected = order(&connection, "EXPLAIN VERBOSE FORMAT indent", sql).expect("an order");
        assert!(expected.contains("a 1.7%") && expected.contains("b 89.5%"), "{layout}: {expected}");
        let seen = order(&connection, "EXPLAIN ANALYZE FORMAT indent", sql).expect("an order");
        assert!(seen.contains("b 89.5% (seen 1.0%)") && seen.contains("a 1.7% (seen "), "{layout}: {seen}");
        // Whether another order is worth it depends on this machine's costs.
        assert_eq!(rows(&connection, sql), ["4000"], "{layout}");
    }
}

#[test]
fn a_wrong_order_of_costly_tests_is_changed_while_the_query_runs() {
    let connection = connect();
    let sql = "CREATE TABLE texts AS SELECT
                   CASE WHEN value % 100 = 0 THEN 'common' ELSE 'rare' END || value AS a,
                   CASE WHEN value % 100 = 7 THEN 'rare' ELSE 'common' END || value AS b
               FROM generate_series(1, 300000);
               SET gingham.threads = 1";
    connection.execute(sql).expect("a table");
    let sql = "SELECT count(*) FROM texts WHERE a LIKE '%rare%' AND b LIKE '%rare%'";
    let expected = order(&connection, "EXPLAIN VERBOSE FORMAT indent", sql).expect("an order");
    assert_eq!(expected, "a 30.0% AND b 30.0%; way=column_first", "of strings nothing is known");
    let seen = order(&connection, "EXPLAIN ANALYZE FORMAT indent", sql).expect("an order");
    assert!(seen.starts_with("b 30.0% (seen 1.0%) AND a 30.0% (seen 9"), "{seen}");
    assert!(seen.ends_with("way=column_first; reordered=1"), "{seen}");
    assert_eq!(rows(&connection, sql), ["3000"]);
    let either = "SELECT count(*) FROM texts WHERE b LIKE '%rare%' OR a LIKE '%rare%'";
    let seen = order(&connection, "EXPLAIN ANALYZE FORMAT indent", either).expect("an order");
    assert!(seen.starts_with("a 30.0% (seen 99.0%) OR b "), "{seen}");
    assert_eq!(rows(&connection, either), ["297000"]);
}

#[test]
fn what_one_run_learns_a_later_one_of_the_same_plan_starts_with() {
    let connection = skewed("byteslice");
    let sql = "SELECT count(*), sum(c) FROM skewed WHERE a < 1000 AND b >= 1000 OR a >= 1000 AND b < 10";
    let plain = "SELECT count(*), sum(c) FROM skewed
        WHERE NOT (a % 100000 >= 1000 OR b % 100000 < 1000 OR b IS NULL) OR a % 100000 >= 1000 AND b % 100000 < 10";
    for _ in 0..4 {
        assert_eq!(rows(&connection, sql), rows(&connection, plain));
    }
}

#[test]
fn a_single_condition_shows_what_it_lets_through() {
    let connection = skewed("byteslice");
    let sql = "SELECT count(*) FROM skewed WHERE c = 3";
    let seen = order(&connection, "EXPLAIN ANALYZE FORMAT indent", sql).expect("an order");
    assert_eq!(seen, "c 10.0% (seen 10.0%)");
    let all = "SELECT count(*) FROM skewed WHERE c <= 9";
    assert_eq!(order(&connection, "EXPLAIN ANALYZE FORMAT indent", all), None, "zone maps decide it");
}
