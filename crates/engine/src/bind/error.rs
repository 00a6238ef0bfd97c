//! Errors about names, with the line and column of the user's text.

use crate::Error;
use crate::session::did_you_mean;
use datafusion::sql::sqlparser::ast::Ident;
use datafusion::sql::sqlparser::tokenizer::Span;

/// " (line 1, column 8)", or nothing for what no text has.
pub(super) fn at(span: Span) -> String {
    match span.start.line {
        0 => String::new(),
        line => format!(" (line {line}, column {})", span.start.column),
    }
}

fn place(idents: &[Ident]) -> String {
    idents.first().map_or_else(String::new, |ident| at(ident.span))
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
    Error::InvalidInput(format!("column '{wanted}' does not exist{suggestion}{}", place(idents)))
}

/// "column 'x' is ambiguous; …"
pub(super) fn ambiguous(idents: &[Ident]) -> Error {
    let hint = if idents.len() == 1 { "put its table's name before it" } else { "give its table an alias of its own" };
    Error::InvalidInput(format!("column '{}' is ambiguous; {hint}{}", shown(idents), place(idents)))
}

/// Any other error about the text at `span`.
pub(super) fn invalid(text: impl std::fmt::Display, span: Span) -> Error {
    Error::InvalidInput(format!("{text}{}", at(span)))
}

/// Something that is understood and not offered.
pub(super) fn unsupported(what: impl std::fmt::Display) -> Error {
    Error::Unsupported(format!("{what} is not supported"))
}
