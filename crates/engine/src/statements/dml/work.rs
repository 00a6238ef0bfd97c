//! What a statement that changes records does with a table: found by a query, and read anew, with the write lock, when others have
//! changed the table before it was written.

use crate::session::{Outcome, StatementContext, TargetTable, blocking};
use crate::statements::dml::change::{FoundRecords, Pending, RecordChange, Returned, Returning, find, write_all};
use crate::statements::dml::conflict::Upsert;
use crate::statements::dml::merge::Merging;
use crate::statements::dml::point;
use crate::statements::writable;
use crate::{Error, Result};
use datafusion::common::ParamValues;
use datafusion::sql::sqlparser::ast::ObjectName;
use std::collections::HashSet;
use std::sync::Arc;

/// What is read anew when others have changed the table meanwhile.
pub(crate) enum Work {
    Change(Box<RecordChange>),
    Upsert(Box<Upsert>),
    Merge(Box<Merging>),
}

impl Work {
    pub(crate) fn verb(&self) -> &'static str {
        match self {
            Self::Change(change) => change.verb,
            Self::Upsert(_) => "INSERT",
            Self::Merge(_) => "MERGE",
        }
    }

    pub(crate) fn table(&self) -> &ObjectName {
        match self {
            Self::Change(change) => &change.table,
            Self::Upsert(upsert) => &upsert.table,
            Self::Merge(merging) => &merging.table,
        }
    }

    fn returning(&self) -> Option<&Returning> {
        match self {
            Self::Change(change) => change.returning.as_ref(),
            Self::Upsert(upsert) => upsert.returning.as_ref(),
            Self::Merge(merging) => merging.returning.as_ref(),
        }
    }

    /// This work as a part of a statement that changes the table in other parts too: records are replaced, but for those that
    /// `before` names.
    pub(crate) fn beside_others(mut self, before: Arc<HashSet<u64>>) -> Self {
        match &mut self {
            Self::Change(change) => (change.replaces, change.before) = (true, Some(before)),
            Self::Upsert(upsert) => upsert.before = Some(before),
            Self::Merge(merging) => merging.before = Some(before),
        }
        self
    }

    async fn find(
        &self,
        context: &StatementContext,
        target: &TargetTable,
        parameters: Option<ParamValues>,
    ) -> Result<FoundRecords> {
        match self {
            Self::Change(change) => find(context, target, change, parameters).await,
            Self::Upsert(upsert) => upsert.find(context, target, parameters).await,
            Self::Merge(merging) => merging.find(context, target, parameters).await,
        }
    }

    /// What it is about to write, and what RETURNING answers.
    pub(crate) async fn pending(&self, context: &StatementContext, parameters: Option<ParamValues>) -> Result<Pending> {
        let target = writable(context, self.table(), self.verb())?;
        let mut found = self.find(context, &target, parameters.clone()).await?;
        let returned = match self.returning() {
            Some(returning) => {
                let (rows, tables) = found.take_returned();
                Some(returning.rows(context, &target, rows, tables, parameters).await?)
            }
            None => None,
        };
        Ok(Pending { target, found, returned })
    }
}

/// Finds what a statement changes, and writes it. When others have changed the table between the two, it is read again with the
/// write lock, so that nobody can.
pub(crate) async fn run(context: &StatementContext, work: Work, parameters: Option<ParamValues>) -> Result<Outcome> {
    let target = writable(context, work.table(), work.verb())?;
    if !context.is_planned_only()
        && let Work::Change(change) = &work
        && let Some(records) = point::change(context, &target, change, parameters.as_ref()).await?
    {
        return Ok(Outcome::Affected(records));
    }
    if let Some(outcome) = attempt(context, &work, parameters.clone()).await? {
        return Ok(outcome);
    }
    if context.transaction.is_some() {
        return Err(Error::Conflict(format!(
            "another statement of this connection has changed table '{}' meanwhile; run this one again",
            work.table()
        )));
    }
    let (context, transaction) = context.as_writer(&target.store).await?;
    let outcome = attempt(&context, &work, parameters).await?;
    let outcome = outcome.ok_or_else(|| Error::Internal("a table was changed by two at once".into()))?;
    blocking(move || transaction.commit()).await?;
    Ok(outcome)
}

/// Reads the table and writes the changes; `None` when others have changed it between the two.
async fn attempt(context: &StatementContext, work: &Work, parameters: Option<ParamValues>) -> Result<Option<Outcome>> {
    let Pending { target, found, returned } = work.pending(context, parameters).await?;
    let records = found.records;
    let is_written = write_all(context, vec![(target, found)]).await?;
    Ok(is_written.then(|| returned.map_or(Outcome::Affected(records), Returned::outcome)))
}
