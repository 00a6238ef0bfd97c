//! The types of PostgreSQL that a statement's columns have for clients where those are not the ones of their values: the columns of
//! its catalog are OIDs, names and such, whose values are BIGINTs and texts here. Drivers look into arrays of them (asyncpg asks for
//! the types of an array's elements until it knows them), so that the type has to outlast aggregates, CASE and set operations.
//!
//! A column of the plan is known by its name, which occurs once in a statement.

use crate::bind::passed_on::passed_on;
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
        match expression {
            Expr::Column(column) | Expr::OuterReferenceColumn(_, column) => self.of_column(column),
            Expr::ScalarSubquery(query) => self.of_column(query.subquery.schema().columns().first()?),
            Expr::ScalarFunction(call) if call.func.name() == "array_element" => {
                element_of(self.of(call.args.first()?)?)
            }
            Expr::ScalarFunction(call) if call.func.name() == "make_array" => array_of(self.of_all(call.args.iter())?),
            Expr::AggregateFunction(call) if call.func.name() == "array_agg" => {
                array_of(self.of(call.params.args.first()?)?)
            }
            Expr::WindowFunction(call) if call.fun.name() == "array_agg" => {
                array_of(self.of(call.params.args.first()?)?)
            }
            _ => self.of_all(passed_on(expression)?.into_iter()),
        }
    }

    /// The type of a value that is one of several, which all have it, or none of their own.
    fn of_all<'e>(&self, values: impl Iterator<Item = &'e Expr>) -> Option<i64> {
        let mut some = values.filter(|value| !is_untyped(value));
        let first = self.of(some.next()?)?;
        some.all(|other| self.of(other) == Some(first)).then_some(first)
    }
}

/// Whether an expression has the type of what stands beside it: NULL, or an array without elements.
fn is_untyped(value: &Expr) -> bool {
    match value {
        Expr::Literal(value, _) => value.is_null(),
        Expr::ScalarFunction(call) => call.func.name() == "make_array" && call.args.is_empty(),
        _ => false,
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
