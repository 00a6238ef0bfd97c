//! SET: `a = x`, `(a, b) = (x, y)` and `(a, b) = (SELECT …)`, as one value for each column.

use crate::sql::names::unsupported;
use crate::sql::walk::{SyntaxTree, Visit};
use crate::statements::query_of;
use crate::{Error, Result};
use datafusion::sql::sqlparser::ast::{
    Assignment, AssignmentTarget, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, Query,
    SelectItem, SetExpr, TableAlias, TableAliasColumnDef, TableFactor,
};
use gingham_storage::SqlState;

/// The columns that assignments name, and their values.
pub(crate) fn assignments(given: Vec<Assignment>) -> Result<Vec<(Ident, Expr)>> {
    let mut all = Vec::with_capacity(given.len());
    for Assignment { target, value } in given {
        match &target {
            AssignmentTarget::ColumnName(name) => all.push((column(name)?, value)),
            AssignmentTarget::Tuple(names) => {
                let columns = names.iter().map(column).collect::<Result<Vec<Ident>>>()?;
                let values = values(&target, &columns, value)?;
                all.extend(columns.into_iter().zip(values));
            }
        }
    }
    Ok(all)
}

fn column(name: &ObjectName) -> Result<Ident> {
    let ident = match name.0.as_slice() {
        [part] => part.as_ident(),
        _ => None,
    };
    let ident = ident.ok_or_else(|| unsupported(format!("SET {name} = …, where the name of a column is expected,")))?;
    Ok(ident.clone())
}

/// The value of each column of `(a, b) = value`.
fn values(target: &AssignmentTarget, columns: &[Ident], value: Expr) -> Result<Vec<Expr>> {
    let wrong = |values: usize| {
        Error::invalid(
            SqlState::SyntaxError,
            format!("SET {target} = …: {} columns are given {values} values", columns.len()),
        )
    };
    match value {
        Expr::Tuple(values) if values.len() == columns.len() => Ok(values),
        Expr::Tuple(values) => Err(wrong(values.len())),
        Expr::Nested(inner) if columns.len() == 1 => Ok(vec![*inner]),
        Expr::Nested(inner) => values(target, columns, *inner),
        Expr::Function(row) if row.name.to_string().eq_ignore_ascii_case("row") => {
            let FunctionArguments::List(list) = row.args else { return Err(wrong(0)) };
            let given = list.args.into_iter().map(|argument| match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Ok(value),
                other => Err(unsupported(format!("SET {target} = ROW(… {other} …)"))),
            });
            let given = given.collect::<Result<Vec<Expr>>>()?;
            if given.len() == columns.len() { Ok(given) } else { Err(wrong(given.len())) }
        }
        Expr::Subquery(query) => {
            if let SetExpr::Select(select) = query.body.as_ref()
                && select.projection.iter().all(is_one_value)
                && select.projection.len() != columns.len()
            {
                return Err(wrong(select.projection.len()));
            }
            (0..columns.len()).map(|at| of_query(&query, columns, at)).collect()
        }
        other => Err(unsupported(format!("SET {target} = {other} (write a row of values or a subquery)"))),
    }
}

fn is_one_value(item: &SelectItem) -> bool {
    matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. })
}

/// Whether items of a list call functions: where one of them aggregates, the others are about one row too.
fn calls_functions(items: &[SelectItem]) -> Result<bool> {
    struct HasCall(bool);
    impl Visit for HasCall {
        fn expression(&mut self, expression: &mut Expr) -> Result<()> {
            self.0 |= matches!(expression, Expr::Function(_));
            Ok(())
        }
    }
    let mut calls = HasCall(false);
    for item in items {
        if let SelectItem::UnnamedExpr(value) | SelectItem::ExprWithAlias { expr: value, .. } = item {
            value.clone().walk(&mut calls)?;
        }
    }
    Ok(calls.0)
}

/// Column `at` of a query as a scalar subquery: the query with that item alone, or a query over it.
fn of_query(query: &Query, columns: &[Ident], at: usize) -> Result<Expr> {
    if let SetExpr::Select(select) = query.body.as_ref()
        && select.distinct.is_none()
        && query.order_by.is_none()
        && select.projection.iter().all(is_one_value)
        && !calls_functions(&select.projection)?
    {
        let mut own = select.clone();
        own.projection = vec![own.projection.swap_remove(at)];
        let body = Box::new(SetExpr::Select(own));
        return Ok(Expr::Subquery(Box::new(Query { body, ..query.clone() })));
    }
    let names: Vec<Ident> = (1..=columns.len()).map(|number| Ident::new(format!("value{number}"))).collect();
    let mut outer = query_of("SELECT value FROM t")?;
    if let SetExpr::Select(select) = &mut *outer.body {
        select.projection = vec![SelectItem::UnnamedExpr(Expr::Identifier(names[at].clone()))];
        let columns = names.into_iter().map(|name| TableAliasColumnDef { name, data_type: None }).collect();
        let alias = TableAlias { explicit: true, name: Ident::new("given"), columns, at: None };
        for from in &mut select.from {
            let (subquery, alias) = (Box::new(query.clone()), Some(alias.clone()));
            from.relation = TableFactor::Derived { lateral: false, subquery, alias, sample: None };
        }
    }
    Ok(Expr::Subquery(Box::new(outer)))
}
