//! A COPY from a stream of the program, piece by piece.

use crate::session::Started;
use crate::sql::copy_feed::{CopyHead, FedPiece};
use crate::{Error, Result};
use bytes::{Bytes, BytesMut};
use gingham_storage::SqlState;
use tokio::sync::mpsc;

/// Bytes that are sent on together.
pub(super) const PIECE_BYTES: usize = 256 << 10;

/// The records of `COPY … FROM STDIN`, which are sent in pieces of any size and stored by [`CopyIn::finish`], all of them; none is
/// when it is dropped before. [`Connection::start_copy_in`](crate::Connection::start_copy_in) makes one.
///
/// ```
/// use futures::executor::block_on;
/// use gingham::{Database, StatementHandle};
///
/// let connection = Database::in_memory()?.connect();
/// connection.execute("CREATE TABLE t (n INT, word VARCHAR)")?;
/// block_on(async {
///     let mut copy = connection.start_copy_in("COPY t FROM STDIN", &StatementHandle::new()).await?;
///     for piece in ["1\ton", "e\n2\t", "\\N\n"] {
///         copy.send(piece.into()).await?;
///     }
///     assert_eq!(copy.finish().await?, 2);
///     Ok::<(), gingham::Error>(())
/// })?;
/// assert_eq!(connection.execute("SELECT n FROM t WHERE word IS NULL")?, 1);
/// # Ok::<(), gingham::Error>(())
/// ```
#[derive(Debug)]
pub struct CopyIn {
    head: CopyHead,
    /// What was sent, and not sent on yet.
    pending: BytesMut,
    pieces: mpsc::Sender<FedPiece>,
    /// The statement; taken when it has ended.
    started: Option<Started>,
}

impl CopyIn {
    pub(super) fn new(head: CopyHead, pieces: mpsc::Sender<FedPiece>, started: Started) -> Self {
        Self { head, pending: BytesMut::new(), pieces, started: Some(started) }
    }

    /// The fields of a record.
    ///
    /// ```
    /// use futures::executor::block_on;
    /// use gingham::{Database, StatementHandle};
    ///
    /// let connection = Database::in_memory()?.connect();
    /// connection.execute("CREATE TABLE t (a INT, b INT, c INT)")?;
    /// let copy = block_on(connection.start_copy_in("COPY t (c, a) FROM STDIN", &StatementHandle::new()))?;
    /// assert_eq!(copy.columns(), 2);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn columns(&self) -> usize {
        self.head.columns
    }

    /// Whether records are tuples of PostgreSQL's binary format, and not text.
    ///
    /// ```
    /// use futures::executor::block_on;
    /// use gingham::{Database, StatementHandle};
    ///
    /// let connection = Database::in_memory()?.connect();
    /// connection.execute("CREATE TABLE t (a INT)")?;
    /// let copy = block_on(connection.start_copy_in("COPY t FROM STDIN (FORMAT csv)", &StatementHandle::new()))?;
    /// assert!(!copy.is_binary());
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn is_binary(&self) -> bool {
        self.head.is_binary
    }

    /// Sends the next bytes, which may begin and end within a record. Waits while the statement has more than it can take. Errors
    /// when the statement has failed, be it for a record that was sent before.
    ///
    /// ```
    /// use futures::executor::block_on;
    /// use gingham::{Database, StatementHandle};
    ///
    /// let connection = Database::in_memory()?.connect();
    /// connection.execute("CREATE TABLE t (a INT)")?;
    /// let error = block_on(async {
    ///     let mut copy = connection.start_copy_in("COPY t FROM STDIN", &StatementHandle::new()).await?;
    ///     copy.send("1\ntwo\n".into()).await?;
    ///     copy.finish().await
    /// });
    /// assert_eq!(error.unwrap_err().to_string(), "COPY t, line 2, column 'a': value 'two' is not a valid INTEGER");
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub async fn send(&mut self, bytes: Bytes) -> Result<()> {
        if self.started.is_none() {
            return Err(already_failed());
        }
        let mut bytes = bytes;
        if self.pending.is_empty() {
            // What is long goes on without being copied.
            while bytes.len() >= PIECE_BYTES {
                let piece = bytes.split_to(PIECE_BYTES);
                self.send_on(FedPiece::Bytes(piece)).await?;
            }
        }
        self.pending.extend_from_slice(&bytes);
        while self.pending.len() >= PIECE_BYTES {
            let piece = self.pending.split_to(PIECE_BYTES).freeze();
            self.send_on(FedPiece::Bytes(piece)).await?;
        }
        if self.pieces.is_closed() { Err(self.failure().await) } else { Ok(()) }
    }

    /// Ends the records, and stores them. Gives their number.
    ///
    /// ```
    /// use futures::executor::block_on;
    /// use gingham::{Database, StatementHandle};
    ///
    /// let connection = Database::in_memory()?.connect();
    /// connection.execute("CREATE TABLE t (a INT UNIQUE)")?;
    /// let copied = block_on(async {
    ///     let mut copy = connection.start_copy_in("COPY t FROM STDIN", &StatementHandle::new()).await?;
    ///     copy.send("1\n1\n".into()).await?;
    ///     copy.finish().await
    /// });
    /// assert_eq!(copied.unwrap_err().sqlstate(), "23505");
    /// assert_eq!(connection.table("t")?.rows(), 0);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub async fn finish(mut self) -> Result<u64> {
        self.flush().await?;
        self.send_on(FedPiece::Finish).await?;
        match self.started.take() {
            Some(started) => Ok(started.result().await?.rows_affected().unwrap_or(0)),
            None => Err(already_failed()),
        }
    }

    /// Gives the records up, for a reason that the statement's error tells, which is given.
    ///
    /// ```
    /// use futures::executor::block_on;
    /// use gingham::{Database, StatementHandle};
    ///
    /// let connection = Database::in_memory()?.connect();
    /// connection.execute("CREATE TABLE t (a INT)")?;
    /// let copy = block_on(connection.start_copy_in("COPY t FROM STDIN", &StatementHandle::new()))?;
    /// let error = block_on(copy.fail("the file has ended early"));
    /// assert_eq!(error.to_string(), "COPY from stdin failed: the file has ended early");
    /// assert_eq!(error.sqlstate(), "57014");
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub async fn fail(mut self, reason: &str) -> Error {
        match self.send_on(FedPiece::Fail(reason.to_owned())).await {
            Ok(()) => self.failure().await,
            Err(error) => error,
        }
    }

    /// Sends on what was gathered, so that the statement takes it now and not with what follows.
    ///
    /// ```
    /// use futures::executor::block_on;
    /// use gingham::{Database, StatementHandle};
    ///
    /// let connection = Database::in_memory()?.connect();
    /// connection.execute("CREATE TABLE t (a INT)")?;
    /// block_on(async {
    ///     let mut copy = connection.start_copy_in("COPY t FROM STDIN", &StatementHandle::new()).await?;
    ///     copy.send("1\n".into()).await?;
    ///     copy.flush().await?;
    ///     assert_eq!(copy.finish().await?, 1);
    ///     Ok::<(), gingham::Error>(())
    /// })?;
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub async fn flush(&mut self) -> Result<()> {
        if self.started.is_none() {
            return Err(already_failed());
        }
        if self.pending.is_empty() {
            return Ok(());
        }
        let piece = self.pending.split().freeze();
        self.send_on(FedPiece::Bytes(piece)).await
    }

    async fn send_on(&mut self, piece: FedPiece) -> Result<()> {
        match self.pieces.send(piece).await {
            Ok(()) => Ok(()),
            Err(_) => Err(self.failure().await),
        }
    }

    /// Why the statement ended early.
    async fn failure(&mut self) -> Error {
        match self.started.take() {
            Some(started) => match started.result().await {
                Err(error) => error,
                Ok(_) => Error::Internal("the records were not taken".into()),
            },
            None => already_failed(),
        }
    }
}

fn already_failed() -> Error {
    let text = "the COPY has failed before; start it again";
    Error::invalid(SqlState::ObjectNotInPrerequisiteState, text)
}
