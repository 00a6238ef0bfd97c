//! A line `name = value` for each column, and an empty line between rows: for rows with more columns than a screen has room for.

use crate::failure::Failure;
use crate::output::Display;
use crate::output::cell::{Cells, Times};
use crate::output::lines::RowFormat;
use crate::output::text::{padding, visible};
use arrow::datatypes::SchemaRef;
use unicode_width::UnicodeWidthStr;

/// Writes the rows of one result.
#[derive(Debug)]
pub struct Pairs {
    /// The names, all of a width, with what stands behind them.
    names: Vec<String>,
    /// What stands below the names before further lines of a value.
    indent: String,
    null: String,
    begun: bool,
}

impl Pairs {
    /// Rows of that schema.
    pub fn new(display: &Display, schema: &SchemaRef) -> Self {
        let names: Vec<String> = schema.fields().iter().map(|field| visible(field.name()).into_owned()).collect();
        let width = names.iter().map(|name| name.width()).max().unwrap_or(0);
        Self {
            names: names.iter().map(|name| format!("{}{name} = ", padding(name, width))).collect(),
            indent: " ".repeat(width + 3),
            null: display.null_or("NULL").to_owned(),
            begun: false,
        }
    }
}

impl RowFormat for Pairs {
    fn times(&self) -> Times {
        Times::Sql
    }

    fn row(&mut self, text: &mut String, cells: &mut Cells<'_>, row: usize) -> Result<(), Failure> {
        if self.begun {
            text.push('\n');
        }
        self.begun = true;
        for column in 0..cells.len() {
            text.push_str(&self.names[column]);
            let value = cells.read(column, row)?.unwrap_or(&self.null);
            for (index, line) in value.split('\n').enumerate() {
                if index > 0 {
                    text.push_str(&self.indent);
                }
                text.push_str(&visible(line));
                text.push('\n');
            }
        }
        Ok(())
    }
}
