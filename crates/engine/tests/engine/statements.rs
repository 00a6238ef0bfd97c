//! Statements through the Rust API: what the SQL corpus can't say. Parameters, kinds of errors, several connections,
//! and rows checked against casting them one by one.

use super::connect;
use arrow::array::{Array, AsArray};
use arrow::datatypes::Int64Type;
use gingham::{Connection, Database, Error, ScalarValue};
use proptest::prelude::*;

/// The one number that a query gives.
fn number(connection: &Connection, sql: &str) -> i64 {
    let batches = connection.query(sql).and_then(|result| result.collect_batches()).expect(sql);
    batches[0].column(0).as_primitive::<Int64Type>().value(0)
}

/// The first column as text, NULL as "NULL".
fn texts(connection: &Connection, sql: &str) -> Vec<String> {
    let batches = connection.query(sql).and_then(|result| result.collect_batches()).expect(sql);
    let show = |column: &arrow::array::ArrayRef, row| {
        if column.is_null(row) {
            return "NULL".to_owned();
        }
        arrow::util::display::array_value_to_string(column, row).expect("a value can be shown")
    };
    batches.iter().flat_map(|batch| (0..batch.num_rows()).map(|row| show(batch.column(0), row))).collect()
}

#[test]
fn kinds_of_errors() {
    let connection = connect();
    connection.execute("CREATE TABLE t (a TINYINT PRIMARY KEY, b VARCHAR(3) CHECK (b <> 'no'))").unwrap();
    let error = |sql: &str| connection.execute(sql).expect_err(sql);
    assert!(matches!(error("INSERT INTO t VALUES (300, 'x')"), Error::InvalidInput(_)));
    assert!(matches!(error("INSERT INTO t VALUES (1, 'long')"), Error::InvalidInput(_)));
    assert!(matches!(error("INSERT INTO t VALUES (NULL, 'x')"), Error::Constraint(_)));
    assert!(matches!(error("INSERT INTO t VALUES (1, 'no')"), Error::Constraint(_)));
    assert!(matches!(error("INSERT INTO t VALUES (1, 'a'), (1, 'b')"), Error::Constraint(_)));
    assert!(matches!(error("UPDATE t SET a = 1 LIMIT 1"), Error::Unsupported(_)));
    assert!(matches!(error("CREATE TABLE u (a UUID)"), Error::Unsupported(_)));
    assert!(matches!(error("SELECT * FROM nosuch"), Error::InvalidInput(_)));
    assert_eq!(number(&connection, "SELECT count(*) FROM t"), 0);
}

#[test]
fn errors_are_in_the_words_of_users() {
    let connection = connect();
    let nested = format!("SELECT {}1{}", "(".repeat(5000), ")".repeat(5000));
    for (sql, text) in [
        (nested.as_str(), "the statement is nested too deeply; write it in parts"),
        ("SELECT sum('x')", "function sum does not take arguments of type VARCHAR; cast them"),
        (
            "SELECT * FROM (SELECT 1 AS a) x RIGHT JOIN LATERAL (SELECT x.a + 1) y ON true",
            "LATERAL on the right of Right JOIN is not supported",
        ),
        ("SELECT * FROM t PIVOT (sum(a) FOR b IN (1))", "not supported: PIVOT"),
        ("SELECT * FROM \"\"", "table '' does not exist (line 1, column 15)"),
        ("SELECT * FROM \"a.b c\"", "table 'a.b c' does not exist (line 1, column 15)"),
        (
            "SELECT * FROM '/etc'",
            "table '/etc' does not exist; FROM reads files that end in .parquet, .csv or .json, and folders whose name ends in /",
        ),
    ] {
        let error = crate::failure(&connection, sql).to_string();
        assert_eq!(error, text, "{}", &sql[..sql.len().min(60)]);
    }
}

#[test]
fn a_script_runs_to_its_first_refusal() {
    let connection = connect();
    let error = connection
        .execute("CREATE TABLE t (a INT); INSERT INTO t VALUES (1); NOTIFY x; INSERT INTO t VALUES (2)")
        .unwrap_err();
    assert_eq!(error.to_string(), "NOTIFY is not supported");
    assert_eq!(number(&connection, "SELECT count(*) FROM t"), 1);
}

#[test]
fn parameters_of_an_insert() {
    let connection = connect();
    connection.execute("CREATE TABLE t (a SMALLINT, b VARCHAR, c DATE, d DOUBLE DEFAULT 2.5)").unwrap();
    let insert = connection.prepare("INSERT INTO t (a, b, c) VALUES ($1, $2, $3), ($1 + 1, upper($2), NULL)").unwrap();
    let row = |a: i64, b: &str, c: &str| [a.into(), ScalarValue::from(b), ScalarValue::from(c)];
    assert_eq!(insert.query(&row(1, "x", "2024-02-29")).unwrap().rows_affected(), Some(2));
    assert_eq!(texts(&connection, "SELECT b FROM t ORDER BY a"), ["x", "X"]);
    assert_eq!(texts(&connection, "SELECT c FROM t ORDER BY a"), ["2024-02-29", "NULL"]);
    assert_eq!(texts(&connection, "SELECT d FROM t ORDER BY a"), ["2.5", "2.5"]);
    let error = insert.query(&row(40000, "x", "2024-02-29")).unwrap_err().to_string();
    assert_eq!(error, "row 1, column 'a': value '40000' does not fit SMALLINT");
    let error = insert.query(&row(1, "x", "yesterday")).unwrap_err().to_string();
    assert_eq!(error, "row 1, column 'c': value 'yesterday' is not a valid DATE");
    assert!(insert.query(&[1i64.into()]).is_err());
    assert_eq!(number(&connection, "SELECT count(*) FROM t"), 2);
}

#[test]
fn the_first_bad_row_is_named_whatever_its_column() {
    let connection = connect();
    connection.execute("CREATE TABLE t (a TINYINT, b VARCHAR(2), c INT NOT NULL)").unwrap();
    let cases = [
        (
            "(1, 'x', 1), (2, 'xyz', 2), (300, 'x', 3)",
            "row 2, column 'b': value 'xyz' has 3 characters, too long for VARCHAR(2)",
        ),
        ("(1, 'x', 1), (300, 'x', 2), (1, 'xyz', 3)", "row 2, column 'a': value '300' does not fit TINYINT"),
        ("(1, 'x', NULL), (300, 'xyz', 2)", "row 1, column 'c': NULL violates NOT NULL"),
        ("(1, 'x', 1), (DATE '2024-01-01', 'x', 1)", "column 'a' is TINYINT, but its new value is DATE; cast it"),
        ("(1, 'x', 1), (1, 'x', CAST('z' AS INT))", "row 2, column 'c': "),
    ];
    for (rows, expected) in cases {
        let error = connection.execute(&format!("INSERT INTO t VALUES {rows}")).unwrap_err().to_string();
        assert!(error.contains(expected), "{rows}: {error}");
    }
}

#[test]
fn definitions_change_between_planning_and_commit() {
    let database = Database::in_memory().unwrap();
    let (one, two) = (database.connect(), database.connect());
    one.execute("CREATE TABLE t (a INT)").unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for value in 0..50 {
                match one.execute(&format!("INSERT INTO t (a) VALUES ({value})")) {
                    Ok(rows) => assert_eq!(rows, 1),
                    Err(error) => assert!(!matches!(error, Error::Internal(_) | Error::Corrupt { .. }), "{error}"),
                }
            }
        });
        for number in 0..10 {
            two.execute(&format!("ALTER TABLE t ADD COLUMN c{number} INT DEFAULT {number}")).unwrap();
            two.execute(&format!("ALTER TABLE t DROP COLUMN c{number}")).unwrap();
        }
        writer.join().unwrap();
    });
    let rows = number(&two, "SELECT count(*) FROM t");
    assert!(rows > 0 && rows <= 50, "{rows}");
    assert_eq!(number(&two, "SELECT count(DISTINCT a) FROM t"), rows);
}

#[test]
fn one_of_two_creators_wins() {
    let database = Database::in_memory().unwrap();
    let created: Vec<bool> = std::thread::scope(|scope| {
        let create = |number| {
            let connection = database.connect();
            scope.spawn(move || connection.execute(&format!("CREATE TABLE t AS SELECT {number} AS a")).is_ok())
        };
        let threads: Vec<_> = (0..4).map(create).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(created.iter().filter(|created| **created).count(), 1);
    assert_eq!(number(&database.connect(), "SELECT count(*) FROM t"), 1);
}

#[test]
fn a_view_that_no_longer_works_hides_nothing_else() {
    let connection = connect();
    connection
        .execute("CREATE TABLE t (a INT, b INT); CREATE VIEW v AS SELECT b * 2 AS b FROM t; CREATE VIEW w AS SELECT a FROM t")
        .unwrap();
    connection.execute("ALTER TABLE t ALTER COLUMN b TYPE DATE USING NULL").unwrap();
    let error = connection.query("SELECT * FROM v").unwrap_err().to_string();
    assert!(error.starts_with("view 'v': "), "{error}");
    let tables = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1";
    assert_eq!(texts(&connection, tables), ["t", "v", "w"]);
    let columns = "SELECT table_name FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1";
    assert_eq!(texts(&connection, columns), ["t", "t", "w"]);
    connection.execute("DROP VIEW v").unwrap();
}

/// A literal of VALUES, and whether it is a number, text or NULL.
fn literal() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("NULL".to_owned()),
        (-40000i64..40000).prop_map(|value| value.to_string()),
        (-400i64..400).prop_map(|value| format!("'{value}'")),
        (-40000i64..40000, 0..3usize).prop_map(|(value, digits)| format!(
            "{}.{:0width$}",
            value,
            5,
            width = digits + 1
        )),
        "[a-z]{0,4}".prop_map(|text| format!("'{text}'")),
        Just("DEFAULT".to_owned()),
        (-200i64..200).prop_map(|value| format!("{value} + 1")),
    ]
}

/// `quick` cases, or fifty times as many in the nightly run.
fn cases(quick: u32) -> u32 {
    if std::env::var_os("GINGHAM_NIGHTLY").is_some() { 50 * quick } else { quick }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(24)))]

    /// Rows inserted together are those inserted one by one, and fail together when any fails alone.
    #[test]
    fn together_as_one_by_one(rows in prop::collection::vec((literal(), literal(), literal()), 1..8)) {
        let connection = connect();
        for table in ["one", "all_rows"] {
            let columns = "a SMALLINT DEFAULT 7, b VARCHAR(3), c DECIMAL(6,1)";
            connection.execute(&format!("CREATE TABLE {table} ({columns})")).unwrap();
        }
        let tuple = |(a, b, c): &(String, String, String)| format!("({a}, {b}, {c})");
        let mut failed = false;
        for row in &rows {
            failed |= connection.execute(&format!("INSERT INTO one VALUES {}", tuple(row))).is_err();
        }
        let together: Vec<String> = rows.iter().map(tuple).collect();
        let result = connection.execute(&format!("INSERT INTO all_rows VALUES {}", together.join(", ")));
        prop_assert_eq!(failed, result.is_err(), "{:?}: {:?}", together, result);
        let contents = |table: &str| {
            let row = "coalesce(CAST(a AS VARCHAR), '-') || '|' || coalesce(b, '-') || '|' || coalesce(CAST(c AS VARCHAR), '-')";
            texts(&connection, &format!("SELECT {row} AS r FROM {table} ORDER BY r"))
        };
        if failed {
            prop_assert!(contents("all_rows").is_empty());
        } else {
            prop_assert_eq!(contents("one"), contents("all_rows"));
        }
    }
}

#[test]
fn show_create_makes_the_same_again() {
    let connection = connect();
    let made = [
        ("parent", "CREATE TABLE parent (id INT PRIMARY KEY, \"select\" VARCHAR(3) UNIQUE, \"A b\" DATE NOT NULL)"),
        (
            "child",
            "CREATE TABLE child (a INT REFERENCES parent, b DECIMAL(5,2) DEFAULT 1.5 CHECK (b > 0), \"it's\" TEXT DEFAULT 'it''s', \
             t TIMESTAMPTZ DEFAULT now(), next INT REFERENCES child, UNIQUE (a, b), CONSTRAINT k PRIMARY KEY (a), \
             CONSTRAINT \"Odd name\" CHECK (a < 10 OR \"it's\" LIKE 'x%')) \
             WITH (layout = 'column', sort_by = 'b, a')",
        ),
        (
            "kinds",
            "CREATE TABLE kinds (a BOOLEAN, b TINYINT, c SMALLINT UNSIGNED, d BIGINT UNSIGNED, e REAL, f DOUBLE, g TIME(3), \
             h TIMESTAMP(9), i CHAR(4), j BINARY, k DECIMAL(38,10), l INT UNSIGNED DEFAULT 1 + 2 * 3)",
        ),
        ("s.t", "CREATE TABLE s.t (a INT)"),
        ("v", "CREATE VIEW v (x, \"Y\") AS SELECT a, b * 2 FROM child WHERE b > 1.50 ORDER BY 1"),
        ("v2", "CREATE OR REPLACE VIEW v2 AS WITH w AS (SELECT x FROM v) SELECT count(*) AS n FROM w"),
        ("mine", "CREATE TEMP TABLE mine (a INT DEFAULT -1)"),
    ];
    let again = connect();
    for both in [&connection, &again] {
        both.execute("CREATE SCHEMA s").unwrap();
    }
    for (name, sql) in made {
        connection.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        let show = |connection: &Connection| -> String {
            let sql = format!("SHOW CREATE TABLE {name}");
            let batches = connection.query(&sql).and_then(|result| result.collect_batches()).expect(&sql);
            arrow::util::display::array_value_to_string(batches[0].column(1), 0).expect("a text")
        };
        let text = show(&connection);
        again.execute(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(show(&again), text);
        // And it is not just the text that is the same.
        let described = |connection: &Connection| crate::rows(connection, &format!("DESCRIBE {name}"));
        assert_eq!(described(&connection), described(&again));
    }
    assert_eq!(
        texts(&connection, "SHOW CREATE TABLE parent").len(),
        1,
        "one row: the name, and the statement in the second column"
    );
    for (name, problem) in [
        ("gingham_tables", "'gingham_tables' is a system table, which no statement makes"),
        ("paren", "table 'paren' does not exist; did you mean 'parent'?"),
    ] {
        let error = connection.execute(&format!("SHOW CREATE VIEW {name}")).unwrap_err();
        assert_eq!(error.to_string(), problem);
    }
}
