//! COPY from and to the client.

use crate::backend::session::Session;
use crate::backend::{Backend, Out};
use crate::errors::{Place, error};
use crate::statement_log::LoggedStatement;
use async_trait::async_trait;
use futures::Sink;
use pgwire::api::ClientInfo;
use pgwire::api::copy::CopyHandler;
use pgwire::error::{PgWireError, PgWireResult};
use pgwire::messages::PgWireBackendMessage as Answer;
use pgwire::messages::copy::{CopyData, CopyDone};
use std::fmt::Debug;

/// COPY from the client, while it sends.
pub(super) struct Incoming;

pub(super) async fn begin(_: &Session, _: Out<'_>, _: &str, _: Place<'_>) -> PgWireResult<()> {
    Err(error("0A000", "COPY"))
}

pub(super) async fn send(_: &Session, _: Out<'_>, _: &LoggedStatement<'_>, _: Place<'_>) -> PgWireResult<()> {
    Err(error("0A000", "COPY"))
}

#[async_trait]
impl CopyHandler for Backend {
    async fn on_copy_data<C>(&self, _: &mut C, _: CopyData) -> PgWireResult<()>
    where
        C: ClientInfo + Sink<Answer> + Unpin + Send + Sync,
        C::Error: Debug,
        PgWireError: From<<C as Sink<Answer>>::Error>,
    {
        Err(error("0A000", "COPY"))
    }

    async fn on_copy_done<C>(&self, _: &mut C, _: CopyDone) -> PgWireResult<()>
    where
        C: ClientInfo + Sink<Answer> + Unpin + Send + Sync,
        C::Error: Debug,
        PgWireError: From<<C as Sink<Answer>>::Error>,
    {
        Err(error("0A000", "COPY"))
    }
}
