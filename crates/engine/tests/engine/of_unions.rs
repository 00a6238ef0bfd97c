//! Unions in pipelines: joined and grouped input by input, against DataFusion's.

use crate::compiled_joins::{agree, plan, shop};
use crate::connect;

/// Joins with a union of two tables.
const OF_UNIONS: [&str; 6] = [
    "SELECT t.region, u.k, u.n FROM (SELECT town AS k, id AS n FROM people UNION ALL SELECT person, person % 9 FROM bought) u JOIN towns t ON u.k = t.id WHERE t.id < 9",
    "SELECT u.n, count(*) FROM (SELECT town AS k, id % 7 AS n FROM people UNION ALL SELECT id, id % 5 FROM towns) u WHERE u.k IN (SELECT person FROM bought WHERE amount < 30) GROUP BY u.n",
    "SELECT u.k FROM (SELECT town AS k FROM people UNION ALL SELECT id FROM towns) u WHERE NOT EXISTS (SELECT 1 FROM bought b WHERE b.person = u.k)",
    // Strings with codes of other dictionaries, and without any.
    "SELECT u.s, count(*) FROM (SELECT item AS s FROM bought UNION ALL SELECT region FROM towns UNION ALL SELECT name FROM people) u
         JOIN (SELECT DISTINCT item FROM bought WHERE amount < 30) i ON u.s = i.item GROUP BY u.s",
    // A condition beside the keys, and a further join by a column of the first one.
    "SELECT t.region, count(*), sum(u.n) FROM (SELECT town AS k, id AS n FROM people UNION ALL SELECT person, person % 9 FROM bought) u
         JOIN towns t ON u.k = t.id AND u.n > t.id * 2 JOIN (SELECT region AS r, min(id) AS i FROM towns GROUP BY region) r ON t.region = r.r AND r.i < 4 GROUP BY t.region",
    "SELECT u.k, t.region FROM (SELECT town AS k FROM people UNION ALL SELECT id FROM towns) u LEFT JOIN towns t ON u.k = t.id AND t.id < 5",
];

/// Groups of a union's rows, and whether those of each input are made first.
const GROUPED: [(bool, &str); 12] = [
    (true, "SELECT k % 7, count(*), sum(n), avg(n), min(n) FROM (SELECT town AS k, id AS n FROM people UNION ALL SELECT person, person % 9 FROM bought) u GROUP BY k % 7"),
    (true, "SELECT count(*), sum(n), max(n), round(stddev(n), 6), count(k) FROM (SELECT town AS k, id AS n FROM people UNION ALL SELECT person, person % 9 FROM bought) u"),
    (true, "SELECT s, count(*), sum(n) FROM (SELECT item AS s, person AS n FROM bought UNION ALL SELECT name, id FROM towns) u GROUP BY s"),
    (true, "SELECT k, count(*), sum(n) FILTER (WHERE n > 20) FROM (SELECT town AS k, id AS n FROM people UNION ALL SELECT id, NULL FROM towns) u GROUP BY k"),
    (true, "SELECT DISTINCT k FROM (SELECT town AS k FROM people UNION ALL SELECT id FROM towns UNION ALL SELECT id % 300 FROM people) u"),
    (true, "SELECT k % 5, n % 3, count(*), bit_xor(n) FROM (SELECT town AS k, id AS n FROM people UNION ALL SELECT person, person % 9 FROM bought) u GROUP BY ROLLUP (k % 5, n % 3)"),
    (true, "SELECT t.region, count(*), sum(u.n) FROM (SELECT town AS k, id AS n FROM people UNION ALL SELECT person, person % 9 FROM bought) u
         JOIN towns t ON u.k = t.id GROUP BY t.region HAVING count(*) > 10"),
    (true, "SELECT k, sum(n) FROM (SELECT town AS k, id AS n FROM people WHERE id < 0 UNION ALL SELECT town, id FROM people) u WHERE n % 2 = 0 GROUP BY k"),
    // Smallest and largest of codes that are not of one dictionary.
    (false, "SELECT n % 4, min(s), max(s) FROM (SELECT item AS s, person AS n FROM bought UNION ALL SELECT name, id FROM towns) u GROUP BY n % 4"),
    // As many groups as rows.
    (false, "SELECT n, count(*) FROM (SELECT id * 7 AS n FROM people UNION ALL SELECT person FROM bought) u GROUP BY n"),
    (true, "SELECT s, count(*) FROM (SELECT name AS s FROM people UNION ALL SELECT item FROM bought) u GROUP BY s"),
    (false, "SELECT k, count(DISTINCT n), count(DISTINCT m) FROM (SELECT town AS k, id AS n, id % 2 AS m FROM people UNION ALL SELECT id, id + 1, 1 FROM towns) u GROUP BY k"),
];

#[test]
fn a_union_is_joined_input_by_input() {
    let connection = connect();
    shop(&connection);
    for (number, sql) in OF_UNIONS.iter().enumerate() {
        let told = plan(&connection, sql);
        assert!(told.contains("CompiledExec"), "{sql}: {told}");
        if number == 0 {
            assert!(told.contains("1: scan 1, probe 0, rows; 2: scan 2, probe 0, rows behind 1"), "{told}");
        }
        assert!(agree(&connection, sql) > 0, "{sql}");
    }
}

#[test]
fn a_union_is_grouped_input_by_input() {
    let connection = connect();
    shop(&connection);
    for (by_inputs, sql) in GROUPED {
        let told = plan(&connection, sql);
        assert!(told.contains("CompiledExec") && !told.contains("AggregateExec"), "{sql}: {told}");
        let groups = told.matches("aggregate into ").count();
        assert_eq!(groups > 2, by_inputs, "{sql}: {told}");
        assert!(agree(&connection, sql) > 0, "{sql}");
    }
}

#[test]
fn sets_of_rows_are_told_apart_by_all_columns() {
    let connection = connect();
    shop(&connection);
    for (taken, sql) in [
        (true, "SELECT id, region FROM towns INTERSECT SELECT id, region FROM towns WHERE id > 3"),
        (true, "SELECT id FROM people EXCEPT SELECT id FROM towns"),
        // Both sides have NULLs, which are equal here.
        (true, "SELECT person FROM bought INTERSECT SELECT town FROM people"),
        (true, "SELECT person FROM bought EXCEPT SELECT town FROM people WHERE id > 90"),
        (true, "SELECT person FROM bought EXCEPT SELECT id FROM people"),
        (true, "SELECT id FROM people INTERSECT SELECT person FROM bought"),
    ] {
        let told = plan(&connection, sql);
        assert_eq!(!told.contains("HashJoinExec"), taken, "{sql}: {told}");
        assert!(agree(&connection, sql) > 0, "{sql}");
    }
}
