//! Errors about names, with the line and column of the user's text.

use crate::Error;
use crate::session::did_you_mean;
use crate::sql::places::position;
use datafusion::sql::sqlparser::ast::Ident;
use datafusion::sql::sqlparser::tokenizer::Span;
use gingham_storage::{Position, Problem, SqlState};

/// The place where a span begins; `None` for what no text has.
pub(super) fn at(span: Span) -> Option<Position> {
    position(span.start)
}

fn about(idents: &[Ident], state: SqlState, text: String) -> Error {
    Error::InvalidInput(Problem::new(state, text).at(idents.first().and_then(|ident| at(ident.span))))
}

/// A name as an error shows it: the last part, and the table before it.
fn shown(idents: &[Ident]) -> String {
    idents.iter().map(crate::sql::names::fold).collect::<Vec<_>>().join(".")
}

/// "column 'x' does not exist; did you mean 'y'?"
pub(super) fn no_column(idents: &[Ident], mut names: Vec<String>) -> Error {
    names.sort();
    names.dedup();
    let wanted = shown(idents);
    let suggestion = did_you_mean(&wanted, names.iter().map(String::as_str));
    about(idents, SqlState::UndefinedColumn, format!("column '{wanted}' does not exist{suggestion}"))
}

/// "column 'x' is ambiguous; …"
pub(super) fn ambiguous(idents: &[Ident]) -> Error {
    let hint = if idents.len() == 1 { "put its table's name before it" } else { "give its table an alias of its own" };
    about(idents, SqlState::AmbiguousColumn, format!("column '{}' is ambiguous; {hint}", shown(idents)))
}

/// Any other error about the text at `span`.
pub(super) fn invalid(state: SqlState, text: impl Into<String>, span: Span) -> Error {
    Error::InvalidInput(Problem::new(state, text).at(at(span)))
}

/// Something that is understood and not offered.
pub(super) fn unsupported(what: impl std::fmt::Display) -> Error {
    Error::Unsupported(format!("{what} is not supported"))
}
