//! How many arguments are NULL: num_nulls and num_nonnulls.

use crate::error::invalid;
use crate::functions::function::PureFunction;
use arrow::array::{Array, ArrayRef, Int32Array};
use arrow::datatypes::DataType;
use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

pub(super) fn all() -> Vec<Arc<ScalarUDF>> {
    let number = |_: &[DataType]| Ok(DataType::Int32);
    let one = |name, compute| PureFunction::new(name, any_values, number, compute).with_nulls().always().build();
    vec![one("num_nulls", |own, _| counted(own, true)), one("num_nonnulls", |own, _| counted(own, false))]
}

fn any_values(types: &[DataType]) -> Result<Vec<DataType>> {
    match types.is_empty() {
        true => invalid!(UndefinedFunction, "values are counted, and there is none"),
        false => Ok(types.to_vec()),
    }
}

fn counted(arguments: &[ArrayRef], of_nulls: bool) -> Result<ArrayRef> {
    // An array of NULLs alone has no bits that say so.
    let nulls: Vec<_> = arguments.iter().map(|own| own.logical_nulls()).collect();
    let is_null = |row: usize| nulls.iter().filter(move |own| own.as_ref().is_some_and(|own| own.is_null(row))).count();
    let rows = arguments.first().map_or(0, |own| own.len());
    let count = |row: usize| if of_nulls { is_null(row) } else { arguments.len() - is_null(row) };
    Ok(Arc::new((0..rows).map(|row| Some(count(row) as i32)).collect::<Int32Array>()))
}
