//! Parts of dates, times and intervals: EXTRACT and date_part, date_trunc. What DataFusion gives right stays its own;
//! seconds with their fraction, epochs, centuries, and what there is of intervals are computed here.

use crate::Error;
use crate::error::invalid;
use crate::functions::over_arrays;
use crate::temporal::civil::Civil;
use crate::temporal::column::{DayAndTime, as_type, days_and_times, integers};
use crate::temporal::interval::{DAY, INTERVAL};
use crate::temporal::moment::{is_infinite, units_of_day};
use crate::temporal::value::{At, changed};
use crate::temporal::zones::ZONE;
use crate::type_name::type_name;
use arrow::array::{
    ArrayRef, AsArray, BooleanArray, Decimal128Array, Int32Array, IntervalMonthDayNanoArray, new_null_array,
};
use arrow::compute::cast;
use arrow::compute::kernels::zip::zip;
use arrow::datatypes::{
    DataType, Field, FieldRef, Int32Type, IntervalMonthDayNano, IntervalMonthDayNanoType, TimeUnit,
};
use datafusion::common::{ScalarValue, internal_err};
use datafusion::error::Result;
use datafusion::functions::datetime::{date_part, date_trunc};
use datafusion::logical_expr::preimage::PreimageResult;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{
    Coercion, ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    TypeSignature, TypeSignatureClass,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// date_part, which EXTRACT is too, and date_trunc.
pub(super) fn functions() -> Vec<Arc<ScalarUDF>> {
    vec![
        Arc::new(ScalarUDF::new_from_impl(DatePart { native: date_part() })),
        Arc::new(ScalarUDF::new_from_impl(DateTrunc::new())),
    ]
}

/// A part that is computed here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ComputedPart {
    Second,
    Millisecond,
    Epoch,
    Decade,
    Century,
    Millennium,
    IsoYear,
    /// The day's number, that of 1970-01-01 being 2440588, and what of the day has passed.
    Julian,
    Quarter,
    /// What a zone is east of Greenwich: times with a zone are shown in UTC.
    Zone,
}

impl ComputedPart {
    fn named(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "second" | "seconds" | "sec" | "secs" => Self::Second,
            "millisecond" | "milliseconds" | "msec" | "msecs" | "ms" => Self::Millisecond,
            "epoch" => Self::Epoch,
            "decade" | "decades" => Self::Decade,
            "century" | "centuries" => Self::Century,
            "millennium" | "millenniums" | "millennia" => Self::Millennium,
            "isoyear" => Self::IsoYear,
            "julian" => Self::Julian,
            "quarter" | "quarters" | "qtr" => Self::Quarter,
            "timezone" | "timezone_hour" | "timezone_minute" => Self::Zone,
            _ => return None,
        })
    }

    /// An error where values of a type have no such part.
    fn check(self, source: &DataType) -> Result<()> {
        let is_there = match self {
            Self::Zone => matches!(source, DataType::Timestamp(_, Some(_)) | DataType::Null),
            Self::Julian => !matches!(source, DataType::Interval(_) | DataType::Time32(_) | DataType::Time64(_)),
            _ => true,
        };
        match is_there {
            true => Ok(()),
            false => Err(Error::Unsupported(format!(
                "{} has no {}",
                type_name(source),
                if self == Self::Zone { "time zone: that of TIMESTAMP WITH TIME ZONE is a part" } else { "julian day" }
            ))
            .into()),
        }
    }

    /// The type of the part of a value: what has a fraction is exact.
    fn type_of(self, source: &DataType) -> DataType {
        let is_nano = matches!(
            source,
            DataType::Timestamp(TimeUnit::Nanosecond, _)
                | DataType::Time64(TimeUnit::Nanosecond)
                | DataType::Interval(_)
        );
        let digits = if is_nano { 9 } else { 6 };
        match self {
            Self::Second => DataType::Decimal128(digits + 2, digits as i8),
            Self::Millisecond => DataType::Decimal128(digits + 2, digits as i8 - 3),
            Self::Julian if *source == DataType::Date32 => DataType::Decimal128(11, 0),
            Self::Julian => DataType::Decimal128(20, 9),
            Self::Epoch => DataType::Decimal128(20 + digits, digits as i8),
            _ => DataType::Int32,
        }
    }
}

/// A century, a decade: PostgreSQL counts them from the year 1, and backwards before it.
fn counted(year: i64, length: i64) -> i64 {
    if year > 0 { (year + length - 1) / length } else { -((length - 1 - (year - 1)) / length) }
}

/// A value whose parts are asked for: a day and the time of that day, or an interval.
#[derive(Debug, Clone, Copy)]
enum PartSource {
    Moment(DayAndTime),
    Interval(IntervalMonthDayNano),
}

impl PartSource {
    /// The part of the value, unscaled in nanoseconds where it has a fraction.
    fn part(self, part: ComputedPart) -> Option<i128> {
        let (days, nanoseconds) = match self {
            Self::Moment(DayAndTime { days, nanoseconds }) => (days, nanoseconds),
            Self::Interval(interval) => return of_interval(interval, part),
        };
        let year = || Civil::of(days).year;
        Some(match part {
            ComputedPart::Second | ComputedPart::Millisecond => (nanoseconds % 60_000_000_000).into(),
            ComputedPart::Epoch => i128::from(days) * i128::from(DAY) + i128::from(nanoseconds),
            ComputedPart::Julian => {
                let days = i128::from(days) + 2_440_588;
                days * 1_000_000_000 + i128::from(nanoseconds / 86_400)
            }
            ComputedPart::Zone => 0,
            ComputedPart::Quarter => ((Civil::of(days).month - 1) / 3 + 1).into(),
            ComputedPart::Decade => year().div_euclid(10).into(),
            ComputedPart::Century => counted(year(), 100).into(),
            ComputedPart::Millennium => counted(year(), 1000).into(),
            // The year before 1 is -1.
            ComputedPart::IsoYear => (if iso_year(days) > 0 { iso_year(days) } else { iso_year(days) - 1 }).into(),
        })
    }
}

fn of_interval(interval: IntervalMonthDayNano, part: ComputedPart) -> Option<i128> {
    let years = i128::from(interval.months / 12);
    Some(match part {
        ComputedPart::Second | ComputedPart::Millisecond => (interval.nanoseconds % 60_000_000_000).into(),
        ComputedPart::Epoch => {
            // A year has 365.25 days, a month 30.
            let hours = years * 8766 + (i128::from(interval.months % 12) * 30 + i128::from(interval.days)) * 24;
            hours * 3_600_000_000_000 + i128::from(interval.nanoseconds)
        }
        ComputedPart::Decade => years / 10,
        ComputedPart::Century => years / 100,
        ComputedPart::Millennium => years / 1000,
        ComputedPart::Quarter => i128::from(interval.months % 12 / 3) + 1,
        ComputedPart::IsoYear | ComputedPart::Julian | ComputedPart::Zone => return None,
    })
}

/// The year of the week that a day is in: that of its Thursday.
fn iso_year(days: i64) -> i64 {
    let weekday = (days + 3).rem_euclid(7);
    Civil::of(days - weekday + 3).year
}

/// date_part(part, value).
#[derive(Debug, PartialEq, Eq, Hash)]
struct DatePart {
    native: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for DatePart {
    fn name(&self) -> &str {
        "date_part"
    }

    fn aliases(&self) -> &[String] {
        self.native.aliases()
    }

    fn signature(&self) -> &Signature {
        self.native.signature()
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("the type of date_part depends on the part")
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let name = arguments.scalar_arguments.first().copied().flatten().and_then(|name| name.try_as_str().flatten());
        match name.and_then(ComputedPart::named) {
            Some(part) => {
                let source = &arguments.arg_fields[1];
                part.check(source.data_type())?;
                Ok(Arc::new(Field::new(self.name(), part.type_of(source.data_type()), true)))
            }
            // One that is not known yet, or NULL.
            None if name.is_none() => Ok(Arc::new(Field::new(self.name(), DataType::Float64, true))),
            None => self.native.inner().return_field_from_args(arguments),
        }
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_known =
            matches!(&arguments.args[0], ColumnarValue::Scalar(name) if name.try_as_str().flatten().is_some());
        if !is_known {
            return self.by_rows(arguments);
        }
        let part = match &arguments.args[0] {
            ColumnarValue::Scalar(name) => name.try_as_str().flatten().and_then(ComputedPart::named),
            ColumnarValue::Array(_) => None,
        };
        let Some(part) = part else { return self.native_part(arguments) };
        over_arrays(&arguments, |arrays| parts(&arrays[1], part, arguments.return_field.data_type()))
    }

    fn preimage(&self, args: &[Expr], lit_expr: &Expr, info: &SimplifyContext) -> Result<PreimageResult> {
        self.native.inner().preimage(args, lit_expr, info)
    }
}

impl DatePart {
    /// Where the part is another one from row to row, or NULL: as DOUBLE, all rows by each of the parts.
    fn by_rows(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = arguments.number_rows;
        let names = cast(&arguments.args[0].to_array(rows)?, &DataType::Utf8View)?;
        let names = names.as_string_view();
        let mut all = new_null_array(&DataType::Float64, rows);
        let different: BTreeSet<&str> = names.iter().flatten().collect();
        for name in different {
            let mut one = arguments.clone();
            let part = ScalarValue::Utf8(Some(name.to_owned()));
            one.args[0] = part.clone().into();
            one.return_field = self.return_field_from_args(ReturnFieldArgs {
                arg_fields: &one.arg_fields,
                scalar_arguments: &[Some(&part), None],
            })?;
            let own: BooleanArray = names.iter().map(|other| Some(other == Some(name))).collect();
            let parts = cast(&self.invoke_with_args(one)?.into_array(rows)?, &DataType::Float64)?;
            all = zip(&own, &parts, &all)?;
        }
        Ok(all.into())
    }

    /// DataFusion's part. There is no year 0: the one before 1 is -1.
    fn native_part(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_year = match &arguments.args[0] {
            ColumnarValue::Scalar(name) => name
                .try_as_str()
                .flatten()
                .is_some_and(|name| ["year", "years"].contains(&name.to_ascii_lowercase().as_str())),
            ColumnarValue::Array(_) => false,
        };
        let is_interval = matches!(arguments.args[1].data_type(), DataType::Interval(_));
        let part = self.native.inner().invoke_with_args(arguments)?;
        if !is_year || is_interval {
            return Ok(part);
        }
        let counted = |year: i32| if year > 0 { year } else { year - 1 };
        Ok(match part {
            ColumnarValue::Scalar(ScalarValue::Int32(year)) => ScalarValue::Int32(year.map(counted)).into(),
            ColumnarValue::Array(years) => match years.as_primitive_opt::<Int32Type>() {
                Some(years) => ColumnarValue::Array(Arc::new(years.unary::<_, Int32Type>(counted))),
                None => years.into(),
            },
            other => other,
        })
    }
}

fn parts(values: &ArrayRef, part: ComputedPart, result: &DataType) -> Result<ArrayRef> {
    let sources = sources(values)?;
    let parts = sources.into_iter().map(|source| source.and_then(|source| source.part(part)));
    Ok(match result {
        DataType::Decimal128(precision, scale) => {
            let nano_scale = if part == ComputedPart::Millisecond { 6 } else { 9 };
            let unit = 10i128.pow((nano_scale - i32::from(*scale)).max(0).unsigned_abs());
            let parts: Decimal128Array = parts.map(|part| part.map(|part| part.div_euclid(unit))).collect();
            Arc::new(parts.with_precision_and_scale(*precision, *scale)?)
        }
        _ => Arc::new(parts.map(|part| part.map(|part| part as i32)).collect::<Int32Array>()),
    })
}

/// The values as what is known of them; infinite ones have no parts.
fn sources(values: &ArrayRef) -> Result<Vec<Option<PartSource>>> {
    if let Some(intervals) = values.as_primitive_opt::<IntervalMonthDayNanoType>() {
        return Ok(intervals.iter().map(|interval| interval.map(PartSource::Interval)).collect());
    }
    Ok(days_and_times(values)?.into_iter().map(|moment| moment.map(PartSource::Moment)).collect())
}

/// date_trunc(part, value), of intervals too, and to decades, centuries and millennia.
#[derive(Debug, PartialEq, Eq, Hash)]
struct DateTrunc {
    native: Arc<ScalarUDF>,
    signature: Signature,
}

impl DateTrunc {
    fn new() -> Self {
        let native = date_trunc();
        let text = Coercion::new_exact(TypeSignatureClass::Native(datafusion::common::types::logical_string()));
        let intervals = TypeSignature::Coercible(vec![text, Coercion::new_exact(TypeSignatureClass::Interval)]);
        let own = native.signature();
        let signature = Signature::one_of(vec![own.type_signature.clone(), intervals], own.volatility);
        Self { native, signature }
    }
}

/// Years that a part is long.
fn years_of(part: &str) -> Option<i64> {
    match part.to_ascii_lowercase().as_str() {
        "decade" => Some(10),
        "century" => Some(100),
        "millennium" => Some(1000),
        _ => None,
    }
}

impl ScalarUDFImpl for DateTrunc {
    fn name(&self) -> &str {
        "date_trunc"
    }

    fn aliases(&self) -> &[String] {
        self.native.aliases()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [_, DataType::Interval(_)] => Ok(INTERVAL),
            _ => self.native.return_type(types),
        }
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        match arguments.arg_fields[1].data_type() {
            DataType::Interval(_) => Ok(Arc::new(Field::new(self.name(), INTERVAL, true))),
            _ => {
                let is_known = arguments.scalar_arguments.first().copied().flatten().is_some_and(|own| !own.is_null());
                let field = self.native.inner().return_field_from_args(arguments)?;
                // A unit that is NULL gives NULL.
                Ok(if is_known { field } else { Arc::new(field.as_ref().clone().with_nullable(true)) })
            }
        }
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let ColumnarValue::Scalar(part) = &arguments.args[0] else { return self.by_rows(arguments) };
        let part = part.try_as_str().flatten().unwrap_or_default().to_ascii_lowercase();
        let is_interval = matches!(arguments.args[1].data_type(), DataType::Interval(_));
        let is_local = match arguments.args[1].data_type() {
            DataType::Timestamp(_, zone) => zone.as_deref().is_none_or(|zone| zone == ZONE),
            _ => false,
        };
        let is_own = years_of(&part).is_some() || (is_local && (days_or_months(&part) || per_day(&part).is_some()));
        if !is_interval && !is_own {
            return self.native.inner().invoke_with_args(arguments);
        }
        over_arrays(&arguments, |arrays| match arrays[1].as_primitive_opt::<IntervalMonthDayNanoType>() {
            Some(intervals) => {
                let cut = |interval: Option<_>| interval.map(|interval| interval_cut(interval, &part)).transpose();
                Ok(Arc::new(intervals.iter().map(cut).collect::<Result<IntervalMonthDayNanoArray>>()?))
            }
            None => days_cut(&arrays[1], &part, arguments.return_field.data_type()),
        })
    }
}

impl DateTrunc {
    /// Where the unit is another one from row to row: all rows by each of the units.
    fn by_rows(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = arguments.number_rows;
        let units = cast(&arguments.args[0].to_array(rows)?, &DataType::Utf8View)?;
        let units = units.as_string_view();
        let mut all = new_null_array(arguments.return_field.data_type(), rows);
        let different: BTreeSet<&str> = units.iter().flatten().collect();
        for unit in different {
            let mut one = arguments.clone();
            one.args[0] = ScalarValue::Utf8(Some(unit.to_owned())).into();
            // Rows of other units may be out of range.
            let own: BooleanArray = units.iter().map(|other| Some(other == Some(unit))).collect();
            let nothing = new_null_array(&one.args[1].data_type(), rows);
            let values = zip(&own, &one.args[1].to_array(rows)?, &nothing)?;
            one.args[1] = values.into();
            all = zip(&own, &self.invoke_with_args(one)?.into_array(rows)?, &all)?;
        }
        Ok(all.into())
    }
}

fn interval_cut(interval: IntervalMonthDayNano, part: &str) -> Result<IntervalMonthDayNano> {
    let IntervalMonthDayNano { months, days, nanoseconds } = interval;
    let time = |unit: i64| IntervalMonthDayNano::new(months, days, nanoseconds - nanoseconds % unit);
    let of_months = |unit: i32| IntervalMonthDayNano::new(months - months % unit, 0, 0);
    Ok(match part {
        "microsecond" | "microseconds" => time(1000),
        "millisecond" | "milliseconds" => time(1_000_000),
        "second" => time(1_000_000_000),
        "minute" => time(60_000_000_000),
        "hour" => time(3_600_000_000_000),
        "day" => IntervalMonthDayNano::new(months, days, 0),
        "month" => of_months(1),
        "quarter" => of_months(3),
        "year" => of_months(12),
        "decade" => of_months(120),
        "century" => of_months(1200),
        "millennium" => of_months(12_000),
        other => return invalid!(InvalidParameterValue, "date_trunc of an interval has no part '{other}'"),
    })
}

/// How many of a part a day has.
fn per_day(part: &str) -> Option<i64> {
    Some(match part {
        "day" => 1,
        "hour" => 24,
        "minute" => 1440,
        "second" => 86_400,
        "millisecond" | "milliseconds" => 86_400_000,
        "microsecond" | "microseconds" => 86_400_000_000,
        _ => return None,
    })
}

/// Parts that DataFusion cuts to in nanoseconds, which end in the year 2262.
fn days_or_months(part: &str) -> bool {
    matches!(part, "week" | "month" | "quarter" | "year")
}

/// The beginning of the hour, day, week, month, decade, … of each value; an infinite one is its own.
fn days_cut(values: &ArrayRef, part: &str, result: &DataType) -> Result<ArrayRef> {
    let sources = sources(values)?;
    let DataType::Timestamp(unit, _) = result else { return internal_err!("date_trunc gives no {result}") };
    let units = integers(&cast(values, result)?)?;
    if let Some(parts) = per_day(part) {
        // A part that is finer than the unit leaves all as it is.
        let length = (units_of_day(*unit) / parts).max(1);
        let begin = |value: i64| if is_infinite(value) { value } else { value - value.rem_euclid(length) };
        return as_type(units.unary(begin), result);
    }
    let begin = |source: PartSource| match source {
        PartSource::Interval(_) => Ok(None),
        PartSource::Moment(DayAndTime { days, .. }) => {
            let Civil { year, month, .. } = Civil::of(days);
            let of_year = |year| Civil { year, month: 1, day: 1 };
            let days = match (part, years_of(part)) {
                // A decade begins with a year that ends in 0, a century with one that ends in 1.
                (_, Some(10)) => of_year(year.div_euclid(10) * 10).days(),
                (_, Some(years)) => of_year((year - 1).div_euclid(years) * years + 1).days(),
                ("week", _) => days - (days + 3).rem_euclid(7),
                ("month", _) => Civil { year, month, day: 1 }.days(),
                ("quarter", _) => Civil { year, month: (month - 1) / 3 * 3 + 1, day: 1 }.days(),
                _ => of_year(year).days(),
            };
            changed(days, At::Day, At::Local(*unit), "TIMESTAMP").map_err(Error::InvalidInput)
        }
    };
    let cut = sources.into_iter().zip(&units).map(|(source, value)| match source {
        Some(source) => begin(source),
        None => Ok(value.filter(|value| is_infinite(*value))),
    });
    as_type(cut.collect::<std::result::Result<_, _>>()?, result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn centuries_and_weeks_are_counted_as_postgresql_does() {
        for (year, century) in [(2000, 20), (2001, 21), (1, 1), (0, -1), (-99, -1), (-100, -2)] {
            assert_eq!(counted(year, 100), century, "{year}");
        }
        for ((year, month, day), week_year) in [((2024, 12, 30), 2025), ((2021, 1, 3), 2020), ((2024, 6, 1), 2024)] {
            assert_eq!(iso_year(Civil { year, month, day }.days()), week_year);
        }
    }
}
