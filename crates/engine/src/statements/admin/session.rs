//! Statements about the session: settings, transactions, cursors and what clients of PostgreSQL send besides.

use crate::Result;
use crate::session::{Outcome, Severity, StatementContext, blocking};
use crate::sql::session::SessionStatement;
use crate::statements::admin::{cursors, settings, transaction, vacuum};
use crate::statements::writable;
use datafusion::common::ParamValues;
use datafusion::sql::sqlparser::ast::ObjectName;
use gingham_storage::SqlState;
use std::sync::Arc;

/// Runs one.
pub(crate) async fn run(
    context: &StatementContext,
    statement: SessionStatement,
    parameters: Option<ParamValues>,
) -> Result<Outcome> {
    match statement {
        SessionStatement::Set { scope, name, value } => settings::set(context, scope, &name, value.as_deref()).await,
        SessionStatement::Reset(name) => settings::reset(context, name.as_deref()),
        SessionStatement::Show { name, verbose } => settings::show(context, name.as_deref(), verbose),
        SessionStatement::Discard(what) => settings::discard(context, what).await,
        SessionStatement::SetConstraints { deferred } => {
            if deferred {
                let text = "SET CONSTRAINTS DEFERRED has no effect: constraints are checked by each statement";
                context.say(Severity::Notice, SqlState::SuccessfulCompletion, text);
            }
            Ok(Outcome::Done)
        }
        SessionStatement::Begin { immediate, modes } => transaction::begin(context, immediate, modes).await,
        SessionStatement::SetTransaction { session, modes } => transaction::set_modes(context, session, modes),
        SessionStatement::End { commit: true, chain } => transaction::commit(context, chain).await,
        SessionStatement::End { commit: false, chain } => transaction::roll_back(context, chain).await,
        SessionStatement::Lock { tables, nowait: _ } => lock(context, &tables),
        SessionStatement::Declare(declare) => cursors::declare(context, *declare, parameters).await,
        SessionStatement::Fetch(fetch) => cursors::fetch(context, &fetch).await,
        SessionStatement::Close(name) => cursors::close(context, name.as_deref()),
        SessionStatement::Listen { stop } => {
            if !stop {
                let text = "LISTEN has no effect: there is no NOTIFY";
                context.say(Severity::Notice, SqlState::SuccessfulCompletion, text);
            }
            Ok(Outcome::Done)
        }
        SessionStatement::Refresh => {
            context.require_alone("REFRESH")?;
            let session = Arc::clone(&context.session);
            blocking(move || session.engine.refresh()).await?;
            Ok(Outcome::Done)
        }
        SessionStatement::Analyze(analyze) => {
            // Statistics of tables are those of their newest records: every write keeps them so.
            for table in &analyze.tables {
                writable(context, table, "ANALYZE")?;
            }
            match analyze.vacuum {
                true => vacuum::run(context).await,
                false => Ok(Outcome::Done),
            }
        }
    }
}

/// LOCK TABLE: the turn to write was taken, which keeps all tables as they are.
fn lock(context: &StatementContext, tables: &[ObjectName]) -> Result<Outcome> {
    transaction::require_open(context, "LOCK TABLE")?;
    for table in tables {
        writable(context, table, "LOCK TABLE")?;
    }
    Ok(Outcome::Done)
}
