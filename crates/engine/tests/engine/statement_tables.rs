//! Tables of the program that come with a statement: nobody else sees them, whatever else the connection runs.

use crate::{connect, failure, rows};
use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, RecordBatchIterator};
use arrow::datatypes::Int64Type;
use gingham::{Connection, Database, ScalarValue, StatementHandle, StatementTables};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn batch(values: &[i64]) -> RecordBatch {
    let values: ArrayRef = Arc::new(Int64Array::from(values.to_vec()));
    RecordBatch::try_from_iter([("n", values)]).unwrap()
}

fn given(name: &str, values: &[i64]) -> StatementTables {
    let mut tables = StatementTables::new();
    tables.insert(name, vec![batch(values)]).unwrap();
    tables
}

/// This connection with a table of one column `n`.
fn with(connection: &Connection, name: &str, values: &[i64]) -> Connection {
    connection.with_tables(given(name, values))
}

#[test]
fn only_the_statement_finds_them() {
    let connection = connect();
    connection.execute("CREATE TABLE own AS SELECT value AS k FROM generate_series(1, 9)").unwrap();
    let own = with(&connection, "frame", &[2, 3, 40]);
    assert_eq!(rows(&own, "SELECT sum(n) FROM frame"), ["45"]);
    assert_eq!(rows(&own, "SELECT count(*) FROM Frame JOIN own ON n = k WHERE n IN (SELECT f.n FROM frame f)"), ["2"]);
    assert_eq!(failure(&connection, "SELECT n FROM frame").sqlstate(), "42P01");
    assert_eq!(own.unknown_tables("SELECT * FROM frame, other").unwrap(), ["other"]);
    // No list has them, and a name with a schema is none of theirs.
    for list in ["SHOW TABLES", "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"] {
        assert!(!rows(&own, list).concat().contains("frame"), "{list}");
    }
    assert_eq!(failure(&own, "SELECT n FROM public.frame").sqlstate(), "42P01");
    let error = failure(&own, "SELECT n FROM frme").to_string();
    assert!(error.contains("did you mean 'frame'"), "{error}");
    // Names are read as SQL reads them.
    assert_eq!(rows(&with(&connection, "\"Frame\"", &[7]), "SELECT n FROM \"Frame\""), ["7"]);
    let mut tables = given("frame", &[1]);
    for (name, code) in [("public.frame", "0A000"), ("", "42602")] {
        assert_eq!(tables.insert(name, vec![batch(&[1])]).unwrap_err().sqlstate(), code, "{name}");
    }
    assert_eq!(tables.insert("none", Vec::new()).unwrap_err().sqlstate(), "42P16");
    // Those that come last go first.
    let twice = own.with_tables(given("frame", &[5])).with_tables(given("more", &[6]));
    assert_eq!(rows(&twice, "SELECT frame.n, more.n FROM frame, more"), ["5|6"]);
    assert_eq!(rows(&own, "SELECT count(*) FROM frame"), ["3"]);
}

#[test]
fn they_go_with_values_and_with_what_is_prepared() {
    let connection = connect();
    connection.execute("CREATE TABLE t (n BIGINT)").unwrap();
    let (one, two) = (with(&connection, "frame", &[1, 2, 3]), with(&connection, "frame", &[10, 20, 30]));
    let sql = "SELECT sum(n) AS sum FROM frame WHERE n > $1";
    let prepared = [&one, &two].map(|own| own.prepare(sql).unwrap());
    assert_eq!(prepared[0].schema().unwrap().field(0).name(), "sum");
    let value = |result: gingham::QueryResult| {
        ScalarValue::try_from_array(result.collect_batches().unwrap()[0].column(0), 0).unwrap()
    };
    for _ in 0..3 {
        for (own, prepared, sum) in [(&one, &prepared[0], 5), (&two, &prepared[1], 60)] {
            let sum = ScalarValue::Decimal128(Some(sum), 38, 0);
            let least = [ScalarValue::from(1_i64)];
            assert_eq!(value(own.query_with(sql, least.clone()).unwrap()), sum.clone());
            assert_eq!(value(own.start_with(sql, least.clone()).unwrap().wait().unwrap()), sum.clone());
            assert_eq!(value(prepared.query(&least).unwrap()), sum.clone());
            let waiting = futures::executor::block_on(prepared.query_async(&least)).unwrap();
            assert_eq!(value(waiting), sum.clone());
            assert_eq!(value(own.query("SELECT sum(n) FROM frame WHERE n > 1").unwrap()), sum.clone());
        }
    }
    assert!(connection.prepare(sql).is_err());
    // Those of PREPARE are kept with it, and come before others of the name.
    one.execute("PREPARE p AS SELECT sum(n) FROM frame WHERE n > $1").unwrap();
    connection.execute("CREATE TABLE frame AS SELECT 7 AS n").unwrap();
    assert_eq!(rows(&connection, "EXECUTE p(1)"), ["5"]);
    assert_eq!(rows(&two, "EXECUTE p(2)"), ["3"]);
    assert_eq!(two.prepare("EXECUTE p($1)").unwrap().schema().unwrap().fields().len(), 1);
    // Many lists of values go by a table of their statement's, which nobody sees.
    let insert = two.prepare("INSERT INTO t SELECT n + $1 FROM frame").unwrap();
    let lists = (0..3).map(|n| Ok(vec![ScalarValue::from(n)]));
    assert_eq!(insert.for_each(lists, &StatementHandle::new()).unwrap(), 9);
    let insert = connection.prepare("INSERT INTO t VALUES ($1)").unwrap();
    let lists = (0..1000).map(|n| Ok(vec![ScalarValue::from(n)]));
    assert_eq!(insert.for_each(lists, &StatementHandle::new()).unwrap(), 1000);
    assert_eq!(rows(&connection, "SELECT count(*) FROM t"), ["1009"]);
    connection.execute("CREATE TABLE gingham_values (n BIGINT)").unwrap();
    let insert = connection.prepare("INSERT INTO gingham_values VALUES ($1)").unwrap();
    let lists = (0..100).map(|n| Ok(vec![ScalarValue::from(n)]));
    assert_eq!(insert.for_each(lists, &StatementHandle::new()).unwrap(), 100, "a table of that name is no other");
}

#[test]
fn a_kept_plan_is_of_the_right_table() {
    let database = Database::in_memory().unwrap();
    let (connection, other) = (database.connect(), database.connect());
    other
        .execute(
            "CREATE TABLE t AS SELECT 7 AS n; CREATE VIEW v AS SELECT n FROM t;
             CREATE TABLE p (n BIGINT PRIMARY KEY) WITH (layout = 'nsm'); INSERT INTO p VALUES (1), (2)",
        )
        .unwrap();
    let (one, two) = (with(&connection, "t", &[1]), with(&connection, "t", &[2]));
    for sql in ["SELECT n FROM t", "SELECT n FROM \"t\"", "SELECT sum(n) FROM T"] {
        for _ in 0..3 {
            for (own, n) in [(&connection, "7"), (&one, "1"), (&other, "7"), (&two, "2"), (&one, "1")] {
                assert_eq!(rows(own, sql), [n], "{sql}");
            }
        }
        other.execute("INSERT INTO t SELECT 0 WHERE false; CREATE TABLE u (n INT); DROP TABLE u").unwrap();
        // The first to come has it kept, whoever that is.
        for (own, n) in [(&two, "2"), (&connection, "7"), (&one, "1")] {
            assert_eq!(rows(own, sql), [n], "{sql}");
        }
    }
    // A view means the same to everybody, and so does a name that is a query's own.
    for own in [&connection, &one, &two] {
        assert_eq!(rows(own, "SELECT n FROM v"), ["7"]);
        assert_eq!(rows(own, "WITH t AS (SELECT 9 AS n) SELECT n FROM t"), ["9"]);
        assert_eq!(rows(own, "SELECT n FROM public.t"), ["7"]);
    }
    // One record by its key is found without a plan.
    let points = with(&connection, "p", &[1, 1, 1]);
    assert_eq!(rows(&points, "SELECT n FROM p WHERE n = 1"), ["1", "1", "1"]);
    assert_eq!(rows(&points, "SELECT n FROM p WHERE n = 2"), [""; 0]);
    assert_eq!(rows(&connection, "SELECT n FROM p WHERE n = 2"), ["2"]);
    for change in ["DELETE FROM p WHERE n = 2", "UPDATE p SET n = 5 WHERE n = 2", "INSERT INTO p VALUES (9)"] {
        let error = failure(&points, change);
        assert_eq!(error.sqlstate(), "42809", "{error}");
        assert!(error.to_string().starts_with("'p' came with this statement as a table of the program"), "{error}");
    }
    assert_eq!(rows(&connection, "SELECT count(*) FROM p"), ["2"]);
}

#[test]
fn every_kind_of_statement_reads_them() {
    let connection = connect();
    connection.execute("CREATE TABLE t (n BIGINT, word VARCHAR)").unwrap();
    let own = with(&connection, "frame", &[1, 2, 3]);
    assert_eq!(own.execute("INSERT INTO t SELECT n, 'w' FROM frame").unwrap(), 3);
    assert_eq!(own.execute("UPDATE t SET word = 'x' FROM frame WHERE t.n = frame.n AND frame.n > 1").unwrap(), 2);
    assert_eq!(own.execute("DELETE FROM t USING frame WHERE t.n = frame.n AND frame.n = 3").unwrap(), 1);
    let merge = "MERGE INTO t USING frame ON t.n = frame.n WHEN MATCHED THEN UPDATE SET word = 'm'
                 WHEN NOT MATCHED THEN INSERT VALUES (frame.n, 'new')";
    assert_eq!(own.execute(merge).unwrap(), 3);
    assert_eq!(rows(&connection, "SELECT n, word FROM t ORDER BY n"), ["1|m", "2|m", "3|new"]);
    // A table of the name is made of it.
    assert_eq!(own.execute("CREATE TABLE frame AS SELECT n * 2 AS n FROM frame").unwrap(), 3);
    assert_eq!(rows(&connection, "SELECT sum(n) FROM frame"), ["12"]);
    assert_eq!(rows(&own, "SELECT sum(n) FROM frame"), ["6"]);
    assert!(rows(&own, "EXPLAIN FORMAT indent SELECT sum(n) FROM frame").concat().contains("RegisteredExec"));
    assert!(rows(&own, "EXPLAIN ANALYZE FORMAT indent SELECT sum(n) FROM frame").concat().contains("RegisteredExec"));
    assert!(rows(&with(&connection, "single", &[1]), "DESCRIBE single")[0].starts_with("n|BIGINT"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("frame.csv");
    for copy in ["frame", "(SELECT n FROM frame)"] {
        assert_eq!(own.execute(&format!("COPY {copy} TO '{}' (HEADER true)", file.display())).unwrap(), 3);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "n\n1\n2\n3\n", "{copy}");
        let mut bytes = Vec::new();
        let sql = format!("COPY {copy} TO STDOUT");
        assert_eq!(own.copy_out(&sql, &mut bytes, &StatementHandle::new()).unwrap(), 3, "{sql}");
        assert_eq!(bytes, b"1\n2\n3\n");
        assert_eq!(connection.unknown_tables(&format!("COPY {copy} TO 'x.csv'")).unwrap(), [""; 0], "a table has it");
    }
    assert_eq!(connection.unknown_tables("COPY nosuch TO 'x.csv'").unwrap(), ["nosuch"]);
    assert_eq!(connection.unknown_tables("DESCRIBE nosuch").unwrap(), ["nosuch"]);
    // In a transaction, which the connection and all that see more tables share.
    connection.execute("BEGIN").unwrap();
    own.execute("INSERT INTO t SELECT n + 100, 'late' FROM frame").unwrap();
    assert_eq!(rows(&connection, "SELECT count(*) FROM t"), ["6"]);
    assert_eq!(rows(&own, "SELECT count(*) FROM t JOIN frame ON t.n = frame.n + 100"), ["3"]);
    connection.execute("ROLLBACK").unwrap();
    assert_eq!(rows(&own, "SELECT count(*) FROM t"), ["3"]);
}

#[test]
fn a_view_is_none_of_theirs() {
    let connection = connect();
    let own = with(&connection, "frame", &[1, 2, 3]);
    for create in ["CREATE VIEW v", "CREATE TEMP VIEW v", "CREATE OR REPLACE VIEW v"] {
        for query in ["SELECT n FROM frame", "SELECT 1 AS n WHERE 1 IN (SELECT n FROM frame)"] {
            let error = failure(&own, &format!("{create} AS {query}"));
            assert_eq!(error.sqlstate(), "42P16", "{create} AS {query}: {error}");
            assert!(error.to_string().contains("refers to 'frame', a table of the program"), "{error}");
        }
    }
    // One of before does not find it either.
    connection.register("frame", vec![batch(&[50])]).unwrap();
    connection.execute("CREATE TEMP VIEW v AS SELECT n FROM frame").unwrap();
    assert_eq!(rows(&own, "SELECT v.n, count(*) FROM v, frame GROUP BY v.n"), ["50|3"]);
    connection.unregister("frame").unwrap();
    assert_eq!(failure(&own, "SELECT n FROM v").sqlstate(), "42P01");
    assert_eq!(rows(&own, "SELECT count(*) FROM frame"), ["3"]);
}

#[test]
fn a_stream_of_a_statement_is_read_once() {
    let connection = connect();
    let parts: Vec<_> = (0..100).map(|part| Ok(batch(&[part, part + 1]))).collect();
    let mut tables = StatementTables::new();
    let reader = RecordBatchIterator::new(parts, batch(&[]).schema());
    tables.insert_stream("events", Box::new(reader)).unwrap();
    let own = connection.with_tables(tables);
    assert_eq!(own.prepare("SELECT n FROM events").unwrap().schema().unwrap().fields().len(), 1);
    assert_eq!(rows(&own, "SELECT count(*) FROM events"), ["200"]);
    let error = failure(&own, "SELECT count(*) FROM events");
    assert!(error.to_string().starts_with("'events' is a stream that was read already"), "{error}");
}

/// Threads that share a connection, each with a table of its own under one name; the values say whose an answer is.
#[test]
fn rows_keep_their_order_where_nothing_reorders_them() {
    // More than the 65,536 rows that a task reads at a time, in batches of every size.
    let all: Vec<i64> = (0..150_000).collect();
    let mut batches = vec![batch(&[])];
    let mut rest = all.as_slice();
    for rows in [1, 70_000, 3, 5_000].into_iter().cycle() {
        let (first, later) = rest.split_at(rest.len().min(rows));
        batches.push(batch(first));
        rest = later;
        if rest.is_empty() {
            break;
        }
    }
    let limited = |from: usize, rows: usize| all.iter().filter(|n| *n % 7 > 0).skip(from).take(rows);
    let filter = "SELECT n FROM frame WHERE n % 7 > 0";
    let expected: Vec<(String, Vec<i64>)> = vec![
        ("SELECT n FROM frame".into(), all.clone()),
        (filter.into(), limited(0, all.len()).copied().collect()),
        (format!("{filter} LIMIT 3"), limited(0, 3).copied().collect()),
        (format!("{filter} LIMIT 70000 OFFSET 9"), limited(9, 70_000).copied().collect()),
        (
            format!("SELECT -n AS n FROM ({filter}) q WHERE n > 60000"),
            limited(0, all.len()).filter(|n| **n > 60_000).map(|n| -n).collect(),
        ),
        (format!("{filter} UNION ALL SELECT n FROM frame"), limited(0, all.len()).chain(&all).copied().collect()),
        ("SELECT row_number() OVER () - n AS n FROM frame".into(), vec![1; all.len()]),
        ("SELECT n FROM frame LIMIT 2".into(), vec![0, 1]),
    ];
    for threads in [1, 2, 7] {
        let connection = gingham::DatabaseOptions::new().threads(Some(threads)).temporary().unwrap().connect();
        let mut tables = StatementTables::new();
        tables.insert("frame", batches.clone()).unwrap();
        let own = connection.with_tables(tables);
        for (sql, expected) in &expected {
            let found = own.query(sql).unwrap().collect_batches().unwrap();
            let found = found.iter().flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec());
            assert!(found.eq(expected.iter().copied()), "{threads} threads: {sql}");
        }
        // A table has no order, and all of its rows.
        own.execute("CREATE TABLE t AS SELECT n FROM frame").unwrap();
        assert_eq!(
            rows(&connection, "SELECT count(*), count(DISTINCT n), sum(n) FROM t"),
            ["150000|150000|11249925000"]
        );
    }
}

#[test]
fn a_table_of_no_column_is_refused() {
    let empty = RecordBatch::new_empty(Arc::new(arrow::datatypes::Schema::empty()));
    let error = StatementTables::new().insert("frame", vec![empty]).unwrap_err();
    assert_eq!(
        (error.sqlstate(), error.to_string().as_str()),
        ("42P16", "'frame' has no column, and a table has one at least")
    );
}

#[test]
fn threads_find_their_own() {
    let database = Database::in_memory().unwrap();
    let connection = database.connect();
    connection.execute("CREATE TABLE shared AS SELECT value AS n FROM generate_series(0, 99)").unwrap();
    let time = if std::env::var_os("GINGHAM_NIGHTLY").is_some() { 60 } else { 3 };
    let end = Instant::now() + Duration::from_secs(time);
    std::thread::scope(|scope| {
        for thread in 0..8_i64 {
            let connection = &connection;
            scope.spawn(move || {
                let mut turn = 0;
                while Instant::now() < end {
                    turn += 1;
                    let n = thread * 1_000_000 + turn;
                    let own = with(connection, "frame", &vec![n; 1 + turn as usize % 50]);
                    let wanted = [format!("{n}|{n}")];
                    assert_eq!(rows(&own, "SELECT min(n), max(n) FROM frame"), wanted);
                    let sql = "SELECT min(f.n), max(f.n) FROM frame f, shared s WHERE s.n < $1";
                    let result = own.query_with(sql, [ScalarValue::from(3_i64)]).unwrap();
                    let batches = result.collect_batches().unwrap();
                    for column in batches[0].columns() {
                        assert_eq!(ScalarValue::try_from_array(column, 0).unwrap(), ScalarValue::from(n));
                    }
                    assert_eq!(failure(connection, "SELECT n FROM frame").sqlstate(), "42P01");
                }
            });
        }
    });
}
