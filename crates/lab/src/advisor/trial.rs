//! Statements timed on the designs of one table.

use super::answer::AnswerDigest;
use super::looks::Timer;
use super::stop::Stop;
use gingham::advisor::{StatementUse, WorkloadStatement};
use gingham::{Connection, Error, Result};
use std::time::{Duration, Instant};

/// A sample takes at least this long; a shorter statement is repeated within it.
const SAMPLE: Duration = Duration::from_millis(1);
/// Repetitions of a statement at most.
const MOST_REPEATED: u32 = 100;

/// A statement that is measured.
#[derive(Debug, Clone)]
pub(crate) struct Part<'w> {
    pub(crate) statement: &'w WorkloadStatement,
    pub(crate) uses: &'w StatementUse,
}

/// Runs a statement: what it answered, and how long it took. One that writes is undone again; the commit, which every design
/// waits for alike, is not part of its time.
pub(crate) fn run(connection: &Connection, statement: &WorkloadStatement) -> Result<(AnswerDigest, Duration)> {
    if !statement.writes {
        return timed(connection, &statement.text);
    }
    connection.execute("BEGIN IMMEDIATE")?;
    let result = timed(connection, &statement.text);
    connection.execute("ROLLBACK")?;
    result
}

fn timed(connection: &Connection, text: &str) -> Result<(AnswerDigest, Duration)> {
    let begun = Instant::now();
    let result = connection.query(text)?;
    let affected = result.rows_affected();
    let batches = result.collect_batches()?;
    let elapsed = begun.elapsed();
    Ok((AnswerDigest::of(&batches, affected)?, elapsed))
}

/// A design under test.
#[derive(Debug)]
struct Tested {
    /// Finds the design under the table's name.
    connection: Connection,
    /// How often each statement is run within a sample.
    repeats: Vec<u32>,
}

/// The machine, with all designs in it.
pub(crate) struct TrialBench<'w> {
    parts: &'w [Part<'w>],
    designs: Vec<Tested>,
    /// What the present design answers.
    expected: Vec<AnswerDigest>,
    stop: &'w Stop,
    begun: Instant,
    time: Duration,
    /// The longest time that all statements took on a design.
    pass: Duration,
}

impl<'w> TrialBench<'w> {
    /// A bench without designs.
    pub(crate) fn new(parts: &'w [Part<'w>], stop: &'w Stop) -> Self {
        let (begun, time, pass) = (Instant::now(), Duration::ZERO, Duration::ZERO);
        Self { parts, designs: Vec::new(), expected: Vec::new(), stop, begun, time, pass }
    }

    /// Adds a design, the present one first: runs every statement, which warms it up, and compares the answers. Returns the time
    /// of it all.
    ///
    /// # Errors
    /// When a statement fails, has another answer, or is not done within `patience`.
    pub(crate) fn add(&mut self, connection: Connection, patience: Duration) -> Result<Duration> {
        let begun = Instant::now();
        let (mut repeats, mut answers) = (Vec::new(), Vec::new());
        for (number, part) in self.parts.iter().enumerate() {
            let left = patience.saturating_sub(begun.elapsed());
            let ran = self.stop.at_most(left, &connection, || run(&connection, part.statement))?;
            let Some(ran) = ran else {
                let (line, seconds) = (part.statement.line, patience.as_secs_f64());
                return Err(Error::Unsupported(format!(
                    "the statement in line {line} was not done within {seconds:.1} s, which is all the time for the table"
                )));
            };
            let (answer, elapsed) = self.compared(number, ran)?;
            let short = SAMPLE.as_secs_f64() / elapsed.as_secs_f64().max(1e-7);
            repeats.push((short.ceil() as u32).clamp(1, MOST_REPEATED));
            answers.push(answer);
        }
        if self.designs.is_empty() {
            self.expected = answers;
        }
        self.designs.push(Tested { connection, repeats });
        Ok(begun.elapsed())
    }

    /// An error when the answer to a statement is not the present design's.
    fn compared(&self, number: usize, ran: (AnswerDigest, Duration)) -> Result<(AnswerDigest, Duration)> {
        let (part, expected) = (&self.parts[number], self.expected.get(number));
        let differs = expected.and_then(|expected| expected.difference(&ran.0, part.uses.by_order));
        match differs.filter(|_| !part.uses.volatile) {
            None => Ok(ran),
            Some(detail) => Err(Error::Internal(format!(
                "the statement in line {} has another answer than in the present design ({detail}): please report it",
                part.statement.line
            ))),
        }
    }

    /// From now on it measures for so long.
    pub(crate) fn start(&mut self, time: Duration) {
        (self.begun, self.time) = (Instant::now(), time);
    }
}

impl Timer for TrialBench<'_> {
    type Failure = Error;

    fn time(&mut self, design: usize) -> Result<Vec<f64>> {
        let begun = Instant::now();
        let tested = &self.designs[design];
        let connection = &tested.connection;
        let mut times = Vec::with_capacity(self.parts.len());
        for (number, part) in self.parts.iter().enumerate() {
            let mut taken = Duration::ZERO;
            let repeats = tested.repeats[number];
            for _ in 0..repeats {
                let ran = self.stop.while_running(connection, || run(connection, part.statement))?;
                taken += self.compared(number, ran)?.1;
            }
            let nanoseconds = taken.as_secs_f64() * 1e9 / f64::from(repeats);
            times.push((nanoseconds * part.statement.weight).max(1e-3));
        }
        self.pass = self.pass.max(begun.elapsed());
        Ok(times)
    }

    /// With the round that would begin now: none goes far beyond the time.
    fn spent(&self) -> f64 {
        let round = self.pass * self.designs.len() as u32;
        (self.begun.elapsed() + round).as_secs_f64() / self.time.as_secs_f64().max(1e-9)
    }
}
