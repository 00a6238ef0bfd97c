//! The segments in tests/compat: today's build must read what the first builds of their format versions wrote.
//!
//! The file of version 1 holds every type, encoding, packing and compression; the values follow the formulas here, which
//! must not change. That of version 2 holds the same values in groups, the packings of its time among them; that of version 3 holds
//! them with filters of keys.

use super::*;
use crate::KeyDefinition;
use crate::model::design::{ColumnDesign, EncodingChoice, Group, Layout, Packing};
use crate::segment::format::{BlockHeader, Packing as BlockPacking, Trailer};
use std::collections::BTreeSet;
use std::path::PathBuf;

const ID: u64 = 41;
const ROWS: i128 = 700;
const DIRECTORY_CHECKSUM: u32 = 0x7add_a13f;
const DIRECTORY_CHECKSUM_2: u32 = 0xdee7_f656;
const DIRECTORY_CHECKSUM_3: u32 = 0x4d71_f41c;

fn path(version: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../tests/compat/segment-v{version}.seg"))
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
    let segment = Segment::open(&path(1), ID, DIRECTORY_CHECKSUM, dictionaries, cache(1 << 20)).unwrap();
    assert_eq!(read(&definition, &segment).unwrap(), columns);
    assert!(segment.check().is_empty());
    check_statistics(&segment, &columns, true);
}

#[test]
fn version_1_holds_all_forms() {
    let bytes = std::fs::read(path(1)).unwrap();
    let end = Trailer::parse(bytes.last_chunk().unwrap()).unwrap().offset as usize;
    let segment = Segment::open(&path(1), ID, DIRECTORY_CHECKSUM, BTreeMap::new(), cache(0)).unwrap();
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
    for form in [BlockPacking::BitPacked, BlockPacking::Delta, BlockPacking::Wide, BlockPacking::Bytes] {
        assert!(forms.contains(&format!("{form:?}")), "{form:?} of {forms:?}");
    }
    for form in ["validity", "compressed Delta", "compressed Wide", "compressed bytes"] {
        assert!(forms.contains(form), "{form} of {forms:?}");
    }
}

/// The design of version 2's file.
fn design() -> Design {
    let packed = |column, packing| ColumnDesign { packing: Some(packing), ..ColumnDesign::new(column) };
    Design {
        groups: vec![
            Group { columns: vec![19, 3, 10, 12, 18], layout: Layout::Row },
            Group { columns: vec![1, 20, 8], layout: Layout::MemPax(100) },
        ],
        columns: vec![
            packed(2, Packing::ByteSlice),
            packed(4, Packing::Vbp),
            packed(5, Packing::ByteSlice16),
            packed(6, Packing::Hbp),
            packed(7, Packing::BitPacked),
            ColumnDesign { segment_bits: Some(256), ..packed(21, Packing::ByteSlice) },
            ColumnDesign { encoding: EncodingChoice::Plain, ..ColumnDesign::new(22) },
        ],
        ..Design::default()
    }
}

#[test]
fn version_2_is_read() {
    let (definition, columns) = content();
    let dictionary = Dictionary::build("c18", vec![(1, entries())]).unwrap();
    let dictionaries = BTreeMap::from([(18, Arc::clone(&dictionary.versions[&1]))]);
    let segment = Segment::open(&path(2), ID, DIRECTORY_CHECKSUM_2, dictionaries, cache(1 << 20)).unwrap();
    assert_eq!(read(&definition, &segment).unwrap(), columns);
    assert!(segment.check().is_empty());
    check_statistics(&segment, &columns, true);
    assert_eq!(segment.groups()[0].columns, [19, 3, 10, 12, 18]);
    assert_eq!((segment.groups()[0].layout, segment.groups()[1].layout), (Layout::Row, Layout::MemPax(100)));
    let packings: BTreeSet<_> =
        segment.groups().iter().map(|group| (group.packing.name(), group.segment_bits)).collect();
    for packing in ["bit_packed", "vbp", "hbp", "byteslice", "byteslice16", "native"] {
        assert!(packings.contains(&(packing, 512)), "{packing} of {packings:?}");
    }
    assert!(packings.contains(&("byteslice", 256)), "{packings:?}");
}

/// Writes the file when `GINGHAM_WRITE_COMPAT` is set and it is not there; kept to show how it came to be.
#[test]
fn write_version_2() {
    if std::env::var_os("GINGHAM_WRITE_COMPAT").is_none() || path(2).exists() {
        return;
    }
    let (mut definition, columns) = content();
    definition.design = design();
    let written = write_file(&path(2), ID, &definition, batches(&definition, &columns, 99), true, 500).unwrap();
    assert_eq!(written.dictionaries, [(18, entries())]);
    println!("directory checksum {:#010x}", written.directory_checksum);
}

/// Version 3's table: keys over each column, and over several.
fn with_keys() -> (TableDefinition, Vec<Vec<Datum>>) {
    let (mut definition, columns) = content();
    let alone = definition.columns.iter().map(|column| vec![column.id]);
    let keys = alone.chain([vec![19, 3], vec![10, 12, 0]]);
    let key = |columns| KeyDefinition { name: "key".into(), columns, primary: false };
    definition.keys = keys.map(key).collect();
    (definition, columns)
}

/// That a filter made today is the one of then, `check` says.
#[test]
fn version_3_is_read() {
    let (definition, columns) = with_keys();
    let dictionary = Dictionary::build("c18", vec![(1, entries())]).unwrap();
    let dictionaries = BTreeMap::from([(18, Arc::clone(&dictionary.versions[&1]))]);
    let segment = Segment::open(&path(3), ID, DIRECTORY_CHECKSUM_3, dictionaries, cache(1 << 20)).unwrap();
    assert_eq!(read(&definition, &segment).unwrap(), columns);
    assert!(segment.check().is_empty(), "{:?}", segment.check());
    check_statistics(&segment, &columns, true);
    for key in &definition.keys {
        // Columns whose values ascend need no filter.
        let ascends = key.columns.iter().any(|id| [11, 12, 21, 22, 23].contains(id));
        assert_eq!(segment.has_filter(&key.columns), !ascends, "{key:?}");
    }
}

/// Writes the file when `GINGHAM_WRITE_COMPAT` is set and it is not there; kept to show how it came to be.
#[test]
fn write_version_3() {
    if std::env::var_os("GINGHAM_WRITE_COMPAT").is_none() || path(3).exists() {
        return;
    }
    let (definition, columns) = with_keys();
    let written = write_file(&path(3), ID, &definition, batches(&definition, &columns, 99), true, 500).unwrap();
    assert_eq!(written.dictionaries, [(18, entries())]);
    println!("directory checksum {:#010x}", written.directory_checksum);
}
