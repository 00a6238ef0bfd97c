//! Appending rows or batches to a table: they travel through a channel to one INSERT.

use crate::session::{CancelToken, Outcome, Session, Started, start_in, wait};
use crate::table::readable;
use crate::{Error, Result, statements};
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;
use datafusion::common::{ScalarValue, TableReference};
use datafusion::error::DataFusionError;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream;
use gingham_storage::panics::caught;
use gingham_storage::{ColumnDefinition, Generation, SqlState, TableDefinition, TableName};
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
    definition: Arc<TableDefinition>,
    schema: SchemaRef,
    /// One list of values per column, at most [`BATCH_ROWS`] long.
    columns: Vec<Vec<ScalarValue>>,
    sender: mpsc::Sender<Message>,
    /// The INSERT; taken when it has ended.
    insert: Option<Started>,
}

impl Appender {
    pub(crate) fn start(session: &Arc<Session>, reference: &TableReference) -> Result<Self> {
        let mut context = session.begin_writing(CancelToken::new())?;
        context.text = Some(format!("COPY {reference}").into());
        let definition = Arc::clone(&context.table(reference)?.table.definition);
        let is_generated = |column: &&ColumnDefinition| matches!(column.generation, Some(Generation::Stored(_)));
        if let Some(column) = definition.columns.iter().find(is_generated) {
            let text = format!(
                "column '{}' of table '{}' is a generated column, to which an appender would give values; use INSERT or COPY",
                column.name, definition.name
            );
            return Err(Error::invalid(SqlState::GeneratedAlways, text));
        }
        let schema = definition.arrow_schema();
        let (sender, receiver) = mpsc::channel(WAITING_BATCHES);
        let (rows_schema, reference) = (Arc::clone(&schema), reference.clone());
        // The INSERT is part of the transaction that is open now, whenever its thread comes to it.
        let insert = start_in(context, move |context| async move {
            let target = context.table(&reference)?;
            let rows = Box::pin(RecordBatchStreamAdapter::new(rows_schema, batches(receiver)));
            Ok(Outcome::Affected(statements::insert_stream(&context, &target, rows).await?))
        })?;
        let columns = vec![Vec::new(); schema.fields().len()];
        Ok(Self { definition, schema, columns, sender, insert: Some(insert) })
    }

    /// Adds a row: one value per column of the table, which the column's type must be able to keep.
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
        self.or_give_up(|own| own.add_row(values))
    }

    fn add_row(&mut self, values: &[ScalarValue]) -> Result<()> {
        if values.len() != self.columns.len() {
            return Err(Error::invalid(
                SqlState::DatatypeMismatch,
                format!(
                    "a row of table '{}' has {} values, not {}",
                    self.definition.name,
                    self.columns.len(),
                    values.len()
                ),
            ));
        }
        let mut row = Vec::with_capacity(values.len());
        for ((value, column), field) in values.iter().zip(&self.definition.columns).zip(self.schema.fields()) {
            // Most values are of the column's type already.
            if value.data_type() == *field.data_type() {
                row.push(value.clone());
                continue;
            }
            let kept = assign(&value.to_array()?, column, |_| String::new())?;
            row.push(ScalarValue::try_from_array(&kept, 0)?);
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
        self.or_give_up(|own| own.add_batch(batch))
    }

    fn add_batch(&mut self, batch: RecordBatch) -> Result<()> {
        if batch.num_columns() != self.columns.len() {
            return Err(Error::invalid(
                SqlState::DatatypeMismatch,
                format!(
                    "a batch for table '{}' has {} columns, not {}",
                    self.definition.name,
                    self.columns.len(),
                    batch.num_columns()
                ),
            ));
        }
        self.flush()?;
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(batch.num_columns());
        let batch = readable(&batch)?;
        for (values, column) in batch.columns().iter().zip(&self.definition.columns) {
            columns.push(assign(values, column, |row| format!("row {} of the batch, ", row + 1))?);
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
        self.or_give_up(Self::flush)?;
        if wait(self.sender.send(Message::Finish)).is_err() {
            return Err(self.failure());
        }
        match self.insert.take() {
            Some(insert) => Ok(wait(insert.result())?.rows_affected().unwrap_or(0)),
            None => Err(already_failed(&self.definition.name)),
        }
    }

    /// Does `work`. After a panic nobody knows what of it was done: there will be no rows at all.
    fn or_give_up<R>(&mut self, work: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        caught(|| work(self)).unwrap_or_else(|panic| {
            self.columns.iter_mut().for_each(Vec::clear);
            // Its sender goes with it, without which the INSERT takes nothing.
            self.sender = mpsc::channel(WAITING_BATCHES).0;
            self.insert = None;
            Err(panic.into())
        })
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
            None => already_failed(&self.definition.name),
        }
    }
}

fn already_failed(table: &TableName) -> Error {
    Error::invalid(
        SqlState::ObjectNotInPrerequisiteState,
        format!("appending to table '{table}' has failed before; start a new appender"),
    )
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

/// Values as `column` keeps them; `row` names one of them in errors.
fn assign(values: &ArrayRef, column: &ColumnDefinition, row: impl Fn(usize) -> String) -> Result<ArrayRef> {
    let (name, logical_type) = (&column.name, &column.logical_type);
    if !statements::dml::ingest::assignable(values.data_type(), logical_type) {
        let given = crate::type_name::type_name(values.data_type());
        return Err(Error::invalid(
            SqlState::DatatypeMismatch,
            format!("column '{name}' is {logical_type}, but its new value is {given}"),
        ));
    }
    statements::dml::ingest::assign(values, logical_type)?
        .map_err(|misfit| Error::InvalidInput(misfit.problem.about(format_args!("{}column '{name}'", row(misfit.row)))))
}
