//! A panic in each kind of thread that a statement needs.

use crate::{alone, database, expect_reserved, fails, reopened, rows, run};
use gingham::lab::{PanicPoint, memory_reserved};
use gingham::load::{LoadOptions, ReadOptions};
use gingham::{Database, StatementHandle};
use std::path::Path;

/// A point, what is set before, and a statement that passes it.
struct Kind {
    point: PanicPoint,
    /// How often it is passed before.
    after: u32,
    settings: &'static str,
    sql: &'static str,
}

const fn kind(point: PanicPoint, after: u32, settings: &'static str, sql: &'static str) -> Kind {
    Kind { point, after, settings, sql }
}

const GROUPS: &str = "SELECT g, count(*), sum(n), max(s) FROM t GROUP BY g ORDER BY g";
const ALL: &str = "SELECT n, s FROM t ORDER BY n DESC";
const JOIN: &str = "SELECT count(*), sum(t.g + p.a) FROM t JOIN p ON t.n = p.n";
const WINDOW: &str = "SELECT s, max(r), min(c) FROM (SELECT s, row_number() OVER (PARTITION BY g ORDER BY n) AS r, \
                      count(*) OVER (PARTITION BY s) AS c FROM t) x GROUP BY s ORDER BY s";
const DATAFUSION: &str = "SET gingham.execution = 'datafusion'";
const DIRECT: &str = "SET gingham.io = 'direct'; SET gingham.io_unit = '64KB'";

const QUERIES: &[Kind] = &[
    kind(PanicPoint::Launch, 0, "", "SELECT count(*) FROM log"),
    kind(PanicPoint::Statement, 0, "", GROUPS),
    kind(PanicPoint::Deliver, 0, "", GROUPS),
    kind(PanicPoint::Deliver, 3, "", ALL),
    kind(PanicPoint::Scan, 0, DATAFUSION, GROUPS),
    kind(PanicPoint::Scan, 3, DATAFUSION, ALL),
    kind(PanicPoint::Scan, 2, DATAFUSION, JOIN),
    // Rows of a window function, which pipelines are given.
    kind(PanicPoint::Scan, 1, "", WINDOW),
    kind(PanicPoint::Morsel, 0, "", GROUPS),
    kind(PanicPoint::Morsel, 2, "", JOIN),
    kind(PanicPoint::Morsel, 1, "", ALL),
    kind(PanicPoint::PipelineEnd, 0, "", GROUPS),
    kind(PanicPoint::PipelineEnd, 1, "", JOIN),
    kind(PanicPoint::Piece, 0, "", ALL),
    kind(PanicPoint::Piece, 3, "", ALL),
    kind(PanicPoint::ReadAhead, 0, DIRECT, GROUPS),
    kind(PanicPoint::ReadAhead, 0, DIRECT, ALL),
];

#[test]
fn a_panic_in_a_query_is_its_error_alone() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let database = database(folder.path());
    check_queries(&database, QUERIES);
    let database = reopened(database, folder.path());
    let logged = format!("{}|{}", QUERIES.len(), QUERIES.len());
    assert_eq!(rows(&database.connect(), "SELECT count(*), count(DISTINCT n) FROM log").unwrap(), [logged]);
}

/// The threads that read in the place of the system's ring.
#[test]
fn a_panic_of_a_thread_that_reads_is_its_scans_error() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let database = database(folder.path());
    gingham::storage::lab::refuse_ring(true);
    check_queries(
        &database,
        &[
            kind(PanicPoint::Read, 0, DIRECT, GROUPS),
            kind(PanicPoint::Read, 5, DIRECT, GROUPS),
            kind(PanicPoint::Read, 1, DIRECT, ALL),
        ],
    );
    gingham::storage::lab::refuse_ring(false);
    reopened(database, folder.path());
}

fn check_queries(database: &Database, kinds: &[Kind]) {
    let other = database.connect();
    for (number, Kind { point, after, settings, sql }) in kinds.iter().enumerate() {
        let connection = database.connect();
        run(&connection, settings);
        // A plan is kept from the second time on.
        let right = rows(&connection, sql).unwrap();
        assert_eq!(rows(&connection, sql).unwrap(), right);
        let what = format!("{point:?} {after} {sql}");
        for _ in 0..2 {
            let held = memory_reserved(database);
            fails(*point, *after, || rows(&connection, sql));
            expect_reserved(database, held, &what);
            assert_eq!(rows(&connection, sql).unwrap(), right, "{what}");
            assert_eq!(rows(&other, sql).unwrap(), right, "{what}");
        }
        run(&connection, &format!("INSERT INTO log VALUES ({number}, '{point:?}')"));
    }
}

/// A change of so many records of the table `u`, which is made of `t` before.
const CHANGES: &[Kind] = &[
    kind(PanicPoint::Launch, 0, "", "INSERT INTO u VALUES (0, 0, '')"),
    kind(PanicPoint::Statement, 0, "", "DELETE FROM u WHERE n > 7"),
    kind(PanicPoint::Blocking, 0, "", "INSERT INTO u SELECT * FROM t"),
    kind(PanicPoint::Blocking, 1, "", "UPDATE u SET g = g + 1"),
    kind(PanicPoint::Scan, 0, DATAFUSION, "INSERT INTO u SELECT n, g, s FROM t WHERE g > 5"),
    kind(PanicPoint::Morsel, 0, "", "INSERT INTO u SELECT sum(n), g, max(s) FROM t GROUP BY g"),
    kind(PanicPoint::Part, 0, "", "UPDATE u SET g = g + 1"),
    kind(PanicPoint::Sync, 0, "", "UPDATE u SET g = g + 1"),
    kind(PanicPoint::Rewrite, 0, "", "ALTER TABLE u SET (layout = 'row')"),
    kind(PanicPoint::Job, 0, "", "INSERT INTO u VALUES (0, 0, '')"),
    kind(PanicPoint::Job, 0, "", "CREATE VIEW v AS SELECT * FROM u"),
    kind(PanicPoint::Commit, 0, "", "INSERT INTO u SELECT * FROM t"),
    kind(PanicPoint::Commit, 0, "", "ALTER TABLE u ADD COLUMN z INTEGER"),
    kind(PanicPoint::Commit, 0, "", "DROP TABLE u"),
    kind(PanicPoint::Commit, 0, "", "UPDATE p SET a = a + 1 WHERE n = 7"),
    kind(PanicPoint::Commit, 0, "", "UPDATE p SET a = a + 1"),
    kind(PanicPoint::Vacuum, 0, "", "VACUUM"),
];

#[test]
fn a_panic_in_a_change_undoes_it_and_nothing_else() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let database = database(folder.path());
    let other = database.connect();
    let state = |connection: &gingham::Connection| {
        [
            rows(connection, "SELECT count(*), sum(n), sum(g) FROM u").ok(),
            rows(connection, "SELECT count(*), sum(n), sum(a) FROM p").ok(),
            rows(connection, "SELECT count(*) FROM v").ok(),
            rows(connection, "SELECT table_name, layout FROM gingham_tables ORDER BY 1").ok(),
        ]
    };
    for Kind { point, after, settings, sql } in CHANGES {
        let connection = database.connect();
        let what = format!("{point:?} {after} {sql}");
        run(&connection, "DROP VIEW IF EXISTS v; DROP TABLE IF EXISTS u; CREATE TABLE u AS SELECT * FROM t");
        run(&connection, settings);
        let (before, held) = (state(&other), memory_reserved(&database));
        fails(*point, *after, || connection.execute(sql));
        // Plans that are kept for the questions that follow take of it, too.
        expect_reserved(&database, held, &what);
        assert_eq!(state(&other), before, "{what}");
        assert_eq!(state(&connection), before, "{what}");
        run(&connection, sql);
        run(&other, &format!("INSERT INTO log VALUES (1, '{point:?}')"));
    }
    run(&other, "DROP VIEW IF EXISTS v; DROP TABLE IF EXISTS u");
    drop(other);
    let database = reopened(database, folder.path());
    let logged = rows(&database.connect(), "SELECT sum(n) FROM log").unwrap();
    assert_eq!(logged, [CHANGES.len().to_string()]);
    assert_eq!(files(&folder.path().join("db/segments")), files_named(&database), "no file is left that nobody names");
}

/// Files in a folder and those within it.
fn files(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.map(|path| if path.is_dir() { files(&path) } else { 1 }).sum()
}

/// Files of segments that tables have.
fn files_named(database: &Database) -> usize {
    ["t", "log", "p"].map(|name| database.connect().table(name).expect("a table").segments.len()).iter().sum()
}

/// The threads of loads, from the command's way in and from COPY's.
#[test]
fn a_panic_in_a_load_stores_nothing() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let database = database(folder.path());
    let connection = database.connect();
    let file = folder.path().join("numbers.csv");
    let text: String = (0..20_000).map(|n| format!("{n},text {n}\n")).collect();
    std::fs::write(&file, text).expect("a file");
    let options = LoadOptions {
        table: "log".into(),
        read: ReadOptions { header: Some(false), ..ReadOptions::default() },
        ..LoadOptions::default()
    };
    let load = || connection.load(std::slice::from_ref(&file), &options, &StatementHandle::new());
    let copy = format!("COPY log FROM '{}' (FORMAT csv, HEADER false)", file.display());
    for point in [PanicPoint::Load, PanicPoint::Job, PanicPoint::Commit] {
        fails(point, 0, load);
        fails(point, 0, || connection.execute(&copy));
    }
    assert_eq!(connection.table("log").unwrap().rows(), 0);
    assert_eq!(load().unwrap().rows, 20_000);
    run(&connection, &copy);
    drop(connection);
    let database = reopened(database, folder.path());
    assert_eq!(database.connect().table("log").unwrap().rows(), 40_000);
}
