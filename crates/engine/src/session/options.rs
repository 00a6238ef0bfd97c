//! How a session begins: whose it is, what it may do, and the settings that it has unless it sets others.

use crate::postgres::{Role, USER};

/// How to begin a session, for [`Database::connect_with`](crate::Database::connect_with).
///
/// ```
/// use gingham::{Database, Role, SessionOptions};
///
/// let options = SessionOptions::new().user("ada").role(Role::Write).setting("statement_timeout", "10 s");
/// let connection = Database::in_memory()?.connect_with(&options)?;
/// assert_eq!(connection.execute("SELECT 1 WHERE current_user = 'ada'")?, 1);
/// # Ok::<(), gingham::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SessionOptions {
    pub(super) user: String,
    pub(super) role: Role,
    pub(super) client_address: Option<String>,
    pub(super) settings: Vec<(String, String)>,
    pub(super) of_server: bool,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self { user: USER.to_owned(), role: Role::Admin, client_address: None, settings: Vec::new(), of_server: false }
    }
}

impl SessionOptions {
    /// The options of [`Database::connect`](crate::Database::connect): a session of the program itself, which may do everything.
    ///
    /// ```
    /// use gingham::{Database, SessionOptions};
    ///
    /// let connection = Database::in_memory()?.connect_with(&SessionOptions::new())?;
    /// assert_eq!(connection.execute("SET gingham.threads = 2")?, 0);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Whose session it is: `current_user`. Sessions of one user may cancel and end each other.
    ///
    /// ```
    /// use gingham::{Database, SessionOptions};
    ///
    /// let database = Database::in_memory()?;
    /// let _session = database.connect_with(&SessionOptions::new().user("ada"))?;
    /// assert_eq!(database.sessions()[0].user, "ada");
    /// # Ok::<(), gingham::Error>(())
    /// ```
    #[must_use]
    pub fn user(self, name: impl Into<String>) -> Self {
        Self { user: name.into(), ..self }
    }

    /// What it may do.
    ///
    /// ```
    /// use gingham::{Database, Role, SessionOptions};
    ///
    /// let writer = Database::in_memory()?.connect_with(&SessionOptions::new().role(Role::Write))?;
    /// assert_eq!(writer.execute("SET gingham.memory_limit = '1GB'").unwrap_err().sqlstate(), "42501");
    /// # Ok::<(), gingham::Error>(())
    /// ```
    #[must_use]
    pub fn role(self, role: Role) -> Self {
        Self { role, ..self }
    }

    /// Where its client is, for those who list sessions.
    ///
    /// ```
    /// use gingham::{Database, SessionOptions};
    ///
    /// let database = Database::in_memory()?;
    /// let _session = database.connect_with(&SessionOptions::new().client_address("192.0.2.7"))?;
    /// assert_eq!(database.sessions()[0].address.as_deref(), Some("192.0.2.7"));
    /// # Ok::<(), gingham::Error>(())
    /// ```
    #[must_use]
    pub fn client_address(self, address: impl Into<String>) -> Self {
        Self { client_address: Some(address.into()), ..self }
    }

    /// A setting that it has unless it sets another value, and again once it gives that up: by RESET, DISCARD ALL or SET … TO
    /// DEFAULT. Of several values of one setting the last counts.
    ///
    /// ```
    /// use gingham::{Database, SessionOptions};
    ///
    /// let options = SessionOptions::new().setting("application_name", "report");
    /// let connection = Database::in_memory()?.connect_with(&options)?;
    /// connection.execute("SET application_name = 'other'; RESET ALL")?;
    /// assert_eq!(connection.setting("application_name")?, "report");
    /// # Ok::<(), gingham::Error>(())
    /// ```
    #[must_use]
    pub fn setting(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.push((name.into(), value.into()));
        self
    }

    /// Whether it is a session of a server, whose clients believe to talk to PostgreSQL: `version()` begins with that name, and who
    /// has the turn to write and stands still for a minute is rolled back (`gingham.idle_writer_timeout`).
    ///
    /// ```
    /// use gingham::{Database, SessionOptions};
    ///
    /// let connection = Database::in_memory()?.connect_with(&SessionOptions::new().of_server(true))?;
    /// assert_eq!(connection.execute("SELECT 1 WHERE version() LIKE 'PostgreSQL 15.0 (Gingham %'")?, 1);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    #[must_use]
    pub fn of_server(self, of_server: bool) -> Self {
        Self { of_server, ..self }
    }
}
