//! DEFAULT as a value: what a column gets for it, as an expression in the place of the word.

use crate::sql::parse::query_of_view;
use crate::statements::ddl::expression::default_text;
use crate::statements::dml::values::is_default;
use crate::{Error, Result};
use datafusion::sql::sqlparser::ast::{Expr, SelectItem, SetExpr, Value};
use gingham_storage::{ColumnDefinition, SqlState};

/// The new value of a column: the one that is given, or its default where that is the word DEFAULT.
pub(crate) fn value_of(given: Expr, column: &ColumnDefinition) -> Result<Expr> {
    if !is_default(&given) {
        return Ok(given);
    }
    let Some(text) = default_text(column) else { return Ok(Expr::value(Value::Null)) };
    let wrong = |error: String| {
        Error::invalid(SqlState::InvalidTableDefinition, format!("DEFAULT {text} of column '{}': {error}", column.name))
    };
    // Its places in the text are not those of the statement.
    let query = query_of_view(&format!("SELECT {text}")).map_err(wrong)?;
    if let SetExpr::Select(select) = *query.body
        && let [SelectItem::UnnamedExpr(value)] = select.projection.as_slice()
    {
        return Ok(Expr::Nested(Box::new(value.clone())));
    }
    Err(wrong("it is no expression".to_owned()))
}
