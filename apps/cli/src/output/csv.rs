//! RFC 4180, with LF line ends: NULL is empty, the empty string is `""`.

use crate::failure::Failure;
use crate::output::cell::{Cells, Kind, iso};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use std::io::Write;

/// Writes one result.
#[derive(Debug)]
pub struct CsvWriter {
    /// The header line, until it is written.
    header: Option<String>,
}

impl CsvWriter {
    /// A writer for results of that schema.
    pub fn new(schema: &SchemaRef) -> Self {
        let mut header = String::new();
        for (index, field) in schema.fields().iter().enumerate() {
            if index > 0 {
                header.push(',');
            }
            quote(&mut header, field.name());
        }
        header.push('\n');
        Self { header: Some(header) }
    }

    /// Writes the rows of a batch.
    pub fn batch(&mut self, out: &mut impl Write, batch: &RecordBatch) -> Result<(), Failure> {
        self.write_header(out)?;
        let options = iso();
        let cells = Cells::new(batch, &options)?;
        let (mut line, mut text) = (String::new(), String::new());
        for row in 0..batch.num_rows() {
            line.clear();
            for column in 0..cells.len() {
                if column > 0 {
                    line.push(',');
                }
                match (cells.read(column, row, &mut text)?, cells.kind(column)) {
                    (false, _) => {}
                    (true, Kind::Text) => quote(&mut line, &text),
                    (true, _) => line.push_str(&text),
                }
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

/// Appends a field, in quotes when it would be read as something else without them.
fn quote(line: &mut String, text: &str) {
    let bare = !text.is_empty()
        && !text.contains([',', '"', '\n', '\r'])
        && !text.starts_with([' ', '\t'])
        && !text.ends_with([' ', '\t']);
    if bare {
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
