//! RETURNING: a query over the rows that a statement wrote or deleted, answered before they are committed.

use crate::bind::{Beside, Instead};
use crate::session::{Outcome, StatementContext, TargetTable};
use crate::sql::ignored as query;
use crate::statements::dml::change::beside;
use crate::statements::query_of;
use crate::{Error, Result};
use arrow::array::RecordBatch;
use datafusion::catalog::MemTable;
use datafusion::common::ParamValues;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::sql::sqlparser::ast::{ObjectName, Query, SelectItem, SetExpr, TableFactor, TableWithJoins, With};
use futures::TryStreamExt;
use std::sync::Arc;

/// What RETURNING asks of each row.
#[derive(Debug, Clone)]
pub(crate) struct Returning {
    /// The table as its items know it.
    from: TableWithJoins,
    items: Vec<SelectItem>,
    /// The WITH before the statement.
    with: Option<With>,
}

/// Its answer.
pub(crate) struct Returned(SendableRecordBatchStream);

impl Returned {
    /// As that of the statement.
    pub(crate) fn outcome(self) -> Outcome {
        Outcome::Rows(self.0)
    }
}

impl Returning {
    /// The clause of a statement that changes the table of `from`.
    pub(crate) fn of(from: &TableWithJoins, items: Option<Vec<SelectItem>>, with: Option<&With>) -> Option<Self> {
        items.map(|items| Self { from: from.clone(), items, with: with.cloned() })
    }

    /// Its answer for `rows`, which have the columns of `target`, and behind them those of `tables`.
    pub(crate) async fn rows(
        &self,
        context: &StatementContext,
        target: &TargetTable,
        rows: Vec<RecordBatch>,
        tables: Vec<Beside>,
        parameters: Option<ParamValues>,
    ) -> Result<Returned> {
        let mut statement = select(vec![self.from.clone()], self.items.clone())?;
        statement.with.clone_from(&self.with);
        let rows = MemTable::try_new(beside::schema(&target.table.definition, &tables, &rows), vec![rows])?;
        let instead = vec![Instead::Joined(Arc::new(rows), tables)];
        let bound = context.bind_instead(*statement, instead, "RETURNING", parameters).await?;
        let answer = context.rows(bound.plan).await?;
        let schema = answer.schema();
        let batches: Vec<RecordBatch> = answer.try_collect().await?;
        let answer = futures::stream::iter(batches.into_iter().map(Ok));
        Ok(Returned(bound.names.give(Box::pin(RecordBatchStreamAdapter::new(schema, answer)))))
    }
}

/// The table of that name as a member of FROM.
pub(crate) fn from_table(table: &ObjectName) -> Result<TableWithJoins> {
    let mut query = query_of("SELECT 1 FROM t")?;
    let SetExpr::Select(body) = &mut *query.body else { return Err(Error::Internal("no SELECT".into())) };
    let mut from = body.from.pop().ok_or_else(|| Error::Internal("no FROM".into()))?;
    if let TableFactor::Table { name, .. } = &mut from.relation {
        name.clone_from(table);
    }
    Ok(from)
}

/// `SELECT items FROM from`; `SELECT 1 FROM from` when there are none.
pub(crate) fn select(from: Vec<TableWithJoins>, items: Vec<SelectItem>) -> Result<Box<Query>> {
    let mut select = Box::new(query_of("SELECT 1 FROM t")?);
    let SetExpr::Select(body) = &mut *select.body else { return Err(Error::Internal("no SELECT".into())) };
    if !items.is_empty() {
        body.projection = items;
    }
    body.from = from;
    query::refuse_ignored(&mut select)?;
    Ok(select)
}
