//! Loading files into tables: CSV and other delimited text, TPC-H's `.tbl`, Parquet, Arrow IPC and JSON. All records of
//! all files become visible together, or none. Text is read as `files` reads it, for FROM too.
//!
//! | file | what |
//! |---|---|
//! | `target` | the table, and which of its columns the files fill |
//! | `records` | records of text and JSON into the table |
//! | `columnar` | Parquet and Arrow IPC |
//! | `json` | which columns the fields of objects fill |
//! | `sink` | records into the table; bad ones on a list |
//! | `tpch` | columns of TPC-H's tables |

mod columnar;
mod json;
mod records;
mod sink;
mod target;
#[cfg(test)]
mod tests;
mod tpch;

pub use crate::files::{Compression, FileFormat, OptionValue, ReadOptions};

use crate::files::{FileColumn, FileSet, FileSource, find};
use crate::session::StatementContext;
use crate::statements::dml::ingest::Ingest;
use crate::{Error, Result};
use columnar::Columnar;
use gingham_storage::{LogicalType, SqlState, TableDefinition};
use sink::Sink;
use std::path::PathBuf;
use std::sync::Arc;
use target::Destination;

/// How to load.
///
/// ```
/// use gingham::{Database, StatementHandle, load::{LoadOptions, ReadOptions}};
///
/// let folder = tempfile::tempdir()?;
/// let file = folder.path().join("fruit.csv");
/// std::fs::write(&file, "quince;1.20\npear;-\n")?;
/// let options = LoadOptions {
///     table: "fruit".into(),
///     schema: Some("name VARCHAR, price DECIMAL(6,2)".into()),
///     read: ReadOptions { delimiter: Some(b';'), nulls: vec!["-".into()], ..Default::default() },
///     ..Default::default()
/// };
/// let connection = Database::in_memory()?.connect();
/// assert_eq!(connection.load(&[file], &options, &StatementHandle::new())?.rows, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct LoadOptions {
    /// The table; made when it does not exist.
    pub table: String,
    /// Layout of a table that is made, as in WITH (layout = '…'); otherwise that of `gingham.layout`.
    pub layout: Option<String>,
    /// Columns and types of a table that is made, as in CREATE TABLE: `a INT, b DECIMAL(15,2)`; otherwise inferred.
    pub schema: Option<String>,
    /// How the files are read.
    pub read: ReadOptions,
    /// Bad lines to skip before giving up.
    pub skip_bad: u64,
}

/// What was loaded.
///
/// ```
/// use gingham::{Database, StatementHandle, load::LoadOptions};
///
/// let folder = tempfile::tempdir()?;
/// let file = folder.path().join("numbers.csv");
/// std::fs::write(&file, "n\n1\ntwo\n3\n")?;
/// let options =
///     LoadOptions { table: "t".into(), schema: Some("n INT".into()), skip_bad: 1, ..Default::default() };
/// let report = Database::in_memory()?.connect().load(&[file], &options, &StatementHandle::new())?;
/// assert_eq!((report.rows, report.bytes), (2, 10));
/// assert!(report.skipped[0].contains("numbers.csv:3"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct LoadReport {
    /// Records loaded.
    pub rows: u64,
    /// Bytes of the files.
    pub bytes: u64,
    /// Bad records skipped.
    pub skipped_records: u64,
    /// The first 10,000 of them that were met, each as "file:line: why".
    pub skipped: Vec<String>,
}

/// Loads files into the table of `options`; `listed` are the columns that the files fill, when the statement lists them.
/// Blocks: keep it off the threads that drive queries.
pub(crate) fn load_files(
    context: &StatementContext,
    files: &[PathBuf],
    options: &LoadOptions,
    listed: Option<&[String]>,
) -> Result<LoadReport> {
    let (files, format) = find::resolve(files, options.read.format)?;
    options.read.check(format)?;
    let destination = target::find(context, options, format, &files[0])?;
    let load = Load { context, files, options, listed };
    match format {
        FileFormat::Csv | FileFormat::Tbl | FileFormat::Json => load.text(&destination, format),
        FileFormat::Parquet | FileFormat::Arrow => load.columnar(&destination, format),
    }
}

/// One load.
struct Load<'a> {
    context: &'a StatementContext,
    files: Vec<PathBuf>,
    options: &'a LoadOptions,
    listed: Option<&'a [String]>,
}

impl Load<'_> {
    /// Files of text.
    fn text(&self, destination: &Destination, format: FileFormat) -> Result<LoadReport> {
        let existing = match destination {
            Destination::Existing(target) => Some(&*target.table.definition),
            Destination::Given(table) => Some(&table.definition),
            Destination::Inferred(_) => None,
        };
        let names = existing.map(|table| table.columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>());
        let known = self.listed.or(names.as_deref());
        let mut files = FileSet::open(&self.files, format, &self.options.read, known)?;
        let sources = files.sources();
        loop {
            let own = files.columns()?;
            let (definition, provisional) = match destination {
                Destination::Inferred(table) => {
                    self.require_records(&files, &own)?;
                    let columns = own.iter().map(|column| (column.name.clone(), column.logical_type().clone()));
                    let definition = table.with_columns(self.context, self.options, columns)?;
                    (definition, !files.types_are_final())
                }
                Destination::Existing(target) => (TableDefinition::clone(&target.table.definition), false),
                Destination::Given(table) => (table.definition.clone(), false),
            };
            let (filled, columns) = self.filled(&files, &definition)?;
            let columns: Arc<[FileColumn]> = match destination {
                Destination::Inferred(_) => own.into(),
                _ => columns.into(),
            };
            let others = self.listed.is_some();
            let loaded = self.run(destination, definition, &filled, (&sources, files.bytes()), |threads, sink| {
                records::load(&files, &columns, (provisional, others), threads, sink)
            })?;
            match loaded {
                Some(report) => return Ok(report),
                None => files = files.read_types(&|| self.context.cancel.check())?,
            }
        }
    }

    /// Refuses to guess the types of a table without a record.
    fn require_records(&self, files: &FileSet, columns: &[FileColumn]) -> Result<()> {
        if files.sampled_records() > 0 || columns.iter().all(FileColumn::is_given) && !columns.is_empty() {
            return Ok(());
        }
        Err(Error::invalid(
            SqlState::BadCopyFileFormat,
            format!(
                "{} has no records, so the types of its columns can't be told: give a schema",
                self.files[0].display()
            ),
        ))
    }

    /// The columns of a table that files fill, and how they are parsed.
    fn filled(&self, files: &FileSet, definition: &TableDefinition) -> Result<(Vec<String>, Vec<FileColumn>)> {
        Ok(match files {
            FileSet::Text(text) => {
                let filled = target::matched(definition, text.header(), text.width(), self.listed)?;
                let columns = text.columns_as(&filled, &types_of(definition, &filled)?);
                (filled, columns)
            }
            FileSet::Json(json) => {
                let filled = json::filled(json, definition, self.listed)?;
                let columns = json::columns(json, definition, &filled);
                (filled, columns)
            }
        })
    }

    fn columnar(&self, destination: &Destination, format: FileFormat) -> Result<LoadReport> {
        let mut source = Columnar::open(&self.files, format)?;
        let fields = source.schema().fields();
        let definition = match destination {
            Destination::Existing(target) => TableDefinition::clone(&target.table.definition),
            Destination::Given(table) => table.definition.clone(),
            Destination::Inferred(table) => {
                let column = |field: &Arc<arrow::datatypes::Field>| {
                    let logical_type = match field.data_type().is_null() {
                        true => LogicalType::Varchar(None),
                        false => LogicalType::from_arrow(field.name(), field.data_type())?,
                    };
                    Ok((field.name().clone(), logical_type))
                };
                let columns = fields.iter().map(column).collect::<Result<Vec<_>>>()?;
                table.with_columns(self.context, self.options, columns.into_iter())?
            }
        };
        let names: Vec<String> = fields.iter().map(|field| field.name().clone()).collect();
        let filled = target::matched(&definition, Some(&names), names.len(), self.listed)?;
        source.fill(&types_of(&definition, &filled)?);
        let sources: Vec<FileSource> = self.files.iter().map(|path| FileSource::of_rows(path)).collect();
        let loaded = self.run(destination, definition, &filled, (&sources, source.bytes()), |threads, sink| {
            source.load(threads, sink).map(|()| true)
        })?;
        loaded.ok_or_else(|| Error::Internal("a load of columns was asked to begin again".to_owned()))
    }

    /// Has `work` put the records into the table, then commits. `None`, and nothing done, when `work` gives false.
    fn run(
        &self,
        destination: &Destination,
        definition: TableDefinition,
        filled: &[String],
        (sources, bytes): (&[FileSource], u64),
        work: impl FnOnce(usize, &Sink<'_>) -> Result<bool>,
    ) -> Result<Option<LoadReport>> {
        let ingest = match destination {
            Destination::Existing(target) => Ingest::new(self.context, &target.store, &target.table, Some(filled))?,
            Destination::Given(table) | Destination::Inferred(table) => {
                Ingest::for_new_table(self.context, &table.store, definition, Some(filled))?
            }
        };
        let cancel = &self.context.cancel;
        let allowed = if self.options.read.ignore_errors { u64::MAX } else { self.options.skip_bad };
        let sink = Sink::new(&ingest, sources, allowed, cancel, bytes);
        let threads = self.context.settings().threads;
        match work(threads, &sink) {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(error) => {
                // What is wrong with the records says more than that there are too many.
                cancel.check()?;
                return Err(sink.finish().err().unwrap_or(error));
            }
        }
        let skipped = sink.finish()?;
        let rows = match destination {
            Destination::Existing(_) => ingest.finish()?,
            Destination::Given(_) | Destination::Inferred(_) => ingest.finish_creating(false)?,
        };
        let bytes = self.files.iter().filter_map(|file| std::fs::metadata(file).ok()).map(|file| file.len()).sum();
        if allowed > 0 {
            self.context.session.rejects.replace(skipped.rejects);
        }
        Ok(Some(LoadReport { rows, bytes, skipped_records: skipped.count, skipped: skipped.texts }))
    }
}

/// Types of the columns `filled`. Errors on one that the table does not have.
fn types_of(definition: &TableDefinition, filled: &[String]) -> Result<Vec<LogicalType>> {
    let find = |name: &String| {
        let column = definition.column(name);
        column.map(|column| column.logical_type.clone()).ok_or_else(|| {
            let names = definition.columns.iter().map(|column| column.name.as_str());
            Error::invalid(
                SqlState::UndefinedColumn,
                format!(
                    "table '{}' has no column '{name}'{}",
                    definition.name,
                    crate::session::did_you_mean(name, names)
                ),
            )
        })
    };
    filled.iter().map(find).collect()
}
