//! DESCRIBE, SHOW TABLES, SHOW COLUMNS: types as SQL writes them, from the definitions, so that a view that no longer
//! works does not hide the rest.

use crate::session::system_tables::ColumnRow;
use crate::session::{Outcome, StatementContext};
use crate::sql::ignored as query;
use crate::sql::names::unsupported;
use crate::statements::admin::functions;
use crate::statements::dml::generated;
use crate::statements::{is_view, table_reference};
use crate::type_name::type_name;
use crate::{Error, Result};
use arrow::array::{ArrayRef, RecordBatch, StringViewArray};
use arrow::datatypes::Schema;
use datafusion::catalog::SchemaProvider;
use datafusion::common::TableReference;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::sql::sqlparser::ast::{
    ShowStatementIn, ShowStatementInParentType, ShowStatementOptions, Statement as Sql,
};
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
            columns_of_schema(&bound.columns.rename(bound.plan.schema().as_arrow()))
        }
        other => Err(unsupported(other.to_string())),
    }
}

/// Runs SHOW TABLES, SHOW COLUMNS and SHOW FUNCTIONS.
pub(crate) async fn show(context: &StatementContext, statement: Sql) -> Result<Outcome> {
    let plain = |options: &ShowStatementOptions| options.to_string().trim().is_empty();
    match statement {
        Sql::ShowTables {
            terse: false,
            history: false,
            extended: false,
            full: false,
            external: false,
            show_options,
        } if plain(&show_options) => show_tables(context),
        Sql::ShowColumns { extended: false, full: false, show_options } => show_columns(context, &show_options).await,
        Sql::ShowFunctions { filter } => functions::show(context, filter.as_ref()).await,
        other => Err(unsupported(other.to_string())),
    }
}

/// Runs SHOW COLUMNS FROM t.
async fn show_columns(context: &StatementContext, options: &ShowStatementOptions) -> Result<Outcome> {
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
fn show_tables(context: &StatementContext) -> Result<Outcome> {
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
            column.default.clone().or_else(|| generated::clause(column, "")),
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
