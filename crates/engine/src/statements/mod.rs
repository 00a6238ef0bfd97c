//! Each kind of SQL statement, done or refused by name.

use crate::Result;
use crate::session::{Outcome, StatementContext, Target};
use datafusion::common::ParamValues;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::sql::parser::Statement;

/// Runs one statement with `parameters` for `$1`, `$2`, ….
pub(crate) async fn run(
    context: &StatementContext,
    statement: Statement,
    parameters: Option<ParamValues>,
) -> Result<Outcome> {
    let plan = context.plan(statement, parameters).await?;
    Ok(Outcome::Rows(context.rows(&plan).await?))
}

/// Adds the rows of a stream, which has the table's columns in order (types may need a cast), to a table after checking
/// its constraints: all of them or none. Returns their number.
pub(crate) async fn insert_stream(
    context: &StatementContext,
    target: &Target,
    rows: SendableRecordBatchStream,
) -> Result<u64> {
    let _ = (context, target, rows);
    todo!()
}
