//! Columns whose values are generated: INSERT and UPDATE may give them DEFAULT alone, and the values of an identity column that is
//! GENERATED ALWAYS where the statement says OVERRIDING SYSTEM VALUE.

use crate::sql::derived::over;
use crate::sql::writes::Overriding;
use crate::statements::dml::values::is_default;
use crate::{Error, Result};
use datafusion::sql::sqlparser::ast::{Expr, Query, SelectItem, SetExpr};
use gingham_storage::{ColumnDefinition, Generation, SqlState, TableDefinition};

/// Whether no value may be given to a column.
fn is_refused(column: &ColumnDefinition, overriding: Option<Overriding>) -> bool {
    match column.generation {
        Some(Generation::Stored(_)) => true,
        Some(Generation::Identity { always, .. }) => match overriding {
            None => always,
            Some(Overriding::System) => false,
            Some(Overriding::User) => true,
        },
        None => false,
    }
}

/// The columns that INSERT fills of those that it names, or of all, without those that its rows give DEFAULT alone and that are generated.
/// These are taken out of its rows of VALUES too.
pub(crate) fn filled(
    definition: &TableDefinition,
    listed: Option<Vec<String>>,
    source: Option<&mut Query>,
    overriding: Option<Overriding>,
) -> Result<Option<Vec<String>>> {
    if !definition.columns.iter().any(|column| is_refused(column, overriding)) {
        return Ok(listed);
    }
    let Some(source) = source else { return Ok(listed) };
    let all = || definition.columns.iter().map(|column| column.name.clone()).collect();
    let mut names: Vec<String> = listed.clone().unwrap_or_else(all);
    let given_by_list = width_of(&source.body);
    let mut values = match source.body.as_mut() {
        SetExpr::Values(values) if source.with.is_none() => Some(values),
        _ => None,
    };
    if listed.is_none() {
        // What is not given at the end has its default.
        let given = match &values {
            Some(values) => values.rows.first().map(|row| row.content.len()),
            None => given_by_list,
        };
        names.truncate(given.unwrap_or(names.len()));
    }
    let (mut at, mut left_out) = (0, Vec::new());
    while let Some(name) = names.get(at) {
        let Some(column) = definition.column(name).filter(|column| is_refused(column, overriding)) else {
            at += 1;
            continue;
        };
        let user =
            overriding == Some(Overriding::User) && matches!(column.generation, Some(Generation::Identity { .. }));
        match &mut values {
            Some(values) => {
                for row in &mut values.rows {
                    let value = row.content.get(at);
                    if value.is_some_and(|value| !is_default(value)) && !user {
                        return Err(refused(column, "insert a value into"));
                    }
                    if at < row.content.len() {
                        row.content.remove(at);
                    }
                }
            }
            None if user => left_out.push(at + left_out.len()),
            None => return Err(refused(column, "insert a value into")),
        }
        names.remove(at);
    }
    if !left_out.is_empty() {
        leave_out(source, names.len() + left_out.len(), &left_out)?;
    }
    Ok(Some(names))
}

/// Leaves columns out of what a query of so many columns gives.
fn leave_out(source: &mut Query, width: usize, left_out: &[usize]) -> Result<()> {
    let name = |at: usize| format!("\"given{at}\"");
    let kept: Vec<String> = (0..width).filter(|at| !left_out.contains(at)).map(name).collect();
    let all: Vec<String> = (0..width).map(name).collect();
    *source = over(&kept, &all, source.clone())?;
    Ok(())
}

/// The number of columns that a query gives, where its list tells.
fn width_of(body: &SetExpr) -> Option<usize> {
    match body {
        SetExpr::Select(select) => {
            let is_one =
                |item: &SelectItem| matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. });
            select.projection.iter().all(is_one).then_some(select.projection.len())
        }
        SetExpr::Query(query) => width_of(&query.body),
        SetExpr::SetOperation { left, .. } => width_of(left),
        _ => None,
    }
}

/// Whether a column numbers itself.
pub(crate) fn is_identity(definition: &TableDefinition, name: &str) -> bool {
    let column = definition.column(name);
    column.is_some_and(|column| matches!(column.generation, Some(Generation::Identity { .. })))
}

/// Refuses values, other than DEFAULT, for generated columns that a statement names.
pub(crate) fn refuse_assigned<'v>(
    definition: &TableDefinition,
    values: impl Iterator<Item = (&'v String, &'v Expr)>,
    overriding: Option<Overriding>,
) -> Result<()> {
    let mut given = values.filter(|(_, value)| !is_default(value)).filter_map(|(name, _)| definition.column(name));
    match given.find(|column| is_refused(column, overriding)) {
        Some(column) => Err(refused(column, "give a value to")),
        None => Ok(()),
    }
}

fn refused(column: &ColumnDefinition, what: &str) -> Error {
    let (why, instead) = match column.generation {
        Some(Generation::Stored(_)) => ("it is a generated column", "; leave it out, or give it DEFAULT"),
        _ => (
            "it is an identity column GENERATED ALWAYS",
            "; leave it out, give it DEFAULT, or INSERT with OVERRIDING SYSTEM VALUE",
        ),
    };
    Error::invalid(SqlState::GeneratedAlways, format!("can't {what} column '{}': {why}{instead}", column.name))
}

/// The columns of a table that a load fills which names none.
pub(crate) fn loaded(definition: &TableDefinition) -> Vec<String> {
    let own = definition.columns.iter().filter(|column| !matches!(column.generation, Some(Generation::Stored(_))));
    own.map(|column| column.name.clone()).collect()
}

/// What CREATE TABLE says of how a column is generated; `sequence` are the options of an identity column.
pub(crate) fn clause(column: &ColumnDefinition, sequence: &str) -> Option<String> {
    Some(match column.generation.as_ref()? {
        Generation::Stored(text) => format!("GENERATED ALWAYS AS ({text}) STORED"),
        Generation::Identity { always, .. } => {
            let how = if *always { "ALWAYS" } else { "BY DEFAULT" };
            let options = if sequence.is_empty() { String::new() } else { format!(" ({sequence})") };
            format!("GENERATED {how} AS IDENTITY{options}")
        }
    })
}
