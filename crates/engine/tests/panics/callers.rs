//! What the program gives: its iterators and readers, which run as a part of statements, and its own threads and hook.

use crate::{HEARD, alone, database, reopened, rows, run};
use arrow::array::{ArrayRef, Int64Array, RecordBatch, RecordBatchIterator};
use gingham::{Error, ScalarValue, StatementHandle, TransactionStatus};
use std::sync::Arc;
use std::sync::atomic::Ordering;

fn batch() -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..10));
    RecordBatch::try_from_iter([("n", numbers)]).expect("a batch")
}

fn expect_told(error: &Error) {
    let text = error.to_string();
    assert_eq!(error.sqlstate(), "XX000", "{text}");
    assert!(text.starts_with("internal error: the program's own fault (") && text.contains("callers.rs:"), "{text}");
}

#[test]
fn a_reader_of_the_programs_that_panics_fails_its_statement() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let database = database(folder.path());
    let connection = database.connect();
    let batches = (0..5).map(|number| if number < 3 { Ok(batch()) } else { panic!("the program's own fault") });
    let reader = RecordBatchIterator::new(batches, batch().schema());
    connection.register_stream("broken", Box::new(reader)).expect("a stream");
    expect_told(&connection.execute("INSERT INTO log SELECT n, 'x' FROM broken").expect_err("it panics"));
    assert!(connection.unregister("broken").expect("it is there"));

    let insert = connection.prepare("INSERT INTO log VALUES ($1, 'x')").expect("a statement");
    let lists = (0..25_000).map(|number| match number {
        24_000 => panic!("the program's own fault"),
        number => Ok(vec![ScalarValue::from(i64::from(number))]),
    });
    expect_told(&insert.for_each(lists, &StatementHandle::new()).expect_err("it panics"));
    assert_eq!(connection.transaction_status(), TransactionStatus::None);
    assert_eq!(connection.table("log").unwrap().rows(), 0);
    run(&connection, "INSERT INTO log VALUES (1, 'x')");
    drop((insert, connection));
    let database = reopened(database, folder.path());
    assert_eq!(rows(&database.connect(), "SELECT n FROM log").unwrap(), ["1"]);
}

/// The engine's hook is for its own: others' panics go where they went before.
#[test]
fn panics_of_the_programs_threads_stay_its_own() {
    let _alone = alone();
    let connection = gingham::Database::in_memory().expect("a database").connect();
    run(&connection, "SELECT 1");
    let heard = HEARD.load(Ordering::SeqCst);
    assert!(std::thread::spawn(|| panic!("one of the program's threads")).join().is_err());
    assert_eq!(HEARD.load(Ordering::SeqCst), heard + 1);
    // On a thread, too, that has run statements.
    let own = std::thread::spawn(move || {
        run(&connection, "SELECT 1");
        panic!("one of the program's threads");
    });
    assert!(own.join().is_err());
    assert_eq!(HEARD.load(Ordering::SeqCst), heard + 2);
}
