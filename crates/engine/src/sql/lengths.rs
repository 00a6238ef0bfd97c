//! How many characters CHAR(n) and VARCHAR(n) have.

use crate::{Error, Result};
use datafusion::sql::sqlparser::ast::{CharLengthUnits, CharacterLength, DataType};
use gingham_storage::SqlState;

/// The characters that `length` says; `None` for MAX. `what` has the type `data_type`, as an error says.
///
/// # Errors
///
/// The length is none, or one in octets.
pub(crate) fn characters(what: &str, data_type: &DataType, length: &CharacterLength) -> Result<Option<u32>> {
    match *length {
        CharacterLength::Max => Ok(None),
        CharacterLength::IntegerLength { unit: Some(CharLengthUnits::Octets), .. } => Err(Error::Unsupported(format!(
            "{what} has type {data_type}: a length in OCTETS is not supported, only in characters"
        ))),
        CharacterLength::IntegerLength { length, .. } => match u32::try_from(length) {
            Ok(limit) if limit > 0 => Ok(Some(limit)),
            _ => Err(Error::invalid(
                SqlState::InvalidParameterValue,
                format!("{what} has type {data_type}, but the length must be from 1 to {}", u32::MAX),
            )),
        },
    }
}
