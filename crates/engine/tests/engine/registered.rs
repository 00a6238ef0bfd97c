//! Arrow data of the program as tables of a connection.

use arrow::array::{
    ArrayRef, BinaryArray, Decimal256Array, DictionaryArray, Float16Array, Int32Array, Int64Array, LargeStringArray,
    RecordBatch, RecordBatchIterator, StringArray, StringViewArray, StructArray,
};
use arrow::datatypes::{DataType, Int32Type};
use gingham::{Connection, Database, ScalarValue};
use std::sync::Arc;

fn numbers(from: i64, to: i64) -> RecordBatch {
    let values: ArrayRef = Arc::new(Int64Array::from_iter_values(from..to));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values((from..to).map(|n| format!("text number {n}"))));
    RecordBatch::try_from_iter([("n", values), ("text", texts)]).unwrap()
}

fn one(connection: &Connection, sql: &str) -> ScalarValue {
    let batches = connection.query(sql).unwrap().collect_batches().unwrap();
    ScalarValue::try_from_array(batches[0].column(0), 0).unwrap()
}

#[test]
fn batches_are_a_table() {
    let connection = Database::in_memory().unwrap().connect();
    connection
        .execute("CREATE TABLE own AS SELECT value AS k FROM generate_series(1, 1000) WHERE value % 3 = 0")
        .unwrap();
    connection.register("frame", vec![numbers(0, 300_000), numbers(300_000, 300_010)]).unwrap();
    assert_eq!(one(&connection, "SELECT count(*) FROM frame"), ScalarValue::from(300_010_i64));
    assert_eq!(
        one(&connection, "SELECT sum(n) FROM frame"),
        ScalarValue::Decimal128(Some(300_009 * 300_010 / 2), 38, 0)
    );
    assert_eq!(one(&connection, "SELECT count(*) FROM own JOIN frame ON k = n"), ScalarValue::from(333_i64));
    assert_eq!(
        one(&connection, "SELECT n FROM frame WHERE text = 'text number 300009'"),
        ScalarValue::from(300_009_i64)
    );
    assert_eq!(
        one(&connection, "SELECT a.n FROM frame a JOIN frame b ON a.n = b.n + 300008"),
        ScalarValue::from(300_008_i64)
    );
    assert_eq!(connection.execute("CREATE TABLE copy AS SELECT * FROM frame").unwrap(), 300_010);
    // Another connection has no such table; a clone has.
    assert_eq!(connection.clone().execute("SELECT 1 FROM frame LIMIT 1").unwrap(), 1);
    // Under the same name, what came last.
    let kept = "SELECT max(n) FROM frame";
    assert_eq!(one(&connection, kept), ScalarValue::from(300_009_i64));
    connection.register("frame", vec![numbers(0, 10)]).unwrap();
    assert_eq!(one(&connection, kept), ScalarValue::from(9_i64));
    assert!(connection.unregister("Frame").unwrap(), "names are read as SQL reads them");
    assert!(!connection.unregister("frame").unwrap());
    assert_eq!(connection.execute("SELECT * FROM frame").unwrap_err().sqlstate(), "42P01");
    connection.register("\"Frame\"", vec![numbers(0, 10)]).unwrap();
    assert_eq!(connection.execute("SELECT * FROM \"Frame\"").unwrap(), 10);
}

#[test]
fn a_plan_of_before_is_not_used() {
    let database = Database::in_memory().unwrap();
    let (connection, other) = (database.connect(), database.connect());
    other.execute("CREATE TABLE t AS SELECT 7 AS n").unwrap();
    let sql = "SELECT n FROM t";
    for connection in [&connection, &other, &connection] {
        assert_eq!(one(connection, sql), ScalarValue::from(7_i64));
    }
    connection.execute("DROP TABLE t").unwrap();
    connection.register("t", vec![numbers(3, 4)]).unwrap();
    assert_eq!(one(&connection, sql), ScalarValue::from(3_i64));
    assert!(other.query(sql).is_err());
}

#[test]
fn a_stream_is_read_once() {
    let connection = Database::in_memory().unwrap().connect();
    let reader = || {
        let batches: Vec<_> = (0..100).map(|part| Ok(numbers(part * 1000, part * 1000 + 1000))).collect();
        Box::new(RecordBatchIterator::new(batches, numbers(0, 0).schema()))
    };
    connection.register_stream("s", reader()).unwrap();
    // Planning does not read it.
    connection.execute("EXPLAIN FORMAT indent SELECT * FROM s").unwrap();
    assert_eq!(connection.prepare("SELECT * FROM s").unwrap().schema().unwrap().fields().len(), 2);
    assert_eq!(one(&connection, "SELECT sum(n) FROM s"), ScalarValue::Decimal128(Some(99_999 * 100_000 / 2), 38, 0));
    let error = connection.execute("SELECT count(*) FROM s").unwrap_err();
    assert_eq!(error.sqlstate(), "55000");
    assert!(error.to_string().starts_with("'s' is a stream that was read already"), "{error}");
    connection.register_stream("s", reader()).unwrap();
    assert!(connection.execute("SELECT * FROM s a JOIN s b ON a.n = b.n").is_err(), "it would be read twice");
    // One that fails says so, and nothing of it is stored.
    let failing: Vec<Result<RecordBatch, arrow::error::ArrowError>> =
        vec![Ok(numbers(0, 10)), Err(arrow::error::ArrowError::ComputeError("the sensor is gone".into()))];
    connection.register_stream("s", Box::new(RecordBatchIterator::new(failing, numbers(0, 0).schema()))).unwrap();
    let error = connection.execute("CREATE TABLE t AS SELECT * FROM s").unwrap_err();
    assert!(error.to_string().contains("the sensor is gone"), "{error}");
    assert_eq!(connection.execute("SELECT * FROM t").unwrap_err().sqlstate(), "42P01");
    // A limit ends the reading.
    connection.register_stream("s", reader()).unwrap();
    assert_eq!(connection.execute("SELECT * FROM s LIMIT 3").unwrap(), 3);
}

#[test]
fn types_become_those_that_keep_their_values() {
    let connection = Database::in_memory().unwrap().connect();
    let dictionary: DictionaryArray<Int32Type> = vec![Some("a"), None, Some("a")].into_iter().collect();
    let columns: Vec<(&str, ArrayRef, DataType)> = vec![
        ("large", Arc::new(LargeStringArray::from(vec![Some("x"), None, Some("y")])), DataType::Utf8View),
        ("view", Arc::new(StringViewArray::from(vec![Some("x"), None, Some("y")])), DataType::Utf8View),
        ("dictionary", Arc::new(dictionary), DataType::Utf8View),
        ("bytes", Arc::new(BinaryArray::from_vec(vec![b"x", b"", b"\xff"])), DataType::BinaryView),
        ("half", Arc::new(Float16Array::from_iter_values([half(1.0), half(0.5), half(2.0)])), DataType::Float32),
        (
            "wide",
            Arc::new(
                Decimal256Array::from_iter_values([1.into(), 2.into(), 3.into()])
                    .with_precision_and_scale(38, 2)
                    .unwrap(),
            ),
            DataType::Decimal128(38, 2),
        ),
    ];
    for (name, values, expected) in columns {
        connection.register("t", vec![RecordBatch::try_from_iter([(name, Arc::clone(&values))]).unwrap()]).unwrap();
        let batches = connection.query(&format!("SELECT \"{name}\" FROM t")).unwrap().collect_batches().unwrap();
        assert_eq!(batches[0].schema().field(0).data_type(), &expected, "{name}");
        assert_eq!(batches[0].column(0), &arrow::compute::cast(&values, &expected).unwrap(), "{name}");
    }
}

fn half(value: f32) -> <arrow::datatypes::Float16Type as arrow::datatypes::ArrowPrimitiveType>::Native {
    <arrow::datatypes::Float16Type as arrow::datatypes::ArrowPrimitiveType>::Native::from_f32(value)
}

#[test]
fn what_can_not_be_registered_is_refused_by_name() {
    let connection = Database::in_memory().unwrap().connect();
    connection.execute("CREATE TABLE t (n INT); CREATE VIEW v AS SELECT 1").unwrap();
    for (name, code) in [("t", "42P07"), ("v", "42P07"), ("gingham_tables", "42939"), ("other.t", "0A000")] {
        assert_eq!(connection.register(name, vec![numbers(0, 1)]).unwrap_err().sqlstate(), code, "{name}");
    }
    assert_eq!(connection.register("r", Vec::new()).unwrap_err().sqlstate(), "42P16");
    let different: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    let different = RecordBatch::try_from_iter([("n", different)]).unwrap();
    assert_eq!(connection.register("r", vec![numbers(0, 1), different]).unwrap_err().sqlstate(), "42804");
    let huge = Decimal256Array::from_iter_values([1.into()]).with_precision_and_scale(60, 0).unwrap();
    let huge = RecordBatch::try_from_iter([("huge", Arc::new(huge) as ArrayRef)]).unwrap();
    let error = connection.register("r", vec![huge]).unwrap_err();
    assert!(error.to_string().starts_with("column 'huge' is of the Arrow type Decimal256"), "{error}");
    // What SQL can't store it can pass on.
    let inner: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let record: ArrayRef = Arc::new(StructArray::try_from(vec![("x", inner)]).unwrap());
    connection.register("r", vec![RecordBatch::try_from_iter([("s", record)]).unwrap()]).unwrap();
    assert_eq!(connection.execute("SELECT s FROM r").unwrap(), 2);
    let error = connection.execute("CREATE TABLE w AS SELECT s FROM r").unwrap_err();
    assert!(error.to_string().contains("column 's'"), "{error}");
}
