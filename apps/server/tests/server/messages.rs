//! The protocol by hand: what no client of good manners sends.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A connection whose messages are written by hand.
pub(crate) struct Wire {
    pub(crate) stream: TcpStream,
    /// Bytes that were sent and received.
    pub(crate) sent: usize,
    pub(crate) received: usize,
}

impl Wire {
    /// A connection that has said nothing.
    pub(crate) fn open(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Self { stream, sent: 0, received: 0 }
    }

    /// A connection that may run statements.
    pub(crate) fn ready(port: u16) -> Self {
        let mut own = Self::open(port);
        own.send(&startup(&[("user", "tester")]));
        assert_eq!(own.until_ready().last().unwrap().0, b'Z');
        own
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
        self.sent += bytes.len();
    }

    /// The next message: its letter and what is in it; `None` at the end.
    pub(crate) fn next(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut head = [0; 5];
        self.stream.read_exact(&mut head).ok()?;
        let length = u32::from_be_bytes(head[1..].try_into().unwrap()) as usize;
        let mut body = vec![0; length - 4];
        self.stream.read_exact(&mut body).ok()?;
        self.received += head.len() + body.len();
        Some((head[0], body))
    }

    /// All messages up to the next ReadyForQuery, or to the end.
    pub(crate) fn until_ready(&mut self) -> Vec<(u8, Vec<u8>)> {
        let mut all = Vec::new();
        while let Some(message) = self.next() {
            let is_ready = message.0 == b'Z';
            all.push(message);
            if is_ready {
                break;
            }
        }
        all
    }

    /// Sends messages, and gives the letters of the answers, with the code of each error and the state at the end.
    pub(crate) fn ask(&mut self, messages: &[Vec<u8>]) -> String {
        self.send(&messages.concat());
        shown(&self.until_ready())
    }
}

/// Answers in short: their letters, codes of errors, tags, and the state of the transaction.
pub(crate) fn shown(answers: &[(u8, Vec<u8>)]) -> String {
    let one = |(letter, body): &(u8, Vec<u8>)| match letter {
        b'E' => format!("E{}", field(body, b'C')),
        b'C' => format!("C[{}]", text(body)),
        b'Z' => format!("Z{}", body[0] as char),
        letter => (*letter as char).to_string(),
    };
    answers.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// A field of an error.
pub(crate) fn field(body: &[u8], kind: u8) -> String {
    let mut fields = body.split(|byte| *byte == 0).filter(|field| !field.is_empty());
    let found = fields.find(|field| field[0] == kind).unwrap_or_default();
    String::from_utf8_lossy(found.get(1..).unwrap_or_default()).into_owned()
}

fn text(body: &[u8]) -> String {
    String::from_utf8_lossy(body.strip_suffix(&[0]).unwrap_or(body)).into_owned()
}

/// A message with a letter.
pub(crate) fn message(letter: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap();
    [&[letter], length.to_be_bytes().as_slice(), body].concat()
}

/// The first message.
pub(crate) fn startup(parameters: &[(&str, &str)]) -> Vec<u8> {
    let mut body = vec![0, 3, 0, 0];
    for (name, value) in parameters {
        body.extend([name.as_bytes(), &[0], value.as_bytes(), &[0]].concat());
    }
    body.push(0);
    message(0, &body)[1..].to_vec()
}

pub(crate) fn query(sql: &str) -> Vec<u8> {
    message(b'Q', &[sql.as_bytes(), &[0]].concat())
}

pub(crate) fn parse(name: &str, sql: &str) -> Vec<u8> {
    message(b'P', &[name.as_bytes(), &[0], sql.as_bytes(), &[0, 0, 0]].concat())
}

/// Binds texts to a statement.
pub(crate) fn bind(portal: &str, statement: &str, values: &[&str]) -> Vec<u8> {
    let mut body = [portal.as_bytes(), &[0], statement.as_bytes(), &[0, 0, 0]].concat();
    body.extend(u16::try_from(values.len()).unwrap().to_be_bytes());
    for value in values {
        body.extend(u32::try_from(value.len()).unwrap().to_be_bytes());
        body.extend(value.as_bytes());
    }
    body.extend([0, 0]);
    message(b'B', &body)
}

pub(crate) fn execute(portal: &str, most: u32) -> Vec<u8> {
    message(b'E', &[portal.as_bytes(), &[0], &most.to_be_bytes()].concat())
}

pub(crate) fn describe(kind: u8, name: &str) -> Vec<u8> {
    message(b'D', &[&[kind], name.as_bytes(), &[0]].concat())
}

pub(crate) fn close(kind: u8, name: &str) -> Vec<u8> {
    message(b'C', &[&[kind], name.as_bytes(), &[0]].concat())
}

pub(crate) fn sync() -> Vec<u8> {
    message(b'S', &[])
}

pub(crate) fn flush() -> Vec<u8> {
    message(b'H', &[])
}

/// What runs a statement once: parsed, bound to texts, described and executed.
pub(crate) fn run(sql: &str, values: &[&str]) -> Vec<u8> {
    [parse("", sql), bind("", "", values), describe(b'P', ""), execute("", 0)].concat()
}
