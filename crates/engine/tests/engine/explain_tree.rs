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
        for explain in ["EXPLAIN", "EXPLAIN FORMAT tree", "EXPLAIN ANALYZE", "EXPLAIN (ANALYZE, VERBOSE, FORMAT text)"]
        {
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
    let lines = tree(&connection, &format!("EXPLAIN ANALYZE {sql}"));
    let text = lines.join("\n");
    let line = |words: &str| {
        let found = lines.iter().find(|line| line.contains(words));
        found
            .unwrap_or_else(|| panic!("no '{words}' in\n{text}"))
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(line("expected"), ["expected", "rows", "read", "memory", "time", "share"]);
    assert!(line("compiled pipelines").contains(&"7".to_owned()), "{text}");
    assert!(line("─ pipeline 0").contains(&"70".to_owned()), "{text}");
    assert!(text.contains("build a key table by id") && text.contains("join by town in pipeline 0"), "{text}");
    assert!(text.contains("scan person where income < ") && text.contains("group by region"), "{text}");
    assert!(["% (1)", "% (2)", "% (3)"].iter().all(|mark| text.matches(mark).count() == 1), "{text}");
    // What has not run has no figures of a run.
    let planned = tree(&connection, &format!("EXPLAIN {sql}")).join("\n");
    assert!(planned.contains("expected") && !planned.contains(" ms") && !planned.contains("share"), "{planned}");
}

#[test]
fn what_is_left_to_datafusion_says_so() {
    let connection = connect();
    tables(&connection);
    let text = tree(&connection, &format!("EXPLAIN FORMAT tree {}", QUERIES[1])).join("\n");
    assert!(text.contains("left to DataFusion"), "{text}");
    assert!(text.contains("OVER (PARTITION BY region ORDER BY name DESC)"), "{text}");
    let error = rows::rows(&connection, "EXPLAIN (METRICS) SELECT 1").expect_err("an option of DataFusion's");
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

/// Every kind of statement that has a plan: how it begins, and what its tree must tell.
const CHANGES: [(&str, &[&str]); 9] = [
    ("INSERT INTO town SELECT id + 100, name, 1 FROM town", &["insert into town", "scan town"]),
    ("INSERT INTO town VALUES (200, 'x', 2)", &["insert into town", "its rows are written out"]),
    ("UPDATE town SET name = 'y' WHERE id = 7", &["update town", "scan town where id = 7"]),
    ("DELETE FROM town WHERE id IN (SELECT town FROM person)", &["delete from town", "scan person"]),
    (
        "MERGE INTO town USING (SELECT id + 30 AS of FROM town) AS u ON town.id = u.of WHEN MATCHED AND u.of < 40 THEN DELETE
            WHEN NOT MATCHED THEN INSERT VALUES (u.of + 1000, 'z', 3)",
        &["merge into town", "scan town"],
    ),
    ("CREATE TABLE other AS SELECT region, count(*) AS n FROM town GROUP BY 1", &["create table other", "group by region"]),
    ("WITH few AS (SELECT id - 100 AS id FROM town WHERE id < 105) DELETE FROM person WHERE town IN (SELECT id FROM few)", &["delete from person"]),
    ("COPY (SELECT * FROM town WHERE id < 4) TO STDOUT", &["copy to standard output", "scan town where id < 4"]),
    ("EXECUTE change(3)", &["execute change", "scan town where id"]),
];

#[test]
fn changes_are_explained_without_being_made() {
    let connection = connect();
    tables(&connection);
    connection.execute("PREPARE change AS UPDATE town SET name = 'p' WHERE id = $1").expect("a prepared statement");
    let state = "SELECT (SELECT sum(hash) FROM (SELECT id * 31 + region * 7 + length(name) AS hash FROM town) AS t),
        (SELECT count(*) FROM person), (SELECT count(*) FROM information_schema.tables WHERE table_name = 'other')";
    let before = rows(&connection, state);
    for transaction in [false, true] {
        if transaction {
            connection.execute("BEGIN").expect("a transaction");
        }
        for (sql, told) in CHANGES {
            let text = tree(&connection, &format!("EXPLAIN {sql}")).join("\n");
            assert!(told.iter().all(|words| text.contains(words)), "{sql}:\n{text}");
            assert!(!text.contains("share"), "{sql}:\n{text}");
            assert_eq!(rows(&connection, state), before, "{sql}");
        }
    }
    connection.execute("COMMIT").expect("a transaction that nothing has failed in");
    assert_eq!(rows(&connection, state), before);
}

#[test]
fn analyze_makes_the_change() {
    let connection = connect();
    tables(&connection);
    connection.execute("PREPARE change AS UPDATE town SET name = 'p' WHERE id = $1").expect("a prepared statement");
    for (sql, told) in CHANGES {
        let text = tree(&connection, &format!("EXPLAIN ANALYZE {sql}")).join("\n");
        assert!(told[..1].iter().all(|words| text.contains(words)), "{sql}:\n{text}");
        assert!(text.contains("planning ") && text.contains(", running "), "{sql}:\n{text}");
    }
    let towns = "SELECT count(*), min(id), max(id), count(*) FILTER (WHERE name IN ('x', 'p')) FROM town";
    let counts = [towns, "SELECT count(*) > 0 FROM other", "SELECT count(*) FROM person WHERE town < 5"];
    assert_eq!(counts.map(|sql| rows(&connection, sql)), [vec!["101|101|1230|1"], vec!["true"], vec!["0"]]);
}

#[test]
fn records_that_are_changed_are_counted() {
    let connection = connect();
    tables(&connection);
    let lines = tree(&connection, "EXPLAIN ANALYZE UPDATE town SET name = 'y' WHERE region = 3");
    assert!(lines[1].starts_with("update town") && lines[1].ends_with(" 10"), "{}", lines.join("\n"));
    assert_eq!(rows(&connection, "SELECT count(*) FROM town WHERE name = 'y'"), ["10"]);
}

#[test]
fn json_and_pages_tell_the_same() {
    let connection = connect();
    tables(&connection);
    let sql = "SELECT region, count(*) FROM town JOIN person ON town = town.id WHERE name <> '<b>' GROUP BY region";
    let json = tree(&connection, &format!("EXPLAIN (ANALYZE, FORMAT json) {sql}")).join("\n");
    let parsed: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let plan = &parsed[0]["Plan"];
    assert_eq!(plan["Actual Rows"], 7, "{json}");
    assert!(plan["Plans"].as_array().is_some_and(|plans| plans.len() == 2), "{json}");
    assert!(parsed[0]["Execution Time"].as_f64().is_some_and(|time| time > 0.0), "{json}");
    let page = tree(&connection, &format!("EXPLAIN (ANALYZE, FORMAT html) {sql}")).join("\n");
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>") && !page.contains("<b>"), "{page}");
    assert_eq!(page.matches("<li>").count(), json.matches("Node Type").count());
    for text in [&json, &page] {
        for of_datafusion in ["Utf8", "Int64", "@0", "ScanExec", "CompiledExec"] {
            assert!(!text.contains(of_datafusion), "'{of_datafusion}' in\n{text}");
        }
    }
}

#[test]
fn options_leave_out_what_is_not_wanted() {
    let connection = connect();
    tables(&connection);
    let sql = "SELECT region, count(*) FROM town WHERE id > 3 GROUP BY region";
    let text = |options: &str| tree(&connection, &format!("EXPLAIN ({options}) {sql}")).join("\n");
    let all = text("ANALYZE");
    assert!(["expected", "read", "share", "planning"].iter().all(|title| all.contains(title)), "{all}");
    let bare = text("ANALYZE, COSTS off, BUFFERS off, TIMING off, SUMMARY off, MEMORY off");
    assert!(["expected", "read", "share", "planning", "memory"].iter().all(|title| !bare.contains(title)), "{bare}");
    assert!(text("SETTINGS").contains("settings: gingham.threads = "), "{bare}");
    assert!(text("SUMMARY").contains("planning "), "the time of planning alone");
    connection.execute("SET gingham.explain_width = 60").expect("a setting");
    assert!(text("ANALYZE").lines().all(|line| line.chars().count() <= 60));
    let error = connection.execute("SET gingham.explain_width = 7").expect_err("too narrow").to_string();
    assert!(error.contains("from 40 to 1000, not '7'"), "{error}");
}

#[test]
fn statements_without_a_plan_are_refused_by_name() {
    let connection = connect();
    for (sql, named) in [
        ("EXPLAIN BEGIN", "EXPLAIN of BEGIN is not supported"),
        ("EXPLAIN CREATE TABLE t (a INT)", "EXPLAIN of CREATE TABLE is not supported"),
        ("EXPLAIN DROP TABLE t", "EXPLAIN of DROP TABLE is not supported"),
        ("EXPLAIN COPY t FROM STDIN", "EXPLAIN of COPY … is not supported"),
        ("EXPLAIN NOTIFY channel", "NOTIFY is not supported"),
        ("EXPLAIN FORMAT indent DELETE FROM t", "FORMAT text explains it"),
        ("EXPLAIN SELECT * FROM nowhere", "table 'nowhere' does not exist"),
        ("EXPLAIN ANALYZE SELECT 1 / 0", "division by zero"),
    ] {
        let error = rows::rows(&connection, sql).expect_err(sql).to_string();
        assert!(error.contains(named), "{sql}: {error}");
    }
}

#[test]
fn rows_that_are_computed_once_have_figures() {
    let connection = connect();
    tables(&connection);
    let sql = "WITH c AS MATERIALIZED (SELECT region, count(*) AS n FROM town GROUP BY region)
        SELECT x.region FROM c AS x JOIN c AS y ON x.n = y.region + 3";
    let lines = tree(&connection, &format!("EXPLAIN ANALYZE {sql}"));
    let text = lines.join("\n");
    assert_eq!(text.matches("which are computed once").count(), 2, "{text}");
    let pipeline = lines.iter().find(|line| line.contains("pipeline 0")).unwrap_or_else(|| panic!("{text}"));
    let figures: Vec<&str> = pipeline.split_whitespace().collect();
    assert!(figures.windows(2).any(|pair| pair == ["7", "7"]), "7 were expected, and seen: {text}");
}
