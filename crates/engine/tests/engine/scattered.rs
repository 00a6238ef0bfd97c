//! Tables in the order of a key, with a delta whose keys are from anywhere and with deleted records: groups of that key have
//! windows all the same, and joins look for few records' keys one by one.

use crate::{by_datafusion, connect, each_way, rows};
use gingham::Connection;

/// Three records a key, in its order, of both signs, as one thread writes them; then changes that put some of them into the delta, and keys before, behind and
/// between the others.
fn table(connection: &Connection) {
    connection
        .execute(
            "SET gingham.threads = 1;
             CREATE TABLE c (k BIGINT NOT NULL, v BIGINT, n BIGINT, s VARCHAR);
             INSERT INTO c SELECT value / 3 * 4 - 200000 AS k, value % 1000 AS v,
                 CASE WHEN value % 50 > 0 THEN value / 3 * 4 END AS n, 's' || CAST(value % 7 AS VARCHAR) AS s
                 FROM generate_series(0, 299999);
             CREATE TABLE d AS SELECT value AS k, value % 10 AS g FROM generate_series(-250000, 250000, 7);
             UPDATE c SET v = v + 5000 WHERE v = 7;
             UPDATE c SET k = k WHERE v BETWEEN 500 AND 504;
             DELETE FROM c WHERE v = 100 OR k BETWEEN 1000 AND 1500;
             INSERT INTO c SELECT value * 977 % 520000 - 260000, value, value, 's0' FROM generate_series(1, 500);
             INSERT INTO c VALUES (-260001, 1, NULL, 's1'), (-260001, 2, 0, 's1'), (260001, 3, 260001, 's2'), (4, -9, 4, 's3');
             DELETE FROM c WHERE v BETWEEN 5007 AND 5100 AND k % 3 = 0;
             UPDATE d SET g = g + 10 WHERE k % 100 = 3;
             SET gingham.threads = 2",
        )
        .expect("a table with a delta");
}

const QUERIES: [&str; 7] = [
    "SELECT k, count(*), sum(v), max(v) FROM c GROUP BY k HAVING sum(v) > 5000 ORDER BY k",
    "SELECT k, count(*), min(s) FROM c WHERE s <> 's4' GROUP BY k HAVING count(*) > 3 ORDER BY k",
    "SELECT count(*), sum(k), sum(n), sum(t), min(k), max(k) FROM (SELECT k, count(*) AS n, sum(v) AS t FROM c GROUP BY k) AS all",
    "SELECT n, count(*), sum(v) FROM c GROUP BY n HAVING sum(v) > 5000 ORDER BY n",
    "SELECT d.g, count(*), sum(c.v) FROM c JOIN d ON c.k = d.k WHERE d.g > 8 GROUP BY d.g ORDER BY d.g",
    "SELECT count(*), sum(d.k) FROM d WHERE d.k IN (SELECT k FROM c GROUP BY k HAVING sum(v) > 5000)",
    "SELECT d.k, c.v FROM d JOIN c ON c.k = d.k WHERE c.v > 4000 ORDER BY d.k, c.v",
];

#[test]
fn keys_from_anywhere_in_the_delta_are_answered_as_by_datafusion() {
    let connection = connect();
    table(&connection);
    let where_it_lies = "SELECT delta_blocks > 1, deleted_rows > 1000 FROM gingham_tables WHERE table_name = 'c'";
    assert_eq!(rows(&connection, where_it_lies), ["true|true"]);
    for query in QUERIES {
        let expected = by_datafusion(&connection, query);
        assert!(!expected.is_empty(), "{query}");
        each_way(&connection, |way| assert_eq!(rows(&connection, query), expected, "{way}: {query}"));
    }
}

#[test]
fn a_delta_leaves_groups_in_the_order_of_the_records_their_windows() {
    let connection = connect();
    table(&connection);
    for query in &QUERIES[..3] {
        let explained = rows(&connection, &format!("EXPLAIN ANALYZE FORMAT indent {query}")).join("\n");
        assert!(explained.contains("groups_array_a_morsel"), "{query}: {explained}");
    }
}
