//! Dense pages: every packing holds whatever codes there are, in pages of every size, and what the choice measures is what is
//! written. Forged pages with right checksums are survived.

use super::*;
use crate::model::design::{ColumnDesign, Group, Layout};
use crate::model::page_packing::PagePacking;
use crate::segment::directory::Directory;
use crate::segment::format::{HEADER, TRAILER, Trailer};

const PACKINGS: [Option<PagePacking>; 7] = [
    None,
    Some(PagePacking::BitPacked),
    Some(PagePacking::RunLength),
    Some(PagePacking::PageDictionary(0)),
    Some(PagePacking::PageDictionary(3)),
    Some(PagePacking::Delta),
    Some(PagePacking::Plain),
];

/// Columns of codes that are hard in one way or another, of `rows` records.
fn shapes(rows: usize) -> Vec<(&'static str, Vec<Datum>)> {
    let of = |code: fn(u64) -> u64| integers((0..rows as u64).map(|row| code(row).into()));
    let mut shapes = vec![
        ("all equal", of(|_| 7)),
        ("all distinct", of(|row| row)),
        ("descending", of(|row| u64::from(u32::MAX) - row)),
        ("two long runs", of(|row| row / 4000 % 2)),
        ("runs of a few", of(|row| row / 5)),
        ("up to 2^32 - 1", of(|row| if row % 3 == 0 { u32::MAX.into() } else { row })),
        ("64 bits", of(|row| if row % 1000 == 0 { u64::MAX } else { row })),
        ("64 bits, ascending", of(|row| row * 0x1_0000_0001_0001)),
        ("63 bits", of(|row| if row == 0 { 0 } else { (1 << 62) + row })),
        ("eight values, far apart", of(|row| (row * row % 8) << 40)),
        ("steps of every size", of(|row| 1 << (row % 50))),
        ("a few at a time", of(|row| row / 300 * 1000 + row % 9)),
    ];
    let mut some = of(|row| row / 100);
    some.iter_mut().step_by(7).for_each(|value| *value = Datum::Null);
    shapes.push(("every seventh NULL", some));
    let mut last = of(|row| row % 200);
    last.iter_mut().skip(rows / 3).for_each(|value| *value = Datum::Null);
    shapes.push(("NULL from a third on", last));
    shapes.push(("NULL only", vec![Datum::Null; rows]));
    shapes
}

/// Writes and reads a table, with memory for a cache and without; gives the segment.
fn round_trip_dense(design: Design, types: &[LogicalType], columns: &[Vec<Datum>], zone_rows: usize) -> Segment {
    let mut definition = table(types);
    design.validate(&definition).unwrap();
    definition.design = design;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.seg");
    let written = write_file(&path, 1, &definition, batches(&definition, columns, 8000), false, zone_rows).unwrap();
    assert_eq!(written.bytes, path.metadata().unwrap().len());
    for limit in [1 << 30, 0] {
        let segment = open(&path, &written, cache(limit)).unwrap();
        let found = read(&definition, &segment).unwrap();
        for (column, (found, expected)) in found.iter().zip(columns).enumerate() {
            let wrong = (0..expected.len()).find(|row| found[*row] != expected[*row]);
            assert_eq!(wrong, None, "column {column} under {:?}", definition.design);
        }
        assert!(segment.check().is_empty());
    }
    open(&path, &written, cache(1 << 30)).unwrap()
}

/// Bytes of a segment's dense pages.
fn page_bytes(segment: &Segment) -> u64 {
    segment.groups().iter().filter_map(|group| group.dense.as_ref()).map(|dense| dense.bytes()).sum()
}

fn with_packing(layout: Layout, page_size: u32, columns: &[(u32, Option<PagePacking>)]) -> Design {
    let own = |(column, page_packing): &(u32, Option<PagePacking>)| ColumnDesign {
        page_packing: *page_packing,
        ..ColumnDesign::new(*column)
    };
    Design { page_size, columns: columns.iter().map(own).collect(), ..Design::of_layout(layout) }
}

#[test]
fn every_packing_holds_any_codes() {
    for (name, values) in shapes(9000) {
        for (page_size, zone_rows) in [(4096, 4000), (65_536, 1000)] {
            let mut sizes = Vec::new();
            for packing in PACKINGS {
                let design = with_packing(Layout::DenseColumn, page_size, &[(0, packing)]);
                let columns = [values.clone()];
                let segment = round_trip_dense(design, &[LogicalType::UInt(64)], &columns, zone_rows);
                assert_eq!(segment.columns()[0].stored_bytes, page_bytes(&segment));
                sizes.push(page_bytes(&segment));
            }
            assert!(sizes.iter().all(|size| sizes[0] <= *size), "{name}: the choice is the smallest of {sizes:?}");
        }
    }
}

#[test]
fn packings_are_what_was_asked_for_or_what_values_allow() {
    let packing_of = |values: &[Datum], asked| {
        let design = with_packing(Layout::DenseColumn, 4096, &[(0, Some(asked))]);
        let segment = round_trip_dense(design, &[LogicalType::UInt(64)], &[values.to_vec()], 4096);
        segment.page_packing(0).unwrap()
    };
    let ascending = integers(0..5000);
    let mut unsorted = ascending.clone();
    unsorted.swap(10, 4000);
    let wide = integers((0..5000).map(|row| if row == 3 { u64::MAX.into() } else { 0 }));
    assert_eq!(packing_of(&ascending, PagePacking::Delta), PagePacking::Delta);
    assert_eq!(packing_of(&unsorted, PagePacking::Delta), PagePacking::BitPacked);
    assert_eq!(packing_of(&unsorted, PagePacking::RunLength), PagePacking::RunLength);
    assert_eq!(packing_of(&wide, PagePacking::RunLength), PagePacking::BitPacked);
    assert_eq!(packing_of(&unsorted, PagePacking::PageDictionary(11)), PagePacking::PageDictionary(11));
    assert_eq!(packing_of(&integers([5; 100]), PagePacking::PageDictionary(11)), PagePacking::BitPacked);
    assert_eq!(packing_of(&unsorted, PagePacking::Plain), PagePacking::Plain);
}

/// A sorted table of four columns, as the paper sorts its tables.
fn sorted(rows: usize) -> Vec<Vec<Datum>> {
    let number =
        |row: u64, seed: u64| (row + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(seed as u32 * 13) >> 20;
    let mut records: Vec<[u64; 4]> =
        (0..rows as u64).map(|row| [6, 42, 1782, 3_000_000].map(|range| number(row, range) % range)).collect();
    records.sort_unstable();
    (0..4).map(|column| integers(records.iter().map(|record| record[column].into()))).collect()
}

#[test]
fn rows_are_delta_coded_by_their_first_columns() {
    let (types, columns) = (vec![LogicalType::Int(32); 4], sorted(30_000));
    let segment = round_trip_dense(Design::of_layout(Layout::SuperTuple), &types, &columns, 16_384);
    assert_eq!(segment.page_packing(0), Some(PagePacking::Delta));
    assert_eq!(segment.page_packing(3), Some(PagePacking::BitPacked));
    let automatic = page_bytes(&segment);
    // However many columns are asked for, none takes fewer bytes.
    for delta in 0..=4 {
        let asked = |column| Some(if column < delta { PagePacking::Delta } else { PagePacking::BitPacked });
        let own: Vec<_> = (0..4).map(|column| (column, asked(column))).collect();
        let design = with_packing(Layout::SuperTuple, 32_768, &own);
        let segment = round_trip_dense(design, &types, &columns, 16_384);
        for (column, packing) in &own {
            assert_eq!(segment.page_packing(*column), *packing);
        }
        assert!(automatic <= page_bytes(&segment), "{delta} columns");
    }
    // Numbers of more than 64 bits, and records that are not in order, have none.
    let types = [LogicalType::UInt(64), LogicalType::UInt(8)];
    let all = [(0, Some(PagePacking::Delta)), (1, Some(PagePacking::Delta))];
    let long = [integers([0, u64::MAX.into()]), integers([3, 4])];
    let unsorted = [integers([0, 7, 5]), integers([1, 2, 3])];
    for columns in [long, unsorted] {
        let segment = round_trip_dense(with_packing(Layout::SuperTuple, 4096, &all), &types, &columns, 16_384);
        assert_eq!(segment.page_packing(0), Some(PagePacking::BitPacked));
    }
}

#[test]
fn columns_of_rows_share_their_pages_dictionaries() {
    let types = [LogicalType::Int(64), LogicalType::Int(64), LogicalType::Int(32), LogicalType::Int(8)];
    let few = |scale: i128| integers((0..30_000).map(move |row: i128| (row * row + row / 4000) % 20 * scale));
    let columns = [few(1 << 40), few(1 << 50), integers((0..30_000).map(|row| row * 7919 % 30_011)), few(1)];
    let segment = round_trip_dense(Design::of_layout(Layout::SuperTuple), &types, &columns, 16_384);
    let packings: Vec<_> = (0..4).map(|column| segment.page_packing(column).unwrap()).collect();
    assert!(matches!(packings[0], PagePacking::PageDictionary(4..)) && packings[0] == packings[1], "{packings:?}");
    assert_eq!(packings[2], PagePacking::BitPacked);
    // Exactly full: eight entries of indexes of three bits, shared by two columns.
    let exact = integers((0..30_000).map(|row| (row % 4) << 50));
    let asked = Some(PagePacking::PageDictionary(3));
    let design = with_packing(Layout::SuperTuple, 4096, &[(0, asked), (1, asked), (2, Some(PagePacking::Plain))]);
    let segment =
        round_trip_dense(design, &types, &[exact.clone(), exact, columns[2].clone(), columns[3].clone()], 5000);
    let dense = segment.groups()[0].dense.as_ref().unwrap();
    assert_eq!(segment.page_packing(1), asked);
    // A page takes 64 bytes of entries beside its records: 3 + 3 + 16 + 5 bits each.
    assert_eq!(dense.pages as usize, 30_000_usize.div_ceil((4096 - 4 - 8 - 64) * 8 / 27));
}

#[test]
fn records_may_be_longer_than_pages() {
    let types = [LogicalType::Varchar(None), LogicalType::Int(32), LogicalType::Binary, LogicalType::Int(64)];
    let noise = |row: usize, length: usize| -> Vec<u8> {
        (0..length).map(|at| ((row * 31 + at) as u32).wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect()
    };
    let length = |row: usize| [0, 3, 700, 5000, 140_000, 1][row % 6];
    let rows = 60;
    let columns = [
        texts((0..rows).map(|row| if row % 9 == 0 { String::new() } else { "äbc".repeat(length(row) / 4) })),
        integers((0..rows as i128).map(|row| row * row)),
        (0..rows)
            .map(|row| if row % 11 == 5 { Datum::Null } else { Datum::Bytes(noise(row, length(row + 2)).into()) })
            .collect(),
        integers((0..rows as i128).map(|row| row % 3)),
    ];
    for page_size in [4096, 32_768, 65_536] {
        for layout in [Layout::SuperTuple, Layout::DenseColumn] {
            for plain in [None, Some(PagePacking::Plain)] {
                let design = with_packing(layout, page_size, &[(0, plain), (2, plain)]);
                round_trip_dense(design, &types, &columns, 16);
            }
        }
        let delta = [(1, Some(PagePacking::Delta)), (3, Some(PagePacking::PageDictionary(2)))];
        let group = Group { columns: vec![1, 0, 3, 2], layout: Layout::SuperTuple };
        let design = Design { groups: vec![group], ..with_packing(Layout::Column, page_size, &delta) };
        round_trip_dense(design, &types, &columns, 16);
    }
}

#[test]
fn a_thousand_columns_share_pages() {
    let types = vec![LogicalType::Int(32); 1000];
    let columns: Vec<Vec<Datum>> = (0..1000)
        .map(|column| {
            let value =
                move |row: i128| if (row + column) % 17 == 0 { Datum::Null } else { Datum::Integer(row * column) };
            (0..40).map(value).collect()
        })
        .collect();
    // At 65,536 bytes several records share a page, at 4096 a record takes less or more than one.
    for page_size in [4096, 65_536] {
        round_trip_dense(with_packing(Layout::SuperTuple, page_size, &[]), &types, &columns, 16);
    }
    let plain: Vec<_> = (0..1000).map(|column| (column, Some(PagePacking::Plain))).collect();
    let wide: Vec<Vec<Datum>> = columns.iter().map(|column| column.iter().take(3).cloned().collect()).collect();
    let types = vec![LogicalType::UInt(64); 1000];
    round_trip_dense(with_packing(Layout::SuperTuple, 4096, &plain), &types, &wide, 16);
}

#[test]
fn no_records_take_no_pages() {
    for layout in [Layout::SuperTuple, Layout::DenseColumn] {
        let columns = vec![Vec::new(); 21];
        let mut definition = table(&types());
        definition.design = Design::of_layout(layout);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("1.seg");
        let written = write_file(&path, 1, &definition, Vec::new(), false, 16_384).unwrap();
        let segment = open(&path, &written, cache(1 << 20)).unwrap();
        assert_eq!(read(&definition, &segment).unwrap(), columns);
        assert!(segment.check().is_empty() && page_bytes(&segment) == 0);
    }
}

#[test]
fn rows_are_read_once_for_all_columns() {
    let (types, columns) = (vec![LogicalType::Int(32); 4], sorted(5000));
    let segment = round_trip_dense(Design::of_layout(Layout::SuperTuple), &types, &columns, 16_384);
    let memo = crate::segment::memo::ZoneMemo::default();
    for column in &table(&types).columns {
        segment.view_with(column, 0, &memo).unwrap();
    }
    assert_eq!(memo.reads(), 1);
}

#[test]
fn zones_of_a_delta_page_are_read_in_any_order() {
    // One page has the records of all zones.
    let values = integers((0..30_000).map(|row| row * 3 + row % 2));
    let types = [LogicalType::Int(64)];
    let mut definition = table(&types);
    definition.design = with_packing(Layout::DenseColumn, 65_536, &[(0, Some(PagePacking::Delta))]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.seg");
    let columns = [values.clone()];
    let written = write_file(&path, 1, &definition, batches(&definition, &columns, 8000), false, 1000).unwrap();
    for step in [1, 7, 29, 11] {
        let segment = open(&path, &written, cache(0)).unwrap();
        for zone in (0..30).map(|zone| zone * step % 30).chain([4, 3, 5]) {
            let view = segment.view(&definition.columns[0], zone).unwrap();
            assert_eq!(super::values(&view), values[zone * 1000..][..1000], "zone {zone} by steps of {step}");
        }
    }
}

/// A segment whose pages `change` changes, with all checksums made right again.
fn forged(bytes: &[u8], change: impl FnOnce(&mut [u8])) -> (Vec<u8>, u32) {
    let trailer = Trailer::parse(bytes.last_chunk().unwrap()).unwrap();
    let start = trailer.offset as usize;
    let mut bytes = bytes.to_vec();
    let mut directory = Directory::parse(&bytes[start..bytes.len() - TRAILER], trailer.offset).unwrap();
    change(&mut bytes[HEADER..start]);
    for dense in directory.groups.iter_mut().filter_map(|group| group.dense.as_mut()) {
        let (offset, all) = (dense.offset as usize, dense.bytes() as usize);
        let pages = bytes[offset..offset + all].chunks(dense.page_size as usize);
        dense.table.iter_mut().zip(pages).for_each(|(entry, page)| entry.checksum = crc32c::crc32c(page));
    }
    let directory = directory.to_bytes();
    bytes.truncate(start);
    bytes.extend_from_slice(&directory);
    let checksum = crc32c::crc32c(&directory);
    bytes.extend_from_slice(&Trailer { checksum, ..trailer }.to_bytes());
    (bytes, checksum)
}

/// Small tables in which every form of page comes up.
fn hostile() -> Vec<(TableDefinition, Vec<Vec<Datum>>)> {
    let mut all = Vec::new();
    for (name, values) in shapes(400) {
        for packing in PACKINGS {
            let mut definition = table(&[LogicalType::UInt(64)]);
            definition.design = with_packing(Layout::DenseColumn, 4096, &[(0, packing)]);
            if name != "all equal" && packing.is_some() {
                all.push((definition, vec![values.clone()]));
            }
        }
    }
    let strings = texts((0..400).map(|row| format!("täxt {}", row % 37)));
    for (layout, packing) in [
        (Layout::DenseColumn, None),
        (Layout::DenseColumn, Some(PagePacking::Plain)),
        (Layout::SuperTuple, Some(PagePacking::Plain)),
    ] {
        let mut definition = table(&[LogicalType::Int(32), LogicalType::Varchar(None), LogicalType::Binary]);
        let mut design = with_packing(layout, 4096, &[(1, packing), (2, packing)]);
        for column in &mut design.columns {
            column.encoding = crate::EncodingChoice::Plain;
        }
        definition.design = design;
        all.push((definition, vec![integers(0..400), strings.clone(), strings.clone()]));
    }
    all
}

#[test]
fn forged_pages_are_survived() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("7.seg");
    let mut refused = 0;
    for (definition, columns) in hostile() {
        let mut written = write_file(&path, 7, &definition, batches(&definition, &columns, 400), false, 150).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let (same, checksum) = forged(&bytes, |_| {});
        assert_eq!((&same, checksum), (&bytes, written.directory_checksum));
        let end = Trailer::parse(bytes.last_chunk().unwrap()).unwrap().offset as usize - HEADER;
        // The number of entries and the flags, some entries, and the sizes at the end.
        for place in (0..end.min(12)).chain((12..end).step_by(end / 5 + 1)).chain(end.saturating_sub(8)..end) {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let (forged, checksum) = forged(&bytes, |pages| pages[place] = value);
                std::fs::write(&path, &forged).unwrap();
                written.directory_checksum = checksum;
                match open(&path, &written, cache(1 << 30)).and_then(|segment| read(&definition, &segment)) {
                    Ok(_) => {}
                    Err(error @ Error::Corrupt { .. }) => {
                        let text = error.to_string();
                        assert!(
                            text.contains("7.seg: ") && (text.contains("dense page") || text.contains("zone")),
                            "{text}"
                        );
                        refused += 1;
                    }
                    Err(error) => panic!("byte {place} set to {value}: {error}"),
                }
            }
        }
    }
    assert!(refused > 1000, "{refused} forged pages were refused");
}

#[test]
fn errors_name_file_and_page() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("7.seg");
    let (types, columns) = ([LogicalType::Int(32), LogicalType::Int(32)], [integers(0..9000), integers(0..9000)]);
    let mut definition = table(&types);
    let packed = Some(PagePacking::BitPacked);
    definition.design = with_packing(Layout::DenseColumn, 4096, &[(0, packed), (1, packed)]);
    let written = write_file(&path, 7, &definition, batches(&definition, &columns, 9000), false, 16_384).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let error = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let segment = open(&path, &written, cache(1 << 30)).unwrap();
        let checked = segment.check();
        assert_eq!(checked.len(), 1);
        assert!(segment.view(&definition.columns[1], 0).is_ok());
        segment.view(&definition.columns[0], 0).unwrap_err().to_string()
    };
    let mut flipped = bytes.clone();
    flipped[HEADER + 2 * 4096 + 77] ^= 4;
    let text = error(&flipped);
    assert!(text.contains("7.seg") && text.contains("dense page 2 (at byte 8232): checksum is"), "{text}");
    let (forged, checksum) = forged(&bytes, |pages| pages[4096] ^= 1);
    let written = WrittenSegment { directory_checksum: checksum, dictionaries: Vec::new(), ..written };
    std::fs::write(&path, forged).unwrap();
    let segment = open(&path, &written, cache(1 << 30)).unwrap();
    let text = segment.view(&definition.columns[0], 0).unwrap_err().to_string();
    assert!(text.contains("dense page 1 (at byte 4136): ") && text.contains("entries of"), "{text}");
}

#[test]
fn what_dense_pages_cannot_be_is_refused_by_name() {
    let definition =
        table(&[LogicalType::Int(32), LogicalType::Int(32), LogicalType::Decimal { precision: 38, scale: 0 }]);
    let refusal = |design: Design| design.validate(&definition).unwrap_err().to_string();
    for (layout, page_size, columns, expected) in [
        (Layout::SuperTuple, 4095, vec![], "multiple of 4096 up to 65536, not 4095"),
        (Layout::SuperTuple, 0, vec![], "not 0"),
        (Layout::SuperTuple, 65_536 + 4096, vec![], "not 69632"),
        (
            Layout::SuperTuple,
            4096,
            vec![(0, Some(PagePacking::RunLength))],
            "column 'c0' can't have packing run_length",
        ),
        (Layout::SuperTuple, 4096, vec![(1, Some(PagePacking::Delta))], "'c0' comes before and has none"),
        (Layout::DenseColumn, 4096, vec![(1, Some(PagePacking::PageDictionary(16)))], "1 to 15 bits"),
        (Layout::Row, 4096, vec![(1, Some(PagePacking::Delta))], "it lies in layout row"),
    ] {
        let text = refusal(with_packing(layout, page_size, &columns));
        assert!(text.contains(expected), "{text}");
    }
    // A packing by name asks for codes.
    let mut definition = definition;
    definition.design = with_packing(Layout::DenseColumn, 4096, &[(2, Some(PagePacking::BitPacked))]);
    let columns = [integers([1, 2]), integers([1, 2]), integers([-(10i128.pow(30)), 10i128.pow(30)])];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.seg");
    let error = write_file(&path, 1, &definition, batches(&definition, &columns, 9), false, 8).unwrap_err().to_string();
    assert!(error.contains("column 'c2'") && error.contains("packing bit_packed"), "{error}");
}

/// The key that values of one type are sorted by; byte strings stay as they are.
fn order_of(value: &Datum) -> i128 {
    match value {
        Datum::Integer(value) => *value,
        Datum::Float(value) => crate::model::view::float_order(value.get()).into(),
        _ => i128::MIN,
    }
}

/// The columns of one segment in any packings.
fn any_dense() -> impl Strategy<Value = (Design, Vec<Vec<Datum>>, usize)> {
    let packing = || prop::sample::select(PACKINGS.to_vec());
    let layout = prop::sample::select(vec![Layout::SuperTuple, Layout::DenseColumn]);
    let page_size = prop::sample::select(vec![4096, 8192, 65_536]);
    let zone_rows = prop::sample::select(vec![1_usize, 64, 100, 1000]);
    let packings = prop::collection::vec(packing(), types().len());
    let columns = (1_usize..1500).prop_flat_map(|rows| {
        let column = move |logical_type: &LogicalType| {
            // Of few values that repeat, sorted or not, or of any.
            let pool = prop::collection::vec(any_value(logical_type), 1..40);
            (pool, 0_usize..3, 1_usize..60).prop_map(move |(mut pool, order, run)| {
                if order == 0 {
                    pool.sort_by_key(order_of);
                }
                let place = |row: usize| match order {
                    0 => row * pool.len() / rows,
                    1 => row / run % pool.len(),
                    _ => row.wrapping_mul(0x9e37_79b9) / 7 % pool.len(),
                };
                (0..rows).map(|row| pool[place(row)].clone()).collect::<Vec<_>>()
            })
        };
        types().iter().map(column).collect::<Vec<_>>()
    });
    (layout, page_size, zone_rows, packings, columns).prop_map(|(layout, page_size, zone_rows, packings, columns)| {
        let allowed = |(column, packing): (usize, Option<PagePacking>)| {
            let logical_type = &types()[column];
            let of_rows = layout == Layout::SuperTuple
                && matches!(packing, Some(PagePacking::RunLength))
                    | (column > 0 && packing == Some(PagePacking::Delta));
            let may_be_wide = matches!(logical_type, LogicalType::Decimal { precision: 19.., .. });
            let packing = packing.filter(|packing| !(of_rows || may_be_wide && *packing != PagePacking::Plain));
            (column as u32, packing)
        };
        let own: Vec<_> = packings.into_iter().enumerate().map(allowed).collect();
        (with_packing(layout, page_size, &own), columns, zone_rows)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(12)))]
    #[test]
    fn any_columns_in_any_packings_round_trip((design, columns, zone_rows) in any_dense()) {
        round_trip_dense(design, &types(), &columns, zone_rows);
    }
}
