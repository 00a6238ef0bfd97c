//! The segments in tests/compat: today's build must read what the first builds of their format versions wrote.
//!
//! The file of version 1 holds every type, encoding, packing and compression; the values follow the formulas here, which
//! must not change. That of version 2 holds the same values in groups, the packings of its time among them; that of version 3 holds
//! them with filters of keys, that of version 4 in dense pages.

use super::*;
use crate::KeyDefinition;
use crate::model::design::{ColumnDesign, EncodingChoice, Group, Layout, Packing};
use crate::model::page_packing::PagePacking;
use crate::segment::DenseMeta;
use crate::segment::format::{BlockHeader, Packing as BlockPacking, Trailer};
use std::collections::BTreeSet;
use std::path::PathBuf;

const ID: u64 = 41;
const ROWS: i128 = 700;
const DIRECTORY_CHECKSUM: u32 = 0x7add_a13f;
const DIRECTORY_CHECKSUM_2: u32 = 0xdee7_f656;
const DIRECTORY_CHECKSUM_3: u32 = 0x4d71_f41c;
const DIRECTORY_CHECKSUM_4: u32 = 0x873f_c5ae;

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

/// Version 4's table: dense pages in every packing, some columns beside them, and filters of keys. Three more columns have strings that
/// are longer than a page, numbers that ascend, and strings that compress.
fn with_dense_pages() -> (TableDefinition, Vec<Vec<Datum>>) {
    let (mut definition, mut columns) = content();
    let more = [LogicalType::Varchar(None), LogicalType::Int(64), LogicalType::Varchar(None)];
    let types: Vec<_> = definition.columns.iter().map(|column| column.logical_type.clone()).chain(more).collect();
    columns.push(texts((0..ROWS).map(|row| if row % 350 == 7 { "lang ".repeat(1900) } else { row.to_string() })));
    columns.push(integers((0..ROWS).map(|row| row * row)));
    columns.push(texts((0..ROWS).map(|row| format!("a note of record {row}, like all others"))));
    definition = table(&types);
    let key = |columns| KeyDefinition { name: "key".into(), columns, primary: false };
    definition.keys = vec![key(vec![4]), key(vec![19, 3])];
    let packed = |column, packing| ColumnDesign { page_packing: Some(packing), ..ColumnDesign::new(column) };
    definition.design = Design {
        groups: vec![
            Group { columns: vec![22, 21, 18, 19, 10, 2, 13], layout: Layout::SuperTuple },
            Group { columns: vec![14, 1, 15], layout: Layout::SuperTuple },
            Group { columns: vec![0, 17], layout: Layout::Row },
        ],
        columns: vec![
            packed(22, PagePacking::Delta),
            packed(18, PagePacking::PageDictionary(7)),
            packed(13, PagePacking::PageDictionary(7)),
            packed(3, PagePacking::BitPacked),
            packed(4, PagePacking::RunLength),
            packed(5, PagePacking::PageDictionary(6)),
            packed(6, PagePacking::Plain),
            packed(20, PagePacking::Plain),
            packed(23, PagePacking::RunLength),
            packed(24, PagePacking::Plain),
            packed(25, PagePacking::Delta),
        ],
        page_size: 4096,
        ..Design::of_layout(Layout::DenseColumn)
    };
    (definition, columns)
}

#[test]
fn version_4_is_read() {
    let (definition, columns) = with_dense_pages();
    let dictionary = Dictionary::build("c18", vec![(1, entries())]).unwrap();
    let dictionaries = BTreeMap::from([(18, Arc::clone(&dictionary.versions[&1]))]);
    let segment = Segment::open(&path(4), ID, DIRECTORY_CHECKSUM_4, dictionaries, cache(1 << 20)).unwrap();
    assert_eq!(read(&definition, &segment).unwrap(), columns);
    assert!(segment.check().is_empty(), "{:?}", segment.check());
    check_statistics(&segment, &columns, true);
    let packings: BTreeSet<_> = (0..27).filter_map(|column| Some(segment.page_packing(column)?.to_string())).collect();
    let expected = ["bit_packed", "delta", "page_dictionary(6)", "page_dictionary(7)", "plain", "run_length"];
    assert!(expected.iter().all(|packing| packings.contains(*packing)), "{packings:?}");
    let dense = segment.groups().iter().filter_map(|group| group.dense.as_ref());
    let continued = |dense: &DenseMeta| dense.table.windows(2).any(|pair| pair[0].first == pair[1].first);
    assert!(dense.clone().any(continued), "an entry goes on in another page");
    assert!(segment.has_filter(&[4]) && segment.has_filter(&[3, 19]));
}

/// Writes the file when `GINGHAM_WRITE_COMPAT` is set and it is not there; kept to show how it came to be.
#[test]
fn write_version_4() {
    if std::env::var_os("GINGHAM_WRITE_COMPAT").is_none() || path(4).exists() {
        return;
    }
    let (definition, columns) = with_dense_pages();
    let written = write_file(&path(4), ID, &definition, batches(&definition, &columns, 99), true, 500).unwrap();
    assert_eq!(written.dictionaries, [(18, entries())]);
    println!("directory checksum {:#010x}", written.directory_checksum);
}
