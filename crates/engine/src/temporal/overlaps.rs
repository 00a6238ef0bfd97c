//! `(start, end) OVERLAPS (start, end)`: whether two spans of time have a moment in common. A span's end is not part of it, but a
//! span that begins where it ends is a moment.

use crate::error::invalid;
use crate::functions::PureFunction;
use crate::temporal::column::integers;
use crate::temporal::functions::moments;
use crate::type_name::type_name;
use arrow::array::{ArrayRef, BooleanArray};
use arrow::datatypes::{DataType, TimeUnit};
use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

/// The function that OVERLAPS is.
pub(crate) const OVERLAPS: &str = "overlaps";

/// `overlaps(start, end, start, end)`.
pub(super) fn overlaps() -> Arc<ScalarUDF> {
    PureFunction::new(OVERLAPS, types, |_| Ok(DataType::Boolean), compute).with_nulls().build()
}

fn types(types: &[DataType]) -> Result<Vec<DataType>> {
    let is_moment = |own: &DataType| matches!(own, DataType::Timestamp(..) | DataType::Date32);
    let is_time = |own: &DataType| matches!(own, DataType::Time32(_) | DataType::Time64(_));
    let is_read = |own: &DataType| own.is_null() || own.is_string();
    match types.iter().find(|own| !is_moment(own) && !is_time(own) && !is_read(own)) {
        Some(other) => {
            invalid!(UndefinedFunction, "OVERLAPS takes dates, timestamps or times, not {}", type_name(other))
        }
        None if types.iter().any(is_time) && types.iter().any(is_moment) => {
            invalid!(UndefinedFunction, "OVERLAPS takes times alone, or dates and timestamps alone")
        }
        None if types.iter().any(is_time) => Ok(vec![DataType::Time64(TimeUnit::Microsecond); types.len()]),
        None if types.len() == 4 => moments(types),
        None => invalid!(UndefinedFunction, "OVERLAPS takes four values, not {}", types.len()),
    }
}

fn compute(arguments: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    let columns = arguments.iter().map(integers).collect::<Result<Vec<_>>>()?;
    let [first, second, third, fourth] = columns.as_slice() else {
        return invalid!(UndefinedFunction, "OVERLAPS takes four values");
    };
    let spans = first.iter().zip(second).zip(third.iter().zip(fourth));
    Ok(Arc::new(spans.map(|((a, b), (c, d))| overlap(span(a, b)?, span(c, d)?)).collect::<BooleanArray>()))
}

/// A stretch of time whose end may not be known.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    start: i64,
    end: Option<i64>,
}

/// The earlier end, and the later one where both are known.
fn span(start: Option<i64>, end: Option<i64>) -> Option<Stretch> {
    match (start, end) {
        (Some(start), Some(end)) => Some(Stretch { start: start.min(end), end: Some(start.max(end)) }),
        (Some(one), None) | (None, Some(one)) => Some(Stretch { start: one, end: None }),
        (None, None) => None,
    }
}

/// Whether two spans have a moment in common; `None` where that is not known.
fn overlap(one: Stretch, other: Stretch) -> Option<bool> {
    if one.start == other.start {
        return one.end.and(other.end).map(|_| true);
    }
    // The later span begins within the earlier one, or is known not to.
    let (earlier, later) = if one.start < other.start { (one, other) } else { (other, one) };
    if later.start < earlier.end? {
        return Some(true);
    }
    later.end.map(|_| false)
}

#[cfg(test)]
mod tests {
    use super::{overlap, span};

    #[test]
    fn spans_overlap_as_the_standard_says() {
        let of = |a, b, c, d| overlap(span(a, b)?, span(c, d)?);
        assert_eq!(of(Some(1), Some(3), Some(2), Some(4)), Some(true));
        assert_eq!(of(Some(1), Some(2), Some(2), Some(4)), Some(false));
        assert_eq!(of(Some(4), Some(2), Some(1), Some(3)), Some(true));
        assert_eq!(of(Some(1), Some(1), Some(1), Some(1)), Some(true));
        assert_eq!(of(Some(1), None, Some(2), Some(3)), None);
        assert_eq!(of(Some(2), None, Some(1), Some(3)), Some(true));
        assert_eq!(of(None, None, Some(1), Some(3)), None);
    }
}
