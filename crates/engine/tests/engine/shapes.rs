//! The shapes of queries that are promised to be pipelines, each whole: EXPLAIN shows nothing of DataFusion's beside
//! projections above and scalar subqueries. And what may be left.

use crate::compiled_joins::{agree, plan, shop};
use crate::{connect, rows};

/// What is promised, and queries of it.
const SHAPES: [(&str, &[&str]); 28] = [
    (
        "scan, filter, projection",
        &[
            "SELECT id * 2, name FROM people WHERE id % 100 > town",
            "SELECT item, amount FROM bought WHERE amount > person AND item LIKE '%a%'",
        ],
    ),
    ("inner join", &["SELECT p.id, t.region FROM people p JOIN towns t ON p.town = t.id"]),
    ("left join", &["SELECT p.id, t.region FROM people p LEFT JOIN towns t ON p.town = t.id AND t.region = 2"]),
    ("right join", &["SELECT p.id, t.region FROM people p RIGHT JOIN towns t ON p.town = t.id"]),
    ("full join", &["SELECT p.id, t.region FROM people p FULL JOIN towns t ON p.town = t.id"]),
    ("semi join", &["SELECT id FROM people p WHERE EXISTS (SELECT 1 FROM bought b WHERE b.person = p.id AND b.amount > 2000)"]),
    ("anti join", &["SELECT id FROM people p WHERE NOT EXISTS (SELECT 1 FROM bought b WHERE b.person = p.id)"]),
    ("mark join", &["SELECT count(*) FROM people p WHERE p.town = 7 OR EXISTS (SELECT 1 FROM bought b WHERE b.person = p.id)"]),
    ("residual condition", &["SELECT count(*) FROM people p JOIN bought b ON b.person = p.id AND b.amount > p.town"]),
    ("null-aware anti join", &["SELECT count(*) FROM people WHERE town NOT IN (SELECT region FROM towns)"]),
    ("cross join", &["SELECT t.id, u.region FROM towns t CROSS JOIN towns u"]),
    ("nested loops", &["SELECT count(*) FROM towns t JOIN towns u ON t.id + u.id = 60 OR t.region <> u.region"]),
    ("inequalities", &["SELECT count(*) FROM people p JOIN towns t ON p.id < t.id"]),
    ("group join", &["SELECT p.id, count(b.amount), sum(b.amount) FROM people p LEFT JOIN bought b ON b.person = p.id GROUP BY p.id"]),
    (
        "scalar subquery",
        &["SELECT person, sum(amount) AS s FROM bought GROUP BY person HAVING sum(amount) > (SELECT avg(amount) * 9 FROM bought)",
          "SELECT item, day FROM bought WHERE amount > (SELECT avg(amount) FROM bought)"],
    ),
    (
        "sums and counts",
        &[
            "SELECT town, sum(id), count(*), count(town), min(born), max(born), avg(id) FROM people GROUP BY town",
            "SELECT sum(amount), avg(amount), min(item), max(item), sum(CAST(amount AS DOUBLE)) FROM bought",
        ],
    ),
    (
        "different values",
        &["SELECT town, count(DISTINCT born), count(DISTINCT id % 7), sum(DISTINCT id % 5), avg(DISTINCT id % 3), max(id) FROM people GROUP BY town"],
    ),
    (
        "spreads",
        &["SELECT item, round(stddev(amount), 6), round(stddev_pop(person), 6), round(var_samp(amount), 4), round(var_pop(person), 4) FROM bought GROUP BY item"],
    ),
    (
        "truths and bits",
        &["SELECT item, bool_and(amount > 3), bool_or(person = 7), bit_and(person), bit_or(person), bit_xor(person) FROM bought GROUP BY item"],
    ),
    (
        "filters of aggregates",
        &[
            "SELECT person % 9, sum(amount) FILTER (WHERE item = 'tea'), count(*) FILTER (WHERE amount > person),
                 count(DISTINCT day) FILTER (WHERE item <> 'jam'), bool_or(day > DATE '2021-01-01') FILTER (WHERE item LIKE 's%') FROM bought GROUP BY 1",
        ],
    ),
    ("DISTINCT", &["SELECT DISTINCT town, born > DATE '1980-01-01' FROM people", "SELECT DISTINCT item FROM bought"]),
    ("sort", &["SELECT * FROM people ORDER BY born, id", "SELECT town, count(*) FROM people GROUP BY town ORDER BY 2, 1"]),
    ("first rows", &["SELECT id, name FROM people ORDER BY town DESC NULLS LAST, id LIMIT 9 OFFSET 3"]),
    ("limit", &["SELECT count(*) FROM (SELECT DISTINCT town FROM people) LIMIT 1", "SELECT town FROM people GROUP BY town ORDER BY town LIMIT 4"]),
    (
        "union all",
        &[
            "SELECT k, count(*) FROM (SELECT town AS k FROM people UNION ALL SELECT region FROM towns) GROUP BY k",
            "SELECT id FROM people WHERE town = 3 UNION ALL SELECT id FROM towns ORDER BY id",
        ],
    ),
    (
        "arithmetic",
        &[
            "SELECT sum(id * 3 - town), sum(-id), count(*) FROM people WHERE id % 7 + 2 > town / 4",
            "SELECT sum(amount * (1 - amount)), sum(CAST(amount AS DOUBLE) / 2e0 + 1e0), count(*) FROM bought WHERE amount * 2 > person",
            "SELECT count(*), max(id) FROM people WHERE born + INTERVAL '1' MONTH > DATE '1990-01-31' AND born - 7 < DATE '1999-12-31'",
        ],
    ),
    (
        "logic",
        &[
            "SELECT count(*), max(person) FROM bought WHERE NOT (item = 'tea' OR person > 100) OR item IS NULL",
            "SELECT CASE WHEN amount > 100 THEN 1 WHEN item = 'jam' THEN 2 ELSE 3 END, count(*) FROM bought GROUP BY 1",
            "SELECT coalesce(person, -1), count(*) FROM bought WHERE person IN (1, 2, 3) OR amount BETWEEN 5 AND 6 OR person IS NULL GROUP BY 1",
        ],
    ),
    (
        "dates and strings",
        &[
            "SELECT extract(year FROM day), substring(item, 1, 2), count(*) FROM bought GROUP BY 1, 2",
            "SELECT count(*), min(day) FROM bought WHERE item LIKE '%a%' AND item NOT LIKE 't%' AND item = 'salt'",
            "SELECT count(*), max(id) FROM people WHERE name LIKE '%77%' AND name NOT LIKE '%9' AND name <> 'person 7'",
            "SELECT CAST(amount AS INTEGER), count(*) FROM bought GROUP BY 1",
        ],
    ),
];

/// Operators of a plan that are neither pipelines nor scans, nor projections above these.
fn left(plan: &str) -> Vec<String> {
    let (_, physical) = plan.split_once("physical_plan|").unwrap_or_else(|| panic!("{plan}"));
    let lines = physical.lines().take_while(|line| !line.trim().is_empty() && !line.starts_with("left_to_datafusion"));
    let operators = lines.map(|line| line.trim_start().split([':', ' ', ',']).next().unwrap_or_default().to_owned());
    let known = ["CompiledExec", "ScanExec", "ProjectionExec", "ScalarSubqueryExec"];
    operators.filter(|operator| !known.contains(&operator.as_str())).collect()
}

#[test]
fn promised_shapes_are_pipelines_whole() {
    let connection = connect();
    shop(&connection);
    for (shape, queries) in SHAPES {
        // With more threads DataFusion may hand the one row of a subquery to several.
        connection.execute("SET gingham.threads = 1").expect("a setting");
        for sql in queries {
            let plan = plan(&connection, sql);
            assert!(plan.contains("CompiledExec"), "{shape}: {sql}: {plan}");
            assert_eq!(left(&plan), [""; 0], "{shape}: {sql}: {plan}");
            assert!(agree(&connection, sql) > 0, "{shape}: {sql}");
        }
    }
}

/// Window functions, and grouping sets of what groups of groups do not give, are DataFusion's, over batches of pipelines.
#[test]
fn what_is_left_stands_on_pipelines() {
    let connection = connect();
    shop(&connection);
    for (sql, operator) in [
        (
            "SELECT town, n, rank() OVER (ORDER BY n DESC, town) FROM (SELECT town, count(*) AS n FROM people GROUP BY town)",
            "WindowAggExec",
        ),
        (
            "SELECT town, count(DISTINCT s) FROM (SELECT p.town, b.item, b.amount AS s FROM people p JOIN bought b ON b.person = p.id) GROUP BY ROLLUP (town)",
            "AggregateExec",
        ),
    ] {
        let plan = plan(&connection, sql);
        assert!(plan.contains(operator) && plan.contains("CompiledExec"), "{sql}: {plan}");
        assert!(agree(&connection, sql) > 0, "{sql}");
    }
    // Where all that is asked of records is their number, the scan counts them.
    let plan = plan(&connection, "SELECT count(*) FROM bought WHERE amount > 5");
    assert!(plan.contains("CountExec"), "{plan}");
    assert_eq!(rows(&connection, "SELECT count(*) FROM bought WHERE amount < 0"), ["0"]);
}
