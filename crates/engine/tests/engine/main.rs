//! The engine through its Rust API. One test program, since each links all of DataFusion.

mod advice;
mod advisory_locks;
mod alike;
mod api;
mod arithmetic;
mod by_records;
mod changes;
mod changes_in_with;
mod char_blanks;
mod column_names;
mod compiled_joins;
mod compiled_kinds;
mod compiled_order;
mod copies;
mod copy_cases;
mod copy_streams;
mod counts;
mod damaged_tables;
mod definitions;
mod designs;
mod dynamic_filters;
mod evaluated;
mod explain_tree;
mod files;
mod filtered;
mod floats;
#[path = "../random/generator.rs"]
mod generator;
mod given;
mod grouping_sets;
mod guarded;
mod heap_tables;
mod isolation;
mod lookup_tables;
mod many_writers;
mod odd_files;
mod of_unions;
mod oracle;
mod parquet_files;
mod percentiles;
mod pipelines;
mod predicate_order;
mod prepared;
mod prepared_again;
mod published;
mod recursion;
mod registered;
mod repeated;
mod roles;
mod round_trips;
#[path = "../../../../tests/support/rows.rs"]
mod rows;
mod scattered;
mod session;
mod sessions;
mod shapes;
mod shared;
mod sorted;
mod sql_states;
mod statement_tables;
mod statements;
mod subquery_values;
mod summaries;
mod transactions;
mod under_limits;
mod upstream;
mod vacuum;
mod values_page;
mod wide_keys;

use gingham::{Connection, Database};

/// A connection to a fresh database in memory.
fn connect() -> Connection {
    Database::in_memory().expect("a scratch database").connect()
}

/// All rows of a query as text, columns parted by `|`; NULL is empty.
fn rows(connection: &Connection, sql: &str) -> Vec<String> {
    rows::rows(connection, sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// The error of a statement, while it is planned or run.
fn failure(connection: &Connection, sql: &str) -> gingham::Error {
    match connection.query(sql).and_then(gingham::QueryResult::collect_batches) {
        Ok(batches) => panic!("{sql} gave {batches:?}"),
        Err(error) => error,
    }
}

/// Looks at something in every mode of pipelines, on one thread and on several; `check` is told how.
fn each_way(connection: &Connection, mut check: impl FnMut(&str)) {
    for execution in ["auto", "staged", "interpreted", "fused", "vectorized"] {
        for threads in [1, 2, 7] {
            let settings = format!("SET gingham.execution = '{execution}'; SET gingham.threads = {threads}");
            connection.execute(&settings).expect("settings");
            check(&format!("{execution}, {threads} threads"));
        }
    }
    connection.execute("SET gingham.execution = 'auto'").expect("a setting");
}

/// The rows of a query as DataFusion's operators give them.
fn by_datafusion(connection: &Connection, sql: &str) -> Vec<String> {
    connection.execute("SET gingham.execution = 'datafusion'").expect("a setting");
    let expected = rows(connection, sql);
    connection.execute("SET gingham.execution = 'auto'").expect("a setting");
    expected
}
