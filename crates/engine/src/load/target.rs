//! The table that a load goes into: one that exists, or one to make; and which of its columns the files fill.

use crate::files::FileFormat;
use crate::load::{LoadOptions, tpch};
use crate::session::{StatementContext, TargetTable, did_you_mean};
use crate::statements::dml::generated;
use crate::{Error, Result, statements};
use datafusion::common::TableReference;
use gingham_storage::store::Store;
use gingham_storage::{ColumnDefinition, Datum, LogicalType, SqlState, TableDefinition};
use std::path::Path;
use std::sync::Arc;

/// Where records go.
#[derive(Debug)]
pub(super) enum Destination {
    /// A table that exists.
    Existing(TargetTable),
    /// A table to make, whose columns are known.
    Given(NewTable),
    /// A table to make, whose columns the files tell.
    Inferred(NewTable),
}

/// A table to make.
#[derive(Debug)]
pub(super) struct NewTable {
    pub(super) store: Arc<Store>,
    pub(super) definition: TableDefinition,
}

/// Finds the table of `options`, or where to make it. `file` is the first file.
pub(super) fn find(
    context: &StatementContext,
    options: &LoadOptions,
    format: FileFormat,
    file: &Path,
) -> Result<Destination> {
    let reference = TableReference::parse_str(&options.table);
    let name = context.name(&reference)?;
    if let Some(target) = context.find(&reference)? {
        if let Some((what, _)) = [("a schema", &options.schema), ("a layout", &options.layout)]
            .into_iter()
            .find(|(_, given)| given.is_some())
        {
            return Err(Error::invalid(
                SqlState::DuplicateTable,
                format!("table '{name}' exists already, so it can't be given {what}"),
            ));
        }
        return Ok(Destination::Existing(target));
    }
    let stem = file.file_name().and_then(|name| name.to_str()).and_then(|name| name.split('.').next()).unwrap_or("");
    let known = || tpch::columns(&name.table).or_else(|| tpch::columns(&stem.to_ascii_lowercase()));
    let columns = match (&options.schema, format) {
        (Some(columns), _) => Some(columns.as_str()),
        (None, FileFormat::Tbl) => Some(known().ok_or_else(|| {
            Error::invalid(
                SqlState::InvalidParameterValue,
                format!(
                    "{} does not name its columns, and '{name}' is not one of TPC-H's tables: give a schema",
                    file.display()
                ),
            )
        })?),
        (None, _) => None,
    };
    let (store, definition) = statements::for_load(context, &reference, columns)?;
    let mut table = NewTable { store, definition };
    if columns.is_none() {
        return Ok(Destination::Inferred(table));
    }
    statements::set_layout(context, &mut table.definition, options.layout.as_deref())?;
    Ok(Destination::Given(table))
}

impl NewTable {
    /// The table with the columns that the files tell, in the layout of `options`.
    pub(super) fn with_columns(
        &self,
        context: &StatementContext,
        options: &LoadOptions,
        columns: impl Iterator<Item = (String, LogicalType)>,
    ) -> Result<TableDefinition> {
        let mut definition = self.definition.clone();
        add_columns(&mut definition, columns);
        statements::set_layout(context, &mut definition, options.layout.as_deref())?;
        Ok(definition)
    }
}

/// Gives a table to make its columns.
fn add_columns(definition: &mut TableDefinition, columns: impl Iterator<Item = (String, LogicalType)>) {
    for (name, logical_type) in columns {
        let id = definition.next_column;
        definition.next_column += 1;
        let initial = Datum::Null;
        definition.columns.push(ColumnDefinition {
            id,
            name,
            logical_type,
            nullable: true,
            default: None,
            initial,
            generation: None,
        });
    }
}

/// For each of the file's `width` columns the column of the table that it fills: `listed` when the statement lists
/// them, otherwise by the file's names, otherwise in order.
pub(super) fn matched(
    definition: &TableDefinition,
    names: Option<&[String]>,
    width: usize,
    listed: Option<&[String]>,
) -> Result<Vec<String>> {
    let all = generated::loaded(definition);
    let columns = match (listed, names) {
        (Some(listed), _) => listed.to_vec(),
        (None, Some(names)) => match by_name(definition, names, &all)? {
            Some(columns) => columns,
            None => all,
        },
        (None, None) => all,
    };
    if columns.len() != width {
        let listed = if listed.is_some() { " in its list" } else { "" };
        return Err(Error::invalid(
            SqlState::InvalidParameterValue,
            format!("the file has {width} columns, but table '{}' has {}{listed}", definition.name, columns.len()),
        ));
    }
    for (index, column) in columns.iter().enumerate() {
        if columns[..index].contains(column) {
            return Err(Error::invalid(
                SqlState::DuplicateColumn,
                format!("two columns of the file are to fill column '{column}'"),
            ));
        }
    }
    Ok(columns)
}

/// The table's columns of those names, whatever the case; `None` when the file's names have nothing to do with the
/// table's and their number is right, so that their order counts.
fn by_name(definition: &TableDefinition, names: &[String], all: &[String]) -> Result<Option<Vec<String>>> {
    let find = |name: &String| {
        let folded = || all.iter().find(|column| column.eq_ignore_ascii_case(name));
        all.iter().find(|column| *column == name).or_else(folded).cloned()
    };
    let found: Vec<Option<String>> = names.iter().map(find).collect();
    if found.iter().all(Option::is_none) && names.len() == all.len() {
        return Ok(None);
    }
    let unknown = names.iter().zip(&found).find(|(_, found)| found.is_none());
    match unknown {
        None => Ok(Some(found.into_iter().flatten().collect())),
        Some((name, _)) => Err(Error::invalid(
            SqlState::UndefinedColumn,
            format!(
                "the file has a column '{name}', which table '{}' does not have{}",
                definition.name,
                did_you_mean(name, all.iter().map(String::as_str))
            ),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gingham_storage::TableName;

    fn table(names: &[&str]) -> TableDefinition {
        let mut definition = TableDefinition::new(TableName { schema: "public".into(), table: "t".into() }, Vec::new());
        add_columns(&mut definition, names.iter().map(|name| ((*name).to_owned(), LogicalType::Int(32))));
        definition
    }

    fn strings(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn columns_are_matched_by_name_then_by_order() {
        let table = table(&["a", "b", "c"]);
        let by = |names: &[&str]| matched(&table, Some(&strings(names)), names.len(), None);
        assert_eq!(by(&["C", "a"]).expect("names"), ["c", "a"]);
        assert_eq!(by(&["x", "y", "z"]).expect("order"), ["a", "b", "c"]);
        assert!(by(&["a", "x", "c"]).expect_err("unknown").to_string().contains("column 'x'"));
        assert!(by(&["x", "y"]).is_err());
        assert!(by(&["a", "A"]).expect_err("twice").to_string().contains("two columns"));
        assert_eq!(matched(&table, None, 3, None).expect("order"), ["a", "b", "c"]);
        assert!(matched(&table, None, 2, None).expect_err("too few").to_string().contains("has 2 columns"));
        assert_eq!(matched(&table, None, 1, Some(&strings(&["b"]))).expect("a list"), ["b"]);
    }
}
