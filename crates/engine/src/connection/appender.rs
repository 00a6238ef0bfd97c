//! Appending rows or batches to a table: they travel through a channel to one INSERT.

use crate::session::{Outcome, Session, Started, start, wait};
use crate::{Error, Result, statements};
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;
use datafusion::common::{ScalarValue, TableReference};
use datafusion::error::DataFusionError;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Rows gathered into one batch.
const BATCH_ROWS: usize = 8192;
/// Batches on their way to the writer.
const WAITING_BATCHES: usize = 2;

/// What the writer is told.
enum Message {
    Batch(RecordBatch),
    /// All batches were sent. Without it the rows are dropped.
    Finish,
}

/// Gathers rows for one table; nothing is visible before [`Appender::finish`], and nothing ever is when it is dropped
/// before.
///
/// ```
/// use gingham::{Database, ScalarValue};
///
/// let connection = Database::in_memory()?.connect();
/// connection.execute("CREATE TABLE point (x INT, y DOUBLE)")?;
/// let mut appender = connection.appender("point")?;
/// for x in 0..1000 {
///     appender.append_row(&[ScalarValue::from(x), ScalarValue::from(f64::from(x) / 2.0)])?;
/// }
/// assert_eq!(appender.finish()?, 1000);
/// # Ok::<(), gingham::Error>(())
/// ```
#[derive(Debug)]
pub struct Appender {
    table: String,
    schema: SchemaRef,
    /// One list of values per column, at most [`BATCH_ROWS`] long.
    columns: Vec<Vec<ScalarValue>>,
    sender: mpsc::Sender<Message>,
    /// The INSERT; taken when it has ended.
    insert: Option<Started>,
}

impl Appender {
    pub(crate) fn start(session: &Arc<Session>, reference: &TableReference) -> Result<Self> {
        let context = session.begin(crate::session::CancelToken::new())?;
        let definition = Arc::clone(&context.table(reference)?.table.definition);
        let schema = definition.arrow_schema();
        let (sender, receiver) = mpsc::channel(WAITING_BATCHES);
        let (rows_schema, reference) = (Arc::clone(&schema), reference.clone());
        let insert = start(session, move |context| async move {
            let target = context.table(&reference)?;
            let rows = Box::pin(RecordBatchStreamAdapter::new(rows_schema, batches(receiver)));
            Ok(Outcome::Affected(statements::insert_stream(&context, &target, rows).await?))
        })?;
        let columns = vec![Vec::new(); schema.fields().len()];
        Ok(Self { table: definition.name.to_string(), schema, columns, sender, insert: Some(insert) })
    }

    /// Adds a row: one value per column of the table, cast to the column's type.
    ///
    /// ```
    /// use gingham::{Database, ScalarValue};
    ///
    /// let connection = Database::in_memory()?.connect();
    /// connection.execute("CREATE TABLE t (n INT, name VARCHAR)")?;
    /// let mut appender = connection.appender("t")?;
    /// appender.append_row(&[ScalarValue::from(1), ScalarValue::from("one")])?;
    /// let error = appender.append_row(&[ScalarValue::from(2)]).unwrap_err();
    /// assert_eq!(error.to_string(), "a row of table 't' has 2 values, not 1");
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn append_row(&mut self, values: &[ScalarValue]) -> Result<()> {
        if values.len() != self.columns.len() {
            return Err(Error::InvalidInput(format!(
                "a row of table '{}' has {} values, not {}",
                self.table,
                self.columns.len(),
                values.len()
            )));
        }
        let mut row = Vec::with_capacity(values.len());
        for (value, field) in values.iter().zip(self.schema.fields()) {
            row.push(cast(value, field)?);
        }
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.push(value);
        }
        if self.columns.first().is_some_and(|column| column.len() >= BATCH_ROWS) { self.flush() } else { Ok(()) }
    }

    /// Adds a batch with the table's columns, in order.
    ///
    /// ```
    /// use arrow::array::{ArrayRef, Int32Array, RecordBatch};
    /// use std::sync::Arc;
    ///
    /// let connection = gingham::Database::in_memory()?.connect();
    /// connection.execute("CREATE TABLE t (n INT)")?;
    /// let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(0..5000));
    /// let mut appender = connection.appender("t")?;
    /// appender.append_batch(RecordBatch::try_from_iter([("n", numbers)])?)?;
    /// assert_eq!(appender.finish()?, 5000);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn append_batch(&mut self, batch: RecordBatch) -> Result<()> {
        if batch.num_columns() != self.columns.len() {
            return Err(Error::InvalidInput(format!(
                "a batch for table '{}' has {} columns, not {}",
                self.table,
                self.columns.len(),
                batch.num_columns()
            )));
        }
        self.flush()?;
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(batch.num_columns());
        let options = arrow::compute::CastOptions { safe: false, ..Default::default() };
        for (column, field) in batch.columns().iter().zip(self.schema.fields()) {
            let cast = arrow::compute::cast_with_options(column, field.data_type(), &options)
                .map_err(|error| in_column(field.name(), error.into()))?;
            columns.push(cast);
        }
        self.send(columns, batch.num_rows())
    }

    /// Makes all rows visible, or none. Returns their number.
    ///
    /// ```
    /// use gingham::{Database, ScalarValue};
    ///
    /// let connection = Database::in_memory()?.connect();
    /// connection.execute("CREATE TABLE t (n INT UNIQUE)")?;
    /// let mut appender = connection.appender("t")?;
    /// for _ in 0..2 {
    ///     appender.append_row(&[ScalarValue::from(7)])?;
    /// }
    /// assert!(appender.finish().is_err());
    /// assert_eq!(connection.table("t")?.rows(), 0);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn finish(mut self) -> Result<u64> {
        self.flush()?;
        if wait(self.sender.send(Message::Finish)).is_err() {
            return Err(self.failure());
        }
        match self.insert.take() {
            Some(insert) => Ok(wait(insert.result())?.rows_affected().unwrap_or(0)),
            None => Err(already_failed(&self.table)),
        }
    }

    /// Sends the gathered rows on.
    fn flush(&mut self) -> Result<()> {
        let rows = self.columns.first().map_or(0, Vec::len);
        if rows == 0 {
            return Ok(());
        }
        let columns = self.columns.iter_mut().map(|values| ScalarValue::iter_to_array(values.drain(..)));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        self.send(columns, rows)
    }

    fn send(&mut self, columns: Vec<ArrayRef>, rows: usize) -> Result<()> {
        // NULLs are judged by the INSERT, whose error names the row.
        let fields: Vec<_> =
            self.schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true)).collect();
        let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(rows));
        let schema = Arc::new(arrow::datatypes::Schema::new(fields));
        let batch = RecordBatch::try_new_with_options(schema, columns, &options)?;
        if wait(self.sender.send(Message::Batch(batch))).is_err() {
            return Err(self.failure());
        }
        Ok(())
    }

    /// Why the INSERT ended early.
    fn failure(&mut self) -> Error {
        match self.insert.take() {
            Some(insert) => match wait(insert.result()) {
                Err(error) => error,
                Ok(_) => Error::Internal("the rows were not taken".into()),
            },
            None => already_failed(&self.table),
        }
    }
}

fn already_failed(table: &str) -> Error {
    Error::InvalidInput(format!("appending to table '{table}' has failed before; start a new appender"))
}

/// The messages as batches; an end without [`Message::Finish`] is an error, so that the INSERT is given up.
fn batches(receiver: mpsc::Receiver<Message>) -> impl futures::Stream<Item = Result<RecordBatch, DataFusionError>> {
    stream::unfold(Some(receiver), |receiver| async move {
        let mut receiver = receiver?;
        match receiver.recv().await {
            Some(Message::Batch(batch)) => Some((Ok(batch), Some(receiver))),
            Some(Message::Finish) => None,
            None => Some((Err(Error::Cancelled.into()), None)),
        }
    })
}

fn cast(value: &ScalarValue, field: &arrow::datatypes::Field) -> Result<ScalarValue> {
    if value.data_type() == *field.data_type() {
        return Ok(value.clone());
    }
    value.cast_to(field.data_type()).map_err(|error| in_column(field.name(), error.into()))
}

fn in_column(column: &str, error: Error) -> Error {
    match error {
        Error::InvalidInput(text) => Error::InvalidInput(format!("column '{column}': {text}")),
        error => error,
    }
}
