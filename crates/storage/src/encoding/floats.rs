//! The float class: scaled floats when every value is a short decimal, else ordered bits.
//!
//! A DOUBLE such as 0.07 is the double nearest to 7 / 100, so dividing the integer 7 by 100 gives back its exact bits.
//! Prices and rates are nearly always of that kind; as small integers they pack and compare like decimals. One value
//! that does not come back bit for bit (NaN, -0.0, an infinity, a measurement with 17 digits) rules it out.

use crate::model::view::{float_order, real_order};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Float32Type, Float64Type};

/// Most decimal digits behind the point.
pub(crate) const MAX_DIGITS: u8 = 9;

/// Largest scaled value. Below it, adding and subtracting [`ROUND`] rounds to the nearest integer.
const LIMIT: f64 = (1u64 << 51) as f64;
const ROUND: f64 = 3.0 * LIMIT;

const POWERS: [f64; MAX_DIGITS as usize + 1] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

/// How a float column is coded, with its smallest and largest code before the base is taken off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum FloatCoding {
    /// value = scaled / 10^digits.
    Scaled {
        /// Decimal digits.
        digits: u8,
        /// Smallest scaled value.
        min: i64,
        /// Largest.
        max: i64,
    },
    /// Ordered bits.
    Ordered {
        /// Smallest pattern.
        min: u64,
        /// Largest.
        max: u64,
    },
}

/// Chooses a coding; `None` when all values are NULL.
pub(crate) fn choose(chunks: &[ArrayRef]) -> Option<FloatCoding> {
    if chunks.iter().all(|chunk| chunk.null_count() == chunk.len()) {
        return None;
    }
    if let Some(coding) = scaled(chunks) {
        return Some(coding);
    }
    let (mut min, mut max) = (u64::MAX, 0);
    for chunk in chunks {
        for_each_order(chunk, |order| {
            min = min.min(order);
            max = max.max(order);
        });
    }
    Some(FloatCoding::Ordered { min, max })
}

/// Calls `visit` with the ordered bits of each value that is not NULL.
fn for_each_order(chunk: &ArrayRef, mut visit: impl FnMut(u64)) {
    match chunk.data_type() {
        DataType::Float32 => {
            chunk.as_primitive::<Float32Type>().iter().flatten().for_each(|value| visit(real_order(value).into()));
        }
        _ => chunk.as_primitive::<Float64Type>().iter().flatten().for_each(|value| visit(float_order(value))),
    }
}

/// The scaled coding with the fewest digits that gives every value back bit for bit.
fn scaled(chunks: &[ArrayRef]) -> Option<FloatCoding> {
    // More digits keep what fewer could do (10 r / 10^(d+1) rounds as r / 10^d does), so one pass that only ever adds
    // digits is enough; the range is checked at the end with the final number of digits.
    let mut digits = 0;
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for chunk in chunks {
        if chunk.data_type() != &DataType::Float64 {
            return None;
        }
        for value in chunk.as_primitive::<Float64Type>().iter().flatten() {
            while scale(value, digits).is_none() {
                digits += 1;
                if digits > MAX_DIGITS {
                    return None;
                }
            }
            low = low.min(value);
            high = high.max(value);
        }
    }
    let (min, max) = (scale(low, digits)?, scale(high, digits)?);
    Some(FloatCoding::Scaled { digits, min, max })
}

/// value * 10^digits when dividing it again gives `value` bit for bit.
fn scale(value: f64, digits: u8) -> Option<i64> {
    let power = POWERS[usize::from(digits)];
    let product = value * power;
    if product.abs() <= LIMIT {
        let scaled = round(product);
        (unscale(scaled, digits).to_bits() == value.to_bits()).then_some(scaled)
    } else {
        None
    }
}

/// The nearest integer to a number within [`LIMIT`].
fn round(number: f64) -> i64 {
    ((number + ROUND) - ROUND) as i64
}

/// The value of a scaled float.
pub(crate) fn unscale(scaled: i64, digits: u8) -> f64 {
    scaled as f64 / POWERS[usize::from(digits)]
}

/// Appends the codes of a chunk; what stands in the slot of a NULL is arbitrary.
pub(crate) fn append_codes(chunk: &ArrayRef, coding: FloatCoding, codes: &mut Vec<u64>) {
    match (coding, chunk.data_type()) {
        (FloatCoding::Scaled { digits, min, .. }, _) => {
            let power = POWERS[usize::from(digits)];
            let values = chunk.as_primitive::<Float64Type>().values();
            codes.extend(values.iter().map(|value| round(value * power).wrapping_sub(min) as u64));
        }
        (FloatCoding::Ordered { min, .. }, DataType::Float32) => {
            let values = chunk.as_primitive::<Float32Type>().values();
            codes.extend(values.iter().map(|value| u64::from(real_order(*value)).wrapping_sub(min)));
        }
        (FloatCoding::Ordered { min, .. }, _) => {
            let values = chunk.as_primitive::<Float64Type>().values();
            codes.extend(values.iter().map(|value| float_order(*value).wrapping_sub(min)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::Float64Array;
    use proptest::prelude::*;
    use std::sync::Arc;

    fn column(values: impl IntoIterator<Item = f64>) -> Vec<ArrayRef> {
        vec![Arc::new(Float64Array::from_iter_values(values))]
    }

    #[test]
    fn prices_are_scaled() {
        let coding = choose(&column((0..100_000).map(|cents| f64::from(cents) / 100.0)));
        assert_eq!(coding, Some(FloatCoding::Scaled { digits: 2, min: 0, max: 99_999 }));
        let coding = choose(&column([-1.5, 3.0, 0.125]));
        assert_eq!(coding, Some(FloatCoding::Scaled { digits: 3, min: -1500, max: 3000 }));
    }

    #[test]
    fn what_does_not_come_back_is_ordered() {
        for odd in [f64::NAN, -0.0, f64::INFINITY, 1e300, 1.0 / 3.0, f64::MIN_POSITIVE, 1e16] {
            assert!(matches!(choose(&column([1.0, odd])), Some(FloatCoding::Ordered { .. })), "{odd}");
        }
    }

    proptest! {
        #[test]
        fn every_scaled_value_comes_back(scaled in prop::collection::vec(-(1i64 << 50)..1 << 50, 1..50), digits in 0u8..=9) {
            let values: Vec<f64> = scaled.iter().map(|scaled| unscale(*scaled, digits)).collect();
            let chunks = column(values.iter().copied());
            if let Some(coding @ FloatCoding::Scaled { digits, min, .. }) = choose(&chunks) {
                let mut codes = Vec::new();
                append_codes(&chunks[0], coding, &mut codes);
                for (code, value) in codes.iter().zip(&values) {
                    prop_assert_eq!(unscale(min + *code as i64, digits).to_bits(), value.to_bits());
                }
            }
        }
    }
}
