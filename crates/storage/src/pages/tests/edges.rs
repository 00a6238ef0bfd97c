//! Pages at their edges: the last byte, the last record, borrowed room, damaged bytes.

use super::*;
use crate::Error;
use crate::model::heap_options::{Deletes, HeapLayout, HeapOptions};

/// Records of random values, of which every page layout gets the same.
pub(super) fn records(schema: &PageSchema, count: usize, longest: usize, seed: u64) -> Vec<Vec<Datum>> {
    let mut random = Random(seed);
    (0..count).map(|_| schema.attributes().iter().map(|own| value(&mut random, own, longest)).collect()).collect()
}

pub(super) fn plain<'v>(schema: &PageSchema, record: &'v [Datum]) -> Vec<Field<'v>> {
    schema.attributes().iter().zip(record).map(|(own, value)| own.field(value).unwrap()).collect()
}

/// Loads the records, checks that they are all there, and returns the number of pages and of reorganisations.
fn load(options: HeapOptions, schema: &Arc<PageSchema>, records: &[Vec<Datum>]) -> (usize, u64) {
    let mut loader = PageLoader::new(options, schema, 7, 0);
    let first: Vec<_> = records.iter().take(100).map(|record| plain(schema, record)).collect();
    loader.expect(&first);
    let mut pages = Vec::new();
    let mut full = |number: u64, mut page: Page<Vec<u8>>| {
        assert_eq!(number, pages.len() as u64);
        pages.push(page.seal(1).to_vec());
        Ok(())
    };
    let places: Vec<_> = records.iter().map(|record| loader.push(&plain(schema, record), &mut full).unwrap()).collect();
    loader.finish(&mut full).unwrap();
    assert_eq!(loader.next(), pages.len() as u64);
    let opened: Vec<_> =
        pages.iter().map(|bytes| Page::open(options.layout, &bytes[..], schema, true, &place).unwrap()).collect();
    for (record, (page, slot)) in records.iter().zip(places) {
        for (attribute, field) in plain(schema, record).into_iter().enumerate() {
            assert_eq!(opened[page as usize].field(slot, attribute), field);
        }
    }
    (pages.len(), loader.reorganised())
}

/// A relation like the paper's R, one like lineitem, and one of narrow columns.
pub(super) fn relations() -> Vec<(Vec<(LogicalType, bool)>, usize)> {
    let decimal = LogicalType::Decimal { precision: 15, scale: 2 };
    let text = LogicalType::Varchar(None);
    let mut lineitem = vec![LogicalType::Int(64), LogicalType::Int(64), LogicalType::Int(64), LogicalType::Int(32)];
    lineitem.extend([decimal.clone(), decimal.clone(), decimal.clone(), decimal]);
    lineitem.extend([LogicalType::Char(1), LogicalType::Char(1)]);
    lineitem.extend([LogicalType::Date, LogicalType::Date, LogicalType::Date]);
    lineitem.extend([text.clone(), text.clone(), text.clone()]);
    vec![
        (vec![(LogicalType::Int(64), false); 8], 0),
        (vec![(LogicalType::Int(64), true); 8], 0),
        (lineitem.into_iter().map(|own| (own, false)).collect(), 18),
        (vec![(LogicalType::Int(64), false); 64], 0),
        (vec![(text.clone(), true)], 40),
        (vec![(LogicalType::Boolean, true), (text, false), (LogicalType::Int(16), true)], 9),
    ]
}

#[test]
fn a_loaded_pax_table_takes_no_more_pages_than_an_nsm_one() {
    for (at, (columns, longest)) in relations().into_iter().enumerate() {
        let schema = schema(&columns);
        let records = records(&schema, 3000, longest, at as u64);
        let (pax, _) = load(HeapOptions::new(HeapLayout::Pax), &schema, &records);
        let (nsm, _) = load(HeapOptions::new(HeapLayout::Nsm), &schema, &records);
        assert!(pax <= nsm, "relation {at}: {pax} pages of minipages, {nsm} of records");
    }
}

#[test]
fn a_threshold_saves_reorganisations_for_some_more_pages() {
    let (columns, longest) = relations().remove(2);
    let schema = schema(&columns);
    let records = records(&schema, 6000, longest, 5);
    let loads = [0, 5, 10]
        .map(|threshold| load(HeapOptions { threshold, ..HeapOptions::new(HeapLayout::Pax) }, &schema, &records));
    let [(tight, most), (_, fewer), (loose, least)] = loads;
    assert!(least <= fewer && fewer <= most && least < most, "{loads:?}");
    assert!(tight <= loose, "{loads:?}");
}

#[test]
fn minipages_of_fixed_columns_begin_on_cache_lines_of_the_map() {
    let schema = schema(&relations().remove(0).0);
    let mut page = PaxPage::empty(8176, &schema, 7, 3, Deletes::Compact, &[0.0; 8]).unwrap();
    let bytes = page.seal(1);
    for attribute in 0..8 {
        let start = usize::from(head::u16_at(bytes, head::HEAD + 2 * attribute) & !7);
        assert_eq!((start + 16) % 64, 0, "minipage {attribute} begins at {start}");
    }
}

#[test]
fn the_largest_record_fills_a_page_and_one_byte_more_fits_none() {
    let text = schema(&[(LogicalType::Binary, false)]);
    for layout in [HeapLayout::Nsm, HeapLayout::Pax] {
        let fits = |length: usize| {
            let mut page = empty(layout, Deletes::Compact, 4080, &text);
            let slot = page.insert(&[Field::Bytes(&vec![7; length])]).unwrap();
            slot.map(|slot| {
                let sealed = page.seal(1).to_vec();
                let read = Page::open(layout, &sealed[..], &text, true, &place).unwrap();
                assert_eq!(read.field(slot, 0), Field::Bytes(&vec![7; length]));
                read.free()
            })
        };
        let largest = (3900..4080).rev().find(|length| fits(*length).is_some()).unwrap();
        assert!(largest > 4000, "{layout:?}: {largest}");
        assert!(fits(largest + 1).is_none());
        assert!(fits(largest).unwrap() < 8, "{layout:?}");
    }
}

#[test]
fn a_value_that_grows_borrows_from_the_minipage_beside_it() {
    let two = schema(&[(LogicalType::Binary, true), (LogicalType::Binary, false)]);
    for grown in 0..2 {
        let mut page = PaxPage::empty(4080, &two, 7, 3, Deletes::Compact, &[20.0, 20.0]).unwrap();
        let short = [3; 10];
        for _ in 0..40 {
            page.insert(&[Field::Bytes(&short), Field::Bytes(&short)], 0).unwrap().unwrap();
        }
        let long = vec![5; 1500];
        assert_eq!(page.update(20, &[(grown, Field::Bytes(&long))]).unwrap(), Update::Done);
        assert_eq!(page.reorganised(), 0, "borrowing moves one boundary only");
        let sealed = page.seal(1).to_vec();
        let read = PaxPage::open(&sealed[..], &two, true, &place).unwrap();
        for slot in 0..40 {
            for attribute in 0..2 {
                let expected = if slot == 20 && attribute == grown { &long[..] } else { &short[..] };
                assert_eq!(read.field(slot, attribute), Field::Bytes(expected), "slot {slot}");
            }
        }
        // No neighbour has so much; the page as a whole has not either.
        assert_eq!(page.update(21, &[(grown, Field::Bytes(&vec![1; 3900]))]).unwrap(), Update::Outgrown);
        assert_eq!(page.seal(1), &sealed[..], "a refused update changes nothing");
    }
}

#[test]
fn null_and_the_empty_string_are_two_things() {
    let text = schema(&[(LogicalType::Varchar(None), true), (LogicalType::Int(32), true)]);
    for layout in [HeapLayout::Nsm, HeapLayout::Pax] {
        let mut page = empty(layout, Deletes::Compact, 4080, &text);
        let null = page.insert(&[Field::Null, Field::Null]).unwrap().unwrap();
        let filled = page.insert(&[Field::Bytes(b""), Field::Code(0)]).unwrap().unwrap();
        assert_eq!([page.field(null, 0), page.field(null, 1)], [Field::Null, Field::Null]);
        assert_eq!([page.field(filled, 0), page.field(filled, 1)], [Field::Bytes(b""), Field::Code(0)]);
    }
}

#[test]
fn what_does_not_fit_its_column_is_refused_by_name() {
    let own = schema(&[(LogicalType::Int(8), false)]);
    let attribute = &own.attributes()[0];
    for (value, part) in [
        (Datum::Null, "NOT NULL"),
        (Datum::Integer(128), "TINYINT"),
        (Datum::Integer(i128::MIN), "TINYINT"),
        (Datum::Bytes((*b"x").into()), "TINYINT"),
        (Datum::Float(FloatBits::new(1.0)), "TINYINT"),
    ] {
        let error = attribute.field(&value).unwrap_err().to_string();
        assert!(error.contains("'c1'") && error.contains(part), "{error}");
    }
    let mut page = empty(HeapLayout::Pax, Deletes::Compact, 4080, &own);
    for fields in [&[][..], &[Field::Null], &[Field::Code(256)], &[Field::Bytes(b"a")], &[Field::Code(1); 2]] {
        assert!(page.insert(fields).is_err(), "{fields:?}");
    }
    let slot = page.insert(&[Field::Code(1)]).unwrap().unwrap();
    assert!(page.update(slot, &[(0, Field::Code(1)), (0, Field::Code(2))]).is_err(), "twice the same column");
    assert!(page.update(slot, &[(1, Field::Code(1))]).is_err());
}

/// A page of each layout with some records, sealed.
fn samples() -> Vec<(HeapLayout, Arc<PageSchema>, Vec<u8>)> {
    let columns = [
        (LogicalType::Int(32), true),
        (LogicalType::Varchar(None), true),
        (LogicalType::Decimal { precision: 38, scale: 0 }, false),
        (LogicalType::Binary, false),
    ];
    let schema = schema(&columns);
    let mut samples = Vec::new();
    for (layout, deletes) in
        [(HeapLayout::Nsm, Deletes::Compact), (HeapLayout::Pax, Deletes::Compact), (HeapLayout::Pax, Deletes::Defer)]
    {
        let mut page = empty(layout, deletes, 4080, &schema);
        for record in records(&schema, 30, 30, 9) {
            page.insert(&plain(&schema, &record)).unwrap().unwrap();
        }
        page.delete(4);
        page.delete(17);
        samples.push((layout, Arc::clone(&schema), page.seal(5).to_vec()));
    }
    samples
}

/// Opens a page and reads all of it, as far as it lets itself be read.
fn read_all(layout: HeapLayout, schema: &Arc<PageSchema>, bytes: &[u8], verify: bool) -> crate::Result<usize> {
    let page = Page::open(layout, bytes, schema, verify, &place)?;
    if let Page::Pax(page) = &page
        && verify
    {
        (0..schema.attributes().len()).try_for_each(|attribute| page.verify(attribute, &place))?;
    }
    let live = (0..page.slots()).filter(|slot| page.is_live(*slot));
    Ok(live.map(|slot| (0..schema.attributes().len()).filter(|at| page.field(slot, *at) != Field::Null).count()).sum())
}

#[test]
fn every_flipped_byte_of_a_page_is_found_and_named() {
    for (layout, schema, bytes) in samples() {
        read_all(layout, &schema, &bytes, true).unwrap();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x41;
            let error = read_all(layout, &schema, &damaged, true).expect_err("a flipped byte");
            assert!(matches!(error, Error::Corrupt { .. } | Error::Unsupported(_)), "byte {at}: {error}");
            assert!(error.to_string().contains("page 3 of table t"), "byte {at}: {error}");
        }
        let last = bytes.len() - 1;
        let mut damaged = bytes.clone();
        damaged[last] ^= 1;
        if layout == HeapLayout::Pax {
            let error = read_all(layout, &schema, &damaged, true).unwrap_err().to_string();
            assert!(error.contains("minipage 3 (column 'c4')"), "{error}");
        }
        assert!(read_all(layout, &schema, &bytes[..last], true).is_err());
        assert!(read_all(layout, &schema, &[], true).is_err());
    }
}

#[test]
fn damage_that_no_checksum_shows_leads_nowhere_outside() {
    let mut random = Random(3);
    let rounds = if std::env::var_os("GINGHAM_NIGHTLY").is_some() { 400_000 } else { 8000 };
    for (layout, schema, bytes) in samples() {
        let mut refused = 0;
        for _ in 0..rounds {
            let mut damaged = bytes.clone();
            for _ in 0..1 + random.below(4) {
                // Mostly where offsets and counts lie.
                let end = [bytes.len(), 96, 96][random.below(3)];
                damaged[random.below(end)] = random.next() as u8;
            }
            refused += usize::from(read_all(layout, &schema, &damaged, false).is_err());
        }
        assert!(refused > rounds / 4, "{layout:?}: {refused}");
    }
}

#[test]
fn a_newer_version_of_a_page_is_refused_by_version() {
    for (layout, schema, mut bytes) in samples() {
        bytes[4] = 2;
        let error = read_all(layout, &schema, &bytes, true).unwrap_err();
        assert!(matches!(&error, Error::Unsupported(text) if text.contains("version 2")), "{error}");
    }
}
