//! A scalar subquery that finds no row is NULL, though its column may be one that has no NULLs. DataFusion takes the column's
//! word for it: of `coalesce((SELECT a FROM t WHERE …), 0)` only the subquery would be left. Here such a column goes through a
//! function that gives what it is given, and may give NULL.

use crate::optimizer::has_a_row;
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::Column;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, LogicalPlanBuilder, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Subquery, Volatility,
};
use std::sync::Arc;

/// A plan whose scalar subqueries may be NULL where they may have no row.
pub(super) fn or_null(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut any = false;
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expression| {
            expression.apply(|part| {
                any |= matches!(part, Expr::ScalarSubquery(subquery) if claims_a_row(subquery));
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    if !any {
        return Ok(plan);
    }
    let changed = plan.transform_up_with_subqueries(|node| {
        let node = node.map_expressions(|expression| {
            expression.transform_up(|part| match part {
                Expr::ScalarSubquery(subquery) if claims_a_row(&subquery) => {
                    Ok(Transformed::yes(Expr::ScalarSubquery(nullable(&subquery)?)))
                }
                other => Ok(Transformed::no(other)),
            })
        })?;
        node.map_data(LogicalPlan::recompute_schema)
    })?;
    Ok(changed.data)
}

/// Whether a subquery has no NULLs by its column's word alone. Of those that look at outer columns DataFusion makes joins,
/// which know better.
fn claims_a_row(subquery: &Subquery) -> bool {
    let schema = subquery.subquery.schema();
    let has_none = schema.fields().first().is_some_and(|field| !field.is_nullable());
    has_none && subquery.outer_ref_columns.is_empty() && !has_a_row(&subquery.subquery)
}

fn nullable(subquery: &Subquery) -> Result<Subquery> {
    let plan = subquery.subquery.as_ref().clone();
    let (qualifier, field) = plan.schema().qualified_field(0);
    let (column, name) = (Expr::Column(Column::from((qualifier, field))), field.name().clone());
    let value = ScalarUDF::from(OrNull::new()).call(vec![column]).alias(name);
    Ok(subquery.with_plan(Arc::new(LogicalPlanBuilder::from(plan).project([value])?.build()?)))
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
