//! The bytes of COPY … FROM STDIN on their way from the program that has them to the statement that reads them.

use bytes::Bytes;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{mpsc, oneshot};

/// Pieces on their way.
const WAITING_PIECES: usize = 2;

/// What the statement is sent.
#[derive(Debug)]
pub(crate) enum FedPiece {
    /// Bytes, which may begin and end anywhere.
    Bytes(Bytes),
    /// All bytes were sent. Without it the records are dropped.
    Finish,
    /// There will be no more, and the records are to be dropped, for this reason.
    Fail(String),
}

/// What the program is told before it sends bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CopyHead {
    /// Fields of a record.
    pub(crate) columns: usize,
    /// Whether records are tuples of PostgreSQL's binary format.
    pub(crate) is_binary: bool,
}

/// The statement's ends of the channels.
#[derive(Debug)]
pub(crate) struct CopyEnds {
    /// The pieces.
    pub(crate) pieces: mpsc::Receiver<FedPiece>,
    /// Takes what the program is told, once.
    pub(crate) head: oneshot::Sender<CopyHead>,
}

/// The statement's ends of the channels, as a part of the statement, whose clones share them.
#[derive(Debug, Clone)]
pub(crate) struct CopyFeed {
    ends: Arc<Mutex<Option<CopyEnds>>>,
}

impl CopyFeed {
    /// A feed, and the program's ends of its channels.
    pub(crate) fn new() -> (Self, mpsc::Sender<FedPiece>, oneshot::Receiver<CopyHead>) {
        let (sender, pieces) = mpsc::channel(WAITING_PIECES);
        let (head, told) = oneshot::channel();
        (Self { ends: Arc::new(Mutex::new(Some(CopyEnds { pieces, head }))) }, sender, told)
    }

    /// The ends, for the first who asks.
    pub(crate) fn take(&self) -> Option<CopyEnds> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
