//! Floats among integers. A DOUBLE is carried as the integer that orders as it does: IEEE 754's total order, as Arrow
//! compares, shifted so that 0.0 is 0. Columns, keys, comparisons, smallest and largest need nothing else then; arithmetic
//! turns integers to floats and back, three instructions each way.
//!
//! A sum is one of fixed-point numbers of 128 bits, whose unit is chosen so that neither the largest value, as the
//! metadata tells it, nor the number of records can make it overflow. It is exact and rounded once, so it does not
//! depend on the order of records, on threads or on groups. A value with bits below the unit is not rounded: the
//! query goes on in the operators that pipelines replaced.

use crate::data::limits::Limits;
use crate::program::expression::FloatArithmetic;
pub use gingham_storage::model::{float_integer as ordered, float_of_integer as float};

/// Bits of a sum of fixed-point numbers, its sign aside.
const SUM_BITS: i32 = 126;

/// No DOUBLE has bits below 2 to the power of this.
const SMALLEST: i32 = -1074;

/// Integers of all floats but the infinite and those that are no numbers.
pub(crate) const FINITE: Limits = Limits { min: -(INFINITE as i128), max: INFINITE as i128 - 1 };

/// Integers of all floats. The one below is none that arithmetic gives or tables keep.
pub(crate) const ANY: Limits = Limits { min: i64::MIN as i128 + 1, max: i64::MAX as i128 };

/// The largest distance that a float's bits are shifted by in a sum.
pub(crate) const MOST_SHIFT: i32 = 74;

const INFINITE: i64 = 0x7ff << 52;

/// Two floats combined, as integers.
pub(crate) fn combine(operator: FloatArithmetic, left: i64, right: i64) -> i64 {
    let (left, right) = (float(left), float(right));
    ordered(match operator {
        FloatArithmetic::Add => left + right,
        FloatArithmetic::Subtract => left - right,
        FloatArithmetic::Multiply => left * right,
        FloatArithmetic::Divide => left / right,
    })
}

/// The float of an integer with so many digits behind the point.
pub(crate) fn of_scaled(value: i64, digits: u32) -> i64 {
    ordered(value as f64 / power_of_ten(digits))
}

/// The last power of ten that a float is.
pub(crate) const EXACT_POWERS: u32 = 22;

/// What a scaled integer is divided by.
pub(crate) fn power_of_ten(digits: u32) -> f64 {
    10f64.powi(digits as i32)
}

/// The exponent of the unit in which so many floats of a range can be summed; `None` when some are not finite.
pub(crate) fn unit(range: Limits, rows: u64) -> Option<i32> {
    if !FINITE.covers(range) {
        return None;
    }
    Some((size(range) + (64 - rows.leading_zeros()) as i32 - SUM_BITS).max(SMALLEST))
}

/// The power of two that all floats of a range are nearer to zero than.
pub(crate) fn size(range: Limits) -> i32 {
    let largest = float(range.min as i64).abs().max(float(range.max as i64).abs());
    (largest.to_bits() >> 52) as i32 - 1022
}

/// How many units a float is; `None` unless that is an integer of a size that was foreseen.
pub(crate) fn units(ordered: i64, unit: i32) -> Option<i128> {
    let bits = float(ordered).to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32;
    let mantissa = (bits & ((1 << 52) - 1)) as i128 | i128::from(exponent != 0) << 52;
    let shift = exponent.max(1) - 1075 - unit;
    let units = if shift >= 0 {
        mantissa << shift.min(MOST_SHIFT)
    } else {
        let units = mantissa >> (-shift).min(63);
        if units << (-shift).min(63) != mantissa {
            return None;
        }
        units
    };
    (shift <= MOST_SHIFT).then_some(if bits >> 63 == 1 { -units } else { units })
}

/// The float nearest to so many units.
pub(crate) fn of_units(units: i128, unit: i32) -> f64 {
    let scale = match unit {
        ..-1022 => f64::from_bits(1 << (unit - SMALLEST)),
        _ => f64::from_bits(((unit + 1023) as u64) << 52),
    };
    units as f64 * scale
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn integers_order_as_floats_do() {
        let floats = [f64::NEG_INFINITY, f64::MIN, -1.5, -f64::MIN_POSITIVE, -5e-324, -0.0, 0.0, 5e-324, 1.0, f64::MAX];
        let integers: Vec<i64> = floats.iter().map(|value| ordered(*value)).collect();
        assert!(integers.is_sorted(), "{integers:?}");
        assert_eq!(integers[6], 0);
        assert!(floats.iter().zip(&integers).all(|(value, integer)| float(*integer).to_bits() == value.to_bits()));
        assert!(FINITE.covers(Limits::new(integers[1], integers[9])));
        assert_eq!(
            (FINITE.max + 1, FINITE.min),
            (ordered(f64::INFINITY).into(), ordered(f64::NEG_INFINITY) as i128 + 1)
        );
    }

    #[test]
    fn what_is_not_finite_has_no_unit() {
        for value in [f64::NAN, f64::INFINITY] {
            assert_eq!(unit(Limits::new(0, ordered(value)), 10), None);
        }
        assert_eq!(unit(Limits::new(ordered(f64::NEG_INFINITY), 0), 10), None);
    }

    proptest! {
        #[test]
        fn sums_are_exact_or_refused(
            values in prop::collection::vec((any::<i32>(), -80..80i32), 1..50),
            rows in prop_oneof![Just(50u64), Just(1 << 40)],
        ) {
            let values: Vec<f64> = values.into_iter().map(|(value, power)| f64::from(value) * 2f64.powi(power)).collect();
            let range = Limits::new(
                values.iter().map(|value| ordered(*value)).min().unwrap(),
                values.iter().map(|value| ordered(*value)).max().unwrap(),
            );
            let unit = unit(range, rows).unwrap();
            for value in &values {
                let whole = (value * 2f64.powi(-unit)).fract() == 0.0;
                match units(ordered(*value), unit) {
                    Some(units) => prop_assert!(whole && of_units(units, unit) == *value),
                    None => prop_assert!(!whole, "{value} in units of 2^{unit}"),
                }
            }
            let all: Option<Vec<i128>> = values.iter().map(|value| units(ordered(*value), unit)).collect();
            if let Some(all) = all {
                let sum: i128 = all.iter().sum();
                let largest = all.iter().map(|units| units.unsigned_abs()).max().unwrap();
                prop_assert!(largest.checked_mul(rows.into()).is_some_and(|most| most < 1 << 127));
                let plain: f64 = values.iter().sum();
                let size: f64 = values.iter().map(|value| value.abs()).sum();
                prop_assert!((of_units(sum, unit) - plain).abs() <= size * 1e-14);
            }
        }
    }
}
