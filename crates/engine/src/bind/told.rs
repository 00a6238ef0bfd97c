//! The types of PostgreSQL that a statement's columns have for clients where those are not the ones of their values: the columns of
//! its catalog are OIDs, names and such, whose values are BIGINTs and texts here. Drivers look into arrays of them (asyncpg asks for
//! the types of an array's elements until it knows them), so that the type has to outlast aggregates, CASE and set operations.
//!
//! A column of the plan is known by its name, which occurs once in a statement.

use crate::postgres::{TYPE_KEY, type_of_oid};
use datafusion::common::Column;
use datafusion::logical_expr::{Expr, LogicalPlan};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The columns that clients are told another type of, and its number.
#[derive(Debug, Default)]
pub(super) struct ToldTypes(HashMap<String, i64>);

impl ToldTypes {
    /// Notes the type of a column of the plan; `None` for one that has that of its values.
    pub(super) fn note(&mut self, column: &Column, oid: Option<i64>) {
        match (self.0.entry(column.name.clone()), oid) {
            (entry, Some(oid)) => drop(entry.insert_entry(oid)),
            (Entry::Occupied(known), None) => drop(known.remove()),
            (Entry::Vacant(_), None) => {}
        }
    }

    /// Notes the types that a plan's columns tell themselves.
    pub(super) fn note_fields(&mut self, plan: &LogicalPlan) {
        for (column, field) in plan.schema().columns().iter().zip(plan.schema().fields()) {
            let told = field.metadata().get(TYPE_KEY).and_then(|text| text.parse().ok());
            self.note(column, told);
        }
    }

    /// The type that clients are told of a column.
    pub(super) fn of_column(&self, column: &Column) -> Option<i64> {
        self.0.get(&column.name).copied()
    }

    /// The type that clients are told of an expression.
    pub(super) fn of(&self, expression: &Expr) -> Option<i64> {
        // Nearly all statements ask for nothing of the catalog.
        if self.0.is_empty() {
            return None;
        }
        let first = |arguments: &[Expr]| arguments.first().and_then(|first| self.of(first));
        match expression {
            Expr::Column(column) | Expr::OuterReferenceColumn(_, column) => self.of_column(column),
            Expr::Alias(alias) => self.of(&alias.expr),
            Expr::ScalarSubquery(query) => self.of_column(query.subquery.schema().columns().first()?),
            Expr::Case(case) => {
                let results = case.when_then_expr.iter().map(|(_, then)| then.as_ref());
                self.of_all(results.chain(case.else_expr.as_deref()))
            }
            Expr::ScalarFunction(call) => match call.func.name() {
                "coalesce" => self.of_all(call.args.iter()),
                "nullif" => first(&call.args),
                "array_element" => element_of(first(&call.args)?),
                "make_array" => array_of(self.of_all(call.args.iter())?),
                _ => None,
            },
            Expr::AggregateFunction(call) => match call.func.name() {
                "min" | "max" | "first_value" | "last_value" | "nth_value" => first(&call.params.args),
                "array_agg" => array_of(first(&call.params.args)?),
                _ => None,
            },
            Expr::WindowFunction(call) => match call.fun.name() {
                "min" | "max" | "first_value" | "last_value" | "nth_value" | "lag" | "lead" => first(&call.params.args),
                "array_agg" => array_of(first(&call.params.args)?),
                _ => None,
            },
            _ => None,
        }
    }

    /// The type of a value that is one of several, which all have it or are NULL.
    fn of_all<'e>(&self, values: impl Iterator<Item = &'e Expr>) -> Option<i64> {
        let mut some = values.filter(|value| !matches!(value, Expr::Literal(value, _) if value.is_null()));
        let first = self.of(some.next()?)?;
        some.all(|other| self.of(other) == Some(first)).then_some(first)
    }
}

fn array_of(oid: i64) -> Option<i64> {
    match type_of_oid(oid)? {
        (known, false) if known.array != 0 => Some(known.array),
        _ => None,
    }
}

fn element_of(oid: i64) -> Option<i64> {
    match type_of_oid(oid)? {
        (known, true) => Some(known.oid),
        _ => None,
    }
}
