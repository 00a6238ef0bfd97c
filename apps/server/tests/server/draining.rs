//! SIGTERM while clients copy: who has time ends, who has none is cut, and in either case nothing is half written.

use crate::harness::Served;
use crate::messages::{Wire, field, message, query, shown};
use nix::sys::signal::Signal;
use std::net::TcpStream;
use std::time::Duration;

const ROWS: u64 = 300_000;

/// A server of a database on disk with a table `t (n)`, that gives so many seconds of grace.
fn serve(grace: &str) -> (Served, Wire) {
    let served = Served::within(tempfile::tempdir().unwrap(), "FOLDER/shop.gingham", &["--grace", grace]);
    let mut wire = Wire::ready(served.port());
    assert_eq!(wire.ask(&[query("CREATE TABLE t (n BIGINT)")]), "C[CREATE TABLE] ZI");
    (served, wire)
}

/// Waits for the end of a server, and counts the rows that its table has then.
fn rows_at_the_end(served: Served) -> u64 {
    let (status, folder) = served.wait();
    assert!(status.success(), "{status}");
    let database = gingham::DatabaseOptions::new().create(false).open(folder.path().join("shop.gingham")).unwrap();
    assert!(database.connect().execute("INSERT INTO t VALUES (1)").is_ok(), "it takes rows still");
    database.connect().table("t").unwrap().rows() - 1
}

/// Begins COPY … FROM STDIN, and sends half of its rows.
fn begin_copy(wire: &mut Wire) {
    wire.send(&query("COPY t FROM STDIN"));
    assert_eq!(wire.next().unwrap().0, b'G');
    send_rows(wire, ROWS / 2);
}

fn send_rows(wire: &mut Wire, rows: u64) {
    let piece: String = (0..1000).map(|n| format!("{n}\n")).collect();
    for _ in 0..rows / 1000 {
        wire.send(&message(b'd', piece.as_bytes()));
    }
}

/// Reads up to the error that ends the connection: the letters before it, each once, and its severity and code.
fn read_to_end(wire: &mut Wire) -> (String, String) {
    let (mut letters, mut last) = (String::new(), String::new());
    while let Some((letter, body)) = wire.next() {
        if letter == b'E' {
            last = format!("{} {}", field(&body, b'S'), field(&body, b'C'));
        } else if !letters.ends_with(letter as char) {
            letters.push(letter as char);
        }
    }
    (letters, last)
}

/// Waits until nobody new is let in.
fn is_draining(served: &Served) {
    crate::harness::wait_until("it takes no more clients", || {
        TcpStream::connect(("127.0.0.1", served.port())).is_err()
    });
}

#[test]
fn a_copy_in_that_has_time_is_whole() {
    let (served, mut wire) = serve("60");
    begin_copy(&mut wire);
    served.signal(Signal::SIGTERM);
    is_draining(&served);
    send_rows(&mut wire, ROWS / 2);
    wire.send(&message(b'c', b""));
    assert_eq!(shown(&wire.until_ready()), format!("C[COPY {ROWS}] ZI"));
    assert_eq!(read_to_end(&mut wire), (String::new(), "FATAL 57P01".into()));
    assert_eq!(rows_at_the_end(served), ROWS);
}

#[test]
fn a_copy_in_that_has_no_time_is_nothing() {
    for grace in ["0", "1"] {
        let (served, mut wire) = serve(grace);
        begin_copy(&mut wire);
        served.signal(Signal::SIGTERM);
        assert_eq!(read_to_end(&mut wire), (String::new(), "FATAL 57P01".into()));
        assert_eq!(rows_at_the_end(served), 0);
    }
}

/// Records that a transaction has copied before are undone with it.
#[test]
fn a_copy_within_a_transaction_is_undone_with_it() {
    let (served, mut wire) = serve("60");
    let mut idle = Wire::ready(served.port());
    assert_eq!(idle.ask(&[query("BEGIN")]), "C[BEGIN] ZT");
    idle.send(&query("COPY t FROM STDIN"));
    assert_eq!(idle.next().unwrap().0, b'G');
    idle.send(&[message(b'd', b"1\n2\n"), message(b'c', b"")].concat());
    assert_eq!(shown(&idle.until_ready()), "C[COPY 2] ZT");
    served.signal(Signal::SIGTERM);
    assert_eq!(read_to_end(&mut idle).1, "FATAL 57P01");
    assert_eq!(read_to_end(&mut wire).1, "FATAL 57P01");
    assert_eq!(rows_at_the_end(served), 0);
}

#[test]
fn a_copy_out_that_has_time_is_whole() {
    let (served, mut wire) = serve("60");
    wire.send(&query("COPY (SELECT n FROM generate_series(1, 300000) AS g(n)) TO STDOUT"));
    assert_eq!(wire.next().unwrap().0, b'H');
    served.signal(Signal::SIGTERM);
    is_draining(&served);
    let answers = wire.until_ready();
    let records = answers.iter().filter(|(letter, _)| *letter == b'd').count();
    assert_eq!(records as u64, ROWS);
    assert_eq!(shown(&answers[records..]), format!("c C[COPY {ROWS}] ZI"));
    assert_eq!(read_to_end(&mut wire).1, "FATAL 57P01");
    assert_eq!(rows_at_the_end(served), 0);
}

#[test]
fn a_copy_out_that_has_no_time_is_cut() {
    let endless = query("COPY (SELECT n FROM generate_series(1, 100000000000) AS g(n)) TO STDOUT");
    let (served, _wire) = serve("1");
    let (mut reads, mut waits) = (Wire::ready(served.port()), Wire::ready(served.port()));
    for wire in [&mut reads, &mut waits] {
        wire.send(&endless);
        assert_eq!(wire.next().unwrap().0, b'H');
    }
    // One reads on to the end, the other never reads, and is waited for by nobody.
    let reader = std::thread::spawn(move || read_to_end(&mut reads));
    std::thread::sleep(Duration::from_millis(200));
    served.signal(Signal::SIGTERM);
    assert_eq!(reader.join().unwrap(), ("d".into(), "FATAL 57P01".into()));
    assert_eq!(rows_at_the_end(served), 0);
    drop(waits);
}
