//! Measures how clients share the threads: a short query alone, beside one client that runs a long query over and over, and
//! beside seven. benchmarks/clients.py runs it and keeps the figures; benchmarks/METHODOLOGY.md says how to read them.
//!
//! ```text
//! cargo run --release -p gingham-lab --features runner --example clients -- DATABASE THREADS ROUNDS LONG.sql SHORT.sql …
//! ```
//!
//! Plans are kept, as they are by default. Prints one line of JSON.

use gingham::{Connection, Database};
use std::error::Error;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Clients with the long query beside the short one.
const BESIDE: [usize; 3] = [0, 1, 7];

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, threads, rounds, long, shorts @ ..] = arguments.as_slice() else {
        return Err("clients DATABASE THREADS ROUNDS LONG.sql SHORT.sql …".into());
    };
    let server = Server { database: Database::open(folder)?, threads: threads.parse()? };
    let rounds: usize = rounds.parse()?;
    let long = Query::read(long)?;
    let shorts = shorts.iter().map(|file| Query::read(file)).collect::<Outcome<Vec<_>>>()?;
    let mut short_ms = vec![Vec::new(); shorts.len()];
    let mut long_runs = Vec::new();
    for clients in BESIDE {
        let (times, runs) = beside(&server, clients, &long, &shorts, rounds)?;
        long_runs.push(runs);
        for (all, times) in short_ms.iter_mut().zip(times) {
            all.push(times);
        }
    }
    let queries: Vec<String> =
        shorts.iter().zip(&short_ms).map(|(query, times)| format!("\"{}\": {times:?}", query.name)).collect();
    println!(
        "{{\"threads\": {threads}, \"long\": \"{}\", \"beside\": {BESIDE:?}, \"long_runs_per_second\": {long_runs:?}, \
         \"short_ms\": {{{}}}}}",
        long.name,
        queries.join(", ")
    );
    Ok(())
}

/// What clients connect to.
struct Server {
    database: Database,
    threads: usize,
}

impl Server {
    fn connect(&self) -> Outcome<Connection> {
        let connection = self.database.connect();
        connection.execute(&format!("SET gingham.threads = {}", self.threads))?;
        Ok(connection)
    }
}

/// A query and what its file is called.
struct Query {
    name: String,
    text: String,
    rows: AtomicUsize,
}

impl Query {
    fn read(file: &str) -> Outcome<Self> {
        let name = Path::new(file).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
        Ok(Self { name, text, rows: AtomicUsize::new(usize::MAX) })
    }

    /// Runs it once. Each run has to give as many rows as the first.
    fn run(&self, connection: &Connection) -> Outcome<Duration> {
        let start = Instant::now();
        let mut rows = 0;
        for batch in connection.query(&self.text)? {
            rows += batch?.num_rows();
        }
        let took = start.elapsed();
        match self.rows.compare_exchange(usize::MAX, rows, Ordering::Relaxed, Ordering::Relaxed) {
            Err(first) if first != rows => Err(format!("{}: {rows} rows, {first} before", self.name).into()),
            _ => Ok(took),
        }
    }
}

/// Times of the short queries in milliseconds beside so many clients with the long one, and how many runs of that ended a
/// second.
fn beside(
    server: &Server,
    clients: usize,
    long: &Query,
    shorts: &[Query],
    rounds: usize,
) -> Outcome<(Vec<Vec<f64>>, f64)> {
    let (done, runs) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        let threads: Vec<_> = (0..clients)
            .map(|_| {
                scope.spawn(|| {
                    let connection = server.connect()?;
                    while !done.load(Ordering::Relaxed) {
                        long.run(&connection)?;
                        runs.fetch_add(1, Ordering::Relaxed);
                    }
                    Outcome::Ok(())
                })
            })
            .collect();
        let times = server.connect().and_then(|connection| timed(&connection, shorts, rounds));
        done.store(true, Ordering::Relaxed);
        for thread in threads {
            thread.join().map_err(|_| "a client panicked")??;
        }
        let (times, seconds) = times?;
        Ok((times, runs.load(Ordering::Relaxed) as f64 / seconds))
    })
}

/// The short queries in turns, the first round not counted, and the seconds that the others took.
fn timed(connection: &Connection, shorts: &[Query], rounds: usize) -> Outcome<(Vec<Vec<f64>>, f64)> {
    let mut times = vec![Vec::with_capacity(rounds); shorts.len()];
    let mut start = Instant::now();
    for round in 0..=rounds {
        for (query, times) in shorts.iter().zip(&mut times) {
            let took = query.run(connection)?;
            if round > 0 {
                times.push(took.as_secs_f64() * 1e3);
            }
        }
        if round == 0 {
            start = Instant::now();
        }
    }
    Ok((times, start.elapsed().as_secs_f64()))
}
