//! `string_agg(x, ',' ORDER BY k)` as the strings of `array_agg(x ORDER BY k)`, which each sort their own rows. DataFusion
//! sorts the input of all aggregates of a query once for its `string_agg`, and refuses two orders.

use datafusion::error::Result;
use datafusion::functions::core::expr_fn::coalesce;
use datafusion::functions_aggregate::array_agg::array_agg_udaf;
use datafusion::functions_nested::string::array_to_string;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawAggregateExpr};
use datafusion::logical_expr::{Expr, lit};

/// Plans `string_agg` with ORDER BY.
#[derive(Debug)]
pub(crate) struct OrderedStrings;

impl ExprPlanner for OrderedStrings {
    fn plan_aggregate(&self, call: RawAggregateExpr) -> Result<PlannerResult<RawAggregateExpr>> {
        let [text, separator] = call.args.as_slice() else { return Ok(PlannerResult::Original(call)) };
        if call.func.name() != "string_agg" || call.order_by.is_empty() {
            return Ok(PlannerResult::Original(call));
        }
        // Without a separator the texts stand side by side; an array's would be NULL.
        let separator = coalesce(vec![separator.clone(), lit("")]);
        // Of NULLs alone there is no string, while an array of them has an empty one.
        let is_some = text.clone().is_not_null();
        let filter = call.filter.map_or(is_some.clone(), |filter| filter.and(is_some));
        let texts = Expr::AggregateFunction(AggregateFunction::new_udf(
            array_agg_udaf(),
            vec![text.clone()],
            call.distinct,
            Some(Box::new(filter)),
            call.order_by,
            call.null_treatment,
        ));
        Ok(PlannerResult::Planned(array_to_string(texts, separator)))
    }
}
