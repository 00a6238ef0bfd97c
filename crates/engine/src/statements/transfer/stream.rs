//! COPY with a stream of whoever runs it, told from COPY with a file.

use crate::sql::copy::CopyPlace;
use crate::sql::parse::{Statement, parse_single};
use crate::sql::split::first_word;

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

/// The stream that a statement is about.
pub(crate) fn stream_of(sql: &str) -> Option<CopyStream> {
    // Only these are worth being parsed for it.
    let copies = first_word(sql).eq_ignore_ascii_case("copy");
    match copies.then(|| parse_single(sql).ok()).flatten()? {
        Statement::CopyFrom(copy) if copy.from == CopyPlace::Stream => Some(CopyStream::In),
        Statement::CopyOut(_) => Some(CopyStream::Out),
        _ => None,
    }
}
