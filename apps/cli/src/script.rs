//! Runs statements and commands one after the other and writes what they return.

use crate::commands;
use crate::failure::Failure;
use crate::interrupt::Running;
use crate::output::{Display, Screen};
use crate::rows::Rows;
use crate::show::{Answer, show};
use crate::sink::Sink;
use gingham::storage::panics::guarded;
use gingham::{Connection, CopyStream, PlanningTimes, ScriptPart, StatementHandle, StatementSplitter};
use gingham_lab::words::counted;
use std::io::{BufRead, ErrorKind, IsTerminal, Write};
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

/// What to do after a statement or a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The next one.
    GoOn,
    /// End with this status.
    Quit(u8),
}

/// The database that statements are run on, as it is shown.
#[derive(Debug, Clone)]
pub struct Place {
    /// Its folder, or what it is when it has none of its own.
    pub name: String,
    /// Whether it can't be written.
    pub read_only: bool,
}

/// Scripts within scripts, before one is taken to read itself.
const NESTED: usize = 100;

/// The least and the most columns of text that the engine draws plans in.
const PLAN_COLUMNS: (usize, usize) = (40, 1000);

/// Runs statements and commands on one connection.
pub struct Runner {
    /// The connection.
    pub connection: Connection,
    /// What it is connected to.
    pub place: Place,
    /// How results are shown.
    pub display: Display,
    /// Tell the time of each statement.
    pub timing: bool,
    /// At a prompt: count rows, and say when a statement without rows is done.
    pub interactive: bool,
    /// Tell how many records each statement has changed.
    pub changes: bool,
    /// Show each statement before it is run.
    pub echo: bool,
    /// End a script with the first statement that fails.
    pub bail: bool,
    /// Where results go.
    pub out: Sink,
    /// Whether a statement has failed that did not end its script.
    failed: bool,
    /// Scripts that are running, each within the one before.
    nested: usize,
}

impl Runner {
    /// A runner that writes to standard output.
    pub fn new(connection: Connection, place: Place, display: Display) -> Self {
        Self {
            connection,
            place,
            display,
            timing: false,
            interactive: false,
            changes: false,
            echo: false,
            bail: true,
            out: Sink::stdout(),
            failed: false,
            nested: 0,
        }
    }

    /// Runs the statements and commands of `text` in order, up to the first that fails, or all of them when errors end nothing.
    /// What was written before an error is flushed.
    pub fn run(&mut self, origin: &Origin, text: &str) -> Result<Next, Failure> {
        if self.nested >= NESTED {
            return Err(Failure::failed(format!("{NESTED} scripts are read within each other; does one read itself?")));
        }
        self.nested += 1;
        let ran = self.parts(origin, text);
        self.nested -= 1;
        ran
    }

    fn parts(&mut self, origin: &Origin, text: &str) -> Result<Next, Failure> {
        // Told of a -c alone.
        let count = if matches!(origin, Origin::Argument) { parts(text).len() } else { 0 };
        let mut splitter = StatementSplitter::with_commands(is_command);
        splitter.push(text);
        let mut place = 0;
        while let Some(part) = splitter.finish() {
            let rows = match origin {
                Origin::File(_) => Rows::of_script(&mut splitter, None),
                _ => Rows::of_stdin(),
            };
            place += 1;
            match self.part(origin, part, (place, count), rows)? {
                Next::GoOn => {}
                quit => return Ok(quit),
            }
        }
        Ok(Next::GoOn)
    }

    /// Runs statements as they arrive, so that another program may hold a conversation: each once its `;` was read, and what
    /// follows the last one at the end.
    pub fn run_arriving(&mut self, input: &mut dyn BufRead) -> Result<Next, Failure> {
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
                match self.part(&Origin::Pipe, part, (place, place), rows)? {
                    Next::GoOn => {}
                    quit => return Ok(quit),
                }
            }
        }
        Ok(Next::GoOn)
    }

    /// Runs the statements and commands of a file.
    pub fn run_file(&mut self, file: &str) -> Result<Next, Failure> {
        let text =
            std::fs::read_to_string(file).map_err(|error| Failure::failed(format!("can't read {file}: {error}")))?;
        self.run(&Origin::File(file.to_owned()), &text)
    }

    /// How all that was run ends, after `next`.
    pub fn end(&mut self, next: Next) -> Result<(), Failure> {
        self.out.restore()?;
        match next {
            Next::Quit(status) if status > 0 => Err(Failure::status(status)),
            _ if self.failed && !self.interactive => Err(Failure::status(1)),
            _ => Ok(()),
        }
    }

    /// Runs a part of a script, of which it is the one at a place among so many.
    fn part(
        &mut self,
        origin: &Origin,
        part: ScriptPart,
        (place, count): (usize, usize),
        rows: Rows<'_>,
    ) -> Result<Next, Failure> {
        let was_once = self.out.is_once();
        let (ScriptPart::Statement { text, .. } | ScriptPart::Command { text, .. }) = &part;
        if self.echo {
            self.say(text)?;
        }
        let (line, result) = match part {
            ScriptPart::Statement { text, line } => {
                let ran = guarded(|| self.statement(&text, rows));
                (line, ran.map(|()| Next::GoOn).map_err(|failure| self.pointed(failure, &text)))
            }
            ScriptPart::Command { text, line } => (line, guarded(|| commands::run(self, &text, rows))),
        };
        let flushed = self.out.flush().map_err(Failure::from);
        let restored = if was_once { self.out.restore() } else { Ok(()) };
        match result.and_then(|next| flushed.and(restored).map(|()| next)) {
            Err(failure) if self.bail || failure.is_broken_pipe() => Err(failure.at(&origin.place(place, count, line))),
            Err(failure) => {
                eprintln!("error: {}", failure.at(&origin.place(place, count, line)).message());
                self.failed = true;
                Ok(Next::GoOn)
            }
            next => next,
        }
    }

    /// A failure of a statement with the place that it is about, for those who look at a screen.
    fn pointed(&self, failure: Failure, sql: &str) -> Failure {
        if self.interactive || std::io::stderr().is_terminal() { failure.shown_in(sql) } else { failure }
    }

    /// Runs one statement and writes its result.
    pub fn statement(&mut self, sql: &str, rows: Rows<'_>) -> Result<(), Failure> {
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
                let copied = self.connection.copy_out(sql, &mut self.out, &handle);
                if self.out.is_broken() {
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
        self.summary(Some(copied))?;
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
            eprintln!("{}: {}", notice.severity.to_string().to_ascii_lowercase(), notice.text);
        }
    }

    /// Runs a statement that is no COPY of a stream, and writes its rows.
    pub fn query(&mut self, sql: &str) -> Result<(), Failure> {
        let is_stdout = self.out.is_stdout();
        self.display.screen = if is_stdout { Screen::of_stdout() } else { None };
        if let Some(screen) = self.display.screen.filter(|_| Connection::is_explain(sql)) {
            let columns = screen.columns.clamp(PLAN_COLUMNS.0, PLAN_COLUMNS.1);
            self.connection.execute(&format!("SET gingham.explain_width = {columns}"))?;
        }
        // A file has the rows alone.
        let shown = show(&self.connection, &self.display, self.interactive && is_stdout, sql, &mut self.out)?;
        if let Some(Answer { has_rows: false, affected, .. }) = shown {
            self.summary(affected)?;
        }
        self.out.flush()?;
        self.warn();
        if self.timing
            && let Some(answer) = shown
        {
            eprintln!("{}{}", time_line(answer.spent), phases(answer.spent, &answer.planning));
        }
        Ok(())
    }

    /// Tells what a statement without rows did.
    fn summary(&mut self, affected: Option<u64>) -> Result<(), Failure> {
        match affected {
            _ if !self.changes || !self.out.is_stdout() => {}
            Some(affected) => writeln!(self.out, "{}", counted(affected, "row"))?,
            None if self.interactive => writeln!(self.out, "done")?,
            None => {}
        }
        Ok(())
    }

    /// Writes a line of text, such as the answer of a dot command.
    pub fn say(&mut self, text: &str) -> Result<(), Failure> {
        writeln!(self.out, "{text}")?;
        Ok(self.out.flush()?)
    }
}

/// Whether a line between statements is a command.
pub fn is_command(line: &str) -> bool {
    line.starts_with(['.', '\\'])
}

/// The statements and commands of a text.
pub fn parts(text: &str) -> Vec<ScriptPart> {
    let mut splitter = StatementSplitter::with_commands(is_command);
    splitter.push(text);
    std::iter::from_fn(|| splitter.finish()).collect()
}

/// psql's line.
fn time_line(spent: Duration) -> String {
    format!("Time: {:.3} ms", milliseconds(spent))
}

/// What a query's time is made of; nothing of a statement that was not planned.
fn phases(spent: Duration, planning: &PlanningTimes) -> String {
    let PlanningTimes { total, parse, logical, optimize, physical, compile } = planning;
    if (*parse + *logical + *optimize + *physical + *compile).is_zero() {
        return String::new();
    }
    let running = spent.saturating_sub(*total);
    let compiling = if compile.is_zero() {
        String::new()
    } else {
        format!(", meanwhile compiling {:.3} ms", milliseconds(*compile))
    };
    format!(" (planning {:.3} ms, running {:.3} ms{compiling})", milliseconds(*total), milliseconds(running))
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
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
        let own = |micros| Duration::from_micros(micros);
        let planning = PlanningTimes { total: own(2_000), parse: own(500), ..PlanningTimes::default() };
        assert_eq!(phases(own(12_345), &planning), " (planning 2.000 ms, running 10.345 ms)");
        let planning = PlanningTimes { compile: own(7), ..planning };
        assert_eq!(
            phases(own(12_345), &planning),
            " (planning 2.000 ms, running 10.345 ms, meanwhile compiling 0.007 ms)"
        );
        assert_eq!(phases(own(12_345), &PlanningTimes::default()), "");
    }
}
