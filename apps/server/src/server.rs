//! What all connections of a server share: the database, who may come, who may cancel, and when it ends.

use crate::metrics::Metrics;
use crate::statement_log::StatementLog;
use crate::users::Users;
use gingham::{CancelHandle, Connection, Database, Role};
use pgwire::messages::startup::SecretKey;
use pgwire::tokio::TlsAcceptor;
use std::collections::HashMap;
use std::future::pending;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// Bytes of a secret that cancels.
const SECRET: usize = 32;

/// How a server ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ending {
    /// Nobody new comes, and who has nothing to do goes.
    Drains,
    /// All go.
    Cuts,
}

/// Who may come.
pub(crate) enum Comers {
    /// Everybody, in a role.
    All(Role),
    /// Users of a file may come, who prove that they are those.
    Users(Arc<Users>),
}

/// A server is what all connections share.
pub struct Server {
    pub(crate) database: Database,
    /// The name by which clients know the database.
    pub(crate) name: String,
    /// How connections are encrypted that come over a network.
    pub(crate) tls: Option<TlsAcceptor>,
    /// The certificate that TLS shows, for channel binding.
    pub(crate) certificate: Option<Vec<u8>>,
    pub(crate) comers: Comers,
    /// What is written down of statements.
    pub(crate) log: StatementLog,
    /// Places of sessions.
    places: Arc<Semaphore>,
    max_connections: usize,
    cancels: Mutex<HashMap<i32, (Vec<u8>, CancelHandle)>>,
    ending: watch::Sender<Option<Ending>>,
}

/// How a server is made.
pub(crate) struct ServerParts {
    pub(crate) database: Database,
    pub(crate) name: String,
    pub(crate) tls: Option<(TlsAcceptor, Vec<u8>)>,
    pub(crate) comers: Comers,
    pub(crate) max_connections: usize,
    pub(crate) log: StatementLog,
}

impl Server {
    /// A server of a database that everybody may use who can connect, in a role and at most `max_connections` at a time.
    #[must_use]
    pub fn open_to_all(database: Database, role: Role, max_connections: usize) -> Arc<Self> {
        let (name, log) = ("gingham".into(), StatementLog::new(Metrics::new(), None, database.clone()));
        Self::new(ServerParts { database, name, tls: None, comers: Comers::All(role), max_connections, log })
    }

    pub(crate) fn new(parts: ServerParts) -> Arc<Self> {
        let ServerParts { database, name, tls, comers, max_connections, log } = parts;
        let (tls, certificate) = tls.unzip();
        Arc::new(Self {
            database,
            name,
            tls,
            certificate,
            comers,
            log,
            places: Arc::new(Semaphore::new(max_connections)),
            max_connections,
            cancels: Mutex::default(),
            ending: watch::Sender::new(None),
        })
    }

    /// A place for a session; the number of places when all are taken.
    pub(crate) fn place(&self) -> Result<OwnedSemaphorePermit, usize> {
        Arc::clone(&self.places).try_acquire_owned().map_err(|_| self.max_connections)
    }

    /// Lets who has a key cancel the statements of a connection.
    pub(crate) fn key_for(self: &Arc<Self>, connection: &Connection) -> std::io::Result<CancelKey> {
        let pid = connection.session_id();
        let mut secret = vec![0; SECRET];
        getrandom::fill(&mut secret)?;
        self.cancels().insert(pid, (secret.clone(), connection.cancel_handle()));
        Ok(CancelKey { server: Arc::downgrade(self), pid, secret })
    }

    /// Cancels what the session runs that a key is of. A wrong key does nothing, and nobody is told.
    pub(crate) fn cancel(&self, pid: i32, key: &SecretKey) {
        let cancels = self.cancels();
        let Some((secret, handle)) = cancels.get(&pid) else { return };
        let is_right = match key {
            SecretKey::I32(key) => secret[..4] == key.to_be_bytes(),
            SecretKey::Bytes(key) => secret[..4] == key[..] || secret[..] == key[..],
        };
        if is_right {
            handle.cancel();
        }
    }

    fn cancels(&self) -> std::sync::MutexGuard<'_, HashMap<i32, (Vec<u8>, CancelHandle)>> {
        self.cancels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to end, or ends faster.
    pub(crate) fn end(&self, ending: Ending) {
        self.ending.send_modify(|known| *known = (*known).max(Some(ending)));
    }

    /// Whether it is about to end: nobody new comes.
    pub(crate) fn is_ending(&self) -> bool {
        self.ending.borrow().is_some()
    }

    /// Waits until a connection is to end, one that is `at_rest` already when nobody new comes.
    pub(crate) async fn ends(&self, at_rest: bool) -> Ending {
        let mut ending = self.ending.subscribe();
        let ends = |known: &Option<Ending>| known.is_some_and(|known| at_rest || known == Ending::Cuts);
        let known = ending.wait_for(ends).await.map(|known| *known);
        match known {
            Ok(known) => known.unwrap_or(Ending::Cuts),
            // The sender lives as long as this.
            Err(_) => pending().await,
        }
    }
}

/// What cancels the statements of a session, as long as that is there.
pub(crate) struct CancelKey {
    server: Weak<Server>,
    pub(crate) pid: i32,
    secret: Vec<u8>,
}

impl CancelKey {
    /// The secret as a client gets it: four bytes before version 3.2 of the protocol.
    pub(crate) fn secret(&self, is_short: bool) -> SecretKey {
        let mut four = [0; 4];
        four.copy_from_slice(&self.secret[..4]);
        if is_short { SecretKey::I32(i32::from_be_bytes(four)) } else { SecretKey::Bytes(self.secret.clone().into()) }
    }
}

impl Drop for CancelKey {
    fn drop(&mut self) {
        if let Some(server) = self.server.upgrade() {
            server.cancels().remove(&self.pid);
        }
    }
}
