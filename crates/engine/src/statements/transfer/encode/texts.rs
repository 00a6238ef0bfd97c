//! The values of a column as texts.

use crate::Result;
use crate::casts::{Failing, convert};
use arrow::array::{Array, ArrayRef, AsArray, StringViewArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Date32Type, TimeUnit, TimestampMicrosecondType};
use chrono::{DateTime, NaiveDate, TimeDelta};

/// The values as a cast to VARCHAR writes them; dates and timestamps in the formats that are given. NULL stays NULL.
pub(crate) fn texts(values: &ArrayRef, dates: Option<&str>, timestamps: Option<&str>) -> Result<StringViewArray> {
    let as_text = |values: &ArrayRef| -> Result<StringViewArray> {
        Ok(convert(values, &DataType::Utf8View, Failing::Error)?.as_string_view().clone())
    };
    match (values.data_type(), dates, timestamps) {
        (DataType::Date32, Some(format), _) => {
            let plain = as_text(values)?;
            let days = values.as_primitive::<Date32Type>();
            let text = |row: usize| {
                let date = NaiveDate::default().checked_add_signed(TimeDelta::days(days.value(row).into()));
                formatted(date.map(|date| date.format(format)), plain.value(row))
            };
            Ok((0..days.len()).map(|row| days.is_valid(row).then(|| text(row))).collect())
        }
        (DataType::Timestamp(..), _, Some(format)) => {
            let plain = as_text(values)?;
            let zone = if let DataType::Timestamp(_, zone) = values.data_type() { zone.clone() } else { None };
            let micros = cast(values, &DataType::Timestamp(TimeUnit::Microsecond, zone))?;
            let micros = micros.as_primitive::<TimestampMicrosecondType>();
            let text = |row: usize| {
                let moment = DateTime::from_timestamp_micros(micros.value(row));
                formatted(moment.map(|moment| moment.format(format)), plain.value(row))
            };
            Ok((0..micros.len()).map(|row| micros.is_valid(row).then(|| text(row))).collect())
        }
        _ => as_text(values),
    }
}

/// A date as the format has it; an infinite one, or one beyond the calendar of the library, as it is.
fn formatted(date: Option<impl std::fmt::Display>, plain: &str) -> String {
    match date {
        Some(date) if !plain.ends_with("infinity") => date.to_string(),
        _ => plain.to_owned(),
    }
}
