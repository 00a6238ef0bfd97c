//! The writing half of a client's connection, as pgwire takes it: a stream in both directions that nothing is ever read from, because
//! [`Incoming`](crate::connection::incoming::Incoming) has the other half.

use pgwire::tokio::server::MaybeTls;
use prometheus_client::metrics::counter::Counter;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, WriteHalf};

/// Where messages to a client go.
pub(crate) struct Outgoing {
    pub(crate) to: WriteHalf<MaybeTls>,
    /// Counts the bytes.
    pub(crate) sent: Counter,
}

impl AsyncRead for Outgoing {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Outgoing {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.to).poll_write(context, bytes);
        if let Poll::Ready(Ok(count)) = written {
            self.sent.inc_by(count as u64);
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.to).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.to).poll_shutdown(context)
    }
}
