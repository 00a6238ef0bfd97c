//! Deleted records of segments and delta blocks: what is left after commits, reopening, merging and redesigning beside a writer,
//! and what `check` says of damage.

mod common;

use common::*;
use gingham_storage::store::Store;
use gingham_storage::write::RowChange;
use gingham_storage::{Design, Error, Layout, Packing};
use std::sync::Arc;

fn left(store: &Arc<Store>, table_name: &str) -> Vec<i64> {
    let table = table(&store.snapshot().unwrap(), table_name);
    let left = ids(&table).unwrap();
    assert_eq!(table.rows(), left.len() as u64);
    let report = store.check().unwrap();
    assert!(report.errors.is_empty() && report.notes.is_empty(), "{report:?}");
    left
}

/// Table `t` of a segment of 100,000 records and 50 in the delta.
fn filled(path: &std::path::Path) -> Arc<Store> {
    let store = open(path).unwrap();
    create(&store, definition("t")).unwrap();
    insert(&store, "t", 0..100_000).unwrap();
    insert(&store, "t", 100_000..100_050).unwrap();
    store
}

#[test]
fn deleted_records_stay_away() {
    let folder = tempfile::tempdir().unwrap();
    let store = filled(folder.path());
    delete(&store, "t", (0..100_050).filter(|number| number % 3 == 0)).unwrap();
    let mut expected: Vec<i64> = (0..100_050).filter(|id| id % 3 != 0).collect();
    assert_eq!(left(&store, "t"), expected);
    delete(&store, "t", [1, 100_049]).unwrap();
    expected.retain(|id| ![1, 100_049].contains(id));
    assert_eq!(left(&store, "t"), expected);
    drop(store);
    let store = open(folder.path()).unwrap();
    assert_eq!(left(&store, "t"), expected);
    // What is inserted is put behind the delta's last block, of which records are deleted.
    insert(&store, "t", 200_000..200_003).unwrap();
    expected.extend(200_000..200_003);
    assert_eq!(left(&store, "t"), expected);
    let copy = tempfile::tempdir().unwrap();
    store.backup(&copy.path().join("copy")).unwrap();
    assert_eq!(left(&open(&copy.path().join("copy")).unwrap(), "t"), expected);
    assert_eq!(store.optimize(&name("t")).unwrap(), expected.len() as u64);
    assert_eq!(left(&store, "t"), expected);
    assert_eq!(store.optimize(&name("t")).unwrap(), 0, "nothing is deleted any more");
    let id = table(&store.snapshot().unwrap(), "t").definition.id;
    assert_eq!(store.write(|transaction| transaction.truncate(id)).unwrap(), expected.len() as u64);
    assert_eq!(left(&store, "t"), [0; 0]);
}

#[test]
fn records_are_deleted_once_and_only_such_as_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let store = filled(folder.path());
    delete(&store, "t", [7]).unwrap();
    let table = table(&store.snapshot().unwrap(), "t");
    for numbers in [vec![7], vec![5, 5], vec![100_050]] {
        let change = RowChange { ids: numbers, ..RowChange::default() };
        let none = store.table_writer(&table).unwrap().finish().unwrap();
        let failed = store.write(|transaction| transaction.change(table.definition.id, &change, none, &|| true));
        assert!(matches!(failed, Err(Error::InvalidInput(_))), "{failed:?}");
    }
    assert_eq!(left(&store, "t").len(), 100_049);
}

#[test]
fn what_has_no_record_left_goes_and_what_has_few_is_written_anew() {
    let folder = tempfile::tempdir().unwrap();
    let store = filled(folder.path());
    insert(&store, "t", 300_000..320_000).unwrap();
    let segments = || table(&store.snapshot().unwrap(), "t").segments.iter().map(|s| s.id()).collect::<Vec<_>>();
    let before = segments();
    delete(&store, "t", (0..100_000).filter(|number| number % 5 > 0)).unwrap();
    let after = segments();
    assert!(after.len() == 2 && after[0] != before[0] && after[1] == before[1], "{before:?}, {after:?}");
    let table_now = table(&store.snapshot().unwrap(), "t");
    assert_eq!((table_now.has_deleted(), table_now.segments[0].rows()), (false, 20_000));
    let kept = (0..100_000).step_by(5);
    let delta = 100_000..100_050;
    assert_eq!(left(&store, "t"), kept.clone().chain(300_000..320_000).chain(delta.clone()).collect::<Vec<i64>>());
    delete(&store, "t", (20_000..40_000).chain(40_010..40_050)).unwrap();
    assert_eq!(segments(), after[..1]);
    assert_eq!(left(&store, "t"), kept.chain(delta.start..delta.start + 10).collect::<Vec<i64>>());
    delete(&store, "t", 0..20_010).unwrap();
    let table_now = table(&store.snapshot().unwrap(), "t");
    assert_eq!((table_now.segments.len(), table_now.delta.len(), table_now.deleted.len()), (0, 0, 0));
    assert_eq!(left(&store, "t"), [0; 0]);
}

#[test]
fn a_deletion_that_nobody_wants_writes_no_segment_anew() {
    let folder = tempfile::tempdir().unwrap();
    let store = filled(folder.path());
    let table = table(&store.snapshot().unwrap(), "t");
    let change = RowChange { ids: (0..90_000).collect(), ..RowChange::default() };
    let none = store.table_writer(&table).unwrap().finish().unwrap();
    let failed = store.write(|transaction| transaction.change(table.definition.id, &change, none, &|| false));
    assert!(matches!(failed, Err(Error::Cancelled)), "{failed:?}");
    assert_eq!(left(&store, "t").len(), 100_050);
}

#[test]
fn deletions_beside_a_rewrite_are_not_lost() {
    let folder = tempfile::tempdir().unwrap();
    let store = filled(folder.path());
    delete(&store, "t", [3]).unwrap();
    let design = Design { packing: Packing::ByteSlice, ..Design::default() };
    let mut deleted = false;
    let mut watch = |written: u64, _: u64| {
        if written > 0 && !deleted {
            deleted = true;
            delete(&store, "t", [10, 99_999]).unwrap();
        }
        Ok(())
    };
    store.set_design(&name("t"), design, 1, &mut watch).unwrap();
    let expected: Vec<i64> = (0..100_050).filter(|id| ![3, 10, 99_999].contains(id)).collect();
    assert_eq!(left(&store, "t"), expected);
    // In chunks, which begin anew where records are missing.
    delete(&store, "t", (0..100_000).step_by(1000)).unwrap();
    let first = expected.iter().enumerate().filter(|(number, _)| number % 1000 > 0 || *number >= 100_000);
    let expected: Vec<i64> = first.map(|(_, id)| *id).collect();
    store.set_design(&name("t"), Design::of_layout(Layout::MemPax(64)), 2, &mut |_, _| Ok(())).unwrap();
    assert_eq!(left(&store, "t"), expected);
}

#[test]
fn optimize_beside_deletions_loses_none() {
    let folder = tempfile::tempdir().unwrap();
    let store = filled(folder.path());
    let mut deleted = 0;
    std::thread::scope(|scope| {
        let optimized = scope.spawn(|| (0..4).map(|_| store.optimize(&name("t")).unwrap()).sum::<u64>());
        while deleted == 0 || !optimized.is_finished() {
            let table = table(&store.snapshot().unwrap(), "t");
            let (id, version) = (table.definition.id, table.version);
            // The first record that is there: numbers change with each rewrite, and with them the version.
            let gone = table.deleted.values().map(|deleted| deleted.rows()).sum();
            let change = RowChange { ids: vec![gone], ..RowChange::default() };
            let none = store.table_writer(&table).unwrap().finish().unwrap();
            let work = |transaction: &mut gingham_storage::write::Transaction<'_>| {
                if transaction.base().table_by_id(id).is_none_or(|table| table.version != version) {
                    return Ok(0);
                }
                transaction.change(id, &change, none, &|| true).map(|()| 1)
            };
            deleted += store.write(work).unwrap();
        }
        optimized.join().unwrap();
    });
    assert_eq!(left(&store, "t"), (deleted..100_050).collect::<Vec<i64>>());
}
