//! Pieces of a stream to batches. One place cuts them into records, and several at a time make columns of these.

use crate::sql::copy_feed::CopyPiece;
use crate::statements::dml::ingest::{ConvertError, Ingest, MisfitValue};
use crate::statements::transfer::streams::columns::column;
use crate::statements::transfer::streams::cut::{Chunk, Cutter, LineProblem, bad};
use crate::statements::transfer::streams::encoding::StreamDecoder;
use crate::statements::transfer::streams::fields::{BadRecord, Fields, Splitter};
use crate::statements::transfer::streams::options::{HeaderLine, StreamOptions};
use crate::{Error, Result};
use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Field, Schema};
use datafusion::execution::memory_pool::MemoryReservation;
use gingham_storage::{LogicalType, Problem, SqlState};
use std::sync::Arc;
use tokio::sync::mpsc::Receiver;

/// Makes records of pieces, in their order.
pub(super) struct PieceReader {
    cutter: Cutter,
    decoder: StreamDecoder,
    header: HeaderLine,
    /// The last piece has come.
    is_finished: bool,
    /// What the stream's unfinished record takes.
    reservation: MemoryReservation,
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
}

impl PieceReader {
    pub(super) fn new(options: &StreamOptions, reservation: MemoryReservation) -> Self {
        Self {
            cutter: Cutter::new(options),
            decoder: options.encoding.decoder(),
            header: options.header,
            is_finished: false,
            reservation,
        }
    }

    /// The next records; `None` at the end of them.
    pub(super) async fn next(&mut self, pieces: &mut Receiver<CopyPiece>) -> Result<Option<CutRecords>> {
        while !self.is_finished {
            let (piece, is_last) = match pieces.recv().await {
                Some(CopyPiece::Bytes(piece)) => (piece, false),
                Some(CopyPiece::Finish) => (bytes::Bytes::new(), true),
                Some(CopyPiece::Fail(reason)) => {
                    let text = format!("COPY from stdin failed: {reason}");
                    return Err(Error::invalid(SqlState::QueryCanceled, text));
                }
                // Whoever has the bytes is gone.
                None => return Err(Error::Cancelled),
            };
            self.is_finished = is_last;
            self.reservation.try_resize(self.cutter.waiting() + piece.len())?;
            let line = self.cutter.line();
            let decoded = self.decoder.decode(&piece, is_last, self.cutter.buffer());
            let (mut chunk, mut problem) = self.cutter.cut(is_last);
            if let (Err(undecoded), None) = (decoded, &problem) {
                problem = Some(LineProblem { line: line + chunk.records.len() as u64, problem: undecoded });
            }
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

impl RecordReader {
    /// For records of these columns of a table.
    pub(super) fn new(
        table: String,
        (names, types): (&[String], Vec<LogicalType>),
        options: &StreamOptions,
    ) -> Result<Self> {
        Ok(Self { table, names: names.to_vec(), types, splitter: Splitter::new(options, names)? })
    }

    /// The records as columns.
    pub(super) fn read(&self, cut: CutRecords) -> Result<ReadRecords> {
        let CutRecords { mut chunk, has_names, problem } = cut;
        let mut error = problem.map(|found| self.at_line(found.line, found.problem));
        if has_names {
            let line = chunk.records.remove(0);
            if let Err(problem) = self.compare(&chunk.bytes[line.start..line.end]) {
                error = Some(self.at_line(line.line, problem));
                chunk.records.clear();
            }
        }
        let mut lines: Vec<u64> = chunk.records.iter().map(|record| record.line).collect();
        let (fields, found) = self.splitter.split(chunk);
        let mut rows = fields.rows;
        let is_partial = found.as_ref().is_some_and(|found| found.is_partial);
        if let Some(BadRecord { problem, .. }) = found {
            rows -= usize::from(is_partial);
            let line = lines.get(rows).copied().unwrap_or_default();
            error = Some(self.at_line(line, problem));
        }
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.types.len());
        let mut wrong: Option<(usize, MisfitValue)> = None;
        for (at, target) in self.types.iter().enumerate() {
            match column(&fields, at, target)? {
                Ok(values) => columns.push(values),
                Err(misfit) if wrong.as_ref().is_none_or(|(_, known)| misfit.row < known.row) => {
                    wrong = Some((at, misfit));
                }
                Err(_) => {}
            }
        }
        if let Some((at, misfit)) = wrong {
            let line = lines.get(misfit.row).copied().unwrap_or_default();
            let problem = misfit.problem.about(format_args!("COPY {}, line {line}, column '{}'", self.table, self.names[at]));
            error = Some(Error::InvalidInput(problem));
            rows = misfit.row;
            columns = self.before(fields, rows)?;
        }
        lines.truncate(rows);
        let columns: Vec<ArrayRef> = columns.into_iter().map(|values| values.slice(0, rows.min(values.len()))).collect();
        Ok(ReadRecords { batch: self.batch(columns, rows)?, lines, error })
    }

    /// The columns of the first records, which are right.
    fn before(&self, fields: Fields, rows: usize) -> Result<Vec<ArrayRef>> {
        let own = fields.first(rows);
        let read = self.types.iter().enumerate().map(|(at, target)| {
            column(&own, at, target)?.map_err(|misfit| Error::InvalidInput(misfit.problem))
        });
        read.collect()
    }

    fn batch(&self, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
        let named = self.names.iter().zip(&columns);
        let fields: Vec<Field> = named.map(|(name, values)| Field::new(name, values.data_type().clone(), true)).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)?)
    }

    fn at_line(&self, line: u64, problem: Problem) -> Error {
        Error::InvalidInput(problem.about(format_args!("COPY {}, line {line}", self.table)))
    }

    /// Compares a line of names with those of the columns.
    fn compare(&self, line: &[u8]) -> Result<(), Problem> {
        let found = self.splitter.header(line)?;
        if found.len() != self.names.len() {
            let text = format!("wrong number of fields in header line: {} instead of {}", found.len(), self.names.len());
            return Err(bad(text));
        }
        for (number, (found, name)) in found.iter().zip(&self.names).enumerate() {
            let text = found.as_ref().map(|found| String::from_utf8_lossy(found));
            if text.as_deref() != Some(name.as_str()) {
                let shown = text.map_or("NULL".to_owned(), |text| format!("\"{text}\""));
                let text = format!("column name mismatch in header line field {}: got {shown}, expected \"{name}\"", number + 1);
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
