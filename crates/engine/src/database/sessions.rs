//! The sessions of a database: how they begin, who they are, and how they are ended.

use crate::session::{Session, SessionInfo, SessionOptions};
use crate::{Connection, Database, Result};
use std::sync::Arc;

impl Database {
    /// A new connection as `options` say: whose it is, what it may do, and the settings that it begins with.
    ///
    /// # Errors
    ///
    /// There is no such setting, it does not take the value, or it is not for the role to be set.
    ///
    /// ```
    /// use gingham::{Database, Role, SessionOptions};
    ///
    /// let database = Database::in_memory()?;
    /// let options = SessionOptions::new().user("ada").role(Role::Read).client_address("192.0.2.7");
    /// let connection = database.connect_with(&options)?;
    /// assert_eq!(connection.execute("CREATE TABLE t (n INT)").unwrap_err().sqlstate(), "25006");
    /// assert!(database.connect_with(&options.setting("gingham.nosuch", "1")).is_err());
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn connect_with(&self, options: &SessionOptions) -> Result<Connection> {
        Ok(Connection::new(Session::begun(Arc::clone(&self.engine), options)?))
    }

    /// The sessions that are there, the oldest first: what SQL shows as `gingham_sessions` and `pg_stat_activity`.
    ///
    /// ```
    /// let database = gingham::Database::in_memory()?;
    /// let (one, two) = (database.connect(), database.connect());
    /// assert_eq!(database.sessions().len(), 2);
    /// drop(two);
    /// assert_eq!(database.sessions()[0].id, one.session_id());
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn sessions(&self) -> Vec<SessionInfo> {
        self.engine.session_list()
    }

    /// Cancels what a session runs, as `pg_cancel_backend` does; false where there is no session of that number.
    ///
    /// ```
    /// let database = gingham::Database::in_memory()?;
    /// let connection = database.connect();
    /// let endless = connection.query("SELECT * FROM generate_series(1, 1000000000)")?;
    /// assert!(database.cancel_session(connection.session_id()));
    /// assert_eq!(endless.collect_batches().unwrap_err().sqlstate(), "57014");
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn cancel_session(&self, id: i32) -> bool {
        let session = self.engine.sessions.find(id);
        session.inspect(|session| session.cancel()).is_some()
    }

    /// Ends a session, as `pg_terminate_backend` does: what it runs ends, its transaction is rolled back, and its statements fail from
    /// then on. False where there is no session of that number.
    ///
    /// ```
    /// let database = gingham::Database::in_memory()?;
    /// let connection = database.connect();
    /// assert!(database.terminate_session(connection.session_id()));
    /// assert!(matches!(connection.execute("SELECT 1"), Err(gingham::Error::Terminated(_))));
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn terminate_session(&self, id: i32) -> bool {
        let session = self.engine.sessions.find(id);
        session.inspect(|session| session.terminate()).is_some()
    }
}
