//! A load that goes on in another write transaction: what its writer knows, without the transaction, and what it does in
//! pieces so that none of these transactions becomes large.

use crate::SqlState;
use crate::lmdb::heap_keys::PAGES;
use crate::lmdb::heap_record::RecordId;
use crate::lmdb::records::TableRecord;
use crate::pages::attribute::OwnedField;
use crate::pages::page::{Page, Renumbered, renumber};
use crate::pages::run::PageRun;
use crate::write::heap::writer::{HeapState, HeapWriter};
use crate::write::transaction::Transaction;
use crate::{Error, Result, TableId};

impl HeapState {
    /// A load into the table of `record`, behind the pages that it has.
    pub(crate) fn of_load(transaction: &mut Transaction<'_>, record: TableRecord) -> Result<Self> {
        let mut state = HeapWriter::of(transaction, record)?.suspend();
        state.first_new = Some(state.heap.first_new());
        state.changed = true;
        Ok(state)
    }

    /// The table's number, and what the keys of its pages begin with.
    pub(crate) fn place(&self) -> (TableId, TableId) {
        (self.record.definition.id, self.record.prefix())
    }
}

impl<'t, 'store> HeapWriter<'t, 'store> {
    /// Goes on in another transaction.
    pub(crate) fn resume(transaction: &'t mut Transaction<'store>, state: HeapState) -> Self {
        Self { transaction, state }
    }

    /// Lets go of the transaction.
    pub(crate) fn suspend(self) -> HeapState {
        self.state
    }
}

impl HeapWriter<'_, '_> {
    /// Whether a record is one of the load's own.
    pub(crate) fn is_loaded(&self, id: RecordId) -> bool {
        self.state.first_new.is_some_and(|first| id >= first)
    }

    /// Begins to take the pages of a run, which [`HeapWriter::take_page`] gets one by one.
    pub(crate) fn begin_run(&mut self, run: &PageRun) -> Result<()> {
        self.end_load()?;
        let environment = self.transaction.environment;
        self.state.refills = match self.state.first_new {
            None => self.state.space.much_in_pages(environment, &self.transaction.transaction)?,
            Some(_) => 0,
        };
        self.state.changed = true;
        self.state.bounds.iter_mut().zip(&run.bounds).for_each(|(own, bounds)| own.absorb(bounds));
        Ok(())
    }

    /// Adds a page that was filled before; its records go where older pages have room, or else it becomes one of the table's.
    /// Returns its records.
    pub(crate) fn take_page(&mut self, bytes: &mut [u8], place: &dyn Fn() -> String) -> Result<u64> {
        if self.state.refills > 0 && self.has_room_for_many()? {
            self.state.refills -= 1;
            return self.take_records(bytes, place);
        }
        let (table, commit, number) = (self.table(), self.transaction.state.commit, self.free_number()?);
        let Renumbered { records, free } = renumber(bytes, (table, number, commit), self.state.schema.shape, place)?;
        self.state.space.set(self.transaction.environment, &self.transaction.transaction, number, free)?;
        self.put_bytes(PAGES, number, bytes)?;
        self.state.heap.pages = self.state.heap.pages.max(number + 1);
        self.state.heap.rows += records;
        Ok(records)
    }

    /// Puts the records of a page that was filled before where older pages have room.
    fn take_records(&mut self, bytes: &[u8], place: &dyn Fn() -> String) -> Result<u64> {
        let page = Page::open(self.state.heap.options.layout, bytes, &self.state.schema, true, place)?;
        if let Page::Pax(page) = &page {
            self.state.schema.places().try_for_each(|at| page.verify(at, place))?;
        }
        for slot in (0..page.slots()).filter(|slot| page.is_live(*slot)) {
            let record: Vec<OwnedField> = self.state.schema.places().map(|at| page.field(slot, at).into()).collect();
            self.insert_record(&record)?;
        }
        self.state.heap.rows += page.records() as u64;
        Ok(page.records() as u64)
    }

    /// Bytes that the transaction keeps in memory.
    pub(crate) fn dirty_bytes(&self) -> usize {
        self.transaction.heap.dirty.bytes()
    }

    /// Writes all but the map of free space and the table's record, so that a commit keeps it and nobody sees it.
    pub(crate) fn write_aside(&mut self) -> Result<()> {
        self.write_back()?;
        self.transaction.changes.is_large = true;
        self.transaction.note_change();
        Ok(())
    }

    /// Writes all that there is left, for the table of `record`, which is as it was when the load began but for what the
    /// statement changes besides.
    pub(crate) fn finish_for(mut self, record: TableRecord) -> Result<()> {
        if record.definition.id != self.state.record.definition.id {
            return Err(Error::invalid(
                SqlState::ObjectNotInPrerequisiteState,
                format!("table '{}' has another number now", record.definition.name),
            ));
        }
        self.state.record = record;
        self.finish()
    }
}
