//! The pages in tests/compat: today's build must read what the first build of their format version wrote.

use super::*;
use crate::model::heap_options::{Deletes, HeapLayout};
use std::path::{Path, PathBuf};

fn kept(layout: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../tests/compat/heap-{layout}-v1.page"))
}

fn columns() -> Arc<PageSchema> {
    schema(&[
        (LogicalType::Int(16), false),
        (LogicalType::Varchar(None), true),
        (LogicalType::Float64, true),
        (LogicalType::Decimal { precision: 30, scale: 3 }, false),
        (LogicalType::Binary, false),
    ])
}

/// Record `number` as it was written.
fn record(number: i128) -> Vec<Datum> {
    let text = |length: i128| (0..length).map(|at| b'a' + (at % 26) as u8).collect();
    vec![
        Datum::Integer(number * 100 - 1000),
        if number % 5 == 0 { Datum::Null } else { Datum::Bytes(text(number % 7)) },
        if number % 4 == 0 { Datum::Null } else { Datum::Float(FloatBits::new(number as f64 / -8.0)) },
        Datum::Integer(number << 70),
        Datum::Bytes(text(number)),
    ]
}

/// Slots 3 and 8 are deleted, and slot 5 was changed to record 40.
fn verify(schema: &Arc<PageSchema>, page: &Page<&[u8]>) {
    if let Page::Pax(page) = page {
        (0..schema.attributes().len()).for_each(|attribute| page.verify(attribute, &place).unwrap());
    }
    assert_eq!((page.records(), page.slots()), (18, 20));
    for slot in 0..20 {
        assert_eq!(page.is_live(slot), slot != 3 && slot != 8);
        if page.is_live(slot) {
            let expected = record(if slot == 5 { 40 } else { slot as i128 });
            for (attribute, own) in schema.attributes().iter().enumerate() {
                let read = page.field(slot, attribute);
                let read = own.datum(&read).unwrap();
                assert_eq!(read, expected[attribute], "slot {slot}, {}", own.name);
            }
        }
    }
}

fn fill(page: &mut Page<Vec<u8>>, schema: &PageSchema) {
    let fields = |record: &[Datum], page: &mut Page<Vec<u8>>, slot: Option<usize>| {
        let all: Vec<_> =
            schema.attributes().iter().zip(record).map(|(own, value)| own.field(value).unwrap()).collect();
        match slot {
            None => drop(page.insert(&all).unwrap().unwrap()),
            Some(slot) => {
                let changes: Vec<_> = all.into_iter().enumerate().collect();
                assert_eq!(page.update(slot, &changes).unwrap(), Update::Done);
            }
        }
    };
    (0..20).for_each(|number| fields(&record(number), page, None));
    page.delete(3);
    page.delete(8);
    fields(&record(40), page, Some(5));
}

#[test]
fn pages_of_version_1_are_read() {
    let schema = columns();
    for (name, layout, deletes) in [
        ("nsm", HeapLayout::Nsm, Deletes::Compact),
        ("pax-compact", HeapLayout::Pax, Deletes::Compact),
        ("pax-defer", HeapLayout::Pax, Deletes::Defer),
    ] {
        if !kept(name).exists() {
            let mut page = empty(layout, deletes, 4080, &schema);
            fill(&mut page, &schema);
            std::fs::write(kept(name), page.seal(9)).unwrap();
        }
        let bytes = std::fs::read(kept(name)).unwrap();
        verify(&schema, &Page::open(layout, &bytes[..], &schema, true, &place).unwrap());
    }
}

#[test]
fn pairs_of_version_1_are_read() {
    let schema = Arc::new(columns().of_pairs(1));
    if !kept("dsm").exists() {
        let mut page = NsmPage::of_column(4080, &schema, 7, 2, 100);
        for number in 0..30 {
            let text = record(number)[1].clone();
            let value = schema.attributes()[1].field(&text).unwrap();
            page.append(&[Field::Code(100 + 2 * number as u128), value]).unwrap().unwrap();
        }
        page.remove(7);
        std::fs::write(kept("dsm"), page.seal(9)).unwrap();
    }
    let bytes = std::fs::read(kept("dsm")).unwrap();
    let page = NsmPage::open(&bytes[..], &schema, true, &place).unwrap();
    assert_eq!((page.records(), page.slots()), (29, 29));
    for (slot, number) in (0..30).filter(|number| *number != 7).enumerate() {
        assert_eq!(page.field(slot, 0), Field::Code(100 + 2 * number as u128));
        let text = record(number)[1].clone();
        assert_eq!(page.field(slot, 1), schema.attributes()[1].field(&text).unwrap());
    }
}
