//! ROLLUP, CUBE and GROUPING SETS in pipelines, against DataFusion's.

use crate::compiled_joins::{agree, plan, shop};
use crate::{by_datafusion, connect, each_way, rows};

/// Queries of which all is taken.
const TAKEN: [&str; 11] = [
    "SELECT town, count(*), sum(id), min(town), max(born) FROM people GROUP BY ROLLUP (town)",
    "SELECT item, day, count(*), sum(amount), avg(amount), count(day) FROM bought GROUP BY CUBE (item, day)",
    "SELECT item, person % 7, sum(amount) FILTER (WHERE amount > 100), avg(person), min(item) FROM bought GROUP BY GROUPING SETS ((item, person % 7), (person % 7), ())",
    "SELECT p.town, t.region, grouping(p.town, t.region), sum(b.amount) FROM people p JOIN towns t ON p.town = t.id JOIN bought b ON b.person = p.id
         GROUP BY ROLLUP (t.region, p.town)",
    // A string without codes, which a set has without the number that it follows from.
    "SELECT id, name, count(*), max(id) FROM people WHERE id < 300 GROUP BY GROUPING SETS ((id, name), (name), (id), (name))",
    "SELECT substr(name, 1, 2), town % 5, round(stddev(id), 6), round(var_pop(town), 6), bit_xor(id) FROM people GROUP BY CUBE (substr(name, 1, 2), town % 5)",
    "SELECT town, count(*) AS n FROM people GROUP BY ROLLUP (town) HAVING count(*) > 3",
    // Nothing to group: a row for each set without keys.
    "SELECT town, name, count(*), sum(id), avg(town), count(born), stddev(id) FROM people WHERE id < 0 GROUP BY GROUPING SETS ((town), (), (name), ())",
    "SELECT s.region, count(*), sum(s.n) FROM (SELECT t.region, p.town, count(*) AS n FROM people p JOIN towns t ON p.town = t.id
         GROUP BY ROLLUP (t.region, p.town)) s GROUP BY s.region",
    "SELECT born IS NULL, bool_and(town > 3), bool_or(town > 50) FROM people GROUP BY ROLLUP (born IS NULL)",
    "SELECT DISTINCT item, n FROM (SELECT item, person, count(*) AS n FROM bought GROUP BY GROUPING SETS ((item), (person), (item, person)))",
];

#[test]
fn sets_are_groups_of_groups() {
    let connection = connect();
    shop(&connection);
    for sql in TAKEN {
        let told = plan(&connection, sql);
        assert!(told.contains("CompiledExec") && !told.contains("AggregateExec"), "{sql}: {told}");
        assert!(agree(&connection, sql) > 0, "{sql}");
    }
}

#[test]
fn sums_past_64_bits_are_left_on_the_way() {
    let connection = connect();
    connection
        .execute("CREATE TABLE wide (k INTEGER, v DECIMAL(38,0)); INSERT INTO wide SELECT value % 3, 9000000000000000000 + value FROM generate_series(1, 1000)")
        .expect("a table");
    let sql = "SELECT k, sum(v), count(*) FROM wide GROUP BY ROLLUP (k) ORDER BY k";
    let expected = by_datafusion(&connection, sql);
    assert_eq!(expected.len(), 4);
    each_way(&connection, |how| assert_eq!(rows(&connection, sql), expected, "{how}"));
}

#[test]
fn more_strings_than_have_numbers_are_left_on_the_way() {
    let connection = connect();
    connection
        .execute(
            "CREATE TABLE named (s VARCHAR, w BIGINT);
             INSERT INTO named SELECT 'name ' || value, (value % 3) * 17592186044416 FROM generate_series(1, 70000); OPTIMIZE named",
        )
        .expect("a table");
    let sql =
        "SELECT min(s), max(s), count(*), sum(n) FROM (SELECT s, w, count(*) AS n FROM named GROUP BY ROLLUP (w, s))";
    let expected = by_datafusion(&connection, sql);
    assert_eq!(expected, ["name 1|name 9999|70004|210000"]);
    each_way(&connection, |how| assert_eq!(rows(&connection, sql), expected, "{how}"));
}
