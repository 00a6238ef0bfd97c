//! What `src/datafusion/fixes` mends, asked of plain DataFusion. A test that fails here says that DataFusion does it rightly now:
//! the fix that it names can go.

use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use gingham::Database;

/// What plain DataFusion gives, by rows of texts; its error as text where it refuses.
fn plain(sql: &str) -> Result<Vec<String>, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("threads");
    let context = SessionContext::new();
    let batches = runtime.block_on(async { context.sql(sql).await?.collect().await });
    let batches = batches.map_err(|error| error.to_string())?;
    let texts = arrow::util::pretty::pretty_format_batches(&batches).map_err(|error| error.to_string())?.to_string();
    let lines = texts.lines().skip(3).filter(|line| line.starts_with('|'));
    Ok(lines.map(|line| line.trim_matches(['|', ' ']).to_owned()).collect())
}

/// What Gingham gives.
fn ours(sql: &str) -> Vec<String> {
    crate::rows(&Database::in_memory().expect("a database").connect(), sql)
}

#[test]
fn equal_windows_are_refused() {
    let sql = "SELECT bool_or(TRUE = v) OVER (), bool_or(v) OVER () FROM (VALUES (true)) AS t(v)";
    assert!(plain(sql).is_err(), "fixes/equal_windows.rs can go: {:?}", plain(sql));
    assert_eq!(ours(sql), ["true|true"]);
}

#[test]
fn windows_by_comparisons_of_functions_are_refused() {
    let by = |key: &str| {
        format!(
            "SELECT x, count(*) OVER (PARTITION BY {key} ORDER BY x) FROM (VALUES (1, 2), (2, 5)) AS t(x, y) ORDER BY x"
        )
    };
    let sql = by("nullif(x, 1) > y");
    assert!(plain(&sql).is_err(), "what guards/windows.rs does with keys without conditions can go: {:?}", plain(&sql));
    assert_eq!(ours(&sql), ["1|1", "2|1"]);
    assert_eq!(ours(&by("x IS NOT DISTINCT FROM CASE y WHEN 5 THEN 2 END")), ["1|1", "2|1"]);
    assert_eq!(ours(&by("nullif(x, 7) < 9 AND nullif(y, 3) > 1, y < 9")), ["1|1", "2|2"]);
    let sql = by("y").replace("AS t(x, y)", "AS t(x, y) WHERE power(x, 2) + 1 = y");
    assert_eq!(ours(&sql), ["1|1", "2|1"]);
    let sql = "SELECT i, count(*) OVER (PARTITION BY i) FROM (VALUES (0), (1), (0)) AS t(i) WHERE i + i = i";
    assert_eq!(ours(sql), ["0|2", "0|2"]);
}

#[test]
fn regressions_of_a_constant_are_null() {
    let sql = "SELECT regr_r2(CAST(1 AS DOUBLE), x) FROM (VALUES (CAST(1 AS DOUBLE)), (2)) AS t(x)";
    assert_ne!(plain(sql), Ok(vec!["1.0".to_owned()]), "fixes/constant_regressions.rs can go");
    assert_eq!(ours(sql), ["1.0"]);
}

#[test]
fn lists_of_columns_are_taken_for_constants() {
    let of = |condition: &str| format!("SELECT x FROM (VALUES (1, true), (2, false)) AS t(x, f) WHERE {condition}");
    let sql = of("INTERVAL '1 day' IN (CASE WHEN f THEN INTERVAL '1 day' END, INTERVAL '2 days')");
    assert_ne!(plain(&sql), Ok(vec!["1".to_owned()]), "fixes/lists_of_columns.rs can go");
    assert_eq!(ours(&sql), ["1"]);
}

#[test]
fn conditions_about_no_column_go_below_a_single_group() {
    let sql = "SELECT * FROM (SELECT count(*) FROM (VALUES (1)) AS t(a)) AS s WHERE (SELECT max(b) FROM (VALUES (1)) AS u(b)) < 0";
    assert_ne!(plain(sql), Ok(Vec::new()), "fixes/one_group.rs can go");
    assert_eq!(ours(sql), [""; 0]);
}

#[test]
fn strings_in_two_orders_are_refused() {
    let sql = "SELECT string_agg(x, ',' ORDER BY x), string_agg(x, ',' ORDER BY y) FROM (VALUES ('a', 2), ('b', 1)) AS t(x, y)";
    assert_ne!(
        plain(sql).map(|rows| rows.concat().replace(' ', "")),
        Ok("a,b|b,a".to_owned()),
        "fixes/ordered_strings.rs can go"
    );
    assert_eq!(ours(sql), ["a,b|b,a"]);
}

#[test]
fn zeros_of_lists_are_told_apart_by_their_sign() {
    let list = "CAST(0 AS DOUBLE), CAST(5 AS DOUBLE), CAST(6 AS DOUBLE), CAST(7 AS DOUBLE), CAST(8 AS DOUBLE)";
    let sql = format!(
        "SELECT count(*) FROM (VALUES (CAST('-0.0' AS DOUBLE)), (CAST(9 AS DOUBLE))) AS t(x) WHERE x IN ({list})"
    );
    assert_ne!(plain(&sql), Ok(vec!["1".to_owned()]), "fixes/zeros_in_lists.rs can go");
    assert_eq!(ours(&sql), ["1"]);
}

#[test]
fn constants_of_outer_joins_are_taken_for_sorted() {
    let sql = "SELECT y FROM (VALUES (true), (false)) AS t(f) LEFT JOIN (SELECT 1 AS y) AS u ON f ORDER BY y DESC NULLS FIRST";
    assert_ne!(plain(sql), Ok(vec!["".to_owned(), "1".to_owned()]), "fixes/outer_constants.rs can go");
    assert_eq!(ours(sql), ["", "1"]);
    // An equality of the side without a partner.
    let sql = "SELECT u.k FROM (VALUES (1), (2)) AS t(k) LEFT JOIN (SELECT k FROM (VALUES (1), (3)) AS v(k) WHERE k = 1) AS u ON t.k = u.k OR t.k < 0 ORDER BY u.k DESC";
    assert_eq!(ours(sql), ["", "1"]);
}

#[test]
fn part_of_the_keys_of_groups_is_taken_for_unique() {
    let tables = "CREATE TABLE t (p INTEGER PRIMARY KEY, id BIGINT NOT NULL); INSERT INTO t VALUES (0, 0), (1, 1);
        CREATE TABLE u (a INTEGER PRIMARY KEY); INSERT INTO u VALUES (1)";
    let sql = "SELECT u.a FROM u LEFT JOIN (SELECT a, id FROM u, t GROUP BY a, id) AS s ON s.a = u.a";
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("threads");
    let context = SessionContext::new();
    let rows = |sql: &str| {
        let batches = runtime.block_on(async { context.sql(sql).await?.collect().await }).expect("rows");
        batches.iter().map(|batch| batch.num_rows()).sum::<usize>()
    };
    tables.split(';').for_each(|statement| _ = rows(statement));
    assert_ne!(rows(sql), 2, "fixes/whole_keys.rs can go");
    let connection = Database::in_memory().expect("a database").connect();
    connection.execute(tables).expect("tables");
    assert_eq!(crate::rows(&connection, sql), ["1", "1"]);
    let sql =
        "SELECT p FROM u LEFT JOIN t ON TRUE LEFT JOIN LATERAL (SELECT 1 AS k FROM t WHERE 1 IS NOT DISTINCT FROM a
        GROUP BY t.id) AS x ON TRUE ORDER BY p";
    assert_eq!(crate::rows(&connection, sql), ["0", "0", "1", "1"]);
}

#[test]
fn first_rows_of_a_union_leave_out_better_ones() {
    let sql = "SELECT 2 AS a, 5 AS b FROM (VALUES (1), (1)) AS y(id) UNION ALL SELECT p, 1 FROM (VALUES (4), (5)) AS t(p) ORDER BY b, a LIMIT 2";
    let asked: Vec<_> = (0..20).map(|_| plain(sql).map(|rows| rows.concat().replace(' ', ""))).collect();
    let right = Ok("4|15|1".to_owned());
    assert!(asked.iter().any(|rows| *rows != right), "fixes/shared_thresholds.rs can go: {asked:?}");
    assert_eq!(ours(sql), ["4|1", "5|1"]);
}

/// How many rows a join of 128 and 90 rows, of which no pair is one, gives in plain DataFusion, under each of some memory limits that
/// it works under.
fn joined_under_limits(join: &str, threads: usize) -> Vec<usize> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("threads");
    let series = |name: &str, rows| format!("(SELECT value AS {name} FROM generate_series(1, {rows}))");
    let sql = format!("SELECT x, y FROM {} {join} {} ON x + y < 0", series("x", 128), series("y", 90));
    let rows_under = |limit: usize| {
        let environment = RuntimeEnvBuilder::new().with_memory_limit(limit, 1.0).build_arc().expect("an environment");
        let config = SessionConfig::new().with_target_partitions(threads).with_batch_size(16);
        let context = SessionContext::new_with_config_rt(config, environment);
        let batches = runtime.block_on(async { context.sql(&sql).await?.collect().await }).ok()?;
        Some(batches.iter().map(|batch| batch.num_rows()).sum())
    };
    (1..24).filter_map(|step| rows_under(64 * step)).collect()
}

#[test]
fn joins_of_all_pairs_double_rows_without_a_partner() {
    let of = |join| joined_under_limits(join, 2);
    let (left, right) = (of("LEFT JOIN"), of("RIGHT JOIN"));
    let doubled = left.iter().any(|rows| *rows > 128) || right.iter().any(|rows| *rows > 90);
    assert!(doubled, "half of fixes/joins_in_memory.rs can go: {left:?}, {right:?}");
}

#[test]
fn joins_of_all_pairs_lose_rows_without_a_partner() {
    let of = |join| joined_under_limits(join, 1);
    let (left, right) = (of("LEFT JOIN"), of("RIGHT JOIN"));
    let lost = left.iter().any(|rows| *rows < 128) || right.iter().any(|rows| *rows < 90);
    assert!(lost, "half of fixes/joins_in_memory.rs can go: {left:?}, {right:?}");
}
