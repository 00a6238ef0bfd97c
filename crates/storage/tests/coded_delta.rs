//! Strings of delta blocks have codes of the table's dictionaries, as far as these have all of them, and are the same strings.

mod common;

use common::{batch, budget, create, definition, ids, insert_batch, name, plain_label, rows, table};
use gingham_kernels::Isa;
use gingham_storage::scan::{TableScan, integer_bounds};
use gingham_storage::snapshot::TableSnapshot;
use gingham_storage::store::Store;
use gingham_storage::{Datum, Predicate};
use std::ops::Bound;
use std::sync::Arc;

fn own(store: &Arc<Store>) -> Arc<TableSnapshot> {
    table(&store.snapshot().unwrap(), "t")
}

/// Records whose label is from one on.
fn from(table: &Arc<TableSnapshot>, label: &str) -> usize {
    let low = Bound::Included(Datum::Bytes(label.as_bytes().into()));
    let predicate = Predicate::Range { column: 2, low, high: Bound::Unbounded };
    let scan = TableScan::new(Arc::clone(table), vec![1], predicate, 8192, Isa::best()).unwrap();
    (0..scan.morsels()).map(|morsel| scan.count(morsel).unwrap()).sum()
}

#[test]
fn blocks_with_known_strings_have_codes_and_others_have_not() {
    let store = Store::scratch(budget()).unwrap();
    create(&store, definition("t")).unwrap();
    let insert = |numbers: std::ops::Range<i64>, label: &dyn Fn(i64) -> String| {
        insert_batch(&store, "t", |definition| batch(definition, numbers.clone(), label)).unwrap();
    };
    insert(0..20_000, &plain_label);
    assert_eq!(integer_bounds(&own(&store), 2), Some((0, 9)));
    // A block of its own each, as the first has more records than one that is gone on with.
    insert(20_000..22_000, &|id| format!("label {}", 3 + id % 2));
    insert(22_000..22_010, &plain_label);
    let snapshot = own(&store);
    assert_eq!((snapshot.segments.len(), snapshot.delta.len()), (1, 2));
    assert_eq!(integer_bounds(&snapshot, 2), Some((0, 9)));
    assert_eq!(from(&snapshot, "label 4"), 12_000 + 1000 + 6);
    let summary = snapshot.summary(2).unwrap();
    assert_eq!((summary.distinct, summary.distinct_exact), (10, true));
    // A string that is new makes its block plain; the block before keeps its codes.
    insert(22_010..22_011, &|_| "new".into());
    let snapshot = own(&store);
    assert_eq!(integer_bounds(&snapshot, 2), None);
    assert_eq!(from(&snapshot, "label 4"), 13_007);
    let expected = |id: i64| match id {
        22_010 => "new".to_owned(),
        20_000..22_000 => format!("label {}", 3 + id % 2),
        _ => plain_label(id),
    };
    for (id, label) in rows(&snapshot).unwrap() {
        assert_eq!(label, expected(id.unwrap()));
    }
    // Another segment makes the dictionary a larger one, to which all codes lead then.
    insert(30_000..50_000, &|id| format!("another {}", id % 7));
    insert(50_000..50_001, &|_| "new".into());
    let others = (30_000..50_000).filter(|id| id % 7 == 6).count();
    for _ in 0..2 {
        let snapshot = own(&store);
        assert_eq!(ids(&snapshot).unwrap().len(), 42_012);
        assert_eq!(from(&snapshot, "label 4"), 13_008);
        assert_eq!(from(&snapshot, "another 6"), others + 22_012);
        store.optimize(&name("t")).unwrap();
    }
    assert!(own(&store).delta.is_empty());
}
