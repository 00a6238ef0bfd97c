//! COPY with streams of the program.

use gingham::{Connection, Database, Error, Result, StatementHandle};
use parquet::basic::{LogicalType, TimeUnit};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, Instant};

fn copy_in(connection: &Connection, sql: &str, from: &mut dyn Read) -> Result<u64> {
    connection.copy_in(sql, from, &StatementHandle::new())
}

fn copy_out(connection: &Connection, sql: &str, to: &mut dyn io::Write) -> Result<u64> {
    connection.copy_out(sql, to, &StatementHandle::new())
}

fn table() -> Connection {
    let connection = Database::in_memory().unwrap().connect();
    connection.execute("CREATE TABLE t (n INTEGER NOT NULL, word VARCHAR, x DOUBLE)").unwrap();
    connection
}

#[test]
fn what_is_copied_out_is_copied_in() {
    let connection = table();
    connection
        .execute("INSERT INTO t SELECT value, CASE WHEN value % 7 = 0 THEN NULL ELSE 'w, ' || value END, value / 4e0 FROM generate_series(1, 5000)")
        .unwrap();
    for options in [
        "",
        "(FORMAT csv, HEADER true)",
        "(FORMAT parquet)",
        "(FORMAT json)",
        "(FORMAT arrow)",
        "(DELIMITER ';')",
        "BINARY",
    ] {
        let mut bytes = Vec::new();
        assert_eq!(
            copy_out(&connection, &format!("COPY t TO STDOUT {options}"), &mut bytes).unwrap(),
            5000,
            "{options}"
        );
        let other = table();
        let copied = copy_in(&other, &format!("COPY t FROM STDIN {options}"), &mut bytes.as_slice()).unwrap();
        assert_eq!(copied, 5000, "{options}");
        let sums = "SELECT sum(n) AS n, count(word) AS words, sum(x) AS x, max(word) AS word FROM t";
        let [own, theirs] = [&connection, &other].map(|own| own.query(sums).unwrap().collect_batches().unwrap());
        assert_eq!(own, theirs, "{options}");
    }
    let mut bytes = Vec::new();
    let query = "COPY (SELECT n, x FROM t WHERE n < 3 ORDER BY n) TO STDOUT (FORMAT csv, HEADER true)";
    assert_eq!(copy_out(&connection, query, &mut bytes).unwrap(), 2);
    assert_eq!(String::from_utf8(bytes).unwrap(), "n,x\n1,0.25\n2,0.5\n");
    let mut nothing = Vec::new();
    assert_eq!(
        copy_out(&connection, "COPY (SELECT n FROM t WHERE n < 0) TO STDOUT (HEADER false)", &mut nothing).unwrap(),
        0
    );
    assert_eq!(nothing, b"");
}

#[test]
fn a_copy_is_all_or_nothing() {
    let connection = table();
    let error = copy_in(&connection, "COPY t (n, word) FROM STDIN", &mut "1\ta\nx\tb\n".as_bytes()).unwrap_err();
    assert!(error.to_string().starts_with("COPY t, line 2, column 'n': "), "{error}");
    assert_eq!(error.sqlstate(), "22P02");
    struct Breaks(u32);
    impl Read for Breaks {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0 += 1;
            let row = b"1\ta\t0.5\n";
            buffer[..row.len()].copy_from_slice(row);
            if self.0 < 10 { Ok(row.len()) } else { Err(io::Error::other("the line is dead")) }
        }
    }
    let error = copy_in(&connection, "COPY t FROM STDIN", &mut Breaks(0)).unwrap_err();
    assert!(matches!(&error, Error::Io(text) if text.contains("the line is dead")), "{error}");
    assert_eq!(connection.table("t").unwrap().rows(), 0);
    // In a transaction it is part of that.
    connection.execute("BEGIN").unwrap();
    assert_eq!(copy_in(&connection, "COPY t FROM STDIN", &mut "1\ta\t0.5\n".as_bytes()).unwrap(), 1);
    connection.execute("ROLLBACK").unwrap();
    assert_eq!(connection.table("t").unwrap().rows(), 0);
}

#[test]
fn other_statements_are_refused() {
    let connection = table();
    let mut bytes = Vec::new();
    for sql in ["SELECT 1", "COPY t FROM 'file.csv'", "COPY t TO STDOUT"] {
        assert_eq!(copy_in(&connection, sql, &mut io::empty()).unwrap_err().sqlstate(), "22023", "{sql}");
    }
    for sql in ["SELECT 1", "COPY t TO 'file.csv'", "COPY t FROM STDIN"] {
        assert_eq!(copy_out(&connection, sql, &mut bytes).unwrap_err().sqlstate(), "22023", "{sql}");
    }
    for sql in ["COPY t FROM STDIN", "COPY t TO STDOUT", "COPY t FROM PROGRAM 'ls'"] {
        assert_eq!(connection.execute(sql).unwrap_err().sqlstate(), "0A000", "{sql}");
    }
    assert_eq!(
        copy_in(&connection, "COPY t FROM STDIN (HEADER perhaps)", &mut io::empty()).unwrap_err().sqlstate(),
        "42601"
    );
    assert_eq!(copy_out(&connection, "COPY nosuch TO STDOUT", &mut bytes).unwrap_err().sqlstate(), "42P01");
    assert_eq!(copy_in(&connection, "COPY t FROM STDIN", &mut io::empty()).unwrap(), 0);
}

/// The SQLSTATE and the text of a COPY that fails.
fn copy_fails(connection: &Connection, to: &Path) -> (&'static str, String) {
    let error = connection.execute(&format!("COPY t TO '{}' (FORMAT csv)", to.display())).unwrap_err();
    (error.sqlstate(), error.to_string())
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_copy_that_can_not_be_written_leaves_what_was_there() {
    let (connection, root) = (table(), tempfile::tempdir().unwrap());
    connection.execute("INSERT INTO t SELECT value, 'a word', 1 FROM generate_series(1, 100000)").unwrap();
    let at = |name: &str| root.path().join(name);
    std::fs::write(at("kept.csv"), "kept").unwrap();
    assert_eq!(copy_fails(&connection, &at("no/such/x.csv")).0, "58P01");
    assert_eq!(copy_fails(&connection, root.path()).0, "42809");
    let (state, text) = copy_fails(&connection, Path::new("/dev/full"));
    assert_eq!((state, text.as_str()), ("53100", "COPY TO '/dev/full': No space left on device (os error 28)"));
    // The query fails after rows were written.
    let late = format!(
        "COPY (SELECT n, 1 / (n - 99999) AS x FROM t ORDER BY n) TO '{}' (FORMAT csv)",
        at("kept.csv").display()
    );
    assert_eq!(connection.execute(&late).unwrap_err().sqlstate(), "22012");
    assert_eq!(names(root.path()), ["kept.csv"]);
    assert_eq!(std::fs::read_to_string(at("kept.csv")).unwrap(), "kept");
}

#[test]
fn a_copy_that_is_cancelled_leaves_nothing() {
    let (connection, root) = (table(), tempfile::tempdir().unwrap());
    let place = root.path().join("x.csv");
    let sql = format!("COPY (SELECT value FROM generate_series(1, 2000000000)) TO '{}'", place.display());
    std::thread::scope(|scope| {
        let copying = scope.spawn(|| connection.execute(&sql));
        while names(root.path()).is_empty() {
            std::thread::sleep(Duration::from_millis(5));
        }
        connection.cancel_handle().cancel();
        assert!(matches!(copying.join().unwrap(), Err(Error::Cancelled)));
    });
    // What was being written is closed and removed by a thread of its own.
    let started = Instant::now();
    while !names(root.path()).is_empty() && started.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(names(root.path()), [""; 0]);
}

#[test]
fn a_copy_writes_files_folders_and_pipes() {
    let (connection, root) = (table(), tempfile::tempdir().unwrap());
    connection.execute("INSERT INTO t VALUES (1, 'a', 2), (2, NULL, 3)").unwrap();
    let copy = |name: &str, options: &str| {
        let sql = format!("COPY t TO '{}{name}' {options}", root.path().join("").display());
        connection.execute(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    };
    let text = |name: &str| std::fs::read_to_string(root.path().join(name)).unwrap();
    // A name without an ending is a file too.
    assert_eq!((copy("plain", "(FORMAT csv)"), text("plain").as_str()), (2, "n,word,x\n1,a,2\n2,,3\n"));
    assert_eq!(copy("a [1]*.csv", ""), 2);
    assert_eq!(text("a [1]*.csv"), text("plain"));
    // A folder takes more files each time.
    assert_eq!((copy("parts/", "(FORMAT csv)"), copy("parts/", "(FORMAT csv)")), (2, 2));
    assert_eq!(names(&root.path().join("parts")).len(), 2);
    assert_eq!(copy("by", "STORED AS CSV PARTITIONED BY (n)"), 2);
    assert_eq!(names(&root.path().join("by")), ["n=1", "n=2"]);
    connection.execute("COPY t TO '/dev/null' (FORMAT csv)").unwrap();
    let pipe = root.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    std::thread::scope(|scope| {
        let read = scope.spawn(|| std::fs::read_to_string(&pipe).unwrap());
        copy("pipe", "(FORMAT csv)");
        assert_eq!(read.join().unwrap(), text("plain"));
    });
    let sql = format!("COPY t TO '{}'", root.path().join("plain").display());
    let error = connection.execute(&sql).unwrap_err().to_string();
    assert!(error.contains("the name has no ending that tells the format; say it, as in (FORMAT csv)"), "{error}");
}

/// Programs without Arrow see the types that a Parquet file says itself.
#[test]
fn parquet_files_say_their_types() {
    let connection = Database::in_memory().unwrap().connect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("types.parquet");
    connection
        .execute(
            "CREATE TABLE types (s TIMESTAMP(0), ms TIMESTAMP(3), us TIMESTAMP, ns TIMESTAMP(9), z TIMESTAMP(0) WITH TIME ZONE, t TIME(0), d DATE, \
             n DECIMAL(10,2), w DECIMAL(38,0), c CHAR(3), b BOOLEAN, u SMALLINT)",
        )
        .unwrap();
    let row = "'2024-02-29 12:30:01', '2024-02-29 12:30:01.5', '2024-02-29 12:30:01.25', '2024-02-29 12:30:01.125', '2024-02-29 12:30:01', \
        '12:30:01', '2024-02-29', 1.25, 7, 'abc', true, 3";
    connection.execute(&format!("INSERT INTO types VALUES ({row})")).unwrap();
    connection.execute(&format!("COPY types TO '{}'", path.display())).unwrap();
    let file = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
    let schema = file.metadata().file_metadata().schema_descr_ptr();
    let types: Vec<String> = schema.columns().iter().map(|column| told(column)).collect();
    let expected = [
        "s Timestamp(MILLIS)",
        "ms Timestamp(MILLIS)",
        "us Timestamp(MICROS)",
        "ns Timestamp(NANOS)",
        "z Timestamp(MILLIS, UTC)",
        "t Time(MILLIS)",
        "d Date",
        "n Decimal(10, 2)",
        "w Decimal(38, 0)",
        "c String",
        "b BOOLEAN",
        "u Integer(16)",
    ];
    assert_eq!(types, expected);
    let all = |from: &str| {
        connection.query(&format!(
            "SELECT CAST(s AS VARCHAR) AS s, CAST(z AS VARCHAR) AS z, CAST(t AS VARCHAR) AS t FROM {from}"
        ))
    };
    let [own, read] = ["types".to_owned(), format!("'{}'", path.display())]
        .map(|from| all(&from).unwrap().collect_batches().unwrap());
    assert_eq!(own, read);
    connection.execute("CREATE TABLE again (s TIMESTAMP(0), t TIME(0))").unwrap();
    connection.execute(&format!("INSERT INTO again SELECT s, t FROM '{}'", path.display())).unwrap();
}

/// A column's name and what its file says of its type.
fn told(column: &ColumnDescriptor) -> String {
    let kind = match column.logical_type_ref() {
        Some(LogicalType::Timestamp(own)) => {
            format!("Timestamp({}{})", told_unit(own.unit), if own.is_adjusted_to_u_t_c { ", UTC" } else { "" })
        }
        Some(LogicalType::Time(own)) => format!("Time({})", told_unit(own.unit)),
        Some(LogicalType::Decimal(own)) => format!("Decimal({}, {})", own.precision, own.scale),
        Some(LogicalType::Integer(own)) => format!("Integer({})", own.bit_width),
        Some(other) => format!("{other:?}"),
        None => column.physical_type().to_string(),
    };
    format!("{} {kind}", column.name())
}

fn told_unit(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::MILLIS => "MILLIS",
        TimeUnit::MICROS => "MICROS",
        TimeUnit::NANOS => "NANOS",
    }
}
