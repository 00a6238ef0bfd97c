//! Joins in compiled pipelines: what they take, that they answer as DataFusion's operators do, and where they give way.

use crate::{by_datafusion, connect, each_way, rows};
use gingham::{Connection, DatabaseOptions};
use std::time::Duration;

/// Towns with a number each, their people, and what these bought: names are strings without codes, some people live nowhere,
/// some bought nothing.
pub(crate) fn shop(connection: &Connection) {
    connection
        .execute(
            "CREATE TABLE towns (id INTEGER PRIMARY KEY, name VARCHAR NOT NULL, region INTEGER);
             INSERT INTO towns SELECT value, 'town ' || (value * 7919 % 997), value % 5 FROM generate_series(1, 60);
             CREATE TABLE people (id INTEGER PRIMARY KEY, name VARCHAR NOT NULL, town INTEGER, born DATE);
             INSERT INTO people SELECT value, 'person ' || (value * 7919 % 99991),
                     CASE WHEN value % 11 > 0 THEN value * 31 % 58 END, DATE '1950-01-01' + CAST(value % 20000 AS INTEGER)
                 FROM generate_series(1, 3000);
             CREATE TABLE bought (person INTEGER, item VARCHAR, amount DECIMAL(9,2), day DATE);
             INSERT INTO bought SELECT CASE WHEN value % 13 > 0 THEN value * 17 % 2500 END,
                     CASE value % 4 WHEN 0 THEN 'tea' WHEN 1 THEN 'jam' WHEN 2 THEN 'salt' END,
                     CAST(value % 9001 AS DECIMAL(9,2)) / 4, DATE '2020-01-01' + CAST(value % 1500 AS INTEGER)
                 FROM generate_series(1, 20000);
             OPTIMIZE people; OPTIMIZE bought; OPTIMIZE towns",
        )
        .expect("a shop");
}

pub(crate) fn plan(connection: &Connection, sql: &str) -> String {
    rows(connection, &format!("EXPLAIN FORMAT indent {sql}")).join("\n")
}

/// Queries that are pipelines, as far as their joins go, with a part of how EXPLAIN tells it.
const TAKEN: [(&str, &str); 30] = [
    (
        "SELECT p.id, p.name, p.town, count(b.amount), sum(b.amount), avg(b.amount), min(b.day), max(b.item)
             FROM people p LEFT JOIN bought b ON b.person = p.id GROUP BY p.id, p.name, p.town",
        "0: scan 0, aggregate into groups, build; 1: scan 1, left probe 0, rows",
    ),
    (
        "SELECT p.town, count(b.amount), sum(b.amount), avg(b.amount), min(b.day), max(b.item), count(DISTINCT p.town)
             FROM people p LEFT JOIN bought b ON b.person = p.town GROUP BY p.town",
        "0: scan 0, build; 1: scan 1, left probe 0, aggregate into groups",
    ),
    (
        "SELECT p.town, count(b.amount), sum(b.amount), avg(b.amount), min(b.day), max(b.item), max(b.person)
             FROM people p LEFT JOIN bought b ON b.person = p.town GROUP BY p.town",
        "0: scan 0, aggregate into groups, build; 1: scan 1, left probe 0, aggregate into groups",
    ),
    (
        "SELECT n, count(*) FROM (SELECT count(b.day) FILTER (WHERE b.item = 'tea') AS n, min(b.day) AS s
             FROM people p LEFT JOIN bought b ON b.person = p.town GROUP BY p.town) GROUP BY n",
        "left probe 0, aggregate into groups",
    ),
    (
        "SELECT b.town, count(*), count(c.item), sum(c.amount), max(c.day)
             FROM people b JOIN bought c ON b.town = c.person WHERE b.id < 900 GROUP BY b.town",
        "aggregate into groups",
    ),
    (
        "SELECT p.id, max(p.town) FILTER (WHERE p.town > 30), count(b.amount)
             FROM people p LEFT JOIN bought b ON b.person = p.id GROUP BY p.id",
        "left probe 0, aggregate into groups",
    ),
    (
        "SELECT p.town, p.id, count(*), sum(b.amount) FILTER (WHERE b.item = 'tea'), min(b.day)
             FROM people p JOIN bought b ON b.person = p.id WHERE p.town < 20 GROUP BY p.id, p.town",
        "aggregate into groups",
    ),
    (
        "SELECT p.id, count(*), count(b.person) FROM people p LEFT JOIN bought b ON b.person = p.id GROUP BY p.id",
        "left probe 0, aggregate into groups",
    ),
    (
        "SELECT t.name, sum(b.amount) FROM bought b, people p, towns t WHERE b.person = p.id AND p.town = t.id GROUP BY t.name",
        " probe ",
    ),
    (
        "SELECT t.region, count(*), avg(b.amount) FROM bought b JOIN people p ON b.person = p.id JOIN towns t ON p.town = t.id WHERE t.region IN (1, 3) AND b.item = 'tea' GROUP BY t.region",
        " probe ",
    ),
    (
        "SELECT p.id, count(b.person) FROM people p LEFT JOIN bought b ON b.person = p.id AND b.item <> 'jam' GROUP BY p.id",
        "left probe",
    ),
    (
        "SELECT b.item, count(p.id), count(*) FROM people p RIGHT JOIN bought b ON b.person = p.id AND p.town > 30 GROUP BY b.item",
        "left probe",
    ),
    (
        "SELECT count(*) FROM towns t WHERE EXISTS (SELECT 1 FROM people p WHERE p.town = t.id AND p.born > DATE '1950-02-01')",
        " mark ",
    ),
    (
        "SELECT count(*), min(t.region) FROM towns t WHERE NOT EXISTS (SELECT 1 FROM people p WHERE p.town = t.id)",
        " mark ",
    ),
    (
        "SELECT count(*) FROM bought b WHERE EXISTS (SELECT 1 FROM people p WHERE b.person = p.id AND p.town = 12)",
        "probe",
    ),
    ("SELECT count(*) FROM bought b WHERE b.person IN (SELECT id FROM people WHERE town = 12)", "probe"),
    (
        "SELECT count(*) FROM bought a WHERE EXISTS (SELECT 1 FROM bought b WHERE a.person = b.person AND a.day < b.day AND a.item = 'tea' AND b.item = 'salt')",
        "condition",
    ),
    (
        "SELECT count(*) FROM bought a WHERE a.amount > 2200 AND NOT EXISTS (SELECT 1 FROM bought b WHERE a.person = b.person AND b.amount > a.amount)",
        "condition",
    ),
    (
        "SELECT n, count(*) FROM (SELECT p.id, count(b.amount) AS n FROM people p LEFT JOIN bought b ON b.person = p.id GROUP BY p.id) GROUP BY n",
        "left probe",
    ),
    (
        "SELECT count(*) FROM (SELECT person, sum(amount) AS s FROM bought GROUP BY person HAVING sum(amount) > 9000) b JOIN people p ON b.person = p.id",
        " mark 0",
    ),
    (
        "SELECT p.name, p.town, s FROM (SELECT person, sum(amount) AS s FROM bought GROUP BY person) b JOIN people p ON b.person = p.id WHERE p.town = 5",
        "probe",
    ),
    ("SELECT count(*) FROM people p WHERE p.town > (SELECT avg(region) * 20 FROM towns)", "aggregate"),
    (
        "SELECT t.name, count(*) FROM people p JOIN towns t ON p.town = t.id WHERE p.id > (SELECT max(person) / 2 FROM bought) GROUP BY t.name",
        "probe",
    ),
    (
        "SELECT extract(year FROM b.day) AS y, t.region, sum(b.amount) FROM bought b, people p, towns t WHERE b.person = p.id AND p.town = t.id GROUP BY y, t.region",
        "probe",
    ),
    ("SELECT count(*) FROM people a JOIN people b ON a.town = b.town AND a.born = b.born WHERE a.id < b.id", "probe"),
    (
        "SELECT count(*) FROM people p, towns t, towns u WHERE p.town = t.id AND t.region = u.region AND (t.name LIKE '%1%' AND u.name LIKE '%2%' OR u.name = 'town 5')",
        "probe",
    ),
    (
        "SELECT p.name, t.name, sum(b.amount) AS s FROM bought b, people p, towns t WHERE b.person = p.id AND p.town = t.id GROUP BY p.id, p.name, t.name ORDER BY s DESC, p.name LIMIT 7",
        "first 7",
    ),
    (
        "SELECT p.id, p.name, p.born, count(*) AS n FROM bought b, people p WHERE b.person = p.id GROUP BY p.id, p.name, p.born ORDER BY n, p.id LIMIT 5",
        "first 5",
    ),
    (
        "SELECT count(*), sum(amount) FROM bought b JOIN (SELECT id FROM people WHERE id < 0) p ON b.person = p.id",
        "probe",
    ),
    ("SELECT b.item, count(DISTINCT p.town) FROM bought b JOIN people p ON b.person = p.id GROUP BY b.item", "probe"),
];

#[test]
fn joins_are_taken_and_answer_as_without_pipelines() {
    let connection = connect();
    shop(&connection);
    for (sql, told) in TAKEN {
        let plan = plan(&connection, sql);
        assert!(plan.contains("CompiledExec") && plan.contains(told), "{sql}: {plan}");
        assert!(!plan.contains("HashJoinExec"), "{sql}: {plan}");
        agree(&connection, sql);
    }
}

/// Holds the answers of pipelines against those of DataFusion's operators, whose number it gives.
pub(crate) fn agree(connection: &Connection, sql: &str) -> usize {
    let mut expected = by_datafusion(connection, sql);
    expected.sort();
    each_way(connection, |how| {
        // The second run has a cached plan.
        for _ in 0..2 {
            let mut found = rows(connection, sql);
            found.sort();
            assert_eq!(found, expected, "{how}: {sql}");
        }
    });
    expected.len()
}

#[test]
fn what_comes_after_a_plan_was_kept_counts() {
    let connection = connect();
    shop(&connection);
    let sql = "SELECT t.name, count(*) FROM people p JOIN towns t ON p.town = t.id WHERE t.id > 50 GROUP BY t.name";
    let before = rows(&connection, sql);
    connection
        .execute(
            "INSERT INTO towns VALUES (61, 'new town', 9);
             INSERT INTO people VALUES (9001, 'a', 61, NULL), (9002, 'b', 61, NULL)",
        )
        .expect("more");
    let mut after = rows(&connection, sql);
    after.retain(|row| !before.contains(row));
    assert_eq!(after, ["new town|2"]);
}

#[test]
fn groups_by_strings_of_several_records_are_one() {
    let connection = connect();
    shop(&connection);
    // Nearly all towns have names of their own, as far as an estimate tells; two have not.
    connection.execute("INSERT INTO towns VALUES (62, 'twice', 1), (63, 'twice', 2); OPTIMIZE towns").expect("towns");
    connection.execute("INSERT INTO people VALUES (9001, 'a', 62, NULL), (9002, 'b', 63, NULL)").expect("people");
    let sql = "SELECT t.name, count(*) FROM people p JOIN towns t ON p.town = t.id GROUP BY t.name";
    assert!(plan(&connection, sql).contains("CompiledExec"));
    for _ in 0..2 {
        let found = rows(&connection, sql);
        let twice: Vec<_> = found.iter().filter(|row| row.starts_with("twice")).collect();
        assert_eq!(twice, ["twice|2"]);
    }
}

#[test]
fn null_equals_null_where_it_is_asked_for() {
    let connection = connect();
    shop(&connection);
    for sql in [
        "SELECT count(*), sum(b.person) FROM people p JOIN bought b ON p.town IS NOT DISTINCT FROM b.person",
        "SELECT count(*), count(b.amount) FROM people p LEFT JOIN bought b ON p.town IS NOT DISTINCT FROM b.person",
        "SELECT count(*) FROM people p JOIN bought b ON p.town IS NOT DISTINCT FROM b.person AND p.id > b.amount",
        "SELECT count(*) FROM people p JOIN towns t ON p.name IS NOT DISTINCT FROM t.name",
        "SELECT count(*) FROM bought p JOIN bought b ON p.item IS NOT DISTINCT FROM b.item WHERE p.person < 9",
        "SELECT person FROM bought WHERE EXISTS (SELECT 1 FROM people WHERE town IS NOT DISTINCT FROM person)",
        "SELECT person FROM bought WHERE NOT EXISTS (SELECT 1 FROM people WHERE town IS NOT DISTINCT FROM person)",
    ] {
        let told = plan(&connection, sql);
        assert!(told.contains("probe ") || told.contains("mark "), "{sql}: {told}");
        assert!(!told.contains("HashJoinExec"), "{sql}: {told}");
        assert!(agree(&connection, sql) > 0, "{sql}");
    }
}

/// The sum of these is past the integers that a DOUBLE can hold.
#[test]
fn means_behind_joins_are_exact() {
    let connection = connect();
    connection
        .execute(
            "CREATE TABLE a AS SELECT value % 2 AS g, 1000000000000 - value AS v FROM generate_series(1, 5000);
             CREATE TABLE b AS SELECT value % 2 AS g, value AS k FROM generate_series(1, 100)",
        )
        .expect("tables");
    let sql = "SELECT avg(v), count(*) FROM (SELECT a.v, b.k FROM a JOIN b ON a.g = b.g GROUP BY a.v, b.k)";
    let plan = plan(&connection, sql);
    assert!(plan.contains("CompiledExec") && !plan.contains("AggregateExec"), "{plan}");
    assert_eq!(rows(&connection, sql), ["999999997499.5|250000"]);
}

#[test]
fn an_overflow_behind_a_join_names_the_value() {
    let connection = connect();
    connection
        .execute(
            "CREATE TABLE a AS SELECT value AS k, value * 1000000000000000 AS v FROM generate_series(1, 5000) ;
             CREATE TABLE b AS SELECT value AS k, value AS w FROM generate_series(1, 5000)",
        )
        .expect("tables");
    let sql = "SELECT sum(a.v * b.w) FROM a JOIN b ON a.k = b.k";
    assert!(plan(&connection, sql).contains("CompiledExec"));
    let error = crate::failure(&connection, sql);
    assert!(error.to_string().contains("000000000000000 * "), "{error}");
}

/// 100,000 records a side with three keys: 3.3 billion pairs.
fn twins(connection: &Connection) {
    connection
        .execute(
            "CREATE TABLE a AS SELECT value % 3 AS k, value AS v FROM generate_series(1, 100000);
             CREATE TABLE b AS SELECT value % 3 AS k, value AS w FROM generate_series(1, 100000)",
        )
        .expect("tables");
}

#[test]
fn a_join_of_very_many_pairs_is_stopped_at_once() {
    let connection = connect();
    twins(&connection);
    for sql in [
        "SELECT sum(a.v * b.w % 7) FROM a JOIN b ON a.k = b.k",
        "SELECT count(*) FROM a JOIN b ON a.k = b.k JOIN a c ON b.k = c.k",
        "SELECT count(*) FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE a.k = b.k AND a.v + b.w < 0)",
        "SELECT count(*) FROM a CROSS JOIN b WHERE a.v * b.w < 0",
        "SELECT count(*) FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE a.v + b.w < 0)",
        "SELECT count(*) FROM a FULL JOIN b ON a.k = b.k AND a.v + b.w < 0",
    ] {
        for execution in ["fused", "staged", "vectorized", "interpreted"] {
            connection.execute(&format!("SET gingham.execution = '{execution}'")).expect("a setting");
            assert!(plan(&connection, sql).contains("CompiledExec"), "{sql}");
            let handle = connection.cancel_handle();
            let stopper = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(300));
                handle.cancel();
            });
            let error = crate::failure(&connection, sql);
            stopper.join().expect("a thread that cancels");
            assert!(matches!(error, gingham::Error::Cancelled), "{sql}: {error}");
        }
    }
}

#[test]
fn more_rows_than_there_is_memory_for_are_left_to_operators_that_spill() {
    let options = DatabaseOptions::new().memory_limit(48 << 20).threads(2);
    let connection = options.temporary().expect("a scratch database").connect();
    connection
        .execute(
            "CREATE TABLE a AS SELECT value % 1000 AS k, value AS v FROM generate_series(1, 30000);
             CREATE TABLE b AS SELECT value % 1000 AS k, value AS w FROM generate_series(1, 60000)",
        )
        .expect("tables");
    // 1.8 million groups of 16 bytes and more.
    let sql =
        "SELECT count(*), sum(s) FROM (SELECT a.v, b.w, count(*) AS s FROM a JOIN b ON a.k = b.k GROUP BY a.v, b.w)";
    assert_eq!(rows(&connection, sql), ["1800000|1800000"]);
    let analyzed = rows(&connection, &format!("EXPLAIN ANALYZE FORMAT indent {sql}")).join("\n");
    assert!(analyzed.contains("left_to_datafusion=1"), "{analyzed}");
}

#[test]
fn queries_at_once_do_not_wait_for_each_other() {
    let options = DatabaseOptions::new().threads(1);
    let database = options.temporary().expect("a scratch database");
    let connection = database.connect();
    shop(&connection);
    let sql = TAKEN[0].0;
    let mut expected = rows(&connection, sql);
    expected.sort();
    let clients: Vec<_> = (0..8)
        .map(|_| {
            let (connection, expected) = (database.connect(), expected.clone());
            std::thread::spawn(move || {
                for _ in 0..5 {
                    let mut found = rows(&connection, sql);
                    found.sort();
                    assert_eq!(found, expected);
                    // One that nobody reads to its end.
                    drop(connection.query("SELECT p.name, b.item FROM bought b, people p WHERE b.person = p.id"));
                }
            })
        })
        .collect();
    for client in clients {
        client.join().expect("a client with all its answers");
    }
}
