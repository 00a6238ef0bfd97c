//! Filters in compiled pipelines: those that scans can't do, whose rows come as they are found, and those over groups and
//! joins.

use crate::compiled_joins::{agree, plan, shop};
use crate::{connect, failure, rows};

/// Queries that are pipelines but for projections above, with a part of how EXPLAIN tells it.
const TAKEN: [(&str, &str); 11] = [
    ("SELECT * FROM bought WHERE amount > person", "scan 0, filter, rows as they come"),
    ("SELECT id, upper(name), town + 1 FROM people WHERE id % 100 > town", "filter, rows as they come"),
    ("SELECT name FROM people WHERE length(name) + town > 30 AND id > town * 20", "filter, rows as they come"),
    ("SELECT 1 FROM bought WHERE person > amount AND person < amount * 2.25", "filter, rows as they come"),
    (
        "SELECT item, day FROM bought WHERE amount > (SELECT avg(amount) FROM bought) AND item < 'salt'",
        "rows as they come",
    ),
    (
        "SELECT person FROM bought WHERE item = lower(item) AND CASE WHEN amount > 9 THEN person ELSE 7 END > 3",
        "rows as they come",
    ),
    (
        "SELECT id FROM people WHERE id % 100 > town UNION ALL SELECT person FROM bought WHERE amount > person",
        "rows as they come",
    ),
    ("SELECT town, count(*) FROM people GROUP BY town HAVING count(*) > 50 AND sum(id) > 70000", "with a condition: ["),
    ("SELECT town, avg(id) AS mean FROM people GROUP BY town HAVING avg(id) > 1500", "with a condition"),
    ("SELECT name, count(*) FROM people GROUP BY name HAVING count(*) < 2", "with a condition: ["),
    (
        "SELECT p.id FROM people p LEFT JOIN towns t ON p.town = t.id WHERE coalesce(t.region, 9) > p.id % 7",
        "filter, rows: [",
    ),
];

#[test]
fn they_are_taken_and_answer_as_without_pipelines() {
    let connection = connect();
    shop(&connection);
    for (sql, told) in TAKEN {
        let plan = plan(&connection, sql);
        assert!(plan.contains("CompiledExec") && plan.contains(told), "{sql}: {told}: {plan}");
        assert!(!plan.contains("FilterExec") && !plan.contains("AggregateExec"), "{sql}: {plan}");
        assert!(agree(&connection, sql) > 0, "{sql}");
    }
}

/// Where few records are wanted, or a join of DataFusion's tells scans what it looks for, filters stay.
#[test]
fn filters_stay_where_something_above_helps_the_scan() {
    let connection = connect();
    shop(&connection);
    let limited = plan(&connection, "SELECT * FROM bought WHERE amount > person LIMIT 3");
    assert!(limited.contains("FilterExec") && !limited.contains("CompiledExec"), "{limited}");
}

/// Rows go out morsel by morsel: a reader who leaves spares the rest, and several may read at once on one thread.
#[test]
fn rows_come_as_they_are_found() {
    let connection = connect();
    connection
        .execute(
            "CREATE TABLE z AS SELECT value AS a, value * 7919 % 200003 AS b, 'text ' || reverse(CAST(value AS VARCHAR)) AS t
                 FROM generate_series(0, 199999);
             SET gingham.threads = 1",
        )
        .expect("a table of several zones");
    let sql = "SELECT a, t FROM z WHERE b < a % 1000";
    let all = rows(&connection, sql).len();
    let mut first = connection.query(sql).expect("a query");
    let mut second = connection.query(sql).expect("a query");
    let given = first.next().expect("a batch").expect("rows").num_rows();
    assert!(given < all, "{given} of {all} at once");
    drop(first);
    assert!(second.next().is_some());
    assert_eq!(rows(&connection, sql).len(), all);
    let analyzed = rows(&connection, &format!("EXPLAIN ANALYZE FORMAT indent {sql}")).join("\n");
    assert!(analyzed.contains(&format!("output_rows={all},")), "{analyzed}");
    assert!(analyzed.contains("records=200.0 K"), "{analyzed}");
}

/// A morsel that pipelines can't do is DataFusion's, with its error, if there is one.
#[test]
fn what_pipelines_cannot_do_is_filtered_all_the_same() {
    let connection = connect();
    connection
        .execute(
            "CREATE TABLE w AS SELECT value AS a, CASE WHEN value = 90000 THEN 9223372036854775807 ELSE value % 7 END AS b,
                 value % 5 + 1 AS c FROM generate_series(0, 99999)",
        )
        .expect("a table");
    // The sum is never looked at where it would not fit.
    let spared = "SELECT a FROM w WHERE CASE WHEN a = 90000 THEN c ELSE b + c END > 9";
    assert!(plan(&connection, spared).contains("rows as they come"), "{}", plan(&connection, spared));
    assert!(agree(&connection, spared) > 0);
    let failing = "SELECT a FROM w WHERE b + c > 9";
    for mode in ["auto", "staged", "interpreted", "fused", "vectorized", "datafusion"] {
        connection.execute(&format!("SET gingham.execution = '{mode}'")).expect("a setting");
        let error = failure(&connection, failing).to_string();
        assert!(error.contains("overflow"), "{mode}: {error}");
    }
}
