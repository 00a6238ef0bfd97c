//! Quotients of integers, rounded half away from zero, as decimals are.

use arrow::datatypes::i256;

/// `numerator / denominator`; `None` for a denominator of 0 and a quotient beyond 128 bits.
pub fn divided(numerator: i128, denominator: i128) -> Option<i128> {
    let (quotient, rest) = (numerator.checked_div(denominator)?, numerator.checked_rem(denominator)?);
    let (rest, divisor) = (rest.unsigned_abs(), denominator.unsigned_abs());
    let away = i128::from(rest != 0 && rest >= divisor - rest);
    quotient.checked_add(if (numerator < 0) == (denominator < 0) { away } else { -away })
}

/// The quotient of [`divided`] for integers of 256 bits.
pub fn divided_wide(numerator: i256, denominator: i256) -> Option<i128> {
    let quotient = numerator.checked_div(denominator)?;
    let rest = numerator.wrapping_sub(quotient.wrapping_mul(denominator));
    let (rest, divisor) = (rest.wrapping_abs(), denominator.wrapping_abs());
    let away = match rest != i256::ZERO && rest >= divisor.wrapping_sub(rest) {
        true if numerator.is_negative() == denominator.is_negative() => i256::ONE,
        true => i256::MINUS_ONE,
        false => i256::ZERO,
    };
    quotient.checked_add(away)?.to_i128()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn halves_go_away_from_zero() {
        for (a, b, quotient) in
            [(5, 2, 3), (-5, 2, -3), (5, -2, -3), (-5, -2, 3), (7, 3, 2), (8, 3, 3), (-8, 3, -3), (0, 3, 0)]
        {
            assert_eq!(divided(a, b), Some(quotient), "{a} / {b}");
            assert_eq!(divided_wide(i256::from_i128(a), i256::from_i128(b)), Some(quotient), "{a} / {b}");
        }
        assert_eq!(divided(1, 0), None);
        assert_eq!(divided_wide(i256::ONE, i256::ZERO), None);
    }

    proptest! {
        #[test]
        fn the_short_way_and_the_long_way_agree(a in any::<i128>(), b in any::<i64>(), narrow in 0..100u32) {
            let a = a >> narrow;
            let long = divided_wide(i256::from_i128(a), i256::from_i128(b.into()));
            prop_assert_eq!(divided(a, b.into()), long);
        }
    }
}
