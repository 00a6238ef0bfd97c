//! Tables in other designs: loads, deltas and scans under each, and rewriting a table from one to another.

mod common;

use common::*;
use gingham_storage::catalog::Store;
use gingham_storage::design::{ColumnDesign, Group};
use gingham_storage::{Design, Error, Layout, Packing, Predicate, Result};
use std::ops::Bound;
use std::sync::Arc;

fn designs() -> Vec<Design> {
    let mut designs: Vec<Design> =
        [Layout::Row, Layout::MemPax(3), Layout::MemPax(1000), Layout::MemPax(100_000)].map(Design::of_layout).into();
    designs.extend(Packing::ALL.map(Design::of_packing));
    designs.push(Design {
        groups: vec![Group { columns: vec![2], layout: Layout::Column }],
        columns: vec![ColumnDesign { packing: Some(Packing::ByteSlice), ..ColumnDesign::new(2) }],
        ..Design::of_layout(Layout::Row)
    });
    designs
}

fn no_watch() -> impl FnMut(u64, u64) -> Result<()> + Send {
    |_, _| Ok(())
}

/// The store's records of `t`, its check, and a condition on both columns.
fn verify(store: &Arc<Store>, ids: impl Iterator<Item = i64> + Clone) {
    let t = table(&store.snapshot().unwrap(), "t");
    assert!(rows(&t).unwrap().into_iter().eq(ids.clone().map(|id| (Some(id), plain_label(id)))));
    let integer = |value: i64| gingham_storage::Datum::Integer(value.into());
    let predicate = Predicate::And(vec![
        Predicate::Range { column: 1, low: Bound::Included(integer(700)), high: Bound::Excluded(integer(19_000)) },
        Predicate::In {
            column: 2,
            values: vec![gingham_storage::Datum::Bytes(b"label 3".as_slice().into())],
            negated: false,
        },
    ]);
    let isa = gingham_kernels::Isa::best();
    let scan = gingham_storage::scan::TableScan::new(t, vec![1], predicate, 8192, isa).unwrap();
    let found: usize = (0..scan.morsels()).map(|morsel| scan.count(morsel).unwrap()).sum();
    assert_eq!(found, ids.filter(|id| (700..19_000).contains(id) && id % 10 == 3).count());
    let report = store.check().unwrap();
    assert!(report.errors.is_empty() && report.notes.is_empty(), "{report:?}");
}

#[test]
fn tables_of_every_design_are_loaded_and_rewritten() {
    for design in designs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        let store = open(&path).unwrap();
        let mut made = definition("t");
        made.design = design.clone();
        create(&store, made).unwrap();
        insert(&store, "t", 0..20_000).unwrap();
        insert(&store, "t", 20_000..20_100).unwrap();
        verify(&store, 0..20_100);
        drop(store);
        let store = open(&path).unwrap();
        verify(&store, 0..20_100);
        assert_eq!(store.optimize(&name("t")).unwrap(), 20_100);
        verify(&store, 0..20_100);
        for next in [Design::default(), design.clone()] {
            let before = table(&store.snapshot().unwrap(), "t");
            let mut seen = Vec::new();
            let mut watch = |done, all| {
                seen.push((done, all));
                Ok(())
            };
            let rewritten = store.set_design(&name("t"), next.clone(), 2, &mut watch).unwrap();
            assert_eq!(rewritten, if before.definition.design == next { 0 } else { 20_100 });
            if rewritten > 0 {
                assert_eq!((seen.first(), seen.last()), (Some(&(0, 20_100)), Some(&(20_100, 20_100))));
            }
            let after = table(&store.snapshot().unwrap(), "t");
            assert_eq!((&after.definition.design, after.delta.len()), (&next, 0));
            verify(&store, 0..20_100);
            assert_eq!(rows(&before).unwrap().len(), 20_100, "readers of the old snapshot go on");
        }
        assert_eq!(segment_files(&path).len(), table(&store.snapshot().unwrap(), "t").segments.len());
    }
}

#[test]
fn records_that_come_during_a_rewrite_are_rewritten_too() {
    let store = Store::scratch(budget()).unwrap();
    create(&store, definition("t")).unwrap();
    insert(&store, "t", 0..20_000).unwrap();
    let (mut inserts, mut seen) = (0, Vec::new());
    let inside = Arc::clone(&store);
    let mut watch = |done, all| {
        seen.push((done, all));
        // Once, while nobody holds the writer's lock.
        if done == all && inserts == 0 {
            inserts += 1;
            insert(&inside, "t", 20_000..40_000)?;
            insert(&inside, "t", 40_000..40_010)?;
        }
        Ok(())
    };
    let rewritten = store.set_design(&name("t"), Design::of_layout(Layout::Row), 2, &mut watch).unwrap();
    assert_eq!(rewritten, 40_010);
    let later = seen.iter().find(|(_, all)| *all == 40_010);
    assert_eq!(later, Some(&(20_000, 40_010)), "what was rewritten before stays so");
    let t = table(&store.snapshot().unwrap(), "t");
    assert!(t.delta.is_empty());
    let layouts: Vec<_> = t.segments.iter().flat_map(|segment| segment.groups()).map(|group| group.layout).collect();
    assert!(layouts.iter().all(|layout| *layout == Layout::Row), "{layouts:?}");
    verify(&store, 0..40_010);
}

#[test]
fn a_rewrite_that_ends_early_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let store = open(&path).unwrap();
    create(&store, definition("t")).unwrap();
    insert(&store, "t", 0..20_000).unwrap();
    let files = segment_files(&path);
    for at in [0, 20_000] {
        let mut watch = |done, _| if done == at { Err(Error::Cancelled) } else { Ok(()) };
        let error = store.set_design(&name("t"), Design::of_layout(Layout::Row), 2, &mut watch).unwrap_err();
        assert!(matches!(error, Error::Cancelled), "{error}");
        assert_eq!(segment_files(&path), files);
        assert_eq!(table(&store.snapshot().unwrap(), "t").definition.design, Design::default());
        verify(&store, 0..20_000);
    }
    let wrong = Design::of_layout(Layout::MemPax(0));
    let error = store.set_design(&name("t"), wrong, 2, &mut no_watch()).unwrap_err();
    assert!(error.to_string().contains("mempax(0)"), "{error}");
    let error = store.set_design(&name("u"), Design::default(), 2, &mut no_watch()).unwrap_err();
    assert!(error.to_string().contains("table 'u' does not exist"), "{error}");
}

#[test]
fn dictionaries_of_several_versions_are_scanned_packed() {
    for design in designs() {
        let store = Store::scratch(budget()).unwrap();
        let mut made = definition("t");
        made.design = design;
        create(&store, made).unwrap();
        insert(&store, "t", 0..20_000).unwrap();
        insert_batch(&store, "t", |definition| batch(definition, 20_000..40_000, |id| format!("other {}", id % 7)))
            .unwrap();
        insert_batch(&store, "t", |definition| batch(definition, 40_000..40_010, |_| "label 3".into())).unwrap();
        let t = table(&store.snapshot().unwrap(), "t");
        let predicate = Predicate::In {
            column: 2,
            values: [b"label 3", b"other 5"].map(|text| gingham_storage::Datum::Bytes(text.as_slice().into())).into(),
            negated: false,
        };
        let isa = gingham_kernels::Isa::best();
        let scan = gingham_storage::scan::TableScan::new(t, vec![1], predicate, 8192, isa).unwrap();
        let found: usize = (0..scan.morsels()).map(|morsel| scan.count(morsel).unwrap()).sum();
        assert_eq!(found, 2000 + (20_000..40_000).filter(|id| id % 7 == 5).count() + 10);
    }
}
