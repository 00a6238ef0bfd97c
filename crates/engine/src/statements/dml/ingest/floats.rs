//! One zero and one NaN. IEEE 754 has two zeros, which are equal, and millions of NaNs, which SQL takes for one value; what
//! compares bits (keys, groups, DISTINCT, partitions) would tell them apart. Stored columns therefore hold 0.0 and one NaN
//! alone, so that none of these has to look twice.

use arrow::array::{ArrayRef, AsArray, PrimitiveArray};
use arrow::datatypes::{ArrowPrimitiveType, DataType, Float32Type, Float64Type};
use std::sync::Arc;

/// The values with 0.0 for each -0.0 and one NaN for all of them; arrays of other types as they are.
pub(super) fn one_zero(values: &ArrayRef) -> ArrayRef {
    match values.data_type() {
        DataType::Float32 => {
            replaced(
                values,
                values.as_primitive::<Float32Type>(),
                |value| {
                    if value.is_nan() { f32::NAN } else { value + 0.0 }
                },
            )
        }
        DataType::Float64 => {
            replaced(
                values,
                values.as_primitive::<Float64Type>(),
                |value| {
                    if value.is_nan() { f64::NAN } else { value + 0.0 }
                },
            )
        }
        _ => Arc::clone(values),
    }
}

/// `values` as it is when `one` changes no value's bytes, which is the rule.
fn replaced<T: ArrowPrimitiveType>(
    values: &ArrayRef,
    floats: &PrimitiveArray<T>,
    one: impl Fn(T::Native) -> T::Native,
) -> ArrayRef {
    use arrow::datatypes::ToByteSlice;
    let changes = floats.values().iter().any(|value| one(*value).to_byte_slice() != value.to_byte_slice());
    if changes { Arc::new(floats.unary::<_, T>(one)) } else { Arc::clone(values) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Array, Float32Array, Float64Array, Int32Array};

    #[test]
    fn zeros_and_nans_become_one() {
        let odd = f64::from_bits(f64::NAN.to_bits() | 1 << 63 | 77);
        let values: ArrayRef = Arc::new(Float64Array::from(vec![Some(-0.0), None, Some(odd), Some(-1.5)]));
        let bits = |value: f64| Some(value.to_bits());
        let found = one_zero(&values);
        let found: Vec<_> = found.as_primitive::<Float64Type>().iter().map(|value| value.map(f64::to_bits)).collect();
        assert_eq!(found, [bits(0.0), None, bits(f64::NAN), bits(-1.5)]);
        let values: ArrayRef = Arc::new(Float32Array::from(vec![1.0, -0.0]));
        assert_eq!(one_zero(&values).as_primitive::<Float32Type>().value(1).to_bits(), 0);
    }

    #[test]
    fn the_rest_is_not_copied() {
        let plain: [ArrayRef; 2] = [Arc::new(Float64Array::from(vec![0.0, 2.5])), Arc::new(Int32Array::from(vec![0]))];
        for values in plain {
            assert!(values.to_data().ptr_eq(&one_zero(&values).to_data()));
        }
    }
}
