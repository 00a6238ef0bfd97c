//! The result of a statement: a schema and a stream of batches.

use crate::Result;
use crate::recording::Recording;
use crate::session::{CancelToken, PlanningTimes, StatementHandle, Stopwatch, wait};
use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use futures::future::BoxFuture;
use futures::stream::{Stream, StreamExt};
use gingham_storage::panics::{self, PanicPoint, guarded};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::mpsc::Receiver;

/// The part of a result that is known before its first batch.
#[derive(Debug)]
pub(super) struct ResultHead {
    /// The rows' schema.
    pub(super) schema: SchemaRef,
    /// Records that the statement changed, when it changes any.
    pub(super) affected: Option<u64>,
}

/// The result of a statement: an iterator of Arrow batches (each `next` waits for one) and a [`futures::Stream`].
/// Dropping it cancels the statement.
///
/// ```
/// let connection = gingham::Database::in_memory()?.connect();
/// let result = connection.query("SELECT value FROM generate_series(1, 3)")?;
/// assert_eq!(result.schema().field(0).name(), "value");
/// let rows: usize = result.map(|batch| Ok::<_, gingham::Error>(batch?.num_rows())).sum::<Result<_, _>>()?;
/// assert_eq!(rows, 3);
/// # Ok::<(), gingham::Error>(())
/// ```
pub struct QueryResult {
    command: &'static str,
    schema: SchemaRef,
    affected: Option<u64>,
    /// Rows given so far.
    given: u64,
    /// Strings and bytes are given without views.
    plain: bool,
    batches: Receiver<Result<RecordBatch>>,
    cancel: CancelToken,
    cancelled: BoxFuture<'static, ()>,
    watch: Arc<Stopwatch>,
    /// Ends with the last batch.
    recording: Option<Recording>,
    /// Nothing more will come: the end, or an error, was given.
    ended: bool,
}

impl QueryResult {
    pub(super) fn new(
        command: &'static str,
        ResultHead { schema, affected }: ResultHead,
        batches: Receiver<Result<RecordBatch>>,
        cancel: CancelToken,
        (watch, mut recording): (Arc<Stopwatch>, Option<Recording>),
    ) -> Self {
        let cancelled = Box::pin(cancel.cancelled());
        // One that changes records has done so, and gives none.
        if let Some(done) = recording.take_if(|_| affected.is_some()) {
            done.end();
        }
        Self {
            command,
            schema,
            affected,
            given: 0,
            plain: false,
            batches,
            cancel,
            cancelled,
            watch,
            recording,
            ended: false,
        }
    }

    /// Schema of the batches; without columns for a statement that returns no rows.
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// let result = connection.query("SELECT 1 AS one, 'b' AS two")?;
    /// let schema = result.schema();
    /// let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    /// assert_eq!(names, ["one", "two"]);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }

    /// Records inserted, loaded or removed, for a statement that changes data.
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// connection.execute("CREATE TABLE t (n INT)")?;
    /// assert_eq!(connection.query("INSERT INTO t VALUES (1), (2)")?.rows_affected(), Some(2));
    /// assert_eq!(connection.query("SELECT * FROM t")?.rows_affected(), None);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn rows_affected(&self) -> Option<u64> {
        self.affected
    }

    /// The statement's command tag, with the rows that it changed or has given so far.
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// assert_eq!(connection.query("CREATE TABLE t (n INT)")?.tag().to_string(), "CREATE TABLE");
    /// assert_eq!(connection.query("INSERT INTO t VALUES (1), (2)")?.tag().to_string(), "INSERT 0 2");
    /// let mut rows = connection.query("SELECT * FROM t")?;
    /// rows.by_ref().try_for_each(|batch| batch.map(drop))?;
    /// assert_eq!(rows.tag().to_string(), "SELECT 2");
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn tag(&self) -> CommandTag {
        let counts = self.affected.is_some() || !self.schema.fields().is_empty();
        CommandTag { command: self.command, rows: counts.then(|| self.affected.unwrap_or(self.given)) }
    }

    /// Stops this statement, and no other of the connection's.
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// let endless = connection.query("SELECT * FROM generate_series(1, 1000000000)")?;
    /// let other = connection.query("SELECT 1")?;
    /// endless.handle().cancel();
    /// assert!(matches!(endless.collect_batches(), Err(gingham::Error::Cancelled)));
    /// assert_eq!(other.collect_batches()?[0].num_rows(), 1);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn handle(&self) -> StatementHandle {
        StatementHandle::of(self.cancel.clone())
    }

    /// How long the statement was planned, once its first batch was given. The total of one that is no query is all of
    /// its time.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let connection = gingham::Database::in_memory()?.connect();
    /// connection.execute("CREATE TABLE t (a INTEGER)")?;
    /// for run in 1..=2 {
    ///     let mut result = connection.query("SELECT count(a) FROM t")?;
    ///     assert!(result.next().is_some());
    ///     // The second time the plan is that of the first.
    ///     assert_eq!(result.planning().parse == Duration::ZERO, run == 2);
    /// }
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn planning(&self) -> PlanningTimes {
        self.watch.times()
    }

    /// The rows with strings as Utf8 and bytes as Binary, in the place of Utf8View and BinaryView, which some readers of Arrow do
    /// not know. Their values are copied.
    ///
    /// ```
    /// use arrow::datatypes::DataType;
    ///
    /// let connection = gingham::Database::in_memory()?.connect();
    /// let rows = connection.query("SELECT 'text' AS t")?.with_plain_strings();
    /// assert_eq!(rows.schema().field(0).data_type(), &DataType::Utf8);
    /// assert_eq!(rows.collect_batches()?[0].column(0).data_type(), &DataType::Utf8);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    #[must_use]
    pub fn with_plain_strings(mut self) -> Self {
        self.schema = plain_strings(&self.schema);
        self.plain = true;
        self
    }

    /// A batch as the schema has it.
    fn deliver(&mut self, batch: RecordBatch) -> Result<RecordBatch> {
        panics::pass(PanicPoint::Deliver);
        self.given += batch.num_rows() as u64;
        if !self.plain {
            return Ok(batch);
        }
        let column = |(values, field): (&ArrayRef, &Arc<Field>)| match values.data_type() == field.data_type() {
            true => Ok(Arc::clone(values)),
            false => cast(values, field.data_type()),
        };
        let columns =
            batch.columns().iter().zip(self.schema.fields()).map(column).collect::<Result<_, ArrowError>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }

    /// All batches.
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// let batches = connection.query("SELECT value FROM generate_series(1, 10)")?.collect_batches()?;
    /// assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 10);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn collect_batches(self) -> Result<Vec<RecordBatch>> {
        Iterator::collect(self)
    }
}

/// The name of a statement that has run, as PostgreSQL tells it to its clients.
///
/// ```
/// let tag = gingham::CommandTag { command: "UPDATE", rows: Some(3) };
/// assert_eq!(tag.to_string(), "UPDATE 3");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandTag {
    /// Its words: `SELECT`, `CREATE TABLE`.
    pub command: &'static str,
    /// Rows changed or given, for a statement that does either.
    pub rows: Option<u64>,
}

impl std::fmt::Display for CommandTag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.command)?;
        match (self.command, self.rows) {
            ("INSERT", Some(rows)) => write!(f, " 0 {rows}"),
            ("SELECT" | "UPDATE" | "DELETE" | "MERGE" | "COPY" | "FETCH" | "MOVE", Some(rows)) => write!(f, " {rows}"),
            _ => Ok(()),
        }
    }
}

/// A schema with Utf8 and Binary in the place of Utf8View and BinaryView, as [`QueryResult::with_plain_strings`] gives rows.
///
/// ```
/// use arrow::datatypes::DataType;
///
/// let connection = gingham::Database::in_memory()?.connect();
/// let schema = connection.prepare("SELECT 'text' AS t")?.schema().expect("a query has one");
/// assert_eq!(gingham::plain_strings(&schema).field(0).data_type(), &DataType::Utf8);
/// # Ok::<(), gingham::Error>(())
/// ```
pub fn plain_strings(schema: &Schema) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| match plain(field.data_type()) {
        Some(data_type) => Arc::new(field.as_ref().clone().with_data_type(data_type)),
        None => Arc::clone(field),
    });
    Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone()))
}

/// The type without views of one that has them, lists and records of such among them.
fn plain(data_type: &DataType) -> Option<DataType> {
    let within = |field: &Arc<Field>| {
        plain(field.data_type()).map(|data_type| Arc::new(field.as_ref().clone().with_data_type(data_type)))
    };
    match data_type {
        DataType::Utf8View => Some(DataType::Utf8),
        DataType::BinaryView => Some(DataType::Binary),
        DataType::List(field) => within(field).map(DataType::List),
        DataType::LargeList(field) => within(field).map(DataType::LargeList),
        DataType::Struct(fields) => {
            let has_views = fields.iter().any(|field| within(field).is_some());
            let own = |field: &Arc<Field>| within(field).unwrap_or_else(|| Arc::clone(field));
            has_views.then(|| DataType::Struct(fields.iter().map(own).collect()))
        }
        _ => None,
    }
}

impl Stream for QueryResult {
    type Item = Result<RecordBatch>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if this.ended {
            return Poll::Ready(None);
        }
        let item = match this.batches.poll_recv(context) {
            Poll::Ready(item) => item,
            // A cancelled statement may take a moment to notice; its user need not wait for that.
            Poll::Pending => match this.cancelled.as_mut().poll(context) {
                Poll::Ready(()) => Some(Err(this.cancel.error())),
                Poll::Pending => return Poll::Pending,
            },
        };
        let item = item.map(|batch| guarded(|| this.deliver(batch?)));
        this.ended = !matches!(item, Some(Ok(_)));
        if let Some(done) = this.recording.take_if(|_| item.is_none()) {
            done.end();
        }
        Poll::Ready(item)
    }
}

impl Iterator for QueryResult {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        wait(StreamExt::next(self))
    }
}

impl Drop for QueryResult {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl std::fmt::Debug for QueryResult {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QueryResult")
            .field("schema", &self.schema)
            .field("affected", &self.affected)
            .finish_non_exhaustive()
    }
}
