//! A session as others see it, and what they may do to it.

use crate::postgres::{CatalogUser, OWNER, Role, USER, user_oid};
use crate::session::engine::Engine;
use crate::session::registry::{HIDDEN, ListedSession, SessionInfo, SessionState};
use crate::session::shared::Session;
use crate::session::transaction::TransactionStatus;
use crate::{Error, Result};
use gingham_storage::SqlState;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// How long a wait for the end of a session goes on before it looks again.
const NAP: Duration = Duration::from_millis(10);

/// When that was by the clock of the machine.
fn time_of(moment: Instant) -> SystemTime {
    SystemTime::now().checked_sub(moment.elapsed()).unwrap_or(SystemTime::UNIX_EPOCH)
}

impl ListedSession for Session {
    fn info(&self) -> SessionInfo {
        let activity = self.running.activity();
        let state = match self.transaction_status() {
            _ if activity.runs => SessionState::Active,
            TransactionStatus::None => SessionState::Idle,
            TransactionStatus::Open => SessionState::IdleInTransaction,
            TransactionStatus::RolledBack => SessionState::IdleInFailedTransaction,
        };
        let identity = &self.identity;
        SessionInfo {
            id: identity.number.id,
            user: identity.user.clone(),
            address: identity.client_address.clone(),
            application_name: self.client("application_name").unwrap_or_default(),
            role: identity.role,
            since: identity.since,
            state,
            state_since: time_of(activity.since),
            statement: activity.text,
            statement_number: activity.number,
            statement_began: activity.began.map(time_of),
            transaction_began: self.open_transaction().map(|open| time_of(open.since)),
            progress: activity.progress,
            memory: self.memory.held() as u64,
        }
    }

    fn user(&self) -> &str {
        &self.identity.user
    }

    fn role(&self) -> Role {
        self.identity.role
    }

    fn cancel(&self) {
        self.running.cancel_all();
    }

    fn terminate(&self) {
        self.running.end(&Error::Terminated("terminating connection due to administrator command".into()));
        self.advisory.give_all_back();
        let left = self.leave_transaction();
        // What it has changed is undone where the last one lets go of it, which may block for a moment.
        if let Ok(handle) = self.engine.handle() {
            handle.spawn_blocking(move || drop(left));
        }
    }
}

impl Session {
    /// The sessions of the database as this one may see them: the statements of other users are for those alone who may do all.
    pub(crate) fn seen_sessions(&self) -> Vec<SessionInfo> {
        let mut all = self.engine.session_list();
        for other in all.iter_mut().filter(|other| !self.may_see(&other.user)) {
            other.statement = other.statement.as_ref().map(|_| HIDDEN.into());
        }
        all
    }

    /// Whether what the sessions of a user run is for this one to see and to end.
    fn may_see(&self, user: &str) -> bool {
        self.is_admin() || self.identity.user == user
    }

    /// The users that are known: the owner, this session's, and those of other sessions.
    pub(crate) fn known_users(&self) -> Vec<CatalogUser> {
        let user = |name: &str, role| CatalogUser { oid: user_oid(name), name: name.to_owned(), role };
        let mut all = vec![user(&self.identity.user, self.identity.role)];
        if self.identity.user != USER {
            all.push(user(USER, Role::Admin));
        }
        for other in self.engine.sessions.all() {
            if !all.iter().any(|known| known.name == other.user()) {
                all.push(user(other.user(), other.role()));
            }
        }
        all.sort_by(|one, two| (one.oid != OWNER, &one.name).cmp(&(two.oid != OWNER, &two.name)));
        all
    }

    /// The session of a number, which this one may end or stop; none where there is no such session.
    pub(crate) fn other_session(&self, id: i64, what: &str) -> Result<Option<Arc<dyn ListedSession>>> {
        let Some(other) = i32::try_from(id).ok().and_then(|id| self.engine.sessions.find(id)) else { return Ok(None) };
        if !self.may_see(other.user()) {
            let (own, user) = (&self.identity.user, other.user());
            let text = format!(
                "{what} session {id} of user '{user}' needs role admin; user '{own}' has role {}",
                self.identity.role
            );
            return Err(Error::invalid(SqlState::InsufficientPrivilege, text));
        }
        Ok(Some(other))
    }
}

impl Engine {
    /// The sessions that are there.
    pub(crate) fn session_list(&self) -> Vec<SessionInfo> {
        self.sessions.all().iter().map(|session| session.info()).collect()
    }

    /// Waits until a session is gone, for as long as `patience`, unless `is_cancelled`. Blocks.
    pub(crate) fn wait_until_gone(&self, id: i64, patience: Duration, is_cancelled: impl Fn() -> bool) -> bool {
        let end = Instant::now() + patience;
        let is_there = || i32::try_from(id).is_ok_and(|id| self.sessions.has(id));
        while is_there() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || is_cancelled() {
                return false;
            }
            std::thread::sleep(left.min(NAP));
        }
        true
    }
}
