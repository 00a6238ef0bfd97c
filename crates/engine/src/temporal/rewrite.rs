//! Functions, aggregates and windows of intervals in the place of those that DataFusion has for other types, before types
//! are coerced.

use crate::error::invalid;
use crate::temporal::aggregates::aggregate_of_intervals;
use crate::temporal::functions::{choice_of_intervals, interval_length, interval_negative};
use crate::temporal::interval;
use crate::temporal::text::{Fields, read_interval};
use arrow::datatypes::{DataType, IntervalMonthDayNano, TimeUnit};
use datafusion::common::{ExprSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::{
    Expr, ExprSchemable, WindowFrame, WindowFrameBound, WindowFrameUnits, WindowFunctionDefinition, cast,
};

/// Makes the top of an expression what it is of intervals; false when there is nothing to do.
pub(crate) fn of_intervals(expression: &mut Expr, schema: &dyn ExprSchema) -> bool {
    match expression {
        Expr::ScalarFunction(call) => match choice_of_intervals(call.name()) {
            Some(choice) if is_interval(&call.args, schema) => {
                *expression = choice.build().call(std::mem::take(&mut call.args));
                true
            }
            _ => false,
        },
        Expr::AggregateFunction(call) => match aggregate_of_intervals(call.func.name()) {
            Some(function) if is_interval(&call.params.args, schema) => {
                call.func = function;
                true
            }
            _ => false,
        },
        Expr::WindowFunction(call) => window(call, schema),
        Expr::Negative(inner) if is_interval(std::slice::from_ref(inner.as_ref()), schema) => {
            *expression = interval_negative().build().call(vec![std::mem::take(inner.as_mut())]);
            true
        }
        _ => false,
    }
}

/// Windows by their own rules: what they order by, and aggregates of intervals.
fn window(call: &mut WindowFunction, schema: &dyn ExprSchema) -> bool {
    let ordered = order_by_integers(call, schema);
    let WindowFunctionDefinition::AggregateUDF(own) = &call.fun else { return ordered };
    match aggregate_of_intervals(own.name()) {
        Some(function) if is_interval(&call.params.args, schema) => {
            call.fun = WindowFunctionDefinition::AggregateUDF(function);
            true
        }
        _ => ordered,
    }
}

/// Gives a window that orders by a TIME or an interval an integer to order by: DataFusion has no ranges over these. Where
/// the frame has an offset, that says what it counts, and nothing is changed.
fn order_by_integers(call: &mut WindowFunction, schema: &dyn ExprSchema) -> bool {
    let has_offset = has_offset(&call.params.window_frame);
    let mut changed = false;
    for term in call.params.order_by.iter_mut().filter(|_| !has_offset) {
        let own = std::mem::take(&mut term.expr);
        (term.expr, changed) = match own.get_type(schema) {
            Ok(DataType::Time64(_)) => (cast(own, DataType::Int64), true),
            Ok(DataType::Time32(_)) => (cast(own, DataType::Int32), true),
            Ok(DataType::Interval(_)) => (interval_length().build().call(vec![own]), true),
            _ => (own, changed),
        };
    }
    changed
}

/// Makes the keys of `RANGE … PRECEDING` numbers where DataFusion can add nothing to them, and refuses those that nothing can be added to.
/// True when something changed.
pub(crate) fn range_of_numbers(call: &mut WindowFunction, schema: &dyn ExprSchema) -> Result<bool> {
    let frame = &call.params.window_frame;
    if frame.units != WindowFrameUnits::Range || !has_offset(frame) {
        return Ok(false);
    }
    let Some(term) = call.params.order_by.first_mut() else { return Ok(false) };
    let own = term.expr.get_type(schema)?;
    if !(own.is_numeric() || own.is_temporal() || own.is_null()) {
        return invalid!(
            UndefinedFunction,
            "RANGE with an offset is not there for '{}', which is {}: use ROWS or GROUPS",
            term.expr.schema_name(),
            crate::type_name::type_name(&own)
        );
    }
    // What an interval counts in units of the key.
    let in_units: fn(&DataType, IntervalMonthDayNano) -> i128 = match &own {
        DataType::Interval(_) => |_, offset| interval::length(offset),
        // A time has no place for days.
        DataType::Time64(_) | DataType::Time32(_) => |own, offset| match own {
            DataType::Time64(TimeUnit::Nanosecond) => offset.nanoseconds.into(),
            DataType::Time64(_) => (offset.nanoseconds / 1_000).into(),
            DataType::Time32(TimeUnit::Millisecond) => (offset.nanoseconds / 1_000_000).into(),
            _ => (offset.nanoseconds / 1_000_000_000).into(),
        },
        _ => |_, _| 0,
    };
    let is_number = own.is_numeric();
    let mut frame = (*frame).clone();
    for bound in [&mut frame.start_bound, &mut frame.end_bound] {
        let (WindowFrameBound::Preceding(ScalarValue::Utf8(Some(text)))
        | WindowFrameBound::Following(ScalarValue::Utf8(Some(text)))) = bound
        else {
            continue;
        };
        if is_number && text.parse::<f64>().is_err() || !is_number && text.parse::<f64>().is_ok() {
            let wanted = if is_number { "a number" } else { "an interval" };
            return invalid!(
                UndefinedFunction,
                "RANGE over '{}', which is {}, takes {wanted} as its offset",
                term.expr.schema_name(),
                crate::type_name::type_name(&own)
            );
        }
        if matches!(own, DataType::Interval(_) | DataType::Time64(_) | DataType::Time32(_)) {
            let offset = match read_interval(text, Fields::default()) {
                Ok(offset) => offset,
                Err(error) => return Err(crate::Error::InvalidInput(error.problem(text, "INTERVAL")).into()),
            };
            *text = in_units(&own, offset).to_string();
        }
    }
    call.params.window_frame = frame;
    let key = std::mem::take(&mut term.expr);
    let (key, changed) = match own {
        DataType::Time64(_) => (cast(key, DataType::Int64), true),
        DataType::Time32(_) => (cast(key, DataType::Int32), true),
        DataType::Interval(_) => (interval_length().build().call(vec![key]), true),
        _ => (key, false),
    };
    term.expr = key;
    Ok(changed)
}

fn has_offset(frame: &WindowFrame) -> bool {
    [&frame.start_bound, &frame.end_bound].into_iter().any(|bound| match bound {
        WindowFrameBound::Preceding(offset) | WindowFrameBound::Following(offset) => !offset.is_null(),
        WindowFrameBound::CurrentRow => false,
    })
}

fn is_interval(arguments: &[Expr], schema: &dyn ExprSchema) -> bool {
    let is_such = |argument: &Expr| argument.get_type(schema).is_ok_and(|own| matches!(own, DataType::Interval(_)));
    arguments.first().is_some_and(is_such)
}
