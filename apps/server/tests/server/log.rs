//! The server writes on standard error: slow statements with their plans, and never what is secret.

use crate::harness::Served;
use crate::messages::{Wire, bind, execute, message, parse, query, startup, sync};

#[test]
fn slow_statements_are_told_with_their_plans() {
    let served = Served::with(&["--slow", "1500"]);
    let mut wire = Wire::ready(served.port());
    assert_eq!(wire.ask(&[query("CREATE TABLE t (quick BIGINT)")]), "C[CREATE TABLE] ZI");
    let slow = "SELECT pg_sleep(1.6), count(*) FROM t WHERE quick > 1";
    assert_eq!(wire.ask(&[query(slow)]), "T D C[SELECT 1] ZI");
    let log = served.tells("took ");
    let told: Vec<&str> = log.lines().filter(|line| line.contains("WARN")).collect();
    assert_eq!(told.len(), 1, "{log}");
    assert!(told[0].contains(slow) && log.contains("session=1 statement=2"), "{log}");
    let plan = log.split_once(slow).unwrap().1;
    assert!(plan.contains("scan t where quick > 1"), "a plan follows: {log}");
    // Those that wait for another are slow, too, and have the values that they ran with.
    let slow = "INSERT INTO t SELECT length(pg_sleep(1.6)) + $1::bigint";
    assert_eq!(wire.ask(&[parse("", slow), bind("", "", &["4711"]), execute("", 0), sync()]), "1 2 C[INSERT 0 1] ZI");
    assert!(served.tells(slow).matches("WARN").count() == 2, "{}", served.log());
    // COPY counts from its beginning.
    wire.send(&query("COPY t FROM STDIN"));
    assert_eq!(wire.next().unwrap().0, b'G');
    std::thread::sleep(std::time::Duration::from_millis(1600));
    assert_eq!(wire.ask(&[message(b'd', b"1\n"), message(b'c', b"")]), "C[COPY 1] ZI");
    served.tells("COPY t FROM STDIN");
    // The session has seen nothing of it.
    assert_eq!(wire.ask(&[query("SELECT quick FROM t")]), "T D D C[SELECT 2] ZI");
    let log = served.log();
    assert!(!log.contains("SELECT 1") && !log.contains("SELECT quick"), "what is quick is not told: {log}");
}

/// The plan is made besides: the session that others see shows its own statement.
#[test]
fn plans_of_slow_statements_are_nobodys_statements() {
    let served = Served::with(&["--slow", "0"]);
    let (mut wire, mut other) = (Wire::ready(served.port()), Wire::ready(served.port()));
    for _ in 0..20 {
        assert_eq!(wire.ask(&[query("SET application_name = 'slow'")]).split(' ').next_back(), Some("ZI"));
        assert_eq!(wire.ask(&[query("SELECT 4711")]), "T D C[SELECT 1] ZI");
        served.tells("4711");
        other.send(&query("SELECT query FROM pg_stat_activity WHERE application_name = 'slow'"));
        let answers = other.until_ready();
        let row = String::from_utf8_lossy(&answers[1].1).into_owned();
        assert!(row.ends_with("SELECT 4711"), "{row}");
    }
    // A transaction that ends at once is not held up, nor are its notices told twice.
    assert_eq!(wire.ask(&[query("CREATE TABLE t (n BIGINT)")]), "C[CREATE TABLE] ZI");
    let text = "BEGIN; INSERT INTO t SELECT n FROM generate_series(1, 1000) AS g(n); SELECT count(*) FROM t; COMMIT";
    for _ in 0..20 {
        assert_eq!(wire.ask(&[query(text)]), "C[BEGIN] C[INSERT 0 1000] T D C[SELECT 1] C[COMMIT] ZI");
    }
}

#[tokio::test]
async fn secrets_are_not_written() {
    let served = Served::with_users(&["--log", "debug"]);
    let secret = "xyzzy-4711";
    assert!(served.connect(&format!("user=ada password={secret}")).await.is_err());
    assert!(served.connect(&format!("user=nobody password={secret}")).await.is_err());
    // A password that is sent unasked, and as it is.
    for body in [format!("{secret}\0"), format!("{secret}\0\0\0\0\x05{secret}")] {
        let mut wire = Wire::open(served.port());
        wire.send(&startup(&[("user", "ada")]));
        wire.send(&message(b'p', body.as_bytes()));
        while wire.next().is_some() {}
    }
    let ada = served.user("ada").await;
    ada.batch_execute("CREATE TABLE t (n TEXT)").await.unwrap();
    ada.execute("INSERT INTO t VALUES ($1)", &[&secret]).await.unwrap();
    assert_eq!(ada.query("SELECT n FROM t WHERE n = $1", &[&secret]).await.unwrap().len(), 1);
    ada.batch_execute("SELECT 'the last'").await.unwrap();
    let log = served.tells("the last");
    for expected in ["begins: INSERT INTO t VALUES ($1)", "a client was not let in", "session=", "statement="] {
        assert!(log.contains(expected), "{expected}: {log}");
    }
    assert!(!log.contains(secret), "{log}");
    let users = std::fs::read_to_string(served.folder().join("users")).unwrap();
    assert!(users.contains("SCRAM-SHA-256$4096:") && !log.contains("SCRAM-SHA-256$"), "{log}");
    let kept = users.split(['$', ':', '\t', '\n']).filter(|part| part.len() > 20);
    assert!(kept.clone().count() >= 6);
    for part in kept {
        assert!(!log.contains(part), "{part}: {log}");
    }
}
