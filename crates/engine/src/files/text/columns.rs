//! Columns of a buffer's records as arrays: of all records, or of those alone that a filter wants.

use crate::Result;
use crate::files::filter::RecordFilter;
use crate::files::records::{FileColumn, ParsedColumns, ValueTypes};
use crate::files::text::parse::{self, BufferFields};
use crate::files::values::typed::{UnparsedField, typed};
use arrow::array::{ArrayRef, AsArray, BooleanArray, new_null_array};
use arrow::compute;
use arrow::datatypes::DataType;
use std::sync::Arc;

/// The columns of a buffer's records.
pub(super) struct BufferColumns<'a> {
    pub(super) fields: BufferFields<'a>,
    /// For each column of the files the field that it is, where this file has it.
    pub(super) places: &'a [Option<usize>],
    /// The columns that are read.
    pub(super) columns: &'a [FileColumn],
    /// The number of records.
    pub(super) rows: usize,
}

impl BufferColumns<'_> {
    /// All records.
    pub(super) fn all(&self, types: ValueTypes) -> Result<ParsedColumns> {
        let mut parsed = ParsedColumns::new(types);
        for column in self.columns {
            let mut unparsed = Vec::new();
            let array = self.near(column, None, &mut unparsed)?;
            parsed.push(array, column, unparsed)?;
        }
        Ok(parsed)
    }

    /// The records that `filter` wants, with the columns' types, and their numbers. A record is among them, too, where a value
    /// can't be read that the filter looks at.
    pub(super) fn wanted(&self, filter: &RecordFilter) -> Result<(ParsedColumns, Vec<usize>)> {
        let mut known = Vec::new();
        for number in filter.columns() {
            let (column, mut unparsed) = (&self.columns[*number], Vec::new());
            let array = self.near(column, None, &mut unparsed)?;
            known.push((typed(array, column.logical_type(), &mut unparsed)?, unparsed));
        }
        let wanted = filter.wanted(known.iter().map(|(array, _)| Arc::clone(array)).collect())?;
        let mut wanted: Vec<bool> = wanted.values().iter().collect();
        known.iter().flat_map(|(_, unparsed)| unparsed).for_each(|field| wanted[field.row] = true);
        let rows: Vec<usize> = (0..self.rows).filter(|row| wanted[*row]).collect();
        let wanted = BooleanArray::from(wanted);
        let mut parsed = ParsedColumns::new(ValueTypes::Own);
        for (number, column) in self.columns.iter().enumerate() {
            match filter.columns().iter().position(|own| *own == number) {
                Some(place) => {
                    let (array, unparsed) = &mut known[place];
                    for field in unparsed.iter_mut() {
                        field.row = rows.partition_point(|row| *row < field.row);
                    }
                    parsed.push_typed(filtered(array, &wanted)?, std::mem::take(unparsed));
                }
                None => {
                    let mut unparsed = Vec::new();
                    let array = self.near(column, Some(&rows), &mut unparsed)?;
                    parsed.push(array, column, unparsed)?;
                }
            }
        }
        Ok((parsed, rows))
    }

    /// A column of all records or of some, as an array near to its type.
    fn near(&self, column: &FileColumn, rows: Option<&[usize]>, unparsed: &mut Vec<UnparsedField>) -> Result<ArrayRef> {
        let fields = BufferFields { rows, ..self.fields };
        Ok(match self.places[column.index] {
            Some(field) => parse::column(&fields, field, &column.field_type, unparsed)?,
            None => new_null_array(&DataType::Utf8View, rows.map_or(self.rows, <[usize]>::len)),
        })
    }
}

/// The wanted values. They hold none of the texts of the others.
fn filtered(array: &ArrayRef, wanted: &BooleanArray) -> Result<ArrayRef> {
    if wanted.true_count() == wanted.len() {
        return Ok(Arc::clone(array));
    }
    let filtered = compute::filter(array, wanted)?;
    Ok(match filtered.as_string_view_opt() {
        Some(texts) => Arc::new(texts.gc()),
        None => filtered,
    })
}
