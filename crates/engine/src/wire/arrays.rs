//! Arrays as PostgreSQL's `array_send` writes them: how many dimensions there are, whether there is a NULL, the type of the elements, the
//! length of each dimension and where it begins, and then the elements.

use crate::wire::binary::{BinaryColumn, BinaryList};
use arrow::array::Array;
use bytes::{BufMut, BytesMut};
use datafusion::error::Result;

/// Writes the array of a row.
pub(super) fn put(arrays: &BinaryList, row: usize, to: &mut BytesMut) -> Result<()> {
    let start = to.len();
    let lengths = dimensions(arrays, row)?;
    if lengths.contains(&0) {
        to.put_i32(0);
        to.put_i32(0);
        to.put_u32(arrays.element_oid);
        return Ok(());
    }
    to.put_i32(lengths.len() as i32);
    to.put_i32(0);
    to.put_u32(arrays.element_oid);
    for length in lengths {
        to.put_i32(length as i32);
        to.put_i32(arrays.first);
    }
    if elements(arrays, row, to)? {
        to[start + 4..start + 8].copy_from_slice(&1_i32.to_be_bytes());
    }
    Ok(())
}

/// The length of each dimension. Arrays within an array have one length in PostgreSQL.
fn dimensions(arrays: &BinaryList, row: usize) -> Result<Vec<usize>> {
    let (offsets, length) = (arrays.lists.value_offsets(), arrays.lists.value_length(row) as usize);
    let mut lengths = vec![length];
    let BinaryColumn::Array(inner) = arrays.elements.as_ref() else { return Ok(lengths) };
    let first = offsets[row] as usize;
    let mut within: Option<Vec<usize>> = None;
    for place in first..first + length {
        let own = if inner.lists.is_null(place) { None } else { Some(dimensions(inner, place)?) };
        match (own, &within) {
            (Some(own), None) => within = Some(own),
            (Some(own), Some(known)) if own == *known => {}
            _ => {
                return crate::error::invalid!(
                    ArraySubscriptError,
                    "an array has arrays of different lengths within, or NULLs among them, for which PostgreSQL's protocol has no form"
                );
            }
        }
    }
    lengths.extend(within.unwrap_or_default());
    Ok(lengths)
}

/// Writes the elements of an array; whether one of them is NULL.
fn elements(arrays: &BinaryList, row: usize, to: &mut BytesMut) -> Result<bool> {
    let (first, length) = (arrays.lists.value_offsets()[row] as usize, arrays.lists.value_length(row) as usize);
    let mut has_null = false;
    for place in first..first + length {
        match arrays.elements.as_ref() {
            BinaryColumn::Array(inner) => has_null |= elements(inner, place, to)?,
            own => {
                has_null |= own.is_null(place);
                own.put(place, to)?;
            }
        }
    }
    Ok(has_null)
}
