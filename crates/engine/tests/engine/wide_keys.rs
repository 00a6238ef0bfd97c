//! Groups and joins by keys that take several words: so many groups that tables are emptied into parts, on one thread and on
//! several.

use crate::{by_datafusion, connect, rows};
use gingham::Connection;

/// Groups, of which each has three records that lie far apart.
const GROUPS: i64 = 250_000;

/// Two keys of 63 bits and more each, a string without a code, and one of few values.
fn wide(connection: &Connection) {
    let sql = format!(
        "CREATE TABLE wide AS SELECT value AS id, (value % {GROUPS} - 100000) * 36893488147419 AS a,
            (value % {GROUPS}) * 7919 % 1000003 * 4611686018427 - 2305843009213693952 AS b,
            nullif('name ' || value % {GROUPS}, 'name 7') AS s, value % 5 AS few, (value % 1000) / 8e0 AS x
            FROM generate_series(0, {}); OPTIMIZE wide",
        3 * GROUPS - 1
    );
    connection.execute(&sql).expect("a table");
}

#[test]
fn groups_that_outgrow_a_cache_come_together() {
    let connection = connect();
    wide(&connection);
    let by_two = "SELECT count(*), sum(n), sum(t), min(f), max(l), sum(l - f), count(DISTINCT x)
        FROM (SELECT a, b, count(*) AS n, sum(id) AS t, min(id) AS f, max(id) AS l, sum(x) AS x FROM wide GROUP BY a, b) g";
    let [groups, records, last] = [GROUPS, 3 * GROUPS, 3 * GROUPS - 1];
    let sum = records * last / 2;
    let expected = format!("{groups}|{records}|{sum}|0|{last}|{}|", 2 * GROUPS * groups);
    let by_three = format!(
        "SELECT a, s, few, count(*), min(id), max(x) FROM wide GROUP BY a, s, few HAVING min(id) % {} = 5 ORDER BY a, s, few LIMIT 9",
        GROUPS / 5
    );
    let of_strings = "SELECT count(*), sum(d), max(d) FROM (SELECT few, count(DISTINCT a) AS d, count(DISTINCT s) AS e FROM wide GROUP BY few) g
        WHERE d >= e";
    let beside: Vec<_> = [by_three.as_str(), of_strings].map(|sql| (sql, by_datafusion(&connection, sql))).into();
    assert_eq!(beside[1].1, [format!("5|{}|{}", 3 * GROUPS / 3, GROUPS / 5)]);
    for (execution, threads) in [("staged", 1), ("auto", 2), ("interpreted", 7)] {
        let settings = format!("SET gingham.execution = '{execution}'; SET gingham.threads = {threads}");
        connection.execute(&settings).expect("settings");
        let how = format!("{execution}, {threads} threads");
        let found = rows(&connection, by_two);
        assert!(found.len() == 1 && found[0].starts_with(&expected), "{how}: {found:?}, not {expected}");
        for (sql, expected) in &beside {
            assert_eq!(rows(&connection, sql), *expected, "{how}: {sql}");
        }
    }
}

#[test]
fn many_rows_are_joined_by_several_words() {
    let connection = connect();
    wide(&connection);
    let of_three = format!("{}|{}", 3 * GROUPS, 3 * GROUPS * (3 * GROUPS - 1) / 2);
    let joins = [
        // Each record of the first third equals itself and two others.
        ("x.a = y.a AND x.b = y.b", of_three.clone()),
        // A key that is a word of its own.
        ("x.a = y.a", of_three.clone()),
        // One string is NULL.
        (
            "x.s = y.s AND x.b = y.b",
            format!("{}|{}", 3 * GROUPS - 3, 3 * GROUPS * (3 * GROUPS - 1) / 2 - 21 - 3 * GROUPS),
        ),
        ("x.few = y.few AND x.a = y.a AND x.b = y.b", of_three),
    ];
    for (on, expected) in joins {
        let sql = format!("SELECT count(*), sum(x.id) FROM wide x JOIN wide y ON {on} WHERE y.id < {GROUPS}");
        let plan = rows(&connection, &format!("EXPLAIN FORMAT indent {sql}")).join("\n");
        assert!(!plan.contains("left_to_datafusion"), "{on}: {plan}");
        for (execution, threads) in [("staged", 1), ("auto", 2), ("fused", 1), ("interpreted", 3)] {
            let settings = format!("SET gingham.execution = '{execution}'; SET gingham.threads = {threads}");
            connection.execute(&settings).expect("settings");
            assert_eq!(rows(&connection, &sql), [expected.as_str()], "{execution}, {threads} threads: {on}");
        }
    }
}

#[test]
fn too_little_memory_for_wide_keys_is_told_or_spilled() {
    let groups = "SELECT count(*), sum(n) FROM (SELECT a, b, s, count(*) AS n FROM wide GROUP BY a, b, s) g";
    limited(groups, &format!("{GROUPS}|{}", 3 * GROUPS));
    let joins =
        format!("SELECT count(*), count(y.s) FROM wide x JOIN wide y ON x.a = y.a AND x.b = y.b WHERE y.id < {GROUPS}");
    limited(&joins, &format!("{}|{}", 3 * GROUPS, 3 * GROUPS - 3));
}

fn limited(sql: &str, expected: &str) {
    let connection = connect();
    wide(&connection);
    assert_eq!(rows(&connection, sql), [expected]);
    let mut refused = 0;
    for megabytes in [4, 8, 12, 16, 24, 32, 48, 64, 96] {
        connection.execute(&format!("SET gingham.memory_limit = '{megabytes}MB'")).expect("a limit");
        match rows::rows(&connection, sql) {
            Ok(found) => assert_eq!(found, [expected], "{megabytes} MB"),
            Err(error) => {
                refused += 1;
                assert!(error.to_string().contains("memory"), "{megabytes} MB: {error}");
            }
        }
    }
    assert!(refused < 9, "no limit was enough");
}
