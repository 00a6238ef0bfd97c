//! Bulk loading (section 4.2): pages are filled one after the other, and the minipages of each are made for values as long
//! as those of the page before.

use crate::SqlState;
use crate::model::heap_options::{HeapLayout, HeapOptions};
use crate::pages::attribute::{AttributeForm, Field, PageSchema};
use crate::pages::field_column::FieldColumn;
use crate::pages::nsm::NsmPage;
use crate::pages::page::Page;
use crate::pages::pax::PaxPage;
use crate::{Error, Result, TableId};
use std::ops::Range;
use std::sync::Arc;

/// Bytes that values are taken to have before any was seen.
const HINT: f64 = 16.0;
/// Records by which the first page of a load is laid out.
const FIRST: usize = 100;

/// Where records of a batch lie, one behind the other.
#[derive(Debug)]
pub(crate) struct Placed {
    /// Their rows in the batch.
    pub rows: Range<usize>,
    /// Their page.
    pub page: u64,
    /// The slot of the first of them.
    pub slot: usize,
}

/// Fills NSM or PAX pages, in the order of their records.
#[derive(Debug)]
pub struct PageLoader {
    options: HeapOptions,
    schema: Arc<PageSchema>,
    table: TableId,
    /// Number of the next page.
    next: u64,
    average: Vec<f64>,
    page: Option<Page<Vec<u8>>>,
    reorganised: u64,
}

impl PageLoader {
    /// A loader whose first page has the number `next`.
    pub fn new(options: HeapOptions, schema: &Arc<PageSchema>, table: TableId, next: u64) -> Self {
        let hint = |kind| if kind == AttributeForm::Variable { HINT } else { 0.0 };
        let average = schema.attributes.iter().map(|own| hint(own.kind)).collect();
        Self { options, schema: Arc::clone(schema), table, next, average, page: None, reorganised: 0 }
    }

    /// Makes the first page's minipages for values as long as these are, the "first few records" of the paper.
    pub fn expect(&mut self, records: &[Vec<Field<'_>>]) {
        for (attribute, average) in self.average.iter_mut().enumerate() {
            let bytes: usize = records.iter().map(|fields| fields[attribute].variable_bytes()).sum();
            *average = bytes as f64 / records.len().max(1) as f64;
        }
    }

    /// Expects the first rows of a batch, as `expect` does a whole one.
    pub(crate) fn expect_rows(&mut self, columns: &[FieldColumn], rows: usize) {
        self.average = averages(columns, 0..rows);
    }

    /// Adds a record, and gives the page that became full by it. Returns the record's page and slot. Fails for a record that
    /// fits no page.
    pub fn push(
        &mut self,
        fields: &[Field<'_>],
        full: &mut dyn FnMut(u64, Page<Vec<u8>>) -> Result<()>,
    ) -> Result<(u64, usize)> {
        loop {
            let fresh = self.page.is_none();
            if fresh {
                self.schema.check(fields)?;
                self.page = Some(self.empty_page()?);
            }
            let Some(page) = &mut self.page else { continue };
            let slot = match page {
                Page::Nsm(page) => page.insert(fields)?,
                Page::Pax(page) => page.insert(fields, self.options.threshold)?,
            };
            match slot {
                Some(slot) => return Ok((self.next, slot)),
                None if fresh => return Err(self.too_large()),
                None => self.finish(full)?,
            }
        }
    }

    /// Adds the records `rows` of a batch, of which each fits a page surely, and gives the pages that became full. Returns
    /// where they lie.
    pub(crate) fn push_rows(
        &mut self,
        columns: &[FieldColumn],
        mut rows: Range<usize>,
        full: &mut dyn FnMut(u64, Page<Vec<u8>>) -> Result<()>,
    ) -> Result<Vec<Placed>> {
        let mut placed = Vec::new();
        while !rows.is_empty() {
            let mut page = match self.page.take() {
                Some(page) => page,
                None => self.empty_page()?,
            };
            let slot = page.slots();
            let count = page.append_rows(columns, rows.clone(), self.options.threshold)?;
            if count == 0 && slot == 0 {
                return Err(self.too_large());
            }
            self.page = Some(page);
            placed.push(Placed { rows: rows.start..rows.start + count, page: self.next, slot });
            rows.start += count;
            if !rows.is_empty() {
                self.finish(full)?;
            }
        }
        Ok(placed)
    }

    /// Gives away the page that is not full yet, if there is one.
    pub fn finish(&mut self, full: &mut dyn FnMut(u64, Page<Vec<u8>>) -> Result<()>) -> Result<()> {
        let Some(page) = self.page.take() else { return Ok(()) };
        if let Page::Pax(page) = &page {
            self.average = page.averages();
            self.reorganised += u64::from(page.reorganised());
        }
        self.next += 1;
        full(self.next - 1, page)
    }

    /// Number of the next page that is not begun.
    pub fn next(&self) -> u64 {
        self.next + u64::from(self.page.is_some())
    }

    /// How often the minipages of a page that was given away were sized anew, over all pages (the paper's table 2).
    pub fn reorganised(&self) -> u64 {
        self.reorganised
    }

    fn too_large(&self) -> Error {
        Error::invalid(
            SqlState::ProgramLimitExceeded,
            format!(
                "a record of table {} does not fit a page of {} bytes; choose a larger page_size",
                self.schema.table, self.options.page_bytes
            ),
        )
    }

    fn empty_page(&self) -> Result<Page<Vec<u8>>> {
        empty_page(&self.options, &self.schema, (self.table, self.next), &self.average)
    }
}

/// An empty page of a table and number, whose minipages are made for values of `average` bytes, by attribute.
pub(crate) fn empty_page(
    options: &HeapOptions,
    schema: &Arc<PageSchema>,
    (table, number): (TableId, u64),
    average: &[f64],
) -> Result<Page<Vec<u8>>> {
    let length = options.page_bytes;
    Ok(match options.layout {
        HeapLayout::Pax => Page::Pax(PaxPage::empty(length, schema, table, number, options.deletes, average)?),
        layout => Page::Nsm(NsmPage::empty(layout, length, schema, table, number)),
    })
}

/// Average bytes of the values of the first of these rows, by attribute.
pub(crate) fn averages(columns: &[FieldColumn], rows: Range<usize>) -> Vec<f64> {
    let first = rows.start..rows.end.min(rows.start + FIRST);
    let bytes = |column: &FieldColumn| first.clone().map(|row| column.variable_bytes(row)).sum::<usize>() as f64;
    columns.iter().map(|column| bytes(column) / first.len().max(1) as f64).collect()
}
