//! Delimited text: CSV and TPC-H's `.tbl`.
//!
//! Each lane reads a part of the files, which begins and ends with a record, and parses it a buffer at a time, column by
//! column.

use crate::load::chunks::{ChunkRecords, Chunks, RECORD_BYTES};
use crate::load::classify::Types;
use crate::load::parse::{TextOptions, UnparsedField};
use crate::load::sink::{RecordPosition, Sink, run_lanes, without};
use crate::load::sniff::{KnownFormat, Sniffed};
use crate::load::{LoadOptions, chunks, parse, sniff};
use crate::session::CancelToken;
use crate::statements::dml::ingest::BadRow;
use crate::{Error, Result};
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{Field, Schema};
use gingham_storage::{LogicalType, Problem, SqlState};
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of a file that are looked at before it is loaded.
const SAMPLE_BYTES: u64 = 4 << 20;
/// A file is cut into parts no smaller than this.
const PART_BYTES: u64 = 4 << 20;

/// Delimited files of one shape.
#[derive(Debug)]
pub(super) struct Text {
    files: Vec<PathBuf>,
    /// Where the records lie in each file.
    ranges: Vec<Range<u64>>,
    shape: Sniffed,
    options: TextOptions,
    /// The samples are the whole files.
    whole: bool,
}

/// The parts of files that a lane reads, in order: number of the file, and bytes.
type Lane = Vec<(usize, Range<u64>)>;

/// Columns to parse.
#[derive(Debug)]
pub(super) struct CsvColumns<'a> {
    /// Name of each field, for errors.
    pub(super) names: &'a [String],
    /// Type to parse each field as.
    pub(super) types: &'a [LogicalType],
    /// The types were found in samples: a value of another type ends the load, to be begun again with better ones.
    pub(super) provisional: bool,
}

impl Text {
    /// Looks at the files. `columns` are those of the table, when it exists.
    pub(super) fn open(
        files: &[PathBuf],
        options: &LoadOptions,
        tbl: bool,
        columns: Option<&[String]>,
    ) -> Result<Self> {
        let text =
            TextOptions::new(options.null.as_deref(), options.date_format.as_deref(), options.encoding.as_deref())?;
        let mut known = KnownFormat { delimiter: options.delimiter, header: options.header, tbl, columns };
        let mut all: Option<Self> = None;
        for path in files {
            let (sniffed, length, whole) = look(path, &known, &text)?;
            let range = sniffed.start as u64..length;
            match &mut all {
                None => {
                    known.delimiter = Some(sniffed.dialect.delimiter);
                    known.header = Some(sniffed.header.is_some());
                    let options = text.clone();
                    all = Some(Self { files: vec![path.clone()], ranges: vec![range], shape: sniffed, options, whole });
                }
                Some(all) => all.add(path, range, sniffed, whole)?,
            }
        }
        all.ok_or_else(|| Error::invalid(SqlState::UndefinedFile, "there is no file to load".to_owned()))
    }

    /// Adds a further file, which must look like the first.
    fn add(&mut self, path: &Path, range: Range<u64>, sniffed: Sniffed, whole: bool) -> Result<()> {
        if sniffed.width != self.shape.width || sniffed.header != self.shape.header {
            return Err(Error::invalid(
                SqlState::UndefinedColumn,
                format!(
                    "{} does not have the columns of {}: {} instead of {}",
                    path.display(),
                    self.files[0].display(),
                    described(&sniffed),
                    described(&self.shape)
                ),
            ));
        }
        self.files.push(path.to_owned());
        self.ranges.push(range);
        self.whole &= whole;
        self.shape.has_records |= sniffed.has_records;
        self.shape.dialect.trim |= sniffed.dialect.trim;
        self.shape.types = self.shape.types.iter().zip(sniffed.types).map(|(a, b)| a.and(b)).collect();
        Ok(())
    }

    /// Names of the header.
    pub(super) fn header(&self) -> Option<&[String]> {
        self.shape.header.as_deref()
    }

    /// Fields of a record.
    pub(super) fn width(&self) -> usize {
        self.shape.width
    }

    /// Bytes of the records.
    pub(super) fn bytes(&self) -> u64 {
        self.ranges.iter().map(|range| range.end - range.start).sum()
    }

    /// Types of the columns as the samples have them. Errors when there is no record to tell them from.
    pub(super) fn types(&self) -> Result<Vec<LogicalType>> {
        if !self.shape.has_records {
            return Err(Error::invalid(
                SqlState::BadCopyFileFormat,
                format!(
                    "{} has a header but no records, so the types of its columns can't be told: give a schema",
                    self.files[0].display()
                ),
            ));
        }
        Ok(self.shape.types.iter().map(|types| types.chosen()).collect())
    }

    /// True when the types are those of all records.
    pub(super) fn types_are_final(&self) -> bool {
        self.whole
    }

    /// Reads all files for the types that every value allows.
    pub(super) fn read_types(&mut self, cancel: &CancelToken) -> Result<()> {
        let mut types = vec![Types::ANY; self.width()];
        let mut records = ChunkRecords::default();
        for (path, range) in self.files.iter().zip(&self.ranges) {
            let mut chunks = Chunks::open(path, range.clone(), self.shape.dialect)?;
            while chunks.next(self.shape.width, &mut records)? {
                cancel.check()?;
                for record in records.fields.chunks(self.shape.width) {
                    sniff::narrow(chunks.buffer(), record, &mut types, &self.options);
                }
            }
        }
        self.shape.types = types;
        self.whole = true;
        Ok(())
    }

    /// Loads the files with up to `threads` lanes. False when a value did not fit a provisional type.
    pub(super) fn load(&self, columns: &CsvColumns<'_>, threads: usize, sink: &Sink<'_>) -> Result<bool> {
        let lanes = self.lanes(threads)?;
        let fits = AtomicBool::new(true);
        let lane = |lane: usize| -> Result<()> {
            for (file, range) in &lanes[lane] {
                let mut chunks = Chunks::open(&self.files[*file], range.clone(), self.shape.dialect)?;
                let mut records = ChunkRecords::default();
                let mut position = range.start;
                while sink.goes_on()? && chunks.next(self.shape.width, &mut records)? {
                    if !self.take(&chunks, &records, columns, (lane, *file), sink)? {
                        fits.store(false, Ordering::Relaxed);
                        sink.stop();
                    }
                    sink.advance(chunks.position() - position);
                    position = chunks.position();
                }
            }
            Ok(())
        };
        run_lanes(lanes.len(), sink, lane)?;
        Ok(fits.into_inner())
    }

    /// Parses a buffer's records and adds them. False when a value did not fit a provisional type.
    fn take(
        &self,
        chunks: &Chunks,
        records: &ChunkRecords,
        columns: &CsvColumns<'_>,
        (lane, file): (usize, usize),
        sink: &Sink<'_>,
    ) -> Result<bool> {
        for (start, problem) in &records.bad {
            let row = BadRow { row: 0, column: None, problem: Problem::new(SqlState::BadCopyFileFormat, problem) };
            sink.reject(file, RecordPosition::Offset(*start), row);
        }
        let mut bad: Vec<(usize, UnparsedField)> = Vec::new();
        let mut arrays = Vec::with_capacity(columns.types.len());
        for (index, logical_type) in columns.types.iter().enumerate() {
            let mut misfits = Vec::new();
            let place = (index, self.shape.width);
            let array =
                parse::column(chunks.buffer(), &records.fields, place, logical_type, &self.options, &mut misfits)?;
            let is_text = matches!(logical_type, LogicalType::Varchar(_));
            if columns.provisional && !is_text && !misfits.is_empty() {
                return Ok(false);
            }
            bad.extend(misfits.into_iter().map(|misfit| (index, misfit)));
            arrays.push(array);
        }
        let field = |(name, array): (&String, &ArrayRef)| Field::new(name, array.data_type().clone(), true);
        let schema = Schema::new(columns.names.iter().zip(&arrays).map(field).collect::<Vec<_>>());
        let mut batch = RecordBatch::try_new(Arc::new(schema), arrays)?;
        let mut starts = std::borrow::Cow::Borrowed(&records.starts);
        if !bad.is_empty() {
            bad.sort_by_key(|(column, misfit)| (misfit.row, *column));
            bad.dedup_by_key(|(_, misfit)| misfit.row);
            let rows: Vec<usize> = bad.iter().map(|(_, misfit)| misfit.row).collect();
            for (column, misfit) in bad {
                let place = RecordPosition::Offset(starts[misfit.row]);
                let column = Some(columns.names[column].clone());
                sink.reject(
                    file,
                    place,
                    BadRow { row: misfit.row, column, problem: Problem::new(misfit.state, misfit.problem) },
                );
            }
            batch = without(&batch, &rows)?;
            let mut row = 0;
            starts.to_mut().retain(|_| {
                row += 1;
                rows.binary_search(&(row - 1)).is_err()
            });
        }
        sink.append(lane, file, &batch, &|row| RecordPosition::Offset(starts[row]))?;
        Ok(true)
    }

    /// For each lane its parts of files, in order.
    fn lanes(&self, threads: usize) -> Result<Vec<Lane>> {
        let total = self.bytes();
        let count = (total / PART_BYTES).clamp(1, threads.max(1) as u64);
        let share = total.div_ceil(count).max(1);
        let mut lanes = vec![Vec::new(); count as usize];
        let mut before = 0;
        for (file, range) in self.ranges.iter().enumerate() {
            let length = range.end - range.start;
            let parts = length.div_ceil(share).max(1);
            for part in chunks::split(&self.files[file], range.clone(), parts, self.shape.dialect)? {
                let middle = before + (part.start + part.end) / 2 - range.start;
                let lane = (middle / share).min(count - 1);
                lanes[lane as usize].push((file, part));
            }
            before += length;
        }
        Ok(lanes)
    }
}

fn described(sniffed: &Sniffed) -> String {
    match &sniffed.header {
        Some(header) => format!("the header {}", header.join(",")),
        None => format!("{} fields and no header", sniffed.width),
    }
}

/// Looks at the beginning of a file. Gives its shape, the file's length in bytes, and whether the beginning is all of it.
fn look(path: &Path, known: &KnownFormat<'_>, text: &TextOptions) -> Result<(Sniffed, u64, bool)> {
    let name = path.display().to_string();
    let mut file = File::open(path).map_err(|error| chunks::io(path, &error))?;
    let length = file.metadata().map_err(|error| chunks::io(path, &error))?.len();
    let mut sample = Vec::new();
    let mut wanted = SAMPLE_BYTES;
    loop {
        let more = wanted - sample.len() as u64;
        (&mut file).take(more).read_to_end(&mut sample).map_err(|error| chunks::io(path, &error))?;
        let whole = (sample.len() as u64) < wanted || sample.len() as u64 >= length;
        if let Some(sniffed) = sniff::sniff(&name, &sample, whole, known, text)? {
            return Ok((sniffed, length, whole));
        }
        if wanted >= RECORD_BYTES as u64 {
            return Err(Error::invalid(
                SqlState::BadCopyFileFormat,
                format!(
                    "{name}: a record at its beginning is longer than {} MiB; is a quote not closed?",
                    RECORD_BYTES >> 20
                ),
            ));
        }
        wanted *= 2;
    }
}
