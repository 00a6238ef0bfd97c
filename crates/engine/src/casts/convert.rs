//! One array cast to another type.

use crate::Error;
use crate::casts::nested::TimesWithin;
use crate::casts::{arrays, bytes, numbers, temporal};
use arrow::array::{ArrayRef, AsArray, StringViewArray};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, IntervalUnit};
use arrow::util::display::FormatOptions;
use datafusion::error::Result;
use gingham_storage::Problem;

/// The fate of a value that has no place in the type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Failing {
    /// The cast is an error that names the value.
    Error,
    /// The value becomes NULL.
    Null,
}

impl Failing {
    /// The value, or what becomes of it.
    pub(super) fn or<T>(self, value: std::result::Result<T, Problem>) -> Result<Option<T>> {
        match (value, self) {
            (Ok(value), _) => Ok(Some(value)),
            (Err(_), Self::Null) => Ok(None),
            (Err(problem), Self::Error) => Err(Error::InvalidInput(problem).into()),
        }
    }
}

/// Times in lists and records.
pub(super) const TIMES: TimesWithin = TimesWithin { is_time: is_temporal, write: temporal::write };

/// Whether a cast is one of ours.
pub(super) fn is_own(from: &DataType, to: &DataType) -> bool {
    match (from, to) {
        (from, to) if from == to => false,
        (from, to) if from.is_string() => {
            let is_decimal = matches!(to, DataType::Decimal128(..));
            let is_number = to.is_floating() || to.is_integer() || is_decimal;
            is_temporal(to) || is_number || to.is_binary() || *to == DataType::Boolean || is_array(to)
        }
        (from, to) if to.is_string() => {
            is_temporal(from) || from.is_floating() || from.is_binary() || is_array(from) || TIMES.are_in(from)
        }
        // DataFusion's statistics take the truth of the least number for the least truth (DataFusion 55, `Interval::cast_to`).
        (from, DataType::Boolean) => from.is_numeric(),
        (DataType::Float64, DataType::Float32) => true,
        (DataType::Float32 | DataType::Float64, to) => to.is_integer() || matches!(to, DataType::Decimal128(..)),
        // DataFusion would compare what is cast with what a constant was before it was.
        (DataType::Decimal128(_, own), DataType::Decimal128(_, scale)) => scale < own,
        // DataFusion rounds the digits to a float, and what it divides by its scale once more.
        (DataType::Decimal128(..), DataType::Float32 | DataType::Float64) => true,
        (DataType::Decimal128(..), to) => to.is_integer(),
        (from, to) if is_array(from) && is_array(to) => {
            element(from).zip(element(to)).is_some_and(|(from, to)| is_own(from, to))
        }
        (from, to) => is_temporal(from) && is_temporal(to),
    }
}

/// Whether values are arrays.
fn is_array(data_type: &DataType) -> bool {
    element(data_type).is_some()
}

/// The type of the elements of arrays.
fn element(data_type: &DataType) -> Option<&DataType> {
    match data_type {
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
            Some(field.data_type())
        }
        _ => None,
    }
}

/// Dates, times, timestamps and intervals of the kinds that SQL has.
fn is_temporal(data_type: &DataType) -> bool {
    let has_none = matches!(data_type, DataType::Date64 | DataType::Duration(_))
        || matches!(data_type, DataType::Interval(unit) if *unit != IntervalUnit::MonthDayNano);
    data_type.is_temporal() && !has_none
}

/// The values as another type.
pub(crate) fn convert(values: &ArrayRef, to: &DataType, failing: Failing) -> Result<ArrayRef> {
    let are_decimals = values.data_type().is_decimal() && to.is_decimal();
    let is_truth = values.data_type().is_numeric() && *to == DataType::Boolean;
    if are_decimals || is_truth || !is_own(values.data_type(), to) {
        let options =
            CastOptions { safe: failing == Failing::Null, format_options: FormatOptions::default().with_null("NULL") };
        return Ok(cast_with_options(values, to, &options)?);
    }
    if values.data_type().is_string() {
        let texts = arrow::compute::cast(values, &DataType::Utf8View)?;
        let texts: &StringViewArray = texts.as_string_view();
        return match to {
            to if is_temporal(to) => temporal::read(texts, to, failing),
            to if is_array(to) => arrays::read(texts, to, failing),
            to if to.is_binary() => bytes::read(texts, to, |bytes| failing.or(bytes)),
            to => numbers::read(texts, to, failing),
        };
    }
    if to.is_string() {
        let texts = match values.data_type() {
            from if is_temporal(from) => temporal::write(values)?,
            from if is_array(from) => arrays::write(values)?,
            from if TIMES.are_in(from) => TIMES.written(values)?,
            from if from.is_binary() => bytes::write(values)?,
            _ => numbers::write_floats(values)?,
        };
        return Ok(arrow::compute::cast(&texts, to)?);
    }
    if is_array(values.data_type()) {
        arrays::between(values, to, failing)
    } else if is_temporal(values.data_type()) {
        temporal::between(values, to, failing)
    } else {
        numbers::rounded(values, to, failing)
    }
}
