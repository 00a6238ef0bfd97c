//! RFC 4180, with LF line ends: NULL is empty, the empty string is `""`.

use crate::failure::Failure;
use crate::output::cell::{Cells, Kind, Times};
use crate::output::lines::LineWriter;
use arrow::datatypes::SchemaRef;

/// A writer for a result of that schema.
pub fn writer(schema: &SchemaRef) -> LineWriter {
    let mut header = String::new();
    for (index, field) in schema.fields().iter().enumerate() {
        if index > 0 {
            header.push(',');
        }
        quote(&mut header, field.name());
    }
    header.push('\n');
    LineWriter::new(header, Times::Iso, append_row)
}

fn append_row(line: &mut String, cells: &Cells<'_>, row: usize, text: &mut String) -> Result<(), Failure> {
    for column in 0..cells.len() {
        if column > 0 {
            line.push(',');
        }
        match (cells.read(column, row, text)?, cells.kind(column)) {
            (false, _) => {}
            (true, Kind::Text) => quote(line, text),
            (true, _) => line.push_str(text),
        }
    }
    Ok(())
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
