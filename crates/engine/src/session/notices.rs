//! Notices: what statements say besides their results.

use crate::files::{KEPT_REJECTS, Rejects};
use gingham_storage::SqlState;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Notices that are kept until somebody takes them; of more, the oldest go.
const KEPT_NOTICES: usize = 1000;

/// How much a notice matters, from little to much, as in PostgreSQL.
///
/// ```
/// use gingham::Severity;
///
/// assert!(Severity::Notice < Severity::Warning);
/// assert_eq!(Severity::Warning.to_string(), "WARNING");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Something was done that the statement did not ask for, or a clause has no effect.
    Notice,
    /// The statement may not have done what its author wanted.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Notice => "NOTICE",
            Self::Warning => "WARNING",
        })
    }
}

/// Something that a statement says besides its result, and that is no error; [`Notices::take`] gives them.
///
/// ```
/// use gingham::{Notice, Severity, SqlState};
///
/// let text = "2 records were passed over".into();
/// let notice = Notice { severity: Severity::Warning, sqlstate: SqlState::BadCopyFileFormat, text };
/// assert_eq!(notice.sqlstate.sqlstate(), "22P04");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// How much it matters.
    pub severity: Severity,
    /// The kind of notice.
    pub sqlstate: SqlState,
    /// One sentence, or more.
    pub text: String,
}

/// What is called with each notice at once.
///
/// ```
/// let listener: gingham::NoticeListener = std::sync::Arc::new(|notice| eprintln!("{}", notice.text));
/// gingham::Database::in_memory()?.connect().notices().listen(Some(listener));
/// # Ok::<(), gingham::Error>(())
/// ```
pub type NoticeListener = Arc<dyn Fn(&Notice) + Send + Sync>;

/// The notices of a connection and its clones. Cheap to clone; it does not keep the database open.
///
/// ```
/// let connection = gingham::Database::in_memory()?.connect();
/// let notices = connection.notices();
/// drop(connection);
/// assert_eq!(notices.take(), []);
/// # Ok::<(), gingham::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Notices {
    said: Arc<Mutex<Said>>,
    rejects: Rejects,
}

#[derive(Default)]
struct Said {
    /// Those that nobody was told yet.
    kept: VecDeque<Notice>,
    listener: Option<NoticeListener>,
    /// Only those as severe as that are said; `None` for none at all.
    least: Least,
}

/// What `client_min_messages` lets through.
#[derive(Debug, Clone, Copy)]
struct Least(Option<Severity>);

impl Default for Least {
    fn default() -> Self {
        Self(Some(Severity::Notice))
    }
}

impl fmt::Debug for Notices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = self.said();
        f.debug_struct("Notices").field("kept", &said.kept).field("has_listener", &said.listener.is_some()).finish()
    }
}

impl Notices {
    pub(crate) fn new(rejects: Rejects) -> Self {
        Self { said: Arc::default(), rejects }
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says something: to the listener, or to who takes notices next.
    pub(crate) fn say(&self, notice: Notice) {
        let mut said = self.said();
        if said.least.0.is_none_or(|least| notice.severity < least) {
            return;
        }
        // It may ask for notices itself.
        if let Some(listener) = said.listener.clone() {
            drop(said);
            return listener(&notice);
        }
        if said.kept.len() == KEPT_NOTICES {
            said.kept.pop_front();
        }
        said.kept.push_back(notice);
    }

    /// From now on only notices as severe as `least` are said; none at all for `None`.
    pub(super) fn want(&self, least: Option<Severity>) {
        self.said().least = Least(least);
    }

    /// Says what has been gathered while a statement ran, which ends.
    pub(crate) fn flush(&self) {
        if self.said().listener.is_some()
            && let Some(records) = self.rejects.take_count()
        {
            self.say(rejected(records));
        }
    }

    /// The notices since the last call, in the order in which they were said. Only the newest 1,000 are kept.
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
        let said: Vec<Notice> = std::mem::take(&mut self.said().kept).into();
        said.into_iter().chain(self.rejects.take_count().map(rejected)).collect()
    }

    /// Tells `listener` each notice from now on, when it is said, instead of keeping it; `None` keeps them again. It is called on
    /// a thread of the database, and must not wait for a statement.
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    ///
    /// let connection = gingham::Database::in_memory()?.connect();
    /// let heard = Arc::new(Mutex::new(Vec::new()));
    /// let own = Arc::clone(&heard);
    /// connection.notices().listen(Some(Arc::new(move |notice| own.lock().unwrap().push(notice.text.clone()))));
    /// connection.execute("COMMIT")?;
    /// assert_eq!(*heard.lock().unwrap(), ["there is no transaction in progress"]);
    /// assert!(connection.notices().take().is_empty());
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn listen(&self, listener: Option<NoticeListener>) {
        self.said().listener = listener;
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
    Notice { severity: Severity::Warning, sqlstate: SqlState::BadCopyFileFormat, text }
}
