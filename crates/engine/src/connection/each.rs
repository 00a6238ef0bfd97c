//! A prepared statement for each of many lists of values.
//!
//! An INSERT of one row of VALUES is not run for each: the lists become a table of the statement, and `VALUES ($1, upper($2))` becomes
//! `SELECT "$1", upper("$2") FROM` that table.

use crate::connection::launch::{self, Caller};
use crate::connection::prepared::Prepared;
use crate::session::{StatementTables, wait};
use crate::sql::parse::query_of;
use crate::sql::walk::{SyntaxTree, Visit};
use crate::statements::Statement;
use crate::statements::dml::values::is_default;
use crate::{Error, Result, StatementHandle, TransactionStatus};
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{Field, Schema};
use datafusion::common::ScalarValue;
use datafusion::sql::parser::Statement as DataFusionStatement;
use datafusion::sql::sqlparser::ast::{Expr, Ident, SetExpr, Statement as Sql, Value};
use gingham_storage::panics::guarded;
use std::sync::Arc;

/// Lists that are gathered into one batch.
const LISTS: usize = 10_000;
/// The name of their table.
const SOURCE: &str = "gingham_values";

impl Prepared {
    /// Runs the statement once for each list of values, in a transaction of its own where none is open: all of them, or none where
    /// one fails. Gives the number of records changed. Lists that can't be had end it by their error.
    ///
    /// ```
    /// use gingham::{Database, ScalarValue, StatementHandle};
    ///
    /// let connection = Database::in_memory()?.connect();
    /// connection.execute("CREATE TABLE t (n INT, word VARCHAR)")?;
    /// let insert = connection.prepare("INSERT INTO t VALUES ($1, upper($2))")?;
    /// let lists = (0..1000).map(|n| Ok(vec![ScalarValue::from(n), ScalarValue::from("word")]));
    /// assert_eq!(insert.for_each(lists, &StatementHandle::new())?, 1000);
    /// assert_eq!(connection.execute("SELECT * FROM t WHERE word = 'WORD'")?, 1000);
    /// # Ok::<(), gingham::Error>(())
    /// ```
    pub fn for_each(
        &self,
        lists: impl IntoIterator<Item = Result<Vec<ScalarValue>>>,
        handle: &StatementHandle,
    ) -> Result<u64> {
        let own = self.session.transaction_status() == TransactionStatus::None;
        if own {
            self.run_text("BEGIN")?;
        }
        // Lists are the program's, which may panic: the transaction ends all the same.
        let ran = guarded(|| self.for_all(lists, handle));
        if own {
            self.run_text(if ran.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
        }
        ran
    }

    fn run_text(&self, sql: &str) -> Result<()> {
        wait(launch::text(&self.session, sql, Caller::waits(&self.tables))?.result()).map(drop)
    }

    fn for_all(
        &self,
        lists: impl IntoIterator<Item = Result<Vec<ScalarValue>>>,
        handle: &StatementHandle,
    ) -> Result<u64> {
        let (mut records, mut lists) = (0, lists.into_iter());
        loop {
            let portion = lists.by_ref().take(LISTS).collect::<Result<Vec<_>>>()?;
            if portion.is_empty() {
                return Ok(records);
            }
            records += match self.at_once(&portion, handle)? {
                Some(inserted) => inserted,
                None => portion.iter().try_fold(0, |sum, list| Ok::<u64, Error>(sum + self.changed(list, handle)?))?,
            };
        }
    }

    /// The records that the statement changes with these values.
    fn changed(&self, values: &[ScalarValue], handle: &StatementHandle) -> Result<u64> {
        let mut result = wait(self.begin(values, Caller::waits_by(&self.tables, handle)?)?.result())?;
        result.by_ref().try_for_each(|batch| batch.map(drop))?;
        Ok(result.rows_affected().unwrap_or(0))
    }

    /// Inserts all lists by one statement; `None` where that is not to be had: for another statement, few lists, or columns of
    /// values of several types.
    fn at_once(&self, lists: &[Vec<ScalarValue>], handle: &StatementHandle) -> Result<Option<u64>> {
        if lists.len() < 2 || lists.iter().any(|list| list.len() != self.parameters()) {
            return Ok(None);
        }
        let Some(batch) = batch_of(lists) else { return Ok(None) };
        let Some(statement) = insert_from(&self.parsed.statement)? else { return Ok(None) };
        let mut lists = StatementTables::new();
        lists.insert(SOURCE, vec![batch])?;
        let caller = Caller::waits_by(&self.tables.clone().and(lists), handle)?;
        let ran = launch::statement(&self.session, &statement, None, caller).and_then(|own| wait(own.result()));
        match ran {
            Ok(result) => Ok(Some(result.rows_affected().unwrap_or(0))),
            // A text may be a value of any column where it is written; as a column's it is to be cast. Nothing was inserted.
            Err(Error::InvalidInput(problem)) if problem.state == gingham_storage::SqlState::DatatypeMismatch => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// The lists as a batch with the columns `$1`, `$2`, …; `None` where a column has values of several types.
fn batch_of(lists: &[Vec<ScalarValue>]) -> Option<RecordBatch> {
    let (mut fields, mut columns): (Vec<Field>, Vec<ArrayRef>) = Default::default();
    for position in 0..lists.first()?.len() {
        let values = || lists.iter().map(move |list| &list[position]);
        let data_type = values().find(|value| !matches!(value, ScalarValue::Null))?.data_type();
        let missing = ScalarValue::try_from(&data_type).ok()?;
        let typed = values().map(|value| match value {
            ScalarValue::Null => missing.clone(),
            value => value.clone(),
        });
        columns.push(ScalarValue::iter_to_array(typed).ok()?);
        fields.push(Field::new(format!("${}", position + 1), data_type, true));
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).ok()
}

/// An INSERT of one row of VALUES with the lists' rows in their place; `None` for any other statement, and for one that may name a
/// table as theirs is.
fn insert_from(statement: &Statement) -> Result<Option<Statement>> {
    let Some(Sql::Insert(insert)) = statement.tree() else { return Ok(None) };
    let Some(values) = insert.source.as_ref().and_then(|query| match &*query.body {
        SetExpr::Values(values) if values.rows.len() == 1 => values.rows.first(),
        _ => None,
    }) else {
        return Ok(None);
    };
    if insert.returning.is_some() || insert.on.is_some() || insert.to_string().contains(SOURCE) {
        return Ok(None);
    }
    let mut texts = Vec::with_capacity(values.content.len());
    for value in &values.content {
        // DEFAULT is a value of VALUES alone.
        if is_default(value) {
            return Ok(None);
        }
        let mut value = value.clone();
        value.walk(&mut NamesForParameters)?;
        texts.push(value.to_string());
    }
    let mut insert = insert.clone();
    insert.source = Some(Box::new(query_of(&format!("SELECT {} FROM {SOURCE}", texts.join(", ")))?));
    Ok(Some(Statement::Sql(Box::new(DataFusionStatement::Statement(Box::new(Sql::Insert(insert)))))))
}

/// Puts the column `"$1"` in the place of the parameter `$1`.
struct NamesForParameters;

impl Visit for NamesForParameters {
    fn expression(&mut self, expression: &mut Expr) -> Result<()> {
        if let Expr::Value(value) = expression
            && let Value::Placeholder(name) = &value.value
        {
            *expression = Expr::Identifier(Ident::with_quote('"', name.clone()));
        }
        Ok(())
    }
}
