//! Writing what was found: the changes of all parts of a statement in one transaction, unless a table was changed meanwhile.

use crate::session::{CancelToken, StatementContext, TargetTable, blocking};
use crate::statements::dml::change::find::{FoundRecords, New};
use crate::statements::dml::change::returning::Returned;
use crate::statements::write;
use crate::{Error, Result};
use gingham_storage::store::Store;
use gingham_storage::write::Transaction;
use gingham_storage::{TableDefinition, TableId};
use std::sync::Arc;

/// What a statement is about to write, and what RETURNING answers.
pub(crate) struct Pending {
    pub(crate) target: TargetTable,
    pub(crate) found: FoundRecords,
    pub(crate) returned: Option<Returned>,
}

/// A table of the statement, and what becomes of it.
type Changed = (TargetTable, FoundRecords);

/// Whether the tables of a statement can't be written at once: they are of two stores, or one lies in heap pages, of which a
/// reference to its new records can be checked when they are written alone.
pub(crate) fn needs_steps(targets: &[TargetTable]) -> bool {
    let Some((first, others)) = targets.split_first() else { return false };
    let is_same = |other: &TargetTable| {
        Arc::ptr_eq(&other.store, &first.store) && other.table.definition.id == first.table.definition.id
    };
    let is_of_another = |other: &TargetTable| !Arc::ptr_eq(&other.store, &first.store);
    let has_heap = targets.iter().any(|target| target.table.heap.is_some());
    others.iter().any(is_of_another) || has_heap && !others.iter().all(is_same)
}

/// Writes the changes of a statement, of each table at most once; false when one of the tables is not as it was read. A statement
/// that [`needs_steps`] is in a transaction.
pub(crate) async fn write_all(context: &StatementContext, changes: Vec<Changed>) -> Result<bool> {
    let changes: Vec<Changed> = changes.into_iter().filter(|(_, found)| found.records > 0).collect();
    let targets: Vec<TargetTable> = changes.iter().map(|(target, _)| target.clone()).collect();
    let Some(first) = targets.first() else { return Ok(true) };
    if !needs_steps(&targets) {
        return write_store(context, Arc::clone(&first.store), changes).await;
    }
    let transaction = context.transaction.clone();
    let transaction = transaction.ok_or_else(|| Error::Internal("a statement in steps has no transaction".into()))?;
    // What is written of the first goes with the others.
    let own = Arc::clone(&transaction);
    blocking(move || own.savepoint(STATEMENT.to_owned(), &CancelToken::new())).await?;
    let mut written = Ok(true);
    for (target, found) in in_order(changes) {
        if let Ok(true) = written {
            written = write_store(context, Arc::clone(&target.store), vec![(target, found)]).await;
        }
    }
    let is_written = matches!(written, Ok(true));
    // A statement that was cancelled takes its changes back.
    blocking(move || {
        if !is_written {
            transaction.back_to(STATEMENT, &CancelToken::new())?;
        }
        transaction.release(STATEMENT, &CancelToken::new())
    })
    .await?;
    written
}

/// The savepoint before a statement that is written in steps; no statement can name it.
const STATEMENT: &str = "";

/// Writes the changes of one store.
async fn write_store(context: &StatementContext, store: Arc<Store>, changes: Vec<Changed>) -> Result<bool> {
    let cancel = context.cancel.clone();
    let threads = context.settings().threads;
    write(context, &store, move |transaction| {
        for (target, found) in &changes {
            let (table, version) = (target.table.definition.id, target.table.version);
            let now = transaction.base().table_by_id(table).map(|table| table.version);
            if now != Some(version) || transaction.referred_columns(table)? != found.referred {
                return Ok(false);
            }
        }
        let wanted = || !cancel.is_cancelled();
        for (target, found) in in_order(changes) {
            write_one(transaction, target.table.definition.id, found, threads, &wanted)?;
        }
        Ok(true)
    })
    .await
}

fn write_one(
    transaction: &mut Transaction<'_>,
    table: TableId,
    found: FoundRecords,
    threads: usize,
    wanted: &(dyn Fn() -> bool + Sync),
) -> Result<()> {
    let FoundRecords { mut change, new, held, .. } = found;
    change.threads = threads;
    match new {
        New::Rows(rows) => transaction.change(table, &change, rows, wanted)?,
        New::InPlace { read, ids, batches } => {
            transaction.change_in_place(&change, &ids, &read, &batches, wanted)?;
        }
    }
    drop(held);
    Ok(())
}

/// References are checked with each table: records go before those that they refer to, and new ones come behind these.
fn in_order(changes: Vec<Changed>) -> Vec<Changed> {
    let (inserts, others): (Vec<_>, Vec<_>) = changes.into_iter().partition(|(_, found)| found.change.ids.is_empty());
    let (deletes, updates): (Vec<_>, Vec<_>) = others.into_iter().partition(|(_, found)| found.is_without_new());
    let mut deletes = referred_first(deletes);
    deletes.reverse();
    deletes.into_iter().chain(referred_first(updates)).chain(referred_first(inserts)).collect()
}

/// Tables in an order in which each stands behind those that it refers to.
fn referred_first(mut changes: Vec<Changed>) -> Vec<Changed> {
    let mut ordered = Vec::with_capacity(changes.len());
    while !changes.is_empty() {
        let refers = |own: &TableDefinition, other: &TableDefinition| {
            own.id != other.id && own.references.iter().any(|reference| reference.table == other.id)
        };
        let definition = |change: &Changed| Arc::clone(&change.0.table.definition);
        let is_free = |own: &Changed| !changes.iter().any(|other| refers(&definition(own), &definition(other)));
        let free = changes.iter().position(is_free).unwrap_or(0);
        ordered.push(changes.remove(free));
    }
    ordered
}
