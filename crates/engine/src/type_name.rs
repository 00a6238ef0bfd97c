//! Types as SQL writes them, for messages.

use arrow::datatypes::DataType;
use gingham_storage::LogicalType;

/// An Arrow type as SQL writes it, where SQL can.
pub(crate) fn type_name(data_type: &DataType) -> String {
    LogicalType::from_arrow("", data_type).map_or_else(|_| data_type.to_string(), |logical| logical.to_string())
}
