//! The tables that statements write, by their names, and the one writer of a store.

use crate::session::{StatementContext, TargetTable, system_tables};
use crate::{Error, Result};
use datafusion::catalog::SchemaProvider;
use datafusion::common::TableReference;
use datafusion::sql::planner::object_name_to_table_reference;
use datafusion::sql::sqlparser::ast::ObjectName;
use gingham_storage::store::Store;
use gingham_storage::write::Transaction;
use gingham_storage::{DEFAULT_SCHEMA, SqlState, TableName};
use std::sync::Arc;

/// Runs `work` as the store's one writer, off the threads that drive queries. What it did is committed when it succeeds, with
/// the session's transaction when there is one.
pub(crate) async fn write<R: Send + 'static>(
    context: &StatementContext,
    store: &Arc<Store>,
    work: impl FnOnce(&mut Transaction<'_>) -> Result<R> + Send + 'static,
) -> Result<R> {
    let (writing, own) = (context.writing(), Arc::clone(store));
    context.in_line(store, move || writing.run(&own, work)).await
}

/// The table that a statement writes; others (views, system and external tables, unknown names) are errors.
pub(crate) fn writable(context: &StatementContext, name: &ObjectName, verb: &str) -> Result<TargetTable> {
    let reference = table_reference(name)?;
    refuse_others(context, &reference, verb)?;
    context.table(&reference)
}

/// Refuses what is no table of the database's or the session's that a statement can change.
pub(crate) fn refuse_others(context: &StatementContext, reference: &TableReference, verb: &str) -> Result<()> {
    let known = context.name(reference)?;
    if context.is_given(reference) {
        return Err(Error::invalid(
            SqlState::WrongObjectType,
            format!("'{}' came with this statement as a table of the program; {verb} can't change it", known.table),
        ));
    }
    if known.schema == "information_schema" {
        return Err(Error::invalid(
            SqlState::WrongObjectType,
            format!("'{known}' is a system table; {verb} can't change it"),
        ));
    }
    if !context.has_table(&known) && !is_view(context, &known) {
        if system_tables::NAMES.contains(&known.table.as_str()) {
            return Err(Error::invalid(
                SqlState::WrongObjectType,
                format!("'{known}' is a system table; {verb} can't change it"),
            ));
        }
        if known.schema == DEFAULT_SCHEMA && context.session.externals.table_exist(&known.table) {
            return Err(Error::invalid(
                SqlState::WrongObjectType,
                format!("'{known}' is an external table; {verb} can't change it"),
            ));
        }
    }
    Ok(())
}

pub(crate) fn is_view(context: &StatementContext, name: &TableName) -> bool {
    context.snapshot.views.contains_key(name) || context.temp.as_ref().is_some_and(|temp| temp.views.contains_key(name))
}

/// A name in a statement as a reference.
pub(crate) fn table_reference(name: &ObjectName) -> Result<TableReference> {
    Ok(object_name_to_table_reference(name.clone(), true)?)
}
