//! Results as rows of text that can be compared and kept as golden files.
//!
//! Numbers, dates and strings must be equal; a decimal may have more digits behind the point, by which it is the other. Floats, of which
//! Gingham's own answers have none, may differ by [`FLOAT_TOLERANCE`]. Where a query's ORDER BY leaves the order of some
//! rows open, the columns it sorts by must be equal in order and the rows as a set.

use super::queries::tied_by;
use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use gingham_reference::Reference;
use std::borrow::Cow;

/// How far two floats may differ, relative to the larger.
pub const FLOAT_TOLERANCE: f64 = 1e-9;

/// A value as text; None is NULL.
type Cell = Option<String>;

/// How a column's cells compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CellKind {
    /// As text.
    Text,
    /// As an exact number.
    Number,
    /// As a float.
    Float,
}

/// A query's result.
#[derive(Debug, Clone)]
pub struct QueryAnswer {
    columns: Vec<String>,
    kinds: Vec<CellKind>,
    rows: Vec<Vec<Cell>>,
}

impl QueryAnswer {
    /// DataFusion's answer to a query.
    pub fn of_datafusion(reference: &Reference, sql: &str) -> gingham_reference::Result<Self> {
        let (schema, batches) = reference.query(sql)?;
        Ok(Self::new(&schema, &batches)?)
    }

    /// The rows of `batches`, which have `schema`.
    pub fn new(schema: &Schema, batches: &[RecordBatch]) -> Result<Self, ArrowError> {
        let columns = schema.fields().iter().map(|field| field.name().clone()).collect();
        let kinds = schema
            .fields()
            .iter()
            .map(|field| match field.data_type() {
                data_type if data_type.is_floating() => CellKind::Float,
                data_type if data_type.is_numeric() => CellKind::Number,
                _ => CellKind::Text,
            })
            .collect();
        let options = FormatOptions::default();
        let mut rows = Vec::new();
        for batch in batches {
            let formatters = batch
                .columns()
                .iter()
                .map(|column| ArrayFormatter::try_new(column.as_ref(), &options))
                .collect::<Result<Vec<_>, _>>()?;
            for row in 0..batch.num_rows() {
                let cells = batch.columns().iter().zip(&formatters);
                let cells = cells.map(|(column, text)| column.is_valid(row).then(|| text.value(row).to_string()));
                rows.push(cells.collect());
            }
        }
        Ok(Self { columns, kinds, rows })
    }

    /// Column names.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Rows of cells as text; None is NULL.
    pub fn rows(&self) -> &[Vec<Option<String>>] {
        &self.rows
    }

    /// Checks that `actual`, a result of query `number`, is this answer. The error says where it is not.
    pub fn check(&self, number: usize, actual: &Self) -> Result<(), String> {
        if self.columns != actual.columns {
            return Err(format!("expected columns {:?}, found {:?}", self.columns, actual.columns));
        }
        if self.rows.len() != actual.rows.len() {
            return Err(format!("expected {} rows, found {}", self.rows.len(), actual.rows.len()));
        }
        let kinds = &actual.kinds;
        let Some(keys) = tied_by(number) else {
            return check_rows(&self.columns, kinds, &self.rows, &actual.rows, |column| column);
        };
        let pick = |rows: &[Vec<Cell>]| -> Vec<Vec<Cell>> {
            rows.iter().map(|row| keys.iter().map(|&key| row[key].clone()).collect()).collect()
        };
        check_rows(&self.columns, kinds, &pick(&self.rows), &pick(&actual.rows), |column| keys[column])?;
        let (mut expected, mut found) = (self.rows.clone(), actual.rows.clone());
        sort_rows(kinds, &mut expected);
        sort_rows(kinds, &mut found);
        check_rows(&self.columns, kinds, &expected, &found, |column| column).map_err(|error| format!("sorted, {error}"))
    }

    /// As CSV with a header line: NULL is empty, an empty string is quoted.
    pub fn to_csv(&self) -> String {
        let mut text = self.columns.join(",") + "\n";
        for row in &self.rows {
            let cells: Vec<_> = row.iter().map(|cell| cell.as_deref().map_or(Cow::Borrowed(""), quoted)).collect();
            text += &cells.join(",");
            text.push('\n');
        }
        text
    }

    /// From CSV as [`QueryAnswer::to_csv`] writes it.
    pub fn from_csv(text: &str) -> Result<Self, String> {
        let mut records = parse_csv(text)?.into_iter();
        let header = records.next().ok_or("an answer file without a header line")?;
        let columns: Vec<String> = header.into_iter().flatten().collect();
        let kinds = vec![CellKind::Text; columns.len()];
        let rows: Vec<_> = records.collect();
        match rows.iter().position(|row| row.len() != columns.len()) {
            Some(row) => Err(format!("row {} has {} cells for {} columns", row + 1, rows[row].len(), columns.len())),
            None => Ok(Self { columns, kinds, rows }),
        }
    }
}

/// Compares rows cell by cell; `name` maps a cell's place to its column.
fn check_rows(
    columns: &[String],
    kinds: &[CellKind],
    expected: &[Vec<Cell>],
    actual: &[Vec<Cell>],
    name: impl Fn(usize) -> usize,
) -> Result<(), String> {
    for (row, (expected, actual)) in expected.iter().zip(actual).enumerate() {
        for (place, (expected, actual)) in expected.iter().zip(actual).enumerate() {
            let column = name(place);
            if !same(kinds[column], expected.as_deref(), actual.as_deref()) {
                let show = |cell: &Cell| cell.as_ref().map_or("NULL".to_string(), |text| format!("'{text}'"));
                return Err(format!(
                    "row {}, column {}: expected {}, found {}",
                    row + 1,
                    columns[column],
                    show(expected),
                    show(actual)
                ));
            }
        }
    }
    Ok(())
}

fn same(kind: CellKind, expected: Option<&str>, actual: Option<&str>) -> bool {
    let (Some(expected), Some(actual)) = (expected, actual) else {
        return expected == actual;
    };
    match kind {
        CellKind::Text => expected == actual,
        CellKind::Number => shortest(expected) == shortest(actual) || same_digits(expected, actual),
        CellKind::Float => match (expected.parse::<f64>(), actual.parse::<f64>()) {
            (Ok(a), Ok(b)) => a == b || (a - b).abs() <= FLOAT_TOLERANCE * a.abs().max(b.abs()),
            _ => expected == actual,
        },
    }
}

/// Whether the number with more digits behind the point is the other one when it is cut or rounded to as many: a mean has
/// six digits in DataFusion, the last of them cut, and sixteen here.
fn same_digits(expected: &str, actual: &str) -> bool {
    let digits = |number: &str| number.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let (short, long) = if digits(expected) < digits(actual) { (expected, actual) } else { (actual, expected) };
    let digits_of_short = digits(short);
    let unscaled = |number: &str| number.replace('.', "").parse::<i128>().ok();
    let more = (digits(long) - digits(short)) as u32;
    let (Some(short), Some(long), Some(unit)) = (unscaled(short), unscaled(long), 10i128.checked_pow(more)) else {
        return false;
    };
    let (cut, rest) = (long / unit, long % unit);
    let up = if rest.abs() * 2 >= unit { long.signum() } else { 0 };
    let is_mean = digits_of_short >= 6;
    more > 0 && is_mean && (short == cut || short == cut + up)
}

/// A number without the zeros that end its fraction.
fn shortest(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

fn sort_rows(kinds: &[CellKind], rows: &mut [Vec<Cell>]) {
    rows.sort_by_cached_key(|row| {
        let cells = row.iter().zip(kinds).map(|(cell, kind)| match kind {
            CellKind::Number => cell.as_deref().map(|text| shortest(text).to_string()),
            CellKind::Text | CellKind::Float => cell.clone(),
        });
        cells.collect::<Vec<_>>()
    });
}

fn quoted(cell: &str) -> Cow<'_, str> {
    if cell.is_empty() || cell.contains([',', '"', '\n', '\r']) {
        Cow::Owned(format!("\"{}\"", cell.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(cell)
    }
}

/// Records of cells; an empty cell without quotes is NULL.
fn parse_csv(text: &str) -> Result<Vec<Vec<Cell>>, String> {
    let mut records = Vec::new();
    let mut record = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let cell;
        if let Some(mut inside) = rest.strip_prefix('"') {
            let mut value = String::new();
            loop {
                let quote = inside.find('"').ok_or("a quoted cell has no end")?;
                value += &inside[..quote];
                inside = &inside[quote + 1..];
                match inside.strip_prefix('"') {
                    Some(after) => {
                        value.push('"');
                        inside = after;
                    }
                    None => break,
                }
            }
            (cell, rest) = (Some(value), inside);
        } else {
            let end = rest.find([',', '\n']).unwrap_or(rest.len());
            cell = (end > 0).then(|| rest[..end].to_string());
            rest = &rest[end..];
        }
        record.push(cell);
        match rest.chars().next() {
            Some(',') => rest = &rest[1..],
            Some('\n') => {
                rest = &rest[1..];
                records.push(std::mem::take(&mut record));
            }
            Some(other) => return Err(format!("'{other}' after a quoted cell")),
            None => return Err("the last line has no end".to_string()),
        }
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(kinds: &[CellKind], rows: &[&[&str]]) -> QueryAnswer {
        let rows = rows.iter().map(|row| row.iter().map(|cell| Some(cell.to_string())).collect()).collect();
        let columns = (0..kinds.len()).map(|column| format!("c{column}")).collect();
        QueryAnswer { columns, kinds: kinds.to_vec(), rows }
    }

    #[test]
    fn numbers_compare_as_numbers_and_text_as_text() {
        use CellKind::{Float, Number, Text};
        let check = |kind, a: &str, b: &str| answer(&[kind], &[&[a]]).check(1, &answer(&[kind], &[&[b]])).is_ok();
        assert!(check(Number, "1.50", "1.5"));
        assert!(check(Number, "100", "100.00"));
        assert!(!check(Number, "100", "1"));
        assert!(!check(Number, "1.50", "1.501"));
        assert!(!check(Text, "1.50", "1.5"));
        assert!(check(Float, "1.0000000000001", "1"));
        assert!(!check(Float, "1.00001", "1"));
    }

    #[test]
    fn order_matters_unless_tied() {
        let kinds = [CellKind::Text, CellKind::Number, CellKind::Text];
        let a = answer(&kinds, &[&["x", "2", "d"], &["y", "2", "d"], &["z", "1", "d"]]);
        let tied = answer(&kinds, &[&["y", "2.0", "d"], &["x", "2", "d"], &["z", "1", "d"]]);
        let unsorted = answer(&kinds, &[&["z", "1", "d"], &["x", "2", "d"], &["y", "2", "d"]]);
        assert_eq!(a.check(3, &tied), Ok(()));
        assert_eq!(a.check(3, &unsorted), Err("row 1, column c1: expected '2', found '1'".to_string()));
        assert_eq!(a.check(1, &tied), Err("row 1, column c0: expected 'x', found 'y'".to_string()));
        let other = answer(&kinds, &[&["x", "2", "d"], &["w", "2", "d"], &["z", "1", "d"]]);
        assert!(a.check(3, &other).unwrap_err().starts_with("sorted, row"));
    }

    #[test]
    fn csv_round_trips() {
        let mut original = answer(&[CellKind::Text; 3], &[&["a,b", "say \"x\"\nthen", ""], &["1", "2", "3"]]);
        original.rows[1][1] = None;
        let read = QueryAnswer::from_csv(&original.to_csv()).unwrap();
        assert_eq!((read.columns, read.rows), (original.columns, original.rows));
        for bad in ["a,b\n1\n", "a\n\"x\n", "a\n\"x\"y\n", "a\n1", ""] {
            assert!(QueryAnswer::from_csv(bad).is_err(), "{bad:?}");
        }
    }
}
