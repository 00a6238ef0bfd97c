//! The server from its start to its end: it opens the database, listens, and drains when it is told to end.

use crate::connection::{serve_tcp, serve_unix};
use crate::failure::Failure;
use crate::metrics::{self, Metrics};
use crate::options::Serve;
use crate::publishing::{Plan, Publishing};
use crate::server::{Comers, Ending, Server, ServerParts};
use crate::statement_log::StatementLog;
use crate::tls;
use crate::users::Users;
use futures::{Stream, StreamExt, stream};
use gingham::{Database, DatabaseOptions, Role};
use std::fs;
use std::future::pending;
use std::io::{self, IsTerminal, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream, UnixListener, UnixStream};
use tokio::runtime::Builder;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tracing::Level;

/// Bytes of a thread's stack: statements are parsed on it.
const STACK: usize = 8 << 20;
/// Connections that may wait to be accepted.
const BACKLOG: u32 = 1024;
/// How long connections have to say farewell once all are cut.
const CUT: Duration = Duration::from_secs(5);
/// How long the threads of the database have to end.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long nobody is accepted after the system had no handle for one more.
const BREATH: Duration = Duration::from_millis(50);

/// Serves a database until it is told to end.
pub(crate) fn serve(options: &Serve) -> Result<(), Failure> {
    log_from(options.log);
    let addresses = addresses(&options.postgres)?;
    let comers = match &options.users {
        Some(file) => Comers::Users(Arc::new(Users::open(file)?)),
        None => Comers::All(Role::Admin),
    };
    check_reach(&addresses, options)?;
    let tls = match options.tls.as_deref() {
        Some([certificate, key]) => Some(tls::acceptor(certificate, key)?),
        _ => None,
    };
    let database = open(options)?;
    let log = StatementLog::new(Metrics::new(), options.slow.map(Duration::from_millis), database.clone());
    let publishing = options.publish.clone().map(|url| {
        let plan = Plan { url, every: options.publish_every, keep: options.publish_keep };
        Publishing::start(database.clone(), plan)
    });
    let publishing = publishing.transpose()?;
    let max_connections = options.max_connections;
    let server = Server::new(ServerParts {
        database: database.clone(),
        name: name_of(&options.database),
        tls,
        comers,
        max_connections,
        log,
    });
    let runtime =
        Builder::new_multi_thread().thread_name("gingham-server").thread_stack_size(STACK).enable_all().build();
    let runtime = runtime.map_err(|error| Failure(format!("starting threads: {error}")))?;
    let ran = runtime.block_on(run(Arc::clone(&server), addresses, options));
    runtime.shutdown_timeout(PATIENCE);
    drop((server, publishing));
    if !database.close(PATIENCE) {
        tracing::warn!("something had the database open still");
    }
    ran
}

/// Lines on standard error: what happens, and when.
fn log_from(level: Level) {
    let made = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .with_target(false)
        .try_init();
    // Another one that is there already does as well.
    drop(made);
}

fn open(options: &Serve) -> Result<Database, Failure> {
    let how = DatabaseOptions::new().memory_limit(options.memory).threads(options.threads);
    let url = Some(options.database.as_str()).filter(|text| gingham::is_url(text));
    if let (Some(url), Some(_)) = (url, &options.publish) {
        return Err(Failure(format!("--publish needs the folder of a database; {url} is published, and read alone")));
    }
    match options.database.as_str() {
        url if gingham::is_url(url) => {
            let how = options.cache.as_ref().map_or_else(|| how.clone(), |folder| how.clone().url_cache(folder, None));
            Ok(how.open_url(url)?)
        }
        ":memory:" => Ok(how.temporary()?),
        path => Ok(how.read_only(options.read_only).open(path)?),
    }
}

/// The name by which clients know a database.
fn name_of(database: &str) -> String {
    let stem = Path::new(database).file_stem().filter(|_| database != ":memory:");
    stem.map_or_else(|| "gingham".to_owned(), |stem| stem.to_string_lossy().into_owned())
}

/// The addresses that a text names.
fn addresses(text: &str) -> Result<Vec<SocketAddr>, Failure> {
    if text == "off" {
        return Ok(Vec::new());
    }
    let wrong =
        |error: String| Failure(format!("--postgres {text}: {error}; an address is as 127.0.0.1:5432 or [::1]:5432"));
    let all: Vec<SocketAddr> = text.to_socket_addrs().map_err(|error| wrong(error.to_string()))?.collect();
    if all.is_empty() { Err(wrong("there is no such address".into())) } else { Ok(all) }
}

/// Refuses to be reached from elsewhere by who wants, or unencrypted.
fn check_reach(addresses: &[SocketAddr], options: &Serve) -> Result<(), Failure> {
    let Some(beyond) = addresses.iter().find(|address| !address.ip().is_loopback()) else { return Ok(()) };
    let missing = match (&options.users, &options.tls) {
        (Some(_), Some(_)) => return Ok(()),
        (None, Some(_)) => "--users FILE (gingham-server user add NAME --role admin --users FILE makes one)",
        (Some(_), None) => "--tls CERTIFICATE KEY",
        (None, None) => {
            "--users FILE and --tls CERTIFICATE KEY (gingham-server user add NAME --role admin --users FILE makes the file)"
        }
    };
    Err(Failure(format!("{beyond} can be reached from other machines: give {missing}, or listen on 127.0.0.1")))
}

async fn run(server: Arc<Server>, addresses: Vec<SocketAddr>, options: &Serve) -> Result<(), Failure> {
    // Each connection has a sender; when all are dropped, nobody is there any more.
    let (present, mut all_gone) = mpsc::channel::<()>(1);
    let (mut places, mut port, mut metrics_place) = (Vec::new(), None, None);
    for address in addresses {
        let listener = listen(address).map_err(|error| Failure(format!("--postgres {address}: {error}")))?;
        let own = listener.local_addr().map_err(|error| Failure(error.to_string()))?;
        port.get_or_insert(own.port());
        places.push(format!("postgresql://{own}/{}", server.name));
        tokio::spawn(accept_tcp(listener, Arc::clone(&server), present.clone()));
    }
    let socket = match &options.socket {
        Some(folder) => Some(bind_unix(folder, port.unwrap_or(5432))?),
        None => None,
    };
    let socket = socket.map(|(listener, file)| {
        places.push(format!("postgresql:///{}?host={}", server.name, file.0.parent().unwrap_or(&file.0).display()));
        tokio::spawn(accept_unix(listener, Arc::clone(&server), present.clone()));
        file
    });
    if let Some(address) = options.metrics {
        let listener = listen(address).map_err(|error| Failure(format!("--metrics {address}: {error}")))?;
        let own = listener.local_addr().map_err(|error| Failure(error.to_string()))?;
        metrics_place = Some(own);
        tokio::spawn(metrics::serve(listener, Arc::clone(&server)));
    }
    if places.is_empty() {
        return Err(Failure("--postgres off needs --socket FOLDER: nobody could connect".into()));
    }
    // Whoever has started this may wait for the line.
    let shown = metrics_place.map(|own| format!(" http://{own}/metrics")).unwrap_or_default();
    let _ = writeln!(io::stdout(), "ready: {}{shown}", places.join(" "));
    let _ = io::stdout().flush();
    let folder = server.database.path().display().to_string();
    tracing::info!("serving {} at {}", server.database.url().unwrap_or(&folder), places.join(", "));
    let word = told_to_end().await;
    tracing::info!("{word}: no new connections; running statements have {} s", options.grace);
    drop((present, socket));
    server.end(Ending::Drains);
    if timeout(Duration::from_secs(options.grace), all_gone.recv()).await.is_err() {
        tracing::warn!("statements are cancelled that had not ended");
        server.end(Ending::Cuts);
        drop(timeout(CUT, all_gone.recv()).await);
    }
    tracing::info!("ended");
    Ok(())
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Removes the file of a socket at the end.
struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.0));
    }
}

/// The socket that libpq looks for in a folder. One that nobody listens at any more is replaced.
fn bind_unix(folder: &Path, port: u16) -> Result<(UnixListener, SocketFile), Failure> {
    let path = folder.join(format!(".s.PGSQL.{port}"));
    let about = |error: io::Error| Failure(format!("--socket {}: {error}", path.display()));
    if path.exists() {
        match std::os::unix::net::UnixStream::connect(&path) {
            Ok(_) => {
                return Err(about(io::Error::other("another server listens there; choose another port or folder")));
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(&path).map_err(about)?,
            Err(error) => return Err(about(error)),
        }
    }
    let listener = UnixListener::bind(&path).map_err(about)?;
    Ok((listener, SocketFile(path)))
}

/// Serves each client of a stream of them, until the server ends.
async fn accept<S, F>(
    mut clients: impl Stream<Item = io::Result<S>> + Unpin,
    serve: impl Fn(S) -> F,
    server: Arc<Server>,
    present: mpsc::Sender<()>,
) where
    F: Future<Output = ()> + Send + 'static,
{
    loop {
        let accepted = tokio::select! {
            _ = server.ends(true) => return,
            accepted = clients.next() => accepted,
        };
        match accepted {
            Some(Ok(client)) => {
                let (served, present) = (serve(client), present.clone());
                tokio::spawn(async move {
                    served.await;
                    drop(present);
                });
            }
            Some(Err(error)) => breathe(&error).await,
            None => return,
        }
    }
}

async fn accept_tcp(listener: TcpListener, server: Arc<Server>, present: mpsc::Sender<()>) {
    let clients = stream::poll_fn(|context| listener.poll_accept(context).map(Some));
    let serve = |(client, address): (TcpStream, SocketAddr)| {
        let server = Arc::clone(&server);
        async move { note(serve_tcp(client, address, server).await, &address.to_string()) }
    };
    accept(clients, serve, Arc::clone(&server), present).await;
}

async fn accept_unix(listener: UnixListener, server: Arc<Server>, present: mpsc::Sender<()>) {
    let clients = stream::poll_fn(|context| listener.poll_accept(context).map(Some));
    let serve = |(client, _): (UnixStream, _)| {
        let server = Arc::clone(&server);
        async move { note(serve_unix(client, server).await, "the socket") }
    };
    accept(clients, serve, Arc::clone(&server), present).await;
}

/// Waits a moment after the system had nothing for one more connection.
async fn breathe(error: &io::Error) {
    tracing::warn!("a connection could not be accepted: {error}");
    sleep(BREATH).await;
}

fn note(ended: io::Result<()>, whence: &str) {
    if let Err(error) = ended {
        tracing::debug!("the connection from {whence} ended: {error}");
    }
}

/// Waits until the process is told to end; by what.
async fn told_to_end() -> &'static str {
    use tokio::signal::unix::{SignalKind, signal};
    let wait = |kind: SignalKind, name: &'static str| async move {
        match signal(kind) {
            Ok(mut signal) => {
                signal.recv().await;
                name
            }
            Err(_) => pending().await,
        }
    };
    tokio::select! {
        name = wait(SignalKind::terminate(), "SIGTERM") => name,
        name = wait(SignalKind::interrupt(), "SIGINT") => name,
    }
}
