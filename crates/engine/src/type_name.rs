//! Types as SQL writes them, for messages and for whoever shows columns.

use arrow::datatypes::DataType;

/// The Arrow type as SQL writes it, the same in DESCRIBE, in errors and wherever else types are told.
///
/// # Examples
///
/// ```
/// use arrow::datatypes::DataType;
///
/// assert_eq!(gingham::type_name(&DataType::Utf8View), "VARCHAR");
/// assert_eq!(gingham::type_name(&DataType::new_list(DataType::Int64, true)), "BIGINT[]");
/// ```
pub fn type_name(data_type: &DataType) -> String {
    gingham_storage::type_name(data_type)
}
