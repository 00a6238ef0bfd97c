//! Sequences, comments and numbers in the catalog: what commits keep of them, and what a rollback and a new process make of it.

mod common;

use common::{create, definition, name};
use gingham_storage::model::CommentSubject;
use gingham_storage::store::{Store, WriteOptions};
use gingham_storage::{Generation, SequenceDefinition, SequenceOwner};
use std::sync::Arc;

fn numbered(store: &Arc<Store>, sequence: &str, wanted: u64) -> Vec<i64> {
    let record = Arc::clone(&store.snapshot().unwrap().sequences[&name(sequence)]);
    match store.numbers_at_hand(&record, wanted) {
        Some(values) => values,
        None => store.write(|transaction| transaction.take_numbers(record.definition.number, wanted)).unwrap(),
    }
}

#[test]
fn blocks_survive_and_are_never_given_twice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let open = || common::open(&path).unwrap();
    let store = open();
    store.write(|transaction| transaction.create_sequence(SequenceDefinition::new(name("s")))).unwrap();
    assert_eq!(numbered(&store, "s", 1), [1]);
    assert_eq!(numbered(&store, "s", 30), (2..32).collect::<Vec<_>>());
    // A transaction that is rolled back has taken a block, of which others get nothing.
    let open_transaction = store.begin(&WriteOptions::default(), None).unwrap();
    let number = store.snapshot().unwrap().sequences[&name("s")].definition.number;
    let taken = open_transaction.write(move |transaction| transaction.take_numbers(number, 5)).unwrap();
    assert_eq!(taken, [32, 33, 34, 35, 36]);
    open_transaction.roll_back();
    assert_eq!(numbered(&store, "s", 1), [37]);
    drop((open_transaction, store));
    let store = open();
    let first = numbered(&store, "s", 1)[0];
    assert!(first > 37, "{first}");
}

#[test]
fn a_start_anew_that_is_rolled_back_leaves_nothing() {
    let store = Store::scratch(common::budget()).unwrap();
    let number = store.write(|transaction| transaction.create_sequence(SequenceDefinition::new(name("s")))).unwrap();
    assert_eq!(numbered(&store, "s", 3), [1, 2, 3]);
    let open = store.begin(&WriteOptions::default(), None).unwrap();
    let values = open.write(move |transaction| {
        let definition = transaction.sequence(number)?.definition;
        transaction.alter_sequence(definition, Some(1))?;
        transaction.take_numbers(number, 2)
    });
    assert_eq!(values.unwrap(), [1, 2]);
    open.roll_back();
    assert_eq!(numbered(&store, "s", 1), [4]);
    store.write(|transaction| transaction.set_sequence(number, 100, true)).unwrap();
    assert_eq!(numbered(&store, "s", 1), [101]);
}

#[test]
fn what_a_column_owns_goes_with_it() {
    let store = Store::scratch(common::budget()).unwrap();
    let table = create(&store, definition("t")).unwrap();
    let owned = |column| SequenceDefinition {
        owner: Some(SequenceOwner { table, column, identity: false }),
        ..SequenceDefinition::new(name(&format!("s{column}")))
    };
    let columns: Vec<u32> =
        store.snapshot().unwrap().table_by_id(table).unwrap().definition.columns.iter().map(|own| own.id).collect();
    for column in &columns {
        store.write(|transaction| transaction.create_sequence(owned(*column))).unwrap();
    }
    assert_eq!(store.snapshot().unwrap().sequences.len(), columns.len());
    let mut fewer = (*store.snapshot().unwrap().table_by_id(table).unwrap().definition).clone();
    let gone = fewer.columns.pop().unwrap();
    fewer.design.remove_column(gone.id);
    store.write(|transaction| transaction.alter_table(fewer)).unwrap();
    assert_eq!(store.snapshot().unwrap().sequences.len(), columns.len() - 1);
    store.write(|transaction| transaction.drop_table(&name("t"))).unwrap();
    assert!(store.snapshot().unwrap().sequences.is_empty());
}

#[test]
fn numbers_and_comments_stay_with_what_has_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let store = common::open(&path).unwrap();
    let table = create(&store, common::keyed("t")).unwrap();
    store.write(|transaction| transaction.create_schema("own")).unwrap();
    store.write(|transaction| transaction.comment_schema("own", Some("a schema".into()))).unwrap();
    let on = CommentSubject::Constraint("t_pkey".into());
    store.write(|transaction| transaction.comment_table(table, on, Some("its key".into()))).unwrap();
    let before = Arc::clone(&store.snapshot().unwrap().table_by_id(table).unwrap().definition);
    let mut renamed = (*before).clone();
    renamed.rename_constraint("t_pkey", "key");
    store.write(|transaction| transaction.relabel_table(renamed)).unwrap();
    drop(store);
    let store = common::open(&path).unwrap();
    let snapshot = store.snapshot().unwrap();
    let after = &snapshot.table_by_id(table).unwrap().definition;
    assert_eq!(after.comment(&CommentSubject::Constraint("key".into())), Some("its key"));
    assert_eq!(after.numbers.constraints["key"], before.numbers.constraints["t_pkey"]);
    assert_eq!(after.numbers.indexes["key"], before.numbers.indexes["t_pkey"]);
    let label = &snapshot.labels.schemas["own"];
    assert_eq!(label.comment.as_deref(), Some("a schema"));
    let mut numbers: Vec<u64> =
        vec![table, label.number, after.numbers.constraints["key"], after.numbers.indexes["key"]];
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), 4);
}

#[test]
fn generated_columns_are_kept() {
    let store = Store::scratch(common::budget()).unwrap();
    let mut own = definition("t");
    own.columns[1].generation = Some(Generation::Stored("1 + 1".into()));
    let table = create(&store, own.clone()).unwrap();
    let kept = Arc::clone(&store.snapshot().unwrap().table_by_id(table).unwrap().definition);
    assert_eq!(kept.columns[1].generation, own.columns[1].generation);
}
