//! Panics, made by a test in each kind of thread: they are their statement's error, and nothing else than that. The connection,
//! others, the database and the process go on; nothing is lost, and nobody waits for ever.
//!
//! | file | what |
//! |---|---|
//! | `kinds` | a panic in each kind of thread that a statement needs |
//! | `writers` | those who write together, transactions, VACUUM |
//! | `callers` | what the program gives: its iterators, its own threads and its own hook |
//! | `random` | any point, under any statement |

mod callers;
#[path = "../random/generator.rs"]
mod generator;
mod kinds;
mod random;
mod writers;

use gingham::lab::{PanicPoint, disarm, memory_reserved, panic_at};
use gingham::{Connection, Database, Error};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

/// Panics of which the program's own hook was told.
static HEARD: AtomicUsize = AtomicUsize::new(0);

/// Faults are made process-wide: one test has them at a time. The program's own hook is set before the engine's.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            HEARD.fetch_add(1, Ordering::SeqCst);
            before(panic);
        }));
    });
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether whoever runs the tests wants to see every panic.
fn all_are_shown() -> bool {
    std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0")
}

/// A database folder with tables of several layouts: `t` of 300,000 records in columns, `p` of 1,000 in heap pages, both with
/// their numbers as `n`, and an empty `log`.
fn database(folder: &Path) -> Database {
    let database = Database::open(folder.join("db")).expect("a new database");
    run(
        &database.connect(),
        "CREATE TABLE t AS SELECT value AS n, value % 1000 AS g, 'text ' || value % 77 AS s FROM generate_series(1, 300000);
         CREATE TABLE p (n BIGINT PRIMARY KEY, a BIGINT, s VARCHAR) WITH (layout = 'nsm');
         INSERT INTO p SELECT value, 0, 'text ' || value FROM generate_series(1, 1000);
         CREATE TABLE log (n BIGINT, what VARCHAR)",
    );
    database
}

fn run(connection: &Connection, sql: &str) -> u64 {
    connection.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// The rows of a query as text.
fn rows(connection: &Connection, sql: &str) -> gingham::Result<Vec<String>> {
    let mut rows = Vec::new();
    for batch in connection.query(sql)? {
        let batch = batch?;
        let columns = batch.columns().iter().map(gingham::as_text).collect::<gingham::Result<Vec<_>>>()?;
        let columns: Vec<_> = columns.iter().map(arrow::array::AsArray::as_string_view).collect();
        for row in 0..batch.num_rows() {
            let values: Vec<&str> = columns.iter().map(|column| column.value(row)).collect();
            rows.push(values.join("|"));
        }
    }
    Ok(rows)
}

/// What a statement says in which a thread panicked.
fn expect_fault(error: &Error, point: PanicPoint) {
    let text = error.to_string();
    assert_eq!(error.sqlstate(), "XX000", "{point:?}: {text}");
    let told = format!("internal error: a fault made by a test at '{}' (", point.name());
    assert!(text.starts_with(&told) && text.contains(".rs:"), "{point:?}: {text}");
}

/// Runs `work` while the thread panics that passes `point` next after so many others, and expects that it was so and was told.
fn fails<R: std::fmt::Debug>(point: PanicPoint, after: u32, work: impl FnOnce() -> gingham::Result<R>) {
    let heard = HEARD.load(Ordering::SeqCst);
    panic_at(point, after);
    let ended = work();
    assert!(!disarm(), "{point:?}: nobody came by: {ended:?}");
    expect_fault(&ended.expect_err("there was a panic"), point);
    if !all_are_shown() {
        assert_eq!(HEARD.load(Ordering::SeqCst), heard, "{point:?}: the program's hook was told");
    }
}

/// Waits until queries hold no more than so many bytes of the memory limit: threads may end a moment after their statement.
fn expect_reserved(database: &Database, bytes: usize, what: &str) {
    let begun = Instant::now();
    while memory_reserved(database) > bytes {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what}: {} bytes are held", memory_reserved(database));
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Closes a database and opens it again, checked from end to end.
fn reopened(database: Database, folder: &Path) -> Database {
    assert!(database.close(Duration::from_secs(60)), "something has the database still");
    let database = Database::open(folder.join("db")).expect("the same database");
    let report = database.check().expect("a check");
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    database
}
