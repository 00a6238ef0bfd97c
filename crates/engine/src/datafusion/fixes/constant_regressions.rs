//! `regr_r2(y, x)` where all y are the same: a line through them explains all of it, which is 1 in SQL. DataFusion says NULL.

use datafusion::error::Result;
use datafusion::functions_aggregate::regr::{regr_sxx_udaf, regr_syy_udaf};
use datafusion::logical_expr::expr::{AggregateFunction, WindowFunction, WindowFunctionParams};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawAggregateExpr, RawWindowExpr};
use datafusion::logical_expr::{AggregateUDF, Expr, WindowFunctionDefinition, lit, when};
use std::sync::Arc;

/// Plans `regr_r2`.
#[derive(Debug)]
pub(crate) struct ConstantRegressions;

impl ExprPlanner for ConstantRegressions {
    fn plan_aggregate(&self, call: RawAggregateExpr) -> Result<PlannerResult<RawAggregateExpr>> {
        if call.func.name() != "regr_r2" {
            return Ok(PlannerResult::Original(call));
        }
        let of = |function: Arc<AggregateUDF>| {
            Expr::AggregateFunction(AggregateFunction::new_udf(
                function,
                call.args.clone(),
                call.distinct,
                call.filter.clone(),
                call.order_by.clone(),
                call.null_treatment,
            ))
        };
        Ok(PlannerResult::Planned(with_constants(of, Arc::clone(&call.func))?))
    }

    fn plan_window(&self, call: RawWindowExpr) -> Result<PlannerResult<RawWindowExpr>> {
        let own = match &call.func_def {
            WindowFunctionDefinition::AggregateUDF(own) if own.name() == "regr_r2" => Arc::clone(own),
            _ => return Ok(PlannerResult::Original(call)),
        };
        let of = |function: Arc<AggregateUDF>| {
            let params = WindowFunctionParams {
                args: call.args.clone(),
                partition_by: call.partition_by.clone(),
                order_by: call.order_by.clone(),
                window_frame: call.window_frame.clone(),
                filter: call.filter.clone(),
                null_treatment: call.null_treatment,
                distinct: call.distinct,
            };
            let fun = WindowFunctionDefinition::AggregateUDF(function);
            Expr::WindowFunction(Box::new(WindowFunction { fun, params }))
        };
        Ok(PlannerResult::Planned(with_constants(of, own)?))
    }
}

/// 1 where y is constant and x is not, else what the function gives.
fn with_constants(of: impl Fn(Arc<AggregateUDF>) -> Expr, own: Arc<AggregateUDF>) -> Result<Expr> {
    let is_constant = of(regr_syy_udaf()).eq(lit(0.0)).and(of(regr_sxx_udaf()).gt(lit(0.0)));
    when(is_constant, lit(1.0)).otherwise(of(own))
}
