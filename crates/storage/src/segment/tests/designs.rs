//! Every design holds what was written, in whatever zones: layouts, groups, packings, encodings.

use super::*;
use crate::model::design::{ColumnDesign, EncodingChoice, Group, Layout, Packing};

/// Writes and reads columns under a design, in the cache and past it.
fn round_trip_under(design: Design, types: &[LogicalType], columns: &[Vec<Datum>], zone_rows: usize) -> Segment {
    let mut definition = table(types);
    design.validate(&definition).unwrap();
    definition.design = design;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.seg");
    let written = write_file(&path, 1, &definition, batches(&definition, columns, 37), false, zone_rows).unwrap();
    let text = definition.design.text(&definition);
    let segment = open(&path, &written, cache(1 << 30)).unwrap();
    assert_eq!(read(&definition, &segment).unwrap(), columns, "{text}");
    check_statistics(&segment, columns, true);
    assert!(segment.check().is_empty(), "{text}");
    let past = open(&path, &written, cache(0)).unwrap();
    assert_eq!(read(&definition, &past).unwrap(), columns, "{text} past the cache");
    segment
}

fn group(columns: &[u32], layout: Layout) -> Group {
    Group { columns: columns.to_vec(), layout }
}

/// Designs for a table of every type.
fn designs() -> Vec<Design> {
    let mut designs: Vec<Design> =
        [1, 2, 3, 7, 64, 100, 1000, 65_536].map(|k| Design::of_layout(Layout::MemPax(k))).into();
    designs.push(Design::of_layout(Layout::Row));
    designs.extend(Packing::ALL.map(Design::of_packing));
    designs.push(Design { segment_bits: 256, ..Design::of_packing(Packing::ByteSlice) });
    // Strings, wide numbers and codes of each width together and apart.
    designs.push(Design {
        groups: vec![
            group(&[3, 19, 10, 0], Layout::Row),
            group(&[1], Layout::Row),
            group(&[20, 12, 2], Layout::MemPax(8)),
            group(&[5, 6], Layout::Column),
        ],
        columns: vec![ColumnDesign { packing: Some(Packing::ByteSlice), ..ColumnDesign::new(4) }],
        ..Design::of_layout(Layout::Column)
    });
    designs.push(Design { groups: vec![group(&[18, 20], Layout::MemPax(4))], ..Design::of_layout(Layout::MemPax(6)) });
    let plain = |column| ColumnDesign { encoding: EncodingChoice::Plain, ..ColumnDesign::new(column) };
    designs.push(Design { columns: (0..21).map(plain).collect(), ..Design::of_layout(Layout::Row) });
    for layout in [Layout::SuperTuple, Layout::DenseColumn] {
        designs.push(Design::of_layout(layout));
        designs.push(Design { page_size: 4096, ..Design::of_layout(layout) });
        designs.push(Design { columns: (0..21).map(plain).collect(), page_size: 65_536, ..Design::of_layout(layout) });
    }
    // Dense pages beside chunks and packings.
    designs.push(Design {
        groups: vec![
            group(&[3, 19, 10, 0], Layout::SuperTuple),
            group(&[1, 7], Layout::DenseColumn),
            group(&[20, 12, 2], Layout::MemPax(8)),
        ],
        columns: vec![ColumnDesign { packing: Some(Packing::ByteSlice), ..ColumnDesign::new(4) }],
        ..Design::default()
    });
    designs
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(6)))]
    #[test]
    fn every_design_round_trips(
        columns in (1usize..300).prop_flat_map(|rows| {
            types().iter().map(|t| prop::collection::vec(any_value(t), rows)).collect::<Vec<_>>()
        }),
        zone_rows in prop::sample::select(vec![1usize, 8, 64, 100, 1000]),
    ) {
        for design in designs() {
            round_trip_under(design, &types(), &columns, zone_rows);
        }
    }
}

#[test]
fn packings_take_codes_of_every_width() {
    for packing in Packing::ALL {
        for bits in 0..=64_u32 {
            let max = i128::from(u64::MAX.checked_shr(64 - bits).unwrap_or(0));
            let values = (0..150).map(|row: i128| match row % 7 {
                0 => max,
                1 => 0,
                _ => row.wrapping_mul(0x9e37_79b9_7f4a_7c15) & max,
            });
            let mut values = integers(values);
            (0..150).step_by(11).for_each(|row| values[row] = Datum::Null);
            values[1] = Datum::Integer(0);
            values[7] = Datum::Integer(max);
            let own = ColumnDesign { packing: Some(packing), ..ColumnDesign::new(0) };
            let design = Design { columns: vec![own], ..Design::default() };
            let segment = round_trip_under(design, &[LogicalType::UInt(64)], &[values], 64);
            assert_eq!(u32::from(segment.columns()[0].code_bits), bits);
            let definition = table(&[LogicalType::UInt(64)]);
            match segment.view(&definition.columns[0], 1).unwrap().shape {
                PhysicalLayout::Packed { format, .. } => {
                    assert_eq!((format.packing(), u32::from(format.width())), (packing, bits.max(1)));
                }
                PhysicalLayout::Contiguous { .. } => assert_eq!(packing, Packing::Native),
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn records_lie_where_their_layout_says() {
    let types = [LogicalType::UInt(8), LogicalType::UInt(32), LogicalType::UInt(16)];
    let column = |scale: i128| integers((0..10).map(|row| row * scale));
    let columns = [column(1), column(1 << 20), column(1 << 10)];
    let shape = |layout, place: usize| {
        let segment = round_trip_under(Design::of_layout(layout), &types, &columns, 10);
        segment.view(&table(&types).columns[place], 0).unwrap().shape
    };
    // Descending by width: 4 bytes, 2, 1; a chunk is a multiple of 4.
    for (layout, chunk, offsets) in [(Layout::Row, 8, [6, 0, 4]), (Layout::MemPax(3), 24, [18, 0, 12])] {
        for (column, offset) in offsets.into_iter().enumerate() {
            let PhysicalLayout::Chunked { place, bytes, .. } = shape(layout, column) else { panic!("{layout}") };
            assert_eq!((place.chunk(), place.offset()), (chunk, offset), "{layout} column {column}");
            assert_eq!(bytes.len(), 128, "{layout}");
        }
    }
    // One chunk is no longer than its records.
    let PhysicalLayout::Chunked { place, .. } = shape(Layout::MemPax(1000), 2) else { panic!("mempax(1000)") };
    assert_eq!((place.records(), place.chunk(), place.offset()), (10, 72, 40));
}

#[test]
fn encodings_are_as_asked_for() {
    let types = [
        LogicalType::Int(32),
        LogicalType::Float64,
        LogicalType::Varchar(None),
        LogicalType::Varchar(None),
        LogicalType::Decimal { precision: 5, scale: 2 },
        LogicalType::Decimal { precision: 38, scale: 0 },
        LogicalType::Varchar(None),
    ];
    let rows = 200;
    let columns = [
        integers(0..rows),
        floats((0..rows).map(|row| row as f64)),
        texts((0..rows).map(|row| ["x", "y"][row as usize % 2])),
        texts((0..rows).map(|row| format!("text {row}"))),
        integers((0..rows).map(|row| row * 7 - 600)),
        integers(0..rows),
        vec![Datum::Null; rows as usize],
    ];
    let own = |column, encoding| ColumnDesign { encoding, ..ColumnDesign::new(column) };
    let (plain, dictionary) = (EncodingChoice::Plain, EncodingChoice::Dictionary);
    let mut said: Vec<_> = [plain, plain, plain, dictionary, plain, plain, dictionary]
        .into_iter()
        .enumerate()
        .map(|(column, encoding)| own(column as u32, encoding))
        .collect();
    let segment = round_trip_under(Design { columns: said.clone(), ..Design::default() }, &types, &columns, 64);
    let encodings: Vec<_> = segment.columns().iter().map(|meta| (meta.encoding.clone(), meta.code_bits)).collect();
    assert_eq!(encodings[0], (Encoding::FrameOfReference { base: i32::MIN.into() }, 32));
    assert_eq!(encodings[1], (Encoding::FloatOrder { base: 0 }, 64));
    assert_eq!(encodings[2].0, Encoding::Plain);
    assert_eq!(encodings[3], (Encoding::Dictionary, 8));
    assert_eq!(encodings[4], (Encoding::FrameOfReference { base: -99_999 }, 18));
    assert_eq!(encodings[5], (Encoding::Plain, 128));
    assert_eq!(encodings[6], (Encoding::Dictionary, 0));
    // A packing by name asks for codes, whatever the number of entries.
    said = vec![ColumnDesign { packing: Some(Packing::ByteSlice), ..ColumnDesign::new(3) }];
    let segment = round_trip_under(Design { columns: said, ..Design::default() }, &types, &columns, 64);
    assert_eq!(segment.columns()[3].encoding, Encoding::Dictionary);
    assert_eq!(segment.columns()[2].encoding, Encoding::Dictionary);
}

#[test]
fn what_has_no_codes_is_refused_by_name() {
    let types = [LogicalType::Int(8), LogicalType::Decimal { precision: 38, scale: 0 }];
    let mut definition = table(&types);
    let columns = [integers([1, 2]), integers([-(10i128.pow(30)), 10i128.pow(30)])];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.seg");
    let mut refusal = |own: ColumnDesign| {
        definition.design = Design { columns: vec![own], ..Design::default() };
        let input = batches(&definition, &columns, 9);
        write_file(&path, 1, &definition, input, false, 8).unwrap_err().to_string()
    };
    let packed = ColumnDesign { packing: Some(Packing::ByteSlice), ..ColumnDesign::new(1) };
    let error = refusal(packed);
    assert!(error.contains("column 'c1'") && error.contains("packing byteslice"), "{error}");
    let encoded = ColumnDesign { encoding: EncodingChoice::FrameOfReference, ..ColumnDesign::new(1) };
    let error = refusal(encoded);
    assert!(error.contains("column 'c1'") && error.contains("encoding frame_of_reference"), "{error}");
    assert!(!path.exists());
}

#[test]
fn groups_are_charged_to_the_cache_once() {
    let types = [LogicalType::UInt(8), LogicalType::UInt(32)];
    let mut definition = table(&types);
    definition.design = Design::of_layout(Layout::Row);
    let columns = [integers((0..1000).map(|row| row % 200)), integers((0..1000).map(|row| row << 20))];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.seg");
    let written = write_file(&path, 1, &definition, batches(&definition, &columns, 99), false, 500).unwrap();
    let budget = MemoryBudget::new(1 << 20);
    let segment = open(&path, &written, BlockCache::new(Arc::clone(&budget))).unwrap();
    let first = segment.view(&definition.columns[0], 0).unwrap();
    let held = budget.cached();
    assert!((8000..8000 + 4 * 64).contains(&held), "{held}");
    let second = segment.view(&definition.columns[1], 0).unwrap();
    assert_eq!(budget.cached(), held);
    let (PhysicalLayout::Chunked { bytes: a, .. }, PhysicalLayout::Chunked { bytes: b, .. }) =
        (&first.shape, &second.shape)
    else {
        panic!("{first:?}");
    };
    assert_eq!(a.as_ptr(), b.as_ptr());
    drop((first, second, segment));
    assert_eq!(budget.cached(), 0);
}
