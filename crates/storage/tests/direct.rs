//! Pages that are read directly, value by value, against the records that readers give.

mod common;

use arrow::array::{ArrayRef, Date32Array, Int32Array, Int64Array, RecordBatch, StringViewArray};
use common::{budget, refused};
use gingham_storage::lab::{DirectPages, DirectRead, PageColumn};
use gingham_storage::lmdb::RecordId;
use gingham_storage::model::{HeapLayout, HeapOptions};
use gingham_storage::store::Store;
use gingham_storage::{ColumnDefinition, Datum, LogicalType, TableDefinition, TableId};
use std::sync::Arc;

/// (a BIGINT, b VARCHAR, c INTEGER, d VARCHAR, e DATE), none of which takes NULL but `a` when `nullable`.
fn definition(nullable: bool) -> TableDefinition {
    let varchar = || LogicalType::Varchar(None);
    let types = [LogicalType::Int(64), varchar(), LogicalType::Int(32), varchar(), LogicalType::Date];
    let columns = (1..).zip(types).map(|(id, logical_type)| ColumnDefinition {
        nullable: nullable && id == 1,
        ..ColumnDefinition::new(id, ["a", "b", "c", "d", "e"][id as usize - 1], logical_type)
    });
    TableDefinition { columns: columns.collect(), next_column: 6, ..common::definition("t") }
}

fn load(store: &Arc<Store>, definition: TableDefinition, layout: HeapLayout, rows: i64) -> TableId {
    let schema = definition.arrow_schema();
    let text =
        |length: i64| StringViewArray::from_iter_values((0..rows).map(|row| "xyz".repeat((row % length) as usize)));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values((0..rows).map(|row| row * 1_000_003 - 5_000_000))),
        Arc::new(text(11)),
        Arc::new(Int32Array::from_iter_values((0..rows).map(|row| 7 - row as i32))),
        Arc::new(text(5)),
        Arc::new(Date32Array::from_iter_values((0..rows).map(|row| row as i32 * 3))),
    ];
    let batch = RecordBatch::try_new(schema, columns).unwrap();
    store
        .write(|transaction| {
            let table = transaction.create_heap_table(definition, HeapOptions::new(layout))?;
            transaction.heap(table, |heap| heap.load(&batch))?;
            Ok(table)
        })
        .unwrap()
}

/// A value of a row, as a reader gives it.
fn datum(read: DirectRead<'_>, attribute: usize, column: &impl PageColumn, row: usize) -> Datum {
    let width = [64, 0, 32, 0, 32][attribute];
    assert_eq!(read.schema().attributes().len(), 5);
    match width {
        0 => Datum::Bytes(column.bytes(row).into()),
        width => Datum::Integer(i128::from(column.code(row)) - (1 << (width - 1))),
    }
}

#[test]
fn values_are_those_of_the_records() {
    for layout in HeapLayout::ALL {
        let store = Store::scratch(budget()).unwrap();
        let table = load(&store, definition(false), layout, 700);
        let reader = Arc::new(store.heap(table).unwrap());
        let direct = DirectPages::open(Arc::clone(&reader)).unwrap();
        let ids: Vec<RecordId> = match layout {
            HeapLayout::Dsm => (0..700).collect(),
            _ => direct
                .read(|read| {
                    let pages: Vec<_> = read.pages()?.collect::<Result<_, _>>()?;
                    assert!(pages.len() > 1);
                    Ok(pages.iter().flat_map(|page| (0..page.rows()).map(|row| page.id(row))).collect())
                })
                .unwrap(),
        };
        assert_eq!(ids.len(), 700);
        for id in &ids {
            let expected = reader.get(*id).unwrap().unwrap();
            let found: Vec<Datum> = direct
                .read(|read| {
                    let value = |attribute| {
                        Ok(match layout {
                            HeapLayout::Dsm => {
                                let (page, row) = read.pair_of(attribute, *id)?.unwrap();
                                datum(read, attribute, &page.slotted(read.pair_schema(attribute), 1), row)
                            }
                            _ => {
                                let (page, row) = read.page_of(*id)?.unwrap();
                                let schema = read.schema();
                                match layout {
                                    HeapLayout::Nsm => datum(read, attribute, &page.slotted(schema, attribute), row),
                                    _ => datum(read, attribute, &page.minipage(schema, attribute), row),
                                }
                            }
                        })
                    };
                    (0..5).map(value).collect()
                })
                .unwrap();
            assert_eq!(found, expected, "{layout}, record {id}");
        }
        let beyond = if layout == HeapLayout::Dsm { 700 } else { ids[699] + 1 };
        let none = direct.read(|read| match layout {
            HeapLayout::Dsm => Ok(read.pair_of(4, beyond)?.is_none()),
            _ => Ok(read.page_of(beyond)?.is_none()),
        });
        assert!(none.unwrap());
        let counted = |read: DirectRead<'_>| match layout {
            HeapLayout::Dsm => (0..5).map(|attribute| Ok(read.pair_pages(attribute)?.count())).sum(),
            _ => Ok(read.pages()?.count()),
        };
        assert_eq!(direct.read(counted).unwrap() as u64, reader.record().pages);
    }
}

#[test]
fn tables_whose_rows_are_no_slots_are_refused() {
    for layout in HeapLayout::ALL {
        let store = Store::scratch(budget()).unwrap();
        let table = load(&store, definition(true), layout, 10);
        let error = refused(DirectPages::open(Arc::new(store.heap(table).unwrap()))).to_string();
        assert!(error.contains("column 'a' of table t may be NULL"), "{error}");
    }
    for layout in [HeapLayout::Nsm, HeapLayout::Pax] {
        let store = Store::scratch(budget()).unwrap();
        let table = load(&store, definition(false), layout, 300);
        let first = DirectPages::open(Arc::new(store.heap(table).unwrap()))
            .unwrap()
            .read(|read| Ok(read.pages()?.next().unwrap()?.id(0)))
            .unwrap();
        assert!(store.write(|transaction| transaction.heap(table, |heap| heap.delete(first))).unwrap());
        let error = refused(DirectPages::open(Arc::new(store.heap(table).unwrap()))).to_string();
        assert!(error.contains("table t has deleted records; load it anew"), "{error}");
    }
}
