//! Records: the delta, its merging, lanes, sorting, OPTIMIZE, changed columns, statistics.

mod common;

use common::*;
use gingham_storage::snapshot::TableSnapshot;
use gingham_storage::store::Store;
use gingham_storage::{ColumnDefinition, Datum, LogicalType};
use std::sync::Arc;

#[test]
fn many_small_inserts_leave_few_blocks() {
    let store = Store::scratch(budget()).unwrap();
    create(&store, definition("t")).unwrap();
    for id in 0..1100 {
        insert(&store, "t", [id]).unwrap();
    }
    let t = table(&store.snapshot().unwrap(), "t");
    assert_eq!((t.segments.len(), t.delta.len()), (0, 2));
    assert_eq!(ids(&t).unwrap(), (0..1100).collect::<Vec<_>>());
}

#[test]
fn a_grown_delta_becomes_a_segment() {
    let store = Store::scratch(budget()).unwrap();
    create(&store, definition("t")).unwrap();
    for part in 0..9 {
        insert(&store, "t", part * 16_000..(part + 1) * 16_000).unwrap();
    }
    let t = table(&store.snapshot().unwrap(), "t");
    assert_eq!((t.segments.len(), t.delta.len()), (1, 0));
    assert_eq!(ids(&t).unwrap(), (0..144_000).collect::<Vec<_>>());
    assert!(store.check().unwrap().errors.is_empty());
}

#[test]
fn a_snapshot_keeps_the_last_block_as_it_was() {
    let store = Store::scratch(budget()).unwrap();
    create(&store, definition("t")).unwrap();
    insert(&store, "t", 0..5).unwrap();
    let before = table(&store.snapshot().unwrap(), "t");
    insert(&store, "t", 5..9).unwrap();
    store.write(|transaction| transaction.truncate(1)).unwrap();
    assert_eq!(ids(&before).unwrap(), [0, 1, 2, 3, 4]);
}

#[test]
fn lanes_keep_their_records_together() {
    let store = Store::scratch(budget()).unwrap();
    create(&store, definition("t")).unwrap();
    let t = table(&store.snapshot().unwrap(), "t");
    let writer = store.table_writer(&t).unwrap();
    std::thread::scope(|scope| {
        for lane in [1usize, 0] {
            let (writer, t) = (&writer, &t);
            scope.spawn(move || {
                for part in 0..10 {
                    let start = lane as i64 * 1_000_000 + part * 30_000;
                    writer.append(lane, batch(&t.definition, start..start + 30_000, plain_label)).unwrap();
                }
            });
        }
    });
    let rows = writer.finish().unwrap();
    assert_eq!((rows.rows, rows.segments.len(), rows.delta.len()), (600_000, 2, 0));
    store.write(|transaction| transaction.append(1, rows)).unwrap();
    let t = table(&store.snapshot().unwrap(), "t");
    let expected: Vec<i64> = (0..300_000).chain(1_000_000..1_300_000).collect();
    assert_eq!(ids(&t).unwrap(), expected);
}

#[test]
fn a_sorted_table_is_sorted_in_each_segment_and_whole_by_optimize() {
    let store = Store::scratch(budget()).unwrap();
    let mut sorted = definition("t");
    sorted.sort_by = vec![2, 1];
    create(&store, sorted).unwrap();
    insert(&store, "t", (0..20_000).rev()).unwrap();
    insert(&store, "t", 20_000..40_000).unwrap();
    insert(&store, "t", 40_000..40_100).unwrap();
    let order =
        |t: &Arc<TableSnapshot>| rows(t).unwrap().into_iter().map(|(id, label)| (label, id)).collect::<Vec<_>>();
    let before = table(&store.snapshot().unwrap(), "t");
    assert!(order(&before)[..20_000].is_sorted() && !order(&before).is_sorted());
    assert_eq!(store.optimize(&name("t")).unwrap(), 40_100);
    let after = table(&store.snapshot().unwrap(), "t");
    assert_eq!((after.segments.len(), after.delta.len()), (1, 0));
    assert!(order(&after).is_sorted());
    assert_eq!(order(&after).len(), 40_100);
    assert_eq!(store.optimize(&name("t")).unwrap(), 0);
}

#[test]
fn optimize_leaves_what_is_in_its_place() {
    let store = Store::scratch(budget()).unwrap();
    let mut sorted = definition("t");
    sorted.sort_by = vec![1];
    create(&store, sorted).unwrap();
    insert(&store, "t", (0..1_100_000).filter(|id| id % 2 == 0)).unwrap();
    insert(&store, "t", (1_100_000..1_130_000).rev()).unwrap();
    insert(&store, "t", (1_130_000..1_130_100).rev()).unwrap();
    let all = |t: &Arc<TableSnapshot>| ids(t).unwrap();
    // What comes behind a large segment is sorted, and the segment stays.
    let large = table(&store.snapshot().unwrap(), "t").segments[0].id();
    assert_eq!(store.optimize(&name("t")).unwrap(), 30_100);
    let t = table(&store.snapshot().unwrap(), "t");
    assert_eq!((t.segments[0].id(), t.segments.len()), (large, 2));
    assert!(all(&t).is_sorted());
    assert_eq!(store.optimize(&name("t")).unwrap(), 0);
    // One record that belongs into it, and it is merged with the rest.
    insert(&store, "t", [7]).unwrap();
    assert_eq!(store.optimize(&name("t")).unwrap(), 580_101);
    let t = table(&store.snapshot().unwrap(), "t");
    assert_eq!(all(&t)[..6], [0, 2, 4, 6, 7, 8]);
    assert!(all(&t).is_sorted());
}

#[test]
fn optimize_merges_small_segments_and_delta() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    create(&store, definition("t")).unwrap();
    for part in 0..4 {
        let start = part * 20_000;
        insert_batch(&store, "t", |definition| {
            batch(definition, start..start + 20_000, |id| format!("part {part} label {}", id % 7))
        })
        .unwrap();
    }
    insert(&store, "t", 80_000..80_007).unwrap();
    let before = table(&store.snapshot().unwrap(), "t");
    assert_eq!(before.dictionaries[&2].versions.len(), 4);
    assert_eq!(store.optimize(&name("t")).unwrap(), 80_007);
    let after = table(&store.snapshot().unwrap(), "t");
    assert_eq!((after.segments.len(), after.delta.len()), (1, 0));
    assert_eq!(after.dictionaries[&2].versions.len(), 1);
    assert_eq!(segment_files(folder.path()).len(), 1);
    assert_eq!(rows(&before).unwrap(), rows(&after).unwrap());
    assert!(store.check().unwrap().notes.is_empty(), "no dictionary version is left over");
}

#[test]
fn optimize_gives_way_to_inserts() {
    let store = Store::scratch(budget()).unwrap();
    create(&store, definition("t")).unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for id in 0..300 {
                insert(&store, "t", [id]).unwrap();
            }
            done.store(true, std::sync::atomic::Ordering::Release);
        });
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Acquire) {
                store.optimize(&name("t")).unwrap();
            }
        });
    });
    let mut found = ids(&table(&store.snapshot().unwrap(), "t")).unwrap();
    found.sort_unstable();
    assert_eq!(found, (0..300).collect::<Vec<_>>());
    assert!(store.check().unwrap().errors.is_empty());
}

#[test]
fn columns_come_and_go_without_touching_records() {
    let store = Store::scratch(budget()).unwrap();
    create(&store, definition("t")).unwrap();
    insert(&store, "t", 0..20_000).unwrap();
    insert(&store, "t", 20_000..20_010).unwrap();
    let mut changed = (*table(&store.snapshot().unwrap(), "t").definition).clone();
    changed.columns[1].name = "text".into();
    changed.columns.push(ColumnDefinition {
        id: 3,
        name: "extra".into(),
        logical_type: LogicalType::Int(32),
        nullable: false,
        default: None,
        initial: Datum::Integer(7),
        generation: None,
    });
    changed.next_column = 4;
    store.write(|transaction| transaction.alter_table(changed.clone())).unwrap();
    let t = table(&store.snapshot().unwrap(), "t");
    assert_eq!(rows(&t).unwrap()[20_009], (Some(20_009), "label 9".into()));
    let summary = t.summary(3).unwrap();
    assert_eq!((summary.min, summary.max, summary.nulls, summary.distinct), (7.into_datum(), 7.into_datum(), 0, 1));
    changed.columns.remove(1);
    store.write(|transaction| transaction.alter_table(changed.clone())).unwrap();
    assert!(table(&store.snapshot().unwrap(), "t").summary(2).is_none());
    assert!(store.check().unwrap().errors.is_empty());
    let refuse = |change: &dyn Fn(&mut gingham_storage::TableDefinition)| {
        let mut definition = changed.clone();
        change(&mut definition);
        refused(store.write(|transaction| transaction.alter_table(definition))).to_string()
    };
    assert!(refuse(&|definition| definition.columns[0].logical_type = LogicalType::Int(32)).contains("type of column"));
    assert!(refuse(&|definition| definition.columns[0].nullable = false).contains("NOT NULL"));
    assert!(refuse(&|definition| definition.keys = keyed("t").keys).contains("key 't_pkey' can't be added"));
    assert!(refuse(&|definition| definition.columns[1].id = 2).contains("number 2, which is used up"));
}

trait IntoDatum {
    fn into_datum(self) -> Datum;
}

impl IntoDatum for i128 {
    fn into_datum(self) -> Datum {
        Datum::Integer(self)
    }
}

#[test]
fn records_for_other_columns_are_refused() {
    let store = Store::scratch(budget()).unwrap();
    create(&store, definition("t")).unwrap();
    let t = table(&store.snapshot().unwrap(), "t");
    let writer = store.table_writer(&t).unwrap();
    writer.append(0, batch(&t.definition, 0..5, plain_label)).unwrap();
    let rows = writer.finish().unwrap();
    let mut changed = (*t.definition).clone();
    changed.columns.remove(1);
    store.write(|transaction| transaction.alter_table(changed)).unwrap();
    let error = refused(store.write(|transaction| transaction.append(1, rows))).to_string();
    assert!(error.contains("changed while records were written"), "{error}");
}

#[test]
fn summaries_merge_segments_and_delta() {
    let store = Store::scratch(budget()).unwrap();
    create(&store, definition("t")).unwrap();
    insert(&store, "t", 0..30_000).unwrap();
    let t = table(&store.snapshot().unwrap(), "t");
    let labels = t.summary(2).unwrap();
    assert_eq!((labels.distinct, labels.distinct_exact), (10, true));
    insert(&store, "t", 30_000..30_010).unwrap();
    let t = table(&store.snapshot().unwrap(), "t");
    let ids = t.summary(1).unwrap();
    assert_eq!((ids.min, ids.max, ids.exact, ids.nulls), (0.into_datum(), 30_009.into_datum(), true, 0));
    assert!(ids.distinct.abs_diff(30_010) < 3000, "{}", ids.distinct);
    let labels = t.summary(2).unwrap();
    // The delta has no other labels, so that the dictionary still knows all of them.
    assert_eq!((labels.distinct, labels.distinct_exact), (10, true));
    assert_eq!(labels.max, Datum::Bytes(b"label 9".as_slice().into()));
    insert_batch(&store, "t", |definition| batch(definition, 30_010..30_011, |_| "new".into())).unwrap();
    let labels = table(&store.snapshot().unwrap(), "t").summary(2).unwrap();
    assert_eq!((labels.distinct, labels.distinct_exact), (11, false));
    assert_eq!(labels.max, Datum::Bytes(b"new".as_slice().into()));
}
