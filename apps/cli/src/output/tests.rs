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

#[test]
fn jsonlines_are_objects_alone() {
    let text = written(Format::Jsonlines, &[sample()]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[2], "{\"n\":null,\"price\":-0.05,\"text\":null,\"day\":null,\"at\":null,\"x\":null,\"raw\":null}");
    assert_eq!(written(Format::Jsonlines, &[sample().slice(0, 0)]), "");
}

#[test]
fn tabs_and_lists_have_their_separators() {
    let batch = texts(&[("a b", &["x", "", "tab\there"]), ("c,d", &["it's|so", "q\"q", "z"])]);
    let batches = std::slice::from_ref(&batch);
    assert_eq!(written(Format::Tabs, batches), "a b\tc,d\nx\tit's|so\n\"\"\t\"q\"\"q\"\n\"tab\there\"\tz\n");
    assert_eq!(written(Format::List, batches), "a b|c,d\nx|it's|so\n|q\"q\ntab\there|z\n");
    let semicolons = Display { separator: Some(";".into()), headers: false, ..Display::new(Format::Csv) };
    assert_eq!(shown(&semicolons, &[texts(&[("a", &["x;y", "x,y"]), ("b", &["", "c"])])]).0, "\"x;y\";\"\"\nx,y;c\n");
}

#[test]
fn a_text_like_the_word_for_null_is_no_null() {
    let array: ArrayRef = Arc::new(StringViewArray::from(vec![Some("NULL"), None, Some("")]));
    let batch = [RecordBatch::try_from_iter([("a", array)]).expect("a batch")];
    let with = |format| shown(&Display { null: Some("NULL".into()), ..Display::new(format) }, &batch).0;
    assert_eq!(with(Format::Csv), "a\n\"NULL\"\nNULL\n\"\"\n");
    let own = Display { null: Some("<none>".into()), ..Display::new(Format::Table) };
    assert_eq!(shown(&own, &batch).0.lines().nth(4), Some("│ <none> │"));
    let own = Display { format: Format::Html, ..own };
    assert!(shown(&own, &batch).0.contains("<td>NULL</td></tr>\n<tr><td>&lt;none&gt;</td></tr>"));
    assert!(shown(&Display { format: Format::Markdown, ..own.clone() }, &batch).0.contains("| <none> |"));
    assert!(shown(&Display { format: Format::Line, ..own }, &batch).0.contains("a = <none>\n"));
}

#[test]
fn lines_name_each_value() {
    let batch = texts(&[("a", &["x", "two\nlines"]), ("long", &["", "\u{1b}"])]);
    let expected = "   a = x\nlong = \n\n   a = two\n       lines\nlong = \\u{1b}\n";
    assert_eq!(written(Format::Line, std::slice::from_ref(&batch)), expected);
    let expanded = Display { expanded: true, ..on_screen(5) };
    assert_eq!(shown(&expanded, &[batch]).0, expected);
}

#[test]
fn html_has_no_markup_of_the_values() {
    let columns: [(&str, ArrayRef); 2] = [
        ("<a>", Arc::new(StringViewArray::from(vec!["x & 'y'", "<script>\n\""]))),
        ("n", Arc::new(Int64Array::from(vec![Some(1), None]))),
    ];
    let batch = [RecordBatch::try_from_iter(columns).expect("a batch")];
    let rows = "<tr><td>x &amp; &#39;y&#39;</td><td align=\"right\">1</td></tr>\n\
                <tr><td>&lt;script&gt;<br>&quot;</td><td align=\"right\">NULL</td></tr>\n</table>\n";
    let all = format!("<table>\n<tr><th>&lt;a&gt;</th><th>n</th></tr>\n{rows}");
    assert_eq!(written(Format::Html, &batch), all);
    let bare = Display { headers: false, ..Display::new(Format::Html) };
    assert_eq!(shown(&bare, &batch).0, format!("<table>\n{rows}"));
}

#[test]
fn insert_quotes_what_is_no_number() {
    assert_eq!(
        written(Format::Insert, &[sample()]),
        "INSERT INTO t (n, price, text, day, at, x, raw) VALUES \
         (1, 1.50, 'a,\"b\"', '1970-01-01', '1970-01-01 00:00:00', 0.1e0, '\\x01ff');\n\
         INSERT INTO t (n, price, text, day, at, x, raw) VALUES \
         (9007199254740993, NULL, '', '1969-12-31', '1970-01-01 00:00:01.5', 'NaN', '\\x');\n\
         INSERT INTO t (n, price, text, day, at, x, raw) VALUES (NULL, -0.05, NULL, NULL, NULL, NULL, NULL);\n"
    );
    let own = Display { insert_table: "s.\"T\"".into(), headers: false, ..Display::new(Format::Insert) };
    assert_eq!(shown(&own, &[texts(&[("a", &["it's"])])]).0, "INSERT INTO s.\"T\" VALUES ('it''s');\n");
    let names = shown(&Display::new(Format::Insert), &[texts(&[("select", &["x"]), ("A b", &["y"])])]).0;
    assert_eq!(names, "INSERT INTO t (\"select\", \"A b\") VALUES ('x', 'y');\n");
}

#[test]
fn a_plan_is_its_lines() {
    let plan = [texts(&[("plan", &["scan of t  1 row", "└─ filter"])])];
    let written = |display: &Display, sql: &str| {
        let mut out = Vec::new();
        let mut writer = display.writer(sql, &plan[0].schema());
        writer.batch(&mut out, &plan[0]).expect("rows");
        let counted = writer.finish(&mut out).expect("the end").is_some();
        (String::from_utf8(out).expect("UTF-8"), counted)
    };
    let lines = "scan of t  1 row\n└─ filter\n".to_owned();
    assert_eq!(written(&on_screen(10), "EXPLAIN SELECT 1"), (lines, false));
    assert!(written(&on_screen(80), "SELECT plan FROM plans").0.starts_with('┌'));
    assert_eq!(written(&Display::new(Format::Csv), "EXPLAIN SELECT 1").0, "plan\nscan of t  1 row\n└─ filter\n");
}

/// A result with wide characters and 12 columns, as a screen of so many columns shows it.
fn wide(columns: usize) -> String {
    let cells: [(&str, &[&str]); 12] = [
        ("id", &["1", "2"]),
        ("名前", &["東京特許許可局東京特許許可局", "Ω"]),
        ("c", &["3", "4"]),
        ("family", &["👩‍👩‍👧‍👦", "🇩🇪🇫🇷"]),
        ("e", &["5", "6"]),
        ("f", &["7", "8"]),
        ("cafe\u{301}", &["e\u{301}e\u{301}", "x"]),
        ("h", &["a rather long text that goes on for a while", ""]),
        ("i", &["9", "10"]),
        ("j", &["11", "12"]),
        ("k", &["13", "14"]),
        ("last", &["15", "another long text with an 👍🏽 in it"]),
    ];
    let (text, _) = shown(&on_screen(columns), &[texts(&cells)]);
    for line in text.lines() {
        assert!(unicode_width::UnicodeWidthStr::width(line) <= columns, "{columns}: {text}");
    }
    text
}

#[test]
fn tables_are_fitted_to_screens() {
    let lines = |columns| wide(columns).lines().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(
        lines(60),
        [
            "┌────┬──────────────────────┬───┬───┬──────────────────────┐",
            "│ id │ 名前                 │ c │ … │ last                 │",
            "├────┼──────────────────────┼───┼───┼──────────────────────┤",
            "│ 1  │ 東京特許許可局東京…  │ 3 │ … │ 15                   │",
            "│ 2  │ Ω                    │ 4 │ … │ another long text w… │",
            "└────┴──────────────────────┴───┴───┴──────────────────────┘",
        ]
    );
    assert_eq!(
        lines(80),
        [
            "┌────┬───────────────────────┬───┬────────┬───┬────┬────┬──────────────────────┐",
            "│ id │ 名前                  │ c │ family │ … │ j  │ k  │ last                 │",
            "├────┼───────────────────────┼───┼────────┼───┼────┼────┼──────────────────────┤",
            "│ 1  │ 東京特許許可局東京特… │ 3 │ 👩\u{200d}👩\u{200d}👧\u{200d}👦     │ … │ 11 │ 13 │ 15                   │",
            "│ 2  │ Ω                     │ 4 │ 🇩🇪🇫🇷   │ … │ 12 │ 14 │ another long text w… │",
            "└────┴───────────────────────┴───┴────────┴───┴────┴────┴──────────────────────┘",
        ]
    );
    assert_eq!(wide(200).lines().nth(1).map(|names| names.matches('│').count()), Some(13), "{}", wide(200));
    assert!(wide(200).contains("│ 東京特許許可局東京特許許可局 │ 3 │ 👩‍👩‍👧‍👦     │"), "{}", wide(200));
}

#[test]
fn what_is_left_out_is_told() {
    let many: Vec<(String, ArrayRef)> =
        (0..16).map(|at| (format!("column{at}"), Arc::new(Int64Array::from(vec![at; 3])) as ArrayRef)).collect();
    let batch = RecordBatch::try_from_iter(many).expect("a batch");
    let (text, told) = shown(&on_screen(80), std::slice::from_ref(&batch));
    assert_eq!(told, Some(Shown { rows: None, columns: Some((7, 16)) }), "{text}");
    assert!(text.contains("│ column3 │ … │ column13 │"), "{text}");
    // A file gets all.
    let (text, told) = shown(&Display::new(Format::Table), &[batch]);
    assert!(told.is_some_and(Shown::is_all) && text.contains("column8"), "{text}");
}

#[test]
fn a_screen_shows_the_first_and_the_last_rows() {
    let (text, told) = shown(&on_screen(80), &[numbers(0..40)]);
    assert!(told.is_some_and(Shown::is_all) && text.lines().count() == 44, "{text}");
    let (text, told) = shown(&on_screen(80), &[numbers(1000..1010), numbers(1010..9000), numbers(9000..9005)]);
    assert_eq!(told, Some(Shown { rows: Some(40), columns: None }));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines.len(), lines[3], lines[22]), (45, "│ 1000 │", "│ 1019 │"));
    assert_eq!(lines[23..25], ["│    · │", "│ 8985 │"]);
    assert_eq!(lines[43], "│ 9004 │");
    let three = Display { max_rows: Some(3), ..on_screen(80) };
    let (text, _) = shown(&three, &[numbers(0..9)]);
    assert_eq!(text, "┌───┐\n│ n │\n├───┤\n│ 0 │\n│ 1 │\n│ · │\n│ 8 │\n└───┘\n");
    let one = Display { max_rows: Some(1), headers: false, ..on_screen(80) };
    assert_eq!(shown(&one, &[numbers(0..9)]).0, "┌───┐\n│ 0 │\n│ · │\n└───┘\n");
}

#[test]
fn all_rows_are_shown_where_they_are_wanted() {
    let all = Display { max_rows: Some(0), ..on_screen(80) };
    assert_eq!(shown(&all, &[numbers(0..9000)]).0.lines().count(), 9004);
    let long = "long ".repeat(50);
    assert!(shown(&all, &[texts(&[("a", &[&long])])]).0.contains(&long), "the pager goes to the right");
    // No screen, no limit.
    let file = Display { max_rows: Some(3), ..Display::new(Format::Table) };
    assert_eq!(shown(&file, &[numbers(0..50)]).0.lines().count(), 54);
    // Other formats are for programs, which want all.
    let csv = Display { max_rows: Some(3), format: Format::Csv, ..on_screen(5) };
    assert_eq!(shown(&csv, &[numbers(100_000..100_050)]).0.lines().count(), 51);
}

#[test]
fn widths_of_the_users_are_kept() {
    let batch = texts(&[("a", &["abcdefgh"]), ("b", &["x"]), ("c", &["abcdefgh"])]);
    let display = Display { widths: vec![4, 0], ..Display::new(Format::Table) };
    let (text, _) = shown(&display, std::slice::from_ref(&batch));
    assert_eq!(text.lines().nth(3), Some("│ abc… │ x │ abcdefgh │"));
    let (text, _) = shown(&Display { widths: vec![0, 5], ..Display::new(Format::Table) }, &[batch]);
    assert_eq!(text.lines().nth(3), Some("│ abcdefgh │ x     │ abcdefgh │"));
}
