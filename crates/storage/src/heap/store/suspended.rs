//! A load that goes on in another write transaction: what its writer knows, without the transaction, and what it does in
//! pieces so that none of these transactions becomes large.

use super::indexes::IndexChanges;
use super::keys::PAGES;
use super::space::Space;
use super::writer::{HeapWriter, Kept};
use super::{HeapRecord, RecordId};
use crate::catalog::Transaction;
use crate::catalog::records::TableRecord;
use crate::catalog::unfinished::first_new;
use crate::heap::attribute::PageSchema;
use crate::heap::bounds::ColumnBounds;
use crate::heap::load::PageLoader;
use crate::heap::page::{Renumbered, renumber};
use crate::heap::run::PageRun;
use crate::{Error, Result, TableId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A writer between two transactions.
#[derive(Debug)]
pub(crate) struct SuspendedLoad {
    record: TableRecord,
    heap: HeapRecord,
    schema: Arc<PageSchema>,
    pairs: Vec<Arc<PageSchema>>,
    pages: BTreeMap<(u32, u64), Kept>,
    space: Space,
    tails: BTreeMap<u32, u64>,
    loader: Option<PageLoader>,
    bounds: Vec<ColumnBounds>,
    indexes: Vec<IndexChanges>,
    first_new: Option<RecordId>,
}

impl SuspendedLoad {
    /// A load into the table of `record`, behind the pages that it has.
    pub(crate) fn new(transaction: &mut Transaction<'_>, record: TableRecord) -> Result<Self> {
        let mut writer = HeapWriter::of(transaction, record)?;
        writer.first_new = Some(first_new(&writer.heap));
        Ok(writer.suspend())
    }

    /// The table's number, and what the keys of its pages begin with.
    pub(crate) fn place(&self) -> (TableId, TableId) {
        (self.record.definition.id, self.record.prefix())
    }
}

impl<'t, 'store> HeapWriter<'t, 'store> {
    /// Goes on in another transaction.
    pub(crate) fn resume(transaction: &'t mut Transaction<'store>, load: SuspendedLoad) -> Self {
        let SuspendedLoad { record, heap, schema, pairs, pages, space, tails, loader, bounds, indexes, first_new } =
            load;
        let changed = true;
        Self {
            transaction,
            record,
            heap,
            schema,
            pairs,
            pages,
            space,
            tails,
            loader,
            bounds,
            changed,
            indexes,
            first_new,
        }
    }

    /// Lets go of the transaction.
    pub(crate) fn suspend(self) -> SuspendedLoad {
        let Self { record, heap, schema, pairs, pages, space, tails, loader, bounds, indexes, first_new, .. } = self;
        SuspendedLoad { record, heap, schema, pairs, pages, space, tails, loader, bounds, indexes, first_new }
    }
}

impl HeapWriter<'_, '_> {
    /// Whether a record is one of the load's own.
    pub(super) fn is_loaded(&self, id: RecordId) -> bool {
        self.first_new.is_some_and(|first| id >= first)
    }

    /// Begins to take the pages of a run, which [`HeapWriter::take_page`] gets one by one.
    pub(crate) fn begin_run(&mut self, run: &PageRun) -> Result<()> {
        self.end_load()?;
        self.changed = true;
        self.bounds.iter_mut().zip(&run.bounds).for_each(|(own, bounds)| own.absorb(bounds));
        Ok(())
    }

    /// Adds a page that was filled before, behind those of the table. Returns its records.
    pub(crate) fn take_page(&mut self, bytes: &mut [u8], place: &dyn Fn() -> String) -> Result<u64> {
        let (table, commit, number) = (self.table(), self.transaction.state.commit, self.heap.pages);
        let Renumbered { records, free } = renumber(bytes, (table, number, commit), place)?;
        self.space.set(self.transaction.environment(), &self.transaction.transaction, number, free)?;
        self.put_bytes(PAGES, number, bytes)?;
        self.heap.pages += 1;
        self.heap.rows += records;
        Ok(records)
    }

    /// Bytes that the transaction keeps in memory.
    pub(crate) fn dirty_bytes(&self) -> usize {
        self.transaction.dirty.bytes()
    }

    /// Writes all but the map of free space and the table's record, so that a commit keeps it and nobody sees it.
    pub(crate) fn write_aside(&mut self) -> Result<()> {
        self.write_back()?;
        self.transaction.is_large = true;
        self.transaction.note_change();
        Ok(())
    }

    /// Writes all that there is left, for the table of `record`, which is as it was when the load began but for what the
    /// statement changes besides.
    pub(crate) fn finish_for(mut self, record: TableRecord) -> Result<()> {
        if record.definition.id != self.record.definition.id {
            return Err(Error::InvalidInput(format!("table '{}' has another number now", record.definition.name)));
        }
        self.record = record;
        self.finish()
    }
}
