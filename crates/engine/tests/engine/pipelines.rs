//! Compiled pipelines: what they take, and what happens where they can't go on.

use crate::{by_datafusion, connect, each_way, failure, rows};
use gingham::{Connection, Database, DatabaseOptions, Error};

fn explain(connection: &Connection, sql: &str) -> String {
    rows(connection, &format!("EXPLAIN FORMAT indent {sql}")).join("\n")
}

/// 300,000 records: enough for generated code.
fn numbers(connection: &Connection) {
    connection
        .execute(
            "CREATE TABLE n AS SELECT value AS v, CAST(value % 7 AS SMALLINT) AS k, value % 1000 * 4000000000 AS wide,
                 CAST(value % 100 AS DECIMAL(9,2)) AS d, CASE WHEN value % 3 = 0 THEN 'a' WHEN value % 3 = 1 THEN 'b' END AS s
                 FROM generate_series(1, 300000)",
        )
        .expect("a table");
}

#[test]
fn aggregations_over_a_table_are_taken_and_no_others() {
    let connection = connect();
    numbers(&connection);
    for sql in [
        "SELECT s, sum(d), avg(d), count(*) FROM n WHERE v > 5 GROUP BY s ORDER BY s",
        "SELECT DISTINCT k, s FROM n",
        "SELECT v, count(*) FROM n GROUP BY v HAVING count(*) > 1",
        "SELECT sum(v) FILTER (WHERE k = 3), min(s), max(s), avg(k) FROM n",
        "SELECT sum(total) FROM (SELECT k, sum(v) AS total FROM n GROUP BY k)",
        "SELECT sum(CAST(v AS DOUBLE)) FROM n",
        "SELECT count(DISTINCT k) FILTER (WHERE v > 3), count(DISTINCT s), sum(v) FROM n",
        "SELECT v / 7, count(*) FROM n GROUP BY v / 7",
        "SELECT sum(DISTINCT sqrt(v)), avg(DISTINCT wide), count(DISTINCT -wide), count(*) FROM n",
        "SELECT corr(v, k), min(CAST(v AS VARCHAR)), var(sqrt(v)) FROM n",
        "SELECT sum(DISTINCT k), avg(DISTINCT k), avg(DISTINCT d), count(*) FROM n",
    ] {
        assert!(explain(&connection, sql).contains("CompiledExec"), "{sql}");
    }
    for sql in ["SELECT k, median(v) FROM n GROUP BY ROLLUP (k)", "SELECT sum(v) FROM (SELECT v FROM n LIMIT 10)"] {
        let plan = explain(&connection, sql);
        assert!(!plan.contains("CompiledExec"), "{sql}: {plan}");
    }
    connection.execute("SET gingham.execution = 'datafusion'").expect("a setting");
    assert!(!explain(&connection, "SELECT s, sum(d) FROM n GROUP BY s").contains("CompiledExec"));
}

#[test]
fn explain_tells_what_is_left_and_why() {
    let connection = connect();
    numbers(&connection);
    let left = |sql: &str| {
        let plan = rows(&connection, sql);
        let left = plan.into_iter().find(|row| row.starts_with("left_to_datafusion|"));
        left.unwrap_or_default()
    };
    for (sql, why) in [
        ("SELECT median(v) FROM n", "pipelines do not compute median(n.v)"),
        ("SELECT sum(v * random()) FROM n", "pipelines do not compute sum(n.v * random())"),
        ("SELECT k, avg(sqrt(v)) FROM n GROUP BY ROLLUP (k)", "grouping sets"),
        ("SELECT sum(v) FROM (SELECT v FROM n LIMIT 10)", "pipelines have no GlobalLimitExec"),
    ] {
        let found = left(&format!("EXPLAIN FORMAT indent {sql}"));
        assert!(found.contains("AggregateExec") && found.contains(why), "{sql}: {found}");
    }
    // The reason stands at the operator that it is about, once.
    let found = left("EXPLAIN FORMAT indent SELECT sum(r) FROM (SELECT row_number() OVER (ORDER BY v) AS r FROM n)");
    assert!(found.starts_with("left_to_datafusion|BoundedWindowAggExec: "), "{found}");
    assert!(
        found.ends_with("pipelines have no BoundedWindowAggExec") && !found.contains("AggregateExec: mode"),
        "{found}"
    );
    assert!(left("EXPLAIN ANALYZE FORMAT indent SELECT median(v) FROM n").contains("median"));
    assert_eq!(left("EXPLAIN FORMAT indent SELECT sum(v) FROM n"), "");
}

#[test]
fn explain_analyze_tells_what_was_compiled() {
    let connection = connect();
    numbers(&connection);
    let analyzed = |execution: &str| {
        connection.execute(&format!("SET gingham.execution = '{execution}'")).expect("a setting");
        rows(&connection, "EXPLAIN ANALYZE FORMAT indent SELECT k, sum(v) FROM n GROUP BY k").join("\n")
    };
    for execution in ["auto", "fused", "staged", "vectorized"] {
        let text = analyzed(execution);
        // A boundary before the update is one loop more.
        let loops = if execution == "vectorized" { 2 } else { 1 };
        let ran = if execution == "auto" { "staged" } else { execution };
        assert!(text.contains("records=300.0 K") && text.contains(&format!("loops={loops},")), "{text}");
        assert!(text.contains(&format!("pipeline0_{ran}_stages={loops}")), "{text}");
        assert!(
            text.contains("code_bytes=") && !text.contains("code_bytes=0") && text.contains("compile_time="),
            "{text}"
        );
    }
    let text = analyzed("interpreted");
    assert!(text.contains("records=300.0 K") && text.contains("loops=0"), "{text}");
    assert!(text.contains("pipeline0_interpreted_stages=1"), "{text}");
    connection
        .execute("SET gingham.execution = 'auto'; CREATE TABLE few AS SELECT * FROM n WHERE v < 100")
        .expect("a table");
    let text = rows(&connection, "EXPLAIN ANALYZE FORMAT indent SELECT k, sum(v) FROM few GROUP BY k").join("\n");
    assert!(text.contains("loops=0"), "99 records are interpreted: {text}");
}

#[test]
fn pipelines_are_cut_as_the_mode_says() {
    let database = Database::in_memory().expect("a scratch database opens");
    gingham::lab::register(&database);
    let connection = database.connect();
    numbers(&connection);
    connection.execute("CREATE TABLE b AS SELECT v * 3 AS v, k FROM n WHERE v < 1000; OPTIMIZE b").expect("a table");
    let analyzed = |execution: &str, sql: &str| {
        connection.execute(&format!("SET gingham.execution = '{execution}'")).expect("a setting");
        rows(&connection, &format!("EXPLAIN ANALYZE FORMAT indent {sql}")).join("\n")
    };
    let sql = "SELECT n.s, count(*), sum(b.k) FROM n JOIN b ON n.v = b.v WHERE n.k > 2 AND n.d < 50 AND n.k + b.k < 9 GROUP BY n.s";
    for (execution, stages) in [("fused", 1), ("staged", 3), ("vectorized", 4)] {
        let text = analyzed(execution, sql);
        assert!(text.contains(&format!("pipeline1_{execution}_stages={stages}")), "{execution}: {text}");
    }
    connection.execute("SET gingham.lab_stages = 'filters=within'").expect("a setting");
    let text = analyzed("staged", sql);
    assert!(text.contains("pipeline1_staged_stages=2"), "{text}");
    connection.execute("SET gingham.lab_stages = ''").expect("a setting");
    // Each group may be one of more than the records are many, so that a hash table finds it.
    let text = analyzed("fused", "SELECT wide, v, count(*) FROM n GROUP BY wide, v");
    assert!(text.contains("pipeline0_staged_stages=2"), "{text}");
}

#[test]
fn choices_go_by_the_sizes_that_a_run_meets() {
    let connection = connect();
    numbers(&connection);
    connection
        .execute("CREATE TABLE b AS SELECT v * 3 AS v, v % 10 AS k FROM n WHERE v <= 100000; OPTIMIZE b")
        .expect("a table");
    let sql = |k: usize| format!("SELECT count(*) FROM n JOIN b ON n.v = b.v WHERE b.k < {k}");
    let open = |k: usize| {
        let text = explain(&connection, &sql(k));
        let choices = text.split("; choice").skip(1).filter_map(|choice| choice.lines().next());
        choices.map(str::to_owned).collect::<Vec<_>>()
    };
    let choices = open(1);
    assert!(choices.iter().any(|choice| choice.contains("compiled from 100000 records on")), "{choices:?}");
    let table =
        choices.iter().find(|choice| choice.starts_with(" of 0") && choice.contains("an array if its keys span"));
    assert!(table.is_some_and(|table| table.contains("299998 is the most")), "{choices:?}");
    // What is said before a run is the same, whatever the run will meet.
    assert_eq!(open(9), choices);
    for (k, table, left) in [(1, "hash32", "10.00 K"), (9, "array", "90.00 K")] {
        let text = rows(&connection, &format!("EXPLAIN ANALYZE FORMAT indent {}", sql(k))).join("\n");
        assert!(text.contains(&format!("pipeline0_rows_{table}={left}")), "{text}");
        assert!(text.contains(&format!("pipeline0_{table}_span=")), "{text}");
    }
}

#[test]
fn code_of_a_pipeline_is_shown_when_asked_for() {
    let connection = connect();
    numbers(&connection);
    connection.execute("SET gingham.execution = 'staged'").expect("a setting");
    let sql = "EXPLAIN ANALYZE FORMAT indent SELECT k, sum(v) FROM n WHERE k > 2 GROUP BY k";
    let told = || rows(&connection, sql).join("\n");
    assert!(!told().contains("code_of_pipeline"));
    connection.execute("SET gingham.show_code = 0").expect("a setting");
    let text = told();
    let code = text.split("code_of_pipeline_0").nth(1).unwrap_or_default();
    // Cranelift's words, and the machine's.
    assert!(code.contains("function u0:0(i64) -> i64") && code.contains("v0: i64") && code.contains("ret"), "{text}");
    assert!(code.matches("block0").count() >= 2, "{code}");
    connection.execute("SET gingham.show_code = 1").expect("a setting");
    assert!(!told().contains("code_of_pipeline"), "there is one pipeline");
    let error = failure(&connection, "SET gingham.show_code = 'all'");
    assert!(error.to_string().contains("the number of a pipeline, or off, not 'all'"), "{error}");
}

#[test]
fn the_reference_machine_is_the_same_everywhere() {
    let connection = connect();
    connection.execute("SET gingham.machine = 'reference'").expect("a setting");
    assert_eq!(rows(&connection, "SHOW gingham.threads"), ["2"]);
    assert_eq!(rows(&connection, "SHOW gingham.isa"), ["scalar"]);
    connection
        .execute(
            "CREATE TABLE t (v BIGINT NOT NULL); INSERT INTO t SELECT value FROM generate_series(1, 300000); OPTIMIZE t",
        )
        .expect("a table");
    let text = explain(&connection, "SELECT v, count(*) FROM t GROUP BY v");
    assert!(text.contains("more than 1024 KiB (second cache)"), "{text}");
    connection.execute("SET gingham.machine = 'here'").expect("a setting");
    assert_eq!(rows(&connection, "SHOW gingham.isa"), ["auto"]);
    let error = failure(&connection, "SET gingham.machine = 'there'");
    assert!(error.to_string().contains("here or reference, not 'there'"), "{error}");
}

#[test]
fn an_overflow_is_the_error_that_it_is_without_pipelines() {
    let connection = connect();
    numbers(&connection);
    // With more, the sum that is named is that of the records that one thread met.
    connection.execute("SET gingham.threads = 1").expect("a setting");
    let mut errors = Vec::new();
    for execution in ["datafusion", "fused", "staged", "vectorized", "interpreted"] {
        connection.execute(&format!("SET gingham.execution = '{execution}'")).expect("a setting");
        let product = failure(&connection, "SELECT sum(wide * wide) FROM n").to_string();
        let total = failure(&connection, "SELECT sum(wide * 10000000000000000000000) FROM n WHERE k = 1").to_string();
        errors.push((product, total));
        // In 128 bits on the way, but not at the end.
        let fits = rows(&connection, "SELECT sum(wide * 1000000 - wide * 999999) FROM n");
        assert_eq!(fits, ["599400000000000000"], "{execution}");
        // A value that is counted, compared or not chosen overflows too.
        assert!(
            failure(&connection, "SELECT count(wide * wide) FROM n").to_string().contains("overflow"),
            "{execution}"
        );
    }
    assert!(errors[0].0.contains("integer overflow") && errors[0].0.contains('*'), "{}", errors[0].0);
    assert!(errors[0].1.contains("decimal overflow: sum"), "{}", errors[0].1);
    assert!(errors.iter().all(|error| *error == errors[0]), "{errors:?}");
}

#[test]
fn without_memory_for_its_groups_a_query_goes_on_otherwise() {
    let options = DatabaseOptions::new().memory_limit(24 << 20).threads(1);
    let connection = options.temporary().expect("a scratch database").connect();
    numbers(&connection);
    let sql = "SELECT count(*), sum(c), max(a), max(b), max(e) <= max(f) FROM (SELECT v * 16 AS g, d, k, count(*) AS c, sum(v) AS a, max(v) AS b,
         min(wide) AS e, sum(wide) AS f FROM n GROUP BY v * 16, d, k)";
    assert_eq!(rows(&connection, sql), ["300000|300000|300000|300000|true"]);
    let analyzed = rows(&connection, &format!("EXPLAIN ANALYZE FORMAT indent {sql}")).join("\n");
    assert!(analyzed.contains("left_to_datafusion=1"), "{analyzed}");
}

#[test]
fn a_plan_with_a_pipeline_is_kept_until_its_table_changes() {
    let connection = connect();
    numbers(&connection);
    let sql = "SELECT k, count(*), max(v) FROM n WHERE k > 4 GROUP BY k ORDER BY k";
    for _ in 0..3 {
        assert_eq!(rows(&connection, sql), ["5|42857|299997", "6|42857|299998"]);
    }
    connection.execute("INSERT INTO n VALUES (1000000, 6, 0, 0, 'c')").expect("a row");
    assert_eq!(rows(&connection, sql), ["5|42857|299997", "6|42858|1000000"]);
}

#[test]
fn a_query_is_cancelled_and_others_go_on() {
    let connection = connect();
    numbers(&connection);
    let handle = connection.cancel_handle();
    std::thread::scope(|scope| {
        let clients = (0..8).map(|client| {
            let connection = connection.clone();
            scope.spawn(move || {
                for round in 0..5 {
                    let sql = format!("SELECT v % 5 = {client}, k, sum(d) FROM n WHERE v > {round} GROUP BY 1, 2");
                    let result = connection.query(&sql).and_then(|result| result.collect_batches());
                    assert!(matches!(result, Ok(_) | Err(Error::Cancelled)), "{result:?}");
                }
            })
        });
        let clients: Vec<_> = clients.collect();
        handle.cancel();
        for client in clients {
            client.join().expect("no client panics");
        }
    });
    assert_eq!(rows(&connection, "SELECT count(*), sum(k) FROM n WHERE v > 7"), ["299993|899977"]);
}

#[test]
fn sums_that_are_larger_than_expected_are_right() {
    let connection = connect();
    connection
        .execute(
            "CREATE TABLE large (k INTEGER, v BIGINT, d DECIMAL(18,2));
             INSERT INTO large SELECT value % 7, 100000000000000000 + value, 1000000000000000 + value FROM generate_series(1, 300)",
        )
        .expect("a table");
    let grouped = "(SELECT k, sum(v) AS s, avg(d) AS m, sum(d) AS t FROM large GROUP BY k)";
    for sql in [
        format!("SELECT max(s), min(s), max(m), max(t) FROM {grouped}"),
        format!("SELECT a.k, b.k FROM {grouped} a JOIN {grouped} b ON a.s = b.s ORDER BY 1"),
        format!("SELECT a.k, b.k FROM {grouped} a JOIN {grouped} b ON a.t = b.t AND a.m = b.m ORDER BY 1"),
        format!(
            "SELECT k, m * 1.2, t * 2 FROM {grouped} WHERE t > 42000000000000000 AND m * 1.2 > 1200000000000000 ORDER BY 1"
        ),
        format!(
            "SELECT l.k, count(*) FROM large l JOIN {grouped} g ON l.k = g.k AND l.d > g.m * 0.9 GROUP BY l.k ORDER BY 1"
        ),
        "SELECT k, sum(d) FROM large GROUP BY k HAVING sum(d) > 42000000000000000 ORDER BY 1".to_owned(),
    ] {
        let expected = by_datafusion(&connection, &sql);
        assert!(!expected.is_empty(), "{sql}");
        each_way(&connection, |how| assert_eq!(rows(&connection, &sql), expected, "{how}: {sql}"));
    }
}
