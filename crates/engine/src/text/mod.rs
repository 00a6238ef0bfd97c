//! Values as text, for whoever shows them.

pub(crate) mod json;

use crate::Result;
use crate::casts::{Failing, convert};
use arrow::array::ArrayRef;
use arrow::datatypes::DataType;

/// The values as `CAST(… AS TEXT)` writes them: dates, times and intervals as PostgreSQL does, infinite ones too, which
/// Arrow's own formatter can't.
///
/// # Errors
///
/// The type has no text, as a structure has none.
///
/// # Examples
///
/// ```
/// use arrow::array::{ArrayRef, AsArray, Date32Array};
/// use std::sync::Arc;
///
/// let days: ArrayRef = Arc::new(Date32Array::from(vec![Some(0), None, Some(i32::MAX)]));
/// let texts = gingham::as_text(&days)?;
/// let texts: Vec<_> = texts.as_string_view().iter().collect();
/// assert_eq!(texts, [Some("1970-01-01"), None, Some("infinity")]);
/// # Ok::<(), gingham::Error>(())
/// ```
pub fn as_text(values: &ArrayRef) -> Result<ArrayRef> {
    Ok(convert(values, &DataType::Utf8View, Failing::Error)?)
}
