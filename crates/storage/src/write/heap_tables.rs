//! Heap tables in the catalog: made, changed and checked. Their pages are crate::heap's.

use crate::SqlState;
use crate::lmdb::heap_record::HeapRecord;
use crate::lmdb::records::TableRecord;
use crate::model::heap_options::{HeapLayout, HeapOptions};
use crate::model::page_shape::PageShapes;
use crate::pages::attribute::{Attribute, AttributeForm, OverflowReference, PageSchema};
use crate::pages::head::is_page_length;
use crate::pages::run::PageRun;
use crate::panics::guarded;
use crate::write::heap::writer::HeapWriter;
use crate::write::keys::new_rows::NewRows;
use crate::write::load_intent;
use crate::write::transaction::Transaction;
use crate::{ColumnId, Design, Error, Result, TableDefinition, TableId};
use arrow::array::RecordBatch;
use std::sync::Arc;

impl Transaction<'_> {
    /// Creates a table whose records lie in heap pages: one whose design says so.
    pub fn create_heap_table(&mut self, mut definition: TableDefinition, options: HeapOptions) -> Result<TableId> {
        definition.design = Design::of_pages(options);
        self.create_table(definition)
    }

    /// Puts new records, which were written as segments and batches, into the pages of a table: few of them where there is
    /// room, a load into pages of its own.
    pub(crate) fn put_into_pages(&mut self, definition: &TableDefinition, new: &NewRows<'_>) -> Result<()> {
        let (few, schema) = (!new.has_segments(), definition.arrow_schema());
        let columns: Vec<ColumnId> = definition.columns.iter().map(|column| column.id).collect();
        self.heap(definition.id, |heap| {
            new.for_each(&columns, |arrays| {
                let batch = RecordBatch::try_new(Arc::clone(&schema), arrays.to_vec())?;
                if few { heap.insert_batch(&batch) } else { heap.load(&batch) }
            })
        })
    }

    /// Adds pages that were filled for a table, which must be as it was then: with pages of that
    /// kind, these columns, and nothing to check.
    pub(crate) fn take_runs(&mut self, record: &TableRecord, runs: &[PageRun]) -> Result<()> {
        self.require_fitting(record, runs)?;
        match runs {
            [] => Ok(()),
            runs => self.heap(record.definition.id, |heap| runs.iter().try_for_each(|run| heap.take_run(run))),
        }
    }

    /// Refuses pages that were filled for a table that was another one then.
    pub(crate) fn require_fitting(&self, record: &TableRecord, runs: &[PageRun]) -> Result<()> {
        let definition = &record.definition;
        let plain = !definition.has_constraints() && definition.indexes.is_empty();
        let fits = |run: &PageRun| record.heap.as_ref().is_some_and(|heap| run.fits(definition, heap.options));
        if runs.is_empty() || plain && runs.iter().all(fits) {
            return Ok(());
        }
        Err(Error::invalid(
            SqlState::ObjectNotInPrerequisiteState,
            format!(
                "the design, the columns or the indexes of table '{}' changed while records were written for it; write them again",
                definition.name
            ),
        ))
    }

    /// Changes the records of a heap table. When `work` fails, the transaction can't be committed any more: pages may have
    /// been changed in part.
    pub fn heap<R>(&mut self, table: TableId, work: impl FnOnce(&mut HeapWriter<'_, '_>) -> Result<R>) -> Result<R> {
        let mut writer = HeapWriter::open(self, table)?;
        let result = guarded(|| work(&mut writer).and_then(|result| writer.finish().map(|()| result)));
        self.heap.broken |= result.is_err();
        result
    }

    /// Removes all pages and long values of a table.
    pub(crate) fn remove_pages(&mut self, record: &mut TableRecord) -> Result<()> {
        let (environment, table) = (self.environment, record.prefix());
        let Some(heap) = &mut record.heap else { return Ok(()) };
        load_intent::remove_all(environment, &mut self.transaction, table)?;
        (heap.rows, heap.pages) = (0, 0);
        heap.columns.clear();
        heap.shapes = PageShapes::default();
        self.store.verified.forget(table);
        self.heap.pages.clear(table);
        Ok(())
    }
}

/// What the catalog keeps of a new table in heap pages. Fails for what such a table can't be.
pub(crate) fn new_record(definition: &TableDefinition, options: HeapOptions) -> Result<HeapRecord> {
    let name = definition.name.to_string();
    if !is_page_length(options.page_bytes) {
        return Err(Error::invalid(
            SqlState::InvalidParameterValue,
            format!(
                "table '{name}': pages of {} bytes can't be; choose a multiple of 4096 up to 32768, less 16",
                options.page_bytes
            ),
        ));
    }
    if !definition.sort_by.is_empty() {
        return Err(Error::Unsupported(format!(
            "table '{name}': sort_by is not offered for tables in heap pages (layout {})",
            options.layout
        )));
    }
    // A column takes at least a byte or a reference, and six bytes in the directory of a page.
    let least = |own: &Attribute| match own.kind {
        AttributeForm::Fixed(width) => width,
        AttributeForm::Variable => OverflowReference::BYTES + 2,
    };
    let bytes: usize = PageSchema::new(definition).attributes().iter().map(|own| least(own) + 8).sum();
    if options.layout != HeapLayout::Dsm && bytes + 64 > options.page_bytes {
        return Err(Error::invalid(
            SqlState::ProgramLimitExceeded,
            format!(
                "table '{name}': a record of its columns does not fit a page of {} bytes; choose a larger page_size",
                options.page_bytes
            ),
        ));
    }
    Ok(HeapRecord::new(options))
}
