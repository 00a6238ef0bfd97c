//! Formats, each against a text; and how tables fit screens.

use super::*;
use arrow::array::{
    ArrayRef, BinaryViewArray, Date32Array, Decimal128Array, Float64Array, Int64Array, StringViewArray,
    TimestampMicrosecondArray,
};
use std::sync::Arc;

fn sample() -> RecordBatch {
    let decimals = Decimal128Array::from(vec![Some(150), None, Some(-5)]).with_precision_and_scale(15, 2);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("n", Arc::new(Int64Array::from(vec![Some(1), Some(9_007_199_254_740_993), None]))),
        ("price", Arc::new(decimals.expect("a decimal"))),
        ("text", Arc::new(StringViewArray::from(vec![Some("a,\"b\""), Some(""), None]))),
        ("day", Arc::new(Date32Array::from(vec![Some(0), Some(-1), None]))),
        ("at", Arc::new(TimestampMicrosecondArray::from(vec![Some(0), Some(1_500_000), None]))),
        ("x", Arc::new(Float64Array::from(vec![Some(0.1), Some(f64::NAN), None]))),
        ("raw", Arc::new(BinaryViewArray::from(vec![Some(&b"\x01\xff"[..]), Some(b""), None]))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .expect("a batch")
}

fn written(format: Format, batches: &[RecordBatch]) -> String {
    shown(&Display::new(format), batches).0
}

fn shown(display: &Display, batches: &[RecordBatch]) -> (String, Option<Shown>) {
    let mut out = Vec::new();
    let mut writer = display.writer("SELECT", &batches[0].schema());
    for batch in batches {
        writer.batch(&mut out, batch).expect("rows");
    }
    let shown = writer.finish(&mut out).expect("the end");
    (String::from_utf8(out).expect("UTF-8"), shown)
}

#[test]
fn csv_keeps_null_and_the_empty_string_apart() {
    assert_eq!(
        written(Format::Csv, &[sample()]),
        "n,price,text,day,at,x,raw\n\
         1,1.50,\"a,\"\"b\"\"\",1970-01-01,1970-01-01T00:00:00,0.1,\\x01ff\n\
         9007199254740993,,\"\",1969-12-31,1970-01-01T00:00:01.5,NaN,\\x\n\
         ,-0.05,,,,,\n"
    );
}

#[test]
fn json_is_json_and_exact() {
    let text = written(Format::Json, &[sample(), sample()]);
    let parsed: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(parsed.as_array().map(Vec::len), Some(6));
    assert_eq!(parsed[1]["n"].as_i64(), Some(9_007_199_254_740_993));
    assert!(text.contains("\"price\":1.50,\"text\":\"a,\\\"b\\\"\""), "{text}");
    assert_eq!(parsed[1]["x"], "NaN");
    assert!(parsed[2]["text"].is_null());
    assert_eq!(parsed[1]["text"], "");
}

#[test]
fn a_result_without_rows_keeps_its_shape() {
    let none = [sample().slice(0, 0)];
    assert_eq!(written(Format::Csv, &none), "n,price,text,day,at,x,raw\n");
    assert_eq!(written(Format::Json, &none), "[]\n");
    assert_eq!(written(Format::Markdown, &none).lines().count(), 2);
    assert_eq!(written(Format::Table, &none).lines().count(), 4);
}

#[test]
fn tables_are_aligned() {
    let text = written(Format::Table, &[sample()]);
    let widths: Vec<usize> = text.lines().map(unicode_width::UnicodeWidthStr::width).collect();
    assert!(widths.iter().all(|width| *width == widths[0]), "{text}");
    assert!(text.contains("│                1 │  1.50 │ a,\"b\" │ 1970-01-01 │"), "{text}");
    assert!(text.contains("NULL"), "{text}");
}

#[test]
fn lines_of_a_cell_stay_in_its_box() {
    let columns: [(&str, ArrayRef); 2] = [
        ("plan", Arc::new(StringViewArray::from(vec!["Sort\n  Scan of t\n", "one\ttab"]))),
        ("n", Arc::new(Int64Array::from(vec![1, 2]))),
    ];
    let text = written(Format::Table, &[RecordBatch::try_from_iter(columns).expect("a batch")]);
    let rows: Vec<&str> = text.lines().skip(3).collect();
    assert_eq!(rows[..3], ["│ Sort        │ 1 │", "│   Scan of t │   │", "│ one\\ttab    │ 2 │"], "{text}");
}

#[test]
fn a_long_table_opens_a_new_box_only_when_its_columns_widen() {
    let rows = |values: Vec<i64>| {
        RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from(values)) as ArrayRef)]).expect("a batch")
    };
    let narrow = written(Format::Table, &[rows(vec![1; 5000]), rows(vec![2; 5000])]);
    assert_eq!(narrow.lines().count(), 10_004);
    let wide = written(Format::Table, &[rows(vec![1; 5000]), rows(vec![1_000_000; 5000])]);
    assert_eq!(wide.lines().count(), 10_008);
}

#[test]
fn markdown_escapes_what_would_end_a_cell() {
    let batch = RecordBatch::try_from_iter([("a|b", Arc::new(StringViewArray::from(vec!["x|y\nz"])) as ArrayRef)])
        .expect("a batch");
    assert_eq!(written(Format::Markdown, &[batch]), "| a\\|b |\n|---|\n| x\\|y<br>z |\n");
}

/// A display for a screen of so many columns.
fn on_screen(columns: usize) -> Display {
    Display { screen: Some(Screen { columns, rows: 24 }), ..Display::new(Format::Table) }
}

fn texts(columns: &[(&str, &[&str])]) -> RecordBatch {
    let array = |values: &[&str]| Arc::new(StringViewArray::from(values.to_vec())) as ArrayRef;
    RecordBatch::try_from_iter(columns.iter().map(|(name, values)| (*name, array(values)))).expect("a batch")
}

fn numbers(range: std::ops::Range<i64>) -> RecordBatch {
    let array: ArrayRef = Arc::new(Int64Array::from_iter_values(range));
    RecordBatch::try_from_iter([("n", array)]).expect("a batch")
}
