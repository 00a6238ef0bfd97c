//! MIN and MAX of floats by groups. DataFusion's keep whatever comes behind a NaN, and begin with the largest number, which is no
//! infinity (DataFusion 55, `primitive_min_accumulator`). NaN is larger than every number here. All else is DataFusion's.

use crate::arithmetic::sum::{for_rows_taken, rows_taken};
use arrow::array::{ArrayRef, AsArray, BooleanArray, Float64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, FieldRef, Float64Type};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::functions_aggregate::min_max::{max_udaf, min_udaf};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, EmitTo, GroupsAccumulator, ReversedUDAF,
    SetMonotonicity, Signature, StatisticsArgs,
};
use std::sync::Arc;

/// `min` and `max`, in place of DataFusion's.
pub(crate) fn extremes() -> [AggregateUDF; 2] {
    [min_udaf(), max_udaf()].map(|native| AggregateUDF::new_from_impl(Extreme { native }))
}

/// MIN or MAX: floats of groups by us, the rest by DataFusion.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Extreme {
    native: Arc<AggregateUDF>,
}

impl AggregateUDFImpl for Extreme {
    fn name(&self) -> &str {
        self.native.name()
    }

    fn signature(&self) -> &Signature {
        self.native.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.native.return_type(types)
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        self.native.accumulator(args)
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        self.native.state_fields(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        self.native.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        let data_type = args.return_field.data_type();
        if !matches!(data_type, DataType::Float32 | DataType::Float64) {
            return self.native.create_groups_accumulator(args);
        }
        let is_largest = self.name() == "max";
        Ok(Box::new(GroupExtremes { data_type: data_type.clone(), is_largest, extremes: Vec::new() }))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        self.native.create_sliding_accumulator(args)
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.native.coerce_types(types)
    }

    fn is_descending(&self) -> Option<bool> {
        self.native.is_descending()
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.native.order_sensitivity()
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn value_from_stats(&self, args: &StatisticsArgs<'_>) -> Option<ScalarValue> {
        self.native.value_from_stats(args)
    }

    fn set_monotonicity(&self, data_type: &DataType) -> SetMonotonicity {
        self.native.inner().set_monotonicity(data_type)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.native.documentation()
    }
}

/// The extreme of each group so far. A REAL is a DOUBLE here, exactly.
#[derive(Debug)]
struct GroupExtremes {
    data_type: DataType,
    is_largest: bool,
    extremes: Vec<Option<f64>>,
}

impl GroupExtremes {
    /// Whether a value takes the place of another one.
    fn wins(&self, value: f64, other: f64) -> bool {
        match self.is_largest {
            true if value.is_nan() => !other.is_nan(),
            true => value > other,
            false if other.is_nan() => !value.is_nan(),
            false => value < other,
        }
    }

    fn take(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let values: ArrayRef = Arc::new(Float64Array::from(emit.take_needed(&mut self.extremes)));
        Ok(cast(&values, &self.data_type)?)
    }
}

impl GroupsAccumulator for GroupExtremes {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total_groups: usize,
    ) -> Result<()> {
        self.extremes.resize(total_groups, None);
        let values = cast(&values[0], &DataType::Float64)?;
        let values = values.as_primitive::<Float64Type>();
        for_rows_taken(values, filter, |row| {
            let (group, value) = (groups[row], values.value(row));
            if self.extremes[group].is_none_or(|other| self.wins(value, other)) {
                self.extremes[group] = Some(value);
            }
        });
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total_groups: usize) -> Result<()> {
        self.update_batch(states, groups, None, total_groups)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        self.take(emit)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.take(emit)?])
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let values = cast(&values[0], &DataType::Float64)?;
        let values = values.as_primitive::<Float64Type>();
        let taken = rows_taken(values, filter);
        let values: ArrayRef = Arc::new(Float64Array::new(values.values().clone(), taken));
        Ok(vec![cast(&values, &self.data_type)?])
    }

    fn size(&self) -> usize {
        self.extremes.capacity() * size_of::<Option<f64>>()
    }
}
