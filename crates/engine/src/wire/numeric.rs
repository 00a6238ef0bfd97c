//! Decimals as PostgreSQL's `numeric_send` writes them: digits to the base of 10,000, most significant first, the weight of the first
//! one, a sign, and how many decimal digits stand behind the point.

use bytes::{Buf, BufMut, BytesMut};
use gingham_storage::{Problem, SqlState};

const BASE: u128 = 10_000;
/// Decimal digits of one digit to the base.
const DIGITS: i32 = 4;
const POSITIVE: u16 = 0x0000;
const NEGATIVE: u16 = 0x4000;
/// Digits to the base that a value of 38 decimal digits may need, at any place of the point.
const MOST: usize = 11;

/// Writes `unscaled` · 10^−`scale`.
pub(super) fn put(unscaled: i128, scale: i8, to: &mut BytesMut) {
    let sign = if unscaled < 0 { NEGATIVE } else { POSITIVE };
    let mut rest = unscaled.unsigned_abs();
    let scale = i32::from(scale);
    // Digits behind the point end at a digit to the base.
    let (mut behind, mut digits, mut count) = (scale.div_euclid(DIGITS), [0_u16; MOST], 0);
    let partial = scale.rem_euclid(DIGITS);
    if partial > 0 {
        let within = 10_u128.pow(partial as u32);
        let below = (rest % within) as u16 * 10_u16.pow((DIGITS - partial) as u32);
        rest /= within;
        behind += 1;
        digits[count] = below;
        count += 1;
    }
    while rest > 0 {
        digits[count] = (rest % BASE) as u16;
        rest /= BASE;
        count += 1;
    }
    // The least significant ones stand first here.
    let zeros = digits[..count].iter().take_while(|digit| **digit == 0).count();
    let digits = &digits[zeros..count];
    let weight = if digits.is_empty() { 0 } else { count as i32 - 1 - behind };
    let leading = digits.iter().rev().take_while(|digit| **digit == 0).count();
    let digits = &digits[..digits.len() - leading];
    to.put_u16(digits.len() as u16);
    to.put_i16((weight - leading as i32) as i16);
    to.put_u16(if digits.is_empty() { POSITIVE } else { sign });
    to.put_u16(scale.max(0) as u16);
    digits.iter().rev().for_each(|digit| to.put_u16(*digit));
}

/// Reads a decimal: its digits, and how many stand behind the point.
pub(super) fn read(mut bytes: &[u8]) -> Result<(i128, i8), Problem> {
    let malformed = || Problem::new(SqlState::InvalidBinaryRepresentation, "the bytes are no numeric");
    if bytes.len() < 8 {
        return Err(malformed());
    }
    let (count, weight) = (bytes.get_u16(), i32::from(bytes.get_i16()));
    let (sign, scale) = (bytes.get_u16(), bytes.get_u16());
    if bytes.len() != usize::from(count) * 2 || scale > 0x3fff {
        return Err(malformed());
    }
    if !matches!(sign, POSITIVE | NEGATIVE) {
        let text = "NaN and infinite values of numeric are not supported; DOUBLE has them";
        return Err(Problem::new(SqlState::NumericValueOutOfRange, text));
    }
    let wanted = i32::from(scale).min(38);
    let mut value = Some(0_i128);
    for place in 0..i32::from(count) {
        let digit = bytes.get_u16();
        if u128::from(digit) >= BASE {
            return Err(malformed());
        }
        let own = at_scale(digit.into(), (weight - place) * DIGITS + wanted);
        value = value.zip(own).and_then(|(value, own)| value.checked_add(own));
    }
    let value = value.filter(|value| value.unsigned_abs() < 10_u128.pow(38)).ok_or_else(too_long)?;
    Ok((if sign == NEGATIVE { -value } else { value }, wanted as i8))
}

/// `digit` · 10^`exponent`, without what is behind the point, as `numeric_recv` cuts it off; `None` where it is no number of 38
/// digits.
fn at_scale(digit: i128, exponent: i32) -> Option<i128> {
    match exponent {
        _ if digit == 0 => Some(0),
        0.. => digit.checked_mul(10_i128.checked_pow(exponent.unsigned_abs())?),
        _ if exponent <= -DIGITS => Some(0),
        _ => Some(digit / 10_i128.pow(exponent.unsigned_abs())),
    }
}

/// The error of a number with more digits than there can be.
pub(super) fn too_long() -> Problem {
    Problem::new(SqlState::NumericValueOutOfRange, "a decimal has 38 digits at most")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(unscaled: i128, scale: i8) -> Vec<u16> {
        let mut bytes = BytesMut::new();
        put(unscaled, scale, &mut bytes);
        let mut words = Vec::new();
        while bytes.has_remaining() {
            words.push(bytes.get_u16());
        }
        words
    }

    /// As `SELECT encode(numeric_send(…), 'hex')` gives them.
    #[test]
    fn decimals_are_written_as_postgresql_does() {
        assert_eq!(written(0, 0), [0, 0, 0, 0]);
        assert_eq!(written(0, 2), [0, 0, 0, 2]);
        assert_eq!(written(1, 0), [1, 0, 0, 0, 1]);
        assert_eq!(written(-12345, 2), [2, 0, NEGATIVE, 2, 123, 4500]);
        assert_eq!(written(100_000_000, 0), [1, 2, 0, 0, 1]);
        assert_eq!(written(1, 5), [1, (-2_i16) as u16, 0, 5, 1000]);
        assert_eq!(written(10_000, 4), [1, 0, 0, 4, 1]);
        assert_eq!(written(5, -3), [1, 0, 0, 0, 5000]);
        assert_eq!(written(123, -3), [2, 1, 0, 0, 12, 3000]);
    }

    #[test]
    fn what_is_written_is_read() {
        for unscaled in [0, 1, -1, 9_999, 10_000, -123_456_789, 10_i128.pow(38) - 1, 1 - 10_i128.pow(38)] {
            for scale in 0..=38 {
                let mut bytes = BytesMut::new();
                put(unscaled, scale, &mut bytes);
                assert_eq!(read(&bytes).unwrap(), (unscaled, scale), "{unscaled} {scale}");
            }
        }
    }

    #[test]
    fn malformed_bytes_are_refused() {
        for words in [&[1_u16, 0, 0, 0] as &[u16], &[0, 0, 0xc000, 0], &[1, 0, 0, 0, 10_000], &[1, 100, 0, 0, 1]] {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
            assert!(read(&bytes).is_err(), "{words:?}");
        }
        assert!(read(&[0; 7]).is_err());
    }
}
