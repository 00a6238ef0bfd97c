//! What a client sends: its bytes cut into messages, read strictly. Whatever is malformed ends the connection with an error before
//! anybody sees a part of it; pgwire's own decoders trust the lengths within a message.
//!
//! Messages go on being read while a statement runs, up to a bound, so that a client that has left is noticed.

use bytes::{Buf, Bytes, BytesMut};
use pgwire::messages::PgWireFrontendMessage as Message;
use pgwire::messages::cancel::CancelRequest;
use pgwire::messages::copy::{CopyData, CopyDone, CopyFail};
use pgwire::messages::extendedquery::{Bind, Close, Describe, Execute, Flush, Parse, Sync};
use pgwire::messages::simplequery::Query;
use pgwire::messages::startup::{PasswordMessageFamily, SASLInitialResponse, SASLResponse, SecretKey, Startup};
use pgwire::messages::terminate::Terminate;
use prometheus_client::metrics::counter::Counter;
use std::future::pending;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes that a client may send before it is known who it is.
const MOST_BEFORE_LOGIN: usize = 10_000;
/// Bytes of a message of one that is.
const MOST: usize = 64 << 20;
/// Bytes that are read ahead while a statement runs.
const AHEAD: usize = 1 << 20;
/// Bytes that are read at once, at most.
const PIECE: usize = 64 << 10;

/// Why no message could be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IncomingError {
    /// The connection broke.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The client does not speak the protocol.
    #[error("{0}")]
    Protocol(String),
    /// A text of the client is not UTF-8.
    #[error("a text is not UTF-8")]
    Encoding,
}

/// How far the client is, which decides how its bytes are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It has said nothing; its first message has no letter.
    Startup,
    /// It proves who it is; nothing of a method was said yet.
    Password,
    /// It goes on with a method.
    PasswordGoesOn,
    /// It runs statements.
    Session,
}

/// A message as bytes.
struct Frame {
    /// Its kind; 0 of the first message, which has none.
    letter: u8,
    /// The bytes behind its length.
    body: Bytes,
}

/// The reading half of a client's connection.
#[derive(Debug)]
pub(crate) struct Incoming<R> {
    from: R,
    buffer: BytesMut,
    ended: bool,
    /// Counts the bytes.
    received: Counter,
}

impl<R: AsyncRead + Unpin> Incoming<R> {
    /// Messages of `from`, of which `already` was read, whose bytes `received` counts.
    pub(crate) fn new(from: R, already: BytesMut, received: Counter) -> Self {
        received.inc_by(already.len() as u64);
        Self { from, buffer: already, ended: false, received }
    }

    /// The next message; `None` when the client has closed the connection. Nothing is lost when the wait is given up.
    pub(crate) async fn next(&mut self, phase: Phase) -> Result<Option<Message>, IncomingError> {
        loop {
            if let Some(message) = self.buffered(phase)? {
                return Ok(Some(message));
            }
            if self.ended {
                return match self.buffer.is_empty() {
                    true => Ok(None),
                    false => Err(IncomingError::Protocol("the connection ended within a message".into())),
                };
            }
            self.read().await?;
        }
    }

    /// The next message, where all of it was read already.
    pub(crate) fn buffered(&mut self, phase: Phase) -> Result<Option<Message>, IncomingError> {
        self.frame(phase)?.map(|frame| decode(phase, frame)).transpose()
    }

    /// Waits until the client has left; what it sends meanwhile is kept, up to a bound.
    pub(crate) async fn gone(&mut self) {
        while !self.ended {
            if self.buffer.len() >= AHEAD {
                return pending().await;
            }
            if self.read().await.is_err() {
                self.ended = true;
            }
        }
    }

    /// Whether the message that comes next was read already and is Sync.
    pub(crate) fn is_sync_next(&self) -> bool {
        self.buffer.starts_with(&[b'S', 0, 0, 0, 4])
    }

    async fn read(&mut self) -> Result<(), IncomingError> {
        self.buffer.reserve(if self.buffer.is_empty() { PIECE / 8 } else { PIECE });
        let count = self.from.read_buf(&mut self.buffer).await?;
        self.received.inc_by(count as u64);
        self.ended = count == 0;
        Ok(())
    }

    /// The next message as bytes, once all of it is there.
    fn frame(&mut self, phase: Phase) -> Result<Option<Frame>, IncomingError> {
        let letters = usize::from(phase != Phase::Startup);
        let Some(mut head) = self.buffer.get(letters..letters + 4) else { return Ok(None) };
        let length = head.get_u32() as usize;
        let most = if phase == Phase::Session { MOST } else { MOST_BEFORE_LOGIN };
        if length < 4 {
            return Err(IncomingError::Protocol("the length of a message is too small".into()));
        }
        if length > most {
            let text = format!("a message of {length} bytes is longer than the {most} that there may be");
            return Err(IncomingError::Protocol(text));
        }
        if self.buffer.len() < letters + length {
            return Ok(None);
        }
        let letter = if letters == 0 { 0 } else { self.buffer.get_u8() };
        let mut body = self.buffer.split_to(length).freeze();
        body.advance(4);
        Ok(Some(Frame { letter, body }))
    }
}

fn decode(phase: Phase, frame: Frame) -> Result<Message, IncomingError> {
    let Frame { letter, body } = frame;
    let mut body = Body(body);
    let message = match (phase, letter) {
        (Phase::Startup, _) => return body.startup(),
        (_, b'X') => Message::Terminate(Terminate::new()),
        (Phase::Password, b'p') => {
            let method = body.text()?;
            let length = body.i32()?;
            let data = match usize::try_from(length) {
                Ok(length) => Some(body.bytes(length)?),
                Err(_) => None,
            };
            let response = SASLInitialResponse::new(method, data);
            Message::PasswordMessageFamily(PasswordMessageFamily::SASLInitialResponse(response))
        }
        (Phase::PasswordGoesOn, b'p') => {
            let response = SASLResponse::new(body.rest());
            Message::PasswordMessageFamily(PasswordMessageFamily::SASLResponse(response))
        }
        (Phase::Session, letter) => return body.of_session(letter),
        _ => return Err(IncomingError::Protocol("a password was expected".into())),
    };
    body.end(message)
}

/// What is left of a message.
struct Body(Bytes);

impl Body {
    fn of_session(mut self, letter: u8) -> Result<Message, IncomingError> {
        let message = match letter {
            b'Q' => Message::Query(Query::new(self.text()?)),
            b'P' => {
                let (name, query, count) = (self.name()?, self.text()?, self.u16()?);
                let types = (0..count).map(|_| self.u32()).collect::<Result<_, _>>()?;
                Message::Parse(Parse::new(name, query, types))
            }
            b'B' => Message::Bind(self.bind()?),
            b'D' => Message::Describe(Describe::new(self.kind()?, self.name()?)),
            b'C' => Message::Close(Close::new(self.kind()?, self.name()?)),
            b'E' => Message::Execute(Execute::new(self.name()?, self.i32()?)),
            b'H' => Message::Flush(Flush::new()),
            b'S' => Message::Sync(Sync::new()),
            b'd' => Message::CopyData(CopyData::new(self.rest())),
            b'c' => Message::CopyDone(CopyDone::new()),
            b'f' => Message::CopyFail(CopyFail::new(self.text()?)),
            b'F' => return Err(IncomingError::Protocol("function calls of the protocol are not supported".into())),
            other => {
                let text = format!("there is no message '{}'", other.escape_ascii());
                return Err(IncomingError::Protocol(text));
            }
        };
        self.end(message)
    }

    fn bind(&mut self) -> Result<Bind, IncomingError> {
        let (portal, statement) = (self.name()?, self.name()?);
        let count = self.u16()?;
        let formats = (0..count).map(|_| self.i16()).collect::<Result<_, _>>()?;
        let count = self.u16()?;
        let values = (0..count).map(|_| self.value()).collect::<Result<_, _>>()?;
        let count = self.u16()?;
        let results = (0..count).map(|_| self.i16()).collect::<Result<_, _>>()?;
        Ok(Bind::new(portal, statement, formats, values, results))
    }

    /// The first message: a version and parameters, or the wish to cancel.
    fn startup(mut self) -> Result<Message, IncomingError> {
        const CANCEL: u32 = 80_877_102;
        let code = self.u32()?;
        if code == CANCEL {
            let pid = self.i32()?;
            let key = match self.0.len() {
                4 => SecretKey::I32(self.i32()?),
                5..=256 => SecretKey::Bytes(self.rest()),
                _ => return Err(malformed()),
            };
            return Ok(Message::CancelRequest(CancelRequest::new(pid, key)));
        }
        let mut startup = Startup::new();
        startup.protocol_number_major = (code >> 16) as u16;
        startup.protocol_number_minor = code as u16;
        if startup.protocol_number_major != 3 {
            let (major, minor) = (startup.protocol_number_major, startup.protocol_number_minor);
            let text = format!("version {major}.{minor} of the protocol is not supported; version 3 is");
            return Err(IncomingError::Protocol(text));
        }
        while let Some(name) = self.name()? {
            startup.parameters.insert(name, self.text()?);
        }
        self.end(Message::Startup(startup))
    }

    fn bytes(&mut self, count: usize) -> Result<Bytes, IncomingError> {
        if self.0.len() < count { Err(malformed()) } else { Ok(self.0.split_to(count)) }
    }

    fn kind(&mut self) -> Result<u8, IncomingError> {
        match self.bytes(1)?[0] {
            kind @ (b'S' | b'P') => Ok(kind),
            _ => Err(malformed()),
        }
    }

    fn u16(&mut self) -> Result<u16, IncomingError> {
        Ok(self.bytes(2)?.get_u16())
    }

    fn i16(&mut self) -> Result<i16, IncomingError> {
        Ok(self.bytes(2)?.get_i16())
    }

    fn u32(&mut self) -> Result<u32, IncomingError> {
        Ok(self.bytes(4)?.get_u32())
    }

    fn i32(&mut self) -> Result<i32, IncomingError> {
        Ok(self.bytes(4)?.get_i32())
    }

    /// A value with its length before it; `None` for NULL.
    fn value(&mut self) -> Result<Option<Bytes>, IncomingError> {
        match self.i32()? {
            -1 => Ok(None),
            length => self.bytes(usize::try_from(length).map_err(|_| malformed())?).map(Some),
        }
    }

    /// A text that ends with a zero.
    fn text(&mut self) -> Result<String, IncomingError> {
        let length = self.0.iter().position(|byte| *byte == 0).ok_or_else(malformed)?;
        let text = self.bytes(length)?;
        self.0.advance(1);
        String::from_utf8(text.into()).map_err(|_| IncomingError::Encoding)
    }

    /// A text, or nothing for an empty one.
    fn name(&mut self) -> Result<Option<String>, IncomingError> {
        Ok(Some(self.text()?).filter(|text| !text.is_empty()))
    }

    fn rest(&mut self) -> Bytes {
        std::mem::take(&mut self.0)
    }

    fn end(self, message: Message) -> Result<Message, IncomingError> {
        if self.0.is_empty() { Ok(message) } else { Err(malformed()) }
    }
}

fn malformed() -> IncomingError {
    IncomingError::Protocol("the parts of a message don't fit its length".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::{Context, Poll};

    /// What comes of bytes that arrive in pieces of a size.
    fn read(phase: Phase, bytes: &[u8], piece: usize) -> Vec<Result<Message, String>> {
        let pieces = bytes.chunks(piece).map(|piece| Ok::<_, std::io::Error>(Bytes::copy_from_slice(piece)));
        let mut incoming = Incoming::new(Pieces(pieces.collect()), BytesMut::new(), Counter::default());
        let mut all = Vec::new();
        futures::executor::block_on(async {
            loop {
                match incoming.next(phase).await {
                    Ok(Some(message)) => all.push(Ok(message)),
                    Ok(None) => return,
                    Err(error) => return all.push(Err(error.to_string())),
                }
            }
        });
        all
    }

    struct Pieces(std::collections::VecDeque<std::io::Result<Bytes>>);

    impl AsyncRead for Pieces {
        fn poll_read(
            mut self: std::pin::Pin<&mut Self>,
            _: &mut Context<'_>,
            to: &mut tokio::io::ReadBuf<'_>,
        ) -> Poll<std::io::Result<()>> {
            if let Some(piece) = self.0.pop_front() {
                to.put_slice(&piece?);
            }
            Poll::Ready(Ok(()))
        }
    }

    const MESSAGES: &[u8] = b"Q\0\0\0\x0dSELECT 1\0P\0\0\0\x16s\0SELECT $1\0\0\x01\0\0\0\x17\
        B\0\0\0\x17\0s\0\0\x01\0\x01\0\x01\0\0\0\x04\0\0\0\x07\0\0E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";
    /// Where one of them ends and the next begins.
    const ENDS: [usize; 4] = [14, 37, 61, 71];

    #[test]
    fn messages_are_read_in_pieces_of_any_size() {
        for piece in [1, 2, 3, 7, 1000] {
            let all = read(Phase::Session, MESSAGES, piece);
            assert_eq!(all.len(), 5, "{all:?}");
            assert!(matches!(&all[0], Ok(Message::Query(query)) if query.query == "SELECT 1"));
            assert!(matches!(&all[1], Ok(Message::Parse(parse)) if parse.type_oids == [23]));
            let Ok(Message::Bind(bind)) = &all[2] else { panic!("{all:?}") };
            assert_eq!(bind.parameters, [Some(Bytes::from_static(&[0, 0, 0, 7]))]);
            assert!(matches!(&all[4], Ok(Message::Sync(_))));
        }
    }

    /// Every cut through the messages, and every change of one byte, gives messages or an error.
    #[test]
    fn broken_messages_are_errors() {
        for end in 1..MESSAGES.len() {
            let all = read(Phase::Session, &MESSAGES[..end], 1000);
            assert_eq!(all.last().is_some_and(Result::is_err), !ENDS.contains(&end), "{end}: {all:?}");
        }
        for place in 0..MESSAGES.len() {
            for byte in [0, 1, 0x7f, 0x80, 0xff] {
                let mut bytes = MESSAGES.to_vec();
                bytes[place] = byte;
                read(Phase::Session, &bytes, 1000);
                read(Phase::Startup, &bytes[1..], 1000);
                read(Phase::Password, &bytes, 1000);
            }
        }
        let wrong: &[(Phase, &[u8], &str)] = &[
            (Phase::Session, b"Q\0\0\0\x03", "too small"),
            (Phase::Session, b"Q\x7f\0\0\0", "longer than"),
            (Phase::Session, b"Q\0\0\0\x07a\0b", "don't fit"),
            (Phase::Session, b"Q\0\0\0\x06\xff\0", "not UTF-8"),
            (Phase::Session, b"B\0\0\0\x0a\0\0\xff\xff\0\0", "don't fit"),
            (Phase::Session, b"!\0\0\0\x04", "no message '!'"),
            (Phase::Startup, b"\0\0\0\x09\0\x02\0\0\0", "version 2.0"),
            (Phase::Startup, b"\0\0\x40\0\0\x03\0\0", "longer than"),
            (Phase::Password, b"Q\0\0\0\x05\0", "a password"),
        ];
        for (phase, bytes, words) in wrong {
            let all = read(*phase, bytes, 1000);
            assert!(matches!(all.as_slice(), [Err(error)] if error.contains(words)), "{words}: {all:?}");
        }
    }
}
