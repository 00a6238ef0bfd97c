//! A COPY to a stream of the program, piece by piece.

use crate::statements::transfer::streams::options::{StreamFormat, StreamOptions};
use crate::statements::transfer::streams::piece::CopyPiece;
use crate::statements::transfer::streams::writer::StreamWriter;
use crate::{Error, QueryResult, Result};
use futures::stream::{BoxStream, Stream, StreamExt};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::runtime::Handle;

/// Batches that are written at a time.
const AT_A_TIME: usize = 4;
/// Rows that are written where they come: another thread would cost more.
const FEW_ROWS: usize = 64;

/// The records of `COPY … TO STDOUT` as a [`Stream`] of pieces, each of which has whole records. Dropping it cancels the
/// statement. [`Connection::start_copy_out`](crate::Connection::start_copy_out) makes one.
///
/// ```
/// use futures::{StreamExt, executor::block_on};
/// use gingham::{Database, StatementHandle};
///
/// let connection = Database::in_memory()?.connect();
/// let sql = "COPY (SELECT value, value % 2 = 0 FROM generate_series(1, 3)) TO STDOUT";
/// block_on(async {
///     let mut copy = connection.start_copy_out(sql, &StatementHandle::new()).await?;
///     let mut bytes = Vec::new();
///     while let Some(piece) = copy.next().await {
///         bytes.extend_from_slice(&piece?);
///     }
///     assert_eq!((copy.records(), bytes.as_slice()), (3, &b"1\tf\n2\tt\n3\tf\n"[..]));
///     Ok::<(), gingham::Error>(())
/// })?;
/// # Ok::<(), gingham::Error>(())
/// ```
pub struct CopyOut {
    pieces: BoxStream<'static, Result<CopyPiece>>,
    columns: usize,
    is_binary: bool,
    records: u64,
}

impl CopyOut {
    /// Writes the rows on the threads of `handle`, not more than `threads` batches at a time.
    pub(super) fn new(rows: QueryResult, options: StreamOptions, handle: &Handle, threads: usize) -> Result<Self> {
        let schema = rows.schema();
        let is_binary = options.format == StreamFormat::Binary;
        let writer = Arc::new(StreamWriter::new(options, &schema)?);
        let start = writer.start()?;
        let (own, handle) = (Arc::clone(&writer), handle.clone());
        let written = StreamExt::map(rows, move |batch| {
            let (writer, handle) = (Arc::clone(&own), handle.clone());
            async move {
                let batch = batch?;
                let records = batch.num_rows();
                let write = move || writer.records(&batch);
                if records <= FEW_ROWS {
                    return write();
                }
                handle.spawn_blocking(write).await.unwrap_or_else(|error| Err(Error::of_task(error)))
            }
        });
        let written = written.buffered(threads.clamp(1, AT_A_TIME));
        let end = writer.end();
        let edge = |bytes: Vec<u8>| {
            let bytes = Some(bytes).filter(|bytes| !bytes.is_empty());
            futures::stream::iter(bytes.map(|bytes| Ok(CopyPiece::edge(bytes))))
        };
        let pieces = edge(start).chain(written).chain(edge(end));
        let pieces = pieces.filter(|piece| {
            let is_empty = piece.as_ref().is_ok_and(|piece| piece.is_empty());
            std::future::ready(!is_empty)
        });
        Ok(Self { pieces: pieces.boxed(), columns: schema.fields().len(), is_binary, records: 0 })
    }

    /// The fields of a record.
    ///
    /// ```
    /// use gingham::{Database, StatementHandle};
    ///
    /// let connection = Database::in_memory()?.connect();
    /// let handle = StatementHandle::new();
    /// let copy = connection.start_copy_out("COPY (SELECT 1, 2) TO STDOUT", &handle);
    /// assert_eq!(futures::executor::block_on(copy)?.columns(), 2);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Whether records are tuples of PostgreSQL's binary format, and not text.
    ///
    /// ```
    /// use gingham::{Database, StatementHandle};
    ///
    /// let connection = Database::in_memory()?.connect();
    /// let handle = StatementHandle::new();
    /// let copy = connection.start_copy_out("COPY (SELECT 1) TO STDOUT (FORMAT csv)", &handle);
    /// assert!(!futures::executor::block_on(copy)?.is_binary());
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn is_binary(&self) -> bool {
        self.is_binary
    }

    /// The records given so far: all of them when the stream has ended.
    ///
    /// ```
    /// use gingham::{Database, StatementHandle};
    ///
    /// let connection = Database::in_memory()?.connect();
    /// let handle = StatementHandle::new();
    /// let copy = connection.start_copy_out("COPY (SELECT 1) TO STDOUT", &handle);
    /// assert_eq!(futures::executor::block_on(copy)?.records(), 0);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn records(&self) -> u64 {
        self.records
    }
}

impl Stream for CopyOut {
    type Item = Result<CopyPiece>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let item = std::task::ready!(self.pieces.poll_next_unpin(context));
        Poll::Ready(item.map(|piece| {
            let piece = piece?;
            self.records += piece.count() as u64;
            Ok(piece)
        }))
    }
}

impl std::fmt::Debug for CopyOut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CopyOut")
            .field("columns", &self.columns)
            .field("records", &self.records)
            .finish_non_exhaustive()
    }
}
