//! What all formats but the table have in common: each row is written by itself, as soon as it is there.

use crate::failure::Failure;
use crate::output::cell::{Cells, Times};
use arrow::array::RecordBatch;
use std::fmt::Debug;
use std::io::Write;

/// One of these formats, for one result. Each part is appended to a text.
pub trait RowFormat: Debug {
    /// How times are written.
    fn times(&self) -> Times;

    /// Appends what stands before the first row.
    fn begin(&mut self, text: &mut String) {
        let _ = text;
    }

    /// Appends a row.
    fn row(&mut self, text: &mut String, cells: &mut Cells<'_>, row: usize) -> Result<(), Failure>;

    /// Appends what stands behind the last row.
    fn end(&mut self, text: &mut String) {
        let _ = text;
    }
}

/// Writes one result.
#[derive(Debug)]
pub struct LineWriter {
    format: Box<dyn RowFormat>,
    begun: bool,
    text: String,
}

impl LineWriter {
    /// A writer of that format.
    pub fn new(format: impl RowFormat + 'static) -> Self {
        Self { format: Box::new(format), begun: false, text: String::new() }
    }

    /// Writes the rows of a batch.
    pub fn batch(&mut self, out: &mut impl Write, batch: &RecordBatch) -> Result<(), Failure> {
        self.begin(out)?;
        let mut cells = Cells::new(batch, self.format.times())?;
        for row in 0..batch.num_rows() {
            self.text.clear();
            self.format.row(&mut self.text, &mut cells, row)?;
            out.write_all(self.text.as_bytes())?;
        }
        Ok(())
    }

    /// Ends the result.
    pub fn finish(mut self, out: &mut impl Write) -> Result<(), Failure> {
        self.begin(out)?;
        self.text.clear();
        self.format.end(&mut self.text);
        Ok(out.write_all(self.text.as_bytes())?)
    }

    fn begin(&mut self, out: &mut impl Write) -> Result<(), Failure> {
        if !self.begun {
            self.begun = true;
            self.text.clear();
            self.format.begin(&mut self.text);
            out.write_all(self.text.as_bytes())?;
        }
        Ok(())
    }
}
