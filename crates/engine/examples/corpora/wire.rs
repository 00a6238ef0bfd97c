//! As much of PostgreSQL's protocol as asking questions takes: statements out as text, rows back as text. It goes over the
//! server's socket rather than through psql, which would read the corpora's backslashes as commands of its own (one of
//! them runs programs) and a quote left open as the rest of the file.

use crate::script::from_client;
use crate::table::{Row, Table, plain_time};
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Rows after these are dropped.
const MOST_ROWS: usize = 50_000;

/// What PostgreSQL says to a statement.
#[derive(Debug, Clone)]
pub enum Reply {
    Rows {
        table: Table,
        /// The kind of the statement and the records that it changed: `INSERT 0 3`.
        tag: String,
    },
    Refused {
        /// The code of five letters and digits.
        code: String,
        message: String,
        /// The character of the statement, from 1, that it is about; 0 when it is about none.
        position: usize,
    },
}

/// A connection to the server.
pub struct Wire {
    stream: UnixStream,
}

impl Wire {
    /// Connects to `database` as `user` by the socket `socket`.
    pub fn connect(socket: &Path, user: &str, database: &str) -> Result<Self> {
        let mut stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        let mut body = 196_608_u32.to_be_bytes().to_vec();
        for part in ["user", user, "database", database] {
            body.extend_from_slice(part.as_bytes());
            body.push(0);
        }
        body.push(0);
        stream.write_all(&(body.len() as u32 + 4).to_be_bytes())?;
        stream.write_all(&body)?;
        let mut wire = Self { stream };
        match wire.reply()? {
            Reply::Rows { .. } => Ok(wire),
            Reply::Refused { message, .. } => Err(Error::other(message)),
        }
    }

    /// Runs `sql`, and gives what its last statement answers.
    pub fn ask(&mut self, sql: &str) -> Result<Reply> {
        if sql.contains('\0') {
            return Ok(Reply::Refused { code: "22021".to_owned(), message: "a zero byte".to_owned(), position: 0 });
        }
        self.send(b'Q', sql.as_bytes())?;
        self.reply()
    }

    /// Asks as `ask` does; a file that COPY reads is read here and sent along, since the server may read none.
    pub fn ask_with_file(&mut self, sql: &str) -> Result<Reply> {
        let Some((sql, path, _)) = from_client(sql) else { return self.ask(sql) };
        self.send(b'Q', sql.as_bytes())?;
        self.answer(&std::fs::read(path)?)
    }

    /// Asks as `ask` does, with an alias added to each subquery in FROM that has none: releases after 15 no longer ask for them.
    pub fn ask_with_aliases(&mut self, sql: &str) -> Result<Reply> {
        let mut sql = sql.to_owned();
        for number in 0..20 {
            match self.ask(&sql)? {
                Reply::Refused { message, position, .. } if message.ends_with("in FROM must have an alias") => {
                    let Some(end) = closing(&sql, position) else { break };
                    sql.insert_str(end, &format!(" AS alias_{number}"));
                }
                reply => return Ok(reply),
            }
        }
        self.ask(&sql)
    }

    fn send(&mut self, kind: u8, text: &[u8]) -> Result<()> {
        self.send_bytes(kind, &[text, &[0]].concat())
    }

    fn send_bytes(&mut self, kind: u8, bytes: &[u8]) -> Result<()> {
        let mut message = vec![kind];
        message.extend_from_slice(&(bytes.len() as u32 + 4).to_be_bytes());
        message.extend_from_slice(bytes);
        self.stream.write_all(&message)
    }

    fn reply(&mut self) -> Result<Reply> {
        self.answer(&[])
    }

    /// Reads messages up to the one that says that the server is ready for more, and sends `file` when it is asked for.
    fn answer(&mut self, file: &[u8]) -> Result<Reply> {
        let (mut table, mut tag, mut refused) = (Table::default(), String::new(), None);
        let mut types = Vec::new();
        loop {
            let (kind, body) = self.message()?;
            let mut body = Body { bytes: &body };
            match kind {
                b'R' if body.number(4)? != 0 => return Err(Error::other("the server asks for a password")),
                b'T' => {
                    types = body.columns()?;
                    table = Table { kinds: types.iter().map(|of| letter(*of)).collect(), rows: Vec::new() };
                }
                b'D' if table.rows.len() < MOST_ROWS => table.rows.push(body.row(&types)?),
                b'C' => tag = body.text()?,
                b'E' => refused = Some(body.refusal()?),
                b'G' if file.is_empty() => self.send(b'f', b"there is nothing to copy")?,
                b'G' => {
                    self.send_bytes(b'd', file)?;
                    self.send_bytes(b'c', &[])?;
                }
                b'Z' => return Ok(refused.unwrap_or(Reply::Rows { table, tag })),
                _ => {}
            }
        }
    }

    fn message(&mut self) -> Result<(u8, Vec<u8>)> {
        let mut head = [0; 5];
        self.stream.read_exact(&mut head)?;
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let mut body = vec![0; length.checked_sub(4).ok_or_else(short)?];
        self.stream.read_exact(&mut body)?;
        Ok((head[0], body))
    }
}

/// The byte after the parenthesis that closes the one at `position`.
fn closing(sql: &str, position: usize) -> Option<usize> {
    let mut depth = 0;
    let mut quoted = false;
    for (place, c) in sql.char_indices().skip(position.checked_sub(1)?) {
        quoted ^= c == '\'';
        match c {
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth -= 1,
            _ => continue,
        }
        if depth == 0 {
            return Some(place + 1);
        }
    }
    None
}

fn short() -> Error {
    Error::new(ErrorKind::InvalidData, "a message of the server is cut short")
}

/// What is left of a message.
struct Body<'a> {
    bytes: &'a [u8],
}

impl<'a> Body<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or_else(short)?;
        self.bytes = rest;
        Ok(taken)
    }

    fn number(&mut self, bytes: usize) -> Result<u32> {
        Ok(self.take(bytes)?.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
    }

    /// Text up to its zero byte.
    fn text(&mut self) -> Result<String> {
        let end = self.bytes.iter().position(|byte| *byte == 0).ok_or_else(short)?;
        let text = String::from_utf8_lossy(self.take(end)?).into_owned();
        self.take(1)?;
        Ok(text)
    }

    /// The numbers of the columns' types.
    fn columns(&mut self) -> Result<Vec<u32>> {
        let count = self.number(2)?;
        let mut types = Vec::new();
        for _ in 0..count {
            self.text()?;
            self.take(6)?;
            types.push(self.number(4)?);
            self.take(8)?;
        }
        Ok(types)
    }

    fn row(&mut self, types: &[u32]) -> Result<Row> {
        let count = self.number(2)? as usize;
        let mut row = Vec::new();
        for place in 0..count {
            let length = self.number(4)?;
            if length == u32::MAX {
                row.push(None);
                continue;
            }
            let text = String::from_utf8_lossy(self.take(length as usize)?).into_owned();
            row.push(Some(plain(text, types.get(place).copied().unwrap_or_default())));
        }
        Ok(row)
    }

    fn refusal(&mut self) -> Result<Reply> {
        let (mut code, mut message, mut position) = (String::new(), String::new(), 0);
        loop {
            match self.number(1)? as u8 {
                0 => return Ok(Reply::Refused { code, message, position }),
                b'C' => code = self.text()?,
                b'M' => message = self.text()?,
                b'P' => position = self.text()?.parse().unwrap_or_default(),
                _ => drop(self.text()?),
            }
        }
    }
}

/// The letter of a type of PostgreSQL's, by its number in pg_type.
fn letter(of: u32) -> char {
    match of {
        16 => 'B',
        20 | 21 | 23 | 26 => 'I',
        1700 => 'N',
        700 => 'f',
        701 => 'F',
        18 | 19 | 25 | 705 | 1042 | 1043 => 'T',
        1082 | 1083 | 1114 | 1184 | 1266 => 'D',
        17 => 'X',
        _ => '?',
    }
}

/// Bytes in hexadecimal, also where `bytea_output` is `escape`.
fn bytes(text: &str) -> String {
    if let Some(digits) = text.strip_prefix("\\x") {
        return format!("0x{digits}");
    }
    let (mut hex, mut rest) = ("0x".to_owned(), text.as_bytes());
    while let Some((first, behind)) = rest.split_first() {
        let octal = behind.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let (byte, length) = match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) if *first == b'\\' => (byte, 4),
            _ if *first == b'\\' => (b'\\', 2),
            _ => (*first, 1),
        };
        hex += &format!("{byte:02x}");
        rest = rest.get(length..).unwrap_or_default();
    }
    hex
}

/// A value as Gingham's side writes it.
fn plain(text: String, of: u32) -> String {
    match (letter(of), text.as_str()) {
        ('B', "t") => "true".to_owned(),
        ('B', _) => "false".to_owned(),
        ('X', text) => bytes(text),
        ('D', _) => plain_time(&text),
        // The blanks that fill up a CHAR(n) are no part of its value.
        _ if of == 1042 => text.trim_end().to_owned(),
        _ => text,
    }
}
