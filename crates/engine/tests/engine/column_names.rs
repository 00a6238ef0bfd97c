//! What columns of a result are called: as they are written, or with `gingham.column_names = 'postgres'` as PostgreSQL 15 calls
//! them, whose names stand here beside the expressions.

use gingham::{Connection, Database};

/// Expressions over a table `t (a, b, c, d)`, and the names that PostgreSQL gives them.
const NAMES: &[(&str, &str)] = &[
    ("a", "a"),
    ("t.a", "a"),
    ("b AS \"Bee\"", "Bee"),
    ("1", "?column?"),
    ("'text'", "?column?"),
    ("NULL", "?column?"),
    ("-1", "?column?"),
    ("a + 1", "?column?"),
    ("-a", "?column?"),
    ("NOT a > 1", "?column?"),
    ("count(*)", "count"),
    ("COUNT(*)", "count"),
    ("sum(a)", "sum"),
    ("count(DISTINCT a)", "count"),
    ("sum(a) FILTER (WHERE a > 0)", "sum"),
    ("sum(a) OVER ()", "sum"),
    ("row_number() OVER (ORDER BY a)", "row_number"),
    ("lower(b)", "lower"),
    ("pg_catalog.lower(b)", "lower"),
    ("a::bigint", "a"),
    ("a::text", "a"),
    ("1::bigint", "int8"),
    ("'1'::int", "int4"),
    ("CAST('x' AS varchar(3))", "varchar"),
    ("CAST(1 AS numeric(5,2))", "numeric"),
    ("1::double precision", "float8"),
    ("1::real", "float4"),
    ("1::smallint", "int2"),
    ("'x'::char(3)", "bpchar"),
    ("'2020-01-01'::date", "date"),
    ("'2020-01-01'::timestamp", "timestamp"),
    ("'2020-01-01'::timestamptz", "timestamptz"),
    ("'2020-01-01'::timestamp with time zone", "timestamptz"),
    ("'10:00'::time", "time"),
    ("lower(b)::varchar", "lower"),
    ("(a + 1)::int", "int4"),
    ("true", "?column?"),
    ("false", "?column?"),
    ("DATE '2020-01-01'", "date"),
    ("TIMESTAMP '2020-01-01 00:00:00'", "timestamp"),
    ("INTERVAL '1 day'", "interval"),
    ("INTERVAL '1' YEAR", "interval"),
    ("CASE WHEN a > 1 THEN 1 END", "case"),
    ("CASE WHEN a > 1 THEN 1 ELSE a END", "a"),
    ("CASE WHEN a > 1 THEN 1 ELSE 2::int END", "case"),
    ("CASE a WHEN 1 THEN 'x' ELSE lower(b) END", "lower"),
    ("coalesce(a, 1)", "coalesce"),
    ("coalesce(NULL, a)", "coalesce"),
    ("nullif(a, 1)", "nullif"),
    ("greatest(a, 1)", "greatest"),
    ("least(a, 1)", "least"),
    ("EXISTS (SELECT 1)", "exists"),
    ("NOT EXISTS (SELECT 1)", "?column?"),
    ("(SELECT 1)", "?column?"),
    ("(SELECT 1 AS one)", "one"),
    ("(SELECT count(*) FROM t AS s)", "count"),
    ("(SELECT max(s.a) FROM t AS s)::text", "max"),
    ("(VALUES (1))", "column1"),
    ("a IN (1, 2)", "?column?"),
    ("a IN (SELECT 1)", "?column?"),
    ("a BETWEEN 1 AND 2", "?column?"),
    ("a IS NULL", "?column?"),
    ("b LIKE 'x%'", "?column?"),
    ("b IS DISTINCT FROM 'x'", "?column?"),
    ("ARRAY[1, 2]", "array"),
    ("ARRAY(SELECT 1)", "array"),
    ("(ARRAY[1, 2])[1]", "array"),
    ("EXTRACT(year FROM DATE '2020-01-01')", "extract"),
    ("date_part('year', DATE '2020-01-01')", "date_part"),
    ("TIMESTAMPTZ '2020-01-01' AT TIME ZONE 'UTC'", "timezone"),
    ("substring(b FROM 1 FOR 2)", "substring"),
    ("substring(b, 1, 2)", "substring"),
    ("substr(b, 1, 2)", "substr"),
    ("trim(b)", "btrim"),
    ("trim(LEADING 'x' FROM b)", "ltrim"),
    ("trim(TRAILING 'x' FROM b)", "rtrim"),
    ("trim(BOTH 'x' FROM b)", "btrim"),
    ("position('x' IN b)", "position"),
    ("overlay(b PLACING 'x' FROM 1)", "overlay"),
    ("overlay(b PLACING 'x' FROM 1 FOR 1)", "overlay"),
    ("ceil(1.5)", "ceil"),
    ("ceiling(1.5)", "ceiling"),
    ("floor(1.5)", "floor"),
    ("b || 'x'", "?column?"),
    ("a ^ 2", "?column?"),
    ("a % 2", "?column?"),
    ("mod(a, 2)", "mod"),
    ("variance(a)", "variance"),
    ("every(a > 1)", "every"),
    ("current_date", "current_date"),
    ("current_timestamp", "current_timestamp"),
    ("now()", "now"),
    ("b COLLATE \"C\"", "b"),
    ("1e3", "?column?"),
    ("1.5", "?column?"),
    ("(a)", "a"),
    ("((a))", "a"),
    ("(a + 1)", "?column?"),
    ("concat(a, b)", "concat"),
    ("length(b)", "length"),
    ("abs(a)", "abs"),
    ("round(1.5)", "round"),
    ("round(1.5::numeric, 1)", "round"),
    ("date_trunc('month', DATE '2020-01-01')", "date_trunc"),
    ("to_char(DATE '2020-01-01', 'YYYY')", "to_char"),
    ("string_agg(b, ',')", "string_agg"),
    ("array_agg(a)", "array_agg"),
    ("bool_and(a > 1)", "bool_and"),
    ("percentile_cont(0.5) WITHIN GROUP (ORDER BY a)", "percentile_cont"),
    ("stddev(a)", "stddev"),
    ("a = ANY(ARRAY[1])", "?column?"),
    ("(a, b) = (1, 'x')", "?column?"),
    ("current_user", "current_user"),
    ("current_schema", "current_schema"),
    ("current_database()", "current_database"),
];

fn connection() -> Connection {
    let connection = Database::in_memory().unwrap().connect();
    let table = "CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR(20) NOT NULL, c DOUBLE PRECISION, d DATE)";
    connection.execute(table).unwrap();
    connection.execute("INSERT INTO t VALUES (1, 'x', 1.5, '2020-01-01'), (2, 'y', NULL, NULL)").unwrap();
    connection
}

/// The name of the first column of a query's result.
fn name(connection: &Connection, sql: &str) -> Result<String, gingham::Error> {
    Ok(connection.query(sql)?.schema().field(0).name().clone())
}

/// A query of one item, grouped where it needs to be.
fn named(connection: &Connection, item: &str) -> String {
    let plain = name(connection, &format!("SELECT {item} FROM t"));
    plain.unwrap_or_else(|error| panic!("{item}: {error}"))
}

#[test]
fn columns_are_called_as_postgresql_calls_them() {
    let connection = connection();
    connection.execute("SET gingham.column_names = 'postgres'").unwrap();
    for (item, expected) in NAMES {
        assert_eq!(named(&connection, item), *expected, "{item}");
    }
}

#[test]
fn columns_are_called_as_they_are_written() {
    let connection = connection();
    for (item, _) in NAMES {
        let name = named(&connection, item);
        // The parser writes words its own way; what it never writes is a name of a function that stands for something else.
        for internal in
            ["to_interval", "time_of", "float_key", "checked_", "registered", "compare_any", "similar_pattern"]
        {
            assert!(!name.contains(internal), "{item} is called {name}");
        }
    }
    assert_eq!(named(&connection, "count(*)"), "count(*)");
    assert_eq!(named(&connection, "a + 1"), "a + 1");
    assert_eq!(named(&connection, "INTERVAL '1 day'"), "INTERVAL '1 day'");
    assert_eq!(named(&connection, "'t'::regclass"), "'t'::REGCLASS");
}

#[test]
fn queries_around_may_use_either_name() {
    let connection = connection();
    for setting in ["text", "postgres"] {
        connection.execute(&format!("SET gingham.column_names = '{setting}'")).unwrap();
        for sql in [
            "SELECT count AS n FROM (SELECT count(*) FROM t) s",
            "SELECT \"count(*)\" AS n FROM (SELECT count(*) FROM t) s",
            "SELECT s.max AS n FROM (SELECT max(a) FROM t) s",
            "WITH w AS (SELECT sum(a) FROM t) SELECT sum AS n FROM w",
            "WITH w AS MATERIALIZED (SELECT sum(a) FROM t) SELECT w.sum AS n FROM w",
            "SELECT max AS n FROM (SELECT max(a) FROM t UNION ALL SELECT 7) u ORDER BY max",
        ] {
            let batches = connection.query(sql).unwrap_or_else(|error| panic!("{setting}: {sql}: {error}"));
            assert!(batches.collect_batches().unwrap().iter().any(|batch| batch.num_rows() > 0), "{sql}");
        }
        assert_eq!(
            name(&connection, "SELECT count(*) FROM t GROUP BY b ORDER BY count").unwrap(),
            match setting {
                "text" => "count(*)",
                _ => "count",
            }
        );
    }
}

/// A view's columns are called what they were called when it was made, whatever its reader has set.
#[test]
fn views_keep_their_names() {
    let connection = connection();
    connection.execute("CREATE VIEW texts AS SELECT count(*), 1 FROM t").unwrap();
    connection.execute("SET gingham.column_names = 'postgres'").unwrap();
    connection.execute("CREATE VIEW names AS SELECT count(*), max(a) FROM t").unwrap();
    connection.execute("CREATE TABLE made AS SELECT count(*), max(a) FROM t").unwrap();
    for setting in ["text", "postgres"] {
        connection.execute(&format!("SET gingham.column_names = '{setting}'")).unwrap();
        let names = |sql: &str| {
            let schema = connection.query(sql).unwrap().schema();
            schema.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>()
        };
        assert_eq!(names("SELECT * FROM texts"), ["count(*)", "1"], "{setting}");
        assert_eq!(names("SELECT * FROM names"), ["count", "max"], "{setting}");
        assert_eq!(names("SELECT * FROM made"), ["count", "max"], "{setting}");
    }
    let error = connection.execute("SET gingham.column_names = 'pg'").unwrap_err();
    assert_eq!(error.to_string(), "gingham.column_names is text or postgres, not 'pg'");
}
