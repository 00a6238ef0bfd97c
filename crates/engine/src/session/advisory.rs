//! How a session takes advisory locks and gives them back.

use crate::Result;
use crate::postgres::{AdvisoryKey, AdvisoryRequest};
use crate::session::advisory_locks::HeldLocks;
use crate::session::cancel::CancelToken;
use crate::session::notices::{Notice, Severity};
use crate::session::shared::Session;
use gingham_storage::SqlState;
use std::sync::Arc;

impl Session {
    /// Takes a lock for the session or its transaction; that of a statement that is a transaction of its own goes to `statement`.
    /// Without waiting it says whether it could. Blocks while it waits, as long as `lock_timeout` lets it.
    pub(crate) fn lock_advisory(
        self: &Arc<Self>,
        request: AdvisoryRequest,
        waits: bool,
        statement: &HeldLocks,
        cancel: &CancelToken,
    ) -> Result<bool> {
        let owner = Arc::as_ptr(self) as usize;
        let lock = match waits {
            true => {
                let limit = self.with_settings(|settings| settings.lock_timeout);
                Some(self.engine.advisory.wait(owner, request, limit, cancel)?)
            }
            false => self.engine.advisory.attempt(owner, request),
        };
        let Some(lock) = lock else { return Ok(false) };
        match (request.of_transaction, self.open_transaction()) {
            (true, Some(open)) => open.advisory.keep(lock),
            (true, None) => statement.keep(lock),
            (false, _) => self.advisory.keep(lock),
        }
        Ok(true)
    }

    /// Gives a lock of the session back; a warning says where it has none.
    pub(crate) fn unlock_advisory(&self, request: AdvisoryRequest) -> bool {
        let had = self.advisory.give_back(request);
        if !had {
            let key = match request.key {
                AdvisoryKey::One(key) => key.to_string(),
                AdvisoryKey::Two(first, second) => format!("{first}, {second}"),
            };
            let kind = if request.shared { "a shared" } else { "an" };
            let text = format!("this session does not have {kind} advisory lock ({key})");
            self.notices.say(Notice { severity: Severity::Warning, sqlstate: SqlState::Warning, text });
        }
        had
    }
}
