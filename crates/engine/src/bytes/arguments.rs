//! Arguments of functions of bytes, as arrays of one type each.

use arrow::array::{ArrayRef, AsArray, BinaryViewArray, Int64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use datafusion::error::Result;

/// An array of bytes.
pub(super) fn bytes(array: &ArrayRef) -> Result<BinaryViewArray> {
    Ok(cast(array, &DataType::BinaryView)?.as_binary_view().clone())
}

/// An array of whole numbers.
pub(super) fn integers(array: &ArrayRef) -> Result<Int64Array> {
    Ok(cast(array, &DataType::Int64)?.as_primitive::<Int64Type>().clone())
}
