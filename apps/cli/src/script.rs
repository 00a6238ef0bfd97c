//! Runs statements one after the other and writes what they return.

use crate::failure::Failure;
use crate::interrupt::Running;
use crate::output::{Display, Format, Screen};
use crate::rows::Rows;
use crate::show::{Answer, show};
use gingham::storage::panics::guarded;
use gingham::{Connection, CopyStream, ScriptPart, StatementHandle, StatementSplitter};
use std::io::{BufRead, BufWriter, ErrorKind, Stdout, Write};
use std::time::{Duration, Instant};

/// Where the text of statements comes from, for error messages.
#[derive(Debug, Clone)]
pub enum Origin {
    /// A -c.
    Argument,
    /// A file of that name.
    File(String),
    /// Standard input.
    Pipe,
    /// A line typed at the prompt.
    Prompt,
}

impl Origin {
    /// What goes before the message of an error in the statement at `place` of `count`, whose first line is `line`.
    fn place(&self, place: usize, count: usize, line: usize) -> String {
        match self {
            Self::File(name) => format!("{name}:{line}: "),
            Self::Pipe if line > 1 => format!("line {line}: "),
            Self::Argument | Self::Pipe if count > 1 => format!("statement {place}: "),
            _ => String::new(),
        }
    }
}

/// Standard output, which knows whether its reader has left.
struct Told<'o> {
    out: &'o mut BufWriter<Stdout>,
    is_broken: bool,
}

impl Write for Told<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.out.write(bytes);
        self.is_broken |= written.as_ref().is_err_and(|error| error.kind() == ErrorKind::BrokenPipe);
        written
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

/// Runs statements on one connection.
pub struct Runner {
    /// The connection.
    pub connection: Connection,
    /// How results are shown.
    pub display: Display,
    /// Tell the time of each statement.
    pub timing: bool,
    /// At a prompt: count rows, and say when a statement without rows is done.
    pub interactive: bool,
    out: BufWriter<Stdout>,
}

impl Runner {
    /// A runner that writes to standard output.
    pub fn new(connection: Connection, format: Format, timing: bool) -> Self {
        let out = BufWriter::with_capacity(1 << 16, std::io::stdout());
        Self { connection, display: Display::new(format), timing, interactive: false, out }
    }

    /// Runs the statements of `text` in order, up to the first that fails. What was written before an error is flushed.
    pub fn run(&mut self, origin: &Origin, text: &str) -> Result<(), Failure> {
        let mut splitter = StatementSplitter::with_commands(is_command);
        splitter.push(text);
        // Told of a -c alone.
        let count = if matches!(origin, Origin::Argument) { Connection::split_statements(text).len() } else { 0 };
        let mut place = 0;
        let mut input = std::io::stdin().lock();
        while let Some(part) = splitter.finish() {
            let rows = match origin {
                Origin::File(_) => Rows::of_script(&mut splitter, None),
                _ => Rows::of_input(&mut input),
            };
            place += 1;
            self.part(origin, part, (place, count), rows)?;
        }
        Ok(())
    }

    /// Runs statements as they arrive, so that another program may hold a conversation: each once its `;` was read, and what
    /// follows the last one at the end.
    pub fn run_arriving(&mut self, input: &mut dyn BufRead) -> Result<(), Failure> {
        let mut splitter = StatementSplitter::with_commands(is_command);
        let (mut line, mut place, mut ends) = (String::new(), 0, false);
        while !ends {
            line.clear();
            let read = input.read_line(&mut line);
            read.map_err(|error| Failure::usage(format!("can't read standard input as UTF-8 text: {error}")))?;
            ends = line.is_empty();
            splitter.push(&line);
            while let Some(part) = if ends { splitter.finish() } else { splitter.next() } {
                place += 1;
                let rows = Rows::of_script(&mut splitter, Some(input));
                self.part(&Origin::Pipe, part, (place, place), rows)?;
            }
        }
        Ok(())
    }

    /// Runs a part of a script, of which it is the one at a place among so many.
    fn part(
        &mut self,
        origin: &Origin,
        part: ScriptPart,
        (place, count): (usize, usize),
        rows: Rows<'_>,
    ) -> Result<(), Failure> {
        let (line, result) = match part {
            ScriptPart::Statement { text, line } => (line, guarded(|| self.statement(&text, rows))),
            ScriptPart::Command { text, line } => (
                line,
                Err(Failure::failed(format!(
                    "'{}' works at the prompt only; here, write SQL (SHOW TABLES, DESCRIBE t, …)",
                    text.split_whitespace().next().unwrap_or(&text)
                ))),
            ),
        };
        let flushed = self.out.flush().map_err(Failure::from);
        result.map_err(|failure| failure.at(&origin.place(place, count, line)))?;
        flushed
    }

    /// Runs one statement and writes its result.
    fn statement(&mut self, sql: &str, rows: Rows<'_>) -> Result<(), Failure> {
        match Connection::copy_stream(sql) {
            Some(stream) => self.copy(sql, stream, rows),
            None => self.query(sql),
        }
    }

    /// Runs a COPY whose rows come from the script or standard input, or go to standard output.
    fn copy(&mut self, sql: &str, stream: CopyStream, mut rows: Rows<'_>) -> Result<(), Failure> {
        let running = Running::start(&self.connection);
        let (handle, started) = (StatementHandle::new(), Instant::now());
        let copied = match stream {
            CopyStream::Out => {
                let mut out = Told { out: &mut self.out, is_broken: false };
                let copied = self.connection.copy_out(sql, &mut out, &handle);
                if out.is_broken {
                    return Err(Failure::from(std::io::Error::from(ErrorKind::BrokenPipe)));
                }
                copied
            }
            CopyStream::In => {
                rows.begin()?;
                let copied = self.connection.copy_in(sql, &mut rows, &handle);
                // Rows of a COPY that was refused are no statements.
                let rest = std::io::copy(&mut rows, &mut std::io::sink());
                rest.map_err(|error| Failure::failed(format!("reading the rows of COPY … FROM STDIN: {error}")))?;
                copied
            }
        }?;
        drop(running);
        if self.interactive {
            self.summary(Some(copied))?;
        }
        self.out.flush()?;
        self.warn();
        if self.timing {
            eprintln!("{}", time_line(started.elapsed()));
        }
        Ok(())
    }

    /// Tells standard error what the statement had to say besides its result.
    fn warn(&self) {
        for notice in self.connection.notices().take() {
            eprintln!("warning: {}", notice.text);
        }
    }

    fn query(&mut self, sql: &str) -> Result<(), Failure> {
        self.display.screen = Screen::of_stdout();
        let shown = show(&self.connection, &self.display, self.interactive, sql, &mut self.out)?;
        if let Some(Answer { has_rows: false, affected, .. }) = shown
            && self.interactive
        {
            self.summary(affected)?;
        }
        self.out.flush()?;
        self.warn();
        if self.timing
            && let Some(answer) = shown
        {
            eprintln!("{}", time_line(answer.spent));
        }
        Ok(())
    }

    /// Tells what a statement without rows did.
    fn summary(&mut self, affected: Option<u64>) -> Result<(), Failure> {
        match affected {
            Some(affected) => writeln!(self.out, "{}", counted(affected, "row"))?,
            None => writeln!(self.out, "done")?,
        }
        Ok(())
    }

    /// Writes a line of text, such as the answer of a dot command.
    pub fn say(&mut self, text: &str) -> Result<(), Failure> {
        writeln!(self.out, "{text}")?;
        Ok(self.out.flush()?)
    }
}

/// Whether a line between statements is a command of the prompt's.
fn is_command(line: &str) -> bool {
    line.starts_with(['.', '\\'])
}

/// psql's line.
fn time_line(spent: Duration) -> String {
    format!("Time: {:.3} ms", spent.as_secs_f64() * 1e3)
}

/// `1 row`, `2 rows`.
pub fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_where() {
        let file = Origin::File("a.sql".into());
        assert_eq!(file.place(2, 3, 7), "a.sql:7: ");
        assert_eq!(Origin::Pipe.place(2, 3, 7), "line 7: ");
        assert_eq!(Origin::Pipe.place(1, 1, 1), "");
        assert_eq!(Origin::Argument.place(2, 3, 1), "statement 2: ");
        assert_eq!(Origin::Argument.place(1, 1, 4), "");
    }

    #[test]
    fn time_is_psqls() {
        assert_eq!(time_line(Duration::from_micros(12_345)), "Time: 12.345 ms");
        assert_eq!(time_line(Duration::from_secs(61)), "Time: 61000.000 ms");
    }
}
