//! Notices: what statements say besides their results.

use crate::files::{KEPT_REJECTS, Rejects};
use gingham_storage::SqlState;

/// Something that a statement says besides its result, and that is no error; [`Notices::take`] gives them.
///
/// ```
/// let notice = gingham::Notice { sqlstate: gingham::SqlState::BadCopyFileFormat, text: "2 records were passed over".into() };
/// assert_eq!(notice.sqlstate.sqlstate(), "22P04");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The kind of notice.
    pub sqlstate: SqlState,
    /// One sentence, or more.
    pub text: String,
}

/// The notices of a connection and its clones. Cheap to clone; it does not keep the database open.
///
/// ```
/// let connection = gingham::Database::in_memory()?.connect();
/// let notices = connection.notices();
/// drop(connection);
/// assert_eq!(notices.take(), []);
/// # Ok::<(), gingham::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Notices {
    rejects: Rejects,
}

impl Notices {
    pub(crate) fn new(rejects: Rejects) -> Self {
        Self { rejects }
    }

    /// The notices since the last call, in the order in which they were said.
    ///
    /// ```
    /// let folder = tempfile::tempdir()?;
    /// let file = folder.path().join("n.csv");
    /// std::fs::write(&file, "n\n1\ntwo\n3\n")?;
    /// let connection = gingham::Database::in_memory()?.connect();
    /// let sql = format!("SELECT n FROM read_csv('{}', types = ['INTEGER'], ignore_errors = true)", file.display());
    /// assert_eq!(connection.execute(&sql)?, 2);
    /// let notices = connection.notices().take();
    /// assert_eq!(notices[0].text, "1 record was passed over; SELECT * FROM gingham_rejects lists it");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn take(&self) -> Vec<Notice> {
        self.rejects.take_count().map(rejected).into_iter().collect()
    }
}

/// Records were passed over.
fn rejected(records: u64) -> Notice {
    let (were, list) = match records {
        1 => ("record was", "it".to_owned()),
        records if records > KEPT_REJECTS as u64 => ("records were", format!("{KEPT_REJECTS} of them")),
        _ => ("records were", "them".to_owned()),
    };
    let text = format!("{records} {were} passed over; SELECT * FROM gingham_rejects lists {list}");
    Notice { sqlstate: SqlState::BadCopyFileFormat, text }
}
