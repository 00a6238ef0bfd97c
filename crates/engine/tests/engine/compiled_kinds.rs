//! The less usual joins, and unions, in compiled pipelines: full joins, NOT IN, joins without an equality.

use crate::compiled_joins::{agree, plan, shop};
use crate::{connect, rows};

/// Queries that are pipelines whole, with parts of how EXPLAIN tells it.
const TAKEN: [(&str, &[&str]); 26] = [
    (
        "SELECT count(*), count(p.id), count(t.id), sum(t.region) FROM people p FULL JOIN towns t ON p.town = t.id",
        &["full probe 0, rows", "rows of 0 not marked by 1, rows behind 1"],
    ),
    (
        "SELECT p.name, t.name, t.region FROM people p FULL JOIN towns t ON p.town = t.id WHERE p.id IS NULL OR p.id < 30",
        &["full probe"],
    ),
    (
        "SELECT p.id, t.id FROM people p FULL JOIN towns t ON p.town = t.id AND p.id < 40 AND t.region <> p.id % 3",
        &["full probe 0 with a condition"],
    ),
    (
        "SELECT t.region, count(b.amount), sum(b.amount) FROM people p FULL JOIN towns t ON p.town = t.id FULL JOIN bought b ON b.person = p.id GROUP BY t.region",
        &["full probe"],
    ),
    (
        "SELECT t.id, t.name, count(p.id) FROM people p FULL JOIN towns t ON p.town = t.id GROUP BY t.id, t.name",
        &["full probe"],
    ),
    (
        "SELECT r, count(*) FROM (SELECT t.region AS r, p.town AS h FROM people p FULL JOIN towns t ON p.town = t.id) f JOIN towns u ON f.h = u.id GROUP BY r",
        &["probe"],
    ),
    (
        "SELECT t.region, count(p.id) FROM towns t FULL JOIN (SELECT id, town FROM people WHERE id < 0) p ON p.town = t.id GROUP BY t.region",
        &["full probe"],
    ),
    (
        "SELECT x, count(*), sum(y) FROM (SELECT id AS x, town AS y FROM people UNION ALL SELECT region, id FROM towns UNION ALL SELECT NULL, person FROM bought) GROUP BY x",
        &[
            "scan 2, aggregate into groups; 3: rows of 0, rows",
            "rows behind 3",
            "rows behind 4",
            "rows of 5, aggregate into groups",
        ],
    ),
    (
        "SELECT day, count(*) FROM (SELECT born AS day FROM people WHERE town = 3 UNION ALL SELECT day FROM bought) GROUP BY day",
        &[" behind "],
    ),
    (
        "SELECT item, count(*) FROM (SELECT item FROM bought WHERE amount < 100 UNION ALL SELECT item FROM bought WHERE person = 7) GROUP BY item",
        &[" behind "],
    ),
    (
        "SELECT t.name, count(*) FROM (SELECT town FROM people WHERE id < 100 UNION ALL SELECT person FROM bought) b JOIN towns t ON b.town = t.id GROUP BY t.name",
        &[" behind "],
    ),
    (
        "SELECT b.item, count(*) FROM bought b JOIN (SELECT id FROM people WHERE town = 4 UNION ALL SELECT id FROM towns) p ON b.person = p.id GROUP BY b.item",
        &["build behind "],
    ),
    (
        "SELECT sum(n) FROM (SELECT town, count(*) AS n FROM people GROUP BY town UNION ALL SELECT region, count(*) FROM towns GROUP BY region)",
        &[" behind "],
    ),
    ("SELECT count(*), sum(id) FROM people WHERE town NOT IN (SELECT region FROM towns)", &["not-in probe 0"]),
    ("SELECT count(*), sum(id) FROM people WHERE id NOT IN (SELECT person FROM bought)", &["not-in probe 0"]),
    (
        "SELECT count(*), sum(id) FROM people WHERE id NOT IN (SELECT person FROM bought WHERE person IS NOT NULL)",
        &["not-in probe 0"],
    ),
    (
        "SELECT count(*), sum(id) FROM people WHERE town NOT IN (SELECT id FROM towns WHERE region > 100)",
        &["not-in probe 0"],
    ),
    (
        "SELECT t.region, count(*), sum(p.id) FROM people p CROSS JOIN towns t WHERE p.id < 50 GROUP BY t.region",
        &["probe all of 0"],
    ),
    (
        "SELECT count(*), min(p.born) FROM people p JOIN towns t ON p.id < t.id AND p.town <> t.region",
        &["probe a range of 0, filter"],
    ),
    (
        "SELECT p.id, t.id FROM (SELECT * FROM people WHERE id < 70) p LEFT JOIN towns t ON p.id < t.id AND t.region = 2",
        &["left probe a range of 0 with a condition"],
    ),
    (
        "SELECT count(*) FROM people p WHERE EXISTS (SELECT 1 FROM towns t WHERE t.id > p.id) OR p.town = 3",
        &["semi probe a range of 0 with a condition", "left probe"],
    ),
    (
        "SELECT t.id, count(*), min(b.day) FROM towns t JOIN bought b ON b.amount >= t.id * 10 AND b.amount < t.id * 10 + 7 GROUP BY t.id",
        &["probe "],
    ),
    (
        "SELECT count(*), sum(p.id) FROM people p LEFT JOIN (SELECT id, id * 50 AS low, id * 50 + 20 AS high FROM towns) t ON p.id BETWEEN t.low AND t.high",
        &["left probe a range of 0 with a condition"],
    ),
    (
        "SELECT count(*) FROM bought b WHERE NOT EXISTS (SELECT 1 FROM towns t WHERE t.id > b.person AND t.id <= b.person + 40)",
        &["a range of 0 with a condition"],
    ),
    (
        "SELECT count(*), count(t.id), count(p.id) FROM people p FULL JOIN towns t ON p.id - 100 > t.id AND p.town <> 3",
        &["full probe a range of 0 with a condition"],
    ),
    (
        "SELECT count(*), max(b.person) FROM towns t JOIN bought b ON CAST(b.amount AS DOUBLE) > sqrt(t.id) * 200",
        &["probe"],
    ),
];

#[test]
fn they_are_taken_and_answer_as_without_pipelines() {
    let connection = connect();
    shop(&connection);
    for (sql, told) in TAKEN {
        let plan = plan(&connection, sql);
        for told in told {
            assert!(plan.contains("CompiledExec") && plan.contains(told), "{sql}: {told}: {plan}");
        }
        for left in ["JoinExec", "UnionExec", "AggregateExec"] {
            assert!(!plan.contains(left), "{sql}: {plan}");
        }
        assert!(agree(&connection, sql) > 0, "{sql}");
    }
}

#[test]
fn not_in_is_what_sql_says_of_nulls() {
    let connection = connect();
    connection
        .execute(
            "CREATE TABLE l (k INTEGER, v INTEGER); INSERT INTO l VALUES (1, 1), (2, 2), (NULL, 3);
             CREATE TABLE r (k INTEGER); INSERT INTO r VALUES (1), (5)",
        )
        .expect("tables");
    let sql = "SELECT v FROM l WHERE k NOT IN (SELECT k FROM r)";
    assert!(plan(&connection, sql).contains("not-in probe"));
    assert_eq!(rows(&connection, sql), ["2"]);
    // Nothing is known to be in none of them.
    connection.execute("INSERT INTO r VALUES (NULL)").expect("a row");
    assert_eq!(rows(&connection, sql), [""; 0]);
    // Everything is in none of no rows.
    let mut found = rows(&connection, "SELECT v FROM l WHERE k NOT IN (SELECT k FROM r WHERE k > 5)");
    found.sort();
    assert_eq!(found, ["1", "2", "3"]);
}

/// A column of strings has codes of its own: a union puts those of all its inputs in their place where these are few, else
/// numbers of the query's own.
#[test]
fn unions_of_strings_have_common_codes_or_numbers() {
    let connection = connect();
    shop(&connection);
    connection
        .execute(
            "CREATE TABLE sold AS SELECT CASE WHEN item = 'tea' THEN 'a tea' ELSE item END AS item, amount, person FROM bought;
             CREATE TABLE names AS SELECT 'name ' || (value % 6000) AS name FROM generate_series(1, 30000);
             CREATE TABLE others AS SELECT 'other ' || (value % 6000) AS name FROM generate_series(1, 30000)",
        )
        .expect("tables");
    for sql in [
        "SELECT item, count(*), sum(amount) FROM (SELECT item, amount FROM bought UNION ALL SELECT item, amount FROM sold) GROUP BY item",
        "SELECT c, min(item), max(item), count(*) FROM (SELECT 'shop' AS c, item FROM bought UNION ALL SELECT 'mail', item FROM sold
             UNION ALL SELECT 'none', NULL FROM towns) GROUP BY c ORDER BY c",
        "SELECT item FROM (SELECT item FROM bought UNION SELECT item FROM sold) ORDER BY item DESC",
        "SELECT item, count(*) FROM (SELECT upper(item) AS item FROM bought UNION ALL SELECT item FROM sold WHERE person < 0) WHERE item <> 'JAM' GROUP BY item",
        "SELECT count(*), sum(amount) FROM (SELECT * FROM bought UNION ALL SELECT person, item, amount, NULL FROM sold)",
    ] {
        let plan = plan(&connection, sql);
        assert!(plan.contains(" behind ") && !plan.contains("UnionExec"), "{sql}: {plan}");
        assert!(agree(&connection, sql) > 0, "{sql}");
    }
    let sql = "SELECT name, count(*) FROM (SELECT name FROM names UNION ALL SELECT name FROM others) GROUP BY name";
    let plan = plan(&connection, sql);
    assert!(plan.contains("evaluate 1, rows behind ") && !plan.contains("UnionExec"), "{plan}");
    assert_eq!(agree(&connection, sql), 12000);
}

/// A product that nobody sums up is given row by row.
#[test]
fn products_of_many_rows_for_the_client_are_left() {
    let connection = connect();
    shop(&connection);
    let sql = "SELECT p.id, b.item FROM people p, bought b";
    assert!(plan(&connection, sql).contains("CrossJoinExec"));
    assert!(plan(&connection, "SELECT t.id, u.id FROM towns t, towns u").contains("probe all of 0"));
}
