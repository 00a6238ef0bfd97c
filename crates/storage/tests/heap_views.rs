//! Scans of heap tables read pages the first time with every check, and then without: both must give what was inserted, for
//! fixed values of each width, NULLs, strings and deleted records.

mod common;

use arrow::array::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use common::{budget, name, open};
use gingham_kernels::Isa;
use gingham_storage::lmdb::RecordId;
use gingham_storage::model::{Deletes, HeapLayout, HeapOptions};
use gingham_storage::scan::TableScan;
use gingham_storage::store::Store;
use gingham_storage::{ColumnDefinition, Datum, Design, LogicalType, Predicate, TableDefinition, TableId};
use std::ops::Bound;
use std::sync::Arc;

const ROWS: i128 = 20_000;

/// Five columns of fixed widths without NULLs, and a number and a string that may be NULL.
fn definition() -> TableDefinition {
    let decimal = LogicalType::Decimal { precision: 38, scale: 0 };
    let fixed = [8, 16, 32, 64].map(LogicalType::Int).into_iter().chain([decimal]).map(|of| (of, false));
    let nullable = [LogicalType::Int(32), LogicalType::Varchar(None)].map(|of| (of, true));
    let columns = (1..).zip(fixed.chain(nullable)).map(|(id, (logical_type, nullable))| ColumnDefinition {
        nullable,
        ..ColumnDefinition::new(id, format!("c{id}"), logical_type)
    });
    TableDefinition::new(name("t"), columns.collect())
}

fn record(row: i128) -> Vec<Datum> {
    let number = |modulus: i128| Datum::Integer(row * 7919 % modulus - modulus / 2);
    let text = format!("{}{}", row % 1000, "x".repeat((row % 13) as usize));
    vec![
        number(200),
        number(60_000),
        number(1 << 31),
        number(1 << 62),
        Datum::Integer((row << 90) - 5),
        if row % 5 == 0 { Datum::Null } else { number(1000) },
        if row % 11 == 0 { Datum::Null } else { Datum::Bytes(text.into_bytes().into()) },
    ]
}

fn text(batch: &RecordBatch, row: usize) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL");
    let cell = |column| ArrayFormatter::try_new(column, &options).unwrap().value(row).to_string();
    batch.columns().iter().map(|column| cell(column.as_ref())).collect()
}

fn expected(row: i128) -> Vec<String> {
    let cell = |value: Datum| match value {
        Datum::Integer(value) => value.to_string(),
        Datum::Bytes(value) => String::from_utf8(value.to_vec()).unwrap(),
        _ => "NULL".to_owned(),
    };
    record(row).into_iter().map(cell).collect()
}

/// A store with a heap table of all records, its number and the records' ids.
fn filled(options: HeapOptions) -> (Arc<Store>, TableId, Vec<RecordId>) {
    let store = Store::scratch(budget()).unwrap();
    let (table, ids) = store
        .write(|transaction| {
            let table = transaction.create_heap_table(definition(), options)?;
            let ids = transaction
                .heap(table, |heap| (0..ROWS).map(|row| heap.insert(&record(row))).collect::<Result<_, _>>())?;
            Ok((table, ids))
        })
        .unwrap();
    (store, table, ids)
}

/// Every record that a scan gives, in its order.
fn scanned(store: &Arc<Store>) -> Vec<Vec<String>> {
    found(store, Predicate::Constant(true))
}

/// Every record that fulfils a predicate.
fn found(store: &Arc<Store>, predicate: Predicate) -> Vec<Vec<String>> {
    let table = Arc::clone(&store.pinned().unwrap().tables[&name("t")]);
    let columns = (1..=7).collect();
    let scan = TableScan::new(table, columns, predicate, 4096, Isa::best()).unwrap();
    let scan = Arc::new(scan);
    let batches = (0..scan.morsels()).flat_map(|morsel| scan.read(morsel).unwrap().map(Result::unwrap));
    batches.flat_map(|batch| (0..batch.num_rows()).map(|row| text(&batch, row)).collect::<Vec<_>>()).collect()
}

#[test]
fn what_was_checked_reads_as_what_was_not() {
    for (layout, deletes) in [
        (HeapLayout::Nsm, Deletes::Compact),
        (HeapLayout::Dsm, Deletes::Compact),
        (HeapLayout::Pax, Deletes::Compact),
        (HeapLayout::Pax, Deletes::Defer),
    ] {
        let (store, table, ids) = filled(HeapOptions { deletes, ..HeapOptions::new(layout) });
        let mut rows: Vec<Vec<String>> = (0..ROWS).map(expected).collect();
        for deleted in [0, 37] {
            if deleted > 0 {
                let gone = |at: &usize| at % deleted == 3;
                store
                    .write(|transaction| {
                        transaction.heap(table, |heap| {
                            (0..ids.len())
                                .filter(gone)
                                .try_for_each(|at| heap.delete(ids[at]).map(|found| assert!(found)))
                        })
                    })
                    .unwrap();
                rows = (0..ids.len()).filter(|at| !gone(at)).map(|at| expected(at as i128)).collect();
            }
            for scan in ["checks", "copies", "copies again"] {
                let found = scanned(&store);
                assert_eq!(found.len(), rows.len(), "{layout}, {deletes:?}, the scan that {scan}");
                for (row, (found, wanted)) in found.iter().zip(&rows).enumerate() {
                    assert_eq!(found, wanted, "{layout}, {deletes:?}, the scan that {scan}, record {row}");
                }
            }
        }
    }
}

#[test]
fn few_records_of_a_zone_are_what_a_scan_of_all_gives() {
    for deletes in [Deletes::Compact, Deletes::Defer] {
        let (store, table, ids) = filled(HeapOptions { deletes, ..HeapOptions::new(HeapLayout::Pax) });
        // Of a column, from and up to which value: about one record in a hundred, one alone, the first and the last, none.
        let of_row = |row: i128| row * 7919 - (1 << 61);
        let alone = [1, 0, ROWS - 1].map(|row| (4, of_row(row), of_row(row)));
        let limits = [(1, 5, 6), (2, -300, 200), (4, 3, 4)].into_iter().chain(alone);
        for changed in [false, true] {
            if changed {
                let change = |at: usize| match at % 50 {
                    0 => Some(None),
                    7 => Some(Some(record(at as i128 + 1))),
                    _ => None,
                };
                let changes = ids.iter().enumerate().filter_map(|(at, id)| Some((*id, change(at)?)));
                store
                    .write(|transaction| {
                        transaction.heap(table, |heap| {
                            changes.into_iter().try_for_each(|(id, change)| match change {
                                None => heap.delete(id).map(|found| assert!(found)),
                                Some(record) => {
                                    let values: Vec<_> = (1..).zip(record).collect();
                                    heap.update(id, &values).map(|found| assert!(found.is_some()))
                                }
                            })
                        })
                    })
                    .unwrap();
            }
            let all = scanned(&store);
            for (column, low, high) in limits.clone() {
                let [start, end] = [low, high].map(|limit| Bound::Included(Datum::Integer(limit)));
                let predicate = Predicate::Range { column, low: start, high: end };
                let fulfils =
                    |row: &&Vec<String>| (low..=high).contains(&row[column as usize - 1].parse::<i128>().unwrap());
                let wanted: Vec<_> = all.iter().filter(fulfils).cloned().collect();
                assert!(wanted.len() < ROWS as usize / 32);
                for _ in 0..2 {
                    assert_eq!(found(&store, predicate.clone()), wanted, "{deletes:?}, {changed}, column {column}");
                }
            }
        }
    }
}

/// Comparisons of codes of every width against the values that a scan of all gives.
#[test]
fn predicates_over_pages_are_those_of_values() {
    for deletes in [Deletes::Compact, Deletes::Defer] {
        let (store, table, ids) = filled(HeapOptions { deletes, ..HeapOptions::new(HeapLayout::Pax) });
        for changed in [false, true] {
            if changed {
                let gone = ids.iter().enumerate().filter(|(at, _)| at % 41 == 2).map(|(_, id)| *id);
                store
                    .write(|transaction| {
                        let mut gone = gone.into_iter();
                        transaction.heap(table, |heap| gone.try_for_each(|id| heap.delete(id).map(drop)))
                    })
                    .unwrap();
            }
            let all = scanned(&store);
            for (column, low, high) in [(1, -20, 50), (2, -30_000, 100), (3, 0, 1 << 29), (4, -(1 << 60), 1 << 60)] {
                let value = |row: &Vec<String>| row[column as usize - 1].parse::<i128>().unwrap();
                let listed: Vec<i128> = [low, high, value(&all[77]), value(&all[ROWS as usize / 2])].to_vec();
                let values: Vec<Datum> = listed.iter().map(|value| Datum::Integer(*value)).collect();
                let [start, end] = [low, high].map(|limit| Bound::Included(Datum::Integer(limit)));
                type Fulfils<'f> = Box<dyn Fn(i128) -> bool + 'f>;
                let forms: [(Predicate, Fulfils<'_>); 3] = [
                    (
                        Predicate::Range { column, low: start, high: end },
                        Box::new(|value| (low..=high).contains(&value)),
                    ),
                    (
                        Predicate::In { column, values: values.clone(), negated: false },
                        Box::new(|value| listed.contains(&value)),
                    ),
                    (Predicate::In { column, values, negated: true }, Box::new(|value| !listed.contains(&value))),
                ];
                for (predicate, fulfils) in forms {
                    let wanted: Vec<_> = all.iter().filter(|row| fulfils(value(row))).cloned().collect();
                    assert!(found(&store, predicate.clone()) == wanted, "{deletes:?}, {changed}, {predicate:?}");
                }
            }
        }
    }
}

#[test]
fn a_column_is_read_without_presence_bits_until_a_null_comes() {
    for layout in [HeapLayout::Nsm, HeapLayout::Dsm, HeapLayout::Pax] {
        let number = ColumnDefinition::new(1, "n", LogicalType::Int(64));
        let columns = vec![ColumnDefinition { nullable: true, ..number }];
        let store = Store::scratch(budget()).unwrap();
        let (table, ids) = store
            .write(|transaction| {
                let definition = TableDefinition::new(name("t"), columns);
                let table = transaction.create_heap_table(definition, HeapOptions::new(layout))?;
                let insert = |row| [Datum::Integer(row)];
                let ids = transaction.heap(table, |heap| {
                    (0..5000).map(|row| heap.insert(&insert(row))).collect::<Result<Vec<_>, _>>()
                })?;
                Ok((table, ids))
            })
            .unwrap();
        let count = |predicate: Predicate| {
            let table = Arc::clone(&store.pinned().unwrap().tables[&name("t")]);
            let scan = TableScan::new(table, vec![1], predicate, 4096, Isa::best()).unwrap();
            (0..scan.morsels())
                .map(|morsel| scan.open(morsel).unwrap().map_or(0, |open| open.qualifying()))
                .sum::<usize>()
        };
        let [low, high] = [10, 1999].map(|limit| Bound::Included(Datum::Integer(limit)));
        let range = Predicate::Range { column: 1, low, high };
        let null = Predicate::IsNull { column: 1, negated: false };
        for (value, expected) in
            [(Datum::Integer(15), (1990, 0)), (Datum::Null, (1989, 1)), (Datum::Integer(7), (1989, 0))]
        {
            store
                .write(|transaction| transaction.heap(table, |heap| heap.update(ids[15], &[(1, value.clone())])))
                .unwrap();
            for round in 0..3 {
                let found = (count(range.clone()), count(null.clone()));
                assert_eq!(found, expected, "{layout}, {value:?}, round {round}");
            }
        }
    }
}

#[test]
fn a_path_is_free_when_its_pages_are_let_go() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    let mut own = definition();
    own.design = Design::of_pages(HeapOptions::new(HeapLayout::Pax));
    store.write(|transaction| transaction.create_table(own)).unwrap();
    let snapshot = store.pinned().unwrap();
    let (lent, awake) = snapshot.lend_pages().unwrap().expect("pages");
    let pages = snapshot.tables[&name("t")].pages.clone().expect("a heap table");
    drop((snapshot, lent, awake, store));
    let holder = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(50));
        drop(pages);
    });
    assert_eq!(open(folder.path()).unwrap().snapshot().unwrap().tables.len(), 1);
    holder.join().unwrap();
}
