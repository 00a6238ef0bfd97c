//! What pipelines leave DataFusion to compute, and strings that have no codes, within compiled pipelines.

use crate::compiled_joins::{agree, plan, shop};
use crate::{connect, each_way, failure, rows};
use gingham::{Connection, Database};

/// Letters with senders and texts that nearly all differ, some of them none, and senders' addresses in another table.
fn letters(connection: &Connection) {
    connection
        .execute(
            "CREATE TABLE letters AS SELECT value AS id, value % 97 AS a, value * 31 % 89 AS b,
                     CASE WHEN value % 10 > 0 THEN 'sender ' || (value * 7919 % 2903) || ' of a long street' END AS sender,
                     'text ' || (value * 31 % 7019) AS text, CAST(value % 1000 AS DOUBLE) / 8 AS weight,
                     CASE value % 3 WHEN 0 THEN 'red' WHEN 1 THEN 'blue' END AS colour,
                     DATE '2020-01-01' + CAST(value % 700 AS INTEGER) AS day
                 FROM generate_series(1, 12000);
             CREATE TABLE senders AS SELECT 'sender ' || (value * 7 % 3001) || ' of a long street' AS name, value % 7 AS region,
                     CASE WHEN value % 2 = 0 THEN 'red' ELSE 'green' END AS colour
                 FROM generate_series(1, 2500)",
        )
        .expect("tables");
}

/// Queries that are pipelines whole, with a part of how EXPLAIN tells it.
const TAKEN: [(&str, &str); 35] = [
    ("SELECT sum(length(colour || CAST(a AS VARCHAR))), count(*) FROM letters", "scan 0, evaluate 1"),
    ("SELECT concat(colour, '-', a), count(*), sum(b) FROM letters GROUP BY 1", "evaluate 1, aggregate into groups"),
    ("SELECT count(*), sum(a) FROM letters WHERE concat(colour, a) LIKE 'red%1'", "evaluate"),
    (
        "SELECT a, round(sum(sqrt(b)), 6), round(avg(power(a, 2) + weight), 6) FROM letters WHERE id > 11000 GROUP BY a",
        "evaluate",
    ),
    (
        "SELECT CAST(greatest(a, b) AS SMALLINT), CAST(least(a, b) AS SMALLINT), count(*) FROM letters GROUP BY 1, 2",
        "evaluate 2, aggregate",
    ),
    ("SELECT greatest(a, b), least(a, b), text, count(*) FROM letters GROUP BY 1, 2, 3", "evaluate 3, aggregate"),
    ("SELECT id * 1000000007, id * 3000000019, count(*) FROM letters GROUP BY 1, 2", "keys of 2 words"),
    (
        "SELECT weight, a / 7e0 AS s, b / 3e0 AS t, colour, count(*), min(id) FROM letters GROUP BY 1, 2, 3, 4",
        "keys of 4 words",
    ),
    ("SELECT count(*) FROM letters WHERE a > b AND regexp_like(text, '9' || CAST(b % 10 AS VARCHAR))", "filter, rows"),
    ("SELECT sender, count(*), sum(a) FROM letters GROUP BY sender", "evaluate 1, aggregate into groups"),
    ("SELECT text, sender, count(*) FROM letters WHERE id % 7 < 3 GROUP BY text, sender", "evaluate 2, aggregate"),
    ("SELECT DISTINCT sender FROM letters WHERE colour = 'red'", "evaluate 1, aggregate"),
    ("SELECT a, count(DISTINCT text), count(DISTINCT sender) FROM letters GROUP BY a", "evaluate 2, aggregate"),
    ("SELECT count(*) FROM (SELECT text FROM letters GROUP BY text HAVING count(*) > 1)", "evaluate 1"),
    ("SELECT count(*), min(l.a), sum(s.region) FROM letters l JOIN senders s ON l.sender = s.name", " probe "),
    ("SELECT l.id, s.region FROM letters l LEFT JOIN senders s ON l.sender = s.name WHERE l.id < 500", "left probe "),
    ("SELECT count(*) FROM letters l FULL JOIN senders s ON l.sender = s.name", "full probe "),
    ("SELECT count(*), sum(a) FROM letters WHERE sender NOT IN (SELECT name FROM senders)", "not-in probe "),
    ("SELECT count(*), sum(a) FROM letters WHERE sender IN (SELECT name FROM senders WHERE region = 3)", "probe "),
    ("SELECT count(*) FROM letters l JOIN senders s ON l.colour = s.colour AND l.a = s.region", " probe "),
    (
        "SELECT s.name, s.colour, count(l.id) FROM senders s JOIN letters l ON l.sender = s.name GROUP BY s.name, s.colour",
        " probe ",
    ),
    (
        "SELECT s.region, concat(l.colour, s.colour) AS c, count(*) FROM letters l JOIN senders s ON l.sender = s.name GROUP BY 1, 2",
        " probe ",
    ),
    (
        "SELECT count(*) FROM letters l JOIN senders s ON l.sender = s.name WHERE concat(l.colour, s.colour) = 'redgreen'",
        " probe ",
    ),
    (
        "SELECT count(*), max(n) FROM (SELECT sender, count(*) AS n FROM letters GROUP BY sender) WHERE sender LIKE '%77%' AND n > 3",
        "evaluate",
    ),
    ("SELECT coalesce(sender, text), count(*) FROM letters WHERE id < 3000 GROUP BY 1", "evaluate 1, aggregate"),
    (
        "SELECT CASE WHEN a > b THEN text ELSE colour END AS t, max(day) FROM letters GROUP BY t",
        "evaluate 1, aggregate",
    ),
    ("SELECT count(sender), count(*) FILTER (WHERE text < sender) FROM letters", "evaluate 1"),
    (
        "SELECT min(text), max(text), min(sender), max(sender), count(*) FROM letters WHERE b <> a",
        "scan 0, filter, aggregate into one group",
    ),
    ("SELECT a, min(sender), max(sender), max(text) FROM letters GROUP BY a", "scan 0, aggregate into groups"),
    (
        "SELECT sender, min(text), max(text) FILTER (WHERE a > 50), max(sender) FROM letters GROUP BY sender ORDER BY 3, 1 LIMIT 50",
        "evaluate 1, aggregate into groups",
    ),
    (
        "SELECT a, min(concat(text, sender, b)), max(CASE WHEN b > 50 THEN text ELSE colour END) FROM letters WHERE b > a GROUP BY a",
        "scan 0, filter, aggregate into groups",
    ),
    (
        "SELECT a, max(text) FROM letters GROUP BY a HAVING min(sender) > 'sender 101' ORDER BY max(text) DESC",
        "sorted by",
    ),
    (
        "SELECT s.region, min(l.text), max(s.name), max(l.sender) FROM letters l RIGHT JOIN senders s ON l.sender = s.name GROUP BY 1",
        "probe ",
    ),
    ("SELECT min(m), max(m), count(*) FROM (SELECT a, min(sender) AS m FROM letters GROUP BY a)", "rows of 0"),
    (
        "SELECT c, min(t), max(t) FROM (SELECT colour AS c, text AS t FROM letters UNION ALL SELECT colour, name FROM senders) GROUP BY c",
        "rows of ",
    ),
];

#[test]
fn what_datafusion_computes_is_a_column_of_pipelines() {
    let connection = connect();
    letters(&connection);
    let is_other = |(sql, told): &(&str, &str)| {
        let plan = plan(&connection, sql);
        let left = ["JoinExec", "AggregateExec", "FilterExec"].iter().any(|left| plan.contains(left));
        let other = left || !plan.contains("CompiledExec") || !plan.contains(told);
        other.then(|| format!("{sql}: {told}: {plan}"))
    };
    let others: Vec<String> = TAKEN.iter().filter_map(is_other).collect();
    assert!(others.is_empty(), "{}", others.join("\n\n"));
    for (sql, _) in TAKEN {
        assert!(agree(&connection, sql) > 0, "{sql}");
    }
    // The same with records in the delta, whose strings have no codes.
    connection
        .execute("INSERT INTO letters SELECT id + 12000, a, b, sender, text, weight, 'new ' || colour, day FROM letters WHERE id < 2000")
        .expect("more letters");
    for (sql, _) in TAKEN.iter().step_by(3) {
        assert!(agree(&connection, sql) > 0, "{sql}");
    }
}

/// Whichever thread numbers a string first, rows that an order does not tell apart come in one order.
#[test]
fn orders_of_strings_are_those_of_their_bytes() {
    let connection = connect();
    letters(&connection);
    shop(&connection);
    for (sql, is_total) in [
        ("SELECT sender, count(*) AS n FROM letters GROUP BY sender ORDER BY n DESC, sender LIMIT 20", true),
        ("SELECT sender, count(*) AS n FROM letters GROUP BY sender ORDER BY n LIMIT 20", false),
        ("SELECT text, a FROM letters l JOIN senders s ON l.sender = s.name ORDER BY text DESC, a, region", true),
        ("SELECT p.name, t.id FROM people p JOIN towns t ON p.town = t.id ORDER BY p.name", true),
        ("SELECT p.name, t.name FROM people p JOIN towns t ON p.town = t.id ORDER BY t.id, p.name LIMIT 5", true),
        (
            "SELECT sender, a FROM letters l JOIN senders s ON l.sender = s.name ORDER BY sender NULLS FIRST, id, region OFFSET 30",
            true,
        ),
    ] {
        let told = plan(&connection, sql);
        assert!(told.contains("CompiledExec") && !told.contains("SortExec"), "{sql}: {told}");
        connection.execute("SET gingham.execution = 'staged'; SET gingham.threads = 1").expect("settings");
        let expected = rows(&connection, sql);
        assert!(!expected.is_empty());
        each_way(&connection, |how| assert_eq!(rows(&connection, sql), expected, "{how}: {sql}"));
        // Which of equal rows are among the first is nobody's promise.
        assert!(!is_total || agree(&connection, sql) > 0, "{sql}");
    }
}

/// An error is the query's where DataFusion would look at the record, and none where it would not.
#[test]
fn errors_are_those_of_the_operators() {
    let connection = connect();
    letters(&connection);
    let sql = "SELECT sum(CAST(CASE WHEN a = 5 THEN text ELSE '7' END AS BIGINT)) FROM letters";
    assert!(plan(&connection, sql).contains("evaluate"), "{}", plan(&connection, sql));
    assert!(failure(&connection, sql).to_string().contains("text "), "{}", failure(&connection, sql));
    assert_eq!(agree(&connection, &format!("{sql} WHERE a <> 5")), 1);
    let sql = "SELECT sum(CASE WHEN a = b THEN 0 ELSE 100 / (a - b) END), count(*) FROM letters";
    assert_eq!(agree(&connection, sql), 1);
    assert!(failure(&connection, "SELECT sum(length(text) / (a - b)) FROM letters").to_string().contains("by zero"));
}

#[test]
fn memory_for_strings_is_asked_for() {
    let connection = Database::in_memory().expect("a scratch database").connect();
    // Ten megabytes of different strings, however their table grows; one thread, so that operators can spill in so little.
    connection
        .execute(
            "CREATE TABLE s AS SELECT repeat('a rather long string ', 3) || (value % 150000) AS s
             FROM generate_series(1, 300000);
             SET gingham.threads = 1; SET gingham.memory_limit = '10MB'",
        )
        .expect("a table and settings");
    let sql = "SELECT count(*), sum(n) FROM (SELECT s, count(*) AS n FROM s GROUP BY s)";
    let analyzed = rows(&connection, &format!("EXPLAIN ANALYZE FORMAT indent {sql}")).join("\n");
    assert!(analyzed.contains("left_to_datafusion=1"), "{analyzed}");
    assert_eq!(rows(&connection, sql), ["150000|300000"]);
}
