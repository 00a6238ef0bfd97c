//! Arrow data of the program as a table of one connection or of one statement: batches, which are read as often as a query likes,
//! or a stream, which can be read once.
//!
//! Values are not copied. Strings and bytes get the views that the engine works on, batch by batch as they are read; `reading` says
//! what other types become.

use crate::Error;
use crate::error::invalid;
use crate::table::reading::{read, readable_schema};
use crate::table::registered_exec::{RegisteredExec, SharedBatches};
use arrow::array::{RecordBatch, RecordBatchReader};
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Statistics;
use datafusion::common::stats::Precision;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use gingham_storage::SqlState;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Batches that a stream may be ahead of its reader.
const WAITING_BATCHES: usize = 2;

/// A table whose records the program has.
#[derive(Debug)]
pub(crate) struct RegisteredTable {
    schema: SchemaRef,
    source: Source,
}

enum Source {
    Batches(Arc<SharedBatches>),
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
            Self::Batches(shared) => write!(f, "{} batches", shared.batches()),
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
        let shared = SharedBatches::new(batches);
        Ok(Self { schema: schema_of(name, &schema)?, source: Source::Batches(Arc::new(shared)) })
    }

    /// A stream, called `name` in errors.
    pub(crate) fn of_stream(name: &str, reader: Box<dyn RecordBatchReader + Send>) -> crate::Result<Self> {
        let schema = schema_of(name, &reader.schema())?;
        let one = OneReading { name: name.to_owned(), reader: Mutex::new(Some(reader)) };
        Ok(Self { schema, source: Source::Stream(Arc::new(one)) })
    }
}

/// The schema that a table is read with.
fn schema_of(name: &str, schema: &Schema) -> crate::Result<SchemaRef> {
    if schema.fields().is_empty() {
        let text = format!("'{name}' has no column, and a table has one at least");
        return Err(Error::invalid(SqlState::InvalidTableDefinition, text));
    }
    readable_schema(schema)
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
        match &self.source {
            Source::Stream(one) => {
                let part: Arc<dyn PartitionStream> =
                    Arc::new(Part { schema: Arc::clone(&schema), positions, one: Arc::clone(one) });
                Ok(Arc::new(StreamingTableExec::try_new(schema, vec![part], None, None, false, limit)?))
            }
            Source::Batches(shared) => {
                let tasks = state.config().target_partitions();
                Ok(Arc::new(RegisteredExec::new(Arc::clone(shared), schema, positions, tasks, limit)))
            }
        }
    }

    fn statistics(&self) -> Option<Statistics> {
        let Source::Batches(shared) = &self.source else { return None };
        Some(Statistics { num_rows: Precision::Exact(shared.rows()), ..Statistics::new_unknown(&self.schema) })
    }
}

/// A stream as the one task reads it that there is.
#[derive(Debug)]
struct Part {
    schema: SchemaRef,
    positions: Arc<[usize]>,
    one: Arc<OneReading>,
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

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let (schema, positions, one) = (Arc::clone(&self.schema), Arc::clone(&self.positions), Arc::clone(&self.one));
        let mut receiver = RecordBatchReceiverStream::builder(Arc::clone(&schema), WAITING_BATCHES);
        let sender = receiver.tx();
        receiver.spawn_blocking(move || {
            let reader = one.reader.lock().unwrap_or_else(PoisonError::into_inner).take();
            let Some(reader) = reader else {
                return invalid!(
                    ObjectNotInPrerequisiteState,
                    "'{}' is a stream that was read already, and can be read once; give its batches to read them again",
                    one.name
                );
            };
            let mut row = 0;
            for batch in reader {
                let first = row;
                row += batch.as_ref().map_or(0, RecordBatch::num_rows);
                let own = batch.map_err(Into::into);
                let own = own.and_then(|batch| Ok(read(&batch, &positions, &schema, first)?));
                if sender.blocking_send(own).is_err() {
                    break;
                }
            }
            Ok(())
        });
        receiver.build()
    }
}
