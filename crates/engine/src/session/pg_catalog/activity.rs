//! pg_stat_activity: the sessions and what they run.

use crate::postgres::{DATABASE, user_oid};
use crate::session::SessionState;
use crate::session::pg_catalog::relations::Seen;
use crate::session::pg_catalog::rows::{Cell, Rows};
use crate::session::session_tables::microseconds;
use crate::session::state::CATALOG;
use std::time::SystemTime;

pub(super) fn sessions(seen: &Seen, rows: &mut Rows) {
    let moment = |time: Option<SystemTime>| time.map_or(Cell::Null, |time| Cell::Number(microseconds(time)));
    for own in seen.session.seen_sessions() {
        // What waits for its client to say something.
        let (kind, event) = match own.state {
            SessionState::Active => (Cell::Null, Cell::Null),
            _ => ("Client".into(), "ClientRead".into()),
        };
        rows.push([
            ("datid", DATABASE.into()),
            ("datname", CATALOG.into()),
            ("pid", i64::from(own.id).into()),
            ("leader_pid", Cell::Null),
            ("usesysid", user_oid(&own.user).into()),
            ("usename", own.user.into()),
            ("application_name", own.application_name.into()),
            ("client_addr", own.address.into()),
            ("client_port", Cell::Null),
            ("backend_start", moment(Some(own.since))),
            ("xact_start", moment(own.transaction_began)),
            ("query_start", moment(own.statement_began)),
            ("state_change", moment(Some(own.state_since))),
            ("wait_event_type", kind),
            ("wait_event", event),
            ("state", own.state.to_string().into()),
            ("backend_xid", Cell::Null),
            ("backend_xmin", Cell::Null),
            ("query_id", Cell::Null),
            ("query", own.statement.map_or(String::new(), |text| text.to_string()).into()),
            ("backend_type", "client backend".into()),
        ]);
    }
}
