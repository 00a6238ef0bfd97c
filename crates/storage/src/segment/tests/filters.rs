//! Filters of keys: no key of a segment is missing in its filter, whatever its types; damage is told by file and place, not
//! answered; and a filter is made where zone maps alone would not do.

use super::*;
use crate::segment::format::{TRAILER, Trailer};
use crate::segment::key_hash::{hash_key, hash_keys};
use crate::{ColumnId, KeyDefinition};

fn key(columns: &[ColumnId]) -> KeyDefinition {
    KeyDefinition { name: format!("{columns:?}"), columns: columns.to_vec(), primary: false }
}

/// The values of each record's key, by ascending ids, without keys that have a NULL.
fn keys_of<'v>(key: &KeyDefinition, columns: &'v [Vec<Datum>]) -> Vec<Vec<&'v Datum>> {
    let mut ids = key.columns.clone();
    ids.sort_unstable();
    let records = 0..columns[0].len();
    let keys = records.map(|row| ids.iter().map(|id| &columns[*id as usize][row]).collect::<Vec<_>>());
    keys.filter(|key| !key.iter().any(|value| value.is_null())).collect()
}

/// Writes a segment with keys; what reads it.
fn written(
    folder: &Path,
    definition: &TableDefinition,
    columns: &[Vec<Datum>],
    zone_rows: usize,
) -> (WrittenSegment, std::path::PathBuf) {
    let path = folder.join("7.seg");
    let written = write_file(&path, 7, definition, batches(definition, columns, 37), false, zone_rows).unwrap();
    (written, path)
}

/// All keys are in the filters, as arrays and one by one.
fn no_key_is_missing(definition: &TableDefinition, columns: &[Vec<Datum>], zone_rows: usize) {
    let folder = tempfile::tempdir().unwrap();
    let (written, path) = written(folder.path(), definition, columns, zone_rows);
    let segment = open(&path, &written, cache(1 << 30)).unwrap();
    assert!(segment.check().is_empty(), "{:?}", segment.check());
    assert_eq!(read(definition, &segment).unwrap(), columns);
    let whole = batches(definition, columns, columns[0].len()).remove(0);
    for key in &definition.keys {
        let arrays: Vec<ArrayRef> = key.columns.iter().map(|id| whole.column(*id as usize).clone()).collect();
        let hashes = hash_keys(&key.columns, &arrays).unwrap();
        let own = keys_of(key, columns);
        let one_by_one: Vec<u64> = own.iter().map(|key| hash_key(key.iter().copied()).unwrap()).collect();
        assert!(one_by_one.iter().all(|hash| hashes.contains(hash)), "{key:?}");
        let Some(found) = segment.may_have(&key.columns, &one_by_one).unwrap() else {
            assert!(zone_rows < columns[0].len(), "a filter is made when there is one zone: {key:?}");
            continue;
        };
        assert_eq!(found.len(), own.len(), "{key:?}");
        for hash in one_by_one {
            assert_eq!(segment.may_have(&key.columns, &[hash]).unwrap().unwrap(), [0], "{key:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(12)))]
    #[test]
    fn no_key_of_any_type_is_missing(
        columns in (1usize..300).prop_flat_map(|rows| {
            types().iter().map(|t| prop::collection::vec(any_value(t), rows)).collect::<Vec<_>>()
        }),
        pairs in prop::collection::vec(prop::sample::subsequence((0..21).collect::<Vec<ColumnId>>(), 1..4).prop_shuffle(), 1..4),
        zone_rows in prop::sample::select(vec![1usize, 64, 1000]),
    ) {
        let mut definition = table(&types());
        definition.keys = (0..21).map(|id| key(&[id])).chain(pairs.iter().map(|columns| key(columns))).collect();
        no_key_is_missing(&definition, &columns, zone_rows);
    }
}

#[test]
fn equal_floats_are_one_key() {
    let float = |value: f64| Datum::Float(FloatBits::new(value));
    assert_eq!(hash_key([&float(0.0)]), hash_key([&float(-0.0)]));
    assert_eq!(hash_key([&float(f64::NAN)]), hash_key([&float(-f64::NAN)]));
    assert_ne!(hash_key([&float(1.0)]), hash_key([&float(-1.0)]));
}

/// A table of numbers in no order, which has a filter of several pages, and one of pairs.
fn scattered() -> (TableDefinition, Vec<Vec<Datum>>) {
    let mut definition = table(&[LogicalType::Int(64), LogicalType::Varchar(None)]);
    definition.keys = vec![key(&[0]), key(&[1, 0])];
    let numbers = |row: i128| row * 7919 % 5003;
    (definition, vec![integers((0..5003).map(numbers)), texts((0..5003).map(|row| format!("name {}", row % 7)))])
}

#[test]
fn keys_that_are_not_there_are_told_apart() {
    let (definition, columns) = scattered();
    no_key_is_missing(&definition, &columns, 500);
    let folder = tempfile::tempdir().unwrap();
    let (written, path) = written(folder.path(), &definition, &columns, 500);
    let segment = open(&path, &written, cache(0)).unwrap();
    let others: Vec<u64> = (10_000..30_000).map(|key| hash_key([&Datum::Integer(key)]).unwrap()).collect();
    let wrong = segment.may_have(&[0], &others).unwrap().unwrap();
    assert!(wrong.len() < 50, "{} of 20,000", wrong.len());
    // Page by page it is the same.
    for (number, hash) in others.iter().enumerate().take(200) {
        let found = segment.may_have(&[0], std::slice::from_ref(hash)).unwrap().unwrap();
        assert_eq!(!found.is_empty(), wrong.contains(&number));
    }
    assert!(segment.may_have(&[1], &others).unwrap().is_none(), "the pair's filter is none of its part");
}

#[test]
fn keys_in_order_need_no_filter() {
    let mut definition = table(&[LogicalType::Int(64), LogicalType::Int(64)]);
    definition.keys = vec![key(&[0]), key(&[1])];
    let columns = vec![integers(0..1000), integers((0..1000).map(|row| row * 7 % 1000))];
    let folder = tempfile::tempdir().unwrap();
    for (zone_rows, ordered) in [(100, false), (1000, true)] {
        let (written, path) = written(folder.path(), &definition, &columns, zone_rows);
        let segment = open(&path, &written, cache(0)).unwrap();
        assert_eq!((segment.has_filter(&[0]), segment.has_filter(&[1])), (ordered, true), "zones of {zone_rows}");
    }
    definition.keys.clear();
    let (written, path) = written(folder.path(), &definition, &columns, 100);
    assert!(!open(&path, &written, cache(0)).unwrap().has_filter(&[1]));
    assert_eq!(std::fs::read(&path).unwrap()[8], 2, "without keys the format is version 2");
}

#[test]
fn damage_is_told_by_file_and_place() {
    let (definition, columns) = scattered();
    let folder = tempfile::tempdir().unwrap();
    let (written, path) = written(folder.path(), &definition, &columns, 500);
    let bytes = std::fs::read(&path).unwrap();
    let trailer = Trailer::parse(bytes.last_chunk().unwrap()).unwrap();
    let blocks = |keys: usize| keys.div_ceil(32) * 64;
    let start = trailer.offset as usize - 2 * blocks(5003);
    let hash = |row: usize| hash_key([&columns[0][row]]).unwrap();
    for place in (start..trailer.offset as usize).step_by(301) {
        let mut damaged = bytes.clone();
        damaged[place] ^= 1 << (place % 8);
        std::fs::write(&path, &damaged).unwrap();
        let segment = open(&path, &written, cache(1 << 20)).unwrap();
        assert_eq!(read(&definition, &segment).unwrap(), columns, "values need no filter");
        let errors = segment.check();
        assert!(matches!(&errors[..], [Error::Corrupt { .. }]), "{errors:?}");
        let text = errors[0].to_string();
        let column = if place < start + blocks(5003) { "column 0" } else { "columns 0, 1" };
        assert!(text.contains("7.seg") && text.contains(column) && text.contains("at byte"), "{text}");
        // An answer is the right one or an error, key by key and for all of them.
        for row in 0..200 {
            match segment.may_have(&[0], &[hash(row)]) {
                Ok(found) => assert_eq!(found.unwrap(), [0]),
                Err(error) => assert!(error.to_string().contains("7.seg"), "{error}"),
            }
        }
        let all: Vec<u64> = (0..5003).map(hash).collect();
        assert_eq!(segment.may_have(&[0], &all).is_err(), place < start + blocks(5003));
    }
}

#[test]
fn filters_of_other_keys_are_noticed() {
    let (definition, columns) = scattered();
    let folder = tempfile::tempdir().unwrap();
    let (mut written, path) = written(folder.path(), &definition, &columns, 500);
    let mut bytes = std::fs::read(&path).unwrap();
    let end = bytes.len() - TRAILER;
    let mut trailer = Trailer::parse(bytes.last_chunk().unwrap()).unwrap();
    // A bit of the last page is lost, and all checksums are right: the directory ends with those of the pages.
    let length = 5003usize.div_ceil(32) * 64;
    let page = trailer.offset as usize - length % 4096..trailer.offset as usize;
    let lost = page.clone().find(|place| bytes[*place] != 0).unwrap();
    bytes[lost] &= bytes[lost] - 1;
    let checksum = crc32c::crc32c(&bytes[page]);
    bytes[end - 4..end].copy_from_slice(&checksum.to_le_bytes());
    trailer.checksum = crc32c::crc32c(&bytes[trailer.offset as usize..end]);
    bytes[end..].copy_from_slice(&trailer.to_bytes());
    std::fs::write(&path, &bytes).unwrap();
    written.directory_checksum = trailer.checksum;
    let errors = open(&path, &written, cache(1 << 20)).unwrap().check();
    let text = errors.first().map(ToString::to_string).unwrap_or_default();
    assert!(text.contains("filter of key (columns 0, 1)") && text.contains("not that of the records"), "{text}");
}
