//! Heap tables in the catalog: made, changed and checked. Their pages are crate::heap's.

use crate::catalog::check::Checking;
use crate::catalog::environment::{Environment, Name};
use crate::catalog::keys::NewRows;
use crate::catalog::records::{self, TableRecord};
use crate::catalog::unfinished::{self, Unfinished};
use crate::catalog::{Transaction, values};
use crate::heap::run::PageRun;
use crate::heap::store::{keys, place};
use crate::heap::{
    Attribute, HeapLayout, HeapOptions, HeapRecord, HeapWriter, Kind, OverflowReference, Page, PageSchema,
    is_page_length,
};
use crate::{ColumnId, Design, Error, Result, TableDefinition, TableId};
use arrow::array::RecordBatch;
use heed::RoTxn;
use std::collections::HashMap;
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
        Err(Error::InvalidInput(format!(
            "the design, the columns or the indexes of table '{}' changed while records were written for it; write them again",
            definition.name
        )))
    }

    /// Changes the records of a heap table. When `work` fails, the transaction can't be committed any more: pages may have
    /// been changed in part.
    pub fn heap<R>(&mut self, table: TableId, work: impl FnOnce(&mut HeapWriter<'_, '_>) -> Result<R>) -> Result<R> {
        let mut writer = HeapWriter::open(self, table)?;
        let result = work(&mut writer).and_then(|result| writer.finish().map(|()| result));
        self.broken |= result.is_err();
        result
    }

    /// Removes all pages and long values of a table.
    pub(crate) fn remove_pages(&mut self, record: &mut TableRecord) -> Result<()> {
        let (environment, table) = (self.environment, record.prefix());
        let Some(heap) = &mut record.heap else { return Ok(()) };
        unfinished::remove_all(environment, &mut self.transaction, table)?;
        (heap.rows, heap.pages) = (0, 0);
        heap.columns.clear();
        self.store.verified.forget(table);
        self.pages.clear(table);
        Ok(())
    }
}

/// What the catalog keeps of a new table in heap pages. Fails for what such a table can't be.
pub(crate) fn new_record(definition: &TableDefinition, options: HeapOptions) -> Result<HeapRecord> {
    let name = definition.name.to_string();
    if !is_page_length(options.page_bytes) {
        return Err(Error::InvalidInput(format!(
            "table '{name}': pages of {} bytes can't be; choose a multiple of 4096 up to 32768, less 16",
            options.page_bytes
        )));
    }
    if !definition.sort_by.is_empty() {
        return Err(Error::Unsupported(format!(
            "table '{name}': sort_by is not offered for tables in heap pages (layout {})",
            options.layout
        )));
    }
    // A column takes at least a byte or a reference, and six bytes in the directory of a page.
    let least = |own: &Attribute| match own.kind {
        Kind::Fixed(width) => width,
        Kind::Variable => OverflowReference::BYTES + 2,
    };
    let bytes: usize = PageSchema::new(definition).attributes().iter().map(|own| least(own) + 8).sum();
    if options.layout != HeapLayout::Dsm && bytes + 64 > options.page_bytes {
        return Err(Error::InvalidInput(format!(
            "table '{name}': a record of its columns does not fit a page of {} bytes; choose a larger page_size",
            options.page_bytes
        )));
    }
    Ok(HeapRecord::new(options))
}

/// Refuses other columns for a table whose pages have those of `record`.
pub(crate) fn require_same_pages(record: &TableRecord, after: &TableDefinition) -> Result<()> {
    let same = |a: &TableDefinition, b: &TableDefinition| {
        a.columns.len() == b.columns.len()
            && a.columns.iter().zip(&b.columns).all(|(a, b)| a.id == b.id && a.nullable == b.nullable)
            && (&b.keys, &b.references, &b.checks) == (&a.keys, &a.references, &a.checks)
    };
    if same(&record.definition, after) {
        return Ok(());
    }
    match record.heap {
        None => Ok(()),
        Some(_) => Err(Error::Unsupported(format!(
            "table '{}' lies in heap pages, which can't get or lose columns, NOT NULL or constraints yet",
            record.definition.name
        ))),
    }
}

impl Checking<'_> {
    /// Checks every heap page and what belongs to it.
    pub(crate) fn pages(&mut self, tables: &[TableRecord]) -> Result<()> {
        let Self { environment, transaction, report, .. } = self;
        let mut found: HashMap<TableId, Counted<'_>> = tables
            .iter()
            .filter(|record| record.heap.is_some())
            .map(|record| {
                let schema = Arc::new(PageSchema::new(&record.definition));
                (record.prefix(), Counted { record, schema, rows: HashMap::new(), damaged: false })
            })
            .collect();
        let unfinished = Unfinished::find(environment, transaction)?;
        let mut left = 0;
        values::each_raw(environment, transaction, Name::Heap, &[], |key, value| {
            report.verified += 1;
            let is_left = |(table, attribute, number)| {
                let record = found.get(&table).map(|table| table.record);
                unfinished.is_some_and(|load| load.has(table, record, attribute, number))
            };
            if keys::parse(key).is_some_and(is_left) {
                left += 1;
                return Ok(());
            }
            let owner = keys::parse(key)
                .and_then(|(table, attribute, number)| Some((found.get_mut(&table)?, attribute, number)));
            let Some((Counted { record, schema, rows, damaged }, attribute, number)) = owner else {
                report
                    .errors
                    .push(Error::corrupt(values::describe_key(Name::Heap, key), "it belongs to no heap table"));
                return Ok(());
            };
            let place = || place(environment, schema, attribute, number);
            let checked = if keys::is_page(attribute) {
                check_page(record, schema, attribute, number, value, &place)
            } else {
                values::unseal(Name::Heap, key, value, place).map(|_| 0)
            };
            match checked {
                Ok(records) => *rows.entry(attribute).or_default() += records,
                Err(error) => {
                    *damaged = true;
                    report.errors.push(error);
                }
            }
            Ok(())
        })?;
        if unfinished.is_some() {
            report.notes.push(format!(
                "{left} pages are of a load that has not ended; when nobody is at it, the next open for writing removes them"
            ));
        }
        for Counted { record, schema, rows, .. } in found.values().filter(|table| !table.damaged) {
            let Some(heap) = &record.heap else { continue };
            for column in page_columns(heap, schema) {
                let counted = rows.get(&column).copied().unwrap_or(0);
                if counted != heap.rows {
                    let own = schema.attributes().iter().find(|own| own.column == column && column != keys::PAGES);
                    let of = own.map_or(String::new(), |own| format!("column '{}' of ", own.name));
                    report.errors.push(Error::corrupt(
                        format!("pages of {of}table {}", record.definition.name),
                        format!("{counted} records are found, the table has {}", heap.rows),
                    ));
                }
            }
        }
        Ok(())
    }
}

/// A heap table while its pages are checked.
struct Counted<'r> {
    record: &'r TableRecord,
    schema: Arc<PageSchema>,
    /// Records found so far, by the attribute of the pages' keys.
    rows: HashMap<u32, u64>,
    /// Whether a page was damaged, so that its records are missed.
    damaged: bool,
}

/// The attributes of the keys of a table's pages.
fn page_columns(heap: &HeapRecord, schema: &PageSchema) -> Vec<u32> {
    match heap.options.layout {
        HeapLayout::Dsm => schema.attributes().iter().map(|own| own.column).collect(),
        HeapLayout::Nsm | HeapLayout::Pax => vec![keys::PAGES],
    }
}

/// Verifies a page and returns its records.
fn check_page(
    record: &TableRecord,
    schema: &Arc<PageSchema>,
    attribute: u32,
    number: u64,
    bytes: &[u8],
    place: &dyn Fn() -> String,
) -> Result<u64> {
    let Some(heap) = &record.heap else { return Ok(0) };
    let pairs = schema.attributes().iter().position(|own| own.column == attribute);
    let schema = match (heap.options.layout, pairs) {
        (HeapLayout::Dsm, Some(at)) => Arc::new(schema.of_pairs(at)),
        (HeapLayout::Dsm, None) => return Err(Error::corrupt(place(), "it belongs to no column")),
        _ => Arc::clone(schema),
    };
    let page = Page::open(heap.options.layout, bytes, &schema, true, place)?;
    if let Page::Pax(page) = &page {
        (0..schema.attributes().len()).try_for_each(|attribute| page.verify(attribute, place))?;
    }
    if page.key() != (record.prefix(), attribute, number) {
        return Err(Error::corrupt(place(), format!("it says that it is {:?}", page.key())));
    }
    Ok(page.records() as u64)
}

/// Definition and record of a heap table, and the commit that last changed it.
pub(crate) fn heap_record(
    environment: &Environment,
    transaction: &RoTxn<'_>,
    table: TableId,
) -> Result<(TableDefinition, HeapRecord, u64)> {
    let record = records::existing(environment, transaction, table)?;
    let heap = record.pages()?.clone();
    Ok((record.definition, heap, record.version))
}
