//! JSON objects: one a line, in an array, or one behind the other. A value reaches its column as the text that stands in the file, so
//! that no digit of a number is lost; a field that an object lacks is NULL, a list or an object within one is text.
//!
//! | file | what |
//! |---|---|
//! | `objects` | the objects of a file, one by one |
//! | `object` | the fields of one |

mod object;
mod objects;

use crate::Result;
use crate::files::options::ReadOptions;
use crate::files::records::{FileColumn, FilePart, FileRecords, ValueTypes, columns_of};
use crate::files::source::FileSource;
use crate::files::values::classify::{FieldType, Types};
use crate::files::values::format::TextFormat;
use crate::files::values::typed::{UnparsedField, typed};
use arrow::array::{ArrayRef, StringViewBuilder};
use gingham_storage::{LogicalType, Problem, SqlState};
use object::{JsonFields, JsonKind};
use objects::{ObjectLayout, Objects};
use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

/// Bytes of each file that are looked at for the names and types of fields.
const SAMPLE_BYTES: u64 = 4 << 20;
/// Objects of a batch.
const BATCH_ROWS: usize = 8192;

/// Files of objects.
#[derive(Debug, Clone)]
pub(crate) struct Json {
    files: Vec<(FileSource, ObjectLayout)>,
    /// Names of the fields, in the order in which they are met.
    names: Vec<String>,
    types: Vec<Types>,
    options: ReadOptions,
    /// Objects that were looked at.
    sampled: usize,
    /// Those are all.
    whole: bool,
}

impl Json {
    /// Looks at the first objects of the files.
    pub(crate) fn open(paths: &[PathBuf], options: &ReadOptions) -> Result<Self> {
        let encoding = options.text_encoding()?;
        let names: Vec<String> = options.columns.iter().map(|(name, _)| name.clone()).collect();
        let types = vec![Types::ANY; names.len()];
        let mut all = Self { files: Vec::new(), names, types, options: options.clone(), sampled: 0, whole: true };
        for path in paths {
            let source = FileSource::open(path, options.compression, encoding)?;
            let layout = Objects::layout(&source)?;
            all.sample(&source, layout)?;
            all.files.push((source, layout));
        }
        Ok(all)
    }

    /// This one with the fields of all objects, and the types that every value allows. `goes_on` fails once nobody waits.
    pub(crate) fn with_all_types(&self, goes_on: &dyn Fn() -> Result<()>) -> Result<Self> {
        let options = ReadOptions { sample_size: Some(-1), ..self.options.clone() };
        let mut all = Self { files: Vec::new(), options, sampled: 0, whole: true, ..self.clone() };
        for (source, layout) in &self.files {
            goes_on()?;
            all.sample(source, *layout)?;
            all.files.push((source.clone(), *layout));
        }
        Ok(Self { options: self.options.clone(), ..all })
    }

    fn sample(&mut self, source: &FileSource, layout: ObjectLayout) -> Result<()> {
        let (format, mut objects) = (TextFormat::default(), Objects::open(source, layout)?);
        let wanted = match self.options.sample_size {
            None => 0,
            Some(objects) => usize::try_from(objects).unwrap_or(usize::MAX),
        };
        let mut seen = 0;
        while let Some((offset, object)) = objects.next()? {
            if offset >= SAMPLE_BYTES && seen >= wanted {
                self.whole = false;
                break;
            }
            // What can't be read is reported with its line when it is read.
            let Ok(JsonFields(fields)) = serde_json::from_slice(object) else { continue };
            seen += 1;
            for (name, value) in fields {
                let at = match self.names.iter().position(|own| *own == name) {
                    Some(at) => at,
                    None if !self.options.columns.is_empty() => continue,
                    None => {
                        self.names.push(name.into_owned());
                        self.types.push(Types::ANY);
                        self.names.len() - 1
                    }
                };
                self.types[at] = self.types[at].and(types_of(value, &format));
            }
        }
        self.sampled += seen;
        Ok(())
    }

    /// Names of the fields.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// The file of that number.
    pub(crate) fn source(&self, file: usize) -> &FileSource {
        &self.files[file].0
    }

    /// The number of files.
    pub(crate) fn files(&self) -> usize {
        self.files.len()
    }

    /// Bytes of the files.
    pub(crate) fn bytes(&self) -> u64 {
        self.files.iter().map(|(source, _)| source.bytes()).sum()
    }

    /// Objects that names and types were found by.
    pub(crate) fn sampled_records(&self) -> usize {
        self.sampled
    }

    /// Whether those are all.
    pub(crate) fn types_are_final(&self) -> bool {
        self.whole
    }

    /// About the number of objects.
    pub(crate) fn about_records(&self) -> usize {
        if self.whole {
            return self.sampled;
        }
        let sampled = u128::from(SAMPLE_BYTES) * self.files.len() as u128;
        (self.sampled as u128 * u128::from(self.bytes()) / sampled.max(1)) as usize
    }

    /// A column for each field, with the types that the options say or that the first objects have.
    pub(crate) fn columns(&self) -> Result<Vec<FileColumn>> {
        let text = FieldType { logical_type: LogicalType::Varchar(None), order: None };
        let found = |types: &Types| if self.options.all_varchar { text.clone() } else { types.chosen() };
        columns_of(&self.names, self.types.iter().map(found), &self.options)
    }

    /// The column of a table that the field of that number fills.
    pub(crate) fn column_as(name: &str, field: usize, logical_type: &LogicalType) -> FileColumn {
        FileColumn::new(field, name, FieldType { logical_type: logical_type.clone(), order: None })
    }

    /// A part for each file.
    pub(crate) fn parts(&self) -> Vec<FilePart> {
        (0..self.files.len()).map(|file| FilePart { file, range: 0..u64::MAX }).collect()
    }
}

/// Types that a value allows. A text may be a date or a time, not a number: JSON has numbers.
fn types_of(value: &serde_json::value::RawValue, format: &TextFormat) -> Types {
    match object::kind(value) {
        JsonKind::Null => Types::ANY,
        JsonKind::Nested => Types::TEXT,
        JsonKind::Word => Types::of(value.get().as_bytes(), format),
        JsonKind::Text => {
            let text = object::text(value).unwrap_or_default();
            // A DOUBLE that is no number of JSON's is a text, as COPY TO writes it.
            let others = if matches!(&*text, "NaN" | "Infinity" | "-Infinity") { Types::DOUBLES } else { Types::TIMES };
            Types::of(text.as_bytes(), format).and(others)
        }
    }
}

/// Reads files one after the other.
pub(crate) struct JsonLane {
    json: Arc<Json>,
    columns: Arc<[FileColumn]>,
    /// Columns by the names of their fields.
    by_name: HashMap<String, usize>,
    types: ValueTypes,
    /// Objects may have other fields.
    others: bool,
    files: VecDeque<usize>,
    current: Option<(usize, Objects)>,
    position: u64,
}

impl JsonLane {
    /// `others` says that objects may have fields besides those of the columns.
    pub(crate) fn new(
        json: Arc<Json>,
        columns: Arc<[FileColumn]>,
        types: ValueTypes,
        others: bool,
        parts: impl IntoIterator<Item = FilePart>,
    ) -> Self {
        let field = |(number, column): (usize, &FileColumn)| (json.names[column.index].clone(), number);
        let by_name = columns.iter().enumerate().map(field).collect();
        let files = parts.into_iter().map(|part| part.file).collect();
        // Who says the columns means those alone.
        let others = others || !json.options.columns.is_empty();
        Self { json, columns, by_name, types, others, files, current: None, position: 0 }
    }

    /// The next records; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<FileRecords>> {
        loop {
            if self.current.is_none() {
                let Some(file) = self.files.pop_front() else { return Ok(None) };
                let (source, layout) = &self.json.files[file];
                (self.current, self.position) = (Some((file, Objects::open(source, *layout)?)), 0);
            }
            if let Some(records) = self.batch()? {
                return Ok(Some(records));
            }
            self.current = None;
        }
    }

    /// The next objects of the file; `None` at its end.
    fn batch(&mut self) -> Result<Option<FileRecords>> {
        let Some((file, objects)) = &mut self.current else { return Ok(None) };
        let mut texts: Vec<StringViewBuilder> = self.columns.iter().map(|_| StringViewBuilder::new()).collect();
        let (mut starts, mut unreadable) = (Vec::new(), Vec::new());
        while starts.len() < BATCH_ROWS
            && let Some((start, object)) = objects.next()?
        {
            let fields = match fields_of(object) {
                Ok(fields) => fields,
                Err(problem) => {
                    unreadable.push((start, problem));
                    continue;
                }
            };
            let mut values = vec![None; self.columns.len()];
            let mut unknown = None;
            for (name, value) in fields.0 {
                match self.by_name.get(&*name) {
                    Some(column) => values[*column] = Some(value),
                    None if self.others || self.json.names.iter().any(|own| *own == name) => {}
                    None => unknown = Some(name.into_owned()),
                }
            }
            if let Some(name) = unknown {
                let text = format!("has a field '{name}', which the first {} objects do not have", self.json.sampled);
                unreadable.push((start, Problem::new(SqlState::BadCopyFileFormat, text)));
                continue;
            }
            for ((builder, value), column) in texts.iter_mut().zip(&values).zip(self.columns.iter()) {
                let text = value.and_then(object::text);
                builder.append_option(text.as_deref().map(|text| plain(text, column.logical_type())));
            }
            starts.push(start);
        }
        if starts.is_empty() && unreadable.is_empty() {
            return Ok(None);
        }
        let source = &self.json.files[*file].0;
        let (file, position) = (*file, objects.position(source));
        let bytes = position - std::mem::replace(&mut self.position, position);
        let (mut arrays, mut misfits) = (Vec::with_capacity(texts.len()), Vec::new());
        for (number, (mut builder, column)) in texts.into_iter().zip(self.columns.iter()).enumerate() {
            let array: ArrayRef = Arc::new(builder.finish());
            let mut bad = Vec::new();
            arrays.push(match self.types {
                ValueTypes::Near => array,
                ValueTypes::Own => typed(array, column.logical_type(), &mut bad)?,
            });
            let problem = |UnparsedField { row, state, problem }| (row, number, Problem::new(state, problem));
            misfits.extend(bad.into_iter().map(problem));
        }
        misfits.sort_by_key(|(row, column, _)| (*row, *column));
        Ok(Some(FileRecords { file, arrays, starts, unreadable, misfits, bytes }))
    }
}

/// The fields of an object, or why it is none.
fn fields_of(object: &[u8]) -> std::result::Result<JsonFields<'_>, Problem> {
    serde_json::from_slice(object).map_err(|error| {
        let text = String::from_utf8_lossy(object);
        let start: String = text.trim_start().chars().take(20).collect();
        let why =
            format!("is not one JSON object, as each line is to be: {error}; it begins with {}", start.trim_end());
        Problem::new(SqlState::BadCopyFileFormat, why)
    })
}

/// The number `1.00` as `1` for a column of whole numbers.
fn plain<'a>(text: &'a str, logical_type: &LogicalType) -> &'a str {
    match (logical_type, text.split_once('.')) {
        (LogicalType::Int(_) | LogicalType::UInt(_), Some((whole, zeros)))
            if zeros.bytes().all(|digit| digit == b'0') =>
        {
            whole
        }
        _ => text,
    }
}
