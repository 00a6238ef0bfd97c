//! COPY with streams does what PostgreSQL does: the cases of tests/copy/cases.txt, with its answers.

use futures::executor::block_on;
use gingham::{Connection, Database, Error, Result, StatementHandle};
use std::path::Path;

const CASES: &str = "../../tests/copy/cases.txt";

/// Bytes of the file's spelling.
fn meant(text: &str) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, behind)) = rest.split_first() {
        let (byte, length) = match (first, behind) {
            (b'\\', [b'n', ..]) => (b'\n', 1),
            (b'\\', [b'r', ..]) => (b'\r', 1),
            (b'\\', [b't', ..]) => (b'\t', 1),
            (b'\\', [b'x', digits @ ..]) => {
                let digits = std::str::from_utf8(&digits[..2]).unwrap();
                (u8::from_str_radix(digits, 16).unwrap(), 3)
            }
            (b'\\', [b'\\', ..]) => (b'\\', 1),
            (byte, _) => (*byte, 0),
        };
        bytes.push(byte);
        rest = &behind[length..];
    }
    bytes
}

fn shown(bytes: &[u8]) -> String {
    let one = |byte: &u8| match byte {
        b'\n' => "\\n".to_owned(),
        b'\r' => "\\r".to_owned(),
        b'\t' => "\\t".to_owned(),
        b'\\' => "\\\\".to_owned(),
        32..127 => char::from(*byte).to_string(),
        byte => format!("\\x{byte:02x}"),
    };
    bytes.iter().map(one).collect()
}

/// An error as the file has it, with the line and the column that its text names.
fn failure(error: &Error) -> String {
    let text = error.to_string();
    let number = text.strip_prefix("COPY t, line ").map(|rest| rest.split([',', ':']).next().unwrap());
    let mut words = format!("error {}", error.sqlstate());
    if let Some(line) = number {
        words += &format!(" line {line}");
        let column = text.split_once(": ").and_then(|(place, _)| place.split_once(", column '"));
        if let Some((_, column)) = column {
            words += &format!(" column {}", column.trim_end_matches('\''));
        }
    }
    words
}

fn out(connection: &Connection, sql: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    connection.copy_out(sql, &mut bytes, &StatementHandle::new())?;
    Ok(bytes)
}

/// Copies bytes in, in pieces of so many.
fn copied(connection: &Connection, sql: &str, bytes: &[u8], size: usize) -> Result<u64> {
    block_on(async {
        let mut copy = connection.start_copy_in(sql, &StatementHandle::new()).await?;
        for piece in bytes.chunks(size) {
            copy.send(piece.to_vec().into()).await?;
            copy.flush().await?;
        }
        copy.finish().await
    })
}

/// One table's cases.
struct Table<'f> {
    columns: &'f str,
    fill: Option<&'f str>,
}

impl Table<'_> {
    fn made(&self) -> Connection {
        let connection = Database::in_memory().unwrap().connect();
        connection.execute(&format!("CREATE TABLE t ({})", self.columns)).unwrap();
        if let Some(fill) = self.fill {
            connection.execute(fill).unwrap();
        }
        connection
    }

    fn answer_in(&self, sql: &str, bytes: &[u8], size: usize) -> String {
        let connection = Table { fill: None, ..*self }.made();
        let answer = match copied(&connection, sql, bytes, size) {
            Ok(_) => format!("rows {}", shown(&out(&connection, "COPY t TO STDOUT").unwrap())),
            Err(error) => {
                assert_eq!(connection.table("t").unwrap().rows(), 0, "{sql}");
                failure(&error)
            }
        };
        answer.trim_end().to_owned()
    }

    fn answer_out(&self, sql: &str) -> String {
        let answer = match out(&self.made(), sql) {
            Ok(bytes) => format!("bytes {}", shown(&bytes)),
            Err(error) => failure(&error),
        };
        answer.trim_end().to_owned()
    }
}

#[test]
fn copy_does_what_postgresql_does() {
    let text = std::fs::read_to_string(Path::new(CASES)).unwrap();
    let mut lines = text.lines().peekable();
    let (mut table, mut wrong, mut cases) = (Table { columns: "", fill: None }, Vec::new(), 0);
    // What Gingham does otherwise, and says so, stands behind PostgreSQL's answer.
    let expected = |lines: &mut std::iter::Peekable<std::str::Lines<'_>>| {
        let theirs = lines.next().unwrap().trim_end().to_owned();
        let own = lines.next_if(|line| line.starts_with("gingham "));
        own.map_or(theirs, |own| own.trim_start_matches("gingham ").to_owned())
    };
    while let Some(line) = lines.next() {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "table" => table = Table { columns: rest, fill: None },
            "fill" => table.fill = Some(rest),
            "out" => {
                let (found, expected) = (table.answer_out(rest), expected(&mut lines));
                cases += 1;
                if found != expected {
                    wrong.push(format!("{} | {rest}\n  found    {found}\n  expected {expected}", table.columns));
                }
            }
            "in" => {
                let given = lines.next().unwrap();
                let bytes = meant(given.strip_prefix("bytes").unwrap().trim_start_matches(' '));
                let expected = expected(&mut lines);
                cases += 1;
                for size in [1 << 20, 1, 3] {
                    let found = table.answer_in(rest, &bytes, size);
                    if found != expected {
                        wrong.push(format!(
                            "{} | {rest} | {given} | by {size}\n  found    {found}\n  expected {expected}",
                            table.columns
                        ));
                        break;
                    }
                }
            }
            _ => {}
        }
    }
    assert!(cases > 200);
    assert!(wrong.is_empty(), "{} of {cases} cases:\n{}", wrong.len(), wrong.join("\n"));
}
