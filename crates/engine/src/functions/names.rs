//! Names of columns that are results of functions of ours: a function that stands for an operator is written as that.
//!
//! DataFusion asks for the names of all expressions within an expression, one by one. A name is therefore written in one
//! pass into one text: names made of the finished names of the parts take a cube of the steps for a sum of many terms.

use crate::functions::PureFunction;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{BinaryExpr, Expr};
use std::fmt::Write;

/// The names of functions that stand for checked operators.
pub(crate) const ADD: &str = "checked_add";
pub(crate) const SUBTRACT: &str = "checked_subtract";
pub(crate) const MULTIPLY: &str = "checked_multiply";
pub(crate) const NEGATE: &str = "checked_negate";
pub(crate) const DIVIDE: &str = "decimal_divide";

/// The name of the column that a call of the function `name` gives.
pub(crate) fn call_name(name: &str, operator: Option<&str>, arguments: &[Expr]) -> String {
    let mut text = String::new();
    write_call(&mut text, name, operator.or_else(|| checked(name)), arguments);
    text
}

fn checked(name: &str) -> Option<&'static str> {
    match name {
        ADD => Some("+"),
        SUBTRACT | NEGATE => Some("-"),
        MULTIPLY => Some("*"),
        DIVIDE => Some("/"),
        _ => None,
    }
}

fn write_call(text: &mut String, name: &str, operator: Option<&str>, arguments: &[Expr]) {
    match (operator, arguments) {
        (Some(operator), [left, right]) => write_operator(text, left, operator, right),
        (Some(operator), [inner]) => {
            text.extend(["(", operator, " "]);
            write_name(text, inner);
            text.push(')');
        }
        _ => {
            text.extend([name, "("]);
            for (at, argument) in arguments.iter().enumerate() {
                text.push_str(if at == 0 { "" } else { "," });
                write_name(text, argument);
            }
            text.push(')');
        }
    }
}

fn write_operator(text: &mut String, left: &Expr, operator: &str, right: &Expr) {
    write_name(text, left);
    text.extend([" ", operator, " "]);
    write_name(text, right);
}

fn write_name(text: &mut String, expression: &Expr) {
    match expression {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => write_operator(text, left, &op.to_string(), right),
        Expr::ScalarFunction(ScalarFunction { func, args }) => {
            let inner = func.inner();
            match (inner.downcast_ref::<PureFunction>(), checked(inner.name())) {
                (Some(own), _) => write_call(text, own.called(), own.stands_for(), args),
                (None, Some(operator)) => write_call(text, inner.name(), Some(operator), args),
                (None, None) => write_other(text, expression),
            }
        }
        other => write_other(text, other),
    }
}

/// Any other expression is called as DataFusion does; a text takes whatever is written to it.
fn write_other(text: &mut String, expression: &Expr) {
    let _ = write!(text, "{}", expression.schema_name());
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::datatypes::DataType;
    use datafusion::logical_expr::{col, lit};

    #[test]
    fn calls_are_named_as_they_are_written() {
        let function = |operator: Option<&'static str>| {
            let own = PureFunction::new(
                "f",
                |types| Ok(types.to_vec()),
                |_| Ok(DataType::Int64),
                |arrays, _| Ok(std::sync::Arc::clone(&arrays[0])),
            );
            operator.map_or(own.clone(), |operator| own.operator(operator)).build()
        };
        let sum = function(Some("+")).call(vec![col("a"), lit(1) * col("b")]);
        assert_eq!(sum.schema_name().to_string(), "a + Int32(1) * b");
        let negative = function(Some("-")).call(vec![sum]);
        assert_eq!(negative.schema_name().to_string(), "(- a + Int32(1) * b)");
        let call = function(None).call(vec![negative, col("c").is_null()]);
        assert_eq!(call.schema_name().to_string(), "f((- a + Int32(1) * b),c IS NULL)");
        assert_eq!(call_name(NEGATE, None, &[col("a")]), "(- a)");
    }
}
