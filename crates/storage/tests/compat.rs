//! The database of format version 1 in tests/compat: today's build must read and continue what the first build wrote.

mod common;

use common::*;
use gingham_storage::catalog::{Store, ViewDefinition};
use std::path::{Path, PathBuf};

fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/compat/database-v1")
}

/// What the kept database holds: a key and a reference, a dictionary of two versions, a delta, a view, a dropped table.
fn build(path: &Path) {
    let store = open(path).unwrap();
    store.write(|transaction| transaction.create_schema("other")).unwrap();
    let parent = create(&store, keyed("parent")).unwrap();
    create(&store, referring("child", parent)).unwrap();
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
    write_when_missing();
    let folder = tempfile::tempdir().unwrap();
    copy(&kept(), folder.path());
    verify(&open_read_only(folder.path()).unwrap());
    let store = open(folder.path()).unwrap();
    verify(&store);
    assert!(insert(&store, "parent", [40_002]).is_err(), "the key is still known");
    assert!(insert(&store, "child", [33_000]).is_err(), "the reference is still known");
    insert(&store, "parent", [33_000]).unwrap();
    insert(&store, "child", [33_000]).unwrap();
    assert_eq!(store.optimize(&name("parent")).unwrap(), 33_004);
    assert!(store.check().unwrap().errors.is_empty());
}

/// Makes the kept database when it is missing: a new format version gets one of its own.
fn write_when_missing() {
    if kept().exists() {
        return;
    }
    build(&kept());
    for file in ["catalog/lock.mdb", "writer.lock"] {
        std::fs::remove_file(kept().join(file)).unwrap();
    }
}
