//! INSERT statements, one a row, which give the same values when they are run again.
//!
//! Numbers and truth values are bare, everything else is a text in quotes, which takes the type of the column that it is stored in. A
//! float has an exponent: without one it would be a decimal, and the float nearest to that by way of a division is at times another.

use crate::failure::Failure;
use crate::output::Display;
use crate::output::cell::{Cells, Kind, Times};
use crate::output::lines::RowFormat;
use arrow::datatypes::SchemaRef;
use gingham::quoted;

/// Writes the rows of one result.
#[derive(Debug)]
pub struct Insert {
    /// What stands before the values of each row.
    start: String,
}

impl Insert {
    /// Statements for the display's table.
    pub fn new(display: &Display, schema: &SchemaRef) -> Self {
        let mut start = format!("INSERT INTO {} ", display.insert_table);
        if display.headers {
            let names: Vec<String> = schema.fields().iter().map(|field| quoted(field.name())).collect();
            start += &format!("({}) ", names.join(", "));
        }
        start += "VALUES (";
        Self { start }
    }
}

impl RowFormat for Insert {
    fn times(&self) -> Times {
        Times::Sql
    }

    fn row(&mut self, text: &mut String, cells: &mut Cells<'_>, row: usize) -> Result<(), Failure> {
        text.push_str(&self.start);
        for column in 0..cells.len() {
            if column > 0 {
                text.push_str(", ");
            }
            let kind = cells.kind(column);
            literal(text, kind, cells.read(column, row)?);
        }
        text.push_str(");\n");
        Ok(())
    }
}

fn literal(line: &mut String, kind: Kind, value: Option<&str>) {
    match (kind, value) {
        (_, None) => line.push_str("NULL"),
        (Kind::Number | Kind::Boolean, Some(value)) => line.push_str(value),
        // Not NaN nor an infinity.
        (Kind::Float, Some(value)) if value.ends_with(|last: char| last.is_ascii_digit()) => {
            line.push_str(value);
            if !value.contains('e') {
                line.push_str("e0");
            }
        }
        (_, Some(value)) => quote(line, value),
    }
}

fn quote(line: &mut String, text: &str) {
    line.push('\'');
    for (index, part) in text.split('\'').enumerate() {
        if index > 0 {
            line.push_str("''");
        }
        line.push_str(part);
    }
    line.push('\'');
}
