//! Puts checked operators in the place of those that wrap.

use crate::arithmetic::function::Checked;
use crate::rewrite::{columns_around, has_expression};
use arrow::datatypes::DataType;
use datafusion::common::ExprSchema;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator, ScalarUDF, ScalarUDFImpl};
use std::sync::Arc;

/// The analyzer rule; runs after type coercion.
#[derive(Debug)]
pub(crate) struct CheckedArithmetic {
    add: Arc<ScalarUDF>,
    subtract: Arc<ScalarUDF>,
    multiply: Arc<ScalarUDF>,
    negate: Arc<ScalarUDF>,
}

impl CheckedArithmetic {
    /// The rule.
    pub(crate) fn new() -> Self {
        let function = |checked| Arc::new(ScalarUDF::new_from_impl(checked));
        Self {
            add: function(Checked::new(Operator::Plus)),
            subtract: function(Checked::new(Operator::Minus)),
            multiply: function(Checked::new(Operator::Multiply)),
            negate: function(Checked::negate()),
        }
    }

    /// `expression` with a checked operator at its top, when it needs one.
    fn check(&self, expression: Expr, schema: &dyn ExprSchema) -> Result<Transformed<Expr>> {
        match expression {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                let function = match op {
                    Operator::Plus => &self.add,
                    Operator::Minus => &self.subtract,
                    Operator::Multiply => &self.multiply,
                    _ => return Ok(Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right }))),
                };
                let types = type_of(&left, schema).and_then(|left| Ok((left, type_of(&right, schema)?)));
                match types {
                    Ok((a, b)) if Checked::takes(op, &a, &b) => {
                        Ok(Transformed::yes(function.call(vec![*left, *right])))
                    }
                    _ => Ok(Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right }))),
                }
            }
            Expr::Negative(inner) => match type_of(&inner, schema) {
                Ok(data_type) if data_type.is_signed_integer() => Ok(Transformed::yes(self.negate.call(vec![*inner]))),
                _ => Ok(Transformed::no(Expr::Negative(inner))),
            },
            other => Ok(Transformed::no(other)),
        }
    }

    fn plan(&self, plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        if !has_expression(&plan, calculates)? {
            return Ok(Transformed::no(plan));
        }
        let schema = columns_around(&plan)?;
        let plan = plan.map_expressions(|expression| expression.transform_up(|part| self.check(part, &schema)))?;
        if plan.transformed { plan.map_data(LogicalPlan::recompute_schema) } else { Ok(plan) }
    }
}

/// The type of an expression. DataFusion would make a name for each call within it.
fn type_of(expression: &Expr, schema: &dyn ExprSchema) -> Result<DataType> {
    let Expr::ScalarFunction(call) = expression else { return expression.get_type(schema) };
    match call.func.inner().downcast_ref::<Checked>() {
        Some(own) => {
            let types = call.args.iter().map(|argument| type_of(argument, schema)).collect::<Result<Vec<_>>>()?;
            own.return_type(&types)
        }
        None => expression.get_type(schema),
    }
}

/// An operator that may need a check.
fn calculates(expression: &Expr) -> bool {
    match expression {
        Expr::BinaryExpr(binary) => matches!(binary.op, Operator::Plus | Operator::Minus | Operator::Multiply),
        other => matches!(other, Expr::Negative(_)),
    }
}

impl datafusion::optimizer::AnalyzerRule for CheckedArithmetic {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(plan.transform_up_with_subqueries(|plan| self.plan(plan))?.data)
    }

    fn name(&self) -> &str {
        "checked_arithmetic"
    }
}
