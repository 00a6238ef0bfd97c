//! Assignment: a value becomes one of a column's type, or is refused. Where a CAST in the statement rounds and cuts as
//! SQL's casts do, an assignment keeps the value: 9.6 is no INTEGER, a timestamp with a time of day no DATE, 1e400 no
//! DOUBLE, since whoever stores a value wants it back. Approximate types stay approximate: a number rounds to the nearest
//! REAL or DOUBLE, to the digits of a DECIMAL, and to the unit of a TIMESTAMP or TIME.

use crate::Result;
use crate::casts::{Failing, bytes_of, convert};
use crate::statements::dml::ingest::floats::one_zero;
use crate::statements::dml::ingest::value::{ValueKind, kind, quote, show};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::kernels::cmp::distinct;
use arrow::datatypes::{DataType, Float32Type, Float64Type, TimeUnit, TimestampMicrosecondType};
use gingham_storage::{LogicalType, Problem, SqlState};

/// A value that a column can't keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MisfitValue {
    /// Its row.
    pub(crate) row: usize,
    /// What is wrong, with the value.
    pub(crate) problem: Problem,
}

/// The values as a column of type `target` keeps them, or the first that it can't keep. The types are
/// [`assignable`](crate::statements::dml::ingest::assignable).
pub(crate) fn assign(values: &ArrayRef, target: &LogicalType) -> Result<Result<ArrayRef, MisfitValue>> {
    let values = match values.data_type() {
        DataType::Dictionary(_, plain) => &cast(values, plain)?,
        _ => values,
    };
    let arrow = target.to_arrow();
    if *values.data_type() == arrow {
        return Ok(Ok(one_zero(values)));
    }
    let kept = cast(values, &arrow)?;
    let unfit = [lost(values, &kept), infinite(values, &kept)].into_iter().flatten().min();
    // A value that is gone has lost a part too.
    let cut = inexact(values, &kept)?.filter(|cut| unfit.is_none_or(|unfit| *cut < unfit));
    Ok(match (cut, unfit) {
        (Some(row), _) => Err(MisfitValue { row, problem: loss(values, row, target) }),
        (None, Some(row)) => Err(MisfitValue { row, problem: misfit(values, row, target) }),
        (None, None) => Ok(one_zero(&kept)),
    })
}

/// A cast in which a value that does not fit becomes NULL.
fn cast(values: &ArrayRef, target: &DataType) -> Result<ArrayRef> {
    Ok(convert(values, target, Failing::Null)?)
}

/// The first row whose value is present before a cast and not after.
fn lost(before: &ArrayRef, after: &ArrayRef) -> Option<usize> {
    if before.logical_null_count() == after.logical_null_count() {
        return None;
    }
    let before = before.logical_nulls();
    (0..after.len()).find(|&row| after.is_null(row) && before.as_ref().is_none_or(|before| before.is_valid(row)))
}

/// The first number that a cast to REAL or DOUBLE made infinite. Text is a number when it has a digit.
fn infinite(before: &ArrayRef, after: &ArrayRef) -> Option<usize> {
    let finite = |row: usize| match before.data_type() {
        DataType::Float64 => before.as_primitive::<Float64Type>().value(row).is_finite(),
        DataType::Float32 => before.as_primitive::<Float32Type>().value(row).is_finite(),
        _ => show(before, row).bytes().any(|byte| byte.is_ascii_digit()),
    };
    let wrong = |row: usize, infinite: bool| infinite && after.is_valid(row) && finite(row);
    if let Some(floats) = after.as_primitive_opt::<Float32Type>() {
        return floats.values().iter().enumerate().position(|(row, value)| wrong(row, value.is_infinite()));
    }
    let floats = after.as_primitive_opt::<Float64Type>()?;
    floats.values().iter().enumerate().position(|(row, value)| wrong(row, value.is_infinite()))
}

/// The first value of which a cast kept only a part.
fn inexact(before: &ArrayRef, after: &ArrayRef) -> Result<Option<usize>> {
    let (from, to) = (before.data_type(), after.data_type());
    let fraction = from.is_floating() || from.is_decimal();
    match kind(from) {
        Some(ValueKind::Number) if (fraction && to.is_integer()) || *to == DataType::Boolean => {}
        Some(ValueKind::Timestamp | ValueKind::Date) if *to == DataType::Date32 => {}
        Some(ValueKind::Text) if *to == DataType::Date32 => return timed(before),
        _ => return Ok(None),
    }
    let different = distinct(&cast(after, from)?, before)?;
    Ok(different.values().set_indices().next())
}

/// The first text that has a time of day besides its date.
fn timed(texts: &ArrayRef) -> Result<Option<usize>> {
    /// Letters of `YYYY-MM-DD`.
    const DATE: usize = 10;
    const DAY: i64 = 86_400_000_000;
    let views = cast(texts, &DataType::Utf8View)?;
    let long = views.as_string_view().iter().any(|text| text.is_some_and(|text| text.len() > DATE));
    if !long {
        return Ok(None);
    }
    let times = cast(texts, &DataType::Timestamp(TimeUnit::Microsecond, None))?;
    let mut times = times.as_primitive::<TimestampMicrosecondType>().iter();
    let is_timed = |time: i64| time != i64::MAX && time != i64::MIN && time.rem_euclid(DAY) != 0;
    Ok(times.position(|time| time.is_some_and(is_timed)))
}

/// What is wrong with the value at `row`, of which `target` keeps only a part.
fn loss(values: &ArrayRef, row: usize, target: &LogicalType) -> Problem {
    let advice = match target {
        LogicalType::Date => format!("it has a time of day, which CAST(… AS {target}) drops"),
        LogicalType::Boolean => "of the numbers, 0 and 1 do".to_owned(),
        _ => format!("round(…) or CAST(… AS {target}) says how"),
    };
    let text = format!("value {} does not fit {target} without loss; {advice}", quote(&show(values, row)));
    Problem::new(SqlState::DataException, text)
}

/// What is wrong with the value at `row`, which does not fit `target`.
fn misfit(values: &ArrayRef, row: usize, target: &LogicalType) -> Problem {
    let shown = quote(&show(values, row));
    let is_text = kind(values.data_type()) == Some(ValueKind::Text);
    if let (true, LogicalType::Binary, Err(problem)) = (is_text, target, bytes_of(&show(values, row))) {
        return problem;
    }
    let numeric = matches!(
        target,
        LogicalType::Int(_)
            | LogicalType::UInt(_)
            | LogicalType::Decimal { .. }
            | LogicalType::Float32
            | LogicalType::Float64
    );
    if is_text && !(numeric && show(values, row).trim().parse::<f64>().is_ok()) {
        let is_time =
            matches!(kind(&target.to_arrow()), Some(ValueKind::Date | ValueKind::Time | ValueKind::Timestamp));
        let state = if is_time { SqlState::InvalidDatetimeFormat } else { SqlState::InvalidTextRepresentation };
        Problem::new(state, format!("value {shown} is not a valid {target}"))
    } else {
        Problem::new(SqlState::NumericValueOutOfRange, format!("value {shown} does not fit {target}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{BooleanArray, Date64Array, Float64Array, Int64Array, StringArray, TimestampSecondArray};
    use std::sync::Arc;

    fn problem(values: ArrayRef, target: &LogicalType) -> Option<(usize, String)> {
        assign(&values, target).unwrap().err().map(|misfit| (misfit.row, misfit.problem.text))
    }

    #[test]
    fn numbers_are_kept_whole() {
        let integer = LogicalType::Int(32);
        let fits: [ArrayRef; 3] = [
            Arc::new(Float64Array::from(vec![Some(-3.0), None, Some(2e9)])),
            Arc::new(BooleanArray::from(vec![true, false])),
            Arc::new(StringArray::from(vec!["7"])),
        ];
        for values in fits {
            assert_eq!(problem(values, &integer), None);
        }
        let decimals = cast(&(Arc::new(Float64Array::from(vec![9.0, 9.6])) as ArrayRef), &DataType::Decimal128(4, 1));
        let (row, text) = problem(decimals.unwrap(), &integer).unwrap();
        assert_eq!(row, 1);
        assert_eq!(text, "value '9.6' does not fit INTEGER without loss; round(…) or CAST(… AS INTEGER) says how");
        assert_eq!(problem(Arc::new(Float64Array::from(vec![1.0, f64::NAN])), &integer).unwrap().0, 1);
        assert_eq!(problem(Arc::new(Int64Array::from(vec![1, 0, 2])), &LogicalType::Boolean).unwrap().0, 2);
        // A column of a less exact type keeps the nearest it has.
        assert_eq!(problem(Arc::new(Float64Array::from(vec![0.1])), &LogicalType::Float32), None);
        assert_eq!(problem(Arc::new(Int64Array::from(vec![i64::MAX])), &LogicalType::Float64), None);
    }

    #[test]
    fn dates_have_no_time_of_day() {
        let texts = vec!["2020-01-01", "2020-01-01 00:00:00", "2020-01-01 10:00:00"];
        assert_eq!(problem(Arc::new(StringArray::from(texts)), &LogicalType::Date).unwrap().0, 2);
        assert_eq!(
            problem(Arc::new(TimestampSecondArray::from(vec![86400, -86400, 1])), &LogicalType::Date).unwrap().0,
            2
        );
        let zoned = TimestampSecondArray::from(vec![86400, 86401]).with_timezone("+00:00");
        assert_eq!(problem(Arc::new(zoned), &LogicalType::Date).unwrap().0, 1);
        assert_eq!(problem(Arc::new(Date64Array::from(vec![86_400_000])), &LogicalType::Date), None);
    }

    #[test]
    fn what_is_finite_stays_so() {
        for target in [LogicalType::Float32, LogicalType::Float64] {
            assert_eq!(problem(Arc::new(StringArray::from(vec!["inf", "-Infinity", "NaN", "1e3"])), &target), None);
            let (row, text) = problem(Arc::new(StringArray::from(vec!["1", "-1e400"])), &target).unwrap();
            assert_eq!((row, text), (1, format!("value '-1e400' does not fit {target}")));
        }
        assert_eq!(
            problem(Arc::new(Float64Array::from(vec![f64::INFINITY, 1e300])), &LogicalType::Float32).unwrap().0,
            1
        );
    }

    #[test]
    fn bytes_are_read_from_their_text() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("\\x00fF"), None, Some("\\x"), Some("é")]));
        let found = assign(&texts, &LogicalType::Binary).unwrap().unwrap();
        let found: Vec<_> = found.as_binary_view().iter().collect();
        assert_eq!(found, [Some(&b"\x00\xff"[..]), None, Some(b""), Some("é".as_bytes())]);
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["\\x00", "\\x0g"]));
        let (row, text) = problem(texts, &LogicalType::Binary).unwrap();
        assert_eq!((row, &*text), (1, "value '\\x0g' is not a valid BINARY: 'g' is no hexadecimal digit"));
    }
}
