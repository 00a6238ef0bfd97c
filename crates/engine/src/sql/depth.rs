//! Deep expressions. Planning walks an expression recursively, several times over and with time that grows faster than
//! its depth, so that a chain of thousands of operators would overflow a stack: chains of AND and OR, which programs do
//! write, are made shallow; others are refused past a limit.

use crate::sql::walk::{SyntaxTree, Visit};
use crate::{Error, Result};
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Query, SetExpr, Value};
use gingham_storage::SqlState;

/// Deepest expression.
const LIMIT: usize = 400;
/// Operators of a chain that is worth balancing; more than a balanced tree of any size is deep.
const LONG: usize = 64;
/// Longest chain of UNION, INTERSECT and EXCEPT.
const SET_LIMIT: usize = 1000;

/// Makes the expressions of a statement, query or expression shallow, or refuses it; operators get their operands.
pub(crate) fn limit(tree: &mut impl SyntaxTree) -> Result<()> {
    tree.walk(&mut Depth { depth: 0 })?;
    crate::sql::precedence::mend(tree)
}

struct Depth {
    depth: usize,
}

impl Visit for Depth {
    fn expression(&mut self, expression: &mut Expr) -> Result<()> {
        if let Expr::BinaryOp { op: op @ (BinaryOperator::And | BinaryOperator::Or), .. } = expression {
            let op = op.clone();
            balance(expression, &op);
        }
        self.depth += 1;
        if self.depth <= LIMIT {
            return Ok(());
        }
        dismantle(take(expression));
        Err(Error::invalid(
            SqlState::StatementTooComplex,
            format!("an expression is nested more than {LIMIT} deep; write it in parts, or a list as IN (…)"),
        ))
    }

    fn expression_end(&mut self, _: &mut Expr) -> Result<()> {
        self.depth -= 1;
        Ok(())
    }

    fn query(&mut self, query: &mut Query) -> Result<()> {
        let mut chain = 0;
        let mut body = query.body.as_ref();
        while let SetExpr::SetOperation { left, .. } = body {
            chain += 1;
            body = left;
        }
        if chain <= SET_LIMIT {
            return Ok(());
        }
        Err(Error::invalid(
            SqlState::StatementTooComplex,
            format!(
                "a query combines {} others by UNION, INTERSECT or EXCEPT, more than {SET_LIMIT}; use VALUES",
                chain + 1
            ),
        ))
    }
}

fn take(expression: &mut Expr) -> Expr {
    std::mem::replace(expression, Expr::value(Value::Null))
}

/// Makes a long chain of `op`, which the parser leans to the left, a balanced tree. AND and OR are associative. A short
/// one, as a balanced tree has on its left edge, stays as it is.
fn balance(expression: &mut Expr, op: &BinaryOperator) {
    let (mut length, mut left) = (0, &*expression);
    while let Expr::BinaryOp { left: next, op: found, .. } = left
        && found == op
    {
        length += 1;
        left = next;
    }
    if length <= LONG {
        return;
    }
    let mut operands = Vec::new();
    let mut rest = take(expression);
    loop {
        match rest {
            Expr::BinaryOp { left, op: found, right } if found == *op => {
                operands.push(*right);
                rest = *left;
            }
            first => {
                operands.push(first);
                break;
            }
        }
    }
    operands.reverse();
    *expression = tree(&mut operands.into_iter(), op);
}

fn tree(operands: &mut std::vec::IntoIter<Expr>, op: &BinaryOperator) -> Expr {
    fn take_some(operands: &mut std::vec::IntoIter<Expr>, count: usize, op: &BinaryOperator) -> Expr {
        if count <= 1 {
            return operands.next().unwrap_or_else(|| Expr::value(Value::Null));
        }
        let left = take_some(operands, count - count / 2, op);
        let right = take_some(operands, count / 2, op);
        Expr::BinaryOp { left: Box::new(left), op: op.clone(), right: Box::new(right) }
    }
    let count = operands.len();
    take_some(operands, count, op)
}

/// Drops an expression of any depth without recursion along its operators.
fn dismantle(expression: Expr) {
    let mut pending = vec![expression];
    while let Some(expression) = pending.pop() {
        match expression {
            Expr::BinaryOp { left, right, .. } => pending.extend([*left, *right]),
            Expr::UnaryOp { expr, .. } | Expr::Nested(expr) | Expr::Cast { expr, .. } => pending.push(*expr),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::parser::DFParser;

    fn limited(sql: &str) -> Result<String> {
        let mut statement = DFParser::parse_sql(sql)?.pop_front().expect("a statement");
        limit(&mut statement)?;
        Ok(statement.to_string())
    }

    #[test]
    fn chains_of_and_and_or_become_shallow_and_keep_their_order() {
        let chain =
            |count: usize, op: &str| (0..count).map(|number| format!("a = {number}")).collect::<Vec<_>>().join(op);
        for op in [" AND ", " OR "] {
            let sql = format!("SELECT 1 FROM t WHERE {}", chain(20_000, op));
            assert_eq!(limited(&sql).unwrap(), sql);
        }
        let mixed = "SELECT 1 FROM t WHERE a = 1 AND b = 2 OR c = 3 AND d = 4 AND e = 5 OR f = 6";
        assert_eq!(limited(mixed).unwrap(), mixed);
    }

    #[test]
    fn others_are_refused_past_the_limit() {
        assert!(limited(&format!("SELECT {}", vec!["1"; LIMIT].join(" + "))).is_ok());
        for count in [LIMIT + 1, 100_000] {
            let error = limited(&format!("SELECT {}", vec!["1"; count].join(" + "))).unwrap_err().to_string();
            assert!(error.contains("nested more than"), "{error}");
        }
        let error = limited(&vec!["SELECT 1"; SET_LIMIT + 2].join(" UNION ALL ")).unwrap_err().to_string();
        assert!(error.contains("combines"), "{error}");
    }
}
