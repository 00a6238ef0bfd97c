//! COPY with streams: what is written is read again whatever the pieces, mistakes and endings leave nothing, hostile bytes are
//! errors, and little memory is enough.

use crate::generator::Generator;
use crate::round_trips::{COLUMNS, same, table};
use crate::{connect, failure, rows};
use futures::StreamExt;
use futures::executor::block_on;
use gingham::{Connection, Database, Result, StatementHandle, TransactionStatus};

const FORMATS: &[&str] = &[
    "",
    "(FORMAT text, DELIMITER '|', NULL 'nil')",
    "(FORMAT csv)",
    "(FORMAT csv, HEADER true, DELIMITER ';', QUOTE '''', ESCAPE '\\', NULL 'nil')",
    "(FORMAT binary)",
];
const LAYOUTS: &[&str] = &["column", "row", "nsm", "pax", "byteslice"];

fn out(connection: &Connection, sql: &str) -> Result<Vec<u8>> {
    block_on(async {
        let mut copy = connection.start_copy_out(sql, &StatementHandle::new()).await?;
        let mut bytes = Vec::new();
        while let Some(piece) = copy.next().await {
            bytes.extend_from_slice(&piece?);
        }
        Ok(bytes)
    })
}

/// Sends bytes in pieces that end anywhere.
fn copied(connection: &Connection, sql: &str, bytes: &[u8], random: &mut Generator) -> Result<u64> {
    let mut sizes = std::iter::repeat_with(|| match random.between(0, 3) {
        0 => random.between(1, 3) as usize,
        1 => random.between(1, 300) as usize,
        _ => random.between(1, 400_000) as usize,
    });
    block_on(async {
        let mut copy = connection.start_copy_in(sql, &StatementHandle::new()).await?;
        let mut rest = bytes;
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(sizes.next().unwrap().min(rest.len()));
            copy.send(piece.to_vec().into()).await?;
            copy.flush().await?;
            rest = behind;
        }
        copy.finish().await
    })
}

/// A table like `t`.
fn make(connection: &Connection, layout: &str) {
    let columns: Vec<String> = COLUMNS.iter().map(|(name, data_type, _)| format!("{name} {data_type}")).collect();
    let sql = format!("CREATE OR REPLACE TABLE again (n BIGINT, {}) WITH (layout = '{layout}')", columns.join(", "));
    connection.execute(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

#[test]
fn what_is_written_is_read_again() {
    let (connection, mut random) = (connect(), Generator::new(20_261_128));
    for round in 0..4 {
        table(&connection, &mut random, 300);
        for options in FORMATS {
            let layout = random.pick(LAYOUTS);
            let what = format!("{options} {layout}, round {round}");
            connection.execute(&format!("SET gingham.threads = {}", random.pick(&[1, 2, 3]))).unwrap();
            let bytes = out(&connection, &format!("COPY t TO STDOUT {options}")).unwrap();
            make(&connection, layout);
            let sql = format!("COPY again FROM STDIN {options}");
            let found = copied(&connection, &sql, &bytes, &mut random);
            assert_eq!(found.unwrap_or_else(|error| panic!("{what}: {error}")), 300, "{what}");
            same(&connection, "again", &what);
            assert_eq!(
                out(&connection, &format!("COPY again TO STDOUT {options}")).unwrap().len(),
                bytes.len(),
                "{what}"
            );
        }
    }
}

#[test]
fn many_records_take_little_memory() {
    let (connection, mut random) = (connect(), Generator::new(7));
    table(&connection, &mut random, 400);
    let names: Vec<&str> = COLUMNS.iter().map(|(name, ..)| *name).collect();
    let more = format!("INSERT INTO t SELECT n + 1000 * i, {} FROM t, generate_series(1, 60) g(i)", names.join(", "));
    connection.execute(&more).unwrap();
    connection.execute("SET gingham.threads = 1").unwrap();
    for (options, layout) in FORMATS.iter().zip(LAYOUTS.iter().cycle()) {
        let what = format!("{options} {layout}");
        let bytes = out(&connection, &format!("COPY t TO STDOUT {options}")).unwrap();
        let other = connect();
        other.execute("SET gingham.memory_limit = '16MB'; SET gingham.threads = 2").unwrap();
        make(&other, layout);
        let found = copied(&other, &format!("COPY again FROM STDIN {options}"), &bytes, &mut random);
        assert_eq!(found.unwrap_or_else(|error| panic!("{what}: {error}")), 24_400, "{what}");
        let sums = "SELECT count(*), sum(n), count(truth), max(price), max(text), count(DISTINCT bytes), sum(tiny), min(zoned) FROM";
        assert_eq!(rows(&other, &format!("{sums} again")), rows(&connection, &format!("{sums} t")), "{what}");
        // Records stay in their order.
        other.execute("SET gingham.threads = 1").unwrap();
        let [own, theirs] = [(&other, "again"), (&connection, "t")]
            .map(|(own, from)| out(own, &format!("COPY (SELECT n FROM {from}) TO STDOUT")));
        assert!(own.unwrap() == theirs.unwrap(), "{what}");
    }
}

#[test]
fn an_end_of_any_other_kind_leaves_nothing() {
    let connection = connect();
    connection.execute("CREATE TABLE t (n INT PRIMARY KEY, word VARCHAR)").unwrap();
    let start = |sql: &str| block_on(connection.start_copy_in(sql, &StatementHandle::new()));
    let empty = || assert_eq!(rows(&connection, "SELECT count(*) FROM t"), ["0"]);
    let mut copy = start("COPY t FROM STDIN").unwrap();
    block_on(copy.send("1\ta\n".into())).unwrap();
    block_on(copy.flush()).unwrap();
    drop(copy);
    empty();
    let mut copy = start("COPY t FROM STDIN").unwrap();
    block_on(copy.send("1\ta\n".into())).unwrap();
    let error = block_on(copy.fail("no more"));
    assert_eq!((error.sqlstate(), error.to_string().as_str()), ("57014", "COPY from stdin failed: no more"));
    empty();
    // An error comes while more is sent.
    let mut copy = start("COPY t FROM STDIN").unwrap();
    let error = block_on(async {
        copy.send("x\ta\n".into()).await?;
        for number in 0..10_000_000 {
            copy.send(format!("{number}\ta\n").into()).await?;
        }
        Ok::<(), gingham::Error>(())
    });
    assert_eq!(error.unwrap_err().sqlstate(), "22P02");
    assert_eq!(block_on(copy.send("1\ta\n".into())).unwrap_err().sqlstate(), "55000");
    assert!(block_on(copy.finish()).is_err());
    empty();
    // Somebody cancels it while it waits for bytes.
    let handle = StatementHandle::new();
    let mut copy = block_on(connection.start_copy_in("COPY t FROM STDIN", &handle)).unwrap();
    block_on(copy.send("1\ta\n".into())).unwrap();
    handle.cancel();
    assert_eq!(block_on(copy.finish()).unwrap_err().sqlstate(), "57014");
    assert!(block_on(connection.start_copy_in("COPY t FROM STDIN", &handle)).is_err());
    empty();
}

#[test]
fn a_copy_is_a_part_of_its_transaction() {
    let connection = connect();
    connection.execute("CREATE TABLE t (n INT PRIMARY KEY)").unwrap();
    let mut random = Generator::new(1);
    let copy = |text: &str, random: &mut Generator| copied(&connection, "COPY t FROM STDIN", text.as_bytes(), random);
    connection.execute("BEGIN; INSERT INTO t VALUES (1)").unwrap();
    assert_eq!(copy("2\n3\n", &mut random).unwrap(), 2);
    assert_eq!(out(&connection, "COPY (SELECT n FROM t ORDER BY n) TO STDOUT").unwrap(), b"1\n2\n3\n");
    connection.execute("ROLLBACK").unwrap();
    assert_eq!(rows(&connection, "SELECT count(*) FROM t"), ["0"]);
    connection.execute("BEGIN; INSERT INTO t VALUES (1)").unwrap();
    assert_eq!(copy("1\n", &mut random).unwrap_err().sqlstate(), "23505");
    // What was there before it stays, as with any statement.
    assert_eq!(connection.transaction_status(), TransactionStatus::Open);
    assert_eq!(out(&connection, "COPY t TO STDOUT").unwrap(), b"1\n");
    connection.execute("ROLLBACK; BEGIN READ ONLY").unwrap();
    assert_eq!(copy("1\n", &mut random).unwrap_err().sqlstate(), "25006");
    connection.execute("ROLLBACK").unwrap();
    // Others write while one waits for its bytes.
    let waiting = block_on(connection.start_copy_in("COPY t FROM STDIN", &StatementHandle::new())).unwrap();
    connection.execute("INSERT INTO t VALUES (5)").unwrap();
    assert_eq!(block_on(waiting.finish()).unwrap(), 0);
}

#[test]
fn what_is_not_taken_is_not_made() {
    let connection = connect();
    let handle = StatementHandle::new();
    let sql = "COPY (SELECT value FROM generate_series(1, 1000000000000)) TO STDOUT";
    let mut copy = block_on(connection.start_copy_out(sql, &handle)).unwrap();
    assert!(block_on(copy.next()).unwrap().unwrap().starts_with(b"1\n2\n"));
    let before = copy.records();
    assert!(before > 0 && before < 1_000_000);
    handle.cancel();
    let ended = block_on(async {
        loop {
            match copy.next().await {
                Some(Ok(_)) => {}
                Some(Err(error)) => return error,
                None => panic!("it has no end"),
            }
        }
    });
    assert_eq!(ended.sqlstate(), "57014");
    let copy = block_on(connection.start_copy_out(sql, &StatementHandle::new())).unwrap();
    drop(copy);
    assert_eq!(rows(&connection, "SELECT 1"), ["1"]);
}

#[test]
fn hostile_bytes_are_errors() {
    let connection = connect();
    connection
        .execute("CREATE TABLE t (a INT, b TEXT, c DATE, d DECIMAL(10,2), e BYTEA, f TIMESTAMP, g BOOLEAN, h TIME, i DOUBLE)")
        .unwrap();
    connection
        .execute("INSERT INTO t VALUES (1, E'a\\tb\"c\\n', '2024-01-01', 1.5, '\\x00ff', '2024-01-01 01:02:03', true, '01:02:03', 0.5), (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (-7, 'é日', '1969-12-31', -99999999.99, '', 'infinity', false, '23:59:59', 'NaN')")
        .unwrap();
    let mut random = Generator::new(52);
    let special = b"\\.\n\r\t,\"'N\0\xff\xc3x07-";
    for options in FORMATS {
        let whole = out(&connection, &format!("COPY t TO STDOUT {options}")).unwrap();
        let other = connect();
        other.execute("CREATE TABLE t (a INT, b TEXT, c DATE, d DECIMAL(10,2), e BYTEA, f TIMESTAMP, g BOOLEAN, h TIME, i DOUBLE)").unwrap();
        for _ in 0..150 {
            let mut bytes = whole.clone();
            for _ in 0..random.between(1, 4) {
                let at = random.between(0, bytes.len() as i64 - 1) as usize;
                match random.between(0, 4) {
                    0 => bytes[at] = random.between(0, 255) as u8,
                    1 => bytes[at] = *random.pick(special),
                    2 => bytes.insert(at, *random.pick(special)),
                    3 => drop(bytes.remove(at)),
                    _ => bytes.truncate(at.max(1)),
                }
            }
            if let Err(error) = copied(&other, &format!("COPY t FROM STDIN {options}"), &bytes, &mut random) {
                assert!(!error.sqlstate().starts_with("XX"), "{options} {bytes:?}: {error}");
            }
        }
    }
}

#[test]
fn statements_that_do_not_run_say_why() {
    let connection = connect();
    connection.execute("CREATE TABLE t (n INT); CREATE VIEW v AS SELECT * FROM t").unwrap();
    let start_in = |sql: &str| block_on(connection.start_copy_in(sql, &StatementHandle::new())).map(drop).unwrap_err();
    let start_out =
        |sql: &str| block_on(connection.start_copy_out(sql, &StatementHandle::new())).map(drop).unwrap_err();
    for (sql, state) in [
        ("COPY t TO STDOUT", "22023"),
        ("COPY v FROM STDIN", "42809"),
        ("COPY t FROM STDIN WHERE n > 1", "0A000"),
        ("COPY t FROM STDIN (FORMAT parquet)", "0A000"),
        ("COPY t FROM STDIN (DATEFORMAT '%d')", "42601"),
        ("COPY t FROM STDIN CSV NOSUCH", "42601"),
        ("COPY (SELECT 1) FROM STDIN", "42601"),
        ("COPY pg_class FROM STDIN", "42P01"),
    ] {
        assert_eq!(start_in(sql).sqlstate(), state, "{sql}: {}", start_in(sql));
    }
    for (sql, state) in
        [("COPY t FROM STDIN", "22023"), ("COPY t TO STDOUT (FORMAT json)", "0A000"), ("SELECT 1", "22023")]
    {
        assert_eq!(start_out(sql).sqlstate(), state, "{sql}");
    }
    assert_eq!(failure(&connection, "COPY t FROM STDIN").sqlstate(), "0A000");
    let notices = |run: &dyn Fn()| {
        drop(connection.notices().take());
        run();
        connection.notices().take().len()
    };
    assert_eq!(notices(&|| drop(out(&connection, "COPY t TO STDOUT (FREEZE)").unwrap())), 1);
    assert_eq!(
        notices(&|| drop(
            block_on(connection.start_copy_in("COPY t FROM STDIN (FREEZE)", &StatementHandle::new())).unwrap()
        )),
        1
    );
}

#[test]
fn many_copies_run_at_once() {
    let database = Database::in_memory().unwrap();
    database.connect().execute("CREATE TABLE t (who INT, n INT)").unwrap();
    std::thread::scope(|scope| {
        for who in 0..8 {
            let connection = database.connect();
            scope.spawn(move || {
                let text: String = (0..2000).map(|n| format!("{who}\t{n}\n")).collect();
                assert_eq!(
                    copied(&connection, "COPY t FROM STDIN", text.as_bytes(), &mut Generator::new(who)).unwrap(),
                    2000
                );
                assert!(
                    out(&connection, &format!("COPY (SELECT n FROM t WHERE who = {who} ORDER BY n) TO STDOUT"))
                        .unwrap()
                        .starts_with(b"0\n1\n2\n")
                );
            });
        }
    });
    assert_eq!(rows(&database.connect(), "SELECT count(*), count(DISTINCT who) FROM t"), ["16000|8"]);
}
