//! COPY from and to the client: bytes pass through, and the engine reads and writes records.

use crate::backend::rows::about;
use crate::backend::session::Session;
use crate::backend::{Backend, Out};
use crate::errors::{Place, error, of_engine};
use crate::statement_log::{Beginning, LoggedStatement};
use async_trait::async_trait;
use bytes::Bytes;
use futures::{Sink, SinkExt, StreamExt};
use gingham::{CopyIn, StatementHandle, StatementKind};
use pgwire::api::ClientInfo;
use pgwire::api::copy::CopyHandler;
use pgwire::error::{PgWireError, PgWireResult};
use pgwire::messages::PgWireBackendMessage as Answer;
use pgwire::messages::copy::{CopyData, CopyDone, CopyFail, CopyInResponse, CopyOutResponse};
use std::fmt::Debug;

/// COPY from the client, while it sends.
pub(super) struct ClientCopy {
    copy: CopyIn,
    sql: String,
    beginning: Beginning,
    /// Whether the COPY is part of a text, and not bound and executed by messages.
    is_of_text: bool,
}

/// Begins COPY … FROM STDIN: the client is to send.
pub(super) async fn begin(
    session: &Session,
    out: Out<'_>,
    logged: &LoggedStatement<'_>,
    place: Place<'_>,
    is_of_text: bool,
) -> PgWireResult<()> {
    let copy = session.connection.start_copy_in(logged.sql, &StatementHandle::new()).await;
    let copy = copy.map_err(|error| about(&error, place))?;
    let (format, columns, formats) = formats(copy.is_binary(), copy.columns());
    session.tell(out).await?;
    *session.copy.lock().await =
        Some(ClientCopy { copy, sql: logged.sql.to_owned(), beginning: logged.beginning, is_of_text });
    out.send(Answer::CopyInResponse(CopyInResponse::new(format, columns, formats))).await
}

/// Runs COPY … TO STDOUT.
pub(super) async fn send(
    session: &Session,
    out: Out<'_>,
    logged: &LoggedStatement<'_>,
    place: Place<'_>,
) -> PgWireResult<()> {
    let copy = session.connection.start_copy_out(logged.sql, &StatementHandle::new()).await;
    let mut copy = copy.map_err(|error| about(&error, place))?;
    let (format, columns, formats) = formats(copy.is_binary(), copy.columns());
    out.feed(Answer::CopyOutResponse(CopyOutResponse::new(format, columns, formats))).await?;
    // A message is a record, as clients expect; what stands before the first of binary ones goes with it.
    let mut start = None;
    while let Some(piece) = copy.next().await {
        let piece = piece.map_err(|error| about(&error, place))?;
        if piece.count() > 0 {
            for record in piece.records() {
                out.feed(data(start.take(), record)).await?;
            }
        } else if format == 1 && start.is_none() && copy.records() == 0 {
            start = Some(piece.into_bytes());
        } else {
            out.feed(data(start.take(), piece.into_bytes())).await?;
        }
    }
    out.feed(Answer::CopyDone(CopyDone::new())).await?;
    let records = copy.records();
    session.complete(out, logged, &format!("COPY {records}"), usize::try_from(records).unwrap_or(usize::MAX)).await
}

/// A message of COPY, with what stands before its bytes.
fn data(start: Option<Bytes>, bytes: Bytes) -> Answer {
    let bytes = start.map_or_else(|| bytes.clone(), |start| [start, bytes.clone()].concat().into());
    Answer::CopyData(CopyData::new(bytes))
}

/// The format of all columns and of each, as responses have them.
fn formats(is_binary: bool, columns: usize) -> (i8, i16, Vec<i16>) {
    let format = i16::from(is_binary);
    (i8::from(is_binary), i16::try_from(columns).unwrap_or(i16::MAX), vec![format; columns])
}

#[async_trait]
impl CopyHandler for Backend {
    async fn on_copy_data<C>(&self, client: &mut C, data: CopyData) -> PgWireResult<()>
    where
        C: ClientInfo + Sink<Answer> + Unpin + Send + Sync,
        C::Error: Debug,
        PgWireError: From<<C as Sink<Answer>>::Error>,
    {
        let sent = self.session()?.copy_data(data).await;
        self.copied(client, sent).await
    }

    async fn on_copy_done<C>(&self, client: &mut C, _: CopyDone) -> PgWireResult<()>
    where
        C: ClientInfo + Sink<Answer> + Unpin + Send + Sync,
        C::Error: Debug,
        PgWireError: From<<C as Sink<Answer>>::Error>,
    {
        let done = self.session()?.copy_done(&mut (&mut *client).sink_map_err(PgWireError::from)).await;
        self.copied(client, done).await
    }

    async fn on_copy_fail<C>(&self, client: &mut C, fail: CopyFail) -> PgWireError
    where
        C: ClientInfo + Sink<Answer> + Unpin + Send + Sync,
        C::Error: Debug,
        PgWireError: From<<C as Sink<Answer>>::Error>,
    {
        let failed = match self.session() {
            Ok(session) => Err(session.copy_failed(&fail.message).await),
            Err(error) => Err(error),
        };
        match self.copied(client, failed).await {
            Ok(()) => error("57014", "the client has given COPY up"),
            Err(error) => error,
        }
    }
}

impl Backend {
    /// Answers a message of COPY, which ends with the first error.
    async fn copied<C: ClientInfo>(&self, client: &mut C, copied: PgWireResult<()>) -> PgWireResult<()> {
        if copied.is_err() {
            drop(self.session()?.copy.lock().await.take());
        }
        self.answered(client, copied).await
    }
}

impl Session {
    async fn copy_data(&self, data: CopyData) -> PgWireResult<()> {
        match self.copy.lock().await.as_mut() {
            Some(own) => {
                let sent = own.copy.send(data.data).await.map_err(|error| of_engine(&error, None));
                sent.inspect_err(|error| self.go_on(own.beginning, &own.sql).failed(error))
            }
            None => Err(error("08P01", "no COPY takes these bytes")),
        }
    }

    async fn copy_done(&self, out: Out<'_>) -> PgWireResult<()> {
        let Some(ClientCopy { copy, sql, beginning, is_of_text }) = self.copy.lock().await.take() else {
            return Err(error("08P01", "there is no COPY that could be done"));
        };
        let logged = self.go_on(beginning, &sql);
        let finished = copy.finish().await.map_err(|error| of_engine(&error, None));
        let records = finished.inspect_err(|error| logged.failed(error))?;
        self.has_run(&StatementKind::CopyIn);
        self.complete(out, &logged, &format!("COPY {records}"), 0).await?;
        if is_of_text { self.end_implicit().await } else { Ok(()) }
    }

    async fn copy_failed(&self, why: &str) -> PgWireError {
        match self.copy.lock().await.take() {
            Some(ClientCopy { copy, sql, beginning, .. }) => {
                let failure = of_engine(&copy.fail(why).await, None);
                self.go_on(beginning, &sql).failed(&failure);
                failure
            }
            None => error("08P01", "no COPY could be given up"),
        }
    }
}
