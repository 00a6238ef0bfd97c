//! UNION, INTERSECT and EXCEPT, VALUES, and TABLE t. Columns are put together by their positions, and called as the first
//! query calls them.

use crate::bind::binder::{Binder, Bound, QueryContext};
use crate::bind::expression::NameContext;
use crate::bind::functions::looks_outside;
use crate::bind::scope::NameScope;
use crate::bind::tables::name_of;
use crate::bind::{error, keys};
use crate::casts::{align_queries, align_rows};
use crate::statements::all_of;
use crate::{Error, Result};
use datafusion::common::ScalarValue;
use datafusion::functions_window::row_number::row_number;
use datafusion::logical_expr::{Expr as Planned, ExprFunctionExt, LogicalPlan, LogicalPlanBuilder};
use datafusion::sql::sqlparser::ast::{SetExpr, SetOperator, SetQuantifier, Table, Values};
use gingham_storage::SqlState;

impl Binder<'_> {
    /// Binds a chain of UNION, INTERSECT and EXCEPT, which leans to the left and may be long.
    pub(super) fn set_operations(&mut self, mut body: &SetExpr, place: &QueryContext) -> Result<Bound> {
        let mut later = Vec::new();
        while let SetExpr::SetOperation { op, set_quantifier, left, right } = body {
            later.push((*op, *set_quantifier, right.as_ref()));
            body = left;
        }
        let mut all = self.body(body, place)?;
        let behind = QueryContext { is_top: false, ..place.clone() };
        for (operator, quantifier, right) in later.into_iter().rev() {
            let right = self.body(right, &behind)?;
            all = self.combined(all, right, operator, quantifier)?;
        }
        Ok(all)
    }

    /// The rows of two queries, put together.
    pub(super) fn combined(
        &mut self,
        left: Bound,
        right: Bound,
        operator: SetOperator,
        quantifier: SetQuantifier,
    ) -> Result<Bound> {
        use SetQuantifier::{All, AllByName, ByName, Distinct, DistinctByName, None};
        let (left, right) = match quantifier {
            ByName | AllByName | DistinctByName => self.by_name(left, right)?,
            _ => (left, right),
        };
        let (own, others) = (left.columns.len(), right.columns.len());
        if own != others {
            return Err(Error::invalid(
                SqlState::SyntaxError,
                format!("{operator}: the queries have different numbers of columns ({own} and {others})"),
            ));
        }
        for (own, other) in left.columns.iter().zip(&right.columns) {
            let lengths = self.fixed.of_column(&own.column).zip(self.fixed.of_column(&other.column));
            self.fixed.note(&own.column, lengths.map(|(one, two)| one.max(two)));
            let are_integers = self.integers.has(&own.column) && self.integers.has(&other.column);
            self.integers.note(&own.column, are_integers);
            let (told, other) = (self.told.of_column(&own.column), self.told.of_column(&other.column));
            self.told.note(&own.column, told.filter(|told| Some(*told) == other));
        }
        let called = left.columns;
        let names: Vec<String> = called.iter().map(|own| own.name.clone()).collect();
        let (mut first, mut second) = align_queries(left.plan, right.plan)?;
        if operator == SetOperator::Union {
            // DataFusion's rules look for a union's columns in each input by their names.
            let columns: Vec<String> = first.schema().fields().iter().map(|field| field.name().clone()).collect();
            first = self.called(first, &columns)?;
            second = self.called(second, &columns)?;
        }
        let plan = match (operator, quantifier) {
            (SetOperator::Union, All | AllByName) => LogicalPlanBuilder::from(first).union(second)?.build()?,
            (SetOperator::Union, _) => LogicalPlanBuilder::from(first).union_distinct(second)?.build()?,
            (SetOperator::Intersect, None | Distinct) => {
                LogicalPlanBuilder::intersect(keys::forgotten(first)?, second, false)?
            }
            (SetOperator::Except | SetOperator::Minus, None | Distinct) => {
                LogicalPlanBuilder::except(keys::forgotten(first)?, second, false)?
            }
            (SetOperator::Intersect | SetOperator::Except | SetOperator::Minus, All) => {
                self.of_bags(first, second, operator)?
            }
            (operator, quantifier) => return Err(error::unsupported(format!("{operator} {quantifier}"))),
        };
        Ok(Bound::of(plan, names).also_called(&called))
    }

    /// A plan whose columns go by these names, with no table's before them.
    fn called(&self, plan: LogicalPlan, names: &[String]) -> Result<LogicalPlan> {
        let columns = plan.schema().columns().into_iter().zip(names);
        let columns = columns.map(|(column, name)| match column.relation.is_none() && column.name == *name {
            true => Planned::Column(column),
            false => Planned::Column(column).alias(name),
        });
        self.project(plan, columns.collect())
    }

    /// INTERSECT ALL and EXCEPT ALL: equal rows are numbered, so that each meets one of the other query's at most.
    fn of_bags(&mut self, first: LogicalPlan, second: LogicalPlan, operator: SetOperator) -> Result<LogicalPlan> {
        let columns = first.schema().columns();
        let (first, second) = (self.numbered(first)?, self.numbered(second)?);
        let plan = match operator {
            SetOperator::Intersect => LogicalPlanBuilder::intersect(first, second, true)?,
            _ => LogicalPlanBuilder::except(first, second, true)?,
        };
        self.project(plan, columns.into_iter().map(Planned::Column).collect())
    }

    /// The rows with the number that each has among its equals.
    fn numbered(&mut self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let columns: Vec<Planned> = plan.schema().columns().into_iter().map(Planned::Column).collect();
        let number = row_number().partition_by(columns).build()?;
        Ok(self.windows(plan, [&number])?.0)
    }

    /// Two queries with the columns of both: each has NULL in those that are the other's alone.
    fn by_name(&mut self, left: Bound, right: Bound) -> Result<(Bound, Bound)> {
        let mut names: Vec<String> = left.columns.iter().map(|own| own.name.clone()).collect();
        for own in &right.columns {
            if !names.contains(&own.name) {
                names.push(own.name.clone());
            }
        }
        let (left, right) = (self.filled(left, &names)?, self.filled(right, &names)?);
        Ok((left, right))
    }

    fn filled(&mut self, bound: Bound, names: &[String]) -> Result<Bound> {
        let mut columns = Vec::with_capacity(names.len());
        for name in names {
            columns.push(match bound.columns.iter().find(|own| own.name == *name) {
                Some(own) => Planned::Column(own.column.clone()),
                None => Planned::Literal(ScalarValue::Null, None).alias(self.names.fresh(name)),
            });
        }
        Ok(Bound::of(self.project(bound.plan, columns)?, names.iter().cloned()))
    }

    /// Binds VALUES.
    pub(super) fn values(&mut self, values: &Values, place: &QueryContext) -> Result<Bound> {
        let scope = NameScope::empty();
        let mut rows: Vec<Vec<Planned>> = Vec::with_capacity(values.rows.len());
        for row in &values.rows {
            let mut planned = Vec::with_capacity(row.content.len());
            for value in &row.content {
                planned.push(self.condition(value, NameContext::of(&scope, place), "VALUES")?);
            }
            if rows.first().is_some_and(|first| first.len() != planned.len()) {
                return Err(Error::invalid(
                    SqlState::SyntaxError,
                    format!(
                        "VALUES: row {} has {} values, the first row {}",
                        rows.len() + 1,
                        planned.len(),
                        rows[0].len()
                    ),
                ));
            }
            rows.push(planned);
        }
        align_rows(&mut rows)?;
        let width = rows.first().map_or(0, Vec::len);
        let names: Vec<String> = (1..=width).map(|number| format!("column{number}")).collect();
        if !rows.iter().flatten().any(looks_outside) {
            let are_integers = |column: usize| rows.iter().all(|row| self.integers.are(&row[column]));
            let integers: Vec<bool> = (0..width).map(are_integers).collect();
            let plan = LogicalPlanBuilder::values(rows)?.build()?;
            let bound = Bound::of(self.own_names(plan)?, names);
            for (own, is_integer) in bound.columns.iter().zip(integers) {
                self.integers.note(&own.column, is_integer);
            }
            return Ok(bound);
        }
        let mut all: Option<Bound> = None;
        for row in rows {
            let one = LogicalPlanBuilder::empty(true).build()?;
            let columns = row.into_iter().zip(&names).map(|(value, name)| value.alias(self.names.fresh(name)));
            let columns = columns.collect();
            let next = Bound::of(self.project(one, columns)?, names.iter().cloned());
            all = Some(match all {
                None => next,
                Some(before) => self.combined(before, next, SetOperator::Union, SetQuantifier::All)?,
            });
        }
        all.ok_or_else(|| Error::invalid(SqlState::SyntaxError, "VALUES has no row"))
    }

    /// Binds `TABLE t`.
    pub(super) fn whole_table(&mut self, table: &Table, place: &QueryContext) -> Result<Bound> {
        let name = name_of(table).ok_or_else(|| Error::invalid(SqlState::SyntaxError, "TABLE names a table"))?;
        self.query(&all_of(&name)?, place)
    }
}
