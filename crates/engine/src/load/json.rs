//! Which columns of a table the fields of JSON objects fill.

use crate::files::{FileColumn, Json};
use crate::session::did_you_mean;
use crate::{Error, Result};
use gingham_storage::{SqlState, TableDefinition};

/// Columns of the table that the files fill: `listed` when the statement lists them, otherwise those of the fields.
pub(super) fn filled(json: &Json, table: &TableDefinition, listed: Option<&[String]>) -> Result<Vec<String>> {
    let file = json.source(0).path().display();
    if let Some(listed) = listed {
        return match listed.iter().find(|column| !json.names().iter().any(|field| is_name(column, field))) {
            None => Ok(listed.to_vec()),
            Some(column) => Err(Error::invalid(
                SqlState::UndefinedColumn,
                format!(
                    "no object in {file} has a field '{column}'{}",
                    did_you_mean(column, json.names().iter().map(String::as_str))
                ),
            )),
        };
    }
    let mut columns = Vec::with_capacity(json.names().len());
    for field in json.names() {
        let names = || table.columns.iter().map(|column| column.name.as_str());
        let column = names().find(|column| is_name(column, field)).ok_or_else(|| {
            Error::invalid(
                SqlState::UndefinedColumn,
                format!(
                    "{file} has a field '{field}', which table '{}' does not have{}; list the columns to load: COPY t (a, b) FROM …",
                    table.name,
                    did_you_mean(field, names())
                ),
            )
        })?;
        if !columns.iter().any(|known| known == column) {
            columns.push(column.to_owned());
        }
    }
    Ok(columns)
}

/// The columns `filled` of a table, each by its field.
pub(super) fn columns(json: &Json, table: &TableDefinition, filled: &[String]) -> Vec<FileColumn> {
    let own = |column: &String| {
        let field = json.names().iter().position(|field| is_name(column, field))?;
        Some(Json::column_as(column, field, &table.column(column)?.logical_type))
    };
    filled.iter().filter_map(own).collect()
}

/// Whether a field of that name fills that column.
fn is_name(column: &str, field: &str) -> bool {
    column == field || column.eq_ignore_ascii_case(field)
}
