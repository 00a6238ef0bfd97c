//! Heap tables in the catalog: random changes against a map, over commits and reopening; scans against the same conditions on
//! plain values; loads; what fails leaves nothing.

mod common;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, Float64Array, Int32Array, RecordBatch, StringViewArray};
use arrow::datatypes::{Decimal128Type, Int32Type, Int64Type};
use common::random::Random;
use common::{budget, name, open};
use gingham_kernels::Isa;
use gingham_storage::lab::HeapScan;
use gingham_storage::lmdb::RecordId;
use gingham_storage::model::{Deletes, HeapLayout, HeapOptions};
use gingham_storage::scan::TableScan;
use gingham_storage::snapshot::RECORD_IDS;
use gingham_storage::store::Store;
use gingham_storage::{
    ColumnDefinition, Datum, Design, Error, FloatBits, KeyDefinition, LogicalType, Predicate, Result, TableDefinition,
    TableId,
};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// (a INTEGER, b VARCHAR, c DOUBLE, d DECIMAL(38), e BINARY NOT NULL)
fn definition(table: &str) -> TableDefinition {
    let decimal = LogicalType::Decimal { precision: 38, scale: 0 };
    let types = [LogicalType::Int(32), LogicalType::Varchar(None), LogicalType::Float64, decimal, LogicalType::Binary];
    let columns = (1..).zip(types).map(|(id, logical_type)| ColumnDefinition {
        nullable: id != 5,
        ..ColumnDefinition::new(id, ["", "a", "b", "c", "d", "e"][id as usize], logical_type)
    });
    TableDefinition::new(name(table), columns.collect())
}

fn value(random: &mut Random, column: usize) -> Datum {
    let long = [6000, 1500, 300, 40, 40, 40, 12, 12][random.below(8)];
    let text = |random: &mut Random| (0..random.below(long)).map(|_| b'a' + random.below(26) as u8).collect();
    match column {
        4 => Datum::Bytes(text(random)),
        _ if random.below(7) == 0 => Datum::Null,
        0 => Datum::Integer(random.below(1000) as i128 - 500),
        1 => Datum::Bytes(text(random)),
        2 => Datum::Float(FloatBits::new(random.below(1000) as f64 / 8.0 - 60.0)),
        _ => Datum::Integer((random.below(1 << 40) as i128 - (1 << 39)) << random.below(80)),
    }
}

fn record(random: &mut Random) -> Vec<Datum> {
    (0..5).map(|column| value(random, column)).collect()
}

type Model = BTreeMap<RecordId, Vec<Datum>>;
/// A condition on a record's values.
type Holds = Box<dyn Fn(&[Datum]) -> bool>;

/// Every layout and way of deleting.
fn all_options() -> [HeapOptions; 4] {
    let options = |layout, deletes, page_bytes| HeapOptions { deletes, page_bytes, ..HeapOptions::new(layout) };
    [
        options(HeapLayout::Nsm, Deletes::Compact, 4080),
        options(HeapLayout::Dsm, Deletes::Compact, 4080),
        options(HeapLayout::Pax, Deletes::Compact, 8176),
        options(HeapLayout::Pax, Deletes::Defer, 4080),
    ]
}

fn create(store: &Arc<Store>, options: HeapOptions) -> TableId {
    store
        .write(|transaction| {
            let table = transaction.create_heap_table(definition("t"), options)?;
            transaction.create_index(table, "by_a", vec![1], false, &|| true)?;
            transaction.create_index(table, "by_b_c", vec![2, 3], false, &|| true)?;
            transaction.create_index(table, "by_d_a", vec![4, 1], false, &|| true)?;
            Ok(table)
        })
        .unwrap()
}

/// Some changes in one transaction, done to the model too.
fn change(store: &Arc<Store>, table: TableId, model: &mut Model, random: &mut Random, steps: usize) -> Result<()> {
    store.write(|transaction| {
        transaction.heap(table, |heap| {
            for _ in 0..steps {
                let picked = (!model.is_empty()).then(|| *model.keys().nth(random.below(model.len())).unwrap());
                match (random.below(10), picked) {
                    (0 | 1, Some(id)) => {
                        assert!(heap.delete(id)?);
                        assert!(!heap.delete(id)? && heap.update(id, &[])?.is_none() && heap.get(id)?.is_none());
                        model.remove(&id);
                    }
                    (2..=5, Some(id)) => {
                        let columns: Vec<usize> = (0..5).filter(|_| random.below(3) == 0).collect();
                        let changes: Vec<(u32, Datum)> =
                            columns.iter().map(|column| (*column as u32 + 1, value(random, *column))).collect();
                        let now = heap.update(id, &changes)?.unwrap();
                        let mut record = model.remove(&id).unwrap();
                        columns.iter().zip(changes).for_each(|(column, (_, value))| record[*column] = value);
                        assert!(model.insert(now, record).is_none(), "record id {now} was taken");
                    }
                    _ => {
                        let record = record(random);
                        let id = heap.insert(&record)?;
                        assert!(model.insert(id, record).is_none(), "record id {id} was taken");
                    }
                }
                assert_eq!(heap.rows(), model.len() as u64);
            }
            Ok(())
        })
    })
}

/// Holds all that can be read against the model.
fn verify(store: &Arc<Store>, table: TableId, model: &Model) {
    let reader = Arc::new(store.heap(table).unwrap());
    assert_eq!(reader.rows(), model.len() as u64);
    assert_eq!(store.snapshot().unwrap().tables[&name("t")].rows(), model.len() as u64);
    for (id, record) in model {
        assert_eq!(reader.get(*id).unwrap().as_ref(), Some(record), "record {id}");
    }
    let integer = |value: &Datum| if let Datum::Integer(value) = value { Some(*value) } else { None };
    let low = Datum::Bytes((*b"m").into());
    let wide = Datum::Integer(1 << 60);
    let range = |column, low, high| Predicate::Range { column, low, high };
    let conditions: Vec<(Predicate, Holds)> = vec![
        (Predicate::Constant(true), Box::new(|_| true)),
        (
            range(1, Bound::Included(Datum::Integer(-100)), Bound::Excluded(Datum::Integer(77))),
            Box::new(move |record| integer(&record[0]).is_some_and(|value| (-100..77).contains(&value))),
        ),
        (
            Predicate::And(vec![
                range(1, Bound::Excluded(Datum::Integer(0)), Bound::Unbounded),
                range(1, Bound::Unbounded, Bound::Included(Datum::Integer(400))),
                range(2, Bound::Included(low.clone()), Bound::Unbounded),
                Predicate::IsNull { column: 3, negated: true },
            ]),
            Box::new(move |record| {
                integer(&record[0]).is_some_and(|value| value > 0 && value <= 400)
                    && low.compare(&record[1]).is_some_and(|order| order.is_le())
                    && !record[2].is_null()
            }),
        ),
        (
            Predicate::Or(vec![
                range(4, Bound::Included(wide.clone()), Bound::Unbounded),
                Predicate::In { column: 1, values: vec![Datum::Integer(3), Datum::Integer(9)], negated: false },
                Predicate::IsNull { column: 2, negated: false },
            ]),
            Box::new(move |record| {
                wide.compare(&record[3]).is_some_and(|order| order.is_le())
                    || matches!(integer(&record[0]), Some(3 | 9))
                    || record[1].is_null()
            }),
        ),
    ];
    for (predicate, holds) in conditions {
        let scan = HeapScan::new(Arc::clone(&reader), vec![5, 1], &predicate, Isa::best()).unwrap();
        let mut found = Vec::new();
        for zone in 0..scan.zones() {
            let ids = scan.matches(zone).unwrap();
            let batch = scan.read(zone).unwrap();
            assert_eq!(batch.num_rows(), ids.len());
            let (bytes, integers) = (batch.column(0).as_binary_view(), batch.column(1).as_primitive::<Int32Type>());
            for (row, id) in ids.iter().enumerate() {
                let record = &model[id];
                assert_eq!(Datum::Bytes(bytes.value(row).into()), record[4], "record {id}");
                let read = integers.is_valid(row).then(|| i128::from(integers.value(row)));
                assert_eq!(read, integer(&record[0]), "record {id}");
            }
            found.extend(ids);
        }
        found.sort_unstable();
        let expected: Vec<RecordId> = model.iter().filter(|(_, record)| holds(record)).map(|(id, _)| *id).collect();
        assert_eq!(found, expected, "{predicate:?}");
        verify_scan(store, model, predicate, &expected);
    }
    let report = store.check().unwrap();
    assert!(report.errors.is_empty() && report.notes.is_empty(), "{report:?}");
}

/// Holds the scan that queries use against the model: `expected` are the records that fulfil `predicate`.
fn verify_scan(store: &Arc<Store>, model: &Model, predicate: Predicate, expected: &[RecordId]) {
    let snapshot = store.pinned().unwrap();
    let own = Arc::new(snapshot.tables[&name("t")].with_record_ids("id".into()));
    let scan = TableScan::new(Arc::clone(&own), vec![RECORD_IDS, 4, 2, 1], predicate, 1000, Isa::best()).unwrap();
    let scan = Arc::new(scan);
    let mut found = Vec::new();
    for morsel in 0..scan.morsels() {
        let before = found.len();
        for batch in scan.read(morsel).unwrap().map(Result::unwrap) {
            let (ids, decimals) =
                (batch.column(0).as_primitive::<Int64Type>(), batch.column(1).as_primitive::<Decimal128Type>());
            let (texts, integers) = (batch.column(2).as_string_view(), batch.column(3).as_primitive::<Int32Type>());
            for row in 0..batch.num_rows() {
                let id = ids.value(row) as RecordId;
                let text = texts.is_valid(row).then(|| Datum::Bytes(texts.value(row).as_bytes().into()));
                let number = |value: Option<i128>| value.map_or(Datum::Null, Datum::Integer);
                assert_eq!(text.unwrap_or(Datum::Null), model[&id][1], "record {id}");
                assert_eq!(number(decimals.is_valid(row).then(|| decimals.value(row))), model[&id][3], "record {id}");
                assert_eq!(number(integers.is_valid(row).then(|| integers.value(row).into())), model[&id][0]);
                found.push(id);
            }
        }
        assert_eq!(scan.count(morsel).unwrap(), found.len() - before);
    }
    found.sort_unstable();
    assert_eq!(found, expected);
    for (at, column) in [(0, 1), (3, 4)] {
        let (summary, values) = (own.summary(column).unwrap(), || model.values().map(move |record| &record[at]));
        for value in values().filter(|value| !value.is_null()) {
            let within = summary.min.compare(value).is_some_and(|order| order.is_le())
                && summary.max.compare(value).is_some_and(|order| order.is_ge());
            assert!(within, "{value:?} is not within {summary:?}");
        }
        assert!(summary.nulls > 0 || !values().any(Datum::is_null), "{summary:?}");
    }
}

#[test]
fn random_changes_over_commits_and_reopening_are_what_a_map_is() {
    let (rounds, steps) = if std::env::var_os("GINGHAM_NIGHTLY").is_some() { (60, 4000) } else { (6, 300) };
    for (seed, options) in (1..).zip(all_options()) {
        let folder = tempfile::tempdir().unwrap();
        let (mut random, mut model) = (Random(seed), Model::new());
        let table = create(&open(folder.path()).unwrap(), options);
        for round in 0..rounds {
            let store = open(folder.path()).unwrap();
            change(&store, table, &mut model, &mut random, steps).unwrap();
            if round % 5 == rounds % 5 || rounds < 10 {
                verify(&store, table, &model);
            }
        }
        assert!(model.len() > 100, "{options:?}: {}", model.len());
    }
}

fn batch(definition: &TableDefinition, random: &mut Random, rows: usize, model: &mut Vec<Vec<Datum>>) -> RecordBatch {
    let records: Vec<Vec<Datum>> = (0..rows).map(|_| record(random)).collect();
    let integers =
        |at: usize| records.iter().map(move |record| if let Datum::Integer(v) = record[at] { Some(v) } else { None });
    let bytes = |at: usize| {
        records.iter().map(move |record| if let Datum::Bytes(v) = &record[at] { Some(&v[..]) } else { None })
    };
    let floats = records.iter().map(|record| if let Datum::Float(v) = record[2] { Some(v.get()) } else { None });
    let decimals = arrow::array::Decimal128Array::from_iter(integers(3)).with_precision_and_scale(38, 0).unwrap();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from_iter(integers(0).map(|value| value.map(|value| value as i32)))),
        Arc::new(StringViewArray::from_iter(
            bytes(1).map(|value| value.map(|value| std::str::from_utf8(value).unwrap())),
        )),
        Arc::new(Float64Array::from_iter(floats)),
        Arc::new(decimals),
        Arc::new(BinaryViewArray::from_iter(bytes(4))),
    ];
    let batch = RecordBatch::try_new(definition.arrow_schema(), columns).unwrap();
    model.extend(records);
    batch
}

#[test]
fn loads_keep_the_order_of_records_and_are_followed_by_changes() {
    for (seed, options) in (20..).zip(all_options()) {
        let store = Store::scratch(budget()).unwrap();
        let table = create(&store, options);
        let (mut random, mut loaded) = (Random(seed), Vec::new());
        let own = definition("t");
        store
            .write(|transaction| {
                transaction
                    .heap(table, |heap| (0..3).try_for_each(|_| heap.load(&batch(&own, &mut random, 170, &mut loaded))))
            })
            .unwrap();
        let reader = Arc::new(store.heap(table).unwrap());
        let scan = HeapScan::new(reader, vec![1], &Predicate::Constant(true), Isa::best()).unwrap();
        let ids: Vec<RecordId> = (0..scan.zones()).flat_map(|zone| scan.matches(zone).unwrap()).collect();
        assert!(ids.is_sorted() && ids.len() == loaded.len());
        let mut model: Model = ids.into_iter().zip(loaded).collect();
        verify(&store, table, &model);
        change(&store, table, &mut model, &mut random, 200).unwrap();
        verify(&store, table, &model);
    }
}

#[test]
fn what_fails_leaves_nothing_and_a_reader_keeps_what_it_began_with() {
    for (seed, options) in (30..).zip(all_options()) {
        let store = Store::scratch(budget()).unwrap();
        let table = create(&store, options);
        let (mut random, mut model) = (Random(seed), Model::new());
        change(&store, table, &mut model, &mut random, 100).unwrap();
        let before = store.heap(table).unwrap();
        let failed: Result<()> = store.write(|transaction| {
            let inner: Result<()> = transaction.heap(table, |heap| {
                (0..50).try_for_each(|_| heap.insert(&record(&mut random)).map(drop))?;
                heap.insert(&[Datum::Null, Datum::Null, Datum::Null, Datum::Null, Datum::Null]).map(drop)
            });
            assert!(inner.unwrap_err().to_string().contains("column 'e' is NOT NULL"));
            Ok(())
        });
        assert!(failed.unwrap_err().to_string().contains("can't be committed"));
        verify(&store, table, &model);
        let kept = model.clone();
        change(&store, table, &mut model, &mut random, 300).unwrap();
        for (id, record) in &kept {
            assert_eq!(before.get(*id).unwrap().as_ref(), Some(record));
        }
        verify(&store, table, &model);
        assert_eq!(store.write(|transaction| transaction.truncate(table)).unwrap(), model.len() as u64);
        verify(&store, table, &Model::new());
        store.write(|transaction| transaction.drop_table(&name("t"))).unwrap();
        assert!(store.heap(table).is_err());
        let report = store.check().unwrap();
        assert!(report.errors.is_empty(), "{report:?}");
    }
}

#[test]
fn insertions_use_the_room_that_deletions_leave() {
    for options in all_options().into_iter().filter(|options| options.layout != HeapLayout::Dsm) {
        let store = Store::scratch(budget()).unwrap();
        let table = create(&store, options);
        let row = |number: i128| {
            [
                Datum::Integer(number),
                Datum::Bytes((*b"some text").into()),
                Datum::Null,
                Datum::Null,
                Datum::Bytes((*b"").into()),
            ]
        };
        let fill = |count: i128| {
            store.write(|transaction| {
                transaction
                    .heap(table, |heap| (0..count).map(|number| heap.insert(&row(number))).collect::<Result<Vec<_>>>())
            })
        };
        let ids = fill(2000).unwrap();
        let pages = store.heap(table).unwrap().record().pages;
        let gone: Vec<RecordId> = ids.into_iter().skip(300).take(1000).collect();
        store
            .write(|transaction| {
                transaction.heap(table, |heap| gone.iter().try_for_each(|id| heap.delete(*id).map(drop)))
            })
            .unwrap();
        fill(990).unwrap();
        let reader = store.heap(table).unwrap();
        assert_eq!((reader.rows(), reader.record().pages), (1990, pages), "{options:?}");
    }
}

/// The whole table as it lies in zones of many pages, in the order in which its records were loaded.
fn loaded(store: &Arc<Store>) -> Vec<RecordBatch> {
    let own = Arc::clone(&store.pinned().unwrap().tables[&name("t")]);
    let scan = TableScan::new(own, vec![1, 2, 3, 4, 5], Predicate::Constant(true), 1 << 20, Isa::best()).unwrap();
    let scan = Arc::new(scan);
    (0..scan.morsels()).flat_map(|morsel| scan.read(morsel).unwrap().map(Result::unwrap)).collect()
}

#[test]
fn a_table_changes_between_pages_and_columns_and_keeps_its_records() {
    let store = Store::scratch(budget()).unwrap();
    let definition = definition("t");
    let table = store.write(|transaction| transaction.create_table(definition.clone())).unwrap();
    let (mut random, mut model) = (Random(5), Vec::new());
    let own = Arc::clone(&store.snapshot().unwrap().tables[&name("t")]);
    let writer = store.table_writer(&own).unwrap();
    writer.append(0, batch(&own.definition, &mut random, 2000, &mut model)).unwrap();
    let rows = writer.finish().unwrap();
    store.write(|transaction| transaction.append(table, rows)).unwrap();
    let schema = definition.arrow_schema();
    let whole = |store: &Arc<Store>| arrow::compute::concat_batches(&schema, &loaded(store)).unwrap();
    let before = whole(&store);
    let pages = all_options().map(Design::of_pages);
    let designs = pages.iter().cloned().chain([Design::default()]).chain(pages.clone().into_iter().rev());
    for design in designs.chain([Design::of_packing(gingham_storage::Packing::ByteSlice)]) {
        let mut told = Vec::new();
        let mut watch = |done, all| {
            told.push((done, all));
            Ok(())
        };
        assert_eq!(store.set_design(&name("t"), design.clone(), 2, &mut watch).unwrap(), 2000);
        assert_eq!((told[0], told[told.len() - 1]), ((0, 2000), (2000, 2000)));
        assert_eq!(whole(&store), before, "{design:?}");
        // What is refused half way leaves all as it was.
        let other = if design.heap.is_some() { Design::default() } else { pages[2].clone() };
        let mut refuse = |done, all| if done == all { Err(Error::Cancelled) } else { Ok(()) };
        assert!(matches!(store.set_design(&name("t"), other, 2, &mut refuse), Err(Error::Cancelled)));
        assert_eq!(whole(&store), before, "{design:?}");
        let report = store.check().unwrap();
        assert!(report.errors.is_empty() && report.notes.is_empty(), "{design:?}: {report:?}");
    }
}

#[test]
fn what_heap_tables_do_not_offer_is_refused_by_name() {
    let store = Store::scratch(budget()).unwrap();
    let create = |definition, options| store.write(|transaction| transaction.create_heap_table(definition, options));
    let pax = HeapOptions::new(HeapLayout::Pax);
    let mut sorted = definition("k");
    sorted.sort_by.push(1);
    assert!(create(sorted, pax).unwrap_err().to_string().contains("sort_by"));
    let odd = HeapOptions { page_bytes: 8192, ..pax };
    assert!(create(definition("k"), odd).unwrap_err().to_string().contains("8192"));
    let table = create(definition("t"), pax).unwrap();
    let snapshot = store.snapshot().unwrap();
    let own = &snapshot.tables[&name("t")];
    let scan = TableScan::new(Arc::clone(own), vec![1], Predicate::Constant(true), 10, Isa::best());
    assert_eq!(scan.unwrap().morsels(), 0);
    let mut keyed = (*own.definition).clone();
    keyed.keys.push(KeyDefinition { name: "late".into(), columns: vec![1], primary: false });
    let refused = store.write(|transaction| transaction.alter_table(keyed)).unwrap_err();
    assert!(refused.to_string().contains("can't get the key 'late'"), "{refused}");
    let plain = store.write(|transaction| transaction.create_table(definition("plain"))).unwrap();
    assert!(store.heap(plain).unwrap_err().to_string().contains("'plain' is not kept in heap pages"));
    let (mut random, mut model) = (Random(1), Vec::new());
    let append = |batch| {
        let writer = store.table_writer(own).unwrap();
        writer.append(0, batch).unwrap();
        let rows = writer.finish().unwrap();
        store.write(|transaction| transaction.append(table, rows)).unwrap();
    };
    append(batch(&own.definition, &mut random, 3, &mut model));
    let unpinned = Arc::clone(&store.snapshot().unwrap().tables[&name("t")]);
    let scan = TableScan::new(unpinned, vec![1], Predicate::Constant(true), 10, Isa::best());
    assert!(scan.unwrap_err().to_string().contains("under a pin"));
}

#[test]
fn damage_is_found_where_it_is_read_and_named() {
    let options = HeapOptions::new(HeapLayout::Pax);
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    let table = create(&store, options);
    let row = |number: i128| {
        let mark = format!("mark {number:04}").into_bytes().into_boxed_slice();
        [Datum::Integer(number), Datum::Bytes(mark), Datum::Null, Datum::Null, Datum::Bytes((*b"x").into())]
    };
    let ids: Vec<RecordId> = store
        .write(|transaction| transaction.heap(table, |heap| (0..500).map(|number| heap.insert(&row(number))).collect()))
        .unwrap();
    drop(store);
    let file = folder.path().join("catalog/data.mdb");
    let mut bytes = std::fs::read(&file).unwrap();
    let found = bytes.windows(9).position(|window| window == b"mark 0400").unwrap();
    bytes[found] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let store = open(folder.path()).unwrap();
    let reader = Arc::new(store.heap(table).unwrap());
    let scan =
        |column| HeapScan::new(Arc::clone(&reader), vec![column], &Predicate::Constant(true), Isa::best()).unwrap();
    let page = ids[400] >> 16;
    let (whole, damaged) = (scan(1), scan(2));
    for zone in 0..whole.zones() {
        assert!(whole.read(zone).unwrap().num_rows() > 0, "the minipage of another column is not looked at");
        assert_eq!(damaged.read(zone).is_ok(), zone != page);
    }
    let expected = format!("page {page} of table t: minipage 1 (column 'b')");
    for error in [damaged.read(page).unwrap_err(), reader.get(ids[400]).unwrap_err()] {
        assert!(matches!(error, Error::Corrupt { .. }) && error.to_string().contains(&expected), "{error}");
    }
    let report = store.check().unwrap();
    assert!(report.errors.len() == 1 && report.errors[0].to_string().contains(&expected), "{report:?}");
}

#[test]
fn a_writer_changes_more_pages_than_it_keeps() {
    for options in all_options().map(|options| HeapOptions { page_bytes: 4080, ..options }) {
        let store = Store::scratch(budget()).unwrap();
        let table = create(&store, options);
        let text =
            |number: usize, length| Datum::Bytes((0..length).map(|at| b'a' + ((number + at) % 26) as u8).collect());
        let mut model = Model::new();
        store
            .write(|transaction| {
                transaction.heap(table, |heap| {
                    for number in 0..1200 {
                        let (a, d) = (Datum::Integer(number as i128), Datum::Null);
                        let record = vec![a, text(number, 1000), Datum::Null, d, text(number + 5, 1010)];
                        model.insert(heap.insert(&record)?, record);
                    }
                    // Those that were written back are read again.
                    for id in model.keys().copied().step_by(7).collect::<Vec<_>>() {
                        let now = heap.update(id, &[(2, text(3, 20)), (5, text(4, 1020))])?.unwrap();
                        let mut record = model.remove(&id).unwrap();
                        (record[1], record[4]) = (text(3, 20), text(4, 1020));
                        model.insert(now, record);
                    }
                    Ok(())
                })
            })
            .unwrap();
        assert!(store.heap(table).unwrap().record().pages > 600);
        verify(&store, table, &model);
    }
}
