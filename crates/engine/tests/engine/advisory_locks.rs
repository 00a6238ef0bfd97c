//! Advisory locks between sessions: who waits, for how long, and what gives a lock back.

use crate::rows;
use gingham::{Connection, Database, Error};
use std::time::Duration;

/// Two sessions of one database; the second waits for 50 ms.
fn sessions() -> [Connection; 2] {
    let database = Database::in_memory().expect("a scratch database");
    let second = database.connect();
    second.execute("SET lock_timeout = '50ms'").expect("a setting");
    [database.connect(), second]
}

fn gets(connection: &Connection, call: &str) -> bool {
    rows(connection, &format!("SELECT {call}")) == ["true"]
}

#[test]
fn a_lock_is_one_sessions_until_it_gives_it_back() {
    let [first, second] = sessions();
    first.execute("SELECT pg_advisory_lock(1), pg_advisory_lock(1)").expect("nobody has it");
    assert!(!gets(&second, "pg_try_advisory_lock(1)"));
    assert!(gets(&second, "pg_try_advisory_lock(1, 1)"), "two numbers are another lock than one");
    let waited = second.execute("SELECT pg_advisory_lock(1)").expect_err("it is taken");
    assert!(matches!(&waited, Error::LockTimeout(text) if text.contains("advisory lock")), "{waited:?}");
    assert!(gets(&first, "pg_advisory_unlock(1)"));
    assert!(!gets(&second, "pg_try_advisory_lock(1)"), "it was taken twice");
    assert!(gets(&first, "pg_advisory_unlock(1)"));
    assert!(gets(&second, "pg_try_advisory_lock(1)"));
    assert!(!gets(&first, "pg_advisory_unlock(1)"), "it is the other's");
    let warnings = first.notices().take();
    assert_eq!(warnings.last().map(|own| own.text.as_str()), Some("this session does not have an advisory lock (1)"));
    drop(second);
    assert!(gets(&first, "pg_try_advisory_lock(1)"), "the session has ended");
}

#[test]
fn shared_locks_are_of_several() {
    let [first, second] = sessions();
    assert!(gets(&first, "pg_try_advisory_lock_shared(1)"));
    assert!(gets(&second, "pg_try_advisory_lock_shared(1)"));
    assert!(!gets(&second, "pg_try_advisory_lock(1)"));
    first.execute("DISCARD ALL").expect("it gives locks back");
    assert!(gets(&second, "pg_try_advisory_lock(1)"), "its own shared one does not stand in the way");
    assert!(!gets(&first, "pg_try_advisory_lock_shared(1)"));
}

#[test]
fn locks_of_a_transaction_end_with_it() {
    let [first, second] = sessions();
    first.execute("SELECT pg_advisory_xact_lock(1)").expect("nobody has it");
    assert!(gets(&second, "pg_try_advisory_lock(1)"), "the statement was a transaction");
    second.execute("SELECT pg_advisory_unlock_all()").expect("it has one");
    for end in ["COMMIT", "ROLLBACK"] {
        first.execute("BEGIN; SELECT pg_advisory_xact_lock(1)").expect("nobody has it");
        assert!(!gets(&second, "pg_try_advisory_xact_lock(1)"), "{end}");
        assert!(!gets(&first, "pg_advisory_unlock(1)"), "it is the transaction's");
        first.execute(end).expect(end);
        assert!(gets(&second, "pg_try_advisory_xact_lock(1)"), "{end}");
    }
}

#[test]
fn who_waits_gets_the_lock_or_is_cancelled() {
    let [first, second] = sessions();
    second.execute("SET lock_timeout = 0").expect("a setting");
    first.execute("SELECT pg_advisory_lock(1)").expect("nobody has it");
    let waiting = second.clone();
    let thread = std::thread::spawn(move || waiting.execute("SELECT pg_advisory_lock(1)").map(drop));
    std::thread::sleep(Duration::from_millis(50));
    first.execute("SELECT pg_advisory_unlock(1)").expect("it has it");
    thread.join().expect("it does not panic").expect("it gets the lock");
    assert!(!gets(&first, "pg_try_advisory_lock(1)"));
    first.execute("SET statement_timeout = '50ms'").expect("a setting");
    let cancelled = first.execute("SELECT pg_advisory_lock(1)").expect_err("it takes too long");
    assert_eq!(cancelled.sqlstate(), "57014");
    assert_eq!(first.execute("SELECT pg_sleep(60)").expect_err("it takes too long").sqlstate(), "57014");
}
