//! Arrow data of the program as a table of one connection or of one statement: batches, which are read as often as a query likes,
//! or a stream, which can be read once.
//!
//! Values are not copied. Strings and bytes get the views that the engine works on, batch by batch as they are read; so do types
//! that SQL has no name for get the ones that keep all of their values.

use crate::Error;
use crate::error::invalid;
use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, RecordBatchReader};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Statistics;
use datafusion::common::stats::Precision;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::{RecordBatchReceiverStream, RecordBatchStreamAdapter};
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use gingham_storage::{LogicalType, SqlState};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Rows that a task reads before others have their turn: more than a batch, so that large batches are shared out.
const PORTION_ROWS: usize = 1 << 16;
/// Batches that a stream may be ahead of its reader.
const WAITING_BATCHES: usize = 2;

/// A table whose records the program has.
#[derive(Debug)]
pub(crate) struct RegisteredTable {
    schema: SchemaRef,
    source: Source,
}

enum Source {
    Batches(Arc<[RecordBatch]>),
    /// Taken by the first who reads it.
    Stream(Arc<OneReading>),
}

struct OneReading {
    name: String,
    reader: Mutex<Option<Box<dyn RecordBatchReader + Send>>>,
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Batches(batches) => write!(f, "{} batches", batches.len()),
            Self::Stream(_) => f.write_str("a stream"),
        }
    }
}

impl RegisteredTable {
    /// Batches under a name. Errors where there is none to tell the columns, or they differ in their columns.
    pub(crate) fn of_named(name: &str, batches: Vec<RecordBatch>) -> crate::Result<Self> {
        let Some(first) = batches.first() else {
            return Err(Error::invalid(
                SqlState::InvalidTableDefinition,
                format!("'{name}' has no batch, so that nothing tells its columns; give a stream instead"),
            ));
        };
        let schema = first.schema();
        if let Some(other) = batches.iter().find(|batch| batch.schema().fields() != schema.fields()) {
            return Err(Error::invalid(
                SqlState::DatatypeMismatch,
                format!("the batches of '{name}' have different columns: {} and {schema}", other.schema()),
            ));
        }
        Self::of_batches(&schema, batches)
    }

    /// Batches of one schema.
    pub(crate) fn of_batches(schema: &Schema, batches: Vec<RecordBatch>) -> crate::Result<Self> {
        Ok(Self { schema: readable_schema(schema)?, source: Source::Batches(batches.into()) })
    }

    /// A stream, called `name` in errors.
    pub(crate) fn of_stream(name: &str, reader: Box<dyn RecordBatchReader + Send>) -> crate::Result<Self> {
        let schema = readable_schema(&reader.schema())?;
        let one = OneReading { name: name.to_owned(), reader: Mutex::new(Some(reader)) };
        Ok(Self { schema, source: Source::Stream(Arc::new(one)) })
    }
}

/// The types that columns are read as.
fn readable_schema(schema: &Schema) -> crate::Result<SchemaRef> {
    let field = |field: &Arc<Field>| {
        let data_type = readable(field.data_type()).ok_or_else(|| {
            let (name, data_type) = (field.name(), field.data_type());
            Error::Unsupported(format!("column '{name}' is of the Arrow type {data_type}, which SQL has no type for"))
        })?;
        Ok(Field::new(field.name(), data_type, field.is_nullable()))
    };
    let fields = schema.fields().iter().map(field).collect::<crate::Result<Vec<_>>>()?;
    Ok(Arc::new(Schema::new(fields)))
}

/// The type that a column is read as; `None` for one that has values which no type here keeps.
fn readable(data_type: &DataType) -> Option<DataType> {
    if let Ok(stored) = LogicalType::from_arrow("", data_type) {
        return Some(stored.to_arrow());
    }
    Some(match data_type {
        DataType::Float16 => DataType::Float32,
        DataType::Date64 => DataType::Timestamp(TimeUnit::Millisecond, None),
        DataType::Decimal256(precision, scale) if *precision <= 38 => DataType::Decimal128(*precision, *scale),
        DataType::RunEndEncoded(_, values) => readable(values.data_type())?,
        DataType::Duration(_) | DataType::Decimal256(..) | DataType::Union(..) => return None,
        other => other.clone(),
    })
}

/// The columns at `positions` as `schema` has them.
fn read(batch: &RecordBatch, positions: &[usize], schema: &SchemaRef) -> Result<RecordBatch> {
    let column = |(position, field): (&usize, &Arc<Field>)| -> Result<ArrayRef> {
        let values = batch.column(*position);
        if values.data_type() == field.data_type() {
            Ok(Arc::clone(values))
        } else {
            Ok(cast(values, field.data_type())?)
        }
    };
    let columns = positions.iter().zip(schema.fields()).map(column).collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

#[async_trait::async_trait]
impl TableProvider for RegisteredTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let positions: Arc<[usize]> = match projection {
            Some(positions) => positions.as_slice().into(),
            None => (0..self.schema.fields().len()).collect(),
        };
        let schema = Arc::new(self.schema.project(&positions)?);
        let own =
            |source| Arc::new(Part { schema: Arc::clone(&schema), positions: Arc::clone(&positions), source }) as _;
        let parts: Vec<Arc<dyn PartitionStream>> = match &self.source {
            Source::Stream(one) => vec![own(PartRows::Stream(Arc::clone(one)))],
            Source::Batches(batches) => {
                let portions = batches.iter().map(|batch| batch.num_rows().div_ceil(PORTION_ROWS)).sum::<usize>();
                let parts = state.config().target_partitions().clamp(1, portions.max(1));
                let part = |part| own(PartRows::Batches { batches: Arc::clone(batches), part, parts });
                (0..parts).map(part).collect()
            }
        };
        Ok(Arc::new(StreamingTableExec::try_new(schema, parts, None, None, false, limit)?))
    }

    fn statistics(&self) -> Option<Statistics> {
        let Source::Batches(batches) = &self.source else { return None };
        let rows = batches.iter().map(RecordBatch::num_rows).sum();
        Some(Statistics { num_rows: Precision::Exact(rows), ..Statistics::new_unknown(&self.schema) })
    }
}

/// The part of a table that one task reads.
#[derive(Debug)]
struct Part {
    schema: SchemaRef,
    positions: Arc<[usize]>,
    source: PartRows,
}

#[derive(Debug)]
enum PartRows {
    /// Each portion whose number, divided by `parts`, leaves `part`.
    Batches {
        batches: Arc<[RecordBatch]>,
        part: usize,
        parts: usize,
    },
    Stream(Arc<OneReading>),
}

impl fmt::Debug for OneReading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the stream '{}'", self.name)
    }
}

impl PartitionStream for Part {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let (schema, positions) = (Arc::clone(&self.schema), Arc::clone(&self.positions));
        match &self.source {
            PartRows::Batches { batches, part, parts } => {
                let batch_rows = context.session_config().batch_size().max(1);
                let own = slices(batches, *part, *parts, batch_rows);
                let (batches, of_rows) = (Arc::clone(batches), Arc::clone(&schema));
                let rows = own
                    .into_iter()
                    .map(move |(batch, from, rows)| read(&batches[batch].slice(from, rows), &positions, &of_rows));
                Box::pin(RecordBatchStreamAdapter::new(schema, futures::stream::iter(rows)))
            }
            PartRows::Stream(one) => {
                let one = Arc::clone(one);
                let mut receiver = RecordBatchReceiverStream::builder(Arc::clone(&schema), WAITING_BATCHES);
                let sender = receiver.tx();
                receiver.spawn_blocking(move || {
                    let reader = one.reader.lock().unwrap_or_else(PoisonError::into_inner).take();
                    let Some(reader) = reader else {
                        return invalid!(
                            ObjectNotInPrerequisiteState,
                            "'{}' is a stream that was read already, and can be read once; give its batches to read \
                             them again",
                            one.name
                        );
                    };
                    for batch in reader {
                        let own = batch.map_err(Into::into).and_then(|batch| read(&batch, &positions, &schema));
                        if sender.blocking_send(own).is_err() {
                            break;
                        }
                    }
                    Ok(())
                });
                receiver.build()
            }
        }
    }
}

/// Batch, first row and rows of each slice that a part reads.
fn slices(batches: &[RecordBatch], part: usize, parts: usize, batch_rows: usize) -> Vec<(usize, usize, usize)> {
    let mut own = Vec::new();
    let mut portion = 0;
    for (number, batch) in batches.iter().enumerate() {
        for from in (0..batch.num_rows()).step_by(PORTION_ROWS) {
            if portion % parts == part {
                let to = batch.num_rows().min(from + PORTION_ROWS);
                own.extend((from..to).step_by(batch_rows).map(|from| (number, from, batch_rows.min(to - from))));
            }
            portion += 1;
        }
    }
    own
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{AsArray, Int64Array};
    use arrow::datatypes::Int64Type;

    #[test]
    fn parts_have_each_row_once() {
        let batch = |rows: i64| {
            let values: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
            RecordBatch::try_from_iter([("n", values)]).unwrap()
        };
        let batches = [batch(0), batch(1), batch(200_000), batch(PORTION_ROWS as i64), batch(7)];
        for parts in 1..5 {
            let mut seen = vec![Vec::new(); batches.len()];
            for part in 0..parts {
                for (number, from, rows) in slices(&batches, part, parts, 8192) {
                    let slice = batches[number].slice(from, rows);
                    seen[number].extend_from_slice(slice.column(0).as_primitive::<Int64Type>().values());
                }
            }
            for (batch, mut values) in batches.iter().zip(seen) {
                values.sort_unstable();
                assert!(values.into_iter().eq(0..batch.num_rows() as i64));
            }
        }
    }
}
