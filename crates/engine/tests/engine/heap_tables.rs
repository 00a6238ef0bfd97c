//! Tables in heap pages: pipelines over them, several connections at once, the database's verbs.

use crate::{by_datafusion, connect, rows};
use gingham::{Connection, Database, DatabaseOptions, ScalarValue};

const LAYOUTS: [&str; 3] = ["nsm", "dsm", "pax"];

/// 40,000 records in a few zones, in table `n` of that layout.
fn numbers(connection: &Connection, layout: &str) {
    let sql = format!(
        "CREATE TABLE n WITH (layout = '{layout}') AS SELECT value AS v, CAST(value % 7 AS SMALLINT) AS k,
             CAST(value % 100 AS DECIMAL(9,2)) AS d, CASE WHEN value % 3 = 0 THEN 'a' WHEN value % 3 = 1 THEN 'b' END AS s,
             CAST(value AS DOUBLE) / 4 AS f
             FROM generate_series(1, 40000)"
    );
    connection.execute(&sql).expect("a table");
    connection.execute("DELETE FROM n WHERE v % 10 = 3").expect("records of all pages go");
    connection.execute("UPDATE n SET s = s || ' and more of it', d = d + 1 WHERE v % 50 = 7").expect("some grow");
}

#[test]
fn pipelines_read_pages_in_every_mode() {
    for layout in LAYOUTS {
        let connection = connect();
        numbers(&connection, layout);
        for sql in [
            "SELECT s, k, sum(v), avg(d), count(*), max(f) FROM n WHERE v > 5 AND d < 70 GROUP BY s, k ORDER BY s, k",
            "SELECT count(*), min(v), max(v), sum(d), count(s) FROM n WHERE s LIKE 'a%' OR k = 3",
            "SELECT a.k, count(*), sum(b.v), max(b.d) FROM n a JOIN n b ON a.v = b.v + 1 WHERE a.s = 'a' GROUP BY a.k ORDER BY a.k",
            "SELECT v, s FROM n WHERE k = 5 ORDER BY f DESC LIMIT 7",
        ] {
            let expected = by_datafusion(&connection, sql);
            for mode in ["fused", "staged", "vectorized", "interpreted"] {
                connection.execute(&format!("SET gingham.execution = '{mode}'")).expect("a mode");
                let plan = rows(&connection, &format!("EXPLAIN FORMAT indent {sql}")).join("\n");
                assert!(plan.contains("CompiledExec"), "{layout}, {mode}, {sql}: {plan}");
                assert_eq!(rows(&connection, sql), expected, "{layout}, {mode}: {sql}");
            }
        }
    }
}

#[test]
fn records_are_exactly_counted_and_zones_that_bounds_rule_out_are_not_read() {
    for layout in LAYOUTS {
        let connection = connect();
        numbers(&connection, layout);
        assert_eq!(rows(&connection, "SELECT count(*) FROM n"), ["36000"]);
        assert_eq!(rows(&connection, "SELECT rows FROM gingham_tables"), ["36000"]);
        let plan = rows(&connection, "EXPLAIN FORMAT indent SELECT v FROM n WHERE v > 40000").join("\n");
        assert!(plan.contains("zones=0 of "), "{layout}: {plan}");
    }
}

#[test]
fn updates_of_several_connections_follow_each_other() {
    for layout in LAYOUTS.into_iter().chain(["column"]) {
        let database = Database::in_memory().expect("a scratch database");
        let connection = database.connect();
        let sql = format!("CREATE TABLE a (id INTEGER, balance BIGINT, note VARCHAR) WITH (layout = '{layout}')");
        connection.execute(&sql).expect("a table");
        connection
            .execute("INSERT INTO a SELECT value, 1000, 'n' FROM generate_series(0, 99)")
            .expect("rows that no thread adds");
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let connection = database.connect();
                scope.spawn(move || {
                    for step in 0..8 {
                        let (from, to) = (thread * 7 + step, 99 - thread * 5 - step);
                        let sql = format!(
                            "UPDATE a SET balance = balance + CASE WHEN id = {from} THEN -10 ELSE 10 END,
                                 note = note || repeat('x', {step}) WHERE id IN ({from}, {to})"
                        );
                        assert_eq!(connection.execute(&sql).expect("a transfer"), 2);
                    }
                });
            }
            let connection = database.connect();
            scope.spawn(move || {
                for step in 0..8 {
                    let sql = format!("INSERT INTO a VALUES ({}, 0, 'new')", 1000 + step);
                    connection.execute(&sql).expect("a row");
                    assert_eq!(rows(&connection, "SELECT sum(balance) FROM a"), ["100000"], "what a reader sees");
                }
            });
        });
        assert_eq!(rows(&connection, "SELECT count(*), sum(balance) FROM a"), ["108|100000"]);
        let report = database.check().expect("a check");
        assert!(report.errors.is_empty(), "{report:?}");
    }
}

#[test]
fn a_query_under_way_keeps_what_it_began_with() {
    for layout in LAYOUTS {
        let database = Database::in_memory().expect("a scratch database");
        let (reader, writer) = (database.connect(), database.connect());
        numbers(&reader, layout);
        let mut result = reader.query("SELECT v FROM n").expect("a query");
        let first = result.next().expect("rows").expect("no error").num_rows();
        assert_eq!(
            writer.execute("UPDATE n SET v = v + 1000000, s = 'longer than before' WHERE k < 5").ok(),
            Some(25715)
        );
        writer.execute("TRUNCATE n").expect("no record stays");
        let rest: usize = result.map(|batch| batch.expect("pages are as they were").num_rows()).sum();
        assert_eq!(first + rest, 36000, "{layout}");
        assert_eq!(rows(&reader, "SELECT count(*) FROM n"), ["0"]);
    }
}

#[test]
fn heap_tables_are_opened_again_and_backed_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, copy) = (folder.path().join("shop.gingham"), folder.path().join("copy.gingham"));
    let options = DatabaseOptions::new();
    for layout in LAYOUTS {
        let database = options.open(&path).expect("a database");
        let connection = database.connect();
        connection.execute("DROP TABLE IF EXISTS n").expect("it may be there");
        numbers(&connection, layout);
    }
    let total = "SELECT count(*), sum(v), sum(d), count(DISTINCT s), max(s) FROM n";
    let database = options.open(&path).expect("the database is there");
    let connection = database.connect();
    let expected = rows(&connection, total);
    let change = connection.prepare("DELETE FROM n WHERE v = $1 OR s = $2").expect("a statement");
    let removed = change.query(&[ScalarValue::from(10_i64), ScalarValue::from("nobody")]).expect("it runs");
    assert_eq!(removed.rows_affected(), Some(1));
    removed.collect_batches().expect("no rows");
    connection.execute("INSERT INTO n SELECT 10, 10 % 7, 10, 'b', 2.5").expect("the same again");
    assert_eq!(rows(&connection, total), expected);
    database.backup(&copy).expect("a copy");
    let copy = options.open(&copy).expect("the copy is a database");
    assert_eq!(rows(&copy.connect(), total), expected);
    for database in [database, copy] {
        let report = database.check().expect("a check");
        assert!(report.errors.is_empty() && report.verified > 0, "{report:?}");
    }
}
