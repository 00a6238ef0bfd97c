//! Arbitrary bytes as a client's: a whole connection in this process, over a pair of sockets, against a server of a database in memory.
//! Any panic ends the program, also one that the server would have caught; so does a connection that doesn't end.
//!
//! The first byte says how the others are sent: behind a good first message or as they are, and in pieces of which size.

#![no_main]

use gingham::{Database, Role};
use gingham_server::{Server, serve_unix};
use libfuzzer_sys::fuzz_target;
use std::panic::{set_hook, take_hook};
use std::process::abort;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

/// Bytes of a thread's stack, as the program has it.
const STACK: usize = 8 << 20;
/// Longer than any connection takes.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long the server may work on what it was sent before the client leaves.
const WORK: Duration = Duration::from_secs(2);

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    // The engine has a hook, too, and makes errors of its threads' panics. This one comes behind it and ends the program.
    Database::in_memory().and_then(|database| database.connect().execute("SELECT 1")).expect("a database");
    let before = take_hook();
    set_hook(Box::new(move |panic| {
        before(panic);
        eprintln!("{panic}");
        abort();
    }));
    let runtime = Builder::new_multi_thread().worker_threads(2).thread_stack_size(STACK).enable_all().build();
    runtime.expect("threads")
});

fuzz_target!(|input: &[u8]| {
    let runtime = &*RUNTIME;
    let Some((how, bytes)) = input.split_first() else { return };
    let mut sent = if how & 1 == 0 { good_startup() } else { Vec::new() };
    sent.extend(bytes);
    let ends_whole = ends_whole(&sent);
    if ends_whole {
        // Terminate, so that the server answers all that came before.
        sent.extend(b"X\0\0\0\x04");
    }
    let piece = match how >> 1 {
        0 => sent.len().max(1),
        size => usize::from(size),
    };
    // What one connection leaves behind does not change what the next one finds.
    let database = Database::in_memory().expect("a database");
    database
        .connect()
        .execute("CREATE TABLE t (k BIGINT PRIMARY KEY, v TEXT); INSERT INTO t VALUES (1, 'a')")
        .expect("a table");
    let server = Server::open_to_all(database, Role::Write, 10);
    runtime.block_on(async {
        let talk = timeout(PATIENCE, talk(server, &sent, piece, ends_whole)).await;
        talk.expect("the connection ends");
    });
});

async fn talk(server: Arc<Server>, bytes: &[u8], piece: usize, ends_whole: bool) {
    let (client, served) = UnixStream::pair().expect("sockets");
    let served = tokio::spawn(serve_unix(served, server));
    let (mut from, mut to) = client.into_split();
    let read = tokio::spawn(async move {
        let mut answers = Vec::new();
        // A server that ends early may leave bytes unread, which is an error of the socket.
        drop(from.read_to_end(&mut answers).await);
    });
    for piece in bytes.chunks(piece) {
        if to.write_all(piece).await.is_err() {
            break;
        }
    }
    if ends_whole {
        drop(
            timeout(WORK, async {
                while !served.is_finished() {
                    tokio::time::sleep(Duration::from_micros(200)).await
                }
            })
            .await,
        );
    }
    drop(to.shutdown().await);
    drop(served.await.expect("no panic"));
    drop(read.await);
}

/// The first message of a client of good manners, whose statements don't take long.
fn good_startup() -> Vec<u8> {
    let body = b"\0\x03\0\0user\0fuzz\0options\0-c statement_timeout=200ms\0\0";
    let length = u32::try_from(body.len() + 4).expect("it is short");
    [length.to_be_bytes().as_slice(), body].concat()
}

/// Whether bytes end where a message does, as far as their lengths tell.
fn ends_whole(bytes: &[u8]) -> bool {
    let (mut rest, mut letters) = (bytes, 0);
    while !rest.is_empty() {
        let Some(length) = rest.get(letters..letters + 4) else { return false };
        let length = u32::from_be_bytes([length[0], length[1], length[2], length[3]]) as usize;
        match rest.get(letters + length..) {
            Some(next) if length >= 4 => rest = next,
            _ => return false,
        }
        letters = 1;
    }
    letters == 1
}
