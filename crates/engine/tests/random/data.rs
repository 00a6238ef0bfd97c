//! A table with a column for each way that values are stored: narrow and wide integers, decimals past 64 bits, floats of
//! few and of many decimals, strings that recur and strings that do not.

use super::generator::Generator;
use arrow::array::{
    ArrayRef, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int32Array,
    Int64Array, RecordBatch, StringViewArray, TimestampMicrosecondArray, UInt8Array,
};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use std::sync::Arc;

/// The table's definition in SQL, as [`schema`] has it in Arrow.
pub const CREATE_TABLE: &str = "CREATE TABLE t (
    id BIGINT NOT NULL, i INTEGER, b BIGINT, u TINYINT UNSIGNED, dec DECIMAL(12,2), wide DECIMAL(38,4),
    x DOUBLE, y REAL, cents DOUBLE, few VARCHAR, many VARCHAR, bytes BINARY, day DATE, at TIMESTAMP(6), flag BOOLEAN)";

/// The table's columns.
pub fn schema() -> SchemaRef {
    let nullable = [
        ("i", DataType::Int32),
        ("b", DataType::Int64),
        ("u", DataType::UInt8),
        ("dec", DataType::Decimal128(12, 2)),
        ("wide", DataType::Decimal128(38, 4)),
        ("x", DataType::Float64),
        ("y", DataType::Float32),
        ("cents", DataType::Float64),
        ("few", DataType::Utf8View),
        ("many", DataType::Utf8View),
        ("bytes", DataType::BinaryView),
        ("day", DataType::Date32),
        ("at", DataType::Timestamp(TimeUnit::Microsecond, None)),
        ("flag", DataType::Boolean),
    ];
    let id = Field::new("id", DataType::Int64, false);
    let rest = nullable.into_iter().map(|(name, data_type)| Field::new(name, data_type, true));
    Arc::new(Schema::new([id].into_iter().chain(rest).collect::<Vec<_>>()))
}

const FEW: &[&str] = &["", "Aachen", "Oslo", "Paris", "Rome", "a%b", "a_b", "naïve", "Ärger", "東京"];

/// `rows` random records, their ids from `first`. Ranges and the share of NULLs are drawn anew for each batch, so that
/// segments differ in base, width and dictionary.
pub fn batch(generator: &mut Generator, first: i64, rows: usize) -> RecordBatch {
    let ids = Int64Array::from_iter_values(first..first + rows as i64);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(ids),
        integers(generator, rows),
        longs(generator, rows),
        Arc::new(column(generator, rows, |g| g.between(0, 255) as u8).into_iter().collect::<UInt8Array>()),
        decimals(generator, rows),
        wide(generator, rows),
        doubles(generator, rows),
        reals(generator, rows),
        Arc::new(
            column(generator, rows, |g| g.between(-500, 500) as f64 / 100.0).into_iter().collect::<Float64Array>(),
        ),
        few(generator, rows),
        many(generator, rows),
        bytes(generator, rows),
        days(generator, rows),
        times(generator, rows),
        Arc::new(column(generator, rows, |g| g.chance(30)).into_iter().collect::<BooleanArray>()),
    ];
    RecordBatch::try_new(schema(), columns).expect("each column has its type")
}

/// `rows` values, a random share of them NULL.
fn column<T>(generator: &mut Generator, rows: usize, mut value: impl FnMut(&mut Generator) -> T) -> Vec<Option<T>> {
    let nulls = *generator.pick(&[0, 0, 10, 50, 100]);
    (0..rows).map(|_| (!generator.chance(nulls)).then(|| value(generator))).collect()
}

fn integers(generator: &mut Generator, rows: usize) -> ArrayRef {
    let (low, high) =
        *generator.pick(&[(0, 10), (-100, 100), (1000, 1000), (-2_147_483_648, 2_147_483_647), (0, 70_000)]);
    Arc::new(column(generator, rows, |g| g.between(low, high) as i32).into_iter().collect::<Int32Array>())
}

fn longs(generator: &mut Generator, rows: usize) -> ArrayRef {
    let (low, high) =
        *generator.pick(&[(0, 100), (1 << 40, (1 << 40) + 9), (i64::MIN + 1, i64::MAX - 1), (-5_000_000_000, 5)]);
    Arc::new(column(generator, rows, |g| g.between(low, high)).into_iter().collect::<Int64Array>())
}

fn days(generator: &mut Generator, rows: usize) -> ArrayRef {
    let (low, high) = *generator.pick(&[(-800, 20_000), (9000, 9400), (-30, 30)]);
    Arc::new(column(generator, rows, |g| g.between(low, high) as i32).into_iter().collect::<Date32Array>())
}

fn decimals(generator: &mut Generator, rows: usize) -> ArrayRef {
    let values = column(generator, rows, |g| i128::from(g.between(-20_000, 20_000)));
    Arc::new(values.into_iter().collect::<Decimal128Array>().with_precision_and_scale(12, 2).expect("12 digits"))
}

/// Some batches exceed 64 bits, some do not.
fn wide(generator: &mut Generator, rows: usize) -> ArrayRef {
    let factor = *generator.pick(&[1, 1_i128 << 64, 10_i128.pow(30)]);
    let values = column(generator, rows, |g| i128::from(g.between(-1000, 1000)) * factor);
    Arc::new(values.into_iter().collect::<Decimal128Array>().with_precision_and_scale(38, 4).expect("38 digits"))
}

fn doubles(generator: &mut Generator, rows: usize) -> ArrayRef {
    // -0.0 is stored as 0.0 (docs/decisions/0002), so that the oracle, which keeps it, would show another value.
    let value = |g: &mut Generator| match g.between(0, 9) {
        0 => *g.pick(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, f64::MIN_POSITIVE]),
        1..=4 => g.between(-50, 50) as f64,
        _ => g.between(-1_000_000, 1_000_000) as f64 / 7.0,
    };
    Arc::new(column(generator, rows, value).into_iter().collect::<Float64Array>())
}

fn reals(generator: &mut Generator, rows: usize) -> ArrayRef {
    let values = column(generator, rows, |g| g.between(-1000, 1000) as f32 / 3.0);
    Arc::new(values.into_iter().collect::<Float32Array>())
}

fn few(generator: &mut Generator, rows: usize) -> ArrayRef {
    let count = generator.between(1, FEW.len() as i64) as usize;
    let start = generator.between(0, (FEW.len() - count) as i64) as usize;
    let choices = &FEW[start..start + count];
    Arc::new(column(generator, rows, |g| *g.pick(choices)).into_iter().collect::<StringViewArray>())
}

fn many(generator: &mut Generator, rows: usize) -> ArrayRef {
    let values = column(generator, rows, |g| format!("customer#{:06} {}", g.between(0, 99_999), g.pick(FEW)));
    Arc::new(values.into_iter().collect::<StringViewArray>())
}

fn bytes(generator: &mut Generator, rows: usize) -> ArrayRef {
    let values = column(generator, rows, |g| {
        let length = g.between(0, 20);
        (0..length).map(|_| g.between(0, 3) as u8 * 85).collect::<Vec<u8>>()
    });
    Arc::new(values.into_iter().collect::<BinaryViewArray>())
}

fn times(generator: &mut Generator, rows: usize) -> ArrayRef {
    let values = column(generator, rows, |g| g.between(-1_000_000, 1_000_000) * 61_000_003);
    Arc::new(values.into_iter().collect::<TimestampMicrosecondArray>())
}
