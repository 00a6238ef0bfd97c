//! Hashes of keys: of what the columns of a record hold, and the same whatever the encoding, the build and the machine, since
//! filters of keys keep them on disk. docs/formats/segment.md has the arithmetic.

use crate::encoding::integers::for_each_integer;
use crate::encoding::sketch::{combine, hash_bytes, hash_float, hash_integer};
use crate::{ColumnId, Datum, Result};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Float32Type, Float64Type};

/// The hash of each record's key. `arrays` are the columns `ids` of the key, in any order: the hash goes by ascending ids. That
/// of a record with a NULL in its key means nothing.
pub(crate) fn hash_keys(ids: &[ColumnId], arrays: &[ArrayRef]) -> Result<Vec<u64>> {
    let mut columns: Vec<(&ColumnId, &ArrayRef)> = ids.iter().zip(arrays).collect();
    columns.sort_by_key(|(id, _)| **id);
    let mut hashes = Vec::new();
    for (number, (_, array)) in columns.into_iter().enumerate() {
        if number == 0 {
            hashes = Vec::with_capacity(array.len());
            for_each_hash(array, |_, hash| hashes.push(hash))?;
        } else {
            for_each_hash(array, |row, hash| hashes[row] = combine(hashes[row], hash))?;
        }
    }
    Ok(hashes)
}

/// The hash of one key, by ascending ids of its columns; `None` when a value is NULL.
pub(crate) fn hash_key<'d>(values: impl IntoIterator<Item = &'d Datum>) -> Option<u64> {
    let mut key = None;
    for value in values {
        let hash = match value {
            Datum::Null => return None,
            Datum::Integer(value) => hash_integer(*value),
            Datum::Float(value) => hash_of_float(value.get()),
            Datum::Bytes(value) => hash_bytes(value),
        };
        key = Some(key.map_or(hash, |before| combine(before, hash)));
    }
    key
}

/// Equal floats have equal hashes: both zeros, and all NaNs.
fn hash_of_float(value: f64) -> u64 {
    hash_float(if value.is_nan() { f64::NAN } else { value + 0.0 })
}

/// Calls `visit` with each record's number and the hash of its value.
fn for_each_hash(array: &ArrayRef, mut visit: impl FnMut(usize, u64)) -> Result<()> {
    match array.data_type() {
        DataType::Float32 => {
            let values = array.as_primitive::<Float32Type>().values().iter().enumerate();
            values.for_each(|(row, value)| visit(row, hash_of_float((*value).into())));
        }
        DataType::Float64 => {
            let values = array.as_primitive::<Float64Type>().values().iter().enumerate();
            values.for_each(|(row, value)| visit(row, hash_of_float(*value)));
        }
        DataType::Utf8View => {
            let values = array.as_string_view();
            (0..values.len()).for_each(|row| visit(row, hash_bytes(values.value(row).as_bytes())));
        }
        DataType::BinaryView => {
            let values = array.as_binary_view();
            (0..values.len()).for_each(|row| visit(row, hash_bytes(values.value(row))));
        }
        _ => for_each_integer(array, |row, value| visit(row, hash_integer(value)))?,
    }
    Ok(())
}
