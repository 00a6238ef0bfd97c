//! Queries within expressions: scalar ones, EXISTS, IN, ANY and ALL.

use crate::Result;
use crate::bind::binder::{Binder, Bound};
use crate::bind::error;
use crate::bind::expression::NameContext;
use crate::bind::row::query_of;
use crate::bind::scope::Level;
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::Spans;
use datafusion::logical_expr::expr::{Exists, InSubquery, SetComparison, SetQuantifier};
use datafusion::logical_expr::{Expr as Planned, LogicalPlan, Operator, Subquery};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Distinct, Expr, GroupByExpr, Query, SelectItem, SetExpr, Spanned, Value,
};
use gingham_storage::SqlState;
use std::rc::Rc;
use std::sync::Arc;

impl Binder<'_> {
    /// Plans an expression that is about a query, and tells what it gives; `None` for one that is about an array.
    pub(super) fn subquery(
        &mut self,
        expression: &Expr,
        around: NameContext<'_>,
    ) -> Result<Option<(Planned, FieldRef)>> {
        let truth = || Arc::new(Field::new("truth", DataType::Boolean, true));
        Ok(Some(match expression {
            Expr::Subquery(query) => {
                let bound = self.column(query, around)?;
                let field = bound.plan.schema().field(0).as_ref().clone().with_nullable(true);
                (Planned::ScalarSubquery(as_subquery(bound.plan)), Arc::new(field))
            }
            Expr::Exists { subquery, negated } => {
                let bound = self.inner_query(&rows_alone(subquery), around)?;
                let exists = Exists { subquery: as_subquery(bound.plan), negated: *negated };
                (Planned::Exists(exists), truth())
            }
            Expr::InSubquery { expr, subquery, negated } => {
                let value = self.expression(expr, around)?;
                let bound = self.column(subquery, around)?;
                let within = InSubquery::new(Box::new(value), as_subquery(bound.plan), *negated);
                (Planned::InSubquery(within), truth())
            }
            Expr::AnyOp { left, compare_op, right, is_some: _ } => {
                let Some(query) = query_of(right) else { return Ok(None) };
                (self.compared(left, compare_op, query, SetQuantifier::Any, around)?, truth())
            }
            Expr::AllOp { left, compare_op, right } => {
                let Some(query) = query_of(right) else { return Ok(None) };
                (self.compared(left, compare_op, query, SetQuantifier::All, around)?, truth())
            }
            _ => return Ok(None),
        }))
    }

    fn compared(
        &mut self,
        left: &Expr,
        operator: &BinaryOperator,
        query: &Query,
        quantifier: SetQuantifier,
        around: NameContext<'_>,
    ) -> Result<Planned> {
        let comparison = match operator {
            BinaryOperator::Eq => Operator::Eq,
            BinaryOperator::NotEq => Operator::NotEq,
            BinaryOperator::Lt => Operator::Lt,
            BinaryOperator::LtEq => Operator::LtEq,
            BinaryOperator::Gt => Operator::Gt,
            BinaryOperator::GtEq => Operator::GtEq,
            other => return Err(error::unsupported(format!("{other} with {quantifier} of a query"))),
        };
        let value = self.expression(left, around)?;
        let bound = self.column(query, around)?;
        let subquery = as_subquery(bound.plan);
        Ok(Planned::SetComparison(SetComparison::new(Box::new(value), subquery, comparison, quantifier)))
    }

    /// Binds a query that gives one column.
    fn column(&mut self, query: &Query, around: NameContext<'_>) -> Result<Bound> {
        let bound = self.inner_query(query, around)?;
        match bound.columns.len() {
            1 => Ok(bound),
            columns => Err(error::invalid(
                SqlState::SyntaxError,
                format!("a subquery in this place gives one column; this one gives {columns}"),
                query.span(),
            )),
        }
    }

    /// Binds a query that sees the columns around it.
    fn inner_query(&mut self, query: &Query, around: NameContext<'_>) -> Result<Bound> {
        let level = Level::new(around.scope.clone(), around.place.outer.clone());
        let bound = self.unordered(query, &around.place.inner(Some(Rc::clone(&level))))?;
        self.calls.append(&mut level.calls.borrow_mut());
        Ok(bound)
    }
}

/// A query as a part of an expression.
pub(super) fn as_subquery(plan: LogicalPlan) -> Subquery {
    let outer_ref_columns = plan.all_out_ref_exprs();
    Subquery { subquery: Arc::new(plan), outer_ref_columns, spans: Spans::new() }
}

/// A query of which it matters only whether it has rows: `SELECT *` need not have columns.
fn rows_alone(query: &Query) -> Query {
    let mut query = query.clone();
    if let SetExpr::Select(select) = &mut *query.body {
        let all = |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
        let groups = !matches!(&select.group_by, GroupByExpr::Expressions(keys, _) if keys.is_empty());
        let is_plain = !groups && matches!(select.distinct, None | Some(Distinct::All));
        if is_plain && !select.from.is_empty() && select.projection.iter().all(all) {
            select.projection = vec![SelectItem::UnnamedExpr(Expr::value(Value::Number("1".into(), false)))];
        }
    }
    query
}
