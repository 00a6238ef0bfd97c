//! What nobody of good manners sends: nothing of it harms other sessions, or stays.

use crate::harness::Served;
use crate::messages::{Wire, bind, field, message, parse, query, run, startup, sync};

/// The code of the error that the connection ends with; empty when it just ends.
fn end(wire: &mut Wire) -> String {
    let mut code = String::new();
    while let Some((letter, body)) = wire.next() {
        if letter == b'E' {
            assert_eq!(field(&body, b'S'), "FATAL");
            code = field(&body, b'C');
        }
    }
    code
}

#[test]
fn broken_messages_end_their_connection_alone() {
    let served = Served::start();
    let mut other = Wire::ready(served.port());
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("a length of 3", b"Q\0\0\0\x03".to_vec(), "08P01"),
        ("a negative length", b"Q\xff\xff\xff\xff".to_vec(), "08P01"),
        ("a length of 1 GiB", b"Q\x40\0\0\0SELECT".to_vec(), "08P01"),
        ("an unknown letter", message(b'?', b"x"), "08P01"),
        ("a text without an end", message(b'Q', b"SELECT 1"), "08P01"),
        ("something behind the end", message(b'Q', b"SELECT 1\0\0"), "08P01"),
        ("no UTF-8", message(b'Q', b"SELECT '\xff'\0"), "22021"),
        ("values that are not there", message(b'B', b"\0\0\0\0\0\x02\0\0\0\x04"), "08P01"),
        ("a value of 2 GiB", message(b'B', b"\0\0\0\0\0\x01\x7f\xff\xff\xff\0\0"), "08P01"),
        ("a password", message(b'p', b"secret\0"), "08P01"),
        ("a function call", message(b'F', &[0; 14]), "08P01"),
    ];
    for (what, bytes, code) in cases {
        let mut wire = Wire::ready(served.port());
        wire.send(&bytes);
        assert_eq!(end(&mut wire), code, "{what}");
        assert_eq!(other.ask(&[query("SELECT 1")]), "T D C[SELECT 1] ZI", "{what}");
    }
}

#[test]
fn broken_beginnings_end_their_connection() {
    let served = Served::start();
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("version 2", message(0, &[0, 2, 0, 0])[1..].to_vec(), "08P01"),
        ("a page of HTTP", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(), "08P01"),
        ("no user", startup(&[]), "28000"),
        ("replication", startup(&[("user", "a"), ("replication", "true")]), "0A000"),
        ("a statement", query("SELECT 1"), "08P01"),
    ];
    for (what, bytes, code) in cases {
        let mut wire = Wire::open(served.port());
        wire.send(&bytes);
        let _ = wire.stream.shutdown(std::net::Shutdown::Write);
        assert_eq!(end(&mut wire), code, "{what}");
    }
    // TLS is not to be had, and GSS neither; plain text goes on.
    let mut wire = Wire::open(served.port());
    wire.send(&[0, 0, 0, 8, 4, 210, 22, 47]);
    let mut answer = [0];
    std::io::Read::read_exact(&mut wire.stream, &mut answer).unwrap();
    assert_eq!(answer, *b"N");
    wire.send(&startup(&[("user", "tester")]));
    assert_eq!(wire.until_ready().last().unwrap().0, b'Z');
}

/// Messages in a wrong order, and wrong numbers of things, are errors of one statement.
#[test]
fn messages_out_of_order_are_answered() {
    let served = Served::start();
    let mut wire = Wire::ready(served.port());
    assert_eq!(wire.ask(&[sync()]), "ZI");
    assert_eq!(wire.ask(&[bind("", "", &[]), sync()]), "E26000 ZI");
    assert_eq!(wire.ask(&[parse("", "SELECT $1"), bind("", "", &[]), sync()]), "1 E08P01 ZI");
    assert_eq!(wire.ask(&[parse("", "SELECT 1; SELECT 2"), sync()]), "E42601 ZI");
    let formats = message(b'B', b"\0\0\0\x02\0\x01\0\x01\0\x01\0\0\0\x011\0\0");
    assert_eq!(wire.ask(&[parse("", "SELECT $1"), formats, sync()]), "1 E08P01 ZI");
    let format = message(b'B', b"\0\0\0\0\0\0\0\x01\0\x02");
    assert_eq!(wire.ask(&[parse("", "SELECT 1"), format, sync()]), "1 E08P01 ZI");
    // COPY that nobody has begun.
    assert_eq!(wire.ask(&[message(b'd', b"1\n"), message(b'c', b""), query("SELECT 1")]), "T D C[SELECT 1] ZI");
}

/// Random changes of good messages.
#[test]
fn changed_messages_do_no_harm() {
    let served = Served::start();
    let mut other = Wire::ready(served.port());
    let good =
        [query("SELECT 1"), run("SELECT $1", &["x"]), parse("s", "SELECT 2"), bind("p", "s", &[]), sync()].concat();
    let mut state = 0x9e37_79b9_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for _ in 0..300 {
        let mut bytes = good.clone();
        for _ in 0..=random(4) {
            let place = random(bytes.len());
            bytes[place] = random(256) as u8;
        }
        bytes.truncate(bytes.len() - random(8));
        let mut wire = Wire::ready(served.port());
        wire.send(&bytes);
        let _ = wire.stream.shutdown(std::net::Shutdown::Write);
        while wire.next().is_some() {}
    }
    assert_eq!(other.ask(&[query("SELECT 1")]), "T D C[SELECT 1] ZI");
}
