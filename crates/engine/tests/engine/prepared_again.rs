//! Prepared queries that are executed again, with other values and after changes, give what they give when nothing is kept.

use arrow::util::pretty::pretty_format_batches;
use gingham::{Connection, Database, Prepared, Role, ScalarValue, SessionOptions};

/// Queries whose plans hang on their values in many ways.
const QUERIES: &[&str] = &[
    "SELECT count(*) FROM t WHERE a > $1",
    "SELECT a, b FROM t WHERE b = $1 ORDER BY a LIMIT $2",
    "SELECT a FROM t ORDER BY a LIMIT $1 OFFSET $2",
    "SELECT $1 AS x, $1 AS y, $2 AS z",
    "SELECT coalesce($1, $2)",
    "SELECT a + $1 FROM t WHERE a < 4 ORDER BY 1",
    "SELECT CASE WHEN $1 IS NULL THEN 'none' ELSE 'some' END, $2 IS NULL",
    "SELECT sum(a) FROM t WHERE d BETWEEN $1 AND $2",
    "SELECT b, sum(c) FROM t WHERE a % 7 = $1 GROUP BY b HAVING count(*) > $2 ORDER BY b",
    "SELECT count(*) FROM t WHERE a IN ($1, $2, 5)",
    "SELECT count(*) FROM t JOIN u ON t.a = u.a AND u.e > $1 WHERE t.b LIKE $2",
    "SELECT a FROM t WHERE a = (SELECT max(a) FROM u WHERE e < $1) OR a = $2 ORDER BY a",
    "SELECT count(*) FROM v WHERE a <> $1",
    "WITH w AS (SELECT a + $1 AS n FROM t WHERE a < 5) SELECT n, $2 FROM w ORDER BY n",
    "SELECT rank() OVER (ORDER BY a % $1), a FROM t WHERE a < 6 ORDER BY 2, 1",
    "SELECT upper($1) || $2",
    "SELECT round($1, 1), abs($2)",
    "SELECT $1 = ANY (ARRAY[1, 2, 3]), $2 = 2",
    "SELECT a FROM t WHERE a < 4 UNION ALL SELECT $1 ORDER BY 1",
    "SELECT DISTINCT b FROM t WHERE c > $1 ORDER BY b",
    "SELECT now() > $1, a FROM t WHERE a = 1",
    "SELECT CAST($1 AS INTEGER) + 1, CAST($2 AS VARCHAR)",
    "SELECT * FROM t WHERE d = $1 AND b = $2",
    "SELECT count(*) FROM t WHERE a = 3",
    "SELECT b FROM t WHERE a = 3 ORDER BY b",
    "SELECT a FROM p WHERE b = $1 ORDER BY a",
    "SELECT a FROM own WHERE a > $1 ORDER BY a",
];

fn values() -> Vec<ScalarValue> {
    vec![
        ScalarValue::Null,
        ScalarValue::Int32(Some(3)),
        ScalarValue::Int64(Some(2)),
        ScalarValue::Int64(None),
        ScalarValue::Utf8(Some("x1".into())),
        ScalarValue::Utf8(Some("2".into())),
        ScalarValue::Utf8(None),
        ScalarValue::Utf8View(Some("x%".into())),
        ScalarValue::Float64(Some(2.5)),
        ScalarValue::Decimal128(Some(250), 5, 2),
        ScalarValue::Date32(Some(19_000)),
        ScalarValue::Boolean(Some(true)),
    ]
}

/// The rows, with their types, or the error.
fn answer(prepared: &Prepared, values: &[ScalarValue]) -> String {
    let given = &values[..prepared.parameters().min(values.len())];
    match prepared.query(given).and_then(|result| {
        let schema = result.schema();
        Ok((schema, result.collect_batches()?))
    }) {
        Ok((schema, batches)) => {
            let types: Vec<_> =
                schema.fields().iter().map(|own| format!("{} {}", own.name(), own.data_type())).collect();
            let shown = pretty_format_batches(&batches).expect("values can be shown");
            format!("{types:?}\n{shown}")
        }
        Err(error) => format!("{} {error}", error.sqlstate()),
    }
}

struct Both {
    kept: Connection,
    anew: Connection,
}

impl Both {
    fn begin(database: &Database) -> Self {
        let anew = database.connect();
        anew.execute("SET gingham.cache_plans = false").expect("a setting");
        let both = Self { kept: database.connect(), anew };
        both.each("CREATE TEMP TABLE own AS SELECT value AS a FROM generate_series(1, 5)");
        both
    }

    /// Does something that only the session sees.
    fn each(&self, sql: &str) {
        for connection in [&self.kept, &self.anew] {
            connection.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
    }
}

fn database() -> Database {
    let database = Database::in_memory().expect("a database");
    let sql = "CREATE TABLE t AS SELECT value AS a, 'x' || (value % 5) AS b, value * 1.5 AS c,
            DATE '2022-01-01' + CAST(value % 100 AS INTEGER) AS d FROM generate_series(1, 500);
        CREATE TABLE u AS SELECT value * 3 AS a, value % 11 AS e FROM generate_series(1, 100);
        CREATE TABLE p (a INTEGER PRIMARY KEY, b VARCHAR) WITH (layout = 'nsm');
        INSERT INTO p SELECT a, b FROM t WHERE a < 50;
        CREATE VIEW v AS SELECT a FROM t WHERE b = 'x2'";
    database.connect().execute(sql).expect("tables");
    database
}

#[test]
fn other_values_and_changes_give_what_they_give_anew() {
    let database = database();
    let both = Both::begin(&database);
    let prepare = |sql| {
        let of = |connection: &Connection| connection.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        (sql, of(&both.kept), of(&both.anew))
    };
    let all: Vec<_> = QUERIES.iter().copied().map(prepare).collect();
    let values = values();
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below as u64) as usize
    };
    let changes = [
        "INSERT INTO t VALUES (3, 'x1', 9.5, DATE '2022-01-08')",
        "DELETE FROM u WHERE e = 4",
        "ALTER TABLE t ADD COLUMN f INTEGER DEFAULT 7",
        "CREATE OR REPLACE VIEW v AS SELECT a FROM t WHERE b = 'x3'",
        "DROP TABLE p; CREATE TABLE p (a BIGINT, b VARCHAR); INSERT INTO p VALUES (1, 'x1'), (2, '2')",
        "ALTER TABLE t ALTER COLUMN c TYPE DOUBLE",
    ];
    for change in std::iter::once("SELECT 1").chain(changes) {
        database.connect().execute(change).expect("a change");
        for (sql, kept, anew) in &all {
            for _ in 0..5 {
                let given = [values[next(values.len())].clone(), values[next(values.len())].clone()];
                assert_eq!(answer(kept, &given), answer(anew, &given), "{sql} with {given:?} after {change}");
            }
        }
    }
    for change in [
        "SET gingham.column_names = 'postgres'",
        "CREATE SCHEMA IF NOT EXISTS a; CREATE TABLE IF NOT EXISTS a.u AS SELECT 6 AS a, 1 AS e; SET search_path = a, public",
        "CREATE TEMP TABLE u AS SELECT 9 AS a, 2 AS e",
        "BEGIN; SELECT 1",
    ] {
        both.each(change);
        for (sql, kept, anew) in &all {
            for _ in 0..3 {
                let given = [values[next(values.len())].clone(), values[next(values.len())].clone()];
                let answers = (answer(kept, &given), answer(anew, &given));
                assert_eq!(answers.0, answers.1, "{sql} with {given:?} after {change}");
            }
        }
    }
}

#[test]
fn rows_that_were_locked_are_not_remembered_as_none() {
    let database = database();
    let (one, two) = (database.connect(), database.connect());
    let sql = "SELECT a FROM p WHERE b = 'x1' FOR UPDATE SKIP LOCKED";
    let prepared = two.prepare(sql).expect("a query");
    one.execute("BEGIN IMMEDIATE").expect("the turn");
    for _ in 0..2 {
        assert_eq!(two.execute(sql).expect("no rows"), 0);
        assert_eq!(prepared.query(&[]).expect("no rows").count(), 0);
    }
    one.execute("ROLLBACK").expect("its end");
    assert_eq!(two.execute(sql).expect("rows"), 10);
    assert_ne!(prepared.query(&[]).expect("rows").count(), 0);
}

#[test]
fn what_one_role_keeps_is_not_for_another() {
    let database = database();
    let connect = |role| database.connect_with(&SessionOptions::new().user("ada").role(role)).expect("a session");
    let (admin, reader) = (database.connect(), connect(Role::Read));
    for sql in ["SELECT a FROM t WHERE a = 3 FOR UPDATE", "SELECT gingham_clear_workload()"] {
        for _ in 0..2 {
            admin.execute(sql).expect("it may");
            assert!(reader.execute(sql).is_err(), "{sql}");
        }
    }
    let version = "SELECT version()";
    let server = database.connect_with(&SessionOptions::new().of_server(true)).expect("a session");
    let of = |connection: &Connection| answer(&connection.prepare(version).expect("a query"), &[]);
    for _ in 0..2 {
        assert!(of(&server).contains("PostgreSQL 15.0 (Gingham"), "{}", of(&server));
        assert!(!of(&admin).contains("PostgreSQL"), "{}", of(&admin));
    }
}
