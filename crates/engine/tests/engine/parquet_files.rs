//! Parquet files of other writers: physical types, logical types and encodings that Gingham itself does not write, read by FROM and
//! by loads.

use crate::{connect, failure, rows};
use gingham::StatementHandle;
use gingham::load::LoadOptions;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray, FixedLenByteArrayType, FloatType,
    Int32Type, Int64Type, Int96, Int96Type,
};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Columns of a file, and the types that SQL has for them.
const COLUMNS: &[(&str, &str)] = &[
    ("optional int96 spark", "TIMESTAMP(6)"),
    ("optional int64 ms (TIMESTAMP(MILLIS,true))", "TIMESTAMP(3) WITH TIME ZONE 'UTC'"),
    ("optional int64 us (TIMESTAMP(MICROS,false))", "TIMESTAMP(6)"),
    ("optional int64 ns (TIMESTAMP(NANOS,true))", "TIMESTAMP(9) WITH TIME ZONE 'UTC'"),
    ("optional int32 day (DATE)", "DATE"),
    ("optional int32 clock (TIME(MILLIS,true))", "TIME(3)"),
    ("optional int64 fine_clock (TIME(MICROS,true))", "TIME(6)"),
    ("optional int32 d9 (DECIMAL(9,2))", "DECIMAL(9,2)"),
    ("optional int64 d18 (DECIMAL(18,4))", "DECIMAL(18,4)"),
    ("optional fixed_len_byte_array(16) d38 (DECIMAL(38,10))", "DECIMAL(38,10)"),
    ("optional binary d20 (DECIMAL(20,3))", "DECIMAL(20,3)"),
    ("optional int32 tiny (INTEGER(8,false))", "TINYINT UNSIGNED"),
    ("optional int64 large (INTEGER(64,false))", "BIGINT UNSIGNED"),
    ("optional binary text (UTF8)", "VARCHAR"),
    ("optional binary kind (ENUM)", "VARCHAR"),
    ("optional float f", "REAL"),
    ("optional double d", "DOUBLE"),
    ("optional boolean b", "BOOLEAN"),
];
/// Records of a row group.
const ROWS: i64 = 700;

/// Writes a column, which has NULL in each seventh record.
fn column<T: DataType>(group: &mut SerializedRowGroupWriter<'_, File>, value: impl Fn(i64) -> T::T) {
    let mut writer = group.next_column().expect("a column").expect("one more column");
    let levels: Vec<i16> = (0..ROWS).map(|row| i16::from(row % 7 != 3)).collect();
    let values: Vec<T::T> = (0..ROWS).filter(|row| row % 7 != 3).map(value).collect();
    writer.typed::<T>().write_batch(&values, Some(&levels), None).expect("values");
    writer.close().expect("a column");
}

/// Days since 1970 of a record; the first ones lie far from what nanoseconds reach.
fn days(row: i64) -> i64 {
    [-719_162, 2_932_896, -1, 0][(row % 4) as usize] + row / 4
}

/// Microseconds of a record's moment.
fn moment(row: i64) -> i64 {
    days(row) * 86_400_000_000 + 3_723_000_004
}

fn int96(row: i64) -> Int96 {
    let (day, nanos) = ((days(row) + 2_440_588) as u32, 3_723_000_004_000_u64);
    let mut value = Int96::new();
    value.set_data(nanos as u32, (nanos >> 32) as u32, day);
    value
}

fn write(path: &Path, properties: WriterProperties, groups: usize) {
    let columns: Vec<&str> = COLUMNS.iter().map(|(column, _)| *column).collect();
    let schema = format!("message m {{ {}; }}", columns.join("; "));
    let schema = Arc::new(parse_message_type(&schema).expect("a schema"));
    let file = File::create(path).expect("a file");
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).expect("a writer");
    for _ in 0..groups {
        let mut group = writer.next_row_group().expect("a row group");
        let near = |row: i64| row * 86_400_000_000_000 + 1_000_000_000_001;
        column::<Int96Type>(&mut group, int96);
        column::<Int64Type>(&mut group, |row| moment(row).div_euclid(1000));
        column::<Int64Type>(&mut group, moment);
        column::<Int64Type>(&mut group, near);
        column::<Int32Type>(&mut group, |row| days(row) as i32);
        column::<Int32Type>(&mut group, |row| row as i32 * 1001);
        column::<Int64Type>(&mut group, |row| row * 1_000_001);
        column::<Int32Type>(&mut group, |row| row as i32 * -101);
        column::<Int64Type>(&mut group, |row| row * 1_000_000_000_001);
        column::<FixedLenByteArrayType>(&mut group, |row| {
            let value = i128::from(row - 350) * 10_i128.pow(34) + 1;
            FixedLenByteArray::from(value.to_be_bytes().to_vec())
        });
        column::<ByteArrayType>(&mut group, |row| {
            // As few bytes as the value needs.
            let bytes = ((row - 350) * 1_000_003).to_be_bytes();
            let needed = (1..8).find(|from| (bytes[*from] ^ bytes[0]) & 0x80 != 0 || bytes[*from - 1] != bytes[0]);
            ByteArray::from(bytes[needed.unwrap_or(8) - 1..].to_vec())
        });
        column::<Int32Type>(&mut group, |row| (row % 256) as i32);
        column::<Int64Type>(&mut group, |row| -1 - row);
        column::<ByteArrayType>(&mut group, |row| ByteArray::from(format!("text {} ü", row % 50).as_str()));
        column::<ByteArrayType>(&mut group, |row| ByteArray::from(["red", "green"][(row % 2) as usize]));
        column::<FloatType>(&mut group, |row| row as f32 / 8.0);
        column::<DoubleType>(&mut group, |row| if row == 0 { f64::NAN } else { row as f64 / -3.0 });
        column::<BoolType>(&mut group, |row| row % 3 == 0);
        group.close().expect("a row group");
    }
    writer.close().expect("a file");
}

/// The rows as SQL with VALUES could have them: what the integers of the file mean, computed by other means.
fn expected() -> String {
    let of = |expression: &str| format!("CASE WHEN row % 7 <> 3 THEN {expression} END");
    let days = "([-719162, 2932896, -1, 0])[row % 4 + 1] + row / 4";
    let moment = format!("TIMESTAMP '1970-01-01 01:02:03.000004' + INTERVAL '1 day' * ({days})");
    let columns = [
        of(&moment),
        of(&format!("(date_trunc('milliseconds', {moment}))::TIMESTAMP(3) AT TIME ZONE 'UTC'")),
        of(&moment),
        of("(TIMESTAMP(9) '1970-01-01 00:16:40.000000001' + INTERVAL '1 day' * row)::TIMESTAMP(9) WITH TIME ZONE"),
        of(&format!("DATE '1970-01-01' + ({days})::INTEGER")),
        of("TIME '00:00:00' + INTERVAL '0.001 seconds' * (row * 1001)"),
        of("TIME '00:00:00' + INTERVAL '0.000001 seconds' * (row * 1000001)"),
        of("((row * -101)::DECIMAL(20,0) * 0.01)::DECIMAL(9,2)"),
        of("((row * 1000000000001)::DECIMAL(20,0) * 0.0001)::DECIMAL(18,4)"),
        of("(row - 350)::DECIMAL(10,0) * 1000000000000000000000000 + 0.0000000001"),
        of("((row - 350) * 1000003)::DECIMAL(38,0) * 0.001"),
        of("row % 256"),
        of("18446744073709551615::DECIMAL(38,0) - row"),
        of("'text ' || (row % 50) || ' ü'"),
        of("CASE row % 2 WHEN 0 THEN 'red' ELSE 'green' END"),
        of("(row / 8.0)::REAL"),
        of("CASE WHEN row = 0 THEN 'NaN'::DOUBLE ELSE row::DOUBLE / -3 END"),
        of("row % 3 = 0"),
    ];
    format!("SELECT {} FROM generate_series(0, {}) AS s(row) ORDER BY row", columns.join(", "), ROWS - 1)
}

/// Ways of writing: dictionaries or not, pages of both versions, encodings of every kind, packed or not.
fn writers() -> Vec<(&'static str, WriterProperties)> {
    let path = |name: &str| ColumnPath::from(name);
    let delta = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_dictionary_enabled(false)
        .set_encoding(Encoding::PLAIN);
    let packed = ["ms", "us", "ns", "day", "clock", "fine_clock", "d9", "d18", "tiny", "large"];
    let delta = packed
        .iter()
        .fold(delta, |delta, name| delta.set_column_encoding(path(name), Encoding::DELTA_BINARY_PACKED))
        .set_column_encoding(path("text"), Encoding::DELTA_BYTE_ARRAY)
        .set_column_encoding(path("kind"), Encoding::DELTA_LENGTH_BYTE_ARRAY)
        .set_column_encoding(path("d38"), Encoding::DELTA_BYTE_ARRAY)
        .set_column_encoding(path("f"), Encoding::BYTE_STREAM_SPLIT)
        .set_column_encoding(path("d"), Encoding::BYTE_STREAM_SPLIT)
        .set_column_encoding(path("b"), Encoding::RLE);
    vec![
        ("plain", WriterProperties::builder().set_dictionary_enabled(false).build()),
        ("dictionaries", WriterProperties::builder().set_compression(Compression::SNAPPY).build()),
        ("delta", delta.set_compression(Compression::ZSTD(ZstdLevel::default())).build()),
        (
            "pages",
            WriterProperties::builder()
                .set_writer_version(WriterVersion::PARQUET_2_0)
                .set_data_page_row_count_limit(64)
                .set_write_batch_size(64)
                .set_compression(Compression::LZ4_RAW)
                .build(),
        ),
    ]
}

#[test]
fn files_of_other_writers() {
    let (connection, folder) = (connect(), tempfile::tempdir().expect("a folder"));
    let expected = rows(&connection, &expected());
    let expected = [expected.clone(), expected].concat();
    let same = |query: &str, what: &str| {
        let found = rows(&connection, query);
        let first = found.iter().zip(&expected).find(|(one, other)| one != other);
        assert_eq!((found.len(), first), (expected.len(), None), "{what}");
    };
    for (name, properties) in writers() {
        let path = folder.path().join(format!("{name}.parquet"));
        write(&path, properties, 2);
        let from = format!("FROM '{}'", path.display());
        same(&format!("SELECT * {from}"), name);
        let types = rows(&connection, &format!("DESCRIBE SELECT * {from}"));
        for ((_, sql_type), described) in COLUMNS.iter().zip(&types) {
            assert!(described.contains(&format!("|{sql_type}|")), "{name}: {described}, not {sql_type}");
        }
        // Statistics leave out groups and pages, and no record that is wanted.
        for condition in ["us > TIMESTAMP '9000-01-01'", "day < DATE '0002-01-01'", "d38 > 0", "text = 'text 7 ü'"] {
            let count = |of: &str| rows(&connection, &format!("SELECT count(*) FROM {of} WHERE {condition}"));
            connection.execute(&format!("CREATE OR REPLACE TABLE t AS SELECT * {from}")).expect("a table");
            assert_eq!(count(&format!("'{}'", path.display())), count("t"), "{name}: {condition}");
        }
        let options = LoadOptions { table: format!("loaded_{name}"), ..LoadOptions::default() };
        let loaded = connection.load(&[path], &options, &StatementHandle::new());
        assert_eq!(loaded.unwrap_or_else(|error| panic!("{name}: {error}")).rows, 2 * ROWS as u64);
        same(&format!("SELECT * FROM loaded_{name}"), &format!("{name}, loaded"));
    }
    // Columns are found by their names; a file that lacks one has NULL there, and one with another type is named.
    let write = |name: &str, query: &str| {
        let path = folder.path().join(name).display().to_string();
        connection.execute(&format!("COPY ({query}) TO '{path}'")).expect("a file");
        path
    };
    let one = write("one.pq", "SELECT 1 AS a, 'x' AS b");
    let two = write("two.pq", "SELECT 'y' AS b, 2.5 AS c, 2 AS a");
    let both = format!("SELECT a, b, c, filename FROM read_parquet(['{one}', '{two}'], filename = true) ORDER BY 1");
    assert_eq!(rows(&connection, &both), [format!("1|x||{one}"), format!("2|y|2.5|{two}")]);
    let named =
        format!("SELECT a FROM read_parquet(['{one}', '{two}'], filename = true) WHERE filename LIKE '%two.pq'");
    assert_eq!(rows(&connection, &named), ["2"]);
    let other = write("other.pq", "SELECT 'text' AS a");
    let error = failure(&connection, &format!("SELECT * FROM read_parquet(['{one}', '{other}'])")).to_string();
    assert!(error.contains(&format!("column 'a' is BIGINT in {one} and VARCHAR in {other}")), "{error}");
    let all = format!("'{}'", folder.path().join("*.parquet").display());
    assert_eq!(rows(&connection, &format!("SELECT count(*), count(spark) FROM {all}")), ["5600|4800"]);
}

#[test]
fn what_parquet_files_may_not_hold_is_refused_by_name() {
    let (connection, folder) = (connect(), tempfile::tempdir().expect("a folder"));
    let path = folder.path().join("x.parquet");
    let schema = "message m { optional int32 n; optional fixed_len_byte_array(20) wide (DECIMAL(47,2)); }";
    let schema = Arc::new(parse_message_type(schema).expect("a schema"));
    let properties = Arc::new(WriterProperties::default());
    let writer = SerializedFileWriter::new(File::create(&path).expect("a file"), schema, properties);
    writer.expect("a writer").close().expect("a file");
    let file = format!("'{}'", path.display());
    assert_eq!(rows(&connection, &format!("SELECT n FROM {file}")), [""; 0]);
    let error = failure(&connection, &format!("CREATE TABLE t AS SELECT * FROM {file}")).to_string();
    assert!(error.contains("'wide'"), "{error}");
    let options = LoadOptions { table: "t".into(), ..LoadOptions::default() };
    let error =
        connection.load(std::slice::from_ref(&path), &options, &StatementHandle::new()).expect_err("no such type");
    assert!(error.to_string().contains("wide"), "{error}");
    // Nested columns are values of queries, and none of tables.
    connection.execute(&format!("COPY (SELECT 1 AS n, [1, 2] AS list, {{'a': 1}} AS pair) TO {file}")).expect("a file");
    assert_eq!(rows(&connection, &format!("SELECT n, list[2], pair['a'] FROM {file}")), ["1|2|1"]);
    for column in ["list", "pair"] {
        let sql = format!("CREATE TABLE t AS SELECT n, {column} FROM {file}");
        let error = failure(&connection, &sql).to_string();
        assert!(error.contains(&format!("'{column}'")), "{sql}: {error}");
    }
    let error = connection.load(&[path], &options, &StatementHandle::new()).expect_err("a list");
    assert!(error.to_string().contains("'list'"), "{error}");
}

/// Footers say nothing of NaN, which is the largest number, and may say nothing of the sign of zero.
#[test]
fn statistics_of_floats_are_not_believed() {
    let (connection, folder) = (connect(), tempfile::tempdir().expect("a folder"));
    let path = folder.path().join("x.parquet").display().to_string();
    for data_type in ["DOUBLE", "REAL"] {
        let values =
            "VALUES (1, '0.1'), (2, 'NaN'), (3, '0.1'), (4, NULL), (5, '-0.0'), (6, '0.1'), (7, 'NaN'), (8, 'NaN')";
        let query = format!("SELECT n, x::{data_type} AS x FROM ({values}) AS v (n, x)");
        connection.execute(&format!("CREATE OR REPLACE TABLE t AS {query}")).expect("a table");
        for part in ["n < 4", "n > 5", "n = 5", "n > 6", "n < 3", "TRUE"] {
            let options =
                "'row_group_size' '2', 'format.data_page_row_count_limit' '1', 'format.bloom_filter_on_write' 'true'";
            connection
                .execute(&format!("COPY (SELECT * FROM t WHERE {part}) TO '{path}' OPTIONS ({options})"))
                .unwrap_or_else(|error| panic!("{error}"));
            for condition in [
                "TRUE",
                "x > 1",
                "x >= 0.1",
                "x = 'NaN'",
                "x <> 0.1",
                "x < 0.2",
                "x = 0",
                "NOT (x <= 0.1)",
                "x IN (0, 'NaN')",
                "x IS NOT NULL",
                "x > 0.1 OR n = 1",
                "x BETWEEN 0 AND 'NaN'",
            ] {
                let of = |table: &str, part: &str| {
                    let from = format!("FROM {table} WHERE ({condition}) AND {part}");
                    let all = rows(&connection, &format!("SELECT n, x + 0 {from} ORDER BY n"));
                    let joined = format!("SELECT count(*) FROM (SELECT x {from}) a JOIN t ON a.x = t.x AND t.n = 7");
                    let top = format!("SELECT x + 0 {from} ORDER BY x DESC NULLS LAST LIMIT 1");
                    let ends = rows(&connection, &format!("SELECT min(x) + 0, max(x) + 0, count(DISTINCT x) {from}"));
                    (all, rows(&connection, &joined), rows(&connection, &top), ends)
                };
                let expected = of("t", part);
                assert_eq!(of(&format!("'{path}'"), "TRUE"), expected, "{data_type}: {condition} of {part}");
            }
        }
    }
}
