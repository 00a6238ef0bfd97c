//! Running COPY: records of files into a table, and of a query into a file.

use crate::bind::BoundQuery;
use crate::files::{Compression, FileFormat, find};
use crate::load::{LoadOptions, load_files};
use crate::session::{Outcome, Severity, StatementContext, blocking, did_you_mean};
use crate::sql::copy::{CopyFrom, CopyPlace};
use crate::sql::names::column_name;
use crate::sql::quoted::quoted;
use crate::statements::dml::columns::check_columns;
use crate::statements::transfer::columnar;
use crate::statements::transfer::destination::CopyDestination;
use crate::statements::transfer::encode::{Encoder, WriteOptions};
use crate::statements::transfer::folders::Folders;
use crate::statements::transfer::write::{CopyFiles, write};
use crate::statements::{all_of, query_of, writable};
use crate::{Error, Result};
use arrow::array::AsArray;
use arrow::datatypes::{DataType, Field, TimeUnit, UInt64Type};
use datafusion::common::{Column, ParamValues, TableReference};
use datafusion::logical_expr::dml::CopyTo;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, cast};
use datafusion::sql::parser::{CopyToSource, CopyToStatement, Statement as DataFusionStatement};
use futures::TryStreamExt;
use gingham_storage::SqlState;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Formats that COPY reads and writes.
const FORMATS: &str = "csv, tbl, parquet, arrow and json";
/// The error of a COPY with a stream where there is none.
pub(crate) fn without_stream(what: &str, method: &str) -> Error {
    Error::Unsupported(format!(
        "{what} is for a program that has the stream (in Rust, Connection::{method}); name a file: COPY t FROM 'file'"
    ))
}

/// Fails where the machine's files are not for the session's user. Those of a stream are the program's.
fn require_files(context: &StatementContext, what: &str) -> Result<()> {
    if context.owns_files { Ok(()) } else { context.session.require_admin(what) }
}

/// Runs COPY … FROM: all records, or none.
pub(crate) async fn from(context: &StatementContext, copy: CopyFrom) -> Result<Outcome> {
    let CopyPlace::File(file) = &copy.from else { return Err(without_stream("COPY … FROM STDIN", "copy_in")) };
    require_files(context, "COPY FROM a file")?;
    let file = PathBuf::from(file);
    let target = writable(context, &copy.table, "COPY")?;
    let definition = &target.table.definition;
    let listed = copy.columns.iter().map(|ident| column_name(definition, ident)).collect::<Result<Vec<String>>>()?;
    check_columns(definition, &listed)?;
    let listed = (!listed.is_empty()).then_some(listed);
    let options = read_options(context, &copy)?;
    let name = &definition.name;
    let temporary = !Arc::ptr_eq(&target.store, &context.session.engine.store);
    let schema = if temporary { String::new() } else { format!("{}.", quoted(&name.schema)) };
    let table = schema + &quoted(&name.table);
    let options = LoadOptions { table, ..options };
    let (own, store) = (context.clone(), Arc::clone(&target.store));
    let report = context.in_line(&store, move || load_files(&own, &[file], &options, listed.as_deref())).await?;
    context.session.rejects.passed_over(report.skipped_records);
    Ok(Outcome::Affected(report.rows))
}

/// Whether an option that is on or off is on.
fn is_on(value: &str) -> Result<bool> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        other => Err(Error::invalid(
            SqlState::InvalidParameterValue,
            format!("COPY FROM: freeze is on or off, not '{other}'"),
        )),
    }
}

/// Options as a load takes them.
fn read_options(context: &StatementContext, copy: &CopyFrom) -> Result<LoadOptions> {
    let mut options = LoadOptions::default();
    for option in &copy.options {
        let (name, value) = (&option.name, option.value.text());
        if name == "freeze" {
            if is_on(&value)? {
                let text = "COPY … (FREEZE) has no effect: records are as they are once they are committed";
                context.say(Severity::Notice, SqlState::SuccessfulCompletion, text);
            }
            continue;
        }
        let name = name.strip_prefix("format.").unwrap_or(name);
        if name == "skip_bad" {
            options.skip_bad = value.parse().map_err(|_| {
                let text = format!("COPY FROM: option '{name}' is a number of lines, not '{value}'");
                Error::invalid(SqlState::InvalidParameterValue, text)
            })?;
            continue;
        }
        options.read.set(name, &value.as_str().into()).map_err(|error| error.about("COPY FROM"))?;
    }
    Ok(options)
}

/// Runs COPY … TO: a file of that name is replaced. Gives the number of records written.
pub(crate) async fn to(
    context: &StatementContext,
    mut statement: CopyToStatement,
    parameters: Option<ParamValues>,
) -> Result<Outcome> {
    if let CopyToSource::Query(query) = &mut statement.source {
        crate::sql::ignored::refuse_ignored(query)?;
    }
    require_files(context, "COPY TO a file")?;
    crate::session::external_files::local(&statement.target)?;
    require_format(&statement)?;
    let given = std::mem::take(&mut statement.options).into_iter();
    let given: Vec<(String, String)> =
        given.map(|(name, value)| (name, value.into_string().unwrap_or_default())).collect();
    let format = format_of(&statement);
    let destination = Arc::new(CopyDestination::of(&statement.target, !statement.partitioned_by.is_empty())?);
    let is_text = matches!(format, Some(FileFormat::Csv | FileFormat::Json));
    let records = match format.filter(|_| is_text || destination.is_folder()) {
        Some(format) => written(context, statement, parameters, &destination, (format, &given)).await?,
        None => {
            statement.options = columnar::translated(&given, format == Some(FileFormat::Parquet))?;
            // DataFusion does not know each ending.
            let name = if format == Some(FileFormat::Parquet) { "PARQUET" } else { "ARROW" };
            statement.stored_as = statement.stored_as.or_else(|| format.is_some().then(|| name.to_owned()));
            statement.target = destination.url()?;
            let plan = copied(context, statement, parameters).await?;
            let rows = async { Ok(context.rows(plan).await?.try_collect::<Vec<_>>().await?) };
            let batches = rows.await.map_err(|error| destination.told(error))?;
            let counts = batches.iter().filter_map(|batch| batch.columns().first()?.as_primitive_opt::<UInt64Type>());
            counts.map(|counts| counts.values().iter().sum::<u64>()).sum()
        }
    };
    blocking(move || destination.finish()).await?;
    Ok(Outcome::Affected(records))
}

/// Writes text, or folders of any format. Gives the number of records.
async fn written(
    context: &StatementContext,
    mut statement: CopyToStatement,
    parameters: Option<ParamValues>,
    destination: &Arc<CopyDestination>,
    (format, given): (FileFormat, &[(String, String)]),
) -> Result<u64> {
    let by = std::mem::take(&mut statement.partitioned_by);
    let plan = in_format(query_to_copy(context, &mut statement, parameters).await?.with_names()?, format)?;
    let schema = plan.schema().as_arrow();
    let by = columns_by(&by, schema.fields().iter().map(|field| field.name()))?;
    let text = match format {
        FileFormat::Csv | FileFormat::Tbl | FileFormat::Json => {
            Some(WriteOptions::new(&statement.target, format, given)?)
        }
        FileFormat::Parquet | FileFormat::Arrow => None,
    };
    let compression = text.as_ref().map_or(Compression::None, |text| text.compression);
    let place = destination.written();
    let (files, schema) = match destination.is_folder() {
        true => {
            let folders = Folders::new(place, schema, &by, (format, compression))?;
            let own = folders.schema(schema)?;
            (CopyFiles::Folders(folders), own)
        }
        false => (CopyFiles::File(place.to_owned()), schema.clone()),
    };
    let encoder = match (format, text) {
        (_, Some(text)) => Encoder::new(format, &text, &schema)?,
        (FileFormat::Parquet, None) => {
            let defaults = context.state.default_table_options().parquet;
            Encoder::Parquet(Arc::new(schema), Box::new(columnar::parquet_properties(given, defaults)?))
        }
        (_, None) => {
            columnar::translated(given, false)?;
            Encoder::Arrow(Arc::new(schema))
        }
    };
    let rows = context.rows(plan).await.map_err(|error| destination.told(error))?;
    let written = write(context, rows, encoder, compression, (destination, files)).await;
    written.map_err(|error| destination.told(error))
}

/// What is written: as the statement says, or as the file's name does.
fn format_of(statement: &CopyToStatement) -> Option<FileFormat> {
    match statement.stored_as.as_deref().map(str::to_ascii_lowercase).as_deref() {
        Some("csv" | "tsv" | "text") => Some(FileFormat::Csv),
        Some("json" | "ndjson" | "jsonl") => Some(FileFormat::Json),
        Some("parquet") => Some(FileFormat::Parquet),
        Some("arrow") => Some(FileFormat::Arrow),
        Some(_) => None,
        None => find::of_name(Path::new(&statement.target)),
    }
}

/// The file's format is said, or its name tells it.
fn require_format(statement: &CopyToStatement) -> Result<()> {
    let ending = Path::new(&statement.target).extension();
    if statement.stored_as.is_some() || ending.is_some() {
        return Ok(());
    }
    Err(Error::invalid(
        SqlState::InvalidParameterValue,
        format!(
            "COPY TO '{}': the name has no ending that tells the format; say it, as in (FORMAT csv); the formats are {FORMATS}",
            statement.target
        ),
    ))
}

/// The query whose rows are copied; the statement has one without a table in its place.
async fn query_to_copy(
    context: &StatementContext,
    statement: &mut CopyToStatement,
    parameters: Option<ParamValues>,
) -> Result<BoundQuery> {
    let one = CopyToSource::Query(Box::new(query_of("SELECT 1")?));
    let query = match std::mem::replace(&mut statement.source, one) {
        CopyToSource::Query(query) => *query,
        CopyToSource::Relation(name) => all_of(&name)?,
    };
    let bound = context.bind(query, parameters).await?;
    let names = &bound.columns.names;
    if let Some(twice) = (1..names.len()).find(|at| names[..*at].contains(&names[*at])) {
        return Err(Error::invalid(
            SqlState::DuplicateColumn,
            format!("column '{}' appears twice in COPY; give one another name with AS", names[twice]),
        ));
    }
    Ok(bound)
}

/// The plan of COPY … TO: DataFusion's for a query without a table, with the plan of the query that is copied in the place of
/// that.
async fn copied(
    context: &StatementContext,
    mut statement: CopyToStatement,
    parameters: Option<ParamValues>,
) -> Result<LogicalPlan> {
    let bound = query_to_copy(context, &mut statement, parameters).await?.with_names()?;
    match context.plan(DataFusionStatement::CopyTo(statement), None).await? {
        LogicalPlan::Copy(copy) => {
            let format = if copy.file_type.get_ext() == "parquet" { FileFormat::Parquet } else { FileFormat::Arrow };
            Ok(LogicalPlan::Copy(CopyTo { input: Arc::new(in_format(bound, format)?), ..copy }))
        }
        _ => Err(Error::Internal("COPY was planned as something else".into())),
    }
}

/// The columns of PARTITIONED BY, whose names may differ from those of the query in the case of letters alone.
fn columns_by<'a>(by: &[String], names: impl Iterator<Item = &'a String> + Clone) -> Result<Vec<String>> {
    let found = |wanted: &String| {
        let same = names.clone().filter(|name| name.eq_ignore_ascii_case(wanted));
        let exact = names.clone().find(|name| *name == wanted);
        let one = if same.clone().count() == 1 { same.clone().next() } else { None };
        exact.or(one).cloned().ok_or_else(|| {
            let suggestion = did_you_mean(wanted, names.clone().map(String::as_str));
            let text = format!("PARTITIONED BY: column '{wanted}' does not exist{suggestion}");
            Error::invalid(SqlState::UndefinedColumn, text)
        })
    };
    by.iter().map(found).collect()
}

/// What is copied, with columns of the types that the files' format has.
fn in_format(plan: LogicalPlan, format: FileFormat) -> Result<LogicalPlan> {
    let schema = Arc::clone(plan.schema());
    if format != FileFormat::Parquet {
        return Ok(plan);
    }
    if let Some(field) = schema.fields().iter().find(|field| matches!(field.data_type(), DataType::Interval(_))) {
        return Err(Error::Unsupported(format!(
            "column '{}' is an INTERVAL, which a Parquet file can't hold; write it as CAST(… AS VARCHAR)",
            field.name()
        )));
    }
    if schema.fields().iter().all(|field| in_parquet(field.data_type()).is_none()) {
        return Ok(plan);
    }
    let column = |(qualifier, field): (Option<&TableReference>, &Arc<Field>)| {
        let column = Expr::Column(Column::from((qualifier, field)));
        match in_parquet(field.data_type()) {
            Some(other) => cast(column, other).alias_qualified(qualifier.cloned(), field.name()),
            None => column,
        }
    };
    let columns: Vec<Expr> = schema.iter().map(column).collect();
    Ok(LogicalPlanBuilder::from(plan).project(columns)?.build()?)
}

/// Parquet has no whole seconds: for everybody but Arrow they would be bare integers.
fn in_parquet(data_type: &DataType) -> Option<DataType> {
    match data_type {
        DataType::Timestamp(TimeUnit::Second, zone) => Some(DataType::Timestamp(TimeUnit::Millisecond, zone.clone())),
        DataType::Time32(TimeUnit::Second) => Some(DataType::Time32(TimeUnit::Millisecond)),
        DataType::Date64 => Some(DataType::Date32),
        _ => None,
    }
}
