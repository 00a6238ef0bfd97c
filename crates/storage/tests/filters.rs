//! Filters of keys at work: keys in no order over many segments, whose blocks need not be read to know that a key is not there.

mod common;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringViewArray};
use common::*;
use gingham_kernels::Isa;
use gingham_storage::scan::TableScan;
use gingham_storage::store::Store;
use gingham_storage::write::{Conflicts, RowChange};
use gingham_storage::{Datum, KeyDefinition, Predicate, TableDefinition};
use std::path::Path;
use std::sync::Arc;

/// Records of a segment.
const ROWS: i64 = 20_000;
const SEGMENTS: i64 = 5;

/// Record `number` of all has this id: each segment has ids from everywhere. Those of records are even.
fn id(number: i64) -> i64 {
    number * 7919 % (SEGMENTS * ROWS) * 2
}

fn segment(number: i64) -> impl Iterator<Item = i64> + Clone {
    (number * ROWS..(number + 1) * ROWS).map(id)
}

/// A table with a key of one column, and of two in another order than the table's.
fn twice_keyed(table: &str) -> TableDefinition {
    let mut definition = keyed(table);
    definition.keys.push(KeyDefinition { name: "pair".into(), columns: vec![2, 1], primary: false });
    definition
}

fn filled(store: &Arc<Store>) {
    create(store, twice_keyed("t")).unwrap();
    (0..SEGMENTS).for_each(|number| insert(store, "t", segment(number)).unwrap());
    insert(store, "t", [1_000_000, 1_000_002]).unwrap();
}

#[test]
fn keys_in_no_order_are_found_in_every_segment() {
    let store = Store::scratch(budget()).unwrap();
    filled(&store);
    for number in (0..SEGMENTS * ROWS).step_by(997) {
        let text = violated(insert(&store, "t", [1_000_004, id(number)]));
        assert!(text.contains(&format!("({}) exists already", id(number))), "{text}");
    }
    assert!(violated(insert(&store, "t", [1_000_002])).contains("exists already"));
    // Many: for the delta, and as segments; one of them is there.
    for rows in [1000, 5000, 30_000] {
        let others = (0..rows).map(|number| number * 7919 % rows * 2 + 1);
        let text = violated(insert(&store, "t", others.clone().chain([id(3 * ROWS + 17)])));
        assert!(text.contains(&format!("({}) exists already", id(3 * ROWS + 17))), "{text}");
    }
    insert(&store, "t", (0..30_000).map(|number| number * 7919 % 30_000 * 2 + 1)).unwrap();
    assert_eq!(table(&store.snapshot().unwrap(), "t").rows(), (SEGMENTS * ROWS) as u64 + 2 + 30_000);
    is_whole(&store);
    store.optimize(&name("t")).unwrap();
    assert!(violated(insert(&store, "t", [id(5)])).contains("exists already"));
    assert!(violated(insert(&store, "t", [7])).contains("exists already"));
    insert(&store, "t", [2_000_001]).unwrap();
    is_whole(&store);
}

/// One batch of records as (id, label).
fn pairs(definition: &TableDefinition, pairs: &[(i64, &str)]) -> RecordBatch {
    let (ids, labels): (Vec<i64>, Vec<&str>) = pairs.iter().copied().unzip();
    let columns: Vec<ArrayRef> = vec![Arc::new(Int64Array::from(ids)), Arc::new(StringViewArray::from(labels))];
    RecordBatch::try_new(definition.arrow_schema(), columns).unwrap()
}

#[test]
fn keys_of_several_columns_are_found() {
    let store = Store::scratch(budget()).unwrap();
    let mut definition = twice_keyed("t");
    definition.keys.remove(0);
    create(&store, definition).unwrap();
    (0..SEGMENTS).for_each(|number| insert(&store, "t", segment(number)).unwrap());
    let (taken, free) = (plain_label(id(77)), "another");
    let text = violated(insert_batch(&store, "t", |definition| pairs(definition, &[(id(77), &taken)])));
    assert!(text.contains(&format!("UNIQUE (label, id) = ('{taken}', {}) exists already", id(77))), "{text}");
    insert_batch(&store, "t", |definition| pairs(definition, &[(id(77), free)])).unwrap();
    insert(&store, "t", (0..3000).map(|number| number * 7919 % 3000 * 2 + 1)).unwrap();
    is_whole(&store);
}

#[test]
fn references_and_conflicts_find_keys() {
    let store = Store::scratch(budget()).unwrap();
    filled(&store);
    let parent = table(&store.snapshot().unwrap(), "t");
    create(&store, referring("child", parent.definition.id)).unwrap();
    insert(&store, "child", (0..SEGMENTS * ROWS).step_by(31).map(id).chain([1_000_000])).unwrap();
    assert!(violated(insert(&store, "child", [id(3), 9])).contains("(9) of table 'child' does not exist"));
    let rows = [
        batch(&parent.definition, [1, id(4), 3, id(4)], plain_label),
        batch(&parent.definition, [1_000_002, 3, 5], plain_label),
    ];
    let found = Conflicts::find(&parent, &parent.definition.keys[0], &rows).unwrap();
    assert_eq!(found.exists, [false, true, false, true, true, false, false]);
    assert_eq!(found.first, [0, 1, 2, 1, 4, 2, 6]);
}

/// Records that go make room for their keys, in whichever segment or block they are, and no others.
#[test]
fn keys_of_records_that_go_are_free() {
    let store = Store::scratch(budget()).unwrap();
    filled(&store);
    let change = |gone: &[u64], new: &[i64]| {
        let table = table(&store.snapshot().unwrap(), "t");
        let writer = store.table_writer(&table).unwrap();
        writer.append(0, batch(&table.definition, new.iter().copied(), plain_label)).unwrap();
        let (rows, change) = (writer.finish().unwrap(), RowChange { ids: gone.to_vec(), ..RowChange::default() });
        store.write(|transaction| transaction.change(table.definition.id, &change, rows, &|| true))
    };
    let last = (SEGMENTS * ROWS) as u64;
    for number in [0, ROWS - 1, ROWS, 3 * ROWS + 5, SEGMENTS * ROWS - 1] {
        let text = violated(change(&[number as u64], &[id(number), id(number + 1)]));
        assert!(text.contains("exists already"), "{text}");
        assert!(violated(change(&[number as u64 + 1], &[id(number)])).contains("exists already"));
        // As many go elsewhere, and this one comes again, in the delta.
        let mut gone = [3, number as u64, last + 1];
        gone.sort_unstable();
        assert!(violated(change(&gone, &[id(number), id(3), 1_000_000])).contains("(1000000) exists already"));
    }
    change(&[3, 2 * ROWS as u64, last + 1], &[id(2 * ROWS), id(3), 1_000_002]).unwrap();
    is_whole(&store);
    assert!(violated(insert(&store, "t", [id(3)])).contains("exists already"));
}

/// Spoils the blocks of the first column in all segment files, just behind the header; checksums tell when one is read.
fn spoil(folder: &Path) {
    for file in segment_files(folder) {
        let path = folder.join("segments").join(file);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[60..70].iter_mut().for_each(|byte| *byte ^= 255);
        std::fs::write(&path, bytes).unwrap();
    }
}

#[test]
fn keys_that_are_not_there_cost_no_blocks() {
    let folder = tempfile::tempdir().unwrap();
    filled(&open(folder.path()).unwrap());
    spoil(folder.path());
    let store = open(folder.path()).unwrap();
    let free = |id: &i64| {
        let table = table(&store.snapshot().unwrap(), "t");
        let row = [batch(&table.definition, [*id], plain_label)];
        Conflicts::find(&table, &table.definition.keys[0], &row).is_ok_and(|conflicts| !conflicts.exists[0])
    };
    // About one in 240 meets a filter that is wrong, and with it a spoilt block.
    let found = (0..400).map(|number| number * 2 + 1).filter(free).count();
    assert!(found > 390, "{found} of 400");
    assert!(!free(&id(9)), "a key that is there is looked for");
    let scan = |id: i64| {
        let table = table(&store.snapshot().unwrap(), "t");
        let predicate = Predicate::In { column: 1, values: vec![Datum::Integer(id.into())], negated: false };
        TableScan::new(table, vec![1], predicate, 8192, Isa::best()).unwrap().morsels()
    };
    let morsels: usize = (0..400).map(|number| scan(number * 2 + 1)).sum();
    assert!(morsels < 10, "{morsels} of 2000 zones");
    let morsels: usize = (0..400).map(|number| scan(id(number))).sum();
    assert!((400..410).contains(&morsels), "{morsels}: one for each, and where a filter is wrong");
}
