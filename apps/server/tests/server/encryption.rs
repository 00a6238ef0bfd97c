//! TLS and SCRAM with channel binding, by certificates of each kind; clients that encrypt where there is nothing to, that don't where
//! they have to, and those that stop half-way.

use crate::certificates::{Certificate, connect};
use crate::harness::{Served, add_user, code, told, wait_until};
use crate::messages::{Wire, field, query, startup};
use rcgen::{PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519, SignatureAlgorithm};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::{TlsAcceptor, TlsConnector};

const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
/// The first bytes of a client that speaks TLS.
const HELLO: &[u8] = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";

/// A server with TLS and the user `ada`, whose password is `pencil`.
fn serve(algorithm: &'static SignatureAlgorithm) -> (Served, Certificate, ClientConfig) {
    let folder = tempfile::tempdir().unwrap();
    let own = Certificate::new(algorithm);
    own.write(folder.path());
    add_user(&folder.path().join("users"), "ada", "admin", "pencil");
    let options = ["--users", "FOLDER/users", "--tls", "FOLDER/server.crt", "FOLDER/server.key"];
    let trusted = Certificate::trusted(&[&own]);
    (Served::within(folder, ":memory:", &options), own, trusted)
}

#[tokio::test]
async fn users_prove_who_they_are_bound_to_the_connection() {
    for algorithm in [&PKCS_ECDSA_P256_SHA256, &PKCS_ECDSA_P384_SHA384] {
        let (served, _, tls) = serve(algorithm);
        for how in [
            "sslmode=require channel_binding=require",
            "sslmode=require channel_binding=disable",
            "sslmode=require sslnegotiation=direct channel_binding=require",
            "sslmode=prefer",
        ] {
            let client = connect(served.port(), &format!("user=ada password=pencil {how}"), &tls).await;
            let client = client.unwrap_or_else(|error| panic!("{how}: {error:?}"));
            let rows = client.query("SELECT n FROM generate_series(1, 100000) AS g(n)", &[]).await.unwrap();
            assert_eq!(rows.len(), 100_000, "{how}");
            // Statements are cancelled by way of TLS, too.
            let token = client.cancel_token();
            let running = tokio::spawn(async move { client.batch_execute("SELECT pg_sleep(1000)").await });
            while !running.is_finished() {
                token.cancel_query(MakeRustlsConnect::new(tls.clone())).await.unwrap();
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            assert_eq!(code(&running.await.unwrap().unwrap_err()), "57014", "{how}");
        }
        for (how, state) in [
            ("user=ada password=wrong channel_binding=require", "28P01"),
            ("user=ada password=wrong channel_binding=disable", "28P01"),
            ("user=nobody password=pencil channel_binding=require", "28P01"),
            ("user=nobody password=pencil channel_binding=disable", "28P01"),
        ] {
            let error = connect(served.port(), &format!("{how} sslmode=require"), &tls).await.unwrap_err();
            assert_eq!(code(&error), state, "{how}");
        }
        // Without a password the client gives up by itself.
        assert!(connect(served.port(), "user=ada sslmode=require", &tls).await.is_err());
    }
}

/// A certificate without a hash of its own can't be bound to.
#[tokio::test]
async fn some_certificates_bind_nothing() {
    let (served, _, tls) = serve(&PKCS_ED25519);
    let how = "user=ada password=pencil sslmode=require";
    assert!(connect(served.port(), how, &tls).await.is_ok());
    assert!(connect(served.port(), &format!("{how} channel_binding=require"), &tls).await.is_err());
}

/// Somebody between the two, whom the client trusts by mistake, and who passes on all that is said.
async fn man_in_the_middle(own: &Certificate, port: u16, to_server: ClientConfig) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = listener.local_addr().unwrap().port();
    let acceptor = TlsAcceptor::from(Arc::new(own.server()));
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let mut request = [0; 8];
            client.read_exact(&mut request).await.unwrap();
            client.write_all(b"S").await.unwrap();
            let (acceptor, to_server) = (acceptor.clone(), to_server.clone());
            tokio::spawn(async move {
                let mut client = acceptor.accept(client).await.unwrap();
                let mut server = encrypted(port, to_server).await;
                let _ = copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    place
}

/// An encrypted connection to a server on which nothing was said.
async fn encrypted(port: u16, tls: ClientConfig) -> tokio_rustls::client::TlsStream<TcpStream> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.write_all(&SSL_REQUEST).await.unwrap();
    let mut answer = [0];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(answer, *b"S");
    let name = "127.0.0.1".try_into().unwrap();
    TlsConnector::from(Arc::new(tls)).connect(name, stream).await.unwrap()
}

#[tokio::test]
async fn who_stands_between_is_found_out() {
    let (served, own, to_server) = serve(&PKCS_ECDSA_P256_SHA256);
    let other = Certificate::new(&PKCS_ECDSA_P256_SHA256);
    let between = man_in_the_middle(&other, served.port(), to_server).await;
    let tls = Certificate::trusted(&[&own, &other]);
    let how = "user=ada password=pencil sslmode=require";
    // Without channel binding nobody notices.
    let client = connect(between, &format!("{how} channel_binding=disable"), &tls).await.unwrap();
    assert_eq!(client.query("SELECT 1", &[]).await.unwrap().len(), 1);
    for binding in ["require", "prefer"] {
        let error = connect(between, &format!("{how} channel_binding={binding}"), &tls).await.unwrap_err();
        assert!(told(&error).1.contains("Channel binding"), "{binding}: {error:?}");
    }
    // A client that trusts the server alone says nothing to anybody else.
    assert!(connect(between, how, &Certificate::trusted(&[&own])).await.is_err());
}

#[tokio::test]
async fn who_does_not_encrypt_is_sent_away() {
    let (served, _, tls) = serve(&PKCS_ECDSA_P256_SHA256);
    let other = connect(served.port(), "user=ada password=pencil sslmode=require", &tls).await.unwrap();
    let error = served.connect("user=ada password=pencil sslmode=disable").await.unwrap_err();
    let (state, text) = told(&error);
    assert_eq!(state, "28000");
    assert!(text.contains("sslmode=require"), "{text}");
    // Right or wrong, a password is not asked for; nor is a statement run.
    let mut wire = Wire::open(served.port());
    wire.send(&[startup(&[("user", "ada")]), query("SELECT 1")].concat());
    let (letter, body) = wire.next().unwrap();
    assert_eq!((letter, field(&body, b'C')), (b'E', "28000".into()));
    assert!(wire.next().is_none());
    assert_eq!(other.query("SELECT 1", &[]).await.unwrap().len(), 1);
}

#[tokio::test]
async fn who_wants_to_encrypt_where_nothing_is() {
    let served = Served::start();
    let tls = Certificate::trusted(&[]);
    let error = connect(served.port(), "user=ada sslmode=require", &tls).await.unwrap_err();
    assert!(error.to_string().contains("TLS"), "{error}");
    assert!(connect(served.port(), "user=ada sslmode=prefer", &tls).await.is_ok());
    assert!(connect(served.port(), "user=ada sslmode=require sslnegotiation=direct", &tls).await.is_err());
    // TLS without asking first.
    let mut wire = Wire::open(served.port());
    wire.send(HELLO);
    let mut answer = Vec::new();
    let _ = wire.stream.read_to_end(&mut answer);
    assert!(answer.is_empty(), "{answer:?}");
    assert!(served.connect("user=ada").await.is_ok());
}

/// Bytes that came before TLS began, by somebody between, must not count as encrypted.
#[tokio::test]
async fn bytes_before_tls_are_not_taken_for_encrypted_ones() {
    let (served, _, tls) = serve(&PKCS_ECDSA_P256_SHA256);
    let mut stream = TcpStream::connect(("127.0.0.1", served.port())).await.unwrap();
    stream.write_all(&[SSL_REQUEST.as_slice(), &startup(&[("user", "ada")])].concat()).await.unwrap();
    let mut answer = [0];
    stream.read_exact(&mut answer).await.unwrap();
    let name = "127.0.0.1".try_into().unwrap();
    let mut answers = Vec::new();
    if let Ok(mut stream) = TlsConnector::from(Arc::new(tls)).connect(name, stream).await {
        let _ = stream.read_to_end(&mut answers).await;
    }
    assert!(answers.is_empty(), "the server has answered {answers:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_that_is_none_or_stops_half_way_does_no_harm() {
    let (served, _, tls) = serve(&PKCS_ECDSA_P256_SHA256);
    let other = connect(served.port(), "user=ada password=pencil sslmode=require", &tls).await.unwrap();
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("nothing", vec![]),
        ("half a hello", HELLO.to_vec()),
        ("a hello of nonsense", [HELLO, &[0x5a; 600]].concat()),
        ("a first message", startup(&[("user", "ada")])),
        ("a statement", query("SELECT 1")),
        ("another request", SSL_REQUEST.to_vec()),
        ("HTTP", b"GET / HTTP/1.1\r\n\r\n".to_vec()),
        ("a record of 65535 bytes", [b"\x16\x03\x01\xff\xff".as_slice(), &[1; 70_000]].concat()),
        ("zeros", vec![0; 10_000]),
    ];
    let talk = |first: &[u8], bytes: &[u8], ends: bool| {
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", served.port())).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(first).unwrap();
        if !first.is_empty() {
            let mut answer = [0];
            stream.read_exact(&mut answer).unwrap();
            assert_eq!(answer, *b"S");
        }
        let _ = stream.write_all(bytes);
        if ends {
            let _ = stream.shutdown(Shutdown::Write);
            let mut answers = Vec::new();
            let _ = stream.read_to_end(&mut answers);
            // An alert of TLS or an error of the protocol at most, and nothing that a session has.
            assert!(!answers.windows(3).any(|three| three == b"Z\0\0"), "{answers:?}");
        }
        stream
    };
    let handles = served.holds().handles;
    for (what, bytes) in &cases {
        for first in [&[] as &[u8], &SSL_REQUEST] {
            talk(first, bytes, true);
            assert_eq!(other.query("SELECT 1", &[]).await.unwrap().len(), 1, "{what}");
        }
    }
    // Some hundreds at once that go no further, and others get in all the same.
    let half: Vec<_> = (0..300).map(|number| talk(&SSL_REQUEST, &HELLO[..number % HELLO.len()], false)).collect();
    let late = connect(served.port(), "user=ada password=pencil sslmode=require", &tls).await.unwrap();
    assert_eq!(late.query("SELECT 1", &[]).await.unwrap().len(), 1);
    drop((half, late));
    wait_until("handles are given back", || served.holds().handles <= handles);
    // One that ends in the middle of what is encrypted.
    let mut stream = encrypted(served.port(), tls.clone()).await;
    stream.write_all(&startup(&[("user", "ada")])[..7]).await.unwrap();
    stream.flush().await.unwrap();
    drop(stream);
    wait_until("handles are given back", || served.holds().handles <= handles);
}
