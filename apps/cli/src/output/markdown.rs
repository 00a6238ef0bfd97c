//! A pipe table, as most Markdown dialects have it. Such a table always has a header.

use crate::failure::Failure;
use crate::output::Display;
use crate::output::cell::{Cells, Kind, Times};
use crate::output::lines::RowFormat;
use arrow::datatypes::SchemaRef;

/// Writes the rows of one result.
#[derive(Debug)]
pub struct Markdown {
    header: String,
    null: String,
}

impl Markdown {
    /// A table of that schema.
    pub fn new(display: &Display, schema: &SchemaRef) -> Self {
        let mut header = String::from("|");
        for field in schema.fields() {
            header.push(' ');
            escape(&mut header, field.name());
            header.push_str(" |");
        }
        header.push_str("\n|");
        for field in schema.fields() {
            header.push_str(if Kind::of(field.data_type()).is_right() { "---:|" } else { "---|" });
        }
        header.push('\n');
        let mut null = String::new();
        escape(&mut null, display.null_or("NULL"));
        Self { header, null }
    }
}

impl RowFormat for Markdown {
    fn times(&self) -> Times {
        Times::Sql
    }

    fn begin(&mut self, text: &mut String) {
        text.push_str(&self.header);
    }

    fn row(&mut self, text: &mut String, cells: &mut Cells<'_>, row: usize) -> Result<(), Failure> {
        text.push('|');
        for column in 0..cells.len() {
            text.push(' ');
            match cells.read(column, row)? {
                Some(value) => escape(text, value),
                None => text.push_str(&self.null),
            }
            text.push_str(" |");
        }
        text.push('\n');
        Ok(())
    }
}

fn escape(line: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '|' => line.push_str("\\|"),
            '\n' => line.push_str("<br>"),
            '\r' => {}
            other => line.push(other),
        }
    }
}
