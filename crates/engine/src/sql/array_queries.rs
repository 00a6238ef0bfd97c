//! `ARRAY (SELECT …)`: the rows of a query as an array, in the query's order. It becomes an aggregate over the query, which is
//! empty and not NULL where there are no rows. The order is a number of each row, or that of the values where they are told
//! apart or put together.

use crate::sql::names::fold;
use crate::sql::parse::query_of;
use crate::{Error, Result};
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArguments, Ident, OrderBy, OrderByExpr, OrderByKind, Query, Select, SelectItem, SetExpr,
    TableFactor, Value, WindowSpec, WindowType,
};
use gingham_storage::SqlState;

/// What the rows of the query are called that an array is made of: no user's name.
const ARRAY: &str = "(array)";

/// The query that a call of ARRAY stands for; `None` for any other call.
pub(crate) fn of_function(function: &Function) -> Result<Option<Expr>> {
    let FunctionArguments::Subquery(query) = &function.args else { return Ok(None) };
    if !function.name.to_string().eq_ignore_ascii_case("array") {
        return Ok(None);
    }
    let mut query = Query::clone(query);
    let order = match numbered(&mut query) {
        Some(()) => " ORDER BY \"(place)\"".to_owned(),
        None => values_order(&query)?,
    };
    let names = if order.contains("(place)") { "\"(value)\", \"(place)\"" } else { "\"(value)\"" };
    let text = format!(
        "SELECT coalesce(array_agg(\"(value)\"{order}), make_array()) FROM (SELECT NULL) AS \"{ARRAY}\" ({names})"
    );
    let mut outer = query_of(&text)?;
    if let SetExpr::Select(select) = &mut *outer.body
        && let Some(TableFactor::Derived { subquery, .. }) = select.from.first_mut().map(|from| &mut from.relation)
    {
        **subquery = query;
    }
    Ok(Some(Expr::Subquery(Box::new(outer))))
}

/// The query whose rows an array is made of, where an expression is such an array: `ANY (ARRAY (SELECT …))` compares with them.
pub(crate) fn query_within(expression: &Expr) -> Option<Query> {
    let query = match expression {
        Expr::Nested(inner) => return query_within(inner),
        Expr::Subquery(query) => query,
        _ => return None,
    };
    let SetExpr::Select(select) = &*query.body else { return None };
    let [from] = select.from.as_slice() else { return None };
    let TableFactor::Derived { subquery, alias: Some(alias), .. } = &from.relation else { return None };
    if alias.name.value != ARRAY {
        return None;
    }
    let mut query = Query::clone(subquery);
    if let SetExpr::Select(select) = &mut *query.body
        && alias.columns.len() > 1
    {
        select.projection.truncate(1);
    }
    Some(query)
}

/// Adds the number of each row to a plain SELECT that has an order; `None` where there is none, or it is not plain.
fn numbered(query: &mut Query) -> Option<()> {
    let keys = match &query.order_by {
        Some(OrderBy { kind: OrderByKind::Expressions(keys), .. }) => keys.clone(),
        _ => return None,
    };
    let SetExpr::Select(select) = &mut *query.body else { return None };
    if select.distinct.is_some() {
        return None;
    }
    let [item] = select.projection.as_slice() else { return None };
    let (SelectItem::UnnamedExpr(value) | SelectItem::ExprWithAlias { expr: value, .. }) = item else { return None };
    let (value, name) = (value.clone(), name_of(item));
    let order_by = keys.into_iter().map(|key| meant(key, &value, name.as_deref())).collect();
    let number = row_number(order_by)?;
    add(select, number);
    Some(())
}

fn add(select: &mut Select, number: Expr) {
    let alias = Ident::with_quote('"', "(place)");
    select.projection.push(SelectItem::ExprWithAlias { expr: number, alias });
}

fn name_of(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(fold(alias)),
        _ => None,
    }
}

/// A key of the order as a value of the rows: a number or the item's name is the item.
fn meant(key: OrderByExpr, value: &Expr, name: Option<&str>) -> OrderByExpr {
    let is_item = match &key.expr {
        Expr::Value(own) => matches!(&own.value, Value::Number(digits, _) if digits == "1"),
        Expr::Identifier(ident) => name == Some(fold(ident).as_str()),
        _ => false,
    };
    if is_item { OrderByExpr { expr: value.clone(), ..key } } else { key }
}

/// `row_number() OVER (ORDER BY …)`.
fn row_number(order_by: Vec<OrderByExpr>) -> Option<Expr> {
    let mut call = crate::sql::operators::call("row_number", Vec::new());
    let Expr::Function(function) = &mut call else { return None };
    let spec = WindowSpec { window_name: None, partition_by: Vec::new(), order_by, window_frame: None };
    function.over = Some(WindowType::WindowSpec(spec));
    Some(call)
}

/// The order of the values where the query itself has one column: `ORDER BY 1 DESC` of SELECT DISTINCT or UNION.
fn values_order(query: &Query) -> Result<String> {
    let keys = match &query.order_by {
        None => return Ok(String::new()),
        Some(OrderBy { kind: OrderByKind::Expressions(keys), .. }) => keys,
        Some(OrderBy { kind: OrderByKind::All(options), .. }) => return Ok(format!(" ORDER BY \"(value)\"{options}")),
    };
    match keys.as_slice() {
        [key] => Ok(format!(" ORDER BY \"(value)\"{}", key.options)),
        _ => Err(Error::invalid(
            SqlState::SyntaxError,
            "ARRAY of a query gives one column, by which SELECT DISTINCT and UNION put it in order",
        )),
    }
}
