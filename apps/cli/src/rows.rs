//! The rows of `COPY … FROM STDIN`: lines up to `\.`, which follow the statement in its script or come from standard input.

use crate::failure::Failure;
use gingham::StatementSplitter;
use std::io::{BufRead, Read};

/// The line behind the last row.
const END: &[u8] = b"\\.";

/// Where rows come from: first from the script, then from standard input.
pub struct Rows<'r> {
    script: Option<&'r mut StatementSplitter>,
    input: Option<&'r mut dyn BufRead>,
    line: Vec<u8>,
    /// How much of the line was read.
    at: usize,
    ended: bool,
}

impl<'r> Rows<'r> {
    /// Rows that follow their statement in a script, of which `input` is the rest.
    pub fn of_script(script: &'r mut StatementSplitter, input: Option<&'r mut dyn BufRead>) -> Self {
        Self { script: Some(script), input, line: Vec::new(), at: 0, ended: false }
    }

    /// Rows of standard input alone.
    pub fn of_input(input: &'r mut dyn BufRead) -> Self {
        Self { script: None, input: Some(input), line: Vec::new(), at: 0, ended: false }
    }

    /// Goes to the line behind the statement.
    pub fn begin(&mut self) -> Result<(), Failure> {
        let rest = self.script.as_mut().and_then(|script| script.line(true)).unwrap_or_default();
        match rest.trim() {
            "" => Ok(()),
            rest => Err(Failure::failed(format!(
                "the rows of COPY … FROM STDIN begin on the line behind it; '{rest}' stands behind its ';'"
            ))),
        }
    }

    fn next_line(&mut self) -> std::io::Result<()> {
        self.line.clear();
        self.at = 0;
        if let Some(line) = self.script.as_mut().and_then(|script| script.line(true)) {
            self.line.extend(line.as_bytes());
        } else if let Some(input) = &mut self.input {
            input.read_until(b'\n', &mut self.line)?;
        }
        if self.line.is_empty() || self.line.trim_ascii_end() == END {
            self.ended = true;
            self.line.clear();
        }
        Ok(())
    }
}

impl Read for Rows<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.line.len() && !self.ended {
            self.next_line()?;
        }
        let mut rest = &self.line[self.at..];
        let read = rest.read(buffer)?;
        self.at += read;
        Ok(read)
    }
}
