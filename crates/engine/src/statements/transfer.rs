//! Running COPY: records of files into a table, and of a query into a file.

use super::copy::CopyFrom;
use super::ingest::Ingest;
use super::{external, fold, insert, pipeline, writable};
use crate::load::{FileFormat, LoadOptions, load_files};
use crate::session::{Outcome, StatementContext, Target, blocking, did_you_mean};
use crate::{Error, Result};
use arrow::array::AsArray;
use arrow::datatypes::UInt64Type;
use datafusion::common::{Column, ParamValues};
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::{Expr, LogicalPlanBuilder};
use datafusion::sql::parser::{CopyToSource, CopyToStatement, Statement as DataFusionStatement};
use futures::TryStreamExt;
use std::path::PathBuf;

/// Formats that COPY reads and writes.
const FORMATS: &str = "csv, tbl, parquet, arrow and json";
/// Options of COPY FROM.
const READ_OPTIONS: &[&str] = &["format", "header", "delimiter", "null", "date_format", "encoding", "skip_bad"];

/// Runs COPY … FROM: all records, or none.
pub(super) async fn from(context: &StatementContext, copy: CopyFrom) -> Result<Outcome> {
    let target = writable(context, &copy.table, "COPY")?;
    let definition = &target.table.definition;
    let listed: Vec<String> = copy.columns.iter().map(fold).collect();
    insert::check_columns(definition, &listed)?;
    let listed = (!listed.is_empty()).then_some(listed);
    let (options, json) = read_options(&copy)?;
    if json {
        return from_json(context, &target, &copy.file, listed).await;
    }
    let name = &definition.name;
    let quoted = |part: &str| format!("\"{}\"", part.replace('"', "\"\""));
    let table = format!("{}.{}", quoted(&name.schema), quoted(&name.table));
    let options = LoadOptions { table, ..options };
    let own = context.clone();
    let report =
        blocking(move || load_files(&own, &[PathBuf::from(copy.file)], &options, listed.as_deref(), &())).await?;
    Ok(Outcome::Affected(report.rows))
}

/// Options as a load takes them, and whether the file is JSON.
fn read_options(copy: &CopyFrom) -> Result<(LoadOptions, bool)> {
    let mut options = LoadOptions::default();
    let ending = copy.file.to_ascii_lowercase();
    let mut json = ending.ends_with(".json") || ending.ends_with(".ndjson");
    for (name, value) in &copy.options {
        let wrong =
            |expected: &str| Error::InvalidInput(format!("COPY FROM: option '{name}' is {expected}, not '{value}'"));
        match name.strip_prefix("format.").unwrap_or(name) {
            "format" => {
                json = false;
                match value.to_ascii_lowercase().as_str() {
                    "csv" => options.format = Some(FileFormat::Csv),
                    "tbl" => options.format = Some(FileFormat::Tbl),
                    "parquet" => options.format = Some(FileFormat::Parquet),
                    "arrow" => options.format = Some(FileFormat::Arrow),
                    "json" | "ndjson" => json = true,
                    _ => return Err(wrong(FORMATS)),
                }
            }
            "header" | "has_header" => {
                options.header = Some(match value.to_ascii_lowercase().as_str() {
                    "true" | "on" | "1" | "yes" => true,
                    "false" | "off" | "0" | "no" => false,
                    _ => return Err(wrong("true or false")),
                });
            }
            "delimiter" | "delim" | "sep" => {
                let bytes = if value == "\\t" { b"\t" } else { value.as_bytes() };
                options.delimiter = match bytes {
                    [byte] => Some(*byte),
                    _ => return Err(wrong("one character")),
                };
            }
            "null" | "nullstr" | "null_value" => options.null = Some(value.clone()),
            "date_format" | "dateformat" => options.date_format = Some(value.clone()),
            "encoding" => options.encoding = Some(value.clone()),
            "skip_bad" => options.skip_bad = value.parse().map_err(|_| wrong("a number of lines"))?,
            "quote" | "escape" if value == "\"" => {}
            "quote" | "escape" => return Err(wrong("a double quote")),
            _ => {
                return Err(Error::InvalidInput(format!(
                    "COPY FROM has no option '{name}' (the options are {}){}",
                    READ_OPTIONS.join(", "),
                    did_you_mean(name, READ_OPTIONS.iter().copied())
                )));
            }
        }
    }
    Ok((options, json))
}

/// JSON, one object a line, by DataFusion's reader. Columns are matched by name; a field that an object lacks is NULL.
async fn from_json(
    context: &StatementContext,
    target: &Target,
    path: &str,
    listed: Option<Vec<String>>,
) -> Result<Outcome> {
    let definition = &target.table.definition;
    let source = external::json(path, &context.state).await?;
    let fields: Vec<String> = source.schema().fields().iter().map(|field| field.name().clone()).collect();
    let given = match listed {
        Some(listed) => listed,
        None => {
            let existing = || definition.columns.iter().map(|column| column.name.as_str());
            if let Some(field) = fields.iter().find(|field| definition.column(field).is_none()) {
                return Err(Error::InvalidInput(format!(
                    "{path} has a field '{field}', which table '{}' does not have{}",
                    definition.name,
                    did_you_mean(field, existing())
                )));
            }
            fields.clone()
        }
    };
    if let Some(column) = given.iter().find(|column| !fields.contains(column)) {
        return Err(Error::InvalidInput(format!("no object in {path} has a field '{column}'")));
    }
    let columns: Vec<Expr> = given.iter().map(Column::from_name).map(Expr::Column).collect();
    let plan = LogicalPlanBuilder::scan("file", provider_as_source(source), None)?.project(columns)?.build()?;
    let ingest = Ingest::new(&context.state, &target.store, &target.table, Some(&given))?;
    ingest.converter().accept(plan.schema().as_arrow())?;
    let plan = pipeline::sorted(plan, definition, Some(&given))?;
    let ingest = pipeline::fill(context, context.physical_plan(&plan).await?, ingest).await?;
    let cancel = context.cancel.clone();
    Ok(Outcome::Affected(blocking(move || ingest.finish(&cancel)).await?))
}

/// Runs COPY … TO: a file of that name is replaced. Gives the number of records written.
pub(super) async fn to(
    context: &StatementContext,
    statement: CopyToStatement,
    parameters: Option<ParamValues>,
) -> Result<Outcome> {
    if let CopyToSource::Query(query) = &statement.source {
        super::query::refuse_ignored(query)?;
    }
    let plan = context.plan(DataFusionStatement::CopyTo(statement), parameters).await?;
    let batches: Vec<_> = context.rows(&plan).await?.try_collect().await?;
    let mut records = 0;
    for batch in &batches {
        if let Some(counts) = batch.columns().first().and_then(|counts| counts.as_primitive_opt::<UInt64Type>()) {
            records += counts.values().iter().sum::<u64>();
        }
    }
    Ok(Outcome::Affected(records))
}
