//! Arithmetic, comparisons and casts of numbers, in whatever types they are: scales of decimals meet, limits of types are kept.

use crate::compile::translate::Typed;
use arrow::datatypes::DataType;
use gingham_execution::{Arithmetic, Comparison, Expression, FloatArithmetic, Limits, ordered};
use gingham_storage::{LogicalType, ValueClass};

pub(super) fn arithmetic(operator: Arithmetic, left: Typed, right: Typed, result: &DataType) -> Option<Expression> {
    let (left, right) = match (operator, result) {
        (_, DataType::Decimal128(..)) if operator != Arithmetic::Multiply => {
            (converted(left.number()?, result)?.expression, converted(right.number()?, result)?.expression)
        }
        (_, DataType::Decimal128(_, scale)) => {
            let scales = scale_of(&left.data_type)? + scale_of(&right.data_type)?;
            (scales == i32::from(*scale)).then_some((left.expression, right.expression))?
        }
        (_, DataType::Float64) => {
            let operator = match operator {
                Arithmetic::Add => FloatArithmetic::Add,
                Arithmetic::Subtract => FloatArithmetic::Subtract,
                Arithmetic::Multiply => FloatArithmetic::Multiply,
            };
            return doubles(operator, left, right);
        }
        _ => {
            let same = left.data_type == *result && right.data_type == *result && result.is_integer();
            same.then_some((left.expression, right.expression))?
        }
    };
    Some(Expression::arithmetic(operator, left, right, limits(result)?))
}

/// Two DOUBLEs combined.
pub(super) fn doubles(operator: FloatArithmetic, left: Typed, right: Typed) -> Option<Expression> {
    let double = left.data_type == DataType::Float64 && right.data_type == DataType::Float64;
    double.then(|| Expression::float(operator, left.expression, right.expression))
}

/// A quotient or remainder of integers.
pub(super) fn division(remainder: bool, left: Typed, right: Typed, result: &DataType) -> Option<Expression> {
    if left.data_type != *result || right.data_type != *result || !result.is_integer() {
        return None;
    }
    let (left, right) = (Box::new(left.expression), Box::new(right.expression));
    Some(Expression::Division { remainder, left, right, limits: limits(result)? })
}

/// A number with the other sign.
pub(super) fn negated(value: Typed) -> Option<Typed> {
    // The integers of a float and of the same with the other sign are each other's complement.
    let (zero, limits) = match &value.data_type {
        DataType::Float32 | DataType::Float64 => (-1, Limits::new(i64::MIN, i64::MAX)),
        data_type => (0, limits(data_type)?),
    };
    let zero = Expression::Constant(Some(zero));
    let expression = Expression::arithmetic(Arithmetic::Subtract, zero, value.expression, limits);
    Some(Typed::new(expression, value.data_type))
}

/// A number as a DOUBLE. A REAL is carried as one.
pub(super) fn as_double(value: Typed) -> Option<Typed> {
    let expression = match value.data_type {
        DataType::Float32 | DataType::Float64 => value.expression,
        _ => {
            let digits = u32::try_from(scale_of(&value.data_type)?).ok()?;
            Expression::ToFloat { argument: Box::new(value.expression), digits }
        }
    };
    Some(Typed::new(expression, DataType::Float64))
}

/// True for types whose values are integers here, those of the integer class and floats.
pub(super) fn is_number(data_type: &DataType) -> bool {
    let class = LogicalType::from_arrow("", data_type).ok().map(|logical_type| logical_type.class());
    matches!(class, Some(ValueClass::Integer | ValueClass::Float))
}

pub(super) fn compare(operator: Comparison, left: Typed, right: Typed) -> Option<Expression> {
    // Codes compare with those of the same column alone, and that is rare.
    if left.entries.is_some() || right.entries.is_some() {
        return None;
    }
    let scales = scale_of(&left.data_type).zip(scale_of(&right.data_type));
    let (left, right) = match scales {
        Some((a, b)) if a != b => {
            let wider = if a > b { left.data_type.clone() } else { right.data_type.clone() };
            (rescaled(left, &wider)?, rescaled(right, &wider)?)
        }
        Some(_) => (left.expression, right.expression),
        None => {
            let (same, floats) = (left.data_type == right.data_type, left.data_type.is_floating());
            let sides = (same && is_number(&left.data_type)).then_some((left.expression, right.expression))?;
            if floats { with_one_zero(sides) } else { sides }
        }
    };
    Some(Expression::compare(operator, left, right))
}

/// Floats whose integers compare as they do: -0.0 is 0.0, though its integer lies below. Tables keep none; arithmetic and
/// other operators give some.
fn with_one_zero((left, right): (Expression, Expression)) -> (Expression, Expression) {
    let negative = Expression::Constant(Some(ordered(-0.0).into()));
    let zero = || Expression::Constant(Some(0));
    let [left, right] = [left, right].map(|side| if side == negative { zero() } else { side });
    // Both zeros are on one side of any other number.
    let is_other = |side: &Expression| matches!(side, Expression::Constant(value) if *value != Some(0));
    if is_other(&left) || is_other(&right) {
        return (left, right);
    }
    let one = |side: Expression| match side {
        Expression::Constant(_) => side,
        _ => {
            let is_negative = Expression::compare(Comparison::Equal, side.clone(), negative.clone());
            Expression::Case { branches: vec![(is_negative, zero())], otherwise: Box::new(side) }
        }
    };
    (one(left), one(right))
}

/// The key of a float: 0.0 for -0.0, and for each NaN the one above all numbers.
pub(super) fn float_key(value: Typed) -> Option<Typed> {
    let constant = |float: f64| Expression::Constant(Some(ordered(float).into()));
    if !value.data_type.is_floating() {
        return None;
    }
    let is = |operator, limit: f64| Expression::compare(operator, value.expression.clone(), constant(limit));
    let branches = vec![
        (is(Comparison::Equal, -0.0), constant(0.0)),
        (is(Comparison::Less, f64::NEG_INFINITY), constant(f64::NAN)),
        (is(Comparison::Greater, f64::INFINITY), constant(f64::NAN)),
    ];
    let otherwise = Box::new(value.expression.clone());
    Some(Typed::new(Expression::Case { branches, otherwise }, value.data_type))
}

fn scale_of(data_type: &DataType) -> Option<i32> {
    match data_type {
        DataType::Decimal128(_, scale) => Some((*scale).into()),
        data_type if data_type.is_integer() => Some(0),
        _ => None,
    }
}

/// A number in another type. Where it does not fit, that is an overflow.
pub(super) fn converted(value: Typed, wanted: &DataType) -> Option<Typed> {
    let expression =
        if value.data_type == *wanted { value.expression } else { within(value, wanted, limits(wanted)?)? };
    Some(Typed::new(expression, wanted.clone()))
}

/// A number with the scale of a decimal type, however many digits it has then.
fn rescaled(value: Typed, wanted: &DataType) -> Option<Expression> {
    within(value, wanted, Limits::new(i128::MIN, i128::MAX))
}

fn within(value: Typed, wanted: &DataType, limits: Limits) -> Option<Expression> {
    let digits = u32::try_from(scale_of(wanted)? - scale_of(&value.data_type)?).ok()?;
    let factor = Expression::Constant(Some(10i128.checked_pow(digits)?));
    Some(Expression::arithmetic(Arithmetic::Multiply, value.expression, factor, limits))
}

/// What a number's type can hold.
pub(super) fn limits(data_type: &DataType) -> Option<Limits> {
    Some(match data_type {
        DataType::Int8 => Limits::new(i8::MIN, i8::MAX),
        DataType::Int16 => Limits::new(i16::MIN, i16::MAX),
        DataType::Int32 => Limits::new(i32::MIN, i32::MAX),
        DataType::Int64 => Limits::new(i64::MIN, i64::MAX),
        DataType::UInt8 => Limits::new(0, u8::MAX),
        DataType::UInt16 => Limits::new(0, u16::MAX),
        DataType::UInt32 => Limits::new(0, u32::MAX),
        DataType::UInt64 => Limits::new(0, u64::MAX),
        DataType::Decimal128(precision, _) => {
            let largest = 10i128.checked_pow((*precision).into())? - 1;
            Limits::new(-largest, largest)
        }
        _ => return None,
    })
}
