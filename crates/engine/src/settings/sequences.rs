//! How the functions of a statement's plans reach sequences, without knowing of sessions.

use crate::Result;
use gingham_storage::TableName;
use std::fmt;
use std::sync::Arc;

/// How a function names a sequence.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SequenceReference<'t> {
    /// As SQL writes a name.
    Text(&'t str),
    /// By its number.
    Number(i64),
}

/// The sequences that a statement sees.
pub(crate) trait Sequences: fmt::Debug + Send + Sync {
    /// This access for a statement that is not run.
    fn planned(&self) -> Arc<dyn Sequences>;

    /// The next values of a sequence, as many as `wanted`. May block.
    fn next(&self, reference: SequenceReference<'_>, wanted: usize) -> Result<Vec<i64>>;

    /// setval: `last` was given, or is the next value unless `called`.
    fn set(&self, reference: SequenceReference<'_>, last: i64, called: bool) -> Result<()>;

    /// currval: the last value that the session got of a sequence.
    fn current(&self, reference: SequenceReference<'_>) -> Result<i64>;

    /// lastval: the last value that the session got of any sequence that is still there.
    fn last(&self) -> Result<i64>;

    /// pg_get_serial_sequence: the sequence that a column owns.
    fn of_column(&self, table: &str, column: &str) -> Result<Option<TableName>>;
}
