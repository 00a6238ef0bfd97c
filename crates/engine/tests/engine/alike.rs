//! What a query says more than once is done once, and gives the same.

use crate::compiled_joins::{agree, plan, shop};
use crate::connect;

/// Queries, with how many scans are left of how many.
const TWICE: [(&str, usize); 8] = [
    ("WITH t AS (SELECT town, count(*) AS n, max(born) AS b FROM people GROUP BY town) SELECT x.town, x.n, x.b, y.b FROM t x JOIN t y ON x.n = y.n AND x.town < y.town", 1),
    ("WITH t AS (SELECT p.town, count(*) AS n FROM people p JOIN towns t ON p.town = t.id GROUP BY p.town) SELECT x.town, y.n FROM t x LEFT JOIN t y ON x.town = y.n", 2),
    // Other conditions: other groups, of the same table.
    ("SELECT x.town, x.n, y.n FROM (SELECT town, count(*) AS n FROM people WHERE id > 3 GROUP BY town) x
         JOIN (SELECT town, count(*) AS n FROM people WHERE id > 4 GROUP BY town) y ON x.town = y.town", 2),
    // The rows of a union come behind one another, twice.
    ("WITH u AS (SELECT town AS k FROM people UNION ALL SELECT id FROM towns), g AS (SELECT k, count(*) AS n FROM u GROUP BY k)
         SELECT x.k, x.n, y.n FROM g x JOIN g y ON x.k = y.k", 2),
    ("WITH u AS (SELECT town AS k FROM people UNION ALL SELECT town FROM people) SELECT k, count(*) FROM u GROUP BY k", 1),
    // Strings that have no codes.
    ("WITH n AS (SELECT name, id FROM people WHERE id < 200) SELECT x.name, x.id, y.id FROM n x JOIN n y ON x.name = y.name", 1),
    ("SELECT count(*) FROM people p WHERE EXISTS (SELECT 1 FROM bought b WHERE b.person = p.id AND b.amount < 99)
         AND EXISTS (SELECT 1 FROM bought b WHERE b.person = p.id + 1 AND b.amount < 99)", 2),
    // Sorted for one of two probes, without a key.
    ("WITH t AS (SELECT id AS i FROM towns) SELECT count(*), sum(x.i - y.i) FROM t x JOIN t y ON x.i < y.i JOIN t z ON z.i = x.i", 1),
];

#[test]
fn scans_and_pipelines_that_are_alike_are_one() {
    let connection = connect();
    shop(&connection);
    for (sql, scans) in TWICE {
        let told = plan(&connection, sql);
        assert!(told.contains("CompiledExec"), "{sql}: {told}");
        assert_eq!(told.matches("ScanExec").count(), scans, "{sql}: {told}");
        assert!(agree(&connection, sql) > 0, "{sql}");
    }
}
