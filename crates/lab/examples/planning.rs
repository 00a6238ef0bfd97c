//! Measures planning: what a query waits for from its text until its first operator is started, phase by phase, with a
//! plan made anew and with one that was kept. benchmarks/METHODOLOGY.md says how to read it.
//!
//! ```text
//! cargo run --release -p gingham-lab --features runner --example planning -- tpch.gingham benchmarks/definitions/tpch/q*.sql
//! ```
//!
//! Each query runs whole, in rounds over all files, so that its planning meets the caches that others left behind. Times
//! are medians in milliseconds over the rounds after the first. The last column is that of a cached plan.

use gingham::{Connection, Database, PlanningTimes};
use std::error::Error;
use std::path::Path;
use std::time::Duration;

/// Rounds of which the times count.
const ROUNDS: usize = 9;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(folder), files) = (arguments.next(), arguments.collect::<Vec<_>>()) else {
        return Err("planning DATABASE FILE.sql …".into());
    };
    let mut queries = vec![("SELECT 1".to_owned(), "SELECT 1".to_owned())];
    for file in &files {
        let name = Path::new(file).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        queries.push((name, std::fs::read_to_string(file)?));
    }
    let connection = Database::open(&folder)?.connect();
    connection.execute("SET gingham.threads = 1")?;
    connection.execute("SET gingham.cache_plans = false")?;
    let made = rounds(&connection, &queries)?;
    connection.execute("SET gingham.cache_plans = true")?;
    let kept = rounds(&connection, &queries)?;
    println!(
        "{:>10} {:>7} {:>7} {:>8} {:>8} {:>7} {:>7}",
        "", "parse", "logical", "optimize", "physical", "total", "kept"
    );
    for (((name, _), made), kept) in queries.iter().zip(&made).zip(&kept) {
        let of = |phase: fn(&PlanningTimes) -> Duration| milliseconds(made, phase);
        println!(
            "{name:>10} {:7.3} {:7.3} {:8.3} {:8.3} {:7.3} {:7.3}",
            of(|times| times.parse),
            of(|times| times.logical),
            of(|times| times.optimize),
            of(|times| times.physical),
            of(|times| times.total),
            milliseconds(kept, |times| times.total),
        );
    }
    let mut totals: Vec<f64> = made.iter().skip(1).map(|times| milliseconds(times, |times| times.total)).collect();
    totals.sort_by(f64::total_cmp);
    if let (Some(most), Some(middle)) = (totals.last(), totals.get(totals.len() / 2)) {
        println!("files: median {middle:.3}, most {most:.3}");
    }
    Ok(())
}

/// The times of each query, in rounds over all of them.
fn rounds(connection: &Connection, queries: &[(String, String)]) -> Outcome<Vec<Vec<PlanningTimes>>> {
    let mut times = vec![Vec::with_capacity(ROUNDS); queries.len()];
    for round in 0..=ROUNDS {
        for ((_, text), times) in queries.iter().zip(&mut times) {
            let mut result = connection.query(text)?;
            for batch in &mut result {
                batch?;
            }
            if round > 0 {
                times.push(result.planning());
            }
        }
    }
    Ok(times)
}

/// The median of a phase.
fn milliseconds(times: &[PlanningTimes], phase: impl Fn(&PlanningTimes) -> Duration) -> f64 {
    let mut taken: Vec<Duration> = times.iter().map(phase).collect();
    taken.sort();
    taken.get(taken.len() / 2).map_or(0.0, |median| median.as_secs_f64() * 1e3)
}
