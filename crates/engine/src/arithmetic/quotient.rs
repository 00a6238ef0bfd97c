//! Quotients and means of decimals: their types, and the division itself.
//!
//! A quotient has as many digits behind the point as its operands, and at least 16, as PostgreSQL's mostly have; fewer
//! where its digits before the point need the room, but never under 9. It is rounded half away from zero. What 128 bits
//! do not hold on the way is computed in 256.

use crate::arithmetic::decimal::LARGEST;
use crate::arithmetic::integer::{IntegerOperand, shape};
use arrow::array::{Array, ArrayRef, Datum, PrimitiveArray};
use arrow::datatypes::{DECIMAL128_MAX_PRECISION, DataType, Decimal128Type, i256};
use arrow::error::ArrowError;
use datafusion::common::ScalarValue;
use gingham_execution::{divided, divided_wide};
use std::sync::Arc;

/// Digits behind the point of a quotient, if there is room.
const WANTED: i16 = 16;
/// Digits behind the point that are kept however many there are before it.
const LEAST: i16 = 9;

/// Precision and scale of `left / right`; `None` where an operand is no decimal of 128 bits.
pub(super) fn quotient_type(left: &DataType, right: &DataType) -> Option<DataType> {
    let (DataType::Decimal128(p1, s1), DataType::Decimal128(p2, s2)) = (left, right) else { return None };
    let ([p1, p2], [s1, s2]) = ([p1, p2].map(|digits| i16::from(*digits)), [s1, s2].map(|digits| i16::from(*digits)));
    // The least divisor is one unit of its last digit.
    let before = (p1 - s1 + s2.min(p2)).max(1);
    Some(fitting(before, s1.max(s2)))
}

/// The type of a mean of decimals of this type.
pub(super) fn mean_type(precision: u8, scale: i8) -> DataType {
    fitting((i16::from(precision) - i16::from(scale)).max(1), scale.into())
}

/// The type with so many digits before the point, and behind it those wanted or as many as there is room for.
fn fitting(before: i16, scale: i16) -> DataType {
    let most = i16::from(DECIMAL128_MAX_PRECISION);
    let scale = scale.max(WANTED).min((most - before).max(LEAST));
    let precision = (before + scale).min(most);
    // Both lie between 1 and 38.
    DataType::Decimal128(precision as u8, scale as i8)
}

/// The decimal type that holds all integers of a type.
pub(super) fn as_decimal(data_type: &DataType) -> Option<DataType> {
    let digits = match data_type {
        DataType::Int8 | DataType::UInt8 => 3,
        DataType::Int16 | DataType::UInt16 => 5,
        DataType::Int32 | DataType::UInt32 => 10,
        DataType::Int64 => 19,
        DataType::UInt64 => 20,
        DataType::Decimal128(..) => return Some(data_type.clone()),
        _ => return None,
    };
    Some(DataType::Decimal128(digits, 0))
}

/// The decimal type of an operand: of a literal integer, the digits that it has.
pub(super) fn operand_type(literal: Option<&ScalarValue>, data_type: &DataType) -> Option<DataType> {
    let own = as_decimal(data_type)?;
    match literal {
        Some(value) if data_type.is_integer() && !value.is_null() => {
            let digits = value.to_string().trim_start_matches('-').len();
            Some(u8::try_from(digits).map_or(own, |digits| DataType::Decimal128(digits, 0)))
        }
        _ => Some(own),
    }
}

/// `left / right`, both decimals of 128 bits.
pub(super) fn quotients(left: &dyn Datum, right: &dyn Datum) -> Result<ArrayRef, ArrowError> {
    let (left, right) = (IntegerOperand::<Decimal128Type>::new(left)?, IntegerOperand::<Decimal128Type>::new(right)?);
    let (from, by) = (left.array.data_type(), right.array.data_type());
    let (Some(result), DataType::Decimal128(_, s1), DataType::Decimal128(_, s2)) = (quotient_type(from, by), from, by)
    else {
        return Err(ArrowError::InvalidArgumentError(format!("{from} / {by} is no quotient of decimals")));
    };
    let DataType::Decimal128(precision, scale) = result else {
        return Err(ArrowError::InvalidArgumentError(format!("{result} is no decimal")));
    };
    let factor = Factor::new(i32::from(scale) + i32::from(*s2) - i32::from(*s1))?;
    let (rows, nulls) = shape(&left, &right);
    let mut values = Vec::with_capacity(rows);
    for row in 0..rows {
        if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            values.push(0);
            continue;
        }
        let (a, b) = (left.value(row), right.value(row));
        if b == 0 {
            return Err(ArrowError::DivideByZero);
        }
        let quotient = factor.quotient(a, b).filter(|value| value.unsigned_abs() <= LARGEST.unsigned_abs());
        values.push(quotient.ok_or_else(|| {
            let show = |operand: &IntegerOperand<'_, Decimal128Type>| {
                operand.array.value_as_string(if operand.is_scalar { 0 } else { row })
            };
            ArrowError::ArithmeticOverflow(format!(
                "decimal overflow: {} / {} has more than {DECIMAL128_MAX_PRECISION} digits",
                show(&left),
                show(&right)
            ))
        })?);
    }
    let array = PrimitiveArray::<Decimal128Type>::new(values.into(), nulls);
    Ok(Arc::new(array.with_precision_and_scale(precision, scale)?))
}

/// The power of ten that numerators are multiplied by, or denominators where it is below one.
struct Factor {
    numerator: i256,
    denominator: i256,
    /// The numerator's, where that is all and fits.
    short: Option<i128>,
}

impl Factor {
    fn new(digits: i32) -> Result<Self, ArrowError> {
        let power = |digits: i32| {
            let power = i256::from_i128(10).checked_pow(digits.max(0).unsigned_abs());
            power.ok_or_else(|| ArrowError::ArithmeticOverflow(format!("10 to the power of {digits} is too large")))
        };
        let short = u32::try_from(digits).ok().and_then(|digits| 10i128.checked_pow(digits));
        Ok(Self { numerator: power(digits)?, denominator: power(-digits)?, short })
    }

    fn quotient(&self, numerator: i128, denominator: i128) -> Option<i128> {
        if let Some(scaled) = self.short.and_then(|factor| numerator.checked_mul(factor)) {
            return divided(scaled, denominator);
        }
        let numerator = i256::from_i128(numerator).checked_mul(self.numerator)?;
        divided_wide(numerator, i256::from_i128(denominator).checked_mul(self.denominator)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{AsArray, Decimal128Array};

    fn type_of(left: (u8, i8), right: (u8, i8)) -> (u8, i8) {
        let decimal = |(precision, scale)| DataType::Decimal128(precision, scale);
        match quotient_type(&decimal(left), &decimal(right)) {
            Some(DataType::Decimal128(precision, scale)) => (precision, scale),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn types_keep_the_digits_before_the_point() {
        assert_eq!(type_of((12, 2), (1, 0)), (26, 16));
        assert_eq!(type_of((20, 18), (1, 0)), (20, 18));
        assert_eq!(type_of((38, 10), (19, 0)), (38, 10));
        assert_eq!(type_of((38, 4), (38, 4)), (38, 9));
        assert_eq!(type_of((15, 2), (20, 4)), (33, 16));
        assert_eq!(mean_type(38, 0), DataType::Decimal128(38, 9));
    }

    #[test]
    fn many_digits_are_computed_in_256_bits() {
        let decimals = |values: Vec<Option<i128>>, precision, scale| {
            Decimal128Array::from(values).with_precision_and_scale(precision, scale).unwrap()
        };
        let left = decimals(vec![Some(10i128.pow(30)), None, Some(-1)], 38, 10);
        let right = decimals(vec![Some(3), Some(0), Some(7)], 1, 0);
        let quotients = quotients(&left, &right).unwrap();
        let quotients = quotients.as_primitive::<Decimal128Type>();
        assert_eq!(quotients.value_as_string(0), "33333333333333333333.3333333333");
        assert!(quotients.is_null(1));
        assert_eq!(quotients.value_as_string(2), "0.0000000000");
    }
}
