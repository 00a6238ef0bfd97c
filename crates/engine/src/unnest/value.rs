//! Expressions with subqueries as expressions over rows that have the subqueries' results as columns.
//!
//! CASE, COALESCE, AND and OR do not ask for all of their parts in each row. What a subquery is asked by is kept as its
//! guard: conditions under which a row gets there.

use crate::unnest::Unnesting;
use crate::unnest::free::has_query;
use crate::unnest::rows::UnnestedRows;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::logical_expr::expr::{Alias, Case, ScalarFunction};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};

impl Unnesting<'_> {
    /// `expression` over `rows`, for those of them for which `guard` holds.
    pub(super) fn value(&mut self, rows: &mut UnnestedRows, expression: Expr, guard: &[Expr]) -> Result<Expr> {
        if !has_query(&expression) {
            return rows.bind(expression);
        }
        match expression {
            Expr::ScalarSubquery(query) => self.scalar(rows, &query.subquery, guard),
            Expr::Exists(exists) => {
                let value = self.exists(rows, &exists.subquery.subquery, guard)?;
                Ok(if exists.negated { Expr::Not(Box::new(value)) } else { value })
            }
            Expr::InSubquery(_) | Expr::SetComparison(_) => self.compared(rows, expression, guard),
            Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::And | Operator::Or), right }) => {
                let left = self.value(rows, *left, guard)?;
                let asked = if op == Operator::And { left.clone().is_not_false() } else { left.clone().is_not_true() };
                let right = self.value(rows, *right, &guarded(guard, [asked]))?;
                Ok(Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right))))
            }
            Expr::Case(case) => self.case(rows, case, guard),
            Expr::ScalarFunction(ScalarFunction { func, args }) if func.name() == "coalesce" => {
                let mut values: Vec<Expr> = Vec::with_capacity(args.len());
                for argument in args {
                    let missing = values.iter().map(|before| before.clone().is_null());
                    let guard = guarded(guard, missing.collect::<Vec<_>>());
                    values.push(self.value(rows, argument, &guard)?);
                }
                Ok(Expr::ScalarFunction(ScalarFunction { func, args: values }))
            }
            Expr::Alias(Alias { expr, relation, name, metadata }) => {
                let value = self.value(rows, *expr, guard)?;
                Ok(Expr::Alias(Alias { expr: Box::new(value), relation, name, metadata }))
            }
            other => Ok(other.map_children(|part| Ok(Transformed::yes(self.value(rows, part, guard)?)))?.data),
        }
    }

    /// Several expressions.
    pub(super) fn values(
        &mut self,
        rows: &mut UnnestedRows,
        expressions: Vec<Expr>,
        guard: &[Expr],
    ) -> Result<Vec<Expr>> {
        expressions.into_iter().map(|expression| self.value(rows, expression, guard)).collect()
    }

    fn case(&mut self, rows: &mut UnnestedRows, case: Case, guard: &[Expr]) -> Result<Expr> {
        let operand = case.expr.map(|operand| self.value(rows, *operand, guard)).transpose()?;
        let mut before: Vec<Expr> = guard.to_vec();
        let mut branches = Vec::with_capacity(case.when_then_expr.len());
        for (when, then) in case.when_then_expr {
            let when = self.value(rows, *when, &before)?;
            let holds = match &operand {
                Some(operand) => operand.clone().eq(when.clone()),
                None => when.clone(),
            };
            let then = self.value(rows, *then, &guarded(&before, [holds.clone().is_true()]))?;
            before = guarded(&before, [holds.is_not_true()]);
            branches.push((Box::new(when), Box::new(then)));
        }
        let otherwise = case.else_expr.map(|otherwise| self.value(rows, *otherwise, &before)).transpose()?;
        let (expr, else_expr) = (operand.map(Box::new), otherwise.map(Box::new));
        Ok(Expr::Case(Case { expr, when_then_expr: branches, else_expr }))
    }
}

/// A guard with more conditions. One that is another value each time it is evaluated would not hold for the same rows.
fn guarded(guard: &[Expr], more: impl IntoIterator<Item = Expr>) -> Vec<Expr> {
    guard.iter().cloned().chain(more.into_iter().filter(|condition| !condition.is_volatile())).collect()
}

/// An expression where all of `guard` holds, else NULL.
pub(super) fn where_asked(guard: &[Expr], expression: Expr) -> Result<Expr> {
    match datafusion::logical_expr::utils::conjunction(guard.to_vec()) {
        Some(condition) => datafusion::logical_expr::when(condition, expression).end(),
        None => Ok(expression),
    }
}

/// An expression where a condition holds, else NULL.
pub(super) fn where_present(present: Option<Expr>, expression: Expr) -> Result<Expr> {
    match present {
        Some(condition) => datafusion::logical_expr::when(condition, expression).end(),
        None => Ok(expression),
    }
}

/// Conditions combined by AND.
pub(super) fn both(first: Option<Expr>, second: Option<Expr>) -> Option<Expr> {
    match (first, second) {
        (Some(first), Some(second)) => Some(first.and(second)),
        (first, second) => first.or(second),
    }
}
