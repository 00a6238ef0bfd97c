//! A piece of what COPY … TO STDOUT writes.

use bytes::Bytes;
use std::ops::Deref;

/// A piece of a stream of COPY: whole records, or what stands before or behind them. It derefs to its bytes.
///
/// ```
/// use futures::{TryStreamExt, executor::block_on};
/// use gingham::{Database, StatementHandle};
///
/// let connection = Database::in_memory()?.connect();
/// let sql = "COPY (SELECT value FROM generate_series(9, 10)) TO STDOUT";
/// let pieces: Vec<_> = block_on(async {
///     connection.start_copy_out(sql, &StatementHandle::new()).await?.try_collect().await
/// })?;
/// let records: Vec<_> = pieces[0].records().collect();
/// assert_eq!(records, ["9\n", "10\n"]);
/// # Ok::<(), gingham::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyPiece {
    bytes: Bytes,
    /// Where each record ends.
    ends: Vec<usize>,
}

impl CopyPiece {
    /// Records that end at these places.
    pub(super) fn of(bytes: impl Into<Bytes>, ends: Vec<usize>) -> Self {
        Self { bytes: bytes.into(), ends }
    }

    /// What is no record.
    pub(crate) fn edge(bytes: Vec<u8>) -> Self {
        Self { bytes: bytes.into(), ends: Vec::new() }
    }

    /// The number of its records; 0 of what stands before or behind them.
    ///
    /// ```
    /// use futures::{TryStreamExt, executor::block_on};
    /// use gingham::{CopyPiece, Database, StatementHandle};
    ///
    /// let connection = Database::in_memory()?.connect();
    /// let handle = StatementHandle::new();
    /// let copy = connection.start_copy_out("COPY (SELECT 1, 2) TO STDOUT", &handle);
    /// let pieces: Vec<CopyPiece> = block_on(async { copy.await?.try_collect().await })?;
    /// assert_eq!(pieces[0].count(), 1);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    #[must_use]
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// Its records one by one. What is no record has none.
    ///
    /// ```
    /// use futures::{TryStreamExt, executor::block_on};
    /// use gingham::{CopyPiece, Database, StatementHandle};
    ///
    /// let connection = Database::in_memory()?.connect();
    /// let handle = StatementHandle::new();
    /// let copy = connection.start_copy_out("COPY (SELECT 1, 2) TO STDOUT", &handle);
    /// let pieces: Vec<CopyPiece> = block_on(async { copy.await?.try_collect().await })?;
    /// assert_eq!(pieces[0].records().next().as_deref(), Some(&b"1\t2\n"[..]));
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn records(&self) -> impl Iterator<Item = Bytes> + '_ {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| self.bytes.slice(start..*end))
    }

    /// Its bytes.
    ///
    /// ```
    /// use futures::{TryStreamExt, executor::block_on};
    /// use gingham::{CopyPiece, Database, StatementHandle};
    ///
    /// let connection = Database::in_memory()?.connect();
    /// let handle = StatementHandle::new();
    /// let copy = connection.start_copy_out("COPY (SELECT 1, 2) TO STDOUT", &handle);
    /// let pieces: Vec<CopyPiece> = block_on(async { copy.await?.try_collect().await })?;
    /// assert_eq!(pieces[0].clone().into_bytes(), "1\t2\n");
    /// # Ok::<(), gingham::Error>(())
    /// ```
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        self.bytes
    }
}

impl Deref for CopyPiece {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}
