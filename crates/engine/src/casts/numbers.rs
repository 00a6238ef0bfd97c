//! Numbers and truths from text, floats as text, and numbers that lose their fraction.

use crate::casts::convert::Failing;
use crate::casts::decimals::{NoDecimal, decimal_of_text};
use crate::type_name::type_name;
use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Decimal128Array, Float32Array, Float64Array, Int64Array, StringViewArray,
    StringViewBuilder, UInt64Array,
};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Decimal128Type, Float32Type, Float64Type};
use datafusion::common::internal_err;
use datafusion::error::Result;
use gingham_execution::divided;
use gingham_storage::{Problem, SqlState};
use std::fmt::Write;
use std::sync::Arc;

/// Numbers and truths that texts are.
pub(super) fn read(texts: &StringViewArray, to: &DataType, failing: Failing) -> Result<ArrayRef> {
    let invalid = |text: &str| {
        Problem::new(SqlState::InvalidTextRepresentation, format!("value '{text}' is not a valid {}", type_name(to)))
    };
    let outside = |text: &str| out_of_range(&text, to);
    Ok(match to {
        DataType::Boolean => {
            let truth = |text: &str| truth(text).ok_or_else(|| invalid(text));
            Arc::new(each(texts.iter(), truth, failing)?.into_iter().collect::<BooleanArray>())
        }
        DataType::Float64 => {
            let read = |text: &str| float::<f64>(text, f64::is_infinite, [&invalid, &outside]);
            Arc::new(each(texts.iter(), read, failing)?.into_iter().collect::<Float64Array>())
        }
        DataType::Float32 => {
            let read = |text: &str| float::<f32>(text, f32::is_infinite, [&invalid, &outside]);
            Arc::new(each(texts.iter(), read, failing)?.into_iter().collect::<Float32Array>())
        }
        DataType::Decimal128(precision, scale) => {
            let read = |text: &str| {
                decimal_of_text(text, *precision, *scale).map_err(|why| match why {
                    NoDecimal::Invalid => invalid(text),
                    NoDecimal::OutOfRange => outside(text),
                })
            };
            let decimals = each(texts.iter(), read, failing)?.into_iter().collect::<Decimal128Array>();
            Arc::new(decimals.with_precision_and_scale(*precision, *scale)?)
        }
        DataType::UInt64 => {
            let read = |text: &str| integer::<u64>(text, [&invalid, &outside]);
            Arc::new(each(texts.iter(), read, failing)?.into_iter().collect::<UInt64Array>())
        }
        integer_type if integer_type.is_integer() => {
            let read = |text: &str| integer::<i64>(text, [&invalid, &outside]);
            let wide: ArrayRef = Arc::new(each(texts.iter(), read, failing)?.into_iter().collect::<Int64Array>());
            narrowed(&wide, to, failing)?
        }
        other => return internal_err!("text as {other}"),
    })
}

/// The values that `read` makes of those that are there.
fn each<V, T>(
    values: impl Iterator<Item = Option<V>>,
    read: impl Fn(V) -> std::result::Result<T, Problem>,
    failing: Failing,
) -> Result<Vec<Option<T>>> {
    values.map(|value| value.map_or(Ok(None), |value| failing.or(read(value)))).collect()
}

fn out_of_range(value: &dyn std::fmt::Display, to: &DataType) -> Problem {
    let text = format!("value '{value}' is out of range for {}", type_name(to));
    Problem::new(SqlState::NumericValueOutOfRange, text)
}

/// Two wordings of an error.
type Wordings<'w> = [&'w dyn Fn(&str) -> Problem; 2];

fn integer<T: std::str::FromStr>(text: &str, [invalid, outside]: Wordings<'_>) -> std::result::Result<T, Problem> {
    let bare = text.trim_ascii();
    bare.parse().map_err(|_| {
        let digits = bare.strip_prefix(['-', '+']).unwrap_or(bare);
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if is_number { outside(text) } else { invalid(text) }
    })
}

fn float<T: std::str::FromStr + Copy>(
    text: &str,
    is_infinite: fn(T) -> bool,
    [invalid, outside]: Wordings<'_>,
) -> std::result::Result<T, Problem> {
    let value: T = text.trim_ascii().parse().map_err(|_| invalid(text))?;
    // `inf` is an infinity; a number that is one has too many digits before the point.
    if is_infinite(value) && text.bytes().any(|byte| byte.is_ascii_digit()) { Err(outside(text)) } else { Ok(value) }
}

/// `true`, `yes`, `on`, `1` and what they begin with, or the contrary.
fn truth(text: &str) -> Option<bool> {
    let word = text.trim_ascii().to_ascii_lowercase();
    let begins = |whole: &str, least: usize| word.len() >= least && whole.starts_with(&word);
    if begins("true", 1) || begins("yes", 1) || word == "on" || word == "1" {
        Some(true)
    } else if begins("false", 1) || begins("no", 1) || begins("off", 2) || word == "0" {
        Some(false)
    } else {
        None
    }
}

/// Integers as another type of integers.
fn narrowed(values: &ArrayRef, to: &DataType, failing: Failing) -> Result<ArrayRef> {
    if values.data_type() == to {
        return Ok(Arc::clone(values));
    }
    let narrow = cast_with_options(values, to, &CastOptions { safe: true, ..CastOptions::default() })?;
    if failing == Failing::Error
        && let Some(row) = (0..values.len()).find(|row| narrow.is_null(*row) && values.is_valid(*row))
    {
        let value = arrow::util::display::array_value_to_string(values, row)?;
        failing.or::<()>(Err(out_of_range(&value, to)))?;
    }
    Ok(narrow)
}

/// The powers of ten that a DOUBLE has exactly, and no REAL beyond the first eleven.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// The DOUBLE that is nearest to a decimal. A quotient of two numbers that floats have exactly is rounded once; where one of them is
/// not, the digits are read.
fn float_of_decimal(value: i128, scale: i8) -> f64 {
    match usize::try_from(scale).ok().and_then(|scale| POWERS.get(scale)) {
        Some(unit) if value.unsigned_abs() <= 1 << 53 => value as f64 / unit,
        // A text of digits is a number.
        _ => format!("{value}e{}", -i32::from(scale)).parse().unwrap_or(f64::NAN),
    }
}

/// The REAL that is nearest to a decimal.
fn real_of_decimal(value: i128, scale: i8) -> f32 {
    match usize::try_from(scale).ok().filter(|scale| *scale <= 10) {
        Some(scale) if value.unsigned_abs() <= 1 << 24 => value as f32 / POWERS[scale] as f32,
        _ => format!("{value}e{}", -i32::from(scale)).parse().unwrap_or(f32::NAN),
    }
}

/// Floats and decimals as integers, decimals as floats, or floats as decimals.
pub(super) fn rounded(values: &ArrayRef, to: &DataType, failing: Failing) -> Result<ArrayRef> {
    let outside = |value: &dyn std::fmt::Display| out_of_range(value, to);
    let floats = || -> Result<Float64Array> {
        Ok(arrow::compute::cast(values, &DataType::Float64)?.as_primitive::<Float64Type>().clone())
    };
    match (values.data_type(), to) {
        (DataType::Decimal128(_, scale), DataType::Float64) => {
            let float = |value: i128| float_of_decimal(value, *scale);
            Ok(Arc::new(values.as_primitive::<Decimal128Type>().unary::<_, Float64Type>(float)))
        }
        (DataType::Decimal128(_, scale), DataType::Float32) => {
            let float = |value: i128| real_of_decimal(value, *scale);
            Ok(Arc::new(values.as_primitive::<Decimal128Type>().unary::<_, Float32Type>(float)))
        }
        (DataType::Decimal128(_, scale), _) => {
            let decimals = values.as_primitive::<Decimal128Type>();
            let unit = 10i128.pow(scale.max(&0).unsigned_abs().into());
            let factor = 10i128.pow((-scale).max(0).unsigned_abs().into());
            let whole = |value: i128| divided(value, unit)?.checked_mul(factor);
            let read = |value: i128| whole(value).ok_or_else(|| outside(&value));
            let whole = each(decimals.iter(), read, failing)?.into_iter().collect::<Decimal128Array>();
            let whole: ArrayRef = Arc::new(whole.with_precision_and_scale(38, 0)?);
            narrowed(&whole, to, failing)
        }
        (_, DataType::Decimal128(precision, scale)) => {
            let is_real = *values.data_type() == DataType::Float32;
            let digits = if is_real { 6 } else { 15 };
            let read = |value: f64| decimal(value, digits, *precision, *scale).ok_or_else(|| outside(&value));
            let decimals = each(floats()?.iter(), read, failing)?.into_iter().collect::<Decimal128Array>();
            Ok(Arc::new(decimals.with_precision_and_scale(*precision, *scale)?))
        }
        (_, DataType::Float32) => {
            let read = |value: f64| {
                let real = value as f32;
                if real.is_infinite() && value.is_finite() { Err(outside(&value)) } else { Ok(real) }
            };
            Ok(Arc::new(each(floats()?.iter(), read, failing)?.into_iter().collect::<Float32Array>()))
        }
        (_, DataType::UInt64) => {
            let read = |value: f64| {
                let whole = value.round_ties_even();
                let fits = (0.0..18_446_744_073_709_551_616.0).contains(&whole);
                if fits { Ok(whole as u64) } else { Err(outside(&value)) }
            };
            Ok(Arc::new(each(floats()?.iter(), read, failing)?.into_iter().collect::<UInt64Array>()))
        }
        _ => {
            let read = |value: f64| {
                let whole = value.round_ties_even();
                let fits = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&whole);
                if fits { Ok(whole as i64) } else { Err(outside(&value)) }
            };
            let whole: ArrayRef = Arc::new(each(floats()?.iter(), read, failing)?.into_iter().collect::<Int64Array>());
            narrowed(&whole, to, failing)
        }
    }
}

/// A float's first digits as a decimal, rounded half away from zero.
fn decimal(value: f64, digits: usize, precision: u8, scale: i8) -> Option<i128> {
    if !value.is_finite() {
        return None;
    }
    let text = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = text.split_once('e')?;
    let unscaled: i128 = mantissa.replace('.', "").parse().ok()?;
    // unscaled times ten to this power is the value in units of the scale.
    let power = exponent.parse::<i32>().ok()? - (digits as i32 - 1) + i32::from(scale);
    let result = if power >= 0 {
        match unscaled {
            0 => 0,
            _ => unscaled.checked_mul(10i128.checked_pow(power.unsigned_abs())?)?,
        }
    } else {
        let unit = 10i128.checked_pow(power.unsigned_abs()).unwrap_or(i128::MAX);
        divided(unscaled, unit)?
    };
    (result.unsigned_abs() < 10u128.pow(precision.into())).then_some(result)
}

/// Floats by the fewest digits that lead back to them.
pub(super) fn write_floats(values: &ArrayRef) -> Result<ArrayRef> {
    let mut texts = StringViewBuilder::with_capacity(values.len());
    let mut text = String::new();
    let mut append = |value: Option<(String, bool, i32)>| {
        text.clear();
        match value {
            Some((shortest, is_plain, most)) => {
                if is_plain {
                    text.push_str(&shortest);
                } else {
                    write_float(&shortest, most, &mut text);
                }
                texts.append_value(&text);
            }
            None => texts.append_null(),
        }
    };
    match values.data_type() {
        DataType::Float32 => {
            values.as_primitive::<Float32Type>().iter().for_each(|value| {
                append(value.map(|value| {
                    special(value.into()).map_or((format!("{value:e}"), false, 6), |name| (name, true, 0))
                }));
            })
        }
        DataType::Float64 => values.as_primitive::<Float64Type>().iter().for_each(|value| {
            append(value.map(|value| special(value).map_or((format!("{value:e}"), false, 15), |name| (name, true, 0))));
        }),
        other => return internal_err!("{other} as floats"),
    }
    Ok(Arc::new(texts.finish()))
}

fn special(value: f64) -> Option<String> {
    let name = match value {
        value if value.is_nan() => "NaN",
        f64::INFINITY => "Infinity",
        f64::NEG_INFINITY => "-Infinity",
        _ => return None,
    };
    Some(name.to_owned())
}

/// A float of which `shortest` has the digits, `1.5e-7`: with an exponent where it is under -4, or `most` and above.
fn write_float(shortest: &str, most: i32, text: &mut String) {
    let Some((mantissa, exponent)) = shortest.split_once('e') else { return };
    let Ok(exponent) = exponent.parse::<i32>() else { return };
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    text.push_str(sign);
    if exponent < -4 || exponent >= most {
        let exponent_sign = if exponent < 0 { '-' } else { '+' };
        // Writing to a String does not fail.
        let _ = write!(text, "{mantissa}e{exponent_sign}{:02}", exponent.unsigned_abs());
        return;
    }
    let digits = mantissa.replace('.', "");
    if exponent < 0 {
        text.push_str("0.");
        text.extend(std::iter::repeat_n('0', exponent.unsigned_abs() as usize - 1));
        text.push_str(&digits);
        return;
    }
    let before = exponent as usize + 1;
    if digits.len() <= before {
        text.push_str(&digits);
        text.extend(std::iter::repeat_n('0', before - digits.len()));
    } else {
        text.push_str(&digits[..before]);
        text.push('.');
        text.push_str(&digits[before..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_by_their_shortest_digits() {
        let values = [
            (0.1 + 0.2, "0.30000000000000004"),
            (100.0, "100"),
            (-0.0, "-0"),
            (1e14, "100000000000000"),
            (1e15, "1e+15"),
            (123_456_789_012_345_680.0, "1.2345678901234568e+17"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (-2.5e-7, "-2.5e-07"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ];
        let array: ArrayRef = Arc::new(Float64Array::from(values.map(|(value, _)| value).to_vec()));
        let texts = write_floats(&array).unwrap();
        for (row, (_, expected)) in values.iter().enumerate() {
            assert_eq!(texts.as_string_view().value(row), *expected);
        }
        let reals: ArrayRef = Arc::new(Float32Array::from(vec![0.1, 1e6, 1.0 / 3.0, 123_456.0]));
        let texts = write_floats(&reals).unwrap();
        let texts: Vec<_> = texts.as_string_view().iter().flatten().collect();
        assert_eq!(texts, ["0.1", "1e+06", "0.33333334", "123456"]);
    }

    #[test]
    fn floats_become_decimals_by_their_digits() {
        assert_eq!(decimal(1.005, 15, 5, 2), Some(101));
        assert_eq!(decimal(-1.005, 15, 5, 2), Some(-101));
        assert_eq!(decimal(1e-300, 15, 5, 2), Some(0));
        assert_eq!(decimal(1e20, 15, 38, 10), Some(10i128.pow(30)));
        assert_eq!(decimal(1000.0, 15, 5, 2), None);
        assert_eq!(decimal(f64::NAN, 15, 5, 2), None);
        assert_eq!(decimal(0.0, 15, 38, 37), Some(0));
    }

    #[test]
    fn decimals_become_the_nearest_floats() {
        assert_eq!(float_of_decimal(28_288_697_201_043_678, 16), 2.8288697201043678);
        assert_eq!(float_of_decimal(1, 1), 0.1);
        assert_eq!(float_of_decimal(-i128::MAX / 2, 38), -0.850_705_917_302_346_1);
        assert_eq!(float_of_decimal(5, -3), 5000.0);
        assert_eq!(real_of_decimal(16_777_217, 7), 1.6777217);
        assert_eq!(real_of_decimal(1, 38), 1e-38);
        // All digits that a text of them is read with.
        let mut state = 1_u64;
        for _ in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let value = i128::from(state as i64) >> (state % 60);
            let scale = (state >> 32) as i8 % 38;
            let text = format!("{value}e{}", -i32::from(scale));
            assert_eq!(float_of_decimal(value, scale), text.parse::<f64>().unwrap(), "{text}");
            assert_eq!(real_of_decimal(value, scale), text.parse::<f32>().unwrap(), "{text}");
        }
    }

    #[test]
    fn words_of_truth() {
        for (text, expected) in [
            ("t", Some(true)),
            (" YES ", Some(true)),
            ("on", Some(true)),
            ("of", Some(false)),
            ("o", None),
            ("nope", None),
        ] {
            assert_eq!(truth(text), expected, "{text}");
        }
    }
}
