//! Rows that DataFusion's operators give to compiled pipelines.

use crate::compiled_joins::{agree, plan, shop};
use crate::{connect, failure, rows};
use gingham::DatabaseOptions;

/// Queries whose joins are pipelines over rows of operators that pipelines don't have, and which these are.
const TAKEN: [(&str, &str); 9] = [
    (
        "SELECT t.region, count(*), sum(r) FROM (SELECT town, row_number() OVER (PARTITION BY town ORDER BY id) AS r FROM people) p
             JOIN towns t ON p.town = t.id GROUP BY t.region",
        "WindowAggExec",
    ),
    (
        "SELECT v.n, sum(b.amount), count(*) FROM (VALUES ('tea', 1), ('jam', 2), (NULL, 3)) v(item, n) JOIN bought b ON b.item = v.item GROUP BY v.n",
        "DataSourceExec",
    ),
    ("SELECT count(*), sum(p.id) FROM people p JOIN generate_series(1, 30) g ON p.town = g.value", "LazyMemoryExec"),
    (
        "SELECT count(*), min(p.id), max(p.name) FROM people p JOIN (SELECT person, amount FROM bought ORDER BY amount DESC, person, day LIMIT 50) b ON b.person = p.id",
        "first 50",
    ),
    (
        "SELECT p.name, b.n, b.r FROM people p JOIN (SELECT person, count(*) AS n, rank() OVER (ORDER BY count(*) DESC, person) AS r
             FROM bought GROUP BY person) b ON b.person = p.id WHERE b.r < 40",
        "WindowAggExec",
    ),
    (
        "SELECT t.name, sum(s.total) FROM (SELECT town, count(DISTINCT id) AS total FROM people GROUP BY ROLLUP (town)) s RIGHT JOIN towns t ON s.town = t.id GROUP BY t.name",
        "AggregateExec",
    ),
    (
        "SELECT w.name, count(*) FROM (SELECT DISTINCT first_value(name) OVER (PARTITION BY town ORDER BY id) AS name FROM people) w
             LEFT JOIN people p ON w.name = p.name GROUP BY w.name",
        "WindowAggExec",
    ),
    (
        "SELECT kind, count(*), sum(n) FROM (SELECT 'town' AS kind, region AS n FROM towns UNION ALL
             SELECT 'rank', CAST(rank() OVER (ORDER BY day) AS INTEGER) FROM bought WHERE person < 100) GROUP BY kind",
        "WindowAggExec",
    ),
    (
        "SELECT count(*) FROM towns t FULL JOIN (SELECT a.value AS x, NULL::VARCHAR AS s FROM generate_series(50, 70) a LIMIT 15) g ON g.x = t.id",
        "given 0",
    ),
];

#[test]
fn rows_of_other_operators_go_through_pipelines() {
    let connection = connect();
    shop(&connection);
    for (sql, given) in TAKEN {
        let plan = plan(&connection, sql);
        assert!(plan.contains("CompiledExec") && plan.contains("given 0") && plan.contains(given), "{sql}: {plan}");
        assert!(!plan.contains("HashJoinExec") && !plan.contains("UnionExec"), "{sql}: {plan}");
        assert!(agree(&connection, sql) > 0, "{sql}");
    }
    // Where nothing else is in them, the operators above are DataFusion's too.
    let sql = "SELECT r % 3, count(*) FROM (SELECT row_number() OVER (ORDER BY id) AS r FROM people) GROUP BY 1";
    assert!(!plan(&connection, sql).contains("given"), "{}", plan(&connection, sql));
}

/// Pipelines within what gives rows to pipelines, several at once, on one thread, some of them left in the middle.
#[test]
fn nothing_waits_for_itself() {
    let connection = connect();
    shop(&connection);
    connection.execute("SET gingham.threads = 1").expect("a setting");
    let (nested, _) = TAKEN[4];
    assert_eq!(plan(&connection, nested).matches("CompiledExec").count(), 2, "{}", plan(&connection, nested));
    let mut expected = rows(&connection, nested);
    expected.sort();
    let products =
        "SELECT p.id, v.x FROM people p JOIN (SELECT value AS x FROM generate_series(1, 2000)) v ON p.id > v.x";
    for _ in 0..5 {
        let first = connection.query(nested).expect("a query");
        let mut left = connection.query(products).expect("a query");
        let second = connection.query(nested).expect("a query");
        assert_eq!(
            second.collect_batches().expect("rows").iter().map(|batch| batch.num_rows()).sum::<usize>(),
            expected.len()
        );
        assert!(left.next().is_some());
        drop(left);
        drop(connection.query(products).expect("a query"));
        assert_eq!(
            first.collect_batches().expect("rows").iter().map(|batch| batch.num_rows()).sum::<usize>(),
            expected.len()
        );
        assert_eq!(rows(&connection, &format!("{products} LIMIT 7")).len(), 7);
    }
    let mut found = rows(&connection, nested);
    found.sort();
    assert_eq!(found, expected);
}

#[test]
fn errors_of_what_gives_rows_are_the_querys() {
    let connection = connect();
    shop(&connection);
    let sql = "SELECT count(*) FROM towns t JOIN (SELECT 100 / (id - 7) AS x, row_number() OVER (ORDER BY id) AS r FROM people) p ON p.r = t.id WHERE p.x > 0";
    assert!(plan(&connection, sql).contains("given"), "{}", plan(&connection, sql));
    assert!(failure(&connection, sql).to_string().contains("by zero"));
}

#[test]
fn rows_that_are_too_many_are_left_to_operators() {
    let options = DatabaseOptions::new().memory_limit(24 << 20);
    let connection = options.temporary().expect("a scratch database").connect();
    connection.execute("CREATE TABLE few AS SELECT value AS v FROM generate_series(1, 100)").expect("a table");
    let sql = "SELECT count(*), sum(g.value) FROM generate_series(1, 4000000) g JOIN few f ON g.value % 1000 = f.v";
    assert!(plan(&connection, sql).contains("given"), "{}", plan(&connection, sql));
    let analyzed = rows(&connection, &format!("EXPLAIN ANALYZE FORMAT indent {sql}")).join("\n");
    assert!(analyzed.contains("left_to_datafusion=1"), "{analyzed}");
    assert_eq!(rows(&connection, sql).len(), 1);
}
