//! What SUMMARIZE estimates, by an aggregate of its own: distinct values (HyperLogLog), quartiles, and how many values lie in each
//! bar. It has a name in no statement.

use crate::session::StatementContext;
use crate::statements::admin::summarize::exact::Exact;
use crate::statements::admin::summarize::quantiles::Quantiles;
use crate::statements::admin::summarize::range::Range;
use crate::statements::admin::summarize::row::only_row;
use crate::{Error, Result};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Float64Type};
use arrow::row::{RowConverter, SortField};
use datafusion::common::{ScalarValue, internal_err};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Expr, LogicalPlan, LogicalPlanBuilder, Signature, Volatility,
};
use gingham_storage::LogicalType;
use gingham_storage::encoding::integers_of_array;
use gingham_storage::encoding::sketch::{Sketch, hash_bytes, hash_float, hash_integer};
use gingham_storage::model::float_integer;
use std::sync::Arc;

/// Which part of the values is below each quartile.
const QUARTILES: [f64; 3] = [0.25, 0.5, 0.75];

/// What is estimated of a column.
#[derive(Debug)]
pub(super) struct Estimate {
    /// Distinct values; `None` of a type whose values can't be compared.
    pub(super) distinct: Option<u64>,
    /// Quartiles, as integers in the order of the values; `None` where there are no values, or no numbers or moments.
    pub(super) quartiles: Option<[i128; 3]>,
    /// How many values each bar has.
    pub(super) counts: Vec<u64>,
}

/// Estimates of the columns that a plan gives.
pub(super) async fn estimates(context: &StatementContext, plan: LogicalPlan, exact: &Exact) -> Result<Vec<Estimate>> {
    let columns = plan.schema().columns();
    let calls = columns.into_iter().zip(&exact.columns).enumerate().map(|(number, (column, known))| {
        let own = AggregateUDF::new_from_impl(ColumnSketch::new(known.range));
        let call = AggregateFunction::new_udf(Arc::new(own), vec![Expr::Column(column)], false, None, Vec::new(), None);
        Expr::AggregateFunction(call).alias(format!("summary {number}"))
    });
    let calls: Vec<Expr> = calls.collect();
    let types: Vec<DataType> = plan.schema().fields().iter().map(|field| field.data_type().clone()).collect();
    let plan = LogicalPlanBuilder::from(plan).aggregate(Vec::<Expr>::new(), calls)?.build()?;
    let row = only_row(context, plan).await?;
    row.columns()
        .iter()
        .zip(&types)
        .map(|(bytes, data_type)| {
            let summary = bytes.as_binary_opt::<i32>().and_then(|bytes| Summary::of_bytes(bytes.value(0)));
            let Some(summary) = summary else { return Err(Error::Internal("the summary of a column".into())) };
            let quartiles = summary.quantiles.at(QUARTILES);
            let is_known = data_type.is_null() || !matches!(SketchedValues::of(data_type)?, SketchedValues::Opaque);
            let distinct = is_known.then(|| summary.distinct.estimate());
            Ok(Estimate { distinct, quartiles, counts: summary.counts })
        })
        .collect()
}

/// The aggregate: a summary's bytes.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ColumnSketch {
    range: Option<Range>,
    signature: Signature,
}

impl ColumnSketch {
    fn new(range: Option<Range>) -> Self {
        Self { range, signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl AggregateUDFImpl for ColumnSketch {
    fn name(&self) -> &str {
        "summary"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> DataFusionResult<DataType> {
        Ok(DataType::Binary)
    }

    fn accumulator(&self, call: AccumulatorArgs<'_>) -> DataFusionResult<Box<dyn Accumulator>> {
        let values = SketchedValues::of(call.expr_fields[0].data_type())?;
        Ok(Box::new(Summarizing { values, range: self.range, summary: Summary::new(self.range) }))
    }

    fn state_fields(&self, call: StateFieldsArgs<'_>) -> DataFusionResult<Vec<FieldRef>> {
        Ok(vec![Arc::new(Field::new(format_state_name(call.name, "summary"), DataType::Binary, true))])
    }
}

/// How the values of a type are looked at.
#[derive(Debug)]
enum SketchedValues {
    /// As integers, which have an order where bars could be.
    Whole(LogicalType, bool),
    Real,
    Texts,
    Bytes,
    /// As rows, which are equal where their bytes are: intervals, lists, structures.
    Rows(RowConverter),
    /// Not at all.
    Opaque,
}

impl SketchedValues {
    /// Whether they have quartiles.
    fn have_order(&self) -> bool {
        matches!(self, Self::Whole(_, true) | Self::Real)
    }

    fn of(data_type: &DataType) -> DataFusionResult<Self> {
        Ok(match LogicalType::from_arrow("", data_type) {
            Ok(LogicalType::Float32 | LogicalType::Float64) => Self::Real,
            Ok(LogicalType::Binary) => Self::Bytes,
            Ok(own) if own.is_string() => Self::Texts,
            Ok(own) => {
                let has_order = own != LogicalType::Boolean;
                Self::Whole(own, has_order)
            }
            Err(_) => {
                let fields = vec![SortField::new(data_type.clone())];
                match *data_type != DataType::Null && RowConverter::supports_fields(&fields) {
                    true => Self::Rows(RowConverter::new(fields)?),
                    false => Self::Opaque,
                }
            }
        })
    }
}

/// A summary of values that arrive.
#[derive(Debug)]
struct Summarizing {
    values: SketchedValues,
    range: Option<Range>,
    summary: Summary,
}

impl Accumulator for Summarizing {
    fn update_batch(&mut self, values: &[ArrayRef]) -> DataFusionResult<()> {
        let Self { values: kind, range, summary } = self;
        let array = &values[0];
        match kind {
            SketchedValues::Whole(logical_type, has_order) => {
                let integers = integers_of_array(&cast(array, &logical_type.to_arrow())?).map_err(Error::from)?;
                for value in integers.into_iter().flatten() {
                    summary.distinct.insert(hash_integer(value));
                    if *has_order {
                        summary.quantiles.push(value);
                        summary.count(range.and_then(|range| range.bar_of_whole(value)));
                    }
                }
            }
            SketchedValues::Real => {
                let floats = cast(array, &DataType::Float64)?;
                for value in floats.as_primitive::<Float64Type>().iter().flatten() {
                    // One zero, and one NaN behind all numbers.
                    let value = if value.is_nan() { f64::NAN } else { value + 0.0 };
                    summary.distinct.insert(hash_float(value));
                    summary.quantiles.push(float_integer(value).into());
                    summary.count(range.and_then(|range| range.bar_of_real(value)));
                }
            }
            SketchedValues::Texts => {
                let texts = cast(array, &DataType::Utf8View)?;
                let hashes = texts.as_string_view().iter().flatten().map(|text| hash_bytes(text.as_bytes()));
                hashes.for_each(|hash| summary.distinct.insert(hash));
            }
            SketchedValues::Bytes => {
                let bytes = cast(array, &DataType::BinaryView)?;
                let hashes = bytes.as_binary_view().iter().flatten().map(hash_bytes);
                hashes.for_each(|hash| summary.distinct.insert(hash));
            }
            SketchedValues::Rows(converter) => {
                let rows = converter.convert_columns(&[Arc::clone(array)])?;
                let present = (0..array.len()).filter(|row| array.is_valid(*row));
                present.for_each(|row| summary.distinct.insert(hash_bytes(rows.row(row).as_ref())));
            }
            SketchedValues::Opaque => {}
        }
        Ok(())
    }

    fn evaluate(&mut self) -> DataFusionResult<ScalarValue> {
        Ok(ScalarValue::Binary(Some(self.summary.to_bytes())))
    }

    fn size(&self) -> usize {
        // All at once: later the cache may have taken what is left of the memory, and its blocks be in use.
        let expected = if self.values.have_order() { Summary::EXPECTED } else { 0 };
        size_of_val(self) + expected.max(self.summary.bytes())
    }

    fn state(&mut self) -> DataFusionResult<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> DataFusionResult<()> {
        for bytes in states[0].as_binary::<i32>().iter().flatten() {
            let Some(other) = Summary::of_bytes(bytes) else {
                return internal_err!("the summary of a part of a column");
            };
            self.summary.merge(other);
        }
        Ok(())
    }
}

/// What is kept of a column.
#[derive(Debug)]
struct Summary {
    distinct: Sketch,
    quantiles: Quantiles,
    counts: Vec<u64>,
}

impl Summary {
    /// Bytes of a sketch of distinct values, with what it knows of its registers.
    const DISTINCT: usize = 8 << 10;
    /// Bytes of a summary of values that have an order, however many.
    const EXPECTED: usize = 64 << 10;

    fn new(range: Option<Range>) -> Self {
        let counts = vec![0; range.map_or(0, Range::bars)];
        Self { distinct: Sketch::new(), quantiles: Quantiles::default(), counts }
    }

    fn count(&mut self, bar: Option<usize>) {
        if let Some(count) = bar.and_then(|bar| self.counts.get_mut(bar)) {
            *count += 1;
        }
    }

    fn merge(&mut self, other: Self) {
        self.distinct.merge(&other.distinct.to_bytes());
        self.quantiles.merge(other.quantiles);
        self.counts.iter_mut().zip(other.counts).for_each(|(own, others)| *own += others);
    }

    fn bytes(&self) -> usize {
        Self::DISTINCT + self.quantiles.bytes() + self.counts.len() * size_of::<u64>()
    }

    /// For another thread of this process: lengths, and what they are of.
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let distinct = self.distinct.to_bytes();
        bytes.extend((distinct.len() as u64).to_le_bytes());
        bytes.extend(distinct);
        bytes.extend((self.counts.len() as u64).to_le_bytes());
        bytes.extend(self.counts.iter().flat_map(|count| count.to_le_bytes()));
        for level in self.quantiles.levels() {
            bytes.extend((level.len() as u64).to_le_bytes());
            bytes.extend(level.iter().flat_map(|value| value.to_le_bytes()));
        }
        bytes
    }

    fn of_bytes(mut bytes: &[u8]) -> Option<Self> {
        let mut distinct = Sketch::new();
        if !distinct.merge(taken(&mut bytes, 1)?) {
            return None;
        }
        let counts = taken(&mut bytes, size_of::<u64>())?;
        let counts = counts.as_chunks().0.iter().map(|count| u64::from_le_bytes(*count)).collect();
        let mut levels = Vec::new();
        while !bytes.is_empty() {
            let level = taken(&mut bytes, size_of::<i128>())?;
            levels.push(level.as_chunks().0.iter().map(|value| i128::from_le_bytes(*value)).collect());
        }
        Some(Self { distinct, quantiles: Quantiles::of_levels(levels)?, counts })
    }
}

/// The next values of so many bytes each, and the length before them.
fn taken<'b>(bytes: &mut &'b [u8], width: usize) -> Option<&'b [u8]> {
    let (length, rest) = bytes.split_first_chunk()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?.checked_mul(width)?;
    let (values, rest) = rest.split_at_checked(length)?;
    *bytes = rest;
    Some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_come_back_from_bytes() {
        let range = Some(Range::Whole { low: 0, high: 999 });
        let mut parts = [Summary::new(range), Summary::new(range)];
        for value in 0..1000i128 {
            let part = &mut parts[value as usize % 2];
            part.distinct.insert(hash_integer(value));
            part.quantiles.push(value);
            part.count(range.and_then(|range| range.bar_of_whole(value)));
        }
        let [mut all, other] = parts;
        all.merge(Summary::of_bytes(&other.to_bytes()).expect("its own bytes"));
        assert_eq!(all.counts, [100; 10]);
        assert!(all.distinct.estimate().abs_diff(1000) < 60);
        let [_, median, _] = all.quantiles.at(QUARTILES).expect("values");
        assert!((median - 500).abs() < 20, "{median}");
        for length in 0..8 {
            assert!(Summary::of_bytes(&other.to_bytes()[..length]).is_none());
        }
    }
}
