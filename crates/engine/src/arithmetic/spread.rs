//! VAR and STDDEV of integers and decimals, from exact sums of them and of their squares: as floats, large numbers that differ little
//! would be alike before they are compared. Those of floats are DataFusion's.

use crate::arithmetic::counted::{Counted, HANDED_OVER};
use crate::error::invalid;
use crate::functions::typed;
use arrow::array::{Array, ArrayRef};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal128Type, Decimal256Type, Field, FieldRef, UInt64Type, i256};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::functions_aggregate::{stddev, variance};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, GroupsAccumulator, ReversedUDAF, Signature, Volatility,
};
use std::sync::Arc;

/// The type in which sums are handed over, whatever their scale.
const PARTIAL: DataType = DataType::Decimal256(76, 0);

/// `var`, `var_pop`, `stddev` and `stddev_pop`, in place of DataFusion's.
pub(crate) fn exact_spreads() -> impl Iterator<Item = AggregateUDF> {
    let native = [
        (variance::var_samp_udaf(), true, false),
        (variance::var_pop_udaf(), false, false),
        (stddev::stddev_udaf(), true, true),
        (stddev::stddev_pop_udaf(), false, true),
    ];
    native.into_iter().map(|(native, sample, root)| {
        let signature = Signature::user_defined(Volatility::Immutable);
        AggregateUDF::new_from_impl(ExactSpread { native, signature, how: SpreadKind { sample, root } })
    })
}

/// What is computed of the sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct SpreadKind {
    /// The values are a sample: what they have in all is divided by one less than their number.
    sample: bool,
    /// The root is taken: a standard deviation.
    root: bool,
}

/// How far numbers spread: integers and decimals by us, floats by DataFusion.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ExactSpread {
    native: Arc<AggregateUDF>,
    signature: Signature,
    how: SpreadKind,
}

/// The digits behind the point of what is computed here; `None` for floats.
fn scale_of(args: &AccumulatorArgs<'_>) -> Option<i8> {
    match args.expr_fields.first()?.data_type() {
        DataType::Int64 => Some(0),
        DataType::Decimal128(_, scale) => Some(*scale),
        _ => None,
    }
}

impl AggregateUDFImpl for ExactSpread {
    fn name(&self) -> &str {
        self.native.name()
    }

    fn aliases(&self) -> &[String] {
        self.native.aliases()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let name = self.name();
        match types {
            [DataType::UInt64] => Ok(vec![DataType::Decimal128(20, 0)]),
            [own] if own.is_integer() => Ok(vec![DataType::Int64]),
            [DataType::Decimal128(..)] => Ok(types.to_vec()),
            [own] if own.is_numeric() || own.is_null() || own.is_string() => Ok(vec![DataType::Float64]),
            [own] => {
                let own = crate::type_name::type_name(own);
                invalid!(UndefinedFunction, "function {name} does not take arguments of type {own}; cast them")
            }
            more => invalid!(UndefinedFunction, "{name} takes one number, not {}", more.len()),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(match scale_of(&args) {
            Some(scale) if args.is_distinct => {
                Box::new(DistinctSpread { how: self.how, scale, counted: Counted::default() })
            }
            Some(scale) => Box::new(Spread { how: self.how, scale, sums: Sums::default() }),
            None => return self.native.accumulator(args),
        })
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let is_float = args.input_fields.first().is_none_or(|field| field.data_type().is_floating());
        if is_float {
            return self.native.state_fields(args);
        }
        if args.is_distinct {
            let entries = Field::new_list_field(HANDED_OVER, true);
            return Ok(vec![Arc::new(Field::new_list(format_state_name(args.name, "distinct"), entries, false))]);
        }
        let field = |name, data_type| Arc::new(Field::new(format_state_name(args.name, name), data_type, false));
        Ok(vec![field("count", DataType::UInt64), field("sum", PARTIAL), field("squares", PARTIAL)])
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        scale_of(&args).is_none() && self.native.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        self.native.create_groups_accumulator(args)
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        match scale_of(&args) {
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

/// Integers, or decimals without their point.
fn numbers(values: &ArrayRef) -> Result<impl Iterator<Item = i128>> {
    let values = match values.data_type() {
        DataType::Decimal128(..) => Arc::clone(values),
        _ => cast(values, &DataType::Decimal128(19, 0))?,
    };
    let values: Vec<i128> = typed::<Decimal128Type>(&values)?.iter().flatten().collect();
    Ok(values.into_iter())
}

/// How many numbers there are, their sum and that of their squares.
#[derive(Debug, Clone, Copy)]
struct Sums {
    count: u64,
    sum: i256,
    squares: i256,
}

impl Default for Sums {
    fn default() -> Self {
        Self { count: 0, sum: i256::ZERO, squares: i256::ZERO }
    }
}

impl Sums {
    fn of(values: impl Iterator<Item = i128>) -> Result<Self> {
        let mut own = Self::default();
        for value in values {
            let value = i256::from_i128(value);
            own = own.and(Self { count: 1, sum: value, squares: value.wrapping_mul(value) })?;
        }
        Ok(own)
    }

    /// These and others.
    fn and(self, other: Self) -> Result<Self> {
        let squares = self.squares.checked_add(other.squares);
        match self.sum.checked_add(other.sum).zip(squares) {
            Some((sum, squares)) => Ok(Self { count: self.count + other.count, sum, squares }),
            None => invalid!(NumericValueOutOfRange, "the squares of these numbers have more than 76 digits in all"),
        }
    }

    /// These without some of them.
    fn without(self, other: Self) -> Self {
        Self {
            count: self.count - other.count,
            sum: self.sum.wrapping_sub(other.sum),
            squares: self.squares.wrapping_sub(other.squares),
        }
    }

    /// The result; `None` is NULL.
    fn spread(self, how: SpreadKind, scale: i8) -> Option<f64> {
        let others = self.count.checked_sub(u64::from(how.sample)).filter(|others| *others > 0)?;
        let count = i256::from_i128(self.count.into());
        // The sum of the squared distances, times the number.
        let exact = count.checked_mul(self.squares).zip(self.sum.checked_mul(self.sum));
        let distances = match exact.and_then(|(squares, square)| squares.checked_sub(square)) {
            Some(distances) => float(distances),
            None => self.count as f64 * float(self.squares) - float(self.sum) * float(self.sum),
        };
        let unit = 10f64.powi(2 * i32::from(scale));
        let variance = distances / self.count as f64 / others as f64 / unit;
        Some(if how.root { variance.sqrt() } else { variance })
    }
}

/// The float that is nearest to an integer.
fn float(value: i256) -> f64 {
    // A text of digits is a number.
    value.to_string().parse().unwrap_or(f64::NAN)
}

/// The spread of numbers.
#[derive(Debug)]
struct Spread {
    how: SpreadKind,
    scale: i8,
    sums: Sums,
}

impl Accumulator for Spread {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.sums = self.sums.and(Sums::of(numbers(&values[0])?)?)?;
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.sums = self.sums.without(Sums::of(numbers(&values[0])?)?);
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let sum = |sum| ScalarValue::Decimal256(Some(sum), 76, 0);
        Ok(vec![ScalarValue::UInt64(Some(self.sums.count)), sum(self.sums.sum), sum(self.sums.squares)])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let counts = typed::<UInt64Type>(&states[0])?;
        let (sums, squares) = (typed::<Decimal256Type>(&states[1])?, typed::<Decimal256Type>(&states[2])?);
        for row in 0..counts.len() {
            let own = Sums { count: counts.value(row), sum: sums.value(row), squares: squares.value(row) };
            self.sums = self.sums.and(own)?;
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Float64(self.sums.spread(self.how, self.scale)))
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}

/// The spread of the different values.
#[derive(Debug)]
struct DistinctSpread {
    how: SpreadKind,
    scale: i8,
    counted: Counted,
}

impl Accumulator for DistinctSpread {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.counted.add(numbers(&values[0])?);
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.counted.remove(numbers(&values[0])?)
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
        let sums = Sums::of(self.counted.values().copied())?;
        Ok(ScalarValue::Float64(sums.spread(self.how, self.scale)))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.counted.size()
    }
}
