//! Any point, passed any number of times before, under any statement of two connections at a time: each statement ends, as if
//! nothing had been or by the error; what was promised is there, what failed is not.

use crate::generator::Generator;
use crate::{alone, database, expect_reserved, reopened, rows, run};
use gingham::lab::{PanicPoint, disarm, memory_reserved, panic_at};
use gingham::{Connection, Error, TransactionStatus};
use std::time::{Duration, Instant};

const READS: &[&str] = &[
    "SELECT g, count(*), sum(n), max(s) FROM t GROUP BY g ORDER BY g",
    "SELECT n, s FROM t WHERE n % 3 = 0 ORDER BY n DESC",
    "SELECT count(*), sum(t.g + p.a) FROM t JOIN p ON t.n = p.n",
    "SELECT s, count(DISTINCT g) FROM t GROUP BY s ORDER BY s",
    "SELECT sum(r) FROM (SELECT row_number() OVER (PARTITION BY g ORDER BY n) AS r FROM t) x",
    "SELECT count(*) FROM t WHERE n > (SELECT avg(n) FROM t) AND g IN (SELECT n FROM p WHERE n < 50)",
    "SELECT s FROM p WHERE n = 77",
];
/// Each adds one to the sum of one of the tables.
const WRITES: &[(&str, &str)] = &[
    ("log", "INSERT INTO log VALUES (1, 'x')"),
    ("log", "BEGIN; INSERT INTO log VALUES (1, 'x'); COMMIT"),
    ("log", "INSERT INTO log SELECT 1, s FROM t WHERE n = 1000"),
    ("p", "UPDATE p SET a = a + 1 WHERE n = 7"),
    ("p", "UPDATE p SET a = a + 1 WHERE n = (SELECT min(n) FROM p)"),
    ("p", "BEGIN; SAVEPOINT s; UPDATE p SET a = a + 1 WHERE n = 9; RELEASE s; COMMIT"),
];

fn expect_a_fault(ended: &Result<u64, Error>, sql: &str) {
    if let Err(error) = ended {
        let text = error.to_string();
        assert!(error.sqlstate() == "XX000" && text.contains("a fault made by a test"), "{sql}: {text}");
    }
}

fn write(connection: &Connection, sql: &str) -> Result<u64, Error> {
    let ended = connection.execute(sql);
    if connection.transaction_status() != TransactionStatus::None {
        drop(connection.execute("ROLLBACK"));
    }
    ended
}

#[test]
fn any_panic_is_survived() {
    let _alone = alone();
    let nightly = std::env::var_os("GINGHAM_NIGHTLY").is_some();
    let (seed, time) = if nightly { (Instant::now().elapsed().as_nanos() as u64, 600) } else { (7, 8) };
    let mut random = Generator::new(seed);
    let folder = tempfile::tempdir().expect("a folder");
    let mut database = database(folder.path());
    let right: Vec<_> = READS.iter().map(|sql| rows(&database.connect(), sql).unwrap()).collect();
    let points: Vec<PanicPoint> =
        PanicPoint::ALL.iter().copied().filter(|point| !matches!(point, PanicPoint::Show)).collect();
    let (mut log, mut changed, mut spent) = (0, 0, 0);
    let (begun, held) = (Instant::now(), memory_reserved(&database));
    while begun.elapsed() < Duration::from_secs(time) || spent < 5 {
        let (reader, writer) = (database.connect(), database.connect());
        let settings = *random.pick(&["", "SET gingham.io = 'direct'", "SET gingham.execution = 'datafusion'"]);
        run(&reader, settings);
        gingham::storage::lab::refuse_ring(random.chance(50));
        let (read, (table, sql)) = (random.between(0, READS.len() as i64 - 1) as usize, *random.pick(WRITES));
        let (point, after) = (*random.pick(&points), random.between(0, 5) as u32);
        panic_at(point, after);
        let (given, ended) = std::thread::scope(|scope| {
            let reads = scope.spawn(|| rows(&reader, READS[read]));
            let ended = write(&writer, sql);
            (reads.join().expect("no panic leaves the engine"), ended)
        });
        spent += u64::from(!disarm());
        let what = format!("seed {seed}: {point:?} {after}, {settings}, {} and {sql}", READS[read]);
        expect_a_fault(&given.as_ref().map(|_| 0).map_err(Clone::clone), &what);
        expect_a_fault(&ended, &what);
        // The join reads what is changed.
        if let (Ok(given), false) = (given, read == 2) {
            assert_eq!(given, right[read], "{what}");
        }
        if ended.is_ok() {
            *(if table == "log" { &mut log } else { &mut changed }) += 1;
        }
        let sums = rows(&writer, "SELECT (SELECT count(*) FROM log), (SELECT sum(a) FROM p)").unwrap();
        assert_eq!(sums, [format!("{log}|{changed}")], "{what}");
    }
    gingham::storage::lab::refuse_ring(false);
    // Deltas and kept plans are of the snapshot, whose memory is theirs.
    run(&database.connect(), "CREATE TABLE another (n INTEGER)");
    expect_reserved(&database, held, "at the end");
    database = reopened(database, folder.path());
    let sums = rows(&database.connect(), "SELECT (SELECT count(*) FROM log), (SELECT sum(a) FROM p)").unwrap();
    assert_eq!(sums, [format!("{log}|{changed}")]);
}
