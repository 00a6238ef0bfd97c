//! CREATE TABLE and CREATE TABLE AS.

use crate::session::{Outcome, Severity, StatementContext, names_schema};
use crate::statements::ddl::constraints::ConstraintScope;
use crate::statements::ddl::definition::CreatedTable;
use crate::statements::ddl::identity::ColumnSequence;
use crate::statements::ddl::skipped::say_there;
use crate::statements::ddl::{definition, identity, on_commit};
use crate::statements::dml::ingest::Ingest;
use crate::statements::dml::pipeline;
use crate::statements::{table_reference, write};
use crate::{Error, Result};
use datafusion::catalog::SchemaProvider;
use datafusion::common::{ParamValues, TableReference};
use datafusion::sql::parser::Statement as DataFusionStatement;
use datafusion::sql::sqlparser::ast::{CreateTable, Query, Statement as Sql};
use gingham_storage::snapshot::Snapshot;
use gingham_storage::store::Store;
use gingham_storage::{DEFAULT_SCHEMA, SqlState, TableDefinition, TableName};
use std::sync::Arc;

/// Where a new table or view goes.
pub(crate) struct CreateTarget {
    /// Schema and name.
    pub(crate) name: TableName,
    /// The database's store, or that of the session's TEMP tables.
    pub(crate) store: Arc<Store>,
    /// What is there already.
    pub(crate) snapshot: Arc<Snapshot>,
}

/// Finds the place and refuses names that are taken by something that can't be replaced.
pub(crate) fn place(context: &StatementContext, reference: &TableReference, temporary: bool) -> Result<CreateTarget> {
    let name = context.new_name(reference, temporary)?;
    let (store, snapshot) = if temporary {
        if names_schema(reference) {
            return Err(Error::invalid(
                SqlState::InvalidTableDefinition,
                format!("a temporary table has no schema; name it '{}'", name.table),
            ));
        }
        let store = context.session.temp_store()?;
        let snapshot = match &context.temp {
            Some(known) => Arc::clone(known),
            None => store.snapshot()?,
        };
        (store, snapshot)
    } else {
        (Arc::clone(&context.session.engine.store), Arc::clone(&context.snapshot))
    };
    if name.table.is_empty() {
        return Err(Error::invalid(SqlState::InvalidName, "the name of a table or view can't be empty"));
    }
    if name.schema == "information_schema" {
        return Err(Error::invalid(
            SqlState::InsufficientPrivilege,
            "schema 'information_schema' takes no tables or views of others",
        ));
    }
    if name.schema != DEFAULT_SCHEMA && !snapshot.schemas.contains(&name.schema) {
        return Err(context.unknown_table(&name));
    }
    if crate::session::system_tables::NAMES.contains(&name.table.as_str()) {
        return Err(Error::invalid(SqlState::ReservedName, format!("'{name}' is a system table; choose another name")));
    }
    if name.schema == DEFAULT_SCHEMA && context.session.externals.table_exist(&name.table) {
        return Err(Error::invalid(SqlState::DuplicateTable, format!("'{name}' already exists as an external table")));
    }
    Ok(CreateTarget { name, store, snapshot })
}

/// Runs CREATE TABLE.
pub(crate) async fn run(
    context: &StatementContext,
    statement: CreateTable,
    parameters: Option<ParamValues>,
) -> Result<Outcome> {
    definition::refuse_clauses(&statement)?;
    if statement.transient {
        let text = "UNLOGGED has no effect: the table's changes are durable as others are";
        context.say(Severity::Notice, SqlState::SuccessfulCompletion, text);
    }
    if statement.on_commit.is_some() && !statement.temporary {
        return Err(Error::invalid(
            SqlState::InvalidTableDefinition,
            "ON COMMIT can only be used on temporary tables: CREATE TEMP TABLE",
        ));
    }
    if statement.or_replace && statement.if_not_exists {
        return Err(Error::invalid(SqlState::SyntaxError, "OR REPLACE and IF NOT EXISTS exclude each other"));
    }
    let reference = table_reference(&statement.name)?;
    let place = place(context, &reference, statement.temporary)?;
    if place.snapshot.views.contains_key(&place.name) {
        return Err(Error::invalid(SqlState::DuplicateTable, format!("'{}' already exists and is a view", place.name)));
    }
    let exists = place.snapshot.has_table(&place.name);
    if exists && statement.if_not_exists {
        say_there(context, SqlState::DuplicateTable, &format!("table '{}'", place.name));
        return Ok(if statement.query.is_some() { Outcome::Affected(0) } else { Outcome::Done });
    }
    if exists && !statement.or_replace {
        return Err(Error::invalid(SqlState::DuplicateTable, format!("table '{}' already exists", place.name)));
    }
    match statement.query.clone() {
        Some(query) => create_as(context, statement, place, *query, parameters).await,
        None => {
            let scope = ConstraintScope { context, snapshot: &place.snapshot };
            let table = definition::build(&scope, place.name, &statement, None)?;
            let (replace, name) = (statement.or_replace, table.definition.name.clone());
            write(context, &place.store, move |transaction| create(transaction, table, replace)).await?;
            on_commit::note(context, &name, statement.on_commit).await?;
            Ok(Outcome::Done)
        }
    }
}

/// The table that a load makes, and its store: `columns` are as in CREATE TABLE; without them there are none yet, and no
/// layout ([`crate::statements::set_layout`]).
pub(crate) fn for_load(
    context: &StatementContext,
    reference: &TableReference,
    columns: Option<&str>,
) -> Result<(Arc<Store>, TableDefinition)> {
    let place = place(context, reference, false)?;
    let columns_text = columns.unwrap_or("c INT");
    let wrong = |why: String| {
        Error::invalid(SqlState::SyntaxError, format!("the schema '{columns_text}' is not a list of columns{why}"))
    };
    let parsed = crate::statements::parse_single(&format!("CREATE TABLE t ({columns_text})"));
    let crate::statements::Statement::Sql(statement) = parsed.map_err(|error| wrong(format!(": {error}")))? else {
        return Err(wrong(String::new()));
    };
    let DataFusionStatement::Statement(statement) = *statement else { return Err(wrong(String::new())) };
    let Sql::CreateTable(statement) = *statement else { return Err(wrong(String::new())) };
    if statement.query.is_some() {
        return Err(wrong(String::new()));
    }
    definition::refuse_clauses(&statement)?;
    let scope = ConstraintScope { context, snapshot: &place.snapshot };
    let CreatedTable { mut definition, sequences } = definition::build(&scope, place.name, &statement, None)?;
    if !sequences.is_empty() {
        return Err(crate::sql::names::unsupported("SERIAL or an identity column of a table that a load makes".into()));
    }
    if columns.is_none() {
        (definition.columns, definition.next_column) = (Vec::new(), 0);
    }
    Ok((place.store, definition))
}

/// Creates a table within a transaction, instead of the one of that name when `replace`.
fn create(transaction: &mut gingham_storage::write::Transaction<'_>, table: CreatedTable, replace: bool) -> Result<()> {
    let CreatedTable { mut definition, sequences } = table;
    if replace && transaction.base().has_table(&definition.name) {
        transaction.drop_table(&definition.name)?;
    }
    let made = ColumnSequence::make(&sequences, transaction, &mut definition)?;
    let id = transaction.create_table(definition.clone())?;
    identity::give(transaction, id, &definition, &made)
}

async fn create_as(
    context: &StatementContext,
    statement: CreateTable,
    place: CreateTarget,
    mut query: Query,
    parameters: Option<ParamValues>,
) -> Result<Outcome> {
    crate::sql::ignored::refuse_ignored(&mut query)?;
    let bound = context.bind(query, parameters).await?;
    // The queries of a set operation have one type for each column only when they are analyzed.
    let analyzed =
        context.state.analyzer().execute_and_check(bound.plan.clone(), context.state.config_options(), |_, _| {})?;
    let source = bound.columns.rename(analyzed.schema().as_arrow());
    let scope = ConstraintScope { context, snapshot: &place.snapshot };
    let CreatedTable { definition, sequences } = definition::build(&scope, place.name, &statement, Some(&source))?;
    if !sequences.is_empty() {
        return Err(crate::sql::names::unsupported("CREATE TABLE … AS with SERIAL or an identity column".into()));
    }
    if definition.columns.iter().any(|column| column.generation.is_some()) {
        return Err(crate::sql::names::unsupported("CREATE TABLE … AS with a generated column".into()));
    }
    let name = definition.name.clone();
    let plan = pipeline::sorted(bound.plan, &definition, None)?;
    let physical = context.physical_plan(plan).await?;
    let ingest = Ingest::for_new_table(context, &place.store, definition, None)?;
    ingest.converter().accept(&physical.schema())?;
    let ingest = pipeline::fill(context, physical, ingest).await?;
    let replace = statement.or_replace;
    let rows = context.in_line(&place.store, move || ingest.finish_creating(replace)).await?;
    on_commit::note(context, &name, statement.on_commit).await?;
    Ok(Outcome::Affected(rows))
}
