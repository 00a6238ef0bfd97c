//! DESCRIBE, SHOW TABLES, SHOW COLUMNS: types as SQL writes them, from the definitions, so that a view that no longer
//! works does not hide the rest. EXPLAIN is DataFusion's, with what is noted of pipelines.

use crate::explain;
use crate::session::system_tables::ColumnRow;
use crate::session::{Outcome, StatementContext};
use crate::sql::ignored as query;
use crate::sql::names::unsupported;
use crate::statements::{Statement, is_view, parse_single, table_reference};
use crate::type_name::type_name;
use crate::{Error, Result};
use arrow::array::{ArrayRef, RecordBatch, StringArray, StringViewArray};
use arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::catalog::SchemaProvider;
use datafusion::common::format::ExplainFormat;
use datafusion::common::{ParamValues, TableReference};
use datafusion::logical_expr::{Analyze, Explain, LogicalPlan, PlanType, ToStringifiedPlan};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::sql::parser::{ExplainStatement, Statement as DataFusionStatement};
use datafusion::sql::sqlparser::ast::{
    Query, ShowStatementIn, ShowStatementInParentType, ShowStatementOptions, Statement as Sql,
};
use futures::StreamExt;
use gingham_storage::snapshot::TableSnapshot;
use gingham_storage::{DEFAULT_SCHEMA, SqlState};
use std::sync::Arc;

/// Runs DESCRIBE t and DESCRIBE SELECT ….
pub(crate) async fn describe(context: &StatementContext, statement: Sql) -> Result<Outcome> {
    match statement {
        Sql::ExplainTable { hive_format: None, table_name, .. } => {
            describe_table(context, &table_reference(&table_name)?).await
        }
        Sql::Explain { statement: inner, .. } => {
            let Sql::Query(mut query) = *inner else {
                return Err(Error::Unsupported("DESCRIBE takes a table or a query".to_owned()));
            };
            query::refuse_ignored(&mut query)?;
            let bound = context.bind(*query, None).await?;
            columns_of_schema(&bound.names.rename(bound.plan.schema().as_arrow()))
        }
        other => Err(unsupported(other.to_string())),
    }
}

/// Runs SHOW COLUMNS FROM t.
pub(crate) async fn show_columns(context: &StatementContext, options: &ShowStatementOptions) -> Result<Outcome> {
    let ShowStatementOptions { show_in, starts_with: None, limit: None, limit_from: None, filter_position: None } =
        options
    else {
        return Err(unsupported(format!("SHOW COLUMNS{options}")));
    };
    match show_in {
        Some(ShowStatementIn {
            clause: _,
            parent_type: None | Some(ShowStatementInParentType::Table | ShowStatementInParentType::View),
            parent_name: Some(name),
        }) => describe_table(context, &table_reference(name)?).await,
        _ => Err(Error::invalid(SqlState::SyntaxError, "SHOW COLUMNS names a table: SHOW COLUMNS FROM t")),
    }
}

/// Runs SHOW TABLES: tables and views, the session's own among them.
pub(crate) fn show_tables(context: &StatementContext) -> Result<Outcome> {
    let mut found: Vec<[Option<String>; 3]> = Vec::new();
    let snapshots = [(Some(&context.snapshot), ""), (context.temp.as_ref(), "LOCAL TEMPORARY ")];
    for (snapshot, kind) in snapshots.into_iter().filter_map(|(snapshot, kind)| Some((snapshot?, kind))) {
        let names = snapshot.definitions().map(|(name, _)| name);
        let tables = names.map(|name| (name, if kind.is_empty() { "BASE TABLE" } else { "TABLE" }));
        let views = snapshot.views.keys().map(|name| (name, "VIEW"));
        found.extend(
            tables.chain(views).map(|(name, what)| {
                [Some(name.schema.clone()), Some(name.table.clone()), Some(format!("{kind}{what}"))]
            }),
        );
    }
    found.extend(
        context
            .session
            .externals
            .table_names()
            .into_iter()
            .map(|name| [Some(DEFAULT_SCHEMA.to_owned()), Some(name), Some("EXTERNAL TABLE".to_owned())]),
    );
    found.sort();
    rows(["table_schema", "table_name", "table_type"], &found)
}

async fn describe_table(context: &StatementContext, reference: &TableReference) -> Result<Outcome> {
    let name = context.name(reference)?;
    if !context.is_given(reference)
        && let Some(target) = context.find(reference)?
        && !is_view(context, &name)
    {
        return columns_of_table(&target.table);
    }
    let schema = context.state.schema_for_ref(reference.clone()).map_err(|_| context.unknown_table(&name))?;
    match schema.table(&name.table).await? {
        Some(table) => columns_of_schema(&table.schema()),
        None => Err(context.unknown_table(&name)),
    }
}

const COLUMNS: [&str; 5] = ["column_name", "data_type", "is_nullable", "key", "column_default"];
/// Columns of DESCRIBE for a table: those of a query, and how each column is stored.
const STORED_COLUMNS: [&str; 10] = [
    "column_name",
    "data_type",
    "is_nullable",
    "key",
    "column_default",
    "layout",
    "packing",
    "encoding",
    "code_bits",
    "bytes",
];

/// The columns of a table, and how they are stored as far as there are records.
fn columns_of_table(table: &TableSnapshot) -> Result<Outcome> {
    let definition = &table.definition;
    let described = definition.columns.iter().zip(ColumnRow::all(table)).map(|(column, stored)| {
        let mut keys = definition.keys.iter().filter(|key| key.columns.contains(&column.id));
        let primary = keys.clone().any(|key| key.primary);
        let key = if primary { Some("PRIMARY KEY") } else { keys.next().map(|_| "UNIQUE") };
        [
            Some(column.name.clone()),
            Some(column.logical_type.to_string()),
            Some(yes_or_no(column.nullable)),
            key.map(str::to_owned),
            column.default.clone(),
            stored.layout(),
            stored.packing(),
            stored.encoding(),
            stored.code_bits().map(|bits| bits.to_string()),
            stored.code_bits().and_then(|_| stored.stored_bytes()).map(|bytes| bytes.to_string()),
        ]
    });
    rows(STORED_COLUMNS, &described.collect::<Vec<_>>())
}

fn columns_of_schema(schema: &Schema) -> Result<Outcome> {
    let described = schema.fields().iter().map(|field| {
        let data_type = type_name(field.data_type());
        [Some(field.name().clone()), Some(data_type), Some(yes_or_no(field.is_nullable())), None, None]
    });
    rows(COLUMNS, &described.collect::<Vec<_>>())
}

fn yes_or_no(nullable: bool) -> String {
    if nullable { "YES" } else { "NO" }.to_owned()
}

/// Rows of text as a result.
pub(crate) fn rows<const N: usize>(names: [&str; N], values: &[[Option<String>; N]]) -> Result<Outcome> {
    let column = |number: usize| -> ArrayRef {
        Arc::new(values.iter().map(|row| row[number].as_deref()).collect::<StringViewArray>())
    };
    let columns = names.iter().enumerate().map(|(number, name)| (*name, column(number), true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns)?;
    let (schema, batches) = (batch.schema(), futures::stream::iter([Ok(batch)]));
    Ok(Outcome::Rows(Box::pin(RecordBatchStreamAdapter::new(schema, batches))))
}

/// Runs EXPLAIN and EXPLAIN ANALYZE of a query.
pub(crate) async fn run_explain(
    context: &StatementContext,
    mut statement: ExplainStatement,
    parameters: Option<ParamValues>,
) -> Result<Outcome> {
    match statement.statement.as_mut() {
        DataFusionStatement::Statement(inner) => only_queries(inner)?,
        DataFusionStatement::Explain(_) => {
            return Err(Error::invalid(SqlState::SyntaxError, "EXPLAIN of EXPLAIN makes no sense"));
        }
        other => return Err(refusal(&other.to_string())),
    }
    let (context, notes) = context.noting();
    if statement.options.format == Some(ExplainFormat::Tree) {
        return as_tree(&context, statement, parameters).await;
    }
    let plan = explained(&context, statement, parameters).await?;
    let rows = context.rows(plan).await?;
    let schema = rows.schema();
    let columns = schema.fields().iter().map(|field| (field.name().as_str(), field.data_type())).collect::<Vec<_>>();
    if columns != [("plan_type", &DataType::Utf8), ("plan", &DataType::Utf8)] {
        return Ok(Outcome::Rows(rows));
    }
    // Some are known only when the query has run.
    let of_notes = Arc::clone(&schema);
    let noted = futures::stream::once(async move { noted(of_notes, &notes.take()).transpose() });
    let rows = rows.chain(noted.filter_map(futures::future::ready));
    Ok(Outcome::Rows(Box::pin(RecordBatchStreamAdapter::new(schema, rows))))
}

/// Columns of text that EXPLAIN's tree takes.
const WIDTH: usize = 100;

/// EXPLAIN and EXPLAIN ANALYZE as a tree: a line a row.
async fn as_tree(
    context: &StatementContext,
    statement: ExplainStatement,
    parameters: Option<ParamValues>,
) -> Result<Outcome> {
    let options = &statement.options;
    let tells_more = options.verbose || options.show_statistics.is_some();
    if tells_more || options.analyze_level.is_some() || options.analyze_categories.is_some() {
        return Err(Error::Unsupported(
            "EXPLAIN with FORMAT tree takes ANALYZE alone; FORMAT indent takes VERBOSE and others".to_owned(),
        ));
    }
    let query = query_of(*statement.statement)?;
    let plan = context.physical_plan(context.bind(query, parameters).await?.plan).await?;
    let has_run = statement.options.analyze;
    if has_run {
        let mut rows = context.execute(Arc::clone(&plan))?;
        while let Some(batch) = rows.next().await {
            batch?;
        }
    }
    let left = context.settings().fallbacks.all();
    let lines = explain::lines(&explain::tree(&plan, &left, has_run), WIDTH);
    rows(["plan"], &lines.into_iter().map(|line| [Some(line)]).collect::<Vec<_>>())
}

/// The plan of EXPLAIN: DataFusion's for a query without a table, with the plan of the query that is explained in the place
/// of that.
async fn explained(
    context: &StatementContext,
    mut statement: ExplainStatement,
    parameters: Option<ParamValues>,
) -> Result<LogicalPlan> {
    let plan = Arc::new(context.bind(query_of(*statement.statement)?, parameters).await?.plan);
    let Statement::Sql(one) = parse_single("SELECT 1")? else { return Err(no_query()) };
    statement.statement = one;
    Ok(match context.plan(DataFusionStatement::Explain(statement), None).await? {
        LogicalPlan::Analyze(analyze) => LogicalPlan::Analyze(Analyze { input: plan, ..analyze }),
        LogicalPlan::Explain(explain) => {
            let stringified_plans = vec![plan.to_stringified(PlanType::InitialLogicalPlan)];
            LogicalPlan::Explain(Explain { plan, stringified_plans, ..explain })
        }
        _ => return Err(no_query()),
    })
}

/// The query that EXPLAIN is of.
fn query_of(statement: DataFusionStatement) -> Result<Query> {
    match statement {
        DataFusionStatement::Statement(inner) => match *inner {
            Sql::Query(query) => Ok(*query),
            _ => Err(no_query()),
        },
        _ => Err(no_query()),
    }
}

fn no_query() -> Error {
    Error::Internal("EXPLAIN of no query".into())
}

/// Notes as rows of EXPLAIN; nothing where there are none.
fn noted(schema: SchemaRef, notes: &[(String, String)]) -> datafusion::error::Result<Option<RecordBatch>> {
    if notes.is_empty() {
        return Ok(None);
    }
    let names = StringArray::from_iter_values(notes.iter().map(|(name, _)| name));
    let texts = StringArray::from_iter_values(notes.iter().map(|(_, text)| text));
    Ok(Some(RecordBatch::try_new(schema, vec![Arc::new(names), Arc::new(texts)])?))
}

fn only_queries(statement: &mut Sql) -> Result<()> {
    match statement {
        Sql::Query(query) => query::refuse_ignored(query),
        other => Err(refusal(&other.to_string())),
    }
}

fn refusal(text: &str) -> Error {
    let first: Vec<&str> = text.split_whitespace().take(2).collect();
    Error::Unsupported(format!("EXPLAIN of {} is not supported; it explains queries", first.join(" ")))
}
