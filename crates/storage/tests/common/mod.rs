//! What the tests of the store share: small tables and their records.
#![allow(dead_code, missing_docs)]

#[path = "../../../../tests/support/child.rs"]
pub mod child;
pub mod random;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, StringViewArray};
use arrow::datatypes::Int64Type;
use gingham_storage::io::MemoryBudget;
use gingham_storage::scan::TableScan;
use gingham_storage::snapshot::{Snapshot, TableSnapshot};
use gingham_storage::store::{OpenOptions, Store};
use gingham_storage::write::RowChange;
use gingham_storage::{
    ColumnDefinition, Error, KeyDefinition, LogicalType, Predicate, ReferenceDefinition, Result, TableDefinition,
    TableId, TableName,
};
use std::path::Path;
use std::sync::Arc;

pub fn budget() -> Arc<MemoryBudget> {
    MemoryBudget::new(1 << 30)
}

pub fn open(path: &Path) -> Result<Arc<Store>> {
    Store::open(path, &OpenOptions { create: true, read_only: false }, budget())
}

pub fn open_read_only(path: &Path) -> Result<Arc<Store>> {
    Store::open(path, &OpenOptions { create: false, read_only: true }, budget())
}

pub fn name(table: &str) -> TableName {
    TableName { schema: "public".into(), table: table.into() }
}

/// A table (id BIGINT, label VARCHAR).
pub fn definition(table: &str) -> TableDefinition {
    let columns = [("id", LogicalType::Int(64)), ("label", LogicalType::Varchar(None))];
    let columns = (1..).zip(columns).map(|(id, (name, logical_type))| ColumnDefinition::new(id, name, logical_type));
    TableDefinition::new(name(table), columns.collect())
}

/// The table with PRIMARY KEY (id).
pub fn keyed(table: &str) -> TableDefinition {
    let mut definition = definition(table);
    definition.columns[0].nullable = false;
    definition.keys.push(KeyDefinition { name: format!("{table}_pkey"), columns: vec![1], primary: true });
    definition
}

/// The table, whose id refers to that of table `referred`.
pub fn referring(table: &str, referred: TableId) -> TableDefinition {
    let mut definition = definition(table);
    definition.references.push(ReferenceDefinition {
        name: format!("{table}_id_fkey"),
        columns: vec![1],
        table: referred,
        referred: vec![1],
    });
    definition
}

pub fn create(store: &Arc<Store>, definition: TableDefinition) -> Result<TableId> {
    store.write(|transaction| transaction.create_table(definition))
}

/// Records with these ids, labelled by `label`.
pub fn batch(
    definition: &TableDefinition,
    ids: impl IntoIterator<Item = i64>,
    label: impl Fn(i64) -> String,
) -> RecordBatch {
    let ids: Vec<i64> = ids.into_iter().collect();
    let labels: Vec<String> = ids.iter().map(|id| label(*id)).collect();
    let columns: Vec<ArrayRef> =
        vec![Arc::new(Int64Array::from(ids)), Arc::new(StringViewArray::from_iter_values(labels))];
    RecordBatch::try_new(definition.arrow_schema(), columns).unwrap()
}

pub fn plain_label(id: i64) -> String {
    format!("label {}", id % 10)
}

/// Adds one batch in one transaction.
pub fn insert_batch(store: &Arc<Store>, table: &str, make: impl Fn(&TableDefinition) -> RecordBatch) -> Result<()> {
    let snapshot = store.snapshot()?;
    let table = &snapshot.tables[&name(table)];
    let writer = store.table_writer(table)?;
    writer.append(0, make(&table.definition))?;
    let rows = writer.finish()?;
    store.write(|transaction| transaction.append(table.definition.id, rows))
}

/// Adds records with these ids.
pub fn insert(store: &Arc<Store>, table: &str, ids: impl IntoIterator<Item = i64> + Clone) -> Result<()> {
    insert_batch(store, table, |definition| batch(definition, ids.clone(), plain_label))
}

/// Deletes the records of these numbers, as those of the table's latest commit.
pub fn delete(store: &Arc<Store>, table_name: &str, numbers: impl IntoIterator<Item = u64>) -> Result<()> {
    let table = table(&*store.snapshot()?, table_name);
    let change = RowChange { ids: numbers.into_iter().collect(), ..RowChange::default() };
    let none = store.table_writer(&table)?.finish()?;
    store.write(|transaction| transaction.change(table.definition.id, &change, none, &|| true))
}

pub fn table(snapshot: &Snapshot, table: &str) -> Arc<TableSnapshot> {
    Arc::clone(&snapshot.tables[&name(table)])
}

/// All records, as pairs.
pub fn rows(table: &Arc<TableSnapshot>) -> Result<Vec<(Option<i64>, String)>> {
    let columns = vec![1, 2];
    let isa = gingham_kernels::Isa::best();
    let scan = Arc::new(TableScan::new(Arc::clone(table), columns, Predicate::Constant(true), 8192, isa)?);
    let mut found = Vec::new();
    for morsel in 0..scan.morsels() {
        for batch in scan.read(morsel)? {
            let batch = batch?;
            let (ids, labels) = (batch.column(0).as_primitive::<Int64Type>(), batch.column(1).as_string_view());
            found.extend(ids.iter().zip(labels).map(|(id, label)| (id, label.unwrap_or("NULL").to_owned())));
        }
    }
    Ok(found)
}

pub fn ids(table: &Arc<TableSnapshot>) -> Result<Vec<i64>> {
    Ok(rows(table)?.into_iter().map(|(id, _)| id.unwrap()).collect())
}

/// The error of something that must fail.
pub fn refused<T: std::fmt::Debug>(result: Result<T>) -> Error {
    result.expect_err("this must be refused")
}

/// What is said of a constraint that must be violated.
pub fn violated(result: Result<()>) -> String {
    match refused(result) {
        Error::Constraint(problem) => problem.text,
        other => panic!("another error: {other}"),
    }
}

/// The numbers of the tables that have segment files, in the order in which the tables were made.
pub fn table_numbers(path: &Path) -> Vec<u64> {
    let folders = std::fs::read_dir(path.join("segments")).unwrap();
    let number = |folder: std::io::Result<std::fs::DirEntry>| folder.unwrap().file_name().to_str()?.parse().ok();
    let mut numbers: Vec<u64> = folders.filter_map(number).collect();
    numbers.sort_unstable();
    numbers
}

/// Segment files on disk.
pub fn segment_files(path: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let Ok(folders) = std::fs::read_dir(path.join("segments")) else { return found };
    for folder in folders.flatten() {
        for file in std::fs::read_dir(folder.path()).unwrap().flatten() {
            found.push(format!("{}/{}", folder.file_name().to_string_lossy(), file.file_name().to_string_lossy()));
        }
    }
    found.sort();
    found
}

/// `check` finds nothing.
pub fn is_whole(store: &Arc<Store>) {
    let report = store.check().unwrap();
    assert!(report.errors.is_empty(), "{:?}", report.errors);
}

/// Copies a folder and all that is in it.
pub fn copy(from: &Path, to: &Path) {
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
