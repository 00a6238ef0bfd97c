//! Sums, means, minima and maxima of intervals. DataFusion compares the fields of intervals, and has no mean of them.

use crate::temporal::interval::{INTERVAL, add, divide, length, subtract};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Field, FieldRef, IntervalMonthDayNano, IntervalMonthDayNanoType, UInt64Type,
};
use datafusion::common::{ScalarValue, internal_err};
use datafusion::error::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};
use std::collections::HashSet;
use std::sync::Arc;

/// The aggregate of intervals in the place of one of this name.
pub(super) fn aggregate_of_intervals(name: &str) -> Option<Arc<AggregateUDF>> {
    let (name, what) = match name {
        "sum" => ("interval_sum", IntervalAggregate::Sum),
        "avg" => ("interval_avg", IntervalAggregate::Mean),
        "min" => ("interval_min", IntervalAggregate::Smallest),
        "max" => ("interval_max", IntervalAggregate::Largest),
        _ => return None,
    };
    let signature = Signature::exact(vec![INTERVAL], Volatility::Immutable);
    Some(Arc::new(AggregateUDF::new_from_impl(OfIntervals { name, what, signature })))
}

/// The aggregates that there are of intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum IntervalAggregate {
    Sum,
    Mean,
    Smallest,
    Largest,
}

/// An aggregate of intervals.
#[derive(Debug, PartialEq, Eq, Hash)]
struct OfIntervals {
    name: &'static str,
    what: IntervalAggregate,
    signature: Signature,
}

impl AggregateUDFImpl for OfIntervals {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(INTERVAL)
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let known = args.is_distinct.then(HashSet::new);
        Ok(Box::new(IntervalState { what: self.what, value: None, count: 0, known }))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        if args.is_distinct {
            let name = format_state_name(args.name, "distinct");
            return Ok(vec![Arc::new(Field::new_list(name, Field::new_list_field(INTERVAL, true), false))]);
        }
        let value = Field::new(format_state_name(args.name, "value"), INTERVAL, true);
        let count = Field::new(format_state_name(args.name, "count"), DataType::UInt64, false);
        Ok(vec![Arc::new(value), Arc::new(count)])
    }
}

/// One result in the making.
#[derive(Debug)]
struct IntervalState {
    what: IntervalAggregate,
    value: Option<IntervalMonthDayNano>,
    count: u64,
    /// The values so far, by their lengths, where only different ones count.
    known: Option<HashSet<i128>>,
}

impl IntervalState {
    fn take(&mut self, value: IntervalMonthDayNano, count: u64) -> Result<()> {
        self.count += count;
        self.value = Some(match (self.value, self.what) {
            (None, _) => value,
            (Some(own), IntervalAggregate::Sum | IntervalAggregate::Mean) => add(own, value)?,
            (Some(own), IntervalAggregate::Smallest) => {
                if length(value) < length(own) {
                    value
                } else {
                    own
                }
            }
            (Some(own), IntervalAggregate::Largest) => {
                if length(value) > length(own) {
                    value
                } else {
                    own
                }
            }
        });
        Ok(())
    }

    fn values(array: &ArrayRef) -> Result<Vec<IntervalMonthDayNano>> {
        match array.as_primitive_opt::<IntervalMonthDayNanoType>() {
            Some(values) => Ok(values.iter().flatten().collect()),
            None => internal_err!("{} in the place of {}", array.data_type(), IntervalMonthDayNanoType::DATA_TYPE),
        }
    }
}

impl Accumulator for IntervalState {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for value in Self::values(&values[0])? {
            if self.known.as_mut().is_none_or(|known| known.insert(length(value))) {
                self.take(value, 1)?;
            }
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for value in Self::values(&values[0])? {
            self.count -= 1;
            self.value = self.value.map(|own| subtract(own, value)).transpose()?.filter(|_| self.count > 0);
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        matches!(self.what, IntervalAggregate::Sum | IntervalAggregate::Mean) && self.known.is_none()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        if let Some(known) = &self.known {
            let values: Vec<ScalarValue> = known.iter().map(|length| of_length(*length)).collect::<Result<_>>()?;
            return Ok(vec![ScalarValue::List(ScalarValue::new_list_nullable(&values, &INTERVAL))]);
        }
        Ok(vec![ScalarValue::IntervalMonthDayNano(self.value), ScalarValue::UInt64(Some(self.count))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        if self.known.is_some() {
            let Some(lists) = states[0].as_list_opt::<i32>() else { return internal_err!("a state that is no list") };
            return lists.iter().flatten().try_for_each(|list| self.update_batch(&[list]));
        }
        let Some(counts) = states[1].as_primitive_opt::<UInt64Type>() else {
            return internal_err!("a state without a count");
        };
        let counts = counts.iter().flatten().filter(|count| *count > 0).collect::<Vec<_>>();
        for (value, count) in Self::values(&states[0])?.into_iter().zip(counts) {
            self.take(value, count)?;
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let value = match (self.value, self.what) {
            (Some(sum), IntervalAggregate::Mean) => Some(divide(sum, self.count as f64)?),
            (value, _) => value,
        };
        Ok(ScalarValue::IntervalMonthDayNano(value))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.known.as_ref().map_or(0, |known| known.capacity() * size_of::<i128>())
    }
}

/// An interval of this length.
fn of_length(length: i128) -> Result<ScalarValue> {
    Ok(ScalarValue::IntervalMonthDayNano(Some(crate::temporal::interval::of_nanoseconds(length)?)))
}
