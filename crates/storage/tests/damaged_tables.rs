//! Tables that can't be read beside others that can: files that are missing, cut off, changed or another's, and values of the
//! catalog that are damaged.

mod common;

use common::*;
use gingham_storage::model::{HeapLayout, HeapOptions};
use gingham_storage::store::Store;
use gingham_storage::{Error, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What every record of a table says, by the table's name.
type Answers = BTreeMap<String, Vec<(Option<i64>, String)>>;

/// Table 1 is `t`, of two segments, with deleted records, dictionaries and a delta block; the others are whole in every test.
fn build(path: &Path) -> Answers {
    let store = open(path).unwrap();
    create(&store, keyed("t")).unwrap();
    for ids in [0..17_777, 17_777..36_666] {
        insert_batch(&store, "t", |definition| batch(definition, ids.clone(), |id| format!("uncommon {}", id % 9)))
            .unwrap();
    }
    insert_batch(&store, "t", |definition| batch(definition, 40_000..40_010, |id| format!("newcomer {id}"))).unwrap();
    delete(&store, "t", [11_111, 12_222]).unwrap();
    create(&store, definition("u")).unwrap();
    insert(&store, "u", 0..20_000).unwrap();
    insert(&store, "u", 20_000..20_010).unwrap();
    store
        .write(|transaction| transaction.create_heap_table(keyed("pages"), HeapOptions::new(HeapLayout::Pax)))
        .unwrap();
    insert(&store, "pages", 0..300).unwrap();
    create(&store, definition("empty")).unwrap();
    let mut expected = others(&store);
    expected.insert("t".into(), rows(&table(&store.snapshot().unwrap(), "t")).unwrap());
    expected
}

/// What tables other than `t` say.
fn others(store: &Arc<Store>) -> Answers {
    let snapshot = store.pinned().unwrap();
    let others = snapshot.tables.iter().filter(|(name, _)| name.table != "t");
    others.map(|(name, table)| (name.table.clone(), rows(table).unwrap())).collect()
}

/// The error of `t`, whether it can't be opened or one of its blocks can't be read.
fn error_of_t(store: &Store) -> Error {
    let read = || -> Result<usize> { Ok(rows(store.snapshot()?.table(&name("t"))?.expect("a table"))?.len()) };
    refused(read())
}

/// `t` fails by name because of `place`, other tables are read and written, `check` tells of it.
fn is_damaged(store: &Arc<Store>, expected: &Answers, place: &str) {
    let error = error_of_t(store);
    let text = error.to_string();
    assert!(matches!(error, Error::Corrupt { .. }) && text.contains("table 't'") && text.contains(place), "{error}");
    assert!(text.ends_with("; restore it from a backup, or drop the table"), "{error}");
    assert_eq!(text.matches("table 't'").count(), 1, "{error}");
    for (table, rows) in others(store) {
        assert!(rows == expected[&table], "{table}");
    }
    let report = store.check().unwrap();
    let is_told = |error: &Error| error.to_string().contains("table 't'") && error.to_string().contains(place);
    assert!(report.errors.iter().any(is_told), "{place}: {:?}", report.errors);
    assert!(report.errors.iter().all(|error| error.to_string().contains("table 't'")), "{:?}", report.errors);
    if !store.is_read_only() {
        insert(store, "u", 30_000..30_005).unwrap();
        insert(store, "u", 50_000..70_000).unwrap();
        let u = table(&store.snapshot().unwrap(), "u");
        assert_eq!(u.rows(), expected["u"].len() as u64 + 20_005);
        let numbers: Vec<u64> =
            (0..).zip(ids(&u).unwrap()).filter(|(_, id)| *id >= 30_000).map(|pair| pair.0).collect();
        delete(store, "u", numbers).unwrap();
        store.optimize(&name("u")).unwrap();
        assert_eq!(rows(&table(&store.snapshot().unwrap(), "u")).unwrap(), expected["u"]);
    }
}

/// Drops `t` and makes it anew; nothing is left of the damage.
fn is_dropped(store: &Arc<Store>, path: &Path, expected: &Answers) {
    store.write(|transaction| transaction.drop_table(&name("t"))).unwrap();
    is_whole(store);
    assert!(store.snapshot().unwrap().damaged.is_empty());
    create(store, keyed("t")).unwrap();
    insert(store, "t", 5..7).unwrap();
    assert_eq!(ids(&table(&store.snapshot().unwrap(), "t")).unwrap(), [5, 6]);
    let folder = path.join("segments/1");
    let left = std::fs::read_dir(&folder).map_or(0, Iterator::count);
    assert!(left == 0, "{left} files of what was dropped are left");
    assert!(others(store).iter().all(|(table, rows)| *rows == expected[table]));
}

/// A segment file with changes in each of its blocks.
fn with_other_blocks(bytes: &[u8]) -> Vec<u8> {
    let mut changed = bytes.to_vec();
    (64..bytes.len() - 2000).step_by(64).for_each(|at| changed[at] ^= 0x10);
    changed
}

/// Ways to damage a file so that it can't be opened or a block of it can't be read.
fn ways(file: &Path, other: &Path) -> Vec<(&'static str, Vec<u8>)> {
    let (bytes, other) = (std::fs::read(file).unwrap(), std::fs::read(other).unwrap());
    let flipped = |at: usize| {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x10;
        bytes
    };
    vec![
        ("empty", Vec::new()),
        ("shorter than a header", bytes[..10].to_vec()),
        ("cut in the middle", bytes[..bytes.len() / 2].to_vec()),
        ("cut by a byte", bytes[..bytes.len() - 1].to_vec()),
        ("longer by a byte", [&bytes[..], &[0]].concat()),
        ("another magic number", flipped(1)),
        ("another trailer", flipped(bytes.len() - 6)),
        ("another directory", flipped(bytes.len() - 100)),
        ("other blocks", with_other_blocks(&bytes)),
        ("another segment", other),
    ]
}

/// A segment file of the table that was made as the first, the second, ….
fn file_of(path: &Path, table: usize, place: usize) -> PathBuf {
    let files = segment_files(path);
    let table = table_numbers(path)[table - 1];
    let own: Vec<&String> = files.iter().filter(|file| file.starts_with(&format!("{table}/"))).collect();
    path.join("segments").join(own[place])
}

#[test]
fn a_damaged_file_hurts_its_own_table() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("base");
    let expected = build(&base);
    drop(open(&base).unwrap());
    let all = ways(&file_of(&base, 1, 0), &file_of(&base, 2, 0));
    for (number, (what, bytes)) in all.into_iter().enumerate() {
        let path = folder.path().join(number.to_string());
        copy(&base, &path);
        let file = file_of(&path, 1, number % 2);
        let whole = std::fs::read(&file).unwrap();
        // The second segment's file has other bytes.
        let bytes = if number % 2 == 0 { bytes } else { ways(&file, &file_of(&path, 2, 0)).swap_remove(number).1 };
        std::fs::write(&file, bytes).unwrap();
        println!("{what}");
        let place = file.file_name().unwrap().to_str().unwrap().to_owned();
        is_damaged(&open_read_only(&path).unwrap(), &expected, &place);
        let store = open(&path).unwrap();
        is_damaged(&store, &expected, &place);
        // It heals without being opened again, but for a file that is open.
        std::fs::write(&file, &whole).unwrap();
        assert_eq!(rows(&table(&store.snapshot().unwrap(), "t")).unwrap(), expected["t"], "{what}");
        is_whole(&store);
        drop(store);
        std::fs::remove_file(&file).unwrap();
        let store = open(&path).unwrap();
        is_damaged(&store, &expected, &place);
        is_dropped(&store, &path, &expected);
    }
}

#[test]
fn folders_that_are_missing_or_in_the_way() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("base");
    let expected = build(&base);
    drop(open(&base).unwrap());
    let path = folder.path().join("without a table's folder");
    copy(&base, &path);
    std::fs::remove_dir_all(path.join("segments/1")).unwrap();
    let store = open(&path).unwrap();
    is_damaged(&store, &expected, ".seg: this file is missing");
    let missing = store.check().unwrap().errors;
    assert_eq!(missing.len(), 2, "each file is told: {missing:?}");
    is_dropped(&store, &path, &expected);
    let path = folder.path().join("a folder for a file");
    copy(&base, &path);
    let file = file_of(&path, 1, 1);
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    is_damaged(&open(&path).unwrap(), &expected, ".seg: this file is a folder");
    let path = folder.path().join("without segments");
    copy(&base, &path);
    std::fs::remove_dir_all(path.join("segments")).unwrap();
    let store = open(&path).unwrap();
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.damaged.keys().map(|name| &name.table[..]).collect::<Vec<_>>(), ["t", "u"]);
    insert(&store, "pages", 300..310).unwrap();
    insert(&store, "empty", 0..20_000).unwrap();
    assert_eq!(table(&store.snapshot().unwrap(), "empty").rows(), 20_000);
    store.write(|transaction| transaction.drop_table(&name("u"))).unwrap();
    assert_eq!(store.write(|transaction| transaction.truncate(1)).unwrap(), expected["t"].len() as u64);
    is_whole(&store);
    drop(store);
    is_whole(&open(&path).unwrap());
}

/// A value of the catalog, by bytes that are in it alone.
fn change_value(path: &Path, part: &[u8]) {
    let file = path.join("catalog/data.mdb");
    let mut bytes = std::fs::read(&file).unwrap();
    let found: Vec<usize> =
        bytes.windows(part.len()).enumerate().filter(|(_, window)| *window == part).map(|(at, _)| at).collect();
    assert!(!found.is_empty());
    found.into_iter().for_each(|at| bytes[at + 3] ^= 1);
    std::fs::write(file, bytes).unwrap();
}

#[test]
fn a_damaged_value_of_the_catalog_hurts_its_own_table() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("base");
    let expected = build(&base);
    drop(open(&base).unwrap());
    let deleted = [11_111u32.to_le_bytes(), 12_222u32.to_le_bytes()].concat();
    let parts: [(&str, &[u8]); 4] = [
        ("dictionaries value 1/", b"uncommon 5"),
        ("delta value 1/", b"newcomer 40005"),
        ("segments value 1/", b"\"rows\":17777"),
        ("deleted value 1/", &deleted),
    ];
    for (number, (place, part)) in parts.into_iter().enumerate() {
        let path = folder.path().join(number.to_string());
        copy(&base, &path);
        change_value(&path, part);
        let files = segment_files(&path);
        is_damaged(&open_read_only(&path).unwrap(), &expected, place);
        let store = open(&path).unwrap();
        is_damaged(&store, &expected, place);
        let is_of_t = |file: &&String| file.starts_with("1/");
        let now = segment_files(&path);
        assert!(
            now.iter().filter(is_of_t).eq(files.iter().filter(is_of_t)),
            "{place}: no sweep takes what may be named"
        );
        let error = refused(store.backup(&folder.path().join("copy")));
        assert!(error.to_string().contains("table 't'"), "{error}");
        // Files of a segment that is not known go when nobody can name them any more.
        store.write(|transaction| transaction.drop_table(&name("t"))).unwrap();
        is_whole(&store);
        drop(store);
        let store = open(&path).unwrap();
        assert!(segment_files(&path).iter().all(|file| !is_of_t(&file)), "{place}");
        is_whole(&store);
    }
}

#[test]
fn writes_to_a_damaged_table_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let expected = build(&path);
    let t = {
        let store = open(&path).unwrap();
        table(&store.snapshot().unwrap(), "t")
    };
    let file = file_of(&path, 1, 0);
    std::fs::remove_file(&file).unwrap();
    let store = open(&path).unwrap();
    // Records that were written before the damage was known.
    let writer = store.table_writer(&t).unwrap();
    writer.append(0, batch(&t.definition, [99], plain_label)).unwrap();
    let written = writer.finish().unwrap();
    let error = refused(store.write(|transaction| transaction.append(1, written)));
    assert!(error.to_string().contains("table 't'"), "{error}");
    let renamed = gingham_storage::TableDefinition { name: name("other"), ..(*t.definition).clone() };
    for error in [
        refused(store.write(|transaction| transaction.alter_table(renamed))),
        refused(store.optimize(&name("t"))),
        refused(store.pinned_table(&name("t"))),
    ] {
        assert!(error.to_string().contains("table 't'"), "{error}");
    }
    let taken = refused(store.write(|transaction| transaction.create_table(definition("t"))));
    assert!(taken.to_string().contains("exists already"), "{taken}");
    // An open transaction goes on with other tables, and sees the table again when it is whole.
    let open_transaction = store.begin(&Default::default(), None).unwrap();
    open_transaction.write(|transaction| transaction.create_schema("other")).unwrap();
    assert_eq!(open_transaction.snapshot().damaged.len(), 1);
    assert!(open_transaction.write(|transaction| transaction.drop_table(&name("t"))).is_ok());
    assert!(!open_transaction.snapshot().has_table(&name("t")));
    open_transaction.roll_back();
    is_damaged(&store, &expected, ".seg: this file is missing");
}

#[test]
fn errors_name_a_table_as_it_is_called_now() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    build(&path);
    let store = open(&path).unwrap();
    // Its file is open before it is renamed.
    let t = table(&store.snapshot().unwrap(), "t");
    let renamed = gingham_storage::TableDefinition { name: name("other"), ..(*t.definition).clone() };
    store.write(|transaction| transaction.alter_table(renamed)).unwrap();
    let file = file_of(&path, 1, 0);
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, with_other_blocks(&bytes)).unwrap();
    let read = rows(&table(&store.snapshot().unwrap(), "other"));
    let error = refused(read.map(|rows| rows.len())).to_string();
    assert!(error.contains("table 'other', ") && error.contains(file.to_str().unwrap()), "{error}");
}
