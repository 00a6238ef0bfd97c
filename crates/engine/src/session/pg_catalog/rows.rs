//! Tables of the schema as they are filled: which columns each has is said by `columns.txt`, a table a line, each column with
//! the letter of its type. A row says what it has; the rest of its columns are 0, false or NULL.

use crate::Result;
use crate::postgres::TYPE_KEY;
use arrow::array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, Int64Builder, ListBuilder, RecordBatch, StringViewArray,
    StringViewBuilder, TimestampMicrosecondArray,
};
use arrow::datatypes::{Field, Schema};
use std::sync::Arc;

/// The schema's name.
pub(in crate::session) const SCHEMA: &str = "pg_catalog";

const COLUMNS: &str = include_str!("columns.txt");

/// A value of a row.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Null,
    Text(String),
    Number(i64),
    Truth(bool),
    Numbers(Vec<i64>),
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Option<String>> for Cell {
    fn from(text: Option<String>) -> Self {
        text.map_or(Self::Null, Self::Text)
    }
}

impl From<i64> for Cell {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<bool> for Cell {
    fn from(truth: bool) -> Self {
        Self::Truth(truth)
    }
}

impl From<Vec<i64>> for Cell {
    fn from(numbers: Vec<i64>) -> Self {
        Self::Numbers(numbers)
    }
}

/// The tables, by name.
pub(super) fn tables() -> impl Iterator<Item = &'static str> {
    COLUMNS.lines().filter_map(|line| line.split(' ').next())
}

/// The columns of a table with the letters of their types; `None` where there is no such table.
pub(super) fn columns_of(table: &str) -> Option<Vec<(&'static str, &'static str)>> {
    let line = COLUMNS.lines().find(|line| line.split(' ').next() == Some(table))?;
    Some(line.split(' ').skip(1).filter_map(|column| column.split_once(':')).collect())
}

/// A table as it is filled.
pub(super) struct Rows {
    columns: Vec<(&'static str, &'static str)>,
    rows: Vec<Vec<Cell>>,
}

impl Rows {
    /// The table of that name without rows; `None` where there is none.
    pub(super) fn of(table: &str) -> Option<Self> {
        Some(Self { columns: columns_of(table)?, rows: Vec::new() })
    }

    /// Adds a row. What it says of columns that the table does not have is of another table that is filled alike.
    pub(super) fn push<const N: usize>(&mut self, cells: [(&str, Cell); N]) {
        let mut row: Vec<Cell> = self
            .columns
            .iter()
            .map(|(_, kind)| match *kind {
                "n" | "o" | "i" | "h" | "x" => Cell::Number(0),
                "b" => Cell::Truth(false),
                _ => Cell::Null,
            })
            .collect();
        for (name, cell) in cells {
            if let Some(at) = self.columns.iter().position(|(known, _)| *known == name) {
                row[at] = cell;
            }
        }
        self.rows.push(row);
    }

    /// The rows as one batch.
    pub(super) fn batch(self) -> Result<RecordBatch> {
        let columns = self.columns.iter().enumerate().map(|(at, (name, kind))| {
            let values = array(kind, self.rows.iter().map(|row| &row[at]));
            let field = Field::new(*name, values.data_type().clone(), true);
            let told = type_of(kind).map(|oid| (TYPE_KEY.to_owned(), oid.to_string()));
            (field.with_metadata(told.into_iter().collect()), values)
        });
        let (fields, values): (Vec<_>, Vec<_>) = columns.unzip();
        Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), values)?)
    }
}

/// The number of the type that PostgreSQL's clients are told of a column with a letter, where that is not the one that values of its
/// kind have anyhow.
fn type_of(kind: &str) -> Option<i64> {
    match kind {
        "o" => Some(26),
        "i" => Some(23),
        "h" => Some(21),
        "x" => Some(28),
        "f" => Some(700),
        "v" => Some(22),
        "w" => Some(30),
        "O" => Some(1028),
        "H" => Some(1005),
        _ => None,
    }
}

fn array<'c>(kind: &str, cells: impl Iterator<Item = &'c Cell>) -> ArrayRef {
    let number = |cell: &Cell| if let Cell::Number(number) = cell { Some(*number) } else { None };
    match kind {
        "n" | "o" | "i" | "h" | "x" => Arc::new(cells.map(number).collect::<Int64Array>()),
        "r" | "f" => Arc::new(cells.map(|cell| number(cell).map(|number| number as f64)).collect::<Float64Array>()),
        "m" => Arc::new(cells.map(number).collect::<TimestampMicrosecondArray>().with_timezone("UTC")),
        "b" => {
            let truth = |cell: &Cell| if let Cell::Truth(truth) = cell { Some(*truth) } else { None };
            Arc::new(cells.map(truth).collect::<BooleanArray>())
        }
        "N" | "O" | "H" | "v" | "w" => {
            let mut lists = ListBuilder::new(Int64Builder::new());
            for cell in cells {
                if let Cell::Numbers(numbers) = cell {
                    lists.values().append_slice(numbers);
                }
                lists.append(matches!(cell, Cell::Numbers(_)));
            }
            Arc::new(lists.finish())
        }
        "T" => {
            let mut lists = ListBuilder::new(StringViewBuilder::new());
            // No row has any.
            cells.for_each(|_| lists.append(false));
            Arc::new(lists.finish())
        }
        _ => {
            fn text(cell: &Cell) -> Option<&str> {
                if let Cell::Text(text) = cell { Some(text) } else { None }
            }
            Arc::new(cells.map(text).collect::<StringViewArray>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_a_table_with_columns_of_known_types() {
        for table in tables() {
            let columns = columns_of(table).unwrap();
            assert!(!columns.is_empty(), "{table}");
            assert!(columns.iter().all(|(_, kind)| "nrmbtNToihxfvwOH".contains(kind)), "{table}: {columns:?}");
            let mut rows = Rows::of(table).unwrap();
            rows.push([]);
            assert_eq!(rows.batch().unwrap().num_rows(), 1);
        }
    }
}
