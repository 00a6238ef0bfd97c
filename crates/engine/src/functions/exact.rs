//! PostgreSQL's functions of exact numbers: scale, min_scale, div, width_bucket; and `~`, the inverted bits of a whole number.

use crate::error::invalid;
use crate::functions::function::PureFunction;
use crate::functions::numbers::{doubles, numbers};
use crate::type_name::type_name;
use arrow::array::{ArrayRef, AsArray, Decimal128Array, Int32Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal128Type, Int8Type, Int16Type, Int32Type, Int64Type};
use datafusion::common::internal_err;
use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

/// The function that `~` is.
pub(crate) const BITS_INVERTED: &str = "bits_inverted";

/// Digits that a text, or a whole number, has behind the point as a decimal.
const WHOLE: DataType = DataType::Decimal128(38, 0);

pub(super) fn all() -> Vec<Arc<ScalarUDF>> {
    let scale_type = |_: &[DataType]| Ok(DataType::Int32);
    vec![
        PureFunction::new(
            "scale",
            |types| exact("scale", types, 1),
            scale_type,
            |own, _| {
                let (values, scale) = decimals(&own[0])?;
                let of = values.iter().map(|value| value.map(|_| i32::from(scale)));
                Ok(Arc::new(of.collect::<Int32Array>()))
            },
        )
        .build(),
        PureFunction::new(
            "min_scale",
            |types| exact("min_scale", types, 1),
            scale_type,
            |own, _| {
                let (values, scale) = decimals(&own[0])?;
                let of = values.iter().map(|value| value.map(|value| least_scale(value, scale)));
                Ok(Arc::new(of.collect::<Int32Array>()))
            },
        )
        .build(),
        PureFunction::new("div", |types| exact("div", types, 2), |_| Ok(WHOLE), quotients).build(),
        PureFunction::new("width_bucket", bucket_types, scale_type, buckets).build(),
        PureFunction::new(BITS_INVERTED, whole_number, |types| Ok(types[0].clone()), inverted).build(),
    ]
}

/// The arguments as decimals.
fn exact(name: &str, types: &[DataType], count: usize) -> Result<Vec<DataType>> {
    if types.len() != count {
        return invalid!(UndefinedFunction, "{name} takes {count} numbers, not {}", types.len());
    }
    numbers(name, types)?;
    types
        .iter()
        .map(|own| match own {
            DataType::Decimal128(..) => Ok(own.clone()),
            own if own.is_integer() || own.is_null() => Ok(WHOLE),
            own if own.is_string() => Ok(DataType::Decimal128(38, 10)),
            own if own.is_floating() => {
                invalid!(UndefinedFunction, "{name} takes DECIMALs, not {}; cast it", type_name(own))
            }
            other => invalid!(UndefinedFunction, "{name} takes DECIMALs of up to 38 digits, not {}", type_name(other)),
        })
        .collect()
}

fn decimals(array: &ArrayRef) -> Result<(&Decimal128Array, i8)> {
    match (array.as_primitive_opt::<Decimal128Type>(), array.data_type()) {
        (Some(values), DataType::Decimal128(_, scale)) => Ok((values, *scale)),
        (_, other) => internal_err!("{other} in the place of a decimal"),
    }
}

/// The digits behind the point that a value has, without zeros at its end.
fn least_scale(value: i128, scale: i8) -> i32 {
    let mut least = i32::from(scale);
    let mut rest = value;
    while least > 0 && rest % 10 == 0 {
        rest /= 10;
        least -= 1;
    }
    least
}

/// A value with more digits behind the point; `None` where it has no place for them.
fn scaled(value: i128, from: i8, to: i8) -> Option<i128> {
    value.checked_mul(10i128.checked_pow(u32::try_from(to - from).ok()?)?)
}

/// `div(a, b)`: the whole part of the quotient.
fn quotients(arguments: &[ArrayRef], result: &DataType) -> Result<ArrayRef> {
    let ((dividends, of_a), (divisors, of_b)) = (decimals(&arguments[0])?, decimals(&arguments[1])?);
    let scale = of_a.max(of_b);
    let of = |(a, b): (Option<i128>, Option<i128>)| -> Result<Option<i128>> {
        let Some((a, b)) = a.zip(b) else { return Ok(None) };
        if b == 0 {
            return invalid!(DivisionByZero, "division by zero");
        }
        match scaled(a, of_a, scale).zip(scaled(b, of_b, scale)) {
            Some((a, b)) => Ok(Some(a / b)),
            None => invalid!(NumericValueOutOfRange, "div: the numbers have more than 38 digits together"),
        }
    };
    let results = dividends.iter().zip(divisors).map(of).collect::<Result<Decimal128Array>>()?;
    Ok(Arc::new(results.with_data_type(result.clone())))
}

fn bucket_types(types: &[DataType]) -> Result<Vec<DataType>> {
    let [value, low, high, count] = types else {
        return invalid!(
            UndefinedFunction,
            "width_bucket takes a number, the bounds and how many buckets lie between them, not {} values",
            types.len()
        );
    };
    let three = [value.clone(), low.clone(), high.clone()];
    numbers("width_bucket", &three)?;
    if !(count.is_integer() || count.is_null() || count.is_string()) {
        return invalid!(UndefinedFunction, "width_bucket counts buckets by a whole number, not {}", type_name(count));
    }
    let is_float = three.iter().any(DataType::is_floating);
    let mut types = if is_float { vec![DataType::Float64; 3] } else { exact("width_bucket", &three, 3)? };
    types.push(DataType::Int64);
    Ok(types)
}

/// The bucket in which each value lies: 0 below the first, one more than there are above the last.
fn buckets(arguments: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    let counts = cast(&arguments[3], &DataType::Int64)?.as_primitive::<Int64Type>().clone();
    let in_floats = arguments[0].data_type().is_floating();
    let mut results = Vec::with_capacity(counts.len());
    let [values, lows, highs] = [0, 1, 2].map(|at| doubles(&arguments[at]));
    let (values, lows, highs) = (values?, lows?, highs?);
    for row in 0..counts.len() {
        if arguments.iter().any(|own| own.is_null(row)) {
            results.push(None);
            continue;
        }
        let count = counts.value(row);
        if count <= 0 || count >= i64::from(i32::MAX) {
            return invalid!(InvalidParameterValue, "width_bucket: {count} is no number of buckets");
        }
        let bucket = if in_floats {
            of_floats(values.value(row), lows.value(row), highs.value(row), count)?
        } else {
            of_decimals([0, 1, 2].map(|at| &arguments[at]), row, count)?
        };
        results.push(Some(bucket));
    }
    Ok(Arc::new(results.into_iter().collect::<Int32Array>()))
}

fn of_floats(value: f64, low: f64, high: f64, count: i64) -> Result<i32> {
    if value.is_nan() || low.is_nan() || high.is_nan() {
        return invalid!(InvalidParameterValue, "width_bucket: the value and the bounds can't be NaN");
    }
    if low.is_infinite() || high.is_infinite() {
        return invalid!(InvalidParameterValue, "width_bucket: the bounds must be finite");
    }
    if low == high {
        return invalid!(InvalidParameterValue, "width_bucket: the lower bound can't be the upper one");
    }
    // From the greater bound down, buckets are counted in the other direction.
    let (value, low, high) = if low < high { (value, low, high) } else { (-value, -low, -high) };
    let count = count as f64;
    let bucket = match value {
        value if value < low => 0.0,
        value if value >= high => count + 1.0,
        value => ((value - low) / (high - low) * count).floor().min(count - 1.0) + 1.0,
    };
    Ok(bucket as i32)
}

fn of_decimals(arguments: [&ArrayRef; 3], row: usize, count: i64) -> Result<i32> {
    let mut parts = [(0, 0); 3];
    for (part, argument) in parts.iter_mut().zip(arguments) {
        let (values, scale) = decimals(argument)?;
        *part = (values.value(row), scale);
    }
    let scale = parts.iter().map(|(_, scale)| *scale).max().unwrap_or_default();
    let [value, low, high] = parts.map(|(value, from)| scaled(value, from, scale));
    let too_long = || invalid!(NumericValueOutOfRange, "width_bucket: the numbers have more than 38 digits together");
    let (Some(value), Some(low), Some(high)) = (value, low, high) else { return too_long() };
    if low == high {
        return invalid!(InvalidParameterValue, "width_bucket: the lower bound can't be the upper one");
    }
    let (value, low, high) = if low < high { (value, low, high) } else { (-value, -low, -high) };
    let bucket = match value {
        value if value < low => 0,
        value if value >= high => count + 1,
        value => {
            let Some(product) = value.checked_sub(low).and_then(|over| over.checked_mul(count.into())) else {
                return too_long();
            };
            i64::try_from(product / (high - low)).unwrap_or(count) + 1
        }
    };
    Ok(i32::try_from(bucket).unwrap_or(i32::MAX))
}

fn whole_number(types: &[DataType]) -> Result<Vec<DataType>> {
    match types {
        [DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64] => Ok(types.to_vec()),
        [own] if own.is_null() || own.is_string() || own.is_unsigned_integer() => Ok(vec![DataType::Int64]),
        [other] => invalid!(UndefinedFunction, "~ inverts the bits of whole numbers, not of {}", type_name(other)),
        _ => invalid!(UndefinedFunction, "~ takes one whole number, not {}", types.len()),
    }
}

fn inverted(arguments: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    let own = &arguments[0];
    Ok(match own.data_type() {
        DataType::Int8 => Arc::new(own.as_primitive::<Int8Type>().unary::<_, Int8Type>(|value| !value)),
        DataType::Int16 => Arc::new(own.as_primitive::<Int16Type>().unary::<_, Int16Type>(|value| !value)),
        DataType::Int32 => Arc::new(own.as_primitive::<Int32Type>().unary::<_, Int32Type>(|value| !value)),
        DataType::Int64 => Arc::new(own.as_primitive::<Int64Type>().unary::<_, Int64Type>(|value| !value)),
        other => return internal_err!("inverted bits of {other}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_counted_in_both_directions() {
        for (value, low, high, count, bucket) in [
            (5.35, 0.024, 10.06, 5, 3),
            (0.0, 1.0, 2.0, 4, 0),
            (1.0, 1.0, 2.0, 4, 1),
            (2.0, 1.0, 2.0, 4, 5),
            (1.5, 2.0, 1.0, 4, 3),
            (2.5, 2.0, 1.0, 4, 0),
            (1.0, 2.0, 1.0, 4, 5),
        ] {
            assert_eq!(of_floats(value, low, high, count).ok(), Some(bucket), "{value} {low} {high}");
        }
        assert!(of_floats(1.0, 2.0, 2.0, 4).is_err() && of_floats(f64::NAN, 1.0, 2.0, 4).is_err());
    }

    #[test]
    fn zeros_at_the_end_are_no_scale() {
        assert_eq!((least_scale(1100, 3), least_scale(0, 2), least_scale(15, 1)), (1, 0, 1));
    }
}
