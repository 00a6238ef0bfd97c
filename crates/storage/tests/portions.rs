//! Loads that are committed in batches: all records are there in the end and none before, no transaction has more changed pages
//! than its part of the memory limit, and what fails or dies leaves nothing.

mod common;

use common::{batch, create, definition, is_whole, keyed, name, plain_label, table};
use gingham_storage::io::MemoryBudget;
use gingham_storage::model::{Deletes, HeapLayout, HeapOptions};
use gingham_storage::store::{OpenOptions, Store, WriteOptions};
use gingham_storage::write::Transaction;
use gingham_storage::{Datum, Design, Error, Result, TableDefinition, TableId};
use std::cell::Cell;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// A batch has an eighth of it.
const LIMIT: usize = 2 << 20;
const PORTION: usize = LIMIT / 8;
/// Records that were there before, and those of a load: some 1 MB and more.
const BEFORE: Range<i64> = 0..1000;
const LOADED: Range<i64> = 1000..31_000;

fn open(path: &Path) -> Arc<Store> {
    open_with(path, MemoryBudget::new(LIMIT))
}

fn open_with(path: &Path, budget: Arc<MemoryBudget>) -> Arc<Store> {
    Store::open(path, &OpenOptions { create: true, read_only: false }, budget).unwrap()
}

fn all_options() -> [HeapOptions; 4] {
    let pax = HeapOptions { page_bytes: 4080, ..HeapOptions::new(HeapLayout::Pax) };
    let (nsm, dsm) = (HeapOptions::new(HeapLayout::Nsm), HeapOptions::new(HeapLayout::Dsm));
    [nsm, dsm, pax, HeapOptions { deletes: Deletes::Defer, ..pax }]
}

/// Tables, and whether they have a key and an index.
fn all_tables() -> [(HeapOptions, bool); 4] {
    let [nsm, dsm, pax, defer] = all_options();
    [(nsm, true), (dsm, false), (pax, false), (defer, true)]
}

/// A table with some records: with a key and an index, or without.
fn fill(store: &Arc<Store>, options: HeapOptions, has_keys: bool) -> TableId {
    let own = if has_keys { keyed("t") } else { definition("t") };
    let table = create(store, TableDefinition { design: Design::of_pages(options), ..own }).unwrap();
    if has_keys {
        store.write(|transaction| transaction.create_index(table, "by_label", vec![2], false, &|| true)).unwrap();
    }
    common::insert(store, "t", BEFORE).unwrap();
    table
}

/// A load of `ids` into table `t` as it is, or into the table that `place` makes.
fn load(
    store: &Arc<Store>,
    ids: impl IntoIterator<Item = i64>,
    place: &dyn Fn(&mut Transaction<'_>) -> Result<TableId>,
    wanted: &dyn Fn() -> Result<()>,
    last: &dyn Fn() -> Result<()>,
) -> Result<()> {
    let own = table(&*store.snapshot()?, "t");
    let writer = store.table_writer(&own)?;
    writer.append(0, batch(&own.definition, ids, plain_label))?;
    let rows = writer.finish()?;
    assert!(store.takes_portions(&rows));
    store.append_in_portions(&WriteOptions::default(), rows, place, wanted, last)
}

/// Records as pairs, in the order of their ids.
fn expected(ids: impl IntoIterator<Item = i64>) -> Vec<(Option<i64>, String)> {
    ids.into_iter().map(|id| (Some(id), plain_label(id))).collect()
}

/// All records of table `t`, which must be those of `ids` in their order, and all else in order too.
fn require(store: &Arc<Store>, ids: impl IntoIterator<Item = i64>) {
    let own = table(&store.pinned().unwrap(), "t");
    assert!(common::rows(&own).unwrap() == expected(ids));
    is_whole(store);
}

fn commits(store: &Store) -> u64 {
    store.snapshot().unwrap().commit
}

#[test]
fn portions_are_small_and_nobody_sees_them_before_the_end() {
    for (options, has_keys) in all_tables() {
        let (folder, budget) = (tempfile::tempdir().unwrap(), MemoryBudget::new(LIMIT));
        let store = open_with(folder.path(), Arc::clone(&budget));
        let id = fill(&store, options, has_keys);
        let (before, most, asked) = (commits(&store), Cell::new(0), Cell::new(0));
        let wanted = || {
            most.set(most.get().max(budget.reserved()));
            asked.set(asked.get() + 1);
            if asked.get() % 97 == 0 {
                let seen = table(&*store.pinned()?, "t");
                assert!(common::rows(&seen)? == expected(BEFORE), "{options:?}");
            }
            Ok(())
        };
        load(&store, LOADED, &|_| Ok(id), &wanted, &|| Ok(())).unwrap();
        // The entries of a batch come on top.
        assert!(most.get() < 3 * PORTION, "{options:?}, {has_keys}: {} bytes", most.get());
        assert!(commits(&store) >= before + 3, "{options:?}: {} commits", commits(&store) - before);
        require(&store, BEFORE.start..LOADED.end);
        drop(store);
        require(&open(folder.path()), BEFORE.start..LOADED.end);
    }
}

#[test]
fn a_load_that_fails_leaves_nothing() {
    let [_, dsm, pax, _] = all_options();
    for options in [dsm, pax] {
        let store = Store::scratch(MemoryBudget::new(LIMIT)).unwrap();
        let id = fill(&store, options, true);
        // It is no longer wanted at some time, at the last moment, or has a key twice: early, or in the last records.
        let asked = Cell::new(0);
        let no_longer = || {
            asked.set(asked.get() + 1);
            if asked.get() > 60 { Err(Error::Cancelled) } else { Ok(()) }
        };
        let error = load(&store, LOADED, &|_| Ok(id), &no_longer, &|| Ok(())).unwrap_err();
        assert!(matches!(error, Error::Cancelled), "{error}");
        require(&store, BEFORE);
        let error = load(&store, LOADED, &|_| Ok(id), &|| Ok(()), &|| Err(Error::Cancelled)).unwrap_err();
        assert!(matches!(error, Error::Cancelled), "{error}");
        require(&store, BEFORE);
        for (twice, what) in [(5, "exists already"), (LOADED.start + 3, "twice among the new records")] {
            let error = load(&store, LOADED.chain([twice]), &|_| Ok(id), &|| Ok(()), &|| Ok(())).unwrap_err();
            assert!(matches!(&error, Error::Constraint(problem) if problem.text.contains(what)), "{error}");
            require(&store, BEFORE);
        }
        // Numbers are given again.
        load(&store, LOADED, &|_| Ok(id), &|| Ok(()), &|| Ok(())).unwrap();
        require(&store, BEFORE.start..LOADED.end);
    }
}

#[test]
fn a_load_that_dies_or_panics_is_swept() {
    for (options, has_keys) in all_tables() {
        let (folder, died) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let store = open(folder.path());
        let id = fill(&store, options, has_keys);
        let (before, copied) = (commits(&store), Cell::new(false));
        let wanted = || {
            if commits(&store) < before + 2 {
                return Ok(());
            }
            // What a process leaves that is killed now, and what a backup has.
            copied.set(true);
            common::copy(folder.path(), &died.path().join("killed"));
            store.backup(&died.path().join("backup"))?;
            panic!("on purpose")
        };
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            load(&store, LOADED, &|_| Ok(id), &wanted, &|| Ok(()))
        }));
        assert!(panicked.is_err() && copied.get());
        let read = OpenOptions { create: false, read_only: true };
        let killed = Store::open(&died.path().join("killed"), &read, MemoryBudget::new(LIMIT)).unwrap();
        let report = killed.check().unwrap();
        assert!(report.errors.is_empty(), "{options:?}: {:?}", report.errors);
        assert!(report.notes.iter().any(|note| note.contains("load that has not ended")), "{:?}", report.notes);
        drop(killed);
        for path in ["killed", "backup"].map(|name| died.path().join(name)) {
            let store = open(&path);
            require(&store, BEFORE);
            assert!(store.check().unwrap().notes.iter().all(|note| !note.contains("load")), "{options:?}");
            load(&store, LOADED, &|_| Ok(id), &|| Ok(()), &|| Ok(())).unwrap();
            require(&store, BEFORE.start..LOADED.end);
        }
        common::insert(&store, "t", LOADED.end..LOADED.end + 1).unwrap();
        require(&store, BEFORE.chain([LOADED.end]));
    }
}

#[test]
fn a_table_that_is_made_with_its_records_is_there_with_all_of_them() {
    for options in all_options() {
        let store = Store::scratch(MemoryBudget::new(LIMIT)).unwrap();
        fill(&store, options, true);
        let runs = Cell::new(0);
        // As CREATE OR REPLACE TABLE does.
        let place = |transaction: &mut Transaction<'_>| {
            runs.set(runs.get() + 1);
            transaction.drop_table(&name("t"))?;
            transaction.create_table(TableDefinition { design: Design::of_pages(options), ..keyed("t") })
        };
        let fails = || Err(Error::Cancelled);
        assert!(load(&store, LOADED, &place, &|| Ok(()), &fails).is_err());
        require(&store, BEFORE);
        load(&store, LOADED, &place, &|| Ok(()), &|| Ok(())).unwrap();
        assert_eq!(runs.get(), 4);
        require(&store, LOADED);
    }
}

#[test]
fn layouts_change_in_portions() {
    let store = Store::scratch(MemoryBudget::new(LIMIT)).unwrap();
    let [nsm, dsm, pax, defer] = all_options().map(Design::of_pages);
    create(&store, keyed("t")).unwrap();
    common::insert(&store, "t", BEFORE.start..LOADED.end).unwrap();
    for design in [nsm, dsm.clone(), pax, defer, dsm, Design::default()] {
        let before = commits(&store);
        let mut watch = |done, _| if done > 20_000 { Err(Error::Cancelled) } else { Ok(()) };
        assert!(store.set_design(&name("t"), design.clone(), 1, &mut watch).is_err());
        require(&store, BEFORE.start..LOADED.end);
        store.set_design(&name("t"), design.clone(), 1, &mut |_, _| Ok(())).unwrap();
        assert!(design.heap.is_none() || commits(&store) >= before + 3, "{design:?}");
        require(&store, BEFORE.start..LOADED.end);
        if design.heap.is_some() {
            let error = common::insert(&store, "t", [LOADED.start]).unwrap_err();
            assert!(matches!(error, Error::Constraint(_)), "{error}");
            // A record that changes its place lies behind the others.
            let id = table(&store.snapshot().unwrap(), "t").definition.id;
            let long = Datum::Bytes("long ".repeat(40).into_bytes().into());
            store
                .write(|transaction| {
                    transaction.heap(id, |heap| {
                        let index = heap.definition().indexes[0].clone();
                        let found = heap.record_by_key(&index, &[Datum::Integer(7)], &[])?;
                        let now = heap.update(found.unwrap().0, &[(2, long)])?.unwrap();
                        heap.update(now, &[(2, Datum::Bytes(plain_label(7).into_bytes().into()))])?;
                        heap.delete(now)
                    })
                })
                .unwrap();
            store.write(|transaction| transaction.truncate(id)).unwrap();
            load(&store, BEFORE.start..LOADED.end, &|_| Ok(id), &|| Ok(()), &|| Ok(())).unwrap();
        }
        require(&store, BEFORE.start..LOADED.end);
    }
}
