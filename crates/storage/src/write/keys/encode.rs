//! Keys as byte strings that compare as the keys do, and as text for messages.

use crate::SqlState;
use crate::segment::key_hash::hash_keys;
use crate::{ColumnId, Error, LogicalType, Result, TableDefinition};
use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::buffer::NullBuffer;
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::DataType;
use arrow::row::{RowConverter, Rows, SortField};
use arrow::util::display::{ArrayFormatter, FormatOptions};

/// Encodes the columns of a key.
#[derive(Debug)]
pub(crate) struct KeyEncoder {
    converter: RowConverter,
    types: Vec<LogicalType>,
}

/// The keys of a batch.
#[derive(Debug)]
pub(crate) struct EncodedKeys {
    rows: Rows,
    /// The columns, of the table's types.
    columns: Vec<ArrayRef>,
    nulls: Option<NullBuffer>,
}

impl EncodedKeys {
    /// The key of each record as bytes, without those that have a NULL.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let present = |row: &usize| self.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*row));
        (0..self.rows.num_rows()).filter(present).map(|row| (row, self.rows.row_bytes(row)))
    }

    /// These keys, each with the hash by which filters know the key: `columns` are those of the table that it is looked for in.
    pub(crate) fn with_hashes(&self, columns: &[ColumnId]) -> Result<impl Iterator<Item = (usize, &[u8], u64)>> {
        let hashes = hash_keys(columns, &self.columns)?;
        Ok(self.iter().map(move |(row, bytes)| (row, bytes, hashes[row])))
    }
}

/// Bytes of one row; a name of its own because arrow's row only lends them through a temporary.
trait RowBytes {
    fn row_bytes(&self, row: usize) -> &[u8];
}

impl RowBytes for Rows {
    fn row_bytes(&self, row: usize) -> &[u8] {
        self.row(row).data()
    }
}

impl KeyEncoder {
    /// An encoder of these columns of `table`.
    pub(crate) fn new(table: &TableDefinition, columns: &[ColumnId]) -> Result<Self> {
        let mut types = Vec::with_capacity(columns.len());
        for id in columns {
            let column = table.column_by_id(*id).ok_or_else(|| {
                Error::invalid(
                    SqlState::UndefinedColumn,
                    format!("table '{}' has no column number {id}, which a key names", table.name),
                )
            })?;
            types.push(column.logical_type.clone());
        }
        let converter =
            RowConverter::new(types.iter().map(|logical_type| SortField::new(logical_type.to_arrow())).collect())?;
        Ok(Self { converter, types })
    }

    /// Encodes keys whose columns are `columns`, cast to the types of the encoder's table; a value that has no
    /// counterpart there becomes a key that equals none.
    pub(crate) fn encode(&self, columns: &[ArrayRef]) -> Result<EncodedKeys> {
        let nulls = columns.iter().fold(None, |nulls, column| NullBuffer::union(nulls.as_ref(), column.nulls()));
        let mut converted = Vec::with_capacity(columns.len());
        for (column, wanted) in columns.iter().zip(&self.types) {
            let wanted = wanted.to_arrow();
            converted.push(if *column.data_type() == wanted {
                ArrayRef::clone(column)
            } else {
                cast_with_options(column, &wanted, &CastOptions { safe: true, ..CastOptions::default() })?
            });
        }
        Ok(EncodedKeys { rows: self.converter.convert_columns(&converted)?, columns: converted, nulls })
    }

    /// The columns of keys that were encoded.
    pub(crate) fn decode<'k>(&self, keys: impl Iterator<Item = &'k [u8]>) -> Result<Vec<ArrayRef>> {
        let parser = self.converter.parser();
        Ok(self.converter.convert_rows(keys.map(|key| parser.parse(key)))?)
    }

    /// The type of the key's column `number`.
    pub(crate) fn logical_type(&self, number: usize) -> &LogicalType {
        &self.types[number]
    }
}

/// The columns `ids` of a batch in the table's schema.
pub(crate) fn key_columns(table: &TableDefinition, batch: &RecordBatch, ids: &[ColumnId]) -> Vec<ArrayRef> {
    let position = |id: &ColumnId| table.columns.iter().position(|column| column.id == *id);
    ids.iter().filter_map(position).map(|index| ArrayRef::clone(batch.column(index))).collect()
}

/// A key as messages show it: `(7, 'abc')`.
pub(crate) fn show(columns: &[ArrayRef], row: usize) -> String {
    let options = FormatOptions::default();
    let values: Vec<String> = columns
        .iter()
        .map(|column| match ArrayFormatter::try_new(column, &options) {
            Ok(formatter) => {
                let text = formatter.value(row).to_string();
                if *column.data_type() == DataType::Utf8View { format!("'{text}'") } else { text }
            }
            Err(error) => error.to_string(),
        })
        .collect();
    format!("({})", values.join(", "))
}

/// Names of columns as messages show them: `(a, b)`.
pub(crate) fn show_names(table: &TableDefinition, columns: &[ColumnId]) -> String {
    let names: Vec<&str> =
        columns.iter().map(|id| table.column_by_id(*id).map_or("?", |column| column.name.as_str())).collect();
    format!("({})", names.join(", "))
}
