//! Schemas, and what removes things: CREATE SCHEMA, DROP, TRUNCATE, OPTIMIZE.

use crate::session::{BARE_NAMES, Outcome, Severity, StatementContext, did_you_mean, names_schema};
use crate::sql::names::fold;
use crate::sql::names::unsupported;
use crate::statements::ddl::auto_layout;
use crate::statements::ddl::cascade::Dependents;
use crate::statements::ddl::skipped::{say_missing, say_there};
use crate::statements::ddl::{index, sequence};
use crate::statements::{table_reference, write};
use crate::{Error, Result};
use datafusion::catalog::SchemaProvider;
use datafusion::common::TableReference;
use datafusion::sql::sqlparser::ast::{
    CascadeOption, ObjectName, ObjectType, SchemaName, Statement as Sql, Truncate, TruncateIdentityOption,
};
use gingham_storage::snapshot::Snapshot;
use gingham_storage::store::Store;
use gingham_storage::write::Transaction;
use gingham_storage::{DEFAULT_SCHEMA, SqlState, TableDefinition, TableName};
use std::sync::Arc;

/// Runs CREATE SCHEMA.
pub(crate) async fn create_schema(context: &StatementContext, statement: Sql) -> Result<Outcome> {
    let Sql::CreateSchema { schema_name, if_not_exists, with, options, default_collate_spec, clone } = statement else {
        return Err(Error::Internal("not CREATE SCHEMA".into()));
    };
    if with.is_some() || options.is_some() || default_collate_spec.is_some() || clone.is_some() {
        return Err(unsupported("CREATE SCHEMA with options".into()));
    }
    let SchemaName::Simple(name) = &schema_name else {
        return Err(unsupported("CREATE SCHEMA with AUTHORIZATION".into()));
    };
    let name = schema_of(name)?;
    if name.is_empty() {
        return Err(Error::invalid(SqlState::InvalidName, "the name of a schema can't be empty"));
    }
    if name == BARE_NAMES {
        return Err(Error::invalid(
            SqlState::InsufficientPrivilege,
            format!("schema '{name}' is Gingham's own; choose another name"),
        ));
    }
    if name == "information_schema" || name == DEFAULT_SCHEMA || context.snapshot.schemas.contains(&name) {
        if if_not_exists {
            say_there(context, SqlState::DuplicateSchema, &format!("schema '{name}'"));
            return Ok(Outcome::Done);
        }
        return Err(Error::invalid(SqlState::DuplicateSchema, format!("schema '{name}' already exists")));
    }
    write(context, &context.session.engine.store, move |transaction| Ok(transaction.create_schema(&name)?)).await?;
    Ok(Outcome::Done)
}

/// The name of a schema, without a catalog before it.
pub(crate) fn schema_of(name: &ObjectName) -> Result<String> {
    match name.0.as_slice() {
        [part] => match part.as_ident() {
            Some(ident) => Ok(fold(ident)),
            None => Err(Error::invalid(SqlState::InvalidName, format!("'{name}' is not the name of a schema"))),
        },
        _ => Err(Error::invalid(
            SqlState::InvalidName,
            format!("'{name}' is not the name of a schema; a schema stands within no other"),
        )),
    }
}

/// Runs DROP.
pub(crate) async fn drop_objects(context: &StatementContext, statement: Sql) -> Result<Outcome> {
    let Sql::Drop { object_type, if_exists, names, cascade, restrict: _, purge, temporary, table } = statement else {
        return Err(Error::Internal("not DROP".into()));
    };
    if purge || temporary || table.is_some() {
        return Err(unsupported(format!("DROP {object_type} with PURGE, TEMPORARY or ON")));
    }
    match object_type {
        ObjectType::Schema => {
            let names = names.iter().map(schema_of).collect::<Result<Vec<_>>>()?;
            drop_schemas(context, &names, if_exists, cascade).await?;
        }
        ObjectType::Table | ObjectType::View => {
            drop_relations(context, object_type == ObjectType::View, &names, if_exists, cascade).await?;
        }
        ObjectType::Sequence => sequence::drop_sequences(context, &names, if_exists, cascade).await?,
        ObjectType::Index => {
            // Nothing depends on an index that no constraint needs.
            index::drop_indexes(context, &names, if_exists).await?;
        }
        other => return Err(unsupported(format!("DROP {other}"))),
    }
    Ok(Outcome::Done)
}

/// Drops schemas: all that are named, or none.
async fn drop_schemas(context: &StatementContext, names: &[String], if_exists: bool, cascade: bool) -> Result<()> {
    let mut going: Vec<String> = Vec::new();
    for name in names {
        if name == DEFAULT_SCHEMA || name == "information_schema" {
            return Err(Error::invalid(SqlState::InsufficientPrivilege, format!("schema '{name}' can't be dropped")));
        }
        if !context.snapshot.schemas.contains(name) {
            if if_exists {
                say_missing(context, &format!("schema '{name}'"));
                continue;
            }
            let schemas = context.snapshot.schemas.iter().map(String::as_str);
            return Err(Error::invalid(
                SqlState::UndefinedSchema,
                format!("schema '{name}' does not exist{}", did_you_mean(name, schemas)),
            ));
        }
        let inside = inside(&context.snapshot, name);
        if !cascade && let Some(first) = inside.first() {
            return Err(Error::constraint(
                SqlState::DependentObjectsStillExist,
                format!(
                    "schema '{name}' is not empty: it has '{first}'; DROP SCHEMA {name} CASCADE drops all that is in it"
                ),
            ));
        }
        if !going.contains(name) {
            going.push(name.clone());
        }
    }
    let all: Vec<TableName> = going.iter().flat_map(|schema| inside(&context.snapshot, schema)).collect();
    let dependents = Dependents::of(&context.snapshot, &all);
    dependents.require(context, "a schema", cascade)?;
    write(context, &context.session.engine.store, move |transaction| {
        drop_dependents(transaction, &dependents)?;
        going.iter().try_for_each(|name| Ok(transaction.drop_schema(name, cascade)?))
    })
    .await
}

/// What is in a schema.
fn inside(snapshot: &Snapshot, schema: &str) -> Vec<TableName> {
    let tables = snapshot.definitions().map(|(name, _)| name);
    let all = tables.chain(snapshot.views.keys()).chain(snapshot.sequences.keys());
    all.filter(|name| name.schema == *schema).cloned().collect()
}

/// A table or view that is to go.
enum DroppedObject {
    Kept { store: Arc<Store>, name: TableName },
    External(String),
}

/// Drops tables or views: all that are named, or none.
async fn drop_relations(
    context: &StatementContext,
    views: bool,
    names: &[ObjectName],
    if_exists: bool,
    cascade: bool,
) -> Result<()> {
    let mut found = Vec::new();
    for name in names {
        match find(context, views, &table_reference(name)?)? {
            Some(one) => found.push(one),
            None if if_exists => {
                let kind = if views { "view" } else { "table" };
                say_missing(context, &format!("{kind} '{}'", context.name(&table_reference(name)?)?));
            }
            None if views => {
                return Err(view_named(context, name).err().unwrap_or_else(|| Error::Internal("a view".into())));
            }
            None => return Err(context.unknown_table(&context.name(&table_reference(name)?)?)),
        }
    }
    let mut by_store: Vec<(Arc<Store>, Vec<TableName>)> = Vec::new();
    let mut externals = Vec::new();
    for one in found {
        match one {
            DroppedObject::External(name) => externals.push(name),
            DroppedObject::Kept { store, name } => {
                match by_store.iter_mut().find(|(known, _)| Arc::ptr_eq(known, &store)) {
                    Some((_, names)) if names.contains(&name) => {}
                    Some((_, names)) => names.push(name),
                    None => by_store.push((store, vec![name])),
                }
            }
        }
    }
    for (store, names) in by_store {
        let snapshot = sequence::snapshot_of(context, &store);
        let dependents = Dependents::of(&snapshot, &names);
        let what = match names.as_slice() {
            [one] if views => format!("view '{one}'"),
            [one] => format!("table '{one}'"),
            several => format!("one of {} objects", several.len()),
        };
        dependents.require(context, &what, cascade)?;
        write(context, &store, move |transaction| {
            drop_dependents(transaction, &dependents)?;
            if views {
                return names.iter().try_for_each(|name| Ok(transaction.drop_view(name)?));
            }
            let snapshot = transaction.base();
            let tables = names.iter().filter_map(|name| snapshot.definition(name));
            let tables = referring_first(tables.cloned().collect());
            tables.iter().try_for_each(|table| Ok(transaction.drop_table(&table.name)?))
        })
        .await?;
    }
    for name in externals {
        context.session.externals.deregister_table(&name)?;
    }
    Ok(())
}

/// Drops the TEMP tables and views of the session.
pub(crate) async fn drop_temporary(context: &StatementContext) -> Result<()> {
    let Some(store) = context.session.existing_temp_store().map(Arc::clone) else { return Ok(()) };
    write(context, &store, |transaction| {
        let snapshot = transaction.base();
        let views: Vec<TableName> = snapshot.views.keys().cloned().collect();
        let tables = referring_first(snapshot.definitions().map(|(_, definition)| Arc::clone(definition)).collect());
        views.iter().try_for_each(|name| transaction.drop_view(name))?;
        tables.iter().try_for_each(|table| transaction.drop_table(&table.name))?;
        let left = transaction.sequences()?;
        left.iter().try_for_each(|record| Ok(transaction.drop_sequence(record.definition.number)?))
    })
    .await
}

/// Drops what goes with what is dropped.
pub(crate) fn drop_dependents(transaction: &mut Transaction<'_>, dependents: &Dependents) -> Result<()> {
    dependents.views.iter().try_for_each(|view| transaction.drop_view(view))?;
    let tables = dependents.without_constraints(transaction.base());
    Ok(tables.into_iter().try_for_each(|table| transaction.alter_table(table))?)
}

/// The view of that name and its store.
pub(crate) fn view_named(context: &StatementContext, name: &ObjectName) -> Result<(Arc<Store>, TableName)> {
    match find(context, true, &table_reference(name)?)? {
        Some(DroppedObject::Kept { store, name }) => Ok((store, name)),
        _ => {
            let name = context.name(&table_reference(name)?)?;
            let known = context.snapshot.views.keys().map(ToString::to_string).collect::<Vec<_>>();
            let suggestion = did_you_mean(&name.to_string(), known.iter().map(String::as_str));
            Err(Error::invalid(SqlState::UndefinedTable, format!("view '{name}' does not exist{suggestion}")))
        }
    }
}

/// Finds a table or view; one of the other kind is an error.
fn find(context: &StatementContext, views: bool, reference: &TableReference) -> Result<Option<DroppedObject>> {
    let name = context.name(reference)?;
    let session = &context.session;
    let temp = context.temp.as_ref().zip(session.existing_temp_store()).filter(|_| !names_schema(reference));
    let kept = temp.into_iter().chain([(&context.snapshot, &session.engine.store)]);
    for (snapshot, store) in kept {
        let (is_table, is_view) = (snapshot.has_table(&name), snapshot.views.contains_key(&name));
        if snapshot.sequences.contains_key(&name) {
            return Err(Error::invalid(
                SqlState::WrongObjectType,
                format!("'{name}' is a sequence; use DROP SEQUENCE"),
            ));
        }
        if is_table && views {
            return Err(Error::invalid(SqlState::WrongObjectType, format!("'{name}' is a table; use DROP TABLE")));
        }
        if is_view && !views {
            return Err(Error::invalid(SqlState::WrongObjectType, format!("'{name}' is a view; use DROP VIEW")));
        }
        if is_table || is_view {
            return Ok(Some(DroppedObject::Kept { store: Arc::clone(store), name }));
        }
        if name.schema == DEFAULT_SCHEMA && session.externals.table_exist(&name.table) {
            if views {
                return Err(Error::invalid(
                    SqlState::WrongObjectType,
                    format!("'{name}' is an external table; use DROP TABLE"),
                ));
            }
            return Ok(Some(DroppedObject::External(name.table)));
        }
    }
    if crate::session::system_tables::NAMES.contains(&name.table.as_str()) || name.schema == "information_schema" {
        return Err(Error::invalid(
            SqlState::WrongObjectType,
            format!("'{name}' is a system table and can't be dropped"),
        ));
    }
    Ok(None)
}

/// Runs TRUNCATE, also of a table that can't be read.
pub(crate) async fn truncate(context: &StatementContext, statement: Truncate) -> Result<Outcome> {
    let Truncate { table_names, partitions, table: _, if_exists, identity, cascade, on_cluster } = statement;
    if partitions.is_some() || on_cluster.is_some() {
        return Err(unsupported("TRUNCATE with PARTITION or ON CLUSTER".into()));
    }
    let restart = matches!(identity, Some(TruncateIdentityOption::Restart));
    let mut targets: Vec<(Arc<Store>, Arc<TableDefinition>)> = Vec::new();
    for target in &table_names {
        let reference = table_reference(&target.name)?;
        let target = crate::statements::refuse_others(context, &reference, "TRUNCATE");
        match target.and_then(|()| context.defined(&reference)) {
            Ok(target) => targets.push(target),
            Err(_) if if_exists && !exists(context, &context.name(&reference)?) => {}
            Err(error) => return Err(error),
        }
    }
    if matches!(cascade, Some(CascadeOption::Cascade)) {
        add_referring(context, &mut targets);
    }
    let mut removed = 0;
    while let Some((store, _)) = targets.first() {
        let store = Arc::clone(store);
        let (same, others) = targets.into_iter().partition(|(other, _)| Arc::ptr_eq(other, &store));
        targets = others;
        removed += write(context, &store, move |transaction| remove_all(transaction, same, restart)).await?;
    }
    Ok(Outcome::Affected(removed))
}

/// Adds the tables that refer to those that are truncated, and those that refer to these.
fn add_referring(context: &StatementContext, targets: &mut Vec<(Arc<Store>, Arc<TableDefinition>)>) {
    let mut at = 0;
    while let Some((store, target)) = targets.get(at).cloned() {
        at += 1;
        let snapshot = sequence::snapshot_of(context, &store);
        for (name, table) in snapshot.definitions() {
            let known = targets.iter().any(|(other, known)| Arc::ptr_eq(other, &store) && known.id == table.id);
            if !known && table.references.iter().any(|reference| reference.table == target.id) {
                let text = format!("truncate cascades to table '{name}'");
                context.say(Severity::Notice, SqlState::SuccessfulCompletion, text);
                targets.push((Arc::clone(&store), Arc::clone(table)));
            }
        }
    }
}

/// Truncates tables of one store, those that refer to others first.
fn remove_all(
    transaction: &mut Transaction<'_>,
    targets: Vec<(Arc<Store>, Arc<TableDefinition>)>,
    restart: bool,
) -> Result<u64> {
    let mut removed = 0;
    for table in referring_first(targets.into_iter().map(|(_, definition)| definition).collect()) {
        removed += transaction.truncate(table.id)?;
        if restart {
            transaction.restart_sequences_of(table.id)?;
        }
    }
    Ok(removed)
}

/// Tables in an order in which each stands before those that it refers to.
fn referring_first(mut tables: Vec<Arc<TableDefinition>>) -> Vec<Arc<TableDefinition>> {
    let mut ordered = Vec::with_capacity(tables.len());
    while !tables.is_empty() {
        let free = tables.iter().position(|table| {
            let refers = |other: &Arc<TableDefinition>| {
                other.id != table.id && other.references.iter().any(|reference| reference.table == table.id)
            };
            !tables.iter().any(refers)
        });
        ordered.push(tables.remove(free.unwrap_or(0)));
    }
    ordered
}

pub(crate) fn exists(context: &StatementContext, name: &TableName) -> bool {
    context.has_table(name)
        || crate::statements::is_view(context, name)
        || (name.schema == DEFAULT_SCHEMA && context.session.externals.table_exist(&name.table))
}

/// Runs OPTIMIZE.
pub(crate) async fn optimize(context: &StatementContext, statement: Sql) -> Result<Outcome> {
    let Sql::OptimizeTable {
        name,
        has_table_keyword: _,
        on_cluster,
        partition,
        include_final,
        deduplicate,
        predicate,
        zorder,
    } = statement
    else {
        return Err(Error::Internal("not OPTIMIZE".into()));
    };
    if on_cluster.is_some()
        || partition.is_some()
        || include_final
        || deduplicate.is_some()
        || predicate.is_some()
        || zorder.is_some()
    {
        return Err(unsupported("OPTIMIZE with anything behind the table's name".into()));
    }
    context.require_alone("OPTIMIZE")?;
    let target = crate::statements::writable(context, &name, "OPTIMIZE")?;
    let (options, threads, cancel) = (context.write_options(), context.settings().threads, context.cancel.clone());
    let store = Arc::clone(&target.store);
    let chosen = auto_layout::chosen(context, &target).await?;
    context
        .in_line(&store, move || {
            let name = &target.table.definition.name;
            if let Some(arrangement) = chosen {
                let mut watch =
                    |_, _| if cancel.is_cancelled() { Err(gingham_storage::Error::Cancelled) } else { Ok(()) };
                target.store.set_arrangement(name, &arrangement, threads, &mut watch, &options)?;
            }
            Ok(target.store.optimize_with(name, &options)?)
        })
        .await?;
    Ok(Outcome::Done)
}
