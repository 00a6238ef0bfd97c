//! A backend answers one client by pgwire's handlers over a connection of the engine. The state of the session is the engine's; what the
//! protocol adds (transactions around pipelines, portals, what a client was told) is here.
//!
//! | file | what |
//! |---|---|
//! | `startup` | who the client is, and the session that it gets |
//! | `session` | the session: the engine's connection, and what the protocol adds |
//! | `transaction` | transactions that no statement began, and those that have failed |
//! | `simple` | texts of statements |
//! | `extended` | statements that are parsed, bound and executed by messages |
//! | `parameters` | values and formats of a Bind |
//! | `no_parser` | what pgwire wants and nobody asks |
//! | `run` | one statement, run and answered |
//! | `rows` | rows as messages |
//! | `copy` | COPY from and to the client |

mod copy;
mod extended;
mod no_parser;
mod parameters;
mod rows;
mod run;
mod session;
mod simple;
mod startup;
mod transaction;

pub(crate) use extended::StoredText;

use crate::errors::fatal;
use crate::server::Server;
use pgwire::api::ClientInfo;
use pgwire::error::{PgWireError, PgWireResult};
use pgwire::messages::PgWireBackendMessage as Answer;
use session::Session;
use std::future::pending;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use transaction::ends_all;

/// Where answers go.
type Out<'o> = &'o mut (dyn futures::Sink<Answer, Error = PgWireError> + Unpin + Send);

/// A backend, which answers one client.
pub(crate) struct Backend {
    pub(crate) server: Arc<Server>,
    /// Where the client is; `None` on this machine, by a socket in the file system.
    address: Option<SocketAddr>,
    session: OnceLock<Session>,
    /// A method of proving who it is was chosen.
    has_method: AtomicBool,
    /// The message behind the one that is being answered is Sync.
    is_sync_next: AtomicBool,
}

impl Backend {
    pub(crate) fn new(server: Arc<Server>, address: Option<SocketAddr>) -> Self {
        Self {
            server,
            address,
            session: OnceLock::new(),
            has_method: AtomicBool::new(false),
            is_sync_next: AtomicBool::new(false),
        }
    }

    /// Whether the client has chosen a method of proving who it is.
    pub(crate) fn has_method(&self) -> bool {
        self.has_method.load(Ordering::Relaxed)
    }

    /// Notes whether the message behind the next one is Sync.
    pub(crate) fn note_next(&self, is_sync: bool) {
        self.is_sync_next.store(is_sync, Ordering::Relaxed);
    }

    /// The session of a client that is known.
    fn session(&self) -> PgWireResult<&Session> {
        self.session.get().ok_or_else(|| fatal("08P01", "the client has not said who it is".into()))
    }

    /// Tells the client's state what the transaction has come to by a message's work: after an error it takes no more, or is undone.
    async fn answered<C: ClientInfo, R>(&self, client: &mut C, worked: PgWireResult<R>) -> PgWireResult<R> {
        let session = self.session()?;
        if let Err(error) = &worked
            && !ends_all(error)
        {
            self.server.log.metrics.failure(error.code());
            session.has_failed(error.code()).await;
        }
        client.set_transaction_status(session.told_status());
        worked
    }

    /// Waits until the session is to end while nothing runs: nobody comes any more, or somebody ends it.
    pub(crate) async fn ends_while_idle(&self) -> PgWireError {
        let Some(session) = self.session.get() else { return pending().await };
        tokio::select! {
            error = session.is_terminated() => error,
            error = session.is_idle_too_long() => error,
        }
    }

    /// Waits until somebody ends the session.
    pub(crate) async fn is_terminated(&self) -> PgWireError {
        match self.session.get() {
            Some(session) => session.is_terminated().await,
            None => pending().await,
        }
    }
}
