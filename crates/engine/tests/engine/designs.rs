//! Tables that are written anew in another design, while others read them.

use crate::{connect, failure, rows};
use gingham::storage::Layout;
use gingham::{Connection, Database, Error};
use std::sync::atomic::{AtomicBool, Ordering};

const DESIGNS: &[&str] = &["row", "byteslice", "groups((a, c) mempax(100), (b) byteslice16)", "mempax(7)", "column"];

/// A table of `rows` records in segments.
fn fill(connection: &Connection, rows: u64) {
    let sql = format!(
        "CREATE TABLE t (a BIGINT, b INTEGER, c VARCHAR);
         INSERT INTO t SELECT value, value % 1000, 'text ' || (value % 77) FROM generate_series(1, {rows});
         OPTIMIZE t"
    );
    connection.execute(&sql).unwrap();
}

fn layout(connection: &Connection) -> String {
    rows(connection, "SELECT layout FROM gingham_tables WHERE table_name = 't'").concat()
}

const SUMS: &str = "SELECT count(*), sum(a), sum(b), count(DISTINCT c) FROM t WHERE b < 900";

#[test]
fn readers_go_on_while_a_table_is_rewritten() {
    let database = Database::in_memory().unwrap();
    let writer = database.connect();
    fill(&writer, 80_000);
    let expected = rows(&writer, SUMS);
    let all = "SELECT a, b, c FROM t ORDER BY a";
    let before: Vec<String> = rows(&writer, all);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let connection = database.connect();
            let mut asked = 0;
            while !done.load(Ordering::Relaxed) {
                assert_eq!(rows(&connection, SUMS), expected);
                asked += 1;
            }
            asked
        });
        for design in DESIGNS {
            // Begun in the old design, read to its end in the new one.
            let mut open = database.connect().query("SELECT a FROM t").unwrap();
            let mut read = open.next().unwrap().unwrap().num_rows();
            writer.execute(&format!("ALTER TABLE t SET (layout = '{design}')")).unwrap();
            assert_eq!(layout(&writer).replace(' ', ""), design.replace(' ', ""));
            read += open.map(|batch| batch.unwrap().num_rows()).sum::<usize>();
            assert_eq!(read, 80_000);
            assert_eq!(rows(&writer, all), before, "{design}");
        }
        done.store(true, Ordering::Relaxed);
        assert!(reader.join().unwrap() > 0);
    });
}

#[test]
fn records_that_come_while_a_table_is_rewritten_are_kept() {
    let database = Database::in_memory().unwrap();
    let writer = database.connect();
    fill(&writer, 40_000);
    let done = AtomicBool::new(false);
    let inserted = std::thread::scope(|scope| {
        let inserter = scope.spawn(|| {
            let connection = database.connect();
            let mut inserted = 0;
            while !done.load(Ordering::Relaxed) {
                inserted += connection.execute("INSERT INTO t VALUES (0, 0, 'late')").unwrap();
            }
            inserted
        });
        for design in &DESIGNS[..3] {
            writer.execute(&format!("ALTER TABLE t SET (layout = '{design}')")).unwrap();
        }
        done.store(true, Ordering::Relaxed);
        inserter.join().unwrap()
    });
    assert_eq!(rows(&writer, "SELECT count(*) FROM t WHERE c = 'late'"), [inserted.to_string()]);
    assert_eq!(rows(&writer, "SELECT count(*) FROM t"), [(40_000 + inserted).to_string()]);
}

#[test]
fn a_cancelled_rewrite_changes_nothing_and_tells_how_far_it_is() {
    let connection = connect();
    fill(&connection, 150_000);
    let expected = rows(&connection, SUMS);
    let mut seen = false;
    // The one who cancels may come too late: then the table is in its new design.
    for design in DESIGNS {
        let before = layout(&connection);
        let canceller = {
            let connection = connection.clone();
            let handle = connection.cancel_handle();
            std::thread::spawn(move || {
                let progress = (0..100_000).find_map(|_| {
                    std::thread::sleep(std::time::Duration::from_micros(100));
                    connection.progress()
                });
                handle.cancel();
                progress
            })
        };
        let result = connection.execute(&format!("ALTER TABLE t SET (layout = '{design}')"));
        let progress = canceller.join().unwrap();
        if let Some(progress) = progress {
            assert_eq!(progress.total, 150_000);
            assert!(progress.records <= progress.total);
            seen = true;
        }
        match result {
            Err(Error::Cancelled) => assert_eq!(layout(&connection), before),
            result => assert!(result.is_ok(), "{result:?}"),
        }
        assert_eq!(rows(&connection, SUMS), expected, "{design}");
        // The statement leaves the list of running ones a moment after its result is there.
        while connection.progress().is_some() {
            std::thread::yield_now();
        }
    }
    assert!(seen, "no rewrite was seen on its way");
}

#[test]
fn a_failed_change_leaves_the_table_as_it_was() {
    let connection = connect();
    connection.execute("CREATE TABLE t (a BIGINT, w DECIMAL(38,0)) WITH (layout = 'row')").unwrap();
    connection.execute("INSERT INTO t VALUES (1, -1), (2, 99999999999999999999999999999999999999)").unwrap();
    let error = failure(&connection, "ALTER TABLE t SET (layout = 'groups((w) byteslice)')").to_string();
    assert!(error.contains("'w'") && error.contains("byteslice"), "{error}");
    assert_eq!(layout(&connection), "row");
    // The short name leaves alone what can't be packed.
    connection.execute("ALTER TABLE t SET (layout = 'byteslice')").unwrap();
    connection.execute("OPTIMIZE t").unwrap();
    assert_eq!(rows(&connection, "SELECT a FROM t WHERE w > 0"), ["2"]);
    let table = connection.table("t").unwrap();
    assert_eq!(table.definition.design.layout, Layout::Column);
}
