//! Round trips through files and images, checked value by value against the batches that were written; and damage.

pub(crate) mod caching;
pub(crate) mod compat;
pub(crate) mod damage;
pub(crate) mod dense;
pub(crate) mod designs;
pub(crate) mod filters;

use crate::encoding::floats::unscale;
use crate::encoding::meta::Encoding;
use crate::io::memory::MemoryBudget;
use crate::model::dictionary::Dictionary;
use crate::model::view::{CodeMeaning, ColumnView, PhysicalLayout, float_from_order, real_from_order};
use crate::segment::cache::BlockCache;
use crate::segment::reader::Segment;
use crate::segment::writer::{WrittenSegment, write_file, write_image};
use crate::{
    ColumnDefinition, Datum, Design, Error, FloatBits, LogicalType, Result, TableDefinition, TableName, Unit,
    ValueClass,
};
use arrow::array::*;
use arrow::datatypes::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// A table of columns c0, c1, … of these types.
fn table(types: &[LogicalType]) -> TableDefinition {
    let columns = types
        .iter()
        .zip(0..)
        .map(|(logical_type, id)| ColumnDefinition::new(id, format!("c{id}"), logical_type.clone()));
    TableDefinition {
        id: 3,
        ..TableDefinition::new(TableName { schema: "public".into(), table: "t".into() }, columns.collect())
    }
}

/// An array of a column's Arrow type from single values.
pub(crate) fn array(logical_type: &LogicalType, values: &[Datum]) -> ArrayRef {
    let integers = || values.iter().map(|value| if let Datum::Integer(value) = value { Some(*value) } else { None });
    let floats = || values.iter().map(|value| if let Datum::Float(value) = value { Some(value.get()) } else { None });
    let bytes = || values.iter().map(|value| if let Datum::Bytes(value) = value { Some(&value[..]) } else { None });
    macro_rules! integer_array {
        ($type:ty) => {
            Arc::new(integers().map(|v| v.map(|v| v as _)).collect::<PrimitiveArray<$type>>()) as ArrayRef
        };
    }
    match logical_type.to_arrow() {
        DataType::Boolean => Arc::new(integers().map(|value| value.map(|value| value == 1)).collect::<BooleanArray>()),
        DataType::Int8 => integer_array!(Int8Type),
        DataType::Int16 => integer_array!(Int16Type),
        DataType::Int32 => integer_array!(Int32Type),
        DataType::Int64 => integer_array!(Int64Type),
        DataType::UInt8 => integer_array!(UInt8Type),
        DataType::UInt16 => integer_array!(UInt16Type),
        DataType::UInt32 => integer_array!(UInt32Type),
        DataType::UInt64 => integer_array!(UInt64Type),
        DataType::Date32 => integer_array!(Date32Type),
        DataType::Time32(_) => integer_array!(Time32SecondType),
        DataType::Time64(_) => integer_array!(Time64MicrosecondType),
        DataType::Timestamp(..) => {
            let array = integers().map(|v| v.map(|v| v as i64)).collect::<TimestampMicrosecondArray>();
            Arc::new(array.with_data_type(logical_type.to_arrow()))
        }
        DataType::Decimal128(..) => {
            Arc::new(integers().collect::<Decimal128Array>().with_data_type(logical_type.to_arrow()))
        }
        DataType::Float32 => Arc::new(floats().map(|v| v.map(|v| v as f32)).collect::<Float32Array>()),
        DataType::Float64 => Arc::new(floats().collect::<Float64Array>()),
        DataType::Utf8View => {
            Arc::new(bytes().map(|v| v.map(|v| std::str::from_utf8(v).unwrap())).collect::<StringViewArray>())
        }
        _ => Arc::new(bytes().collect::<BinaryViewArray>()),
    }
}

/// Reads a view back value by value, as its documentation says and with no help of the scans.
fn values(view: &ColumnView) -> Vec<Datum> {
    (0..view.rows)
        .map(|row| {
            if view.validity.as_ref().is_some_and(|validity| !validity.value(row)) {
                Datum::Null
            } else {
                value(view, row)
            }
        })
        .collect()
}

fn value(view: &ColumnView, row: usize) -> Datum {
    let code = match &view.shape {
        PhysicalLayout::Constant(value) => return value.clone(),
        PhysicalLayout::Wide { values } => return Datum::Integer(values.typed_data::<i128>()[row]),
        PhysicalLayout::Bytes { offsets, bytes } => {
            let offsets = offsets.typed_data::<u32>();
            return Datum::Bytes(bytes[offsets[row] as usize..offsets[row + 1] as usize].into());
        }
        PhysicalLayout::Contiguous { codes, width } => {
            let width = usize::from(*width);
            let mut code = [0; 8];
            code[..width].copy_from_slice(&codes[row * width..][..width]);
            u64::from_le_bytes(code)
        }
        PhysicalLayout::Chunked { bytes, place, width } => {
            let (k, width) = (place.records(), usize::from(*width));
            let start = row / k * place.chunk() + place.offset() + row % k * width;
            assert_eq!(bytes[start..].as_ptr() as usize % width, 0, "attributes are aligned");
            let mut code = [0; 16];
            code[..width].copy_from_slice(&bytes[start..start + width]);
            match width {
                16 => return Datum::Integer(i128::from_le_bytes(code)),
                _ => u128::from_le_bytes(code) as u64,
            }
        }
        PhysicalLayout::ChunkedBytes { slots, place, bytes } => {
            let k = place.records();
            let slot = &slots[row / k * place.chunk() + place.offset() + row % k * 8..];
            let [offset, length] = [0, 4].map(|at| u32::from_le_bytes(*slot[at..].first_chunk().unwrap()) as usize);
            return Datum::Bytes(bytes[offset..offset + length].into());
        }
        PhysicalLayout::Packed { bytes, format } => {
            let packed = gingham_kernels::packing::Packed::new(*format, view.rows, bytes).unwrap();
            gingham_kernels::packing::get(packed, row as u32)
        }
    };
    let float = |value| Datum::Float(FloatBits::new(value));
    match &view.meaning {
        CodeMeaning::FrameOfReference { base } => Datum::Integer(base + i128::from(code)),
        CodeMeaning::ScaledFloat { base, digits } => float(unscale(base + code as i64, *digits)),
        CodeMeaning::FloatOrder { base } if view.logical_type == LogicalType::Float32 => {
            float(real_from_order((base + code) as u32).into())
        }
        CodeMeaning::FloatOrder { base } => float(float_from_order(base + code)),
        CodeMeaning::Dictionary(version) => Datum::Bytes(match version.entries.data_type() {
            DataType::Utf8View => version.entries.as_string_view().value(code as usize).as_bytes().into(),
            _ => version.entries.as_binary_view().value(code as usize).into(),
        }),
        CodeMeaning::Value => panic!("codes must mean something"),
    }
}

fn cache(limit: usize) -> Arc<BlockCache> {
    BlockCache::new(MemoryBudget::new(limit))
}

/// Batches of `columns` (values by column), cut every `batch` records.
fn batches(definition: &TableDefinition, columns: &[Vec<Datum>], batch: usize) -> Vec<RecordBatch> {
    let rows = columns[0].len();
    (0..rows)
        .step_by(batch)
        .map(|start| {
            let end = (start + batch).min(rows);
            let arrays = definition.columns.iter().zip(columns);
            let arrays = arrays.map(|(column, values)| array(&column.logical_type, &values[start..end])).collect();
            RecordBatch::try_new(definition.arrow_schema(), arrays).unwrap()
        })
        .collect()
}

fn open(path: &Path, written: &WrittenSegment, cache: Arc<BlockCache>) -> Result<Segment> {
    let dictionaries = written.dictionaries.iter().map(|(column, entries)| {
        let dictionary = Dictionary::build("c", vec![(1, Arc::clone(entries))]).unwrap();
        (*column, Arc::clone(&dictionary.versions[&1]))
    });
    Segment::open(path, written.id, written.directory_checksum, dictionaries.collect(), cache)
}

/// All values of a segment by column, and its statistics checked against them.
fn read(definition: &TableDefinition, segment: &Segment) -> Result<Vec<Vec<Datum>>> {
    let mut columns = Vec::new();
    for column in &definition.columns {
        let mut all = Vec::new();
        for zone in 0..segment.zones() {
            all.extend(values(&segment.view(column, zone)?));
        }
        columns.push(all);
    }
    Ok(columns)
}

fn check_statistics(segment: &Segment, columns: &[Vec<Datum>], sketched: bool) {
    for (meta, values) in segment.columns().iter().zip(columns) {
        let statistics = &meta.statistics;
        let present: Vec<&Datum> = values.iter().filter(|value| !value.is_null()).collect();
        assert_eq!(statistics.nulls as usize, values.len() - present.len());
        let min = present.iter().copied().min_by(|a, b| a.compare(b).unwrap());
        let max = present.iter().copied().max_by(|a, b| a.compare(b).unwrap());
        match (min, max) {
            (Some(min), Some(max)) if statistics.exact => {
                assert_eq!((&statistics.min, &statistics.max), (min, max));
            }
            (Some(min), Some(max)) => {
                assert!(statistics.min.compare(min).unwrap().is_le() && statistics.max.compare(max).unwrap().is_ge());
            }
            _ => assert!(statistics.min.is_null() && statistics.max.is_null()),
        }
        let distinct: std::collections::BTreeSet<String> = present.iter().map(|value| format!("{value:?}")).collect();
        if sketched && distinct.len() <= 100 {
            let estimate = crate::encoding::sketch::estimate([&statistics.sketch[..]]);
            // A sketch of few values keeps 25 bits of each hash: in one of some thousand columns two of them agree.
            let missed = (distinct.len() as u64).checked_sub(estimate);
            assert!(missed.is_some_and(|missed| missed <= 1), "{estimate} of {} values: {meta:?}", distinct.len());
        }
    }
}

/// Writes and reads columns as file and as image, in zones of `zone_rows`.
fn round_trip(types: &[LogicalType], columns: &[Vec<Datum>], zone_rows: usize) -> Vec<Encoding> {
    let definition = table(types);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.seg");
    let input = batches(&definition, columns, 37);
    let written = write_file(&path, 1, &definition, input.clone(), false, zone_rows).unwrap();
    assert_eq!(written.bytes, path.metadata().unwrap().len());
    let segment = open(&path, &written, cache(1 << 30)).unwrap();
    assert_eq!((segment.rows(), segment.is_delta()), (columns[0].len(), false));
    assert_eq!(read(&definition, &segment).unwrap(), columns);
    assert_eq!(read(&definition, &segment).unwrap(), columns);
    check_statistics(&segment, columns, true);
    assert!(segment.check().is_empty());
    let (_, image) = write_image(2, &definition, input, zone_rows).unwrap();
    let delta = Segment::from_image(image.into(), 2, "delta block 2 of table t", cache(0)).unwrap();
    assert!(delta.is_delta());
    assert_eq!(read(&definition, &delta).unwrap(), columns);
    check_statistics(&delta, columns, false);
    segment.columns().iter().map(|meta| meta.encoding.clone()).collect()
}

fn types() -> Vec<LogicalType> {
    vec![
        LogicalType::Boolean,
        LogicalType::Int(8),
        LogicalType::Int(16),
        LogicalType::Int(32),
        LogicalType::Int(64),
        LogicalType::UInt(8),
        LogicalType::UInt(16),
        LogicalType::UInt(32),
        LogicalType::UInt(64),
        LogicalType::Decimal { precision: 15, scale: 2 },
        LogicalType::Decimal { precision: 38, scale: 0 },
        LogicalType::Float32,
        LogicalType::Float64,
        LogicalType::Date,
        LogicalType::Time(Unit::Second),
        LogicalType::Time(Unit::Microsecond),
        LogicalType::Timestamp(Unit::Microsecond, None),
        LogicalType::Timestamp(Unit::Microsecond, Some("UTC".into())),
        LogicalType::Char(10),
        LogicalType::Varchar(None),
        LogicalType::Binary,
    ]
}

/// Any value of a type, its extremes often.
fn any_value(logical_type: &LogicalType) -> BoxedStrategy<Datum> {
    let float = |value: f64| Datum::Float(FloatBits::new(value));
    let present = match logical_type.class() {
        ValueClass::Integer => {
            let (low, high) = match logical_type {
                LogicalType::Decimal { precision, .. } => {
                    let limit = 10i128.pow((*precision).into()) - 1;
                    (-limit, limit)
                }
                other => crate::encoding::bounds::integer_limits(other),
            };
            prop_oneof![2 => low..=high, 1 => Just(low), 1 => Just(high), 4 => low.max(0)..=high.min(50)]
                .prop_map(Datum::Integer)
                .boxed()
        }
        ValueClass::Float if *logical_type == LogicalType::Float32 => {
            any::<f32>().prop_map(move |value| float(value.into())).boxed()
        }
        ValueClass::Float => prop_oneof![
            3 => (-9999i32..9999).prop_map(|cents| f64::from(cents) / 100.0),
            1 => any::<f64>(),
            1 => prop::sample::select(vec![0.0, -0.0, f64::NAN, -f64::NAN, f64::INFINITY, f64::MAX, f64::MIN_POSITIVE]),
        ]
        .prop_map(float)
        .boxed(),
        ValueClass::Bytes if *logical_type == LogicalType::Binary => {
            prop::collection::vec(any::<u8>(), 0..80).prop_map(|bytes| Datum::Bytes(bytes.into())).boxed()
        }
        ValueClass::Bytes => prop_oneof![
            2 => "[a-c]{0,2}",
            1 => "\\PC{0,30}",
            1 => "[a-z]{60,90}",
        ]
        .prop_map(|text| Datum::Bytes(text.into_bytes().into()))
        .boxed(),
    };
    prop_oneof![6 => present, 1 => Just(Datum::Null)].boxed()
}

/// `quick` cases, or fifty times as many in the nightly run.
fn cases(quick: u32) -> u32 {
    if std::env::var_os("GINGHAM_NIGHTLY").is_some() { 50 * quick } else { quick }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(12)))]
    #[test]
    fn every_type_round_trips(
        columns in (1usize..300).prop_flat_map(|rows| {
            types().iter().map(|t| prop::collection::vec(any_value(t), rows)).collect::<Vec<_>>()
        }),
        zone_rows in prop::sample::select(vec![1usize, 8, 64, 100, 1000]),
    ) {
        round_trip(&types(), &columns, zone_rows);
    }
}

fn integers(values: impl IntoIterator<Item = i128>) -> Vec<Datum> {
    values.into_iter().map(Datum::Integer).collect()
}

fn floats(values: impl IntoIterator<Item = f64>) -> Vec<Datum> {
    values.into_iter().map(|value| Datum::Float(FloatBits::new(value))).collect()
}

fn texts<S: AsRef<str>>(values: impl IntoIterator<Item = S>) -> Vec<Datum> {
    values.into_iter().map(|value| Datum::Bytes(value.as_ref().as_bytes().into())).collect()
}

#[test]
fn encodings_follow_the_values() {
    let rows = 3000;
    let words = ["AIR", "RAIL", "TRUCK", "a mode of transport with a long name"];
    let types = [
        LogicalType::Int(64),
        LogicalType::Decimal { precision: 38, scale: 0 },
        LogicalType::Float64,
        LogicalType::Float64,
        LogicalType::Varchar(None),
        LogicalType::Varchar(None),
        LogicalType::Int(64),
    ];
    let columns = [
        integers((0..rows).map(|row| 1_000_000 + row * 7)),
        integers((0..rows).map(|row| if row % 2 == 0 { i128::from(i64::MIN) * 4 } else { i128::from(u64::MAX) + row })),
        floats((0..rows).map(|row| row as f64 / 100.0)),
        floats((0..rows).map(|row| row as f64 / 7.0)),
        texts((0..rows).map(|row| words[row as usize % 4])),
        texts((0..rows).map(|row| format!("Customer#{row:09}"))),
        integers((0..rows).map(|_| 42)),
    ];
    let encodings = round_trip(&types, &columns, 700);
    assert_eq!(encodings[0], Encoding::FrameOfReference { base: 1_000_000 });
    assert_eq!(encodings[1], Encoding::Plain);
    assert_eq!(encodings[2], Encoding::ScaledFloat { base: 0, digits: 2 });
    assert!(matches!(encodings[3], Encoding::FloatOrder { .. }));
    assert_eq!(encodings[4], Encoding::Dictionary);
    assert_eq!(encodings[5], Encoding::Plain);
    assert_eq!(encodings[6], Encoding::FrameOfReference { base: 42 });
}

#[test]
fn extremes_round_trip() {
    let types = [LogicalType::Int(64), LogicalType::UInt(64), LogicalType::Decimal { precision: 38, scale: 2 }];
    let limit = 10i128.pow(38) - 1;
    let columns = [
        integers([i64::MIN.into(), i64::MAX.into(), 0, -1]),
        integers([u64::MAX.into(), 0, 1, u64::MAX.into()]),
        integers([-limit, limit, 0, 1]),
    ];
    round_trip(&types, &columns, 3);
    for logical_type in &crate::segment::tests::types() {
        round_trip(std::slice::from_ref(logical_type), &[vec![Datum::Null; 10]], 4);
    }
}

#[test]
fn no_records_are_a_segment_too() {
    let definition = table(&types());
    let (_, image) = write_image(1, &definition, Vec::new(), 10).unwrap();
    let segment = Segment::from_image(image.into(), 1, "delta", cache(0)).unwrap();
    assert_eq!((segment.rows(), segment.zones()), (0, 0));
}

#[test]
fn columns_added_later_are_constant() {
    let mut definition = table(&[LogicalType::Int(64)]);
    let (_, image) = write_image(1, &definition, batches(&definition, &[integers(0..5)], 5), 4).unwrap();
    let segment = Segment::from_image(image.into(), 1, "delta", cache(0)).unwrap();
    definition.columns[0].id = 9;
    assert_eq!(values(&segment.view(&definition.columns[0], 1).unwrap()), [Datum::Null]);
    definition.columns[0].initial = Datum::Integer(8);
    assert_eq!(values(&segment.view(&definition.columns[0], 0).unwrap()), integers([8, 8, 8, 8]));
    assert!(segment.zone_map(9, 0).is_none() && segment.column(9).is_none());
    assert_eq!(segment.zone_map(0, 1).unwrap().max, 4);
}

#[test]
fn sorted_keys_and_images_are_small() {
    let definition = table(&[LogicalType::Int(64)]);
    let keys = integers((0..100_000).map(|row| row / 4 / 8 * 32 + row / 4 % 8));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.seg");
    let input = batches(&definition, &[keys], 100_000);
    let written = write_file(&path, 1, &definition, input, false, 1 << 16).unwrap();
    assert!(written.bytes < 30_000, "{}", written.bytes);
    let one: Vec<_> = types().iter().map(|_| vec![Datum::Null]).collect();
    let definition = table(&types());
    let (_, image) = write_image(1, &definition, batches(&definition, &one, 1), 1 << 16).unwrap();
    assert!(image.len() < 6000 + 32, "{}", image.len());
}

#[test]
fn types_that_do_not_match_are_refused() {
    let definition = table(&[LogicalType::Int(64)]);
    let other = table(&[LogicalType::Int(32)]);
    let error = write_image(1, &definition, batches(&other, &[integers([1])], 1), 8).unwrap_err();
    assert!(error.to_string().contains("column 'c0'"), "{error}");
    assert!(matches!(error, Error::InvalidInput(_)));
}
