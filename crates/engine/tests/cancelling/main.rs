//! Statements that are cancelled: whoever waits hears it at once, and within 200 ms of processor time nobody works for them any more.
//! Each kind of operator is cancelled at random moments. The test asserts ten times the bound, in a build without optimization.
//!
//! This is a process of its own, since it asks for the processor's time of the whole process. Each kind runs for longer than the
//! latest moment, or the test says so.
#![cfg(target_os = "linux")]

#[path = "../random/generator.rs"]
mod generator;

use gingham::{Connection, Database, Error};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The most that a cancelled statement may still work, and wait.
const BOUND: Duration = Duration::from_secs(2);
/// The most processor time that a process uses in [`QUIET`] that does nothing.
const IDLE: Duration = Duration::from_millis(10);
const QUIET: Duration = Duration::from_millis(60);

/// The tests take turns, since each measures what the whole process works.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Kind {
    name: &'static str,
    settings: &'static str,
    sql: &'static str,
}

const fn kind(name: &'static str, settings: &'static str, sql: &'static str) -> Kind {
    Kind { name, settings, sql }
}

const DATAFUSION: &str = "SET gingham.execution = 'datafusion'";
const MERGING: &str = "SET gingham.execution = 'datafusion'; SET datafusion.optimizer.prefer_hash_join = false";

const KINDS: &[Kind] = &[
    // One batch is compared with millions, and nothing comes of it.
    kind("a nested loop", "", "SELECT count(*) FROM t a JOIN t b ON a.n + b.n < 0"),
    kind("a nested loop that keeps its left side", "", "SELECT count(*) FROM t a LEFT JOIN t b ON a.n * b.n < 0"),
    kind(
        "a semi join by a condition",
        "",
        "SELECT count(*) FROM t a WHERE EXISTS (SELECT 1 FROM t b WHERE a.n + b.n < 0)",
    ),
    kind(
        "an anti join by a condition",
        "",
        "SELECT count(*) FROM t a WHERE NOT EXISTS (SELECT 1 FROM t b WHERE a.n + b.n < 0)",
    ),
    kind("a full join", "", "SELECT count(*) FROM t a FULL JOIN t b ON a.n + b.n < 0"),
    kind("a hash join of one key", DATAFUSION, "SELECT count(*) FROM t a JOIN t b ON a.one = b.one AND a.n + b.n < 0"),
    kind("a hash join that gives rows", DATAFUSION, "SELECT count(*) FROM t a JOIN t b ON a.one = b.one"),
    kind("a merge join of one key", MERGING, "SELECT count(*) FROM t a JOIN t b ON a.one = b.one AND a.n + b.n < 0"),
    kind("a product", DATAFUSION, "SELECT count(a.n + b.n) FROM t a CROSS JOIN t b"),
    // A partition is computed row by row.
    kind(
        "an aggregate over a frame",
        "",
        "SELECT max(x) FROM (SELECT bool_and(n > 0) OVER (ORDER BY n ROWS 5000 PRECEDING) AS x FROM t) q",
    ),
    kind(
        "a median over a frame",
        "",
        "SELECT max(x) FROM (SELECT median(n) OVER (ORDER BY n ROWS 20000 PRECEDING) AS x FROM t) q",
    ),
    kind(
        "a growing list",
        "",
        "SELECT max(length(x)) FROM (SELECT string_agg(s, ',') OVER (ORDER BY n) AS x FROM t) q",
    ),
    kind(
        "a frame by range",
        "",
        "SELECT max(x) FROM (SELECT bit_or(n) OVER (PARTITION BY one ORDER BY n RANGE BETWEEN 5000 PRECEDING AND 5000 FOLLOWING) AS x FROM t) q",
    ),
    kind(
        "a frame of all",
        "",
        "SELECT max(x) FROM (SELECT bit_or(a.n) OVER (ORDER BY a.n, b.n ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS x FROM t a, t b WHERE b.n < 10) q",
    ),
    // Much is read, and little given.
    kind(
        "a sort",
        DATAFUSION,
        "SELECT max(x) FROM (SELECT a.n AS x FROM t a, t b WHERE b.n < 200 ORDER BY a.n % 1000, b.n LIMIT 50000000) q",
    ),
    kind(
        "an aggregation",
        DATAFUSION,
        "SELECT count(*) FROM (SELECT a.n % 77777 + b.n AS k, max(a.s) FROM t a, t b GROUP BY 1) q",
    ),
    kind("distinct rows", DATAFUSION, "SELECT count(*) FROM (SELECT DISTINCT a.n % 77777 + b.n FROM t a, t b) q"),
    kind(
        "a union",
        DATAFUSION,
        "SELECT sum(n * 2) FROM (SELECT a.n FROM t a, t b WHERE a.n > b.g UNION ALL SELECT b.n FROM t a, t b WHERE a.g > b.n) q",
    ),
    kind("a filter", DATAFUSION, "SELECT count(*) FROM t a, t b WHERE a.s || b.s = 'x'"),
    kind("pipelines", "", "SELECT count(*) FROM t a JOIN t b ON a.one = b.one WHERE a.n < b.g"),
    kind(
        "groups in pipelines",
        "",
        "SELECT count(*) FROM (SELECT a.n, b.g, count(*) FROM t a JOIN t b ON a.one = b.one GROUP BY a.n, b.g) q",
    ),
    kind("a summary", "", "SUMMARIZE SELECT value AS n, value % 7 AS m FROM generate_series(1, 1000000000000)"),
    kind("a series", "", "SELECT count(*) FROM generate_series(1, 1000000000000) WHERE value < 0"),
    kind(
        "recursion",
        "",
        "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i > 0) SELECT count(*) FROM r",
    ),
    kind(
        "recursion that joins",
        "",
        "WITH RECURSIVE r(i) AS (SELECT 1::BIGINT UNION ALL SELECT t.n FROM r JOIN t ON t.g = r.i % 1000) SELECT count(*) FROM r",
    ),
    kind(
        "recursion of distinct rows",
        "",
        "WITH RECURSIVE r(i) AS (SELECT 1::BIGINT UNION SELECT r.i * 2 + v.n FROM r, (VALUES (0), (1)) v(n) WHERE r.i < 99999999999) SELECT count(*) FROM r",
    ),
    kind(
        "shared rows without end",
        "",
        "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i % 1000 + 1 FROM r) SELECT count(*) FROM r x, (SELECT i FROM r LIMIT 3) y",
    ),
    kind(
        "shared rows",
        "",
        "WITH q AS MATERIALIZED (SELECT a.n + b.n AS x FROM t a, t b WHERE a.n + b.n < 0) SELECT count(*) FROM q x, q y",
    ),
    kind("a subquery's value", "", "SELECT (SELECT count(*) FROM t a JOIN t b ON a.n + b.n < 0) + n FROM t"),
    // Rows are written.
    kind("INSERT", "", "INSERT INTO log SELECT a.n, b.s FROM t a, t b"),
    kind("CREATE TABLE AS", "", "CREATE TABLE other AS SELECT a.n, b.s FROM t a, t b"),
    kind("UPDATE", "", "UPDATE log SET n = (SELECT count(*) FROM t a JOIN t b ON a.n + b.n < log.n)"),
    kind("DELETE", "", "DELETE FROM log WHERE n IN (SELECT a.n FROM t a JOIN t b ON a.n + b.n < 0)"),
    kind("COPY TO", "", "COPY (SELECT a.n, b.s FROM t a, t b) TO '/dev/null' WITH (FORMAT csv)"),
];

#[test]
fn nobody_works_for_a_cancelled_statement() {
    let _turn = turn();
    let nightly = std::env::var_os("GINGHAM_NIGHTLY").is_some();
    let folder = tempfile::tempdir().expect("a folder");
    let database = database(folder.path());
    let mut random = generator::Generator::new(20_261_127);
    let mut latest = Duration::ZERO;
    for kind in KINDS {
        for _ in 0..if nightly { 20 } else { 3 } {
            // A plan that was kept hears it too. Some moments are within planning.
            let latest_moment = if random.chance(30) { 20 } else { 400 };
            let moment = Duration::from_millis(random.between(0, latest_moment) as u64);
            let connection = database.connect();
            let threads = random.pick(&[1, 2, 3]);
            connection.execute(&format!("SET gingham.threads = {threads}")).expect("a setting");
            connection.execute(kind.settings).unwrap_or_else(|error| panic!("{}: {error}", kind.name));
            let used = cancelled(&connection, kind, moment);
            latest = latest.max(used);
            println!("{}: {used:?} after {moment:?}", kind.name);
        }
    }
    println!("at most {latest:?}");
    let rows = database.connect().query("SELECT count(*) FROM t").unwrap().collect_batches().unwrap();
    assert_eq!(rows[0].num_rows(), 1);
}

/// Two ways to leave a statement: by its handle, and by dropping its rows.
#[test]
fn nobody_works_for_rows_that_were_dropped() {
    let _turn = turn();
    let folder = tempfile::tempdir().expect("a folder");
    let database = database(folder.path());
    let connection = database.connect();
    for sql in ["SELECT a.n FROM t a LEFT JOIN t b ON a.n + b.n < 0", "SELECT a.n FROM t a, t b"] {
        let rows = connection.query(sql).unwrap();
        std::thread::sleep(Duration::from_millis(100));
        let before = processor_time();
        drop(rows);
        let used = until_idle(before);
        assert!(used < BOUND, "{sql}: {used:?} of work after its rows were dropped");
    }
}

/// Cancels a statement after `moment`; what the process worked after that.
fn cancelled(connection: &Connection, kind: &Kind, moment: Duration) -> Duration {
    let running = connection.start(kind.sql).unwrap_or_else(|error| panic!("{}: {error}", kind.name));
    let handle = running.handle();
    let reader = std::thread::spawn(move || {
        let ended = running.wait().and_then(|rows| rows.collect_batches());
        (ended.map(drop), Instant::now())
    });
    std::thread::sleep(moment);
    let (before, asked) = (processor_time(), Instant::now());
    handle.cancel();
    let (ended, heard) = reader.join().expect("the reader's thread");
    match ended {
        Err(Error::Cancelled) => {}
        other => panic!("{}: it was not cancelled after {moment:?}: {other:?}", kind.name),
    }
    let waited = heard.saturating_duration_since(asked);
    assert!(waited < BOUND, "{}: it was heard after {waited:?}", kind.name);
    let used = until_idle(before);
    assert!(used < BOUND, "{}: {used:?} of work after it was cancelled at {moment:?}", kind.name);
    used
}

/// Waits until the process does nothing; what it worked since `before`.
fn until_idle(before: Duration) -> Duration {
    let begun = Instant::now();
    loop {
        let now = processor_time();
        std::thread::sleep(QUIET);
        if processor_time() - now <= IDLE || begun.elapsed() > 5 * BOUND {
            return now - before;
        }
    }
}

/// The processor's time of all threads of this process.
fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("what Linux tells of a process");
    // Behind the name, which may have blanks: the state is the third field, and the times are the 14th and 15th, in hundredths.
    let behind = stat.rsplit_once(')').expect("a name in parentheses").1;
    let ticks = behind.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<u64>().expect("a number"));
    Duration::from_millis(10 * ticks.sum::<u64>())
}

/// A table of 200,000 records in segments, and an empty one.
fn database(folder: &Path) -> Database {
    let database = Database::open(folder.join("db")).expect("a new database");
    let connection = database.connect();
    connection
        .execute(
            "SET gingham.threads = 2;
             CREATE TABLE t AS SELECT value AS n, 1 AS one, value % 1000 AS g, 'text ' || value % 77 AS s FROM generate_series(1, 200000);
             CREATE TABLE log (n BIGINT, s VARCHAR);
             INSERT INTO log SELECT value, 'x' FROM generate_series(1, 3000)",
        )
        .expect("tables");
    database
}
