//! RETURNING: a query over the rows that a statement wrote or deleted, answered before they are committed.

use crate::bind::{Beside, Instead, MERGE_ACTION};
use crate::session::{Outcome, StatementContext, TargetTable};
use crate::sql::ignored as query;
use crate::sql::walk::{SyntaxTree, Visit};
use crate::statements::dml::change::beside;
use crate::statements::query_of;
use crate::{Error, Result};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::catalog::MemTable;
use datafusion::common::ParamValues;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArguments, Ident, ObjectName, Query, SelectItem, SetExpr, TableFactor, TableWithJoins, With,
};
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
    /// It is MERGE's: `*` means the source's columns first, and merge_action() what was done.
    merges: bool,
}

/// Its answer: what its columns are called, and the rows.
pub(crate) struct Returned {
    schema: SchemaRef,
    rows: Vec<RecordBatch>,
}

impl Returned {
    /// All rows of a query.
    pub(crate) async fn all(rows: SendableRecordBatchStream) -> Result<Self> {
        Ok(Self { schema: rows.schema(), rows: rows.try_collect().await? })
    }

    /// As that of the statement.
    pub(crate) fn outcome(self) -> Outcome {
        let rows = futures::stream::iter(self.rows.into_iter().map(Ok));
        Outcome::Rows(Box::pin(RecordBatchStreamAdapter::new(self.schema, rows)))
    }

    /// As rows of a table, in one partition.
    pub(crate) fn rows(self) -> (SchemaRef, Vec<RecordBatch>) {
        (self.schema, self.rows)
    }
}

impl Returning {
    /// The clause of a statement that changes the table of `from`.
    pub(crate) fn of(from: &TableWithJoins, items: Option<Vec<SelectItem>>, with: Option<&With>) -> Option<Self> {
        items.map(|items| Self { from: from.clone(), items, with: with.cloned(), merges: false })
    }

    /// The clause of a MERGE into the table of `from`.
    pub(crate) fn of_merge(from: &TableWithJoins, items: Vec<SelectItem>, with: Option<&With>) -> Self {
        Self { from: from.clone(), items, with: with.cloned(), merges: true }
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
        let instead = match self.merges {
            true => {
                statement.walk(&mut ActionCalls)?;
                Instead::Merged(Arc::new(rows), tables)
            }
            false => Instead::Joined(Arc::new(rows), tables),
        };
        // Its plan is no news where the statement does not run.
        let context = if context.is_planned_only() { context.not_explained() } else { context.clone() };
        let bound = context.bind_instead(*statement, vec![instead], "RETURNING", parameters).await?;
        Returned::all(bound.columns.give(context.rows(bound.plan).await?)).await
    }
}

/// Puts the column of what was done in the place of merge_action().
struct ActionCalls;

impl Visit for ActionCalls {
    fn expression(&mut self, expression: &mut Expr) -> Result<()> {
        if is_merge_action(expression) {
            let (table, column) = MERGE_ACTION;
            *expression = Expr::CompoundIdentifier(vec![Ident::with_quote('"', table), Ident::with_quote('"', column)]);
        }
        Ok(())
    }
}

/// Whether an expression asks what a MERGE has done.
pub(crate) fn is_merge_action(expression: &Expr) -> bool {
    let Expr::Function(call) = expression else { return false };
    let is_empty = matches!(&call.args, FunctionArguments::List(list) if list.args.is_empty());
    call.name.to_string().eq_ignore_ascii_case(MERGE_ACTION.1) && call.over.is_none() && is_empty
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
