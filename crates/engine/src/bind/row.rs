//! Comparisons of rows: `(a, b) = (c, d)`, `(a, b) < (c, d)`, `(a, b) IN ((1, 2), …)`. They are written out value by value,
//! which gives them SQL's three truth values.

use super::error;
use crate::Result;
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Spanned, UnaryOperator};

/// A comparison of rows as one of their values; `None` for any other expression.
pub(super) fn written_out(expression: &Expr) -> Result<Option<Expr>> {
    match expression {
        Expr::BinaryOp { left, op, right } => match (values(left), values(right)) {
            (Some(own), Some(others)) => {
                same_length(own, others, expression)?;
                Ok(compared(own, op, others))
            }
            _ => Ok(None),
        },
        Expr::InList { expr, list, negated } => {
            let Some(own) = values(expr) else { return Ok(None) };
            let mut equal = Vec::with_capacity(list.len());
            for other in list {
                let Some(others) = values(other) else { return Ok(None) };
                same_length(own, others, expression)?;
                equal.extend(compared(own, &BinaryOperator::Eq, others));
            }
            let any = combined(equal, &BinaryOperator::Or);
            Ok(any.map(|any| if *negated { not(any) } else { any }))
        }
        _ => Ok(None),
    }
}

/// The values of a row of several.
fn values(expression: &Expr) -> Option<&[Expr]> {
    match expression {
        Expr::Tuple(values) if values.len() > 1 => Some(values),
        Expr::Nested(inner) => values(inner),
        _ => None,
    }
}

fn same_length(own: &[Expr], others: &[Expr], expression: &Expr) -> Result<()> {
    if own.len() == others.len() {
        return Ok(());
    }
    let text = format!("a row of {} values is compared with one of {}", own.len(), others.len());
    Err(error::invalid(text, expression.span()))
}

fn compared(own: &[Expr], operator: &BinaryOperator, others: &[Expr]) -> Option<Expr> {
    let each = || own.iter().zip(others).map(|(left, right)| binary(left.clone(), operator.clone(), right.clone()));
    match operator {
        BinaryOperator::Eq => combined(each().collect(), &BinaryOperator::And),
        BinaryOperator::NotEq => combined(each().collect(), &BinaryOperator::Or),
        BinaryOperator::Lt | BinaryOperator::LtEq => ordered(own, &BinaryOperator::Lt, operator, others),
        BinaryOperator::Gt | BinaryOperator::GtEq => ordered(own, &BinaryOperator::Gt, operator, others),
        _ => None,
    }
}

/// `a < c OR a = c AND (b <= d)`: the first values that differ decide.
fn ordered(own: &[Expr], strict: &BinaryOperator, last: &BinaryOperator, others: &[Expr]) -> Option<Expr> {
    let mut pairs = own.iter().cloned().zip(others.iter().cloned()).rev();
    let (left, right) = pairs.next()?;
    Some(pairs.fold(binary(left, last.clone(), right), |decided, (left, right)| {
        let differ = binary(left.clone(), strict.clone(), right.clone());
        let equal = binary(left, BinaryOperator::Eq, right);
        binary(differ, BinaryOperator::Or, binary(equal, BinaryOperator::And, decided))
    }))
}

/// Conditions combined as a tree, which is shallow however many they are.
fn combined(mut parts: Vec<Expr>, operator: &BinaryOperator) -> Option<Expr> {
    if parts.len() < 2 {
        return parts.pop();
    }
    let right = parts.split_off(parts.len() / 2);
    Some(binary(combined(parts, operator)?, operator.clone(), combined(right, operator)?))
}

/// An operation on two expressions, in brackets.
fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::Nested(Box::new(Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) }))
}

fn not(expression: Expr) -> Expr {
    Expr::Nested(Box::new(Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(expression) }))
}
