//! AVG of decimals: exact sums in 256 bits, rounded once. Other means are DataFusion's.

use crate::arithmetic::counted::{Counted, HANDED_OVER};
use crate::arithmetic::quotient::mean_type;
use crate::arithmetic::sum::{and_intervals, for_rows_taken, rows_taken};
use crate::error::invalid;
use crate::functions::typed;
use arrow::array::{Array, ArrayRef, BooleanArray, Decimal256Array, UInt64Array};
use arrow::datatypes::{DataType, Decimal128Type, Decimal256Type, Field, FieldRef, UInt64Type, i256};
use datafusion::common::{ScalarValue, internal_err};
use datafusion::error::Result;
use datafusion::functions_aggregate::average::avg_udaf;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, EmitTo, GroupsAccumulator, ReversedUDAF, Signature,
};
use gingham_execution::divided_wide;
use std::hash::Hash;
use std::sync::Arc;

/// The type in which partial sums are handed over, whatever their scale.
const PARTIAL: DataType = DataType::Decimal256(76, 0);

/// `avg`, in place of DataFusion's.
pub(crate) fn exact_average() -> AggregateUDF {
    let native = avg_udaf();
    AggregateUDF::new_from_impl(ExactAverage { signature: and_intervals(native.signature()), native })
}

/// AVG: decimals by us, the rest by DataFusion.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ExactAverage {
    native: Arc<AggregateUDF>,
    signature: Signature,
}

/// Scales of what is averaged and of the mean.
#[derive(Debug, Clone, Copy)]
struct Scales {
    precision: u8,
    scale: i8,
    /// The power of ten that a sum is multiplied by before it is divided.
    factor: i256,
}

impl Scales {
    /// The scales of an average; `None` where it is DataFusion's to compute.
    fn of(args: &AccumulatorArgs<'_>) -> Result<Option<Self>> {
        let Some(DataType::Decimal128(_, own)) = args.expr_fields.first().map(|field| field.data_type()) else {
            return Ok(None);
        };
        let DataType::Decimal128(precision, scale) = *args.return_field.data_type() else { return Ok(None) };
        let digits = i32::from(scale) - i32::from(*own);
        let factor = u32::try_from(digits).ok().and_then(|digits| i256::from_i128(10).checked_pow(digits));
        let Some(factor) = factor else { return internal_err!("an average with {digits} digits more than its values") };
        Ok(Some(Self { precision, scale, factor }))
    }

    fn mean(self, sum: i256, count: u64) -> Result<Option<i128>> {
        if count == 0 {
            return Ok(None);
        }
        let mean = sum.checked_mul(self.factor).and_then(|sum| divided_wide(sum, i256::from_i128(count.into())));
        match mean.filter(|mean| mean.unsigned_abs() < 10u128.pow(self.precision.into())) {
            Some(mean) => Ok(Some(mean)),
            None => invalid!(NumericValueOutOfRange, "decimal overflow: avg has more than {} digits", self.precision),
        }
    }
}

impl AggregateUDFImpl for ExactAverage {
    fn name(&self) -> &str {
        "avg"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [interval @ DataType::Interval(_)] => Ok(interval.clone()),
            [DataType::Decimal128(precision, scale)] => Ok(mean_type(*precision, *scale)),
            _ => self.native.return_type(types),
        }
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        match Scales::of(&args)? {
            Some(scales) if args.is_distinct => Ok(Box::new(DistinctMean { scales, counted: Counted::default() })),
            Some(scales) => Ok(Box::new(Mean { scales, sum: i256::ZERO, count: 0 })),
            None => self.native.accumulator(args),
        }
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        if !matches!(args.return_field.data_type(), DataType::Decimal128(..)) {
            return self.native.state_fields(args);
        }
        if args.is_distinct {
            let name = format_state_name(args.name, "avg distinct");
            let entries = Field::new_list_field(HANDED_OVER, true);
            return Ok(vec![Arc::new(Field::new_list(name, entries, false))]);
        }
        let count = Field::new(format_state_name(args.name, "count"), DataType::UInt64, false);
        Ok(vec![Arc::new(count), Arc::new(Field::new(format_state_name(args.name, "sum"), PARTIAL, false))])
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        match args.return_field.data_type() {
            DataType::Decimal128(..) => !args.is_distinct,
            _ => self.native.groups_accumulator_supported(args),
        }
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        match Scales::of(&args)? {
            Some(scales) => Ok(Box::new(GroupMeans { scales, sums: Vec::new(), counts: Vec::new() })),
            None => self.native.create_groups_accumulator(args),
        }
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        match Scales::of(&args)? {
            Some(_) => self.accumulator(args),
            None => self.native.create_sliding_accumulator(args),
        }
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.native.documentation()
    }
}

/// One mean.
#[derive(Debug)]
struct Mean {
    scales: Scales,
    sum: i256,
    count: u64,
}

impl Mean {
    /// Sum and number of the values that are not NULL. No number of rows can leave 256 bits.
    fn of(values: &ArrayRef) -> Result<(i256, u64)> {
        let values = typed::<Decimal128Type>(values)?;
        let sum = values.iter().flatten().fold(i256::ZERO, |sum, value| sum.wrapping_add(i256::from_i128(value)));
        Ok((sum, (values.len() - values.null_count()) as u64))
    }
}

impl Accumulator for Mean {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let (sum, count) = Self::of(&values[0])?;
        self.sum = self.sum.wrapping_add(sum);
        self.count += count;
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let (sum, count) = Self::of(&values[0])?;
        self.sum = self.sum.wrapping_sub(sum);
        self.count -= count;
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![ScalarValue::UInt64(Some(self.count)), ScalarValue::Decimal256(Some(self.sum), 76, 0)])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let (counts, sums) = (typed::<UInt64Type>(&states[0])?, typed::<Decimal256Type>(&states[1])?);
        self.count += counts.iter().flatten().sum::<u64>();
        self.sum = sums.iter().flatten().fold(self.sum, i256::wrapping_add);
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let Scales { precision, scale, .. } = self.scales;
        Ok(ScalarValue::Decimal128(self.scales.mean(self.sum, self.count)?, precision, scale))
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}

/// The mean of the different values.
#[derive(Debug)]
struct DistinctMean {
    scales: Scales,
    counted: Counted,
}

impl Accumulator for DistinctMean {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.counted.add(typed::<Decimal128Type>(&values[0])?.iter().flatten());
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.counted.remove(typed::<Decimal128Type>(&values[0])?.iter().flatten())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(self.counted.state())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.counted.merge(&states[0])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let values = self.counted.values();
        let count = values.len() as u64;
        let sum = values.fold(i256::ZERO, |sum, value| sum.wrapping_add(i256::from_i128(*value)));
        let Scales { precision, scale, .. } = self.scales;
        Ok(ScalarValue::Decimal128(self.scales.mean(sum, count)?, precision, scale))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.counted.size()
    }
}

/// One mean per group.
#[derive(Debug)]
struct GroupMeans {
    scales: Scales,
    sums: Vec<i256>,
    counts: Vec<u64>,
}

impl GroupMeans {
    fn grow(&mut self, groups: usize) {
        self.sums.resize(groups, i256::ZERO);
        self.counts.resize(groups, 0);
    }

    fn take(&mut self, emit: EmitTo) -> (Vec<i256>, Vec<u64>) {
        (emit.take_needed(&mut self.sums), emit.take_needed(&mut self.counts))
    }
}

/// Counts and sums as they are handed over.
fn partial(sums: Vec<i256>, counts: Vec<u64>) -> Result<Vec<ArrayRef>> {
    let sums = Decimal256Array::from_iter_values(sums).with_precision_and_scale(76, 0)?;
    Ok(vec![Arc::new(UInt64Array::from(counts)), Arc::new(sums)])
}

impl GroupsAccumulator for GroupMeans {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total_groups: usize,
    ) -> Result<()> {
        self.grow(total_groups);
        let values = typed::<Decimal128Type>(&values[0])?;
        for_rows_taken(values, filter, |row| {
            let group = groups[row];
            self.sums[group] = self.sums[group].wrapping_add(i256::from_i128(values.value(row)));
            self.counts[group] += 1;
        });
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total_groups: usize) -> Result<()> {
        self.grow(total_groups);
        let (counts, sums) = (typed::<UInt64Type>(&states[0])?, typed::<Decimal256Type>(&states[1])?);
        for (row, group) in groups.iter().enumerate() {
            self.counts[*group] += counts.value(row);
            self.sums[*group] = self.sums[*group].wrapping_add(sums.value(row));
        }
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let (sums, counts) = self.take(emit);
        let Scales { precision, scale, .. } = self.scales;
        let means = sums.into_iter().zip(counts).map(|(sum, count)| self.scales.mean(sum, count));
        let means = arrow::array::Decimal128Array::from(means.collect::<Result<Vec<_>>>()?);
        Ok(Arc::new(means.with_precision_and_scale(precision, scale)?))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let (sums, counts) = self.take(emit);
        partial(sums, counts)
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let values = typed::<Decimal128Type>(&values[0])?;
        let taken = rows_taken(values, filter);
        let counts = |row| taken.as_ref().is_none_or(|rows| rows.is_valid(row));
        let sums = (0..values.len()).map(|row| match counts(row) {
            true => i256::from_i128(values.value(row)),
            false => i256::ZERO,
        });
        partial(sums.collect(), (0..values.len()).map(|row| u64::from(counts(row))).collect())
    }

    fn size(&self) -> usize {
        self.sums.capacity() * size_of::<i256>() + self.counts.capacity() * size_of::<u64>()
    }
}
