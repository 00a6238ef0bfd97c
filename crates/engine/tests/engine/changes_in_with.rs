//! Statements that change records within a WITH, and MERGE, as programs meet them: described, prepared, explained, refused where the
//! database is read only, and beside others that write.

use crate::rows;
use arrow::datatypes::DataType;
use futures::executor::block_on;
use futures::future::join_all;
use gingham::{Connection, Database};

fn database(layout: &str) -> (Database, Connection) {
    let database = Database::in_memory().expect("a scratch database");
    let connection = database.connect();
    let tables = format!(
        "CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR) WITH (layout = '{layout}');
         CREATE TABLE u (k INT, n DECIMAL(9,2)) WITH (layout = '{layout}')"
    );
    connection.execute(&tables).expect("tables");
    (database, connection)
}

#[test]
fn types_and_schemas_are_told_before_it_runs() {
    let (_database, connection) = database("column");
    let (int, text, decimal) = (Some(DataType::Int32), Some(DataType::Utf8View), Some(DataType::Decimal128(9, 2)));
    for (sql, types, columns) in [
        (
            "WITH d AS (DELETE FROM t WHERE b = $1 RETURNING a, b) SELECT a + 1 AS next, b, b FROM d",
            vec![text.clone()],
            vec!["next", "b", "b"],
        ),
        (
            "WITH d (x) AS (UPDATE t SET b = $1 WHERE a = $2 RETURNING a) INSERT INTO u SELECT x, $3 FROM d RETURNING *",
            vec![text.clone(), int.clone(), decimal.clone()],
            vec!["k", "n"],
        ),
        (
            "WITH i AS (INSERT INTO t VALUES ($1, $2)) DELETE FROM u WHERE n > $3",
            vec![int.clone(), text, decimal],
            vec![],
        ),
        (
            "MERGE INTO t USING u ON a = k WHEN MATCHED THEN DO NOTHING WHEN NOT MATCHED THEN INSERT VALUES ($1)
             RETURNING merge_action(), *, merge_action() || b AS both",
            vec![int],
            vec!["merge_action", "k", "n", "a", "b", "both"],
        ),
    ] {
        let prepared = connection.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(prepared.parameter_types(), types, "{sql}");
        let schema = prepared.schema().unwrap_or_else(|| panic!("{sql}: no schema"));
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        assert_eq!(names, columns, "{sql}");
    }
    for (sql, code) in [
        ("WITH d AS (DELETE FROM t) SELECT * FROM d", "0A000"),
        ("WITH d AS (DELETE FROM t RETURNING nosuch) SELECT 1", "42703"),
        ("WITH d AS (DELETE FROM t RETURNING a) SELECT b FROM d", "42703"),
        ("WITH d AS (DELETE FROM t RETURNING a), d AS (SELECT 1) SELECT 1", "42712"),
    ] {
        assert_eq!(connection.prepare(sql).map(|_| ()).unwrap_err().sqlstate(), code, "{sql}");
        assert_eq!(connection.execute(sql).unwrap_err().sqlstate(), code, "{sql}");
    }
}

#[test]
fn they_are_no_queries() {
    let sql = "WITH d AS (DELETE FROM t RETURNING a) SELECT a FROM d";
    assert!(!Connection::is_query(sql).expect("a statement"));
    assert!(!Connection::only_reads(sql).expect("a statement"));
    assert!(Connection::only_reads("WITH d AS (SELECT 1 AS a) SELECT a FROM d").expect("a statement"));
}

#[test]
fn tags_tell_of_the_last_part() {
    let (_database, connection) = database("pax");
    let tag = |sql: &str| connection.query(sql).expect(sql).tag().to_string();
    assert_eq!(tag("WITH u AS (INSERT INTO u VALUES (1, 1), (2, 2)) INSERT INTO t VALUES (1, 'x')"), "INSERT 0 1");
    assert_eq!(tag("WITH t AS (DELETE FROM t) UPDATE u SET n = 3"), "UPDATE 2");
}

/// What EXPLAIN explains does not run; all parts are planned.
#[test]
fn explain_changes_nothing() {
    let (_database, connection) = database("column");
    connection.execute("INSERT INTO t VALUES (1, 'x'), (2, 'y')").expect("records");
    let explained = rows(
        &connection,
        "EXPLAIN WITH d AS (DELETE FROM t WHERE a > 0 RETURNING a) INSERT INTO u SELECT a, 1 FROM d RETURNING k",
    );
    assert!(explained.iter().any(|line| line.contains("insert into u")), "{explained:?}");
    assert!(explained.iter().any(|line| line.contains("scan t")), "{explained:?}");
    let merge = "MERGE INTO t USING u ON a = k WHEN MATCHED AND n > 1 THEN DELETE WHEN MATCHED THEN UPDATE SET b = 'z'
                 WHEN NOT MATCHED AND n > 2 THEN INSERT VALUES (k) WHEN NOT MATCHED THEN INSERT VALUES (k, 'w')";
    let explained = rows(&connection, &format!("EXPLAIN {merge}"));
    let scans = explained.iter().filter(|line| line.contains("scan t") || line.contains("scan u")).count();
    assert_eq!(scans, 2, "target and source are read once: {explained:?}");
    assert_eq!(rows(&connection, "SELECT count(*), (SELECT count(*) FROM u) FROM t"), ["2|0"]);
    connection
        .execute("EXPLAIN ANALYZE WITH d AS (DELETE FROM t RETURNING a) INSERT INTO u SELECT a, 1 FROM d")
        .expect("run");
    assert_eq!(rows(&connection, "SELECT count(*), (SELECT count(*) FROM u) FROM t"), ["0|2"]);
}

/// Records move between two tables from many connections: none is lost, and none is there twice.
#[test]
fn records_move_beside_others_that_write() {
    for layout in ["column", "pax"] {
        let (database, connection) = database(layout);
        connection.execute("INSERT INTO t SELECT value, 'x' FROM generate_series(1, 64)").expect("records");
        let clients: Vec<Connection> = (0..32).map(|_| database.connect()).collect();
        let moves = clients.iter().enumerate().map(|(number, client)| async move {
            let client = client.clone();
            let low = 2 * number + 1;
            let moved = "DELETE FROM t WHERE a BETWEEN";
            let sql = format!("WITH d AS ({moved} {low} AND {} RETURNING a) INSERT INTO u SELECT a, 0 FROM d", low + 1);
            client.query_async(&sql).await.map(drop)
        });
        for result in block_on(join_all(moves)) {
            result.unwrap_or_else(|error| panic!("{layout}: {error}"));
        }
        let found = rows(&connection, "SELECT count(*), count(DISTINCT k), sum(k), (SELECT count(*) FROM t) FROM u");
        assert_eq!(found, ["64|64|2080|0"], "{layout}");
    }
}

/// A statement that fails within BEGIN undoes itself alone, all parts of it.
#[test]
fn all_parts_are_undone_together() {
    for layout in ["column", "nsm", "pax"] {
        let (_database, connection) = database(layout);
        connection.execute("INSERT INTO t VALUES (1, 'x'); INSERT INTO u VALUES (1, 1); BEGIN").expect("records");
        connection.execute("INSERT INTO t VALUES (2, 'y')").expect("a record");
        let twice = "WITH d AS (DELETE FROM u RETURNING k) INSERT INTO t SELECT k, 'z' FROM d";
        assert_eq!(connection.execute(twice).unwrap_err().sqlstate(), "23505", "{layout}");
        let divided =
            "WITH d AS (DELETE FROM u RETURNING k), i AS (INSERT INTO t VALUES (3)) SELECT 1 / (k - 1) FROM d";
        assert_eq!(connection.execute(divided).unwrap_err().sqlstate(), "22012", "{layout}");
        connection.execute("COMMIT").expect("the rest stays");
        assert_eq!(rows(&connection, "SELECT count(*), (SELECT count(*) FROM u) FROM t"), ["2|1"], "{layout}");
    }
}
