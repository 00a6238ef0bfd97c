//! Measures records that come a thousand at a time: through appenders, and as the text of INSERT. benchmarks/appends.py runs it
//! beside DuckDB and keeps the figures; benchmarks/METHODOLOGY.md says how to read them.
//!
//! ```text
//! cargo run --release -p gingham-lab --features runner --example appends -- FOLDER LAYOUT WAY BATCHES
//! ```
//!
//! The database in FOLDER must not exist. WAY is `each`, an appender for each batch, `one`, an appender for all of them, or
//! `text`. What is committed is synced. Prints one line of JSON.

use arrow::array::{ArrayRef, AsArray, Date32Array, Float64Array, Int64Array, RecordBatch, StringViewArray};
use arrow::datatypes::{Float64Type, Int64Type};
use gingham::{Connection, Database};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Records of a batch.
const ROWS: i64 = 1000;
/// 1995-01-01, in days since 1970.
const FIRST_DAY: i32 = 9131;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, layout, way, batches] = arguments.as_slice() else {
        return Err("appends FOLDER LAYOUT WAY BATCHES".into());
    };
    if Path::new(folder).exists() {
        return Err(format!("{folder} exists; name a new folder").into());
    }
    let connection = Database::open(Path::new(folder))?.connect();
    let columns = "id BIGINT NOT NULL, a BIGINT, price DOUBLE, day DATE, label VARCHAR";
    connection.execute(&format!("CREATE TABLE t ({columns}) WITH (layout = '{layout}')"))?;
    let starts: Vec<i64> = (0..batches.parse()?).map(|number: i64| number * ROWS).collect();
    let milliseconds = match way.as_str() {
        "each" => each(&connection, &starts)?,
        "one" => one(&connection, &starts)?,
        "text" => text(&connection, &starts)?,
        other => return Err(format!("no way '{other}'").into()),
    };
    let (rows, sum, prices) = found(&connection)?;
    println!("{{\"milliseconds\": {milliseconds:?}, \"rows\": {rows}, \"sum\": {sum}, \"prices\": {prices}}}");
    Ok(())
}

/// Records from a number on.
fn batch(start: i64) -> Outcome<RecordBatch> {
    let rows = start..start + ROWS;
    let columns: [(&str, ArrayRef); 5] = [
        ("id", Arc::new(Int64Array::from_iter_values(rows.clone()))),
        ("a", Arc::new(Int64Array::from_iter_values(rows.clone().map(|row| row * 7 % 1000)))),
        ("price", Arc::new(Float64Array::from_iter_values(rows.clone().map(|row| row as f64 / 8.0)))),
        ("day", Arc::new(Date32Array::from_iter_values(rows.clone().map(|row| FIRST_DAY + (row % 1000) as i32)))),
        ("label", Arc::new(StringViewArray::from_iter_values(rows.map(|row| format!("label {}", row % 100))))),
    ];
    Ok(RecordBatch::try_from_iter(columns)?)
}

/// The INSERT statement of one append.
fn statement(start: i64) -> String {
    let row = |row: i64| {
        let (price, month, day) = (row as f64 / 8.0, row % 12 + 1, row % 28 + 1);
        format!("({row}, {}, {price:?}, DATE '1995-{month:02}-{day:02}', 'label {}')", row * 7 % 1000, row % 100)
    };
    format!("INSERT INTO t VALUES {}", (start..start + ROWS).map(row).collect::<Vec<_>>().join(", "))
}

/// Milliseconds of each batch, which an appender of its own takes.
fn each(connection: &Connection, starts: &[i64]) -> Outcome<Vec<f64>> {
    let mut times = Vec::with_capacity(starts.len());
    for start in starts {
        let batch = batch(*start)?;
        let begin = Instant::now();
        let mut appender = connection.appender("t")?;
        appender.append_batch(batch)?;
        appender.finish()?;
        times.push(begin.elapsed().as_secs_f64() * 1e3);
    }
    Ok(times)
}

/// Milliseconds of all batches, which one appender takes.
fn one(connection: &Connection, starts: &[i64]) -> Outcome<Vec<f64>> {
    let batches = starts.iter().map(|start| batch(*start)).collect::<Outcome<Vec<_>>>()?;
    let begin = Instant::now();
    let mut appender = connection.appender("t")?;
    batches.into_iter().try_for_each(|batch| appender.append_batch(batch))?;
    appender.finish()?;
    Ok(vec![begin.elapsed().as_secs_f64() * 1e3])
}

/// Milliseconds of each INSERT.
fn text(connection: &Connection, starts: &[i64]) -> Outcome<Vec<f64>> {
    let mut times = Vec::with_capacity(starts.len());
    for start in starts {
        let sql = statement(*start);
        let begin = Instant::now();
        connection.execute(&sql)?;
        times.push(begin.elapsed().as_secs_f64() * 1e3);
    }
    Ok(times)
}

/// What the table holds: records, the sum of their numbers, and of their prices.
fn found(connection: &Connection) -> Outcome<(i64, i64, f64)> {
    let batches = connection.query("SELECT count(*), sum(id + a), sum(price) FROM t")?.collect_batches()?;
    let columns = batches.first().ok_or("no answer")?.columns().to_vec();
    let integer = |at: usize| columns[at].as_primitive::<Int64Type>().value(0);
    Ok((integer(0), integer(1), columns[2].as_primitive::<Float64Type>().value(0)))
}
