//! Results as text: one writer for each format, fed batch by batch so that no result has to fit in memory.

mod cell;
mod csv;
mod json;
mod lines;
mod markdown;
mod table;

use crate::failure::Failure;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use clap::ValueEnum;
use std::io::Write;

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
    /// How many rows a table on a screen shows at most, half of them the first and half of them the last. None is 40; of 0, all rows
    /// are shown, in any format, through the pager when they are more than the screen has lines.
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

    /// A writer of one result of that schema.
    pub fn writer(&self, schema: &SchemaRef) -> ResultWriter {
        match self.format {
            Format::Table => ResultWriter::Table(table::TableWriter::new(schema)),
            Format::Csv | Format::Tabs | Format::List | Format::Html | Format::Insert | Format::Line => {
                ResultWriter::Lines(csv::writer(schema))
            }
            Format::Json | Format::Jsonlines => ResultWriter::Json(json::JsonWriter::new(schema)),
            Format::Markdown => ResultWriter::Lines(markdown::writer(schema)),
        }
    }
}

/// Writes one result.
#[derive(Debug)]
pub enum ResultWriter {
    /// [`Format::Table`].
    Table(table::TableWriter),
    /// [`Format::Csv`] and [`Format::Markdown`].
    Lines(lines::LineWriter),
    /// [`Format::Json`].
    Json(json::JsonWriter),
}

impl ResultWriter {
    /// Writes the rows of `batch`, or keeps a few of them for later.
    pub fn batch(&mut self, out: &mut impl Write, batch: &RecordBatch) -> Result<(), Failure> {
        match self {
            Self::Table(writer) => writer.batch(out, batch),
            Self::Lines(writer) => writer.batch(out, batch),
            Self::Json(writer) => writer.batch(out, batch),
        }
    }

    /// Writes what is left and what closes the result.
    pub fn finish(self, out: &mut impl Write) -> Result<(), Failure> {
        match self {
            Self::Table(writer) => writer.finish(out),
            Self::Lines(writer) => writer.finish(out),
            Self::Json(writer) => writer.finish(out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{
        ArrayRef, BinaryViewArray, Date32Array, Decimal128Array, Float64Array, Int64Array, StringViewArray,
        TimestampMicrosecondArray,
    };
    use std::sync::Arc;

    fn sample() -> RecordBatch {
        let decimals = Decimal128Array::from(vec![Some(150), None, Some(-5)]).with_precision_and_scale(15, 2);
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("n", Arc::new(Int64Array::from(vec![Some(1), Some(9_007_199_254_740_993), None]))),
            ("price", Arc::new(decimals.expect("a decimal"))),
            ("text", Arc::new(StringViewArray::from(vec![Some("a,\"b\""), Some(""), None]))),
            ("day", Arc::new(Date32Array::from(vec![Some(0), Some(-1), None]))),
            ("at", Arc::new(TimestampMicrosecondArray::from(vec![Some(0), Some(1_500_000), None]))),
            ("x", Arc::new(Float64Array::from(vec![Some(0.1), Some(f64::NAN), None]))),
            ("raw", Arc::new(BinaryViewArray::from(vec![Some(&b"\x01\xff"[..]), Some(b""), None]))),
        ];
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
            .expect("a batch")
    }

    fn written(format: Format, batches: &[RecordBatch]) -> String {
        let mut out = Vec::new();
        let mut writer = Display::new(format).writer(&batches[0].schema());
        for batch in batches {
            writer.batch(&mut out, batch).expect("rows");
        }
        writer.finish(&mut out).expect("the end");
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn csv_keeps_null_and_the_empty_string_apart() {
        assert_eq!(
            written(Format::Csv, &[sample()]),
            "n,price,text,day,at,x,raw\n\
             1,1.50,\"a,\"\"b\"\"\",1970-01-01,1970-01-01T00:00:00,0.1,\\x01ff\n\
             9007199254740993,,\"\",1969-12-31,1970-01-01T00:00:01.5,NaN,\\x\n\
             ,-0.05,,,,,\n"
        );
    }

    #[test]
    fn json_is_json_and_exact() {
        let text = written(Format::Json, &[sample(), sample()]);
        let parsed: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(parsed.as_array().map(Vec::len), Some(6));
        assert_eq!(parsed[1]["n"].as_i64(), Some(9_007_199_254_740_993));
        assert!(text.contains("\"price\":1.50,\"text\":\"a,\\\"b\\\"\""), "{text}");
        assert_eq!(parsed[1]["x"], "NaN");
        assert!(parsed[2]["text"].is_null());
        assert_eq!(parsed[1]["text"], "");
    }

    #[test]
    fn a_result_without_rows_keeps_its_shape() {
        let none = [sample().slice(0, 0)];
        assert_eq!(written(Format::Csv, &none), "n,price,text,day,at,x,raw\n");
        assert_eq!(written(Format::Json, &none), "[]\n");
        assert_eq!(written(Format::Markdown, &none).lines().count(), 2);
        assert_eq!(written(Format::Table, &none).lines().count(), 4);
    }

    #[test]
    fn tables_are_aligned() {
        let text = written(Format::Table, &[sample()]);
        let widths: Vec<usize> = text.lines().map(unicode_width::UnicodeWidthStr::width).collect();
        assert!(widths.iter().all(|width| *width == widths[0]), "{text}");
        assert!(text.contains("│                1 │  1.50 │ a,\"b\" │ 1970-01-01 │"), "{text}");
        assert!(text.contains("NULL"), "{text}");
    }

    #[test]
    fn lines_of_a_cell_stay_in_its_box() {
        let columns: [(&str, ArrayRef); 2] = [
            ("plan", Arc::new(StringViewArray::from(vec!["Sort\n  Scan of t\n", "one\ttab"]))),
            ("n", Arc::new(Int64Array::from(vec![1, 2]))),
        ];
        let text = written(Format::Table, &[RecordBatch::try_from_iter(columns).expect("a batch")]);
        let rows: Vec<&str> = text.lines().skip(3).collect();
        assert_eq!(rows[..3], ["│ Sort        │ 1 │", "│   Scan of t │   │", "│ one\\ttab    │ 2 │"], "{text}");
    }

    #[test]
    fn a_long_table_opens_a_new_box_only_when_its_columns_widen() {
        let rows = |values: Vec<i64>| {
            RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from(values)) as ArrayRef)]).expect("a batch")
        };
        let narrow = written(Format::Table, &[rows(vec![1; 5000]), rows(vec![2; 5000])]);
        assert_eq!(narrow.lines().count(), 10_004);
        let wide = written(Format::Table, &[rows(vec![1; 5000]), rows(vec![1_000_000; 5000])]);
        assert_eq!(wide.lines().count(), 10_008);
    }

    #[test]
    fn markdown_escapes_what_would_end_a_cell() {
        let batch = RecordBatch::try_from_iter([("a|b", Arc::new(StringViewArray::from(vec!["x|y\nz"])) as ArrayRef)])
            .expect("a batch");
        assert_eq!(written(Format::Markdown, &[batch]), "| a\\|b |\n|---|\n| x\\|y<br>z |\n");
    }
}
