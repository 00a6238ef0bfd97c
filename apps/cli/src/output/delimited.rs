//! Values with a separator between them, a row a line: CSV as RFC 4180 has it, with LF line ends; the same with tabs; and values as they
//! are, which no program can be sure to read back.

use crate::failure::Failure;
use crate::output::Display;
use crate::output::cell::{Cells, Times};
use crate::output::lines::RowFormat;
use arrow::datatypes::SchemaRef;

/// Writes the rows of one result.
#[derive(Debug)]
pub struct Delimited {
    /// The names of the columns, where they are wanted.
    names: Option<Vec<String>>,
    separator: String,
    /// What stands for NULL, without quotes: a text that is the same gets some.
    null: String,
    quotes: bool,
}

impl Delimited {
    /// Values in quotes where they would be read as something else without them.
    pub fn quoted(display: &Display, schema: &SchemaRef, separator: &str) -> Self {
        let names = || schema.fields().iter().map(|field| field.name().clone()).collect();
        Self {
            names: display.headers.then(names),
            separator: display.separator.clone().unwrap_or_else(|| separator.to_owned()),
            null: display.null.clone().unwrap_or_default(),
            quotes: true,
        }
    }

    /// Values as they are.
    pub fn bare(display: &Display, schema: &SchemaRef, separator: &str) -> Self {
        Self { quotes: false, ..Self::quoted(display, schema, separator) }
    }

    /// Whether a value would be read as something else without quotes.
    fn needs_quotes(&self, text: &str) -> bool {
        if matches!(text.as_bytes(), [] | [b' ' | b'\t', ..] | [.., b' ' | b'\t']) || text == self.null {
            return true;
        }
        // One pass over the bytes is all that most values need.
        let first = self.separator.as_bytes().first();
        let suspect = |byte: &u8| matches!(byte, b'"' | b'\n' | b'\r') || Some(byte) == first;
        text.as_bytes().iter().any(suspect) && (text.contains(['"', '\n', '\r']) || text.contains(&self.separator))
    }

    /// Appends a value, in quotes where it needs some.
    fn value(&self, line: &mut String, text: &str) {
        if !self.quotes || !self.needs_quotes(text) {
            line.push_str(text);
            return;
        }
        line.push('"');
        for (index, part) in text.split('"').enumerate() {
            if index > 0 {
                line.push_str("\"\"");
            }
            line.push_str(part);
        }
        line.push('"');
    }
}

impl RowFormat for Delimited {
    fn times(&self) -> Times {
        Times::Iso
    }

    fn begin(&mut self, text: &mut String) {
        let Some(names) = &self.names else { return };
        for (index, name) in names.iter().enumerate() {
            if index > 0 {
                text.push_str(&self.separator);
            }
            self.value(text, name);
        }
        text.push('\n');
    }

    fn row(&mut self, text: &mut String, cells: &mut Cells<'_>, row: usize) -> Result<(), Failure> {
        for column in 0..cells.len() {
            if column > 0 {
                text.push_str(&self.separator);
            }
            match cells.read(column, row)? {
                Some(value) => self.value(text, value),
                None => text.push_str(&self.null),
            }
        }
        text.push('\n');
        Ok(())
    }
}
