//! CREATE VIEW: planned, so that a wrong one is refused, and stored as text.

use crate::session::{Outcome, Severity, StatementContext, names_schema};
use crate::settings::ColumnNames;
use crate::sql::clauses::as_written;
use crate::sql::names::fold;
use crate::sql::names::unsupported;
use crate::statements::ddl::skipped::say_there;
use crate::statements::ddl::{create, view_names};
use crate::statements::{table_reference, write};
use crate::{Error, Result};
use datafusion::catalog::SchemaProvider;
use datafusion::common::TableReference;
use datafusion::sql::parser::Statement as DataFusionStatement;
use datafusion::sql::sqlparser::ast::{CreateTableOptions, CreateView, Query, Statement as Sql};
use gingham_storage::model::ViewDefinition;
use gingham_storage::snapshot::Snapshot;
use gingham_storage::{DEFAULT_SCHEMA, SqlState, TableName};
use std::sync::Arc;

/// Runs CREATE VIEW.
pub(crate) async fn run(context: &StatementContext, statement: CreateView) -> Result<Outcome> {
    refuse_clauses(&statement)?;
    let CreateView { or_replace, name, columns, mut query, if_not_exists, mut temporary, options, .. } = statement;
    say_options(context, &options)?;
    if or_replace && if_not_exists {
        return Err(Error::invalid(SqlState::SyntaxError, "OR REPLACE and IF NOT EXISTS exclude each other"));
    }
    let reference = table_reference(&name)?;
    if !temporary
        && !names_schema(&reference)
        && let Some(used) = used_of_session(context, &query)?
    {
        let text = format!("view '{}' is temporary, as '{used}' is, which it refers to", reference.table());
        context.say(Severity::Notice, SqlState::SuccessfulCompletion, text);
        temporary = true;
    }
    let place = create::place(context, &reference, temporary)?;
    if place.snapshot.has_table(&place.name) {
        return Err(Error::invalid(
            SqlState::DuplicateTable,
            format!("'{}' already exists and is a table", place.name),
        ));
    }
    if place.snapshot.views.contains_key(&place.name) {
        if if_not_exists {
            say_there(context, SqlState::DuplicateTable, &format!("view '{}'", place.name));
            return Ok(Outcome::Done);
        }
        if !or_replace {
            return Err(Error::invalid(SqlState::DuplicateTable, format!("view '{}' already exists", place.name)));
        }
    }
    let mut names = Vec::with_capacity(columns.len());
    for column in &columns {
        if column.data_type.is_some() || column.options.is_some() {
            return Err(unsupported(format!("a view's column with a type or options ({column})")));
        }
        names.push(fold(&column.name));
    }
    crate::sql::ignored::refuse_ignored(&mut query)?;
    if !temporary {
        view_names::qualify(context, &mut query)?;
    }
    let columns = validate(context, &place.name, &query, names, temporary).await?;
    let view = ViewDefinition { name: place.name, query: as_written(query.to_string()), columns };
    write(context, &place.store, move |transaction| Ok(transaction.create_view(view, or_replace)?)).await?;
    Ok(Outcome::Done)
}

/// Says that options of a view have no effect; refuses those that would have one.
fn say_options(context: &StatementContext, options: &CreateTableOptions) -> Result<()> {
    let (CreateTableOptions::With(options) | CreateTableOptions::Options(options)) = options else {
        return match options {
            CreateTableOptions::None => Ok(()),
            _ => Err(unsupported("CREATE VIEW with options".to_owned())),
        };
    };
    for option in options {
        let text = option.to_string();
        let name = text.split(['=', ' ']).next().unwrap_or_default().to_ascii_lowercase();
        match name.as_str() {
            "security_barrier" | "security_invoker" => {
                let text = format!("{name} has no effect: whoever opens a database may read all of it");
                context.say(Severity::Notice, SqlState::SuccessfulCompletion, text);
            }
            _ => return Err(unsupported(format!("CREATE VIEW with the option {name}"))),
        }
    }
    Ok(())
}

/// A table or view that only this session has, among those that a query names.
fn used_of_session(context: &StatementContext, query: &Query) -> Result<Option<TableName>> {
    let statement = DataFusionStatement::Statement(Box::new(Sql::Query(Box::new(query.clone()))));
    for reference in context.state.resolve_table_references(&statement)? {
        let used = context.name(&reference)?;
        if !context.is_given(&reference) && is_of_session(context, &reference, &used) {
            return Ok(Some(used));
        }
    }
    Ok(None)
}

fn is_of_session(context: &StatementContext, reference: &TableReference, used: &TableName) -> bool {
    let is_temp = |temp: &Arc<Snapshot>| temp.has_table(used) || temp.views.contains_key(used);
    let is_external = || used.schema == DEFAULT_SCHEMA && context.session.externals.table_exist(&used.table);
    (!names_schema(reference) && context.temp.as_ref().is_some_and(is_temp)) || is_external()
}

/// Refuses a query that can't be a view's; gives the names of its first columns that the query's plan does not have
/// itself, beginning with those that the statement gives.
async fn validate(
    context: &StatementContext,
    name: &TableName,
    query: &Query,
    mut names: Vec<String>,
    temporary: bool,
) -> Result<Vec<String>> {
    let statement = DataFusionStatement::Statement(Box::new(Sql::Query(Box::new(query.clone()))));
    for reference in context.state.resolve_table_references(&statement)? {
        let used = context.name(&reference)?;
        if used == *name && (!temporary || !names_schema(&reference)) {
            return Err(Error::invalid(SqlState::InvalidRecursion, format!("view '{name}' refers to itself")));
        }
        if context.is_given(&reference) {
            return Err(Error::invalid(
                SqlState::InvalidTableDefinition,
                format!(
                    "view '{name}' refers to '{}', a table of the program which only this statement has; store its rows with \
                     CREATE TABLE … AS SELECT",
                    used.table
                ),
            ));
        }
        if !temporary && is_of_session(context, &reference, &used) {
            return Err(Error::invalid(
                SqlState::InvalidTableDefinition,
                format!("view '{name}' refers to '{used}', which only this session has; use CREATE TEMP VIEW"),
            ));
        }
    }
    let bound = context.defining(name.clone(), temporary).bind(query.clone(), None).await?;
    if let Some(parameter) = bound.plan.get_parameter_names()?.into_iter().next() {
        return Err(Error::invalid(
            SqlState::InvalidTableDefinition,
            format!("view '{name}' has the parameter {parameter}; a view has none"),
        ));
    }
    let all = &bound.columns.names;
    if names.len() > all.len() {
        return Err(Error::invalid(
            SqlState::InvalidTableDefinition,
            format!("view '{name}' is given {} columns, but its query has {}", names.len(), all.len()),
        ));
    }
    // What a text stands for may be called otherwise by a later version.
    let is_plain = |name: &String| name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let by_setting = context.settings().column_names != ColumnNames::Text;
    if by_setting || !all.iter().skip(names.len()).all(is_plain) {
        names.extend(all.iter().skip(names.len()).cloned());
    }
    let mut seen: Vec<&str> = Vec::new();
    for (position, heading) in all.iter().enumerate() {
        let column = names.get(position).unwrap_or(heading).as_str();
        if seen.contains(&column) {
            return Err(Error::invalid(
                SqlState::DuplicateColumn,
                format!("column '{column}' appears twice in view '{name}'; give one another name with AS"),
            ));
        }
        seen.push(column);
    }
    Ok(names)
}

/// Refuses the clauses of CREATE VIEW that nothing here reads. Destructured whole, so that a clause that a later parser
/// adds is not overlooked.
fn refuse_clauses(statement: &CreateView) -> Result<()> {
    let CreateView {
        or_alter,
        or_replace: _,
        materialized,
        secure,
        name: _,
        name_before_not_exists: _,
        columns: _,
        query: _,
        options: _,
        cluster_by,
        comment,
        with_no_schema_binding,
        if_not_exists: _,
        temporary: _,
        copy_grants,
        to,
        params,
    } = statement;
    let clauses = [
        (*or_alter, "OR ALTER"),
        (*materialized, "MATERIALIZED"),
        (*secure, "SECURE"),
        (!cluster_by.is_empty(), "CLUSTER BY"),
        (comment.is_some(), "COMMENT"),
        (*with_no_schema_binding, "WITH NO SCHEMA BINDING"),
        (*copy_grants, "COPY GRANTS"),
        (to.is_some(), "TO"),
        (params.is_some(), "ALGORITHM, DEFINER or SQL SECURITY"),
    ];
    match clauses.iter().find(|(given, _)| *given) {
        Some((_, clause)) => Err(unsupported(format!("CREATE VIEW with {clause}"))),
        None => Ok(()),
    }
}
