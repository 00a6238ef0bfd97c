//! The sessions of a database that are there now, by number.

use crate::postgres::Role;
use crate::session::cancel::StatementProgress;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::SystemTime;

/// What stands in the place of a statement that is not to be seen.
pub(crate) const HIDDEN: &str = "<insufficient privilege>";

/// What a session does.
///
/// ```
/// use gingham::{Database, SessionState};
///
/// let database = Database::in_memory()?;
/// let connection = database.connect();
/// connection.execute("BEGIN")?;
/// assert_eq!(database.sessions()[0].state, SessionState::IdleInTransaction);
/// assert_eq!(SessionState::IdleInTransaction.to_string(), "idle in transaction");
/// # Ok::<(), gingham::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionState {
    /// It runs a statement, or its rows are being read.
    Active,
    /// It waits for a statement.
    Idle,
    /// It waits for a statement of its transaction.
    IdleInTransaction,
    /// It waits for the end of its transaction, which was rolled back.
    IdleInFailedTransaction,
}

impl fmt::Display for SessionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Active => "active",
            Self::Idle => "idle",
            Self::IdleInTransaction => "idle in transaction",
            Self::IdleInFailedTransaction => "idle in transaction (aborted)",
        })
    }
}

/// A session as others see it.
///
/// ```
/// let database = gingham::Database::in_memory()?;
/// let connection = database.connect();
/// connection.execute("SELECT 1")?;
/// let sessions = database.sessions();
/// assert_eq!((sessions[0].id, sessions[0].statement.as_deref()), (connection.session_id(), Some("SELECT 1")));
/// # Ok::<(), gingham::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SessionInfo {
    /// Its number, `pg_backend_pid()`.
    pub id: i32,
    /// Whose it is.
    pub user: String,
    /// Where its client is, when that was told.
    pub address: Option<String>,
    /// Its setting `application_name`.
    pub application_name: String,
    /// What it may do.
    pub role: Role,
    /// When it began.
    pub since: SystemTime,
    /// What it does.
    pub state: SessionState,
    /// When it began to do so.
    pub state_since: SystemTime,
    /// The statement that it runs, or has run last.
    pub statement: Option<Arc<str>>,
    /// The number of that statement among those of the session, from 1; 0 when there was none.
    pub statement_number: u64,
    /// When that statement began.
    pub statement_began: Option<SystemTime>,
    /// When its transaction began, while one is open.
    pub transaction_began: Option<SystemTime>,
    /// How far its statement is, of one that counts.
    pub progress: Option<StatementProgress>,
    /// Bytes of memory that its statements and cursors hold for rows; the cache is nobody's.
    pub memory: u64,
}

/// A session as the list of all of them knows it.
pub(crate) trait ListedSession: Send + Sync {
    /// What it is and does.
    fn info(&self) -> SessionInfo;

    /// Whose it is.
    fn user(&self) -> &str;

    /// What it may do.
    fn role(&self) -> Role;

    /// Cancels what it runs.
    fn cancel(&self);

    /// Ends it.
    fn terminate(&self);
}

type SessionsByNumber = BTreeMap<i32, Weak<dyn ListedSession>>;

/// The sessions that are there.
#[derive(Default)]
pub(crate) struct SessionRegistry(Mutex<SessionsByNumber>);

impl fmt::Debug for SessionRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.listed().keys()).finish()
    }
}

impl SessionRegistry {
    fn listed(&self) -> MutexGuard<'_, SessionsByNumber> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lists a session for as long as it keeps its number.
    pub(super) fn add(self: &Arc<Self>, number: &SessionNumber, session: Weak<dyn ListedSession>) {
        self.listed().insert(number.id, session);
    }

    /// The sessions, in the order of their numbers.
    pub(crate) fn all(&self) -> Vec<Arc<dyn ListedSession>> {
        // The last one to let go of a session takes it off the list, which must not be locked then.
        let listed: Vec<_> = self.listed().values().cloned().collect();
        listed.iter().filter_map(Weak::upgrade).collect()
    }

    /// The session of a number.
    pub(crate) fn find(&self, id: i32) -> Option<Arc<dyn ListedSession>> {
        let listed = self.listed().get(&id).cloned();
        listed?.upgrade()
    }

    /// Whether there is a session of a number.
    pub(crate) fn has(&self, id: i32) -> bool {
        self.listed().get(&id).is_some_and(|session| session.strong_count() > 0)
    }
}

/// The numbers that sessions of this process have, and the last that one got.
static NUMBERS: Mutex<(i32, BTreeSet<i32>)> = Mutex::new((0, BTreeSet::new()));

/// The number of a session, which no other one of the process has meanwhile.
#[derive(Debug)]
pub(crate) struct SessionNumber {
    pub(crate) id: i32,
    registry: Arc<SessionRegistry>,
}

impl SessionNumber {
    /// The next number that is free.
    pub(super) fn next(registry: &Arc<SessionRegistry>) -> Self {
        let mut numbers = NUMBERS.lock().unwrap_or_else(PoisonError::into_inner);
        let mut id = numbers.0;
        loop {
            id = id.checked_add(1).unwrap_or(1);
            if numbers.1.insert(id) {
                numbers.0 = id;
                return Self { id, registry: Arc::clone(registry) };
            }
        }
    }
}

impl Drop for SessionNumber {
    fn drop(&mut self) {
        self.registry.listed().remove(&self.id);
        NUMBERS.lock().unwrap_or_else(PoisonError::into_inner).1.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_not_given_twice() {
        let registry = Arc::<SessionRegistry>::default();
        let (one, two) = (SessionNumber::next(&registry), SessionNumber::next(&registry));
        assert!(one.id > 0 && two.id > 0 && one.id != two.id);
        let first = one.id;
        drop(one);
        let three = SessionNumber::next(&registry);
        assert!(three.id != two.id && three.id != first, "a number that is free again comes late");
    }
}
