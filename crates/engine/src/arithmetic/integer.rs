//! Checked `+`, `-`, `*` of integers. The loop computes wrapped values and gathers whether any overflowed, which needs
//! no branch; only when one did does a second loop look for it.

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, Datum, PrimitiveArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{
    ArrowNativeTypeOp, DataType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow::error::ArrowError;
use datafusion::logical_expr::Operator;
use gingham_storage::LogicalType;
use std::sync::Arc;

/// One operand: values, or one value for all rows.
pub(super) struct IntegerOperand<'a, T: ArrowPrimitiveType> {
    pub(super) array: &'a PrimitiveArray<T>,
    pub(super) is_scalar: bool,
}

impl<'a, T: ArrowPrimitiveType> IntegerOperand<'a, T> {
    pub(super) fn new(datum: &'a dyn Datum) -> Result<Self, ArrowError> {
        let (array, is_scalar) = datum.get();
        let array = array.as_primitive_opt::<T>().ok_or_else(|| {
            ArrowError::InvalidArgumentError(format!("{} is not {}", array.data_type(), T::DATA_TYPE))
        })?;
        Ok(Self { array, is_scalar })
    }

    /// The value of a row.
    pub(super) fn value(&self, row: usize) -> T::Native {
        self.array.value(if self.is_scalar { 0 } else { row })
    }

    /// True when the operand is NULL in every row.
    pub(super) fn is_null_constant(&self) -> bool {
        self.is_scalar && self.array.is_null(0)
    }
}

/// Rows of the result, and which of them are NULL.
pub(super) fn shape<T: ArrowPrimitiveType>(
    left: &IntegerOperand<'_, T>,
    right: &IntegerOperand<'_, T>,
) -> (usize, Option<NullBuffer>) {
    let rows = if left.is_scalar { right.array.len() } else { left.array.len() };
    let nulls = match (left.is_scalar, right.is_scalar) {
        _ if left.is_null_constant() || right.is_null_constant() => Some(NullBuffer::new_null(rows)),
        (true, true) => None,
        (true, false) => right.array.nulls().cloned(),
        (false, true) => left.array.nulls().cloned(),
        (false, false) => NullBuffer::union(left.array.nulls(), right.array.nulls()),
    };
    (rows, nulls)
}

/// The values of a binary operation on all rows, by the shape of its operands.
pub(super) fn map<T: ArrowPrimitiveType>(
    left: &IntegerOperand<'_, T>,
    right: &IntegerOperand<'_, T>,
    mut compute: impl FnMut(T::Native, T::Native) -> T::Native,
) -> Vec<T::Native> {
    match (left.is_scalar, right.is_scalar) {
        (true, true) => vec![compute(left.array.value(0), right.array.value(0))],
        (true, false) => {
            let constant = left.array.value(0);
            right.array.values().iter().map(|value| compute(constant, *value)).collect()
        }
        (false, true) => {
            let constant = right.array.value(0);
            left.array.values().iter().map(|value| compute(*value, constant)).collect()
        }
        (false, false) => left.array.values().iter().zip(right.array.values()).map(|(a, b)| compute(*a, *b)).collect(),
    }
}

/// `left operator right`, both of one integer type.
pub(super) fn checked(operator: Operator, left: &dyn Datum, right: &dyn Datum) -> Result<ArrayRef, ArrowError> {
    by_type(left, right, operator, false)
}

/// `-value`; `zero` is the constant 0 of its type.
pub(super) fn negate(zero: &dyn Datum, value: &dyn Datum) -> Result<ArrayRef, ArrowError> {
    by_type(zero, value, Operator::Minus, true)
}

fn by_type(left: &dyn Datum, right: &dyn Datum, operator: Operator, negates: bool) -> Result<ArrayRef, ArrowError> {
    macro_rules! of {
        ($arrow:ty, $native:ty) => {{
            let overflowing = match operator {
                Operator::Plus => <$native>::overflowing_add,
                Operator::Minus => <$native>::overflowing_sub,
                _ => <$native>::overflowing_mul,
            };
            compute::<$arrow>(left, right, operator, negates, overflowing)
        }};
    }
    match left.get().0.data_type() {
        DataType::Int8 => of!(Int8Type, i8),
        DataType::Int16 => of!(Int16Type, i16),
        DataType::Int32 => of!(Int32Type, i32),
        DataType::Int64 => of!(Int64Type, i64),
        DataType::UInt8 => of!(UInt8Type, u8),
        DataType::UInt16 => of!(UInt16Type, u16),
        DataType::UInt32 => of!(UInt32Type, u32),
        DataType::UInt64 => of!(UInt64Type, u64),
        other => Err(ArrowError::InvalidArgumentError(format!("{other} is no integer"))),
    }
}

/// An operation that also tells whether its result is wrong.
type Overflowing<N> = fn(N, N) -> (N, bool);

fn compute<T: ArrowPrimitiveType>(
    left: &dyn Datum,
    right: &dyn Datum,
    operator: Operator,
    negates: bool,
    overflowing: Overflowing<T::Native>,
) -> Result<ArrayRef, ArrowError>
where
    T::Native: ArrowNativeTypeOp,
{
    let (left, right) = (IntegerOperand::<T>::new(left)?, IntegerOperand::<T>::new(right)?);
    let (rows, nulls) = shape(&left, &right);
    if left.is_null_constant() || right.is_null_constant() {
        return Ok(Arc::new(PrimitiveArray::<T>::new_null(rows)));
    }
    let mut overflowed = false;
    // One loop per operator, so that it is compiled with the operation in it and not with a call.
    let values = match operator {
        Operator::Plus => map(&left, &right, |a, b| {
            let sum = a.add_wrapping(b);
            overflowed |= wrapped_sum::<T>(a, b, sum);
            sum
        }),
        _ => map(&left, &right, |a, b| {
            let (value, wrapped) = overflowing(a, b);
            overflowed |= wrapped;
            value
        }),
    };
    if overflowed {
        let valid = |row: &usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*row));
        let wrapped = |row: &usize| overflowing(left.value(*row), right.value(*row)).1;
        // The value in a NULL's place may be anything.
        if let Some(row) = (0..rows).filter(valid).find(wrapped) {
            let (a, b) = (left.value(row), right.value(row));
            return Err(overflow::<T>(operator, negates, a, b));
        }
    }
    Ok(Arc::new(PrimitiveArray::<T>::new(values.into(), nulls)))
}

/// True when `sum`, which is `a + b` wrapped, is not the sum.
fn wrapped_sum<T: ArrowPrimitiveType>(a: T::Native, b: T::Native, sum: T::Native) -> bool
where
    T::Native: ArrowNativeTypeOp,
{
    let b_is_negative = b.is_lt(T::Native::ZERO);
    sum.is_lt(a) != b_is_negative
}

fn overflow<T: ArrowPrimitiveType>(operator: Operator, negates: bool, a: T::Native, b: T::Native) -> ArrowError {
    let name =
        LogicalType::from_arrow("", &T::DATA_TYPE).map_or_else(|_| T::DATA_TYPE.to_string(), |name| name.to_string());
    let operation = if negates { format!("-({b:?})") } else { format!("{a:?} {operator} {b:?}") };
    ArrowError::ArithmeticOverflow(format!("integer overflow: {operation} is out of range for {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Int8Array, Scalar, UInt8Array};

    fn all_pairs() -> (Int8Array, Int8Array) {
        let pairs = (i8::MIN..=i8::MAX).flat_map(|a| (i8::MIN..=i8::MAX).map(move |b| (a, b)));
        let (a, b): (Vec<i8>, Vec<i8>) = pairs.unzip();
        (a.into(), b.into())
    }

    #[test]
    fn every_pair_of_bytes_agrees_with_the_standard_library() {
        let (a, b) = all_pairs();
        for row in 0..a.len() {
            let (left, right) = (a.slice(row, 1), b.slice(row, 1));
            let (x, y) = (a.value(row), b.value(row));
            for (operator, expected) in [
                (Operator::Plus, x.checked_add(y)),
                (Operator::Minus, x.checked_sub(y)),
                (Operator::Multiply, x.checked_mul(y)),
            ] {
                let found =
                    checked(operator, &left, &right).ok().map(|array| array.as_primitive::<Int8Type>().value(0));
                assert_eq!(found, expected, "{x} {operator} {y}");
            }
        }
    }

    #[test]
    fn unsigned_bytes_agree_too() {
        for (x, y) in (0..=u8::MAX).flat_map(|x| [0, 1, 2, 100, 127, 128, 255].map(|y| (x, y))) {
            let (left, right) = (UInt8Array::from(vec![x]), Scalar::new(UInt8Array::from(vec![y])));
            let found =
                checked(Operator::Plus, &left, &right).ok().map(|array| array.as_primitive::<UInt8Type>().value(0));
            assert_eq!(found, x.checked_add(y), "{x} + {y}");
            let found =
                checked(Operator::Minus, &left, &right).ok().map(|array| array.as_primitive::<UInt8Type>().value(0));
            assert_eq!(found, x.checked_sub(y), "{x} - {y}");
        }
    }

    #[test]
    fn a_value_under_a_null_can_not_overflow() {
        let nulls = NullBuffer::from(vec![false, true]);
        let left = Int8Array::new(vec![127, 1].into(), Some(nulls));
        let sum = checked(Operator::Plus, &left, &Scalar::new(Int8Array::from(vec![1]))).unwrap();
        assert_eq!(sum.as_primitive::<Int8Type>(), &Int8Array::from(vec![None, Some(2)]));
        let error = checked(Operator::Plus, &Int8Array::from(vec![3, 127]), &Int8Array::from(vec![1, 1])).unwrap_err();
        assert_eq!(error.to_string(), "Arithmetic overflow: integer overflow: 127 + 1 is out of range for TINYINT");
        let zero = Scalar::new(Int8Array::from(vec![0]));
        let error = negate(&zero, &Int8Array::from(vec![-128])).unwrap_err();
        assert!(error.to_string().ends_with("-(-128) is out of range for TINYINT"), "{error}");
    }
}
