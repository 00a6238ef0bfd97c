//! Batches as rows of bytes.

use crate::Result;
use crate::wire::binary::{BinaryColumn, sized};
use crate::wire::column_type::{INT2VECTOR, OIDVECTOR, told};
use crate::wire::format::WireFormat;
use crate::wire::texts::{texts, vectors};
use arrow::array::{Array, RecordBatch, StringViewArray};
use bytes::{BufMut, BytesMut};

/// Makes rows of batches, each of whose columns has a format.
///
/// ```
/// use gingham::wire::{RowEncoder, WireFormat};
///
/// let batches = gingham::Database::in_memory()?.connect().query("SELECT 7 AS n, true AS b")?.collect_batches()?;
/// let rows = RowEncoder::new(vec![WireFormat::Text, WireFormat::Binary]).encode(&batches[0])?;
/// let mut bytes = bytes::BytesMut::new();
/// rows.put(0, &mut bytes)?;
/// assert_eq!(bytes.as_ref(), b"\0\0\0\x017\0\0\0\x01\x01");
/// # Ok::<(), gingham::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct RowEncoder {
    formats: Vec<WireFormat>,
}

impl RowEncoder {
    /// An encoder with a format for each column. Columns without one are texts.
    ///
    /// ```
    /// let _all_texts = gingham::wire::RowEncoder::new(Vec::new());
    /// ```
    pub fn new(formats: Vec<WireFormat>) -> Self {
        Self { formats }
    }

    /// The rows of a batch.
    ///
    /// # Errors
    ///
    /// A value has no text, or there is no memory for the texts.
    ///
    /// ```
    /// use gingham::wire::{RowEncoder, WireFormat};
    ///
    /// let batches = gingham::Database::in_memory()?.connect().query("SELECT 7 AS n")?.collect_batches()?;
    /// let rows = RowEncoder::new(vec![WireFormat::Text]).encode(&batches[0])?;
    /// assert_eq!(rows.rows(), 1);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn encode(&self, batch: &RecordBatch) -> Result<WireRows> {
        let schema = batch.schema();
        let columns = batch.columns().iter().zip(schema.fields()).enumerate().map(|(place, (values, field))| {
            match (self.formats.get(place).copied().unwrap_or_default(), told(field)) {
                (WireFormat::Text, Some(INT2VECTOR | OIDVECTOR)) => Ok(WireColumn::Text(vectors(values))),
                (WireFormat::Text, _) => texts(values).map(WireColumn::Text),
                (WireFormat::Binary, Some(oid)) => BinaryColumn::told(values, oid).map(WireColumn::Binary),
                (WireFormat::Binary, None) => BinaryColumn::of(values).map(WireColumn::Binary),
            }
        });
        Ok(WireRows { columns: columns.collect::<datafusion::error::Result<_>>()?, rows: batch.num_rows() })
    }
}

enum WireColumn {
    Text(StringViewArray),
    Binary(BinaryColumn),
}

/// The rows of a batch, to be written one by one.
///
/// ```
/// use gingham::wire::{RowEncoder, WireFormat};
///
/// let batches = gingham::Database::in_memory()?.connect().query("SELECT 7 AS n")?.collect_batches()?;
/// let rows = RowEncoder::new(vec![WireFormat::Text]).encode(&batches[0])?;
/// assert_eq!(rows.rows(), 1);
/// # Ok::<(), gingham::Error>(())
/// ```
pub struct WireRows {
    columns: Vec<WireColumn>,
    rows: usize,
}

impl std::fmt::Debug for WireRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let columns = self.columns.len();
        f.debug_struct("WireRows").field("columns", &columns).field("rows", &self.rows).finish()
    }
}

impl WireRows {
    /// How many rows there are.
    ///
    /// ```
    /// use gingham::wire::{RowEncoder, WireFormat};
    ///
    /// let batches = gingham::Database::in_memory()?.connect().query("SELECT 7 AS n")?.collect_batches()?;
    /// let rows = RowEncoder::new(vec![WireFormat::Text]).encode(&batches[0])?;
    /// assert_eq!(rows.rows(), batches[0].num_rows());
    /// # Ok::<(), gingham::Error>(())
    /// ```
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Writes the values of a row, each with its length before it, −1 for NULL: the body of a DataRow behind its number of columns,
    /// and, where all are bytes, a tuple of COPY.
    ///
    /// # Errors
    ///
    /// A value has no form in the protocol, such as an array whose arrays differ in length.
    ///
    /// ```
    /// use gingham::wire::{RowEncoder, WireFormat};
    ///
    /// let batches = gingham::Database::in_memory()?.connect().query("SELECT 7 AS n")?.collect_batches()?;
    /// let rows = RowEncoder::new(vec![WireFormat::Text]).encode(&batches[0])?;
    /// let mut bytes = bytes::BytesMut::new();
    /// rows.put(0, &mut bytes)?;
    /// assert_eq!(bytes.as_ref(), b"\0\0\0\x017");
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn put(&self, row: usize, to: &mut BytesMut) -> Result<()> {
        for column in &self.columns {
            match column {
                WireColumn::Text(texts) if texts.is_null(row) => to.put_i32(-1),
                WireColumn::Text(texts) => sized(to, texts.value(row).as_bytes()),
                WireColumn::Binary(column) => column.put(row, to)?,
            }
        }
        Ok(())
    }
}
