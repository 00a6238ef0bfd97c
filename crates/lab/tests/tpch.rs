//! TPC-H's answers at scale factor 0.01. The golden files in tests/tpch/sf0.01 were made by DataFusion over the
//! generated rows in memory; `UPDATE_ANSWERS=1 cargo test -p gingham-lab --test tpch` makes them anew.

use gingham_lab::tpch::answers::Answer;
use gingham_lab::tpch::reference::Reference;
use gingham_lab::tpch::{generate_all, queries};
use std::path::PathBuf;

const SCALE: f64 = 0.01;

fn golden_file(number: usize) -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join(format!("tests/tpch/sf0.01/q{number:02}.csv"))
}

fn golden(number: usize) -> Answer {
    let path = golden_file(number);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Answer::from_csv(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn datafusion_gives_the_golden_answers() {
    let reference = Reference::new(2).unwrap();
    for (table, batches) in generate_all(SCALE, 2, |_| ()) {
        reference.register_memory(table.name(), &batches).unwrap();
    }
    for number in queries::NUMBERS {
        let answer = reference.answer(&queries::text(number, SCALE)).unwrap();
        if std::env::var_os("UPDATE_ANSWERS").is_some() {
            std::fs::create_dir_all(golden_file(number).parent().unwrap()).unwrap();
            std::fs::write(golden_file(number), answer.to_csv()).unwrap();
        }
        golden(number).check(number, &answer).unwrap_or_else(|error| panic!("query {number}: {error}"));
    }
}
