//! Filters that come about while a query runs spare work and change no answer.

use crate::rows;
use gingham::Connection;

/// Joins as DataFusion's operators: those in pipelines tell their scans otherwise.
fn connect() -> Connection {
    let connection = crate::connect();
    connection.execute("SET gingham.execution = 'datafusion'").expect("a setting");
    connection
}

/// `name` of the scan of `table` in the metrics of a query.
fn metric(connection: &Connection, sql: &str, table: &str, name: &str) -> usize {
    let analyzed = rows(connection, &format!("EXPLAIN ANALYZE FORMAT indent {sql}")).join("\n");
    let scan = analyzed.lines().find(|line| line.contains(&format!("table={table},"))).expect("a scan of the table");
    let (_, rest) = scan.split_once(&format!("{name}=")).unwrap_or_else(|| panic!("no {name} in {scan}"));
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().expect("a number")
}

/// Settings under which joins have one build side, or one per thread.
const MODES: [(usize, usize); 3] = [(1, 1 << 30), (3, 1 << 30), (3, 0)];

fn set_mode(connection: &Connection, (threads, threshold): (usize, usize)) {
    let settings = format!(
        "SET gingham.threads = {threads};
         SET datafusion.optimizer.hash_join_single_partition_threshold = {threshold};
         SET datafusion.optimizer.hash_join_single_partition_threshold_rows = {threshold}"
    );
    connection.execute(&settings).expect("settings");
}

#[test]
fn a_filter_is_not_led_to_another_column_of_its_name() {
    let connection = connect();
    connection
        .execute(
            "CREATE TABLE u AS SELECT value AS id, value % 10 AS a, value AS f FROM generate_series(1, 1000);
             CREATE TABLE q AS SELECT value AS id, value * 1000 AS a, value AS f FROM generate_series(1, 1000);
             CREATE TABLE k AS SELECT value * 1000 AS b FROM generate_series(1, 20);
             CREATE TABLE p AS SELECT value % 10 AS c, value AS d FROM generate_series(1, 10000)",
        )
        .expect("tables");
    // The keys of k, which q.a has, must not be looked for in u.a.
    let inner = "SELECT count(*) FROM u JOIN q ON u.f = q.f JOIN p ON u.a = p.c JOIN k ON q.a = k.b";
    let outer = "SELECT count(*) FROM u JOIN q ON u.f = q.f LEFT JOIN p ON u.a = p.c + 100
                 WHERE EXISTS (SELECT 1 FROM k WHERE q.a = k.b)";
    for mode in MODES {
        set_mode(&connection, mode);
        for keep in ["false", "true", "true"] {
            connection.execute(&format!("SET gingham.cache_plans = {keep}")).expect("a setting");
            assert_eq!(rows(&connection, inner), ["20000"], "{mode:?}, kept: {keep}");
            assert_eq!(rows(&connection, outer), ["20"], "{mode:?}, kept: {keep}");
        }
    }
}

#[test]
fn thousands_of_join_keys_reach_the_scan() {
    let connection = connect();
    connection
        .execute(
            "CREATE TABLE big AS SELECT value * 3 AS k, CAST(value % 250 AS SMALLINT) AS s,
                 date '2020-01-01' + CAST(value % 1000 AS INTEGER) AS d, value AS v FROM generate_series(1, 200000);
             CREATE TABLE keys AS SELECT CASE WHEN value % 10 = 0 THEN NULL ELSE value * 18 END AS k,
                 CAST(value % 20 * 2 AS SMALLINT) AS s, date '2020-01-01' + CAST(value % 7 AS INTEGER) AS d
                 FROM generate_series(-500, 20000);
             CREATE TABLE apart (k BIGINT); INSERT INTO apart VALUES (30), (-9000000000000), (9000000000000), (NULL)",
        )
        .expect("tables");
    // Each join, and the same without one: every key beside a value that no filter is made of.
    let pairs = [
        (
            "SELECT count(*), sum(big.v) FROM big JOIN keys ON big.k = keys.k",
            "SELECT count(*), sum(v) FROM big WHERE v % 6 = 0 AND v % 60 <> 0 AND v <= 120000",
        ),
        (
            "SELECT count(*) FROM big WHERE EXISTS (SELECT 1 FROM keys WHERE keys.s = big.s AND keys.d = big.d)",
            "SELECT count(*) FROM big WHERE s % 2 = 0 AND s < 40 AND v % 1000 < 7",
        ),
        (
            "SELECT count(*), sum(v) FROM big JOIN apart ON big.k = apart.k",
            "SELECT count(*), sum(v) FROM big WHERE v = 10",
        ),
        (
            "SELECT count(*), count(big.k) FROM keys LEFT JOIN big ON big.k = keys.k",
            "SELECT 20501, count(*) FROM big WHERE v % 6 = 0 AND v % 60 <> 0 AND v <= 120000",
        ),
        (
            "SELECT count(*), count(keys.k) FROM big LEFT JOIN keys ON big.k = keys.k",
            "SELECT 200000, count(*) FROM big WHERE v % 6 = 0 AND v % 60 <> 0 AND v <= 120000",
        ),
        (
            "SELECT count(*) FROM big WHERE NOT EXISTS (SELECT 1 FROM keys WHERE keys.k = big.k)",
            "SELECT 200000 - count(*) FROM big WHERE v % 6 = 0 AND v % 60 <> 0 AND v <= 120000",
        ),
    ];
    for mode in MODES {
        set_mode(&connection, mode);
        for (joined, plain) in pairs {
            for _ in 0..2 {
                assert_eq!(rows(&connection, joined), rows(&connection, plain), "{joined} in {mode:?}");
            }
        }
        let given = metric(&connection, pairs[0].0, "big", "output_rows");
        assert!(given <= 18_000, "18000 of 200000 records have a partner, {given} were given in {mode:?}");
    }
}

/// ORDER BY … LIMIT tells the scan what is still good enough, zone after zone.
#[test]
fn the_best_rows_so_far_rule_zones_out() {
    let connection = connect();
    connection
        .execute(
            "CREATE TABLE t AS SELECT value AS a, (value * 7919) % 400000 AS b,
                 CASE WHEN value % 3 = 0 THEN NULL ELSE 'n' || (value % 5000) END AS s
                 FROM generate_series(0, 399999)",
        )
        .expect("a table of several zones");
    for threads in [1, 3] {
        connection.execute(&format!("SET gingham.threads = {threads}")).expect("a setting");
        assert_eq!(rows(&connection, "SELECT a FROM t ORDER BY a LIMIT 3"), ["0", "1", "2"]);
        assert_eq!(rows(&connection, "SELECT a FROM t ORDER BY a DESC LIMIT 2"), ["399999", "399998"]);
        for (order, limit) in
            [("b", 5), ("b DESC, a", 4), ("s NULLS FIRST, a DESC", 6), ("s DESC NULLS LAST, b", 70_000)]
        {
            let sorted = rows(&connection, &format!("SELECT a, b, s FROM t ORDER BY {order}"));
            let best = rows(&connection, &format!("SELECT a, b, s FROM t ORDER BY {order} LIMIT {limit}"));
            assert!(best == sorted[..limit], "ORDER BY {order} LIMIT {limit} with {threads} threads");
        }
    }
    connection.execute("SET gingham.threads = 1").expect("a setting");
    let skipped = metric(&connection, "SELECT a, b FROM t ORDER BY a LIMIT 3", "t", "zones_skipped");
    assert!(skipped >= 5, "all zones but the first can be ruled out, {skipped} were");
}

#[test]
fn keys_of_a_whole_table_are_gathered_only_where_they_rule_something_out() {
    let connection = connect();
    connection
        .execute(
            "CREATE TABLE parts AS SELECT value AS id, value % 7 AS kind FROM generate_series(0, 999);
             CREATE TABLE sales AS SELECT value % 1000 AS part, value % 100000 AS other, value AS v
                 FROM generate_series(0, 199999)",
        )
        .expect("tables");
    let gathers =
        |sql: &str| rows(&connection, &format!("EXPLAIN FORMAT indent {sql}")).join("\n").contains("JoinKeysExec");
    let all = "SELECT count(*), sum(v) FROM sales JOIN parts ON sales.part = parts.id";
    assert!(!gathers(all), "each part has sales");
    assert_eq!(rows(&connection, all), ["200000|19999900000"]);
    let some = format!("{all} WHERE kind = 3");
    assert!(gathers(&some), "some parts do not count");
    assert_eq!(rows(&connection, &some), rows(&connection, "SELECT count(*), sum(v) FROM sales WHERE part % 7 = 3"));
    let few = "SELECT count(*), sum(v) FROM sales JOIN parts ON sales.other = parts.id";
    assert!(gathers(few), "few sales have such a number");
    assert_eq!(rows(&connection, few), rows(&connection, "SELECT count(*), sum(v) FROM sales WHERE other < 1000"));
}

#[test]
fn keys_without_room_are_left_out() {
    let connection = connect();
    connection
        .execute(
            "CREATE TABLE big AS SELECT value AS k, value % 9 AS v FROM generate_series(1, 300000);
             CREATE TABLE keys AS SELECT value * 3 AS k FROM generate_series(1, 60000)",
        )
        .expect("tables");
    let sql = "SELECT count(*), sum(v) FROM big JOIN keys ON big.k = keys.k WHERE keys.k > 0";
    let expected = rows(&connection, sql);
    // Room for the join, and less and less for its keys.
    for limit in ["64MB", "9MB", "7MB", "6MB", "5MB"] {
        connection.execute(&format!("SET gingham.memory_limit = '{limit}'")).expect("a setting");
        match connection.query(sql).and_then(gingham::QueryResult::collect_batches) {
            Ok(_) => assert_eq!(rows(&connection, sql), expected, "{limit}"),
            Err(error) => assert!(error.to_string().contains("memory_limit"), "{limit}: {error}"),
        }
    }
}
