//! The rows of `COPY … FROM STDIN`: lines up to `\.`, which follow the statement in its script or come from standard input.

use crate::failure::Failure;
use gingham::StatementSplitter;
use std::io::{BufRead, Read};

/// The line behind the last row.
const END: &[u8] = b"\\.";

/// What gives the rows behind those that the script has.
enum Input<'r> {
    /// Nothing: the script is a file.
    None,
    /// What the script is read from.
    Script(&'r mut dyn BufRead),
    /// Standard input, which is locked for a line at a time: a command may run another script within this one.
    Stdin,
}

/// Where rows come from: first from the script, then from standard input.
pub struct Rows<'r> {
    script: Option<&'r mut StatementSplitter>,
    input: Input<'r>,
    line: Vec<u8>,
    /// How much of the line was read.
    at: usize,
    ended: bool,
}

impl<'r> Rows<'r> {
    /// Rows that follow their statement in a script, of which `input` is the rest.
    pub fn of_script(script: &'r mut StatementSplitter, input: Option<&'r mut dyn BufRead>) -> Self {
        let input = input.map_or(Input::None, Input::Script);
        Self { script: Some(script), input, line: Vec::new(), at: 0, ended: false }
    }

    /// Rows of standard input alone.
    pub fn of_stdin() -> Self {
        Self { script: None, input: Input::Stdin, line: Vec::new(), at: 0, ended: false }
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
        } else {
            match &mut self.input {
                Input::None => 0,
                Input::Script(input) => input.read_until(b'\n', &mut self.line)?,
                Input::Stdin => std::io::stdin().lock().read_until(b'\n', &mut self.line)?,
            };
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
