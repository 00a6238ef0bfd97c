//! The random table in Gingham: made in a random design, rewritten in another; and rows as text.

use super::data::{CREATE_TABLE, batch};
use super::design::options;
use super::generator::Generator;
use arrow::array::{ArrayRef, RecordBatch};
use gingham::Connection;

/// Writes the table anew in another design; returns it.
pub fn rewrite(connection: &Connection, generator: &mut Generator) -> String {
    let design = options(generator);
    choose_io(connection, generator);
    connection.execute(&format!("ALTER TABLE t SET ({design})")).unwrap_or_else(|error| panic!("{design}: {error}"));
    design
}

/// Through the caches, or past them.
fn choose_io(connection: &Connection, generator: &mut Generator) {
    let io = generator.pick(&["cached", "cached", "direct"]);
    connection.execute(&format!("SET gingham.io = '{io}'")).expect("a setting");
}

/// Makes the table, in pieces, some of them merged. Gives the pieces' batches and the table's design.
pub fn load(connection: &Connection, generator: &mut Generator) -> (Vec<RecordBatch>, String) {
    let design = options(generator);
    choose_io(connection, generator);
    connection.execute(&format!("{CREATE_TABLE} WITH ({design})")).unwrap_or_else(|error| panic!("{design}: {error}"));
    let mut batches = Vec::new();
    let mut next_id = 0;
    for _ in 0..generator.between(1, 4) {
        let rows = *generator.pick(&[1, 7, 63, 64, 65, 500, 2000, 17_000]);
        let batch = batch(generator, next_id, rows);
        next_id += rows as i64;
        let mut appender = connection.appender("t").expect("the table exists");
        appender.append_batch(batch.clone()).expect("the batch has the table's columns");
        assert_eq!(appender.finish().expect("the rows are appended"), rows as u64);
        if generator.chance(60) {
            connection.execute("OPTIMIZE t").expect("the delta is merged");
        }
        batches.push(batch);
    }
    (batches, design)
}

/// Rows as text, whatever string type either engine chose.
pub fn rows(batches: &[RecordBatch]) -> Vec<Vec<String>> {
    let options = arrow::util::display::FormatOptions::default().with_null("NULL");
    let text = |column: &ArrayRef, row: usize| {
        arrow::util::display::ArrayFormatter::try_new(column, &options)
            .expect("Arrow can show every type that a query returns")
            .value(row)
            .to_string()
    };
    let mut rows = Vec::new();
    for batch in batches {
        rows.extend((0..batch.num_rows()).map(|row| batch.columns().iter().map(|column| text(column, row)).collect()));
    }
    rows
}
