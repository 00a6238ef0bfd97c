//! SET, RESET, SHOW and DISCARD.

use crate::Result;
use crate::session::{Outcome, ShownSetting, StatementContext};
use crate::settings::{IsolationLevel, TransactionModes};
use crate::sql::session::{Discarded, SetScope};
use crate::statements::admin::describe::rows;
use crate::statements::admin::{cursors, transaction};
use crate::statements::ddl::objects;
use std::sync::PoisonError;

/// Runs SET.
pub(crate) async fn set(
    context: &StatementContext,
    scope: SetScope,
    name: &str,
    value: Option<&str>,
) -> Result<Outcome> {
    // Another spelling of SET TRANSACTION.
    if let Some(value) = value {
        let modes = match name.to_ascii_lowercase().as_str() {
            "transaction_isolation" => {
                Some(TransactionModes { isolation: Some(IsolationLevel::of(value)?), ..Default::default() })
            }
            "transaction_read_only" => crate::settings::switch(value)
                .map(|read_only| TransactionModes { read_only: Some(read_only), ..Default::default() }),
            _ => None,
        };
        if let Some(modes) = modes {
            return transaction::set_modes(context, false, modes);
        }
    }
    let local = scope == SetScope::Local;
    if local && context.transaction.is_none() {
        transaction::warn_of_none(context, "SET LOCAL has an effect within a transaction only");
    }
    context.session.set_in_transaction(name, value, local)?;
    Ok(Outcome::Done)
}

/// Runs RESET.
pub(crate) fn reset(context: &StatementContext, name: Option<&str>) -> Result<Outcome> {
    match name {
        Some(name) => context.session.set_in_transaction(name, None, false)?,
        None => {
            let changes = context.session.reset_settings()?;
            if let Some(open) = &context.transaction {
                changes.into_iter().for_each(|change| open.note_setting(change, false));
                context.session.watch_idle()?;
            }
        }
    }
    Ok(Outcome::Done)
}

/// Runs SHOW of a setting, or of all: a column of the setting's name, as PostgreSQL.
pub(crate) fn show(context: &StatementContext, name: Option<&str>, verbose: bool) -> Result<Outcome> {
    let session = &context.session;
    let row = |ShownSetting { name, value, description }| [Some(name), Some(value), Some(description)];
    const COLUMNS: [&str; 3] = ["name", "setting", "description"];
    match name {
        None => rows(COLUMNS, &session.all_settings().into_iter().map(row).collect::<Vec<_>>()),
        Some(name) => {
            let shown = session.shown_setting(name)?;
            if !verbose {
                return rows([shown.name.as_str()], &[[Some(shown.value)]]);
            }
            let all = session.all_settings().into_iter();
            rows(COLUMNS, &all.filter(|setting| setting.name == shown.name).map(row).collect::<Vec<_>>())
        }
    }
}

/// Runs DISCARD.
pub(crate) async fn discard(context: &StatementContext, what: Discarded) -> Result<Outcome> {
    match what {
        // Plans are kept by the database, for as long as they are right.
        Discarded::Plans => {}
        Discarded::Sequences => context.session.sequence_values.forget(),
        Discarded::Temp => objects::drop_temporary(context).await?,
        Discarded::All => {
            context.require_alone("DISCARD ALL")?;
            cursors::close(context, None)?;
            context.session.prepared.lock().unwrap_or_else(PoisonError::into_inner).clear();
            objects::drop_temporary(context).await?;
            context.session.reset_settings()?;
            context.session.sequence_values.forget();
            context.session.advisory.give_all_back();
        }
    }
    Ok(Outcome::Done)
}
