//! Groups by strings that have no codes, of tables smaller than what they are joined with, against DataFusion's.

use crate::compiled_joins::{agree, plan};
use crate::{connect, rows};
use gingham::Connection;

/// Ninety shops in nine towns, some of them without a name, and sales, some of them in no shop.
fn shops(connection: &Connection) {
    connection
        .execute(
            "CREATE TABLE shops (id INTEGER, name VARCHAR, town VARCHAR NOT NULL, size INTEGER);
             INSERT INTO shops SELECT value, CASE WHEN value % 11 > 0 THEN 'shop ' || (value % 70) END, 'town ' || (value % 9), value % 4
                 FROM generate_series(1, 90);
             CREATE TABLE sellers (id INTEGER NOT NULL, name VARCHAR NOT NULL);
             INSERT INTO sellers SELECT value, 'seller ' || (value % 17) FROM generate_series(0, 39);
             CREATE TABLE sales (shop INTEGER, seller INTEGER, day INTEGER, price DECIMAL(12,2), rate DOUBLE);
             INSERT INTO sales SELECT (value * 7) % 97, value % 40, value % 5, value % 1000, value * 0.5 FROM generate_series(1, 20000)",
        )
        .expect("tables");
}

const JOINED: &str = "sales s JOIN shops o ON s.shop = o.id JOIN sellers e ON s.seller = e.id";

/// What is grouped by records first.
const FIRST: [(&str, &str); 8] = [
    ("name", "SELECT o.name, count(*), sum(price), avg(price), min(day) FROM {} GROUP BY o.name"),
    (
        "both",
        "SELECT o.name || e.name, day, max(price), round(stddev(price), 6) FROM {} GROUP BY o.name || e.name, day",
    ),
    (
        "several",
        "SELECT o.name, o.town, o.size, e.name, bit_xor(day), bool_and(day > 1) FROM {} GROUP BY o.name, o.town, o.size, e.name",
    ),
    ("having", "SELECT o.town, count(*) FROM {} GROUP BY o.town HAVING sum(price) > 900000"),
    (
        "again",
        "SELECT n, count(*), sum(c) FROM (SELECT o.name AS n, day, count(*) AS c FROM {} GROUP BY o.name, day) GROUP BY n",
    ),
    ("distinct", "SELECT DISTINCT o.town, day FROM {}"),
    (
        "sets",
        "SELECT o.town, o.name, e.name, count(*), sum(price), avg(price) FROM {} GROUP BY ROLLUP (o.town, o.name, e.name)",
    ),
    ("best", "SELECT o.name, o.town, sum(price) AS p FROM {} GROUP BY o.name, o.town ORDER BY p DESC, 1, 2 LIMIT 5"),
];

/// What is not: aggregates that groups of groups do not give, strings of the largest table, and what becomes codes of its
/// own when it is computed of each record beforehand.
const AT_ONCE: [&str; 6] = [
    "SELECT o.name, count(DISTINCT day), count(DISTINCT price) FROM {} GROUP BY o.name",
    "SELECT substr(o.name, 1, 6), sum(price) FILTER (WHERE day > 2), count(rate) FROM {} GROUP BY substr(o.name, 1, 6)",
    "SELECT upper(o.town), o.size + 1, count(*) FROM {} GROUP BY upper(o.town), o.size + 1",
    "SELECT o.name, sum(rate) FROM {} GROUP BY o.name",
    "SELECT o.name, max(e.name) FROM {} GROUP BY o.name",
    "SELECT name, count(*) FROM shops GROUP BY name",
];

#[test]
fn strings_are_looked_at_once_for_a_group_of_records() {
    let connection = connect();
    shops(&connection);
    for (name, sql) in FIRST {
        let sql = sql.replace("{}", JOINED);
        let told = plan(&connection, &sql);
        let (groups, strings) = (told.find("aggregate into groups"), told.find("evaluate"));
        assert!(groups.is_some() && groups < strings && !told.contains("AggregateExec"), "{name}: {told}");
        assert!(agree(&connection, &sql) > 1, "{name}");
    }
}

#[test]
fn records_without_a_partner_are_groups_too() {
    let connection = connect();
    shops(&connection);
    for join in ["LEFT", "FULL"] {
        let sql = format!(
            "SELECT o.name || o.town, o.town, count(*), sum(price), count(s.shop) FROM sales s {join} JOIN shops o ON s.shop = o.id AND o.size > 1
             GROUP BY o.name || o.town, o.town"
        );
        agree(&connection, &sql);
        let found = rows(&connection, &sql);
        assert!(found.iter().any(|row| row.starts_with("||")), "{found:?}");
    }
}

#[test]
fn other_strings_are_looked_at_for_each_row() {
    let connection = connect();
    shops(&connection);
    for sql in AT_ONCE {
        let sql = sql.replace("{}", JOINED);
        let told = plan(&connection, &sql);
        let first = told.find("aggregate into groups");
        assert!(first.is_none_or(|groups| told.find("evaluate") < Some(groups)), "{sql}: {told}");
        agree(&connection, &sql);
    }
}
