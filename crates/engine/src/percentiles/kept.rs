//! Columns as values that are kept, and back: integers, dates and times as 64 bits, decimals and intervals as they are, floats as
//! DOUBLE, and the rest in Arrow's row format, whose bytes have the order of the values.

use crate::percentiles::fractions::Answer;
use crate::percentiles::value::Value;
use crate::temporal::{as_type, integers};
use crate::type_name::type_name;
use arrow::array::{Array, ArrayRef, AsArray, LargeBinaryArray, ListArray, new_null_array};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field};
use arrow::row::{RowConverter, SortField};
use datafusion::common::internal_err;
use datafusion::error::Result;
use std::sync::Arc;

/// The kinds of [`Value`] that columns are kept as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeptKind {
    Integer,
    Float,
    Decimal,
    Interval,
    Row,
}

/// How a column's values are kept.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) kind: KeptKind,
    /// The column's type.
    shown: DataType,
    /// The type of a column of kept values.
    pub(super) data_type: DataType,
    /// For rows.
    converter: Option<RowConverter>,
}

/// The kind and the type that columns of a type are kept as; `None` for a type without an order.
fn kind_of(data_type: &DataType) -> Option<(KeptKind, DataType)> {
    Some(match data_type {
        DataType::Float32 | DataType::Float64 => (KeptKind::Float, DataType::Float64),
        DataType::Decimal128(..) => (KeptKind::Decimal, data_type.clone()),
        DataType::Interval(_) => (KeptKind::Interval, data_type.clone()),
        DataType::Date32 | DataType::Time32(_) | DataType::Time64(_) | DataType::Timestamp(..) => {
            (KeptKind::Integer, DataType::Int64)
        }
        DataType::UInt64 => (KeptKind::Row, DataType::LargeBinary),
        integer if integer.is_integer() => (KeptKind::Integer, DataType::Int64),
        DataType::Boolean | DataType::Decimal256(..) => (KeptKind::Row, DataType::LargeBinary),
        text if text.is_string() || text.is_binary() => (KeptKind::Row, DataType::LargeBinary),
        _ => return None,
    })
}

/// Whether columns of a type have an order here.
pub(super) fn has_order(data_type: &DataType) -> bool {
    kind_of(data_type).is_some()
}

impl Kept {
    /// How values of this type are kept.
    pub(super) fn of(shown: &DataType) -> Result<Self> {
        let Some((kind, data_type)) = kind_of(shown) else {
            return internal_err!("percentiles of {}", type_name(shown));
        };
        let rows = || RowConverter::new(vec![SortField::new(shown.clone())]);
        let converter = (kind == KeptKind::Row).then(rows).transpose()?;
        Ok(Self { kind, shown: shown.clone(), data_type, converter })
    }

    /// The type of a column with a list of kept values for each group.
    pub(super) fn list_type(&self) -> DataType {
        DataType::new_list(self.data_type.clone(), true)
    }

    /// A column as kept values, with its NULLs.
    pub(super) fn keep(&self, column: &ArrayRef) -> Result<ArrayRef> {
        match (self.kind, &self.converter) {
            (KeptKind::Row, Some(converter)) => {
                let rows = converter.convert_columns(std::slice::from_ref(column))?;
                let values = rows.iter().enumerate();
                let values = values.map(|(row, value)| column.is_valid(row).then(|| value.data()));
                Ok(Arc::new(values.collect::<LargeBinaryArray>()))
            }
            (KeptKind::Integer, _) => Ok(Arc::new(integers(column)?)),
            _ => Ok(cast(column, &self.data_type)?),
        }
    }

    /// Kept values as a column of the type that they had.
    fn show(&self, kept: &ArrayRef) -> Result<ArrayRef> {
        match (self.kind, &self.converter) {
            (KeptKind::Row, Some(converter)) => {
                let Some(bytes) = kept.as_binary_opt::<i64>() else {
                    return internal_err!("rows of type {}", kept.data_type());
                };
                let nothing = converter.convert_columns(&[new_null_array(&self.shown, 1)])?;
                let parser = converter.parser();
                let rows = bytes.iter().map(|bytes| bytes.map_or_else(|| nothing.row(0), |bytes| parser.parse(bytes)));
                let mut columns = converter.convert_rows(rows)?;
                match columns.pop() {
                    Some(column) => Ok(column),
                    None => internal_err!("rows without a column"),
                }
            }
            (KeptKind::Integer, _) => match kept.as_primitive_opt() {
                Some(integers) => as_type(integers.clone(), &self.shown),
                None => internal_err!("integers of type {}", kept.data_type()),
            },
            _ => Ok(cast(kept, &self.shown)?),
        }
    }

    /// The answers of groups as a column: of values, or of lists of them.
    pub(super) fn column_of_answers<T: Value>(&self, answers: Vec<Answer<T>>) -> Result<ArrayRef> {
        if !answers.iter().any(|answer| matches!(answer, Answer::Several(_))) {
            let one = |answer| if let Answer::One(value) = answer { value } else { None };
            return self.show(&T::column(answers.into_iter().map(one).collect(), &self.data_type));
        }
        let (mut values, mut lengths, mut valid) = (Vec::new(), Vec::new(), Vec::new());
        for answer in answers {
            let several = if let Answer::Several(several) = answer { several } else { None };
            valid.push(several.is_some());
            let several = several.unwrap_or_default();
            lengths.push(several.len());
            values.extend(several);
        }
        let values = self.show(&T::column(values, &self.data_type))?;
        let field = Arc::new(Field::new_list_field(values.data_type().clone(), true));
        Ok(Arc::new(ListArray::try_new(field, offsets(&lengths)?, values, Some(NullBuffer::from(valid)))?))
    }

    /// A column with a list of these values for each group.
    pub(super) fn lists<T: Value>(&self, groups: Vec<Vec<T>>) -> Result<ArrayRef> {
        let lengths: Vec<usize> = groups.iter().map(Vec::len).collect();
        let offsets = offsets(&lengths)?;
        let values = T::column(groups.into_iter().flatten().map(Some).collect(), &self.data_type);
        let field = Arc::new(Field::new_list_field(self.data_type.clone(), true));
        Ok(Arc::new(ListArray::try_new(field, offsets, values, None)?))
    }

    /// A column with a list of one value for each row of kept values that counts, and of none for the others.
    pub(super) fn lists_of_rows(&self, kept: ArrayRef, counts: Option<NullBuffer>) -> Result<ArrayRef> {
        let field = Arc::new(Field::new_list_field(self.data_type.clone(), true));
        let offsets = offsets(&vec![1; kept.len()])?;
        Ok(Arc::new(ListArray::try_new(field, offsets, kept, counts)?))
    }
}

/// The offsets of lists of such lengths.
fn offsets(lengths: &[usize]) -> Result<OffsetBuffer<i32>> {
    let total: usize = lengths.iter().sum();
    if i32::try_from(total).is_err() {
        return Err(crate::Error::OutOfMemory(format!(
            "{total} values of percentiles in one piece, where 2147483647 are the most: group by more, or filter"
        ))
        .into());
    }
    Ok(OffsetBuffer::from_lengths(lengths.iter().copied()))
}

/// The lists of a column of states.
pub(super) fn lists_of(states: &ArrayRef) -> Result<&ListArray> {
    match states.as_list_opt::<i32>() {
        Some(lists) => Ok(lists),
        None => internal_err!("a state of percentiles of type {}", states.data_type()),
    }
}
