//! Runs statements one after the other and writes what they return.

use crate::failure::Failure;
use crate::interrupt::Running;
use crate::output::Format;
use crate::spinner::Spinner;
use gingham::Connection;
use gingham::lab::{PanicPoint, pass};
use gingham::storage::panics::guarded;
use std::io::{BufRead, BufWriter, Stdout, Write};
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

/// The part of a text that was run before the rest of it.
#[derive(Debug, Clone, Copy, Default)]
struct Before {
    lines: usize,
    statements: usize,
}

/// Runs statements on one connection.
pub struct Runner {
    /// The connection.
    pub connection: Connection,
    /// How results are written.
    pub format: Format,
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
        Self { connection, format, timing, interactive: false, out }
    }

    /// Runs the statements of `text` in order, up to the first that fails. What was written before an error is flushed.
    pub fn run(&mut self, origin: &Origin, text: &str) -> Result<(), Failure> {
        self.run_behind(origin, text, Before::default())
    }

    /// Runs statements as they arrive, so that another program may hold a conversation: each once its `;` was read, and what
    /// follows the last one at the end.
    pub fn run_arriving(&mut self, input: &mut dyn BufRead) -> Result<(), Failure> {
        let (mut text, mut ends) = (String::new(), false);
        let mut before = Before::default();
        while !ends {
            let known = text.len();
            let read = input.read_line(&mut text);
            read.map_err(|error| Failure::usage(format!("can't read standard input as UTF-8 text: {error}")))?;
            ends = text.len() == known;
            // Only a line with a `;` can end a statement.
            if !ends && !text[known..].contains(';') {
                continue;
            }
            let finished = if ends { text.len() } else { Connection::finished_statements(&text).len() };
            self.run_behind(&Origin::Pipe, &text[..finished], before)?;
            before.lines += text[..finished].matches('\n').count();
            before.statements += Connection::split_statements(&text[..finished]).len();
            text.drain(..finished);
        }
        Ok(())
    }

    /// Runs statements of a text that others came before.
    fn run_behind(&mut self, origin: &Origin, text: &str, before: Before) -> Result<(), Failure> {
        let statements = Connection::split_statements(text);
        let count = before.statements + statements.len();
        let mut from = 0;
        for (index, statement) in statements.iter().enumerate() {
            let start = text[from..].find(statement.as_str()).map_or(from, |found| from + found);
            let result = guarded(|| self.statement(statement));
            let flushed = self.out.flush().map_err(Failure::from);
            result.map_err(|failure| {
                let line = 1 + before.lines + text[..start].bytes().filter(|byte| *byte == b'\n').count();
                failure.at(&origin.place(before.statements + index + 1, count, line))
            })?;
            flushed?;
            from = (start + statement.len()).min(text.len());
        }
        Ok(())
    }

    /// Runs one statement and writes its result.
    fn statement(&mut self, sql: &str) -> Result<(), Failure> {
        if sql.starts_with('.') {
            return Err(Failure::failed(format!(
                "'{}' works at the prompt only; here, write SQL (SHOW TABLES, DESCRIBE t, …)",
                sql.split_whitespace().next().unwrap_or(sql)
            )));
        }
        let running = Running::start(&self.connection);
        let spinner = Spinner::start(Some(&self.connection));
        let started = Instant::now();
        let mut result = self.connection.query(sql)?;
        let schema = result.schema();
        let mut next = result.next();
        let mut spent = started.elapsed();
        drop(spinner);
        let has_rows = !schema.fields().is_empty();
        let mut writer = self.format.writer(&schema);
        let mut rows = 0;
        while let Some(batch) = next {
            let batch = batch?;
            rows += batch.num_rows() as u64;
            pass(PanicPoint::Show);
            if has_rows {
                writer.batch(&mut self.out, &batch)?;
            }
            let asked = Instant::now();
            next = result.next();
            spent += asked.elapsed();
        }
        drop(running);
        if has_rows {
            writer.finish(&mut self.out)?;
        }
        if self.interactive {
            self.summary(has_rows, rows, result.rows_affected())?;
        }
        self.out.flush()?;
        if self.timing {
            eprintln!("{}", time_line(spent));
        }
        Ok(())
    }

    fn summary(&mut self, has_rows: bool, rows: u64, affected: Option<u64>) -> Result<(), Failure> {
        match (has_rows, affected) {
            (true, _) => writeln!(self.out, "({})", counted(rows, "row"))?,
            (false, Some(affected)) => writeln!(self.out, "{}", counted(affected, "row"))?,
            (false, None) => writeln!(self.out, "done")?,
        }
        Ok(())
    }

    /// Writes a line of text, such as the answer of a dot command.
    pub fn say(&mut self, text: &str) -> Result<(), Failure> {
        writeln!(self.out, "{text}")?;
        Ok(self.out.flush()?)
    }
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
