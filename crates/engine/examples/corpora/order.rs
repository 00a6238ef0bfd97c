//! What a query's text says of its answer: in which order its rows must come, and whether they are decided at all.

use datafusion::sql::sqlparser::ast::{
    Expr, LimitClause, OrderBy, OrderByKind, Query, SelectItem, SetExpr, Statement, Value,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;

/// What must hold of the rows of a query.
#[derive(Debug, Clone, Default)]
pub struct Demands {
    /// Columns by which the rows are sorted, the first one first, as far as they are among the query's own columns.
    pub keys: Vec<usize>,
    /// The rows that come are some of many: a LIMIT cuts them off.
    pub limited: bool,
    /// Two right answers may differ: by chance, by the clock, by the program's name.
    pub open: bool,
    /// It asks about the program rather than about data: EXPLAIN, SHOW and their like.
    pub about_program: bool,
}

/// Words in a query whose answers need not be the same in two programs.
const OPEN: &[&str] = &[
    "random",
    "rand",
    "setseed",
    "uuid",
    "gen_random_uuid",
    "uuidv4",
    "uuidv7",
    "now",
    "today",
    "current_timestamp",
    "current_date",
    "current_time",
    "localtimestamp",
    "localtime",
    "clock_timestamp",
    "transaction_timestamp",
    "age",
    "version",
    "current_user",
    "session_user",
    "user",
    "current_role",
    "current_catalog",
    "current_setting",
    "current_database",
    "current_schema",
    "current_schemas",
    "tablesample",
    "information_schema",
    "typeof",
    "pg_typeof",
    "ctid",
    "oid",
    "hash",
    "any_value",
];

/// Reads the demands out of `sql`. What the parser does not take has none but those of its words.
pub fn demands(sql: &str) -> Demands {
    let words: Vec<String> = words(sql).collect();
    let first = words.first().map(String::as_str).unwrap_or_default();
    let about_program =
        ["explain", "show", "describe", "pragma", "call", "checkpoint", "set", "reset"].contains(&first);
    let open = about_program || words.iter().any(|word| OPEN.contains(&word.as_str()) || word.starts_with("pg_"));
    let mut demands = Demands { open, about_program, ..Default::default() };
    demands.limited = words.iter().any(|word| word == "limit" || word == "fetch" || word == "offset");
    let parsed = Parser::parse_sql(&PostgreSqlDialect {}, sql);
    if let Ok([Statement::Query(query)]) = parsed.as_deref() {
        let of_its_own = query.limit_clause.is_some() || query.fetch.is_some();
        let inner = words.iter().filter(|word| *word == "limit" || *word == "fetch").count();
        // A LIMIT in a subquery decides which rows there are at all.
        demands.open |= inner > usize::from(of_its_own && limit_word(query));
        demands.keys = keys(query);
    }
    demands
}

fn limit_word(query: &Query) -> bool {
    let limit = |clause: &LimitClause| !matches!(clause, LimitClause::LimitOffset { limit: None, .. });
    query.fetch.is_some() || query.limit_clause.as_ref().is_some_and(limit)
}

/// The words of a text, in small letters, without its strings' inside.
pub fn words(sql: &str) -> impl Iterator<Item = String> {
    let outside = sql.split('\'').step_by(2);
    outside.flat_map(|part| {
        let words = part.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        words.filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect::<Vec<_>>()
    })
}

/// The places of the leading sort keys among the columns of the query.
fn keys(query: &Query) -> Vec<usize> {
    let Some(OrderBy { kind: OrderByKind::Expressions(orders), .. }) = &query.order_by else { return Vec::new() };
    let SetExpr::Select(select) = &*query.body else {
        return orders.iter().map_while(|order| ordinal(&order.expr)).collect();
    };
    let place = |expr: &Expr| ordinal(expr).or_else(|| projected(&select.projection, expr));
    orders.iter().map_while(|order| place(&order.expr)).collect()
}

fn ordinal(expr: &Expr) -> Option<usize> {
    let Expr::Value(value) = expr else { return None };
    let Value::Number(digits, _) = &value.value else { return None };
    digits.to_string().parse::<usize>().ok()?.checked_sub(1)
}

/// The place of `expr` in the list of columns, by its alias or by its text.
fn projected(items: &[SelectItem], expr: &Expr) -> Option<usize> {
    let wild = |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
    if items.iter().any(wild) {
        return None;
    }
    let named = |item: &SelectItem| match (item, expr) {
        (SelectItem::ExprWithAlias { alias, .. }, Expr::Identifier(name)) => alias.value == name.value,
        (SelectItem::UnnamedExpr(item), _) => item == expr,
        _ => false,
    };
    let same = |item: &SelectItem| matches!(item, SelectItem::ExprWithAlias { expr: item, .. } if item == expr);
    items.iter().position(named).or_else(|| items.iter().position(same))
}
