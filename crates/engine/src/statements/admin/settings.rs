//! SET, RESET and SHOW.

use crate::session::{Outcome, StatementContext, did_you_mean};
use crate::settings::current_name;
use crate::sql::names::unsupported;
use crate::statements::admin::{describe, functions};
use crate::{Error, Result};
use datafusion::logical_expr::{LogicalPlan, Statement as PlanStatement};
use datafusion::sql::parser::Statement as DataFusionStatement;
use datafusion::sql::sqlparser::ast::{Expr, Ident, Set, ShowStatementOptions, Statement as Sql, Value};
use gingham_storage::SqlState;

/// Runs SET.
pub(crate) async fn set(context: &StatementContext, statement: Set) -> Result<Outcome> {
    match statement {
        Set::SingleAssignment { scope: None, hivevar: false, .. } => {
            let statement = DataFusionStatement::Statement(Box::new(Sql::Set(statement)));
            variable(context, statement).await
        }
        Set::SetTimeZone { local: false, value } => {
            let zone = match value {
                Expr::Identifier(ident) => ident.value,
                Expr::Value(value) => match value.value {
                    Value::SingleQuotedString(text) => text,
                    other => other.to_string(),
                },
                other => {
                    return Err(Error::invalid(
                        SqlState::InvalidParameterValue,
                        format!("a time zone is a text such as '+02:00', not {other}"),
                    ));
                }
            };
            context.session.set_variable("timezone", &zone)?;
            Ok(Outcome::Done)
        }
        other => Err(unsupported(format!("{other}"))),
    }
}

/// Runs RESET, or SET of one variable.
pub(crate) async fn variable(context: &StatementContext, statement: DataFusionStatement) -> Result<Outcome> {
    match context.plan(statement, None).await? {
        LogicalPlan::Statement(PlanStatement::SetVariable(set)) => {
            context.session.set_variable(&set.variable, &set.value)?;
        }
        LogicalPlan::Statement(PlanStatement::ResetVariable(reset)) => {
            context.session.reset_variable(&reset.variable)?;
        }
        other => return Err(Error::Internal(format!("SET was planned as {}", other.display()))),
    }
    Ok(Outcome::Done)
}

/// Runs SHOW in its forms.
pub(crate) async fn show(context: &StatementContext, mut statement: Sql) -> Result<Outcome> {
    let plain = |options: &ShowStatementOptions| options.to_string().trim().is_empty();
    match &mut statement {
        Sql::ShowVariable { variable } => {
            let name = variable.iter().map(|word| word.value.as_str()).collect::<Vec<_>>().join(".");
            let current = current_name(&name);
            if current != name.to_ascii_lowercase() {
                *variable = current.split('.').map(Ident::new).collect();
            }
            known_setting(context, variable)?;
        }
        Sql::ShowFunctions { filter } => return functions::show(context, filter.as_ref()).await,
        Sql::ShowTables {
            terse: false,
            history: false,
            extended: false,
            full: false,
            external: false,
            show_options,
        } if plain(show_options) => {
            return describe::show_tables(context);
        }
        Sql::ShowColumns { extended: false, full: false, show_options } => {
            return describe::show_columns(context, show_options).await;
        }
        other => return Err(unsupported(other.to_string())),
    }
    let plan = context.plan(DataFusionStatement::Statement(Box::new(statement)), None).await?;
    Ok(Outcome::Rows(context.rows(plan).await?))
}

/// Refuses SHOW of a setting that does not exist; `verbose` may follow its name.
fn known_setting(context: &StatementContext, words: &[Ident]) -> Result<()> {
    let mut words: Vec<&str> = words.iter().map(|word| word.value.as_str()).collect();
    if words.len() > 1 && words.last().is_some_and(|last| last.eq_ignore_ascii_case("verbose")) {
        words.pop();
    }
    let name = words.join(".").to_ascii_lowercase();
    let entries = context.state.config_options().entries();
    let special = ["all", "timezone", "time.zone"].contains(&name.as_str()) || name.starts_with("datafusion.runtime.");
    if special || entries.iter().any(|entry| entry.key == name) {
        return Ok(());
    }
    let suggestion = did_you_mean(&name, entries.iter().map(|entry| entry.key.as_str()));
    Err(Error::invalid(SqlState::UndefinedObject, format!("setting '{name}' does not exist{suggestion}")))
}
