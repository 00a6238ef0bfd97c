//! Strings as codes: their positions among all that occur, in their order.

use arrow::array::{ArrayRef, AsArray, StringViewArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use std::sync::Arc;

/// The strings of all parts, ascending and each of them once, as an array of this type; and for each part the positions of
/// its own. `None` for a type that is none of strings.
pub(super) fn coded(parts: &[ArrayRef], data_type: &DataType) -> Option<(Vec<Vec<Option<i64>>>, ArrayRef)> {
    if !matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) {
        return None;
    }
    let parts = parts.iter().map(|part| cast(part, &DataType::Utf8View).ok()).collect::<Option<Vec<_>>>()?;
    let mut entries: Vec<&str> = parts.iter().flat_map(texts).flatten().collect();
    entries.sort_unstable();
    entries.dedup();
    let code = |text: &str| entries.partition_point(|entry| *entry < text) as i64;
    let codes = parts.iter().map(|part| texts(part).map(|text| text.map(code)).collect()).collect();
    let entries: ArrayRef = Arc::new(StringViewArray::from_iter_values(entries));
    Some((codes, cast(&entries, data_type).ok()?))
}

fn texts(part: &ArrayRef) -> impl Iterator<Item = Option<&str>> {
    part.as_string_view().iter()
}
