//! PRIMARY KEY, UNIQUE and REFERENCES, for few records and for many, in order and not.

mod common;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringViewArray};
use common::*;
use gingham_storage::KeyDefinition;
use gingham_storage::store::Store;
use std::sync::Arc;

#[test]
fn a_key_of_few_records_is_looked_up() {
    let store = Store::scratch(budget()).unwrap();
    create(&store, keyed("t")).unwrap();
    insert(&store, "t", 0..30_000).unwrap();
    insert(&store, "t", 50_000..50_010).unwrap();
    let text = violated(insert(&store, "t", [60_000, 777]));
    assert_eq!(text, "duplicate key in table 't': PRIMARY KEY (id) = (777) exists already (constraint 't_pkey')");
    let text = violated(insert(&store, "t", [60_000, 50_003]));
    assert!(text.contains("(50003) exists already"), "{text}");
    let text = violated(insert(&store, "t", [60_000, 60_000]));
    assert!(text.contains("(60000) occurs twice"), "{text}");
    insert(&store, "t", [60_000, 60_001]).unwrap();
    assert_eq!(table(&store.snapshot().unwrap(), "t").rows(), 30_012);
}

#[test]
fn a_key_of_many_records_is_compared() {
    let store = Store::scratch(budget()).unwrap();
    create(&store, keyed("t")).unwrap();
    insert(&store, "t", 0..30_000).unwrap();
    // Ordered and apart, ordered and interleaved, in no order, and each with one clash.
    insert(&store, "t", 100_000..130_000).unwrap();
    insert(&store, "t", (200_000..260_000).step_by(2)).unwrap();
    insert(&store, "t", (200_001..260_001).step_by(2)).unwrap();
    let mixed = (0..30_000i64).map(|number| 300_000 + number * 7919 % 30_000);
    insert(&store, "t", mixed.clone()).unwrap();
    assert!(violated(insert(&store, "t", 29_999..60_000)).contains("(29999) exists already"));
    assert!(violated(insert(&store, "t", (259_997..299_999).step_by(2))).contains("(259997) exists already"));
    assert!(violated(insert(&store, "t", (400_000..430_000).chain([400_005]))).contains("(400005) occurs twice"));
    assert!(violated(insert(&store, "t", mixed)).contains("exists already"));
    assert_eq!(table(&store.snapshot().unwrap(), "t").rows(), 150_000);
}

#[test]
fn nulls_of_a_unique_key_never_clash() {
    let store = Store::scratch(budget()).unwrap();
    let mut definition = definition("t");
    definition.keys.push(KeyDefinition { name: "pair".into(), columns: vec![1, 2], primary: false });
    create(&store, definition).unwrap();
    let pairs = |pairs: &[(Option<i64>, Option<&str>)]| {
        let (ids, labels): (Vec<_>, Vec<_>) = pairs.iter().copied().unzip();
        insert_batch(&store, "t", |definition| {
            let columns: Vec<ArrayRef> =
                vec![Arc::new(Int64Array::from(ids.clone())), Arc::new(StringViewArray::from(labels.clone()))];
            RecordBatch::try_new(definition.arrow_schema(), columns).unwrap()
        })
    };
    pairs(&[(None, Some("a")), (None, Some("a")), (Some(1), None), (Some(1), None), (Some(1), Some("a"))]).unwrap();
    pairs(&[(None, Some("a")), (Some(1), None), (Some(1), Some("b")), (Some(2), Some("a"))]).unwrap();
    let text = violated(pairs(&[(Some(2), Some("b")), (Some(1), Some("b"))]));
    assert_eq!(text, "duplicate key in table 't': UNIQUE (id, label) = (1, 'b') exists already (constraint 'pair')");
}

#[test]
fn string_keys_are_checked_in_segments_and_delta() {
    let store = Store::scratch(budget()).unwrap();
    let mut definition = definition("t");
    definition.keys.push(KeyDefinition { name: "label_key".into(), columns: vec![2], primary: false });
    create(&store, definition).unwrap();
    let add = |ids: std::ops::Range<i64>| {
        insert_batch(&store, "t", |definition| batch(definition, ids.clone(), |id| format!("name {id}")))
    };
    add(0..40_000).unwrap();
    add(40_000..40_005).unwrap();
    add(50_000..90_000).unwrap();
    assert!(violated(add(39_999..40_000)).contains("('name 39999') exists already"));
    assert!(violated(add(40_004..40_006)).contains("('name 40004') exists already"));
    assert!(violated(add(89_000..120_000)).contains("exists already"));
    add(40_005..40_010).unwrap();
}

#[test]
fn references_have_to_exist() {
    let store = Store::scratch(budget()).unwrap();
    let parent = create(&store, keyed("parent")).unwrap();
    create(&store, referring("child", parent)).unwrap();
    insert(&store, "parent", 0..30_000).unwrap();
    insert(&store, "parent", 40_000..40_003).unwrap();
    insert(&store, "child", [5, 5, 29_999, 40_002]).unwrap();
    insert(&store, "child", (0..60_000).map(|number| number % 30_000)).unwrap();
    let text = violated(insert(&store, "child", [5, 30_000]));
    assert_eq!(
        text,
        "key (id) = (30000) of table 'child' does not exist in (id) of table 'parent' (constraint 'child_id_fkey')"
    );
    assert!(violated(insert(&store, "child", 10..30_001)).contains("(30000)"));
    insert_batch(&store, "child", |definition| {
        let columns: Vec<ArrayRef> =
            vec![Arc::new(Int64Array::from(vec![None, Some(3)])), Arc::new(StringViewArray::from(vec!["a", "b"]))];
        RecordBatch::try_new(definition.arrow_schema(), columns).unwrap()
    })
    .unwrap();
}

#[test]
fn a_table_may_refer_to_itself() {
    let store = Store::scratch(budget()).unwrap();
    let mut definition = keyed("t");
    definition.references = referring("t", 0).references;
    create(&store, definition).unwrap();
    insert(&store, "t", 0..10).unwrap();
    insert(&store, "t", 10..40_000).unwrap();
}

#[test]
fn a_referred_table_stays() {
    let store = Store::scratch(budget()).unwrap();
    let parent = create(&store, keyed("parent")).unwrap();
    let child = create(&store, referring("child", parent)).unwrap();
    insert(&store, "parent", 0..10).unwrap();
    let text = violated(store.write(|transaction| transaction.drop_table(&name("parent"))));
    assert!(text.contains("'child_id_fkey' of table 'child' refers to it"), "{text}");
    store.write(|transaction| transaction.truncate(parent)).unwrap();
    insert(&store, "parent", 0..10).unwrap();
    insert(&store, "child", 0..3).unwrap();
    let text = violated(store.write(|transaction| transaction.truncate(parent).map(drop)));
    assert!(text.contains("truncated") && text.contains("child"), "{text}");
    let mut changed = (*table(&store.snapshot().unwrap(), "parent").definition).clone();
    changed.keys.clear();
    changed.columns.remove(0);
    let text = violated(store.write(|transaction| transaction.alter_table(changed)));
    assert!(text.contains("column 'id' of table 'parent' can't be dropped"), "{text}");
    assert_eq!(store.write(|transaction| transaction.truncate(child)).unwrap(), 3);
    store.write(|transaction| transaction.drop_table(&name("child"))).unwrap();
    store.write(|transaction| transaction.drop_table(&name("parent"))).unwrap();
}

#[test]
fn records_of_one_transaction_see_each_other() {
    let store = Store::scratch(budget()).unwrap();
    let parent = create(&store, keyed("parent")).unwrap();
    let child = create(&store, referring("child", parent)).unwrap();
    let write = |name: &str, ids: std::ops::Range<i64>| {
        let table = table(&store.snapshot().unwrap(), name);
        let writer = store.table_writer(&table).unwrap();
        writer.append(0, batch(&table.definition, ids, plain_label)).unwrap();
        writer.finish().unwrap()
    };
    let (parents, children, again) = (write("parent", 0..10), write("child", 3..5), write("parent", 9..12));
    store
        .write(|transaction| {
            transaction.append(parent, parents)?;
            transaction.append(child, children)
        })
        .unwrap();
    let more = write("parent", 10..11);
    let text = violated(store.write(|transaction| {
        transaction.append(parent, more)?;
        transaction.append(parent, again)
    }));
    assert!(text.contains("exists already"), "{text}");
}
