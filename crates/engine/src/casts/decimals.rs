//! Decimals from text: digits, a point, an exponent, and digits behind the scale that are rounded.

/// Why a text is not a decimal of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoDecimal {
    /// The text is no number.
    Invalid,
    /// The number has more digits before the point than the type.
    OutOfRange,
}

/// The decimal that a text is, as an integer of its scale. A half goes away from zero.
pub(crate) fn decimal_of_text(text: &str, precision: u8, scale: i8) -> Result<i128, NoDecimal> {
    let text = text.trim_ascii();
    let (negative, number) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let (mantissa, exponent) = match number.split_once(['e', 'E']) {
        None => (number, 0),
        Some((mantissa, exponent)) => (mantissa, power(exponent)?),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let are_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !are_digits(whole) || !are_digits(fraction) {
        return Err(NoDecimal::Invalid);
    }
    let digits = || whole.bytes().chain(fraction.bytes()).map(|byte| i128::from(byte - b'0'));
    // So many of the digits stand before the end of the scale; the next one is rounded by.
    let kept = whole.len() as i64 + exponent + i64::from(scale);
    let (mut value, mut rounds_up, mut seen) = (0_i128, false, 0_i64);
    for digit in digits() {
        if seen == kept {
            rounds_up = digit >= 5;
        }
        if seen < kept {
            value = value.checked_mul(10).and_then(|value| value.checked_add(digit)).ok_or(NoDecimal::OutOfRange)?;
        }
        seen += 1;
    }
    if value != 0 && seen < kept {
        let power = u32::try_from(kept - seen).map_err(|_| NoDecimal::OutOfRange)?;
        let unit = 10_i128.checked_pow(power).ok_or(NoDecimal::OutOfRange)?;
        value = value.checked_mul(unit).ok_or(NoDecimal::OutOfRange)?;
    }
    value += i128::from(rounds_up);
    let fits = value.unsigned_abs() < 10_u128.pow(precision.into());
    if fits { Ok(if negative { -value } else { value }) } else { Err(NoDecimal::OutOfRange) }
}

/// The power of ten that stands behind an `e`. One that no text of digits outweighs is as good as any larger one.
fn power(text: &str) -> Result<i64, NoDecimal> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(NoDecimal::Invalid);
    }
    let far = i64::from(i32::MAX);
    let size = digits.parse::<i64>().unwrap_or(far).min(far);
    Ok(if text.starts_with('-') { -size } else { size })
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Array, AsArray, StringArray};
    use arrow::datatypes::{DataType, Decimal128Type};
    use proptest::prelude::*;

    #[test]
    fn exponents_and_halves() {
        use NoDecimal::{Invalid, OutOfRange};
        for (text, expected) in [
            ("1.5e2", Ok(15_000)),
            (" -1.5E+2 ", Ok(-15_000)),
            ("15e-1", Ok(150)),
            ("1.005", Ok(101)),
            ("-1.005", Ok(-101)),
            ("1004999e-6", Ok(100)),
            ("5e-3", Ok(1)),
            ("5e-4", Ok(0)),
            ("49e-4", Ok(0)),
            ("1e-400", Ok(0)),
            ("0e99999999999999999999", Ok(0)),
            ("1e99999999999999999999", Err(OutOfRange)),
            ("1e-99999999999999999999", Ok(0)),
            (".5", Ok(50)),
            ("5.", Ok(500)),
            ("99999999.994", Ok(9_999_999_999)),
            ("99999999.995", Err(OutOfRange)),
            ("1e8", Err(OutOfRange)),
            ("", Err(Invalid)),
            (".", Err(Invalid)),
            ("e5", Err(Invalid)),
            ("1e", Err(Invalid)),
            ("1e+", Err(Invalid)),
            ("1e5.0", Err(Invalid)),
            ("--1", Err(Invalid)),
            ("1.2.3", Err(Invalid)),
            ("NaN", Err(Invalid)),
            ("1 2", Err(Invalid)),
        ] {
            assert_eq!(decimal_of_text(text, 10, 2), expected, "{text}");
        }
        let nines = "9".repeat(38);
        assert_eq!(decimal_of_text(&nines, 38, 0), Ok(10_i128.pow(38) - 1));
        assert_eq!(decimal_of_text(&format!("{nines}.5"), 38, 0), Err(OutOfRange));
        assert_eq!(decimal_of_text("1750", 3, -2), Ok(18));
    }

    proptest! {
        #[test]
        fn decimals_are_arrows(text in "-?[0-9]{1,7}(\\.[0-9]{1,5})?", scale in 0_i8..4) {
            let texts = StringArray::from(vec![text.as_str()]);
            let cast = arrow::compute::cast(&texts, &DataType::Decimal128(9, scale)).unwrap();
            let cast = cast.as_primitive::<Decimal128Type>();
            prop_assert_eq!(decimal_of_text(&text, 9, scale).ok(), cast.is_valid(0).then(|| cast.value(0)));
        }

        /// An exponent moves the point.
        #[test]
        fn exponents_move_the_point(digits in "[0-9]{1,12}", point in 0_usize..12, exponent in -15_i32..15) {
            let point = point.min(digits.len());
            let text = format!("{}.{}e{exponent}", &digits[..point], &digits[point..]);
            let zeros = "0".repeat(16);
            let long = format!("{zeros}{digits}{zeros}");
            let at = (16 + point as i32 + exponent).clamp(0, long.len() as i32) as usize;
            let plain = format!("{}.{}", &long[..at], &long[at..]);
            prop_assert_eq!(decimal_of_text(&text, 38, 4), decimal_of_text(&plain, 38, 4));
        }
    }
}
