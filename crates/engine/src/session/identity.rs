//! Whose a session is, and what it may do.

use crate::functions::version;
use crate::postgres::Role;
use crate::recording::{Recorder, clear_workload};
use crate::session::options::SessionOptions;
use crate::session::registry::{SessionNumber, SessionRegistry};
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;
use std::time::SystemTime;

/// Whose a session is.
#[derive(Debug)]
pub(crate) struct Identity {
    /// Its number, for as long as it is there.
    pub(crate) number: SessionNumber,
    pub(crate) user: String,
    pub(crate) role: Role,
    pub(crate) client_address: Option<String>,
    /// It is a server's.
    pub(crate) of_server: bool,
    /// When it began.
    pub(crate) since: SystemTime,
}

impl Identity {
    pub(super) fn new(options: &SessionOptions, registry: &Arc<SessionRegistry>) -> Self {
        Self {
            number: SessionNumber::next(registry),
            user: options.user.clone(),
            role: options.role,
            client_address: options.client_address.clone(),
            of_server: options.of_server,
            since: SystemTime::now(),
        }
    }

    /// The functions that it has instead of those of all sessions.
    pub(super) fn functions(&self, recorder: &Arc<Recorder>) -> Vec<Arc<ScalarUDF>> {
        let mut own = Vec::new();
        if self.of_server {
            own.push(version(true));
        }
        if self.role != Role::Admin {
            let text = format!("forgetting the workload needs role admin; user '{}' has role {}", self.user, self.role);
            own.push(clear_workload(recorder, Some(text)));
        }
        own
    }
}
