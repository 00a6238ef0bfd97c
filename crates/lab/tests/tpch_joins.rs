//! The order of joins in TPC-H's queries at scale factor 0.01, as tests/tpch/sf0.01/joins.txt has it, the pipelines that
//! run them, as pipelines.txt beside it does, and the trees that EXPLAIN draws, as trees.txt does, planned for the reference machine,
//! so that a change is seen; `UPDATE_ANSWERS=1 cargo test -p gingham-lab --test tpch_joins` writes all of them anew.

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
    let result = connection.query(&format!("EXPLAIN FORMAT indent {sql}")).unwrap();
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

fn connection() -> Connection {
    let connection = Database::in_memory().unwrap().connect();
    create_tables(&connection).unwrap();
    for (table, batches) in generate_all(SCALE, 2, |_| ()) {
        load(&connection, table, &batches, |_| ()).unwrap();
        connection.execute(&format!("OPTIMIZE {}", table.name())).unwrap();
    }
    connection
}

/// Compares with a file, or writes it.
fn check(name: &str, found: &str) {
    let golden = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/tpch/sf0.01").join(name);
    if std::env::var_os("UPDATE_ANSWERS").is_some() {
        std::fs::write(&golden, found).unwrap();
    }
    let expected = std::fs::read_to_string(&golden).unwrap_or_else(|error| panic!("{}: {error}", golden.display()));
    assert_eq!(found, expected);
}

#[test]
fn joins_are_ordered_as_before_and_no_later_rule_orders_them_again() {
    let connection = connection();
    connection.execute("SET gingham.execution = 'datafusion'").unwrap();
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
    check("joins.txt", &found);
}

/// The operators of a plan, those of pipelines with what EXPLAIN says of them, those of DataFusion by their names.
fn operators(physical: &str) -> String {
    let mut lines = String::new();
    for line in physical.lines() {
        let operator = line.trim_start();
        let depth = line.len() - operator.len();
        let name = operator.split(':').next().unwrap_or(operator);
        match operator.split_once(": mode=auto, ") {
            Some((_, rest)) => {
                let (pipelines, rest) = rest.split_once(": [").unwrap_or((rest, ""));
                lines += &format!("  {:depth$}{name}\n", "");
                for pipeline in pipelines.split("; ") {
                    lines += &format!("  {:depth$}  {pipeline}\n", "");
                }
                for choice in rest.split("; choice").skip(1) {
                    lines += &format!("  {:depth$}  choice{choice}\n", "");
                }
            }
            None if name == "ScanExec" => {
                let table = operator.split(['=', ',']).nth(1).unwrap_or("?");
                lines += &format!("  {:depth$}{name} {table}\n", "");
            }
            None => lines += &format!("  {:depth$}{name}\n", ""),
        }
    }
    lines
}

#[test]
fn pipelines_are_as_before() {
    let connection = connection();
    connection.execute("SET gingham.machine = 'reference'").unwrap();
    let mut found = String::new();
    for threads in [2, 1] {
        connection.execute(&format!("SET gingham.threads = {threads}")).unwrap();
        found.clear();
        for number in queries::NUMBERS {
            let [_, physical] = plans(&connection, &queries::text(number, SCALE));
            assert!(physical.contains("CompiledExec"), "query {number} under {threads} threads:\n{physical}");
            found += &format!("q{number:02}\n{}", operators(&physical));
        }
    }
    check("pipelines.txt", &found);
}

/// Other machines read other numbers of bytes, and take other times.
#[test]
fn trees_are_drawn_as_before() {
    let connection = connection();
    connection.execute("SET gingham.machine = 'reference'").unwrap();
    let mut found = String::new();
    for number in queries::NUMBERS {
        let result = connection.query(&format!("EXPLAIN {}", queries::text(number, SCALE))).unwrap();
        found.push_str(&format!("query {number}\n"));
        for batch in result.collect_batches().unwrap() {
            let lines = batch.column(0).as_string_view();
            found.extend(lines.iter().flatten().map(|line| format!("{line}\n")));
        }
        found.push('\n');
    }
    assert!(found.lines().all(|line| line.chars().count() <= 100));
    check("trees.txt", &found);
}
