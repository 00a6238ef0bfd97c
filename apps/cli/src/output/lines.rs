//! Formats of one header and then one line for each row: what CSV and Markdown share.

use crate::failure::Failure;
use crate::output::cell::{Cells, Times};
use arrow::array::RecordBatch;
use std::io::Write;

/// Appends one row; the last argument is room for the text of a value.
pub type AppendRow = fn(&mut String, &Cells<'_>, usize, &mut String) -> Result<(), Failure>;

/// Writes one result.
#[derive(Debug)]
pub struct LineWriter {
    /// The header, until it is written.
    header: Option<String>,
    times: Times,
    append_row: AppendRow,
}

impl LineWriter {
    /// A writer that begins with `header`, which ends its own lines.
    pub fn new(header: String, times: Times, append_row: AppendRow) -> Self {
        Self { header: Some(header), times, append_row }
    }

    /// Writes the rows of a batch.
    pub fn batch(&mut self, out: &mut impl Write, batch: &RecordBatch) -> Result<(), Failure> {
        self.write_header(out)?;
        let cells = Cells::new(batch, self.times)?;
        let (mut line, mut text) = (String::new(), String::new());
        for row in 0..batch.num_rows() {
            line.clear();
            (self.append_row)(&mut line, &cells, row, &mut text)?;
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
