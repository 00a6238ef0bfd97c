//! Writing new records into a table: the one way that INSERT, COPY, loads and appenders share.
//!
//! | file | what |
//! |---|---|
//! | `convert` | source batches to the table's rows: mapping, defaults, casts, NOT NULL, CHECK |
//! | `assign` | values to a column's type, none of them changed |
//! | `floats` | one zero and one NaN |
//! | `value` | single values: what converts to what, messages |

mod assign;
mod convert;
mod floats;
mod value;

pub(crate) use crate::statements::dml::ingest::assign::{MisfitValue, assign};
pub(crate) use crate::statements::dml::ingest::convert::{BadRow, ConvertError, Converter, single_value};
pub(crate) use crate::statements::dml::ingest::value::{assignable, is_automatic};

use crate::session::{StatementContext, Writing};
use crate::{Error, Result};
use arrow::array::RecordBatch;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use gingham_storage::TableDefinition;
use gingham_storage::scan::batch_bytes;
use gingham_storage::snapshot::TableSnapshot;
use gingham_storage::store::Store;
use gingham_storage::write::{TableWriter, WrittenRows};
use std::sync::{Arc, Mutex, PoisonError};

/// Converts batches and writes them to segment files, in lanes; nothing is visible before [`Ingest::finish`]. Its
/// calls block: keep them off the threads that drive queries.
#[derive(Debug)]
pub(crate) struct Ingest {
    writing: Writing,
    store: Arc<Store>,
    table: Arc<TableSnapshot>,
    converter: Converter,
    writer: TableWriter,
    /// All rows, where they are wanted back.
    kept: Option<Mutex<ReturnedRows>>,
}

/// Rows that are wanted back, by lane, and what they take of the memory limit.
#[derive(Debug)]
struct ReturnedRows {
    rows: Vec<(usize, RecordBatch)>,
    /// They are written too.
    writes: bool,
    reservation: MemoryReservation,
}

impl Ingest {
    /// Into `table` of `store`. The batches' columns are, in order, the table's columns `given`, or all of them; the
    /// others take their DEFAULT.
    pub(crate) fn new(
        context: &StatementContext,
        store: &Arc<Store>,
        table: &Arc<TableSnapshot>,
        given: Option<&[String]>,
    ) -> Result<Self> {
        Ok(Self {
            converter: Converter::new(&context.state, &table.definition, given)?,
            writer: store.table_writer(table)?,
            writing: context.writing(),
            store: Arc::clone(store),
            table: Arc::clone(table),
            kept: None,
        })
    }

    /// This ingest, which keeps the rows for [`Ingest::kept`], and writes them if `writes`.
    pub(crate) fn keeping(self, pool: &Arc<dyn MemoryPool>, writes: bool) -> Self {
        let reservation = MemoryConsumer::new("new rows").register(pool);
        Self { kept: Some(Mutex::new(ReturnedRows { rows: Vec::new(), writes, reservation })), ..self }
    }

    /// The rows so far, those of lower lanes first.
    pub(crate) fn kept(&self) -> Vec<RecordBatch> {
        let Some(kept) = &self.kept else { return Vec::new() };
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rows = std::mem::take(&mut kept.rows);
        rows.sort_by_key(|(lane, _)| *lane);
        rows.into_iter().map(|(_, batch)| batch).collect()
    }

    /// Into a table that does not exist yet: see [`Ingest::finish_creating`].
    pub(crate) fn for_new_table(
        context: &StatementContext,
        store: &Arc<Store>,
        definition: TableDefinition,
        given: Option<&[String]>,
    ) -> Result<Self> {
        let table = TableSnapshot::empty(definition);
        Self::new(context, store, &Arc::new(table), given)
    }

    /// The conversion alone, for callers that treat bad rows in their own way.
    pub(crate) fn converter(&self) -> &Converter {
        &self.converter
    }

    /// Adds a batch to lane `lane` (records of lower lanes are stored first; one thread per lane at a time).
    /// `first_row` is the number of the batch's first row as the user counts, from 1, when there is such a number.
    pub(crate) fn batch(&self, lane: usize, batch: &RecordBatch, first_row: Option<u64>) -> Result<()> {
        match self.converter.convert(batch) {
            Ok(converted) => self.converted(lane, converted),
            Err(ConvertError::Other(error)) => Err(error),
            Err(ConvertError::Row(bad)) => {
                let place = match first_row {
                    Some(first) => format!("row {}", first + bad.row as u64),
                    None => String::new(),
                };
                Err(bad.into_error(&place))
            }
        }
    }

    /// Adds a batch that [`Converter::convert`] gave.
    pub(crate) fn converted(&self, lane: usize, batch: RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        if let Some(kept) = &self.kept {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.reservation.try_grow(batch_bytes(&batch))?;
            kept.rows.push((lane, batch.clone()));
            if !kept.writes {
                return Ok(());
            }
        }
        Ok(self.writer.append(lane, batch)?)
    }

    /// The records, for a change of which they are a part.
    pub(crate) fn written(self) -> Result<WrittenRows> {
        Ok(self.writer.finish()?)
    }

    /// Makes all records visible, or none. Returns their number.
    pub(crate) fn finish(self) -> Result<u64> {
        let Self { writing, store, table, writer, .. } = self;
        let written = writer.finish()?;
        let rows = written.rows;
        if rows > 0 {
            writing.load(&store, written, move |_| Ok(table.definition.id))?;
        }
        Ok(rows)
    }

    /// Creates the table (instead of one of that name, when `replace`) together with its records, or neither. Returns
    /// their number.
    pub(crate) fn finish_creating(self, replace: bool) -> Result<u64> {
        let Self { writing, store, table, writer, .. } = self;
        let written = writer.finish()?;
        let rows = written.rows;
        writing.load(&store, written, move |transaction| {
            let definition = table.definition.as_ref().clone();
            if replace && transaction.base().has_table(&definition.name) {
                transaction.drop_table(&definition.name)?;
            }
            Ok(transaction.create_table(definition)?)
        })?;
        Ok(rows)
    }
}

/// A bad row at a place that has no number.
impl From<ConvertError> for Error {
    fn from(error: ConvertError) -> Self {
        match error {
            ConvertError::Row(bad) => bad.into_error(""),
            ConvertError::Other(error) => error,
        }
    }
}
