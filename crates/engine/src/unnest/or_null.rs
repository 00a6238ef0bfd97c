//! A scalar subquery that finds no row is NULL, though its column may be one that has no NULLs. DataFusion takes the column's
//! word for it: of `coalesce((SELECT a FROM t WHERE …), 0)` only the subquery would be left. Here such a column goes through a
//! function that gives what it is given, and may give NULL.

use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::Column;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, LogicalPlanBuilder, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility,
};
use std::sync::Arc;

/// A scalar subquery's plan whose column may be NULL where there may be no row.
pub(super) fn or_null(plan: LogicalPlan) -> Result<LogicalPlan> {
    // A column that may be NULL by its type is none any more when rules find that it is a constant.
    if has_a_row(&plan) {
        return Ok(plan);
    }
    let (qualifier, field) = plan.schema().qualified_field(0);
    let (column, name) = (Expr::Column(Column::from((qualifier, field))), field.name().clone());
    let value = ScalarUDF::from(OrNull::new()).call(vec![column]).alias(name);
    LogicalPlanBuilder::from(plan).project([value])?.build()
}

/// Whether a plan gives one row in any case.
fn has_a_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => has_a_row(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => has_a_row(&alias.input),
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        LogicalPlan::EmptyRelation(empty) => empty.produce_one_row,
        _ => false,
    }
}

const OR_NULL: &str = "gingham_or_null";

/// `gingham_or_null(value)`: the value.
#[derive(Debug, PartialEq, Eq, Hash)]
struct OrNull {
    signature: Signature,
}

impl OrNull {
    fn new() -> Self {
        // Of a literal it would be evaluated while the query is planned, and the literal is no NULL.
        Self { signature: Signature::any(1, Volatility::Volatile) }
    }
}

fn misused() -> DataFusionError {
    DataFusionError::Plan(format!("{OR_NULL}(value) takes one argument"))
}

impl ScalarUDFImpl for OrNull {
    fn name(&self) -> &str {
        OR_NULL
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        arguments.first().cloned().ok_or_else(misused)
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let field = arguments.arg_fields.first().ok_or_else(misused)?;
        Ok(Arc::new(field.as_ref().clone().with_nullable(true)))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        arguments.args.into_iter().next().ok_or_else(misused)
    }
}
