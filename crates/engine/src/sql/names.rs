//! Identifiers of a statement as names, and the error of what is not offered.

use crate::sql::places::position;
use crate::{Error, Result};
use datafusion::sql::sqlparser::ast::{Ident, ObjectName};
use gingham_storage::{Problem, SqlState, TableDefinition};

/// An identifier as names are kept: in small letters unless quoted.
pub(crate) fn fold(ident: &Ident) -> String {
    match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_ascii_lowercase(),
    }
}

/// The last part of a name with its schema perhaps.
pub(crate) fn last_part(name: &ObjectName) -> Option<&Ident> {
    name.0.last()?.as_ident()
}

/// Whether an identifier without quotes is a name in letters of either case.
pub(crate) fn is_without_case(ident: &Ident, name: &str) -> bool {
    ident.quote_style.is_none() && ident.value.to_lowercase() == name.to_lowercase()
}

/// The name that an identifier means among those of columns: its own where there is such a column, else, without quotes, the one that differs
/// in the case of letters alone. Headers of files have capitals, and nobody types quotes.
///
/// # Errors
///
/// Two columns have such a name.
pub(crate) fn meant<'n>(ident: &Ident, mut names: impl Iterator<Item = &'n str> + Clone) -> Result<String> {
    let name = fold(ident);
    if ident.quote_style.is_some() || names.clone().any(|own| own == name) {
        return Ok(name);
    }
    let mut next = |than: Option<&str>| names.find(|own| is_without_case(ident, own) && Some(*own) != than);
    let Some(one) = next(None) else { return Ok(name) };
    match next(Some(one)) {
        None => Ok(one.to_owned()),
        Some(other) => {
            let text = format!("column '{name}' may be \"{one}\" or \"{other}\"; put the one that is meant in quotes");
            Err(Error::InvalidInput(Problem::new(SqlState::AmbiguousColumn, text).at(position(ident.span.start))))
        }
    }
}

/// The name of the table's column that an identifier means, or what it is itself where there is none.
///
/// # Errors
///
/// Two columns have such a name.
pub(crate) fn column_name(definition: &TableDefinition, ident: &Ident) -> Result<String> {
    meant(ident, definition.columns.iter().map(|column| column.name.as_str()))
}

/// The error for something that is understood and not offered.
pub(crate) fn unsupported(what: String) -> Error {
    Error::Unsupported(format!("{what} is not supported"))
}
