//! Space comes back: rounds that fill and empty tables of every layout leave the folder as large as it was, with readers and
//! without, beside aborted transactions and reopening; and whoever reads an older commit sees what it had while its places are
//! used anew.
//!
//! What a user has to call: nothing where records come and go as a whole. Beside a reader that stays, LMDB keeps all that was
//! freed since it began, and VACUUM gives the file back, which comes by itself once 16 MiB are wasted; these tables are smaller,
//! so it is called. OPTIMIZE writes column tables anew whose records were deleted here and there.

mod common;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::Int64Type;
use common::random::Random;
use common::*;
use gingham_kernels::Isa;
use gingham_storage::model::{Deletes, HeapLayout, HeapOptions};
use gingham_storage::scan::TableScan;
use gingham_storage::snapshot::{RECORD_IDS, TableSnapshot};
use gingham_storage::store::{Store, WriteOptions};
use gingham_storage::write::{NewValues, RowChange};
use gingham_storage::{Datum, Design, Error, Layout, Predicate, Result, TableDefinition};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// What a round does after it has added its records.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Round {
    /// Deletes all.
    Empty,
    /// Deletes nine of ten, whichever.
    Thin,
    /// Gives all records labels of other lengths, twice, and deletes all.
    Relabel,
}

fn designs() -> Vec<(&'static str, Design)> {
    let pages =
        |layout, deletes| Design::of_pages(HeapOptions { page_bytes: 4080, deletes, ..HeapOptions::new(layout) });
    vec![
        ("nsm", pages(HeapLayout::Nsm, Deletes::Compact)),
        ("dsm", pages(HeapLayout::Dsm, Deletes::Compact)),
        ("pax", pages(HeapLayout::Pax, Deletes::Compact)),
        ("pax, defer", pages(HeapLayout::Pax, Deletes::Defer)),
        ("column", Design::of_layout(Layout::Column)),
        ("row", Design::of_layout(Layout::Row)),
        ("mempax", Design::of_layout(Layout::MemPax(100))),
        ("super_tuple", Design::of_layout(Layout::SuperTuple)),
        ("dense_column", Design::of_layout(Layout::DenseColumn)),
    ]
}

fn folder_bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| if entry.path().is_dir() { folder_bytes(&entry.path()) } else { entry.metadata().unwrap().len() })
        .sum()
}

/// Each record's id, key and label.
fn read(table: &Arc<TableSnapshot>, predicate: Predicate) -> Vec<(u64, i64, String)> {
    let with_ids = Arc::new(table.with_record_ids("record id".to_owned()));
    let scan = TableScan::new(with_ids, vec![RECORD_IDS, 1, 2], predicate, 8192, Isa::best()).unwrap();
    let scan = Arc::new(scan);
    let mut found = Vec::new();
    for batch in (0..scan.morsels()).flat_map(|morsel| scan.read(morsel).unwrap()) {
        let batch: RecordBatch = batch.unwrap();
        let (ids, keys) = (batch.column(0).as_primitive::<Int64Type>(), batch.column(1).as_primitive::<Int64Type>());
        let labels = batch.column(2).as_string_view();
        found.extend(
            (0..batch.num_rows()).map(|row| (ids.value(row) as u64, keys.value(row), labels.value(row).to_owned())),
        );
    }
    found
}

fn pinned(store: &Arc<Store>) -> Arc<TableSnapshot> {
    table(&store.pinned().unwrap(), "t")
}

type Model = BTreeMap<i64, String>;

fn assert_is(table: &Arc<TableSnapshot>, model: &Model, what: &dyn std::fmt::Debug) {
    let mut found: Vec<(i64, String)> =
        read(table, Predicate::Constant(true)).into_iter().map(|(_, key, label)| (key, label)).collect();
    found.sort();
    assert!(found.iter().map(|(key, label)| (key, label)).eq(model), "{what:?}: {} of {}", found.len(), model.len());
}

fn label(key: i64, random: &mut Random) -> String {
    format!("{key} {}", "x".repeat(random.below(90)))
}

fn add(store: &Arc<Store>, model: &mut Model, keys: std::ops::Range<i64>, random: &mut Random) {
    let labels: BTreeMap<i64, String> = keys.clone().map(|key| (key, label(key, random))).collect();
    insert_batch(store, "t", |definition| batch(definition, keys.clone(), |key| labels[&key].clone())).unwrap();
    model.extend(labels);
}

fn remove(store: &Arc<Store>, model: &mut Model, gone: impl Fn(i64) -> bool) {
    let (mut ids, mut keys) = (Vec::new(), Vec::new());
    for (id, key, _) in read(&pinned(store), Predicate::Constant(true)).into_iter().filter(|(_, key, _)| gone(*key)) {
        ids.push(id);
        keys.push(key);
    }
    ids.sort_unstable();
    delete(store, "t", ids).unwrap();
    keys.iter().for_each(|key| drop(model.remove(key)));
}

/// Gives each record a new label: in place in pages, elsewhere by a new record.
fn relabel(store: &Arc<Store>, model: &mut Model, random: &mut Random) {
    let own = pinned(store);
    let mut found = read(&own, Predicate::Constant(true));
    found.sort();
    model.iter_mut().for_each(|(key, own)| *own = label(*key, random));
    if own.heap.is_some() {
        let change = |(id, key, _): &(u64, i64, String)| (*id, Datum::Bytes(model[key].as_bytes().into()));
        let changes: Vec<(u64, Datum)> = found.iter().map(change).collect();
        // A record that moves takes the id of none that is still to be changed: its place is taken.
        store
            .write(|transaction| {
                transaction.heap(own.definition.id, |heap| {
                    changes
                        .into_iter()
                        .try_for_each(|(id, label)| heap.update(id, &[(2, label)]).map(|now| assert!(now.is_some())))
                })
            })
            .unwrap();
        return;
    }
    let keys: Vec<i64> = found.iter().map(|(_, key, _)| *key).collect();
    let new = batch(&own.definition, keys, |key| model[&key].clone()).project(&[1]).unwrap();
    let values = NewValues::new(vec![2], found.iter().map(|(id, ..)| *id).collect(), vec![new]).unwrap();
    if own.takes_values(&[2]) {
        let written = store.write_values(&own, &values, 1, &|| true).unwrap();
        let change = RowChange { ids: written.ids, columns: Some(vec![2]), ..RowChange::default() };
        store.write(|transaction| transaction.change(own.definition.id, &change, written.rows, &|| true)).unwrap();
        return;
    }
    let writer = store.table_writer(&own).unwrap();
    writer.append(0, batch(&own.definition, found.iter().map(|(_, key, _)| *key), |key| model[&key].clone())).unwrap();
    let rows = writer.finish().unwrap();
    let change = RowChange { ids: found.iter().map(|(id, ..)| *id).collect(), ..RowChange::default() };
    store.write(|transaction| transaction.change(own.definition.id, &change, rows, &|| true)).unwrap();
}

/// A round that is undone at its end.
fn abort(store: &Arc<Store>) {
    let own = pinned(store);
    let ids: Vec<u64> = read(&own, Predicate::Constant(true)).into_iter().map(|(id, ..)| id).collect();
    let writer = store.table_writer(&own).unwrap();
    writer.append(0, batch(&own.definition, 0..500, plain_label)).unwrap();
    let rows = writer.finish().unwrap();
    let undone: Result<()> = store.write(|transaction| {
        transaction.change(own.definition.id, &RowChange { ids, ..RowChange::default() }, rows, &|| true)?;
        Err(Error::Cancelled)
    });
    assert!(undone.is_err());
}

fn is_nightly() -> bool {
    std::env::var_os("GINGHAM_NIGHTLY").is_some()
}

/// Rounds of one kind; the folder's bytes after three of them and at the end.
fn rounds(design: &Design, round: Round, with_reader: bool, with_key: bool) -> (u64, u64) {
    let (count, records) = if is_nightly() { (100, 6000) } else { (9, 500) };
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(folder.path()).unwrap();
    let base = if with_key { keyed("t") } else { definition("t") };
    create(&store, TableDefinition { design: design.clone(), ..base }).unwrap();
    let (mut model, mut random, mut early) = (Model::new(), Random(count as u64), 0);
    add(&store, &mut model, -5..0, &mut random);
    let reader = with_reader.then(|| (pinned(&store), model.clone()));
    for number in 0..count {
        let first = number * (records + 3);
        add(&store, &mut model, first..first + records, &mut random);
        // A few are too few for a load.
        add(&store, &mut model, first + records..first + records + 3, &mut random);
        if number % 4 == 1 {
            abort(&store);
        }
        match round {
            Round::Empty => {}
            Round::Thin => {
                let seed = random.below(1000) as i64;
                remove(&store, &mut model, |key| (key.wrapping_mul(48_271) + seed).rem_euclid(10) != 0);
            }
            Round::Relabel => (0..2).for_each(|_| relabel(&store, &mut model, &mut random)),
        }
        if number < 4 || number + 1 == count {
            assert_is(&pinned(&store), &model, &(round, number));
        }
        if round != Round::Thin {
            remove(&store, &mut model, |_| true);
            assert_eq!(pinned(&store).rows(), 0);
        }
        if design.heap.is_none() {
            store.optimize(&name("t")).unwrap();
        }
        match &reader {
            Some((table, before)) => {
                assert_is(table, before, &"the reader that stays");
                store.vacuum(&WriteOptions::default()).unwrap();
            }
            None if number % 3 == 2 => {
                drop(store);
                store = open(folder.path()).unwrap();
            }
            None => {}
        }
        if number == 2 {
            early = folder_bytes(folder.path());
        }
    }
    let report = store.check().unwrap();
    assert!(report.errors.is_empty(), "{round:?}: {report:?}");
    assert_is(&pinned(&store), &model, &round);
    (early, folder_bytes(folder.path()))
}

fn level_off(with_reader: bool, is_paged: bool) {
    let mut grown = Vec::new();
    for (layout, design) in designs().into_iter().filter(|(_, design)| design.heap.is_some() == is_paged) {
        for round in [Round::Empty, Round::Thin, Round::Relabel] {
            for with_key in [false, true] {
                let (early, late) = rounds(&design, round, with_reader, with_key);
                eprintln!(
                    "{layout}, {round:?}, key {with_key}, reader {with_reader}: {early} bytes after 3 rounds, {late} at the end"
                );
                if late * 10 > early * 13 {
                    grown.push(format!("{layout}, {round:?}, key {with_key}: {early} bytes became {late}"));
                }
            }
        }
    }
    assert!(grown.is_empty(), "{grown:#?}");
}

#[test]
fn rounds_of_heap_tables_level_off() {
    level_off(false, true);
}

#[test]
fn rounds_of_heap_tables_level_off_beside_a_reader() {
    level_off(true, true);
}

#[test]
fn rounds_of_column_tables_level_off() {
    level_off(false, false);
}

#[test]
fn rounds_of_column_tables_level_off_beside_a_reader() {
    level_off(true, false);
}

fn pages(store: &Arc<Store>) -> u64 {
    let own = pinned(store);
    let (_, bytes) = own.pages.as_ref().unwrap().free_of_pages().unwrap();
    bytes / 4080
}

/// Pages go with their last record, wherever they lie; OPTIMIZE puts together what is left.
#[test]
fn pages_go_with_their_last_record_and_optimize_packs_the_rest() {
    for (layout, design) in designs().into_iter().filter(|(_, design)| design.heap.is_some()) {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path()).unwrap();
        create(&store, TableDefinition { design, ..keyed("t") }).unwrap();
        store.vacuum(&WriteOptions::default()).unwrap();
        let least = folder_bytes(folder.path());
        let (mut model, mut random) = (Model::new(), Random(3));
        add(&store, &mut model, 0..4000, &mut random);
        let full = pages(&store);
        // All in the middle.
        remove(&store, &mut model, |key| (100..3900).contains(&key));
        let rest = pages(&store);
        assert!(rest * 8 < full, "{layout}: {rest} of {full} pages are left");
        assert_is(&pinned(&store), &model, &layout);
        add(&store, &mut model, 4000..7800, &mut random);
        assert!(pages(&store) < full + full / 10 + 3, "{layout}: {} pages, {full} before", pages(&store));
        assert_is(&pinned(&store), &model, &layout);
        remove(&store, &mut model, |key| key % 4 != 0);
        let thin = pages(&store);
        let written = store.optimize(&name("t")).unwrap();
        assert!(written == 0 && layout == "dsm" || written == model.len() as u64, "{layout}: {written} records");
        assert!(pages(&store) <= thin && pages(&store) < full / 2, "{layout}: {} pages of {thin}", pages(&store));
        assert_is(&pinned(&store), &model, &layout);
        assert_eq!(store.optimize(&name("t")).unwrap(), 0, "{layout}: nothing is left to do");
        for key in [0, 3999, 4000, 7796] {
            let own = pinned(&store);
            let (heap, index) = (own.pages.as_ref().unwrap(), &own.definition.indexes[0]);
            let found = heap.record_by_key(index, &[Datum::Integer(key.into())], &[]).unwrap().is_some();
            assert_eq!(found, model.contains_key(&key));
        }
        let id = pinned(&store).definition.id;
        assert!(store.write(|transaction| transaction.truncate(id)).unwrap() > 0);
        store.vacuum(&WriteOptions::default()).unwrap();
        let bytes = folder_bytes(folder.path());
        assert!(bytes <= least + 20_000, "{layout}: {bytes} bytes, {least} before the first record");
        assert!(store.check().unwrap().errors.is_empty());
    }
}

/// Random schedules: readers that begin at any time see their commit, by scans and by keys, whatever takes the places of its
/// records; an entry never finds another record.
#[test]
fn readers_see_their_commit_while_its_places_are_used_anew() {
    let steps = if is_nightly() { 2000 } else { 120 };
    for (layout, design) in designs().into_iter().filter(|(_, design)| design.heap.is_some()) {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path()).unwrap();
        let id = create(&store, TableDefinition { design, ..keyed("t") }).unwrap();
        store.write(|transaction| transaction.create_index(id, "by_label", vec![2], false, &|| true)).unwrap();
        let (mut model, mut random, mut next) = (Model::new(), Random(11), 0);
        let mut readers: Vec<(Arc<TableSnapshot>, Model)> = Vec::new();
        for step in 0..steps {
            match random.below(9) {
                0 | 1 => {
                    let count = [2, 40, 700][random.below(3)];
                    add(&store, &mut model, next..next + count, &mut random);
                    next += count;
                }
                2 | 3 => {
                    let (of, kept) = (random.below(4) as i64 + 1, random.below(3) as i64);
                    remove(&store, &mut model, |key| key % of == kept % of);
                }
                4 => relabel(&store, &mut model, &mut random),
                5 => abort(&store),
                6 if step % 5 == 0 => drop(store.optimize(&name("t")).unwrap()),
                6 if step % 7 == 0 => drop(store.vacuum(&WriteOptions::default()).unwrap()),
                _ => readers.push((pinned(&store), model.clone())),
            }
            if readers.len() > 3 {
                drop(readers.swap_remove(random.below(4)));
            }
            readers.push((pinned(&store), model.clone()));
            for (table, model) in &readers {
                let heap = table.pages.as_ref().unwrap();
                for _ in 0..8 {
                    let key = random.below(next as usize + 1) as i64;
                    let index = &table.definition.indexes[0];
                    let found = heap.record_by_key(index, &[Datum::Integer(key.into())], &[0, 1]).unwrap();
                    let expected = model
                        .get(&key)
                        .map(|label| vec![Datum::Integer(key.into()), Datum::Bytes(label.as_bytes().into())]);
                    assert_eq!(found.map(|(_, values)| values), expected, "{layout}, step {step}, key {key}");
                }
                if step % 8 == 0 {
                    assert_is(table, model, &(layout, step));
                }
            }
            readers.pop();
        }
        readers.iter().for_each(|(table, model)| assert_is(table, model, &layout));
        let report = store.check().unwrap();
        assert!(report.errors.is_empty(), "{layout}: {report:?}");
    }
}
