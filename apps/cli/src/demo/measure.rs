//! The 22 queries on both engines: answers compared in a warm-up round, then rounds of measured runs, the two engines
//! one after the other so that a disturbance of the machine hits both.

use super::reference_failed;
use crate::failure::Failure;
use crate::progress::Step;
use gingham::Connection;
use gingham_lab::statistics::{geometric_mean, median};
use gingham_lab::tpch::answers::QueryAnswer;
use gingham_lab::tpch::queries;
use gingham_reference::Reference;
use std::time::{Duration, Instant};

/// Measured rounds, when the time allows.
const ROUNDS: usize = 3;
/// No round begins after this much time; the warm-up and one measured round always run.
const BUDGET: Duration = Duration::from_secs(8);

/// The runs of one query.
pub struct QueryTimes {
    /// Its number, 1 to 22.
    pub number: usize,
    /// Rows of its answer.
    pub rows: usize,
    /// Milliseconds from text to last row.
    pub gingham: Vec<f64>,
    /// Times of DataFusion, in milliseconds, one for each round.
    pub datafusion: Vec<f64>,
}

impl QueryTimes {
    /// Median time of Gingham over median time of DataFusion: below 1 Gingham is faster.
    pub fn ratio(&self) -> f64 {
        median(&self.gingham) / median(&self.datafusion)
    }

    /// How many times as fast as DataFusion Gingham is: above 1 it is faster.
    pub fn times_as_fast(&self) -> f64 {
        1.0 / self.ratio()
    }
}

/// All queries.
pub struct Measurement {
    /// In order of their numbers.
    pub queries: Vec<QueryTimes>,
    /// Measured rounds.
    pub rounds: usize,
}

impl Measurement {
    /// Checks every answer and measures. Fails at the first wrong answer.
    pub fn run(connection: &Connection, reference: &Reference, scale: f64) -> Result<Self, Failure> {
        let start = Instant::now();
        let total = (queries::NUMBERS.count() * (1 + ROUNDS)) as u64;
        let step = Step::start("Running 22 queries on Gingham and DataFusion".to_string(), total);
        let mut all = Vec::new();
        for number in queries::NUMBERS {
            step.note(format!("checking query {number}"));
            let rows = check_answer(connection, reference, number, scale)?;
            all.push(QueryTimes { number, rows, gingham: Vec::new(), datafusion: Vec::new() });
            step.advance(1);
        }
        let mut rounds = 0;
        while rounds < ROUNDS && (rounds == 0 || start.elapsed() < BUDGET) {
            for times in &mut all {
                step.note(format!("measuring query {}", times.number));
                measure(connection, reference, times, &queries::text(times.number, scale), rounds % 2 == 1)?;
                step.advance(1);
            }
            rounds += 1;
        }
        step.finish("every answer agrees");
        Ok(Self { queries: all, rounds })
    }

    /// Geometric mean of the ratios.
    pub fn geometric_mean(&self) -> f64 {
        geometric_mean(&self.queries.iter().map(QueryTimes::ratio).collect::<Vec<_>>())
    }

    /// Sums of the medians in milliseconds: Gingham's, DataFusion's.
    pub fn totals(&self) -> (f64, f64) {
        let sum = |times: fn(&QueryTimes) -> &Vec<f64>| self.queries.iter().map(|query| median(times(query))).sum();
        (sum(|query| &query.gingham), sum(|query| &query.datafusion))
    }
}

/// Compares the two engines' answers and returns the number of rows.
fn check_answer(connection: &Connection, reference: &Reference, number: usize, scale: f64) -> Result<usize, Failure> {
    let sql = queries::text(number, scale);
    let failed = |error: String| Failure::failed(format!("query {number}: {error}"));
    let result = connection.query(&sql).map_err(|error| failed(error.to_string()))?;
    let schema = result.schema();
    let batches = result.collect_batches().map_err(|error| failed(error.to_string()))?;
    let found = QueryAnswer::new(&schema, &batches)?;
    let expected = QueryAnswer::of_datafusion(reference, &sql).map_err(reference_failed)?;
    expected
        .check(number, &found)
        .map_err(|error| failed(format!("Gingham's answer is not DataFusion's: {error} (expected is DataFusion's)")))?;
    Ok(found.rows().len())
}

/// One run of each engine.
fn measure(
    connection: &Connection,
    reference: &Reference,
    times: &mut QueryTimes,
    sql: &str,
    datafusion_first: bool,
) -> Result<(), Failure> {
    for turn in [datafusion_first, !datafusion_first] {
        let start = Instant::now();
        if turn {
            reference.query(sql).map_err(reference_failed)?;
            times.datafusion.push(start.elapsed().as_secs_f64() * 1000.0);
        } else {
            connection.query(sql)?.collect_batches()?;
            times.gingham.push(start.elapsed().as_secs_f64() * 1000.0);
        }
    }
    Ok(())
}

/// Prints the times beside each other.
pub fn print_table(measurement: &Measurement) {
    say!("\n{:>5}  {:<40} {:>10} {:>14} {:>7}", "query", "", "Gingham ms", "DataFusion ms", "ratio");
    for query in &measurement.queries {
        say!(
            "{:>5}  {:<40} {:>10.1} {:>14.1} {:>7.2}",
            query.number,
            queries::title(query.number),
            median(&query.gingham),
            median(&query.datafusion),
            query.ratio()
        );
    }
    let (gingham, datafusion) = measurement.totals();
    let mean = measurement.geometric_mean();
    say!("{:>5}  {:<40} {gingham:>10.1} {datafusion:>14.1} {:>7.2}", "", "all", gingham / datafusion);
    say!("{:>5}  {:<40} {:>10} {:>14} {mean:>7.2}", "", "geometric mean of the ratios", "", "");
}
