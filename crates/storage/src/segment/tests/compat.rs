//! The segment of format version 1 in tests/compat: today's build must read what the first build wrote.
//!
//! The file holds every type, encoding, packing and compression; the values follow the formulas here, which must not
//! change. A new format version gets a file and formulas of its own.

use super::*;
use crate::segment::format::{BlockHeader, Packing, Trailer};
use std::collections::BTreeSet;
use std::path::PathBuf;

const ID: u64 = 41;
const ROWS: i128 = 700;
const DIRECTORY_CHECKSUM: u32 = 0x7add_a13f;

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/compat/segment-v1.seg")
}

/// Types and values of the columns.
fn content() -> (TableDefinition, Vec<Vec<Datum>>) {
    let mut types = types();
    types.push(LogicalType::Int(64));
    types.push(LogicalType::Int(32));
    types.push(LogicalType::Float64);
    let columns = types
        .iter()
        .enumerate()
        .map(|(place, logical_type)| (0..ROWS).map(|row| value_at(place, logical_type, row)).collect());
    let columns = columns.collect();
    (table(&types), columns)
}

fn value_at(place: usize, logical_type: &LogicalType, row: i128) -> Datum {
    if place < 21 && (row + place as i128) % 13 == 5 {
        return Datum::Null;
    }
    match (place, logical_type.class()) {
        (0, _) => Datum::Integer(row % 2),
        (10, _) => Datum::Integer((row - 350) * 10i128.pow(34)),
        (21, _) => Datum::Integer(row / 4 * 32 + row % 3),
        (22, _) => Datum::Integer(row / 100),
        (23, _) => Datum::Float(FloatBits::new(row as f64 / 7.0)),
        (_, ValueClass::Integer) => Datum::Integer(row * 7 % 101),
        (_, ValueClass::Float) => Datum::Float(FloatBits::new(row as f64 / 4.0)),
        (18, _) => texts([["rail", "air", "ship"][row as usize % 3]]).remove(0),
        (_, ValueClass::Bytes) => texts([format!("täxt {}", row * row)]).remove(0),
    }
}

/// The dictionary of the only column that has one.
fn entries() -> ArrayRef {
    Arc::new(StringViewArray::from_iter_values(["air", "rail", "ship"]))
}

#[test]
fn version_1_is_read() {
    let (definition, columns) = content();
    let dictionary = Dictionary::build("c18", vec![(1, entries())]).unwrap();
    let dictionaries = BTreeMap::from([(18, Arc::clone(&dictionary.versions[&1]))]);
    let segment = Segment::open(&path(), ID, DIRECTORY_CHECKSUM, dictionaries, cache(1 << 20)).unwrap();
    assert_eq!(read(&definition, &segment).unwrap(), columns);
    assert!(segment.check().is_empty());
    check_statistics(&segment, &columns, true);
}

#[test]
fn version_1_holds_all_forms() {
    let bytes = std::fs::read(path()).unwrap();
    let end = Trailer::parse(bytes.last_chunk().unwrap()).unwrap().offset as usize;
    let segment = Segment::open(&path(), ID, DIRECTORY_CHECKSUM, BTreeMap::new(), cache(0)).unwrap();
    let mut forms = BTreeSet::new();
    let mut offset = crate::segment::format::HEADER;
    for block in segment.blocks() {
        let next = offset + block.length as usize;
        let (header, _) = BlockHeader::parse(&bytes[offset..next], block.checksum).unwrap();
        forms.insert(format!("{:?}", header.packing));
        forms.extend(header.validity.then(|| "validity".to_owned()));
        forms.extend(header.codes_compressed.then(|| format!("compressed {:?}", header.packing)));
        forms.extend(header.bytes_compressed.then(|| "compressed bytes".to_owned()));
        offset = next;
    }
    assert_eq!(offset, end);
    for form in [Packing::BitPacked, Packing::Delta, Packing::Wide, Packing::Bytes] {
        assert!(forms.contains(&format!("{form:?}")), "{form:?} of {forms:?}");
    }
    for form in ["validity", "compressed Delta", "compressed Wide", "compressed bytes"] {
        assert!(forms.contains(form), "{form} of {forms:?}");
    }
}

/// Writes the file when `GINGHAM_WRITE_COMPAT` is set and it is not there; kept to show how it came to be.
#[test]
fn write_version_1() {
    if std::env::var_os("GINGHAM_WRITE_COMPAT").is_none() {
        return;
    }
    let (definition, columns) = content();
    assert!(!path().exists(), "{} is there and must stay as it is", path().display());
    let written = write_file(&path(), ID, &definition, batches(&definition, &columns, 99), true, 512).unwrap();
    assert_eq!(written.dictionaries, [(18, entries())]);
    println!("directory checksum {:#010x}", written.directory_checksum);
}
