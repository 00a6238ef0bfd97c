//! What COPY TO writes comes back as it was: random values of every type, through each format, read by FROM with the types said and by
//! COPY FROM into the same columns.

use crate::generator::Generator;
use crate::{connect, failure, rows};
use gingham::Connection;

/// Columns with values that a format may lose.
pub(crate) const COLUMNS: &[(&str, &str, &[&str])] = &[
    ("truth", "BOOLEAN", &["true", "false"]),
    ("tiny", "TINYINT", &["-128", "127", "0"]),
    ("whole", "BIGINT", &["-9223372036854775808", "9223372036854775807", "7", "0"]),
    ("\"un signed\"", "BIGINT UNSIGNED", &["18446744073709551615", "0"]),
    ("price", "DECIMAL(38,10)", &["-9999999999999999999999999999.9999999999", "0.0000000001", "12.50"]),
    ("real", "REAL", &["'NaN'", "'Infinity'", "'-Infinity'", "3.4028235e38", "1e-45", "0.1"]),
    (
        "float",
        "DOUBLE",
        &[
            "'NaN'",
            "'Infinity'",
            "'-Infinity'",
            "1.7976931348623157e308",
            "5e-324",
            "0.1",
            "1e15",
            "123456789012345680",
        ],
    ),
    ("day", "DATE", &["'2024-02-29'", "'0001-01-01'", "'0044-03-15 BC'", "'infinity'", "'-infinity'", "'9999-12-31'"]),
    ("clock", "TIME", &["'00:00:00'", "'23:59:59.999999'", "'12:30'"]),
    ("seconds", "TIMESTAMP(0)", &["'2024-02-29 13:45:01'", "'1970-01-01'"]),
    ("moment", "TIMESTAMP", &["'2024-02-29 13:45:01.000001'", "'0044-03-15 01:02:03 BC'", "'infinity'", "'-infinity'"]),
    ("zoned", "TIMESTAMP WITH TIME ZONE", &["'2024-02-29 13:45:01+02'", "'1969-12-31 23:59:59.5+00'", "'infinity'"]),
    (
        "text",
        "VARCHAR",
        &[
            "''",
            "'NULL'",
            "'null'",
            "' '",
            "' blanks '",
            "'a,b;c|d'",
            "'\"'",
            "'say \"\"x\"\"'",
            "E'two\\nlines'",
            "E'\\r\\n'",
            "E'a\\tb'",
            "'007'",
            "'1e5'",
            "'true'",
            "'2024-02-29'",
            "'naïve 日本 🙂'",
            "'\\'",
            "'\\N'",
            "'#'",
            "E'\\x01'",
            "'''it''s'''",
            "'a text that is longer than a view, with, commas'",
        ],
    ),
    ("fixed", "CHAR(3)", &["'ab'", "'abc'", "''"]),
    ("bytes", "BYTEA", &["'\\x'", "'\\x00ff'", "'\\x2c0a22'"]),
];

/// Names of the columns with their types, as `columns` takes them.
fn declared() -> String {
    let column = |(name, data_type, _): &(&str, &str, _)| format!("'{}': '{data_type}'", name.trim_matches('"'));
    format!("{{{}}}", COLUMNS.iter().map(column).collect::<Vec<_>>().join(", "))
}

/// A table `t` of random rows.
pub(crate) fn table(connection: &Connection, random: &mut Generator, count: usize) {
    let columns: Vec<String> = COLUMNS.iter().map(|(name, data_type, _)| format!("{name} {data_type}")).collect();
    connection.execute(&format!("CREATE OR REPLACE TABLE t (n BIGINT, {})", columns.join(", "))).expect("a table");
    let mut values = Vec::new();
    for number in 0..count {
        let mut row = vec![number.to_string()];
        for (_, data_type, pool) in COLUMNS {
            let value = if random.chance(20) { "NULL".to_owned() } else { (*random.pick(pool)).to_owned() };
            row.push(if *data_type == "BYTEA" && value != "NULL" { format!("{value}::BYTEA") } else { value });
        }
        values.push(format!("({})", row.join(", ")));
    }
    connection.execute(&format!("INSERT INTO t VALUES {}", values.join(", "))).expect("rows");
}

/// Asserts that a relation has the rows of `t`, NULL and the empty text told apart.
pub(crate) fn same(connection: &Connection, from: &str, what: &str) {
    for (one, other) in [("t", from), (from, "t")] {
        let lost = rows(
            connection,
            &format!("SELECT * FROM (SELECT * FROM {one} EXCEPT ALL SELECT * FROM {other}) q ORDER BY n LIMIT 2"),
        );
        assert!(lost.is_empty(), "{what}: in {one} alone: {lost:#?}");
    }
}

#[test]
fn text_comes_back_as_it_was() {
    let (connection, folder) = (connect(), tempfile::tempdir().expect("a folder"));
    let mut random = Generator::new(20_261_127);
    let columns = format!("{{'n': 'BIGINT', {}", &declared()[1..]);
    for round in 0..4 {
        table(&connection, &mut random, 300);
        for (file, write, read) in [
            ("a.csv", "", ""),
            ("b.csv", "(header false)", "header = false"),
            ("c.tsv", "", ""),
            ("d.csv.gz", "", ""),
            ("e.csv.zst", "(force_quote *)", ""),
            ("f.txt", "(format csv, delim ';', nullstr 'NULL')", "nullstr = 'NULL'"),
            ("g.csv", "(quote '''', escape '\\')", "quote = '''', escape = '\\'"),
            ("h.json", "", ""),
            ("i.json", "(array true)", ""),
            ("j.ndjson.gz", "", ""),
        ] {
            let path = folder.path().join(file).display().to_string();
            let what = format!("{file} {write}, round {round}");
            let threads = random.pick(&[1, 2, 3]);
            connection.execute(&format!("SET gingham.threads = {threads}")).expect("a setting");
            connection
                .execute(&format!("COPY t TO '{path}' {write}"))
                .unwrap_or_else(|error| panic!("{what}: {error}"));
            let function = if file.contains("json") { "read_json" } else { "read_csv" };
            let options = if read.is_empty() { String::new() } else { format!(", {read}") };
            same(&connection, &format!("{function}('{path}', columns = {columns}{options})"), &what);
            connection.execute("CREATE OR REPLACE TABLE again AS SELECT * FROM t LIMIT 0").expect("a table");
            let options = if read.is_empty() { String::new() } else { format!("({})", read.replace(" = ", " ")) };
            connection
                .execute(&format!("COPY again FROM '{path}' {options}"))
                .unwrap_or_else(|error| panic!("{what}: {error}"));
            same(&connection, "again", &format!("{what}, loaded"));
        }
    }
}

#[test]
fn files_of_columns_come_back_as_they_were() {
    let (connection, folder) = (connect(), tempfile::tempdir().expect("a folder"));
    let mut random = Generator::new(20_261_128);
    for (file, write) in [
        ("a.parquet", ""),
        ("b.parquet", "(compression zstd, row_group_size 70)"),
        ("c.parquet", "(compression uncompressed, dictionary false)"),
        ("d.arrow", ""),
    ] {
        table(&connection, &mut random, 300);
        let path = folder.path().join(file).display().to_string();
        connection.execute(&format!("COPY t TO '{path}' {write}")).unwrap_or_else(|error| panic!("{file}: {error}"));
        same(&connection, &format!("'{path}'"), file);
        connection.execute("CREATE OR REPLACE TABLE again AS SELECT * FROM t LIMIT 0").expect("a table");
        connection.execute(&format!("COPY again FROM '{path}'")).unwrap_or_else(|error| panic!("{file}: {error}"));
        same(&connection, "again", &format!("{file}, loaded"));
    }
}

#[test]
fn folders_of_files_come_back_as_they_were() {
    let (connection, folder) = (connect(), tempfile::tempdir().expect("a folder"));
    let mut random = Generator::new(20_261_129);
    for (round, (format, options, by)) in [
        ("csv", "", "text"),
        ("csv", "OPTIONS (compression gzip)", "truth, whole"),
        ("csv", "", "day, fixed"),
        ("json", "", "text, tiny"),
        ("parquet", "", "text"),
        ("parquet", "", "truth, day"),
    ]
    .into_iter()
    .enumerate()
    {
        table(&connection, &mut random, 300);
        let path = folder.path().join(format!("{round}")).display().to_string();
        // Two of them lie beside each other.
        let copy = format!(
            "COPY (SELECT * FROM t WHERE n % 2 = HALF) TO '{path}/' STORED AS {format} PARTITIONED BY ({by}) {options}"
        );
        for half in ["0", "1"] {
            let copied = connection.execute(&copy.replace("HALF", half));
            assert_eq!(copied.unwrap_or_else(|error| panic!("{copy}: {error}")), 150);
        }
        let own: Vec<&str> = by.split(", ").collect();
        let kept = COLUMNS.iter().filter(|(name, ..)| !own.contains(name));
        let kept: Vec<String> =
            kept.map(|(name, data_type, _)| format!("'{}': '{data_type}'", name.trim_matches('"'))).collect();
        let read = match format {
            "csv" | "json" => format!("read_{format}('{path}/', columns = {{'n': 'BIGINT', {}}})", kept.join(", ")),
            _ => format!("'{path}/'"),
        };
        let cast = |(name, data_type, _): &(&str, &str, _)| match own.contains(name) {
            true => format!("{name}::{data_type} AS {name}"),
            false => (*name).to_owned(),
        };
        let all: Vec<String> = COLUMNS.iter().map(cast).collect();
        same(&connection, &format!("(SELECT n, {} FROM {read})", all.join(", ")), &format!("{format} by {by}"));
    }
}

#[test]
fn more_folders_than_files_may_be_open() {
    let (connection, folder) = (connect(), tempfile::tempdir().expect("a folder"));
    let path = folder.path().display().to_string();
    let rows_of = "SELECT value AS n, value * 7 % 601 AS \"K\" FROM generate_series(1, 20000)";
    connection.execute(&format!("COPY ({rows_of}) TO '{path}/many/' STORED AS CSV PARTITIONED BY (k)")).expect("files");
    let sums = |of: &str| rows(&connection, &format!("SELECT count(*), count(DISTINCT n), sum(n * K) FROM {of}"));
    assert_eq!(sums(&format!("'{path}/many/'")), sums(&format!("({rows_of})")));
    assert_eq!(rows(&connection, &format!("SELECT count(DISTINCT k) FROM '{path}/many/'")), ["601"]);
    let error = failure(&connection, &format!("COPY ({rows_of}) TO '{path}/x/' STORED AS CSV PARTITIONED BY (n, k)"));
    assert!(error.to_string().contains("nothing is left to be written"), "{error}");
    let error = failure(&connection, &format!("COPY ({rows_of}) TO '{path}/x/' STORED AS JSON PARTITIONED BY (m)"));
    assert!(error.to_string().contains("PARTITIONED BY: column 'm' does not exist"), "{error}");
}

#[test]
fn nested_values_dates_in_formats_and_mistakes() {
    let (connection, folder) = (connect(), tempfile::tempdir().expect("a folder"));
    let written = |statement: &str, file: &str| {
        let path = folder.path().join(file);
        connection.execute(&statement.replace("FILE", &format!("'{}'", path.display()))).expect(statement);
        std::fs::read_to_string(path).expect("text")
    };
    let nested = "COPY (SELECT 1 AS a, [1, NULL, 2] AS l, {'x': 'q\"', 'y': [true]} AS r) TO FILE";
    assert_eq!(written(nested, "a.json"), "{\"a\":1,\"l\":[1,null,2],\"r\":{\"x\":\"q\\\"\",\"y\":[true]}}\n");
    assert_eq!(written("COPY (SELECT 1 AS a WHERE false) TO FILE (array true)", "b.json"), "[\n\n]\n");
    assert_eq!(written("COPY (SELECT 1 AS a WHERE false) TO FILE", "c.csv"), "a\n");
    let formats = "COPY (SELECT DATE '2024-02-29' AS d, TIMESTAMP '2024-02-29 13:45' AS t, DATE 'infinity' AS i) TO FILE \
                   (dateformat '%d.%m.%Y', timestampformat '%H:%M', header false)";
    assert_eq!(written(formats, "d.csv"), "29.02.2024,13:45,infinity\n");
    let quoted = "COPY (SELECT 1 AS a, 2 AS b, NULL AS c, '' AS d) TO FILE (force_quote (B))";
    assert_eq!(written(quoted, "e.csv"), "a,b,c,d\n1,\"2\",,\"\"\n");
    for (options, expected) in [
        ("(headr true)", "there is no option 'headr'; the options of text are array, "),
        ("(delim '||')", "option 'delim' is one character of ASCII, not '||'"),
        ("(force_quote (c))", "force_quote: column 'c' does not exist"),
        ("(nullstr 'a,b')", "neither the delimiter nor a line's end"),
        ("(dateformat 'DD.MM')", "is a format as strftime has it"),
        ("(compression lz4)", "option 'compression' is none, gzip or zstd, not 'lz4'"),
    ] {
        let path = folder.path().join("x.csv").display().to_string();
        let error = failure(&connection, &format!("COPY (SELECT 1 AS a) TO '{path}' {options}")).to_string();
        assert!(error.contains(expected), "{options}: {error}");
    }
    let path = folder.path().join("x.json").display().to_string();
    let error = failure(&connection, &format!("COPY (SELECT 1 AS a) TO '{path}' (header false)")).to_string();
    assert!(error.contains("option 'header' is one of CSV, not of JSON"), "{error}");
}
