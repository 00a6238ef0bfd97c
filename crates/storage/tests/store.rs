//! The store from outside: definitions, records, reopening, locks, sharing.

mod common;

use common::*;
use gingham_storage::model::ViewDefinition;
use gingham_storage::snapshot::TableSnapshot;
use gingham_storage::store::{OpenOptions, Store};
use gingham_storage::{Error, SqlState};
use std::sync::Arc;

#[test]
fn a_database_is_made_closed_and_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.gingham");
    {
        let store = open(&path).unwrap();
        let id = create(&store, definition("orders")).unwrap();
        assert_eq!(id, 1);
        store.write(|transaction| transaction.create_schema("old")).unwrap();
        let view = ViewDefinition { name: name("v"), query: "SELECT 1".into(), columns: vec![] };
        store.write(|transaction| transaction.create_view(view, false)).unwrap();
        insert(&store, "orders", 0..20_000).unwrap();
    }
    let store = open(&path).unwrap();
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.schemas, ["public", "old"]);
    assert_eq!(snapshot.views.len(), 1);
    let orders = table(&snapshot, "orders");
    assert_eq!((orders.rows(), orders.segments.len(), orders.delta.len()), (20_000, 1, 0));
    assert_eq!(orders.dictionaries[&2].distinct(), 10);
    assert!(store.check().unwrap().notes.is_empty());
}

#[test]
fn a_snapshot_stays_as_it_was() {
    let store = Store::scratch(budget()).unwrap();
    create(&store, definition("t")).unwrap();
    let before = store.snapshot().unwrap();
    insert(&store, "t", 0..10).unwrap();
    assert_eq!(table(&before, "t").rows(), 0);
    assert_eq!(table(&store.snapshot().unwrap(), "t").rows(), 10);
    store.write(|transaction| transaction.drop_table(&name("t"))).unwrap();
    assert_eq!(table(&before, "t").rows(), 0);
    assert!(store.snapshot().unwrap().tables.is_empty());
}

#[test]
fn a_snapshot_is_reused_until_something_is_committed() {
    let store = Store::scratch(budget()).unwrap();
    create(&store, definition("a")).unwrap();
    create(&store, definition("b")).unwrap();
    insert(&store, "a", 0..20_000).unwrap();
    let before = store.snapshot().unwrap();
    assert!(Arc::ptr_eq(&before, &store.snapshot().unwrap()));
    insert(&store, "b", 0..10).unwrap();
    let after = store.snapshot().unwrap();
    assert!(Arc::ptr_eq(&table(&before, "a"), &table(&after, "a")), "a did not change");
    insert(&store, "a", 20_000..60_000).unwrap();
    let last = store.snapshot().unwrap();
    let (old, new) = (table(&after, "a"), table(&last, "a"));
    assert!(Arc::ptr_eq(&old.segments[0], &new.segments[0]), "the first segment stays open");
    assert_eq!(new.segments.len(), 2);
    assert!(Arc::ptr_eq(&old.dictionaries[&2], &new.dictionaries[&2]), "equal dictionaries are one version");
}

#[test]
fn a_failed_transaction_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    create(&store, definition("t")).unwrap();
    let t = table(&store.snapshot().unwrap(), "t");
    let writer = store.table_writer(&t).unwrap();
    writer.append(0, batch(&t.definition, 0..30_000, plain_label)).unwrap();
    let written = writer.finish().unwrap();
    assert_eq!(segment_files(folder.path()).len(), 1);
    let result: Result<(), Error> = store.write(|transaction| {
        transaction.append(t.definition.id, written)?;
        Err(Error::invalid(SqlState::DataException, "changed my mind"))
    });
    assert!(result.is_err());
    assert_eq!(segment_files(folder.path()), Vec::<String>::new());
    assert_eq!(table(&store.snapshot().unwrap(), "t").rows(), 0);
    assert!(Arc::ptr_eq(&t, &table(&store.snapshot().unwrap(), "t")));
}

#[test]
fn files_of_a_dropped_writer_go() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    create(&store, definition("t")).unwrap();
    let t = table(&store.snapshot().unwrap(), "t");
    let writer = store.table_writer(&t).unwrap();
    writer.append(0, batch(&t.definition, 0..30_000, plain_label)).unwrap();
    let rows = writer.finish().unwrap();
    assert_eq!(segment_files(folder.path()).len(), 1);
    drop(rows);
    assert_eq!(segment_files(folder.path()), Vec::<String>::new());
}

#[test]
fn records_may_be_written_before_their_table_exists() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    let provisional = Arc::new(TableSnapshot::empty(definition("t")));
    let writer = store.table_writer(&provisional).unwrap();
    writer.append(0, batch(&provisional.definition, 0..30_000, plain_label)).unwrap();
    let rows = writer.finish().unwrap();
    store
        .write(|transaction| {
            let id = transaction.create_table(definition("t"))?;
            transaction.append(id, rows)
        })
        .unwrap();
    assert_eq!(table(&store.snapshot().unwrap(), "t").rows(), 30_000);
    assert_eq!(segment_files(folder.path()), ["1/1.seg"]);
    drop(store);
    // No empty folder is left of the table that got its number late.
    let store = open(folder.path()).unwrap();
    assert_eq!(table(&store.snapshot().unwrap(), "t").rows(), 30_000);
    assert!(!folder.path().join("segments/0").exists());
}

#[test]
fn files_go_with_their_table_while_readers_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    create(&store, definition("t")).unwrap();
    insert(&store, "t", 0..30_000).unwrap();
    let reader = table(&store.snapshot().unwrap(), "t");
    store.write(|transaction| transaction.drop_table(&name("t"))).unwrap();
    assert_eq!(segment_files(folder.path()), Vec::<String>::new());
    assert!(reader.segments[0].check().is_empty());
}

#[test]
fn one_path_is_one_store() {
    let folder = tempfile::tempdir().unwrap();
    let first = open(folder.path()).unwrap();
    let again = open(&folder.path().join(".")).unwrap();
    assert!(Arc::ptr_eq(&first, &again));
    // One that is to be read alone could be written through the other.
    let error = refused(open_read_only(folder.path()));
    assert!(matches!(&error, Error::Locked(text) if text.contains("for writing in this process")), "{error}");
    drop((first, again));
    let reader = open_read_only(folder.path()).unwrap();
    assert!(reader.is_read_only());
    let error = refused(open(folder.path()));
    assert!(matches!(&error, Error::Locked(text) if text.contains("reading only")), "{error}");
    assert!(matches!(refused(create(&reader, definition("t"))), Error::Locked(_)));
}

#[test]
fn a_path_can_be_opened_and_closed_by_many_threads() {
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let path = folder.path();
            scope.spawn(move || {
                for round in 0..20 {
                    let store = open(path).unwrap();
                    create(&store, definition(&format!("t{thread}_{round}"))).unwrap();
                }
            });
        }
    });
    assert_eq!(open(folder.path()).unwrap().snapshot().unwrap().tables.len(), 80);
}

#[test]
fn what_is_no_database_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let look = OpenOptions { create: false, read_only: false };
    assert!(matches!(refused(Store::open(&missing, &look, budget())), Error::InvalidInput(_)));
    assert!(matches!(refused(open_read_only(folder.path())), Error::InvalidInput(_)));
    std::fs::write(folder.path().join("letter.txt"), "dear").unwrap();
    let error = refused(open(folder.path())).to_string();
    assert!(error.contains("letter.txt"), "{error}");
    let error = refused(open(&folder.path().join("letter.txt"))).to_string();
    assert!(error.contains("letter.txt"), "{error}");
}

#[test]
fn a_newer_format_is_refused_by_version() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()).unwrap());
    std::fs::write(folder.path().join("format"), "gingham database, format 999\n").unwrap();
    let error = refused(open(folder.path()));
    assert!(matches!(&error, Error::Unsupported(text) if text.contains("format 999")), "{error}");
}

#[test]
fn an_unfinished_creation_is_begun_anew() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("catalog.new")).unwrap();
    std::fs::write(folder.path().join("catalog.new/data.mdb"), "half").unwrap();
    std::fs::write(folder.path().join("format"), "ging").unwrap();
    create(&open(folder.path()).unwrap(), definition("t")).unwrap();
    assert_eq!(open(folder.path()).unwrap().snapshot().unwrap().tables.len(), 1);
}

#[test]
fn names_are_looked_after() {
    let store = Store::scratch(budget()).unwrap();
    create(&store, definition("t")).unwrap();
    assert!(refused(create(&store, definition("t"))).to_string().contains("exists already"));
    let mut elsewhere = definition("t");
    elsewhere.name.schema = "nowhere".into();
    assert!(refused(create(&store, elsewhere.clone())).to_string().contains("schema 'nowhere' does not exist"));
    store.write(|transaction| transaction.create_schema("nowhere")).unwrap();
    create(&store, elsewhere.clone()).unwrap();
    let view = |name: &str| ViewDefinition { name: common::name(name), query: "SELECT 1".into(), columns: vec![] };
    assert!(store.write(|transaction| transaction.create_view(view("t"), true)).is_err());
    store.write(|transaction| transaction.create_view(view("v"), false)).unwrap();
    assert!(store.write(|transaction| transaction.create_view(view("v"), false)).is_err());
    store.write(|transaction| transaction.create_view(view("v"), true)).unwrap();
    assert!(store.write(|transaction| transaction.drop_table(&name("v"))).is_err());
    store.write(|transaction| transaction.drop_view(&name("v"))).unwrap();
    assert!(store.write(|transaction| transaction.drop_schema("nowhere", false)).is_err());
    store.write(|transaction| transaction.drop_schema("nowhere", true)).unwrap();
    let snapshot = store.snapshot().unwrap();
    assert_eq!((snapshot.tables.len(), snapshot.views.len(), snapshot.schemas.len()), (1, 0, 1));
}

#[test]
fn a_scratch_folder_goes_with_its_store() {
    let store = Store::scratch(budget()).unwrap();
    let path = store.path().to_path_buf();
    assert!(path.exists());
    drop(store);
    assert!(!path.exists());
}

#[test]
fn leftover_files_are_swept_when_opened_for_writing() {
    let folder = tempfile::tempdir().unwrap();
    {
        let store = open(folder.path()).unwrap();
        create(&store, definition("t")).unwrap();
        insert(&store, "t", 0..30_000).unwrap();
    }
    std::fs::create_dir(folder.path().join("segments/9")).unwrap();
    for file in ["segments/1/77.seg", "segments/9/3.seg", "segments/1/1.seg.part"] {
        std::fs::write(folder.path().join(file), "left over").unwrap();
    }
    drop(open_read_only(folder.path()).unwrap());
    assert_eq!(segment_files(folder.path()).len(), 4);
    let store = open(folder.path()).unwrap();
    assert_eq!(segment_files(folder.path()), ["1/1.seg"]);
    assert!(!folder.path().join("segments/9").exists());
    assert_eq!(table(&store.snapshot().unwrap(), "t").rows(), 30_000);
}
