//! A table in heap pages: one that lacks pages gets new ones, with the records that can be read.

use crate::lmdb::environment::Name;
use crate::lmdb::heap_record::HeapRecord;
use crate::lmdb::index_entries::entry_head;
use crate::lmdb::records::{self, TableRecord};
use crate::maintenance::check_pages::page_columns;
use crate::maintenance::check_records::each_record;
use crate::open::shared::Store;
use crate::pages::attribute::PageSchema;
use crate::rescue::columns::Mended;
use crate::rescue::copy::Copied;
use crate::{Datum, Result, TableId};
use std::ops::Bound;
use std::sync::Arc;

/// Records that are written in one transaction.
const TOGETHER: usize = 4096;

/// Makes a table whole, or leaves of it the records that can be read. Tells of indexes that were made anew.
pub(super) fn mend(store: &Arc<Store>, table: TableId, copied: &Copied, changed: &mut Vec<String>) -> Result<Mended> {
    let environment = store.environment()?;
    let record = environment.read(|transaction| records::existing(&environment, transaction, table))?;
    let heap = record.pages()?.clone();
    if let Some(why) = damage(&record, &heap, copied) {
        return write_anew(store, &record, &heap, why, changed);
    }
    if let Some(why) = unreadable(store, table)? {
        return write_anew(store, &record, &heap, why, changed);
    }
    let lacks = |number: u32| copied.entries.get(&(record.prefix(), number)).copied().unwrap_or(0) != heap.rows;
    for index in record.definition.indexes.iter().filter(|index| lacks(index.number)) {
        let head = |number: u32| entry_head(record.prefix(), number);
        let (first, end) = (head(index.number), head(index.number + 1));
        store.write(|transaction| {
            let range = (Bound::Included(&first[..]), Bound::Excluded(&end[..]));
            let environment = transaction.environment;
            let entries = environment.values(Name::Indexes)?;
            entries.delete_range(&mut transaction.transaction, &range).map_err(environment.failed("writing"))?;
            transaction.heap(table, |heap| heap.fill_index(index.number, &|| true))
        })?;
        changed.push(format!("index '{}' of table '{}' was made anew", index.name, record.definition.name));
    }
    Ok(Mended { rows: heap.rows, lost: Some(0), why: None })
}

/// What is wrong with a table's pages.
fn damage(record: &TableRecord, heap: &HeapRecord, copied: &Copied) -> Option<String> {
    let (prefix, schema) = (record.prefix(), PageSchema::new(&record.definition));
    if copied.damaged_pages.contains(&prefix) {
        return Some("pages or long values of it are damaged".into());
    }
    let counted = |column: &u32| copied.page_rows.get(&(prefix, *column)).copied().unwrap_or(0);
    match page_columns(heap, &schema).iter().map(counted).find(|rows| *rows != heap.rows) {
        Some(rows) => Some(format!("{rows} of {} records are found in its pages", heap.rows)),
        // Long values and maps of free space have no count.
        None => copied.pages_missed.clone(),
    }
}

/// Why a record can't be read. A damaged page of the catalog may lead to another page in the place of one that has long values
/// alone, and nothing but the records that have these misses them.
fn unreadable(store: &Arc<Store>, table: TableId) -> Result<Option<String>> {
    let mut why = None;
    let reader = store.heap(table)?;
    let all: Vec<usize> = reader.schema().places().collect();
    each_record(&reader, &all, &mut |record| {
        if let (Err(error), None) = (record, &why) {
            why = Some(error.to_string());
        }
        Ok(())
    })?;
    Ok(why)
}

/// Writes the records that can be read into new pages.
fn write_anew(
    store: &Arc<Store>,
    record: &TableRecord,
    heap: &HeapRecord,
    why: String,
    changed: &mut Vec<String>,
) -> Result<Mended> {
    let table = record.definition.id;
    let reader = store.heap(table)?;
    store.write(|transaction| {
        let mut record = transaction.record(table)?;
        transaction.remove_pages(&mut record)?;
        transaction.put_record(record)
    })?;
    let (mut rows, mut waiting) = (0, Vec::new());
    let mut flush = |waiting: &mut Vec<Vec<Datum>>| {
        rows += waiting.len() as u64;
        store.write(|transaction| {
            transaction.heap(table, |heap| waiting.drain(..).try_for_each(|record| heap.insert(&record).map(drop)))
        })
    };
    let all: Vec<usize> = reader.schema().places().collect();
    each_record(&reader, &all, &mut |record| {
        waiting.extend(record);
        if waiting.len() < TOGETHER { Ok(()) } else { flush(&mut waiting) }
    })?;
    flush(&mut waiting)?;
    let lost = heap.rows.saturating_sub(rows);
    if lost == 0 {
        changed.push(format!("the pages of table '{}' were written anew: {why}", record.definition.name));
        return Ok(Mended { rows, lost: Some(0), why: None });
    }
    Ok(Mended { rows, lost: Some(lost), why: Some(why) })
}
