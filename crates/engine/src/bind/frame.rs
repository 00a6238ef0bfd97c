//! Where the frame of a window begins and ends: offsets are constants of any form, computed here, as DataFusion takes plain numbers.

use crate::bind::binder::Binder;
use crate::bind::error;
use crate::bind::expression::NameContext;
use crate::casts::{Failing, convert};
use crate::temporal::interval_length;
use crate::type_name::type_name;
use crate::{Error, Result};
use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Expr as Planned, LogicalPlan, LogicalPlanBuilder};
use datafusion::sql::sqlparser::ast::{Expr, Spanned, Value, WindowFrame, WindowFrameBound, WindowFrameUnits};
use gingham_storage::SqlState;

impl Binder<'_> {
    /// Puts numbers, or texts of intervals, in the place of a frame's offsets.
    pub(super) fn offsets(&mut self, frame: &mut WindowFrame, around: NameContext<'_>) -> Result<()> {
        let units = frame.units;
        for bound in std::iter::once(&mut frame.start_bound).chain(frame.end_bound.as_mut()) {
            if let WindowFrameBound::Preceding(Some(offset)) | WindowFrameBound::Following(Some(offset)) = bound {
                let value = self.offset(offset, around)?;
                let text = match units {
                    WindowFrameUnits::Range => distance(&value),
                    WindowFrameUnits::Rows | WindowFrameUnits::Groups => count(&value),
                };
                let Some((text, is_negative)) = text else {
                    let what = match units {
                        WindowFrameUnits::Range => "a number or an interval",
                        _ => "a whole number",
                    };
                    let given = type_name(&value.data_type());
                    return Err(error::invalid(
                        SqlState::DatatypeMismatch,
                        format!("{units} takes {what} as its offset, not {given}"),
                        offset.span(),
                    ));
                };
                if is_negative || value.is_null() {
                    let what = if value.is_null() { "NULL" } else { "negative" };
                    return Err(error::invalid(
                        SqlState::InvalidPrecedingOrFollowingSize,
                        format!("the offset of {units} can't be {what}"),
                        offset.span(),
                    ));
                }
                **offset = Expr::value(Value::Number(text, false));
            }
        }
        Ok(())
    }

    /// The value of an offset.
    fn offset(&mut self, offset: &Expr, around: NameContext<'_>) -> Result<ScalarValue> {
        let planned = self.expression(offset, around)?;
        let refused = || {
            error::invalid(
                SqlState::InvalidColumnReference,
                format!("the offset of a frame must be the same for all rows, which {offset} is not"),
                offset.span(),
            )
        };
        if planned.any_column_refs() || crate::bind::functions::looks_outside(&planned) {
            return Err(refused());
        }
        let plan = LogicalPlanBuilder::empty(true).project([planned.alias("offset")])?.build()?;
        let LogicalPlan::Projection(projection) = self.analyzed(plan)? else {
            return Err(Error::Internal(format!("{offset} is a value")));
        };
        let [value] = projection.expr.as_slice() else {
            return Err(Error::Internal(format!("{offset} is one value")));
        };
        match self.simplifier().simplify(value.clone().unalias())? {
            Planned::Literal(value, _) => Ok(value),
            _ => Err(refused()),
        }
    }
}

/// A number of rows or groups, and whether it is negative; `None` for what is none.
fn count(value: &ScalarValue) -> Option<(String, bool)> {
    let data_type = value.data_type();
    let is_count = data_type.is_integer() || data_type.is_decimal() || data_type.is_null();
    let whole = convert(&value.to_array().ok()?, &DataType::Int64, Failing::Error).ok()?;
    written(&ScalarValue::try_from_array(&whole, 0).ok()?).filter(|_| is_count)
}

/// A distance between keys, and whether it is negative; `None` for what is none.
fn distance(value: &ScalarValue) -> Option<(String, bool)> {
    match value {
        ScalarValue::IntervalMonthDayNano(Some(own)) => {
            let (months, days, nanoseconds) = (own.months, own.days, own.nanoseconds);
            let sign = if nanoseconds < 0 { "-" } else { "" };
            let (seconds, rest) =
                (nanoseconds.unsigned_abs() / 1_000_000_000, nanoseconds.unsigned_abs() % 1_000_000_000);
            let text = format!("{months} months {days} days {sign}{seconds}.{rest:09} seconds");
            Some((text, interval_length(*own) < 0))
        }
        ScalarValue::Utf8(_) | ScalarValue::Utf8View(_) => {
            let text = value.try_as_str()??.trim().to_owned();
            let is_negative = text.starts_with('-');
            Some((text, is_negative))
        }
        other => {
            let data_type = other.data_type();
            let is_distance = data_type.is_numeric() || data_type.is_null();
            written(other).filter(|_| is_distance)
        }
    }
}

/// A number as text, and whether it is negative.
fn written(value: &ScalarValue) -> Option<(String, bool)> {
    let text = arrow::util::display::array_value_to_string(&value.to_array().ok()?, 0).ok()?;
    let is_negative = text.starts_with('-');
    Some((text, is_negative))
}
