//! Pages that a load fills before its transaction begins: all records are there in their order, whatever lane they came in,
//! long values too; nothing stays behind.

mod common;

use arrow::array::{Array, AsArray, Int64Array, RecordBatch, StringViewArray};
use arrow::datatypes::Int64Type;
use common::{budget, definition, name};
use gingham_kernels::Isa;
use gingham_storage::model::{Deletes, HeapLayout, HeapOptions};
use gingham_storage::scan::TableScan;
use gingham_storage::store::Store;
use gingham_storage::{Design, Predicate, TableId};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

/// Records from one number on; text that comes again and again, some NULL, and one of `long` bytes at record `at`.
fn batch(numbers: std::ops::Range<i64>, at: Option<(i64, usize)>) -> RecordBatch {
    let text = |number: i64| match at {
        Some((own, long)) if own == number => Some("x".repeat(long)),
        _ if number % 7 == 3 => None,
        _ => Some("text ".repeat((number % 9) as usize)),
    };
    let labels = StringViewArray::from_iter(numbers.clone().map(text));
    let schema = definition("t").arrow_schema();
    RecordBatch::try_new(schema, vec![Arc::new(Int64Array::from_iter_values(numbers)), Arc::new(labels)]).unwrap()
}

fn create(options: HeapOptions) -> (Arc<Store>, TableId) {
    let store = Store::scratch(budget()).unwrap();
    let table = store.write(|transaction| transaction.create_heap_table(definition("t"), options)).unwrap();
    (store, table)
}

/// All records, in the order of the pages.
fn read(store: &Arc<Store>) -> Vec<(i64, Option<String>)> {
    let own = Arc::clone(&store.pinned().unwrap().tables[&name("t")]);
    let scan = Arc::new(TableScan::new(own, vec![1, 2], Predicate::Constant(true), 1 << 20, Isa::best()).unwrap());
    let mut records = Vec::new();
    for batch in (0..scan.morsels()).flat_map(|morsel| scan.read(morsel).unwrap()) {
        let batch = batch.unwrap();
        let (ids, labels) = (batch.column(0).as_primitive::<Int64Type>(), batch.column(1).as_string_view());
        let label = |row: usize| labels.is_valid(row).then(|| labels.value(row).to_owned());
        records.extend((0..batch.num_rows()).map(|row| (ids.value(row), label(row))));
    }
    records
}

/// What [`read`] gives of batches.
fn expected(batches: &[RecordBatch]) -> Vec<(i64, Option<String>)> {
    let rows = |batch: &RecordBatch| {
        let (ids, labels) =
            (batch.column(0).as_primitive::<Int64Type>().clone(), batch.column(1).as_string_view().clone());
        (0..batch.num_rows())
            .map(move |row| (ids.value(row), labels.is_valid(row).then(|| labels.value(row).to_owned())))
            .collect::<Vec<_>>()
    };
    batches.iter().flat_map(rows).collect()
}

fn all_options() -> [HeapOptions; 4] {
    let pax = HeapOptions { page_bytes: 4080, ..HeapOptions::new(HeapLayout::Pax) };
    let (nsm, dsm) = (HeapOptions::new(HeapLayout::Nsm), HeapOptions::new(HeapLayout::Dsm));
    [nsm, dsm, pax, HeapOptions { deletes: Deletes::Defer, threshold: 10, ..pax }]
}

/// Files and folders below the store's `segments`.
fn left_behind(store: &Store) -> usize {
    fs::read_dir(store.path().join("segments")).unwrap().count()
}

#[test]
fn lanes_fill_pages_that_a_table_takes_in_their_order() {
    for options in all_options() {
        let (store, table) = create(options);
        let mut all = Vec::new();
        for round in 0..2 {
            let own = Arc::clone(&store.pinned().unwrap().tables[&name("t")]);
            let writer = store.table_writer(&own).unwrap();
            let start = round * 100_000;
            let lanes = [batch(start..start + 30_000, None), batch(start + 30_000..start + 55_000, None)];
            writer.append(1, lanes[1].slice(0, 7)).unwrap();
            writer.append(0, lanes[0].clone()).unwrap();
            writer.append(1, lanes[1].slice(7, 24_993)).unwrap();
            let rows = writer.finish().unwrap();
            assert_eq!(rows.rows, 55_000);
            store.write(|transaction| transaction.append(table, rows)).unwrap();
            all.extend(expected(&lanes));
            let mut found = read(&store);
            if round > 0 {
                // What earlier pages have room for comes into them.
                found.sort();
                all.sort();
            }
            assert!(found == all, "{options:?}, round {round}");
        }
        let report = store.check().unwrap();
        assert!(report.errors.is_empty(), "{report:?}");
        assert_eq!(left_behind(&store), 0);
    }
}

#[test]
fn values_that_are_too_long_for_a_page_are_kept_too() {
    for options in all_options() {
        let (store, table) = create(options);
        let own = Arc::clone(&store.pinned().unwrap().tables[&name("t")]);
        let writer = store.table_writer(&own).unwrap();
        let whole = batch(0..60_000, Some((33_333, 20_000)));
        writer.append(0, whole.clone()).unwrap();
        let rows = writer.finish().unwrap();
        store.write(|transaction| transaction.append(table, rows)).unwrap();
        assert!(read(&store) == expected(&[whole]), "{options:?}");
        let report = store.check().unwrap();
        assert!(report.errors.is_empty(), "{report:?}");
    }
}

#[test]
fn pages_for_another_design_are_refused_and_go() {
    let [nsm, _, pax, _] = all_options();
    for changed in [Design::of_pages(pax), Design::default()] {
        let (store, table) = create(nsm);
        let own = Arc::clone(&store.pinned().unwrap().tables[&name("t")]);
        let writer = store.table_writer(&own).unwrap();
        writer.append(0, batch(0..30_000, None)).unwrap();
        let rows = writer.finish().unwrap();
        assert_eq!(left_behind(&store), 1);
        store.set_design(&name("t"), changed, 1, &mut |_, _| Ok(())).unwrap();
        let error = store.write(|transaction| transaction.append(table, rows)).unwrap_err().to_string();
        assert!(error.contains("write them again"), "{error}");
        assert_eq!((read(&store).len(), left_behind(&store)), (0, 0));
    }
}

/// The folder of the files of the one table that has some.
fn folder_of_runs(store: &Store) -> PathBuf {
    fs::read_dir(store.path().join("segments")).unwrap().next().unwrap().unwrap().path()
}

#[test]
fn a_damaged_run_of_pages_is_refused_by_its_file() {
    type Damage = fn(&mut Vec<u8>, usize);
    let damages: [(Damage, &str); 5] = [
        (|bytes, page| bytes[3 * page + 20] ^= 4, "page 3"),
        // The last bytes of a PAX page are those of a minipage.
        (|bytes, page| bytes[4 * page - 1] ^= 4, "page 3"),
        (|bytes, _| bytes.truncate(bytes.len() - 1), "no whole pages"),
        (|bytes, page| bytes.truncate(bytes.len() - page), "records are found, 30000 were written"),
        (|bytes, page| bytes.extend_from_within(..page), "records are found, 30000 were written"),
    ];
    for options in [HeapOptions::new(HeapLayout::Nsm), HeapOptions::new(HeapLayout::Pax)] {
        for (damage, expected) in damages {
            let (store, table) = create(options);
            let own = Arc::clone(&store.pinned().unwrap().tables[&name("t")]);
            let writer = store.table_writer(&own).unwrap();
            writer.append(0, batch(0..30_000, None)).unwrap();
            let rows = writer.finish().unwrap();
            let file = fs::read_dir(folder_of_runs(&store)).unwrap().next().unwrap().unwrap().path();
            let mut bytes = fs::read(&file).unwrap();
            damage(&mut bytes, options.page_bytes);
            fs::write(&file, bytes).unwrap();
            let error = store.write(|transaction| transaction.append(table, rows)).unwrap_err().to_string();
            assert!(error.contains(".pages") && error.contains(expected), "{error}");
            assert!(read(&store).is_empty());
        }
    }
}

#[test]
fn a_writer_that_could_not_write_all_of_its_records_does_not_finish() {
    for options in [HeapOptions::new(HeapLayout::Nsm), HeapOptions::new(HeapLayout::Pax)] {
        let (store, _) = create(options);
        let own = Arc::clone(&store.pinned().unwrap().tables[&name("t")]);
        let writer = store.table_writer(&own).unwrap();
        // A file where the folder of the segments would be made.
        let segments = store.path().join("segments");
        let _ = fs::remove_dir_all(&segments);
        fs::write(&segments, b"").unwrap();
        writer.append(0, batch(0..30_000, None)).unwrap_err();
        fs::remove_file(&segments).unwrap();
        for error in [writer.append(0, batch(0..10, None)).unwrap_err(), writer.finish().unwrap_err()] {
            assert!(error.to_string().contains("Not a directory"), "{error}");
        }
    }
}
