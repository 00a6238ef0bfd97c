//! Results as text: one writer for each format, fed batch by batch so that no result has to fit in memory.

mod cell;
mod count;
mod delimited;
mod ends;
mod fit;
mod html;
mod insert;
mod json;
mod lines;
mod markdown;
mod pairs;
mod plan;
mod table;
#[cfg(test)]
mod tests;
mod text;

use crate::failure::Failure;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use clap::ValueEnum;
use delimited::Delimited;
use lines::LineWriter;
use std::io::Write;

pub use count::Shown;
pub use table::grid;

/// How results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Boxes, numbers to the right
    Table,
    /// RFC 4180 with a header line
    Csv,
    /// As csv, with tabs between the values
    Tabs,
    /// Values as they are, with | between them
    List,
    /// An array of objects for each statement
    Json,
    /// An object a line
    Jsonlines,
    /// A line `name = value` for each column
    Line,
    /// A pipe table
    Markdown,
    /// A <table>
    Html,
    /// INSERT statements
    Insert,
}

impl Format {
    /// Its name, as the arguments and `.mode` take it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Csv => "csv",
            Self::Tabs => "tabs",
            Self::List => "list",
            Self::Json => "json",
            Self::Jsonlines => "jsonlines",
            Self::Line => "line",
            Self::Markdown => "markdown",
            Self::Html => "html",
            Self::Insert => "insert",
        }
    }
}

/// The size of the terminal on which results are shown, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    /// Characters in a line.
    pub columns: usize,
    /// Lines.
    pub rows: usize,
}

impl Screen {
    /// The screen of standard output; none when that is no terminal.
    pub fn of_stdout() -> Option<Self> {
        let (rows, columns) = console::Term::stdout().size_checked()?;
        Some(Self { columns: usize::from(columns), rows: usize::from(rows) })
    }
}

/// How results are shown: the format, and what changes it.
#[derive(Debug, Clone)]
pub struct Display {
    /// The format.
    pub format: Format,
    /// Whether the names of the columns stand above the values: in table, csv, tabs, list and html, and before VALUES in insert. The
    /// other formats can't be without.
    pub headers: bool,
    /// What stands for NULL in table, csv, tabs, list, line, markdown and html. None is the format's own: nothing in csv and tabs, where
    /// the empty text is `""`, nothing in list, and NULL elsewhere.
    pub null: Option<String>,
    /// What stands between values in csv, tabs and list. None is the format's own.
    pub separator: Option<String>,
    /// Widths of the first columns in table; 0, and what is not there, is a width that suits the values.
    pub widths: Vec<usize>,
    /// How many rows a table on a screen shows at most, half of them the first and half of them the last. None is 40; with 0, all rows
    /// and columns are shown, in any format, through the pager when they are more than the screen has room for.
    pub max_rows: Option<usize>,
    /// The table that INSERT statements name: a name as SQL has it, with its own quotes where it needs some.
    pub insert_table: String,
    /// Shows results as [`Format::Line`] does, whatever the format is.
    pub expanded: bool,
    /// The terminal that results are fitted to. None when they go to a file or a pipe: these get all rows and columns.
    pub screen: Option<Screen>,
}

impl Display {
    /// Results in a format, with nothing that changes it, for a file.
    pub fn new(format: Format) -> Self {
        Self {
            format,
            headers: true,
            null: None,
            separator: None,
            widths: Vec::new(),
            max_rows: None,
            insert_table: "t".to_owned(),
            expanded: false,
            screen: None,
        }
    }

    /// A writer of the result of a statement, which has that schema.
    pub fn writer(&self, sql: &str, schema: &SchemaRef) -> ResultWriter {
        if self.format == Format::Table && plan::is_plan(sql, schema) {
            return ResultWriter::Plan(LineWriter::new(plan::Plan));
        }
        let format = if self.expanded { Format::Line } else { self.format };
        ResultWriter::Lines(match format {
            Format::Table => return ResultWriter::Table(Box::new(table::TableWriter::new(self, schema))),
            Format::Csv => LineWriter::new(Delimited::quoted(self, schema, ",")),
            Format::Tabs => LineWriter::new(Delimited::quoted(self, schema, "\t")),
            Format::List => LineWriter::new(Delimited::bare(self, schema, "|")),
            Format::Json => LineWriter::new(json::Json::array(schema)),
            Format::Jsonlines => LineWriter::new(json::Json::lines(schema)),
            Format::Line => LineWriter::new(pairs::Pairs::new(self, schema)),
            Format::Markdown => LineWriter::new(markdown::Markdown::new(self, schema)),
            Format::Html => LineWriter::new(html::Html::new(self, schema)),
            Format::Insert => LineWriter::new(insert::Insert::new(self, schema)),
        })
    }

    /// The screen whose size decides whether the pager is needed; none when results never go through it.
    pub fn paged(&self) -> Option<Screen> {
        self.screen.filter(|_| self.max_rows == Some(0))
    }

    fn null_or<'d>(&'d self, own: &'d str) -> &'d str {
        self.null.as_deref().unwrap_or(own)
    }
}

/// Writes one result.
#[derive(Debug)]
pub enum ResultWriter {
    /// [`Format::Table`].
    Table(Box<table::TableWriter>),
    /// All others.
    Lines(LineWriter),
    /// A plan, whose lines are no rows to be counted.
    Plan(LineWriter),
}

impl ResultWriter {
    /// True when nothing is written before all rows are known.
    pub fn waits(&self) -> bool {
        matches!(self, Self::Table(writer) if writer.waits())
    }

    /// Writes the rows of `batch`, or keeps a few of them for later.
    pub fn batch(&mut self, out: &mut impl Write, batch: &RecordBatch) -> Result<(), Failure> {
        match self {
            Self::Table(writer) => writer.batch(out, batch),
            Self::Lines(writer) | Self::Plan(writer) => writer.batch(out, batch),
        }
    }

    /// Writes what is left and what closes the result. Tells what was shown of it, or nothing where rows don't count.
    pub fn finish(self, out: &mut impl Write) -> Result<Option<Shown>, Failure> {
        match self {
            Self::Table(writer) => writer.finish(out).map(Some),
            Self::Lines(writer) => writer.finish(out).map(|()| Some(Shown::default())),
            Self::Plan(writer) => writer.finish(out).map(|()| None),
        }
    }
}
