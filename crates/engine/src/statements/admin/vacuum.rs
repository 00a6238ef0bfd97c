//! VACUUM: makes the catalog's file smaller. It is about the whole database, as heap pages of all tables lie in one file.

use crate::session::{Outcome, StatementContext};
use crate::sql::names::unsupported;
use crate::{Error, Result};
use datafusion::sql::sqlparser::ast::VacuumStatement;
use std::sync::Arc;

/// Runs VACUUM, without a table and without options of others.
pub(crate) async fn checked(context: &StatementContext, statement: VacuumStatement) -> Result<Outcome> {
    let VacuumStatement { full, sort_only, delete_only, reindex, recluster, table_name, threshold, boost } = statement;
    if full || sort_only || delete_only || reindex || recluster || threshold.is_some() || boost {
        return Err(unsupported("VACUUM with options".into()));
    }
    if table_name.is_some() {
        return Err(Error::Unsupported(
            "VACUUM of one table is not supported; VACUUM makes the file of all of them smaller, OPTIMIZE t merges the delta \
             of a table"
                .into(),
        ));
    }
    run(context).await
}

/// Makes the file smaller.
pub(crate) async fn run(context: &StatementContext) -> Result<Outcome> {
    context.require_alone("VACUUM")?;
    let (store, options) = (&context.session.engine.store, context.write_options());
    let own = Arc::clone(store);
    context.in_line(store, move || Ok(own.vacuum(&options).map(drop)?)).await?;
    Ok(Outcome::Done)
}
