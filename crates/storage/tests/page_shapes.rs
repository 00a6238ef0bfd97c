//! Columns of heap tables that come and go beside pages that were made without them: random changes of columns and records against a
//! map, over commits, failures and reopening, in each layout.

mod common;

use arrow::util::display::{ArrayFormatter, FormatOptions};
use common::random::Random;
use common::{name, open};
use gingham_kernels::Isa;
use gingham_storage::lmdb::RecordId;
use gingham_storage::model::{Deletes, HeapLayout, HeapOptions};
use gingham_storage::scan::TableScan;
use gingham_storage::store::Store;
use gingham_storage::write::{CheckedRows, Transaction};
use gingham_storage::{ColumnDefinition, Datum, Error, LogicalType, Predicate, Result, TableDefinition, TableId};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// A table as it should be.
struct Model {
    definition: TableDefinition,
    records: BTreeMap<RecordId, Vec<Datum>>,
}

fn all_options() -> [HeapOptions; 4] {
    let options = |layout, deletes| HeapOptions { deletes, page_bytes: 4080, ..HeapOptions::new(layout) };
    [
        options(HeapLayout::Nsm, Deletes::Compact),
        options(HeapLayout::Dsm, Deletes::Compact),
        options(HeapLayout::Pax, Deletes::Compact),
        options(HeapLayout::Pax, Deletes::Defer),
    ]
}

/// A column of a type that is picked; its number is the table's next.
fn column(definition: &mut TableDefinition, random: &mut Random) -> ColumnDefinition {
    let id = Transaction::next_column(definition);
    let logical_type = match random.below(5) {
        0 => LogicalType::Int(16),
        1 => LogicalType::Int(64),
        2 => LogicalType::Decimal { precision: 30, scale: 0 },
        _ => LogicalType::Varchar(None),
    };
    let mut own = ColumnDefinition::new(id, format!("c{id}"), logical_type);
    own.nullable = random.below(2) == 0;
    own.initial = value(random, &own);
    own
}

fn value(random: &mut Random, own: &ColumnDefinition) -> Datum {
    if own.nullable && random.below(4) == 0 {
        return Datum::Null;
    }
    match own.logical_type {
        LogicalType::Varchar(_) => {
            let long = [3000, 700, 60, 12, 12, 12][random.below(6)];
            Datum::Bytes((0..random.below(long)).map(|_| b'a' + random.below(26) as u8).collect())
        }
        _ => Datum::Integer(random.below(2000) as i128 - 1000),
    }
}

/// Some changes of records in one transaction, done to the model too.
fn change(transaction: &mut Transaction<'_>, table: TableId, model: &mut Model, random: &mut Random) -> Result<()> {
    let columns = model.definition.columns.clone();
    let records = &mut model.records;
    transaction.heap(table, |heap| {
        for _ in 0..random.below(60) {
            let picked = (!records.is_empty()).then(|| *records.keys().nth(random.below(records.len())).unwrap());
            match (random.below(10), picked) {
                (0 | 1, Some(id)) => {
                    assert!(heap.delete(id)?);
                    records.remove(&id);
                }
                (2..=5, Some(id)) => {
                    let wanted: Vec<usize> = (0..columns.len()).filter(|_| random.below(3) == 0).collect();
                    let changes: Vec<(u32, Datum)> =
                        wanted.iter().map(|at| (columns[*at].id, value(random, &columns[*at]))).collect();
                    let now = heap.update(id, &changes)?.unwrap();
                    let mut record = records.remove(&id).unwrap();
                    wanted.iter().zip(changes).for_each(|(at, (_, value))| record[*at] = value);
                    assert!(records.insert(now, record).is_none(), "record id {now} was taken");
                }
                _ => {
                    let record: Vec<Datum> = columns.iter().map(|own| value(random, own)).collect();
                    let id = heap.insert(&record)?;
                    assert!(records.insert(id, record).is_none(), "record id {id} was taken");
                }
            }
        }
        Ok(())
    })
}

/// One change of the columns, done to the model too.
fn alter(transaction: &mut Transaction<'_>, model: &mut Model, random: &mut Random) -> Result<()> {
    let mut after = model.definition.clone();
    match random.below(4) {
        0 | 1 if after.columns.len() < 7 => {
            let own = column(&mut after, random);
            model.records.values_mut().for_each(|record| record.push(own.initial.clone()));
            after.columns.push(own);
        }
        2 if after.columns.len() > 2 => {
            let at = random.below(after.columns.len());
            let id = after.columns.remove(at).id;
            after.indexes.retain(|index| !index.columns.contains(&id));
            after.design.remove_column(id);
            model.records.values_mut().for_each(|record| drop(record.remove(at)));
        }
        _ => {
            let at = random.below(after.columns.len());
            let has_null = model.records.values().any(|record| record[at] == Datum::Null);
            after.columns[at].nullable = has_null || !after.columns[at].nullable;
        }
    }
    transaction.alter_table_knowing(after, &CheckedRows { not_null: true, ..CheckedRows::default() })?;
    model.definition = transaction.definition(model.definition.id)?;
    Ok(())
}

fn shown(value: &Datum) -> String {
    match value {
        Datum::Integer(value) => value.to_string(),
        Datum::Bytes(value) => String::from_utf8(value.to_vec()).unwrap(),
        _ => "NULL".to_owned(),
    }
}

/// The records that a scan gives, in the order of their texts.
fn scanned(store: &Arc<Store>, columns: &[u32], predicate: Predicate) -> Vec<Vec<String>> {
    let snapshot = store.pinned().unwrap();
    let table = Arc::clone(&snapshot.tables[&name("t")]);
    let scan = Arc::new(TableScan::new(table, columns.to_vec(), predicate, 1000, Isa::best()).unwrap());
    let options = FormatOptions::default().with_null("NULL");
    let mut found: Vec<Vec<String>> = Vec::new();
    for morsel in 0..scan.morsels() {
        for batch in scan.read(morsel).unwrap().map(Result::unwrap) {
            let cell = |own| ArrayFormatter::try_new(own, &options).unwrap();
            let cells: Vec<_> = batch.columns().iter().map(|own| cell(own.as_ref())).collect();
            let row = |row: usize| cells.iter().map(|own| own.value(row).to_string()).collect();
            found.extend((0..batch.num_rows()).map(row));
        }
    }
    found.sort();
    found
}

/// Holds all that can be read against the model.
fn verify(store: &Arc<Store>, model: &Model, random: &mut Random) {
    let table = model.definition.id;
    let reader = store.heap(table).unwrap();
    assert_eq!(reader.rows(), model.records.len() as u64);
    for (id, record) in &model.records {
        assert_eq!(reader.get(*id).unwrap().as_ref(), Some(record), "record {id}");
    }
    let columns: Vec<u32> = model.definition.columns.iter().map(|own| own.id).collect();
    let at = random.below(columns.len());
    let (low, high) = (random.below(2000) as i128 - 1000, random.below(2000) as i128 - 1000);
    let range = match model.definition.columns[at].logical_type {
        LogicalType::Varchar(_) => Predicate::Range {
            column: columns[at],
            low: Bound::Included(Datum::Bytes((*b"f").into())),
            high: Bound::Excluded(Datum::Bytes((*b"r").into())),
        },
        _ => Predicate::Range {
            column: columns[at],
            low: Bound::Included(Datum::Integer(low)),
            high: Bound::Excluded(Datum::Integer(high)),
        },
    };
    let holds = |record: &[Datum]| match &record[at] {
        Datum::Integer(value) => (low..high).contains(value),
        Datum::Bytes(value) => (&b"f"[..]..&b"r"[..]).contains(&&value[..]),
        _ => false,
    };
    // Twice: once with all checks, and once without.
    for _ in 0..2 {
        for (predicate, all) in [(Predicate::Constant(true), true), (range.clone(), false)] {
            let wanted = model.records.values().filter(|record| all || holds(record));
            let mut wanted: Vec<Vec<String>> = wanted.map(|record| record.iter().map(shown).collect()).collect();
            wanted.sort();
            assert_eq!(scanned(store, &columns, predicate), wanted);
        }
    }
    let report = store.check().unwrap();
    assert!(report.errors.is_empty(), "{:?}", report.errors);
}

#[test]
fn random_changes_of_columns_are_what_a_map_is() {
    let seeds = if std::env::var_os("GINGHAM_NIGHTLY").is_some() { 40 } else { 4 };
    for (options, seed) in all_options().into_iter().flat_map(|options| (0..seeds).map(move |seed| (options, seed))) {
        let random = &mut Random(seed * 7919 + 11);
        let folder = tempfile::tempdir().unwrap();
        let mut store = open(folder.path()).unwrap();
        let mut definition = TableDefinition::new(name("t"), Vec::new());
        for _ in 0..3 {
            let own = column(&mut definition, random);
            definition.columns.push(own);
        }
        let table = store
            .write(|transaction| {
                let table = transaction.create_heap_table(definition, options)?;
                transaction.create_index(table, "first", vec![0], false, &|| true)?;
                transaction.create_index(table, "both", vec![1, 2], false, &|| true)?;
                Ok(table)
            })
            .unwrap();
        let definition = store.write(|transaction| transaction.definition(table)).unwrap();
        let mut model = Model { definition, records: BTreeMap::new() };
        for step in 0..24 {
            let (before, records) = (model.definition.clone(), model.records.clone());
            let fails = random.below(6) == 0;
            let done = store.write(|transaction| {
                for _ in 0..1 + random.below(3) {
                    if random.below(3) == 0 {
                        alter(transaction, &mut model, random)?;
                    } else {
                        change(transaction, table, &mut model, random)?;
                    }
                }
                if fails { Err(Error::Cancelled) } else { Ok(()) }
            });
            match done {
                Err(Error::Cancelled) => (model.definition, model.records) = (before, records),
                done => done.unwrap(),
            }
            if step % 5 == 4 {
                verify(&store, &model, random);
            }
            if random.below(8) == 0 {
                drop(store);
                store = open(folder.path()).unwrap();
            }
        }
        verify(&store, &model, random);
        // Written anew, records have other ids.
        store.optimize(&name("t")).unwrap();
        assert!(store.heap(table).unwrap().record().shapes.older.is_empty());
        let columns: Vec<u32> = model.definition.columns.iter().map(|own| own.id).collect();
        let wanted = model.records.values().map(|record| record.iter().map(shown).collect());
        let mut wanted: Vec<Vec<String>> = wanted.collect();
        wanted.sort();
        assert_eq!(scanned(&store, &columns, Predicate::Constant(true)), wanted);
        let report = store.check().unwrap();
        assert!(report.errors.is_empty(), "{:?}", report.errors);
    }
}
