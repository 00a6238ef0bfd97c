//! A transaction within another: a statement, a job of a group or what follows a savepoint. It is undone alone when it fails,
//! and sees on top of the latest commit what the outer one has changed so far.

use crate::lmdb::records::DatabaseState;
use crate::snapshot::heap::overlay::Overlay;
use crate::snapshot::heap::page_source::PageSource;
use crate::snapshot::heap::reader::HeapReader;
use crate::snapshot::pin::Pin;
use crate::snapshot::table_snapshot::Snapshot;
use crate::write::transaction::{Changes, Transaction};
use crate::{Error, Result};
use std::sync::Arc;

/// What the outer transaction does after one within it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Follows {
    /// Nothing that reads.
    Nothing,
    /// Others, which build on the result; what a query reads of it are copies of pages.
    Others,
    /// Others follow, unless more than so many pages would have to be copied, or there is no memory for them: then what would
    /// have followed is left to another transaction.
    OthersUnless(usize),
}

/// What a transaction has come to, for the outer one to take over.
struct After {
    /// The state as the transaction leaves it; `None` when nobody needs it.
    base: Option<Arc<Snapshot>>,
    state: DatabaseState,
    changes: Changes,
}

impl Transaction<'_> {
    /// Runs `work` in a transaction within this one, whose changes become this one's when it succeeds and are undone when it
    /// does not. This one then builds on the result, as the next `nested` needs it, where `follows` says so.
    ///
    /// Each has a number of its own among commits, so that no two states of a table have the same version.
    pub(crate) fn nested<R>(
        &mut self,
        follows: Follows,
        work: impl FnOnce(&mut Transaction<'_>) -> Result<R>,
    ) -> Result<R> {
        let mut inner = self.begin_nested()?;
        let result = work(&mut inner)?;
        if let Some(after) = inner.end(follows)? {
            // Half of it would be no state that there ever was.
            let was_broken = std::mem::replace(&mut self.heap.broken, true);
            self.take_over(after);
            self.heap.broken = was_broken;
        }
        Ok(result)
    }

    /// Hands the changes to the outer transaction; `None` when there are none.
    fn end(mut self, follows: Follows) -> Result<Option<After>> {
        self.require_whole()?;
        if !self.changes.changed {
            return Ok(None);
        }
        let base = match follows {
            Follows::Nothing => None,
            Follows::Others => Some(self.as_changed()?),
            Follows::OthersUnless(most) if self.heap.pages.len() > most => None,
            Follows::OthersUnless(_) => match self.as_changed() {
                Err(Error::OutOfMemory(_)) => None,
                changed => Some(changed?),
            },
        };
        let environment = self.environment;
        self.transaction.commit().map_err(environment.failed("writing"))?;
        let Transaction { state, changes, .. } = self;
        Ok(Some(After { base, state, changes }))
    }

    fn take_over(&mut self, after: After) {
        let After { base, state, changes } = after;
        self.state = state;
        // It may have changed any of them.
        self.known = Arc::default();
        self.changes.take_over(changes);
        if let Some(base) = base {
            self.base = base;
        }
    }

    /// Gives no number again that a savepoint's level has given, which is undone: a statement may still be under way that
    /// knows a table of that level by its number, or a state of a table by its version.
    pub(crate) fn pass_over(&mut self, spent: &DatabaseState) {
        let state = &mut self.state;
        state.commit = state.commit.max(spent.commit + 1);
        state.next_table = state.next_table.max(spent.next_table);
    }

    /// Whether it builds on all that transactions within it have changed, so that another one can follow.
    pub(crate) fn can_go_on(&self) -> bool {
        !self.changes.changed || self.base.commit == self.state.commit
    }

    /// The state with this transaction's changes, on top of what it builds on: what its own queries read.
    fn as_changed(&mut self) -> Result<Arc<Snapshot>> {
        if self.changes.touched.is_empty() && self.heap.pages.is_empty() && self.base.commit == self.state.commit {
            return Ok(Arc::clone(&self.base));
        }
        let loaded =
            self.store.loader(self.environment).snapshot(&self.transaction, self.state.clone(), Some(&self.base))?;
        let mut damaged = loaded.damaged.values();
        let is_new = |id| self.base.damaged.values().all(|known| known.definition.id != id);
        if let Some(table) = damaged.find(|table| is_new(table.definition.id)) {
            // What was just written can't be read: the statement is undone.
            return Err(table.error());
        }
        if loaded.tables.values().all(|table| table.heap.is_none() || table.pages.is_some()) {
            return Ok(Arc::new(loaded));
        }
        let pin = self.pin()?;
        let written = std::mem::take(&mut self.heap.pages);
        let (store, environment) = (self.store, self.environment);
        let readable = loaded.with_missing_pages(|table, heap| {
            let (id, name) = (table.definition.id, table.definition.name.to_string());
            let prefix = heap.prefix(id);
            let before = self.base.table_by_id(id).and_then(|table| table.pages.as_ref()?.overlay());
            let overlay =
                Overlay::after(before, written.of(prefix), environment, &self.transaction, prefix, &store.budget)?;
            let source = PageSource::new(&store.verified, pin.clone(), prefix, name, Some(Arc::new(overlay)));
            Ok(HeapReader::of(source, Arc::clone(&table.definition), heap.clone(), table.version))
        })?;
        Ok(Arc::new(readable))
    }

    /// A read transaction of LMDB's at the latest commit, which the transaction's own is built on.
    fn pin(&self) -> Result<Pin> {
        match self.base.tables.values().find_map(|table| table.pages.as_ref()) {
            Some(pages) => Ok(pages.pin().clone()),
            None => Ok(self.store.pin()?.0),
        }
    }
}
