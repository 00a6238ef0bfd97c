//! Names of the columns that a statement fills.

use crate::{Error, Result};
use gingham_storage::{SqlState, TableDefinition};

/// Refuses column names that are unknown or appear twice.
pub(crate) fn check_columns(definition: &TableDefinition, names: &[String]) -> Result<()> {
    for (position, name) in names.iter().enumerate() {
        crate::statements::ddl::alter::find(definition, name)?;
        if names[..position].contains(name) {
            return Err(Error::invalid(
                SqlState::DuplicateColumn,
                format!("column '{name}' appears twice in the list of columns"),
            ));
        }
    }
    Ok(())
}

/// The columns that rows of so many values fill: without a list of names the first ones, as in PostgreSQL.
pub(crate) fn filled(
    definition: &TableDefinition,
    given: Option<Vec<String>>,
    values: usize,
) -> Result<Option<Vec<String>>> {
    if given.is_some() || values == 0 || values >= definition.columns.len() {
        return Ok(given);
    }
    Ok(Some(definition.columns.iter().take(values).map(|column| column.name.clone()).collect()))
}
