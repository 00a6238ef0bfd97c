//! SUM that fails when the sum leaves the type of the result. It adds in 128 bits and looks at the end, so that the
//! outcome does not depend on the order of the rows or on the number of threads. The sum of BIGINTs has up to 38 digits, so that
//! it is no error where they are large, and shares of it are not cut to whole numbers; that of INTEGERs is a BIGINT.

mod accumulator;
mod distinct;
mod groups;
mod integers;

use accumulator::SumAccumulator;
use arrow::array::{ArrayRef, Decimal128Array, Int64Array, UInt64Array};
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::{DataFusionError, Result};
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Coercion, Documentation, Expr, GroupsAccumulator, ReversedUDAF,
    SetMonotonicity, Signature, TypeSignature, TypeSignatureClass,
};
use distinct::DistinctSum;
use gingham_storage::SqlState;
use groups::GroupSums;
pub(super) use groups::{for_rows_taken, taken as rows_taken};
pub(crate) use integers::IntegerColumns;
use std::hash::Hash;
use std::sync::{Arc, LazyLock};

/// The type in which partial sums are handed over: 128 bits, whatever the digits.
const PARTIAL: DataType = DataType::Decimal128(38, 0);

/// The type of a sum of BIGINTs.
const SUM_OF_BIGINTS: DataType = DataType::Decimal128(38, 0);

/// `sum`, in place of DataFusion's.
pub(crate) fn checked_sum() -> AggregateUDF {
    CheckedSum::function(false)
}

/// An expression in which sums of INTEGERs are BIGINTs. Its columns are those of `schema`, of which those that are `known` are INTEGERs.
pub(crate) fn with_sums_of_integers(expression: Expr, schema: &DFSchema, known: &IntegerColumns) -> Result<Expr> {
    integers::with_sum(expression, schema, known, &sum_of_integers())
}

/// `sum` of INTEGERs, which are BIGINTs by the time that they are summed.
fn sum_of_integers() -> Arc<AggregateUDF> {
    static SUM: LazyLock<Arc<AggregateUDF>> = LazyLock::new(|| Arc::new(CheckedSum::function(true)));
    Arc::clone(&SUM)
}

/// The signature of an aggregate that takes intervals too. Another aggregate takes their place before anything is planned.
pub(super) fn and_intervals(native: &Signature) -> Signature {
    let intervals = TypeSignature::Coercible(vec![Coercion::new_exact(TypeSignatureClass::Interval)]);
    Signature::one_of(vec![native.type_signature.clone(), intervals], native.volatility)
}

/// SUM: integers and decimals by us, the rest by DataFusion.
#[derive(Debug, PartialEq, Eq, Hash)]
struct CheckedSum {
    native: Arc<AggregateUDF>,
    signature: Signature,
    /// The BIGINTs that it is given are INTEGERs.
    of_integers: bool,
}

impl CheckedSum {
    fn function(of_integers: bool) -> AggregateUDF {
        let native = sum_udaf();
        AggregateUDF::new_from_impl(Self { signature: and_intervals(native.signature()), native, of_integers })
    }
}

/// The numbers that are summed here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Summed {
    Signed,
    Unsigned,
    Decimal,
}

/// A sum: its values, and its own type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SummedType {
    values: Summed,
    result: SumType,
}

/// The type of a sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SumType {
    Signed,
    Unsigned,
    Decimal(u8, i8),
}

impl SummedType {
    /// `None` for what is not summed here.
    fn of(values: &DataType, result: &DataType) -> Option<Self> {
        let values = match values {
            DataType::Int64 => Summed::Signed,
            DataType::UInt64 => Summed::Unsigned,
            DataType::Decimal128(..) => Summed::Decimal,
            _ => return None,
        };
        let result = match result {
            DataType::Int64 => SumType::Signed,
            DataType::UInt64 => SumType::Unsigned,
            DataType::Decimal128(precision, scale) => SumType::Decimal(*precision, *scale),
            _ => return None,
        };
        Some(Self { values, result })
    }

    /// An error when `sum` does not fit the result.
    fn check(self, sum: i128) -> Result<()> {
        let fits = match self.result {
            SumType::Signed => i64::try_from(sum).is_ok(),
            SumType::Unsigned => u64::try_from(sum).is_ok(),
            SumType::Decimal(precision, _) => sum.unsigned_abs() < 10u128.pow(precision.into()),
        };
        if fits { Ok(()) } else { Err(self.overflow(Some(sum))) }
    }

    fn overflow(self, sum: Option<i128>) -> DataFusionError {
        let text = match (self.result, sum) {
            (SumType::Signed, Some(sum)) => format!("integer overflow: sum {sum} is out of range for BIGINT"),
            (SumType::Unsigned, Some(sum)) => {
                format!("integer overflow: sum {sum} is out of range for BIGINT UNSIGNED")
            }
            (SumType::Decimal(precision, _), _) => format!("decimal overflow: sum has more than {precision} digits"),
            (_, None) => "integer overflow: sum is out of range".to_string(),
        };
        crate::Error::invalid(SqlState::NumericValueOutOfRange, text).into()
    }

    fn scalar(self, sum: Option<i128>) -> Result<ScalarValue> {
        sum.map_or(Ok(()), |sum| self.check(sum))?;
        Ok(match self.result {
            SumType::Signed => ScalarValue::Int64(sum.map(|sum| sum as i64)),
            SumType::Unsigned => ScalarValue::UInt64(sum.map(|sum| sum as u64)),
            SumType::Decimal(precision, scale) => ScalarValue::Decimal128(sum, precision, scale),
        })
    }

    /// The results of many groups; `None` where a group has no value.
    fn array(self, sums: Vec<i128>, seen: &[bool]) -> Result<ArrayRef> {
        for (sum, seen) in sums.iter().zip(seen) {
            if *seen {
                self.check(*sum)?;
            }
        }
        let nulls = nulls(seen);
        Ok(match self.result {
            SumType::Signed => Arc::new(Int64Array::new(sums.into_iter().map(|sum| sum as i64).collect(), nulls)),
            SumType::Unsigned => Arc::new(UInt64Array::new(sums.into_iter().map(|sum| sum as u64).collect(), nulls)),
            SumType::Decimal(precision, scale) => {
                Arc::new(Decimal128Array::new(sums.into(), nulls).with_precision_and_scale(precision, scale)?)
            }
        })
    }
}

fn nulls(seen: &[bool]) -> Option<arrow::buffer::NullBuffer> {
    seen.contains(&false).then(|| seen.iter().copied().collect())
}

/// Calls `$work` with the values of `$array` as a typed array and a conversion of one value to 128 bits.
macro_rules! with_values {
    ($number:expr, $array:expr, $work:expr) => {
        match $number.values {
            Summed::Signed => $work(typed::<Int64Type>($array)?, i128::from),
            Summed::Unsigned => $work(typed::<UInt64Type>($array)?, i128::from),
            Summed::Decimal => $work(typed::<Decimal128Type>($array)?, std::convert::identity),
        }
    };
}
use with_values;

/// The sum that is computed here, if it is.
fn number(args: &AccumulatorArgs<'_>) -> Option<SummedType> {
    SummedType::of(args.expr_fields.first()?.data_type(), args.return_field.data_type())
}

impl AggregateUDFImpl for CheckedSum {
    fn name(&self) -> &str {
        "sum"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [interval @ DataType::Interval(_)] => Ok(interval.clone()),
            [DataType::Int64 | DataType::UInt64] if !self.of_integers => Ok(SUM_OF_BIGINTS),
            _ => self.native.return_type(types),
        }
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        match number(&args) {
            Some(number) if args.is_distinct => Ok(Box::new(DistinctSum::new(number))),
            Some(number) => Ok(Box::new(SumAccumulator::new(number))),
            None => self.native.accumulator(args),
        }
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let values = args.input_fields.first().map(|field| field.data_type());
        if values.and_then(|values| SummedType::of(values, args.return_field.data_type())).is_none() {
            return self.native.state_fields(args);
        }
        let field = if args.is_distinct {
            let name = format_state_name(args.name, "sum distinct");
            Field::new_list(name, Field::new_list_field(PARTIAL, true), false)
        } else {
            Field::new(format_state_name(args.name, "sum"), PARTIAL, true)
        };
        Ok(vec![Arc::new(field)])
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        match number(&args) {
            Some(_) => !args.is_distinct,
            None => self.native.groups_accumulator_supported(args),
        }
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        match number(&args) {
            Some(number) => Ok(Box::new(GroupSums::new(number))),
            None => self.native.create_groups_accumulator(args),
        }
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        match number(&args) {
            Some(number) if args.is_distinct => Ok(Box::new(DistinctSum::new(number))),
            Some(number) => Ok(Box::new(SumAccumulator::new(number))),
            None => self.native.create_sliding_accumulator(args),
        }
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.native.documentation()
    }

    fn set_monotonicity(&self, data_type: &DataType) -> SetMonotonicity {
        self.native.inner().set_monotonicity(data_type)
    }
}
