//! IN, ANY and ALL as values, by SQL's three-valued logic: `x = ANY (q)` is true where it holds for a row of `q`; else NULL where
//! `q` has a NULL, or where `x` is one and `q` has rows; else false. `ALL` is the opposite of `ANY` with the opposite comparison.
//! What may be no NULL is not asked for.

use crate::unnest::Unnesting;
use crate::unnest::conditions::bare;
use crate::unnest::domain::may_be_null;
use crate::unnest::inline::is_one_row;
use crate::unnest::join::joined;
use crate::unnest::related::Related;
use crate::unnest::rows::{UnnestedRows, columns_of, project};
use crate::unnest::scalar::is_ordered;
use crate::unnest::value::where_asked;
use arrow::datatypes::DataType;
use datafusion::common::{Column, JoinType, ScalarValue};
use datafusion::error::{DataFusionError, Result};
use datafusion::functions_aggregate::count::count;
use datafusion::functions_aggregate::expr_fn::{max, min};
use datafusion::logical_expr::expr::{InSubquery, SetComparison, SetQuantifier};
use datafusion::logical_expr::{
    Expr, ExprFunctionExt, ExprSchemable, LogicalPlan, Operator, Projection, binary_expr, cast, lit, when,
};
use std::sync::Arc;

impl Unnesting<'_> {
    /// A comparison with the rows of a subquery, for each of `rows`.
    pub(super) fn compared(&mut self, rows: &mut UnnestedRows, expression: Expr, guard: &[Expr]) -> Result<Expr> {
        let (value, operator, query, negated) = match expression {
            Expr::InSubquery(InSubquery { expr, subquery, negated }) => (expr, Operator::Eq, subquery, negated),
            Expr::SetComparison(SetComparison { expr, subquery, op, quantifier }) => match quantifier {
                SetQuantifier::Any => (expr, op, subquery, false),
                SetQuantifier::All => {
                    let opposite = op
                        .negate()
                        .ok_or_else(|| DataFusionError::NotImplemented(format!("{op} ALL of a subquery")))?;
                    (expr, opposite, subquery, true)
                }
            },
            other => return rows.bind(other),
        };
        let value = self.value(rows, *value, guard)?;
        let query = self.called(&query.subquery)?;
        let plan = bare(&query, false)?;
        let holds = if is_one_row(plan)? {
            let inlined = self.inline(rows, plan, guard)?;
            let holds = binary_expr(value, operator, inlined.first());
            match inlined.present {
                None => holds,
                Some(present) => when(present, holds).otherwise(lit(false))?,
            }
        } else if operator != Operator::Eq {
            self.by_extremes(rows, value, operator, plan, guard)?
        } else if value == lit(true) {
            self.by_truth(rows, plan, guard)?
        } else {
            self.by_values(rows, value, plan, guard)?
        };
        Ok(if negated { Expr::Not(Box::new(holds)) } else { holds })
    }

    /// A plan whose first column has a name of its own. A cast, which the types of a comparison bring about, goes by the name of
    /// the column that it is of.
    pub(super) fn called(&mut self, plan: &LogicalPlan) -> Result<LogicalPlan> {
        let LogicalPlan::Projection(projection) = plan else { return Ok(plan.clone()) };
        let called = projection.expr.iter().map(|own| match own {
            Expr::Cast(_) | Expr::TryCast(_) => own.clone().alias(self.fresh("compared")),
            other => other.clone(),
        });
        let called = called.collect();
        Ok(LogicalPlan::Projection(Projection::try_new(called, Arc::clone(&projection.input))?))
    }

    /// `value = ANY (plan)`: the values are looked up, and counted where NULLs may be among them.
    fn by_values(&mut self, rows: &mut UnnestedRows, value: Expr, plan: &LogicalPlan, guard: &[Expr]) -> Result<Expr> {
        let mut related = self.related(rows, plan, guard)?;
        let own = first_of(plan)?;
        related.plan = self.distinct_values(&related, own.clone())?;
        let is_known = !may_be_null(&value, &rows.plan) && !may_be_null(&own, &related.plan);
        if !is_known {
            related.plan = self.shared(related.plan)?;
        }
        let again = self.read_again(&related.plan)?;
        let name = self.fresh("found");
        let found = Expr::Column(Column::new_unqualified(name.clone()));
        let mut some = UnnestedRows::of(again);
        some.keep(if may_be_null(&own, &some.plan) { vec![own.clone().is_not_null()] } else { Vec::new() })?;
        some.add(vec![own.clone().alias(name)])?;
        let mut dropped: Vec<Expr> = columns_of(&some.plan).collect();
        dropped.retain(|column| *column != own || related.keys.contains(column));
        let (some, keys) = self.renamed_keys(project(some.plan, dropped)?, &related.keys)?;
        let mut condition = related.condition(&keys);
        condition.equal.push((where_asked(guard, value.clone())?, found.clone()));
        rows.plan = joined(std::mem::take(&mut rows.plan), some, JoinType::Left, condition)?;
        let found = found.is_not_null();
        if is_known {
            return Ok(found);
        }
        self.three_valued(rows, &related, found, Some(value), own, Vec::new())
    }

    /// A comparison that is none of equality holds for a row if it does for the least or the greatest.
    fn by_extremes(
        &mut self,
        rows: &mut UnnestedRows,
        value: Expr,
        operator: Operator,
        plan: &LogicalPlan,
        guard: &[Expr],
    ) -> Result<Expr> {
        let mut related = self.related(rows, plan, guard)?;
        let (mut value, mut own) = (value, first_of(plan)?);
        let mut data_type = own.get_type(related.plan.schema().as_ref())?;
        if data_type == DataType::Boolean || data_type.is_null() {
            // False is less than true. NULL alone has no type.
            data_type = DataType::Int8;
            let number = Column::new_unqualified(self.fresh("number"));
            let mut numbered = UnnestedRows::of(related.plan);
            numbered.add(vec![cast(own, data_type.clone()).alias(&number.name)])?;
            related.plan = numbered.plan;
            (value, own) = (cast(value, data_type.clone()), Expr::Column(number));
        }
        if !is_ordered(&data_type) {
            return Err(DataFusionError::NotImplemented(format!("{operator} ANY or ALL of a subquery of {data_type}")));
        }
        let (least, greatest) = (self.fresh("least"), self.fresh("greatest"));
        let with = |name: &String| binary_expr(value.clone(), operator, Expr::Column(Column::new_unqualified(name)));
        let (calls, holds) = match operator {
            Operator::Lt | Operator::LtEq => (vec![max(own.clone()).alias(&greatest)], with(&greatest)),
            Operator::Gt | Operator::GtEq => (vec![min(own.clone()).alias(&least)], with(&least)),
            Operator::NotEq => (
                vec![min(own.clone()).alias(&least), max(own.clone()).alias(&greatest)],
                with(&least).or(with(&greatest)),
            ),
            other => return Err(DataFusionError::NotImplemented(format!("{other} ANY or ALL of a subquery"))),
        };
        self.three_valued(rows, &related, holds, Some(value), own, calls)
    }

    /// Whether the one column of `plan`, which is a truth, is true in a row: it compares rows of several values.
    fn by_truth(&mut self, rows: &mut UnnestedRows, plan: &LogicalPlan, guard: &[Expr]) -> Result<Expr> {
        let related = self.related(rows, plan, guard)?;
        let own = first_of(plan)?;
        let hits = self.fresh("hits");
        let counted = count(lit(1_i64)).filter(own.clone()).build()?.alias(&hits);
        let holds = Expr::Column(Column::new_unqualified(hits)).gt(lit(0_i64));
        self.three_valued(rows, &related, holds, None, own, vec![counted])
    }

    /// True where `holds` is; else NULL where a row or the value is, else false. Adds `calls` over the related rows.
    fn three_valued(
        &mut self,
        rows: &mut UnnestedRows,
        related: &Related,
        holds: Expr,
        value: Option<Expr>,
        own: Expr,
        mut calls: Vec<Expr>,
    ) -> Result<Expr> {
        let (all, known) = (self.fresh("rows"), self.fresh("known"));
        let column = |name: &String| Expr::Column(Column::new_unqualified(name));
        let has_nulls = may_be_null(&own, &related.plan);
        calls.push(count(lit(1_i64)).alias(&all));
        if has_nulls {
            calls.push(count(own).alias(&known));
        }
        self.add_groups(rows, related, calls)?;
        let is_null = has_nulls.then(|| column(&known).lt(column(&all)));
        let value = value.filter(|value| may_be_null(value, &rows.plan));
        let is_null = match (is_null, value.map(Expr::is_null)) {
            (Some(own), Some(value)) => Some(own.or(value)),
            (own, value) => own.or(value),
        };
        let is_none = column(&all).gt(lit(0_i64)).is_not_true();
        let mut cases = when(holds, lit(true)).when(is_none, lit(false));
        if let Some(is_null) = is_null {
            cases = cases.when(is_null, Expr::Literal(ScalarValue::Boolean(None), None));
        }
        cases.otherwise(lit(false))
    }
}

fn first_of(plan: &LogicalPlan) -> Result<Expr> {
    columns_of(plan).next().ok_or_else(|| DataFusionError::Plan("a subquery that is compared has no column".into()))
}
