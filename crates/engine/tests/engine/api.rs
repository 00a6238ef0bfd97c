//! Connections, results, cancelling, errors.

use crate::{connect, failure, rows};
use arrow::array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use gingham::{Connection, Database, DatabaseOptions, Error, ScalarValue};
use std::sync::Arc;
use std::time::Duration;

/// Runs for hours unless it is stopped.
const ENDLESS: &str =
    "SELECT sum(a.value * b.value % 7) FROM generate_series(1, 10000000) a, generate_series(1, 10000000) b";

#[test]
fn handles_cross_threads() {
    fn assert_shareable<T: Send + Sync + 'static>() {}
    assert_shareable::<Database>();
    assert_shareable::<Connection>();
    assert_shareable::<gingham::CancelHandle>();
    assert_shareable::<gingham::Prepared>();
    fn assert_send<T: Send + 'static>() {}
    assert_send::<gingham::QueryResult>();
    assert_send::<gingham::Appender>();
}

#[test]
fn connections_see_each_others_commits() {
    let database = Database::in_memory().unwrap();
    let writer = database.connect();
    writer.execute("CREATE TABLE t (a BIGINT)").unwrap();
    let readers: Vec<_> = (0..4)
        .map(|_| {
            let connection = database.connect();
            std::thread::spawn(move || {
                let mut last = 0;
                while last < 50 {
                    let now: u64 = rows(&connection, "SELECT count(*) FROM t")[0].parse().unwrap();
                    assert!(now >= last && now.is_multiple_of(5), "{now} after {last}");
                    last = now;
                }
            })
        })
        .collect();
    for _ in 0..10 {
        assert_eq!(writer.execute("INSERT INTO t VALUES (1), (2), (3), (4), (5)").unwrap(), 5);
    }
    for reader in readers {
        reader.join().unwrap();
    }
}

#[test]
fn a_cancelled_query_does_not_run_to_its_end() {
    let connection = connect();
    let handle = connection.cancel_handle();
    let result = connection.query(ENDLESS).unwrap();
    let canceller = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        handle.cancel();
    });
    assert!(matches!(result.collect_batches(), Err(Error::Cancelled)));
    canceller.join().unwrap();
    // The connection goes on.
    assert_eq!(rows(&connection, "SELECT 1"), ["1"]);
}

#[test]
fn dropping_a_result_stops_the_query() {
    let connection = connect();
    let mut result = connection.query("SELECT value FROM generate_series(1, 100000000000)").unwrap();
    assert!(result.next().unwrap().unwrap().num_rows() > 0);
    drop(result);
    drop(connection.query(ENDLESS).unwrap());
    assert_eq!(rows(&connection, "SELECT 2"), ["2"]);
}

#[test]
fn results_outlive_connection_and_database() {
    let result = connect().query("SELECT value FROM generate_series(1, 100000)").unwrap();
    assert_eq!(result.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 100_000);
}

#[test]
fn works_and_is_dropped_inside_asynchronous_code() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    runtime.block_on(async {
        let database = Database::in_memory().unwrap();
        let connection = database.connect();
        let mut result = connection.query_async("SELECT value FROM generate_series(1, 20000)").await.unwrap();
        let mut seen = 0;
        while let Some(batch) = futures::StreamExt::next(&mut result).await {
            seen += batch.unwrap().num_rows();
        }
        assert_eq!(seen, 20_000);
        // The blocking calls work too.
        assert_eq!(rows(&connection, "SELECT 3"), ["3"]);
        drop((result, connection, database));
    });
    let on_this_thread = tokio::runtime::Builder::new_current_thread().build().unwrap();
    on_this_thread.block_on(async { drop(Database::in_memory().unwrap().connect().query("SELECT 1").unwrap()) });
}

#[test]
fn execute_runs_several_statements_and_stops_at_the_first_that_fails() {
    let connection = connect();
    let script = "CREATE TABLE t (a INT); INSERT INTO t VALUES (1), (2); SELECT * FROM t";
    assert_eq!(connection.execute(script).unwrap(), 2);
    assert!(connection.execute("INSERT INTO t VALUES (3); SELECT * FROM nowhere; INSERT INTO t VALUES (4)").is_err());
    assert_eq!(rows(&connection, "SELECT count(*) FROM t"), ["3"]);
    assert!(connection.query("SELECT 1; SELECT 2").is_err());
    assert!(connection.query(" -- nothing").is_err());
    let result = connection.query("INSERT INTO t VALUES (9)").unwrap();
    assert_eq!((result.rows_affected(), result.schema().fields().len()), (Some(1), 0));
}

#[test]
fn parameters() {
    let connection = connect();
    connection.execute("CREATE TABLE t (a INT, name VARCHAR)").unwrap();
    let insert = connection.prepare("INSERT INTO t VALUES ($1, $2)").unwrap();
    for (number, name) in [(1, "one"), (2, "two")] {
        insert.query(&[ScalarValue::from(number), ScalarValue::from(name)]).unwrap();
    }
    let query = connection.prepare("SELECT name FROM t WHERE a = $1").unwrap();
    assert_eq!(query.parameters(), 1);
    let batches = query.query(&[ScalarValue::from(2i64)]).unwrap().collect_batches().unwrap();
    assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 1);
    assert!(query.query(&[]).is_err(), "a parameter is missing");
    assert!(connection.prepare("SELECT nothing FROM t").is_err());
}

#[test]
fn an_appender_is_all_or_nothing() {
    let connection = connect();
    connection.execute("CREATE TABLE t (a INT NOT NULL, b VARCHAR)").unwrap();
    let mut appender = connection.appender("t").unwrap();
    for number in 0..20_000 {
        appender.append_row(&[ScalarValue::Int64(Some(number)), ScalarValue::from("x")]).unwrap();
    }
    assert_eq!(rows(&connection, "SELECT count(*) FROM t"), ["0"]);
    assert_eq!(appender.finish().unwrap(), 20_000);
    assert_eq!(rows(&connection, "SELECT count(*), sum(a) FROM t"), ["20000|199990000"]);

    let mut dropped = connection.appender("t").unwrap();
    dropped.append_row(&[ScalarValue::from(1), ScalarValue::from("y")]).unwrap();
    drop(dropped);
    let mut wrong = connection.appender("t").unwrap();
    assert!(wrong.append_row(&[ScalarValue::from(1)]).is_err(), "too few values");
    let error = wrong.append_row(&[ScalarValue::Int64(Some(1 << 40)), ScalarValue::from("z")]).unwrap_err();
    assert!(error.to_string().contains("column 'a'"), "{error}");
    let error = wrong.append_row(&[ScalarValue::from(9.6), ScalarValue::from("z")]).unwrap_err().to_string();
    assert!(error.starts_with("column 'a': value '9.6' does not fit INTEGER without loss"), "{error}");
    let columns: [(&str, ArrayRef); 2] =
        [("a", Arc::new(Float64Array::from(vec![1.0, 0.5]))), ("b", Arc::new(StringArray::from(vec!["x", "y"])))];
    let error = wrong.append_batch(RecordBatch::try_from_iter(columns).unwrap()).unwrap_err().to_string();
    assert!(error.starts_with("row 2 of the batch, column 'a': value '0.5' does not fit INTEGER"), "{error}");
    wrong.append_row(&[ScalarValue::Int32(None), ScalarValue::from("z")]).unwrap();
    let error = wrong.finish().unwrap_err();
    assert!(matches!(error, Error::Constraint(_)), "{error:?}");
    assert_eq!(rows(&connection, "SELECT count(*) FROM t"), ["20000"]);
    let error = connection.appender("ts").unwrap_err().to_string();
    assert_eq!(error, "table 'ts' does not exist; did you mean 't'?");
}

#[test]
fn unknown_names_get_suggestions() {
    let connection = connect();
    connection.execute("CREATE TABLE lineitem (quantity INT, shipdate DATE); CREATE SCHEMA sales").unwrap();
    for (sql, text) in [
        ("SELECT * FROM lineitm", "table 'lineitm' does not exist; did you mean 'lineitem'? (line 1, column 15)"),
        (
            "SELECT 1,\n  quantty FROM lineitem",
            "column 'quantty' does not exist; did you mean 'quantity'? (line 2, column 3)",
        ),
        (
            "SELECT l.shipdat FROM lineitem l",
            "column 'l.shipdat' does not exist; did you mean 'l.shipdate'? (line 1, column 8)",
        ),
        ("SELECT * FROM zebra", "table 'zebra' does not exist (line 1, column 15)"),
        ("SELECT * FROM sale.t", "schema 'sale' does not exist; did you mean 'sales'? (line 1, column 15)"),
        ("SET gingham.thread = 2", "setting 'gingham.thread' does not exist; did you mean 'gingham.threads'?"),
    ] {
        assert_eq!(failure(&connection, sql).to_string(), text, "{sql}");
    }
}

#[test]
fn settings_are_checked_and_shown() {
    let connection = connect();
    connection
        .execute("SET gingham.threads = 1; SET gingham.memory_limit = '512MB'; SET gingham.isa = 'scalar'")
        .unwrap();
    let shown = |name: &str| {
        rows(&connection, &format!("SELECT value FROM information_schema.df_settings WHERE name = '{name}'"))
    };
    assert_eq!(shown("gingham.threads"), ["1"]);
    assert_eq!(shown("datafusion.execution.target_partitions"), ["1"]);
    assert_eq!(shown("gingham.memory_limit"), [(512usize << 20).to_string()]);
    assert_eq!(shown("gingham.isa"), ["scalar"]);
    for (sql, text) in [
        ("SET gingham.isa = 'neon'", "gingham.isa is auto, scalar, avx2 or avx512, not 'neon'"),
        ("SET gingham.threads = 0", "gingham.threads is a number from 1 to 1024, not '0'"),
    ] {
        assert_eq!(failure(&connection, sql).to_string(), text);
    }
}

#[test]
fn a_query_past_the_memory_limit_fails_by_name() {
    let options = DatabaseOptions::new().memory_limit(32 << 20).threads(1);
    let connection = options.temporary().unwrap().connect();
    let sql =
        "SELECT count(*) FROM generate_series(1, 3000000) a JOIN generate_series(1, 3000000) b ON a.value = b.value";
    let error = failure(&connection, sql);
    assert!(matches!(error, Error::OutOfMemory(_)), "{error:?}");
    assert!(error.to_string().contains("gingham.memory_limit"), "{error}");
    // A sort spills instead.
    let sorted = connection.query("SELECT value FROM generate_series(1, 3000000) ORDER BY value % 7, value").unwrap();
    assert_eq!(sorted.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 3_000_000);
}

/// Partitions that run out of memory while they hand rows to each other don't wait for each other.
#[test]
fn operators_without_memory_end_whatever_they_wait_for() {
    let connection = connect();
    connection
        .execute(
            "CREATE TABLE t AS SELECT value % 13 AS g, 'a string of some length ' || (value % 337) AS s FROM generate_series(1, 40000);
             SET gingham.execution = 'datafusion'; SET gingham.threads = 2; SET datafusion.execution.batch_size = 64;
             SET gingham.memory_limit = '2MB'",
        )
        .unwrap();
    for _ in 0..6 {
        // An answer, or an error that names the limit: which of them is a matter of who runs when.
        match connection
            .query("SELECT g, count(DISTINCT s) AS n FROM t GROUP BY g")
            .and_then(gingham::QueryResult::collect_batches)
        {
            Ok(batches) => assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 13),
            Err(error) => assert!(error.to_string().contains("gingham.memory_limit"), "{error}"),
        }
    }
}

#[test]
fn views_see_the_database_only_and_never_themselves() {
    let connection = connect();
    connection.execute("CREATE TABLE t (a INT); INSERT INTO t VALUES (7)").unwrap();
    connection.execute("CREATE VIEW v (b) AS SELECT a + 1 FROM t; CREATE VIEW w AS SELECT b * 2 AS c FROM v").unwrap();
    assert_eq!(rows(&connection, "SELECT c FROM w WHERE c > 3"), ["16"]);
    let circle = connection.execute("CREATE OR REPLACE VIEW v AS SELECT c AS b FROM w; SELECT * FROM v");
    let error = circle.expect_err("a view of itself");
    assert!(error.to_string().contains("itself"), "{error}");
}
