//! Tables in other designs: loads, deltas and scans under each, and rewriting a table from one to another.

mod common;

use common::*;
use gingham_storage::io::MemoryBudget;
use gingham_storage::model::{Arrangement, ColumnDesign, Group, HeapLayout, HeapOptions};
use gingham_storage::store::{Store, WriteOptions};
use gingham_storage::{Design, Error, IndexDefinition, Layout, Packing, Predicate, Result};
use std::ops::Bound;
use std::sync::Arc;

fn designs() -> Vec<Design> {
    let mut designs: Vec<Design> =
        [Layout::Row, Layout::MemPax(3), Layout::MemPax(1000), Layout::MemPax(100_000)].map(Design::of_layout).into();
    designs.extend([Layout::SuperTuple, Layout::DenseColumn].map(Design::of_layout));
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

/// Records of a table's segments.
fn segment_rows(store: &Arc<Store>) -> Vec<usize> {
    table(&store.snapshot().unwrap(), "t").segments.iter().map(|segment| segment.rows()).collect()
}

#[test]
fn a_rewrite_cuts_segments_of_whole_chunks() {
    // Sizes of the segments there are, records of the delta; k; sizes of the new segments.
    let tables: [(&[i64], i64, u32, &[usize]); 4] = [
        (&[400_000, 400_000, 400_000], 10, 550_000, &[550_000, 550_000, 100_010]),
        (&[20_000, 20_000, 20_000], 0, 3, &[60_000]),
        (&[20_000, 20_000], 7, 3, &[39_999, 8]),
        (&[600_000, 600_000], 0, 7, &[1_048_544, 151_456]),
    ];
    for (segments, delta, k, expected) in tables {
        let store = Store::scratch(budget()).unwrap();
        create(&store, definition("t")).unwrap();
        let mut all = 0;
        for rows in segments.iter().copied().chain([delta]).filter(|rows| *rows > 0) {
            insert(&store, "t", all..all + rows).unwrap();
            all += rows;
        }
        let design = Design::of_layout(Layout::MemPax(k));
        assert_eq!(store.set_design(&name("t"), design, 2, &mut no_watch()).unwrap(), all as u64);
        assert_eq!(segment_rows(&store), expected);
        verify(&store, 0..all);
    }
}

#[test]
fn what_comes_during_a_rewrite_moves_the_cuts_behind_it() {
    let store = Store::scratch(budget()).unwrap();
    create(&store, definition("t")).unwrap();
    insert(&store, "t", 0..20_000).unwrap();
    insert(&store, "t", 20_000..40_000).unwrap();
    insert(&store, "t", 40_000..40_010).unwrap();
    let (mut inserted, mut seen) = (false, Vec::new());
    let inside = Arc::clone(&store);
    let mut watch = |done, all| {
        seen.push((done, all));
        if done == all && !inserted {
            inserted = true;
            insert(&inside, "t", 40_010..60_010)?;
        }
        Ok(())
    };
    let design = Design::of_layout(Layout::MemPax(3));
    assert_eq!(store.set_design(&name("t"), design, 2, &mut watch).unwrap(), 60_010);
    let later = seen.iter().find(|(_, all)| *all == 60_010);
    assert_eq!(later, Some(&(39_999, 60_010)), "whole chunks before what came stay");
    // The delta stays behind the segments: 40,000 to 40,009 are the table's last records.
    assert_eq!(segment_rows(&store), [39_999, 20_001, 10]);
    let mut stored = ids(&table(&store.snapshot().unwrap(), "t")).unwrap();
    assert_eq!(stored[40_000..40_002], [40_010, 40_011]);
    stored.sort_unstable();
    assert!(stored.into_iter().eq(0..60_010));
    assert!(store.check().unwrap().errors.is_empty());
}

#[test]
fn segments_that_go_during_a_rewrite_take_their_parts_along() {
    let store = Store::scratch(budget()).unwrap();
    create(&store, definition("t")).unwrap();
    for start in [0, 400_000, 800_000] {
        insert(&store, "t", start..start + 400_000).unwrap();
    }
    let (mut merged, mut seen) = (false, Vec::new());
    let inside = Arc::clone(&store);
    let mut watch = |done, all| {
        seen.push(done);
        if done == all && !merged {
            merged = true;
            // The small segments become new ones.
            inside.optimize(&name("t"))?;
        }
        Ok(())
    };
    let design = Design::of_layout(Layout::MemPax(550_000));
    assert_eq!(store.set_design(&name("t"), design, 1, &mut watch).unwrap(), 1_200_000);
    assert_eq!(seen.iter().filter(|done| **done == 0).count(), 2, "all is written again: {seen:?}");
    assert_eq!(segment_rows(&store), [550_000, 550_000, 100_000]);
    verify(&store, 0..1_200_000);
}

#[test]
fn lanes_are_cut_between_chunks() {
    let budget = budget();
    let store = Store::scratch(Arc::clone(&budget)).unwrap();
    let mut made = definition("t");
    made.design = Design::of_layout(Layout::MemPax(1000));
    create(&store, made).unwrap();
    let t = table(&store.snapshot().unwrap(), "t");
    let writer = store.table_writer(&t).unwrap();
    for (lane, rows) in [300_500, 300_700, 20, 0].into_iter().enumerate() {
        let first = 1_000_000 * lane as i64;
        for start in (first..first + rows).step_by(100_000) {
            let ids = start..(first + rows).min(start + 100_000);
            writer.append(lane, batch(&t.definition, ids, plain_label)).unwrap();
        }
    }
    let rows = writer.finish().unwrap();
    store.write(|transaction| transaction.append(t.definition.id, rows)).unwrap();
    assert_eq!(segment_rows(&store), [300_000, 300_000, 1_220]);
    assert_eq!(budget.reserved(), 0);
    let stored = ids(&table(&store.snapshot().unwrap(), "t")).unwrap();
    let ends = (300_000..300_500).chain(1_300_000..1_300_700).chain(2_000_000..2_000_020);
    assert!(stored.into_iter().eq((0..300_000).chain(1_000_000..1_300_000).chain(ends)));
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

/// A store with a table of three segments and a delta, whose ids go down and up.
fn unordered() -> Arc<Store> {
    let store = Store::scratch(budget()).unwrap();
    create(&store, definition("t")).unwrap();
    for part in [2, 0, 1] {
        insert(&store, "t", (part * 20_000..(part + 1) * 20_000).rev().collect::<Vec<i64>>()).unwrap();
    }
    insert(&store, "t", [70_000, -1]).unwrap();
    delete(&store, "t", [0, 20_000]).unwrap();
    store
}

#[test]
fn a_change_of_order_sorts_all_records() {
    let gone = [59_999, 19_999];
    let ids = || [-1].into_iter().chain((0..60_000).filter(|id| !gone.contains(id))).chain([70_000]);
    for design in designs() {
        let store = unordered();
        let arrangement = Arrangement { design: design.clone(), sort_by: vec![1], indexes: Vec::new(), auto: None };
        let mut seen = Vec::new();
        let mut watch = |done, all| {
            seen.push((done, all));
            Ok(())
        };
        let options = WriteOptions::default();
        assert_eq!(store.set_arrangement(&name("t"), &arrangement, 2, &mut watch, &options).unwrap(), 60_000);
        assert_eq!((seen.first(), seen.last()), (Some(&(0, 120_000)), Some(&(120_000, 120_000))));
        assert_eq!(seen.iter().filter(|(done, all)| done == all).count(), 1, "only the commit is left then");
        let t = table(&store.snapshot().unwrap(), "t");
        assert_eq!((&t.definition.design, &t.definition.sort_by, t.delta.len()), (&design, &vec![1], 0));
        verify(&store, ids());
        // Records that come later are sorted in by OPTIMIZE, and the order can be dropped without writing any.
        insert(&store, "t", [-5]).unwrap();
        store.optimize(&name("t")).unwrap();
        verify(&store, [-5].into_iter().chain(ids()));
        let segments: Vec<u64> = table(&store.snapshot().unwrap(), "t").segments.iter().map(|part| part.id()).collect();
        let unsorted = Arrangement { design, sort_by: Vec::new(), indexes: Vec::new(), auto: None };
        assert_eq!(store.set_arrangement(&name("t"), &unsorted, 2, &mut no_watch(), &options).unwrap(), 0);
        let t = table(&store.snapshot().unwrap(), "t");
        assert!(t.definition.sort_by.is_empty() && t.segments.iter().map(|part| part.id()).eq(segments));
    }
}

#[test]
fn an_order_that_is_not_finished_changes_nothing() {
    let store = unordered();
    let before = rows(&table(&store.snapshot().unwrap(), "t")).unwrap();
    let arrangement = Arrangement { design: Design::default(), sort_by: vec![1], indexes: Vec::new(), auto: None };
    for at in [0, 30_000, 60_000, 90_000, 120_000] {
        let mut watch = |done, _| if done >= at { Err(Error::Cancelled) } else { Ok(()) };
        let ended = store.set_arrangement(&name("t"), &arrangement, 2, &mut watch, &WriteOptions::default());
        assert!(matches!(ended, Err(Error::Cancelled)), "{at}");
        let t = table(&store.snapshot().unwrap(), "t");
        assert!(t.definition.sort_by.is_empty());
        assert_eq!(rows(&t).unwrap(), before);
        assert_eq!(segment_files(store.path()).len(), t.segments.len());
    }
    let small = Store::scratch(MemoryBudget::new(1 << 20)).unwrap();
    create(&small, definition("t")).unwrap();
    for part in 0..3 {
        insert(&small, "t", part * 80_000..(part + 1) * 80_000).unwrap();
    }
    let refused = small.set_arrangement(&name("t"), &arrangement, 2, &mut no_watch(), &WriteOptions::default());
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("table 't' can't be sorted by id") && refused.contains("memory_limit"), "{refused}");
}

#[test]
fn heap_pages_come_out_in_order_and_take_none() {
    let store = unordered();
    let pages = Design::of_pages(HeapOptions::new(HeapLayout::Pax));
    store.set_design(&name("t"), pages.clone(), 2, &mut no_watch()).unwrap();
    let (order, options) = (vec![1], WriteOptions::default());
    let refused = Arrangement { design: pages.clone(), sort_by: order.clone(), indexes: Vec::new(), auto: None };
    let refused = store.set_arrangement(&name("t"), &refused, 2, &mut no_watch(), &options).unwrap_err().to_string();
    assert!(refused.contains("sort_by is not offered for tables in heap pages"), "{refused}");
    let sorted = Arrangement { design: Design::default(), sort_by: order, indexes: Vec::new(), auto: None };
    store.set_arrangement(&name("t"), &sorted, 2, &mut no_watch(), &options).unwrap();
    let gone = [59_999, 19_999];
    verify(&store, [-1].into_iter().chain((0..60_000).filter(|id| !gone.contains(id))).chain([70_000]));
    // An index comes with the pages, in one commit, and goes with them.
    let index =
        IndexDefinition { number: 0, name: "by_label".into(), columns: vec![2], unique: false, of_constraint: false };
    let back = Arrangement { design: pages, sort_by: Vec::new(), indexes: vec![index], auto: None };
    store.set_arrangement(&name("t"), &back, 2, &mut no_watch(), &options).unwrap();
    let t = table(&store.snapshot().unwrap(), "t");
    assert!(t.heap.is_some() && t.definition.indexes.len() == 1);
    assert!(store.check().unwrap().errors.is_empty());
    store.set_arrangement(&name("t"), &sorted, 2, &mut no_watch(), &options).unwrap();
    assert!(table(&store.snapshot().unwrap(), "t").definition.indexes.is_empty());
    let refused = Arrangement { design: Design::of_layout(Layout::Row), ..back };
    let refused = store.set_arrangement(&name("t"), &refused, 2, &mut no_watch(), &options).unwrap_err().to_string();
    assert!(refused.contains("can't have the index 'by_label'"), "{refused}");
}
