//! One client's connection, from its first byte to its last: messages are read by [`incoming`], answered by pgwire's state machine and
//! the [`Backend`], and given up when the client leaves or the server ends.

pub(crate) mod incoming;
mod outgoing;

use crate::backend::{Backend, StoredText};
use crate::errors::{fatal, protocol_violation};
use crate::server::{Ending, Server};
use futures::SinkExt;
use incoming::{Incoming, IncomingError, Phase};
use outgoing::Outgoing;
use pgwire::api::{ClientInfo, DefaultClient, PgWireConnectionState as State};
use pgwire::error::{ErrorInfo, PgWireError};
use pgwire::messages::{PgWireBackendMessage as Answer, PgWireFrontendMessage as Message};
use pgwire::tokio::server::{MaybeTls, PgWireMessageServerCodec, negotiate_tls, process_error, process_message};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::ReadHalf;
use tokio::net::{TcpStream, UnixStream};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::codec::{Framed, FramedParts};

/// How long a client may take to say who it is.
const LOGIN: Duration = Duration::from_secs(60);
/// How long a client may take for the last word to it.
const FAREWELL: Duration = Duration::from_secs(1);
/// The code of a session that is over.
const ENDED: &str = "57P01";
/// Messages of a pipeline that are answered before it is looked again whether the session is to end.
const AT_ONCE: usize = 16;
/// Bytes that are gathered before they are sent.
const GATHERED: usize = 64 << 10;

type Socket<S> = Framed<S, PgWireMessageServerCodec<StoredText>>;

/// Serves a client that came by TCP, to its end.
pub(crate) async fn serve_tcp(stream: TcpStream, address: SocketAddr, server: Arc<Server>) -> io::Result<()> {
    let deadline = Instant::now() + LOGIN;
    let negotiated = timeout(LOGIN, negotiate_tls(stream, server.tls.clone())).await;
    // Who takes too long, or speaks TLS where there is none, gets no answer.
    let Ok(Some(mut socket)) = negotiated.map_err(io::Error::from)? else { return Ok(()) };
    if socket.is_secure() && !socket.read_buffer().is_empty() {
        return Err(io::Error::other("bytes came before TLS began that would count as encrypted"));
    }
    let refused = (server.tls.is_some() && !socket.is_secure())
        .then(|| fatal("28000", "this server takes encrypted connections alone: connect with sslmode=require".into()));
    socket.set_state(State::AwaitingStartup);
    Talk::new(socket, Backend::new(Arc::clone(&server), Some(address)), deadline).run(refused).await
}

/// Serves a client that came by a socket of this machine, to its end.
pub async fn serve_unix(stream: UnixStream, server: Arc<Server>) -> io::Result<()> {
    // pgwire wants an address; nothing is decided by it.
    let nowhere = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
    let codec = PgWireMessageServerCodec::new(DefaultClient::new(nowhere, false));
    let mut socket = Framed::new(MaybeTls::Unix(stream), codec);
    socket.set_state(State::AwaitingStartup);
    Talk::new(socket, Backend::new(server, None), Instant::now() + LOGIN).run(None).await
}

/// What goes back and forth.
struct Talk {
    incoming: Incoming<ReadHalf<MaybeTls>>,
    socket: Socket<Outgoing>,
    backend: Arc<Backend>,
    deadline: Instant,
    /// The last message was one of a pipeline, whose end is to come.
    is_in_pipeline: bool,
    /// Messages that were answered since it was waited for one.
    at_once: usize,
}

/// What happens while nothing is being worked on.
enum Event {
    Message(Message),
    /// The client has closed the connection, or is not to be answered.
    Left,
    /// The connection ends with this.
    Ends(PgWireError),
}

impl Talk {
    fn new(socket: Socket<MaybeTls>, backend: Backend, deadline: Instant) -> Self {
        let parts = socket.into_parts();
        let (read, write) = tokio::io::split(parts.io);
        let metrics = &backend.server.log.metrics;
        let outgoing = Outgoing { to: write, sent: metrics.sent.clone() };
        let incoming = Incoming::new(read, parts.read_buf, metrics.received.clone());
        let mut socket = Framed::from_parts(FramedParts::new::<Answer>(outgoing, parts.codec));
        socket.set_backpressure_boundary(GATHERED);
        let backend = Arc::new(backend);
        Self { incoming, socket, backend, deadline, is_in_pipeline: false, at_once: 0 }
    }

    async fn run(mut self, refused: Option<PgWireError>) -> io::Result<()> {
        if let Some(error) = refused {
            return self.refuse(error).await;
        }
        let mut ended = Ok(());
        while ended.is_ok() {
            let event = match self.came_already() {
                Some(event) => event,
                None => self.event().await,
            };
            match event {
                Event::Message(Message::Terminate(_)) | Event::Left => break,
                Event::Message(message) => match self.work(message).await {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(error) => ended = Err(error),
                },
                Event::Ends(error) => {
                    self.end(error).await;
                    break;
                }
            }
        }
        // What the session holds is undone where it is dropped, which may block.
        drop(tokio::task::spawn_blocking(move || drop(self)).await);
        ended
    }

    /// Reads the client's first message, so that it hears the refusal instead of a broken connection.
    async fn refuse(&mut self, error: PgWireError) -> io::Result<()> {
        match self.event().await {
            // Drivers ask so without encryption; the key tells that they may.
            Event::Message(Message::CancelRequest(request)) => {
                self.backend.server.cancel(request.pid, &request.secret_key);
                return Ok(());
            }
            Event::Left => {}
            Event::Message(_) | Event::Ends(_) => self.end(error).await,
        }
        Err(io::Error::other("the connection was not encrypted"))
    }

    fn phase(&self) -> Phase {
        match self.socket.state() {
            State::AwaitingSslRequest | State::AwaitingStartup => Phase::Startup,
            State::AuthenticationInProgress if self.backend.has_method() => Phase::PasswordGoesOn,
            State::AuthenticationInProgress => Phase::Password,
            _ => Phase::Session,
        }
    }

    /// The next message of a pipeline, where it has come: nothing else needs to be looked at.
    fn came_already(&mut self) -> Option<Event> {
        if !self.is_in_pipeline || self.at_once >= AT_ONCE {
            return None;
        }
        self.at_once += 1;
        self.incoming.buffered(Phase::Session).map_or_else(|error| Some(broken(error)), |came| came.map(Event::Message))
    }

    /// Waits for what happens next.
    async fn event(&mut self) -> Event {
        self.at_once = 0;
        let phase = self.phase();
        let is_at_rest = matches!(self.socket.state(), State::ReadyForQuery);
        let (deadline, is_known) = (self.deadline, phase == Phase::Session);
        let (server, backend) = (Arc::clone(&self.backend.server), Arc::clone(&self.backend));
        tokio::select! {
            biased;
            ending = server.ends(is_at_rest || !is_known) => Event::Ends(ending_error(ending)),
            error = backend.ends_while_idle(), if is_known => Event::Ends(error),
            message = self.incoming.next(phase) => {
                message.map_or_else(broken, |came| came.map_or(Event::Left, Event::Message))
            }
            () = sleep_until(deadline), if !is_known => Event::Left,
        }
    }

    /// Answers a message. Whether the connection goes on.
    async fn work(&mut self, message: Message) -> io::Result<bool> {
        let is_extended = match self.socket.state() {
            State::CopyInProgress(is_extended) => is_extended,
            _ => message.is_extended_query(),
        };
        let is_cancel = matches!(message, Message::CancelRequest(_));
        self.is_in_pipeline = is_extended && !matches!(message, Message::Sync(_));
        self.backend.note_next(self.incoming.is_sync_next());
        let (server, backend) = (Arc::clone(&self.backend.server), Arc::clone(&self.backend));
        let own = || Arc::clone(&backend);
        let worked = tokio::select! {
            biased;
            worked = process_message(message, &mut self.socket, own(), own(), own(), own(), own()) => worked,
            // Giving up the answer cancels the statement.
            () = self.incoming.gone() => return Ok(false),
            ending = server.ends(false) => Err(ending_error(ending)),
            error = backend.is_terminated() => Err(error),
        };
        let Err(error) = worked else { return Ok(!is_cancel) };
        if let PgWireError::IoError(error) = error {
            return Err(error);
        }
        // The engine tells a statement that its session was ended; there is nothing behind it.
        if error.is_fatal() || error.code() == ENDED || self.phase() != Phase::Session {
            self.end(error).await;
            return Ok(false);
        }
        process_error(&mut self.socket, error, is_extended).await?;
        Ok(true)
    }

    /// Ends the connection with an error: the last word to a client, who may not be listening.
    async fn end(&mut self, error: PgWireError) {
        if self.phase() != Phase::Session {
            self.backend.server.log.metrics.refused.inc();
            tracing::info!("a client was not let in: {error}");
        }
        let mut info = ErrorInfo::from(error);
        info.severity = "FATAL".into();
        info.severity_nonlocalized = Some("FATAL".into());
        let said = async {
            self.socket.send(Answer::ErrorResponse(info.into())).await?;
            SinkExt::<Answer>::close(&mut self.socket).await
        };
        drop(timeout(FAREWELL, said).await);
    }
}

/// The end of a connection whose messages can't be read.
fn broken(error: IncomingError) -> Event {
    match error {
        IncomingError::Io(_) => Event::Left,
        IncomingError::Protocol(_) => Event::Ends(protocol_violation(error.to_string())),
        IncomingError::Encoding => Event::Ends(fatal("22021", error.to_string())),
    }
}

fn ending_error(ending: Ending) -> PgWireError {
    fatal(
        ENDED,
        match ending {
            Ending::Drains => "the server is shutting down".into(),
            Ending::Cuts => "the server is shutting down, and statements had no more time".into(),
        },
    )
}
