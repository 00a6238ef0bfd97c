//! Damaged segments: whatever byte is flipped or wherever a file is cut, reading gives an error that names the file, or
//! the values that were written. Structures that lie with right checksums are refused too.

use super::*;
use crate::model::design::{ColumnDesign, Group, Layout, Packing};
use crate::segment::format::{BLOCK_HEADER, BlockHeader, ENTRY, HEADER, Packing as BlockPacking, TRAILER, Trailer};

/// A table of every type with NULLs, some strings compressed, and its values.
fn sample(rows: i128) -> (TableDefinition, Vec<Vec<Datum>>) {
    let definition = table(&types());
    let columns = types().into_iter().enumerate().map(|(place, logical_type)| {
        let values = (0..rows).map(|row| {
            if (row + place as i128) % 11 == 3 {
                return Datum::Null;
            }
            match logical_type.class() {
                ValueClass::Integer if logical_type == LogicalType::Boolean => Datum::Integer(row % 2),
                ValueClass::Integer if place == 10 => Datum::Integer((row - 50) * 10i128.pow(30)),
                ValueClass::Integer => Datum::Integer(row % 100),
                ValueClass::Float => Datum::Float(FloatBits::new(row as f64 / 4.0)),
                ValueClass::Bytes if place == 18 => {
                    Datum::Bytes(["x", "yy", "zzz"][row as usize % 3].as_bytes().into())
                }
                ValueClass::Bytes => Datum::Bytes(format!("a täxt of record {row} of many").into_bytes().into()),
            }
        });
        values.collect()
    });
    (definition, columns.collect())
}

/// Reads bytes as a segment file would be read.
fn read_bytes(
    path: &Path,
    bytes: &[u8],
    definition: &TableDefinition,
    written: &WrittenSegment,
) -> Result<Vec<Vec<Datum>>> {
    std::fs::write(path, bytes).unwrap();
    let segment = open(path, written, cache(1 << 30))?;
    let checked = segment.check();
    let values = read(definition, &segment);
    assert_eq!(values.is_err(), !checked.is_empty(), "check and view agree");
    values
}

fn expect_corrupt(result: Result<Vec<Vec<Datum>>>, right: &[Vec<Datum>], what: &str) {
    match result {
        Ok(values) => assert_eq!(values, right, "{what}"),
        Err(error @ Error::Corrupt { .. }) => {
            assert!(error.to_string().contains("7.seg"), "{what}: {error}");
        }
        Err(error) => panic!("{what}: {error}"),
    }
}

/// Columns, rows, and groups with each packing.
fn designs() -> Vec<Design> {
    let groups = vec![
        Group { columns: vec![19, 3, 10], layout: Layout::MemPax(8) },
        Group { columns: vec![0, 20, 18], layout: Layout::Row },
    ];
    let packings = Packing::ALL.into_iter().zip(4..);
    let packed = packings.map(|(packing, column)| ColumnDesign { packing: Some(packing), ..ColumnDesign::new(column) });
    let grouped = Design { groups, columns: packed.collect(), ..Design::default() };
    vec![Design::default(), Design::of_layout(Layout::Row), grouped]
}

/// Dense pages, alone and beside others.
fn dense_designs() -> Vec<Design> {
    let groups = vec![Group { columns: vec![19, 3, 10], layout: Layout::SuperTuple }];
    let beside = Design { groups, page_size: 4096, ..Design::of_layout(Layout::Row) };
    vec![Design::of_layout(Layout::SuperTuple), Design::of_layout(Layout::DenseColumn), beside]
}

#[test]
fn no_flipped_byte_goes_unnoticed() {
    for design in designs().into_iter().chain(dense_designs()) {
        flip_bytes(design);
    }
}

fn flip_bytes(design: Design) {
    let (mut definition, columns) = sample(60);
    definition.design = design;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("7.seg");
    let written = write_file(&path, 7, &definition, batches(&definition, &columns, 60), false, 32).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(read_bytes(&path, &bytes, &definition, &written).unwrap(), columns);
    for place in (0..bytes.len()).step_by(11).chain(bytes.len() - TRAILER..bytes.len()).chain(0..HEADER) {
        let mut damaged = bytes.clone();
        damaged[place] ^= 1 << (place % 8);
        let result = read_bytes(&path, &damaged, &definition, &written);
        assert!(result.is_err(), "byte {place} of {}", bytes.len());
        expect_corrupt(result, &columns, &format!("byte {place}"));
    }
}

#[test]
fn no_cut_goes_unnoticed() {
    for design in [Design::default()].into_iter().chain(dense_designs()) {
        cut(design);
    }
}

fn cut(design: Design) {
    let (mut definition, columns) = sample(60);
    definition.design = design;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("7.seg");
    let written = write_file(&path, 7, &definition, batches(&definition, &columns, 60), false, 32).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    for length in (0..bytes.len()).step_by(97).chain(bytes.len() - 40..bytes.len()) {
        let result = read_bytes(&path, &bytes[..length], &definition, &written);
        assert!(result.is_err(), "cut at {length}");
        expect_corrupt(result, &columns, &format!("cut at {length}"));
    }
    let mut longer = bytes.clone();
    longer.extend_from_slice(&bytes);
    expect_corrupt(read_bytes(&path, &longer, &definition, &written), &columns, "twice");
}

/// A segment whose blocks and directory are changed by `change`, with all checksums made right again.
fn forged(bytes: &[u8], written: &WrittenSegment, change: impl FnOnce(&mut Vec<u8>)) -> (Vec<u8>, WrittenSegment) {
    let trailer = Trailer::parse(bytes.last_chunk().unwrap()).unwrap();
    let (start, length) = (trailer.offset as usize, trailer.length as usize);
    let json = u32::from_le_bytes(*bytes[start..].first_chunk().unwrap()) as usize;
    let (mut entry, mut covered) = (start + 4 + json, HEADER);
    let mut places = Vec::new();
    while covered < start {
        let offset = u64::from_le_bytes(*bytes[entry..].first_chunk().unwrap()) as usize;
        let length = u32::from_le_bytes(*bytes[entry + 8..].first_chunk().unwrap()) as usize;
        places.push((entry, offset..offset + length));
        (entry, covered) = (entry + ENTRY, covered + length);
    }
    let mut bytes = bytes.to_vec();
    change(&mut bytes);
    // Blocks first, whose checksums stand in the directory too.
    for (entry, block) in places {
        let checksum = crc32c::crc32c(&bytes[block.start + 4..block.end]).to_le_bytes();
        bytes[block.start..block.start + 4].copy_from_slice(&checksum);
        bytes[entry + 12..entry + 16].copy_from_slice(&checksum);
    }
    let checksum = crc32c::crc32c(&bytes[start..start + length]);
    let end = bytes.len() - TRAILER;
    bytes[end..].copy_from_slice(&Trailer { checksum, ..trailer }.to_bytes());
    let dictionaries = written.dictionaries.clone();
    (
        bytes,
        WrittenSegment {
            directory_checksum: checksum,
            dictionaries,
            columns: Vec::new(),
            ranges: Vec::new(),
            ..*written
        },
    )
}

#[test]
fn lies_with_right_checksums_are_survived() {
    for design in designs() {
        tell_lies(design);
    }
}

fn tell_lies(design: Design) {
    let (mut definition, columns) = sample(40);
    definition.design = design;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("7.seg");
    let written = write_file(&path, 7, &definition, batches(&definition, &columns, 40), false, 32).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let trailer = Trailer::parse(bytes.last_chunk().unwrap()).unwrap();
    let (same, same_written) = forged(&bytes, &written, |_| {});
    assert_eq!(read_bytes(&path, &same, &definition, &same_written).unwrap(), columns);
    // Wrong values may come out of a forged file; a panic or an error of another kind may not.
    for place in (HEADER..trailer.offset as usize + trailer.length as usize).step_by(47) {
        for value in [0, 0x7f, 0xff] {
            let (forged, written) = forged(&bytes, &written, |bytes| bytes[place] = value);
            std::fs::write(&path, &forged).unwrap();
            match open(&path, &written, cache(1 << 30)).and_then(|segment| read(&definition, &segment)) {
                Ok(_) | Err(Error::Corrupt { .. }) => {}
                Err(error) => panic!("byte {place} set to {value}: {error}"),
            }
        }
    }
}

#[test]
fn lengths_that_lie_are_refused() {
    let definition = table(&[LogicalType::Varchar(None)]);
    let columns = [texts(["añb", "c", "", "dd"])];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("7.seg");
    let written = write_file(&path, 7, &definition, batches(&definition, &columns, 60), false, 32).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let header = |change: fn(&mut BlockHeader)| {
        let (forged, written) = forged(&bytes, &written, |bytes| {
            let end = Trailer::parse(bytes.last_chunk().unwrap()).unwrap().offset as usize;
            let checksum = u32::from_le_bytes(*bytes[HEADER..].first_chunk().unwrap());
            let (mut header, payload) = BlockHeader::parse(&bytes[HEADER..end], checksum).unwrap();
            change(&mut header);
            let header = header.to_bytes(payload);
            bytes[HEADER..HEADER + BLOCK_HEADER].copy_from_slice(&header);
        });
        read_bytes(&path, &forged, &definition, &written).unwrap_err().to_string()
    };
    for (change, message) in [
        ((|header| header.rows = 5) as fn(&mut BlockHeader), "5 records where 4 are expected"),
        (|header| header.base = 1, "strings exceed"),
        (|header| header.base = u64::MAX, "strings"),
        (|header| header.codes_length += 1, "packed codes where"),
        (|header| header.width = 64, "packed codes where"),
        (|header| header.packing = BlockPacking::BitPacked, "can't be"),
        (|header| header.codes_compressed = true, "decompression"),
        (|header| header.bytes_compressed = true, "decompression"),
        (|header| header.validity = true, "2 NULLs where 0 are expected"),
    ] {
        let error = header(change);
        assert!(error.contains(message), "{error} lacks '{message}'");
        assert!(error.contains("column 'c0' zone 0"), "{error}");
    }
}

#[test]
fn text_is_cut_between_characters_only() {
    let definition = table(&[LogicalType::Varchar(None)]);
    let binary = table(&[LogicalType::Binary]);
    let columns = [vec![Datum::Bytes([b'a', 0xc3].as_slice().into()), Datum::Bytes([0xb1, b'b'].as_slice().into())]];
    let (_, image) = write_image(1, &binary, batches(&binary, &columns, 9), 8).unwrap();
    let segment = Segment::from_image(image.into(), 1, "delta", cache(0)).unwrap();
    assert_eq!(read(&binary, &segment).unwrap(), columns);
    // The same bytes called text: a whole character, but cut in two.
    let (_, image) = write_image(1, &binary, batches(&binary, &columns, 9), 8).unwrap();
    let as_text = String::from_utf8_lossy(&image).contains("\"Binary\"");
    assert!(as_text);
    let place = image.windows(8).position(|window| window == b"\"Binary\"").unwrap();
    let mut image = image;
    // JSON of the same length: VARCHAR without a limit does not fit, CHAR(0) does not matter for reading.
    let end = Trailer::parse(image.last_chunk().unwrap()).unwrap();
    let json = u32::from_le_bytes(*image[end.offset as usize..].first_chunk().unwrap());
    image.splice(place..place + 8, br#"{"Char":2}"#.iter().copied());
    let start = end.offset as usize;
    image[start..start + 4].copy_from_slice(&(json + 2).to_le_bytes());
    let length = end.length + 2;
    let checksum = crc32c::crc32c(&image[start..start + length as usize]);
    let place = image.len() - TRAILER;
    image[place..].copy_from_slice(&Trailer { length, checksum, ..end }.to_bytes());
    let segment = Segment::from_image(image.into(), 1, "delta", cache(0)).unwrap();
    let definition = TableDefinition {
        columns: vec![ColumnDefinition { logical_type: LogicalType::Char(2), ..definition.columns[0].clone() }],
        ..definition
    };
    let error = read(&definition, &segment).unwrap_err().to_string();
    assert!(error.contains("inside a character"), "{error}");
}

#[test]
fn another_segment_in_its_place_is_refused() {
    let definition = table(&[LogicalType::Int(32)]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("7.seg");
    let input = batches(&definition, &[integers([1, 2])], 9);
    let written = write_file(&path, 8, &definition, input.clone(), true, 8).unwrap();
    let error = Segment::open(&path, 7, written.directory_checksum, BTreeMap::new(), cache(0)).unwrap_err();
    assert!(error.to_string().contains("segment 8 where 7 is expected"), "{error}");
    let written = write_file(&path, 7, &definition, input, true, 8).unwrap();
    let error = Segment::open(&path, 7, written.directory_checksum ^ 1, BTreeMap::new(), cache(0)).unwrap_err();
    assert!(error.to_string().contains("not the one that the catalog names"), "{error}");
    assert!(Segment::open(&path, 7, written.directory_checksum, BTreeMap::new(), cache(0)).is_ok());
}

#[test]
fn groups_that_lie_are_refused() {
    let mut definition = table(&[LogicalType::Int(32), LogicalType::Int(32), LogicalType::Varchar(None)]);
    definition.design = Design {
        groups: vec![Group { columns: vec![1, 0], layout: Layout::MemPax(8) }],
        ..Design::of_packing(Packing::ByteSlice)
    };
    let columns = [integers(0..20), integers(0..20), texts((0..20).map(|row| format!("text {row}")))];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("7.seg");
    let written = write_file(&path, 7, &definition, batches(&definition, &columns, 60), false, 16).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    // Changes of the same length within the description.
    for (from, to, message) in [
        ("\"columns\":[1,0]", "\"columns\":[1,1]", "grouped already"),
        ("\"columns\":[1,0]", "\"columns\":[1,7]", "not there"),
        ("\"columns\":[1,0]", "\"columns\":[0,1]", "does not follow"),
        ("{\"mempax\":8}", "{\"mempax\":0}", "2 columns in layout mempax(0)"),
        (
            "\"columns\":[2],\"layout\":\"column\",\"packing\":\"native\"",
            "\"columns\":[2],\"layout\":\"column\",\"packing\":\"spiral\"",
            "spiral",
        ),
    ] {
        let (forged, written) = forged(&bytes, &written, |bytes| {
            let place = bytes.windows(from.len()).rposition(|window| window == from.as_bytes()).unwrap();
            bytes[place..place + to.len()].copy_from_slice(to.as_bytes());
        });
        let error = read_bytes(&path, &forged, &definition, &written).unwrap_err().to_string();
        assert!(error.contains(message) && error.contains("7.seg"), "{error} lacks '{message}'");
    }
}
