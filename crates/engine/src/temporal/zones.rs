//! AT TIME ZONE: of a local time the instant that it is in a zone, of an instant the local time there.

use crate::error::invalid;
use crate::functions::PureFunction;
use crate::temporal::moment::is_infinite;
use crate::temporal::text::{Zone, local_of, utc_of};
use arrow::array::{Array, ArrayRef, AsArray, TimestampMicrosecondArray};
use arrow::datatypes::{DataType, TimeUnit, TimestampMicrosecondType};
use datafusion::common::internal_err;
use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

/// The zone in which TIMESTAMP WITH TIME ZONE is read and shown.
pub(crate) const ZONE: &str = "+00:00";

/// The function, of a timestamp and a zone's name or offset.
pub(super) fn at_time_zone() -> Arc<ScalarUDF> {
    PureFunction::new(crate::temporal::AT_TIME_ZONE, types, type_of, moved).build()
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
        Some(other) => return invalid!(UndefinedFunction, "AT TIME ZONE takes a timestamp, not {other}"),
        None => return invalid!(UndefinedFunction, "AT TIME ZONE takes a timestamp and a zone"),
    };
    Ok(vec![time, DataType::Utf8View])
}

fn type_of(types: &[DataType]) -> Result<DataType> {
    Ok(match &types[0] {
        DataType::Timestamp(_, None) => instant(),
        _ => DataType::Timestamp(TimeUnit::Microsecond, None),
    })
}

fn moved(arguments: &[ArrayRef], result: &DataType) -> Result<ArrayRef> {
    let (Some(times), Some(zones)) =
        (arguments[0].as_primitive_opt::<TimestampMicrosecondType>(), arguments[1].as_string_view_opt())
    else {
        return internal_err!("{} AT TIME ZONE {}", arguments[0].data_type(), arguments[1].data_type());
    };
    let to_instant = matches!(result, DataType::Timestamp(_, Some(_)));
    let mut known: Option<(&str, Zone)> = None;
    let mut moved = Vec::with_capacity(times.len());
    for (time, name) in times.iter().zip(zones.iter()) {
        let Some((time, name)) = time.zip(name) else {
            moved.push(None);
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
        moved.push(Some(match to_instant {
            _ if is_infinite(time) => time,
            true => utc_of(time, zone),
            false => local_of(time, zone),
        }));
    }
    Ok(Arc::new(TimestampMicrosecondArray::from(moved).with_data_type(result.clone())))
}

/// A zone by name. As POSIX has it, a bare offset like `+02` counts west of Greenwich here.
fn zone_of(name: &str) -> Option<Zone> {
    match Zone::read(name).ok()? {
        Zone::Offset(seconds) if name.starts_with(['+', '-']) => Some(Zone::Offset(-seconds)),
        zone => Some(zone),
    }
}
