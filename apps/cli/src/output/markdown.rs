//! A pipe table, as most Markdown dialects have it.

use crate::failure::Failure;
use crate::output::cell::{Cells, Kind, sql};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use std::io::Write;

/// Writes one result.
#[derive(Debug)]
pub struct MarkdownWriter {
    /// Header and rule, until they are written.
    header: Option<String>,
}

impl MarkdownWriter {
    /// A writer for results of that schema.
    pub fn new(schema: &SchemaRef) -> Self {
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
        Self { header: Some(header) }
    }

    /// Writes the rows of a batch.
    pub fn batch(&mut self, out: &mut impl Write, batch: &RecordBatch) -> Result<(), Failure> {
        self.write_header(out)?;
        let options = sql();
        let cells = Cells::new(batch, &options)?;
        let (mut line, mut text) = (String::new(), String::new());
        for row in 0..batch.num_rows() {
            line.clear();
            line.push('|');
            for column in 0..cells.len() {
                line.push(' ');
                match cells.read(column, row, &mut text)? {
                    true => escape(&mut line, &text),
                    false => line.push_str("NULL"),
                }
                line.push_str(" |");
            }
            line.push('\n');
            out.write_all(line.as_bytes())?;
        }
        Ok(())
    }

    /// Ends the result.
    pub fn finish(mut self, out: &mut impl Write) -> Result<(), Failure> {
        self.write_header(out)
    }

    fn write_header(&mut self, out: &mut impl Write) -> Result<(), Failure> {
        if let Some(header) = self.header.take() {
            out.write_all(header.as_bytes())?;
        }
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
