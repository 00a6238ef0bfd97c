//! INSERT INTO … VALUES and INSERT INTO … SELECT, with RETURNING. ON CONFLICT is in `conflict`.

use crate::session::{Outcome, StatementContext, TargetTable, blocking};
use crate::sql::names::{column_name, unsupported};
use crate::sql::writes::overriding;
use crate::statements::dml::change::{Returned, Returning, from_table};
use crate::statements::dml::columns::{check_columns, filled};
use crate::statements::dml::conflict::Upsert;
use crate::statements::dml::generated;
use crate::statements::dml::ingest::{Converter, Ingest};
use crate::statements::dml::values::{Filled, ValuesRows};
use crate::statements::dml::work::Work;
use crate::statements::dml::{pipeline, values, work};
use crate::{Error, Result};
use datafusion::common::ParamValues;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::sql::sqlparser::ast::{Insert, OnInsert, Query, SetExpr, TableAlias, TableFactor, TableObject, With};
use gingham_storage::{SqlState, TableDefinition};
use std::sync::Arc;

/// New records of a table, written but not yet visible, and what RETURNING answers.
pub(crate) struct InsertedRows {
    pub(crate) target: TargetTable,
    pub(crate) ingest: Ingest,
    pub(crate) returned: Option<Returned>,
}

/// What an INSERT has read.
pub(crate) enum Inserting {
    /// Rows that are written.
    Rows(Box<InsertedRows>),
    /// Rows that may meet others of the same keys.
    Upsert(Box<Upsert>),
}

/// Runs INSERT.
pub(crate) async fn run(
    context: &StatementContext,
    statement: Insert,
    with: Option<With>,
    parameters: Option<ParamValues>,
) -> Result<Outcome> {
    match read(context, statement, with, parameters.clone()).await? {
        Inserting::Upsert(upsert) => work::run(context, Work::Upsert(upsert), parameters).await,
        Inserting::Rows(rows) => {
            let InsertedRows { target, ingest, returned } = *rows;
            let inserted = context.in_line(&target.store, move || ingest.finish()).await?;
            Ok(returned.map_or(Outcome::Affected(inserted), Returned::outcome))
        }
    }
}

/// Reads the rows of an INSERT.
pub(crate) async fn read(
    context: &StatementContext,
    mut statement: Insert,
    with: Option<With>,
    parameters: Option<ParamValues>,
) -> Result<Inserting> {
    let overriding = overriding(&statement);
    if overriding.is_some() {
        statement.settings = None;
    }
    refuse_clauses(&statement)?;
    let TableObject::TableName(name) = &statement.table else {
        return Err(unsupported("INSERT INTO a function or a query".into()));
    };
    let target = crate::statements::writable(context, name, "INSERT")?;
    let given = match &statement.source {
        Some(_) => columns(&target.table.definition, &statement)?,
        // DEFAULT VALUES: one row of nothing but defaults.
        None => Some(Vec::new()),
    };
    let alias = statement.table_alias.as_ref().map(|alias| alias.alias.clone());
    let mut from = from_table(name)?;
    if let (TableFactor::Table { alias: own, .. }, Some(name)) = (&mut from.relation, alias.clone()) {
        *own = Some(TableAlias { explicit: true, name, columns: Vec::new(), at: None });
    }
    let returning = Returning::of(&from, statement.returning, with.as_ref());
    let table = name.clone();
    let mut source = statement.source;
    let given = generated::filled(&target.table.definition, given, source.as_deref_mut(), overriding)?;
    let (rows, given) = rows(context, &target, given, source, with.as_ref(), parameters.clone()).await?;
    let conflict = match statement.on {
        None => None,
        Some(OnInsert::OnConflict(conflict)) => Some(conflict),
        Some(_) => return Err(unsupported("INSERT with ON DUPLICATE KEY UPDATE".into())),
    };
    let ingest = Ingest::new(context, &target.store, &target.table, given.as_deref())?;
    if let Some(on) = conflict {
        let proposed = rows.fill(context, ingest.keeping(context.task().memory_pool(), false)).await?;
        let (proposed, written_for) = (proposed.kept(), Arc::clone(&target.table.definition));
        let before = None;
        let upsert = Upsert { table, alias, on, returning, with, proposed, written_for, before };
        return Ok(Inserting::Upsert(Box::new(upsert)));
    }
    let ingest = if returning.is_some() { ingest.keeping(context.task().memory_pool(), true) } else { ingest };
    let ingest = rows.fill(context, ingest).await?;
    let returned = match &returning {
        Some(returning) => Some(returning.rows(context, &target, ingest.kept(), Vec::new(), parameters).await?),
        None => None,
    };
    Ok(Inserting::Rows(Box::new(InsertedRows { target, ingest, returned })))
}

/// A query behind the WITH of the statement that it is a part of.
fn behind(with: Option<With>, query: Box<Query>) -> Box<Query> {
    match with {
        None => query,
        Some(_) if query.with.is_none() => Box::new(Query { with, ..*query }),
        Some(_) => Box::new(Query {
            with,
            body: Box::new(SetExpr::Query(query)),
            order_by: None,
            limit_clause: None,
            fetch: None,
            locks: Vec::new(),
            for_clause: None,
            settings: None,
            format_clause: None,
            pipe_operators: Vec::new(),
        }),
    }
}

/// Rows to insert: spelled out in the statement, or a query's.
enum InsertSource {
    Values(ValuesRows),
    Query(Arc<dyn ExecutionPlan>),
}

/// Reads what stands behind INSERT INTO t (a, b), and tells the columns that it fills.
async fn rows(
    context: &StatementContext,
    target: &TargetTable,
    given: Option<Vec<String>>,
    query: Option<Box<Query>>,
    with: Option<&With>,
    parameters: Option<ParamValues>,
) -> Result<(InsertSource, Option<Vec<String>>)> {
    let definition = &target.table.definition;
    let Some(query) = query else { return Ok((InsertSource::Values(ValuesRows::defaults()), given)) };
    if let Some(rows) = plain_values(&query) {
        let given = filled(definition, given, rows.rows.first().map_or(0, |row| row.content.len()))?;
        let into = Filled { definition, given: given.as_deref() };
        return Ok((InsertSource::Values(values::read(context, into, rows, with, parameters).await?), given));
    }
    let mut query = behind(with.cloned(), query);
    crate::sql::ignored::refuse_ignored(&mut query)?;
    let plan = context.bind(*query, parameters).await?.plan;
    let given = filled(definition, given, plan.schema().fields().len())?;
    Converter::new(&context.state, definition, given.as_deref())?.accept(plan.schema().as_arrow())?;
    let plan = pipeline::sorted(plan, definition, given.as_deref())?;
    Ok((InsertSource::Query(context.physical_plan(plan).await?), given))
}

impl InsertSource {
    /// Writes the rows.
    async fn fill(self, context: &StatementContext, ingest: Ingest) -> Result<Ingest> {
        match self {
            Self::Query(plan) => pipeline::fill(context, plan, ingest).await,
            Self::Values(rows) => {
                let cancel = context.cancel.clone();
                blocking(move || {
                    let mut first = 1;
                    for chunk in rows.batches(ingest.converter())? {
                        cancel.check()?;
                        ingest.batch(0, &chunk, Some(first))?;
                        first += chunk.num_rows() as u64;
                    }
                    Ok(ingest)
                })
                .await
            }
        }
    }
}

/// The columns that INSERT INTO t (a, b) names; `None` for all.
fn columns(definition: &TableDefinition, statement: &Insert) -> Result<Option<Vec<String>>> {
    if statement.columns.is_empty() {
        return Ok(None);
    }
    let mut columns = Vec::with_capacity(statement.columns.len());
    for name in &statement.columns {
        let ident = match name.0.as_slice() {
            [part] => part.as_ident(),
            _ => None,
        };
        let Some(ident) = ident else {
            return Err(Error::invalid(SqlState::UndefinedColumn, format!("'{name}' is not the name of a column")));
        };
        columns.push(column_name(definition, ident)?);
    }
    check_columns(definition, &columns)?;
    Ok(Some(columns))
}

/// The rows of a query that is just VALUES.
fn plain_values(query: &Query) -> Option<&datafusion::sql::sqlparser::ast::Values> {
    let Query { with, body, order_by, limit_clause, fetch, locks, for_clause, settings, format_clause, pipe_operators } =
        query;
    let plain = with.is_none()
        && order_by.is_none()
        && limit_clause.is_none()
        && fetch.is_none()
        && locks.is_empty()
        && for_clause.is_none()
        && settings.is_none()
        && format_clause.is_none()
        && pipe_operators.is_empty();
    match body.as_ref() {
        SetExpr::Values(values) if plain => Some(values),
        _ => None,
    }
}

/// Refuses the clauses of INSERT that nothing here reads. Destructured whole, so that a clause that a later parser adds
/// is not overlooked.
fn refuse_clauses(statement: &Insert) -> Result<()> {
    let Insert {
        insert_token: _,
        optimizer_hints,
        or,
        ignore,
        into: _,
        table: _,
        table_alias: _,
        columns: _,
        overwrite,
        source: _,
        assignments,
        partitioned,
        after_columns,
        has_table_keyword: _,
        on: _,
        returning: _,
        output,
        replace_into,
        priority,
        insert_alias,
        settings,
        format_clause,
        multi_table_insert_type,
        multi_table_into_clauses,
        multi_table_when_clauses,
        multi_table_else_clause,
    } = statement;
    let clauses = [
        (!optimizer_hints.is_empty(), "optimizer hints"),
        (or.is_some(), "OR …"),
        (*ignore, "IGNORE"),
        (insert_alias.is_some(), "an alias of its rows"),
        (*overwrite, "OVERWRITE"),
        (!assignments.is_empty(), "SET"),
        (partitioned.is_some() || !after_columns.is_empty(), "PARTITION"),
        (output.is_some(), "OUTPUT"),
        (*replace_into, "REPLACE"),
        (priority.is_some(), "a priority"),
        (settings.is_some(), "SETTINGS"),
        (format_clause.is_some(), "FORMAT"),
        (
            multi_table_insert_type.is_some()
                || !multi_table_into_clauses.is_empty()
                || !multi_table_when_clauses.is_empty()
                || multi_table_else_clause.is_some(),
            "several tables",
        ),
    ];
    match clauses.iter().find(|(given, _)| *given) {
        Some((_, clause)) => Err(unsupported(format!("INSERT with {clause}"))),
        None => Ok(()),
    }
}
