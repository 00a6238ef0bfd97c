//! Calls and operators that are others for the types of their arguments: a substring by a pattern, spans of time whose end is an
//! interval, and signs before what has none.

use crate::Result;
use crate::casts::value_of_text;
use crate::error::invalid;
use crate::functions::{SUBSTRING_OF, SUBSTRING_SIMILAR};
use crate::temporal::{OVERLAPS, SERIES};
use crate::type_name::type_name;
use arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result as DataFusionResult;
use datafusion::execution::SessionState;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{BinaryExpr, Expr as Planned, ExprSchemable, Operator};

/// An expression whose calls are those that the types of their arguments ask for.
pub(super) fn with_types(planned: Planned, schema: &DFSchema, state: &SessionState) -> Result<Planned> {
    Ok(planned.transform_up(|part| with_type(part, schema, state))?.data)
}

fn with_type(part: Planned, schema: &DFSchema, state: &SessionState) -> DataFusionResult<Transformed<Planned>> {
    match part {
        Planned::Negative(inner) => {
            let own = inner.get_type(schema)?;
            let has_sign =
                own.is_numeric() || own.is_null() || matches!(own, DataType::Interval(_) | DataType::Duration(_));
            if has_sign || own.is_string() {
                return Ok(Transformed::no(Planned::Negative(inner)));
            }
            let own = type_name(&own);
            invalid!(UndefinedFunction, "there is no sign - before {own}: numbers and intervals have one")
        }
        Planned::ScalarFunction(call) if matches!(call.func.name(), "substr" | "substring") => {
            let is_pattern = |at: usize| call.args.get(at).is_some_and(|own| is_text(own, schema));
            let name = match call.args.len() {
                2 if is_pattern(1) => SUBSTRING_OF,
                3 if is_pattern(1) && is_pattern(2) => SUBSTRING_SIMILAR,
                _ => return Ok(Transformed::no(Planned::ScalarFunction(call))),
            };
            match state.scalar_functions().get(name) {
                Some(function) => Ok(Transformed::yes(function.call(call.args))),
                None => Ok(Transformed::no(Planned::ScalarFunction(call))),
            }
        }
        Planned::ScalarFunction(ScalarFunction { func, mut args }) if func.name() == OVERLAPS => {
            for at in [1, 3] {
                let is_span = matches!(args.get(at).map(|own| own.get_type(schema)), Some(Ok(DataType::Interval(_))));
                if is_span {
                    let (start, span) = (Box::new(args[at - 1].clone()), Box::new(std::mem::take(&mut args[at])));
                    args[at] = later(BinaryExpr { left: start, op: Operator::Plus, right: span }, schema, state)?;
                }
            }
            read(ScalarFunction { func, args }, schema)
        }
        Planned::ScalarFunction(call) if call.func.name() == SERIES => read(call, schema),
        other => Ok(Transformed::no(other)),
    }
}

/// A time and an interval, by the operator that these types have.
fn later(sum: BinaryExpr, schema: &DFSchema, state: &SessionState) -> DataFusionResult<Planned> {
    use datafusion::logical_expr::planner::{PlannerResult, RawBinaryExpr};
    use datafusion::sql::sqlparser::ast::BinaryOperator;
    let mut raw = RawBinaryExpr { op: BinaryOperator::Plus, left: *sum.left, right: *sum.right };
    for planner in state.expr_planners() {
        match planner.plan_binary_op(raw, schema)? {
            PlannerResult::Planned(planned) => return Ok(planned),
            PlannerResult::Original(own) => raw = own,
        }
    }
    let RawBinaryExpr { left, right, .. } = raw;
    Ok(Planned::BinaryExpr(BinaryExpr { left: Box::new(left), op: Operator::Plus, right: Box::new(right) }))
}

/// A call whose texts in quotes are read as the types that the function takes.
fn read(call: ScalarFunction, schema: &DFSchema) -> DataFusionResult<Transformed<Planned>> {
    let ScalarFunction { func, mut args } = call;
    let types = args.iter().map(|own| own.get_type(schema)).collect::<DataFusionResult<Vec<_>>>()?;
    for (argument, data_type) in args.iter_mut().zip(func.coerce_types(&types)?) {
        let Planned::Literal(value, _) = &*argument else { continue };
        if let Some(Some(text)) = value.try_as_str() {
            *argument = Planned::Literal(value_of_text(text, &data_type)?, None);
        }
    }
    Ok(Transformed::yes(Planned::ScalarFunction(ScalarFunction { func, args })))
}

fn is_text(argument: &Planned, schema: &DFSchema) -> bool {
    argument.get_type(schema).is_ok_and(|own| own.is_string())
}
