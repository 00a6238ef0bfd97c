//! TPC-H's answers. The golden files in tests/tpch/sf0.01 were made by DataFusion over the generated rows in memory;
//! `UPDATE_ANSWERS=1 cargo test -p gingham-lab --test tpch` makes them anew. At scale factor 1, too long for a debug
//! build, both engines are held against the answers that the specification publishes.

#[path = "../../../tests/support/factors.rs"]
mod factors;

use factors::Setting;
use gingham::{Connection, Database};
use gingham_lab::tpch::answers::QueryAnswer;
use gingham_lab::tpch::{create_tables, generate_all, load, published, queries};
use gingham_reference::Reference;
use std::collections::BTreeSet;
use std::path::PathBuf;

const SCALE: f64 = 0.01;

fn golden_file(number: usize) -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join(format!("tests/tpch/sf0.01/q{number:02}.csv"))
}

fn golden(number: usize) -> QueryAnswer {
    let path = golden_file(number);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    QueryAnswer::from_csv(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn datafusion_gives_the_golden_answers() {
    let reference = Reference::new(2).unwrap();
    for (table, batches) in generate_all(SCALE, 2, |_| ()) {
        reference.register_memory(table.name(), &batches).unwrap();
    }
    for number in queries::NUMBERS {
        let answer = QueryAnswer::of_datafusion(&reference, &queries::text(number, SCALE)).unwrap();
        if std::env::var_os("UPDATE_ANSWERS").is_some() {
            std::fs::create_dir_all(golden_file(number).parent().unwrap()).unwrap();
            std::fs::write(golden_file(number), answer.to_csv()).unwrap();
        }
        golden(number).check(number, &answer).unwrap_or_else(|error| panic!("query {number}: {error}"));
    }
}

/// Runs query `number` on Gingham.
fn gingham_answer(connection: &Connection, number: usize, scale: f64) -> QueryAnswer {
    let result =
        connection.query(&queries::text(number, scale)).unwrap_or_else(|error| panic!("query {number}: {error}"));
    let schema = result.schema();
    let batches = result.collect_batches().unwrap_or_else(|error| panic!("query {number}: {error}"));
    QueryAnswer::new(&schema, &batches).unwrap()
}

#[test]
fn gingham_gives_the_golden_answers_under_every_setting() {
    require_golden_answers(factors::LAYOUTS, &factors::settings(factors::LAYOUTS));
}

#[test]
fn gingham_gives_the_golden_answers_from_heap_pages() {
    let mut settings = factors::settings(factors::PAGES);
    if std::env::var_os("GINGHAM_NIGHTLY").is_none() {
        // Pages are read by what reads all tables: each way of execution once, and each layout twice.
        let ways: BTreeSet<&str> = settings.iter().map(|setting| setting.execution).collect();
        let pairs: Vec<_> = ways.into_iter().zip(factors::PAGES.iter().cycle()).collect();
        settings.sort_by_key(|setting| (setting.execution, setting.layout));
        settings.dedup_by_key(|setting| (setting.execution, setting.layout));
        settings.retain(|setting| pairs.contains(&(setting.execution, &setting.layout)));
    }
    require_golden_answers(factors::PAGES, &settings);
}

/// Holds all queries against the golden answers, with tables in each layout, under its settings.
fn require_golden_answers(layouts: &[&'static str], settings: &[Setting]) {
    let generated = generate_all(SCALE, 2, |_| ());
    for layout in layouts {
        let connection = Database::in_memory().unwrap().connect();
        connection.execute(&format!("SET gingham.layout = '{layout}'")).unwrap();
        create_tables(&connection).unwrap();
        for (table, batches) in &generated {
            load(&connection, *table, batches, |_| ()).unwrap();
            // Small tables would stay in the delta.
            connection.execute(&format!("OPTIMIZE {}", table.name())).unwrap();
        }
        for setting in settings.iter().filter(|setting| setting.layout == *layout) {
            setting.apply(&connection);
            for number in queries::NUMBERS {
                let answer = gingham_answer(&connection, number, SCALE);
                golden(number)
                    .check(number, &answer)
                    .unwrap_or_else(|error| panic!("{setting}, query {number}: {error}"));
            }
        }
    }
}

/// One record of a hundred is deleted, and lies in the delta as it was.
#[test]
fn tables_with_deleted_records_give_the_golden_answers() {
    let generated = generate_all(SCALE, 2, |_| ());
    for layout in ["column", "mempax(100)"] {
        let connection = Database::in_memory().unwrap().connect();
        connection.execute(&format!("SET gingham.layout = '{layout}'")).unwrap();
        create_tables(&connection).unwrap();
        for (table, batches) in &generated {
            load(&connection, *table, batches, |_| ()).unwrap();
            connection.execute(&format!("OPTIMIZE {}", table.name())).unwrap();
        }
        for (table, key) in [
            ("lineitem", "l_orderkey"),
            ("orders", "o_orderkey"),
            ("customer", "c_custkey"),
            ("part", "p_partkey"),
            ("partsupp", "ps_partkey"),
            ("supplier", "s_suppkey"),
        ] {
            let sql = format!("UPDATE {table} SET {key} = {key} WHERE {key} % 100 = 7");
            assert!(connection.execute(&sql).unwrap() > 0, "{sql}");
        }
        for mode in ["fused", "staged", "vectorized", "interpreted", "datafusion"] {
            connection.execute(&format!("SET gingham.execution = '{mode}'")).unwrap();
            for number in queries::NUMBERS {
                let answer = gingham_answer(&connection, number, SCALE);
                let checked = golden(number).check(number, &answer);
                checked.unwrap_or_else(|error| panic!("{layout}, {mode}, query {number}: {error}"));
            }
        }
    }
}

/// Runs under `cargo xtask nightly` only.
#[test]
fn published_answers_at_scale_1() {
    if std::env::var_os("GINGHAM_NIGHTLY").is_none() {
        return;
    }
    let connection = Database::in_memory().unwrap().connect();
    create_tables(&connection).unwrap();
    let reference = Reference::new(2).unwrap();
    for (table, batches) in generate_all(1.0, 2, |_| ()) {
        load(&connection, table, &batches, |_| ()).unwrap();
        reference.register_memory(table.name(), &batches).unwrap();
    }
    for number in queries::NUMBERS {
        let expected = QueryAnswer::of_datafusion(&reference, &queries::text(number, 1.0)).unwrap();
        published::check(number, &expected).unwrap_or_else(|error| panic!("DataFusion, query {number}: {error}"));
        let found = gingham_answer(&connection, number, 1.0);
        published::check(number, &found).unwrap_or_else(|error| panic!("Gingham, query {number}: {error}"));
        expected.check(number, &found).unwrap_or_else(|error| panic!("Gingham, query {number}: {error}"));
    }
}
