//! The databases in tests/compat, named by the version of their values: today's build must read and continue what the
//! first builds of their versions wrote.

mod common;

use common::*;
use gingham_storage::catalog::{Store, ViewDefinition};
use gingham_storage::design::{ColumnDesign, Group};
use gingham_storage::{Design, EncodingChoice, Layout, Packing, TableDefinition};
use std::path::{Path, PathBuf};

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
/// that of version 2 has designs.
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

fn verify(store: &Store) {
    let report = store.check().unwrap();
    assert!(report.errors.is_empty() && report.notes.is_empty(), "{report:?}");
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.schemas, ["public", "other"]);
    assert_eq!(snapshot.views[&name("v")].columns, ["one"]);
    assert_eq!(snapshot.tables.len(), 2);
    let parent = table(&snapshot, "parent");
    assert_eq!((parent.segments.len(), parent.delta.len(), parent.dictionaries[&2].versions.len()), (2, 1, 2));
    let expected = (0..16_500)
        .map(|id| (Some(id), plain_label(id)))
        .chain((16_500..33_000).map(|id| (Some(id), format!("other {}", id % 3))))
        .chain((40_000..40_003).map(|id| (Some(id), plain_label(id))));
    assert!(rows(&parent).unwrap().into_iter().eq(expected));
    assert_eq!(ids(&table(&snapshot, "child")).unwrap(), [7, 40_001]);
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn version_1_is_read_and_continued() {
    read_and_continue(1, &Design::default());
}

#[test]
fn version_2_is_read_and_continued() {
    write_when_missing();
    read_and_continue(2, &design());
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
    let kept = kept(2);
    if kept.exists() {
        return;
    }
    build(&kept);
    for file in ["catalog/lock.mdb", "writer.lock"] {
        std::fs::remove_file(kept.join(file)).unwrap();
    }
}
