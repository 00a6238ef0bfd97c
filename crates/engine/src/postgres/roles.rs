//! What the user of a session may do, and users as the catalog lists them.

use std::fmt;

/// What the user of a session may do.
///
/// ```
/// use gingham::{Database, Role, SessionOptions};
///
/// let database = Database::in_memory()?;
/// database.connect().execute("CREATE TABLE t (n INT)")?;
/// let reader = database.connect_with(&SessionOptions::new().user("ada").role(Role::Read))?;
/// assert_eq!(reader.execute("SELECT * FROM t")?, 0);
/// assert_eq!(reader.execute("INSERT INTO t VALUES (1)").unwrap_err().sqlstate(), "25006");
/// # Ok::<(), gingham::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// It reads.
    Read,
    /// It reads, writes and defines tables, but not files of the machine, and sets what is the session's own.
    Write,
    /// It may do everything: read and write the machine's files, set what belongs to the database, end what others run.
    Admin,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        })
    }
}

/// A user as the catalog lists them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CatalogUser {
    pub(crate) oid: i64,
    pub(crate) name: String,
    pub(crate) role: Role,
}
