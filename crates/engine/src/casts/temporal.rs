//! Dates, times, timestamps and intervals from text, as text, and as each other.

use crate::casts::convert::Failing;
use crate::temporal::{as_type, at_of, integers, interval_of, kind, text_of};
use crate::type_name::type_name;
use arrow::array::{
    Array, ArrayRef, AsArray, Int64Array, IntervalMonthDayNanoArray, StringViewArray, StringViewBuilder,
};
use arrow::datatypes::{DataType, IntervalMonthDayNano, IntervalMonthDayNanoType};
use datafusion::error::Result;
use gingham_storage::Problem;
use std::sync::Arc;

/// The values of a type that texts mean.
pub(super) fn read(texts: &StringViewArray, to: &DataType, failing: Failing) -> Result<ArrayRef> {
    let name = type_name(to);
    let each = |read: &dyn Fn(&str) -> std::result::Result<i64, Problem>| -> Result<Int64Array> {
        texts.iter().map(|text| text.map_or(Ok(None), |text| failing.or(read(text)))).collect()
    };
    if matches!(to, DataType::Interval(_)) {
        let read = |text: Option<&str>| text.map_or(Ok(None), |text| failing.or(interval_of(text, "")));
        return Ok(Arc::new(texts.iter().map(read).collect::<Result<IntervalMonthDayNanoArray>>()?));
    }
    let at = kind(to)?;
    let values = each(&|text| at_of(text, at, &name))?;
    as_type(values, to)
}

/// Values as text.
pub(super) fn write(values: &ArrayRef) -> Result<ArrayRef> {
    let mut texts = StringViewBuilder::with_capacity(values.len());
    let mut text = String::new();
    if let Some(intervals) = values.as_primitive_opt::<IntervalMonthDayNanoType>() {
        for interval in intervals {
            match interval {
                Some(interval) => texts.append_value(crate::temporal::interval_text(interval)),
                None => texts.append_null(),
            }
        }
        return Ok(Arc::new(texts.finish()));
    }
    let at = kind(values.data_type())?;
    for value in &integers(values)? {
        match value {
            Some(value) => {
                text.clear();
                text_of(value, at, &mut text);
                texts.append_value(&text);
            }
            None => texts.append_null(),
        }
    }
    Ok(Arc::new(texts.finish()))
}

/// Dates, times, timestamps and intervals as each other.
pub(super) fn between(values: &ArrayRef, to: &DataType, failing: Failing) -> Result<ArrayRef> {
    let name = type_name(to);
    match (values.data_type(), to) {
        (DataType::Interval(_), DataType::Time32(_) | DataType::Time64(_)) => {
            let at = kind(to)?;
            let time = |value: IntervalMonthDayNano| crate::temporal::time_of_interval(value, at);
            let intervals = values.as_primitive::<IntervalMonthDayNanoType>();
            as_type(intervals.iter().map(|value| value.map(time)).collect(), to)
        }
        (DataType::Time32(unit) | DataType::Time64(unit), DataType::Interval(_)) => {
            let factor = crate::temporal::nanoseconds_of(*unit);
            let span = |time: i64| IntervalMonthDayNano::new(0, 0, time * factor);
            let times = integers(values)?;
            Ok(Arc::new(times.iter().map(|time| time.map(span)).collect::<IntervalMonthDayNanoArray>()))
        }
        (DataType::Interval(_), _)
        | (_, DataType::Interval(_))
        | (DataType::Duration(_), _)
        | (_, DataType::Duration(_)) => Ok(arrow::compute::cast(values, to)?),
        (from, _) => {
            let (from, at) = (kind(from)?, kind(to)?);
            let change = |value: i64| crate::temporal::changed(value, from, at, &name);
            let values = integers(values)?;
            let values =
                values.iter().map(|value| value.map_or(Ok(None), |value| Ok(failing.or(change(value))?.flatten())));
            as_type(values.collect::<Result<Int64Array>>()?, to)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::Date32Array;
    use arrow::datatypes::TimeUnit;

    #[test]
    fn dates_and_timestamps_become_each_other() {
        let dates: ArrayRef = Arc::new(Date32Array::from(vec![Some(-1), Some(i32::MAX), None]));
        let micros = DataType::Timestamp(TimeUnit::Microsecond, None);
        let timestamps = between(&dates, &micros, Failing::Error).unwrap();
        let texts = write(&timestamps).unwrap();
        let texts: Vec<_> = texts.as_string_view().iter().collect();
        assert_eq!(texts, [Some("1969-12-31 00:00:00"), Some("infinity"), None]);
        assert_eq!(&between(&timestamps, &DataType::Date32, Failing::Error).unwrap(), &dates);
    }

    #[test]
    fn a_text_that_is_none_is_named() {
        let texts = StringViewArray::from(vec![Some("2024-01-31 10:20"), Some("2024-02-30")]);
        let error = read(&texts, &DataType::Date32, Failing::Error).unwrap_err();
        assert!(error.to_string().contains("value '2024-02-30' is out of range for DATE"), "{error}");
        let dates = read(&texts, &DataType::Date32, Failing::Null).unwrap();
        assert_eq!(dates.null_count(), 1);
    }
}
