//! Expressions over one column in compiled pipelines: DataFusion evaluates them once for each value that the column can
//! have. Each answer is held against that of DataFusion's operators, which evaluate them for each record.

use crate::{connect, failure, rows};
use gingham::Connection;

/// Strings of two dictionary versions, days of three years, numbers that are NULL at times.
fn orders(connection: &Connection) {
    connection
        .execute(
            "CREATE TABLE o (id BIGINT, priority VARCHAR, day DATE, number SMALLINT, price DECIMAL(9,2), nothing VARCHAR,
                 one VARCHAR, at TIMESTAMP(6)) WITH (encoding = 'nothing dictionary');
             INSERT INTO o SELECT value, CASE value % 4 WHEN 0 THEN '1-URGENT' WHEN 1 THEN '2-HIGH' WHEN 2 THEN '5-low' END,
                 DATE '1992-01-30' + CAST(value % 1000 AS INTEGER), nullif(value % 9, 3), value % 500 * 0.25, NULL, 'only',
                 TIMESTAMP '2020-02-29 23:59:59' FROM generate_series(1, 20000);
             INSERT INTO o SELECT value, CASE value % 3 WHEN 0 THEN '0-first' WHEN 1 THEN '2-HIGH' ELSE 'z%_' END,
                 DATE '1993-05-05', value % 3, 7, NULL, 'only', NULL FROM generate_series(20001, 40000)",
        )
        .expect("a table");
}

/// The answer, the same in every mode, of pipelines.
fn answer(connection: &Connection, sql: &str) -> Vec<String> {
    let set = |execution: &str| {
        connection.execute(&format!("SET gingham.execution = '{execution}'")).expect("a setting");
    };
    set("datafusion");
    let expected = rows(connection, sql);
    for execution in ["fused", "staged", "vectorized", "interpreted", "auto"] {
        set(execution);
        let plan = rows(connection, &format!("EXPLAIN FORMAT indent {sql}")).join("\n");
        assert!(plan.contains("CompiledExec"), "{sql}: {plan}");
        assert_eq!(rows(connection, sql), expected, "{execution}: {sql}");
    }
    expected
}

#[test]
fn any_function_of_one_column_is_compiled() {
    let connection = connect();
    orders(&connection);
    for key in [
        "extract(year FROM day)",
        "priority LIKE '_-%'",
        "priority NOT LIKE '%H%'",
        "priority ILIKE '%hi%'",
        "substring(priority FROM 1 FOR 1)",
        "upper(priority)",
        "priority || '!'",
        "priority < lower(priority)",
        "CASE priority WHEN '1-URGENT' THEN 'high' WHEN '2-HIGH' THEN 'high' ELSE 'low' END",
        "CASE WHEN number > 4 THEN 'many' WHEN number IS NOT NULL THEN 'few' END",
        "coalesce(priority, 'none')",
        "coalesce(nullif(number, 4), -1) / 3",
        "number / 2",
        "number % 4 = 1",
        "price / 100",
        "date_trunc('month', day)",
        "day - INTERVAL '1' MONTH",
        "to_char(day, '%b')",
        "at + INTERVAL '1' DAY",
        "priority IN ('1-URGENT', '2-HIGH', NULL)",
        "number IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17)",
        "nothing || 'x'",
        "coalesce(nothing, 'x')",
        "upper(one)",
        "regexp_replace(priority, '[0-9]', '#')",
    ] {
        let sql = format!("SELECT {key}, count(*), sum(id) FROM o GROUP BY 1 ORDER BY 1");
        assert!(answer(&connection, &sql).len() < 1001, "{key}");
        answer(&connection, &format!("SELECT min({key}), max({key}), count({key}), count(*) FROM o WHERE id > 17"));
    }
}

#[test]
fn they_are_parts_of_larger_expressions_and_conditions() {
    let connection = connect();
    orders(&connection);
    let shares = "SELECT sum(CASE WHEN priority LIKE '2%' THEN price * (1 - price) ELSE 0 END), sum(price * length(priority)),
         avg(CASE WHEN upper(priority) = '5-LOW' THEN number ELSE 0 END), sum(price) FILTER (WHERE extract(month FROM day) = 5)
         FROM o WHERE extract(year FROM day) * 2 + number > 3984";
    assert!(!answer(&connection, shares)[0].contains("||"));
    // Over computed columns.
    let nested =
        "SELECT initial || year AS both, count(*), min(initial) FROM (SELECT substr(priority, 1, 1) AS initial,
         CAST(extract(year FROM day) AS VARCHAR) AS year, upper(priority) AS loud, number + 3 AS more FROM o)
         WHERE loud <> 'Z%_' AND more % 2 = 0 AND loud LIKE '%-%' GROUP BY initial, year ORDER BY 1";
    assert_eq!(answer(&connection, nested).len(), 9);
    let deep =
        "SELECT reverse(loud), more / 2, count(*) FROM (SELECT upper(priority) AS loud, number * 2 + 3 AS more FROM o)
         GROUP BY 1, 2 ORDER BY 1, 2";
    assert_eq!(answer(&connection, deep).len(), 38);
}

#[test]
fn empty_tables_and_those_of_few_records() {
    let connection = connect();
    // Strings of few records have a dictionary once they are merged.
    connection
        .execute("CREATE TABLE e (s VARCHAR, d DATE, i INTEGER) WITH (encoding = 's dictionary')")
        .expect("a table");
    let sql = "SELECT count(upper(s)), min(s || 'x'), max(extract(year FROM d)), sum(i / 2) FROM e";
    assert_eq!(answer(&connection, sql), ["0|||"]);
    assert!(answer(&connection, "SELECT upper(s), count(*) FROM e GROUP BY 1").is_empty());
    let insert = |rows: &str| {
        connection.execute(&format!("INSERT INTO e VALUES {rows}; OPTIMIZE e")).expect("rows");
    };
    insert("('b', '2000-01-01', 1), ('a', '2000-01-02', 7), (NULL, NULL, NULL)");
    assert_eq!(answer(&connection, sql), ["2|ax|2000|3"]);
    // Evaluating an expression for each day of three years would cost more than three records do.
    insert("('b', '2003-01-01', 1)");
    let plan = rows(&connection, "EXPLAIN FORMAT indent SELECT max(extract(year FROM d)) FROM e").join("\n");
    assert!(plan.contains("scan 0, evaluate 1, aggregate"), "{plan}");
}

#[test]
fn what_gives_floats_or_much_text_is_evaluated_as_records_come_and_what_fails_for_a_value_fails() {
    let connection = connect();
    orders(&connection);
    for sql in [
        "SELECT sum(sqrt(number)) FROM o",
        "SELECT priority || number, count(*) FROM o GROUP BY 1",
        "SELECT repeat(priority, 300000), count(*) FROM o GROUP BY 1",
    ] {
        let plan = rows(&connection, &format!("EXPLAIN FORMAT indent {sql}")).join("\n");
        assert!(plan.contains("scan 0, evaluate 1"), "{sql}: {plan}");
    }
    let plan = rows(&connection, "EXPLAIN FORMAT indent SELECT count(*), random() < 2 FROM o GROUP BY 2").join("\n");
    assert!(!plan.contains("CompiledExec"), "{plan}");
    assert_eq!(rows(&connection, "SELECT sum(100 / number) FROM o WHERE number > 0"), ["1526764"]);
    assert!(failure(&connection, "SELECT sum(100 / number) FROM o").to_string().contains("by zero"));
    assert_eq!(answer(&connection, "SELECT sum(CASE WHEN number = 0 THEN 0 ELSE 100 / number END) FROM o").len(), 1);
}

#[test]
fn a_delta_widens_what_a_column_can_have() {
    let connection = connect();
    orders(&connection);
    connection
        .execute(
            "INSERT INTO o (id, day, number) VALUES (1, '1996-02-29', -300), (2, NULL, NULL), (3, '1990-12-31', 8)",
        )
        .expect("rows");
    let sql = "SELECT extract(year FROM day + INTERVAL '1' DAY), count(*), min(number / 3), max(number % 5) FROM o GROUP BY 1 ORDER BY 1";
    assert_eq!(
        answer(&connection, sql),
        ["1991|1|2|3", "1992|6720|0|4", "1993|27300|0|4", "1994|5980|0|4", "1996|1|-100|0", "|1||"]
    );
}

#[test]
fn entries_that_come_later_are_seen() {
    let connection = connect();
    orders(&connection);
    let sql = "SELECT lower(priority), count(*) FROM o WHERE priority LIKE '%-%' GROUP BY 1 ORDER BY 1";
    assert_eq!(answer(&connection, sql), ["0-first|6667", "1-urgent|5000", "2-high|11667", "5-low|5000"]);
    connection.execute("INSERT INTO o (id, priority) VALUES (1, '00-NEW'), (2, '5-Low'); OPTIMIZE o").expect("rows");
    assert_eq!(answer(&connection, sql), ["0-first|6667", "00-new|1", "1-urgent|5000", "2-high|11667", "5-low|5001"]);
}
