//! The databases in tests/compat, named by the version of their values: today's build must read and continue what the
//! first builds of their versions wrote.

mod common;
#[path = "common/objects.rs"]
mod objects;

use arrow::array::{ArrayRef, AsArray, RecordBatch, StringViewArray};
use arrow::datatypes::Int64Type;
use common::*;
use gingham_kernels::Isa;
use gingham_storage::io::MemoryBudget;
use gingham_storage::lab::HeapScan;
use gingham_storage::model::{ColumnDesign, Group, HeapLayout, HeapOptions, PagePacking, ViewDefinition};
use gingham_storage::store::{OpenOptions, Store, WriteOptions};
use gingham_storage::write::{NewValues, RowChange};
use gingham_storage::{
    Datum, Design, EncodingChoice, Error, Layout, LogicalType, Packing, Predicate, Result, TableDefinition,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn kept(version: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../tests/compat/database-v{version}"))
}

/// The design of table `child` in version 2: rows, a packing, an encoding.
fn design() -> Design {
    Design {
        columns: vec![
            ColumnDesign { packing: Some(Packing::ByteSlice), ..ColumnDesign::new(1) },
            ColumnDesign { encoding: EncodingChoice::Plain, ..ColumnDesign::new(2) },
        ],
        groups: vec![Group { columns: vec![1], layout: Layout::Column }],
        ..Design::of_layout(Layout::MemPax(100))
    }
}

/// What the kept databases hold: a key and a reference, a dictionary of two versions, a delta, a view, a dropped table;
/// from version 2 on designs, from version 3 on heap tables, from version 4 on deleted
/// records and indexes, from version 5 on a heap table under other keys than its number, and the pages of a load into it that has
/// not ended, from version 6 on segments of which columns were written anew, from version 7 on heap tables whose contents have a value of their
/// own, from version 8 on a table in dense pages, in version 9 a heap table some of whose pages are gone, in version 10
/// a CHAR without blanks at its end, from version 11 on what `objects` says.
fn build(path: &Path) {
    let store = open(path).unwrap();
    store.write(|transaction| transaction.create_schema("other")).unwrap();
    let rows = Design::of_layout(Layout::Row);
    let parent = create(&store, TableDefinition { design: rows, ..keyed("parent") }).unwrap();
    create(&store, TableDefinition { design: design(), ..referring("child", parent) }).unwrap();
    create(&store, definition("gone")).unwrap();
    insert(&store, "parent", 0..16_500).unwrap();
    insert_batch(&store, "parent", |definition| batch(definition, 16_500..33_000, |id| format!("other {}", id % 3)))
        .unwrap();
    insert(&store, "parent", 40_000..40_003).unwrap();
    insert(&store, "child", [7, 40_001]).unwrap();
    let view = ViewDefinition { name: name("v"), query: "SELECT 1".into(), columns: vec!["one".into()] };
    store.write(|transaction| transaction.create_view(view, false)).unwrap();
    store.write(|transaction| transaction.drop_table(&name("gone"))).unwrap();
}

fn verify(store: &Arc<Store>) {
    let report = store.check().unwrap();
    let is_known = |note: &String| note.contains("load that has not ended");
    assert!(report.errors.is_empty() && report.notes.iter().all(is_known), "{report:?}");
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.schemas, ["public", "other"]);
    assert_eq!(snapshot.views[&name("v")].columns, ["one"]);
    // Two tables, three of heap pages, one with deleted records, one with indexes, one with an unfinished load, one with
    // columns that were written anew, one in dense pages, one whose pages have gaps, one with a CHAR, four of version 11.
    assert!(matches!(snapshot.tables.len(), 2 | 5 | 7 | 8 | 9 | 10 | 11 | 12 | 16), "{}", snapshot.tables.len());
    let parent = table(&snapshot, "parent");
    assert_eq!((parent.segments.len(), parent.delta.len(), parent.dictionaries[&2].versions.len()), (2, 1, 2));
    let expected = (0..16_500)
        .map(|id| (Some(id), plain_label(id)))
        .chain((16_500..33_000).map(|id| (Some(id), format!("other {}", id % 3))))
        .chain((40_000..40_003).map(|id| (Some(id), plain_label(id))));
    assert!(rows(&parent).unwrap().into_iter().eq(expected));
    assert_eq!(ids(&table(&snapshot, "child")).unwrap(), [7, 40_001]);
}

#[test]
fn version_1_is_read_and_continued() {
    read_and_continue(1, &Design::default());
}

#[test]
fn version_2_is_read_and_continued() {
    read_and_continue(2, &design());
}

#[test]
fn version_3_is_read_and_continued() {
    read_and_continue(3, &design());
    heaps_are_continued(3);
}

#[test]
fn version_4_is_read_and_continued() {
    read_and_continue(4, &design());
    heaps_are_continued(4);
    deleted_and_indexed_are_continued(4);
}

#[test]
fn version_5_is_read_and_continued() {
    read_and_continue(5, &design());
    heaps_are_continued(5);
    deleted_and_indexed_are_continued(5);
    unfinished_is_continued(5);
}

#[test]
fn version_6_is_read_and_continued() {
    read_and_continue_all(6);
}

#[test]
fn version_7_is_read_and_continued() {
    read_and_continue_all(7);
}

#[test]
fn version_8_is_read_and_continued() {
    read_and_continue_all(8);
    dense_is_continued(8);
}

#[test]
fn version_9_is_read_and_continued() {
    read_and_continue_all(9);
    dense_is_continued(9);
    gaps_are_continued(9);
}

#[test]
fn version_10_is_read_and_continued() {
    read_and_continue_all(10);
    dense_is_continued(10);
    gaps_are_continued(10);
    chars_are_read(10);
}

#[test]
fn version_11_is_read_and_continued() {
    write_when_missing();
    read_and_continue_all(11);
    dense_is_continued(11);
    gaps_are_continued(11);
    chars_are_read(11);
    let folder = tempfile::tempdir().unwrap();
    copy(&kept(11), folder.path());
    objects::verify(&open_read_only(folder.path()).unwrap());
    let store = open(folder.path()).unwrap();
    objects::verify(&store);
    objects::go_on(&store);
    is_whole(&store);
}

fn chars_are_read(version: u32) {
    let folder = tempfile::tempdir().unwrap();
    copy(&kept(version), folder.path());
    let store = open(folder.path()).unwrap();
    let chars = table(&store.pinned().unwrap(), "chars");
    assert_eq!((chars.rows(), &chars.definition.columns[1].logical_type), (3, &LogicalType::Char(7)));
}

fn gaps_are_continued(version: u32) {
    let folder = tempfile::tempdir().unwrap();
    copy(&kept(version), folder.path());
    let gaps = |store: &Arc<Store>, expected: Vec<i64>| {
        assert_eq!(ids(&table(&store.pinned().unwrap(), "gaps")).unwrap(), expected);
    };
    gaps(&open_read_only(folder.path()).unwrap(), (0..10).chain(1990..2000).collect());
    let store = open(folder.path()).unwrap();
    insert(&store, "gaps", 2000..2005).unwrap();
    let table = table(&store.pinned().unwrap(), "gaps");
    assert_eq!(table.rows(), 25);
    is_whole(&store);
}

/// A heap table of whose pages those in the middle are gone.
fn build_gaps(store: &Arc<Store>) {
    let design = Design::of_pages(HeapOptions::new(HeapLayout::Nsm));
    let id = create(store, TableDefinition { design, ..definition("gaps") }).unwrap();
    let record = |id: i64| [Datum::Integer(id.into()), Datum::Bytes(plain_label(id).into_bytes().into())];
    store
        .write(|transaction| {
            transaction.heap(id, |heap| {
                let made = (0..2000).map(|id| heap.insert(&record(id))).collect::<Result<Vec<_>>>()?;
                made[10..1990].iter().try_for_each(|id| heap.delete(*id).map(drop))
            })
        })
        .unwrap();
}

/// A table with a CHAR.
fn build_chars(store: &Arc<Store>) {
    let mut chars = definition("chars");
    chars.columns[1].logical_type = LogicalType::Char(7);
    create(store, chars).unwrap();
    insert(store, "chars", 0..3).unwrap();
}

fn dense_is_continued(version: u32) {
    let folder = tempfile::tempdir().unwrap();
    copy(&kept(version), folder.path());
    verify_dense(&open_read_only(folder.path()).unwrap(), 0..17_000);
    let store = open(folder.path()).unwrap();
    insert(&store, "dense", 17_000..20_000).unwrap();
    verify_dense(&store, 0..20_000);
    store.optimize(&name("dense")).unwrap();
    verify_dense(&store, 0..20_000);
    is_whole(&store);
}

/// Catalogs in which a value was written over a longer one of the same transaction, which LMDB does in place: its run of pages is
/// longer than it. A view and a definition became shorter so, and a record of LMDB's own free list after many commits.
#[test]
fn values_shorter_than_their_pages_are_read_and_continued() {
    let long_runs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/compat/long-runs-v8");
    for (made_by, kept_table, expected) in [("view", "t", 1), ("columns", "w", 1), ("commits", "t", 24_600)] {
        let (folder, copied) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        copy(&long_runs.join(made_by), folder.path());
        let count = |store: &Arc<Store>| table(&store.snapshot().unwrap(), kept_table).rows();
        let store = open_read_only(folder.path()).unwrap();
        assert_eq!(count(&store), expected, "{made_by}");
        is_whole(&store);
        store.backup(&copied.path().join("read")).unwrap();
        drop(store);
        let store = open(folder.path()).unwrap();
        is_whole(&store);
        for number in 0..20 {
            store.write(|transaction| transaction.create_schema(&format!("s{number}"))).unwrap();
        }
        is_whole(&store);
        store.vacuum(&WriteOptions::default()).unwrap();
        is_whole(&store);
        store.backup(&copied.path().join("written")).unwrap();
        drop(store);
        for backup in ["read", "written"] {
            let store = open(&copied.path().join(backup)).unwrap();
            assert_eq!(count(&store), expected, "{made_by} {backup}");
            is_whole(&store);
        }
    }
}

/// A table whose columns lie in dense pages together, in packings that are named.
fn build_dense(store: &Arc<Store>) {
    let packed = |column, packing| ColumnDesign { page_packing: Some(packing), ..ColumnDesign::new(column) };
    let design = Design {
        columns: vec![packed(1, PagePacking::Delta), packed(2, PagePacking::PageDictionary(4))],
        page_size: 8192,
        ..Design::of_layout(Layout::SuperTuple)
    };
    create(store, TableDefinition { design, ..definition("dense") }).unwrap();
    insert(store, "dense", 0..17_000).unwrap();
}

fn verify_dense(store: &Arc<Store>, ids: std::ops::Range<i64>) {
    let dense = table(&store.snapshot().unwrap(), "dense");
    assert!(rows(&dense).unwrap().into_iter().eq(ids.map(|id| (Some(id), plain_label(id)))));
    assert_eq!(dense.segments[0].page_packing(1), Some(PagePacking::Delta));
    assert_eq!(dense.definition.design.page_size, 8192);
}

fn read_and_continue_all(version: u32) {
    read_and_continue(version, &design());
    heaps_are_continued(version);
    deleted_and_indexed_are_continued(version);
    unfinished_is_continued(version);
    let folder = tempfile::tempdir().unwrap();
    copy(&kept(version), folder.path());
    verify_columns(&open_read_only(folder.path()).unwrap());
    let store = open(folder.path()).unwrap();
    verify_columns(&store);
    write_labels(&store, 0..12_000, |id| format!("third {}", id % 3));
    let labels = |labels: Vec<(Option<i64>, String)>| labels.into_iter().all(|(_, label)| label.starts_with("third"));
    assert!(labels(rows(&table(&store.snapshot().unwrap(), "columns")).unwrap()));
    is_whole(&store);
}

fn unfinished_is_continued(version: u32) {
    let folder = tempfile::tempdir().unwrap();
    copy(&kept(version), folder.path());
    let notes = |store: &Arc<Store>| store.check().unwrap().notes.join(", ");
    let store = open_read_only(folder.path()).unwrap();
    assert!(ids(&table(&store.pinned().unwrap(), "moved")).unwrap().into_iter().eq(0..300));
    assert!(notes(&store).contains("load that has not ended"));
    drop(store);
    let store = open(folder.path()).unwrap();
    assert!(!notes(&store).contains("load that has not ended"));
    insert(&store, "moved", 300..400).unwrap();
    assert!(ids(&table(&store.pinned().unwrap(), "moved")).unwrap().into_iter().eq(0..400));
    is_whole(&store);
}

fn deleted_and_indexed_are_continued(version: u32) {
    let folder = tempfile::tempdir().unwrap();
    copy(&kept(version), folder.path());
    verify_deleted(&open_read_only(folder.path()).unwrap(), &[]);
    let store = open(folder.path()).unwrap();
    verify_deleted(&store, &[]);
    delete(&store, "shrunk", [0, 2, 30_000]).unwrap();
    verify_deleted(&store, &[0, 2, 30_000]);
    let table = table(&store.snapshot().unwrap(), "indexed").definition.id;
    let insert = |id: i64| {
        let record = [Datum::Integer(id.into()), Datum::Bytes([b'x'].into())];
        store.write(|transaction| transaction.heap(table, |heap| heap.insert(&record).map(drop)))
    };
    assert!(insert(77).is_err(), "the key is still known");
    insert(1000).unwrap();
    assert!(store.check().unwrap().errors.is_empty());
}

/// A catalog of a process that did not end well, whose last commit has a seal of version 1: it is opened as it is, and as it was
/// before that commit when a page of it is missing.
#[test]
fn seals_of_version_1_are_read() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/compat/sealed-v1.mdb");
    if !kept.exists() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path()).unwrap();
        ["a", "b"].into_iter().for_each(|name| store.write(|transaction| transaction.create_schema(name)).unwrap());
        std::fs::copy(folder.path().join("catalog/data.mdb"), &kept).unwrap();
    }
    let whole = std::fs::read(&kept).unwrap();
    let lost =
        whole.windows(7).position(|bytes| bytes == b"\"a\",\"b\"").expect("the last commit's state") / 4096 * 4096;
    for is_whole in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let (path, mut data) = (folder.path(), whole.clone());
        if !is_whole {
            data[lost..lost + 512].fill(0);
        }
        ["catalog", "segments"].into_iter().for_each(|name| std::fs::create_dir(path.join(name)).unwrap());
        let files = [
            ("format", &b"gingham database, format 4\n"[..]),
            ("writer.lock", b"sealing"),
            ("catalog/data.mdb", &data),
        ];
        files.into_iter().for_each(|(name, bytes)| std::fs::write(path.join(name), bytes).unwrap());
        let read = open_read_only(path);
        assert_eq!(read.is_ok(), is_whole, "{read:?}");
        drop(read);
        let store = open(path).unwrap();
        let expected = if is_whole { &["public", "a", "b"][..] } else { &["public", "a"] };
        assert_eq!(store.snapshot().unwrap().schemas, expected);
        let report = store.check().unwrap();
        assert!(report.errors.is_empty(), "{report:?}");
        assert_eq!(report.notes.iter().any(|note| note.contains("interrupted")), !is_whole, "{report:?}");
        store.write(|transaction| transaction.create_schema("c")).unwrap();
        drop(store);
        let store = open_read_only(path).unwrap();
        assert_eq!(store.snapshot().unwrap().schemas, [expected, &["c"]].concat());
    }
}

/// A table in pages with the index of its key and another one, whose values are short, long or NULL.
fn build_indexed(store: &Arc<Store>) {
    let design = Design::of_pages(HeapOptions::new(HeapLayout::Pax));
    let table = create(store, TableDefinition { design, ..keyed("indexed") }).unwrap();
    store
        .write(|transaction| {
            transaction.create_index(table, "by_label", vec![2], false, &|| true)?;
            transaction.heap(table, |heap| {
                for id in 0..200 {
                    let label = match id % 10 {
                        0 => Datum::Null,
                        1 => Datum::Bytes("long ".repeat(200).into_bytes().into()),
                        _ => Datum::Bytes(format!("label {}", id % 7).into_bytes().into()),
                    };
                    heap.insert(&[Datum::Integer(id), label])?;
                }
                Ok(())
            })
        })
        .unwrap();
}

/// A table in pages that had others before, and what is left when the process of a load into it dies: all of the database is
/// copied to `kept` at that time.
fn build_unfinished(path: &Path, kept: &Path) {
    let options = OpenOptions { create: true, read_only: false };
    let store = Store::open(path, &options, MemoryBudget::new(1 << 20)).unwrap();
    let [from, to] = [HeapLayout::Nsm, HeapLayout::Pax].map(|layout| Design::of_pages(HeapOptions::new(layout)));
    let id = create(&store, TableDefinition { design: from, ..definition("moved") }).unwrap();
    insert(&store, "moved", 0..300).unwrap();
    store.set_design(&name("moved"), to, 1, &mut |_, _| Ok(())).unwrap();
    let (before, own) = (store.snapshot().unwrap(), table(&store.snapshot().unwrap(), "moved"));
    let writer = store.table_writer(&own).unwrap();
    writer.append(0, batch(&own.definition, 300..20_300, plain_label)).unwrap();
    let dies = || {
        if store.snapshot()?.commit == before.commit {
            return Ok(());
        }
        copy(path, kept);
        // The file of the run, which is swept as in every version.
        std::fs::remove_dir_all(kept.join(format!("segments/{id}"))).unwrap();
        Err(Error::Cancelled)
    };
    let rows = writer.finish().unwrap();
    let load = store.append_in_portions(&WriteOptions::default(), rows, &|_| Ok(id), &dies, &|| Ok(()));
    assert!(load.is_err() && kept.exists());
}

/// A table of 70,000 records in a segment and 10 in the delta: a few records of the first zone are deleted, most of the
/// second one's, some of the delta's.
fn build_deleted(store: &Arc<Store>) {
    create(store, definition("shrunk")).unwrap();
    insert(store, "shrunk", 0..70_000).unwrap();
    insert(store, "shrunk", 200_000..200_010).unwrap();
    let mut numbers: Vec<u64> = (1000..11_001).collect();
    numbers.extend((65_600..70_000).filter(|number| number % 8 != 0));
    numbers.extend([70_003, 70_009]);
    delete(store, "shrunk", [7]).unwrap();
    delete(store, "shrunk", numbers).unwrap();
}

/// A table of one segment, of which the labels of many records were changed twice and some records deleted between.
fn build_columns(store: &Arc<Store>) {
    create(store, definition("columns")).unwrap();
    insert_batch(store, "columns", |definition| batch(definition, 0..18_000, plain_label)).unwrap();
    delete(store, "columns", 0..3000).unwrap();
    write_labels(store, 0..10_000, |id| format!("first {}", id % 5));
    delete(store, "columns", 3000..6000).unwrap();
    write_labels(store, 4000..12_000, |id| format!("second {id}"));
}

/// Gives labels to records of `columns`, by their places among those that are left.
fn write_labels(store: &Arc<Store>, places: std::ops::Range<usize>, label: impl Fn(i64) -> String) {
    let table = table(&store.snapshot().unwrap(), "columns");
    let ids = ids(&table).unwrap();
    // The ids are the numbers of the records.
    let ids = &ids[places];
    let labels: ArrayRef = Arc::new(StringViewArray::from_iter_values(ids.iter().map(|id| label(*id))));
    let batch = RecordBatch::try_from_iter([("label", labels)]).unwrap();
    let new = NewValues::new(vec![2], ids.iter().map(|id| *id as u64).collect(), vec![batch]).unwrap();
    let written = store.write_values(&table, &new, 1, &|| true).unwrap();
    assert!(written.ids.is_empty(), "no record goes");
    let change = RowChange { columns: Some(vec![2]), ..RowChange::default() };
    store.write(|transaction| transaction.change(table.definition.id, &change, written.rows, &|| true)).unwrap();
}

fn verify_columns(store: &Arc<Store>) {
    let expected = (6000..18_000).map(|id: i64| {
        let label = match id {
            10_000.. => format!("second {id}"),
            _ => format!("first {}", id % 5),
        };
        (Some(id), label)
    });
    assert!(rows(&table(&store.snapshot().unwrap(), "columns")).unwrap().into_iter().eq(expected));
}

fn verify_deleted(store: &Arc<Store>, gone: &[i64]) {
    let table = table(&store.snapshot().unwrap(), "shrunk");
    let deleted = |id: &i64| {
        let (first, second) = (*id == 7 || (1000..11_001).contains(id), (65_600..70_000).contains(id) && id % 8 != 0);
        first || second || [200_003, 200_009].contains(id) || gone.contains(id)
    };
    let expected: Vec<i64> = (0..70_000).chain(200_000..200_010).filter(|id| !deleted(id)).collect();
    assert_eq!(ids(&table).unwrap(), expected);
    assert_eq!(table.rows(), expected.len() as u64);
}

fn heaps_are_continued(version: u32) {
    let folder = tempfile::tempdir().unwrap();
    copy(&kept(version), folder.path());
    verify_heaps(&open_read_only(folder.path()).unwrap());
    let store = open(folder.path()).unwrap();
    verify_heaps(&store);
    for layout in HEAPS {
        let table = table(&store.snapshot().unwrap(), heap_name(layout)).definition.id;
        let id = store.write(|transaction| transaction.heap(table, |heap| heap.insert(&heap_record(1000)))).unwrap();
        assert_eq!(store.heap(table).unwrap().get(id).unwrap(), Some(heap_record(1000).to_vec()));
    }
    assert!(store.check().unwrap().errors.is_empty());
}

const HEAPS: [HeapLayout; 3] = [HeapLayout::Nsm, HeapLayout::Dsm, HeapLayout::Pax];

fn heap_name(layout: HeapLayout) -> &'static str {
    match layout {
        HeapLayout::Nsm => "heap_nsm",
        HeapLayout::Dsm => "heap_dsm",
        HeapLayout::Pax => "heap_pax",
    }
}

/// Record `number` of the heap tables: some NULLs, and a value too long for a page now and then.
fn heap_record(number: i64) -> [Datum; 2] {
    let length = if number % 97 == 5 { 9000 } else { number % 30 };
    let label = (0..length).map(|at| b'a' + (at % 26) as u8).collect();
    [
        if number % 9 == 0 { Datum::Null } else { Datum::Integer(i128::from(number) - 50) },
        if number % 7 == 0 { Datum::Null } else { Datum::Bytes(label) },
    ]
}

/// Heap tables of 400 records, every third of which is deleted.
fn build_heaps(store: &Arc<Store>) {
    for layout in HEAPS {
        let definition = definition(heap_name(layout));
        let options = HeapOptions { page_bytes: 4080, ..HeapOptions::new(layout) };
        store
            .write(|transaction| {
                let table = transaction.create_heap_table(definition, options)?;
                transaction.heap(table, |heap| {
                    let ids = (0..400).map(|number| heap.insert(&heap_record(number))).collect::<Result<Vec<_>>>()?;
                    ids.into_iter().step_by(3).try_for_each(|id| heap.delete(id).map(drop))
                })
            })
            .unwrap();
    }
}

fn verify_heaps(store: &Arc<Store>) {
    for layout in HEAPS {
        let reader = store.heap(table(&store.snapshot().unwrap(), heap_name(layout)).definition.id).unwrap();
        assert_eq!((reader.rows(), reader.record().options.layout), (266, layout));
        let scan = HeapScan::new(Arc::new(reader), vec![1, 2], &Predicate::Constant(true), Isa::best()).unwrap();
        let mut found = Vec::new();
        for zone in 0..scan.zones() {
            let batch = scan.read(zone).unwrap();
            let (ids, labels) = (batch.column(0).as_primitive::<Int64Type>(), batch.column(1).as_string_view());
            found.extend(ids.iter().zip(labels).map(|(id, label)| (id, label.map(str::to_owned))));
        }
        let expected = (0..400).filter(|number| number % 3 != 0).map(|number| {
            let [id, label] = heap_record(number);
            let id = if let Datum::Integer(id) = id { Some(id as i64) } else { None };
            let text = |bytes: Box<[u8]>| String::from_utf8(bytes.into()).unwrap();
            (id, if let Datum::Bytes(label) = label { Some(text(label)) } else { None })
        });
        let mut expected: Vec<_> = expected.collect();
        expected.sort();
        found.sort();
        assert_eq!(found, expected, "{layout:?}");
    }
}

fn read_and_continue(version: u32, design: &Design) {
    let folder = tempfile::tempdir().unwrap();
    copy(&kept(version), folder.path());
    verify(&open_read_only(folder.path()).unwrap());
    let store = open(folder.path()).unwrap();
    verify(&store);
    assert_eq!(table(&store.snapshot().unwrap(), "child").definition.design, *design);
    assert!(insert(&store, "parent", [40_002]).is_err(), "the key is still known");
    assert!(insert(&store, "child", [33_000]).is_err(), "the reference is still known");
    insert(&store, "parent", [33_000]).unwrap();
    insert(&store, "child", [33_000]).unwrap();
    assert_eq!(store.optimize(&name("parent")).unwrap(), 33_004);
    assert!(store.check().unwrap().errors.is_empty());
}

/// Makes the newest version's kept database when it is missing: a new version gets one of its own.
fn write_when_missing() {
    let kept = kept(11);
    if kept.exists() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    build(folder.path());
    build_heaps(&open(folder.path()).unwrap());
    build_deleted(&open(folder.path()).unwrap());
    build_indexed(&open(folder.path()).unwrap());
    build_columns(&open(folder.path()).unwrap());
    build_dense(&open(folder.path()).unwrap());
    build_gaps(&open(folder.path()).unwrap());
    build_chars(&open(folder.path()).unwrap());
    objects::build(&open(folder.path()).unwrap());
    build_unfinished(folder.path(), &kept);
    for file in ["catalog/lock.mdb", "writer.lock"] {
        std::fs::remove_file(kept.join(file)).unwrap();
    }
}
