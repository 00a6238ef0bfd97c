//! The key of a float: itself, but 0.0 for -0.0, and one NaN, which is the largest.

use crate::functions::PureFunction;
use crate::temporal::{INTERVAL_KEY, interval_key, interval_keys};
use arrow::array::{ArrayRef, AsArray, Float32Array, Float64Array};
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::common::not_impl_err;
use datafusion::error::Result;
use datafusion::logical_expr::Expr;
use std::sync::Arc;

/// The function's name, by which pipelines know it.
pub(crate) const FLOAT_KEY: &str = "float_key";

/// The key of a value of this type.
pub(super) fn keyed(value: Expr, data_type: &DataType) -> Expr {
    let function = match data_type {
        DataType::Interval(_) => interval_key(),
        _ => PureFunction::new(
            FLOAT_KEY,
            |types| Ok(types.to_vec()),
            |types| Ok(types[0].clone()),
            |arguments, _| float_keys(&arguments[0]),
        ),
    };
    function.build().call(vec![value])
}

/// Whether an expression is a key already.
pub(super) fn is_key(expression: &Expr) -> bool {
    matches!(expression, Expr::ScalarFunction(call) if [FLOAT_KEY, INTERVAL_KEY].contains(&call.name()))
}

/// The keys of values of any type: equal ones look alike.
pub(crate) fn keys_of(values: &ArrayRef) -> Result<ArrayRef> {
    match values.data_type() {
        DataType::Float32 | DataType::Float64 => float_keys(values),
        DataType::Interval(_) => interval_keys(values),
        _ => Ok(Arc::clone(values)),
    }
}

fn float_keys(values: &ArrayRef) -> Result<ArrayRef> {
    // A sum with zero takes the sign of -0.0 away.
    Ok(match values.data_type() {
        DataType::Float32 => {
            let one = |value: f32| if value.is_nan() { f32::NAN } else { value + 0.0 };
            Arc::new(values.as_primitive::<Float32Type>().unary::<_, Float32Type>(one)) as Arc<Float32Array>
        }
        DataType::Float64 => {
            let one = |value: f64| if value.is_nan() { f64::NAN } else { value + 0.0 };
            Arc::new(values.as_primitive::<Float64Type>().unary::<_, Float64Type>(one)) as Arc<Float64Array>
        }
        other => return not_impl_err!("values of type {other} as keys; cast them to REAL"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_floats_have_one_key() {
        let values: ArrayRef = Arc::new(Float64Array::from(vec![-0.0, 0.0, -f64::NAN, f64::NAN, -1.5]));
        let keys = keys_of(&values).unwrap();
        let bits: Vec<u64> = keys.as_primitive::<Float64Type>().values().iter().map(|value| value.to_bits()).collect();
        assert_eq!(bits, [0.0, 0.0, f64::NAN, f64::NAN, -1.5].map(f64::to_bits));
    }
}
