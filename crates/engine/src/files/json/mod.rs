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
use crate::files::records::{FileColumn, FilePart, FileRecords, ParsedColumns, ValueTypes, columns_of};
use crate::files::source::{FileSource, SAMPLE_BYTES};
use crate::files::values::classify::{FieldType, Types};
use crate::files::values::format::TextFormat;
use arrow::array::StringViewBuilder;
use gingham_storage::{LogicalType, Problem, SqlState};
use object::{JsonFields, JsonKind};
use objects::{ObjectLayout, Objects};
use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

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
    /// The objects that were looked at are all.
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

    /// Bytes of a file's objects, or of the packed file.
    pub(crate) fn bytes(&self, file: usize) -> u64 {
        let source = self.source(file);
        source.length().unwrap_or(source.bytes())
    }

    /// Objects that names and types were found by.
    pub(crate) fn sampled_records(&self) -> usize {
        self.sampled
    }

    /// Whether those are all.
    pub(crate) fn types_are_final(&self) -> bool {
        self.whole
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

    /// A file in so many parts, if its objects are lines.
    pub(crate) fn ranges(&self, file: usize, parts: u64) -> Vec<Range<u64>> {
        let (source, layout) = &self.files[file];
        match (source.length(), layout) {
            (Some(length), ObjectLayout::Lines) if parts > 1 => {
                let share = length.div_ceil(parts).max(1);
                (0..length.div_ceil(share)).map(|part| part * share..length.min((part + 1) * share)).collect()
            }
            _ => std::iter::once(0..u64::MAX).collect(),
        }
    }
}

/// Types that a value allows. A text may be a date or a time, not a number: JSON has numbers.
fn types_of(value: &serde_json::value::RawValue, format: &TextFormat) -> Types {
    match object::kind(value) {
        JsonKind::Null => Types::ANY,
        JsonKind::Nested => Types::TEXT,
        JsonKind::Word => Types::of(value.get().as_bytes(), format),
        JsonKind::Text => {
            // One that is none is reported with its line when it is read.
            let text = object::text(value).ok().flatten().unwrap_or_default();
            // A DOUBLE that is no number of JSON's is a text, as COPY TO writes it.
            let others = if matches!(&*text, "NaN" | "Infinity" | "-Infinity") { Types::DOUBLES } else { Types::TIMES };
            Types::of(text.as_bytes(), format).and(others)
        }
    }
}

/// Reads parts of files one after the other.
pub(crate) struct JsonLane {
    fields: FieldsOfColumns,
    types: ValueTypes,
    parts: VecDeque<FilePart>,
    current: Option<(usize, Objects)>,
    position: u64,
}

/// The fields that the columns are of.
struct FieldsOfColumns {
    json: Arc<Json>,
    columns: Arc<[FileColumn]>,
    /// Columns by the names of their fields.
    by_name: HashMap<String, usize>,
    /// Objects may have other fields.
    others: bool,
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
        // Who says the columns means those alone.
        let others = others || !json.options.columns.is_empty();
        let fields = FieldsOfColumns { json, columns, by_name, others };
        Self { fields, types, parts: parts.into_iter().collect(), current: None, position: 0 }
    }

    /// The next records; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<FileRecords>> {
        loop {
            if self.current.is_none() {
                let Some(FilePart { file, range }) = self.parts.pop_front() else { return Ok(None) };
                let (source, layout) = &self.fields.json.files[file];
                self.position = range.start;
                self.current = Some((file, Objects::within(source, *layout, range)?));
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
        let columns = &self.fields.columns;
        let mut builders: Vec<StringViewBuilder> = columns.iter().map(|_| StringViewBuilder::new()).collect();
        let (mut starts, mut unreadable) = (Vec::new(), Vec::new());
        while starts.len() < BATCH_ROWS
            && let Some((start, object)) = objects.next()?
        {
            match self.fields.texts(object) {
                Ok(texts) => {
                    builders.iter_mut().zip(texts).for_each(|(builder, text)| builder.append_option(text));
                    starts.push(start);
                }
                Err(why) => unreadable.push((start, Problem::new(SqlState::BadCopyFileFormat, why))),
            }
        }
        if starts.is_empty() && unreadable.is_empty() {
            return Ok(None);
        }
        let position = objects.position(&self.fields.json.files[*file].0);
        let bytes = position.saturating_sub(std::mem::replace(&mut self.position, position));
        let mut parsed = ParsedColumns::new(self.types);
        for (mut builder, column) in builders.into_iter().zip(columns.iter()) {
            parsed.push(Arc::new(builder.finish()), column, Vec::new())?;
        }
        Ok(Some(parsed.records(*file, starts, unreadable, bytes)))
    }
}

impl FieldsOfColumns {
    /// The texts of an object for each column, or why it can't be read.
    fn texts<'a>(&self, object: &'a [u8]) -> std::result::Result<Vec<Option<Cow<'a, str>>>, String> {
        let mut texts = vec![None; self.columns.len()];
        let JsonFields(fields) = fields_of(object)?;
        for (name, value) in fields {
            match self.by_name.get(&*name) {
                Some(number) => {
                    let text = object::text(value).map_err(|error| format!("field '{name}' is no text: {error}"))?;
                    texts[*number] = text.map(|text| plain(text, self.columns[*number].logical_type()));
                }
                None if self.others || self.json.names.iter().any(|own| *own == name) => {}
                None => {
                    let known = self.json.sampled;
                    return Err(format!("has a field '{name}', which the first {known} objects do not have"));
                }
            }
        }
        Ok(texts)
    }
}

/// The fields of an object, or why it is none.
fn fields_of(object: &[u8]) -> std::result::Result<JsonFields<'_>, String> {
    serde_json::from_slice(object).map_err(|error| {
        let text = String::from_utf8_lossy(object);
        let start: String = text.trim_start().chars().take(20).collect();
        format!("is not one JSON object, as each line is to be: {error}; it begins with {}", start.trim_end())
    })
}

/// The number `1.00` as `1` for a column of whole numbers.
fn plain<'a>(text: Cow<'a, str>, logical_type: &LogicalType) -> Cow<'a, str> {
    match (logical_type, text.split_once('.')) {
        (LogicalType::Int(_) | LogicalType::UInt(_), Some((whole, zeros)))
            if zeros.bytes().all(|digit| digit == b'0') =>
        {
            Cow::Owned(whole.to_owned())
        }
        _ => text,
    }
}
