//! Heap pages as `check` finds them.

use crate::lmdb::environment::Name;
use crate::lmdb::heap_record::HeapRecord;
use crate::lmdb::records::TableRecord;
use crate::lmdb::{heap_keys as keys, values};
use crate::maintenance::check::Checking;
use crate::model::heap_options::HeapLayout;
use crate::pages::attribute::PageSchema;
use crate::pages::head::Head;
use crate::pages::page::Page;
use crate::pages::shapes::PageSchemas;
use crate::snapshot::heap::reader::place;
use crate::write::load_intent::LoadIntent;
use crate::{Error, Result, TableId};
use std::collections::HashMap;
use std::sync::Arc;

impl Checking<'_> {
    /// Checks every heap page and what belongs to it.
    pub(crate) fn pages(&mut self, tables: &[TableRecord]) -> Result<()> {
        let Self { environment, transaction, report, .. } = self;
        let mut found: HashMap<TableId, PageCheck<'_>> = tables
            .iter()
            .filter(|record| record.heap.is_some())
            .map(|record| {
                (record.prefix(), PageCheck { record, schemas: schemas(record), rows: HashMap::new(), damaged: false })
            })
            .collect();
        let unfinished = LoadIntent::find(environment, transaction)?;
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
            let Some((PageCheck { record, schemas, rows, damaged }, attribute, number)) = owner else {
                report
                    .errors
                    .push(Error::corrupt(values::describe_key(Name::Heap, key), "it belongs to no heap table"));
                return Ok(());
            };
            let place = || place(environment, schemas.current(), attribute, number);
            let checked = if keys::is_page(attribute) {
                check_page(record, schemas, attribute, number, value, &place)
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
        for PageCheck { record, schemas, rows, .. } in found.values().filter(|table| !table.damaged) {
            let Some(heap) = &record.heap else { continue };
            let schema = schemas.current();
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
struct PageCheck<'r> {
    record: &'r TableRecord,
    schemas: PageSchemas,
    /// Records found so far, by the attribute of the pages' keys.
    rows: HashMap<u32, u64>,
    /// Whether a page was damaged, so that its records are missed.
    damaged: bool,
}

/// The schemas of the pages of a table.
pub(crate) fn schemas(record: &TableRecord) -> PageSchemas {
    let shapes = record.heap.as_ref().map(|heap| heap.shapes.clone()).unwrap_or_default();
    PageSchemas::of(&record.definition, &shapes)
}

/// The attributes of the keys of a table's pages.
pub(crate) fn page_columns(heap: &HeapRecord, schema: &PageSchema) -> Vec<u32> {
    match heap.options.layout {
        HeapLayout::Dsm => schema.attributes().iter().map(|own| own.column).collect(),
        HeapLayout::Nsm | HeapLayout::Pax => vec![keys::PAGES],
    }
}

/// Verifies a page and returns its records.
pub(crate) fn check_page(
    record: &TableRecord,
    schemas: &PageSchemas,
    attribute: u32,
    number: u64,
    bytes: &[u8],
    place: &dyn Fn() -> String,
) -> Result<u64> {
    let Some(heap) = &record.heap else { return Ok(0) };
    let present = schemas.current();
    let pairs = present.attributes().iter().position(|own| own.column == attribute);
    let schema = match (heap.options.layout, pairs) {
        (HeapLayout::Dsm, Some(at)) => Arc::new(present.of_pairs(at)),
        (HeapLayout::Dsm, None) => return Err(Error::corrupt(place(), "it belongs to no column")),
        _ => Arc::clone(schemas.of_page(&Head::parse(bytes, place)?, place)?),
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
