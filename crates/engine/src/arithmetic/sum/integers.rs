//! Sums of INTEGERs. PostgreSQL's sum of INTEGERs is a BIGINT, that of BIGINTs has any number of digits. A literal is planned as a
//! BIGINT here, and `i + 1` with it, though it is an INTEGER there; so the sum of such an expression is told by what it is made of.

use arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, ExprSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::{AggregateUDF, Expr, ExprSchemable, Operator, WindowFunctionDefinition};
use std::sync::Arc;

/// An expression with `sum` in the place of the sums of INTEGERs. Its columns are those of `schema`.
pub(super) fn with_sum(expression: Expr, schema: &DFSchema, sum: &Arc<AggregateUDF>) -> Result<Expr> {
    let changed = expression.transform_down(|part| match part {
        Expr::AggregateFunction(mut call) if is_sum(call.func.name(), &call.params.args, schema) => {
            call.func = Arc::clone(sum);
            Ok(Transformed::yes(Expr::AggregateFunction(call)))
        }
        Expr::WindowFunction(mut call) if is_sum(call.fun.name(), &call.params.args, schema) => {
            call.fun = WindowFunctionDefinition::AggregateUDF(Arc::clone(sum));
            Ok(Transformed::yes(Expr::WindowFunction(call)))
        }
        part => Ok(Transformed::no(part)),
    });
    Ok(changed?.data)
}

/// Whether a call is the sum of INTEGERs.
fn is_sum(name: &str, arguments: &[Expr], schema: &DFSchema) -> bool {
    matches!(arguments, [argument] if name == "sum" && is_integer(argument, schema))
}

/// Whether PostgreSQL has an INTEGER or a SMALLINT for an expression; true for a NULL without a type.
fn is_integer(expression: &Expr, schema: &dyn ExprSchema) -> bool {
    let own = |part: &Expr| is_integer(part, schema);
    match expression {
        Expr::Alias(alias) => own(&alias.expr),
        Expr::Literal(value, _) => value.is_null() && value.data_type().is_null() || is_small(value),
        Expr::BinaryExpr(binary) => {
            let is_arithmetic = matches!(
                binary.op,
                Operator::Plus
                    | Operator::Minus
                    | Operator::Multiply
                    | Operator::Divide
                    | Operator::Modulo
                    | Operator::BitwiseAnd
                    | Operator::BitwiseOr
                    | Operator::BitwiseXor
                    | Operator::BitwiseShiftLeft
                    | Operator::BitwiseShiftRight
            );
            is_arithmetic && own(&binary.left) && own(&binary.right)
        }
        Expr::Negative(value) => own(value),
        Expr::Case(case) => {
            let results = case.when_then_expr.iter().map(|(_, then)| then.as_ref());
            results.chain(case.else_expr.as_deref()).all(own)
        }
        Expr::ScalarFunction(call) => match call.func.name() {
            "abs" | "coalesce" | "nvl" | "greatest" | "least" => call.args.iter().all(own),
            "nullif" => call.args.first().is_some_and(own),
            // The days between two dates.
            "days_between" => true,
            _ => has_small_type(expression, schema),
        },
        _ => has_small_type(expression, schema),
    }
}

fn has_small_type(expression: &Expr, schema: &dyn ExprSchema) -> bool {
    let is_small = |own: DataType| own.is_integer() && !matches!(own, DataType::Int64 | DataType::UInt64);
    expression.get_type(schema).is_ok_and(is_small)
}

/// Whether a literal is written as an INTEGER is.
fn is_small(value: &ScalarValue) -> bool {
    match value {
        ScalarValue::Int64(Some(value)) => i32::try_from(*value).is_ok(),
        value => value.data_type().is_integer() && !matches!(value, ScalarValue::Int64(_) | ScalarValue::UInt64(_)),
    }
}
