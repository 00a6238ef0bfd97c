//! Sorts of scans, unions and groups in compiled pipelines: by integers alone, the rest looked up of the rows that are given.

use crate::compiled_joins::{plan, shop};
use crate::{by_datafusion, connect, each_way, rows};
use gingham::Connection;

/// Queries whose order tells all rows apart, with a part of how EXPLAIN tells it.
const TAKEN: [(&str, &str); 18] = [
    ("SELECT * FROM people ORDER BY town, id", "scan 0, rows, sorted by town"),
    ("SELECT * FROM people ORDER BY town DESC NULLS LAST, id DESC LIMIT 7", "first 7:"),
    ("SELECT id FROM people WHERE town = 3 ORDER BY born DESC, id LIMIT 5 OFFSET 2", "first 5 behind 2:"),
    ("SELECT name, born FROM people ORDER BY town, name, id LIMIT 9", "first 9:"),
    ("SELECT id, upper(name), town + 1, 7, born FROM people ORDER BY town + id % 3, id LIMIT 40", "first 40:"),
    ("SELECT upper(name) AS n, id FROM people ORDER BY n, id LIMIT 11 OFFSET 5", "first 11 behind 5:"),
    (
        "SELECT id * 2 AS twice, id * 2 + 1, name FROM people WHERE name LIKE '%77%' ORDER BY twice DESC",
        "sorted by twice",
    ),
    (
        "SELECT item, amount, day FROM bought WHERE amount > person ORDER BY item, amount, day, person",
        "filter, rows, sorted by item",
    ),
    ("SELECT person, item FROM bought ORDER BY item NULLS FIRST, amount DESC, day, person LIMIT 100", "first 100:"),
    (
        "SELECT person FROM bought ORDER BY CASE item WHEN 'tea' THEN 1 WHEN 'jam' THEN 0 END, person, day, amount LIMIT 30",
        "first 30:",
    ),
    ("SELECT amount FROM bought ORDER BY -amount LIMIT 12", "first 12:"),
    ("SELECT sqrt(amount), amount FROM bought ORDER BY sqrt(amount) DESC, person, day LIMIT 12", "first 12:"),
    (
        "SELECT id, name FROM (SELECT id, town FROM people WHERE id < 300 UNION ALL SELECT id + 9000, region FROM towns) u (id, name) ORDER BY name, id",
        "rows behind 0, sorted by",
    ),
    (
        "SELECT s, k FROM (SELECT name AS s, id AS k FROM people UNION ALL SELECT item, person FROM bought WHERE amount < 50) u ORDER BY k DESC, s LIMIT 60",
        "first 60:",
    ),
    ("SELECT DISTINCT town, born > DATE '1980-01-01' FROM people ORDER BY 1, 2", "aggregate into groups, sorted by"),
    ("SELECT town, avg(id) AS mean FROM people GROUP BY town ORDER BY mean, town LIMIT 5", "first 5:"),
    ("SELECT town, count(*) AS n FROM people GROUP BY town ORDER BY n % 7, n * 2, town", "rows of 0, rows, sorted by"),
    (
        "SELECT p.name, t.name FROM people p JOIN towns t ON p.town = t.id ORDER BY p.id % 10 + t.region, p.id DESC LIMIT 25",
        "first 25:",
    ),
];

#[test]
fn they_are_taken_and_in_order() {
    let connection = connect();
    shop(&connection);
    for (sql, told) in TAKEN {
        let plan = plan(&connection, sql);
        assert!(plan.contains("CompiledExec") && plan.contains(told), "{sql}: {told}: {plan}");
        for left in ["SortExec", "LimitExec", "FilterExec", "AggregateExec", "UnionExec", "JoinExec"] {
            assert!(!plan.contains(left), "{sql}: {plan}");
        }
        let expected = by_datafusion(&connection, sql);
        assert!(!expected.is_empty(), "{sql}");
        each_way(&connection, |how| assert_eq!(rows(&connection, sql), expected, "{how}: {sql}"));
    }
}

/// Several zones, a delta, integers of more than 64 bits, and columns that are NULL here and there.
fn zones(connection: &Connection) {
    connection
        .execute(
            "CREATE TABLE z (a BIGINT NOT NULL, b BIGINT, s VARCHAR, t VARCHAR, w DECIMAL(38, 2), x DOUBLE);
             INSERT INTO z SELECT value, (value * 7919) % 200003,
                 CASE WHEN value % 3 > 0 THEN 'n' || (value % 5000) END, 'text ' || reverse(CAST(value AS VARCHAR)),
                 CASE WHEN value % 5 > 0 THEN CAST(value AS DECIMAL(38, 2)) * 10000000000000000000 END,
                 CAST(value % 1000 AS DOUBLE) / 8
                 FROM generate_series(0, 149999);
             OPTIMIZE z;
             INSERT INTO z VALUES (150000, NULL, 'n7', 'last', -7, NULL), (150001, 4, NULL, 'least', NULL, -0.5)",
        )
        .expect("a table of several zones");
}

/// Strings without codes are looked up for no more rows than may be among the first.
#[test]
fn orders_of_strings_without_codes_are_left() {
    let connection = connect();
    zones(&connection);
    for (order, taken) in [("t", false), ("t LIMIT 4", false), ("b, t", false), ("b, t LIMIT 4", true)] {
        let sql = format!("SELECT a, t FROM z WHERE a < 20000 ORDER BY {order}");
        let plan = plan(&connection, &sql);
        assert_eq!((plan.contains("sorted by"), plan.contains("SortExec")), (taken, !taken), "{sql}: {plan}");
        let expected = by_datafusion(&connection, &sql);
        assert!(rows(&connection, &sql) == expected, "{sql}");
    }
}

#[test]
fn the_first_rows_are_datafusions() {
    let connection = connect();
    zones(&connection);
    for (order, limit) in [
        ("b, a", 5),
        ("b DESC NULLS LAST, a", 4),
        ("b DESC, a DESC", 20_000),
        ("s NULLS FIRST, a DESC", 6),
        ("s DESC NULLS LAST, b, a", 900),
        ("x DESC, a", 10),
        ("x NULLS FIRST, t", 10),
        ("t DESC", 3),
        ("a % 2, b, a", 30),
        ("a DESC", 1),
    ] {
        let sql = format!("SELECT * FROM z ORDER BY {order} LIMIT {limit}");
        let first = by_datafusion(&connection, &sql);
        each_way(&connection, |how| assert!(rows(&connection, &sql) == first, "{how}: {sql}"));
    }
    connection.execute("OPTIMIZE z; SET gingham.threads = 2").expect("a merged table");
    for order in ["b, a", "s DESC NULLS LAST, x, a"] {
        let sql = format!("SELECT a, t, w FROM z ORDER BY {order}");
        assert!(plan(&connection, &sql).contains("sorted by"), "{sql}");
        assert!(rows(&connection, &sql) == by_datafusion(&connection, &sql), "{sql}");
    }
}

/// Morsels that promise the best come first, and what these have rules out the others.
#[test]
fn zones_without_any_of_the_first_are_not_looked_at() {
    let connection = connect();
    zones(&connection);
    connection.execute("OPTIMIZE z; SET gingham.threads = 1").expect("a merged table");
    for (sql, most) in [
        ("SELECT * FROM z ORDER BY a LIMIT 3", 70_000),
        ("SELECT * FROM z ORDER BY a DESC LIMIT 3", 70_000),
        ("SELECT t FROM z WHERE a > 50000 ORDER BY a LIMIT 3", 70_000),
        // A tenth of each zone but the first, and fewer from zone to zone.
        ("SELECT t FROM z ORDER BY b NULLS LAST LIMIT 3", 80_000),
        ("SELECT t FROM z ORDER BY s LIMIT 3", 80_000),
    ] {
        let analyzed = rows(&connection, &format!("EXPLAIN ANALYZE FORMAT indent {sql}")).join("\n");
        let (_, records) = analyzed.split_once("records=").unwrap_or_else(|| panic!("{analyzed}"));
        let records: String = records.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        let unit = if analyzed.contains(&format!("records={records} K")) { 1000.0 } else { 1.0 };
        let records = records.parse::<f64>().expect("a number") * unit;
        assert!(records <= f64::from(most), "{sql}: {records} of 150002: {analyzed}");
    }
}

/// What the order does not need is computed of the rows that are given.
#[test]
fn expressions_wait_for_the_order() {
    let connection = connect();
    zones(&connection);
    // No other row's sum would fit.
    let sql = "SELECT a, a * 9223372036854775807 FROM z ORDER BY a LIMIT 2";
    each_way(&connection, |how| assert_eq!(rows(&connection, sql), ["0|0", "1|9223372036854775807"], "{how}"));
    let sql = "SELECT a, a * 9223372036854775807 FROM z ORDER BY a";
    each_way(&connection, |how| {
        let error = crate::failure(&connection, sql).to_string();
        assert!(error.contains("overflow"), "{how}: {error}");
    });
}

/// Rows go out as they are made, and a reader who leaves is not waited for.
#[test]
fn results_are_given_in_parts() {
    let connection = connect();
    zones(&connection);
    let mut result = connection.query("SELECT a, t, w FROM z ORDER BY b, a").expect("a query");
    let first = result.next().expect("a batch").expect("rows");
    assert!(first.num_rows() <= 8192, "{}", first.num_rows());
    drop(result);
    assert_eq!(rows(&connection, "SELECT a FROM z ORDER BY a DESC LIMIT 1"), ["150001"]);
}

/// Without room for all rows as integers, what was replaced sorts them in files.
#[test]
fn what_memory_has_no_room_for_is_sorted_as_without_pipelines() {
    let connection = connect();
    connection
        .execute("CREATE TABLE many AS SELECT value AS a, value * 7919 % 500009 AS b FROM generate_series(1, 400000)")
        .expect("a table");
    let sql = "SELECT a, b FROM many ORDER BY b, a";
    let expected = by_datafusion(&connection, sql);
    let roomy = rows(&connection, &format!("EXPLAIN ANALYZE FORMAT indent {sql}")).join("\n");
    assert!(!roomy.contains("left_to_datafusion=1"), "{roomy}");
    connection.execute("SET gingham.threads = 1; SET gingham.memory_limit = '20MB'").expect("a setting");
    assert!(rows(&connection, sql) == expected);
    let tight = rows(&connection, &format!("EXPLAIN ANALYZE FORMAT indent {sql}")).join("\n");
    assert!(tight.contains("left_to_datafusion=1"), "{tight}");
}

/// A record that is not among the first may have the match that keeps a row of the other side from being one.
#[test]
fn the_first_of_a_full_join_know_all_matches() {
    let connection = connect();
    connection
        .execute(
            "CREATE TABLE big AS SELECT value AS id, value AS k FROM generate_series(0, 199999);
             CREATE TABLE small AS SELECT value AS k FROM generate_series(1, 100);
             CREATE TABLE late AS SELECT value + 199000 AS k FROM generate_series(1, 100)",
        )
        .expect("tables");
    for (table, order) in [("small", "b.id DESC NULLS FIRST, s.k"), ("late", "b.id NULLS FIRST, s.k")] {
        let sql = format!("SELECT b.id, s.k FROM {table} s FULL JOIN big b ON s.k = b.k ORDER BY {order} LIMIT 5");
        let expected = by_datafusion(&connection, &sql);
        each_way(&connection, |how| assert_eq!(rows(&connection, &sql), expected, "{how}: {sql}"));
    }
}
