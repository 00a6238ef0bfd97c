//! Functions of numbers that DataFusion has not, or has by another name: power as an operator, mod and sign.

use crate::error::invalid;
use crate::functions::function::PureFunction;
use crate::type_name::type_name;
use arrow::array::{ArrayRef, AsArray, Decimal128Array, Float64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal128Type, Float64Type};
use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

/// `x ^ y` and power(x, y), of DOUBLEs.
pub(super) fn power() -> Arc<ScalarUDF> {
    let compute = |arguments: &[ArrayRef], _: &DataType| {
        let (bases, exponents) = (doubles(&arguments[0])?, doubles(&arguments[1])?);
        let pairs = bases.iter().zip(&exponents);
        let powers = pairs.map(|(base, exponent)| base.zip(exponent).map(|(base, exponent)| base.powf(exponent)));
        Ok(Arc::new(powers.collect::<Float64Array>()) as ArrayRef)
    };
    let types = |types: &[DataType]| {
        if types.len() != 2 {
            return invalid!(UndefinedFunction, "power takes a base and an exponent, not {} numbers", types.len());
        }
        numbers("power", types)?;
        Ok(vec![DataType::Float64; 2])
    };
    PureFunction::new("power", types, |_| Ok(DataType::Float64), compute).alias("pow").build()
}

/// sign(x): -1, 0 or 1, as DOUBLE or DECIMAL.
pub(super) fn sign() -> Arc<ScalarUDF> {
    let types = |types: &[DataType]| {
        if types.len() != 1 {
            return invalid!(UndefinedFunction, "sign takes one number, not {}", types.len());
        }
        numbers("sign", types)?;
        Ok(vec![if types[0].is_decimal() { types[0].clone() } else { DataType::Float64 }])
    };
    let type_of =
        |types: &[DataType]| Ok(if types[0].is_decimal() { DataType::Decimal128(1, 0) } else { DataType::Float64 });
    PureFunction::new("sign", types, type_of, signs).alias("signum").build()
}

fn signs(arguments: &[ArrayRef], result: &DataType) -> Result<ArrayRef> {
    if let Some(values) = arguments[0].as_primitive_opt::<Decimal128Type>() {
        let signs = values.iter().map(|value| value.map(i128::signum)).collect::<Decimal128Array>();
        return Ok(Arc::new(signs.with_data_type(result.clone())));
    }
    let sign = |value: f64| if value == 0.0 || value.is_nan() { 0.0 } else { value.signum() };
    let signs = doubles(&arguments[0])?.iter().map(|value| value.map(sign)).collect::<Float64Array>();
    Ok(Arc::new(signs))
}

pub(super) fn doubles(array: &ArrayRef) -> Result<Float64Array> {
    Ok(cast(array, &DataType::Float64)?.as_primitive::<Float64Type>().clone())
}

/// An error unless all are numbers, NULL or texts that may be read as such.
pub(super) fn numbers(name: &str, types: &[DataType]) -> Result<()> {
    let is_read = |data_type: &DataType| data_type.is_numeric() || data_type.is_null() || data_type.is_string();
    match types.iter().find(|data_type| !is_read(data_type)) {
        Some(other) => invalid!(UndefinedFunction, "{name} takes numbers, not {}", type_name(other)),
        None => Ok(()),
    }
}
