//! Writing what was found: the changes of all parts of a statement in one transaction, unless a table was changed meanwhile.

use crate::session::{StatementContext, TargetTable, blocking};
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

/// Writes the changes of a statement, of each table at most once; false when one of the tables is not as it was read. All of them
/// are of one store, or the statement is in a transaction.
pub(crate) async fn write_all(context: &StatementContext, changes: Vec<Changed>) -> Result<bool> {
    let mut stores: Vec<(Arc<Store>, Vec<Changed>)> = Vec::new();
    for (target, found) in changes.into_iter().filter(|(_, found)| found.records > 0) {
        match stores.iter_mut().find(|(store, _)| Arc::ptr_eq(store, &target.store)) {
            Some((_, others)) => others.push((target, found)),
            None => stores.push((Arc::clone(&target.store), vec![(target, found)])),
        }
    }
    if stores.len() < 2 {
        return match stores.pop() {
            Some((store, changes)) => write_store(context, store, changes).await,
            None => Ok(true),
        };
    }
    let transaction = context.transaction.clone();
    let transaction = transaction.ok_or_else(|| Error::Internal("two stores are written by one statement".into()))?;
    // What is written of the first goes with the second.
    let (own, cancel) = (Arc::clone(&transaction), context.cancel.clone());
    blocking(move || own.savepoint(STATEMENT.to_owned(), &cancel)).await?;
    let mut written = Ok(true);
    for (store, changes) in stores {
        if let Ok(true) = written {
            written = write_store(context, store, changes).await;
        }
    }
    let (is_written, cancel) = (matches!(written, Ok(true)), context.cancel.clone());
    blocking(move || {
        if !is_written {
            transaction.back_to(STATEMENT, &cancel)?;
        }
        transaction.release(STATEMENT, &cancel)
    })
    .await?;
    written
}

/// The savepoint before a statement that writes two stores; no statement can name it.
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
        let is_free =
            |own: &Changed| !changes.iter().any(|other| refers(&definition(own), &definition(other)));
        let free = changes.iter().position(is_free).unwrap_or(0);
        ordered.push(changes.remove(free));
    }
    ordered
}
