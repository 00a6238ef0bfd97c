//! Operators with a decimal, before types are coerced: quotients are a function of ours, and integer literals take no more
//! digits than they have.

use crate::arithmetic::function::Checked;
use crate::arithmetic::quotient::operand_type;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ExprSchema;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, Operator, ScalarUDF, cast};
use std::sync::{Arc, LazyLock};

/// `a / b` of decimals, or of a decimal and an integer, as a function of ours.
pub(super) fn quotient_of_decimals(binary: &BinaryExpr, schema: &dyn ExprSchema) -> Option<Expr> {
    if binary.op != Operator::Divide {
        return None;
    }
    let types = [binary.left.get_type(schema).ok()?, binary.right.get_type(schema).ok()?];
    if !types.iter().any(DataType::is_decimal) {
        return None;
    }
    let operand = |expression: &Expr, data_type: &DataType| {
        let literal = if let Expr::Literal(value, _) = expression { Some(value) } else { None };
        let wanted = operand_type(literal, data_type)?;
        Some(match (literal, wanted == *data_type) {
            (_, true) => expression.clone(),
            (Some(value), _) => Expr::Literal(value.cast_to(&wanted).ok()?, None),
            (None, _) => cast(expression.clone(), wanted),
        })
    };
    let operands = vec![operand(&binary.left, &types[0])?, operand(&binary.right, &types[1])?];
    Some(divide().call(operands))
}

/// Gives an integer literal beside a decimal no more digits than it has: `100 * price` is to keep room for its product.
pub(super) fn narrow_literals(binary: &mut BinaryExpr, schema: &dyn ExprSchema) -> bool {
    if !matches!(binary.op, Operator::Plus | Operator::Minus | Operator::Multiply | Operator::Modulo) {
        return false;
    }
    let is_decimal = |operand: &Expr| operand.get_type(schema).is_ok_and(|own| own.is_decimal());
    let mut changed = false;
    let (left, right) = (is_decimal(&binary.left), is_decimal(&binary.right));
    for (operand, beside) in [(&mut binary.left, right), (&mut binary.right, left)] {
        if let Expr::Literal(value, _) = operand.as_ref()
            && beside
            && let Some(wanted) = operand_type(Some(value), &value.data_type())
            && let Ok(narrow) = value.cast_to(&wanted)
            && value.data_type().is_integer()
        {
            **operand = Expr::Literal(narrow, None);
            changed = true;
        }
    }
    changed
}

/// Division of decimals.
fn divide() -> Arc<ScalarUDF> {
    static DIVIDE: LazyLock<Arc<ScalarUDF>> =
        LazyLock::new(|| Arc::new(ScalarUDF::new_from_impl(Checked::new(Operator::Divide))));
    Arc::clone(&DIVIDE)
}
