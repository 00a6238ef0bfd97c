//! The catalog as functions see it: `'t'::regclass`, `has_table_privilege`, `pg_get_constraintdef` and their like ask it.

use crate::Result;
use crate::postgres::advisory::AdvisoryRequest;
use crate::postgres::roles::CatalogUser;
use std::fmt;
use std::time::Duration;

/// What kind of thing has columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RelationKind {
    Table,
    View,
    Index,
    Sequence,
}

impl RelationKind {
    /// The letter of `pg_class.relkind`.
    pub(crate) fn letter(self) -> &'static str {
        match self {
            Self::Table => "r",
            Self::View => "v",
            Self::Index => "i",
            Self::Sequence => "S",
        }
    }
}

/// A table, a view, an index or a sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Relation {
    pub(crate) oid: i64,
    pub(crate) schema: String,
    pub(crate) name: String,
    pub(crate) kind: RelationKind,
    /// Whether its name alone means it.
    pub(crate) is_visible: bool,
}

/// What something is defined by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Definition {
    Constraint,
    Index,
    View,
}

/// What of a table is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MeasuredSize {
    Table,
    Indexes,
    All,
}

/// The catalog of one statement.
pub(crate) trait CatalogNames: fmt::Debug + Send + Sync {
    /// The relation of a name, in the search path where no schema is given.
    fn relation(&self, schema: Option<&str>, name: &str) -> Option<Relation>;

    /// The relation of a number.
    fn relation_of(&self, oid: i64) -> Option<Relation>;

    /// The names of a relation's columns.
    fn columns(&self, oid: i64) -> Vec<String>;

    /// The schemas, with their numbers.
    fn schemas(&self) -> Vec<(String, i64)>;

    /// The schemas that names alone are looked for in.
    fn search_path(&self) -> Vec<String>;

    /// Whether there is a function of that name.
    fn has_function(&self, name: &str) -> bool;

    /// The function of a number.
    fn function_of(&self, oid: i64) -> Option<String>;

    /// The SQL of a constraint, an index or a view.
    fn definition(&self, kind: Definition, oid: i64) -> Option<String>;

    /// The comment on the object of a number, by the name of the table of pg_catalog that lists it, where that is known;
    /// of the object itself, or of its column of a number above 0.
    fn comment(&self, class: Option<&str>, oid: i64, column: i64) -> Option<String>;

    /// Bytes of a table; of the database where no table is named.
    fn bytes(&self, oid: Option<i64>, of: MeasuredSize) -> Option<i64>;

    /// The database's name.
    fn database(&self) -> String;

    /// Who is connected.
    fn user(&self) -> String;

    /// Number of the last commit that the statement sees.
    fn commit(&self) -> i64;

    /// Notes that a function asks the catalog, which then stays as long as the statement's rows come.
    fn is_needed(&self);

    /// Whether the statement was cancelled.
    fn is_cancelled(&self) -> bool;

    /// Takes an advisory lock, and says whether it could: without waiting it is another session's perhaps. Blocks while it waits.
    fn lock(&self, request: AdvisoryRequest, waits: bool) -> Result<bool>;

    /// Gives an advisory lock of the session back; `false`, with a warning, where the session does not have it.
    fn unlock(&self, request: AdvisoryRequest) -> bool;

    /// Gives all advisory locks of the session back.
    fn unlock_all(&self);

    /// The users that are known: the database's owner, the session's, and those of the other sessions.
    fn users(&self) -> &[CatalogUser];

    /// Number of the session.
    fn session_id(&self) -> i64;

    /// Where the session's client is.
    fn client_address(&self) -> Option<String>;

    /// Cancels what another session runs; `false`, with a warning, where there is no such session.
    fn cancel_session(&self, id: i64) -> Result<bool>;

    /// Ends another session, and waits for its end for as long as `patience` where that is given; `false`, with a warning, where there
    /// is no such session, or it has not ended.
    fn terminate_session(&self, id: i64, patience: Option<Duration>) -> Result<bool>;
}
