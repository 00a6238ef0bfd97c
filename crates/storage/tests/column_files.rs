//! UPDATE of many records: columns of segments are written anew as files of their own. Held against what the values should be, in
//! several designs, over commits, reopening, backup, OPTIMIZE, other changes and damage.

mod common;

use arrow::array::{
    ArrayRef, AsArray, BinaryViewArray, Decimal128Array, Float64Array, Int32Array, Int64Array, RecordBatch,
    StringViewArray,
};
use arrow::compute::concat_batches;
use arrow::datatypes::Int64Type;
use common::{copy, create, delete, is_whole, name, open, segment_files, table};
use gingham_kernels::Isa;
use gingham_storage::io::ReadOptions;
use gingham_storage::model::Group;
use gingham_storage::scan::TableScan;
use gingham_storage::snapshot::TableSnapshot;
use gingham_storage::store::Store;
use gingham_storage::write::{NewValues, RowChange};
use gingham_storage::{
    ColumnDefinition, ColumnId, Datum, Design, Error, Layout, LogicalType, Packing, Predicate, Result, TableDefinition,
};
use std::path::Path;
use std::sync::Arc;

/// How often each column of each record was changed; `None` for a record that is deleted.
type Model = Vec<Option<[i64; 8]>>;

fn definition(design: Design) -> TableDefinition {
    let columns = [
        ("id", LogicalType::Int(64)),
        ("number", LogicalType::Int(32)),
        ("price", LogicalType::Decimal { precision: 12, scale: 2 }),
        ("label", LogicalType::Varchar(None)),
        ("text", LogicalType::Varchar(None)),
        ("real", LogicalType::Float64),
        ("wide", LogicalType::Decimal { precision: 38, scale: 0 }),
        ("bytes", LogicalType::Binary),
    ];
    let columns = (1..).zip(columns).map(|(id, (name, logical_type))| ColumnDefinition::new(id, name, logical_type));
    let columns = columns.map(|column| ColumnDefinition { nullable: column.id != 1, ..column });
    TableDefinition { design, ..TableDefinition::new(name("t"), columns.collect()) }
}

/// Values of a column that has been changed so often, of these records.
fn values(column: ColumnId, records: &[(i64, i64)]) -> ArrayRef {
    let present = |id: i64, change: i64| (id + change + i64::from(column)) % 11 != 3;
    let some = || records.iter().map(move |(id, change)| present(*id, *change).then_some((*id, *change)));
    match column {
        1 => Arc::new(records.iter().map(|(id, _)| *id).collect::<Int64Array>()),
        2 => Arc::new(
            some().map(|of| of.map(|(id, change)| (id * 7 % 1000 + change * 5000) as i32)).collect::<Int32Array>(),
        ),
        3 => {
            let prices = some().map(|of| of.map(|(id, change)| i128::from(id * 13 % 7919 - change * 100_000)));
            Arc::new(prices.collect::<Decimal128Array>().with_precision_and_scale(12, 2).unwrap())
        }
        4 => {
            let labels = some().map(|of| of.map(|(id, change)| format!("label {} of change {}", id % 9, change % 3)));
            Arc::new(labels.collect::<StringViewArray>())
        }
        5 => {
            let texts = some().map(|of| of.map(|(id, change)| format!("text {}", id * (change + 1))));
            Arc::new(texts.collect::<StringViewArray>())
        }
        6 => {
            Arc::new(some().map(|of| of.map(|(id, change)| id as f64 / (change + 2) as f64)).collect::<Float64Array>())
        }
        7 => {
            let wide = some().map(|of| of.map(|(id, change)| i128::from(id - 30_000) << (40 + 20 * (change % 3))));
            Arc::new(wide.collect::<Decimal128Array>().with_precision_and_scale(38, 0).unwrap())
        }
        _ => {
            let bytes = some().map(|of| of.map(|(id, change)| [id as u8 % 5, change as u8, 0, 255]));
            Arc::new(bytes.collect::<BinaryViewArray>())
        }
    }
}

/// Whole records.
fn records(definition: &TableDefinition, model: &Model, ids: &[i64]) -> RecordBatch {
    let changes = |column: ColumnId| -> Vec<(i64, i64)> {
        ids.iter().map(|id| (*id, model[*id as usize].unwrap()[column as usize - 1])).collect()
    };
    let arrays = definition.columns.iter().map(|column| values(column.id, &changes(column.id)));
    RecordBatch::try_new(definition.arrow_schema(), arrays.collect()).unwrap()
}

fn insert(store: &Arc<Store>, model: &mut Model, count: usize) {
    let ids: Vec<i64> = (model.len() as i64..(model.len() + count) as i64).collect();
    model.extend(std::iter::repeat_n(Some([0; 8]), count));
    let table = table(&store.snapshot().unwrap(), "t");
    let writer = store.table_writer(&table).unwrap();
    writer.append(0, records(&table.definition, model, &ids)).unwrap();
    let rows = writer.finish().unwrap();
    store.write(|transaction| transaction.append(table.definition.id, rows)).unwrap();
}

/// The records' ids in their order; their numbers are those of a table with deleted records.
fn numbered(table: &Arc<TableSnapshot>) -> Vec<(u64, i64)> {
    let with_numbers = Arc::new(table.with_record_ids("number of the record".into()));
    let last = with_numbers.definition.columns.last().unwrap().id;
    let read = read(&with_numbers, vec![1, last]);
    let column = |place: usize| read.column(place).as_primitive::<Int64Type>().values().to_vec();
    column(1).into_iter().map(|number| number as u64).zip(column(0)).collect()
}

fn read(table: &Arc<TableSnapshot>, columns: Vec<ColumnId>) -> RecordBatch {
    let scan = TableScan::new(Arc::clone(table), columns, Predicate::Constant(true), 5000, Isa::best()).unwrap();
    let scan = Arc::new(scan);
    let all = |scan: &Arc<TableScan>| {
        let batches: Vec<RecordBatch> =
            (0..scan.morsels()).flat_map(|morsel| scan.read(morsel).unwrap()).map(Result::unwrap).collect();
        concat_batches(&batches[0].schema(), &batches).unwrap()
    };
    let found = all(&scan);
    // Past the caches the same comes.
    let columns = scan.schema().fields().iter().map(|field| table.definition.column(field.name()).unwrap().id);
    let options = ReadOptions { unit: 8192, depth: 4 };
    let direct = scan.projected(columns.collect()).unwrap().with_reads(Some(options));
    assert!(all(&Arc::new(direct).for_run().unwrap()) == found);
    found
}

/// Changes columns of the records that are chosen, which come in batches in no order.
fn update(store: &Arc<Store>, model: &mut Model, columns: &[ColumnId], chosen: impl Fn(i64) -> bool) {
    let table = table(&store.snapshot().unwrap(), "t");
    let records: Vec<(u64, i64)> = numbered(&table).into_iter().filter(|(_, id)| chosen(*id)).collect();
    for (_, id) in &records {
        let changes = model[*id as usize].as_mut().unwrap();
        columns.iter().for_each(|column| changes[*column as usize - 1] += 1);
    }
    let (mut numbers, mut batches) = (Vec::new(), Vec::new());
    for run in records.chunks(4000).rev() {
        let fields = columns.iter().map(|column| {
            let changes: Vec<_> =
                run.iter().map(|(_, id)| (*id, model[*id as usize].unwrap()[*column as usize - 1])).collect();
            (format!("c{column}"), values(*column, &changes), true)
        });
        batches.push(RecordBatch::try_from_iter_with_nullable(fields).unwrap());
        numbers.extend(run.iter().map(|(number, _)| *number));
    }
    let new = NewValues::new(columns.to_vec(), numbers, batches).unwrap();
    let written = store.write_values(&table, &new, 2, &|| true).unwrap();
    let change = RowChange { ids: written.ids, columns: Some(columns.to_vec()), ..RowChange::default() };
    store.write(|transaction| transaction.change(table.definition.id, &change, written.rows, &|| true)).unwrap();
}

/// The table has the records of the model, and every file of its folder is named.
fn verify(store: &Arc<Store>, model: &Model, what: &str) {
    let table = table(&store.snapshot().unwrap(), "t");
    let columns: Vec<ColumnId> = table.definition.columns.iter().map(|column| column.id).collect();
    let read = read(&table, columns.clone());
    let ids = read.column(0).as_primitive::<Int64Type>().values().to_vec();
    let mut sorted = ids.clone();
    sorted.sort_unstable();
    let left = (0..model.len() as i64).filter(|id| model[*id as usize].is_some());
    assert!(sorted.into_iter().eq(left), "{what}");
    assert_eq!(table.rows(), ids.len() as u64, "{what}");
    let expected = records(&table.definition, model, &ids);
    for (column, (found, expected)) in columns.iter().zip(read.columns().iter().zip(expected.columns())) {
        assert!(found == expected, "{what}: column {column}");
    }
    let report = store.check().unwrap();
    assert!(report.errors.is_empty() && report.notes.is_empty(), "{what}: {report:?}");
}

fn designs() -> Vec<Design> {
    let grouped =
        Design { groups: vec![Group { columns: vec![2, 4, 5], layout: Layout::MemPax(64) }], ..Design::default() };
    let packed = Design { packing: Packing::ByteSlice, ..Design::default() };
    let pages = Group { columns: vec![4, 2, 7], layout: Layout::SuperTuple };
    let dense = Design { groups: vec![pages], page_size: 4096, ..Design::of_layout(Layout::DenseColumn) };
    let layouts = [Layout::Row, Layout::MemPax(100), Layout::SuperTuple].map(Design::of_layout);
    [Design::default(), grouped, packed, dense].into_iter().chain(layouts).collect()
}

fn has_some(store: &Arc<Store>) -> bool {
    let table = table(&store.snapshot().unwrap(), "t");
    let files = segment_files(store.path()).len();
    files > table.segments.len()
}

#[test]
fn values_are_those_that_were_written_last() {
    for design in designs() {
        let folder = tempfile::tempdir().unwrap();
        let (store, mut model) = (open(folder.path()).unwrap(), Model::new());
        create(&store, definition(design.clone())).unwrap();
        insert(&store, &mut model, 70_000);
        insert(&store, &mut model, 20_000);
        insert(&store, &mut model, 50);
        let what = format!("{design:?}");
        let gone = |id: u64| id.is_multiple_of(17);
        delete(&store, "t", (0..90_050).filter(|id| gone(*id))).unwrap();
        model.iter_mut().enumerate().filter(|(id, _)| gone(*id as u64)).for_each(|(_, record)| *record = None);
        let before = (store.snapshot().unwrap(), model.clone());
        update(&store, &mut model, &[2], |id| id % 3 == 1);
        verify(&store, &model, &what);
        assert!(has_some(&store) || design.layout != Layout::Column, "{what}");
        update(&store, &mut model, &[4, 5, 7], |id| id % 2 == 1 && id < 75_000);
        verify(&store, &model, &what);
        // Few records, some of them in segments whose columns have changed.
        update(&store, &mut model, &[3, 8], |id| id % 9000 == 1);
        verify(&store, &model, &what);
        update(&store, &mut model, &[2, 6, 8], |id| id > 40_000);
        verify(&store, &model, &what);
        let rest = table(&before.0, "t");
        let ids: Vec<i64> = numbered(&rest).into_iter().map(|(_, id)| id).collect();
        assert!(read(&rest, (1..=8).collect()) == records(&rest.definition, &before.1, &ids), "{what}");
        drop((rest, store));
        let store = open(folder.path()).unwrap();
        verify(&store, &model, &what);
        update(&store, &mut model, &[2, 3, 4, 5, 6, 7, 8], |_| true);
        verify(&store, &model, &what);
        update(&store, &mut model, &[4], |id| id % 5 == 0);
        let backup = tempfile::tempdir().unwrap();
        store.backup(&backup.path().join("copy")).unwrap();
        verify(&open(&backup.path().join("copy")).unwrap(), &model, &what);
        store.optimize(&name("t")).unwrap();
        verify(&store, &model, &what);
        let id = table(&store.snapshot().unwrap(), "t").definition.id;
        store.write(|transaction| transaction.truncate(id)).unwrap();
        assert_eq!(segment_files(folder.path()), [""; 0], "{what}");
    }
}

#[test]
fn the_last_file_of_a_column_is_the_only_one() {
    let folder = tempfile::tempdir().unwrap();
    let (store, mut model) = (open(folder.path()).unwrap(), Model::new());
    create(&store, definition(Design::default())).unwrap();
    insert(&store, &mut model, 20_000);
    for round in 0..4 {
        update(&store, &mut model, &[2 + round % 2], |id| id % 2 == 0);
        // The first file, and one for each column that was changed.
        let files = 2 + (round as usize).min(1);
        assert_eq!(segment_files(folder.path()).len(), files, "{round}");
        verify(&store, &model, "in turn");
    }
    let table = table(&store.snapshot().unwrap(), "t");
    assert_eq!((table.segments.len(), table.has_deleted(), table.rows()), (1, false, 20_000));
    // Nothing is left of the first file, nor of the others.
    update(&store, &mut model, &[2, 3, 4, 5, 6, 7, 8], |id| id % 2 == 1);
    assert_eq!(segment_files(folder.path()).len(), 2, "the first file has the ids");
    verify(&store, &model, "all but the ids");
}

#[test]
fn columns_come_and_go_beside_others() {
    let folder = tempfile::tempdir().unwrap();
    let (store, mut model) = (open(folder.path()).unwrap(), Model::new());
    let id = create(&store, definition(Design::default())).unwrap();
    insert(&store, &mut model, 20_000);
    update(&store, &mut model, &[4], |id| id % 2 == 0);
    store.set_design(&name("t"), Design::of_layout(Layout::MemPax(100)), 2, &mut |_, _| Ok(())).unwrap();
    verify(&store, &model, "another layout");
    update(&store, &mut model, &[4], |id| id % 4 != 0);
    verify(&store, &model, "chunks");
    let added =
        ColumnDefinition { initial: Datum::Integer(7), ..ColumnDefinition::new(9, "added", LogicalType::Int(32)) };
    let table_now = || table(&store.snapshot().unwrap(), "t");
    let mut wider = TableDefinition { next_column: 10, ..TableDefinition::clone(&table_now().definition) };
    wider.columns.push(added);
    store.write(|transaction| transaction.alter_table(wider)).unwrap();
    let new: ArrayRef = Arc::new(Int32Array::from_iter_values(0..15_000));
    let batch = RecordBatch::try_from_iter([("added", new)]).unwrap();
    let new = NewValues::new(vec![9], (0..15_000).collect(), vec![batch]).unwrap();
    let written = store.write_values(&table_now(), &new, 1, &|| true).unwrap();
    let change = RowChange { ids: written.ids, columns: Some(vec![9]), ..RowChange::default() };
    store.write(|transaction| transaction.change(id, &change, written.rows, &|| true)).unwrap();
    let read = read(&table_now(), vec![9]);
    let expected = Int32Array::from_iter_values((0..15_000).chain(std::iter::repeat_n(7, 5000)));
    assert!(read.column(0).as_primitive() == &expected);
    is_whole(&store);
}

#[test]
fn files_that_do_not_fit_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let (store, mut model) = (open(folder.path()).unwrap(), Model::new());
    create(&store, definition(Design::default())).unwrap();
    insert(&store, &mut model, 20_000);
    update(&store, &mut model, &[2], |id| id % 2 == 0);
    drop(store);
    let files = segment_files(folder.path());
    assert_eq!(files.len(), 2);
    for file in files {
        let broken = tempfile::tempdir().unwrap();
        copy(folder.path(), broken.path());
        let path = broken.path().join("segments").join(&file);
        let whole = std::fs::read(&path).unwrap();
        damaged(broken.path(), &path, &whole[..whole.len() - 1]);
        let mut flipped = whole.clone();
        flipped[whole.len() - 100] ^= 1;
        damaged(broken.path(), &path, &flipped);
        std::fs::remove_file(&path).unwrap();
        assert!(opened(broken.path()).is_err(), "{file} is missing");
    }
}

/// Opens a database and all segments in it.
fn opened(database: &Path) -> Result<()> {
    let snapshot = open(database)?.snapshot()?;
    snapshot.damaged.values().next().map_or(Ok(()), |table| Err(table.error()))
}

fn damaged(database: &Path, file: &Path, bytes: &[u8]) {
    std::fs::write(file, bytes).unwrap();
    let Err(Error::Corrupt { place, .. }) = opened(database) else { panic!("{} is damaged", file.display()) };
    assert!(place.contains(&file.file_name().unwrap().to_string_lossy()[..]), "{place}");
}

#[test]
fn new_values_of_no_record_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (store, mut model) = (open(folder.path()).unwrap(), Model::new());
    create(&store, definition(Design::default())).unwrap();
    insert(&store, &mut model, 20_000);
    let table = table(&store.snapshot().unwrap(), "t");
    let batch = |rows: i32| {
        RecordBatch::try_from_iter([("number", Arc::new(Int32Array::from_iter_values(0..rows)) as ArrayRef)]).unwrap()
    };
    assert!(NewValues::new(vec![2], vec![1, 2], vec![batch(3)]).is_err());
    let twice = NewValues::new(vec![2], vec![1, 1], vec![batch(2)]).unwrap();
    assert!(store.write_values(&table, &twice, 1, &|| true).is_err());
    let past = NewValues::new(vec![2], vec![30_000], vec![batch(1)]).unwrap();
    assert!(store.write_values(&table, &past, 1, &|| true).is_err());
    let all = NewValues::new(vec![2], (0..20_000).collect(), vec![batch(20_000)]).unwrap();
    assert!(matches!(store.write_values(&table, &all, 2, &|| false), Err(Error::Cancelled)));
    assert_eq!(segment_files(folder.path()).len(), 1, "files of a change that is not wanted go");
    verify(&store, &model, "as it was");
}
