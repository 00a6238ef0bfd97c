//! A `<table>`, to be put into a page.

use crate::failure::Failure;
use crate::output::Display;
use crate::output::cell::{Cells, Times};
use crate::output::lines::RowFormat;
use arrow::datatypes::SchemaRef;

/// Writes the rows of one result.
#[derive(Debug)]
pub struct Html {
    /// The row of names, where it is wanted.
    header: Option<String>,
    null: String,
}

impl Html {
    /// A table of that schema.
    pub fn new(display: &Display, schema: &SchemaRef) -> Self {
        let header = || {
            let mut header = String::from("<tr>");
            for field in schema.fields() {
                header.push_str("<th>");
                escape(&mut header, field.name());
                header.push_str("</th>");
            }
            header.push_str("</tr>\n");
            header
        };
        let mut null = String::new();
        escape(&mut null, display.null_or("NULL"));
        Self { header: display.headers.then(header), null }
    }
}

impl RowFormat for Html {
    fn times(&self) -> Times {
        Times::Sql
    }

    fn begin(&mut self, text: &mut String) {
        text.push_str("<table>\n");
        text.push_str(self.header.as_deref().unwrap_or_default());
    }

    fn row(&mut self, text: &mut String, cells: &mut Cells<'_>, row: usize) -> Result<(), Failure> {
        text.push_str("<tr>");
        for column in 0..cells.len() {
            text.push_str(if cells.kind(column).is_right() { "<td align=\"right\">" } else { "<td>" });
            match cells.read(column, row)? {
                Some(value) => escape(text, value),
                None => text.push_str(&self.null),
            }
            text.push_str("</td>");
        }
        text.push_str("</tr>\n");
        Ok(())
    }

    fn end(&mut self, text: &mut String) {
        text.push_str("</table>\n");
    }
}

/// Appends text such that no character of it is one of HTML's own, within attributes either.
fn escape(html: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            '\n' => html.push_str("<br>"),
            other => html.push(other),
        }
    }
}
