//! Published databases, read through their URLs: the same answers in every layout, one state a query, and damage that is told by name.

use crate::{failure, rows};
use gingham::{Connection, Database, DatabaseOptions, Error, PublishOptions};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

#[path = "../../../../tests/support/levels.rs"]
mod levels;

fn run(connection: &Connection, sql: &str) -> u64 {
    connection.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn url(folder: &Path) -> String {
    format!("file://{}", folder.join("published").display())
}

fn publish(database: &Database, url: &str) -> u64 {
    database.publish(url, &PublishOptions::new()).unwrap_or_else(|error| panic!("{error}")).number
}

/// A table of several segments, with deleted records, a column in files of its own, and a delta block.
fn fill(connection: &Connection, table: &str, layout: &str, records: u32) {
    let columns = "k BIGINT PRIMARY KEY, g INTEGER, s VARCHAR, long VARCHAR, f DOUBLE, d DECIMAL(12,2), t DATE";
    run(connection, &format!("CREATE TABLE {table} ({columns}) WITH (layout = '{layout}')"));
    let half = records / 2;
    for (from, to) in [(1, half), (half + 1, records), (records + 1, records + 10)] {
        let values = "value, CASE WHEN value % 11 = 0 THEN NULL ELSE value % 7 END, 'text ' || value % 100,
             'a longer text of which no two are the same ' || value * 7919, value / 8.0, value * 0.25,
             DATE '2024-01-01' + CAST(value % 900 AS INTEGER)";
        run(connection, &format!("INSERT INTO {table} SELECT {values} FROM generate_series({from}, {to})"));
    }
    run(connection, &format!("DELETE FROM {table} WHERE k % 10 = 3"));
    run(connection, &format!("UPDATE {table} SET f = f + 1 WHERE k <= {half}"));
}

fn questions(table: &str) -> Vec<String> {
    vec![
        format!("SELECT count(*), sum(k), count(g), max(s), min(long), sum(f), sum(d), max(t) FROM {table}"),
        format!("SELECT g, count(*), sum(d) FROM {table} GROUP BY g ORDER BY g"),
        format!("SELECT * FROM {table} WHERE k IN (5, 7919, 20001, 40006) ORDER BY k"),
        format!("SELECT count(*), max(long) FROM {table} WHERE s LIKE 'text 9%' AND t > DATE '2025-06-01'"),
        format!("SELECT a.k, b.long FROM {table} a JOIN {table} b ON a.k = b.k + 1 WHERE b.g = 3 ORDER BY 1 LIMIT 20"),
    ]
}

#[test]
fn answers_are_those_of_the_database_in_every_layout() {
    let folder = tempfile::tempdir().expect("a folder");
    let (database, url) = (Database::in_memory().expect("a database"), url(folder.path()));
    let local = database.connect();
    let layouts: Vec<&str> = levels::LAYOUTS.iter().chain(levels::PAGES).copied().collect();
    let tables: Vec<String> = (0..layouts.len()).map(|number| format!("t{number}")).collect();
    tables.iter().zip(&layouts).for_each(|(table, layout)| fill(&local, table, layout, 40_000));
    run(&local, "CREATE VIEW seen AS SELECT g, count(*) AS n FROM t0 GROUP BY g");
    publish(&database, &url);
    let cache = folder.path().join("cache");
    let small = 24 << 20;
    for (options, way) in [
        (DatabaseOptions::new(), "without a cache folder"),
        (DatabaseOptions::new().url_cache(&cache, None), "with one"),
        (
            DatabaseOptions::new().url_cache(&cache, None).memory_limit(small),
            "with one that is filled, in little memory",
        ),
        (DatabaseOptions::new().url_cache(folder.path().join("full"), 300_000).memory_limit(small), "with a small one"),
    ] {
        let elsewhere = options.open_url(&url).expect("a published database");
        let connection = elsewhere.connect();
        for (table, layout) in tables.iter().zip(&layouts) {
            for (number, sql) in questions(table).iter().enumerate() {
                let execution = levels::EXECUTIONS[(number + layout.len()) % levels::EXECUTIONS.len()];
                let io = levels::IOS[number % levels::IOS.len()];
                run(&connection, &format!("SET gingham.execution = '{execution}'; SET gingham.io = '{io}'"));
                assert_eq!(rows(&connection, sql), rows(&local, sql), "{layout}, {execution}, {io}, {way}: {sql}");
            }
        }
        assert_eq!(rows(&connection, "SELECT * FROM seen ORDER BY g"), rows(&local, "SELECT * FROM seen ORDER BY g"));
        assert!(elsewhere.check().expect("a report").errors.is_empty());
        let refused = failure(&connection, "INSERT INTO t0 (k) VALUES (0)");
        assert!(matches!(refused, Error::Locked(_)), "{refused}");
    }
    assert!(bytes_in(&folder.path().join("full")) <= 300_000);
}

/// Bytes of the files in a folder and those in it.
fn bytes_in(folder: &Path) -> u64 {
    files(folder).iter().map(|file| file.metadata().expect("a file").len()).sum()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// A table that grows and is altered between publications, while readers ask for the newest state.
#[test]
fn each_query_sees_one_state_of_a_table_that_grows_and_is_altered() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = Database::open(folder.path().join("db")).expect("a database");
    let (url, over) = (url(folder.path()), AtomicBool::new(false));
    let writer = database.connect();
    for table in ["a", "b"] {
        let layout = if table == "a" { "column" } else { "pax" };
        run(&writer, &format!("CREATE TABLE {table} (n BIGINT, round BIGINT) WITH (layout = '{layout}')"));
    }
    publish(&database, &url);
    let rounds = 12;
    std::thread::scope(|scope| {
        for limit in [16 << 20, 1 << 30] {
            let (url, over) = (&url, &over);
            scope.spawn(move || {
                let elsewhere = DatabaseOptions::new().memory_limit(limit).open_url(url).expect("a published database");
                let connection = elsewhere.connect();
                let mut last = 0;
                while !over.load(Ordering::Relaxed) || last < rounds {
                    run(&connection, "REFRESH");
                    let sql = "SELECT (SELECT count(*) FROM a), (SELECT min(round) FROM a), (SELECT max(round) FROM a),
                                      (SELECT count(*) FROM b), (SELECT min(round) FROM b), (SELECT max(round) FROM b)";
                    let found = rows(&connection, sql);
                    let round: u64 = found[0].split('|').nth(1).expect("a column").parse().unwrap_or(0);
                    let of_round = format!("{}|{round}|{round}", round * 4000);
                    let empty = "0||".to_owned();
                    let expected = if round == 0 { empty } else { of_round };
                    assert_eq!(found, [format!("{expected}|{expected}")]);
                    assert!(round >= last, "back from {last} to {round}");
                    last = round;
                }
            });
        }
        let finish = || {
            for round in 1..=rounds {
                run(&writer, "BEGIN");
                for table in ["a", "b"] {
                    let new = format!("SELECT value, {round} FROM generate_series(1, 4000)");
                    run(&writer, &format!("INSERT INTO {table} (n, round) {new}; UPDATE {table} SET round = {round}"));
                }
                run(&writer, "COMMIT");
                if round % 3 == 0 {
                    run(&writer, &format!("ALTER TABLE a ADD COLUMN c{round} VARCHAR DEFAULT 'x'; OPTIMIZE a"));
                }
                publish(&database, &url);
            }
        };
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(finish));
        over.store(true, Ordering::Relaxed);
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

#[test]
fn a_query_that_runs_keeps_its_state() {
    let folder = tempfile::tempdir().expect("a folder");
    let (database, url) = (Database::in_memory().expect("a database"), url(folder.path()));
    let writer = database.connect();
    for (table, layout) in [("a", "column"), ("b", "pax")] {
        run(&writer, &format!("CREATE TABLE {table} (n BIGINT) WITH (layout = '{layout}')"));
        run(&writer, &format!("INSERT INTO {table} SELECT value FROM generate_series(1, 60000)"));
    }
    assert_eq!(publish(&database, &url), 1);
    let elsewhere = Database::open_url(&url).expect("a published database");
    let connections = [elsewhere.connect(), elsewhere.connect()];
    let mut running: Vec<_> = ["a", "b"]
        .iter()
        .zip(&connections)
        .map(|(table, connection)| {
            let mut result = connection.query(&format!("SELECT n FROM {table}")).expect("a query");
            let first = result.next().expect("a batch").expect("records").num_rows();
            (result, first)
        })
        .collect();
    run(&writer, "DELETE FROM a; INSERT INTO a VALUES (-1); OPTIMIZE a; DROP TABLE b");
    assert_eq!(publish(&database, &url), 2);
    let other = elsewhere.connect();
    run(&other, "REFRESH");
    assert_eq!(rows(&other, "SELECT n FROM a"), ["-1"]);
    assert!(matches!(failure(&other, "SELECT n FROM b"), Error::InvalidInput(_)));
    for (result, first) in &mut running {
        let rest: usize = result.map(|batch| batch.expect("records").num_rows()).sum();
        assert_eq!(*first + rest, 60_000);
    }
}

#[test]
fn earlier_states_are_opened_by_number_and_stay() {
    let folder = tempfile::tempdir().expect("a folder");
    let (database, url) = (Database::in_memory().expect("a database"), url(folder.path()));
    let writer = database.connect();
    run(&writer, "CREATE TABLE t (n BIGINT)");
    for round in 1..=3 {
        run(&writer, &format!("INSERT INTO t VALUES ({round})"));
        assert_eq!(publish(&database, &url), round);
    }
    for round in 1..=3u64 {
        let then = DatabaseOptions::new().as_of(round).open_url(&url).expect("an earlier state");
        let connection = then.connect();
        assert_eq!(rows(&connection, "SELECT count(*) FROM t"), [round.to_string()]);
        let error = failure(&connection, "REFRESH").to_string();
        assert!(error.contains(&format!("as of number {round}")), "{error}");
    }
    let error = DatabaseOptions::new().as_of(4).open_url(&url).unwrap_err().to_string();
    assert!(error.contains("no manifest 4"), "{error}");
    let error = failure(&writer, "REFRESH").to_string();
    assert!(error.contains("opened by its URL"), "{error}");
    let newest = Database::open_url(&url).expect("the newest state");
    run(&newest.connect(), "BEGIN");
    let open = newest.connect();
    run(&open, "BEGIN");
    assert!(failure(&open, "REFRESH").to_string().contains("part of a transaction"));
    assert_eq!((newest.refresh().expect("a number"), newest.published_number()), (3, Some(3)));
    assert!(
        newest.publish(&url, &PublishOptions::new()).is_err() && newest.backup(folder.path().join("copy")).is_err()
    );
}

/// Whatever byte is another one, a reader gets the right answer or is told the object.
#[test]
fn a_changed_byte_is_told_with_its_object() {
    let folder = tempfile::tempdir().expect("a folder");
    let (database, url) = (Database::in_memory().expect("a database"), url(folder.path()));
    let local = database.connect();
    let layouts = ["column", "row", "super_tuple", "dense_column", "byteslice", "pax"];
    layouts.iter().for_each(|layout| fill(&local, layout, layout, 36_000));
    publish(&database, &url);
    let expected: Vec<_> = layouts.iter().map(|layout| rows(&local, &questions(layout)[0])).collect();
    let (mut told, mut right) = (0, 0);
    for object in files(&folder.path().join("published")) {
        let whole = std::fs::read(&object).expect("an object");
        let name = object.file_name().expect("a name").to_string_lossy().into_owned();
        for place in (0..4).map(|part| whole.len() * part / 4 + 9 * part) {
            let mut bytes = whole.clone();
            bytes[place] ^= 0x10;
            std::fs::write(&object, bytes).expect("a changed object");
            let answers = match Database::open_url(&url) {
                Err(error) => vec![Err(error)],
                Ok(elsewhere) => {
                    let connection = elsewhere.connect();
                    let asked = layouts.iter().zip(&expected).map(|(layout, expected)| {
                        rows::rows(&connection, &questions(layout)[0]).map(|found| assert_eq!(found, *expected))
                    });
                    asked.collect()
                }
            };
            for answer in answers {
                match answer {
                    Ok(()) => right += 1,
                    Err(error) => {
                        told += 1;
                        let text = error.to_string();
                        assert!(matches!(error, Error::Corrupt { .. } | Error::Unsupported(_)), "{name}: {text}");
                        assert!(text.contains(&name), "byte {place} of {name}: {text}");
                        let is_of_segment = object.components().any(|part| part.as_os_str() == "segments");
                        assert!(
                            !is_of_segment
                                || text.contains("byte")
                                || text.contains("directory")
                                || text.contains("end as one"),
                            "{text}"
                        );
                    }
                }
            }
        }
        std::fs::write(&object, whole).expect("the object as it was");
    }
    assert!(told > 20 && right > 20, "{told} and {right}");
}

#[test]
fn a_missing_object_is_told_by_name_and_costs_its_table_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let (database, url) = (Database::in_memory().expect("a database"), url(folder.path()));
    let local = database.connect();
    for table in ["whole", "damaged"] {
        let columns = "value AS n, 'no two are the same ' || value * 7919 AS s";
        run(&local, &format!("CREATE TABLE {table} AS SELECT {columns} FROM generate_series(1, 100000)"));
    }
    publish(&database, &url);
    let elsewhere = Database::open_url(&url).expect("a published database");
    let objects = files(&folder.path().join("published/segments"));
    let damaged = objects.iter().max().expect("an object");
    let name = damaged.file_name().expect("a name").to_string_lossy();
    std::fs::rename(damaged, folder.path().join("aside")).expect("the object aside");
    // One that was open, and one that opens it now.
    for database in [elsewhere, Database::open_url(&url).expect("a published database")] {
        let connection = database.connect();
        assert_eq!(rows(&connection, "SELECT sum(n) FROM whole"), ["5000050000"]);
        let text = failure(&connection, "SELECT sum(n) FROM damaged").to_string();
        assert!(text.contains(&*name) && text.contains("missing") && text.contains("damaged"), "{text}");
    }
    std::fs::remove_file(folder.path().join("published/latest")).expect("what readers go by");
    let text = Database::open_url(&url).unwrap_err().to_string();
    assert!(text.contains("no published database"), "{text}");
}

#[test]
fn places_that_are_none_are_refused() {
    let database = Database::in_memory().expect("a database");
    for (url, words) in [
        ("file://host/folder", "file:///folder"),
        ("s3://user:secret@bucket/db", "credentials come from the environment"),
        ("file:///srv/shop?x=1", "behind ?"),
        ("https://example.org/db", "file:///"),
        ("no url", "no URL"),
    ] {
        let error = database.publish(url, &PublishOptions::new()).unwrap_err().to_string();
        assert!(error.contains(words) && !error.contains("secret"), "{url}: {error}");
    }
}

/// A place that an earlier build has written.
#[test]
fn a_place_of_version_1_is_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/compat/published-v1");
    let url = format!("file://{}", folder.canonicalize().expect("a folder").display());
    let then = DatabaseOptions::new().as_of(1).open_url(&url).expect("the first state");
    assert_eq!(rows(&then.connect(), "SELECT name, price FROM fruit"), ["apple|0.45", "quince|1.20", "pear|0.80"]);
    assert_eq!(rows(&then.connect(), "SELECT n, t FROM paged ORDER BY n"), ["1|one", "2|two"]);
    let now = Database::open_url(&url).expect("the newest state");
    assert_eq!(rows(&now.connect(), "SELECT count(*), sum(price) FROM fruit"), ["5|5.55"]);
    assert_eq!(rows(&now.connect(), "SELECT n, t FROM paged ORDER BY n"), ["1|uno", "2|two"]);
    assert_eq!(rows(&now.connect(), "SELECT d FROM later"), ["2026-11-29"]);
    assert!(now.check().expect("a report").errors.is_empty());
}
