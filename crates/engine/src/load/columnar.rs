//! Files that hold Arrow-like columns: Parquet and Arrow IPC.
//!
//! Each lane decodes a run of row groups (Parquet) or of batches (IPC files), so that lanes work at the same time and
//! the records keep their order.

use crate::files::{FileFormat, io_error, unreadable, word_columns};
use crate::load::sink::{RecordPosition, Sink, run_lanes};
use crate::type_name::type_name;
use crate::{Error, Result};
use arrow::array::{Array, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use arrow::ipc::reader::{FileReader, StreamReader};
use gingham_storage::{LogicalType as ColumnType, SqlState};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::basic::{ConvertedType, LogicalType, Type as PhysicalType};
use parquet::schema::types::{ColumnDescPtr, SchemaDescriptor};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows decoded at a time.
const BATCH_ROWS: usize = 16 * 1024;

/// Files of one schema.
#[derive(Debug)]
pub(super) struct Columnar {
    files: Vec<PathBuf>,
    schema: SchemaRef,
    /// What can be decoded by itself, in order.
    pieces: Vec<Piece>,
    bytes: u64,
    /// Columns of bytes that are texts.
    texts: Vec<usize>,
}

/// A row group of a Parquet file, a batch of an IPC file, or a whole IPC stream.
#[derive(Debug, Clone)]
struct Piece {
    file: usize,
    kind: PieceKind,
    /// Rows, where they are known beforehand.
    rows: u64,
    /// Rows of the file before this piece.
    before: u64,
    /// Its share of the file's bytes, for progress.
    bytes: u64,
}

#[derive(Debug, Clone)]
enum PieceKind {
    RowGroup(usize, ArrowReaderMetadata),
    Batch(usize),
    Stream,
}

impl Columnar {
    /// Reads the schemas and directories of the files.
    pub(super) fn open(files: &[PathBuf], format: FileFormat) -> Result<Self> {
        let mut all = Self {
            files: files.to_vec(),
            schema: Arc::new(Schema::empty()),
            pieces: Vec::new(),
            bytes: 0,
            texts: Vec::new(),
        };
        for (index, path) in files.iter().enumerate() {
            let length = std::fs::metadata(path).map_err(|error| io_error(path, &error))?.len();
            if length == 0 {
                return Err(Error::invalid(SqlState::BadCopyFileFormat, format!("{} is empty", path.display())));
            }
            let schema = match format {
                FileFormat::Parquet => all.add_parquet(index, path, length)?,
                _ => all.add_arrow(index, path, length)?,
            };
            refuse_extensions(path, &schema)?;
            if index == 0 {
                all.schema = schema;
            } else {
                same_columns((&files[0], &all.schema), (path, &schema))?;
            }
            all.bytes += length;
        }
        Ok(all)
    }

    /// Columns of the files.
    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The types of the table's columns that the files' columns fill. Bytes for a column of text are texts: not every writer
    /// marks its texts as such.
    pub(super) fn fill(&mut self, types: &[ColumnType]) {
        let columns = self.schema.fields().iter().zip(types).enumerate();
        let texts =
            columns.filter(|(_, (field, filled))| field.data_type().is_binary() && filled.to_arrow().is_string());
        self.texts = texts.map(|(column, _)| column).collect();
    }

    /// Bytes of the files.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    fn add_parquet(&mut self, file: usize, path: &Path, length: u64) -> Result<SchemaRef> {
        let open = || -> Result<ArrowReaderMetadata, parquet::errors::ParquetError> {
            let file = File::open(path)?;
            let found = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())?;
            // Strings are read as views into the decoded pages, without a copy.
            let schema = as_meant(with_views(found.schema()), found.metadata().file_metadata().schema_descr());
            let options = ArrowReaderOptions::new().with_schema(Arc::new(schema));
            ArrowReaderMetadata::try_new(Arc::clone(found.metadata()), options)
        };
        let metadata = open().map_err(|error| unreadable(path, FileFormat::Parquet, &error))?;
        for column in metadata.metadata().file_metadata().schema_descr().columns() {
            let foreign = match (column.logical_type_ref(), column.converted_type()) {
                (Some(LogicalType::Uuid), _) => "UUID",
                (Some(LogicalType::Json), _) | (_, ConvertedType::JSON) => "JSON",
                (Some(LogicalType::Bson), _) | (_, ConvertedType::BSON) => "BSON",
                _ => continue,
            };
            return Err(foreign_type(path, column.name(), foreign));
        }
        let groups = metadata.metadata().row_groups();
        let total: i64 = groups.iter().map(|group| group.num_rows()).sum();
        let mut before = 0;
        for (index, group) in groups.iter().enumerate() {
            let rows = group.num_rows().unsigned_abs();
            let bytes = (u128::from(length) * u128::from(rows) / u128::from(total.unsigned_abs().max(1))) as u64;
            self.pieces.push(Piece { file, kind: PieceKind::RowGroup(index, metadata.clone()), rows, before, bytes });
            before += rows;
        }
        Ok(Arc::clone(metadata.schema()))
    }

    fn add_arrow(&mut self, file: usize, path: &Path, length: u64) -> Result<SchemaRef> {
        if !is_ipc_file(path)? {
            let reader = stream_reader(path)?;
            self.pieces.push(Piece { file, kind: PieceKind::Stream, rows: 0, before: 0, bytes: length });
            return Ok(reader.schema());
        }
        let reader = file_reader(path)?;
        let batches = reader.num_batches();
        for index in 0..batches {
            let bytes = length / batches as u64;
            self.pieces.push(Piece { file, kind: PieceKind::Batch(index), rows: 0, before: 0, bytes });
        }
        Ok(reader.schema())
    }

    /// Loads the files with up to `threads` lanes.
    pub(super) fn load(&self, threads: usize, sink: &Sink<'_>) -> Result<()> {
        let lanes = self.lanes(threads);
        run_lanes(lanes.len(), sink, |lane| {
            // A reader goes on through the pieces of one file that follow each other.
            for run in lanes[lane].chunk_by(|a, b| a.file == b.file) {
                self.load_run(lane, run, sink)?;
            }
            Ok(())
        })
    }

    fn load_run(&self, lane: usize, run: &[Piece], sink: &Sink<'_>) -> Result<()> {
        let path = &self.files[run[0].file];
        let mut left = run.iter().map(|piece| piece.bytes).sum::<u64>();
        let total = run.iter().map(|piece| piece.rows).sum::<u64>().max(1);
        let per_row = left as f64 / total as f64;
        let mut row = run[0].before + 1;
        for batch in batches(path, run)? {
            if !sink.goes_on()? {
                return Ok(());
            }
            let batch = self.with_texts(batch?, path, row)?;
            let rows = batch.num_rows() as u64;
            sink.append(lane, run[0].file, &batch, &|index| RecordPosition::Row(row + index as u64))?;
            row += rows;
            let done = ((rows as f64 * per_row) as u64).min(left);
            left -= done;
            sink.advance(done);
        }
        sink.advance(left);
        Ok(())
    }

    /// The batch, whose first record is that of number `first`, with texts where bytes are such.
    fn with_texts(&self, batch: RecordBatch, path: &Path, first: u64) -> Result<RecordBatch> {
        if self.texts.is_empty() {
            return Ok(batch);
        }
        let (mut fields, mut columns) = (batch.schema().fields().to_vec(), batch.columns().to_vec());
        for column in &self.texts {
            let (bytes, field) = (&columns[*column], &fields[*column]);
            // What is no text becomes NULL.
            let texts = cast(&cast(bytes, &DataType::LargeBinary)?, &DataType::LargeUtf8)?;
            let texts = cast(&texts, &DataType::Utf8View)?;
            if let Some(row) = (0..bytes.len()).find(|row| texts.is_null(*row) && bytes.is_valid(*row)) {
                return Err(Error::invalid(
                    SqlState::CharacterNotInRepertoire,
                    format!(
                        "{}, row {}: column '{}' fills a column of text, but its bytes are no UTF-8; load it into BINARY",
                        path.display(),
                        first + row as u64,
                        field.name()
                    ),
                ));
            }
            fields[*column] = Arc::new(Field::new(field.name(), DataType::Utf8View, field.is_nullable()));
            columns[*column] = texts;
        }
        Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)
    }

    /// Cuts the pieces into runs of about the same number of bytes.
    fn lanes(&self, threads: usize) -> Vec<Vec<Piece>> {
        let count = threads.clamp(1, self.pieces.len().max(1));
        let total = self.pieces.iter().map(|piece| piece.bytes).sum::<u64>().max(1);
        let mut lanes = vec![Vec::new(); count];
        let mut before = 0;
        for piece in &self.pieces {
            let middle = before + piece.bytes / 2;
            let lane = (u128::from(middle) * count as u128 / u128::from(total)) as usize;
            lanes[lane.min(count - 1)].push(piece.clone());
            before += piece.bytes;
        }
        lanes
    }
}

type BatchReader<'a> = Box<dyn Iterator<Item = Result<RecordBatch>> + 'a>;

/// Decodes a run of pieces of one file.
fn batches<'a>(path: &'a Path, run: &'a [Piece]) -> Result<BatchReader<'a>> {
    match &run[0].kind {
        PieceKind::RowGroup(_, metadata) => {
            let file = File::open(path).map_err(|error| io_error(path, &error))?;
            let group = |piece: &Piece| if let PieceKind::RowGroup(group, _) = piece.kind { Some(group) } else { None };
            let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata.clone())
                .with_row_groups(run.iter().filter_map(group).collect())
                .with_batch_size(BATCH_ROWS)
                .build()
                .map_err(|error| unreadable(path, FileFormat::Parquet, &error))?;
            Ok(Box::new(reader.map(move |batch| batch.map_err(|error| unreadable(path, FileFormat::Parquet, &error)))))
        }
        PieceKind::Batch(first) => {
            let mut reader = file_reader(path)?;
            reader.set_index(*first).map_err(|error| unreadable(path, FileFormat::Arrow, &error))?;
            let batches = reader.take(run.len());
            Ok(Box::new(batches.map(move |batch| batch.map_err(|error| unreadable(path, FileFormat::Arrow, &error)))))
        }
        PieceKind::Stream => {
            let batches = stream_reader(path)?;
            Ok(Box::new(batches.map(move |batch| batch.map_err(|error| unreadable(path, FileFormat::Arrow, &error)))))
        }
    }
}

fn is_ipc_file(path: &Path) -> Result<bool> {
    let mut magic = [0; 6];
    let mut file = File::open(path).map_err(|error| io_error(path, &error))?;
    Ok(file.read_exact(&mut magic).is_ok() && &magic == b"ARROW1")
}

fn file_reader(path: &Path) -> Result<FileReader<BufReader<File>>> {
    let file = File::open(path).map_err(|error| io_error(path, &error))?;
    FileReader::try_new_buffered(file, None).map_err(|error| unreadable(path, FileFormat::Arrow, &error))
}

fn stream_reader(path: &Path) -> Result<StreamReader<BufReader<File>>> {
    let file = File::open(path).map_err(|error| io_error(path, &error))?;
    StreamReader::try_new_buffered(file, None).map_err(|error| unreadable(path, FileFormat::Arrow, &error))
}

/// Refuses columns whose bytes or text mean more than bytes or text.
fn refuse_extensions(path: &Path, schema: &Schema) -> Result<()> {
    for field in schema.fields() {
        match field.extension_type_name() {
            Some("arrow.uuid") => return Err(foreign_type(path, field.name(), "UUID")),
            Some("arrow.json") => return Err(foreign_type(path, field.name(), "JSON")),
            _ => {}
        }
    }
    Ok(())
}

fn foreign_type(path: &Path, column: &str, name: &str) -> Error {
    Error::Unsupported(format!(
        "{}: column '{column}' has type {name}, which a table can't store; write the file with it as VARCHAR",
        path.display()
    ))
}

/// The schema with strings and binary as views.
fn with_views(schema: &Schema) -> Schema {
    let view = |field: &Field| match field.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 => field.clone().with_data_type(DataType::Utf8View),
        DataType::Binary | DataType::LargeBinary => field.clone().with_data_type(DataType::BinaryView),
        _ => field.clone(),
    };
    Schema::new(schema.fields().iter().map(|field| view(field)).collect::<Vec<_>>())
}

/// The schema with microseconds for times of 96 bits, which reach further than nanoseconds of 64 bits, and with texts for words of
/// enumerations.
fn as_meant(schema: Schema, columns: &SchemaDescriptor) -> Schema {
    let words = word_columns(columns);
    let is_wide = |name: &str| {
        let own = |column: &&ColumnDescPtr| matches!(column.path().parts(), [only] if only == name);
        columns.columns().iter().find(own).is_some_and(|column| column.physical_type() == PhysicalType::INT96)
    };
    let field = |field: &Arc<Field>| {
        let field = field.as_ref().clone();
        match field.name().as_str() {
            name if is_wide(name) => field.with_data_type(DataType::Timestamp(TimeUnit::Microsecond, None)),
            name if words.contains(name) => field.with_data_type(DataType::Utf8View),
            _ => field,
        }
    };
    Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>())
}

fn same_columns((first, expected): (&Path, &Schema), (path, found): (&Path, &Schema)) -> Result<()> {
    let differs = |what: String| {
        Err(Error::invalid(
            SqlState::UndefinedColumn,
            format!("{} does not have the columns of {}: {what}", path.display(), first.display()),
        ))
    };
    if expected.fields().len() != found.fields().len() {
        return differs(format!("{} instead of {}", found.fields().len(), expected.fields().len()));
    }
    for (a, b) in expected.fields().iter().zip(found.fields()) {
        if a.name() != b.name() || a.data_type() != b.data_type() {
            let mut types = [b, a].map(|field| type_name(field.data_type()));
            if types[0] == types[1] {
                // Two of Arrow's types that SQL has one name for.
                types = [b, a].map(|field| field.data_type().to_string());
            }
            return differs(format!("{} {} instead of {} {}", b.name(), types[0], a.name(), types[1]));
        }
    }
    Ok(())
}
