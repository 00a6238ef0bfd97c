//! A table in heap pages: one that lacks pages gets new ones, with the records that can be read.

use crate::lmdb::environment::Name;
use crate::lmdb::heap_record::HeapRecord;
use crate::lmdb::index_entries::entry_head;
use crate::lmdb::records::{self, TableRecord};
use crate::maintenance::check_pages::page_columns;
use crate::open::shared::Store;
use crate::pages::attribute::PageSchema;
use crate::rescue::columns::Mended;
use crate::rescue::copy::Copied;
use crate::snapshot::heap::reader::HeapReader;
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
    each_record(&reader, &mut |record| {
        waiting.push(record);
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

/// Calls `visit` with each record that can be read.
fn each_record(reader: &HeapReader, visit: &mut dyn FnMut(Vec<Datum>) -> Result<()>) -> Result<()> {
    let all: Vec<usize> = reader.schema().places().collect();
    for zone in 0..reader.zones() {
        let ids: Vec<u64> = match reader.zone(zone) {
            Ok(zone) => {
                let live = zone.live_rows();
                let is_live = |row: &usize| live.as_ref().is_none_or(|live| live[row / 64] >> (row % 64) & 1 == 1);
                (0..zone.rows()).filter(is_live).map(|row| zone.id_of_row(row)).collect()
            }
            Err(error) if error.is_of_bytes() => continue,
            Err(error) => return Err(error),
        };
        for id in ids {
            match reader.values(id, &all) {
                Ok(Some(record)) => visit(record)?,
                Ok(None) => {}
                Err(error) if error.is_of_bytes() => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}
