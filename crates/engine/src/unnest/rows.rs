//! Rows to which the results of subqueries are added, and what the columns of queries around them are there.

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, HashMap, TableReference};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, Filter, LogicalPlan, Projection};
use std::sync::Arc;

/// A plan without subqueries. Its rows stay the same ones when columns are added.
#[derive(Debug, Clone)]
pub(super) struct UnnestedRows {
    pub(super) plan: LogicalPlan,
    /// Columns of queries around this one, and of queries that are computed for each row, as expressions over `plan`.
    pub(super) bindings: HashMap<Column, Expr>,
}

impl UnnestedRows {
    /// Rows of a query that is in no other one.
    pub(super) fn of(plan: LogicalPlan) -> Self {
        Self { plan, bindings: HashMap::new() }
    }

    /// The schema of the plan.
    pub(super) fn schema(&self) -> &DFSchema {
        self.plan.schema()
    }

    /// What a column means here: one of the plan's, or what it is bound to.
    pub(super) fn binding(&self, column: &Column) -> Option<Expr> {
        match self.bindings.get(column) {
            Some(bound) => Some(bound.clone()),
            None => self.schema().has_column(column).then(|| Expr::Column(column.clone())),
        }
    }

    /// An expression over the plan. Columns that are not known here stay what they are.
    pub(super) fn bind(&self, expression: Expr) -> Result<Expr> {
        let bound = expression.transform_up(|part| {
            let column = match &part {
                Expr::OuterReferenceColumn(_, column) => column,
                Expr::Column(column) if self.bindings.contains_key(column) => column,
                _ => return Ok(Transformed::no(part)),
            };
            Ok(match self.binding(column) {
                Some(own) => Transformed::yes(own),
                None => Transformed::no(part),
            })
        })?;
        Ok(bound.data)
    }

    /// Keeps the rows for which all of `conditions` hold.
    pub(super) fn keep(&mut self, conditions: Vec<Expr>) -> Result<()> {
        if let Some(condition) = datafusion::logical_expr::utils::conjunction(conditions) {
            self.plan = LogicalPlan::Filter(Filter::try_new(condition, Arc::new(std::mem::take(&mut self.plan)))?);
        }
        Ok(())
    }

    /// Adds columns.
    pub(super) fn add(&mut self, columns: Vec<Expr>) -> Result<()> {
        let all = columns_of(&self.plan).chain(columns).collect();
        self.plan = project(std::mem::take(&mut self.plan), all)?;
        Ok(())
    }

    /// The plan's columns to which outer ones are bound.
    pub(super) fn bound_columns(&self) -> Vec<Expr> {
        let mut columns: Vec<(usize, Expr)> = Vec::new();
        for bound in self.bindings.values() {
            if let Expr::Column(column) = bound
                && let Some(place) = self.schema().maybe_index_of_column(column)
                && !columns.iter().any(|(known, _)| *known == place)
            {
                columns.push((place, bound.clone()));
            }
        }
        columns.sort_by_key(|(place, _)| *place);
        columns.into_iter().map(|(_, column)| column).collect()
    }

    /// Keeps these columns, and those that outer ones are bound to.
    pub(super) fn show(&mut self, columns: Vec<Expr>) -> Result<()> {
        let all = self.bound_columns().into_iter().filter(|bound| !columns.contains(bound)).chain(columns.clone());
        let all = all.collect();
        self.plan = project(std::mem::take(&mut self.plan), all)?;
        Ok(())
    }
}

/// The columns of a plan.
pub(super) fn columns_of(plan: &LogicalPlan) -> impl Iterator<Item = Expr> + use<> {
    plan.schema().columns().into_iter().map(Expr::Column)
}

/// A projection; the plan itself where these are its columns.
pub(super) fn project(plan: LogicalPlan, expressions: Vec<Expr>) -> Result<LogicalPlan> {
    let own = plan.schema().columns();
    let is_own = |(expression, own): (&Expr, &Column)| matches!(expression, Expr::Column(column) if column == own);
    if expressions.len() == own.len() && expressions.iter().zip(&own).all(is_own) {
        return Ok(plan);
    }
    Ok(LogicalPlan::Projection(Projection::try_new(expressions, Arc::new(plan))?))
}

/// An expression under the name of a column.
pub(super) fn named(expression: Expr, column: &Column) -> Expr {
    let (own, name) = expression.qualified_name();
    if own == column.relation && name == column.name {
        return expression;
    }
    let relation: Option<TableReference> = column.relation.clone();
    expression.unalias().alias_qualified(relation, column.name.clone())
}

/// Expressions under the names of a schema's columns.
pub(super) fn under_names(expressions: Vec<Expr>, schema: &DFSchema) -> Vec<Expr> {
    expressions.into_iter().zip(schema.columns()).map(|(expression, column)| named(expression, &column)).collect()
}
