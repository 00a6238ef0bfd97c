//! Sums of INTEGERs. PostgreSQL's sum of INTEGERs is a BIGINT, that of BIGINTs has any number of digits. A literal is planned as a
//! BIGINT here, and `i + 1` with it, though it is an INTEGER there; so the sum of such an expression is told by what it is made of, also
//! where that is another query's column.

use arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, ExprSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::{AggregateUDF, Expr, ExprSchemable, Operator, WindowFunctionDefinition};
use std::collections::HashSet;
use std::sync::Arc;

/// Columns of a statement's plan that are INTEGERs or SMALLINTs in PostgreSQL, whatever they are here. Each name occurs once.
#[derive(Debug, Default)]
pub(crate) struct IntegerColumns(HashSet<String>);

impl IntegerColumns {
    /// Notes those columns of a plan that have such a type.
    pub(crate) fn note_typed(&mut self, schema: &DFSchema) {
        let typed = schema.fields().iter().filter(|field| is_small_type(field.data_type()));
        self.0.extend(typed.map(|field| field.name().clone()));
    }

    /// Notes whether a column is one.
    pub(crate) fn note(&mut self, column: &Column, is_integer: bool) {
        if is_integer {
            self.0.insert(column.name.clone());
        } else {
            self.0.remove(&column.name);
        }
    }

    /// Whether a column is known to be one.
    pub(crate) fn has(&self, column: &Column) -> bool {
        self.0.contains(&column.name)
    }

    /// Whether PostgreSQL has an INTEGER or a SMALLINT for an expression of such columns.
    pub(crate) fn are(&self, expression: &Expr) -> bool {
        is_integer(expression, &DFSchema::empty(), self)
    }
}

/// An expression with `sum` in the place of the sums of INTEGERs. Its columns are those of `schema`.
pub(super) fn with_sum(
    expression: Expr,
    schema: &DFSchema,
    known: &IntegerColumns,
    sum: &Arc<AggregateUDF>,
) -> Result<Expr> {
    let changed = expression.transform_down(|part| match part {
        Expr::AggregateFunction(mut call) if is_sum(call.func.name(), &call.params.args, schema, known) => {
            call.func = Arc::clone(sum);
            Ok(Transformed::yes(Expr::AggregateFunction(call)))
        }
        Expr::WindowFunction(mut call) if is_sum(call.fun.name(), &call.params.args, schema, known) => {
            call.fun = WindowFunctionDefinition::AggregateUDF(Arc::clone(sum));
            Ok(Transformed::yes(Expr::WindowFunction(call)))
        }
        part => Ok(Transformed::no(part)),
    });
    Ok(changed?.data)
}

/// Whether a call is the sum of INTEGERs.
fn is_sum(name: &str, arguments: &[Expr], schema: &DFSchema, known: &IntegerColumns) -> bool {
    matches!(arguments, [argument] if name == "sum" && is_integer(argument, schema, known))
}

/// Whether PostgreSQL has an INTEGER or a SMALLINT for an expression; true for a NULL without a type.
fn is_integer(expression: &Expr, schema: &dyn ExprSchema, known: &IntegerColumns) -> bool {
    let own = |part: &Expr| is_integer(part, schema, known);
    let first = |arguments: &[Expr]| arguments.first().is_some_and(own);
    match expression {
        Expr::Column(column) | Expr::OuterReferenceColumn(_, column) if known.has(column) => true,
        Expr::Cast(cast) => is_small_type(cast.field.data_type()),
        Expr::ScalarSubquery(query) => query.subquery.schema().columns().first().is_some_and(|own| known.has(own)),
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
        Expr::AggregateFunction(call) => match call.func.name() {
            "min" | "max" | "first_value" | "last_value" | "nth_value" => first(&call.params.args),
            _ => has_small_type(expression, schema),
        },
        Expr::WindowFunction(call) => match call.fun.name() {
            "min" | "max" | "first_value" | "last_value" | "nth_value" | "lag" | "lead" => first(&call.params.args),
            _ => has_small_type(expression, schema),
        },
        _ => has_small_type(expression, schema),
    }
}

fn has_small_type(expression: &Expr, schema: &dyn ExprSchema) -> bool {
    expression.get_type(schema).is_ok_and(|own| is_small_type(&own))
}

fn is_small_type(data_type: &DataType) -> bool {
    data_type.is_integer() && !matches!(data_type, DataType::Int64 | DataType::UInt64)
}

/// Whether a literal is written as an INTEGER is.
fn is_small(value: &ScalarValue) -> bool {
    match value {
        ScalarValue::Int64(Some(value)) => i32::try_from(*value).is_ok(),
        value => value.data_type().is_integer() && !matches!(value, ScalarValue::Int64(_) | ScalarValue::UInt64(_)),
    }
}
