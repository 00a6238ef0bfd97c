//! Loads from end to end, through a database in memory.

use crate::load::{LoadOptions, LoadReport};
use crate::{Connection, Database, Error, Result, StatementHandle, StatementProgress};
use arrow::array::{
    ArrayRef, AsArray, DictionaryArray, Int32Array, Int64Array, ListBuilder, RecordBatch, StringArray, StringBuilder,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Int8Type, Int64Type, Schema};
use arrow::ipc::CompressionType;
use arrow::ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn connect(threads: usize) -> Connection {
    let connection = Database::in_memory().expect("a database").connect();
    connection.execute(&format!("SET gingham.threads = {threads}")).expect("threads");
    connection
}

fn into(table: &str) -> LoadOptions {
    LoadOptions { table: table.to_owned(), ..LoadOptions::default() }
}

/// The first column of a query, as integers.
fn integers(connection: &Connection, sql: &str) -> Vec<Option<i64>> {
    let batches = connection.query(sql).and_then(crate::QueryResult::collect_batches).expect(sql);
    let column = |batch: &RecordBatch| {
        let column = cast(batch.column(0), &DataType::Int64).expect("integers");
        column.as_primitive::<Int64Type>().iter().collect::<Vec<_>>()
    };
    batches.iter().flat_map(column).collect()
}

/// Checks that column `column` of `t` counts from 0 to `rows`, in the order of storage (which one thread reads in).
fn assert_counts(connection: &Connection, column: &str, rows: i64) {
    connection.execute("SET gingham.threads = 1").expect("one thread");
    let found = integers(connection, &format!("SELECT {column} FROM t"));
    assert_eq!(found.len() as i64, rows);
    let wrong = (0..rows).zip(&found).find(|(expected, found)| Some(*expected) != **found);
    assert_eq!(wrong, None, "a record is not in its place");
}

fn batch(rows: std::ops::Range<i64>) -> RecordBatch {
    let words: DictionaryArray<Int8Type> = rows.clone().map(|row| (row % 3 > 0).then_some("word")).collect();
    let columns: [(&str, ArrayRef); 2] = [("N", Arc::new(Int64Array::from_iter_values(rows))), ("w", Arc::new(words))];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .expect("a batch")
}

fn write_parquet(path: &Path, batches: &[RecordBatch], group_rows: usize) {
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(group_rows)).build();
    let file = File::create(path).expect("a file");
    let mut writer = ArrowWriter::try_new(file, batches[0].schema(), Some(properties)).expect("a writer");
    batches.iter().for_each(|batch| writer.write(batch).expect("a batch"));
    writer.close().expect("a footer");
}

#[test]
fn parquet_in_lanes_keeps_the_order_of_records_and_files() {
    let folder = tempfile::tempdir().expect("a folder");
    write_parquet(&folder.path().join("1.parquet"), &[batch(0..10_000)], 700);
    write_parquet(&folder.path().join("2.parquet"), &[batch(10_000..12_000)], 300);
    for threads in [1, 2, 5] {
        let connection = connect(threads);
        let report = connection.load(&[folder.path().to_owned()], &into("t"), &StatementHandle::new()).expect("a load");
        assert_eq!(report.rows, 12_000);
        assert_counts(&connection, "\"N\"", 12_000);
        assert_eq!(integers(&connection, "SELECT count(w) FROM t"), [Some(8000)]);
    }
}

#[test]
fn arrow_files_and_streams_load_alike() {
    let folder = tempfile::tempdir().expect("a folder");
    let batches = [batch(0..1000), batch(1000..1500), batch(1500..4000)];
    let schema = batches[0].schema();
    let path = |name: &str| folder.path().join(name);
    for (name, compression) in [("plain.arrow", None), ("packed.feather", Some(CompressionType::LZ4_FRAME))] {
        let options = IpcWriteOptions::default().try_with_compression(compression).expect("options");
        let file = File::create(path(name)).expect("a file");
        let mut writer = FileWriter::try_new_with_options(file, &schema, options).expect("a writer");
        batches.iter().for_each(|batch| writer.write(batch).expect("a batch"));
        writer.finish().expect("a footer");
    }
    let mut writer = StreamWriter::try_new(File::create(path("s.arrows")).expect("a file"), &schema).expect("a writer");
    batches.iter().for_each(|batch| writer.write(batch).expect("a batch"));
    writer.finish().expect("an end");
    for name in ["plain.arrow", "packed.feather", "s.arrows"] {
        let connection = connect(3);
        assert_eq!(connection.load(&[path(name)], &into("t"), &StatementHandle::new()).expect(name).rows, 4000);
        assert_counts(&connection, "\"N\"", 4000);
    }
}

#[test]
fn a_text_of_many_parts_keeps_its_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut paths = Vec::new();
    for file in 0..2 {
        let rows = file * 400_000..(file + 1) * 400_000;
        let text: String = rows.map(|row| format!("{row},\"a \"\"long\"\"\nword\",{}.25\n", row % 100)).collect();
        let path = folder.path().join(format!("{file}.csv"));
        std::fs::write(&path, format!("n,word,x\n{text}")).expect("a file");
        paths.push(path);
    }
    let connection = connect(4);
    assert_eq!(connection.load(&paths, &into("t"), &StatementHandle::new()).expect("a load").rows, 800_000);
    assert_counts(&connection, "n", 800_000);
    let wrong = "SELECT count(*) FROM t WHERE word <> 'a \"long\"\nword' OR x <> n % 100 + 0.25";
    assert_eq!(integers(&connection, wrong), [Some(0)]);
}

#[test]
fn what_a_table_can_not_hold_is_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lists.parquet");
    let mut lists = ListBuilder::new(StringBuilder::new());
    lists.append_value([Some("a")]);
    let batch = RecordBatch::try_from_iter([("tags", Arc::new(lists.finish()) as ArrayRef)]).expect("a batch");
    write_parquet(&path, &[batch], 10);
    let error = connect(1).load(&[path], &into("t"), &StatementHandle::new()).expect_err("a list").to_string();
    assert!(error.contains("column 'tags'") && error.contains("VARCHAR[]"), "{error}");
}

#[test]
fn files_of_other_columns_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let paths: Vec<PathBuf> = ["a.parquet", "b.parquet"].iter().map(|name| folder.path().join(name)).collect();
    write_parquet(&paths[0], &[batch(0..10)], 10);
    let other = RecordBatch::try_from_iter([("N", Arc::new(Int32Array::from(vec![1])) as ArrayRef)]).expect("a batch");
    write_parquet(&paths[1], std::slice::from_ref(&other), 10);
    let error = connect(2).load(&paths, &into("t"), &StatementHandle::new()).expect_err("other columns").to_string();
    assert!(error.contains("b.parquet") && error.contains("1 instead of 2"), "{error}");
    let connection = connect(2);
    connection.execute("CREATE TABLE t (n INT, m INT DEFAULT 7)").expect("a table");
    connection.load(&paths[1..], &into("t"), &StatementHandle::new()).expect("a column less");
    assert_eq!(integers(&connection, "SELECT m FROM t"), [Some(7)]);
    let words = RecordBatch::try_from_iter([("n", Arc::new(StringArray::from(vec!["1", "x"])) as ArrayRef)]);
    write_parquet(&paths[0], &[words.expect("a batch")], 10);
    let error = connection.load(&paths[..1], &into("t"), &StatementHandle::new()).expect_err("no number").to_string();
    assert!(error.contains("row 2") && error.contains("'x'"), "{error}");
    let options = LoadOptions { skip_bad: 1, ..into("t") };
    let report = connection.load(&paths[..1], &options, &StatementHandle::new()).expect("one row is skipped");
    assert_eq!((report.rows, report.skipped.len()), (1, 1));
}

/// Loads while another thread looks how far it is, until `seen` says that it has seen enough.
fn watched(
    load: impl FnOnce(&StatementHandle) -> Result<LoadReport> + Send,
    mut seen: impl FnMut(&StatementHandle, StatementProgress) -> bool,
) -> Result<LoadReport> {
    let handle = StatementHandle::new();
    std::thread::scope(|scope| {
        let load = scope.spawn(|| load(&handle));
        while !load.is_finished() && !handle.progress().is_some_and(|progress| seen(&handle, progress)) {
            std::thread::yield_now();
        }
        load.join().expect("no panic")
    })
}

#[test]
fn progress_grows_and_cancelling_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("n.csv");
    let text: String = (0..500_000).map(|row| format!("{row}\n")).collect();
    std::fs::write(&path, &text).expect("a file");
    let connection = connect(2);
    let options =
        LoadOptions { read: crate::load::ReadOptions { header: Some(false), ..Default::default() }, ..into("t") };
    let load = |handle: &StatementHandle| connection.load(std::slice::from_ref(&path), &options, handle);
    // A load that was faster than the look at it is tried again.
    let cancelled = (0..20).any(|_| {
        let loaded = watched(load, |handle, _| {
            handle.cancel();
            true
        });
        let cancelled = loaded.is_err_and(|error| matches!(error, Error::Cancelled));
        assert_ne!(connection.table("t").is_ok(), cancelled, "a cancelled load makes no table");
        connection.execute("DROP TABLE IF EXISTS t").expect("a statement");
        cancelled
    });
    assert!(cancelled);
    let mut before = 0;
    let loaded = watched(load, |_, StatementProgress { done, total, records }| {
        assert!((before..=total).contains(&done) && total == text.len() as u64 && records <= 500_000);
        before = done;
        false
    });
    assert_eq!(loaded.expect("a load").rows, 500_000);
}

#[test]
fn many_bad_rows_are_all_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("n.csv");
    let text: String =
        (0..20_000).map(|row| if row % 3 == 0 { ",x\n".to_owned() } else { format!("{row},x\n") }).collect();
    std::fs::write(&path, format!("n,w\n{text}")).expect("a file");
    let connection = connect(2);
    connection.execute("CREATE TABLE t (n INT NOT NULL CHECK (n <> 19999), w VARCHAR)").expect("a table");
    let options = LoadOptions { skip_bad: 10_000, ..into("t") };
    let report = connection.load(&[path], &options, &StatementHandle::new()).expect("a load");
    assert_eq!((report.rows, report.skipped.len()), (13_332, 6668));
    assert!(report.skipped[1].contains("n.csv:5, column 'n'"), "{}", report.skipped[1]);
    assert!(report.skipped[6667].contains("n.csv:20001") && report.skipped[6667].contains("CHECK"));
    assert_eq!(integers(&connection, "SELECT sum(n) FROM t"), [Some((0..19_999).filter(|row| row % 3 > 0).sum())]);
}

#[test]
fn types_that_are_more_than_their_bytes_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let connection = connect(1);
    let refused = |path: &Path| {
        let error = connection
            .load(&[path.to_owned()], &into("t"), &StatementHandle::new())
            .expect_err("a type that no table has");
        assert!(matches!(error, Error::Unsupported(_)), "{error}");
        error.to_string()
    };
    for (name, column) in [("UUID", "fixed_len_byte_array(16) u (UUID)"), ("JSON", "binary u (JSON)")] {
        let path = folder.path().join(format!("{name}.parquet"));
        let schema =
            parse_message_type(&format!("message m {{ required int32 n; optional {column}; }}")).expect("types");
        let file = File::create(&path).expect("a file");
        SerializedFileWriter::new(file, Arc::new(schema), Arc::default()).expect("a writer").close().expect("a footer");
        assert!(refused(&path).ends_with(&format!(
            "{name}.parquet: column 'u' has type {name}, which a table can't store; write the file with it as VARCHAR"
        )));
    }
    let extension = [("ARROW:extension:name".to_owned(), "arrow.uuid".to_owned())].into();
    let field = Field::new("u", DataType::FixedSizeBinary(16), true).with_metadata(extension);
    let path = folder.path().join("u.arrow");
    let file = File::create(&path).expect("a file");
    FileWriter::try_new(file, &Schema::new(vec![field])).expect("a writer").finish().expect("a footer");
    assert!(refused(&path).contains("column 'u' has type UUID"));
}

#[test]
fn blank_lines_of_one_column_are_nulls() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("n.csv");
    let text: String =
        (0..900_000).map(|row| if row % 3 == 0 { "\r\n".to_owned() } else { format!("{row}\r\n") }).collect();
    std::fs::write(&path, format!("n\r\n{text}")).expect("a file");
    let connection = connect(2);
    assert_eq!(connection.load(&[path], &into("t"), &StatementHandle::new()).expect("a load").rows, 900_000);
    assert_eq!(integers(&connection, "SELECT count(*) FROM t WHERE n IS NULL"), [Some(300_000)]);
    assert_eq!(integers(&connection, "SELECT sum(n) FROM t"), [Some((0..900_000).filter(|row| row % 3 > 0).sum())]);
}

#[test]
fn a_first_record_longer_than_the_sample_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let (long, quoted) = (folder.path().join("long.csv"), folder.path().join("quoted.csv"));
    std::fs::write(&long, format!("n,w\n7,{}\n8,y\n", "x".repeat(5_500_000))).expect("a file");
    std::fs::write(&quoted, format!("n,w\n7,\"{}\"\n8,y\n", "x\ny".repeat(3_000_000))).expect("a file");
    let connection = connect(1);
    for (path, length) in [(long, 5_500_000), (quoted, 9_000_000)] {
        connection.load(&[path], &into("t"), &StatementHandle::new()).expect("a load");
        assert_eq!(integers(&connection, "SELECT length(w) FROM t WHERE n = 7"), [Some(length)]);
        assert_eq!(integers(&connection, "SELECT n FROM t ORDER BY n"), [Some(7), Some(8)]);
        connection.execute("DROP TABLE t").expect("dropped");
    }
    let open = folder.path().join("open.csv");
    std::fs::write(&open, format!("n,w\n7,\"{}\n8,y\n", "x".repeat(70 << 20))).expect("a file");
    let error = connection
        .load(&[open], &into("u"), &StatementHandle::new())
        .expect_err("a quote that is not closed")
        .to_string();
    assert!(
        error.ends_with("open.csv: a record at its beginning is longer than 64 MiB; is a quote not closed?"),
        "{error}"
    );
}
