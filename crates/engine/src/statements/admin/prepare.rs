//! PREPARE, EXECUTE and DEALLOCATE: a statement is kept as it was parsed, and planned each time it is executed, so that
//! it sees the tables of that time. Those that came with PREPARE are kept with it.

use crate::casts::{Failing, convert};
use crate::session::{Outcome, PreparedStatement, Session, StatementContext, did_you_mean};
use crate::sql::names::fold;
use crate::sql::names::unsupported;
use crate::sql::parse::Statement;
use crate::sql::{ignored as query, parse};
use crate::statements::dml::values;
use crate::statements::row_locks;
use crate::{Error, Result};
use datafusion::common::{ParamValues, ScalarValue};
use datafusion::sql::parser::Statement as DataFusionStatement;
use datafusion::sql::sqlparser::ast::{ObjectName, Statement as Sql};
use gingham_storage::SqlState;
use std::sync::{Arc, PoisonError};

/// Runs PREPARE.
pub(crate) async fn prepare(context: &StatementContext, statement: Sql) -> Result<Outcome> {
    let Sql::Prepare { name, data_types, mut statement } = statement else {
        return Err(Error::Internal("not PREPARE".into()));
    };
    let name = fold(&name);
    let text = statement.to_string();
    match statement.as_mut() {
        Sql::Query(inner) if query::writes(inner) => {}
        Sql::Query(inner) => {
            let mut planned = inner.clone();
            row_locks::strip_query(&mut planned)?;
            query::refuse_ignored(&mut planned)?;
            context.plan(DataFusionStatement::Statement(Box::new(Sql::Query(planned))), None).await?;
        }
        Sql::Insert(_) | Sql::Update(_) | Sql::Delete(_) | Sql::Merge(_) => {}
        other => {
            let text = other.to_string();
            let kind: Vec<&str> = text.split_whitespace().take(2).collect();
            return Err(unsupported(format!("PREPARE of {}", kind.join(" "))));
        }
    }
    let mut types = Vec::with_capacity(data_types.len());
    for data_type in &data_types {
        // A parameter is cast to its type as any value is.
        let null = parse::query_of(&format!("SELECT CAST(NULL AS {data_type})"))?;
        let bound = context.bind(null, None).await?;
        types.push(bound.plan.schema().field(0).data_type().clone());
    }
    let needed = parse::parameters(&text)?.names.names.len();
    if !types.is_empty() && types.len() != needed {
        return Err(Error::invalid(
            SqlState::SyntaxError,
            format!("PREPARE {name} gives {} types, but the statement has {needed} parameters", types.len()),
        ));
    }
    let mut all = context.session.prepared.lock().unwrap_or_else(PoisonError::into_inner);
    if all.contains_key(&name) {
        return Err(Error::invalid(
            SqlState::DuplicatePreparedStatement,
            format!("prepared statement '{name}' already exists; DEALLOCATE {name} first"),
        ));
    }
    let (tables, statement) = (context.tables.clone(), DataFusionStatement::Statement(statement));
    let statement = Statement::Sql(Box::new(statement));
    all.insert(name, Arc::new(PreparedStatement { statement, parameters: needed, types, tables }));
    Ok(Outcome::Done)
}

/// Runs EXECUTE.
pub(crate) async fn execute(
    context: &StatementContext,
    statement: Sql,
    parameters: Option<ParamValues>,
) -> Result<Outcome> {
    let Sql::Execute {
        name: Some(name),
        parameters: arguments,
        has_parentheses: _,
        immediate: false,
        into,
        using,
        output: false,
        default: false,
    } = statement
    else {
        return Err(unsupported("EXECUTE other than of a prepared statement".into()));
    };
    if !into.is_empty() || !using.is_empty() {
        return Err(unsupported("EXECUTE with INTO or USING".into()));
    }
    let name = plain(&name);
    let name = name.ok_or_else(|| Error::invalid(SqlState::SyntaxError, "EXECUTE names a prepared statement"))?;
    let prepared = find(context, &name)?;
    let needed = prepared.parameters;
    if arguments.len() != needed {
        return Err(Error::invalid(
            SqlState::SyntaxError,
            format!(
                "prepared statement '{name}' has {needed} parameters, but EXECUTE gives {} values",
                arguments.len()
            ),
        ));
    }
    let mut given = Vec::with_capacity(arguments.len());
    for (position, value) in values::evaluate(context, &arguments, parameters).await?.into_iter().enumerate() {
        given.push(match prepared.types.get(position) {
            Some(data_type) => cast(&name, position, &value, data_type)?,
            None => value,
        });
    }
    let context = context.with_tables(prepared.tables.clone());
    Box::pin(crate::statements::run(&context, prepared.statement.clone(), Some(ParamValues::from(given)))).await
}

fn plain(name: &ObjectName) -> Option<String> {
    match name.0.as_slice() {
        [part] => part.as_ident().map(fold),
        _ => None,
    }
}

/// The prepared statement that an EXECUTE names, when there is one.
pub(crate) fn named(session: &Session, name: Option<&ObjectName>) -> Option<Arc<PreparedStatement>> {
    let all = session.prepared.lock().unwrap_or_else(PoisonError::into_inner);
    all.get(&plain(name?)?).cloned()
}

/// The prepared statement that a statement executes, when it is EXECUTE.
pub(crate) fn executed(session: &Session, statement: &Statement) -> Option<Arc<PreparedStatement>> {
    match statement.tree()? {
        Sql::Execute { name, .. } => named(session, name.as_ref()),
        _ => None,
    }
}

fn cast(
    name: &str,
    position: usize,
    value: &ScalarValue,
    data_type: &arrow::datatypes::DataType,
) -> Result<ScalarValue> {
    // As a column of the type takes it: numbers are rounded.
    let value = value.to_array().and_then(|value| convert(&value, data_type, Failing::Error));
    value.and_then(|value| ScalarValue::try_from_array(&value, 0)).map_err(|error| {
        Error::from(error).about(format_args!("parameter ${} of prepared statement '{name}'", position + 1))
    })
}

fn find(context: &StatementContext, name: &str) -> Result<Arc<PreparedStatement>> {
    let all = context.session.prepared.lock().unwrap_or_else(PoisonError::into_inner);
    all.get(name).cloned().ok_or_else(|| unknown(name, all.keys().map(String::as_str)))
}

fn unknown<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Error {
    Error::invalid(
        SqlState::UndefinedPreparedStatement,
        format!("prepared statement '{name}' does not exist{}", did_you_mean(name, names)),
    )
}

/// Runs DEALLOCATE.
pub(crate) fn deallocate(context: &StatementContext, statement: &Sql) -> Result<Outcome> {
    let Sql::Deallocate { name, prepare: _ } = statement else {
        return Err(Error::Internal("not DEALLOCATE".into()));
    };
    let mut all = context.session.prepared.lock().unwrap_or_else(PoisonError::into_inner);
    if name.quote_style.is_none() && name.value.eq_ignore_ascii_case("all") {
        all.clear();
        return Ok(Outcome::Done);
    }
    let name = fold(name);
    match all.remove(&name) {
        Some(_) => Ok(Outcome::Done),
        None => Err(unknown(&name, all.keys().map(String::as_str))),
    }
}
