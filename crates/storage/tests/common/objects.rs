//! What databases have from version 11 on: sequences, identity and generated columns, comments, indexes that are recorded, and heap pages
//! of records without columns that came later.

use crate::common::{create, definition, name, table};
use gingham_kernels::Isa;
use gingham_storage::lab::HeapScan;
use gingham_storage::lmdb::RecordId;
use gingham_storage::model::{Comment, CommentSubject, HeapLayout, HeapOptions};
use gingham_storage::store::Store;
use gingham_storage::write::Transaction;
use gingham_storage::{
    CheckDefinition, ColumnDefinition, Datum, Generation, KeyDefinition, LogicalType, Predicate, RecordedIndex, Result,
    SequenceDefinition, SequenceOwner, TableDefinition,
};
use std::sync::Arc;

const SHAPED: [(HeapLayout, &str); 3] =
    [(HeapLayout::Nsm, "shaped_nsm"), (HeapLayout::Dsm, "shaped_dsm"), (HeapLayout::Pax, "shaped_pax")];

/// Adds them to a database with the schema `other` and the view `v`.
pub fn build(store: &Arc<Store>) {
    let counter = SequenceDefinition { increment: 5, bits: 32, most: 1000, ..SequenceDefinition::new(name("counter")) };
    let number = store.write(|transaction| transaction.create_sequence(counter)).unwrap();
    store.write(|transaction| transaction.set_sequence(number, 41, true)).unwrap();
    let owned = store.write(|transaction| transaction.create_sequence(SequenceDefinition::new(name("owned")))).unwrap();
    let mut objects = definition("objects");
    objects.columns[0].nullable = false;
    objects.columns[0].generation = Some(Generation::Identity { always: true, sequence: owned });
    objects.columns[1].default = Some("nextval('counter'::regclass)::varchar".into());
    let mut doubled = ColumnDefinition::new(Transaction::next_column(&mut objects), "doubled", LogicalType::Int(64));
    doubled.generation = Some(Generation::Stored("id * 2".into()));
    objects.columns.push(doubled);
    objects.keys.push(KeyDefinition { name: "by_id".into(), columns: vec![1], primary: false });
    let recorded = |name: &str, columns, unique| RecordedIndex { name: name.into(), columns, unique };
    objects.recorded = vec![recorded("by_id", vec![1], true), recorded("by_label", vec![2, 1], false)];
    objects.checks.push(CheckDefinition { name: "positive".into(), condition: "id > 0".into() });
    let comment = |on, text: &str| Comment { on, text: text.into() };
    objects.comments = vec![
        comment(CommentSubject::Table, "a table"),
        comment(CommentSubject::Column(2), "a column"),
        comment(CommentSubject::Constraint("positive".into()), "a constraint"),
        comment(CommentSubject::Index("by_label".into()), "an index"),
    ];
    let id = create(store, objects).unwrap();
    store
        .write(|transaction| {
            let mut sequence = transaction.sequence(owned)?.definition;
            sequence.owner = Some(SequenceOwner { table: id, column: 1, identity: true });
            sequence.comment = Some("a sequence".into());
            transaction.alter_sequence(sequence, None)?;
            transaction.comment_schema("other", Some("a schema".into()))?;
            transaction.comment_view(&name("v"), Some("a view".into()))
        })
        .unwrap();
    SHAPED.into_iter().for_each(|(layout, table)| build_shaped(store, layout, table));
}

/// Column 2 goes and column 3 comes after 400 records, and column 1 takes no NULLs any more; then some records change, and others come.
fn build_shaped(store: &Arc<Store>, layout: HeapLayout, table: &str) {
    let options = HeapOptions { page_bytes: 4080, ..HeapOptions::new(layout) };
    store
        .write(|transaction| {
            let id = transaction.create_heap_table(definition(table), options)?;
            transaction.create_index(id, &format!("{table}_id"), vec![1], false, &|| true)?;
            let long = |number: i128| Datum::Bytes(vec![b'a'; if number % 100 == 3 { 5000 } else { 30 }].into());
            transaction.heap(id, |heap| {
                (0..400).try_for_each(|number| heap.insert(&[Datum::Integer(number), long(number)]).map(drop))
            })?;
            let mut after = transaction.definition(id)?;
            after.columns.pop();
            let mut added =
                ColumnDefinition::new(Transaction::next_column(&mut after), "added", LogicalType::Varchar(None));
            (added.nullable, added.initial) = (false, Datum::Bytes((*b"before").into()));
            after.columns.push(added);
            transaction.alter_table(after)?;
            transaction.heap(id, |heap| {
                for id in heap.record_ids()? {
                    if let Some([Datum::Integer(number), _]) = heap.get(id)?.as_deref()
                        && number % 4 == 0
                    {
                        heap.update(id, &[(3, Datum::Bytes((*b"changed").into()))])?;
                    }
                }
                (400..450).try_for_each(|number| {
                    heap.insert(&[Datum::Integer(number), Datum::Bytes((*b"after").into())]).map(drop)
                })
            })
        })
        .unwrap();
}

/// Holds what [`build`] has made against what is read.
pub fn verify(store: &Arc<Store>) {
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.labels.schemas["other"].comment.as_deref(), Some("a schema"));
    assert_eq!(snapshot.labels.views[&name("v")].comment.as_deref(), Some("a view"));
    let counter = &snapshot.sequences[&name("counter")];
    assert_eq!((counter.definition.increment, counter.definition.most), (5, 1000));
    assert_eq!(store.sequence_shown(counter).0, 41);
    let objects = &table(&snapshot, "objects").definition;
    let owned = &snapshot.sequences[&name("owned")].definition;
    assert_eq!(owned.owner, Some(SequenceOwner { table: objects.id, column: 1, identity: true }));
    assert_eq!(owned.comment.as_deref(), Some("a sequence"));
    let generated = [
        Some(Generation::Identity { always: true, sequence: owned.number }),
        None,
        Some(Generation::Stored("id * 2".into())),
    ];
    assert!(objects.columns.iter().map(|column| column.generation.clone()).eq(generated));
    assert_eq!(objects.comment(&CommentSubject::Column(2)), Some("a column"));
    assert_eq!(objects.comment(&CommentSubject::Index("by_label".into())), Some("an index"));
    assert_eq!(objects.recorded.len(), 2);
    let numbers = objects.numbers.constraints.values().chain(objects.numbers.indexes.values());
    assert_eq!(numbers.collect::<std::collections::BTreeSet<_>>().len(), 4);
    SHAPED.into_iter().for_each(|(layout, table)| verify_shaped(store, layout, table));
}

fn verify_shaped(store: &Arc<Store>, layout: HeapLayout, own: &str) {
    let reader = Arc::new(store.heap(table(&store.snapshot().unwrap(), own).definition.id).unwrap());
    assert_eq!(reader.record().shapes.older.is_empty(), layout == HeapLayout::Dsm);
    let mut found: Vec<(i128, String)> = Vec::new();
    for id in HeapScan::new(Arc::clone(&reader), vec![1], &Predicate::Constant(true), Isa::best()).map(ids_of).unwrap()
    {
        match reader.get(id).unwrap().as_deref() {
            Some([Datum::Integer(number), Datum::Bytes(text)]) => {
                found.push((*number, String::from_utf8(text.to_vec()).unwrap()));
            }
            other => panic!("{other:?}"),
        }
    }
    found.sort();
    let text = |number| match number {
        400.. => "after",
        _ if number % 4 == 0 => "changed",
        _ => "before",
    };
    let expected: Vec<_> = (0..450).map(|number| (number, text(number).to_owned())).collect();
    assert_eq!(found, expected, "{layout:?}");
}

fn ids_of(scan: HeapScan) -> Vec<RecordId> {
    (0..scan.zones()).flat_map(|zone| scan.matches(zone).unwrap()).collect()
}

/// Goes on with them: values of sequences, new records, and pages written anew.
pub fn go_on(store: &Arc<Store>) {
    let counter = store.snapshot().unwrap().sequences[&name("counter")].definition.number;
    assert_eq!(store.write(|transaction| transaction.take_numbers(counter, 2)).unwrap(), [46, 51]);
    for (_, own) in SHAPED {
        let definition: Arc<TableDefinition> = Arc::clone(&table(&store.snapshot().unwrap(), own).definition);
        let done: Result<()> = store.write(|transaction| {
            transaction.heap(definition.id, |heap| {
                heap.insert(&[Datum::Integer(450), Datum::Bytes((*b"after").into())])?;
                let last = heap.record_ids()?[1];
                heap.delete(last).map(drop)
            })
        });
        done.unwrap();
        store.optimize(&name(own)).unwrap();
        let reader = store.heap(definition.id).unwrap();
        assert!(reader.record().shapes.older.is_empty() && reader.rows() == 450);
    }
}
