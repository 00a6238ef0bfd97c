//! Notices of statements that IF EXISTS or IF NOT EXISTS has kept from doing anything.

use crate::session::{Severity, StatementContext};
use gingham_storage::SqlState;

/// Says that IF NOT EXISTS has kept a statement from making `what`.
pub(crate) fn say_there(context: &StatementContext, state: SqlState, what: &str) {
    context.say(Severity::Notice, state, format!("{what} exists already, skipped"));
}

/// Says that IF EXISTS has kept a statement from failing for want of `what`.
pub(crate) fn say_missing(context: &StatementContext, what: &str) {
    context.say(Severity::Notice, SqlState::SuccessfulCompletion, format!("{what} does not exist, skipped"));
}
