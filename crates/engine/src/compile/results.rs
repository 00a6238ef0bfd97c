//! Groups as Arrow arrays: keys by their types or dictionaries, sums checked against their type, means as DataFusion
//! computes them.

use crate::{Error, Result};
use arrow::array::{ArrayRef, Float64Array, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, SchemaRef};
use gingham_execution::Groups;
use gingham_storage::LogicalType;
use gingham_storage::scan::array_of_integers;
use std::sync::Arc;

/// How a column of the result is made.
#[derive(Debug, Clone)]
pub(super) struct Output {
    pub(super) data_type: DataType,
    pub(super) finish: Finish,
    /// What the integers are positions of, when they are codes.
    pub(super) entries: Option<ArrayRef>,
}

/// From which of the groups' results.
#[derive(Debug, Clone, Copy)]
pub(super) enum Finish {
    /// A key.
    Key(usize),
    /// A count, a smallest or a largest value.
    Value(usize),
    /// A sum, which may leave its type.
    Sum(usize),
    /// A sum by a count: digits of the result, and those that it has more behind the point; DOUBLE without.
    Average { sum: usize, count: usize, scale: Option<(u8, u32)> },
}

/// What a result may be that only another plan can tell of: a sum or mean that leaves its type.
#[derive(Debug)]
pub(super) enum Unfinished {
    Overflow,
    Failed(Error),
}

impl<E: Into<Error>> From<E> for Unfinished {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// All groups as one batch.
pub(super) fn batch(groups: &Groups, outputs: &[Output], schema: &SchemaRef) -> Result<RecordBatch, Unfinished> {
    let columns = outputs.iter().map(|output| output.array(groups)).collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(groups.rows));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

impl Output {
    fn array(&self, groups: &Groups) -> Result<ArrayRef, Unfinished> {
        match self.finish {
            Finish::Key(key) => self.integers(groups.keys[key].iter().map(|value| value.map(i128::from))),
            Finish::Value(value) => self.integers(groups.results[value].iter().copied()),
            Finish::Sum(sum) => {
                let fits = |sum: &Option<i128>| sum.is_none_or(|sum| self.holds(sum));
                if !groups.results[sum].iter().all(fits) {
                    return Err(Unfinished::Overflow);
                }
                self.integers(groups.results[sum].iter().copied())
            }
            Finish::Average { sum, count, scale: None } => {
                let pairs = groups.results[sum].iter().zip(&groups.results[count]);
                let mean = |(sum, count): (&Option<i128>, &Option<i128>)| Some((*sum)? as f64 / (*count)? as f64);
                Ok(Arc::new(pairs.map(mean).collect::<Float64Array>()))
            }
            Finish::Average { sum, count, scale: Some((precision, digits)) } => {
                let pairs = groups.results[sum].iter().zip(&groups.results[count]);
                let means = pairs.map(|(sum, count)| mean(*sum, *count, precision, digits));
                self.integers(means.collect::<Result<Vec<_>, _>>()?.into_iter())
            }
        }
    }

    /// Whether a sum fits the type.
    fn holds(&self, sum: i128) -> bool {
        match self.data_type {
            DataType::Int64 => i64::try_from(sum).is_ok(),
            DataType::UInt64 => u64::try_from(sum).is_ok(),
            DataType::Decimal128(precision, _) => sum.unsigned_abs() < 10u128.pow(precision.into()),
            _ => false,
        }
    }

    /// An array of the column's type.
    fn integers(&self, values: impl ExactSizeIterator<Item = Option<i128>>) -> Result<ArrayRef, Unfinished> {
        if let Some(entries) = &self.entries {
            let codes: UInt32Array = values.map(|value| value.map(|value| value as u32)).collect();
            return Ok(arrow::compute::take(entries, &codes, None)?);
        }
        let (values, valid): (Vec<i128>, Vec<bool>) =
            values.map(|value| (value.unwrap_or_default(), value.is_some())).unzip();
        let nulls = valid.contains(&false).then(|| NullBuffer::from(valid));
        let logical_type = LogicalType::from_arrow("", &self.data_type)?;
        Ok(array_of_integers(&logical_type, values, nulls)?)
    }
}

/// A mean of decimals: towards zero, as DataFusion's.
fn mean(sum: Option<i128>, count: Option<i128>, precision: u8, digits: u32) -> Result<Option<i128>, Unfinished> {
    let (Some(sum), Some(count)) = (sum, count) else { return Ok(None) };
    let scaled = 10i128.checked_pow(digits).and_then(|factor| sum.checked_mul(factor));
    let mean = scaled.and_then(|scaled| scaled.checked_div(count)).ok_or(Unfinished::Overflow)?;
    let fits = mean.unsigned_abs() < 10u128.pow(precision.into());
    if fits { Ok(Some(mean)) } else { Err(Unfinished::Overflow) }
}
