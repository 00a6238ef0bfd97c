//! A column of an Arrow batch as pages take it: codes as they lie in minipages, or byte strings. Pages are filled from it a
//! column at a time, or value by value.

use crate::SqlState;
use crate::encoding::integers::{append_codes, append_wide, range};
use crate::model::heap_options::HeapOptions;
use crate::model::view::{float_order, real_order};
use crate::pages::attribute::{Attribute, AttributeForm, Field, PageSchema};
use crate::pages::bounds::ColumnBounds;
use crate::{Error, Result, ValueClass};
use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, StringViewArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{Float32Type, Float64Type};

/// A column of a batch.
#[derive(Debug)]
pub(crate) struct FieldColumn {
    values: FieldValues,
    nulls: Option<NullBuffer>,
    /// Smallest and largest code; `None` of byte strings, and when all are NULL.
    range: Option<(i128, i128)>,
}

#[derive(Debug)]
enum FieldValues {
    /// Codes of so many bytes each, zero for NULL.
    Codes(Vec<u8>, usize),
    Text(StringViewArray),
    Binary(BinaryViewArray),
}

impl FieldColumn {
    /// The values of an array of the attribute's Arrow type. Fails for one of another type, for NULL where there may be
    /// none, and for values that the type does not have.
    pub(crate) fn new(own: &Attribute, array: &ArrayRef) -> Result<Self> {
        if *array.data_type() != own.logical_type.to_arrow() {
            return Err(Error::invalid(
                SqlState::DatatypeMismatch,
                format!(
                    "column '{}' is {}, values of type {} can't be stored in it",
                    own.name,
                    own.logical_type,
                    array.data_type()
                ),
            ));
        }
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0).cloned();
        if let Some(nulls) = nulls.as_ref().filter(|_| !own.nullable) {
            let row = (0..nulls.len()).find(|row| nulls.is_null(*row)).unwrap_or(0);
            return Err(Error::constraint(
                SqlState::NotNullViolation,
                format!("column '{}' is NOT NULL, row {row} is NULL", own.name),
            ));
        }
        let (values, range) = match (own.logical_type.class(), own.kind) {
            (ValueClass::Integer, AttributeForm::Fixed(width)) => integers(own, width, array, nulls.as_ref())?,
            (ValueClass::Float, _) => floats(array, nulls.as_ref()),
            _ => match array.as_string_view_opt() {
                Some(text) => (FieldValues::Text(text.clone()), None),
                None => (FieldValues::Binary(array.as_binary_view().clone()), None),
            },
        };
        Ok(Self { values, nulls, range })
    }

    /// The columns of a batch that has those of `attributes`.
    pub(crate) fn of_batch(attributes: &[Attribute], arrays: &[ArrayRef]) -> Result<Vec<Self>> {
        attributes.iter().zip(arrays).map(|(own, array)| Self::new(own, array)).collect()
    }

    /// Whether a record fits a page without a closer look, and no value of it is too long to stay in its page.
    pub(crate) fn surely_fits(columns: &[Self], row: usize, schema: &PageSchema, options: &HeapOptions) -> bool {
        let (mut longest, mut bytes) = (0, schema.fixed_bytes + 2 * schema.variables);
        for column in columns.iter().filter(|column| column.codes().is_empty()) {
            let own = column.variable_bytes(row);
            (longest, bytes) = (own.max(longest), bytes + own);
        }
        longest <= options.longest_value() && bytes <= options.page_bytes / 2
    }

    /// Takes all values into the column's bounds.
    pub(crate) fn add_to(&self, bounds: &mut ColumnBounds) {
        if let Some((low, high)) = self.range {
            bounds.add_code(low as u128);
            bounds.add_code(high as u128);
        }
        bounds.nulls |= self.nulls.is_some();
    }

    /// The field of a row.
    pub(crate) fn field(&self, row: usize) -> Field<'_> {
        if !self.is_valid(row) {
            return Field::Null;
        }
        match &self.values {
            FieldValues::Codes(codes, width) => {
                let mut code = [0; 16];
                code[..*width].copy_from_slice(&codes[row * width..(row + 1) * width]);
                Field::Code(u128::from_le_bytes(code))
            }
            FieldValues::Text(text) => Field::Bytes(text.value(row).as_bytes()),
            FieldValues::Binary(bytes) => Field::Bytes(bytes.value(row)),
        }
    }

    /// Whether the value of a row is none of NULL.
    pub(crate) fn is_valid(&self, row: usize) -> bool {
        self.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row))
    }

    /// The codes of all rows, one behind the other; empty of byte strings.
    pub(crate) fn codes(&self) -> &[u8] {
        if let FieldValues::Codes(codes, _) = &self.values { codes } else { &[] }
    }

    /// The byte string of a row; empty for NULL and of codes.
    pub(crate) fn bytes(&self, row: usize) -> &[u8] {
        match &self.values {
            FieldValues::Text(text) if self.is_valid(row) => text.value(row).as_bytes(),
            FieldValues::Binary(bytes) if self.is_valid(row) => bytes.value(row),
            _ => &[],
        }
    }

    /// Bytes of a row's value where values vary in length.
    pub(crate) fn variable_bytes(&self, row: usize) -> usize {
        // The low half of a view's first word is the length of its value.
        let view = match &self.values {
            FieldValues::Codes(..) => return 0,
            FieldValues::Text(text) => text.views()[row],
            FieldValues::Binary(bytes) => bytes.views()[row],
        };
        if self.is_valid(row) { view as u32 as usize } else { 0 }
    }
}

/// The codes of an array of integers, and their range.
fn integers(
    own: &Attribute,
    width: usize,
    array: &ArrayRef,
    nulls: Option<&NullBuffer>,
) -> Result<(FieldValues, Option<(i128, i128)>)> {
    let range = range(std::slice::from_ref(array))?;
    if width == 16 {
        let mut wide = Vec::with_capacity(array.len());
        append_wide(array, 0, &mut wide)?;
        return Ok((FieldValues::Codes(wide.into_iter().flat_map(i128::to_le_bytes).collect(), width), range));
    }
    let code = |value| Ok::<_, Error>(own.code_of_integer(value)? as i128);
    let range = range.map(|(low, high)| Ok::<_, Error>((code(low)?, code(high)?))).transpose()?;
    let mut codes = Vec::with_capacity(array.len());
    append_codes(array, own.base(width), &mut codes)?;
    Ok((narrow(codes, width, nulls), range))
}

/// The codes of an array of floats, and their range.
fn floats(array: &ArrayRef, nulls: Option<&NullBuffer>) -> (FieldValues, Option<(i128, i128)>) {
    let (codes, width): (Vec<u64>, _) = match array.as_primitive_opt::<Float32Type>() {
        Some(values) => (values.values().iter().map(|value| real_order(*value).into()).collect(), 4),
        None => (array.as_primitive::<Float64Type>().values().iter().map(|value| float_order(*value)).collect(), 8),
    };
    let valid = || (0..codes.len()).filter(|row| nulls.is_none_or(|nulls| nulls.is_valid(*row))).map(|row| codes[row]);
    let range = valid().min().zip(valid().max()).map(|(low, high)| (low.into(), high.into()));
    (narrow(codes, width, nulls), range)
}

/// Codes in `width` bytes each, zero for NULL, whose slots hold anything.
fn narrow(mut codes: Vec<u64>, width: usize, nulls: Option<&NullBuffer>) -> FieldValues {
    if let Some(nulls) = nulls {
        codes.iter_mut().enumerate().filter(|(row, _)| nulls.is_null(*row)).for_each(|(_, code)| *code = 0);
    }
    let bytes = match width {
        1 => packed::<1>(&codes),
        2 => packed::<2>(&codes),
        4 => packed::<4>(&codes),
        _ => packed::<8>(&codes),
    };
    FieldValues::Codes(bytes, width)
}

fn packed<const WIDTH: usize>(codes: &[u64]) -> Vec<u8> {
    let mut bytes = vec![0; WIDTH * codes.len()];
    for (slot, code) in bytes.as_chunks_mut::<WIDTH>().0.iter_mut().zip(codes) {
        slot.copy_from_slice(&code.to_le_bytes()[..WIDTH]);
    }
    bytes
}
