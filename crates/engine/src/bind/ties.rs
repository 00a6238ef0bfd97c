//! `FETCH FIRST n ROWS WITH TIES`: besides the first rows those that are equal to the last of them in the query's order.

use crate::bind::binder::{Binder, QueryContext};
use crate::bind::error;
use crate::bind::expression::NameContext;
use crate::bind::scope::NameScope;
use crate::{Error, Result};
use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::functions::core::expr_fn::coalesce;
use datafusion::functions_window::rank::rank;
use datafusion::logical_expr::{
    Expr as Planned, ExprFunctionExt, Filter, LogicalPlan, LogicalPlanBuilder, Projection, Sort, cast, lit,
};
use datafusion::sql::sqlparser::ast::{Expr, Fetch, LimitClause};
use gingham_storage::SqlState;
use std::sync::Arc;

impl Binder<'_> {
    /// The first rows of a query that is in order, with those that are equal to the last one.
    pub(super) fn fetch(
        &mut self,
        plan: LogicalPlan,
        fetch: &Fetch,
        limit: Option<&LimitClause>,
        place: &QueryContext,
    ) -> Result<LogicalPlan> {
        let (Some(quantity), true, false) = (&fetch.quantity, fetch.with_ties, fetch.percent) else {
            return Err(error::unsupported(format!("{fetch} (use LIMIT)")));
        };
        let offset = match limit {
            Some(LimitClause::LimitOffset { limit: None, offset, .. }) => offset.as_ref().map(|offset| &offset.value),
            None => None,
            Some(_) => return Err(Error::invalid(SqlState::SyntaxError, "a query has LIMIT or FETCH, not both")),
        };
        let fetched = self.row_count(quantity, place, SqlState::InvalidRowCountInLimit)?;
        let skipped = match offset {
            None => lit(0_i64),
            Some(offset) => {
                let rows = self.row_count(offset, place, SqlState::InvalidRowCountInOffset)?;
                coalesce(vec![rows, lit(0_i64)])
            }
        };
        let plan = self.with_ties(plan, fetched, skipped)?;
        match limit {
            None => Ok(plan),
            Some(limit) => self.limit(plan, limit, place),
        }
    }

    fn with_ties(&mut self, plan: LogicalPlan, fetched: Planned, skipped: Planned) -> Result<LogicalPlan> {
        match plan {
            LogicalPlan::Projection(Projection { expr, input, .. }) if matches!(&*input, LogicalPlan::Sort(_)) => {
                let input = self.with_ties(Arc::unwrap_or_clone(input), fetched, skipped)?;
                Ok(LogicalPlan::Projection(Projection::try_new(expr, Arc::new(input))?))
            }
            LogicalPlan::Sort(Sort { expr, input, fetch }) => {
                let columns = input.schema().columns().into_iter().map(Planned::Column).collect();
                let place = rank().order_by(expr.clone()).build()?;
                let (plan, computed) = self.windows(Arc::unwrap_or_clone(input), [&place])?;
                let Some((_, place)) = computed.into_iter().next() else {
                    return Err(Error::Internal("a rank is a column".into()));
                };
                let place = cast(Planned::Column(place), DataType::Int64);
                let within = place.lt_eq(skipped + fetched.clone()).and(fetched.clone().gt(lit(0_i64)));
                // No number is no limit.
                let within = fetched.is_null().or(within);
                let plan = LogicalPlan::Filter(Filter::try_new(within, Arc::new(plan))?);
                let plan = self.project(plan, columns)?;
                Ok(LogicalPlan::Sort(Sort { expr, input: Arc::new(plan), fetch }))
            }
            _ => Err(Error::invalid(
                SqlState::SyntaxError,
                "FETCH … WITH TIES needs an ORDER BY, which says what rows are equal",
            )),
        }
    }

    /// A number of rows, as a BIGINT.
    fn row_count(&mut self, text: &Expr, place: &QueryContext, negative: SqlState) -> Result<Planned> {
        let scope = NameScope::empty();
        let clause = if negative == SqlState::InvalidRowCountInOffset { "OFFSET" } else { "FETCH" };
        let planned = self.condition(text, NameContext::of(&scope, place), clause)?;
        if planned.any_column_refs() {
            return Err(error::unsupported(format!("{clause} of a column")));
        }
        // Its type is set by a limit's rule, which also refuses what is no number.
        LogicalPlanBuilder::empty(true).limit_by_expr(None, Some(planned.clone()))?.build()?;
        let simplified = self.simplifier().simplify(planned.clone())?;
        if clause == "FETCH" && matches!(&simplified, Planned::Literal(value, _) if value.is_null()) {
            return Err(Error::invalid(negative, "FETCH … WITH TIES can't be of NULL rows"));
        }
        if let Planned::Literal(value, _) = simplified
            && let Ok(ScalarValue::Int64(Some(rows))) = value.cast_to(&DataType::Int64)
            && rows < 0
        {
            return Err(Error::invalid(negative, format!("{clause} can't be of {rows} rows")));
        }
        Ok(cast(planned, DataType::Int64))
    }
}
