//! Values and Arrow arrays as the fields that pages take.

use crate::encoding::integers_of_array;
use crate::heap::attribute::{Attribute, Field, OverflowReference};
use crate::heap::bounds::ColumnBounds;
use crate::view::{float_order, real_order};
use crate::{Error, Result, ValueClass};
use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, StringViewArray};
use arrow::datatypes::{Float32Type, Float64Type};

/// A field that outlives the page it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OwnedField {
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
    pub(super) fn field(&self) -> Field<'_> {
        match self {
            Self::Null => Field::Null,
            Self::Code(code) => Field::Code(*code),
            Self::Bytes(bytes) => Field::Bytes(bytes),
            Self::Overflow(reference) => Field::Overflow(*reference),
        }
    }
}

/// A column of a batch as fields.
#[derive(Debug)]
pub(super) enum FieldColumn {
    Codes(Vec<Option<u128>>),
    Text(StringViewArray),
    Binary(BinaryViewArray),
}

impl FieldColumn {
    /// The values of an array of the attribute's Arrow type. Fails for one of another type, for NULL where there may be
    /// none, and for values that the type does not have.
    pub(super) fn new(own: &Attribute, array: &ArrayRef) -> Result<Self> {
        if *array.data_type() != own.logical_type.to_arrow() {
            return Err(Error::InvalidInput(format!(
                "column '{}' is {}, values of type {} can't be stored in it",
                own.name,
                own.logical_type,
                array.data_type()
            )));
        }
        if let Some(row) = (0..array.len()).find(|row| !own.nullable && array.is_null(*row)) {
            return Err(Error::Constraint(format!("column '{}' is NOT NULL, row {row} is NULL", own.name)));
        }
        Ok(match own.logical_type.class() {
            ValueClass::Integer => {
                let code = |value: Option<i128>| value.map(|value| own.code_of_integer(value)).transpose();
                Self::Codes(integers_of_array(array)?.into_iter().map(code).collect::<Result<_>>()?)
            }
            ValueClass::Float => Self::Codes(if let Some(values) = array.as_primitive_opt::<Float32Type>() {
                values.iter().map(|value| value.map(|value| real_order(value).into())).collect()
            } else {
                let values = array.as_primitive::<Float64Type>();
                values.iter().map(|value| value.map(|value| float_order(value).into())).collect()
            }),
            ValueClass::Bytes => match array.as_string_view_opt() {
                Some(text) => Self::Text(text.clone()),
                None => Self::Binary(array.as_binary_view().clone()),
            },
        })
    }

    /// Takes all values into the column's bounds.
    pub(super) fn add_to(&self, bounds: &mut ColumnBounds) {
        let any_null = match self {
            Self::Codes(codes) => {
                codes.iter().flatten().for_each(|code| bounds.add_code(*code));
                codes.contains(&None)
            }
            Self::Text(text) => text.null_count() > 0,
            Self::Binary(bytes) => bytes.null_count() > 0,
        };
        bounds.nulls |= any_null;
    }

    /// The field of a row.
    pub(super) fn field(&self, row: usize) -> Field<'_> {
        match self {
            Self::Codes(codes) => codes[row].map_or(Field::Null, Field::Code),
            Self::Text(text) if text.is_valid(row) => Field::Bytes(text.value(row).as_bytes()),
            Self::Binary(bytes) if bytes.is_valid(row) => Field::Bytes(bytes.value(row)),
            Self::Text(_) | Self::Binary(_) => Field::Null,
        }
    }
}
