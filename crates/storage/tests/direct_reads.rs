//! Scans that read past the caches: the same records as through them, whatever the system refuses; damage, cut files and little memory
//! are errors or slower, never wrong.

mod common;

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use common::*;
use gingham_kernels::Isa;
use gingham_storage::io::{MemoryBudget, ReadOptions};
use gingham_storage::lab::{refuse_direct, refuse_ring};
use gingham_storage::model::Group;
use gingham_storage::scan::TableScan;
use gingham_storage::snapshot::TableSnapshot;
use gingham_storage::store::{OpenOptions, Store};
use gingham_storage::{Datum, Design, Error, Layout, Packing, Predicate, Result};
use std::ops::Bound;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Tests that refuse something take turns.
static REFUSING: Mutex<()> = Mutex::new(());

const PAPERS: ReadOptions = ReadOptions { unit: 128 << 10, depth: 48 };

fn direct(table: &Arc<TableSnapshot>, predicate: Predicate, options: ReadOptions) -> Arc<TableScan> {
    let scan = TableScan::new(Arc::clone(table), vec![1, 2], predicate, 8192, Isa::best()).unwrap();
    Arc::new(scan.with_reads(Some(options))).for_run().unwrap()
}

/// The records of a scan, by several threads, in order.
fn records(scan: &Arc<TableScan>, threads: usize) -> Result<Vec<(i64, String)>> {
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || -> Result<()> {
        loop {
            let morsel = next.fetch_add(1, Ordering::Relaxed);
            if morsel >= scan.morsels() {
                return Ok(());
            }
            for batch in scan.read(morsel)? {
                let batch = batch?;
                let (ids, labels) = (batch.column(0).as_primitive::<Int64Type>(), batch.column(1).as_string_view());
                let records = ids.iter().zip(labels).map(|(id, label)| (id.unwrap(), label.unwrap().to_owned()));
                found.lock().unwrap().extend(records);
            }
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().unwrap())
    })?;
    let mut found = found.into_inner().unwrap();
    found.sort_unstable();
    Ok(found)
}

fn between(low: i64, high: i64) -> Predicate {
    let value = |id: i64| Datum::Integer(id.into());
    Predicate::Range { column: 1, low: Bound::Included(value(low)), high: Bound::Excluded(value(high)) }
}

fn designs() -> Vec<Design> {
    let pages = Group { columns: vec![2], layout: Layout::SuperTuple };
    vec![
        Design::default(),
        Design::of_layout(Layout::Row),
        Design::of_packing(Packing::ByteSlice),
        Design::of_layout(Layout::DenseColumn),
        Design { page_size: 4096, ..Design::of_layout(Layout::SuperTuple) },
        Design { groups: vec![pages], ..Design::of_layout(Layout::MemPax(100)) },
    ]
}

/// A table of four segments, of which a third of the records is deleted.
fn build(path: &std::path::Path, design: Design) -> Arc<Store> {
    let store = open(path).unwrap();
    create(&store, gingham_storage::TableDefinition { design, ..definition("t") }).unwrap();
    for part in 0..4 {
        insert_batch(&store, "t", |definition| {
            batch(definition, part * 40_000..(part + 1) * 40_000, |id| format!("a label of record {id}"))
        })
        .unwrap();
    }
    insert(&store, "t", 160_000..160_020).unwrap();
    delete(&store, "t", (0..160_000).filter(|number| number % 3 == 0)).unwrap();
    store
}

#[test]
fn the_same_records_come_past_the_caches() {
    let _turn = REFUSING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    for design in designs() {
        let folder = tempfile::tempdir().unwrap();
        let store = build(&folder.path().join("db"), design);
        let t = table(&store.snapshot().unwrap(), "t");
        let expected: Vec<(i64, String)> =
            rows(&t).unwrap().into_iter().map(|(id, label)| (id.unwrap(), label)).collect();
        for (ring, direct_files) in [(true, true), (false, true), (true, false), (false, false)] {
            refuse_ring(!ring);
            refuse_direct(!direct_files);
            for options in [PAPERS, ReadOptions { unit: 4096, depth: 1 }] {
                let scan = direct(&t, Predicate::Constant(true), options);
                assert!(records(&scan, 2).unwrap() == expected);
                let times = scan.read_times().expect("it reads past the caches");
                assert!(times.bytes > 0 && times.way.starts_with(if ring { "io_uring" } else { "threads" }));
                assert_eq!(times.way.ends_with("_cached"), !direct_files);
            }
            let scan = direct(&t, between(50_000, 90_000), PAPERS);
            let within = expected.iter().filter(|(id, _)| (50_000..90_000).contains(id)).cloned();
            assert!(records(&scan, 2).unwrap().into_iter().eq(within));
            let count = direct(&t, between(70_000, 130_000), PAPERS);
            let found: usize = (0..count.morsels()).map(|morsel| count.count(morsel).unwrap()).sum();
            assert_eq!(found, 40_000);
        }
        refuse_ring(false);
        refuse_direct(false);
        // What zone maps rule out is not read.
        let bytes = |scan: Arc<TableScan>| {
            records(&scan, 1).unwrap();
            scan.read_times().unwrap().bytes
        };
        let all = bytes(direct(&t, Predicate::Constant(true), PAPERS));
        let some = bytes(direct(&t, between(0, 1000), PAPERS));
        assert!(some * 2 < all, "{some} of {all}");
        // A scan that is narrowed while it is under way.
        let scan = direct(&t, Predicate::Constant(true), PAPERS);
        let narrowed = Arc::new(scan.with_filter(&between(0, 500)).unwrap());
        let left: Vec<usize> = (0..narrowed.morsels()).filter(|morsel| !narrowed.rules_out(*morsel)).collect();
        let found: usize = left.into_iter().map(|morsel| narrowed.count(morsel).unwrap()).sum();
        assert_eq!(found, (0..500).filter(|id| id % 3 != 0).count());
    }
}

#[test]
fn damage_and_cut_files_are_errors_that_name_the_file() {
    for design in [Design::default(), Design::of_layout(Layout::SuperTuple)] {
        let folder = tempfile::tempdir().unwrap();
        let store = build(&folder.path().join("db"), design);
        let t = table(&store.snapshot().unwrap(), "t");
        let name = segment_files(&folder.path().join("db")).into_iter().min().unwrap();
        let file = folder.path().join("db/segments").join(&name);
        let bytes = std::fs::read(&file).unwrap();
        let error = || {
            let error = records(&direct(&t, Predicate::Constant(true), PAPERS), 2).unwrap_err();
            assert!(matches!(error, Error::Corrupt { .. }), "{error}");
            error.to_string()
        };
        let mut damaged = bytes.clone();
        damaged[bytes.len() / 3] ^= 1;
        std::fs::write(&file, &damaged).unwrap();
        let text = error();
        assert!(text.contains(&name) && text.contains("checksum"), "{text}");
        std::fs::write(&file, &bytes[..bytes.len() / 4]).unwrap();
        let text = error();
        assert!(text.contains(&name) && text.contains("cut off: no "), "{text}");
        std::fs::write(&file, &bytes).unwrap();
        assert_eq!(records(&direct(&t, Predicate::Constant(true), PAPERS), 2).unwrap().len(), 106_686);
    }
}

#[test]
fn scans_share_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    drop(build(&folder.path().join("db"), Design::of_layout(Layout::DenseColumn)));
    let budget = MemoryBudget::new(1 << 20);
    let options = OpenOptions { create: false, read_only: false };
    let store = Store::open(&folder.path().join("db"), &options, Arc::clone(&budget)).unwrap();
    let t = table(&store.snapshot().unwrap(), "t");
    let scans = [0, 1].map(|_| direct(&t, Predicate::Constant(true), PAPERS));
    std::thread::scope(|scope| {
        for scan in &scans {
            scope.spawn(|| {
                for morsel in 0..scan.morsels() {
                    let rows: usize = scan.read(morsel).unwrap().map(|batch| batch.unwrap().num_rows()).sum();
                    assert!(rows > 0 || morsel == 0);
                    // What two morsels take is taken whatever the limit; reads ahead are not.
                    assert!(budget.reserved() < 6 << 20, "{}", budget.reserved());
                }
            });
        }
    });
    drop(scans);
    assert_eq!(budget.reserved(), 0);
}

#[test]
fn a_scan_may_end_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    let budget = MemoryBudget::new(1 << 30);
    drop(build(&folder.path().join("db"), Design::default()));
    let options = OpenOptions { create: false, read_only: false };
    let store = Store::open(&folder.path().join("db"), &options, Arc::clone(&budget)).unwrap();
    let t = table(&store.snapshot().unwrap(), "t");
    for stop in 0..4 {
        let scan = direct(&t, Predicate::Constant(true), ReadOptions { unit: 4096, depth: 48 });
        for morsel in 0..stop {
            let batch = scan.read(morsel).unwrap().next().unwrap().unwrap();
            assert!(batch.num_rows() > 0);
        }
        drop(scan);
        assert_eq!(budget.reserved(), 0);
    }
}
