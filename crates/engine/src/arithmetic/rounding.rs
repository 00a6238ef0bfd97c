//! round, trunc, ceil and floor of decimals and floats, as PostgreSQL has them.
//!
//! DataFusion's functions give decimals that their types can't hold, or refuse the largest; here the type has room for
//! what a carry adds. Halves of decimals go away from zero, those of floats to the even number.

use crate::arithmetic::decimal::LARGEST;
use crate::error::invalid;
use crate::functions::{over_arrays, typed};
use crate::type_name::type_name;
use arrow::array::{Array, ArrayRef, AsArray, Decimal128Array, Float32Array, Float64Array, Int64Array};
use arrow::datatypes::{DECIMAL128_MAX_PRECISION, DataType, Decimal128Type, Field, FieldRef, Float64Type, Int64Type};
use datafusion::common::{ScalarValue, internal_err};
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use gingham_execution::divided;
use std::sync::Arc;

/// round, trunc, ceil (also ceiling) and floor.
pub(crate) fn roundings() -> Vec<Arc<ScalarUDF>> {
    [("round", Way::Nearest), ("trunc", Way::ToZero), ("ceil", Way::Up), ("floor", Way::Down)]
        .map(|(name, way)| {
            let signature = Signature::user_defined(Volatility::Immutable);
            let aliases = if way == Way::Up { vec!["ceiling".to_owned()] } else { Vec::new() };
            Arc::new(ScalarUDF::new_from_impl(Rounding { name, way, aliases, signature }))
        })
        .to_vec()
}

/// Where a number between two goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Way {
    Nearest,
    ToZero,
    Up,
    Down,
}

/// One of the functions.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Rounding {
    name: &'static str,
    way: Way,
    aliases: Vec<String>,
    signature: Signature,
}

/// Digits behind the point that are asked for: without them, none.
#[derive(Debug, Clone, Copy)]
enum RoundingDigits {
    /// A number that is the same in every row; `None` is NULL.
    Same(Option<i64>),
    /// The digits of a column, row by row.
    Own,
}

/// The type of a decimal that is rounded to so many digits.
fn rounded_type(precision: u8, scale: i8, digits: RoundingDigits) -> DataType {
    let kept = match digits {
        RoundingDigits::Same(digits) => digits.unwrap_or_default().clamp(0, i64::from(scale.max(0))) as i8,
        RoundingDigits::Own => scale,
    };
    // One more digit before the point for a carry.
    let before = (i16::from(precision) - i16::from(scale)).max(0) + 1;
    let precision = (before + i16::from(kept)).clamp(1, DECIMAL128_MAX_PRECISION.into());
    DataType::Decimal128(precision as u8, kept)
}

impl Rounding {
    /// The unscaled value of `value` times 10^-scale, rounded to so many digits, with scale `kept`.
    fn decimal(&self, value: i128, scale: i8, digits: i64, kept: i8) -> Option<i128> {
        let digits = digits.clamp(-1000, scale.into());
        let away = i64::from(scale) - digits;
        // Beyond 38 digits nothing is left but a carry, which would not fit.
        let Some(unit) = u32::try_from(away).ok().and_then(|away| 10i128.checked_pow(away)) else {
            return match self.way {
                Way::Nearest | Way::ToZero => Some(0),
                Way::Up => (value <= 0).then_some(0),
                Way::Down => (value >= 0).then_some(0),
            };
        };
        let cut = value / unit;
        let rounded = match self.way {
            Way::ToZero => cut,
            Way::Nearest => divided(value, unit)?,
            Way::Up => cut + i128::from(value % unit > 0),
            Way::Down => cut - i128::from(value % unit < 0),
        };
        let shift = i64::from(kept) - digits;
        match u32::try_from(shift) {
            Ok(shift) => rounded.checked_mul(10i128.checked_pow(shift)?),
            Err(_) => None,
        }
    }

    fn float(&self, value: f64, digits: i64) -> f64 {
        let whole = |value: f64| match self.way {
            Way::Nearest => value.round_ties_even(),
            Way::ToZero => value.trunc(),
            Way::Up => value.ceil(),
            Way::Down => value.floor(),
        };
        match digits {
            0 => whole(value),
            // No float has so many digits.
            _ if digits > 340 || !value.is_finite() => value,
            _ if digits < -308 => 0.0 * value,
            _ => by_text(value, digits, self.way),
        }
    }

    /// The whole columns.
    fn rounded(&self, values: &ArrayRef, digits: &Int64Array, result: &DataType) -> Result<ArrayRef> {
        let digits_of = |row: usize| {
            let row = if digits.len() == 1 { 0 } else { row };
            digits.is_valid(row).then(|| digits.value(row))
        };
        match (values.data_type(), result) {
            (DataType::Decimal128(_, scale), DataType::Decimal128(precision, kept)) => {
                let values = typed::<Decimal128Type>(values)?;
                let mut rounded = Vec::with_capacity(values.len());
                for (row, value) in values.iter().enumerate() {
                    let Some((value, digits)) = value.zip(digits_of(row)) else {
                        rounded.push(None);
                        continue;
                    };
                    let result = self.decimal(value, *scale, digits, *kept);
                    let result = result.filter(|result| result.unsigned_abs() <= LARGEST.unsigned_abs());
                    if result.is_none() {
                        let shown = values.value_as_string(row);
                        return invalid!(
                            NumericValueOutOfRange,
                            "decimal overflow: {}({shown}) has more than 38 digits",
                            self.name
                        );
                    }
                    rounded.push(result);
                }
                Ok(Arc::new(Decimal128Array::from(rounded).with_precision_and_scale(*precision, *kept)?))
            }
            (DataType::Float32, _) => {
                let values = values.as_primitive::<arrow::datatypes::Float32Type>();
                let rounded = values.iter().enumerate().map(|(row, value)| {
                    value.zip(digits_of(row)).map(|(value, digits)| self.float(value.into(), digits) as f32)
                });
                Ok(Arc::new(rounded.collect::<Float32Array>()))
            }
            (DataType::Float64, _) => {
                let values = values.as_primitive::<Float64Type>();
                let rounded = values
                    .iter()
                    .enumerate()
                    .map(|(row, value)| value.zip(digits_of(row)).map(|(value, digits)| self.float(value, digits)));
                Ok(Arc::new(rounded.collect::<Float64Array>()))
            }
            (DataType::Int64, _) => {
                let values = typed::<Int64Type>(values)?;
                let mut rounded = Vec::with_capacity(values.len());
                for (row, value) in values.iter().enumerate() {
                    let Some((value, digits)) = value.zip(digits_of(row)) else {
                        rounded.push(None);
                        continue;
                    };
                    let result =
                        self.decimal(value.into(), 0, digits.min(0), 0).and_then(|all| i64::try_from(all).ok());
                    if result.is_none() {
                        return invalid!(
                            NumericValueOutOfRange,
                            "integer overflow: {}({value}, {digits}) is out of range for BIGINT",
                            self.name
                        );
                    }
                    rounded.push(result);
                }
                Ok(Arc::new(Int64Array::from(rounded)))
            }
            (other, _) => internal_err!("{} of {other}", self.name),
        }
    }
}

/// A float rounded to digits behind the point, or before it: through its shortest digits, so that 1.005 is rounded as it
/// is read, half away from zero.
fn by_text(value: f64, digits: i64, way: Way) -> f64 {
    let text = format!("{value:e}");
    let Some((mantissa, exponent)) = text.split_once('e') else { return value };
    let Ok(exponent) = exponent.parse::<i64>() else { return value };
    let unsigned = mantissa.trim_start_matches('-');
    let all: String = unsigned.chars().filter(char::is_ascii_digit).collect();
    // The digits are d.ddd times 10^exponent; so many of them are kept.
    let kept = exponent + 1 + digits;
    if kept >= all.len() as i64 {
        return value;
    }
    let negative = value.is_sign_negative();
    let (head, tail) = if kept <= 0 { ("", all.as_str()) } else { all.split_at(kept as usize) };
    let any = tail.bytes().any(|digit| digit != b'0');
    let up = match way {
        Way::ToZero => false,
        Way::Nearest => kept >= 0 && tail.as_bytes().first().is_some_and(|digit| *digit >= b'5'),
        Way::Up => any && !negative,
        Way::Down => any && negative,
    };
    let number = head.parse::<i128>().unwrap_or(0) + i128::from(up);
    let sign = if negative { "-" } else { "" };
    format!("{sign}{number}e{}", -digits).parse().unwrap_or(value)
}

impl ScalarUDFImpl for Rounding {
    fn name(&self) -> &str {
        self.name
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let most = if matches!(self.way, Way::Nearest | Way::ToZero) { 2 } else { 1 };
        if types.is_empty() || types.len() > most {
            return invalid!(
                UndefinedFunction,
                "{} takes {most} argument(s) at most, and one at least; there are {}",
                self.name,
                types.len()
            );
        }
        let value = match &types[0] {
            DataType::Decimal128(..) | DataType::Float32 | DataType::Float64 => types[0].clone(),
            DataType::Null | DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8 => DataType::Float64,
            DataType::UInt64 => DataType::Decimal128(20, 0),
            integer if integer.is_integer() => DataType::Int64,
            other => return invalid!(UndefinedFunction, "{} takes a number, not {}", self.name, type_name(other)),
        };
        let mut wanted = vec![value];
        if let Some(digits) = types.get(1) {
            if !digits.is_integer() && *digits != DataType::Null {
                return invalid!(
                    InvalidParameterValue,
                    "{}: the number of digits must be an integer, not {}",
                    self.name,
                    type_name(digits)
                );
            }
            wanted.push(DataType::Int64);
        }
        Ok(wanted)
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("the type of {} depends on its digits", self.name)
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let digits = match arguments.scalar_arguments.get(1) {
            None => RoundingDigits::Same(Some(0)),
            Some(None) => RoundingDigits::Own,
            Some(Some(value)) => RoundingDigits::Same(match value.cast_to(&DataType::Int64)? {
                ScalarValue::Int64(digits) => digits,
                _ => None,
            }),
        };
        let data_type = match arguments.arg_fields[0].data_type() {
            DataType::Decimal128(precision, scale) => rounded_type(*precision, *scale, digits),
            other => other.clone(),
        };
        let nullable = arguments.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(self.name, data_type, nullable)))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        over_arrays(&arguments, |arrays| {
            let none = Int64Array::from(vec![0]);
            let digits = match arrays.get(1) {
                Some(digits) => typed::<Int64Type>(digits)?,
                None => &none,
            };
            self.rounded(&arrays[0], digits, arguments.return_field.data_type())
        })
    }
}
