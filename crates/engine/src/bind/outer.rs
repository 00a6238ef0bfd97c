//! Aggregates that belong to a query around the one that they stand in: those over columns of that query alone, as
//! `sum(t.a)` in `SELECT (SELECT count(*) FROM u WHERE u.b < sum(t.a)) FROM t`. SQL computes them there; the inner query
//! sees a column.

use crate::Result;
use crate::bind::binder::{Binder, QueryContext};
use crate::bind::scope::Level;
use crate::error::invalid;
use crate::unnest::{outer_columns, subquery_of};
use datafusion::common::Column;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr as Planned, ExprSchemable};
use std::rc::Rc;

/// An aggregate that a query computes for one within it, and the column that it becomes.
#[derive(Debug, Clone)]
pub(super) struct OuterCall {
    pub(super) call: Planned,
    pub(super) column: Column,
}

impl Binder<'_> {
    /// An expression in which aggregates over columns of a query around it are columns of that query.
    pub(super) fn outer_calls(&mut self, expression: Planned, place: &QueryContext) -> Result<Planned> {
        if place.outer.is_none() || !expression.exists(|part| Ok(matches!(part, Planned::AggregateFunction(_))))? {
            return Ok(expression);
        }
        let replaced = expression.transform_down(|part| {
            if !matches!(part, Planned::AggregateFunction(_)) {
                return Ok(Transformed::no(part));
            }
            Ok(match owner(&part, place)? {
                None => Transformed::no(part),
                Some(level) => Transformed::new(self.of_level(part, &level)?, true, TreeNodeRecursion::Jump),
            })
        })?;
        Ok(replaced.data)
    }

    /// The column of an aggregate that the query of `level` computes.
    fn of_level(&mut self, call: Planned, level: &Rc<Level>) -> datafusion::error::Result<Planned> {
        let fields = &level.scope.fields;
        let own = call.transform(|part| {
            Ok(match part {
                Planned::OuterReferenceColumn(_, column) if fields.has_column(&column) => {
                    Transformed::yes(Planned::Column(column))
                }
                other => Transformed::no(other),
            })
        })?;
        let call = own.data;
        let field = call.to_field(fields)?.1;
        let mut calls = level.calls.borrow_mut();
        let known = calls.iter().find(|known| known.call == call).map(|known| known.column.clone());
        let column = known.unwrap_or_else(|| {
            let column = Column::new_unqualified(self.names.fresh("aggregate"));
            calls.push(OuterCall { call, column: column.clone() });
            column
        });
        Ok(Planned::OuterReferenceColumn(field, column))
    }
}

/// The innermost query around `place` whose columns an aggregate is about, in queries within it too; `None` for one that has columns
/// of its own query, or none at all.
fn owner(call: &Planned, place: &QueryContext) -> datafusion::error::Result<Option<Rc<Level>>> {
    let (mut is_own, mut outer) = (false, Vec::new());
    call.apply(|part| {
        match part {
            Planned::Column(_) => is_own = true,
            Planned::OuterReferenceColumn(_, column) => outer.push(column.clone()),
            other => {
                if let Some(query) = subquery_of(other) {
                    outer.extend(outer_columns(&query.subquery)?);
                }
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    // What no query around has is a column of the aggregate's own query, at which a query within it looks.
    let levels = || std::iter::successors(place.outer.as_ref(), |level| level.next.as_ref());
    if is_own || outer.iter().any(|column| !levels().any(|level| level.has(column))) {
        return Ok(None);
    }
    let Some(owner) = levels().find(|level| outer.iter().any(|column| level.has(column))) else { return Ok(None) };
    if outer.iter().any(|column| owner.computes(column)) {
        return invalid!(GroupingError, "an aggregate function can't stand within another one");
    }
    Ok(Some(Rc::clone(owner)))
}
