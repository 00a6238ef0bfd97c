//! Pieces of a stream to batches. One place cuts them into records, and several at a time make columns of these.

use crate::sql::copy_feed::FedPiece;
use crate::statements::dml::ingest::{ConvertError, Ingest, MisfitValue};
use crate::statements::transfer::streams::columns::column;
use crate::statements::transfer::streams::cut::{Chunk, Cutter, LineProblem, bad};
use crate::statements::transfer::streams::encoding::StreamDecoder;
use crate::statements::transfer::streams::fields::{BadRecord, RecordFields, Splitter};
use crate::statements::transfer::streams::options::{HeaderLine, StreamFormat, StreamOptions};
use crate::statements::transfer::streams::tuples::{self, TupleCutter};
use crate::{Error, Result};
use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Field, Schema};
use datafusion::execution::memory_pool::MemoryReservation;
use gingham_storage::{LogicalType, Problem, SqlState, TableDefinition};
use std::sync::Arc;
use tokio::sync::mpsc::Receiver;

/// Makes records of pieces, in their order.
pub(super) struct PieceReader {
    cutter: AnyCutter,
    header: HeaderLine,
    /// The last piece has come.
    is_finished: bool,
    /// What the stream's unfinished record takes.
    reservation: MemoryReservation,
}

/// What cuts the stream.
enum AnyCutter {
    Lines(Cutter, StreamDecoder),
    Tuples(TupleCutter),
}

/// Records as they were cut, and what is wrong behind them.
pub(super) struct CutRecords {
    chunk: Chunk,
    /// Their first is the line of names, which has to be that of the columns.
    has_names: bool,
    problem: Option<LineProblem>,
}

/// Records as columns, and the error behind them.
pub(super) struct ReadRecords {
    batch: RecordBatch,
    /// The number of each one's line.
    lines: Vec<u64>,
    error: Option<Error>,
}

/// Makes columns of records.
#[derive(Debug)]
pub(super) struct RecordReader {
    /// The table's name for errors.
    table: String,
    names: Vec<String>,
    types: Vec<LogicalType>,
    splitter: Splitter,
    is_binary: bool,
}

impl PieceReader {
    /// For records of so many fields.
    pub(super) fn new(options: &StreamOptions, width: usize, reservation: MemoryReservation) -> Self {
        let cutter = match options.format {
            StreamFormat::Binary => AnyCutter::Tuples(TupleCutter::new(width)),
            StreamFormat::Text | StreamFormat::Csv => {
                AnyCutter::Lines(Cutter::new(options), options.encoding.decoder())
            }
        };
        Self { cutter, header: options.header, is_finished: false, reservation }
    }

    /// The next records; `None` at the end of them.
    pub(super) async fn next(&mut self, pieces: &mut Receiver<FedPiece>) -> Result<Option<CutRecords>> {
        while !self.is_finished {
            let (piece, is_last) = match pieces.recv().await {
                Some(FedPiece::Bytes(piece)) => (piece, false),
                Some(FedPiece::Finish) => (bytes::Bytes::new(), true),
                Some(FedPiece::Fail(reason)) => {
                    let text = format!("COPY from stdin failed: {reason}");
                    return Err(Error::invalid(SqlState::QueryCanceled, text));
                }
                // Whoever has the bytes is gone.
                None => return Err(Error::Cancelled),
            };
            self.is_finished = is_last;
            self.reservation.try_resize(self.cutter.waiting() + piece.len())?;
            let (mut chunk, problem) = self.cutter.cut(&piece, is_last);
            let mut has_names = false;
            if !chunk.records.is_empty() {
                match std::mem::replace(&mut self.header, HeaderLine::Absent) {
                    HeaderLine::Absent => {}
                    HeaderLine::Present => drop(chunk.records.remove(0)),
                    HeaderLine::Match => has_names = true,
                }
            }
            if !chunk.records.is_empty() || problem.is_some() {
                return Ok(Some(CutRecords { chunk, has_names, problem }));
            }
        }
        Ok(None)
    }
}

impl AnyCutter {
    /// Bytes that wait for the end of their record.
    fn waiting(&self) -> usize {
        match self {
            Self::Lines(cutter, _) => cutter.waiting(),
            Self::Tuples(cutter) => cutter.waiting(),
        }
    }

    /// The records that are whole with this piece, and what is wrong behind them.
    fn cut(&mut self, piece: &[u8], is_last: bool) -> (Chunk, Option<LineProblem>) {
        match self {
            Self::Lines(cutter, decoder) => {
                let line = cutter.line();
                let decoded = decoder.decode(piece, is_last, cutter.buffer());
                let (chunk, problem) = cutter.cut(is_last);
                let undecoded = decoded.err().map(|problem| {
                    let line = line + chunk.records.len() as u64;
                    LineProblem { line, column: None, problem }
                });
                (chunk, problem.or(undecoded))
            }
            Self::Tuples(cutter) => {
                cutter.buffer().extend_from_slice(piece);
                cutter.cut(is_last)
            }
        }
    }
}

impl RecordReader {
    /// For records of these columns of a table.
    pub(super) fn new(
        table: &TableDefinition,
        (names, types): (&[String], Vec<LogicalType>),
        options: &StreamOptions,
    ) -> Result<Self> {
        let all: Vec<String> = table.columns.iter().map(|column| column.name.clone()).collect();
        let table = table.name.table.clone();
        let (splitter, is_binary) = (Splitter::new(options, names, &all)?, options.format == StreamFormat::Binary);
        Ok(Self { table, names: names.to_vec(), types, splitter, is_binary })
    }

    /// The records as columns.
    pub(super) fn read(&self, cut: CutRecords) -> Result<ReadRecords> {
        let CutRecords { mut chunk, has_names, problem } = cut;
        let mut error = problem.map(|found| self.at(found.line, found.column, found.problem));
        if has_names {
            let line = chunk.records.remove(0);
            if let Err(problem) = self.compare(&chunk.bytes[line.start..line.end]) {
                error = Some(self.at(line.line, None, problem));
                chunk.records.clear();
            }
        }
        let mut lines: Vec<u64> = chunk.records.iter().map(|record| record.line).collect();
        let (fields, found) = match self.is_binary {
            true => (tuples::split(chunk, self.names.len()), None),
            false => self.splitter.split(chunk),
        };
        let mut rows = fields.rows;
        let is_partial = found.as_ref().is_some_and(|found| found.is_partial);
        if let Some(BadRecord { problem, .. }) = found {
            rows -= usize::from(is_partial);
            let line = lines.get(rows).copied().unwrap_or_default();
            error = Some(self.at(line, None, problem));
        }
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.types.len());
        let mut wrong: Option<(usize, MisfitValue)> = None;
        for (at, target) in self.types.iter().enumerate() {
            match self.column(&fields, at, target)? {
                Ok(values) => columns.push(values),
                Err(misfit) if wrong.as_ref().is_none_or(|(_, known)| misfit.row < known.row) => {
                    wrong = Some((at, misfit));
                }
                Err(_) => {}
            }
        }
        if let Some((at, misfit)) = wrong {
            let line = lines.get(misfit.row).copied().unwrap_or_default();
            error = Some(self.at(line, Some(at), misfit.problem));
            rows = misfit.row;
            columns = self.before(fields, rows)?;
        }
        lines.truncate(rows);
        let columns: Vec<ArrayRef> =
            columns.into_iter().map(|values| values.slice(0, rows.min(values.len()))).collect();
        Ok(ReadRecords { batch: self.batch(columns, rows)?, lines, error })
    }

    /// The columns of the first records, which are right.
    fn before(&self, fields: RecordFields, rows: usize) -> Result<Vec<ArrayRef>> {
        let own = fields.first(rows);
        let read =
            self.types.iter().enumerate().map(|(at, target)| {
                self.column(&own, at, target)?.map_err(|misfit| Error::InvalidInput(misfit.problem))
            });
        read.collect()
    }

    fn batch(&self, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
        let named = self.names.iter().zip(&columns);
        let fields: Vec<Field> =
            named.map(|(name, values)| Field::new(name, values.data_type().clone(), true)).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)?)
    }

    fn column(&self, fields: &RecordFields, at: usize, target: &LogicalType) -> Result<Result<ArrayRef, MisfitValue>> {
        if self.is_binary { tuples::column(fields, at, target) } else { column(fields, at, target) }
    }

    /// What is wrong in a line, and in a column perhaps.
    fn at(&self, line: u64, column: Option<usize>, problem: Problem) -> Error {
        let mut place = format!("COPY {}", self.table);
        if line > 0 {
            place += &format!(", line {line}");
        }
        if let Some(name) = column.and_then(|column| self.names.get(column)) {
            place += &format!(", column '{name}'");
        }
        Error::InvalidInput(problem.about(place))
    }

    /// Compares a line of names with those of the columns.
    fn compare(&self, line: &[u8]) -> Result<(), Problem> {
        let found = self.splitter.header(line)?;
        if found.len() != self.names.len() {
            let text =
                format!("wrong number of fields in header line: {} instead of {}", found.len(), self.names.len());
            return Err(bad(text));
        }
        for (number, (found, name)) in found.iter().zip(&self.names).enumerate() {
            let text = found.as_ref().map(|found| String::from_utf8_lossy(found));
            if text.as_deref() != Some(name.as_str()) {
                let shown = text.map_or("NULL".to_owned(), |text| format!("\"{text}\""));
                let text = format!(
                    "column name mismatch in header line field {}: got {shown}, expected \"{name}\"",
                    number + 1
                );
                return Err(bad(text));
            }
        }
        Ok(())
    }

    /// Writes records, and gives the error behind them.
    pub(super) fn write(&self, records: ReadRecords, ingest: &Ingest) -> Result<()> {
        let ReadRecords { batch, lines, error } = records;
        if batch.num_rows() > 0 {
            match ingest.converter().convert(&batch) {
                Ok(converted) => ingest.converted(0, converted)?,
                Err(ConvertError::Other(error)) => return Err(error),
                Err(ConvertError::Row(bad)) => {
                    let line = lines.get(bad.row).copied().unwrap_or_default();
                    return Err(bad.into_error(&format!("COPY {}, line {line}", self.table)));
                }
            }
        }
        error.map_or(Ok(()), Err)
    }
}
