//! JSON, one object a line. Values reach the table's columns as the text that stands in the file, so that no digit of a
//! number is lost on the way; a field that an object lacks is NULL.

use crate::files::{FileSource, ReadOptions, SourceReader, io_error};
use crate::load::sink::{RecordPosition, Sink};
use crate::session::did_you_mean;
use crate::statements::dml::ingest::BadRow;
use crate::{Error, Result};
use arrow::array::{ArrayRef, AsArray, RecordBatch, RecordBatchOptions, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::json::ReaderBuilder;
use gingham_storage::{LogicalType, Problem, SqlState, TableDefinition};
use serde_json::{Map, Value};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Lines of each file that are looked at for the names of fields before anything is loaded.
const SAMPLE_LINES: usize = 1000;
/// Objects of a batch.
const BATCH_ROWS: usize = 8192;
/// What opens a UTF-8 file of some programs.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Files of objects.
#[derive(Debug)]
pub(super) struct Json {
    files: Vec<FileSource>,
    /// Fields of the first objects.
    fields: Vec<String>,
    bytes: u64,
}

/// How lines become the columns of the table.
struct JsonColumns {
    /// Fields of the files that fill columns, as text.
    schema: SchemaRef,
    /// The table's columns, of which column i is filled by field i.
    columns: SchemaRef,
    /// Columns of whole numbers, which JSON may write as `1.0`.
    whole: Vec<bool>,
    /// Objects may have other fields too.
    listed: bool,
}

/// Lines that wait to become a batch, each with the offset at which it starts.
#[derive(Default)]
struct Waiting {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    places: Vec<u64>,
}

impl Json {
    /// Looks at the first lines of the files.
    pub(super) fn open(files: &[PathBuf], options: &ReadOptions) -> Result<Self> {
        let encoding = options.text_encoding()?;
        let mut all = Self { files: Vec::new(), fields: Vec::new(), bytes: 0 };
        for path in files {
            let source = FileSource::open(path, options.compression, encoding)?;
            let mut lines = Lines::open(&source)?;
            for _ in 0..SAMPLE_LINES {
                let Some((_, line)) = lines.next()? else { break };
                // What can't be read is reported with its line by the load.
                for name in object(line).unwrap_or_default().into_iter().map(|(name, _)| name) {
                    if !all.fields.contains(&name) {
                        all.fields.push(name);
                    }
                }
            }
            all.bytes += source.bytes();
            all.files.push(source);
        }
        Ok(all)
    }

    /// The files.
    pub(super) fn sources(&self) -> &[FileSource] {
        &self.files
    }

    /// Bytes of the files.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Columns of the table that the files fill: `listed` when the statement lists them, otherwise those of the fields.
    pub(super) fn columns(&self, table: &TableDefinition, listed: Option<&[String]>) -> Result<Vec<String>> {
        if let Some(listed) = listed {
            return match listed.iter().find(|column| !self.fields.iter().any(|field| is_name(column, field))) {
                None => Ok(listed.to_vec()),
                Some(column) => Err(Error::invalid(
                    SqlState::UndefinedColumn,
                    format!(
                        "no object in {} has a field '{column}'{}",
                        self.files[0].path().display(),
                        did_you_mean(column, self.fields.iter().map(String::as_str))
                    ),
                )),
            };
        }
        let mut columns = Vec::with_capacity(self.fields.len());
        for field in &self.fields {
            let names = || table.columns.iter().map(|column| column.name.as_str());
            let column = names().find(|column| is_name(column, field)).ok_or_else(|| {
                Error::invalid(SqlState::UndefinedColumn, format!(
                    "{} has a field '{field}', which table '{}' does not have{}; list the columns to load: COPY t (a, b) FROM …",
                    self.files[0].path().display(),
                    table.name,
                    did_you_mean(field, names())
                ))
            })?;
            if !columns.iter().any(|known| known == column) {
                columns.push(column.to_owned());
            }
        }
        Ok(columns)
    }

    /// Loads the files into `columns` of `table`; objects may have other fields when the columns are `listed`.
    pub(super) fn load(
        &self,
        table: &TableDefinition,
        columns: &[String],
        listed: bool,
        sink: &Sink<'_>,
    ) -> Result<()> {
        let reading = self.reading(table, columns, listed);
        for (file, source) in self.files.iter().enumerate() {
            let (mut lines, mut waiting, mut done) = (Lines::open(source)?, Waiting::default(), 0);
            loop {
                let line = lines.next()?;
                let ended = line.is_none();
                if let Some((offset, line)) = line {
                    waiting.add(offset, line);
                }
                if ended || waiting.places.len() == BATCH_ROWS {
                    reading.batch(file, &waiting, sink)?;
                    waiting = Waiting::default();
                    sink.advance(lines.offset - done);
                    done = lines.offset;
                }
                if ended || !sink.goes_on()? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// The field that fills a column.
    fn field_of<'a>(&'a self, column: &'a String) -> &'a String {
        self.fields.iter().find(|field| is_name(column, field)).unwrap_or(column)
    }

    fn reading(&self, table: &TableDefinition, columns: &[String], listed: bool) -> JsonColumns {
        let text = |name: &String| Field::new(name, DataType::Utf8, true);
        let is_whole = |column: &String| {
            let logical_type = table.column(column).map(|column| &column.logical_type);
            matches!(logical_type, Some(LogicalType::Int(_) | LogicalType::UInt(_)))
        };
        JsonColumns {
            schema: Arc::new(Schema::new(columns.iter().map(|column| text(self.field_of(column))).collect::<Vec<_>>())),
            columns: Arc::new(Schema::new(columns.iter().map(text).collect::<Vec<_>>())),
            whole: columns.iter().map(is_whole).collect(),
            listed,
        }
    }
}

impl Waiting {
    fn add(&mut self, offset: u64, line: &[u8]) {
        self.bytes.extend_from_slice(line);
        self.bytes.push(b'\n');
        self.ends.push(self.bytes.len());
        self.places.push(offset);
    }

    fn line(&self, number: usize) -> &[u8] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[number]]
    }
}

impl JsonColumns {
    /// Hands the objects of some lines on; lines that hold none go to the list of bad ones.
    fn batch(&self, file: usize, waiting: &Waiting, sink: &Sink<'_>) -> Result<()> {
        if let Some(batch) = self.decode(&waiting.bytes).filter(|batch| batch.num_rows() == waiting.places.len()) {
            return sink.append(0, file, &self.columns_of(&batch)?, &|row| RecordPosition::Offset(waiting.places[row]));
        }
        // A line is no object, or there is something in it that is no single value: they are read one by one.
        let (mut good, mut places) = (Waiting::default(), Vec::new());
        for (number, offset) in waiting.places.iter().enumerate() {
            let line = waiting.line(number);
            match self.judge(line) {
                Ok(()) => {
                    good.add(*offset, line);
                    places.push(*offset);
                }
                Err(bad) => sink.reject(file, RecordPosition::Offset(*offset), *bad),
            }
        }
        let batch = self.decode(&good.bytes).filter(|batch| batch.num_rows() == places.len());
        let batch = batch.ok_or_else(|| {
            Error::invalid(
                SqlState::BadCopyFileFormat,
                "JSON: lines that are fine one by one can't be read together".to_owned(),
            )
        })?;
        sink.append(0, file, &self.columns_of(&batch)?, &|row| RecordPosition::Offset(places[row]))
    }

    /// The fields of the objects in `bytes` as text; `None` when something in them is wrong.
    fn decode(&self, bytes: &[u8]) -> Option<RecordBatch> {
        let mut decoder = ReaderBuilder::new(SchemaRef::clone(&self.schema))
            .with_coerce_primitive(true)
            .with_strict_mode(!self.listed)
            .with_batch_size(BATCH_ROWS)
            .build_decoder()
            .ok()?;
        let used = decoder.decode(bytes).ok()?;
        let batch = decoder.flush().ok()?;
        (used == bytes.len()).then(|| batch.unwrap_or_else(|| RecordBatch::new_empty(SchemaRef::clone(&self.schema))))
    }

    /// The batch under the names of the table's columns.
    fn columns_of(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let column = |(values, whole): (&ArrayRef, &bool)| match values.as_string_opt::<i32>().filter(|_| *whole) {
            Some(texts) => {
                Arc::new(texts.iter().map(|text| text.map(without_zeros)).collect::<StringArray>()) as ArrayRef
            }
            None => Arc::clone(values),
        };
        let columns = batch.columns().iter().zip(&self.whole).map(column).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(SchemaRef::clone(&self.columns), columns, &options)?)
    }

    /// Why a line can't be read, if it can't.
    fn judge(&self, line: &[u8]) -> Result<(), Box<BadRow>> {
        let object = object(line)?;
        for (name, value) in &object {
            match self.schema.fields().iter().position(|field| field.name() == name) {
                Some(position) if value.is_array() || value.is_object() => {
                    let problem = "holds a list or an object, not a single value".to_owned();
                    return Err(bad(Some(self.columns.field(position).name()), problem));
                }
                None if !self.listed => {
                    let problem = format!("has a field '{name}', which the first objects of the files do not have");
                    return Err(bad(None, problem));
                }
                _ => {}
            }
        }
        match self.decode(line) {
            Some(batch) if batch.num_rows() == 1 => Ok(()),
            _ => Err(bad(None, "is not one JSON object, as each line is to be".to_owned())),
        }
    }
}

/// Whether a field of that name fills that column.
fn is_name(column: &str, field: &str) -> bool {
    column == field || column.eq_ignore_ascii_case(field)
}

/// The fields of a line.
fn object(line: &[u8]) -> Result<Map<String, Value>, Box<BadRow>> {
    serde_json::from_slice(line).map_err(|error| {
        let text = String::from_utf8_lossy(line);
        let start: String = text.trim_start().chars().take(20).collect();
        let start = start.trim_end();
        bad(None, format!("is not one JSON object, as each line is to be: {error}; it begins with {start}"))
    })
}

/// `1.00` as `1`.
fn without_zeros(number: &str) -> &str {
    match number.split_once('.') {
        Some((whole, zeros)) if zeros.bytes().all(|digit| digit == b'0') => whole,
        _ => number,
    }
}

fn bad(column: Option<&str>, problem: String) -> Box<BadRow> {
    Box::new(BadRow {
        row: 0,
        column: column.map(str::to_owned),
        problem: Problem::new(SqlState::BadCopyFileFormat, problem),
    })
}

/// The lines of a file that are not blank, each with the offset at which it starts.
struct Lines<'a> {
    path: &'a Path,
    reader: BufReader<SourceReader>,
    line: Vec<u8>,
    /// Bytes read.
    offset: u64,
}

impl<'a> Lines<'a> {
    fn open(source: &'a FileSource) -> Result<Self> {
        let reader = BufReader::with_capacity(1 << 18, source.reader(0)?);
        Ok(Self { path: source.path(), reader, line: Vec::new(), offset: 0 })
    }

    fn next(&mut self) -> Result<Option<(u64, &[u8])>> {
        let (start, skipped) = loop {
            self.line.clear();
            let start = self.offset;
            let read = self.reader.read_until(b'\n', &mut self.line).map_err(|error| io_error(self.path, &error))?;
            if read == 0 {
                return Ok(None);
            }
            self.offset += read as u64;
            let skipped = if start == 0 && self.line.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
            if !self.line[skipped..].iter().all(u8::is_ascii_whitespace) {
                break (start, skipped);
            }
        };
        Ok(Some((start, &self.line[skipped..])))
    }
}
