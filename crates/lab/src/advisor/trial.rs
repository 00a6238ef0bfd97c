//! Statements timed on the designs of one table.

use super::answer::AnswerDigest;
use super::looks::Timer;
use super::stop::Stop;
use super::whole;
use crate::words::counted;
use arrow::array::RecordBatch;
use gingham::advisor::{Comparison, StatementUse, WorkloadStatement};
use gingham::{Connection, Error, Result};
use std::time::{Duration, Instant};

/// A sample takes at least this long; a shorter statement is repeated within it.
const SAMPLE: Duration = Duration::from_millis(1);
/// Repetitions of a statement at most.
const MOST_REPEATED: u32 = 100;

/// An answer, and the time until it was there.
pub(crate) type Ran = (AnswerDigest, Vec<RecordBatch>, Duration);

/// A statement that is measured.
#[derive(Debug, Clone)]
pub(crate) struct Part<'w> {
    pub(crate) statement: &'w WorkloadStatement,
    pub(crate) uses: &'w StatementUse,
}

/// Runs a statement: what it answered, in numbers and in full, and how long it took. One that writes is undone again; the commit, which every design
/// waits for alike, is not part of its time.
pub(crate) fn run(connection: &Connection, statement: &WorkloadStatement) -> Result<Ran> {
    if !statement.writes {
        return timed(connection, &statement.text);
    }
    connection.execute("BEGIN IMMEDIATE")?;
    let result = timed(connection, &statement.text);
    connection.execute("ROLLBACK")?;
    result
}

fn timed(connection: &Connection, text: &str) -> Result<Ran> {
    let begun = Instant::now();
    let result = connection.query(text)?;
    let affected = result.rows_affected();
    let batches = result.collect_batches()?;
    let elapsed = begun.elapsed();
    Ok((AnswerDigest::of(&batches, affected)?, batches, elapsed))
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
    /// These answers in full.
    whole: Vec<Vec<RecordBatch>>,
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
        Self { parts, designs: Vec::new(), expected: Vec::new(), whole: Vec::new(), stop, begun, time, pass }
    }

    /// Adds a design, the present one first: runs every statement, which warms it up, and compares the answers. Returns the time
    /// of it all.
    ///
    /// # Errors
    /// When a statement fails, has another answer, or is not done within `patience`.
    pub(crate) fn add(&mut self, connection: Connection, patience: Duration) -> Result<Duration> {
        let begun = Instant::now();
        let (mut repeats, mut answers, mut whole) = (Vec::new(), Vec::new(), Vec::new());
        for (number, part) in self.parts.iter().enumerate() {
            let left = patience.saturating_sub(begun.elapsed());
            let ran = self.stop.at_most(left, &connection, || run(&connection, part.statement))?;
            let Some(ran) = ran else {
                let (line, seconds) = (part.statement.line, patience.as_secs_f64());
                return Err(Error::Unsupported(format!(
                    "the statement in line {line} was not done within {seconds:.1} s, which is all the time for the table"
                )));
            };
            let (answer, batches, elapsed) = self.compared(number, ran)?;
            if let Some(expected) = self.whole.get(number).filter(|_| !part.uses.volatile) {
                let differs = whole::difference(expected, &batches, &part.uses.comparison)?;
                differs.map_or(Ok(()), |detail| Err(another_answer(part, &detail)))?;
            }
            let short = SAMPLE.as_secs_f64() / elapsed.as_secs_f64().max(1e-7);
            repeats.push((short.ceil() as u32).clamp(1, MOST_REPEATED));
            answers.push(answer);
            whole.push(batches);
        }
        if self.designs.is_empty() {
            (self.expected, self.whole) = (answers, whole);
        }
        self.designs.push(Tested { connection, repeats });
        Ok(begun.elapsed())
    }

    /// An error when the answer to a statement is not the present design's.
    fn compared(&self, number: usize, ran: Ran) -> Result<Ran> {
        let (part, expected) = (&self.parts[number], self.expected.get(number));
        let differs = expected.and_then(|expected| expected.difference(&ran.0, &part.uses.comparison));
        match differs.filter(|_| !part.uses.volatile) {
            None => Ok(ran),
            Some(detail) => Err(another_answer(part, &detail)),
        }
    }

    /// What is known of the answers of the designs.
    pub(crate) fn compared_so_far(&self) -> String {
        if self.designs.len() < 2 {
            return "nothing was compared".to_owned();
        }
        let number = |which: fn(&Part<'_>) -> bool| self.parts.iter().filter(|part| which(part)).count();
        let volatile = number(|part| part.uses.volatile);
        let by_number =
            number(|part| !part.uses.volatile && (part.statement.writes || part.uses.comparison == Comparison::Count));
        let whole = self.parts.len() - volatile - by_number;
        if whole == self.parts.len() {
            return "all answers are the same".to_owned();
        }
        let mut told = format!(
            "{whole} of {} {} the same",
            counted(self.parts.len() as u64, "answer"),
            if whole == 1 { "is" } else { "are" }
        );
        if by_number > 0 {
            told += &format!(", {by_number} compared by the number of rows alone");
        }
        if volatile > 0 {
            told += &format!(", {volatile} not compared");
        }
        told
    }

    /// From now on it measures for so long.
    pub(crate) fn start(&mut self, time: Duration) {
        (self.begun, self.time) = (Instant::now(), time);
    }
}

fn another_answer(part: &Part<'_>, detail: &str) -> Error {
    Error::Internal(format!(
        "the statement in line {} has another answer than in the present design ({detail}): please report it",
        part.statement.line
    ))
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
                taken += self.compared(number, ran)?.2;
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

#[cfg(test)]
mod tests {
    use super::*;
    use gingham::Database;
    use gingham::advisor::Workload;

    #[test]
    fn what_was_compared_is_told() {
        let connect = |rows: u32| {
            let connection = Database::in_memory().unwrap().connect();
            let made = "CREATE TABLE t AS SELECT value AS a FROM generate_series(1, 10)";
            connection.execute(&format!("{made}; INSERT INTO t VALUES ({rows})")).unwrap();
            connection
        };
        let workload = "SELECT a FROM t; SELECT a FROM t LIMIT 3; SELECT random() FROM t; DELETE FROM t WHERE a = 3";
        let workload = Workload::parse(workload, "w.sql").unwrap();
        let connection = connect(11);
        let used = |own| connection.workload_use(own, "w.sql").unwrap();
        let uses: Vec<StatementUse> = workload.statements.iter().map(used).collect();
        let parts = workload.statements.iter().zip(&uses).map(|(statement, uses)| Part { statement, uses });
        let parts: Vec<Part<'_>> = parts.collect();
        let (stop, patience) = (Stop::default(), Duration::from_secs(60));
        let mut bench = TrialBench::new(&parts, &stop);
        bench.add(connection.clone(), patience).unwrap();
        assert_eq!(bench.compared_so_far(), "nothing was compared");
        bench.add(connect(11), patience).unwrap();
        let told = "1 of 4 answers is the same, 2 compared by the number of rows alone, 1 not compared";
        assert_eq!(bench.compared_so_far(), told);
        let error = bench.add(connect(12), patience).unwrap_err().to_string();
        assert!(error.contains("line 1 has another answer than in the present design (other values)"), "{error}");
        let mut first = TrialBench::new(&parts[..1], &stop);
        first.add(connect(1), patience).unwrap();
        first.add(connect(1), patience).unwrap();
        assert_eq!(first.compared_so_far(), "all answers are the same");
    }
}
