//! Bulk loads into a heap table: new pages are filled from batches, or were filled before the transaction began.

use crate::Result;
use crate::lmdb::heap_keys::PAGES;
use crate::lmdb::heap_record::record_id;
use crate::model::heap_options::HeapLayout;
use crate::pages::attribute::{Field, OwnedField};
use crate::pages::field_column::FieldColumn;
use crate::pages::load::{PageLoader, Placed, averages, empty_page};
use crate::pages::page::Page;
use crate::pages::run::PageRun;
use crate::write::heap::writer::HeapWriter;
use arrow::array::RecordBatch;
use std::ops::Range;

impl HeapWriter<'_, '_> {
    /// Adds the records of a batch, whose columns are the table's. NSM and PAX pages are filled one behind the other: first those
    /// of which much is free and numbers whose pages are gone, then new ones.
    pub fn load(&mut self, batch: &RecordBatch) -> Result<()> {
        self.state.changed = true;
        let columns = self.field_columns(batch)?;
        self.state.bounds.iter_mut().zip(&columns).for_each(|(bounds, column)| column.add_to(bounds));
        let is_paged = self.state.heap.options.layout != HeapLayout::Dsm;
        // A loader has begun a page of the next number.
        let mut next = match is_paged && self.state.first_new.is_none() && self.state.loader.is_none() {
            true => self.fill(&columns, batch.num_rows())?,
            false => 0,
        };
        if next == batch.num_rows() {
            return self.index_some();
        }
        let mut loader = is_paged.then(|| self.take_loader(&columns, batch.num_rows()));
        while next < batch.num_rows() {
            // All rows up to one that needs a closer look.
            let sure = (next..batch.num_rows()).take_while(|row| self.surely_fits(&columns, *row));
            let end = next + sure.count();
            match &mut loader {
                Some(loader) => {
                    let mut full = |number, page| self.put_loaded(number, page);
                    let placed = loader.push_rows(&columns, next..end, &mut full)?;
                    self.index_loaded(&columns, &placed);
                }
                None => (next..end).try_for_each(|row| self.load_pairs(&columns, row))?,
            }
            self.state.heap.rows += (end - next) as u64;
            next = end;
            if next < batch.num_rows() {
                self.load_row(&columns, next, &mut loader)?;
                next += 1;
            }
        }
        self.state.loader = loader;
        self.index_some()
    }

    /// Adds records of a batch where older pages have much room, and in pages whose numbers are free. Returns how many found a
    /// place.
    fn fill(&mut self, columns: &[FieldColumn], rows: usize) -> Result<usize> {
        let environment = self.transaction.environment;
        let (mut next, mut sure) = (0, 0);
        while next < rows
            && let Some(number) = self.state.space.find_much(environment, &self.transaction.transaction)?
        {
            if sure <= next {
                sure = next + (next..rows).take_while(|row| self.surely_fits(columns, *row)).count();
            }
            if sure == next {
                self.insert_owned(columns.iter().map(|column| column.field(next).into()).collect())?;
                next += 1;
                continue;
            }
            let placed = match self.is_free_number(number)? {
                true => self.fill_new(number, columns, next..sure)?,
                false => self.fill_page(number, columns, next..sure)?,
            };
            self.index_loaded(columns, &placed);
            let count = placed.iter().map(|placed| placed.rows.len()).sum::<usize>();
            self.state.heap.rows += count as u64;
            next += count;
            let free = self.page(PAGES, number)?.free();
            match next == sure {
                true => self.note_free(number)?,
                false => self.state.space.refuse_much(environment, &self.transaction.transaction, number, free)?,
            }
        }
        Ok(next)
    }

    /// Adds records to a page of a number that none has.
    fn fill_new(&mut self, number: u64, columns: &[FieldColumn], rows: Range<usize>) -> Result<Vec<Placed>> {
        let options = self.state.heap.options;
        let average = averages(columns, rows.clone());
        let mut page = empty_page(&options, &self.state.schema, (self.table(), number), &average)?;
        let count = page.append_rows(columns, rows.clone(), options.threshold)?;
        if count == 0 {
            return Err(self.too_large());
        }
        self.add_numbered(number, page)?;
        Ok(vec![Placed { rows: rows.start..rows.start + count, page: number, slot: 0 }])
    }

    /// Adds records to a page that has some.
    fn fill_page(&mut self, number: u64, columns: &[FieldColumn], rows: Range<usize>) -> Result<Vec<Placed>> {
        let threshold = self.state.heap.options.threshold;
        let page = self.page_mut(PAGES, number)?;
        if page.records() == page.slots() {
            let slot = page.slots();
            let count = page.append_rows(columns, rows.clone(), threshold)?;
            return Ok(vec![Placed { rows: rows.start..rows.start + count, page: number, slot }]);
        }
        let (mut placed, mut fields) = (Vec::new(), Vec::with_capacity(columns.len()));
        for row in rows {
            fields.clear();
            fields.extend(columns.iter().map(|column| column.field(row)));
            let Some(slot) = page.insert(&fields)? else { break };
            placed.push(Placed { rows: row..row + 1, page: number, slot });
        }
        Ok(placed)
    }

    /// Adds one record of a batch, whose long values go elsewhere.
    fn load_row(&mut self, columns: &[FieldColumn], row: usize, loader: &mut Option<PageLoader>) -> Result<()> {
        let keys = self.index_keys(|at| columns[at].field(row));
        let mut owned: Vec<OwnedField> = columns.iter().map(|column| column.field(row).into()).collect();
        self.spill(&mut owned)?;
        let id = match loader {
            Some(loader) => {
                let fields: Vec<Field<'_>> = owned.iter().map(OwnedField::field).collect();
                let (number, slot) = loader.push(&fields, &mut |number, page| self.put_loaded(number, page))?;
                record_id(number, slot)
            }
            None => self.insert_pairs(&owned)?,
        };
        self.index_added(keys, id);
        self.state.heap.rows += 1;
        Ok(())
    }

    /// Adds one record of a batch to DSM's relations.
    fn load_pairs(&mut self, columns: &[FieldColumn], row: usize) -> Result<()> {
        let fields: Vec<Field<'_>> = columns.iter().map(|column| column.field(row)).collect();
        let keys = self.index_keys(|at| fields[at]);
        let id = self.insert_fields(&fields)?;
        self.index_added(keys, id);
        Ok(())
    }

    /// Notes the keys of records that were loaded.
    fn index_loaded(&mut self, columns: &[FieldColumn], placed: &[Placed]) {
        if !self.has_indexes() {
            return;
        }
        for Placed { rows, page, slot } in placed {
            for (row, slot) in rows.clone().zip(*slot..) {
                let keys = self.index_keys(|at| columns[at].field(row));
                self.index_added(keys, record_id(*page, slot));
            }
        }
    }

    /// Adds pages that were filled before, behind those of the table.
    pub(crate) fn take_run(&mut self, run: &PageRun) -> Result<()> {
        self.begin_run(run)?;
        let mut found = 0;
        run.for_each(|bytes, place| {
            found += self.take_page(bytes, place)?;
            Ok(())
        })?;
        run.require_records(found)
    }

    /// How often the minipages of a page that the load at work has filled were sized anew, over all of these pages.
    pub fn reorganised(&self) -> u64 {
        self.state.loader.as_ref().map_or(0, PageLoader::reorganised)
    }

    /// The loader at work, or one that is laid out by the first records.
    fn take_loader(&mut self, columns: &[FieldColumn], rows: usize) -> PageLoader {
        if let Some(loader) = self.state.loader.take() {
            return loader;
        }
        let (options, table) = (self.state.heap.options, self.table());
        let mut loader = PageLoader::new(options, &self.state.schema, table, self.state.heap.pages);
        loader.expect_rows(columns, rows);
        loader
    }

    /// Whether a record fits a page without a closer look.
    fn surely_fits(&self, columns: &[FieldColumn], row: usize) -> bool {
        FieldColumn::surely_fits(columns, row, &self.state.schema, &self.state.heap.options)
    }

    /// Writes a page that a load has filled.
    fn put_loaded(&mut self, number: u64, mut page: Page<Vec<u8>>) -> Result<()> {
        let (environment, free) = (self.transaction.environment, page.free());
        self.state.space.set(environment, &self.transaction.transaction, number, free)?;
        self.put_page(PAGES, number, &mut page)?;
        self.state.heap.pages = self.state.heap.pages.max(number + 1);
        Ok(())
    }

    /// Writes the last page of a load.
    pub(crate) fn end_load(&mut self) -> Result<()> {
        match self.state.loader.take() {
            Some(mut loader) => loader.finish(&mut |number, page| self.put_loaded(number, page)),
            None => Ok(()),
        }
    }
}
