//! EXPLAIN as a tree: plain words, a line a row, no wider than it may be, and figures that are those of the run.

use crate::{connect, rows};
use gingham::Connection;

fn tables(connection: &Connection) {
    let sql = "CREATE TABLE town AS SELECT value AS id, 'town ' || value AS name, value % 7 AS region FROM generate_series(1, 70);
        CREATE TABLE person AS SELECT value AS id, value % 70 + 1 AS town, DATE '1990-01-01' + value::INTEGER % 900 AS born,
            (value % 1000)::DECIMAL(9,2) / 4 AS income FROM generate_series(1, 40000);
        OPTIMIZE town; OPTIMIZE person";
    connection.execute(sql).expect("tables");
}

const QUERIES: [&str; 9] = [
    "SELECT t.region, count(*), avg(p.income * 2), sum(CASE WHEN t.name = 'town 7' THEN 1 ELSE 0 END) AS seven
        FROM person p JOIN town t ON p.town = t.id WHERE p.born < DATE '1991-03-01' AND t.name <> 'it''s' GROUP BY t.region ORDER BY 2 DESC LIMIT 3",
    "SELECT name, row_number() OVER (PARTITION BY region ORDER BY name DESC) AS place FROM town ORDER BY place, name LIMIT 5",
    "SELECT id FROM town WHERE EXISTS (SELECT 1 FROM person WHERE town = town.id AND income > 100) AND id NOT IN (SELECT region FROM town)",
    "SELECT t.name, p.born FROM town t LEFT JOIN person p ON p.town = t.id AND p.born = DATE '1990-02-01' ORDER BY t.name DESC NULLS LAST, 2",
    "SELECT region FROM town UNION ALL SELECT town FROM person WHERE income BETWEEN 5 AND 7.5",
    "SELECT DISTINCT region, upper(name) FROM town WHERE name LIKE 'town 1%' OFFSET 2",
    "SELECT a.id, b.id FROM town a JOIN town b ON a.id < b.id AND a.region + b.region > 10",
    "SELECT region, max(name) FROM town GROUP BY ROLLUP (region) HAVING count(*) > 3",
    "SELECT 1 AS one, 'two' AS two",
];

fn tree(connection: &Connection, sql: &str) -> Vec<String> {
    rows(connection, sql)
}

#[test]
fn trees_are_told_in_plain_words() {
    let connection = connect();
    tables(&connection);
    for sql in QUERIES {
        for explain in ["EXPLAIN FORMAT tree", "EXPLAIN ANALYZE FORMAT tree", "EXPLAIN (ANALYZE, FORMAT tree)"] {
            for execution in ["auto", "datafusion"] {
                connection.execute(&format!("SET gingham.execution = '{execution}'")).expect("a setting");
                let lines = tree(&connection, &format!("{explain} {sql}"));
                let text = lines.join("\n");
                assert!(!lines.is_empty() && lines.iter().all(|line| line.chars().count() <= 100), "{text}");
                for of_datafusion in
                    ["Utf8", "Int64", "Decimal128", "Date32", "@", "Exec", "Some(", "t.name", "NULLS FIRST]"]
                {
                    assert!(!text.contains(of_datafusion), "{execution}: '{of_datafusion}' in\n{text}");
                }
            }
        }
    }
}

#[test]
fn figures_are_those_of_the_run() {
    let connection = connect();
    tables(&connection);
    let sql =
        "SELECT t.region, count(*) FROM person p JOIN town t ON p.town = t.id WHERE p.income < 50 GROUP BY t.region";
    let lines = tree(&connection, &format!("EXPLAIN ANALYZE FORMAT tree {sql}"));
    let text = lines.join("\n");
    let line = |words: &str| {
        let found = lines.iter().find(|line| line.contains(words));
        found
            .unwrap_or_else(|| panic!("no '{words}' in\n{text}"))
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(line("expected"), ["expected", "rows", "time", "share"]);
    assert!(line("compiled pipelines").contains(&"7".to_owned()), "{text}");
    assert!(line("─ pipeline 0").contains(&"70".to_owned()), "{text}");
    assert!(text.contains("build a key table by id") && text.contains("join by town in pipeline 0"), "{text}");
    assert!(text.contains("scan person where income < ") && text.contains("group by region"), "{text}");
    assert!(["% (1)", "% (2)", "% (3)"].iter().all(|mark| text.matches(mark).count() == 1), "{text}");
    // What has not run has no figures of a run.
    let planned = tree(&connection, &format!("EXPLAIN FORMAT tree {sql}")).join("\n");
    assert!(planned.contains("expected") && !planned.contains(" ms") && !planned.contains("share"), "{planned}");
}

#[test]
fn what_is_left_to_datafusion_says_so() {
    let connection = connect();
    tables(&connection);
    let text = tree(&connection, &format!("EXPLAIN FORMAT tree {}", QUERIES[1])).join("\n");
    assert!(text.contains("left to DataFusion"), "{text}");
    assert!(text.contains("OVER (PARTITION BY region ORDER BY name DESC)"), "{text}");
    let error = rows::rows(&connection, "EXPLAIN VERBOSE FORMAT tree SELECT 1").expect_err("it has no more to say");
    assert!(error.to_string().contains("FORMAT indent"), "{error}");
}

/// Partitions that take morsels side by side have a report each.
#[test]
fn figures_are_those_of_all_partitions() {
    let connection = connect();
    let sql = "CREATE TABLE many AS SELECT value AS v FROM generate_series(1, 300000); OPTIMIZE many; SET gingham.threads = 3";
    connection.execute(sql).expect("a table");
    let lines = tree(&connection, "EXPLAIN ANALYZE FORMAT tree SELECT v FROM many WHERE v * 3 % 7 = 2");
    let text = lines.join("\n");
    assert!(text.contains("compiled pipelines as they come"), "{text}");
    let pipeline = lines.iter().find(|line| line.contains("─ pipeline 0")).unwrap_or_else(|| panic!("{text}"));
    assert!(pipeline.contains("42,857"), "{text}");
}
