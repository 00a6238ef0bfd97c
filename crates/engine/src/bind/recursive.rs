//! WITH RECURSIVE: the second part of a UNION reads the rows of the round before.
//!
//! The columns take the types of both parts, as those of any UNION do. The second part's types depend on the columns that it
//! reads, so it is bound again once these are known.

use crate::bind::binder::{Binder, Bound, QueryContext, With, WithSource};
use crate::bind::error;
use crate::bind::with::behind;
use crate::type_name::type_name;
use crate::{Error, Result};
use arrow::datatypes::{DECIMAL128_MAX_PRECISION, DataType, Field, Schema};
use datafusion::datasource::cte_worktable::CteWorkTable;
use datafusion::logical_expr::{Expr as Planned, LogicalPlan, LogicalPlanBuilder, cast};
use datafusion::optimizer::AnalyzerRule;
use datafusion::sql::sqlparser::ast::{Query, SetExpr, SetOperator, SetQuantifier};
use gingham_storage::SqlState;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

/// The second part of a recursive query.
struct RecursivePart {
    /// DataFusion finds the rows of the round before by this name, of which there may be one.
    table: String,
    bound: Bound,
    /// Whether it reads rows of the round before.
    reads: bool,
}

impl Binder<'_> {
    /// Binds a query of WITH RECURSIVE, which reads its own rows in the second part of a UNION, or not at all.
    pub(super) fn recursive(
        &mut self,
        name: &str,
        query: &Query,
        columns: &[String],
        place: &QueryContext,
    ) -> Result<Bound> {
        let itself = With {
            name: name.to_owned(),
            source: WithSource::Itself,
            is_named: Cell::new(true),
            next: place.with.clone(),
        };
        let alone = QueryContext { with: Some(Rc::new(itself)), ..place.clone() };
        let SetExpr::SetOperation { op: SetOperator::Union, set_quantifier, left, right } = query.body.as_ref() else {
            return self.unordered(query, &alone);
        };
        let (place, alone) = match &query.with {
            Some(with) => (behind(with, place)?, behind(with, &alone)?),
            None => (place.clone(), alone),
        };
        let mut first = self.body(left, &alone)?;
        first.rename(columns);
        first.plan = self.unqualified(first.plan)?;
        let mut next = self.rounds(name, &first, right, &place)?;
        if !next.reads {
            return self.unordered(query, &place);
        }
        if query.order_by.is_some() || query.limit_clause.is_some() {
            return Err(error::unsupported(
                "ORDER BY or LIMIT of a recursive query (put them into the query that reads it)",
            ));
        }
        if next.bound.columns.len() != first.columns.len() {
            return Err(Error::invalid(
                SqlState::SyntaxError,
                format!(
                    "the two parts of WITH RECURSIVE '{name}' have {} and {} columns",
                    first.columns.len(),
                    next.bound.columns.len()
                ),
            ));
        }
        let (own, both) = (types_of(&first.plan), self.types_of_both(&first, &next.bound)?);
        if own != both {
            let types: Vec<_> =
                own.iter().zip(&both).map(|(own, both)| if own == both { own.clone() } else { widest(both) }).collect();
            first.plan = self.cast_to(first.plan, &types)?;
            next = self.rounds(name, &first, right, &place)?;
            let found = self.types_of_both(&first, &next.bound)?;
            if let Some(at) = (0..types.len()).find(|at| found[*at] != types[*at]) {
                return Err(Error::invalid(
                    SqlState::DatatypeMismatch,
                    format!(
                        "column {} ('{}') of WITH RECURSIVE '{name}' is {} in one round and {} in the next; cast it in the \
                     second part to the type that it is to have, and in the first as well",
                        at + 1,
                        first.columns[at].name,
                        type_name(&types[at]),
                        type_name(&found[at])
                    ),
                ));
            }
        }
        let names: Vec<String> = first.columns.iter().map(|own| own.name.clone()).collect();
        let is_distinct = !matches!(set_quantifier, SetQuantifier::All | SetQuantifier::AllByName);
        let plan = LogicalPlanBuilder::from(first.plan.clone());
        let plan = plan.to_recursive_query(next.table, next.bound.plan, is_distinct)?.build()?;
        Ok(Bound::of(plan, names).also_called(&first.columns))
    }

    /// Binds the second part of a query, over rows like those of the first.
    fn rounds(&mut self, name: &str, first: &Bound, second: &SetExpr, place: &QueryContext) -> Result<RecursivePart> {
        let called = self.names.fresh(name);
        let fields = first.plan.schema().fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
        let table = Arc::new(CteWorkTable::new(&called, Arc::new(Schema::new(fields.collect::<Vec<Field>>()))));
        let columns = first.columns.iter().map(|own| own.name.clone()).collect();
        let source = WithSource::Rounds { table, columns, was_read: Cell::new(false) };
        let with = Rc::new(With { name: name.to_owned(), source, is_named: Cell::new(true), next: place.with.clone() });
        let bound = self.body(second, &QueryContext { with: Some(Rc::clone(&with)), ..place.clone() })?;
        let WithSource::Rounds { was_read, .. } = &with.source else {
            return Err(Error::Internal("a recursive query lost its rounds".into()));
        };
        Ok(RecursivePart { table: called, bound, reads: was_read.get() })
    }

    /// The types that the columns of a UNION of both parts have.
    fn types_of_both(&self, first: &Bound, second: &Bound) -> Result<Vec<DataType>> {
        let union = LogicalPlanBuilder::from(first.plan.clone()).union(second.plan.clone())?.build()?;
        // Not checked: what a subquery of it looks at may be around it. The whole is, in its turn.
        let typed = |plan, rule: &Arc<dyn AnalyzerRule + Send + Sync>| rule.analyze(plan, self.state.config_options());
        Ok(types_of(&self.state.analyzer().rules.iter().try_fold(union, typed)?))
    }

    /// A plan whose columns have these types.
    fn cast_to(&self, plan: LogicalPlan, types: &[DataType]) -> Result<LogicalPlan> {
        let fields: Vec<_> = plan.schema().columns().into_iter().zip(types_of(&plan)).zip(types).collect();
        let mut columns = Vec::with_capacity(fields.len());
        for ((column, own), wanted) in fields {
            columns.push(match own == *wanted {
                true => Planned::Column(column),
                false => {
                    let name = column.name.clone();
                    cast(Planned::Column(column), wanted.clone()).alias(name)
                }
            });
        }
        self.project(plan, columns)
    }

    /// A plan whose columns have no table's name before theirs: the rows of later rounds come under the first one's names.
    fn unqualified(&mut self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let columns = plan.schema().columns().into_iter().map(|column| match &column.relation {
            Some(_) => {
                let name = self.names.fresh(&column.name);
                Planned::Column(column).alias(name)
            }
            None => Planned::Column(column),
        });
        let columns = columns.collect();
        self.project(plan, columns)
    }
}

fn types_of(plan: &LogicalPlan) -> Vec<DataType> {
    plan.schema().fields().iter().map(|field| field.data_type().clone()).collect()
}

/// Sums of decimals get a digit more with every round, so a decimal takes all digits at once.
fn widest(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Decimal128(_, scale) => DataType::Decimal128(DECIMAL128_MAX_PRECISION, *scale),
        other => other.clone(),
    }
}
