//! /metrics and /healthz: each figure against traffic that is known, what is told while the server drains, and requests that are none.

use crate::harness::{Served, code, wait_until};
use crate::messages::{Wire, bind, execute, message, parse, query, startup, sync};
use nix::sys::signal::Signal;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// What a request of HTTP is answered, which may be nothing; one that `ends` says that nothing more comes.
fn request(port: u16, bytes: &[u8], ends: bool) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    // A server that has heard enough may close the connection.
    let _ = stream.write_all(bytes);
    if ends {
        let _ = stream.shutdown(Shutdown::Write);
    }
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// The status and the text of a page.
fn page(port: u16, path: &str) -> (u16, String) {
    let bytes = format!("GET {path} HTTP/1.1\r\nHost: gingham\r\nConnection: close\r\n\r\n");
    let answer = request(port, bytes.as_bytes(), false);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer:?}"));
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// The figures that are not 0, but for how long statements took.
fn figures(served: &Served) -> BTreeMap<String, u64> {
    let (status, text) = page(served.metrics(), "/metrics");
    assert_eq!(status, 200);
    assert!(text.ends_with("# EOF\n"), "{text}");
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.contains("seconds_bucket"));
    let pairs = lines.filter_map(|line| line.rsplit_once(' ')).filter(|(name, _)| !name.ends_with("seconds_sum"));
    pairs.map(|(name, value)| (name.to_owned(), value.parse().unwrap())).filter(|(_, value)| *value != 0).collect()
}

fn expected(pairs: &[(&str, usize)]) -> BTreeMap<String, u64> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), *value as u64)).collect()
}

#[test]
fn figures_are_those_of_the_traffic() {
    let served = Served::with(&["--metrics", "127.0.0.1:0", "--max-connections", "3"]);
    assert_eq!(figures(&served), BTreeMap::new());
    let mut all = [Wire::ready(served.port()), Wire::ready(served.port()), Wire::ready(served.port())];
    let mut refused = Wire::open(served.port());
    refused.send(&startup(&[("user", "tester")]));
    while refused.next().is_some() {}
    let mut stranger = Wire::open(served.port());
    stranger.send(&[0, 0, 0, 8, 0, 2, 0, 0]);
    while stranger.next().is_some() {}

    let [one, two, idle] = &mut all;
    assert_eq!(one.ask(&[query("CREATE TABLE t (k BIGINT PRIMARY KEY)")]), "C[CREATE TABLE] ZI");
    assert_eq!(
        one.ask(&[query("INSERT INTO t VALUES (1), (2); INSERT INTO t VALUES (3)")]),
        "C[INSERT 0 2] C[INSERT 0 1] ZI"
    );
    assert_eq!(one.ask(&[query("SELECT k FROM t")]), "T D D D C[SELECT 3] ZI");
    // By portions: one statement, three rows.
    let portions = [parse("", "SELECT k FROM t"), bind("", "", &[]), execute("", 2), execute("", 0), sync()];
    assert_eq!(two.ask(&portions), "1 2 D D s D C[SELECT 1] ZI");
    two.send(&query("COPY t FROM STDIN"));
    assert_eq!(two.next().unwrap().0, b'G');
    assert_eq!(two.ask(&[message(b'd', b"4\n5\n"), message(b'c', b"")]), "C[COPY 2] ZI");
    assert_eq!(two.ask(&[query("COPY t TO STDOUT")]), "H d d d d d c C[COPY 5] ZI");
    assert_eq!(two.ask(&[query("UPDATE t SET k = 10 WHERE k = 1")]), "C[UPDATE 1] ZI");
    // Errors: where it is parsed, where it runs, where a COPY's rows come, where a message is out of order.
    assert_eq!(one.ask(&[query("SELEKT 1")]), "E42601 ZI");
    assert_eq!(one.ask(&[parse("", "SELEKT 1"), sync()]), "E42601 ZI");
    assert_eq!(one.ask(&[query("INSERT INTO t VALUES (2)")]), "E23505 ZI");
    assert_eq!(one.ask(&[query("SELECT 1 / (k - 2) FROM t")]), "T E22012 ZI");
    one.send(&query("COPY t FROM STDIN"));
    assert_eq!(one.next().unwrap().0, b'G');
    assert_eq!(one.ask(&[message(b'd', b"x\n"), message(b'c', b"")]), "E22P02 ZI");
    one.send(&query("COPY t FROM STDIN"));
    assert_eq!(one.next().unwrap().0, b'G');
    assert_eq!(one.ask(&[message(b'f', b"enough\0")]), "E57014 ZI");
    assert_eq!(one.ask(&[bind("", "nothing", &[]), sync()]), "E26000 ZI");
    assert_eq!(idle.ask(&[query("BEGIN; SELECT k FROM t WHERE k = 3")]), "C[BEGIN] T D C[SELECT 1] ZT");

    let wires = [one, two, idle, &mut refused, &mut stranger];
    let (sent, received) = wires.iter().fold((0, 0), |sums, wire| (sums.0 + wire.sent, sums.1 + wire.received));
    let known = expected(&[
        ("gingham_connections_total", 3),
        ("gingham_refused_connections_total", 2),
        ("gingham_statements_total{command=\"CREATE TABLE\"}", 1),
        ("gingham_statements_total{command=\"INSERT\"}", 2),
        ("gingham_statements_total{command=\"SELECT\"}", 3),
        ("gingham_statements_total{command=\"COPY\"}", 2),
        ("gingham_statements_total{command=\"UPDATE\"}", 1),
        ("gingham_statements_total{command=\"BEGIN\"}", 1),
        ("gingham_statement_seconds_count", 10),
        ("gingham_failed_statements_total{sqlstate=\"42601\"}", 2),
        ("gingham_failed_statements_total{sqlstate=\"23505\"}", 1),
        ("gingham_failed_statements_total{sqlstate=\"22012\"}", 1),
        ("gingham_failed_statements_total{sqlstate=\"22P02\"}", 1),
        ("gingham_failed_statements_total{sqlstate=\"57014\"}", 1),
        ("gingham_failed_statements_total{sqlstate=\"26000\"}", 1),
        ("gingham_rows_sent_total", 12),
        ("gingham_received_bytes_total", sent),
        ("gingham_sent_bytes_total", received),
        ("gingham_sessions{state=\"idle\"}", 2),
        ("gingham_sessions{state=\"idle in transaction\"}", 1),
    ]);
    // A byte that has come may be counted a moment later.
    wait_until("bytes are counted", || figures(&served)["gingham_sent_bytes_total"] == received as u64);
    assert_eq!(figures(&served), known);
    // Who has gone is counted no more; what was counted stays.
    drop(all);
    wait_until("they go", || !figures(&served).keys().any(|name| name.starts_with("gingham_sessions")));
    assert_eq!(figures(&served)["gingham_connections_total"], 3);
}

#[tokio::test]
async fn who_is_not_let_in_is_counted() {
    let served = Served::with_users(&["--metrics", "127.0.0.1:0"]);
    for how in ["user=ada password=wrong", "user=nobody password=x", "user=ada password=ada dbname=other"] {
        assert!(served.connect(how).await.is_err(), "{how}");
    }
    let wrong_setting = served.connect("user=ada password=ada options='-c nosuch=1'").await.unwrap_err();
    assert_eq!(code(&wrong_setting), "42704");
    drop(served.user("ada").await);
    let figures = figures(&served);
    assert_eq!(figures["gingham_refused_connections_total"], 4);
    assert_eq!(figures["gingham_connections_total"], 1);
}

#[test]
fn draining_is_told() {
    let served = Served::with(&["--metrics", "127.0.0.1:0", "--grace", "60"]);
    assert_eq!(page(served.metrics(), "/healthz"), (200, "ok\n".into()));
    let mut busy = Wire::ready(served.port());
    assert_eq!(busy.ask(&[query("CREATE TABLE t (n BIGINT)")]), "C[CREATE TABLE] ZI");
    busy.send(&query("COPY t FROM STDIN"));
    assert_eq!(busy.next().unwrap().0, b'G');
    served.signal(Signal::SIGTERM);
    wait_until("it drains", || page(served.metrics(), "/healthz").0 == 503);
    let (status, text) = page(served.metrics(), "/healthz");
    assert_eq!((status, text.as_str()), (503, "the server is shutting down\n"));
    assert_eq!(figures(&served)["gingham_connections_total"], 1);
    assert_eq!(busy.ask(&[message(b'd', b"1\n"), message(b'c', b"")]), "C[COPY 1] ZI");
    assert!(served.wait().0.success());
}

#[test]
fn requests_that_are_none_do_no_harm() {
    let served = Served::with(&["--metrics", "127.0.0.1:0"]);
    let mut other = Wire::ready(served.port());
    let port = served.metrics();
    assert_eq!(page(port, "/").0, 404);
    assert_eq!(page(port, "/metrics/../../etc/passwd").0, 404);
    let long = format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "x".repeat(1 << 20));
    let heads = format!("GET /healthz HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(10_000));
    let tls = b"\x16\x03\x01\x00\x05hello";
    let cases: Vec<(&[u8], &str)> = vec![
        (b"", ""),
        (b"GET", ""),
        (b"\0\0\0\x08\x04\xd2\x16\x2f", "400"),
        (b"GARBAGE\r\n\r\n", "400"),
        (b"GET /healthz HTTP/9.9\r\n\r\n", "400"),
        (b"GET /healthz HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "400"),
        (b"POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nx", "405"),
        (tls, "400"),
        (long.as_bytes(), "4"),
        (heads.as_bytes(), "431"),
    ];
    let mut before = None;
    for _ in 0..20 {
        for (bytes, status) in &cases {
            let answer = request(port, bytes, true);
            let start = answer.split(' ').nth(1).unwrap_or_default();
            assert!(
                start.starts_with(status),
                "{:?}: {answer:?}",
                String::from_utf8_lossy(&bytes[..bytes.len().min(50)])
            );
        }
        assert_eq!(page(port, "/healthz").0, 200);
        assert_eq!(other.ask(&[query("SELECT 1")]), "T D C[SELECT 1] ZI");
        let before: usize = *before.get_or_insert_with(|| served.holds().handles);
        wait_until("handles are given back", || served.holds().handles <= before);
    }
}
