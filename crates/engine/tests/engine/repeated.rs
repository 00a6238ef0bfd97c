//! Repeated texts run by a plan that was kept, and giving what a new plan would.

use crate::{connect, rows};
use gingham::{Connection, Database};
use std::path::Path;
use std::time::Duration;

#[test]
fn what_was_written_meanwhile_is_seen() {
    let connection = connect();
    connection.execute("CREATE TABLE t (a INTEGER, b VARCHAR)").expect("a table");
    let count = "SELECT count(*) FROM t WHERE a > 1";
    let sums = "SELECT b, sum(a) FROM t GROUP BY b ORDER BY b";
    assert_eq!((rows(&connection, count), rows(&connection, sums)), (vec!["0".into()], vec![]));
    for inserted in 1..4 {
        connection.execute("INSERT INTO t VALUES (1, 'x'), (2, 'y')").expect("rows");
        for _ in 0..3 {
            assert_eq!(rows(&connection, count), [inserted.to_string()]);
            assert_eq!(rows(&connection, sums), [format!("x|{inserted}"), format!("y|{}", 2 * inserted)]);
        }
    }
    connection.execute("OPTIMIZE t; ALTER TABLE t ADD COLUMN c INTEGER DEFAULT 7").expect("changes");
    assert_eq!(rows(&connection, count), ["3"]);
    assert_eq!(rows(&connection, "SELECT DISTINCT c FROM t"), ["7"]);
    connection.execute("DROP TABLE t; CREATE TABLE t (a VARCHAR)").expect("another table of the name");
    assert_eq!(rows(&connection, count), ["0"]);
    assert!(connection.query(sums).is_err(), "there is no b any more");
}

#[test]
fn other_connections_tables_and_settings_do_not_mix() {
    let database = Database::in_memory().expect("a database");
    let (one, other) = (database.connect(), database.connect());
    one.execute("CREATE TABLE t AS SELECT 1 AS a; CREATE SCHEMA s; CREATE TABLE s.t AS SELECT 3 AS a").expect("tables");
    let sql = "SELECT a FROM t WHERE a > 0";
    assert_eq!(
        (rows(&one, sql), rows(&one, sql), rows(&other, sql)),
        (vec!["1".into()], vec!["1".into()], vec!["1".into()])
    );
    one.execute("CREATE TEMP TABLE t AS SELECT 2 AS a").expect("a table of its own");
    assert_eq!(
        (rows(&one, sql), rows(&one, sql), rows(&other, sql)),
        (vec!["2".into()], vec!["2".into()], vec!["1".into()])
    );
    other.execute("SET datafusion.catalog.default_schema = 's'").expect("a setting");
    assert_eq!(
        (rows(&other, sql), rows(&other, sql), rows(&one, sql)),
        (vec!["3".into()], vec!["3".into()], vec!["2".into()])
    );

    let third = database.connect();
    let sum = "SELECT 0.1 + 0.2 FROM t";
    assert_eq!(rows(&third, sum), ["0.3"]);
    third.execute("SET datafusion.sql_parser.parse_float_as_decimal = false").expect("a setting");
    assert_eq!(rows(&third, sum), ["0.30000000000000004"]);
    third.execute("SET datafusion.sql_parser.parse_float_as_decimal = true").expect("a setting");
    assert_eq!(rows(&third, sum), ["0.3"]);
}

#[test]
fn time_goes_on() {
    let connection = connect();
    connection
        .execute("CREATE TABLE t AS SELECT 1 AS a; CREATE VIEW clock AS SELECT now() AS n FROM t")
        .expect("a table");
    for sql in
        ["SELECT now() FROM t", "SELECT n FROM clock", "SELECT a FROM t WHERE random() < 2 AND now() IS NOT NULL"]
    {
        let first = rows(&connection, sql);
        std::thread::sleep(Duration::from_millis(2));
        let second = rows(&connection, sql);
        assert_eq!(first == second, sql.contains("WHERE"), "{sql}: {first:?}, then {second:?}");
    }
}

#[test]
fn statements_of_a_name_are_those_prepared_last() {
    let connection = connect();
    connection.execute("CREATE TABLE t AS SELECT 1 AS a; PREPARE p AS SELECT a FROM t").expect("a statement");
    assert_eq!((rows(&connection, "EXECUTE p"), rows(&connection, "EXECUTE p")), (vec!["1".into()], vec!["1".into()]));
    connection.execute("DEALLOCATE p; PREPARE p AS SELECT a + 1 FROM t").expect("another");
    assert_eq!(rows(&connection, "EXECUTE p"), ["2"]);
}

/// Copies of one plan run side by side, each with its own joins, sorts and dynamic filters.
#[test]
fn copies_run_side_by_side() {
    let database = Database::in_memory().expect("a database");
    let connection = database.connect();
    connection
        .execute(
            "CREATE TABLE big AS SELECT value AS k, value % 1000 AS v FROM generate_series(1, 140000);
             CREATE TABLE small AS SELECT value * 7 AS k, value % 3 AS g FROM generate_series(1, 9000)",
        )
        .expect("tables");
    let queries = [
        "SELECT g, count(*), sum(v) FROM big JOIN small ON big.k = small.k GROUP BY g ORDER BY g",
        "SELECT k, v FROM big ORDER BY v DESC, k LIMIT 3",
        "SELECT min(k), max(v) FROM big WHERE v < 500",
        "SELECT count(*) FROM big WHERE v BETWEEN 10 AND 20",
        "SELECT count(*) FROM big WHERE k IN (SELECT k FROM small WHERE g = 1)",
        "SELECT k FROM big WHERE v > (SELECT max(g) FROM small) ORDER BY k LIMIT 2",
        "SELECT k FROM big LIMIT 2",
    ];
    let expected: Vec<_> = queries.iter().map(|sql| rows(&connection, sql)).collect();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (expected, connection) = (&expected, database.connect());
            scope.spawn(move || {
                for turn in 0..12 {
                    let at = (turn * 3 + thread) % queries.len();
                    assert_eq!(rows(&connection, queries[at]), expected[at], "{}", queries[at]);
                }
            });
        }
    });
}

#[test]
fn values_of_subqueries_are_computed_by_each_run() {
    let database = Database::in_memory().expect("a database");
    let connection = database.connect();
    connection.execute("CREATE TABLE t AS SELECT value AS a FROM generate_series(1, 1000)").expect("a table");
    let sql = "SELECT count(*), (SELECT max(a) FROM t) FROM t WHERE a > (SELECT avg(a) FROM t)";
    for _ in 0..3 {
        assert_eq!(rows(&connection, sql), ["500|1000"]);
    }
    connection.execute("INSERT INTO t SELECT value FROM generate_series(1001, 2000)").expect("rows");
    for _ in 0..3 {
        assert_eq!(rows(&connection, sql), ["1000|2000"]);
    }
    // One run that is left in the middle, and several at once.
    let rows_of = "SELECT a FROM t WHERE a > (SELECT min(a) FROM t) AND a <> (SELECT max(a) FROM t)";
    assert_eq!(rows(&connection, rows_of).len(), 1998);
    for _ in 0..3 {
        drop(connection.query(rows_of).expect("a query"));
        assert_eq!(rows(&connection, rows_of).len(), 1998);
    }
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let connection = database.connect();
                for _ in 0..20 {
                    assert_eq!(rows(&connection, sql), ["1000|2000"]);
                    assert_eq!(rows(&connection, rows_of).len(), 1998);
                }
            });
        }
    });
    // An error in a subquery is one each time.
    let wrong = "SELECT a FROM t WHERE a = (SELECT a FROM t WHERE a < 3)";
    for _ in 0..3 {
        let error = connection.query(wrong).and_then(gingham::QueryResult::collect_batches).expect_err("two rows");
        assert!(error.to_string().contains("gives 2 rows"), "{error}");
    }
}

/// How long the oldest reader of a heap table's pages has been there, if there is one.
fn readers(connection: &Connection) -> Vec<String> {
    rows(connection, "SELECT oldest_reader_ms IS NULL FROM gingham_tables WHERE table_name = 'p'")
}

#[test]
fn plans_over_pages_hold_them_only_while_they_run() {
    for layout in ["nsm", "dsm", "pax"] {
        let database = Database::in_memory().expect("a database");
        let (connection, other) = (database.connect(), database.connect());
        connection
            .execute(&format!(
                "CREATE TABLE p (a INTEGER, b VARCHAR) WITH (layout = '{layout}');
                 CREATE TABLE c AS SELECT value AS a FROM generate_series(1, 10);
                 INSERT INTO p SELECT value, 'x' || (value % 3) FROM generate_series(1, 100000)"
            ))
            .expect("tables");
        let sums = "SELECT b, sum(a) FROM p WHERE a <= 6 GROUP BY b ORDER BY b";
        let few = "SELECT p.b FROM p JOIN c ON p.a = c.a WHERE p.a > (SELECT max(a) - 2 FROM c) ORDER BY p.a";
        let all = "SELECT a FROM p";
        for added in 0..3 {
            for _ in 0..3 {
                assert_eq!(rows(&connection, sums)[0], format!("x0|{}", 9 + 3 * added), "{layout}");
                assert_eq!(rows(&other, few), ["x0", "x1"], "{layout}");
            }
            // One that is left in the middle, and one that goes on beside a change.
            drop(connection.query(all).expect("a query").next());
            let mut under_way = connection.query(all).expect("a query");
            let first = under_way.next().expect("rows").expect("no error").num_rows();
            assert_eq!(rows(&other, all).len(), 100_000 + added);
            other.execute("INSERT INTO p VALUES (3, 'x0')").expect("a record");
            assert_eq!(readers(&other), ["false"], "{layout}: a query is under way");
            let rest: usize = under_way.map(|batch| batch.expect("no error").num_rows()).sum();
            assert_eq!(first + rest, 100_000 + added, "{layout}");
            assert_eq!(rows(&other, all).len(), 100_001 + added, "{layout}");
        }
        other.execute("VACUUM").expect("it has the catalog's file for itself");
        assert_eq!(rows(&connection, sums)[0], "x0|18", "{layout}");
        other.execute("TRUNCATE p").expect("no record stays");
        assert_eq!(rows(&connection, all), [""; 0], "{layout}");
        // What was left or has ended may be on its way out.
        let is_left = || {
            std::thread::sleep(Duration::from_millis(10));
            readers(&other) == ["true"]
        };
        assert!((0..1000).any(|_| is_left()), "{layout}: something still reads pages");
    }
}

/// Opens a database that another name of the same folder was closed under just now: what ran last may be on its way out.
fn open_again(path: &Path) -> Database {
    for _ in 0..1000 {
        match Database::open(path) {
            Ok(database) => return database,
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
    panic!("{} stays locked", path.display());
}

#[test]
fn a_database_with_plans_over_pages_is_closed() {
    let folder = tempfile::tempdir().expect("a folder");
    let names = ["shop.gingham", "moved.gingham"].map(|name| folder.path().join(name));
    let sql = "SELECT count(*), sum(a) FROM p WHERE a > 5";
    for turn in 0..4 {
        let path = &names[turn % 2];
        let database = open_again(path);
        let connection = database.connect();
        if turn == 0 {
            let create = "CREATE TABLE p (a INTEGER) WITH (layout = 'pax');
                          INSERT INTO p SELECT value FROM generate_series(1, 1000)";
            connection.execute(create).expect("a table");
        }
        for _ in 0..3 {
            assert_eq!(rows(&connection, sql), ["995|500485"]);
        }
        drop((connection, database));
        std::fs::rename(path, &names[1 - turn % 2]).expect("it can be moved");
    }
}
