//! Which COPY is about a stream of whoever runs it.

use crate::sql::copy::CopyPlace;
use crate::sql::parse::{Statement, parse_single};
use crate::sql::split::statement_places;

/// A stream of whoever runs a COPY.
///
/// ```
/// let sql = "COPY t TO STDOUT";
/// assert_eq!(gingham::Connection::copy_stream(sql), Some(gingham::CopyStream::Out));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyStream {
    /// STDIN: records come from it.
    In,
    /// STDOUT: records go to it.
    Out,
}

/// Which stream a statement is about.
pub(crate) fn stream_of(sql: &str) -> Option<CopyStream> {
    let place = statement_places(sql).into_iter().next()?;
    let word = sql[place.first..].split(|character: char| !character.is_ascii_alphabetic()).next()?;
    // Only these are worth being parsed for it.
    let copies = word.eq_ignore_ascii_case("copy");
    match copies.then(|| parse_single(sql).ok()).flatten()? {
        Statement::CopyFrom(copy) if copy.from == CopyPlace::Stream => Some(CopyStream::In),
        Statement::CopyOut(_) => Some(CopyStream::Out),
        _ => None,
    }
}
