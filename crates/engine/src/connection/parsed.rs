//! A statement with the names of its parameters, and the values that they are given.

use crate::connection::launch::{self, Caller};
use crate::recording::with_values;
use crate::session::{Session, Started};
use crate::sql::parse;
use crate::statements::{self, Statement};
use crate::{Error, Result};
use datafusion::common::{ParamValues, ScalarValue};
use datafusion::sql::sqlparser::ast::Statement as Sql;
use gingham_storage::SqlState;
use gingham_storage::panics::guarded;
use std::sync::Arc;

/// Values of a statement's parameters: by their numbers, or by their names.
///
/// ```
/// use gingham::{ScalarValue, Values};
///
/// let numbered = Values::from([ScalarValue::from(1), ScalarValue::from("one")]);
/// let named = Values::from([("n", ScalarValue::from(1)), ("word", ScalarValue::from("one"))]);
/// assert!(matches!((numbered, named), (Values::Numbered(_), Values::Named(_))));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// For `$1`, `$2`, …, or for each `?` in turn.
    Numbered(Vec<ScalarValue>),
    /// For each `$name`, in any order.
    Named(Vec<(String, ScalarValue)>),
}

impl<const N: usize> From<[ScalarValue; N]> for Values {
    fn from(values: [ScalarValue; N]) -> Self {
        Self::Numbered(values.into())
    }
}

impl<const N: usize> From<[(&str, ScalarValue); N]> for Values {
    fn from(values: [(&str, ScalarValue); N]) -> Self {
        Self::Named(values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

/// A statement and the names of its parameters.
#[derive(Debug, Clone)]
pub(super) struct ParsedStatement {
    /// Its text with its parameters as numbers.
    text: Arc<str>,
    pub(super) statement: Statement,
    /// Names of `$1`, `$2`, …; `None` for those that are written as a number or as `?`.
    pub(super) names: Arc<[Option<String>]>,
    /// The numbers of PostgreSQL's types of `$1`, `$2`, …, where they are cast to `oid`.
    pub(super) oids: Arc<[Option<u32>]>,
}

impl ParsedStatement {
    pub(super) fn of(sql: &str) -> Result<Self> {
        let statement = statements::parse_single(sql)?;
        let parse::TextParameters { names, oids, text } = guarded(|| parse::parameters(sql))?;
        // Those within PREPARE are given their values by EXECUTE.
        let is_prepare = matches!(statement.tree(), Some(Sql::Prepare { .. }));
        let names = if is_prepare { Vec::new() } else { names.names };
        Ok(Self { text: text.into(), statement, names: names.into(), oids: oids.into() })
    }

    /// Values in the order of their parameters' numbers.
    pub(super) fn in_order(&self, values: Values) -> Result<Vec<ScalarValue>> {
        match values {
            Values::Numbered(values) => Ok(values),
            Values::Named(values) => self.by_name(&values),
        }
    }

    /// Values that are given by the names of their parameters, in the order of their numbers.
    pub(super) fn by_name<S: AsRef<str>>(&self, values: &[(S, ScalarValue)]) -> Result<Vec<ScalarValue>> {
        let known = |wanted: &str| self.names.iter().flatten().any(|name| name == wanted);
        if let Some((name, _)) = values.iter().find(|(name, _)| !known(name.as_ref())) {
            let text = format!("the statement has no parameter ${}", name.as_ref());
            return Err(Error::invalid(SqlState::UndefinedParameter, text));
        }
        let value = |(number, name): (usize, &Option<String>)| {
            let given = values.iter().find(|(given, _)| Some(given.as_ref()) == name.as_deref());
            given.map(|(_, value)| value.clone()).ok_or_else(|| {
                let name = name.clone().unwrap_or_else(|| (number + 1).to_string());
                Error::invalid(SqlState::UndefinedParameter, format!("parameter ${name} has no value"))
            })
        };
        self.names.iter().enumerate().map(value).collect()
    }

    /// Starts it with values for `$1`, `$2`, ….
    pub(super) fn begin(&self, session: &Arc<Session>, values: &[ScalarValue], caller: Caller) -> Result<Started> {
        if values.len() != self.names.len() {
            let text =
                format!("the statement has {} parameters, and {} values are given", self.names.len(), values.len());
            return Err(Error::invalid(SqlState::UndefinedParameter, text));
        }
        let recording = session.recording(|| with_values(&self.text, values));
        let given = ParamValues::from(values.to_vec());
        let caller = caller.executing(&self.text);
        Ok(launch::statement(session, &self.statement, Some(given), caller)?.recorded(recording))
    }
}
