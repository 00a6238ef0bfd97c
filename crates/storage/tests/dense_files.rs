//! Dense pages one after the other, value by value, against the values that were loaded.

mod common;

use arrow::array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringViewArray};
use common::*;
use gingham_storage::io::ReadOptions;
use gingham_storage::lab::{CursorPlace, DenseEntries, DenseFile, DenseVisitor};
use gingham_storage::model::{Group, PagePacking};
use gingham_storage::store::Store;
use gingham_storage::{ColumnDefinition, Design, EncodingChoice, Error, Layout, LogicalType, TableDefinition};
use std::sync::Arc;

/// Records of each of two segments.
const RECORDS: usize = 40_000;
const COLUMNS: u32 = 4;

/// (a INTEGER, b BIGINT, c INTEGER, d VARCHAR) NOT NULL
fn wide(design: Design) -> TableDefinition {
    let types = [LogicalType::Int(32), LogicalType::Int(64), LogicalType::Int(32), LogicalType::Varchar(None)];
    let columns = (1..).zip(types).map(|(id, logical_type)| ColumnDefinition {
        nullable: false,
        ..ColumnDefinition::new(id, ["a", "b", "c", "d"][id as usize - 1], logical_type)
    });
    TableDefinition { columns: columns.collect(), next_column: 5, design, ..definition("t") }
}

/// The values of a record, numbers as they are read: `a` ascends with negative values, `b` too within each, `c` has few values.
fn numbers(record: usize) -> [i64; 3] {
    let a = record as i64 / 700 - 20;
    [a, a * 1_000_000_007 + (record as i64 % 700) * 3, (record * record % 37) as i64]
}

fn text(record: usize) -> String {
    format!("text {} {}", record * 7919 % 100_003, "x".repeat(record % 9))
}

fn load(design: Design) -> Arc<Store> {
    let store = Store::scratch(budget()).unwrap();
    create(&store, wide(design)).unwrap();
    for part in 0..2 {
        let records = part * RECORDS..(part + 1) * RECORDS;
        let number = |place: usize| records.clone().map(move |record| numbers(record)[place]);
        insert_batch(&store, "t", |definition| {
            let columns: Vec<ArrayRef> = vec![
                Arc::new(Int32Array::from_iter_values(number(0).map(|value| value as i32))),
                Arc::new(Int64Array::from_iter_values(number(1))),
                Arc::new(Int32Array::from_iter_values(number(2).map(|value| value as i32))),
                Arc::new(StringViewArray::from_iter_values(records.clone().map(text))),
            ];
            RecordBatch::try_new(definition.arrow_schema(), columns).unwrap()
        })
        .unwrap();
    }
    store
}

/// Reads some records of a page, by their numbers in the table.
struct Reader<'r> {
    first: usize,
    wanted: &'r [usize],
    columns: &'r [u32],
    checked: usize,
}

impl DenseVisitor for Reader<'_> {
    fn visit<E: DenseEntries>(&mut self, entries: &mut E) {
        for record in self.wanted {
            entries.go(record - self.first);
            for (field, column) in self.columns.iter().enumerate() {
                if *column == COLUMNS {
                    assert_eq!(entries.bytes(field), text(*record).as_bytes(), "record {record}");
                } else {
                    let expected = numbers(*record)[*column as usize - 1];
                    assert_eq!(entries.value(field) as i64, expected, "column {column} of record {record}");
                }
                self.checked += 1;
            }
        }
    }
}

/// Reads every `step`-th record of a file, so many of a page at a time, with cursors that go on where they stopped.
fn check(file: &DenseFile, options: ReadOptions, step: usize, at_once: usize) {
    let (mut stream, mut checked, mut bytes) = (file.stream(options).unwrap(), 0, 0);
    while let Some(page) = stream.next_page().unwrap() {
        let records = page.records();
        let wanted: Vec<usize> =
            (records.start as usize..records.end as usize).filter(|record| record.is_multiple_of(step)).collect();
        let mut place = CursorPlace::default();
        for wanted in wanted.chunks(at_once) {
            let mut reader = Reader { first: records.start as usize, wanted, columns: file.columns(), checked: 0 };
            place = page.visit(place, &mut reader);
            checked += reader.checked;
        }
        bytes += page.length() as u64;
    }
    assert_eq!(checked, (2 * RECORDS).div_ceil(step) * file.columns().len());
    assert_eq!((bytes, file.records()), (file.bytes(), 2 * RECORDS as u64));
}

fn designs() -> Vec<Design> {
    let with = |layout, packings: &[(u32, PagePacking)]| {
        let mut design = Design::of_layout(layout);
        packings.iter().for_each(|(column, packing)| design.column_mut(*column).page_packing = Some(*packing));
        design.column_mut(COLUMNS).page_packing = Some(PagePacking::Plain);
        design.column_mut(COLUMNS).encoding = EncodingChoice::Plain;
        design
    };
    let all = |packing| [(1, packing), (2, packing), (3, packing)];
    let mut designs = vec![
        with(Layout::SuperTuple, &[]),
        with(Layout::SuperTuple, &[(1, PagePacking::Delta), (3, PagePacking::PageDictionary(6))]),
        with(Layout::SuperTuple, &all(PagePacking::Plain)),
        with(Layout::DenseColumn, &[]),
    ];
    let groups = vec![
        Group { columns: vec![1, 2], layout: Layout::SuperTuple },
        Group { columns: vec![3, 4], layout: Layout::SuperTuple },
    ];
    designs.push(Design { groups, page_size: 4096, ..with(Layout::DenseColumn, &[(1, PagePacking::Delta)]) });
    let packings = [
        PagePacking::BitPacked,
        PagePacking::RunLength,
        PagePacking::PageDictionary(0),
        PagePacking::Delta,
        PagePacking::Plain,
    ];
    designs.extend(packings.map(|packing| Design { page_size: 8192, ..with(Layout::DenseColumn, &all(packing)) }));
    designs
}

#[test]
fn values_are_those_that_were_loaded() {
    for design in designs() {
        let text = design.text(&wide(design.clone()));
        let store = load(design);
        let table = table(&store.snapshot().unwrap(), "t");
        assert_eq!(table.segments.len(), 2, "{text}");
        let mut columns = Vec::new();
        for column in 1..=COLUMNS {
            let file = DenseFile::open(&table.segments, column).unwrap_or_else(|error| panic!("{text}: {error}"));
            if columns.contains(&column) {
                continue;
            }
            columns.extend_from_slice(file.columns());
            assert_eq!(file.packings().len(), 2);
            for (unit, depth) in [(128 << 10, 48), (4096, 1)] {
                check(&file, ReadOptions { unit, depth }, 1, 100);
                check(&file, ReadOptions { unit, depth }, 61, 3);
            }
        }
        assert_eq!(columns.len(), COLUMNS as usize, "{text}");
    }
}

#[test]
fn what_is_not_read_value_by_value_is_refused() {
    let refused = |design: Design, column: u32| {
        let store = load(design);
        let table = table(&store.snapshot().unwrap(), "t");
        match DenseFile::open(&table.segments, column)
            .map(|file| file.stream(ReadOptions { unit: 4096, depth: 4 }).unwrap().next_page().map(|_| ()))
        {
            Err(Error::Unsupported(text)) | Ok(Err(Error::Unsupported(text))) => text,
            other => panic!("{other:?}"),
        }
    };
    assert!(refused(Design::default(), 1).contains("column 1 lies in no dense pages"));
    // Byte strings that are compressed.
    let mut design = Design::of_layout(Layout::DenseColumn);
    design.column_mut(COLUMNS).encoding = EncodingChoice::Plain;
    assert!(refused(design, COLUMNS).contains("compressed byte strings"));
    let mut design = Design::of_layout(Layout::DenseColumn);
    design.column_mut(COLUMNS).encoding = EncodingChoice::Dictionary;
    assert!(refused(design, COLUMNS).contains("column 4 has the encoding Dictionary"));
    assert!(DenseFile::open(&[], 1).unwrap().stream(ReadOptions { unit: 4096, depth: 4 }).is_err());
}
