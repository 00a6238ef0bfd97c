//! Trigonometry in degrees, as PostgreSQL has it: exact where the value is known exactly, as that of 30 degrees.
//!
//! A quotient of two values of the machine's functions is 1 where both are the same, which a product with pi / 180 is not.

use crate::error::invalid;
use crate::functions::function::PureFunction;
use crate::functions::numbers::{doubles, numbers};
use arrow::array::{ArrayRef, Float64Array};
use arrow::datatypes::DataType;
use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

/// A function of one number.
macro_rules! of_one {
    ($name:literal, $of:path) => {
        PureFunction::new(
            $name,
            |types| of_numbers($name, types, 1),
            |_| Ok(DataType::Float64),
            |own, _| {
                let values = doubles(&own[0])?;
                let results = values.iter().map(|value| value.map($of).transpose());
                Ok(Arc::new(results.collect::<Result<Float64Array>>()?) as ArrayRef)
            },
        )
        .build()
    };
}

pub(super) fn all() -> Vec<Arc<ScalarUDF>> {
    vec![
        of_one!("sind", sine),
        of_one!("cosd", cosine),
        of_one!("tand", tangent),
        of_one!("cotd", cotangent),
        of_one!("asind", arc_sine),
        of_one!("acosd", arc_cosine),
        of_one!("atand", arc_tangent),
        PureFunction::new(
            "atan2d",
            |types| of_numbers("atan2d", types, 2),
            |_| Ok(DataType::Float64),
            |own, _| {
                let (ys, xs) = (doubles(&own[0])?, doubles(&own[1])?);
                let pairs = ys.iter().zip(&xs).map(|(y, x)| y.zip(x).map(|(y, x)| y.atan2(x) / 1f64.atan() * 45.0));
                Ok(Arc::new(pairs.collect::<Float64Array>()) as ArrayRef)
            },
        )
        .build(),
    ]
}

fn of_numbers(name: &str, types: &[DataType], count: usize) -> Result<Vec<DataType>> {
    if types.len() != count {
        return invalid!(UndefinedFunction, "{name} takes {count} numbers, not {}", types.len());
    }
    numbers(name, types)?;
    Ok(vec![DataType::Float64; count])
}

/// The sine from 0 to 30 degrees.
fn small_sine(degrees: f64) -> f64 {
    degrees.to_radians().sin() / 30f64.to_radians().sin() / 2.0
}

/// The cosine from 0 to 60 degrees.
fn small_cosine(degrees: f64) -> f64 {
    let less = |degrees: f64| 1.0 - degrees.to_radians().cos();
    1.0 - less(degrees) / less(60.0) / 2.0
}

/// The sine of the first quarter.
fn sine_of_quarter(degrees: f64) -> f64 {
    if degrees <= 30.0 { small_sine(degrees) } else { small_cosine(90.0 - degrees) }
}

/// The cosine of the first quarter.
fn cosine_of_quarter(degrees: f64) -> f64 {
    if degrees <= 60.0 { small_cosine(degrees) } else { small_sine(90.0 - degrees) }
}

/// The angle from 0 to 360 degrees without its turns; an error of an infinite one.
fn turned(degrees: f64) -> Result<f64> {
    match degrees.is_infinite() {
        true => invalid!(NumericValueOutOfRange, "an infinite number of degrees is out of range"),
        false => Ok(degrees % 360.0),
    }
}

/// An angle in the first quarter, and the signs that the sine and the cosine of the one that it stands for have.
struct InQuarter {
    degrees: f64,
    sine: f64,
    cosine: f64,
}

impl InQuarter {
    fn of(degrees: f64) -> Result<Self> {
        let mut own = Self { degrees: turned(degrees)?, sine: 1.0, cosine: 1.0 };
        if own.degrees < 0.0 {
            (own.degrees, own.sine) = (-own.degrees, -own.sine);
        }
        if own.degrees > 180.0 {
            (own.degrees, own.sine) = (360.0 - own.degrees, -own.sine);
        }
        if own.degrees > 90.0 {
            (own.degrees, own.cosine) = (180.0 - own.degrees, -own.cosine);
        }
        Ok(own)
    }
}

fn sine(degrees: f64) -> Result<f64> {
    let own = InQuarter::of(degrees)?;
    Ok(own.sine * sine_of_quarter(own.degrees))
}

fn cosine(degrees: f64) -> Result<f64> {
    let own = InQuarter::of(degrees)?;
    Ok(own.cosine * cosine_of_quarter(own.degrees))
}

/// Without a negative zero.
fn plain(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value }
}

fn tangent(degrees: f64) -> Result<f64> {
    let own = InQuarter::of(degrees)?;
    let of = |degrees| sine_of_quarter(degrees) / cosine_of_quarter(degrees);
    Ok(plain(own.sine * own.cosine * (of(own.degrees) / of(45.0))))
}

fn cotangent(degrees: f64) -> Result<f64> {
    let own = InQuarter::of(degrees)?;
    let of = |degrees| cosine_of_quarter(degrees) / sine_of_quarter(degrees);
    Ok(plain(own.sine * own.cosine * (of(own.degrees) / of(45.0))))
}

/// The arc sine from 0 to 1.
fn positive_arc_sine(value: f64) -> f64 {
    match value <= 0.5 {
        true => value.asin() / 0.5f64.asin() * 30.0,
        false => 90.0 - value.acos() / 0.5f64.acos() * 60.0,
    }
}

/// The arc cosine from 0 to 1.
fn positive_arc_cosine(value: f64) -> f64 {
    match value <= 0.5 {
        true => 90.0 - value.asin() / 0.5f64.asin() * 30.0,
        false => value.acos() / 0.5f64.acos() * 60.0,
    }
}

fn within_one(name: &str, value: f64) -> Result<()> {
    match value.abs() > 1.0 {
        true => invalid!(NumericValueOutOfRange, "{name} takes numbers from -1 to 1, and {value} is out of range"),
        false => Ok(()),
    }
}

fn arc_sine(value: f64) -> Result<f64> {
    within_one("asind", value)?;
    Ok(if value >= 0.0 { positive_arc_sine(value) } else { -positive_arc_sine(-value) })
}

fn arc_cosine(value: f64) -> Result<f64> {
    within_one("acosd", value)?;
    Ok(if value >= 0.0 { positive_arc_cosine(value) } else { 90.0 + positive_arc_sine(-value) })
}

fn arc_tangent(value: f64) -> Result<f64> {
    Ok(value.atan() / 1f64.atan() * 45.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values_are_exact() {
        for (of, degrees, value) in [
            (sine as fn(f64) -> Result<f64>, 30.0, 0.5),
            (sine, 390.0, 0.5),
            (sine, -90.0, -1.0),
            (cosine, 60.0, 0.5),
            (cosine, 180.0, -1.0),
            (tangent, 45.0, 1.0),
            (tangent, 135.0, -1.0),
            (tangent, 180.0, 0.0),
            (cotangent, 45.0, 1.0),
            (arc_sine, -0.5, -30.0),
            (arc_cosine, -0.5, 120.0),
            (arc_tangent, -1.0, -45.0),
        ] {
            assert_eq!(of(degrees).ok(), Some(value), "{degrees}");
        }
        assert!(sine(f64::INFINITY).is_err() && arc_sine(1.1).is_err() && sine(f64::NAN).is_ok_and(f64::is_nan));
    }
}
