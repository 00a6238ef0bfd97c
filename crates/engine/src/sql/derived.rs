//! A query over the rows of another one.

use crate::sql::parse::query_of;
use crate::sql::summarize::reading;
use crate::{Error, Result};
use datafusion::sql::sqlparser::ast::{Query, SetExpr, TableFactor};

/// `SELECT items FROM (source) AS s (columns)`: the columns of `source` may have any names, and several the same.
pub(crate) fn over(items: &[String], columns: &[String], source: Query) -> Result<Query> {
    let text = format!("SELECT {} FROM (SELECT 1) AS s ({})", items.join(", "), columns.join(", "));
    let outer = query_of(&text)?;
    let relation = match &*outer.body {
        SetExpr::Select(select) => select.from.first().map(|from| from.relation.clone()),
        _ => None,
    };
    let Some(TableFactor::Derived { lateral, alias, sample, .. }) = relation else {
        return Err(Error::Internal("a FROM has a subquery".into()));
    };
    reading(outer, TableFactor::Derived { lateral, subquery: Box::new(source), alias, sample })
}
