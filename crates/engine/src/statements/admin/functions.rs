//! SHOW FUNCTIONS: what statements can call.

use crate::Result;
use crate::session::{Outcome, StatementContext};
use crate::sql::names::unsupported;
use crate::statements::query_of;
use datafusion::sql::sqlparser::ast::ShowStatementFilter;

/// Runs SHOW FUNCTIONS [LIKE 'pattern'].
pub(super) async fn show(context: &StatementContext, filter: Option<&ShowStatementFilter>) -> Result<Outcome> {
    let text = |pattern: &str| format!("'{}'", pattern.replace('\'', "''"));
    let condition = match filter {
        None => String::new(),
        Some(ShowStatementFilter::Like(pattern)) => format!("WHERE function_name LIKE {}", text(pattern)),
        Some(ShowStatementFilter::ILike(pattern)) => format!("WHERE function_name ILIKE {}", text(pattern)),
        Some(ShowStatementFilter::Where(condition)) => format!("WHERE {condition}"),
        Some(other) => return Err(unsupported(format!("SHOW FUNCTIONS {other}"))),
    };
    let listed = "SELECT routine_name AS function_name, function_type FROM information_schema.routines";
    let query = query_of(&format!("SELECT * FROM ({listed}) AS functions {condition} ORDER BY function_name"))?;
    let bound = context.bind(query, None).await?;
    Ok(Outcome::Rows(context.rows(bound.with_names()?).await?))
}
