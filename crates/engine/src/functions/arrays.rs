//! PostgreSQL's functions of arrays where DataFusion has none, or gives something else: lengths and bounds, and comparisons with
//! the elements, which are NULL where an element is NULL and no other one decides.

use crate::error::invalid;
use crate::functions::function::{Compute, PureFunction};
use crate::type_name::type_name;
use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float32Array, Float64Array, Int64Array, ListArray, StringViewArray,
    UInt32Array,
};
use arrow::buffer::{OffsetBuffer, ScalarBuffer};
use arrow::compute::kernels::cmp;
use arrow::compute::{cast, take, unary};
use arrow::datatypes::{DataType, Float32Type, Float64Type, Int64Type};
use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;
use datafusion::logical_expr::type_coercion::binary::comparison_coercion;
use std::sync::Arc;

/// `compare_any('=', value, array)`: `value = ANY (array)`.
pub(crate) const COMPARE_ANY: &str = "compare_any";
/// `compare_all('=', value, array)`: `value = ALL (array)`.
pub(crate) const COMPARE_ALL: &str = "compare_all";

pub(super) fn all() -> Vec<Arc<ScalarUDF>> {
    let integer = |_: &[DataType]| Ok(DataType::Int64);
    let truth = |_: &[DataType]| Ok(DataType::Boolean);
    let bound =
        |name, compute: Compute| PureFunction::new(name, array_and_dimension, integer, compute).may_be_null().build();
    vec![
        bound("array_length", |own, _| of_dimension(own, |length| length)),
        bound("array_upper", |own, _| of_dimension(own, |length| length)),
        bound("array_lower", |own, _| of_dimension(own, |_| 1)),
        PureFunction::new("array_ndims", one_array, integer, |own, _| {
            let dimensions = dimensions_of(&own[0])?;
            let number = |own: Option<Vec<i64>>| own.filter(|own| !own.is_empty()).map(|own| own.len() as i64);
            Ok(Arc::new(dimensions.into_iter().map(number).collect::<Int64Array>()))
        })
        .may_be_null()
        .build(),
        PureFunction::new(
            "array_dims",
            one_array,
            |_| Ok(DataType::Utf8View),
            |own, _| {
                let written = |own: Vec<i64>| own.iter().map(|length| format!("[1:{length}]")).collect::<String>();
                let dimensions = dimensions_of(&own[0])?.into_iter();
                let texts = dimensions.map(|own| own.filter(|own| !own.is_empty()).map(written));
                Ok(Arc::new(texts.collect::<StringViewArray>()))
            },
        )
        .may_be_null()
        .build(),
        PureFunction::new(COMPARE_ANY, compared, truth, |own, _| of_elements(own, true))
            .with_nulls()
            .may_be_null()
            .build(),
        PureFunction::new(COMPARE_ALL, compared, truth, |own, _| of_elements(own, false))
            .with_nulls()
            .may_be_null()
            .build(),
    ]
}

/// The type of arrays that functions here take for one of any kind.
pub(super) fn as_list(data_type: &DataType) -> Result<DataType> {
    match data_type {
        DataType::List(_) => Ok(data_type.clone()),
        DataType::LargeList(field) | DataType::FixedSizeList(field, _) | DataType::ListView(field) => {
            Ok(DataType::List(Arc::clone(field)))
        }
        DataType::Null => Ok(DataType::new_list(DataType::Int64, true)),
        other => invalid!(UndefinedFunction, "an array is needed, not {}", type_name(other)),
    }
}

fn one_array(types: &[DataType]) -> Result<Vec<DataType>> {
    match types {
        [array] => Ok(vec![as_list(array)?]),
        _ => invalid!(UndefinedFunction, "one array is needed, not {} values", types.len()),
    }
}

fn array_and_dimension(types: &[DataType]) -> Result<Vec<DataType>> {
    match types {
        [array] => Ok(vec![as_list(array)?]),
        [array, dimension] if dimension.is_integer() || dimension.is_null() => {
            Ok(vec![as_list(array)?, DataType::Int64])
        }
        _ => invalid!(UndefinedFunction, "an array and the number of a dimension are needed"),
    }
}

/// What `of` makes of the length of a dimension; NULL of one that the array does not have.
fn of_dimension(arguments: &[ArrayRef], of: fn(i64) -> i64) -> Result<ArrayRef> {
    let wanted = arguments.get(1).map(|own| own.as_primitive::<Int64Type>());
    let lengths = dimensions_of(&arguments[0])?.into_iter().enumerate().map(|(row, own)| {
        let dimension = match wanted {
            None => 1,
            Some(own) if own.is_valid(row) => own.value(row),
            Some(_) => return None,
        };
        let at = usize::try_from(dimension).ok()?.checked_sub(1)?;
        own?.get(at).map(|length| of(*length))
    });
    Ok(Arc::new(lengths.collect::<Int64Array>()))
}

/// The lengths of each array's dimensions, none of an empty one; `None` of NULL.
fn dimensions_of(arrays: &ArrayRef) -> Result<Vec<Option<Vec<i64>>>> {
    let lists = list(arrays)?;
    (0..lists.len())
        .map(|row| {
            if lists.is_null(row) {
                return Ok(None);
            }
            let mut lengths = Vec::new();
            let mut inner: ArrayRef = lists.value(row);
            loop {
                if inner.is_empty() {
                    return Ok(Some(lengths));
                }
                lengths.push(inner.len() as i64);
                inner = match inner.data_type() {
                    DataType::List(_) if inner.is_valid(0) => inner.as_list::<i32>().value(0),
                    _ => return Ok(Some(lengths)),
                };
            }
        })
        .collect()
}

fn list(array: &ArrayRef) -> Result<&ListArray> {
    match array.as_list_opt::<i32>() {
        Some(own) => Ok(own),
        None => datafusion::common::internal_err!("{} in the place of a list", array.data_type()),
    }
}

/// The type of what an array has, however deep.
fn leaf(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::List(field) => leaf(field.data_type()),
        other => other,
    }
}

fn with_leaf(data_type: &DataType, wanted: &DataType) -> DataType {
    match data_type {
        DataType::List(field) => DataType::new_list(with_leaf(field.data_type(), wanted), true),
        _ => wanted.clone(),
    }
}

/// An operator, a value and an array of such values. A text is the array that it writes.
fn compared(types: &[DataType]) -> Result<Vec<DataType>> {
    let [operator, value, array] = types else {
        return invalid!(UndefinedFunction, "ANY and ALL compare one value with an array");
    };
    let array = match array {
        own if own.is_string() || own.is_null() => DataType::new_list(value.clone(), true),
        own => match as_list(own) {
            Ok(list) => list,
            Err(_) => {
                return invalid!(WrongObjectType, "ANY and ALL are of an array or a query, not of {}", type_name(own));
            }
        },
    };
    let element = leaf(&array);
    let common = match (value, element) {
        (value, element) if value == element => value.clone(),
        (DataType::Null, element) => element.clone(),
        (value, element) => match comparison_coercion(value, element) {
            Some(common) => common,
            None => {
                return invalid!(
                    UndefinedFunction,
                    "{} is not compared with elements that are {}; cast one of them",
                    type_name(value),
                    type_name(element)
                );
            }
        },
    };
    Ok(vec![operator.clone(), common.clone(), with_leaf(&array, &common)])
}

/// Whether a value compares so with any, or else with all, of the elements of the array beside it.
fn of_elements(arguments: &[ArrayRef], is_any: bool) -> Result<ArrayRef> {
    let operators = cast(&arguments[0], &DataType::Utf8View)?;
    let operators = operators.as_string_view();
    let operator = operators.iter().flatten().next().unwrap_or("=");
    let (values, lists) = (without_negative_zero(&arguments[1]), list(&arguments[2])?);
    let (elements, offsets) = flat(lists)?;
    let elements = without_negative_zero(&elements);
    let mut lefts: Vec<u32> = Vec::new();
    let mut rights: Vec<u32> = Vec::new();
    let mut starts = Vec::with_capacity(lists.len() + 1);
    for (row, own) in offsets.windows(2).enumerate() {
        starts.push(lefts.len());
        if lists.is_valid(row) {
            let own = own[0] as u32..own[1] as u32;
            lefts.extend(own.clone().map(|_| row as u32));
            rights.extend(own);
        }
    }
    starts.push(lefts.len());
    let left = take(&values, &UInt32Array::from(lefts), None)?;
    let right = take(&elements, &UInt32Array::from(rights), None)?;
    let compared = match operator {
        "=" => cmp::eq(&left, &right)?,
        "<>" => cmp::neq(&left, &right)?,
        "<" => cmp::lt(&left, &right)?,
        "<=" => cmp::lt_eq(&left, &right)?,
        ">" => cmp::gt(&left, &right)?,
        ">=" => cmp::gt_eq(&left, &right)?,
        other => return invalid!(UndefinedFunction, "{other} is no comparison for ANY or ALL of an array"),
    };
    let of_row = |row: usize| {
        if lists.is_null(row) {
            return None;
        }
        let own = starts[row]..starts[row + 1];
        let decides = |at: usize| compared.is_valid(at) && compared.value(at) == is_any;
        if own.clone().any(decides) {
            return Some(is_any);
        }
        own.clone().all(|at| compared.is_valid(at)).then_some(!is_any)
    };
    Ok(Arc::new((0..lists.len()).map(of_row).collect::<BooleanArray>()))
}

/// The elements of arrays, however deep, and where those of each begin.
fn flat(lists: &ListArray) -> Result<(ArrayRef, OffsetBuffer<i32>)> {
    let mut values = Arc::clone(lists.values());
    let mut offsets = lists.offsets().clone();
    while let DataType::List(_) = values.data_type() {
        let inner = list(&values)?.clone();
        let composed: Vec<i32> = offsets.iter().map(|at| inner.offsets()[*at as usize]).collect();
        offsets = OffsetBuffer::new(ScalarBuffer::from(composed));
        values = Arc::clone(inner.values());
    }
    Ok((values, offsets))
}

/// Floats in which 0 and −0 are one, as they are in SQL.
fn without_negative_zero(values: &ArrayRef) -> ArrayRef {
    match values.data_type() {
        DataType::Float64 => {
            let own: Float64Array = unary(values.as_primitive::<Float64Type>(), |value| value + 0.0);
            Arc::new(own)
        }
        DataType::Float32 => {
            let own: Float32Array = unary(values.as_primitive::<Float32Type>(), |value| value + 0.0);
            Arc::new(own)
        }
        _ => Arc::clone(values),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::StringArray;

    #[test]
    fn an_element_that_is_null_leaves_open_what_no_other_decides() {
        let array = ListArray::from_iter_primitive::<Int64Type, _, _>([
            Some(vec![Some(1), Some(2)]),
            Some(vec![Some(1), None]),
            Some(vec![]),
            None,
            Some(vec![Some(2), None]),
        ]);
        let values: ArrayRef = Arc::new(Int64Array::from(vec![2; 5]));
        let truths = |operator: &str, is_any| {
            let operators: ArrayRef = Arc::new(StringArray::from(vec![operator; 5]));
            let own = of_elements(&[operators, Arc::clone(&values), Arc::new(array.clone())], is_any).unwrap();
            own.as_boolean().iter().collect::<Vec<_>>()
        };
        assert_eq!(truths("=", true), [Some(true), None, Some(false), None, Some(true)]);
        assert_eq!(truths("<>", false), [Some(false), None, Some(true), None, Some(false)]);
        assert_eq!(truths(">=", false), [Some(true), None, Some(true), None, None]);
    }
}
