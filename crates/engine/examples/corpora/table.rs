//! Rows as text, from Gingham or from PostgreSQL, and when two of them are the same answer.

use crate::interval;
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Int64Type, Schema};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use serde_json::{Value, json};
use std::cmp::Ordering;

/// A row: `None` is NULL.
pub type Row = Vec<Option<String>>;

/// The rows of an answer.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// What each column holds: `B` booleans, `I` integers, `N` decimals, `F` and `f` floats of 64 and 32 bits, `T` text,
    /// `D` dates and times, `X` bytes, `?` anything else.
    pub kinds: Vec<char>,
    pub rows: Vec<Row>,
}

impl Table {
    /// The rows of Gingham's batches.
    pub fn of(schema: &Schema, batches: &[RecordBatch]) -> Self {
        let kinds: Vec<char> = schema.fields().iter().map(|field| kind(field.data_type())).collect();
        let mut rows = Vec::new();
        for batch in batches {
            let columns: Vec<Row> =
                batch.columns().iter().zip(&kinds).map(|(column, kind)| texts(column, *kind)).collect();
            rows.extend((0..batch.num_rows()).map(|row| columns.iter().map(|column| column[row].clone()).collect()));
        }
        Self { kinds, rows }
    }

    pub fn to_json(&self) -> Value {
        json!([self.kinds.iter().collect::<String>(), self.rows])
    }

    pub fn from_json(value: &Value) -> Option<Self> {
        let kinds = value.get(0)?.as_str()?.chars().collect();
        let row = |row: &Value| -> Option<Row> {
            Some(row.as_array()?.iter().map(|cell| cell.as_str().map(str::to_owned)).collect())
        };
        let rows = value.get(1)?.as_array()?.iter().map(row).collect::<Option<Vec<Row>>>()?;
        Some(Self { kinds, rows })
    }

    /// Whether the rows at the same places are the same.
    pub fn equals_in_order(&self, other: &Self) -> bool {
        self.same_shape(other) && self.rows.iter().zip(&other.rows).all(|(a, b)| self.row_equals(a, other, b))
    }

    /// Whether the rows are the same in some order.
    pub fn equals_as_bag(&self, other: &Self) -> bool {
        if !self.same_shape(other) {
            return false;
        }
        self.equals_in_order(other) || self.sorted().equals_in_order(&other.sorted())
    }

    /// The columns at `places` alone.
    pub fn columns(&self, places: &[usize]) -> Self {
        let rows = self.rows.iter().map(|row| places.iter().map(|place| row[*place].clone()).collect()).collect();
        Self { kinds: places.iter().map(|place| self.kinds[*place]).collect(), rows }
    }

    fn same_shape(&self, other: &Self) -> bool {
        self.rows.len() == other.rows.len() && self.kinds.len() == other.kinds.len()
    }

    fn row_equals(&self, a: &Row, other: &Self, b: &Row) -> bool {
        let kinds = self.kinds.iter().zip(&other.kinds);
        a.iter().zip(b).zip(kinds).all(|((a, b), (of_a, of_b))| match (a, b) {
            (None, None) => true,
            (Some(a), Some(b)) => same(a, *of_a, b, *of_b),
            _ => false,
        })
    }

    /// This table's rows in an order that does not depend on who gave them.
    pub fn sorted(&self) -> Self {
        let mut rows = self.rows.clone();
        rows.sort_by(|a, b| {
            a.iter().zip(b).map(|(a, b)| order(a, b)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        });
        Self { kinds: self.kinds.clone(), rows }
    }
}

/// An order in which equal values are neighbours, also when their text is not the same.
fn order(a: &Option<String>, b: &Option<String>) -> Ordering {
    let number = |text: &Option<String>| text.as_ref().and_then(|text| text.parse::<f64>().ok());
    match (number(a), number(b)) {
        (Some(x), Some(y)) if close(x, y, 1e-9) => Ordering::Equal,
        (Some(x), Some(y)) => x.total_cmp(&y),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// Whether two numbers are the same but for rounding.
pub fn close(a: f64, b: f64, within: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= within * a.abs().max(b.abs()).max(1e-3)
}

fn same(a: &str, of_a: char, b: &str, of_b: char) -> bool {
    if a == b {
        return true;
    }
    if of_a == 'D' && of_b == 'D' {
        // A date is the timestamp at which it begins.
        let date = |text: &str| text.strip_suffix(" 00:00:00").unwrap_or(text).to_owned();
        return date(a) == date(b);
    }
    let numeric = |kind| matches!(kind, 'I' | 'N' | 'F' | 'f');
    if !numeric(of_a) && !numeric(of_b) {
        let nested = matches!((of_a, of_b), ('?', _) | (_, '?'));
        return nested && (same_parts(a, b) || same_interval(a, b));
    }
    let (Ok(x), Ok(y)) = (a.parse::<f64>(), b.parse::<f64>()) else { return false };
    if of_a == 'f' || of_b == 'f' {
        return close(x, y, 2e-6);
    }
    if a.parse::<i128>().is_ok() && b.parse::<i128>().is_ok() {
        return false;
    }
    // A quotient or a mean is a decimal of a few digits in one program, of more in another.
    let digits = |text: &str| text.split_once('.').map_or(0, |(_, digits)| digits.len() as i32);
    let scale = digits(a).min(digits(b));
    let decimals = (of_a == 'N' || of_b == 'N') && scale >= 4;
    close(x, y, 1e-9) || (decimals && (x - y).abs() <= 10f64.powi(-scale))
}

fn same_interval(a: &str, b: &str) -> bool {
    match (interval::seconds(a), interval::seconds(b)) {
        (Some(a), Some(b)) => (a - b).abs() < 1e-5,
        _ => false,
    }
}

/// Whether two nested values have the same parts.
fn same_parts(a: &str, b: &str) -> bool {
    let (a, b) = (bare(a), bare(b));
    let number = |text: &str| text.parse::<f64>().ok();
    let same = |a: &String, b: &String| match (number(a), number(b)) {
        (Some(x), Some(y)) => close(x, y, 1e-9),
        _ => a == b,
    };
    a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| same(a, b))
}

/// The parts of a nested value without the names of fields, and without the signs in which PostgreSQL and Arrow differ.
fn bare(text: &str) -> Vec<String> {
    let parts = text.split(',').map(|part| {
        let part: String = part.chars().filter(|c| !"[]{}()\"' ".contains(*c)).collect();
        let value = match part.split_once(':') {
            // Times have colons as well.
            Some((name, value)) if !name.ends_with(|c: char| c.is_ascii_digit()) || name.starts_with('c') => value,
            _ => &part,
        };
        match value.to_ascii_lowercase().as_str() {
            "t" => "true".to_owned(),
            "f" => "false".to_owned(),
            "null" => String::new(),
            other => other.to_owned(),
        }
    });
    parts.collect()
}

fn kind(data_type: &DataType) -> char {
    match data_type {
        DataType::Boolean => 'B',
        DataType::Float32 => 'f',
        DataType::Float64 => 'F',
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => 'T',
        DataType::Decimal128(..) | DataType::Decimal256(..) => 'N',
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => 'X',
        DataType::Dictionary(_, values) => kind(values),
        other if other.is_integer() => 'I',
        DataType::Date32 | DataType::Date64 | DataType::Time32(_) | DataType::Time64(_) | DataType::Timestamp(..) => {
            'D'
        }
        _ => '?',
    }
}

fn texts(column: &ArrayRef, kind: char) -> Row {
    let options = FormatOptions::default().with_null("NULL");
    let Ok(formatter) = ArrayFormatter::try_new(column, &options) else {
        return vec![Some("(no text)".to_owned()); column.len()];
    };
    let text = |row: usize| {
        let shown = formatter.value(row).try_to_string();
        let text = shown.unwrap_or_else(|error| infinite(column, row).map_or(error.to_string(), str::to_owned));
        match kind {
            'X' => format!("0x{text}"),
            'F' | 'f' => text.replace("inf", "Infinity"),
            'D' => plain_time(&text),
            _ => text,
        }
    };
    // An array of NULLs alone has no bits that say so.
    let nulls = column.logical_nulls();
    let is_null = |row: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
    (0..column.len()).map(|row| (!is_null(row)).then(|| text(row))).collect()
}

/// The text of an infinite date or timestamp, for which Arrow has none.
fn infinite(column: &ArrayRef, row: usize) -> Option<&'static str> {
    if matches!(column.data_type(), DataType::Time64(_)) {
        // The end of the day, where no clock goes.
        return Some("24:00:00");
    }
    let (least, greatest) = match column.data_type() {
        DataType::Date32 => (i32::MIN.into(), i32::MAX.into()),
        DataType::Timestamp(..) => (i64::MIN, i64::MAX),
        _ => return None,
    };
    let number = arrow::compute::cast(&column.slice(row, 1), &DataType::Int64).ok()?;
    match number.as_primitive::<Int64Type>().value(0) {
        own if own == greatest => Some("infinity"),
        own if own == least => Some("-infinity"),
        _ => None,
    }
}

/// A date or time with a blank between its parts, and no zeros at the end of its fraction.
pub fn plain_time(text: &str) -> String {
    let text = text.strip_prefix('+').unwrap_or(text).replacen('T', " ", 1);
    if let Some((year, rest)) = text.strip_prefix('-').and_then(|text| text.split_once('-'))
        && let Ok(year) = year.parse::<u32>()
    {
        return format!("{:04}-{} BC", year + 1, plain_time(rest));
    }
    let text = text.strip_suffix('Z').map_or(text.clone(), |text| format!("{text}+00"));
    match text.split_once('.') {
        Some((whole, fraction)) => {
            let end = fraction.find(|c: char| !c.is_ascii_digit()).unwrap_or(fraction.len());
            let (digits, zone) = fraction.split_at(end);
            let digits = digits.trim_end_matches('0');
            format!("{whole}{}{digits}{zone}", if digits.is_empty() { "" } else { "." })
        }
        None => text,
    }
}
