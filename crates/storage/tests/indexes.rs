//! Indexes of heap tables: unique ones and others, over inserts, loads, updates that pass keys on, deletions, long keys, and
//! what an index leaves of a scan.

mod common;

use arrow::array::RecordBatch;
use common::{batch, budget, create, definition, name};
use gingham_kernels::Isa;
use gingham_storage::lmdb::RecordId;
use gingham_storage::model::{HeapLayout, HeapOptions};
use gingham_storage::scan::TableScan;
use gingham_storage::snapshot::RECORD_IDS;
use gingham_storage::store::Store;
use gingham_storage::{ColumnId, Datum, Design, Error, Predicate, Result, TableDefinition, TableId};
use std::ops::Bound;
use std::sync::Arc;

const LAYOUTS: [HeapLayout; 3] = [HeapLayout::Nsm, HeapLayout::Dsm, HeapLayout::Pax];

fn pages(layout: HeapLayout) -> Design {
    Design::of_pages(HeapOptions::new(layout))
}

/// A store with an empty table `t` of the common definition's columns.
fn store(layout: HeapLayout) -> (Arc<Store>, TableId) {
    let store = Store::scratch(budget()).unwrap();
    let table = create(&store, TableDefinition { design: pages(layout), ..definition("t") }).unwrap();
    (store, table)
}

fn integer(value: i64) -> Datum {
    Datum::Integer(value.into())
}

fn text(value: &str) -> Datum {
    Datum::Bytes(value.as_bytes().into())
}

fn insert(store: &Arc<Store>, table: TableId, rows: &[(i64, &str)]) -> Result<Vec<RecordId>> {
    let records: Vec<Vec<Datum>> = rows.iter().map(|(id, label)| vec![integer(*id), text(label)]).collect();
    store
        .write(|transaction| transaction.heap(table, |heap| records.iter().map(|record| heap.insert(record)).collect()))
}

fn index(store: &Arc<Store>, table: TableId, columns: &[ColumnId], unique: bool) -> Result<()> {
    let columns = columns.to_vec();
    store.write(|transaction| transaction.create_index(table, "i", columns, unique, &|| true))
}

fn is_clean(store: &Arc<Store>) {
    let report = store.check().unwrap();
    assert!(report.errors.is_empty(), "{:?}", report.errors);
}

#[test]
fn a_unique_index_refuses_what_is_there() {
    for layout in LAYOUTS {
        let (store, table) = store(layout);
        insert(&store, table, &[(1, "a"), (2, "b"), (3, "a")]).unwrap();
        let error = index(&store, table, &[2], true).unwrap_err();
        assert!(matches!(&error, Error::Constraint(problem) if problem.text.contains("('a')")), "{error}");
        index(&store, table, &[1], true).unwrap();
        let error = insert(&store, table, &[(4, "d"), (2, "x")]).unwrap_err();
        assert!(matches!(&error, Error::Constraint(problem) if problem.text.contains("(2) exists already")), "{error}");
        let error = insert(&store, table, &[(5, "d"), (5, "x")]).unwrap_err();
        assert!(matches!(&error, Error::Constraint(problem) if problem.text.contains("(5) occurs twice")), "{error}");
        assert_eq!(store.snapshot().unwrap().tables[&name("t")].rows(), 3);
        is_clean(&store);
    }
}

#[test]
fn keys_pass_from_record_to_record_within_a_statement() {
    for layout in LAYOUTS {
        let (store, table) = store(layout);
        index(&store, table, &[1], true).unwrap();
        let rows: Vec<(i64, &str)> = (0..500).map(|key| (key, "x")).collect();
        let ids = insert(&store, table, &rows).unwrap();
        let shift = |by: i64| -> Result<()> {
            store.write(|transaction| {
                transaction.heap(table, |heap| {
                    for (key, id) in ids.iter().enumerate() {
                        heap.update(*id, &[(1, integer(key as i64 + by))])?;
                    }
                    Ok(())
                })
            })
        };
        shift(1).unwrap();
        is_clean(&store);
        let error = store
            .write(|transaction| transaction.heap(table, |heap| heap.update(ids[0], &[(1, integer(2))]).map(drop)))
            .unwrap_err();
        assert!(error.to_string().contains("(2)"), "{error}");
        shift(0).unwrap();
        is_clean(&store);
    }
}

#[test]
fn long_keys_are_told_apart_by_their_records() {
    for layout in LAYOUTS {
        let (store, table) = store(layout);
        index(&store, table, &[2], true).unwrap();
        let long = |end: &str| "é".repeat(700) + end;
        let (a, b) = (long("a"), long("b"));
        let ids = insert(&store, table, &[(1, &a), (2, &b)]).unwrap();
        let error = insert(&store, table, &[(3, &b)]).unwrap_err();
        assert!(error.to_string().contains("exists already"), "{error}");
        store.write(|transaction| transaction.heap(table, |heap| heap.delete_all(&ids[1..]))).unwrap();
        insert(&store, table, &[(3, &b)]).unwrap();
        is_clean(&store);
    }
}

#[test]
fn nulls_are_never_equal() {
    for layout in LAYOUTS {
        let (store, table) = store(layout);
        index(&store, table, &[2, 1], true).unwrap();
        store
            .write(|transaction| {
                transaction
                    .heap(table, |heap| (0..3).try_for_each(|_| heap.insert(&[integer(1), Datum::Null]).map(drop)))
            })
            .unwrap();
        is_clean(&store);
        assert_eq!(store.snapshot().unwrap().tables[&name("t")].rows(), 3);
    }
}

/// A scan reads the zones that hold what an index finds, and gives the same as without the index.
#[test]
fn scans_leave_out_zones() {
    for layout in LAYOUTS {
        let (store, table) = store(layout);
        let rows = 60_000;
        let batch = batch(&definition("t"), (0..rows).map(|row| row * 7919 % rows), |id| format!("{}", id % 1000));
        store.write(|transaction| transaction.heap(table, |heap| heap.load(&batch))).unwrap();
        let found = || {
            let snapshot = store.pinned().unwrap();
            let table = Arc::new(snapshot.tables[&name("t")].with_record_ids("record".into()));
            let (low, high) = (Bound::Included(integer(31_000)), Bound::Excluded(integer(31_003)));
            let predicate = Predicate::Range { column: 1, low, high };
            let scan = Arc::new(TableScan::new(table, vec![RECORD_IDS, 1], predicate, 1000, Isa::best()).unwrap());
            let batches: Vec<RecordBatch> =
                (0..scan.morsels()).flat_map(|morsel| scan.read(morsel).unwrap()).collect::<Result<_>>().unwrap();
            let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
            (scan.morsels(), scan.skipped(), rows, format!("{batches:?}"))
        };
        let before = found();
        assert_eq!((before.1, before.2), (0, 3));
        index(&store, table, &[1], true).unwrap();
        let after = found();
        assert_eq!((after.2, &after.3), (3, &before.3));
        assert!(after.0 < before.0 || before.0 <= 3, "{} of {} zones", after.0, before.0);
        assert_eq!(after.0 + after.1, before.0);
        store.write(|transaction| transaction.drop_index(table, "i")).unwrap();
        assert_eq!(found(), before);
        is_clean(&store);
    }
}
