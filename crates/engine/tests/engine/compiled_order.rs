//! Sorts and limits in compiled pipelines: rows in order by their integers, and pipelines that end when their rows suffice.

use crate::compiled_joins::{plan, shop};
use crate::{by_datafusion, connect, each_way, rows};

/// Queries whose order tells all rows apart, with a part of how EXPLAIN tells it.
const ORDERED: [(&str, &str); 13] = [
    (
        "SELECT p.town, count(*) AS n FROM people p GROUP BY p.town ORDER BY n DESC, p.town",
        "@1 DESC, town@0 ASC NULLS LAST:",
    ),
    ("SELECT town, count(*) FROM people GROUP BY town ORDER BY town NULLS FIRST", "sorted by town@0 ASC:"),
    ("SELECT town, count(*) FROM people GROUP BY town ORDER BY town DESC NULLS FIRST LIMIT 5", "DESC, first 5:"),
    (
        "SELECT town, count(*) FROM people GROUP BY town ORDER BY town DESC NULLS LAST LIMIT 5",
        "DESC NULLS LAST, first 5:",
    ),
    ("SELECT town, count(*) FROM people GROUP BY town ORDER BY town LIMIT 3 OFFSET 54", "first 3 behind 54:"),
    ("SELECT town, count(*) FROM people GROUP BY town ORDER BY town LIMIT 9 OFFSET 1000", "first 9 behind 1000:"),
    ("SELECT town, count(*) FROM people GROUP BY town ORDER BY town DESC OFFSET 50", "all behind the first 50:"),
    (
        "SELECT item, sum(amount) AS s, min(day) FROM bought GROUP BY item ORDER BY item DESC, s",
        "sorted by item@0 DESC",
    ),
    (
        "SELECT b.day, b.item, p.id, p.name FROM bought b JOIN people p ON b.person = p.id WHERE b.amount > 1000
             ORDER BY b.item DESC NULLS LAST, b.day, p.id DESC, b.amount",
        "sorted by item",
    ),
    (
        "SELECT b.day + 1, p.name, b.item FROM bought b JOIN people p ON b.person = p.id
             ORDER BY b.amount DESC, b.item, b.day, p.id LIMIT 20 OFFSET 7",
        "first 20 behind 7",
    ),
    (
        "SELECT p.id * 2, t.region FROM people p FULL JOIN towns t ON p.town = t.id ORDER BY t.region, p.id DESC, t.id LIMIT 500",
        "first 500",
    ),
    (
        "SELECT person, sum(amount) AS s, count(*) FROM bought GROUP BY person ORDER BY s DESC, person LIMIT 11",
        "first 11",
    ),
    (
        "SELECT p.id, t.id, b.amount FROM bought b, people p, towns t WHERE b.person = p.id AND p.town = t.id
             ORDER BY b.amount * 0 + b.amount, p.id, t.id, b.day, b.item",
        "CompiledExec",
    ),
];

#[test]
fn rows_come_in_order() {
    let connection = connect();
    shop(&connection);
    for (sql, told) in ORDERED {
        let plan = plan(&connection, sql);
        assert!(plan.contains("CompiledExec") && plan.contains(told), "{sql}: {plan}");
        let left = told != "CompiledExec" && (plan.contains("SortExec") || plan.contains("LimitExec"));
        assert!(!left, "{sql}: {plan}");
        let expected = by_datafusion(&connection, sql);
        each_way(&connection, |how| assert_eq!(rows(&connection, sql), expected, "{how}: {sql}"));
    }
}

/// Strings without codes are carried as the number of their record, one for all of them.
#[test]
fn strings_of_one_record_are_put_in_order_each_by_its_own() {
    let connection = connect();
    let text = |sql: &str| rows(&connection, sql);
    connection
        .execute(
            "CREATE TABLE s (id INT, name VARCHAR, street VARCHAR);
             INSERT INTO s SELECT value, 'name ' || reverse(CAST(value * 48271 % 1000003 AS VARCHAR)),
                 'street ' || reverse(CAST(value * 69621 % 999983 AS VARCHAR))
                 FROM generate_series(1, 9000);
             CREATE TABLE few (id INT, part INT); INSERT INTO few SELECT value * 11, value % 5 FROM generate_series(1, 700); OPTIMIZE s",
        )
        .expect("tables");
    for order in ["name", "street DESC", "name DESC LIMIT 20", "part, street, name LIMIT 30 OFFSET 3"] {
        let sql = format!("SELECT name, street, part FROM s JOIN few ON s.id = few.id ORDER BY {order}");
        let expected = by_datafusion(&connection, &sql);
        assert!(expected.len() >= 20);
        for mode in ["staged", "interpreted"] {
            connection.execute(&format!("SET gingham.execution = '{mode}'")).expect("a setting");
            assert!(plan(&connection, &sql).contains("sorted by"), "{sql}");
            assert_eq!(text(&sql), expected, "{mode}: {sql}");
        }
    }
}

#[test]
fn equal_rows_come_the_same_way_each_time() {
    let connection = connect();
    shop(&connection);
    // Groups that a hash table finds, whose places depend on which thread was first.
    connection
        .execute("CREATE TABLE far AS SELECT value * 1000003 % 100000007 * 100000 AS k, value % 4 AS v FROM generate_series(1, 30000)")
        .expect("a table");
    for sql in [
        "SELECT k, sum(v) AS s FROM far GROUP BY k ORDER BY s LIMIT 100",
        "SELECT p.id, p.name, b.day FROM people p JOIN bought b ON b.person = p.id ORDER BY b.item LIMIT 100",
        "SELECT p.id, p.name, b.day FROM people p JOIN bought b ON b.person = p.id LIMIT 100 OFFSET 20",
    ] {
        assert!(plan(&connection, sql).contains("first 100"), "{sql}");
        connection.execute("SET gingham.threads = 1").expect("a setting");
        let expected = rows(&connection, sql);
        assert_eq!(expected.len(), 100);
        each_way(&connection, |how| assert_eq!(rows(&connection, sql), expected, "{how}: {sql}"));
    }
}

/// The number behind a name in EXPLAIN ANALYZE, as it is rounded there.
fn counted(text: &str, name: &str) -> Option<f64> {
    let number = text.split(name).nth(1)?.split([',', ']']).next()?;
    match number.strip_suffix(" K") {
        Some(thousands) => thousands.parse::<f64>().ok().map(|thousands| thousands * 1000.0),
        None => number.parse().ok(),
    }
}

#[test]
fn a_pipeline_ends_when_its_rows_suffice() {
    let connection = connect();
    shop(&connection);
    connection
        .execute("CREATE TABLE many AS SELECT value AS v, value % 60 + 1 AS town FROM generate_series(1, 400000)")
        .expect("a table");
    let sql = "SELECT m.v, t.name FROM many m JOIN towns t ON m.town = t.id";
    let limited = format!("{sql} WHERE m.v > 5000 LIMIT 7 OFFSET 2");
    let all = rows(&connection, sql);
    each_way(&connection, |_| {
        let found = rows(&connection, &limited);
        assert_eq!(found.len(), 7);
        assert!(found.iter().all(|row| all.contains(row)), "{found:?}");
    });
    connection.execute("SET gingham.threads = 1").expect("a setting");
    let text = rows(&connection, &format!("EXPLAIN ANALYZE FORMAT indent {limited}")).join("\n");
    let given = counted(&text, "pipeline1_rows=").unwrap_or_else(|| panic!("{text}"));
    // A vector's worth, of 395,000.
    assert!((9.0..4100.0).contains(&given), "{text}");
    // What the second input would give is not looked at.
    let sql = "SELECT m.v, t.id FROM many m FULL JOIN towns t ON m.town = t.id LIMIT 3";
    assert!(plan(&connection, sql).contains("behind 1, first 3"), "{}", plan(&connection, sql));
    each_way(&connection, |_| assert_eq!(rows(&connection, sql).len(), 3));
    for (sql, expected) in [
        ("SELECT m.v FROM many m JOIN towns t ON m.v = t.id LIMIT 100", 60),
        ("SELECT m.v FROM many m JOIN towns t ON m.v = t.id LIMIT 100 OFFSET 58", 2),
        ("SELECT m.v FROM many m JOIN towns t ON m.v = t.id LIMIT 100 OFFSET 61", 0),
        ("SELECT v % 7 FROM many GROUP BY v % 7 LIMIT 5", 5),
    ] {
        assert_eq!(rows(&connection, sql).len(), expected, "{sql}");
    }
}

#[test]
fn orders_that_are_not_known_beforehand_are_left() {
    let connection = connect();
    shop(&connection);
    let plan_of = |sql: &str| plan(&connection, sql);
    let plan =
        plan_of("SELECT avg(p.id) AS a FROM people p JOIN towns t ON p.town = t.id GROUP BY t.id ORDER BY random()");
    assert!(plan.contains("SortExec") && plan.contains("CompiledExec"), "{plan}");
    // The first column is enough to leave out most rows.
    let plan = plan_of(
        "SELECT t.region, avg(p.id) AS a FROM people p JOIN towns t ON p.town = t.id GROUP BY t.id, t.region ORDER BY t.region, random() LIMIT 5",
    );
    assert!(plan.contains("SortExec: TopK") && plan.contains("first 5 or more"), "{plan}");
    // Rows of which only some come are not the first ones of all.
    let sql = "SELECT * FROM (SELECT p.id AS x, t.id FROM people p JOIN towns t ON p.town = t.id LIMIT 40) ORDER BY x LIMIT 2";
    let plan = plan_of(sql);
    assert!(plan.contains("SortExec") && plan.contains("first 40"), "{plan}");
    assert_eq!(rows(&connection, sql).len(), 2);
    // Joins below something that may stop early.
    let plan =
        plan_of("SELECT p.id, sum(t.id) OVER (ORDER BY p.id) FROM people p JOIN towns t ON p.town = t.id LIMIT 3");
    assert!(!plan.contains("first 3"), "{plan}");
}

/// What was replaced gives the same rows in the same order, on any number of threads.
#[test]
fn what_is_left_to_operators_is_in_order_too() {
    let connection = connect();
    shop(&connection);
    connection.execute("INSERT INTO towns VALUES (62, 'twice', 1), (63, 'twice', 2); OPTIMIZE towns").expect("towns");
    connection.execute("INSERT INTO people VALUES (9001, 'a', 62, NULL), (9002, 'b', 63, NULL)").expect("people");
    // Two groups are one, which is found at the end.
    let sql = "SELECT t.name, min(p.id) AS first, count(*) FROM people p JOIN towns t ON p.town = t.id GROUP BY t.name ORDER BY first DESC";
    for (limit, told) in [("", "first"), (" LIMIT 9", "first 9"), (" LIMIT 9 OFFSET 3", "first 9 behind 3")] {
        let sql = format!("{sql}{limit}");
        assert!(plan(&connection, &sql).contains(told), "{}", plan(&connection, &sql));
        let expected = by_datafusion(&connection, &sql);
        each_way(&connection, |_| {
            assert_eq!(rows(&connection, &sql), expected, "{sql}");
            let analyzed = rows(&connection, &format!("EXPLAIN ANALYZE FORMAT indent {sql}")).join("\n");
            assert!(analyzed.contains("left_to_datafusion=1"), "{analyzed}");
        });
    }
}
