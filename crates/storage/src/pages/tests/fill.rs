//! Pages filled a column at a time against the same pages filled record by record.

use super::*;
use crate::model::heap_options::{Deletes, HeapLayout, HeapOptions};
use crate::pages::field_column::FieldColumn;
use crate::pages::load::Placed;
use crate::pages::tests::edges::{plain, records, relations};
use crate::segment::tests::array;
use arrow::array::ArrayRef;

/// The records from some on, as the columns of a batch; Arrow arrays that begin within others.
fn columns(schema: &PageSchema, records: &[Vec<Datum>], from: usize) -> Vec<FieldColumn> {
    let arrays: Vec<ArrayRef> = (0..schema.attributes().len())
        .map(|at| {
            let values: Vec<Datum> = records.iter().map(|record| record[at].clone()).collect();
            let whole = array(&schema.attributes()[at].logical_type, &values);
            whole.slice(from, records.len() - from)
        })
        .collect();
    FieldColumn::of_batch(schema.attributes(), &arrays).unwrap()
}

/// Loads the records in batches of random lengths and checks them; returns the numbers of records in each page.
fn load_columns(options: HeapOptions, schema: &Arc<PageSchema>, records: &[Vec<Datum>]) -> Vec<usize> {
    let mut loader = PageLoader::new(options, schema, 7, 0);
    let (mut pages, mut random, mut next) = (Vec::new(), Random(11), 0);
    let mut full = |_: u64, mut page: Page<Vec<u8>>| {
        pages.push(page.seal(1).to_vec());
        Ok(())
    };
    let mut places = Vec::new();
    while next < records.len() {
        let count = (1 + random.below(700)).min(records.len() - next);
        let before = next.min(random.below(20));
        let columns = columns(schema, &records[next - before..next + count], before);
        if next == 0 {
            loader.expect_rows(&columns, count);
        }
        for Placed { rows, page, slot } in loader.push_rows(&columns, 0..count, &mut full).unwrap() {
            places.extend(rows.zip(slot..).map(|(_, slot)| (page as usize, slot)));
        }
        next += count;
    }
    loader.finish(&mut full).unwrap();
    let open = |bytes| Page::open(options.layout, bytes, schema, true, &place).unwrap();
    let opened: Vec<Page<&[u8]>> = pages.iter().map(|bytes| open(&bytes[..])).collect();
    for page in &opened {
        if let Page::Pax(page) = page {
            (0..schema.attributes().len()).for_each(|attribute| page.verify(attribute, &place).unwrap());
        }
    }
    assert_eq!(places.len(), records.len());
    for (record, (page, slot)) in records.iter().zip(places) {
        for (attribute, field) in plain(schema, record).into_iter().enumerate() {
            assert_eq!(opened[page].field(slot, attribute), field, "page {page}, slot {slot}, attribute {attribute}");
        }
    }
    opened.iter().map(|page| page.records()).collect()
}

/// Loads records one by one, as the fast load does whole batches.
fn load_records(options: HeapOptions, schema: &Arc<PageSchema>, records: &[Vec<Datum>]) -> Vec<usize> {
    let mut loader = PageLoader::new(options, schema, 7, 0);
    let first: Vec<_> = records.iter().take(100).map(|record| plain(schema, record)).collect();
    loader.expect(&first);
    let mut pages = Vec::new();
    let mut full = |_: u64, page: Page<Vec<u8>>| {
        pages.push(page.records());
        Ok(())
    };
    for record in records {
        loader.push(&plain(schema, record), &mut full).unwrap();
    }
    loader.finish(&mut full).unwrap();
    pages
}

#[test]
fn columns_fill_the_pages_that_records_one_by_one_fill() {
    // The Arrow arrays of the others are of other units than the helper makes.
    let whole = types().into_iter().filter(|own| !matches!(own, LogicalType::Time(Unit::Nanosecond)));
    let mut relations = relations();
    relations.push((whole.map(|own| (own, true)).collect(), 25));
    for (at, (columns, longest)) in relations.into_iter().enumerate() {
        let schema = schema(&columns);
        let records = records(&schema, 2500, longest, 40 + at as u64);
        for (layout, deletes) in [
            (HeapLayout::Nsm, Deletes::Compact),
            (HeapLayout::Pax, Deletes::Compact),
            (HeapLayout::Pax, Deletes::Defer),
        ] {
            let options = HeapOptions { deletes, ..HeapOptions::new(layout) };
            let [own, others] = [load_columns(options, &schema, &records), load_records(options, &schema, &records)];
            assert_eq!(own, others, "relation {at} in {layout:?}");
        }
        for threshold in [5, 10] {
            let options = HeapOptions { threshold, ..HeapOptions::new(HeapLayout::Pax) };
            load_columns(options, &schema, &records);
        }
    }
}
