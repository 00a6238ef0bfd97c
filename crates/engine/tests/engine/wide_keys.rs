//! Groups by keys that take several words: so many that tables are emptied into parts, on one thread and on several.

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
fn too_little_memory_for_groups_is_told_or_spilled() {
    let connection = connect();
    wide(&connection);
    let sql = "SELECT count(*), sum(n) FROM (SELECT a, b, s, count(*) AS n FROM wide GROUP BY a, b, s) g";
    let expected = rows(&connection, sql);
    assert_eq!(expected, [format!("{GROUPS}|{}", 3 * GROUPS)]);
    let mut refused = 0;
    for megabytes in [4, 8, 12, 16, 24, 32, 48, 64, 96] {
        connection.execute(&format!("SET gingham.memory_limit = '{megabytes}MB'")).expect("a limit");
        match rows::rows(&connection, sql) {
            Ok(found) => assert_eq!(found, expected, "{megabytes} MB"),
            Err(error) => {
                refused += 1;
                assert!(error.to_string().contains("memory"), "{megabytes} MB: {error}");
            }
        }
    }
    assert!(refused < 9, "no limit was enough");
}
