//! MERGE INTO t USING s ON c WHEN …: target and source are joined once, whatever the number of clauses. The query gives, with each
//! row, the clause that takes it and the values that this gives; what comes of all of them is written in one transaction, unless the
//! table was changed since.
//!
//! | file | what |
//! |---|---|
//! | `clauses` | the clauses as items of the query, and what they make of its rows |
//! | `read` | the query's rows, and what is written of them |

mod clauses;
mod read;

use crate::bind::MERGE_ACTION;
use crate::sql::names::unsupported;
use crate::sql::walk::{SyntaxTree, Visit};
use crate::statements::dml::change;
use crate::statements::dml::change::{Returning, is_merge_action};
use crate::{Error, Result};
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, Merge, ObjectName, OutputClause, SelectItem, TableWithJoins, Value, With,
};
use gingham_storage::SqlState;
use std::collections::HashSet;
use std::sync::Arc;

/// MERGE.
pub(crate) struct Merging {
    statement: Merge,
    with: Option<With>,
    pub(crate) table: ObjectName,
    pub(crate) returning: Option<Returning>,
    /// Records that other parts of the statement change.
    pub(crate) before: Option<Arc<HashSet<u64>>>,
}

/// What a MERGE does. Clauses of other databases are refused.
pub(crate) fn merging(mut statement: Merge, with: Option<With>) -> Result<Merging> {
    change::refuse("MERGE", &[(!statement.optimizer_hints.is_empty(), "optimizer hints")])?;
    let target = TableWithJoins { relation: statement.table.clone(), joins: Vec::new() };
    let table = change::plain_table("MERGE", &target)?;
    let returning = match statement.output.take() {
        None => None,
        Some(OutputClause::Returning { returning_token: _, select_items }) => {
            Some(Returning::of_merge(&target, select_items, with.as_ref()))
        }
        Some(OutputClause::Output { .. }) => return Err(unsupported("MERGE with OUTPUT".into())),
    };
    if statement.clauses.is_empty() {
        let text = "MERGE has no clause; WHEN [NOT] MATCHED THEN … says what is done";
        return Err(Error::invalid(SqlState::SyntaxError, text));
    }
    clauses::reachable(&statement.clauses)?;
    Ok(Merging { statement, with, table, returning, before: None })
}

/// Items of RETURNING with a text in the place of merge_action(), for their types.
pub(crate) fn with_actions(items: Vec<SelectItem>) -> Result<Vec<SelectItem>> {
    struct WithTexts;
    impl Visit for WithTexts {
        fn expression(&mut self, expression: &mut Expr) -> Result<()> {
            if is_merge_action(expression) {
                *expression = Expr::value(Value::SingleQuotedString(String::new()));
            }
            Ok(())
        }
    }
    let with_text = |item| {
        Ok(match item {
            SelectItem::UnnamedExpr(call) if is_merge_action(&call) => SelectItem::ExprWithAlias {
                expr: Expr::value(Value::SingleQuotedString(String::new())),
                alias: Ident::new(MERGE_ACTION.1),
            },
            SelectItem::UnnamedExpr(mut expr) => {
                expr.walk(&mut WithTexts)?;
                SelectItem::UnnamedExpr(expr)
            }
            SelectItem::ExprWithAlias { mut expr, alias } => {
                expr.walk(&mut WithTexts)?;
                SelectItem::ExprWithAlias { expr, alias }
            }
            other => other,
        })
    };
    items.into_iter().map(with_text).collect()
}
