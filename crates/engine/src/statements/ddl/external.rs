//! Files and folders under a name of this session: CREATE EXTERNAL TABLE.

use crate::files::ReadOptions;
use crate::session::external_files::{exists, files, local};
use crate::session::{Outcome, StatementContext};
use crate::sql::names::fold;
use crate::sql::names::unsupported;
use crate::{Error, Result};
use datafusion::catalog::{SchemaProvider, TableProvider};
use datafusion::common::TableReference;
use datafusion::logical_expr::{CreateExternalTable as PlannedExternalTable, DdlStatement, LogicalPlan};
use datafusion::sql::parser::{CreateExternalTable, Statement as DataFusionStatement};
use datafusion::sql::sqlparser::ast::Ident;
use gingham_storage::{DEFAULT_SCHEMA, SqlState, TableName};
use std::sync::Arc;

/// Runs CREATE EXTERNAL TABLE.
pub(crate) async fn create(context: &StatementContext, statement: CreateExternalTable) -> Result<Outcome> {
    context.session.require_admin("CREATE EXTERNAL TABLE")?;
    let refused = [
        (statement.temporary, "TEMPORARY; an external table is the session's anyway"),
        (statement.unbounded, "UNBOUNDED"),
    ];
    if let Some((_, clause)) = refused.iter().find(|(given, _)| *given) {
        return Err(unsupported(format!("CREATE EXTERNAL TABLE with {clause}")));
    }
    refuse_constraints(&statement)?;
    statement.locations.iter().try_for_each(|location| local(location))?;
    if statement.or_replace && statement.if_not_exists {
        return Err(Error::invalid(SqlState::SyntaxError, "OR REPLACE and IF NOT EXISTS exclude each other"));
    }
    let name = free_name(context, &crate::statements::table_reference(&statement.name)?)?;
    let externals = &context.session.externals;
    if externals.table_exist(&name.table) {
        if statement.if_not_exists {
            return Ok(Outcome::Done);
        }
        if !statement.or_replace {
            return Err(Error::invalid(SqlState::DuplicateTable, format!("external table '{name}' already exists")));
        }
    }
    let in_folders = |name: &Ident| statement.table_partition_cols.iter().any(|folder| *folder == fold(name));
    let declared = statement.columns.iter().filter(|column| !in_folders(&column.name));
    let declared = declared.map(|column| (fold(&column.name), column.data_type.to_string())).collect();
    let plan = context.plan(DataFusionStatement::CreateExternalTable(statement), None).await?;
    let LogicalPlan::Ddl(DdlStatement::CreateExternalTable(command)) = plan else {
        return Err(Error::Internal("CREATE EXTERNAL TABLE was planned as something else".into()));
    };
    let file_type = command.file_type.to_ascii_uppercase();
    let missing = |location: &&String| !exists(location);
    if let Some(location) = command.locations.iter().find(missing) {
        return Err(Error::invalid(
            SqlState::UndefinedFile,
            format!("external table '{name}': there is no file or folder at '{location}'"),
        ));
    }
    let table: Arc<dyn TableProvider> = match file_type.as_str() {
        "CSV" | "JSON" => text_files(context, declared, &command).await?,
        _ => other_files(context, &name, &file_type, &command).await?,
    };
    externals.deregister_table(&name.table)?;
    externals.register_table(name.table.clone(), table)?;
    Ok(Outcome::Done)
}

/// Files of another kind, which DataFusion reads.
async fn other_files(
    context: &StatementContext,
    name: &TableName,
    file_type: &str,
    command: &PlannedExternalTable,
) -> Result<Arc<dyn TableProvider>> {
    let factory = context.state.table_factories().get(file_type).ok_or_else(|| {
        Error::invalid(
            SqlState::UndefinedObject,
            format!("STORED AS {file_type} does not exist; files are PARQUET, CSV, JSON and ARROW"),
        )
    })?;
    let table = factory.create(context.state.as_ref(), command).await?;
    if table.schema().fields().is_empty() {
        return Err(Error::invalid(
            SqlState::UndefinedFile,
            format!("external table '{name}' has no columns: there is no file at '{}'", command.locations.join("', '")),
        ));
    }
    Ok(table)
}

/// Delimited text or JSON.
async fn text_files(
    context: &StatementContext,
    columns: Vec<(String, String)>,
    command: &PlannedExternalTable,
) -> Result<Arc<dyn TableProvider>> {
    let mut options = ReadOptions { columns, ..ReadOptions::default() };
    options.set("format", &command.file_type.as_str().into())?;
    for (name, value) in &command.options {
        let name = name.strip_prefix("format.").unwrap_or(name);
        options.set(name, &value.as_str().into()).map_err(|error| error.about("CREATE EXTERNAL TABLE"))?;
    }
    if !command.table_partition_cols.is_empty() {
        options.hive_partitioning = Some(true);
    }
    files(command.locations.clone(), options, &context.session).await
}

/// The name of a table that only the session has: no table and no view may have it.
pub(crate) fn free_name(context: &StatementContext, reference: &TableReference) -> Result<TableName> {
    let name = context.name(reference)?;
    if name.schema != DEFAULT_SCHEMA {
        return Err(unsupported(format!("an external table in another schema than {DEFAULT_SCHEMA} ('{name}')")));
    }
    if crate::session::system_tables::NAMES.contains(&name.table.as_str()) {
        return Err(Error::invalid(SqlState::ReservedName, format!("'{name}' is a system table; choose another name")));
    }
    if context.has_table(&name) || crate::statements::is_view(context, &name) {
        return Err(Error::invalid(
            SqlState::DuplicateTable,
            format!("'{name}' already exists and is not an external table"),
        ));
    }
    Ok(name)
}

/// Refuses what nobody would see to: the records of files are not looked at before they are read.
fn refuse_constraints(statement: &CreateExternalTable) -> Result<()> {
    if !statement.order_exprs.is_empty() {
        return Err(Error::Unsupported(
            "CREATE EXTERNAL TABLE takes no WITH ORDER, since the order of a file's records is not checked; let the query \
             sort them with ORDER BY"
                .into(),
        ));
    }
    let of_columns = statement.columns.iter().flat_map(|column| {
        column.options.iter().map(|option| format!("column '{}': {}", fold(&column.name), option.option))
    });
    match of_columns.chain(statement.constraints.iter().map(ToString::to_string)).next() {
        None => Ok(()),
        Some(constraint) => Err(Error::Unsupported(format!(
            "CREATE EXTERNAL TABLE takes no constraints and defaults ({constraint}), since a file's records are not checked; \
             load the file into a table that has them"
        ))),
    }
}
