//! A connection as one of the database's sessions: its number, its end by others, and how long it may be idle.

use crate::Connection;
use std::time::Duration;

impl Connection {
    /// The number of the session, which its clones share and no other session of the process has: `pg_backend_pid()`.
    ///
    /// ```
    /// let database = gingham::Database::in_memory()?;
    /// let (one, two) = (database.connect(), database.connect());
    /// assert_ne!(one.session_id(), two.session_id());
    /// assert_eq!(one.clone().session_id(), one.session_id());
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn session_id(&self) -> i32 {
        self.session().identity.number.id
    }

    /// Waits until somebody ends the session, by `pg_terminate_backend` or
    /// [`Database::terminate_session`](crate::Database::terminate_session). From then on its statements fail with
    /// [`Error::Terminated`](crate::Error::Terminated); whoever has the connection is to give it up.
    ///
    /// ```
    /// let database = gingham::Database::in_memory()?;
    /// let connection = database.connect();
    /// database.terminate_session(connection.session_id());
    /// futures::executor::block_on(connection.terminated());
    /// assert_eq!(connection.execute("SELECT 1").unwrap_err().sqlstate(), "57P01");
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub async fn terminated(&self) {
        self.session().running.wait_for_end().await;
    }

    /// How long the session may be without a statement, outside of a transaction, before a server disconnects its client: the setting
    /// `idle_session_timeout`. `None` for as long as it likes.
    ///
    /// ```
    /// let connection = gingham::Database::in_memory()?.connect();
    /// assert_eq!(connection.idle_session_timeout(), None);
    /// connection.execute("SET idle_session_timeout = '5min'")?;
    /// assert_eq!(connection.idle_session_timeout(), Some(std::time::Duration::from_secs(300)));
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn idle_session_timeout(&self) -> Option<Duration> {
        self.session().with_settings(|settings| settings.idle_session_timeout)
    }
}
