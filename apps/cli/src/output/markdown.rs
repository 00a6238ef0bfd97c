//! A pipe table, as most Markdown dialects have it.

use crate::failure::Failure;
use crate::output::cell::{Cells, Kind, Times};
use crate::output::lines::LineWriter;
use arrow::datatypes::SchemaRef;

/// A writer for a result of that schema.
pub fn writer(schema: &SchemaRef) -> LineWriter {
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
    LineWriter::new(header, Times::Sql, append_row)
}

fn append_row(line: &mut String, cells: &Cells<'_>, row: usize, text: &mut String) -> Result<(), Failure> {
    line.push('|');
    for column in 0..cells.len() {
        line.push(' ');
        match cells.read(column, row, text)? {
            true => escape(line, text),
            false => line.push_str("NULL"),
        }
        line.push_str(" |");
    }
    Ok(())
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
