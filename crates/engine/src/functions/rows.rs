//! The lists whose elements generate_subscripts and _pg_expandarray give in rows.

use crate::error::invalid;
use crate::functions::arrays::as_list;
use crate::functions::function::PureFunction;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int32Array, ListArray, StructArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, Fields, Int64Type};
use datafusion::common::internal_err;
use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

/// The places of an array's elements, which generate_subscripts gives as rows.
pub(crate) const SUBSCRIPTS: &str = "array_subscripts";
/// The elements of an array with their places, which _pg_expandarray gives as rows: clients of PostgreSQL read keys by it.
pub(crate) const EXPANDED: &str = "array_expanded";

pub(super) fn all() -> Vec<Arc<ScalarUDF>> {
    let places = |_: &[DataType]| Ok(DataType::new_list(DataType::Int32, true));
    vec![
        PureFunction::new(SUBSCRIPTS, array_dimension_and_order, places, subscripts).build(),
        PureFunction::new(EXPANDED, one_array, |own| Ok(DataType::new_list(element(&own[0])?, true)), expanded).build(),
    ]
}

fn array_dimension_and_order(types: &[DataType]) -> Result<Vec<DataType>> {
    match types {
        [array, _] => Ok(vec![as_list(array)?, DataType::Int64]),
        [array, _, _] => Ok(vec![as_list(array)?, DataType::Int64, DataType::Boolean]),
        _ => invalid!(UndefinedFunction, "generate_subscripts takes an array and the number of a dimension"),
    }
}

fn one_array(types: &[DataType]) -> Result<Vec<DataType>> {
    match types {
        [array] => Ok(vec![as_list(array)?]),
        _ => invalid!(UndefinedFunction, "_pg_expandarray takes an array"),
    }
}

/// Element and place, as PostgreSQL calls them.
fn fields(list: &DataType) -> Result<Fields> {
    let DataType::List(element) = list else { return internal_err!("{list} in the place of a list") };
    let element = Field::new("x", element.data_type().clone(), true);
    Ok(Fields::from(vec![element, Field::new("n", DataType::Int32, true)]))
}

fn element(list: &DataType) -> Result<DataType> {
    Ok(DataType::Struct(fields(list)?))
}

/// Lists of the numbers from 1 to each length.
fn numbered(lengths: &[usize]) -> Int32Array {
    lengths.iter().flat_map(|length| (1..=*length).map(|place| place as i32)).collect()
}

fn subscripts(arguments: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    let (lists, dimensions) = (arguments[0].as_list::<i32>(), arguments[1].as_primitive::<Int64Type>());
    let no_order = BooleanArray::new_null(0);
    let reversed = arguments.get(2).map_or(&no_order, |own| own.as_boolean());
    let length_of = |row: usize| -> usize {
        let is_known = arguments.iter().all(|own| own.is_valid(row));
        let mut inner: ArrayRef = match is_known && dimensions.value(row) > 0 {
            true => lists.value(row),
            false => return 0,
        };
        for _ in 1..dimensions.value(row) {
            inner = match inner.as_list_opt::<i32>() {
                Some(own) if !own.is_empty() && own.is_valid(0) => own.value(0),
                _ => return 0,
            };
        }
        inner.len()
    };
    let lengths: Vec<usize> = (0..lists.len()).map(length_of).collect();
    let mut places: Vec<i32> = numbered(&lengths).values().to_vec();
    let mut start = 0;
    for (row, length) in lengths.iter().enumerate() {
        if reversed.len() > row && reversed.is_valid(row) && reversed.value(row) {
            places[start..start + length].reverse();
        }
        start += length;
    }
    let field = Arc::new(Field::new_list_field(DataType::Int32, true));
    let places: ArrayRef = Arc::new(Int32Array::from(places));
    Ok(Arc::new(ListArray::try_new(field, OffsetBuffer::from_lengths(lengths), places, None)?))
}

fn expanded(arguments: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    let lists = arguments[0].as_list::<i32>();
    let known = NullBuffer::from((0..lists.len()).map(|row| lists.is_valid(row)).collect::<Vec<_>>());
    let lengths: Vec<usize> =
        (0..lists.len()).map(|row| if lists.is_valid(row) { lists.value_length(row) as usize } else { 0 }).collect();
    let parts: Vec<ArrayRef> =
        (0..lists.len()).filter(|row| lists.is_valid(*row)).map(|row| lists.value(row)).collect();
    let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
    let elements = match parts.as_slice() {
        [] => lists.values().slice(0, 0),
        parts => arrow::compute::concat(parts)?,
    };
    let rows = StructArray::try_new(fields(lists.data_type())?, vec![elements, Arc::new(numbered(&lengths))], None)?;
    let field = Arc::new(Field::new_list_field(rows.data_type().clone(), true));
    Ok(Arc::new(ListArray::try_new(field, OffsetBuffer::from_lengths(lengths), Arc::new(rows), Some(known))?))
}
