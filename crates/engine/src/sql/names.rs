//! Identifiers of a statement as names, and the error of what is not offered.

use crate::Error;
use datafusion::sql::sqlparser::ast::Ident;

/// An identifier as names are kept: in small letters unless quoted.
pub(crate) fn fold(ident: &Ident) -> String {
    match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_ascii_lowercase(),
    }
}

/// The error for something that is understood and not offered.
pub(crate) fn unsupported(what: String) -> Error {
    Error::Unsupported(format!("{what} is not supported"))
}
