//! Sessions as they see each other: lists, cancelling, ending, the settings that they begin with, and how long they may be idle.

use crate::{connect, failure, rows};
use gingham::{Connection, Database, Error, Role, SessionInfo, SessionOptions, SessionState, TransactionStatus};
use std::time::{Duration, Instant};

const ENDLESS: &str = "SELECT count(*) FROM generate_series(1, 1000000000) a, generate_series(1, 1000) b";
/// Longer than anything takes here.
const PATIENCE: Duration = Duration::from_secs(60);

fn user(name: &str, role: Role) -> SessionOptions {
    SessionOptions::new().user(name).role(role)
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn info(database: &Database, connection: &Connection) -> SessionInfo {
    let all = database.sessions();
    all.into_iter().find(|session| session.id == connection.session_id()).expect("it is there")
}

/// Runs a statement on another thread, and waits until it is seen to run.
fn runs(database: &Database, connection: &Connection, sql: &str) -> std::thread::JoinHandle<gingham::Result<u64>> {
    let (own, text) = (connection.clone(), sql.to_owned());
    let thread = std::thread::spawn(move || own.execute(&text));
    wait_until("it runs", || {
        let seen = info(database, connection);
        seen.state == SessionState::Active && seen.statement.as_deref() == Some(sql)
    });
    thread
}

/// What a session's statements hold is told, and given back; a plan that another session has made counts for who runs it.
#[test]
fn sessions_tell_their_memory() {
    let database = Database::in_memory().expect("a database");
    let (one, other) = (database.connect(), database.connect());
    one.execute("CREATE TABLE t AS SELECT n, 'text ' || n AS s FROM generate_series(1, 200000) AS g(n)")
        .expect("a table");
    let memory = |of: &Connection| info(&database, of).memory;
    one.execute("BEGIN; DECLARE c SCROLL CURSOR FOR SELECT s FROM t; FETCH 50000 FROM c").expect("a cursor");
    assert!(memory(&one) > 500_000, "{}", memory(&one));
    assert_eq!(memory(&other), 0);
    let told = rows(&other, &format!("SELECT memory FROM gingham_sessions WHERE session_id = {}", one.session_id()));
    assert_eq!(told, [memory(&one).to_string()]);
    one.execute("COMMIT").expect("the cursor is gone");
    assert_eq!(memory(&one), 0);
    let sorted = "SELECT s FROM t ORDER BY s";
    one.query(sorted).and_then(gingham::QueryResult::collect_batches).expect("rows");
    let mut again = other.query(sorted).expect("rows");
    again.next().expect("a batch").expect("rows");
    assert!(memory(&other) > 500_000 && memory(&one) == 0, "{} {}", memory(&other), memory(&one));
    drop(again);
    wait_until("it is given back", || memory(&other) == 0);
}

#[test]
fn sessions_see_each_other() {
    let database = Database::in_memory().expect("a database");
    let admin = database.connect();
    let options = user("ada", Role::Write).client_address("192.0.2.7").setting("application_name", "report");
    let ada = database.connect_with(&options).expect("a session");
    admin.execute("CREATE TABLE t (k INT PRIMARY KEY, v INT) WITH (layout = 'nsm')").expect("a table");
    assert_ne!(admin.session_id(), ada.session_id());
    assert_eq!(
        rows(&ada, "SELECT pg_backend_pid(), current_user, inet_client_addr()"),
        [format!("{}|ada|192.0.2.7", ada.session_id())]
    );
    let seen = info(&database, &ada);
    assert_eq!((seen.user.as_str(), seen.address.as_deref()), ("ada", Some("192.0.2.7")));
    assert_eq!((seen.application_name.as_str(), seen.role), ("report", Role::Write));
    assert_eq!((seen.state, seen.statement_number, seen.transaction_began), (SessionState::Idle, 1, None));
    ada.execute("BEGIN; INSERT INTO t VALUES (1, 1)").expect("a transaction");
    let seen = info(&database, &ada);
    assert_eq!(seen.state, SessionState::IdleInTransaction);
    assert!(seen.transaction_began.is_some_and(|began| began >= seen.since));
    assert_eq!(seen.statement.as_deref(), Some("BEGIN; INSERT INTO t VALUES (1, 1)"));
    let listed =
        "SELECT usename, state, query, client_addr, application_name, xact_start <= now(), datname, backend_type
        FROM pg_stat_activity WHERE usename = 'ada'";
    let text =
        "ada|idle in transaction|BEGIN; INSERT INTO t VALUES (1, 1)|192.0.2.7|report|true|gingham|client backend";
    assert_eq!(rows(&admin, listed), [text]);
    let own = "SELECT user_name, role, state, own, statement_number FROM gingham_sessions ORDER BY session_id";
    assert_eq!(rows(&admin, own), ["gingham|admin|active|true|3", "ada|write|idle in transaction|false|3"]);
    ada.execute("COMMIT").expect("its end");

    // What others run is for administrators, and for the same user.
    admin.execute("SELECT 'secret'").expect("a row");
    let queries = "SELECT usename, query FROM pg_stat_activity WHERE pid <> pg_backend_pid() ORDER BY pid";
    assert_eq!(rows(&ada, queries), ["gingham|<insufficient privilege>"]);
    let second = database.connect_with(&user("ada", Role::Read)).expect("a session");
    assert_eq!(rows(&second, queries), ["gingham|<insufficient privilege>", &format!("ada|{queries}")]);

    // Points, plans that are kept, prepared statements and rows that are not read yet.
    for sql in ["SELECT v FROM t WHERE k = 1", "UPDATE t SET v = 2 WHERE k = 1", "SELECT count(*) FROM t"] {
        for _ in 0..2 {
            ada.query(sql).expect("a statement");
            wait_until(sql, || info(&database, &ada).state == SessionState::Idle);
            assert_eq!(info(&database, &ada).statement.as_deref(), Some(sql));
        }
    }
    let prepared = ada.prepare("SELECT v FROM t WHERE k = $1").expect("a statement");
    prepared.query(&[1.into()]).expect("a row");
    assert_eq!(info(&database, &ada).statement.as_deref(), Some("SELECT v FROM t WHERE k = $1"));
    let unread = ada.query("SELECT value FROM generate_series(1, 1000000)").expect("rows");
    assert_eq!(info(&database, &ada).state, SessionState::Active);
    drop(unread);
    wait_until("it ends", || info(&database, &ada).state == SessionState::Idle);

    let gone = ada.session_id();
    drop((ada, second, prepared));
    wait_until("they go", || database.sessions().len() == 1);
    assert!(!database.cancel_session(gone) && !database.terminate_session(gone));
}

#[test]
fn a_scan_tells_others_how_far_it_is() {
    let database = Database::in_memory().expect("a database");
    let (one, other) = (database.connect(), database.connect());
    one.execute("CREATE TABLE t AS SELECT value AS n FROM generate_series(1, 100000)").expect("a table");
    let mut result = one.query("SELECT n + 1 FROM t").expect("rows");
    result.next().expect("a batch").expect("rows");
    let progress = info(&database, &one).progress.expect("a scan counts");
    assert!(progress.total == 100_000 && progress.done > 0, "{progress:?}");
    assert_eq!(rows(&other, "SELECT total, done > 0 FROM gingham_sessions WHERE NOT own"), ["100000|true"]);
    assert!(result.map(|batch| batch.expect("rows").num_rows()).sum::<usize>() > 0);
}

#[test]
fn others_are_cancelled_by_who_may() {
    let database = Database::in_memory().expect("a database");
    let admin = database.connect();
    let ada = database.connect_with(&user("ada", Role::Read)).expect("a session");
    let bob = database.connect_with(&user("bob", Role::Write)).expect("a session");
    let second = database.connect_with(&user("ada", Role::Read)).expect("a session");
    let cancel = format!("SELECT pg_cancel_backend({})", ada.session_id());
    for by in [&admin, &second] {
        let running = runs(&database, &ada, ENDLESS);
        for function in ["pg_cancel_backend", "pg_terminate_backend"] {
            let error = failure(&bob, &format!("SELECT {function}({})", ada.session_id()));
            assert_eq!(error.sqlstate(), "42501", "{error}");
            assert!(
                error.to_string().ends_with("of user 'ada' needs role admin; user 'bob' has role write"),
                "{error}"
            );
        }
        assert_eq!(rows(by, &cancel), ["true"]);
        assert!(matches!(running.join().expect("no panic"), Err(Error::Cancelled)));
        assert_eq!(rows(&ada, "SELECT 1"), ["1"], "the session goes on");
    }
    // Nothing runs.
    assert_eq!(rows(&admin, &cancel), ["true"]);
    assert_eq!(rows(&ada, "SELECT 1"), ["1"]);
    for id in ["2147483000", "-1", "0", "99999999999"] {
        for function in ["pg_cancel_backend", "pg_terminate_backend"] {
            assert_eq!(rows(&admin, &format!("SELECT {function}({id})")), ["false"], "{id}");
            let said = admin.notices().take();
            let text = format!("WARNING 01000 PID {id} is not a session of this database");
            let told: Vec<_> =
                said.iter().map(|own| format!("{} {} {}", own.severity, own.sqlstate.sqlstate(), own.text)).collect();
            assert_eq!(told, [text]);
        }
    }
    assert_eq!(rows(&admin, "SELECT pg_cancel_backend(NULL) IS NULL"), ["true"]);
}

/// Cancels, or ends, a session that waits for something.
fn stop(database: &Database, connection: &Connection, ends: bool) {
    match ends {
        true => assert!(database.terminate_session(connection.session_id())),
        false => assert!(database.cancel_session(connection.session_id())),
    }
}

fn is_stopped(error: &Error, ends: bool) -> bool {
    if ends { matches!(error, Error::Terminated(_)) } else { matches!(error, Error::Cancelled) }
}

#[test]
fn what_waits_is_stopped_too() {
    for ends in [false, true] {
        let database = Database::in_memory().expect("a database");
        let writer = database.connect();
        writer
            .execute("CREATE TABLE t (k INT PRIMARY KEY, v INT) WITH (layout = 'nsm'); INSERT INTO t VALUES (1, 1)")
            .expect("a table");
        writer.execute("BEGIN IMMEDIATE").expect("the turn");
        let point = "UPDATE t SET v = v + 1 WHERE k = 1";
        for sql in ["INSERT INTO t VALUES (2, 2)", "UPDATE t SET v = v + 1", point, "SELECT * FROM t FOR UPDATE"] {
            let waits = database.connect();
            let running = runs(&database, &waits, sql);
            stop(&database, &waits, ends);
            let error = running.join().expect("no panic").expect_err("it was stopped");
            assert!(is_stopped(&error, ends), "{sql}: {error}");
        }
        writer.execute("ROLLBACK").expect("its end");
        let (locks, waits) = (database.connect(), database.connect());
        locks.execute("SELECT pg_advisory_lock(1)").expect("a lock");
        let running = runs(&database, &waits, "SELECT pg_advisory_lock(1)");
        stop(&database, &waits, ends);
        let error = running.join().expect("no panic").expect_err("it was stopped");
        assert!(is_stopped(&error, ends), "{error}");
        let sleeps = database.connect();
        let running = runs(&database, &sleeps, "SELECT pg_sleep(1000)");
        stop(&database, &sleeps, ends);
        let error = running.join().expect("no panic").expect_err("it was stopped");
        assert!(is_stopped(&error, ends), "{error}");
        // Rows that wait for their reader.
        let reads = database.connect();
        let result = reads.query("SELECT value FROM generate_series(1, 10000000)").expect("rows");
        stop(&database, &reads, ends);
        let error = result.collect_batches().expect_err("it was stopped");
        assert!(is_stopped(&error, ends), "{error}");
        assert_eq!(rows(&writer, "SELECT k, v FROM t"), ["1|1"]);
    }
}

#[test]
fn a_session_is_ended_with_all_that_it_holds() {
    let database = Database::in_memory().expect("a database");
    let admin = database.connect();
    admin.execute("CREATE TABLE t (n INT)").expect("a table");
    let ada = database.connect_with(&user("ada", Role::Write)).expect("a session");
    ada.execute("SELECT pg_advisory_lock(7); BEGIN; INSERT INTO t VALUES (1)").expect("a transaction");
    let prepared = ada.prepare("SELECT 1").expect("a statement");
    let waits = ada.clone();
    let waiting = std::thread::spawn(move || futures::executor::block_on(waits.terminated()));
    assert_eq!(rows(&admin, &format!("SELECT pg_terminate_backend({})", ada.session_id())), ["true"]);
    waiting.join().expect("it is told");
    for sql in ["SELECT 1", "COMMIT", "ROLLBACK", "INSERT INTO t VALUES (2)", "BEGIN"] {
        let error = ada.execute(sql).expect_err("it is over");
        assert!(matches!(error, Error::Terminated(_)) && error.sqlstate() == "57P01", "{sql}: {error}");
        assert_eq!(error.to_string(), "terminating connection due to administrator command");
    }
    assert_eq!(prepared.query(&[]).expect_err("it is over").sqlstate(), "57P01");
    assert_eq!(ada.prepare("SELECT 1").expect_err("it is over").sqlstate(), "57P01");
    assert_eq!(ada.appender("t").expect_err("it is over").sqlstate(), "57P01");
    // Others have its turn to write, and its locks.
    admin.execute("INSERT INTO t VALUES (3)").expect("nobody writes");
    assert_eq!(rows(&admin, "SELECT n FROM t"), ["3"]);
    assert_eq!(rows(&admin, "SELECT pg_try_advisory_lock(7)"), ["true"]);
    // It is there until it is given up.
    let ended = format!("SELECT pg_terminate_backend({}, 20)", ada.session_id());
    assert_eq!(rows(&admin, &ended), ["false"]);
    assert!(admin.notices().take().iter().any(|notice| notice.text.ends_with("has not ended within 20 ms")));
    let longer = ended.replace(", 20)", ", 60000)");
    let gives_up = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(30));
        drop((ada, prepared));
    });
    assert_eq!(rows(&admin, &longer), ["true"]);
    gives_up.join().expect("no panic");
    assert_eq!(failure(&admin, &ended.replace(", 20)", ", -1)")).sqlstate(), "22003");
    // A session may end itself.
    let own = database.connect();
    let error = failure(&own, "SELECT pg_terminate_backend(pg_backend_pid())");
    assert_eq!(error.sqlstate(), "57P01", "{error}");
}

#[test]
fn settings_that_a_session_began_with_come_back() {
    let database = Database::in_memory().expect("a database");
    database.connect().execute("CREATE SCHEMA a; CREATE TABLE a.t AS SELECT 1 AS n").expect("a table");
    let options = user("ada", Role::Write)
        .setting("application_name", "report")
        .setting("search_path", "a, public")
        .setting("statement_timeout", "1h")
        .setting("gingham.column_names", "postgres")
        .setting("default_transaction_isolation", "read committed")
        .setting("client_min_messages", "warning")
        .setting("myapp.tenant", "7")
        .setting("DateStyle", "ISO")
        .of_server(true);
    let connection = database.connect_with(&options).expect("a session");
    let began = [
        ("application_name", "report"),
        ("search_path", "a, public"),
        ("statement_timeout", "1h"),
        ("gingham.column_names", "postgres"),
        ("default_transaction_isolation", "read committed"),
        ("client_min_messages", "warning"),
        ("myapp.tenant", "7"),
        ("DateStyle", "ISO, MDY"),
        ("gingham.idle_writer_timeout", "1 min"),
        ("gingham.layout", "column"),
    ];
    let check = |when: &str| {
        for (name, value) in began {
            assert_eq!(rows(&connection, &format!("SHOW {name}")), [value], "{when}: {name}");
        }
        assert_eq!(rows(&connection, "SELECT n FROM t"), ["1"], "{when}");
        connection.execute("LISTEN channel").expect("a notice that is not wanted");
        assert!(connection.notices().take().is_empty(), "{when}");
    };
    check("at first");
    let others = "SET application_name = 'x'; SET search_path = public; SET statement_timeout = 0;
        SET gingham.column_names = 'text'; SET default_transaction_isolation = 'repeatable read';
        SET client_min_messages = notice; SET myapp.tenant = '8'; SET gingham.layout = 'pax'";
    for back in ["RESET ALL", "DISCARD ALL"] {
        connection.execute(others).expect("settings");
        assert_eq!(rows(&connection, "SHOW search_path"), ["public"]);
        connection.execute(back).expect("settings");
        check(back);
    }
    connection.execute(others).expect("settings");
    for (name, _) in began.iter().filter(|(name, _)| *name != "gingham.idle_writer_timeout" && *name != "DateStyle") {
        let back = if name.len() % 2 == 0 { format!("RESET {name}") } else { format!("SET {name} TO DEFAULT") };
        connection.execute(&back).expect("a setting");
    }
    check("one by one");
    connection
        .execute("BEGIN; SET LOCAL search_path = public; SET LOCAL gingham.column_names = 'text'; COMMIT")
        .expect("a transaction");
    check("after a transaction");
    connection.execute(&format!("BEGIN; {others}; RESET ALL; ROLLBACK")).expect("a transaction");
    check("after a rollback");
    // Plans of sessions that begin alike are shared, and give what these are to see.
    let plain = database.connect();
    for _ in 0..2 {
        assert_eq!(rows(&connection, "SELECT version() LIKE 'PostgreSQL 15.0 (Gingham %'"), ["true"]);
        assert_eq!(rows(&plain, "SELECT version() LIKE 'PostgreSQL 15.0 (Gingham %'"), ["false"]);
    }
    let alike = database.connect_with(&options).expect("a session");
    assert_eq!(rows(&alike, "SELECT n FROM t"), ["1"]);
}

#[test]
fn wrong_settings_are_told_when_a_session_begins() {
    let database = Database::in_memory().expect("a database");
    for (name, value, state) in [
        ("nosuch", "1", "42704"),
        ("gingham.nosuch", "1", "42704"),
        ("statement_timeout", "soon", "22023"),
        ("client_encoding", "LATIN1", "0A000"),
        ("server_version", "16", "55P02"),
        ("gingham.memory_limit", "1GB", "42501"),
        ("datafusion.execution.batch_size", "1", "42501"),
    ] {
        let options = user("ada", Role::Write).setting(name, value);
        let error = database.connect_with(&options).expect_err("it is wrong");
        assert_eq!(error.sqlstate(), state, "{name}: {error}");
        assert!(error.to_string().contains(name), "{name}: {error}");
    }
    let reader = user("ada", Role::Read).setting("default_transaction_read_only", "off");
    assert_eq!(database.connect_with(&reader).expect_err("it reads").sqlstate(), "25006");
    assert!(database.connect_with(&SessionOptions::new().setting("gingham.threads", "1")).is_ok());
    assert!(database.sessions().is_empty(), "none of them is there any more");
}

#[test]
fn who_writes_and_stands_still_is_rolled_back() {
    let database = Database::in_memory().expect("a database");
    let (one, other) = (database.connect(), database.connect());
    one.execute("CREATE TABLE t (n INT)").expect("a table");
    assert_eq!(rows(&one, "SHOW gingham.idle_writer_timeout"), ["0"]);
    // One that only reads may stand still.
    one.execute("SET gingham.idle_writer_timeout = '30 ms'; BEGIN; SELECT * FROM t").expect("a transaction");
    std::thread::sleep(Duration::from_millis(150));
    assert_eq!(one.transaction_status(), TransactionStatus::Open);
    one.execute("INSERT INTO t VALUES (1)").expect("a row");
    wait_until("it is rolled back", || one.transaction_status() == TransactionStatus::RolledBack);
    assert_eq!(info(&database, &one).state, SessionState::IdleInFailedTransaction);
    other.execute("INSERT INTO t VALUES (2)").expect("nobody else writes");
    for _ in 0..2 {
        let error = one.execute("SELECT 1").expect_err("it was rolled back");
        assert_eq!(error.sqlstate(), "25P03");
        assert!(error.to_string().contains("(gingham.idle_writer_timeout)"), "{error}");
    }
    one.execute("ROLLBACK").expect("its end");
    assert_eq!(rows(&one, "SELECT n FROM t"), ["2"]);
    // The next one is looked after, too, and by a limit that is set meanwhile.
    one.execute("SET gingham.idle_writer_timeout = '1 h'; BEGIN; INSERT INTO t VALUES (3)").expect("a transaction");
    one.execute("SET LOCAL idle_in_transaction_session_timeout = '20ms'").expect("a setting");
    wait_until("it is rolled back", || one.transaction_status() == TransactionStatus::RolledBack);
    assert_eq!(one.execute("COMMIT").expect_err("it was rolled back").sqlstate(), "25P03");
    one.execute("ROLLBACK").expect("its end");
    assert_eq!(rows(&one, "SHOW idle_in_transaction_session_timeout"), ["0"], "what it set is gone with it");
    // And by one that comes back.
    one.execute("SET idle_in_transaction_session_timeout = '20ms'; BEGIN; SAVEPOINT s").expect("a transaction");
    one.execute("SET idle_in_transaction_session_timeout = '1h'; ROLLBACK TO s").expect("a setting");
    wait_until("it is rolled back", || one.transaction_status() == TransactionStatus::RolledBack);
}

#[test]
fn timeouts_have_the_names_of_postgresql() {
    let connection = connect();
    for (name, own) in [
        ("idle_in_transaction_session_timeout", "gingham.idle_in_transaction_timeout"),
        ("idle_session_timeout", "gingham.idle_session_timeout"),
    ] {
        assert_eq!(rows(&connection, &format!("SHOW {name}")), ["0"]);
        connection.execute(&format!("SET {name} = '5min'")).expect("a setting");
        assert_eq!(rows(&connection, &format!("SHOW {name}")), ["5min"]);
        assert_eq!(rows(&connection, &format!("SHOW {own}")), ["5 min"]);
        assert_eq!(failure(&connection, &format!("SET {name} = 'soon'")).sqlstate(), "22023");
    }
    assert_eq!(connection.idle_session_timeout(), Some(Duration::from_secs(300)));
}

#[test]
fn what_runs_alone_is_refused_in_a_transaction() {
    let connection = connect();
    connection.execute("CREATE TABLE t (n INT); BEGIN").expect("a transaction");
    for sql in ["VACUUM", "VACUUM ANALYZE", "OPTIMIZE TABLE t", "ALTER TABLE t SET (layout = 'pax')", "DISCARD ALL"] {
        let error = failure(&connection, sql);
        assert_eq!(error.sqlstate(), "25001", "{sql}: {error}");
        assert!(error.to_string().ends_with("can't be part of a transaction; COMMIT or ROLLBACK, then run it alone"));
    }
}
