//! Delimited files of one shape: what they look like together, and the parts that they are read in.

use crate::files::options::ReadOptions;
use crate::files::records::{FileColumn, columns_of};
use crate::files::source::{FileSource, SAMPLE_BYTES, io_error};
use crate::files::text::chunks::{ChunkRecords, Chunks, RECORD_BYTES, Width};
use crate::files::text::sniff::{KnownFormat, Sniffed};
use crate::files::text::{chunks, sniff};
use crate::files::values::classify::{FieldType, Types};
use crate::files::values::format::TextFormat;
use crate::{Error, Result};
use gingham_storage::{LogicalType, SqlState};
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Delimited files of one shape.
#[derive(Debug, Clone)]
pub(crate) struct DelimitedText {
    pub(super) files: Vec<TextFile>,
    /// Names of the columns.
    names: Vec<String>,
    /// The names are those of a header, or were given.
    named: bool,
    types: Vec<Types>,
    pub(super) shape: Sniffed,
    options: ReadOptions,
    /// The samples are the whole files.
    whole: bool,
}

/// A file.
#[derive(Debug, Clone)]
pub(super) struct TextFile {
    pub(super) source: FileSource,
    /// Where its first record begins, in bytes of its text.
    start: u64,
    /// Fields of a record.
    pub(super) width: usize,
    /// For each column the field that it is, where the file has it.
    pub(super) fields: Vec<Option<usize>>,
}

impl DelimitedText {
    /// Looks at the files. `columns` are those of the table, when it exists.
    pub(crate) fn open(
        paths: &[PathBuf],
        options: &ReadOptions,
        tbl: bool,
        columns: Option<&[String]>,
    ) -> Result<Self> {
        let format = TextFormat::new(options)?;
        let encoding = options.text_encoding()?;
        let given: Vec<String> = options.columns.iter().map(|(name, _)| name.clone()).collect();
        let columns = columns.or((!given.is_empty()).then_some(&given));
        let mut known = KnownFormat { options, delimiter: None, header: None, tbl, columns };
        let mut all: Option<Self> = None;
        for path in paths {
            let source = FileSource::open(path, options.compression, encoding)?;
            let (sniffed, whole) = look(&source, &known, &format)?;
            match &mut all {
                None => {
                    known.delimiter = Some(sniffed.dialect.delimiter);
                    known.header = (!options.union_by_name).then_some(sniffed.header.is_some());
                    all = Some(Self::of(source, sniffed, options, whole)?);
                }
                Some(all) => all.add(source, sniffed, whole)?,
            }
        }
        let mut all =
            all.ok_or_else(|| Error::invalid(SqlState::UndefinedFile, "there is no file to read".to_owned()))?;
        match options.sample_size.filter(|_| !all.whole && !options.all_varchar).map(u64::try_from) {
            None => {}
            Some(Err(_)) => return all.with_all_types(&|| Ok(())),
            Some(Ok(wanted)) if wanted <= all.shape.records as u64 => {}
            Some(Ok(wanted)) => (all.types, all.shape.records) = all.found_types(&|| Ok(()), wanted)?,
        }
        Ok(all)
    }

    /// The first file.
    fn of(source: FileSource, shape: Sniffed, options: &ReadOptions, whole: bool) -> Result<Self> {
        let (names, named) = names(&source, &shape, options)?;
        let fields = (0..shape.width).map(Some).collect();
        let file = TextFile { source, start: shape.start as u64, width: shape.width, fields };
        let types = shape.types.clone();
        Ok(Self { files: vec![file], names, named, types, shape, options: options.clone(), whole })
    }

    /// Adds a further file, which must look like the first unless columns go by their names.
    fn add(&mut self, source: FileSource, sniffed: Sniffed, whole: bool) -> Result<()> {
        let fields = match (self.options.union_by_name, &sniffed.header) {
            (true, Some(header)) => {
                for name in header {
                    if !self.names.contains(name) {
                        self.names.push(name.clone());
                        self.types.push(Types::ANY);
                        self.files.iter_mut().for_each(|file| file.fields.push(None));
                    }
                }
                self.names.iter().map(|name| header.iter().position(|own| own == name)).collect()
            }
            _ if sniffed.width == self.shape.width && sniffed.header == self.shape.header => {
                (0..sniffed.width).map(Some).collect::<Vec<_>>()
            }
            _ => {
                return Err(Error::invalid(
                    SqlState::UndefinedColumn,
                    format!(
                        "{} does not have the columns of {}: {} instead of {}; union_by_name puts files of different columns together",
                        source.path().display(),
                        self.files[0].source.path().display(),
                        described(&sniffed),
                        described(&self.shape)
                    ),
                ));
            }
        };
        for (types, field) in self.types.iter_mut().zip(&fields) {
            if let Some(field) = field {
                *types = types.and(sniffed.types[*field]);
            }
        }
        self.whole &= whole;
        self.shape.records += sniffed.records;
        self.shape.dialect.trim |= sniffed.dialect.trim;
        if sniffed.format.numbers != self.shape.format.numbers && sniffed.types.iter().any(|types| types.is_double()) {
            self.shape.format.numbers = sniffed.format.numbers;
            self.whole = false;
        }
        self.files.push(TextFile { source, start: sniffed.start as u64, width: sniffed.width, fields });
        Ok(())
    }

    /// Names of the columns, where a header or an option says them.
    pub(crate) fn header(&self) -> Option<&[String]> {
        self.named.then_some(&self.names)
    }

    /// The number of columns.
    pub(crate) fn width(&self) -> usize {
        self.names.len()
    }

    /// The file of that number.
    pub(crate) fn source(&self, file: usize) -> &FileSource {
        &self.files[file].source
    }

    /// The number of files.
    pub(crate) fn files(&self) -> usize {
        self.files.len()
    }

    /// Bytes of a file's records, or of the packed file.
    pub(crate) fn bytes(&self, file: usize) -> u64 {
        let file = &self.files[file];
        file.source.length().map_or(file.source.bytes(), |end| end.saturating_sub(file.start))
    }

    /// Records that the types of the columns were found by.
    pub(crate) fn sampled_records(&self) -> usize {
        self.shape.records
    }

    /// The columns with the types that the options say, or that the samples have.
    ///
    /// # Errors
    ///
    /// An option names a column or a type that does not exist.
    pub(crate) fn columns(&self) -> Result<Vec<FileColumn>> {
        columns_of(&self.names, self.types.iter().map(|types| types.chosen()), &self.options)
    }

    /// The columns as parsed for the types of a table's.
    pub(crate) fn columns_as(&self, names: &[String], types: &[LogicalType]) -> Vec<FileColumn> {
        let column = |(index, (name, logical_type)): (usize, (&String, &LogicalType))| {
            let order = self.types[index].chosen().order;
            FileColumn::new(index, name, FieldType { logical_type: logical_type.clone(), order })
        };
        names.iter().zip(types).enumerate().map(column).collect()
    }

    /// True when the types are those of all records.
    pub(crate) fn types_are_final(&self) -> bool {
        self.whole
    }

    /// This one with the types that every value allows. `goes_on` fails once nobody waits.
    pub(crate) fn with_all_types(&self, goes_on: &dyn Fn() -> Result<()>) -> Result<Self> {
        let (types, records) = self.found_types(goes_on, u64::MAX)?;
        let shape = Sniffed { records, ..self.shape.clone() };
        Ok(Self { types, shape, whole: true, ..self.clone() })
    }

    /// Types that the values of so many records at least allow, and the number of those.
    fn found_types(&self, goes_on: &dyn Fn() -> Result<()>, wanted: u64) -> Result<(Vec<Types>, usize)> {
        let mut types = vec![Types::ANY; self.width()];
        let mut records = ChunkRecords::default();
        let mut seen = 0;
        for file in &self.files {
            let mut chunks = Chunks::open(&file.source, file.all(), self.shape.dialect)?;
            while seen < wanted && chunks.next(self.width_of(file), &mut records)? {
                goes_on()?;
                let mut own = vec![Types::ANY; file.width];
                for record in records.fields.chunks(file.width) {
                    sniff::narrow(chunks.buffer(), record, &mut own, &self.shape.format);
                }
                seen += records.starts.len() as u64;
                for (types, field) in types.iter_mut().zip(&file.fields) {
                    *types = field.map_or(*types, |field| types.and(own[field]));
                }
            }
        }
        Ok((types, seen as usize))
    }

    pub(super) fn width_of(&self, file: &TextFile) -> Width {
        Width { fields: file.width, padded: self.options.null_padding }
    }

    /// Where the records of a file begin, in bytes of its text.
    pub(crate) fn start(&self, file: usize) -> u64 {
        self.files[file].start
    }

    /// A file in so many parts, where it can be read so.
    pub(crate) fn ranges(&self, file: usize, parts: u64) -> Result<Vec<Range<u64>>> {
        let file = &self.files[file];
        match file.source.length() {
            Some(_) if parts > 1 => chunks::split(&file.source, file.all(), parts, self.shape.dialect),
            _ => Ok(vec![file.all()]),
        }
    }
}

impl TextFile {
    /// All of its records.
    fn all(&self) -> Range<u64> {
        self.start..self.source.length().unwrap_or(u64::MAX)
    }
}

/// Names of the columns of a file, and whether a header or the options say them.
fn names(source: &FileSource, shape: &Sniffed, options: &ReadOptions) -> Result<(Vec<String>, bool)> {
    let (path, width) = (source.path().display(), shape.width);
    let wrong = |text: String| Err(Error::invalid(SqlState::InvalidParameterValue, text));
    let numbered = || (1..=width).map(|number| format!("column{number}")).collect();
    let (mut names, mut named) = (shape.header.clone().unwrap_or_else(numbered), shape.header.is_some());
    let (columns, given) = (&options.columns, &options.names);
    if !columns.is_empty() {
        if columns.len() != width {
            let count = columns.len();
            return wrong(format!(
                "columns gives {count} names and types, but the records of {path} have {width} fields"
            ));
        }
        (names, named) = (columns.iter().map(|(name, _)| name.clone()).collect(), true);
    }
    if given.len() > width {
        return wrong(format!("names gives {} names, but the records of {path} have {width} fields", given.len()));
    }
    names.splice(..given.len(), given.iter().cloned());
    named |= given.len() == width;
    match (1..names.len()).find(|at| names[..*at].contains(&names[*at])) {
        None => Ok((names, named)),
        Some(twice) => Err(Error::invalid(
            SqlState::DuplicateColumn,
            format!("{path} would have two columns '{}'; give them other names (names)", names[twice]),
        )),
    }
}

fn described(sniffed: &Sniffed) -> String {
    match &sniffed.header {
        Some(header) => format!("the header {}", header.join(",")),
        None => format!("{} fields and no header", sniffed.width),
    }
}

/// Looks at the beginning of a file. Gives its shape, and whether the beginning is all of it.
fn look(source: &FileSource, known: &KnownFormat<'_>, format: &TextFormat) -> Result<(Sniffed, bool)> {
    let name = source.path().display().to_string();
    let mut reader = source.reader(0)?;
    let mut sample = Vec::new();
    let mut wanted = SAMPLE_BYTES;
    loop {
        let more = wanted - sample.len() as u64;
        (&mut reader).take(more).read_to_end(&mut sample).map_err(|error| io_error(source.path(), &error))?;
        let whole =
            (sample.len() as u64) < wanted || source.length().is_some_and(|length| sample.len() as u64 >= length);
        if let Some(sniffed) = sniff::sniff(&name, &sample, whole, known, format)? {
            return Ok((sniffed, whole));
        }
        if wanted >= RECORD_BYTES as u64 {
            return Err(too_long(source.path()));
        }
        wanted *= 2;
    }
}

fn too_long(path: &Path) -> Error {
    Error::invalid(
        SqlState::BadCopyFileFormat,
        format!(
            "{}: a record at its beginning is longer than {} MiB; is a quote not closed?",
            path.display(),
            RECORD_BYTES >> 20
        ),
    )
}
