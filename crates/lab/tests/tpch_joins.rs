//! The order of joins in TPC-H's queries at scale factor 0.01, as tests/tpch/sf0.01/joins.txt has it, so that a change of
//! the model is seen; `UPDATE_ANSWERS=1 cargo test -p gingham-lab --test tpch_joins` writes it anew.

#[path = "../../../tests/support/joins.rs"]
mod joins;

use arrow::array::AsArray;
use gingham::{Connection, Database};
use gingham_lab::tpch::{create_tables, generate_all, load, queries};
use joins::joins;
use std::path::PathBuf;

const SCALE: f64 = 0.01;

/// The logical and the physical plan of a query.
fn plans(connection: &Connection, sql: &str) -> [String; 2] {
    let result = connection.query(&format!("EXPLAIN {sql}")).unwrap();
    let batches = result.collect_batches().unwrap();
    let plan = |kind: &str| {
        let rows = batches.iter().flat_map(|batch| {
            let text = |column: usize| arrow::compute::cast(batch.column(column), &arrow::datatypes::DataType::Utf8);
            let (kinds, plans) = (text(0).unwrap(), text(1).unwrap());
            let rows = kinds.as_string::<i32>().iter().zip(plans.as_string::<i32>());
            rows.map(|(kind, plan)| (kind.unwrap().to_string(), plan.unwrap().to_string())).collect::<Vec<_>>()
        });
        rows.filter(|(found, _)| found == kind).map(|(_, plan)| plan).collect()
    };
    [plan("logical_plan"), plan("physical_plan")]
}

#[test]
fn joins_are_ordered_as_before_and_no_later_rule_orders_them_again() {
    let connection = Database::in_memory().unwrap().connect();
    create_tables(&connection).unwrap();
    for (table, batches) in generate_all(SCALE, 2, |_| ()) {
        load(&connection, table, &batches, |_| ()).unwrap();
        connection.execute(&format!("OPTIMIZE {}", table.name())).unwrap();
    }
    let mut found = String::new();
    for threads in [1, 2] {
        connection.execute(&format!("SET gingham.threads = {threads}")).unwrap();
        found.clear();
        for number in queries::NUMBERS {
            let [logical, physical] = plans(&connection, &queries::text(number, SCALE));
            let ordered = joins(&logical);
            assert_eq!(joins(&physical), ordered, "query {number} under {threads} threads:\n{logical}\n{physical}");
            found += &format!("q{number:02} {ordered}\n");
        }
    }
    let golden = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/tpch/sf0.01/joins.txt");
    if std::env::var_os("UPDATE_ANSWERS").is_some() {
        std::fs::write(&golden, &found).unwrap();
    }
    let expected = std::fs::read_to_string(&golden).unwrap_or_else(|error| panic!("{}: {error}", golden.display()));
    assert_eq!(found, expected);
}
