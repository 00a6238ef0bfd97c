//! `a IS DISTINCT FROM b OR c`: the parser gives IS DISTINCT FROM everything to its right, where the standard binds it
//! like the other forms of IS, tighter than NOT, AND and OR. Chains of these operators are put together anew.

use crate::sql::walk::{SyntaxTree, Visit};
use crate::{Error, Result};
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, UnaryOperator, Value};
use std::collections::VecDeque;

/// Gives each operator of `tree` its operands.
pub(crate) fn mend(tree: &mut impl SyntaxTree) -> Result<()> {
    tree.walk(&mut Mend)
}

struct Mend;

impl Visit for Mend {
    fn expression(&mut self, expression: &mut Expr) -> Result<()> {
        if !reaches_too_far(expression) {
            return Ok(());
        }
        let mut parts = VecDeque::new();
        flatten(std::mem::replace(expression, Expr::value(Value::Null)), &mut parts);
        *expression = group(&mut parts, 0)?;
        Ok(())
    }
}

/// Whether an IS DISTINCT FROM in the chain that begins here has an operand that binds less than it does.
fn reaches_too_far(expression: &Expr) -> bool {
    match expression {
        Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => {
            let wider = match right.as_ref() {
                Expr::UnaryOp { op: UnaryOperator::Not, expr } => binds_like_and(expr),
                right => binds_like_and(right) || test_of(right).is_some() || is_distinct(right),
            };
            wider || reaches_too_far(left) || reaches_too_far(right)
        }
        Expr::BinaryOp { left, op: BinaryOperator::And | BinaryOperator::Or, right } => {
            reaches_too_far(left) || reaches_too_far(right)
        }
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => reaches_too_far(expr),
        other => test_of(other).is_some_and(|(operand, _)| reaches_too_far(operand)),
    }
}

fn binds_like_and(expression: &Expr) -> bool {
    match expression {
        Expr::BinaryOp { op: BinaryOperator::And | BinaryOperator::Or, .. } => true,
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => binds_like_and(expr),
        _ => false,
    }
}

fn is_distinct(expression: &Expr) -> bool {
    matches!(expression, Expr::IsDistinctFrom(..) | Expr::IsNotDistinctFrom(..))
}

/// A form of IS with one operand, as a function of it.
type MakeTest = fn(Box<Expr>) -> Expr;

/// The operand of such a form.
fn test_of(expression: &Expr) -> Option<(&Expr, MakeTest)> {
    let (operand, make): (_, MakeTest) = match expression {
        Expr::IsNull(operand) => (operand, Expr::IsNull),
        Expr::IsNotNull(operand) => (operand, Expr::IsNotNull),
        Expr::IsTrue(operand) => (operand, Expr::IsTrue),
        Expr::IsNotTrue(operand) => (operand, Expr::IsNotTrue),
        Expr::IsFalse(operand) => (operand, Expr::IsFalse),
        Expr::IsNotFalse(operand) => (operand, Expr::IsNotFalse),
        Expr::IsUnknown(operand) => (operand, Expr::IsUnknown),
        Expr::IsNotUnknown(operand) => (operand, Expr::IsNotUnknown),
        _ => return None,
    };
    Some((operand, make))
}

/// One member of a chain as it was written.
enum ChainPart {
    Operand(Box<Expr>),
    Not,
    Junction(BinaryOperator),
    Distinct { negated: bool },
    Test(MakeTest),
}

/// How tight operators bind; sqlparser's figures.
const IS: u8 = 17;
const NOT: u8 = 15;
const AND: u8 = 10;
const OR: u8 = 5;

/// The chain in the order in which it was written.
fn flatten(expression: Expr, parts: &mut VecDeque<ChainPart>) {
    if let Some((operand, make)) = test_of(&expression) {
        flatten(operand.clone(), parts);
        parts.push_back(ChainPart::Test(make));
        return;
    }
    match expression {
        Expr::BinaryOp { left, op: op @ (BinaryOperator::And | BinaryOperator::Or), right } => {
            flatten(*left, parts);
            parts.push_back(ChainPart::Junction(op));
            flatten(*right, parts);
        }
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => {
            parts.push_back(ChainPart::Not);
            flatten(*expr, parts);
        }
        Expr::IsDistinctFrom(left, right) => distinct(*left, false, *right, parts),
        Expr::IsNotDistinctFrom(left, right) => distinct(*left, true, *right, parts),
        other => parts.push_back(ChainPart::Operand(Box::new(other))),
    }
}

fn distinct(left: Expr, negated: bool, right: Expr, parts: &mut VecDeque<ChainPart>) {
    flatten(left, parts);
    parts.push_back(ChainPart::Distinct { negated });
    flatten(right, parts);
}

/// The expression that the first parts make, up to an operator that binds no tighter than `least`.
fn group(parts: &mut VecDeque<ChainPart>, least: u8) -> Result<Expr> {
    let mut expression = match parts.pop_front() {
        Some(ChainPart::Operand(operand)) => *operand,
        Some(ChainPart::Not) => Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(group(parts, NOT)?) },
        _ => return Err(Error::Internal("a chain of operators without an operand".into())),
    };
    loop {
        let tightness = match parts.front() {
            Some(ChainPart::Distinct { .. } | ChainPart::Test(_)) => IS,
            Some(ChainPart::Junction(BinaryOperator::And)) => AND,
            Some(ChainPart::Junction(_)) => OR,
            _ => return Ok(expression),
        };
        if tightness <= least {
            return Ok(expression);
        }
        expression = match parts.pop_front() {
            Some(ChainPart::Test(make)) => make(Box::new(expression)),
            Some(ChainPart::Junction(op)) => {
                Expr::BinaryOp { left: Box::new(expression), op, right: Box::new(group(parts, tightness)?) }
            }
            Some(ChainPart::Distinct { negated: false }) => {
                Expr::IsDistinctFrom(Box::new(expression), Box::new(group(parts, IS)?))
            }
            Some(ChainPart::Distinct { negated: true }) => {
                Expr::IsNotDistinctFrom(Box::new(expression), Box::new(group(parts, IS)?))
            }
            _ => return Ok(expression),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::dialect::Gingham;
    use datafusion::sql::sqlparser::parser::Parser;

    fn parsed(sql: &str) -> Expr {
        let parser = Parser::new(&Gingham).try_with_sql(sql);
        parser.and_then(|mut parser| parser.parse_expr()).expect("an expression")
    }

    #[test]
    fn is_distinct_from_binds_as_the_brackets_say() {
        let cases = [
            ("a IS DISTINCT FROM b OR c", "(a IS DISTINCT FROM b) OR c"),
            ("a IS NOT DISTINCT FROM b AND c", "(a IS NOT DISTINCT FROM b) AND c"),
            ("p AND a IS DISTINCT FROM b OR c", "(p AND (a IS DISTINCT FROM b)) OR c"),
            ("p OR a IS DISTINCT FROM b AND c", "p OR ((a IS DISTINCT FROM b) AND c)"),
            ("NOT a IS DISTINCT FROM b OR c", "(NOT (a IS DISTINCT FROM b)) OR c"),
            ("a IS DISTINCT FROM NOT b OR c", "(a IS DISTINCT FROM (NOT b)) OR c"),
            ("a IS DISTINCT FROM b IS NULL", "(a IS DISTINCT FROM b) IS NULL"),
            ("a IS DISTINCT FROM b IS DISTINCT FROM c", "(a IS DISTINCT FROM b) IS DISTINCT FROM c"),
            (
                "a IS DISTINCT FROM b AND c IS DISTINCT FROM d OR e",
                "((a IS DISTINCT FROM b) AND (c IS DISTINCT FROM d)) OR e",
            ),
            ("a IS DISTINCT FROM b + 1 = 2 AND c", "(a IS DISTINCT FROM (b + 1 = 2)) AND c"),
            ("a IS DISTINCT FROM (b OR c)", "a IS DISTINCT FROM (b OR c)"),
            ("a IS DISTINCT FROM NOT b", "a IS DISTINCT FROM (NOT b)"),
        ];
        for (sql, meant) in cases {
            let mut found = parsed(sql);
            mend(&mut found).unwrap();
            assert_eq!(bare(found), bare(parsed(meant)), "{sql}");
        }
    }

    /// The expression without its brackets.
    fn bare(mut expression: Expr) -> Expr {
        struct Bare;
        impl Visit for Bare {
            fn expression_end(&mut self, expression: &mut Expr) -> Result<()> {
                if let Expr::Nested(inner) = expression {
                    *expression = std::mem::replace(inner.as_mut(), Expr::value(Value::Null));
                }
                Ok(())
            }
        }
        expression.walk(&mut Bare).unwrap();
        expression
    }
}
