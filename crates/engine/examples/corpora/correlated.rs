//! Queries with a subquery that looks at a query around it. They are counted by themselves: to take such subqueries apart is
//! where engines go wrong.

use datafusion::sql::sqlparser::ast::{
    Expr, Query, Select, SetExpr, Statement, TableFactor, TableWithJoins, Visit, Visitor,
};
use datafusion::sql::sqlparser::dialect::DuckDbDialect;
use datafusion::sql::sqlparser::parser::Parser;
use std::ops::ControlFlow;

/// Whether a column with its table's name before it is a query's around the one that names it. Of columns without it none can tell.
pub fn is_correlated(sql: &str) -> bool {
    let Ok(statements) = Parser::parse_sql(&DuckDbDialect {}, sql) else { return false };
    Vec::<Statement>::visit(&statements, &mut Scopes::default()).is_break()
}

/// The tables' names of the queries around an expression, the innermost last.
#[derive(Default)]
struct Scopes(Vec<Vec<String>>);

impl Visitor for Scopes {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let mut names = Vec::new();
        of_body(&query.body, &mut names);
        self.0.push(names);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.0.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
        let Expr::CompoundIdentifier(parts) = expression else { return ControlFlow::Continue(()) };
        let table = parts[0].value.to_lowercase();
        match self.0.split_last() {
            Some((own, around)) if !own.contains(&table) && around.iter().any(|names| names.contains(&table)) => {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

fn of_body(body: &SetExpr, names: &mut Vec<String>) {
    match body {
        SetExpr::Select(select) => of_select(select, names),
        SetExpr::SetOperation { left, right, .. } => {
            of_body(left, names);
            of_body(right, names);
        }
        _ => {}
    }
}

fn of_select(select: &Select, names: &mut Vec<String>) {
    select.from.iter().for_each(|tables| of_tables(tables, names));
}

fn of_tables(tables: &TableWithJoins, names: &mut Vec<String>) {
    for member in std::iter::once(&tables.relation).chain(tables.joins.iter().map(|join| &join.relation)) {
        let (alias, name) = match member {
            TableFactor::Table { alias, name, .. } => (alias, name.0.last().and_then(|part| part.as_ident())),
            TableFactor::Derived { alias, .. } | TableFactor::TableFunction { alias, .. } => (alias, None),
            TableFactor::UNNEST { alias, .. } => (alias, None),
            TableFactor::NestedJoin { table_with_joins, alias } => {
                of_tables(table_with_joins, names);
                (alias, None)
            }
            _ => continue,
        };
        let named = alias.as_ref().map(|alias| &alias.name).or(name);
        names.extend(named.map(|ident| ident.value.to_lowercase()));
    }
}
