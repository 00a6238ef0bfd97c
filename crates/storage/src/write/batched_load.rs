//! Loads into heap pages that are committed in batches, so that no transaction keeps more changed pages in memory than a part of
//! the memory limit has room for.
//!
//! The batches lie where no reader looks: behind the table's pages, or under the keys of a table that is not there yet. A note
//! (`unfinished.rs`) tells of them until the last commit, a small one, makes them the table's. Whoever loads keeps the turn to
//! write from the first batch to that commit (docs/decisions/0046-loads-in-portions.md).

use crate::SqlState;
use crate::lmdb::environment::Environment;
use crate::lmdb::records::TableRecord;
use crate::open::options::WriteOptions;
use crate::open::shared::Store;
use crate::pages::attribute::{Attribute, AttributeForm, PageSchema};
use crate::pages::run::PageRun;
use crate::scan::rows::batch_bytes;
use crate::segment::writer::WrittenSegment;
use crate::write::change::RowChange;
use crate::write::heap::writer::{HeapState, HeapWriter};
use crate::write::keys;
use crate::write::keys::new_rows::NewRows;
use crate::write::load_intent::LoadIntent;
use crate::write::table_writer::WrittenRows;
use crate::write::transaction::Transaction;
use crate::{Error, Result, TableId};
use arrow::array::RecordBatch;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Part of the memory limit that a batch's pages may take.
const PART: usize = 8;
/// Bytes of a batch, at most: past that, fewer syncs save nothing that could be measured.
const MOST: usize = 256 << 20;
/// Bytes of a batch, at least.
const LEAST: usize = 256 << 10;
/// How many times as many bytes records take in pages as in a segment's file, and what a value of no fixed width takes: guesses
/// that are rather too large, as a load that turns out to be small is one commit all the same.
const PAGES_OF_SEGMENT: u64 = 4;
const VARIABLE: u64 = 24;

/// A load under way. Dropped before its end, it leaves what the next write transaction sweeps.
pub(crate) struct BatchedLoad<'s> {
    store: &'s Arc<Store>,
    environment: &'s Arc<Environment>,
    options: WriteOptions,
    /// Whether the last commit leaves the file as large as it is too.
    keeps_size: bool,
    /// Fails when the load is no longer wanted.
    wanted: &'s dyn Fn() -> Result<()>,
    /// Bytes after which a batch is committed.
    most: usize,
    transaction: Option<Transaction<'s>>,
    /// Missing after a failure alone.
    load: Option<HeapState>,
    note: LoadIntent,
    committed: usize,
}

impl<'s> BatchedLoad<'s> {
    /// A load into the table of `record`, behind its pages. The caller has the turn, and there is no write transaction.
    pub(crate) fn begin(
        store: &'s Arc<Store>,
        environment: &'s Arc<Environment>,
        options: &WriteOptions,
        wanted: &'s dyn Fn() -> Result<()>,
        record: TableRecord,
    ) -> Result<Self> {
        // Half way, VACUUM would copy pages that no table has.
        let keeps_size = options.keeps_size;
        let options = WriteOptions { keeps_size: true, ..options.clone() };
        let mut transaction = store.begin_writing(environment, &options)?;
        let load = HeapState::of_load(&mut transaction, record)?;
        transaction.heap.dirty.is_watched = true;
        let (table, prefix) = load.place();
        Ok(Self {
            store,
            environment,
            options,
            keeps_size,
            wanted,
            most: store.portion_bytes(),
            transaction: Some(transaction),
            load: Some(load),
            note: LoadIntent { table, prefix },
            committed: 0,
        })
    }

    /// Adds the records of a batch, whose columns are the table's.
    pub(crate) fn load(&mut self, batch: &RecordBatch) -> Result<()> {
        // A few pieces make a batch: a zone's records are more than that.
        let pieces = (batch_bytes(batch) / (self.most / 4)).clamp(1, batch.num_rows().max(1));
        let rows = batch.num_rows().div_ceil(pieces);
        for first in (0..batch.num_rows()).step_by(rows.max(1)) {
            let piece = batch.slice(first, rows.min(batch.num_rows() - first));
            self.write(|writer| writer.load(&piece))?;
        }
        if self.write(|writer| Ok(writer.has_many_entries()))? { self.index() } else { Ok(()) }
    }

    /// Adds pages that were filled before.
    pub(crate) fn take_run(&mut self, run: &PageRun) -> Result<()> {
        self.write(|writer| writer.begin_run(run))?;
        let mut found = 0;
        run.for_each(|bytes, place| {
            found += self.write(|writer| writer.take_page(bytes, place))?;
            Ok(())
        })?;
        run.require_records(found)
    }

    /// Puts the entries that wait into their indexes.
    fn index(&mut self) -> Result<()> {
        let most = (self.most / 2 / 4096).max(1);
        while self.write(|writer| writer.add_some_entries(most))? {}
        Ok(())
    }

    /// Makes all that was loaded the table's, in one transaction with what `rest` does, which gives the table's record.
    pub(crate) fn finish(mut self, rest: impl FnOnce(&mut Transaction<'_>) -> Result<TableRecord>) -> Result<()> {
        self.write(|writer| writer.end_load())?;
        self.index()?;
        let (mut transaction, load) = self.take()?;
        transaction.durability.keeps_size = self.keeps_size;
        let record = rest(&mut transaction)?;
        HeapWriter::resume(&mut transaction, load).finish_for(record)?;
        if self.committed > 0 {
            LoadIntent::forget(self.environment, &mut transaction.transaction)?;
        }
        transaction.commit()?;
        self.committed = 0;
        Ok(())
    }

    /// The transaction of the batch that is filled, and what is known of the load.
    fn take(&mut self) -> Result<(Transaction<'s>, HeapState)> {
        let load = self
            .load
            .take()
            .ok_or_else(|| Error::invalid(SqlState::ObjectNotInPrerequisiteState, "the load has failed before"))?;
        if let Some(transaction) = self.transaction.take() {
            return Ok((transaction, load));
        }
        let mut transaction = self.store.begin_writing(self.environment, &self.options)?;
        transaction.heap.dirty.is_watched = true;
        Ok((transaction, load))
    }

    /// Writes a piece, and commits the batch when it is full.
    fn write<R>(&mut self, work: impl FnOnce(&mut HeapWriter<'_, 's>) -> Result<R>) -> Result<R> {
        (self.wanted)()?;
        let (mut transaction, load) = self.take()?;
        let mut writer = HeapWriter::resume(&mut transaction, load);
        let result = work(&mut writer)?;
        if writer.dirty_bytes() < self.most {
            self.load = Some(writer.suspend());
            self.transaction = Some(transaction);
            return Ok(result);
        }
        writer.write_aside()?;
        self.load = Some(writer.suspend());
        if self.committed == 0 {
            self.note.put(self.environment, &mut transaction.transaction)?;
        }
        // When the commit fails, it may have come about all the same.
        self.committed += 1;
        transaction.commit()?;
        Ok(result)
    }
}

impl Drop for BatchedLoad<'_> {
    fn drop(&mut self) {
        if self.committed > 0 {
            self.store.unswept.store(true, Ordering::Release);
        }
    }
}

impl Store {
    /// Bytes of pages that one batch of a load has, about.
    fn portion_bytes(&self) -> usize {
        (self.budget.limit() / PART).clamp(LEAST, MOST)
    }

    /// Whether new records may be too many for one transaction, if they are for heap pages.
    pub fn takes_portions(&self, rows: &WrittenRows) -> bool {
        if rows.definition.design.heap.is_none() {
            return false;
        }
        let schema = PageSchema::new(&rows.definition);
        let width = |own: &Attribute| if let AttributeForm::Fixed(width) = own.kind { width as u64 } else { VARIABLE };
        let record: u64 = schema.attributes().iter().map(width).sum();
        let segment = |segment: &WrittenSegment| (segment.bytes * PAGES_OF_SEGMENT).max(segment.rows * record);
        let segments: u64 = rows.segments.iter().map(segment).sum();
        segments + rows.runs.iter().map(PageRun::bytes).sum::<u64>() >= self.portion_bytes() as u64
    }

    /// Makes new records visible as [`Transaction::append`] does, in a commit of their own, before which their pages are
    /// committed in batches. `place` gives the table, which it may create: it is run twice, and what it does the first time is
    /// undone. `wanted` is asked now and then whether to go on, and `last` before what can't be undone.
    pub fn append_in_portions(
        self: &Arc<Self>,
        options: &WriteOptions,
        rows: WrittenRows,
        place: &dyn Fn(&mut Transaction<'_>) -> Result<TableId>,
        wanted: &dyn Fn() -> Result<()>,
        last: &dyn Fn() -> Result<()>,
    ) -> Result<()> {
        let _turn = self.turn(options)?;
        let environment = self.environment()?;
        let mut transaction = self.begin_writing(&environment, options)?;
        let table = place(&mut transaction)?;
        let record = transaction.record(table)?;
        if record.heap.is_none() {
            transaction.append(table, rows)?;
            last()?;
            return transaction.commit();
        }
        rows.require_columns_of(&record.definition)?;
        transaction.require_fitting(&record, &rows.runs)?;
        let definition = Arc::new(record.definition.clone());
        let new = NewRows::open(self, rows.table, &definition, &rows)?;
        keys::check(&transaction, &definition, &new, Some(&rows), &RowChange::default())?;
        drop(transaction);
        let columns: Vec<_> = definition.columns.iter().map(|column| column.id).collect();
        let schema = definition.arrow_schema();
        self.in_portions(
            &environment,
            options,
            wanted,
            record,
            |portions| {
                rows.runs.iter().try_for_each(|run| portions.take_run(run))?;
                new.for_each(&columns, |arrays| {
                    portions.load(&RecordBatch::try_new(Arc::clone(&schema), arrays.to_vec())?)
                })
            },
            |transaction| {
                let table = place(transaction)?;
                last()?;
                transaction.record(table)
            },
        )
    }

    /// Loads by `work` and makes it visible with `rest`; what a failure leaves is swept. The caller has the turn.
    pub(crate) fn in_portions(
        self: &Arc<Self>,
        environment: &Arc<Environment>,
        options: &WriteOptions,
        wanted: &dyn Fn() -> Result<()>,
        record: TableRecord,
        work: impl FnOnce(&mut BatchedLoad<'_>) -> Result<()>,
        rest: impl FnOnce(&mut Transaction<'_>) -> Result<TableRecord>,
    ) -> Result<()> {
        let done = BatchedLoad::begin(self, environment, options, wanted, record).and_then(|mut portions| {
            work(&mut portions)?;
            portions.finish(rest)
        });
        if done.is_err()
            && let Err(error) = self.sweep_unfinished(environment)
        {
            tracing::warn!("{}: removing what a load has left: {error}", self.path().display());
        }
        done
    }
}
