//! Fields that outlive the page or value that they came from.

use crate::pages::attribute::{Field, OverflowReference};

/// A field that outlives the page it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OwnedField {
    Null,
    Code(u128),
    Bytes(Box<[u8]>),
    Overflow(OverflowReference),
}

impl From<Field<'_>> for OwnedField {
    fn from(field: Field<'_>) -> Self {
        match field {
            Field::Null => Self::Null,
            Field::Code(code) => Self::Code(code),
            Field::Bytes(bytes) => Self::Bytes(bytes.into()),
            Field::Overflow(reference) => Self::Overflow(reference),
        }
    }
}

impl OwnedField {
    /// The field, borrowed.
    pub(crate) fn field(&self) -> Field<'_> {
        match self {
            Self::Null => Field::Null,
            Self::Code(code) => Field::Code(*code),
            Self::Bytes(bytes) => Field::Bytes(bytes),
            Self::Overflow(reference) => Field::Overflow(*reference),
        }
    }
}
