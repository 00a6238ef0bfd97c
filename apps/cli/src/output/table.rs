//! Boxes for people.
//!
//! Column widths are those of the first rows (as many as fit the buffer); where later rows are wider, the box is closed
//! and another is opened, so that a result of any length is written in bounded memory.

use crate::failure::Failure;
use crate::output::cell::{Cells, Kind, Times};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use std::io::Write;
use unicode_width::UnicodeWidthStr;

/// Rows that are gathered before any is written.
const BUFFER_ROWS: usize = 4096;

/// Writes one result.
#[derive(Debug)]
pub struct TableWriter {
    names: Vec<String>,
    right: Vec<bool>,
    /// Widths of the box that is open; none yet when empty.
    widths: Vec<usize>,
    rows: Vec<Vec<String>>,
}

impl TableWriter {
    /// A writer for results of that schema.
    pub fn new(schema: &SchemaRef) -> Self {
        let fields = schema.fields();
        Self {
            names: fields.iter().map(|field| visible(field.name())).collect(),
            right: fields.iter().map(|field| Kind::of(field.data_type()).is_right()).collect(),
            widths: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// Writes the rows of a batch, or keeps them.
    pub fn batch(&mut self, out: &mut impl Write, batch: &RecordBatch) -> Result<(), Failure> {
        let cells = Cells::new(batch, Times::Sql)?;
        let mut text = String::new();
        for row in 0..batch.num_rows() {
            let mut line = Vec::with_capacity(cells.len());
            for column in 0..cells.len() {
                line.push(match cells.read(column, row, &mut text)? {
                    true => lines_of(&text),
                    false => "NULL".to_owned(),
                });
            }
            self.rows.push(line);
            if self.rows.len() == BUFFER_ROWS {
                self.write(out)?;
            }
        }
        Ok(())
    }

    /// Ends the result.
    pub fn finish(mut self, out: &mut impl Write) -> Result<(), Failure> {
        if !self.rows.is_empty() || self.widths.is_empty() {
            self.write(out)?;
        }
        Ok(writeln!(out, "{}", rule(&self.widths, ['└', '┴', '┘']))?)
    }

    fn write(&mut self, out: &mut impl Write) -> Result<(), Failure> {
        let needed = widths(&self.names, &self.rows);
        if needed.iter().zip(&self.widths).any(|(needed, width)| needed > width) {
            writeln!(out, "{}", rule(&self.widths, ['└', '┴', '┘']))?;
            self.widths.clear();
        }
        if self.widths.is_empty() {
            self.widths = needed;
            writeln!(out, "{}", rule(&self.widths, ['┌', '┬', '┐']))?;
            writeln!(out, "{}", line(&self.names, &self.widths, &self.right))?;
            writeln!(out, "{}", rule(&self.widths, ['├', '┼', '┤']))?;
        }
        for row in self.rows.drain(..) {
            write_row(out, &row, &self.widths, &self.right)?;
        }
        Ok(())
    }
}

/// A row; cells of several lines take as many in the box.
fn write_row(out: &mut impl Write, row: &[String], widths: &[usize], right: &[bool]) -> Result<(), Failure> {
    let mut parts: Vec<_> = row.iter().map(|cell| cell.split('\n')).collect();
    let height = row.iter().map(|cell| cell.matches('\n').count() + 1).max().unwrap_or(1);
    for _ in 0..height {
        let cells: Vec<String> = parts.iter_mut().map(|part| part.next().unwrap_or_default().to_owned()).collect();
        writeln!(out, "{}", line(&cells, widths, right))?;
    }
    Ok(())
}

/// Lines of a whole box with `names` above `rows`; `right` tells the columns that stand to the right.
pub fn grid(names: &[&str], right: &[bool], rows: &[Vec<String>]) -> Vec<String> {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let widths = widths(&names, rows);
    let mut lines = vec![rule(&widths, ['┌', '┬', '┐']), line(&names, &widths, right), rule(&widths, ['├', '┼', '┤'])];
    lines.extend(rows.iter().map(|row| line(row, &widths, right)));
    lines.push(rule(&widths, ['└', '┴', '┘']));
    lines
}

/// Control characters as escapes, so that a value stays in its cell and can't drive the terminal.
fn visible(text: &str) -> String {
    if text.contains(char::is_control) {
        text.chars().map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() }).collect()
    } else {
        text.to_owned()
    }
}

/// Cells of a plan: its lines stay lines, so that it is read as it is meant.
fn lines_of(text: &str) -> String {
    let lines: Vec<String> = text.trim_end_matches('\n').split('\n').map(visible).collect();
    lines.join("\n")
}

fn widths(names: &[String], rows: &[Vec<String>]) -> Vec<usize> {
    let width = |cell: &String| cell.split('\n').map(UnicodeWidthStr::width).max().unwrap_or(0);
    let widest =
        |(column, name): (usize, &String)| rows.iter().map(|row| width(&row[column])).fold(name.width(), usize::max);
    names.iter().enumerate().map(widest).collect()
}

fn rule(widths: &[usize], [left, middle, right]: [char; 3]) -> String {
    let mut text = String::from(left);
    for (index, width) in widths.iter().enumerate() {
        if index > 0 {
            text.push(middle);
        }
        text.extend(std::iter::repeat_n('─', width + 2));
    }
    text.push(right);
    text
}

fn line(cells: &[String], widths: &[usize], right: &[bool]) -> String {
    let mut text = String::from("│");
    for ((cell, width), right) in cells.iter().zip(widths).zip(right) {
        let padding = " ".repeat(width.saturating_sub(cell.width()));
        match right {
            true => text.extend([" ", &padding, cell, " │"]),
            false => text.extend([" ", cell, &padding, " │"]),
        }
    }
    text
}
