//! Random statements under memory limits that bite, on one thread and on two, beside the same statement with memory enough: the
//! same rows, but for the last bits of sums of floats, or an error that names the limit.

use crate::generator::Generator;
use gingham::{Connection, Database};

/// Limits that the statements of this test run under, in megabytes.
const LIMITS: [usize; 7] = [2, 3, 4, 6, 8, 12, 16];

/// A table of many records, one that is about as large, a wide one that joins keep in memory, and a small one; all but the last
/// lie in segments.
fn tables(connection: &Connection) {
    let wide: String = (0..24).map(|number| format!(", value * {number} AS w{number}")).collect();
    let sql = format!(
        "CREATE TABLE a AS SELECT value AS id, value * 7919 % 30011 AS k, value * 31 % 57 AS g, nullif(value * 17 % 1009, 5) AS n,
            (value * 131 % 10007) / 8e0 AS f, CAST(value * 37 % 20011 AS DECIMAL(12,2)) / 4 AS d,
            'name ' || (value * 101 % 4001) AS s, DATE '2024-01-01' + CAST(value % 700 AS INTEGER) AS day
            FROM generate_series(1, 60000);
        CREATE TABLE b AS SELECT value AS id, value * 6007 % 30011 AS k, value * 13 % 61 AS g, nullif(value * 23 % 997, 7) AS n,
            (value * 71 % 9973) / 8e0 AS f, CAST(value * 41 % 20021 AS DECIMAL(12,2)) / 4 AS d,
            'name ' || (value * 211 % 5003) AS s, DATE '2024-02-01' + CAST(value % 500 AS INTEGER) AS day
            FROM generate_series(1, 40000);
        CREATE TABLE w AS SELECT value AS id, value * 5 % 3001 AS k, value % 19 AS g, nullif(value % 501, 3) AS n, value / 2e0 AS f,
            CAST(value AS DECIMAL(12,2)) AS d, 'name ' || value AS s, DATE '2024-03-01' AS day{wide}
            FROM generate_series(1, 9000);
        CREATE TABLE e AS SELECT value AS id, value * 3 % 101 AS k, value % 7 AS g, nullif(value, 9) AS n, value / 4e0 AS f,
            CAST(value AS DECIMAL(12,2)) AS d, 'name ' || value AS s, DATE '2024-03-01' AS day
            FROM generate_series(1, 120);
        OPTIMIZE a; OPTIMIZE b; OPTIMIZE w"
    );
    connection.execute(&sql).expect("tables");
}

/// A statement, and whether its rows have an order.
struct Statement {
    sql: String,
    ordered: bool,
}

fn statement(random: &mut Generator) -> Statement {
    let sql = match random.between(0, 10) {
        0..=2 => return finished(random, pairs),
        3..=4 => return finished(random, equal),
        5 => return finished(random, tested),
        6..=7 => grouped(random, "a"),
        8 => return windowed(random),
        9 => recursive(random),
        _ => sets(random),
    };
    Statement { sql, ordered: false }
}

/// A recursive query whose rounds are large, or whose rows are, and what two readers count of it.
fn recursive(random: &mut Generator) -> String {
    let (first, steps) = *random.pick(&[("e", 6), ("w", 3), ("a WHERE g < 30", 1)]);
    let (kind, all) = (*random.pick(&["JOIN", "JOIN", "LEFT JOIN"]), *random.pick(&["", " ALL"]));
    let second = *random.pick(&["a", "b"]);
    let rows = format!(
        "WITH RECURSIVE r (id, k, s, d) AS (SELECT id, k, s, 0 FROM {first} UNION{all} SELECT q.id, q.k, q.s, r.d + 1
            FROM r {kind} {second} q ON q.k = r.id * 3 % 30011 WHERE r.d < {steps})"
    );
    match random.between(0, 2) {
        0 => format!("{rows} SELECT d, count(*), count(id), sum(k), max(s) FROM r GROUP BY d"),
        1 => format!("{rows} SELECT x.d, count(*) FROM r x JOIN r y ON x.id = y.id AND x.d = y.d + 1 GROUP BY x.d"),
        _ => format!("{rows} SELECT id, s, d FROM r WHERE id % 5 = 1"),
    }
}

/// A join as it is, sorted, grouped, or only counted.
fn finished(random: &mut Generator, join: fn(&mut Generator) -> (String, &'static str)) -> Statement {
    let (from, columns) = join(random);
    let inner = format!("SELECT {columns} FROM {from}");
    let sql = match random.between(0, 4) {
        0 => inner,
        1 => {
            let limit = if random.chance(50) { "" } else { " LIMIT 900 OFFSET 70" };
            let by = *random.pick(&["1 DESC, 2, 3, 4", "4, 3 DESC, 1, 2", "2 NULLS FIRST, 1, 4, 3"]);
            return Statement { sql: format!("{inner} ORDER BY {by}{limit}"), ordered: true };
        }
        2 => format!("SELECT c2, count(*), min(c4), max(c1), sum(c3) FROM ({inner}) AS q(c1, c2, c3, c4) GROUP BY c2"),
        3 => format!("SELECT count(*), count(c1), count(DISTINCT c4), sum(c3) FROM ({inner}) AS q(c1, c2, c3, c4)"),
        _ => {
            let most = "row_number() OVER (PARTITION BY c2 ORDER BY c1, c3, c4)";
            format!(
                "SELECT * FROM (SELECT c2, c1, c4, {most} AS r FROM ({inner}) AS q(c1, c2, c3, c4)) AS p WHERE r < 4"
            )
        }
    };
    Statement { sql, ordered: false }
}

const KINDS: [&str; 5] = ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT JOIN"];

/// A join that looks at all pairs, one side of which is wide, as a rule.
fn pairs(random: &mut Generator) -> (String, &'static str) {
    let conditions = [
        "l.id + r.id < 40",
        "l.id < r.id - 8900",
        "l.k > r.k + 2990",
        "l.f < r.f AND l.id + 3 > r.id * 60",
        "l.s < r.s AND l.n = 4 AND r.g = 3",
        "l.id IS DISTINCT FROM r.id + 5 AND l.id < 4",
    ];
    let condition = *random.pick(&conditions);
    let kind = *random.pick(&KINDS);
    let all = "SELECT *, w0 + w1 + w2 + w3 + w4 + w5 + w6 + w7 + w8 + w9 + w10 + w11 + w12 + w13 + w14 + w15 + w16 + w17 + w18 + w19 + w20 + w21 + w22 + w23 AS t FROM w";
    let (left, right, columns) = match random.between(0, 3) {
        0 => (format!("({all})"), "e".to_owned(), "l.id, r.g, l.t, r.s"),
        1 => ("e".to_owned(), format!("({all})"), "l.id, r.g, r.t, l.s"),
        2 => (format!("({all})"), "(SELECT * FROM w WHERE id % 40 = 1)".to_owned(), "l.id, r.g, l.t, r.s"),
        _ => ("(SELECT * FROM w WHERE id % 50 = 1)".to_owned(), format!("({all})"), "l.id, r.g, r.t, l.s"),
    };
    (format!("{left} AS l {kind} {right} AS r ON {condition}"), columns)
}

/// A join by equal values, with or without another condition.
fn equal(random: &mut Generator) -> (String, &'static str) {
    let kind = *random.pick(&KINDS);
    let (left, right) = *random.pick(&[("a", "b"), ("b", "a"), ("a", "w"), ("w", "b"), ("a", "e")]);
    let on = *random.pick(&[
        "l.k = r.k",
        "l.s = r.s AND l.g = r.g",
        "l.id = r.id",
        "l.k = r.k AND l.n < r.n",
        "l.day = r.day AND l.k = r.k",
    ]);
    let filter = *random.pick(&["", "", " WHERE l.g < 30", " WHERE coalesce(r.g, 1) < 40"]);
    (format!("{left} AS l {kind} {right} AS r ON {on}{filter}"), "l.id, r.g, l.n, r.s")
}

/// A test of rows by those of another table: semi, anti and mark joins.
fn tested(random: &mut Generator) -> (String, &'static str) {
    let not = if random.chance(50) { "NOT " } else { "" };
    let exists = |table: &str, condition: &str| format!("{not}EXISTS (SELECT 1 FROM {table} AS r WHERE {condition})");
    let test = match random.between(0, 5) {
        0 => exists("b", "l.k = r.k"),
        1 => exists("b", "l.k = r.k AND l.n < r.n"),
        2 => exists("w", "l.id + r.id < 60 AND r.w0 + r.w1 + r.w2 + r.w3 + r.w4 + r.w5 + r.w6 + r.w7 >= 0"),
        3 => format!("l.k {not}IN (SELECT k FROM b WHERE k IS NOT NULL)"),
        4 => format!("{} OR l.g = 3", exists("b", "l.k = r.k")),
        _ => format!("{} OR l.g = 3", exists("e", "l.id < r.id - 40")),
    };
    let table = if test.contains(" w ") || test.contains(" e ") { "w" } else { "a" };
    (format!("{table} AS l WHERE {test}"), "l.id, l.g, l.n, l.s")
}

/// Groups of a table.
fn grouped(random: &mut Generator, table: &str) -> String {
    let calls = [
        "count(*)",
        "sum(n)",
        "sum(f)",
        "avg(d)",
        "min(s)",
        "max(day)",
        "count(DISTINCT s)",
        "count(DISTINCT n) FILTER (WHERE g < 20)",
        "string_agg(s, ',' ORDER BY id)",
        "array_agg(n ORDER BY id DESC)",
        "median(n)",
        "median(d)",
        "percentile_cont(0.3) WITHIN GROUP (ORDER BY f)",
        "percentile_disc(0.7) WITHIN GROUP (ORDER BY s DESC)",
        "stddev(n)",
        "corr(n, f)",
        "first_value(s ORDER BY id)",
        "bit_xor(n)",
        "bool_or(n > 5)",
    ];
    let keys = *random.pick(&["k", "id", "s", "g, s", "id % 20000", "day, g", "ROLLUP (g, n)", "g", "k, day"]);
    let shown = keys.trim_start_matches("ROLLUP (").trim_end_matches(')');
    let mut own: Vec<&str> = (0..random.between(1, 4)).map(|_| *random.pick(&calls)).collect();
    own.sort_unstable();
    own.dedup();
    let having = if random.chance(20) { " HAVING count(*) > 1" } else { "" };
    format!("SELECT {shown}, {} FROM {table} GROUP BY {keys}{having}", own.join(", "))
}

/// Windows of a table, and sorts.
fn windowed(random: &mut Generator) -> Statement {
    let calls = [
        "row_number() OVER (PARTITION BY g ORDER BY d, id)",
        "rank() OVER (ORDER BY s)",
        "sum(n) OVER (PARTITION BY s ORDER BY id)",
        "sum(f) OVER (PARTITION BY g ORDER BY id ROWS BETWEEN 5 PRECEDING AND CURRENT ROW)",
        "lag(s, 3) OVER (PARTITION BY g ORDER BY id)",
        "max(s) OVER (PARTITION BY k)",
        "count(*) OVER (PARTITION BY day ORDER BY id RANGE BETWEEN 100 PRECEDING AND 100 FOLLOWING)",
        "first_value(n) OVER (PARTITION BY day ORDER BY s, id)",
    ];
    let table = *random.pick(&["a", "b"]);
    let (first, second) = (*random.pick(&calls), *random.pick(&calls));
    let sql = format!("SELECT id, s, {first} AS x, {second} AS y FROM {table}");
    match random.between(0, 2) {
        0 => Statement { sql, ordered: false },
        1 => Statement { sql: format!("SELECT id, s, day, f FROM {table} ORDER BY s DESC, f, id"), ordered: true },
        _ => Statement {
            sql: format!("SELECT count(*), sum(id), count(DISTINCT x), min(y) FROM ({sql}) AS q"),
            ordered: false,
        },
    }
}

/// Rows of two queries as one.
fn sets(random: &mut Generator) -> String {
    let operator = *random.pick(&["UNION", "EXCEPT", "INTERSECT", "UNION ALL", "EXCEPT ALL", "INTERSECT ALL"]);
    let columns = *random.pick(&["k, s", "n, day", "s", "g, k"]);
    format!("SELECT {columns} FROM a {operator} SELECT {columns} FROM b")
}

/// Whether two rows are the same but for the last bits of floats.
fn alike(a: &str, b: &str) -> bool {
    let close = |(a, b): (&str, &str)| {
        let floats = (a.parse::<f64>(), b.parse::<f64>());
        a == b || matches!(floats, (Ok(a), Ok(b)) if (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1e-3))
    };
    a == b || a.split('|').count() == b.split('|').count() && a.split('|').zip(b.split('|')).all(close)
}

/// Which rows differ, if any do.
fn difference(given: &[String], expected: &[String]) -> Option<String> {
    if given.len() != expected.len() {
        return Some(format!("{} rows where {} are right", given.len(), expected.len()));
    }
    let differing = given.iter().zip(expected).find(|(given, expected)| !alike(given, expected))?;
    Some(format!("the row {} where {} is right", differing.0, differing.1))
}

fn rows_of(connection: &Connection, statement: &Statement) -> gingham::Result<Vec<String>> {
    let mut rows = crate::rows::rows(connection, &statement.sql)?;
    if !statement.ordered {
        rows.sort_unstable();
    }
    Ok(rows)
}

#[test]
fn random_statements_give_their_rows_or_name_the_limit() {
    let connection = Database::in_memory().expect("a database").connect();
    tables(&connection);
    let nightly = std::env::var_os("GINGHAM_NIGHTLY").is_some();
    let number = if nightly { 1500 } else { 24 };
    let (mut answered, mut refused) = (0, 0);
    for seed in 0..number {
        let mut random = Generator::new(seed);
        let statement = statement(&mut random);
        let execution = *random.pick(&["auto", "auto", "datafusion", "staged"]);
        let settings =
            format!("SET gingham.memory_limit = '1GB'; SET gingham.threads = 2; SET gingham.execution = '{execution}'");
        connection.execute(&settings).expect("settings");
        let expected = rows_of(&connection, &statement).unwrap_or_else(|error| panic!("{}: {error}", statement.sql));
        for threads in [1, 2] {
            let limit = *random.pick(&LIMITS);
            let settings = format!("SET gingham.memory_limit = '{limit}MB'; SET gingham.threads = {threads}");
            connection.execute(&settings).expect("settings");
            let how = format!("seed {seed}, {execution}, {threads} threads, {limit} MB: {}", statement.sql);
            match rows_of(&connection, &statement) {
                Ok(given) => {
                    answered += 1;
                    if let Some(what) = difference(&given, &expected) {
                        panic!("{what}: {how}");
                    }
                }
                Err(error) => {
                    refused += 1;
                    assert_eq!(error.sqlstate(), "53200", "{error}: {how}");
                    assert!(error.to_string().contains("memory_limit"), "{error}: {how}");
                }
            }
        }
    }
    assert!(
        answered > 0 && refused > 0,
        "{answered} answered, {refused} refused: the limits don't bite, or nothing works"
    );
}

/// A join of all pairs, one side of which is kept and has many columns, under limits from where it is refused to where it is not: in
/// files it would have gone on.
#[test]
fn a_join_of_all_pairs_has_its_rows_once_or_names_the_limit() {
    let connection = Database::in_memory().expect("a database").connect();
    let tables = "CREATE TABLE w AS SELECT value AS x, repeat('wide', 500) || value AS t FROM generate_series(1, 3000);
        CREATE TABLE c AS SELECT value AS y FROM generate_series(1, 3100)";
    connection.execute(tables).expect("tables");
    for (kind, right) in [("LEFT JOIN", 3000), ("RIGHT JOIN", 3100), ("FULL JOIN", 6099)] {
        let sql = format!("SELECT w.x, c.y, w.t FROM w {kind} c ON w.x + c.y < 3");
        let (mut answered, mut refused) = (0, 0);
        for (execution, threads) in [("auto", 2), ("datafusion", 1), ("datafusion", 2)] {
            for limit in [2, 4, 64] {
                let settings = format!(
                    "SET gingham.execution = '{execution}'; SET gingham.threads = {threads}; SET gingham.memory_limit = '{limit}MB'"
                );
                connection.execute(&settings).expect("settings");
                match crate::rows::rows(&connection, &sql) {
                    Ok(rows) => {
                        answered += 1;
                        assert_eq!(rows.len(), right, "{kind}: {execution}, {threads} threads, {limit} MB");
                    }
                    Err(error) => {
                        assert_eq!(error.sqlstate(), "53200", "{error}");
                        let advice =
                            "SET gingham.memory_limit to more, or join by an equality: all of one side is kept";
                        refused += usize::from(error.to_string().contains(advice));
                    }
                }
            }
        }
        assert!(answered >= 3 && refused > 0, "{kind}: {answered} answered, {refused} refused");
    }
}
