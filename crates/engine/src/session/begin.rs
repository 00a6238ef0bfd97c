//! How a session begins a statement.

use crate::Result;
use crate::session::cancel::CancelToken;
use crate::session::context::StatementContext;
use crate::session::shared::Session;
use crate::session::statement_tables::StatementTables;
use gingham_storage::panics::guarded;
use std::sync::Arc;

impl Session {
    /// Pins the latest snapshots, or those of the transaction, for something that writes: a transaction takes the turn first. Blocks.
    pub(crate) fn begin_writing(self: &Arc<Self>, cancel: CancelToken) -> Result<StatementContext> {
        let context = self.begin(cancel)?;
        if self.is_read_only() {
            return Err(self.read_only("a write"));
        }
        match &context.transaction {
            Some(open) if !open.writes() => {
                open.take_turn(&self.engine.store, &context.write_options())?;
                self.begin(context.cancel)
            }
            _ => Ok(context),
        }
    }

    /// Pins the latest snapshots, or those of the transaction, for one statement without tables of its own.
    pub(crate) fn begin(self: &Arc<Self>, cancel: CancelToken) -> Result<StatementContext> {
        self.begin_with(cancel, StatementTables::new())
    }

    /// Pins the latest snapshots, or those of the transaction, for one statement that finds `tables`, too.
    pub(crate) fn begin_with(
        self: &Arc<Self>,
        cancel: CancelToken,
        tables: StatementTables,
    ) -> Result<StatementContext> {
        guarded(|| {
            self.running.require_open()?;
            let context = StatementContext::new(Arc::clone(self), cancel, tables, true)?;
            context.require_live()?;
            Ok(context)
        })
    }
}
