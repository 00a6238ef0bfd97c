//! Checked `+`, `-`, `*` of decimals that may leave 38 digits. Products of values that fit 64 bits, which is nearly all
//! of them, need one multiplication and no check.

use crate::arithmetic::integer::{IntegerOperand, map, shape};
use arrow::array::{Array, ArrayRef, Datum, PrimitiveArray};
use arrow::compute::kernels::numeric;
use arrow::datatypes::{DECIMAL128_MAX_PRECISION, DataType, Decimal128Type, DecimalType};
use arrow::error::ArrowError;
use datafusion::logical_expr::Operator;
use std::sync::Arc;

/// Largest unscaled value: 38 nines.
pub(super) const LARGEST: i128 = 10i128.pow(38) - 1;

/// `left operator right`, both decimals of 128 bits.
pub(super) fn checked(operator: Operator, left: &dyn Datum, right: &dyn Datum) -> Result<ArrayRef, ArrowError> {
    match operator {
        Operator::Multiply => match short_product(left, right)? {
            Some(product) => Ok(product),
            None => in_range(operator, left, right, numeric::mul(left, right)),
        },
        Operator::Plus => in_range(operator, left, right, numeric::add(left, right)),
        _ => in_range(operator, left, right, numeric::sub(left, right)),
    }
}

/// The products when all values fit 64 bits: then no product can leave 38 digits.
fn short_product(left: &dyn Datum, right: &dyn Datum) -> Result<Option<ArrayRef>, ArrowError> {
    let (left, right) = (IntegerOperand::<Decimal128Type>::new(left)?, IntegerOperand::<Decimal128Type>::new(right)?);
    let (rows, nulls) = shape(&left, &right);
    let (DataType::Decimal128(p1, s1), DataType::Decimal128(p2, s2)) =
        (left.array.data_type(), right.array.data_type())
    else {
        return Ok(None);
    };
    let scale = s1.saturating_add(*s2);
    if scale > Decimal128Type::MAX_SCALE || !is_short(&left) || !is_short(&right) {
        return Ok(None);
    }
    let precision = p1.saturating_add(*p2).saturating_add(1).min(DECIMAL128_MAX_PRECISION);
    let array = if left.is_null_constant() || right.is_null_constant() {
        PrimitiveArray::<Decimal128Type>::new_null(rows)
    } else {
        let values = map(&left, &right, |a, b| i128::from(a as i64) * i128::from(b as i64));
        PrimitiveArray::<Decimal128Type>::new(values.into(), nulls)
    };
    Ok(Some(Arc::new(array.with_precision_and_scale(precision, scale)?)))
}

/// True when all values, those under NULLs too, fit 64 bits.
fn is_short(operand: &IntegerOperand<'_, Decimal128Type>) -> bool {
    // All upper halves must be copies of the lower half's sign.
    let excess = operand.array.values().iter().fold(0, |excess, value| excess | ((value >> 64) ^ (value << 64 >> 127)));
    excess == 0
}

/// An error when a value has more than 38 digits.
fn in_range(
    operator: Operator,
    left: &dyn Datum,
    right: &dyn Datum,
    result: Result<ArrayRef, ArrowError>,
) -> Result<ArrayRef, ArrowError> {
    let overflow = |operands: String| {
        ArrowError::ArithmeticOverflow(format!(
            "decimal overflow: {operands} has more than {DECIMAL128_MAX_PRECISION} digits"
        ))
    };
    let types = || format!("{} {operator} {}", left.get().0.data_type(), right.get().0.data_type());
    let array = match result {
        Err(ArrowError::ArithmeticOverflow(_)) => return Err(overflow(types())),
        other => other?,
    };
    let values = array.as_any().downcast_ref::<PrimitiveArray<Decimal128Type>>();
    let values =
        values.ok_or_else(|| ArrowError::InvalidArgumentError(format!("{} is no decimal", array.data_type())))?;
    let outside = |row: usize| values.value(row).unsigned_abs() > LARGEST.unsigned_abs();
    if let Some(row) = (0..values.len()).find(|row| outside(*row) && values.is_valid(*row)) {
        let (left, right) =
            (IntegerOperand::<Decimal128Type>::new(left)?, IntegerOperand::<Decimal128Type>::new(right)?);
        let show = |operand: &IntegerOperand<'_, Decimal128Type>| {
            let row = if operand.is_scalar { 0 } else { row };
            operand.array.value_as_string(row)
        };
        return Err(overflow(format!("{} {operator} {}", show(&left), show(&right))));
    }
    Ok(array)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{AsArray, Decimal128Array, Scalar};
    use proptest::prelude::*;

    fn decimals(values: Vec<Option<i128>>, precision: u8, scale: i8) -> Decimal128Array {
        Decimal128Array::from(values).with_precision_and_scale(precision, scale).unwrap()
    }

    fn any_decimal() -> impl Strategy<Value = Option<i128>> {
        prop_oneof![
            Just(None),
            any::<i64>().prop_map(|value| Some(value.into())),
            (-LARGEST..=LARGEST).prop_map(Some),
            Just(Some(LARGEST)),
            Just(Some(i128::from(i64::MAX) + 1)),
            Just(Some(i128::from(i64::MIN))),
            (-100i128..100).prop_map(Some),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        #[test]
        fn agrees_with_wide_arithmetic(rows in prop::collection::vec((any_decimal(), any_decimal()), 1..8)) {
            let (a, b): (Vec<_>, Vec<_>) = rows.iter().copied().unzip();
            let (left, right) = (decimals(a, 38, 2), decimals(b, 38, 2));
            for operator in [Operator::Plus, Operator::Minus, Operator::Multiply] {
                let exact: Vec<Option<Option<i128>>> = rows.iter().map(|(a, b)| {
                    let (a, b) = ((*a)?, (*b)?);
                    let value = match operator {
                        Operator::Plus => a.checked_add(b),
                        Operator::Minus => a.checked_sub(b),
                        _ => a.checked_mul(b),
                    };
                    Some(value.filter(|value| value.abs() <= LARGEST))
                }).collect();
                let found = checked(operator, &left, &right);
                if exact.contains(&Some(None)) {
                    prop_assert!(found.unwrap_err().to_string().contains("decimal overflow"));
                } else {
                    let expected: Vec<Option<i128>> = exact.into_iter().map(Option::flatten).collect();
                    let found = found.unwrap();
                    let found: Vec<Option<i128>> = found.as_primitive::<Decimal128Type>().iter().collect();
                    prop_assert_eq!(found, expected);
                }
            }
        }
    }

    #[test]
    fn short_products_have_the_type_that_arrow_gives() {
        let left = decimals(vec![Some(150), None], 15, 2);
        let right = Scalar::new(decimals(vec![Some(-7)], 3, 1));
        let ours = checked(Operator::Multiply, &left, &right).unwrap();
        assert_eq!(&ours, &numeric::mul(&left, &right).unwrap());
    }
}
