//! `generate_series(start, stop, step)` as a list: of numbers, and of timestamps with an interval between them.

use crate::error::invalid;
use crate::functions::{PureFunction, typed};
use crate::temporal::column::{as_type, integers};
use crate::temporal::functions::moments;
use crate::temporal::interval::{INTERVAL, length};
use crate::temporal::moment::{Toward, is_infinite, moved};
use crate::type_name::type_name;
use arrow::array::{Array, ArrayRef, ArrowNativeTypeOp, Decimal128Array, Int64Array, ListArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DataType, Decimal128Type, Field, Int64Type, IntervalMonthDayNanoType, TimeUnit,
};
use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

/// The list of the values that generate_series gives in rows.
pub(crate) const SERIES: &str = "generate_series";

/// The most elements of a list, as of PostgreSQL's arrays. In FROM the values come in rows, of which there may be any number.
const MOST: usize = (1 << 27) - 1;

/// `generate_series(start, stop)` and `generate_series(start, stop, step)`.
pub(super) fn generate_series() -> Arc<ScalarUDF> {
    PureFunction::new(SERIES, types, list_of, compute).build()
}

fn types(types: &[DataType]) -> Result<Vec<DataType>> {
    if !(2..=3).contains(&types.len()) {
        return invalid!(
            UndefinedFunction,
            "generate_series takes a start, an end, and a step if need be; not {} values",
            types.len()
        );
    }
    let (ends, steps) = types.split_at(2);
    let is_moment = |own: &DataType| matches!(own, DataType::Timestamp(..) | DataType::Date32);
    let is_read = |own: &DataType| own.is_null() || own.is_string();
    if ends.iter().any(is_moment) {
        return match (ends.iter().find(|own| !is_moment(own) && !is_read(own)), steps) {
            (Some(other), _) => refused(other),
            (None, []) => {
                invalid!(UndefinedFunction, "generate_series of timestamps takes an INTERVAL as its third value")
            }
            (None, [step, ..]) if !matches!(step, DataType::Interval(_)) && !is_read(step) => refused(step),
            (None, _) => {
                // Dates are days of a zone, as in PostgreSQL.
                let zoned = |own: &DataType| match own {
                    DataType::Date32 => {
                        DataType::Timestamp(TimeUnit::Microsecond, Some(crate::temporal::zones::ZONE.into()))
                    }
                    other => other.clone(),
                };
                let has_timestamp = ends.iter().any(|own| matches!(own, DataType::Timestamp(..)));
                let ends: Vec<DataType> = if has_timestamp { ends.to_vec() } else { ends.iter().map(zoned).collect() };
                Ok([moments(&ends)?, vec![INTERVAL]].concat())
            }
        };
    }
    match types.iter().find(|own| !own.is_integer() && !own.is_decimal() && !is_read(own)) {
        Some(other) => refused(other),
        None if types.iter().any(DataType::is_decimal) => {
            let scale = |own: &DataType| if let DataType::Decimal128(_, scale) = own { *scale } else { 0 };
            let scale = types.iter().map(scale).max().unwrap_or(0);
            Ok(vec![DataType::Decimal128(DECIMAL128_MAX_PRECISION, scale); types.len()])
        }
        None => Ok(vec![DataType::Int64; types.len()]),
    }
}

fn refused(other: &DataType) -> Result<Vec<DataType>> {
    invalid!(
        UndefinedFunction,
        "generate_series takes numbers, or timestamps with an INTERVAL as their step, not {}",
        type_name(other)
    )
}

fn list_of(types: &[DataType]) -> Result<DataType> {
    let own = types.first().cloned().unwrap_or(DataType::Int64);
    Ok(DataType::List(Arc::new(Field::new_list_field(own, true))))
}

fn compute(arguments: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    match arguments[0].data_type() {
        DataType::Decimal128(..) => decimals(arguments),
        DataType::Timestamp(unit, _) => timestamps(arguments, *unit),
        _ => whole_numbers(arguments),
    }
}

/// The lists of rows that are known.
struct Lists<V> {
    values: Vec<V>,
    lengths: Vec<usize>,
    known: Vec<bool>,
}

impl<V> Lists<V> {
    /// The lists whose values `fill` adds.
    fn of(arguments: &[ArrayRef], mut fill: impl FnMut(usize, &mut Vec<V>) -> Result<()>) -> Result<Self> {
        let rows = arguments.first().map_or(0, |own| own.len());
        let mut lists = Self { values: Vec::new(), lengths: Vec::with_capacity(rows), known: Vec::with_capacity(rows) };
        for row in 0..rows {
            let before = lists.values.len();
            let is_known = arguments.iter().all(|own| own.is_valid(row));
            if is_known {
                fill(row, &mut lists.values)?;
            }
            lists.lengths.push(lists.values.len() - before);
            lists.known.push(is_known);
        }
        Ok(lists)
    }

    fn build(self, values: impl FnOnce(Vec<V>) -> Result<ArrayRef>) -> Result<ArrayRef> {
        let values = values(self.values)?;
        let field = Arc::new(Field::new_list_field(values.data_type().clone(), true));
        let offsets = OffsetBuffer::from_lengths(self.lengths);
        Ok(Arc::new(ListArray::try_new(field, offsets, values, Some(NullBuffer::from(self.known)))?))
    }
}

fn push<V>(values: &mut Vec<V>, value: V) -> Result<()> {
    if values.len() >= MOST {
        return too_many();
    }
    values.push(value);
    Ok(())
}

fn too_many<T>() -> Result<T> {
    invalid!(
        ProgramLimitExceeded,
        "generate_series gives more than {MOST} values; put it into FROM, where its values are rows"
    )
}

fn no_step<T>() -> Result<T> {
    invalid!(InvalidParameterValue, "the step of generate_series can't be 0")
}

/// Adds the numbers from `start` to `stop`, a step apart; they end where the type does.
fn count<N: ArrowNativeTypeOp + Into<i128>>(start: N, stop: N, step: N, values: &mut Vec<N>) -> Result<()> {
    if step.is_zero() {
        return no_step();
    }
    // What would be too much is known before it takes memory.
    let steps = stop.into().checked_sub(start.into()).and_then(|way| way.checked_div(step.into()));
    if steps.is_some_and(|steps| steps >= MOST as i128) {
        return too_many();
    }
    let is_rising = step.is_gt(N::ZERO);
    let mut next = Some(start);
    while let Some(value) = next.filter(|value| if is_rising { value.is_le(stop) } else { value.is_ge(stop) }) {
        push(values, value)?;
        next = value.add_checked(step).ok();
    }
    Ok(())
}

fn whole_numbers(arguments: &[ArrayRef]) -> Result<ArrayRef> {
    let columns = arguments.iter().map(|own| typed::<Int64Type>(own)).collect::<Result<Vec<_>>>()?;
    let lists = Lists::of(arguments, |row, values| {
        let step = columns.get(2).map_or(1, |steps| steps.value(row));
        count(columns[0].value(row), columns[1].value(row), step, values)
    })?;
    lists.build(|values| Ok(Arc::new(Int64Array::from(values))))
}

fn decimals(arguments: &[ArrayRef]) -> Result<ArrayRef> {
    let columns = arguments.iter().map(|own| typed::<Decimal128Type>(own)).collect::<Result<Vec<_>>>()?;
    let scale = columns[0].scale();
    let one = 10_i128.pow(u32::try_from(scale).unwrap_or(0));
    let lists = Lists::of(arguments, |row, values| {
        let step = columns.get(2).map_or(one, |steps| steps.value(row));
        count(columns[0].value(row), columns[1].value(row), step, values)
    })?;
    lists.build(|values| {
        Ok(Arc::new(Decimal128Array::from(values).with_precision_and_scale(DECIMAL128_MAX_PRECISION, scale)?))
    })
}

fn timestamps(arguments: &[ArrayRef], unit: TimeUnit) -> Result<ArrayRef> {
    let data_type = arguments[0].data_type();
    let (starts, stops) = (integers(&arguments[0])?, integers(&arguments[1])?);
    let steps = typed::<IntervalMonthDayNanoType>(&arguments[2])?;
    let lists = Lists::of(arguments, |row, values| {
        let (start, stop, step) = (starts.value(row), stops.value(row), steps.value(row));
        let forward = length(step);
        if forward == 0 {
            return no_step();
        }
        let mut next = start;
        while if forward > 0 { next <= stop } else { next >= stop } {
            if is_infinite(next) || is_infinite(stop) {
                return invalid!(DatetimeFieldOverflow, "generate_series between infinite timestamps has no end");
            }
            push(values, next)?;
            let after = moved(next, unit, step, Toward::Later)?;
            if after == next {
                return invalid!(
                    InvalidParameterValue,
                    "the step of generate_series is shorter than a timestamp tells"
                );
            }
            next = after;
        }
        Ok(())
    })?;
    lists.build(|values| as_type(Int64Array::from(values), data_type))
}
