//! ON COMMIT of TEMP tables: what becomes of them at the end of each transaction.

use crate::Result;
use crate::session::{SessionTransaction, StatementContext};
use crate::statements::write;
use datafusion::sql::sqlparser::ast::OnCommit;
use gingham_storage::TableName;
use gingham_storage::write::Transaction;
use std::sync::Arc;

/// Notes what is to become of a TEMP table that was just made. Outside of a transaction, DROP comes at once.
pub(crate) async fn note(context: &StatementContext, name: &TableName, on_commit: Option<OnCommit>) -> Result<()> {
    let drops = match on_commit {
        Some(OnCommit::Drop) => true,
        Some(OnCommit::DeleteRows) => false,
        Some(OnCommit::PreserveRows) | None => {
            context.session.ending_tables.forget(name);
            return Ok(());
        }
    };
    context.session.ending_tables.set(name, drops);
    after_statement(context).await
}

fn end(transaction: &mut Transaction<'_>, tables: Vec<(TableName, bool)>) -> gingham_storage::Result<()> {
    for (name, drops) in tables {
        let Some(table) = transaction.base().definition(&name).map(|definition| definition.id) else { continue };
        match drops {
            true => transaction.drop_table(&name)?,
            false => drop(transaction.truncate(table)?),
        }
    }
    Ok(())
}

/// Does it at the end of a statement that is a transaction of its own.
pub(crate) async fn after_statement(context: &StatementContext) -> Result<()> {
    if context.transaction.is_some() || !context.session.ending_tables.is_any() {
        return Ok(());
    }
    let Some(store) = context.session.existing_temp_store() else { return Ok(()) };
    let snapshot = store.snapshot()?;
    let mut tables = context.session.ending_tables.of(&snapshot);
    tables.retain(|(name, drops)| *drops || snapshot.tables.get(name).is_some_and(|table| table.rows() != 0));
    if tables.is_empty() {
        return Ok(());
    }
    write(context, &Arc::clone(store), move |transaction| Ok(end(transaction, tables)?)).await
}

/// Does it as the last part of a transaction. Blocks.
pub(crate) fn before_commit(context: &StatementContext, transaction: &SessionTransaction) -> Result<()> {
    let Some(store) = context.session.existing_temp_store() else { return Ok(()) };
    if !transaction.has_turn(&context.session, store) {
        return Ok(());
    }
    let tables = context.session.ending_tables.of(&*transaction.temp_snapshot(store)?);
    if tables.is_empty() {
        return Ok(());
    }
    transaction.write(&context.session, store, &context.write_options(), move |transaction| end(transaction, tables))
}
