//! The aggregates for DataFusion: their names, types and WITHIN GROUP.

use crate::error::invalid;
use crate::percentiles::distinct::Distinct;
use crate::percentiles::fractions::{AskedFractions, Fractions, Statistic};
use crate::percentiles::groups::Groups;
use crate::percentiles::kept::{Kept, KeptKind, has_order};
use crate::percentiles::one_group::OneGroup;
use crate::type_name::type_name;
use arrow::datatypes::{DataType, Field, FieldRef, IntervalMonthDayNano, IntervalUnit};
use datafusion::error::Result;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawAggregateExpr};
use datafusion::logical_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Expr, GroupsAccumulator, Signature, Volatility,
};
use std::sync::Arc;

/// All of them.
pub(crate) fn percentiles() -> Vec<Arc<AggregateUDF>> {
    let all = [Statistic::Continuous, Statistic::Discrete, Statistic::Median, Statistic::Mode];
    all.map(|statistic| Arc::new(AggregateUDF::new_from_impl(Percentile::new(statistic, false)))).into()
}

/// An aggregate.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Percentile {
    statistic: Statistic,
    /// Values are counted from the largest: WITHIN GROUP says so, and is a part of the function once it was planned. As an
    /// aggregate's ORDER BY it would have the input sorted.
    descending: bool,
    name: String,
    aliases: Vec<String>,
    signature: Signature,
}

impl Percentile {
    fn new(statistic: Statistic, descending: bool) -> Self {
        let aliases = match statistic {
            Statistic::Continuous => vec!["quantile_cont".to_owned()],
            Statistic::Discrete => vec!["quantile_disc".to_owned()],
            Statistic::Median | Statistic::Mode => Vec::new(),
        };
        let name = if descending { format!("{} DESC", statistic.name()) } else { statistic.name().to_owned() };
        Self { statistic, descending, name, aliases, signature: Signature::user_defined(Volatility::Immutable) }
    }

    fn asked(&self, call: &AccumulatorArgs<'_>) -> Result<AskedFractions> {
        let fractions = match self.statistic {
            Statistic::Median | Statistic::Mode => Fractions::One(Some(0.5)),
            other => Fractions::of(&call.exprs[1], other.name())?,
        };
        Ok(AskedFractions { statistic: self.statistic, descending: self.descending, fractions })
    }

    /// The type that values are cast to.
    fn value_type(&self, given: &DataType) -> Result<DataType> {
        let interval = DataType::Interval(IntervalUnit::MonthDayNano);
        Ok(match (self.statistic, given) {
            (_, DataType::Dictionary(_, value)) => self.value_type(value)?,
            (_, DataType::Interval(_)) => interval,
            (Statistic::Discrete | Statistic::Mode, DataType::Null) => DataType::Utf8View,
            (
                Statistic::Discrete | Statistic::Mode,
                DataType::Decimal32(digits, scale) | DataType::Decimal64(digits, scale),
            ) => DataType::Decimal128(*digits, *scale),
            (Statistic::Discrete | Statistic::Mode, other) if has_order(other) => other.clone(),
            (statistic @ (Statistic::Discrete | Statistic::Mode), other) => {
                let text = format!("{} of {} is not supported", statistic.name(), type_name(other));
                return Err(crate::Error::Unsupported(text).into());
            }
            // With a digit more the mean of two is exact.
            (
                Statistic::Median,
                DataType::Decimal32(digits, scale)
                | DataType::Decimal64(digits, scale)
                | DataType::Decimal128(digits, scale),
            ) => {
                let more = u8::from(*digits < 38);
                DataType::Decimal128(digits + more, scale + more as i8)
            }
            (_, other) if other.is_numeric() || other.is_null() => DataType::Float64,
            (statistic, other) => {
                return invalid!(
                    UndefinedFunction,
                    "{} is of numbers and intervals, not of {}{}",
                    statistic.name(),
                    type_name(other),
                    if has_order(other) { "; percentile_disc takes it" } else { "" }
                );
            }
        })
    }

    /// The type that the fraction is cast to.
    fn fraction_type(&self, given: &DataType) -> Result<DataType> {
        let is_number = |own: &DataType| own.is_numeric() || own.is_null() || own.is_string();
        match given {
            DataType::List(inner) | DataType::LargeList(inner) | DataType::FixedSizeList(inner, _)
                if is_number(inner.data_type()) =>
            {
                Ok(DataType::new_list(DataType::Float64, true))
            }
            number if is_number(number) => Ok(DataType::Float64),
            other => invalid!(
                UndefinedFunction,
                "{} takes a number from 0 to 1, or an array of such, not {}",
                self.statistic.name(),
                type_name(other)
            ),
        }
    }
}

/// An accumulator of the call's type.
macro_rules! keeping {
    ($keeper:ident, $asked:expr, $kept:expr) => {
        match $kept.kind {
            KeptKind::Integer => Box::new($keeper::<i64>::new($asked, $kept)),
            KeptKind::Float => Box::new($keeper::<f64>::new($asked, $kept)),
            KeptKind::Decimal => Box::new($keeper::<i128>::new($asked, $kept)),
            KeptKind::Interval => Box::new($keeper::<IntervalMonthDayNano>::new($asked, $kept)),
            KeptKind::Row => Box::new($keeper::<Box<[u8]>>::new($asked, $kept)),
        }
    };
}

impl AggregateUDFImpl for Percentile {
    fn name(&self) -> &str {
        &self.name
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match (self.statistic, types) {
            (Statistic::Median | Statistic::Mode, [value]) => Ok(vec![self.value_type(value)?]),
            (Statistic::Continuous | Statistic::Discrete, [value, fraction]) => {
                Ok(vec![self.value_type(value)?, self.fraction_type(fraction)?])
            }
            (Statistic::Median, other) => {
                invalid!(UndefinedFunction, "median takes one argument, not {}", other.len())
            }
            (Statistic::Mode, _) => invalid!(UndefinedFunction, "mode is written mode() WITHIN GROUP (ORDER BY x)"),
            (statistic, _) => invalid!(
                UndefinedFunction,
                "{} is written {}(0.5) WITHIN GROUP (ORDER BY x)",
                statistic.name(),
                statistic.name()
            ),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(Fractions::result_type(types.get(1), types[0].clone()))
    }

    fn accumulator(&self, call: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let (asked, kept) = (self.asked(&call)?, Kept::of(call.expr_fields[0].data_type())?);
        Ok(if call.is_distinct { keeping!(Distinct, asked, kept) } else { keeping!(OneGroup, asked, kept) })
    }

    fn groups_accumulator_supported(&self, call: AccumulatorArgs<'_>) -> bool {
        !call.is_distinct
    }

    fn create_groups_accumulator(&self, call: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        let (asked, kept) = (self.asked(&call)?, Kept::of(call.expr_fields[0].data_type())?);
        Ok(keeping!(Groups, asked, kept))
    }

    fn state_fields(&self, call: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let kept = Kept::of(call.input_fields[0].data_type())?;
        Ok(vec![Arc::new(Field::new(format_state_name(call.name, "values"), kept.list_type(), true))])
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn supports_within_group_clause(&self) -> bool {
        self.statistic != Statistic::Median
    }
}

/// Plans WITHIN GROUP, and ORDER BY within median, which changes nothing.
#[derive(Debug)]
pub(crate) struct WithinGroup;

impl ExprPlanner for WithinGroup {
    fn plan_aggregate(&self, call: RawAggregateExpr) -> Result<PlannerResult<RawAggregateExpr>> {
        let Some(own) = call.func.inner().downcast_ref::<Percentile>() else {
            return Ok(PlannerResult::Original(call));
        };
        let descending = own.statistic != Statistic::Median && call.order_by.first().is_some_and(|by| !by.asc);
        let own = Percentile::new(own.statistic, descending);
        Ok(PlannerResult::Planned(Expr::AggregateFunction(AggregateFunction::new_udf(
            Arc::new(AggregateUDF::new_from_impl(own)),
            call.args,
            call.distinct,
            call.filter,
            Vec::new(),
            call.null_treatment,
        ))))
    }
}
