//! Files that a query reads in place: names that look like patterns, patterns, several files, large ones, and mistakes.

use crate::{connect, failure, rows};

#[test]
fn names_and_patterns_of_files() {
    let (connection, folder) = (connect(), tempfile::tempdir().expect("a folder"));
    let path = |name: &str| folder.path().join(name).display().to_string();
    for (name, value) in [("a.csv", 1), ("b.csv", 2), ("x.csv", 3), ("[x].csv", 4), ("what?.csv", 5)] {
        std::fs::write(path(name), format!("n\n{value}\n")).expect("a file");
    }
    let sum = |name: &str| rows(&connection, &format!("SELECT count(*), sum(n) FROM '{}'", path(name)));
    // The file of that name, if there is one.
    assert_eq!(sum("[x].csv"), ["1|4"]);
    assert_eq!(sum("what?.csv"), ["1|5"]);
    assert_eq!(sum("a.csv"), ["1|1"]);
    assert_eq!(sum("[ab].csv"), ["2|3"]);
    assert_eq!(sum("?.csv"), ["3|6"]);
    assert_eq!(sum("*.csv"), ["5|15"]);
}

#[test]
fn what_is_not_there_or_has_nothing_in_it_is_refused_by_name() {
    let (connection, folder) = (connect(), tempfile::tempdir().expect("a folder"));
    let path = |name: &str| folder.path().join(name).display().to_string();
    let refused = |name: &str| {
        let error = failure(&connection, &format!("SELECT * FROM '{}'", path(name)));
        assert!(error.to_string().contains(&path(name)), "{error}");
        error.sqlstate()
    };
    std::fs::write(path("empty.parquet"), b"").expect("a file");
    assert_eq!(refused("empty.parquet"), "22P04");
    for name in ["none.csv", "none*.csv", "[n].csv", "none/*.parquet"] {
        assert_eq!(refused(name), "58P01", "{name}");
    }
}

/// A folder with a file, and its path as SQL has it.
fn file(name: &str, bytes: impl AsRef<[u8]>) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).expect("a file");
    let path = path.display().to_string();
    (folder, path)
}

#[test]
fn every_record_is_read_once_and_in_order() {
    use std::io::Write as _;
    const ROWS: i64 = 150_000;
    let plain: String = (0..ROWS).map(|row| format!("{row},{} {row},{}\n", "text".repeat(17), row % 7)).collect();
    let quoted: String = (0..ROWS).map(|row| format!("{row},\"{}\n{row}\",{}\n", "text".repeat(17), row % 7)).collect();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(plain.as_bytes()).expect("packed");
    let utf16: Vec<u8> = [0xff, 0xfe].into_iter().chain(plain.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    let files = [
        ("plain.csv", plain.clone().into_bytes()),
        ("quoted.csv", quoted.into_bytes()),
        ("packed.csv.gz", gzip.finish().expect("packed")),
        ("utf16.csv", utf16),
        (
            "objects.json",
            (0..ROWS)
                .map(|row| format!("{{\"column1\":{row},\"t\":\"{}\",\"column3\":{}}}\n", "text".repeat(17), row % 7))
                .collect::<String>()
                .into_bytes(),
        ),
    ];
    let connection = connect();
    for (name, bytes) in files {
        let (_folder, path) = file(name, bytes);
        for threads in [1, 2, 7] {
            connection.execute(&format!("SET gingham.threads = {threads}")).expect("a setting");
            let sums = format!("SELECT count(*), count(DISTINCT column1), sum(column1), sum(column3) FROM '{path}'");
            let thirds: i64 = (0..ROWS).map(|row| row % 7).sum();
            let expected = format!("{ROWS}|{ROWS}|{}|{thirds}", ROWS * (ROWS - 1) / 2);
            assert_eq!(rows(&connection, &sums), [expected], "{name}, {threads}");
            assert_eq!(rows(&connection, &format!("SELECT count(*) FROM '{path}'")), [ROWS.to_string()]);
            let all = rows(&connection, &format!("SELECT column1 FROM '{path}' WHERE column3 < 6"));
            let expected = (0..ROWS).filter(|row| row % 7 < 6).map(|row| row.to_string());
            assert!(all.iter().cloned().eq(expected), "{name}, {threads}: the order");
            let first = rows(&connection, &format!("SELECT column1 FROM '{path}' LIMIT 2 OFFSET 1"));
            assert_eq!(first, ["1", "2"], "{name}, {threads}");
        }
    }
}

#[test]
fn a_type_that_changes_behind_the_sample_is_an_error_by_line() {
    let text: String = (0..900_000).map(|row| format!("{row},x\n")).collect();
    let (_folder, path) = file("late.csv", format!("n,s\n{text}n/a,y\n1,z\n"));
    let connection = connect();
    let error = failure(&connection, &format!("SELECT sum(n) FROM '{path}'")).to_string();
    assert!(
        error.contains(
            "late.csv:900002, column 'n': value 'n/a' is not a valid BIGINT; the type was found by the first"
        )
    );
    assert!(error.contains("sample_size = -1") && error.contains("types = {'n': 'VARCHAR'}"), "{error}");
    // Who does not ask for the column does not hear of it.
    assert_eq!(rows(&connection, &format!("SELECT count(*), count(DISTINCT s) FROM '{path}'")), ["900002|3"]);
    let all = format!("SELECT max(n) FROM read_csv('{path}', sample_size = -1)");
    assert_eq!(rows(&connection, &all), ["n/a"]);
    assert_eq!(rows(&connection, &format!("SELECT max(n) FROM read_csv('{path}', sample_size = 1000000)")), ["n/a"]);
    let given = format!("SELECT count(n) FROM read_csv('{path}', types = {{'n': 'BIGINT'}}, ignore_errors = true)");
    assert_eq!(rows(&connection, &given), ["900001"]);
    let rejects = rows(&connection, "SELECT line, column_name, error FROM gingham_rejects");
    assert_eq!(rejects, ["900002|n|value 'n/a' is not a valid BIGINT"]);
}

#[test]
fn several_files_are_one_table() {
    let (connection, folder) = (connect(), tempfile::tempdir().expect("a folder"));
    let path = |name: &str| folder.path().join(name).display().to_string();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    };
    write("a.csv", "n,price\n1,2.5\n");
    write("b.csv", "n,paid\n2,true\n");
    write("c.csv", "n,price\n3,text\n");
    let error = failure(&connection, &format!("SELECT * FROM '{}'", path("[ab].csv"))).to_string();
    assert!(error.contains("b.csv does not have the columns of") && error.contains("union_by_name"), "{error}");
    let union = format!(
        "SELECT n, price, paid, filename LIKE '%b.csv' FROM read_csv('{}', union_by_name = true, filename = true)",
        path("[ab].csv")
    );
    assert_eq!(rows(&connection, &union), ["1|2.5||false", "2||true|true"]);
    let listed = format!("SELECT n, price FROM read_csv(['{}', '{}'])", path("a.csv"), path("c.csv"));
    assert_eq!(rows(&connection, &listed), ["1|2.5", "3|text"]);
    for (year, town) in [(2024, "Oslo"), (2025, "New%20York")] {
        write(&format!("sales/year={year}/town={town}/part.csv"), &format!("n\n{year}\n"));
    }
    write("sales/_log/x.csv", "no,such,columns\n");
    let folders = format!("SELECT n, year, town FROM '{}/' ORDER BY 1", path("sales"));
    assert_eq!(rows(&connection, &folders), ["2024|2024|Oslo", "2025|2025|New York"]);
    let without =
        format!("SELECT * FROM read_csv('{}', hive_partitioning = false) ORDER BY 1", path("sales/*/*/*.csv"));
    assert_eq!(rows(&connection, &without), ["2024", "2025"]);
    write("y.csv", "n\n1\n");
    let refused = format!(
        "SELECT * FROM read_csv(['{}', '{}'], hive_partitioning = true)",
        path("y.csv"),
        path("sales/year=2024/town=Oslo/part.csv")
    );
    assert!(failure(&connection, &refused).to_string().contains("folders of the same names"));
    write("x.csv", "n,filename\n1,2\n");
    let twice = failure(&connection, &format!("SELECT * FROM read_csv('{}', filename = true)", path("x.csv")));
    assert!(twice.to_string().contains("has a column 'filename' already"), "{twice}");
    connection
        .execute(&format!("CREATE EXTERNAL TABLE s (n INT) STORED AS CSV PARTITIONED BY (year, town) LOCATION '{}/' OPTIONS ('format.has_header' 'true')", path("sales")))
        .expect("an external table");
    assert_eq!(rows(&connection, "SELECT sum(n), count(DISTINCT town) FROM s"), ["4049|2"]);
}

#[test]
fn files_are_left_out_by_folders_and_names() {
    let (connection, folder) = (connect(), tempfile::tempdir().expect("a folder"));
    for (year, month) in [(2024, 1), (2024, 2), (2025, 1)] {
        let place = folder.path().join(format!("year={year}/month={month}"));
        std::fs::create_dir_all(&place).expect("a folder");
        std::fs::write(place.join("part.csv"), format!("n,m\n{year},{month}\n")).expect("a file");
    }
    let all = format!("read_csv('{}/', filename = true)", folder.path().display());
    let read = |condition: &str| {
        let plan =
            rows(&connection, &format!("EXPLAIN FORMAT indent SELECT n FROM {all} WHERE {condition}")).join("\n");
        let parts = plan.split("parts=").nth(1).and_then(|rest| rest.split(',').next()).map(str::to_owned);
        (parts.unwrap_or(plan), rows(&connection, &format!("SELECT n, m FROM {all} WHERE {condition} ORDER BY 1, 2")))
    };
    let expected =
        |parts: &str, found: &[&str]| (parts.to_owned(), found.iter().map(|row| (*row).to_owned()).collect::<Vec<_>>());
    assert_eq!(read("year = 2024"), expected("2", &["2024|1", "2024|2"]));
    assert_eq!(read("year = 2024 AND month > 1"), expected("1", &["2024|2"]));
    assert_eq!(read("filename LIKE '%month=1%' AND m = 1"), expected("2", &["2024|1", "2025|1"]));
    assert_eq!(read("year = 1999"), expected("0", &[]));
    // A condition about records, too, leaves out no file.
    assert_eq!(read("year = 2025 OR m = 2"), expected("3", &["2024|2", "2025|1"]));
    assert_eq!(failure(&connection, &format!("SELECT n FROM {all} WHERE 1 / (year - 2024) > 5")).sqlstate(), "22012");
}

#[test]
fn records_are_left_out_before_their_columns_are_parsed() {
    let text: String = (0..5000)
        .map(|row| match row % 10 {
            3 => format!("{row},bad,\"t{row}\",,1.5\n"),
            7 => format!("{row},,t{row},2024-01-{:02},NaN\n", row % 28 + 1),
            _ => format!("{row},{},\"say \"\"t{row}\"\"\",2024-01-{:02},-0.0\n", row % 100, row % 28 + 1),
        })
        .collect();
    let (_folder, path) = file("some.csv", format!("id,n,s,d,x\n{text}"));
    let connection = connect();
    let types = "types = {'id': 'BIGINT', 'n': 'INTEGER', 's': 'VARCHAR', 'd': 'DATE', 'x': 'DOUBLE'}";
    let read = format!("read_csv('{path}', {types})");
    // The values that are no numbers stand in records that nobody wants.
    let wanted = format!(
        "SELECT id, n, s, d, (x + 0)::INT FROM {read} WHERE s LIKE 'say%' AND id BETWEEN 100 AND 104 AND d IS NOT NULL"
    );
    let plan = rows(&connection, &format!("EXPLAIN FORMAT indent {wanted}")).join("\n");
    assert!(plan.contains("filter=") && plan.contains("s@"), "{plan}");
    let line = |row: usize| format!("{row}|{}|say \"t{row}\"|2024-01-{:02}|0", row % 100, row % 28 + 1);
    assert_eq!(rows(&connection, &wanted), [100, 101, 102, 104].map(line));
    let error = failure(&connection, &format!("SELECT n FROM {read} WHERE id > 102")).to_string();
    assert!(error.contains("some.csv:105, column 'n': value 'bad' is not a valid INTEGER"), "{error}");
    let error = failure(&connection, &format!("SELECT id FROM {read} WHERE n = 5")).to_string();
    assert!(error.contains("some.csv:5, column 'n': value 'bad'"), "{error}");
    // All conditions that are looked at while reading, beside the same rows from a table.
    let ignoring = format!("read_csv('{path}', {types}, ignore_errors = true)");
    connection.execute(&format!("CREATE TABLE t AS SELECT * FROM {ignoring}")).expect("a table");
    for condition in [
        "n = 5",
        "n IS NULL",
        "n <> 5 AND d > DATE '2024-01-20'",
        "x = 0",
        "x > 1",
        "NOT (x < 1)",
        "s IN ('t17', 't27', 'say \"t9\"')",
        "s LIKE '%99%' OR n IS NOT DISTINCT FROM 7",
        "id % 10 = 7 AND n IS NULL",
        "d < DATE '2024-01-03' AND s > 't'",
        "n BETWEEN 20 AND 30 AND x <= 0",
        "FALSE",
    ] {
        let of = |table: &str| {
            rows(&connection, &format!("SELECT id, n, s, d, x + 0 FROM {table} WHERE {condition} ORDER BY id"))
        };
        assert_eq!(of(&ignoring), of("t"), "{condition}");
    }
}

#[test]
fn records_that_are_passed_over_are_counted() {
    let connection = connect();
    let (folder, path) = file("a.csv", "n\n1\nx\n3\ny\n");
    let told = || connection.notices().take().into_iter().map(|notice| notice.text).collect::<Vec<_>>();
    let query = format!("SELECT n FROM read_csv('{path}', types = ['INT'], ignore_errors = true)");
    assert_eq!(rows(&connection, &query), ["1", "3"]);
    let both = "2 records were passed over; SELECT * FROM gingham_rejects lists them";
    assert_eq!(told(), [both]);
    assert_eq!(told(), [""; 0]);
    connection.execute("CREATE TABLE t (n INT)").expect("a table");
    connection.execute(&format!("COPY t FROM '{path}' (ignore_errors true)")).expect("a copy");
    assert_eq!(told(), [both]);
    assert_eq!(rows(&connection, "SELECT line, column_name FROM gingham_rejects"), ["3|n", "5|n"]);
    // Many of them: 10,000 are kept, and all are counted.
    let many = folder.path().join("many.csv");
    std::fs::write(&many, format!("n\n{}", "x\n".repeat(25_000))).expect("a file");
    connection.execute(&format!("COPY t FROM '{}' (ignore_errors true)", many.display())).expect("a copy");
    assert_eq!(told(), ["25000 records were passed over; SELECT * FROM gingham_rejects lists 10000 of them"]);
    assert_eq!(rows(&connection, "SELECT count(*) FROM gingham_rejects"), ["10000"]);
}

#[test]
fn mistakes_in_options_are_named() {
    let connection = connect();
    let (_folder, path) = file("a.csv", "a,b\n1,2\n");
    let refused = |arguments: &str| failure(&connection, &format!("SELECT * FROM read_csv({arguments})")).to_string();
    for (arguments, expected) in [
        (format!("'{path}', headr = true"), "read_csv: there is no option 'headr'; the options are "),
        (format!("'{path}', header = 'perhaps'"), "option 'header' is true or false, not 'perhaps'"),
        (format!("'{path}', delim = chr(59)"), "option 'delim' is chr(59), which is no constant"),
        (format!("'{path}', true"), "true is no option; write name = value"),
        (format!("'{path}', types = {{'c': 'INT'}}"), "types: there is no column 'c'"),
        (format!("'{path}', types = {{'a': 'NUMBER8'}}"), "'a'"),
        (format!("'{path}', types = ['INT', 'INT', 'INT']"), "types gives 3 types, but there are 2 columns"),
        (format!("'{path}', columns = {{'a': 'INT'}}"), "columns gives 1 names and types, but the records of"),
        (format!("'{path}', names = ['x', 'y', 'z']"), "names gives 3 names"),
        (format!("'{path}', names = ['b']"), "would have two columns 'b'"),
        (format!("'{path}', encoding = 'ebcdic'"), "encoding 'ebcdic' is not known; there are utf-8"),
        (format!("'{path}', dateformat = 'DD.MM.YYYY'"), "is not a date format; write it as strftime does"),
        (format!("'{path}', delim = ',', comment = ','"), "',' is given as both delim and comment"),
        (format!("'{path}', format = 'parquet'"), "can't be read as Parquet"),
        ("7".to_owned(), "file '7' does not exist"),
        ("header = true".to_owned(), "the first argument is a file"),
    ] {
        let error = refused(&arguments);
        assert!(error.contains(expected), "{arguments}: {error}");
    }
    let error = failure(&connection, "SELECT * FROM read_cvs('a.csv')").to_string();
    assert!(error.contains("did you mean 'read_csv'?"), "{error}");
}
