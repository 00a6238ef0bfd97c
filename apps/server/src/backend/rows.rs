//! Rows as messages.

use crate::backend::Out;
use crate::errors::{Place, of_engine};
use arrow::datatypes::Schema;
use bytes::BytesMut;
use futures::{SinkExt, Stream, StreamExt};
use gingham::QueryResult;
use gingham::wire::{RowEncoder, WireFormat, WireRows, field_type};
use pgwire::error::{PgWireError, PgWireResult};
use pgwire::messages::PgWireBackendMessage as Answer;
use pgwire::messages::data::{DataRow, FieldDescription, NoData, RowDescription};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Bytes of rows that are written at once, about.
const PORTION: usize = 64 << 10;

/// The description of rows, in formats; those without one are texts.
pub(super) fn description(schema: &Schema, formats: &[WireFormat]) -> Answer {
    if schema.fields().is_empty() {
        return Answer::NoData(NoData::new());
    }
    let field = |(place, field): (usize, &std::sync::Arc<arrow::datatypes::Field>)| {
        let own = field_type(field);
        let format = formats.get(place).copied().unwrap_or_default();
        FieldDescription::new(field.name().clone(), 0, 0, own.oid, own.length, own.modifier, format.code())
    };
    Answer::RowDescription(RowDescription::new(schema.fields().iter().enumerate().map(field).collect()))
}

/// The rows of a result as messages.
pub(super) struct Rows {
    result: QueryResult,
    encoder: RowEncoder,
    columns: i16,
    batch: Option<WireRows>,
    next: usize,
    buffer: BytesMut,
}

impl Rows {
    pub(super) fn new(result: QueryResult, formats: Vec<WireFormat>) -> Self {
        let columns = i16::try_from(result.schema().fields().len()).unwrap_or(i16::MAX);
        let (batch, buffer) = (None, BytesMut::new());
        Self { result, encoder: RowEncoder::new(formats), columns, batch, next: 0, buffer }
    }

    /// The next row of the batch that is there.
    fn row(&mut self) -> Option<gingham::Result<DataRow>> {
        let batch = self.batch.as_ref()?;
        if self.next == batch.rows() {
            self.batch = None;
            return None;
        }
        if self.buffer.capacity() < PORTION / 8 {
            self.buffer.reserve(PORTION);
        }
        let put = batch.put(self.next, &mut self.buffer);
        self.next += 1;
        Some(put.map(|()| DataRow::new(self.buffer.split(), self.columns)))
    }
}

impl Stream for Rows {
    type Item = PgWireResult<DataRow>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let failed = |error: gingham::Error| Poll::Ready(Some(Err(of_engine(&error, None))));
        loop {
            match self.row() {
                Some(Ok(row)) => return Poll::Ready(Some(Ok(row))),
                Some(Err(error)) => return failed(error),
                None => {}
            }
            match self.result.poll_next_unpin(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Ready(Some(Err(error))) => return failed(error),
                Poll::Ready(Some(Ok(batch))) => match self.encoder.encode(&batch) {
                    Ok(rows) => (self.batch, self.next) = (Some(rows), 0),
                    Err(error) => return failed(error),
                },
            }
        }
    }
}

/// Sends rows, at most `most` of them; 0 for all. Gives their number, and whether there may be more.
pub(super) async fn send(
    out: Out<'_>,
    rows: &mut (dyn Stream<Item = PgWireResult<DataRow>> + Unpin + Send),
    most: usize,
) -> PgWireResult<(usize, bool)> {
    let mut sent = 0;
    while most == 0 || sent < most {
        match rows.next().await {
            Some(row) => out.feed(Answer::DataRow(row?)).await?,
            None => return Ok((sent, false)),
        }
        sent += 1;
    }
    Ok((sent, true))
}

/// The error of a statement that is about a place of its text.
pub(super) fn about(error: &gingham::Error, place: Place<'_>) -> PgWireError {
    of_engine(error, Some(place))
}
