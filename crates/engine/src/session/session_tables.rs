//! The sessions of the database as the table `gingham_sessions`.

use crate::Result;
use crate::session::registry::SessionInfo;
use crate::session::system_columns::SystemColumns;
use arrow::array::RecordBatch;
use std::time::{SystemTime, UNIX_EPOCH};

/// Microseconds since 1970.
pub(super) fn microseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// The sessions, the oldest first, of which one is `own`.
pub(super) fn sessions(all: &[SessionInfo], own: i32) -> Result<RecordBatch> {
    let text = |of: fn(&SessionInfo) -> Option<&str>| all.iter().map(move |own| of(own).map(Into::into));
    let moment = |of: fn(&SessionInfo) -> Option<SystemTime>| all.iter().map(move |own| of(own).map(microseconds));
    let progress = |of: fn(&crate::StatementProgress) -> u64| all.iter().map(move |own| own.progress.as_ref().map(of));
    let mut columns = SystemColumns::default();
    columns.integer("session_id", all.iter().map(|own| Some(own.id.into())));
    columns.flag("own", all.iter().map(|session| Some(session.id == own)));
    columns.text("user_name", text(|own| Some(&own.user)));
    columns.text("role", all.iter().map(|own| Some(own.role.to_string().into())));
    columns.text("client_address", text(|own| own.address.as_deref()));
    columns.text("application_name", text(|own| Some(&own.application_name)));
    columns.moment("session_began", moment(|own| Some(own.since)));
    columns.text("state", all.iter().map(|own| Some(own.state.to_string().into())));
    columns.moment("state_began", moment(|own| Some(own.state_since)));
    columns.moment("transaction_began", moment(|own| own.transaction_began));
    columns.number("statement_number", all.iter().map(|own| Some(own.statement_number)));
    columns.text("statement", text(|own| own.statement.as_deref()));
    columns.moment("statement_began", moment(|own| own.statement_began));
    columns.number("done", progress(|own| own.done));
    columns.number("total", progress(|own| own.total));
    columns.number("memory", all.iter().map(|own| Some(own.memory)));
    columns.batch()
}
