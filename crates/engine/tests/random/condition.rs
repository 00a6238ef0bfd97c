//! Random conditions in SQL. Constants are mostly values of the table, or next to one, so that they select something.

use super::generator::Generator;
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, TimestampMicrosecondType};
use arrow::util::display::{ArrayFormatter, FormatOptions};

const COMPARISONS: &[&str] = &["=", "<>", "<", "<=", ">", ">="];
const COLUMNS: &[&str] =
    &["id", "i", "b", "u", "dec", "wide", "x", "y", "cents", "few", "many", "bytes", "day", "at", "flag"];

/// A condition over the columns of `batches`, nested at most `depth` deep.
pub fn condition(generator: &mut Generator, batches: &[RecordBatch], depth: usize) -> String {
    if depth > 0 && generator.chance(55) {
        let left = condition(generator, batches, depth - 1);
        return match generator.between(0, 4) {
            0 => format!("NOT ({left})"),
            1 | 2 => format!("({left}) AND ({})", condition(generator, batches, depth - 1)),
            _ => format!("({left}) OR ({})", condition(generator, batches, depth - 1)),
        };
    }
    leaf(generator, batches)
}

fn leaf(generator: &mut Generator, batches: &[RecordBatch]) -> String {
    let column = *generator.pick(COLUMNS);
    match generator.between(0, 9) {
        0 => format!("{column} IS {}NULL", generator.pick(&["", "NOT "])),
        1 | 2 if column != "flag" => between(generator, batches, column),
        3 | 4 if column != "flag" => list(generator, batches, column),
        5 if column == "few" || column == "many" => like(generator, column),
        5 | 6 => function(generator),
        7 => {
            format!("({}) IS {}", compare(generator, batches, column), generator.pick(&["TRUE", "NOT TRUE", "UNKNOWN"]))
        }
        _ => compare(generator, batches, column),
    }
}

fn compare(generator: &mut Generator, batches: &[RecordBatch], column: &str) -> String {
    let operator = *generator.pick(COMPARISONS);
    let constant = constant(generator, batches, column);
    if generator.chance(20) {
        format!("{constant} {operator} {column}")
    } else {
        format!("{column} {operator} {constant}")
    }
}

fn between(generator: &mut Generator, batches: &[RecordBatch], column: &str) -> String {
    let not = generator.pick(&["", "", "NOT "]);
    let (low, high) = (constant(generator, batches, column), constant(generator, batches, column));
    format!("{column} {not}BETWEEN {low} AND {high}")
}

fn list(generator: &mut Generator, batches: &[RecordBatch], column: &str) -> String {
    let not = generator.pick(&["", "", "NOT "]);
    let count = generator.between(1, 6);
    let mut constants: Vec<String> = (0..count).map(|_| constant(generator, batches, column)).collect();
    // Lists find both zeros here, but just one of them in DataFusion: docs/decisions/0002.
    for zero in constants.iter_mut().filter(|constant| is_float_zero(constant)) {
        *zero = "CAST('1' AS DOUBLE)".to_owned();
    }
    if generator.chance(10) {
        constants.push("NULL".to_owned());
    }
    format!("{column} {not}IN ({})", constants.join(", "))
}

/// Whether a constant is `CAST('0.0' AS DOUBLE)` or the like.
fn is_float_zero(constant: &str) -> bool {
    let number = constant.strip_prefix("CAST('").and_then(|rest| rest.split('\'').next());
    number.and_then(|number| number.parse().ok()) == Some(0.0)
}

fn like(generator: &mut Generator, column: &str) -> String {
    let not = generator.pick(&["", "", "NOT "]);
    let pattern =
        generator.pick(&["%o%", "A%", "%s", "a\\_b", "a%b%", "_____", "", "%", "%00%7%", "customer#0%", "東%", "%é%"]);
    format!("{column} {not}LIKE '{pattern}'")
}

fn function(generator: &mut Generator) -> String {
    (*generator.pick(&[
        "substr(few, 1, 1) = 'R'",
        "upper(few) IN ('ROME', 'OSLO')",
        "character_length(few) > 4",
        "coalesce(few, 'none') = 'none'",
        "few || 'x' < 'Paris'",
        "starts_with(many, 'customer#00')",
        "abs(dec) > 100",
        "i % 3 = 1",
        "u + 1 > 100",
        "extract(year FROM day) = 1999",
        "x * 2 > y",
        "dec > cents",
        "flag",
        "NOT flag",
        "flag = (u > 100)",
        "true",
        "NULL",
    ]))
    .to_owned()
}

/// A constant of the column's type: a value of it, sometimes one that is next to it.
fn constant(generator: &mut Generator, batches: &[RecordBatch], column: &str) -> String {
    let batch = generator.pick(batches);
    let values = batch.column_by_name(column).expect("a column of the table");
    let row = generator.between(0, values.len() as i64 - 1) as usize;
    if values.is_null(row) {
        return fallback(values);
    }
    let near = if generator.chance(30) { generator.between(-1, 1) } else { 0 };
    match values.data_type() {
        DataType::Utf8View => format!("'{}{}'", values.as_string_view().value(row), if near > 0 { "a" } else { "" }),
        DataType::BinaryView => format!("X'{}'", shown(values, row)),
        DataType::Date32 => {
            let day = values.as_primitive::<Date32Type>().value_as_date(row).expect("a date of this era");
            format!("DATE '{day}'")
        }
        DataType::Timestamp(..) => {
            let at = values.as_primitive::<TimestampMicrosecondType>().value_as_datetime(row).expect("this era");
            format!("TIMESTAMP '{}'", at.format("%Y-%m-%dT%H:%M:%S%.6f"))
        }
        DataType::Float64 => double(values.as_primitive::<Float64Type>().value(row) + near as f64),
        DataType::Float32 => format!("CAST('{:?}' AS REAL)", values.as_primitive::<Float32Type>().value(row)),
        DataType::Decimal128(_, scale) => {
            let value = values.as_primitive::<Decimal128Type>().value(row) + i128::from(near);
            decimal(value, *scale as u32, generator.chance(15))
        }
        _ if near == 0 => shown(values, row),
        DataType::Int64 | DataType::Boolean => shown(values, row),
        _ => (shown(values, row).parse::<i64>().unwrap_or_default() + near).to_string(),
    }
}

/// A constant for a column whose value is NULL.
fn fallback(values: &ArrayRef) -> String {
    match values.data_type() {
        DataType::Utf8View => "'Oslo'",
        DataType::BinaryView => "X'00'",
        DataType::Date32 => "DATE '2000-01-01'",
        DataType::Timestamp(..) => "TIMESTAMP '1980-01-01T00:00:00'",
        DataType::Float32 | DataType::Float64 => "CAST('0' AS DOUBLE)",
        DataType::Boolean => "true",
        _ => "5",
    }
    .to_owned()
}

fn shown(values: &ArrayRef, row: usize) -> String {
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(values, &options).expect("Arrow can show the table's types");
    formatter.value(row).to_string()
}

fn double(value: f64) -> String {
    format!("CAST('{value:?}' AS DOUBLE)")
}

/// The decimal's digits, sometimes with one more than its column has.
fn decimal(value: i128, scale: u32, finer: bool) -> String {
    let divisor = 10_i128.pow(scale);
    let sign = if value < 0 { "-" } else { "" };
    let (whole, fraction) = (value.abs() / divisor, value.abs() % divisor);
    let digits = scale as usize;
    // 38 digits are all that a decimal has.
    let more = if finer && whole < 10_i128.pow(20) { "5" } else { "" };
    format!("{sign}{whole}.{fraction:0digits$}{more}")
}
