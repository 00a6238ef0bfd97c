//! AT TIME ZONE: of a local time the instant that it is in a zone, of an instant the local time there.

use crate::error::invalid;
use crate::functions::PureFunction;
use crate::temporal::moment::is_infinite;
use crate::temporal::text::{Zone, local_of, utc_of};
use crate::type_name::type_name;
use arrow::array::{Array, ArrayRef, AsArray, TimestampMicrosecondArray};
use arrow::datatypes::{DataType, IntervalMonthDayNano, IntervalMonthDayNanoType, TimeUnit, TimestampMicrosecondType};
use datafusion::common::internal_err;
use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

/// The zone in which TIMESTAMP WITH TIME ZONE is read and shown.
pub(crate) const ZONE: &str = "+00:00";

/// The function, of a timestamp and a zone's name or offset, or an interval east of Greenwich.
pub(super) fn at_time_zone() -> Arc<ScalarUDF> {
    PureFunction::new(crate::temporal::calls::AT_TIME_ZONE, types, type_of, moved).build()
}

fn instant() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some(ZONE.into()))
}

fn types(types: &[DataType]) -> Result<Vec<DataType>> {
    let time = match types.first() {
        Some(DataType::Timestamp(_, None)) => DataType::Timestamp(TimeUnit::Microsecond, None),
        // A text without a type, and a date, are instants here.
        Some(DataType::Timestamp(..) | DataType::Date32 | DataType::Null) => instant(),
        Some(text) if text.is_string() => instant(),
        Some(other) => return invalid!(UndefinedFunction, "AT TIME ZONE takes a timestamp, not {}", type_name(other)),
        None => return invalid!(UndefinedFunction, "AT TIME ZONE takes a timestamp and a zone"),
    };
    let zone = match types.get(1) {
        Some(interval @ DataType::Interval(_)) => interval.clone(),
        _ => DataType::Utf8View,
    };
    Ok(vec![time, zone])
}

fn type_of(types: &[DataType]) -> Result<DataType> {
    Ok(match &types[0] {
        DataType::Timestamp(_, None) => instant(),
        _ => DataType::Timestamp(TimeUnit::Microsecond, None),
    })
}

fn moved(arguments: &[ArrayRef], result: &DataType) -> Result<ArrayRef> {
    let Some(times) = arguments[0].as_primitive_opt::<TimestampMicrosecondType>() else {
        return internal_err!("{} AT TIME ZONE", arguments[0].data_type());
    };
    let to_instant = matches!(result, DataType::Timestamp(_, Some(_)));
    let zones = zones(&arguments[1])?;
    let moved = times.iter().zip(zones).map(|(time, zone)| {
        time.zip(zone).map(|(time, zone)| match to_instant {
            _ if is_infinite(time) => time,
            true => utc_of(time, zone),
            false => local_of(time, zone),
        })
    });
    Ok(Arc::new(moved.collect::<TimestampMicrosecondArray>().with_data_type(result.clone())))
}

/// The zones that names or intervals mean.
fn zones(given: &ArrayRef) -> Result<Vec<Option<Zone>>> {
    if let Some(intervals) = given.as_primitive_opt::<IntervalMonthDayNanoType>() {
        return intervals.iter().map(|interval| interval.map(zone_of_interval).transpose()).collect();
    }
    let Some(names) = given.as_string_view_opt() else {
        return internal_err!("AT TIME ZONE {}", given.data_type());
    };
    let mut known: Option<(&str, Zone)> = None;
    let mut zones = Vec::with_capacity(names.len());
    for name in names {
        let Some(name) = name else {
            zones.push(None);
            continue;
        };
        let zone = match known.filter(|(own, _)| *own == name) {
            Some((_, zone)) => zone,
            None => match zone_of(name) {
                Some(zone) => zone,
                None => {
                    return invalid!(
                        InvalidParameterValue,
                        "time zone '{name}' is not known; names are like 'Europe/Berlin' or '+02'"
                    );
                }
            },
        };
        known = Some((name, zone));
        zones.push(Some(zone));
    }
    Ok(zones)
}

/// So many hours, minutes and seconds east of Greenwich. Days have no place in an offset.
fn zone_of_interval(interval: IntervalMonthDayNano) -> Result<Zone> {
    let seconds = interval.nanoseconds / 1_000_000_000;
    let is_offset = interval.months == 0 && interval.days == 0 && i32::try_from(seconds).is_ok();
    match is_offset {
        true => Ok(Zone::Offset(seconds)),
        false => invalid!(
            InvalidParameterValue,
            "AT TIME ZONE takes an interval of hours and minutes, without months and days"
        ),
    }
}

/// A zone by name. As POSIX has it, a bare offset like `+02` counts west of Greenwich here.
fn zone_of(name: &str) -> Option<Zone> {
    match Zone::read(name).ok()? {
        Zone::Offset(seconds) if name.starts_with(['+', '-']) => Some(Zone::Offset(-seconds)),
        zone => Some(zone),
    }
}
