//! What the statements of a workload ask of tables, found by planning them. Nothing is run.

use crate::advisor::{StatementUse, WriteKind, WriteUse, table_uses};
use crate::optimizer::rows_about;
use crate::session::StatementContext;
use crate::sql::names::column_name;
use crate::sql::parse::{Statement, query_of};
use crate::{Error, Result};
use datafusion::sql::parser::Statement as DataFusionStatement;
use datafusion::sql::planner::object_name_to_table_reference;
use datafusion::sql::sqlparser::ast::{
    AssignmentTarget, Delete, FromTable, Insert, ObjectName, Query, SetExpr, Statement as Sql, TableFactor,
    TableObject, Update,
};
use gingham_storage::{ColumnId, SqlState, TableDefinition};

/// What a query, INSERT, UPDATE, DELETE or MERGE asks of the tables that the context sees.
pub(crate) async fn uses_of(context: &StatementContext, statement: Statement) -> Result<StatementUse> {
    let other = || Error::Internal("a workload has queries and writes only".into());
    let Statement::Sql(statement) = statement else { return Err(other()) };
    let DataFusionStatement::Statement(statement) = *statement else { return Err(other()) };
    match *statement {
        Sql::Query(query) => match *query.body {
            SetExpr::Insert(inner) | SetExpr::Update(inner) | SetExpr::Delete(inner) | SetExpr::Merge(inner) => {
                of_write(context, inner).await
            }
            _ => Ok(of_query(context, *query).await?.0),
        },
        write => of_write(context, write).await,
    }
}

/// What a query asks, and how many rows it gives, about.
async fn of_query(context: &StatementContext, mut query: Query) -> Result<(StatementUse, f64)> {
    crate::sql::ignored::refuse_ignored(&mut query)?;
    let bound = context.bind(query, None).await?;
    let options = context.state.config_options();
    let rows = rows_about(&bound.plan, options);
    let plan = context.optimized(bound.plan.clone())?;
    Ok((table_uses(&bound.plan, &plan, options)?, rows))
}

async fn of_write(context: &StatementContext, statement: Sql) -> Result<StatementUse> {
    match statement {
        Sql::Insert(insert) => of_insert(context, insert).await,
        Sql::Update(Update { table, assignments, from: _, selection, .. }) => {
            let (name, shown) = (name_of(&table.relation)?, table.to_string());
            let definition = definition(context, &name)?;
            let changed: Vec<ColumnId> = assignments
                .iter()
                .filter_map(|assignment| match &assignment.target {
                    AssignmentTarget::ColumnName(name) => {
                        let name = column_name(&definition, name.0.last()?.as_ident()?).ok()?;
                        definition.column(&name).map(|column| column.id)
                    }
                    AssignmentTarget::Tuple(_) => None,
                })
                .collect();
            let values = assignments.iter().map(|assignment| assignment.value.to_string());
            let found = found_by(context, &shown, values, selection.map(|condition| condition.to_string())).await;
            Ok(writing(&definition, WriteKind::Update(changed), found))
        }
        Sql::Delete(Delete { from, selection, .. }) => {
            let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = from;
            let from =
                from.first().ok_or_else(|| Error::invalid(SqlState::InvalidParameterValue, "DELETE names no table"))?;
            let definition = definition(context, &name_of(&from.relation)?)?;
            let condition = selection.map(|condition| condition.to_string());
            let found = found_by(context, &from.to_string(), std::iter::empty(), condition).await;
            Ok(writing(&definition, WriteKind::Delete, found))
        }
        Sql::Merge(merge) => {
            let definition = definition(context, &name_of(&merge.table)?)?;
            let columns = definition.columns.iter().map(|column| column.id).collect();
            let source = found_by(context, &merge.source.to_string(), std::iter::empty(), None).await;
            Ok(writing(&definition, WriteKind::Update(columns), source))
        }
        other => Err(Error::Unsupported(format!("{other} in a workload"))),
    }
}

async fn of_insert(context: &StatementContext, insert: Insert) -> Result<StatementUse> {
    let TableObject::TableName(name) = &insert.table else {
        return Err(Error::Unsupported("INSERT INTO a function in a workload".into()));
    };
    let definition = definition(context, name)?;
    let (uses, rows) = match insert.source {
        Some(source) => match &*source.body {
            SetExpr::Values(values) => (StatementUse::default(), values.rows.len() as f64),
            _ => of_query(context, *source).await?,
        },
        None => (StatementUse::default(), 1.0),
    };
    let write = WriteUse { table: definition.name.clone(), kind: WriteKind::Insert, rows };
    Ok(StatementUse { write: Some(write), ..uses })
}

/// The scans that find the records which a statement writes, and how many these are. Where the condition can't stand in a query
/// by itself, as with UPDATE … FROM, nothing is known of it.
async fn found_by(
    context: &StatementContext,
    table: &str,
    values: impl Iterator<Item = String>,
    condition: Option<String>,
) -> (StatementUse, f64) {
    let values: Vec<String> = values.chain(["1".to_owned()]).collect();
    let condition = condition.map_or(String::new(), |condition| format!(" WHERE {condition}"));
    let Ok(query) = query_of(&format!("SELECT {} FROM {table}{condition}", values.join(", "))) else {
        return (StatementUse::default(), 1.0);
    };
    let (uses, rows) = of_query(context, query).await.unwrap_or((StatementUse::default(), 1.0));
    let rows = match uses.tables.as_slice() {
        // All of its filters are the condition.
        [scan] => scan.rows,
        _ => rows,
    };
    (uses, rows)
}

fn writing(definition: &TableDefinition, kind: WriteKind, found: (StatementUse, f64)) -> StatementUse {
    let (uses, rows) = found;
    StatementUse { write: Some(WriteUse { table: definition.name.clone(), kind, rows }), ..uses }
}

fn name_of(relation: &TableFactor) -> Result<ObjectName> {
    match relation {
        TableFactor::Table { name, .. } => Ok(name.clone()),
        other => {
            Err(Error::invalid(SqlState::InvalidParameterValue, format!("'{other}' is no table that can be written")))
        }
    }
}

fn definition(context: &StatementContext, name: &ObjectName) -> Result<std::sync::Arc<TableDefinition>> {
    Ok(std::sync::Arc::clone(&context.table(&object_name_to_table_reference(name.clone(), true)?)?.table.definition))
}
