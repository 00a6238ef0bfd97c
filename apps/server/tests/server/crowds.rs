//! Ten thousand connections that come and go, some after each step of the login and some half-open: the server's handles and threads are
//! as before, its memory about so, and another session goes on as if nothing were.

use crate::harness::{Holds, Served, wait_until};
use crate::messages::{Wire, bind, execute, flush, message, parse, query, startup};
use std::net::TcpStream;

/// Connections to a server that everybody may use.
const OPEN: usize = 6_000;
/// Connections to one whose users have to prove who they are.
const WITH_USERS: usize = 4_000;
/// Connections that are there at the same time and say nothing more.
const AT_ONCE: usize = 400;
/// Rounds of a crowd, after each of which the other session is looked at.
const ROUNDS: usize = 10;

/// Comes to a server that everybody may use, and is left after some step.
fn come_and_go(port: u16, step: usize) {
    let mut wire = Wire::open(port);
    let first = startup(&[("user", "tester")]);
    match step {
        0 => {}
        1 => wire.send(&first[..9]),
        2 => wire.send(&first),
        3 => wire.send(&[0, 0, 0, 8, 4, 210, 22, 47]),
        4 => wire.send(&[&first, query("SELECT n FROM generate_series(1, 100000000) AS g(n)").as_slice()].concat()),
        _ => {
            wire.send(&first);
            wire.until_ready();
            match step {
                5 => wire.send(&message(b'X', &[])),
                6 => wire.send(&query("SELECT n FROM generate_series(1, 100000000) AS g(n)")),
                7 => wire.send(&query("BEGIN; INSERT INTO t VALUES (2)")),
                8 => wire.send(&[query("COPY t FROM STDIN"), message(b'd', b"3\n4\n")].concat()),
                9 => {
                    let half = [parse("s", "INSERT INTO t VALUES (5)"), bind("p", "s", &[]), execute("p", 0), flush()];
                    wire.send(&half.concat());
                }
                10 => wire.send(&query("SELECT pg_sleep(1000)")),
                _ => wire.send(&query("SELECT 1")[..7]),
            }
        }
    }
}

/// Comes to a server whose users prove who they are, and is left after some step of that.
fn prove_by_half(port: u16, step: usize) {
    let mut wire = Wire::open(port);
    if step == 0 {
        return;
    }
    wire.send(&startup(&[("user", if step.is_multiple_of(2) { "ada" } else { "nobody" })]));
    if step < 3 {
        return;
    }
    assert_eq!(wire.next().unwrap().0, b'R');
    let first = "n,,n=,r=abcdefghijklmnopqrstuvwx";
    let length = u32::try_from(first.len()).unwrap().to_be_bytes();
    let initial = [b"SCRAM-SHA-256\0".as_slice(), &length, first.as_bytes()].concat();
    wire.send(&message(b'p', &initial));
    if step < 5 {
        return;
    }
    let (letter, body) = wire.next().unwrap();
    assert_eq!(letter, b'R');
    let text = String::from_utf8_lossy(&body[4..]).into_owned();
    let nonce = text.split(',').next().unwrap();
    let proof = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    wire.send(&message(b'p', format!("c=biws,{nonce},p={proof}").as_bytes()));
    if step == 6 {
        assert_eq!(wire.next().unwrap().0, b'E');
    }
}

/// Waits until the server has given back what a crowd had.
fn is_as_before(served: &Served, before: Holds) {
    wait_until(&format!("it gives back handles and threads: {before:?}, and now {:?}", served.holds()), || {
        let now = served.holds();
        now.handles == before.handles && now.threads == before.threads
    });
    let now = served.holds();
    assert!(now.bytes < before.bytes + (96 << 20), "{now:?}, and before {before:?}");
}

/// The server's handles, threads and memory once nothing of a crowd is left.
fn settled(served: &Served) -> Holds {
    let mut last = served.holds();
    let mut same = 0;
    wait_until("it comes to rest", || {
        // Threads that had work wait ten seconds for more.
        std::thread::sleep(std::time::Duration::from_millis(250));
        let now = served.holds();
        same = if (now.handles, now.threads) == (last.handles, last.threads) { same + 1 } else { 0 };
        last = now;
        same == 48
    });
    last
}

/// Lets a crowd come to a server in rounds, and looks at what it leaves.
fn crowd(served: &Served, count: usize, steps: usize, come: fn(u16, usize), mut goes_on: impl FnMut(usize)) {
    for step in 0..steps {
        come(served.port(), step);
    }
    let before = settled(served);
    for round in 0..ROUNDS {
        for number in 0..count / ROUNDS {
            come(served.port(), number % steps);
        }
        goes_on(round);
    }
    let half_open: Vec<_> = (0..AT_ONCE).map(|_| TcpStream::connect(("127.0.0.1", served.port())).unwrap()).collect();
    goes_on(ROUNDS);
    drop(half_open);
    is_as_before(served, before);
}

#[test]
fn ten_thousand_come_and_go() {
    let served = Served::with(&["--max-connections", "1000"]);
    let mut other = Wire::ready(served.port());
    assert_eq!(
        other.ask(&[query("CREATE TABLE t (n BIGINT); CREATE TABLE own (n BIGINT)")]),
        "C[CREATE TABLE] C[CREATE TABLE] ZI"
    );
    crowd(&served, OPEN, 12, come_and_go, |round| {
        assert_eq!(other.ask(&[query(&format!("INSERT INTO own VALUES ({round})"))]), "C[INSERT 0 1] ZI");
        assert_eq!(other.ask(&[query("SELECT count(*) FROM own")]), "T D C[SELECT 1] ZI");
    });
    // Nobody of them has left a row, but those whose statement was whole and whose transaction was not theirs to end.
    assert_eq!(other.ask(&[query("SELECT n FROM t WHERE n IN (2, 3, 4, 5)")]), "T C[SELECT 0] ZI");
    let sessions = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'";
    assert_eq!(other.ask(&[query(sessions)]), "T D C[SELECT 1] ZI");

    let served = Served::with_users(&[]);
    crowd(&served, WITH_USERS, 7, prove_by_half, |_| {
        drop(Wire::open(served.port()));
    });
}
