//! Percentiles of random groups beside the same by hand, and aggregates of many groups of one record each, which two threads hand on
//! one by one.

use crate::generator::Generator;
use crate::{connect, rows};
use std::collections::BTreeMap;

/// The value at a fraction of the order, as PostgreSQL defines it.
fn expected(values: &[f64], fraction: f64, descending: bool, continuous: bool) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    if descending {
        sorted.reverse();
    }
    let last = sorted.len().checked_sub(1)?;
    if !continuous {
        return Some(sorted[((fraction * sorted.len() as f64).ceil() as usize).max(1) - 1]);
    }
    let exact = fraction * last as f64;
    let (low, high) = (sorted[exact.floor() as usize], sorted[exact.ceil() as usize]);
    Some(if exact.floor() == exact.ceil() { low } else { low + (exact - exact.floor()) * (high - low) })
}

#[test]
fn percentiles_of_random_groups_are_those_by_hand() {
    let connection = connect();
    let mut random = Generator::new(20);
    for table in 0..4 {
        let keys = *random.pick(&[1, 7, 300, 2000]);
        let mut groups: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
        let mut records = Vec::new();
        for _ in 0..2000 {
            let (key, value) = (random.between(1, keys), random.between(-400, 400) as f64 / 8.0);
            let own = groups.entry(key).or_default();
            if random.chance(90) {
                own.push(value);
                records.push(format!("({key}, {value:?})"));
            } else {
                records.push(format!("({key}, NULL)"));
            }
        }
        let create = format!(
            "CREATE TABLE t{table} (k INTEGER, v DOUBLE); INSERT INTO t{table} VALUES {}; OPTIMIZE t{table}",
            records.join(", ")
        );
        connection.execute(&create).expect("a table");
        for threads in [1, 2] {
            connection.execute(&format!("SET gingham.threads = {threads}")).expect("a setting");
            for _ in 0..5 {
                let fraction = random.between(0, 1000) as f64 / 1000.0;
                let (descending, continuous) = (random.chance(50), random.chance(50));
                let call = format!(
                    "{}({fraction}) WITHIN GROUP (ORDER BY v{})",
                    if continuous { "percentile_cont" } else { "percentile_disc" },
                    if descending { " DESC" } else { "" }
                );
                let shown = |key: i64, values: &[f64]| {
                    let value = expected(values, fraction, descending, continuous);
                    format!("{key}|{}", value.map_or_else(String::new, |value| format!("{value:?}")))
                };
                let by_hand: Vec<_> = groups.iter().map(|(key, values)| shown(*key, values)).collect();
                let sql = format!("SELECT k, {call} FROM t{table} GROUP BY k ORDER BY k");
                assert_eq!(rows(&connection, &sql), by_hand, "{threads} threads: {sql}");
                let all: Vec<f64> = groups.values().flatten().copied().collect();
                let sql = format!("SELECT 0, {call} FROM t{table}");
                assert_eq!(rows(&connection, &sql), [shown(0, &all)], "{threads} threads: {sql}");
            }
        }
    }
}

/// Two threads that find few records of one group give up grouping them, and hand each on as a group of its own.
#[test]
fn aggregates_of_many_groups_are_those_of_one_thread() {
    let connection = connect();
    let create = "CREATE TABLE t AS SELECT value % 250000 AS k, nullif(value % 1009, 7) AS b, (value % 997) / 8e0 AS f, 's' || value % 100 AS s
        FROM generate_series(1, 260000); OPTIMIZE t; SET gingham.execution = 'datafusion'";
    connection.execute(create).expect("a table");
    let calls = [
        "percentile_cont(0.3) WITHIN GROUP (ORDER BY b)",
        "percentile_cont(0.3) WITHIN GROUP (ORDER BY f DESC) FILTER (WHERE b > 500)",
        "percentile_disc(0.5) WITHIN GROUP (ORDER BY s)",
        "median(b)",
        "median(DISTINCT b)",
        "approx_percentile_cont(0.5) WITHIN GROUP (ORDER BY f)",
        "approx_median(f)",
        "approx_distinct(s)",
        "length(string_agg(s, ','))",
        "string_agg(s, ',' ORDER BY f)",
        "length(string_agg(DISTINCT s, ','))",
        "cardinality(array_agg(b))",
        "array_agg(b ORDER BY f DESC)",
        "cardinality(array_agg(DISTINCT b))",
        "cardinality(array_agg(b) FILTER (WHERE f > 60))",
        "first_value(s ORDER BY f)",
        "last_value(b ORDER BY f, s)",
        "nth_value(b, 1 ORDER BY f)",
        "round(covar_samp(b, f), 6)",
        "round(covar_pop(b, f), 6)",
        "round(corr(b, f), 6)",
        "round(regr_slope(b, f), 6)",
        "regr_count(b, f) FILTER (WHERE f < 90)",
        "bit_and(b)",
        "bit_xor(b)",
        "bool_and(b > 3)",
        "round(stddev(b), 6)",
        "round(stddev_pop(f), 6)",
        "round(var_samp(b), 6)",
        "count(DISTINCT s)",
        "sum(DISTINCT b)",
        "avg(b) FILTER (WHERE s < 's5')",
        "min(s)",
        "max(f)",
        "count(*)",
    ];
    // The rest takes minutes in a debug build.
    let nightly = std::env::var_os("GINGHAM_NIGHTLY").is_some();
    let calls = if nightly { &calls[..] } else { &calls[..4] };
    for calls in calls.chunks(4) {
        let inner: Vec<_> = calls.iter().enumerate().map(|(at, call)| format!("{call} AS c{at}")).collect();
        let outer: Vec<_> =
            (0..calls.len()).map(|at| format!("count(c{at}), min(c{at}::text), max(c{at}::text)")).collect();
        let sql =
            format!("SELECT count(*), {} FROM (SELECT k, {} FROM t GROUP BY k)", outer.join(", "), inner.join(", "));
        let on = |threads: usize| {
            connection.execute(&format!("SET gingham.threads = {threads}")).expect("a setting");
            rows(&connection, &sql)
        };
        assert_eq!(on(2), on(1), "{sql}");
    }
}
