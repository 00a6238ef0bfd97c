//! Measures statements about one record by its key: reads, and updates that are each committed and synced, by one client and by
//! many. benchmarks/points.py runs it beside SQLite and keeps the figures; benchmarks/METHODOLOGY.md says how to read them.
//!
//! ```text
//! cargo run --release -p gingham-lab --features runner --example points -- FOLDER fill ROWS LAYOUT
//! cargo run --release -p gingham-lab --features runner --example points -- FOLDER reads COUNT
//! cargo run --release -p gingham-lab --features runner --example points -- FOLDER updates CLIENTS SECONDS
//! ```
//!
//! `fill` makes the database in FOLDER, the others use it. Each prints one line of JSON.

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use gingham::{Connection, Database, Prepared, ScalarValue};
use std::error::Error;
use std::path::Path;
use std::sync::Barrier;
use std::time::{Duration, Instant};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [folder, "fill", rows, layout] => fill(Path::new(folder), rows.parse()?, layout),
        [folder, "reads", count] => reads(&Database::open(Path::new(folder))?, count.parse()?),
        [folder, "updates", clients, seconds] => {
            updates(&Database::open(Path::new(folder))?, clients.parse()?, Duration::from_secs(seconds.parse()?))
        }
        _ => Err("points FOLDER fill ROWS LAYOUT | reads COUNT | updates CLIENTS SECONDS".into()),
    }
}

/// The table: a key and seven numbers, all of them the key's.
fn fill(folder: &Path, rows: i64, layout: &str) -> Outcome<()> {
    if folder.exists() {
        return Err(format!("{} exists; name a new folder", folder.display()).into());
    }
    let connection = Database::open(folder)?.connect();
    let columns: Vec<String> = ('a'..='g').map(|name| format!("{name} BIGINT")).collect();
    let columns = columns.join(", ");
    connection.execute(&format!("CREATE TABLE t (id BIGINT PRIMARY KEY, {columns}) WITH (layout = '{layout}')"))?;
    let values = "value, value, value, value, value, value, value, value";
    let filled = connection.execute(&format!("INSERT INTO t SELECT {values} FROM generate_series(0, {})", rows - 1))?;
    println!("{{\"rows\": {filled}}}");
    Ok(())
}

/// Numbers that look random, the same for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: i64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as i64 % end
    }
}

fn rows(connection: &Connection) -> Outcome<i64> {
    Ok(connection.table("t")?.rows().try_into()?)
}

/// Reads of random records, one after the other; each answer is looked at.
fn reads(database: &Database, count: usize) -> Outcome<()> {
    let connection = database.connect();
    let (rows, mut random) = (rows(&connection)?, Random(1));
    let statement = connection.prepare("SELECT id, b, g FROM t WHERE id = $1")?;
    let mut times = Vec::with_capacity(count);
    for turn in 0..count + count / 10 {
        let id = random.below(rows);
        let own = Instant::now();
        let batches = statement.query(&[ScalarValue::from(id)])?.collect_batches()?;
        let elapsed = own.elapsed();
        let found: Vec<i64> =
            batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec()).collect();
        if found != [id] {
            return Err(format!("the read of id {id} gave {found:?}").into());
        }
        // The first tenth warms what is cold.
        if turn >= count / 10 {
            times.push(elapsed.as_secs_f64() * 1e6);
        }
    }
    times.sort_by(f64::total_cmp);
    let at = |part: f64| times[((times.len() as f64 * part) as usize).min(times.len() - 1)];
    println!("{{\"reads\": {}, \"p50_us\": {:.2}, \"p99_us\": {:.2}}}", times.len(), at(0.5), at(0.99));
    Ok(())
}

/// Updates of random records by several clients at once, each waiting for its own. What they added up to is looked at.
fn updates(database: &Database, clients: usize, limit: Duration) -> Outcome<()> {
    let connection = database.connect();
    let (rows, before) = (rows(&connection)?, sum(&connection)?);
    let begin = Barrier::new(clients);
    let done: Outcome<Vec<(u64, f64)>> = std::thread::scope(|scope| {
        let client = |number: usize| {
            let (begin, own) = (&begin, database.connect());
            scope.spawn(move || -> Outcome<(u64, f64)> {
                let statement = own.prepare("UPDATE t SET a = a + 1 WHERE id = $1")?;
                begin.wait();
                client(&statement, rows, number as u64, limit)
            })
        };
        let threads: Vec<_> = (0..clients).map(client).collect();
        threads.into_iter().map(|thread| thread.join().map_err(|_| "a client panicked")?).collect()
    });
    let done = done?;
    let total: u64 = done.iter().map(|(updates, _)| updates).sum();
    let seconds = done.iter().map(|(_, seconds)| *seconds).fold(0.0, f64::max);
    if sum(&connection)? - before != i128::from(total) {
        return Err(format!("{total} updates added {}", sum(&connection)? - before).into());
    }
    println!("{{\"clients\": {clients}, \"updates\": {total}, \"per_second\": {:.1}}}", total as f64 / seconds);
    Ok(())
}

/// One client; gives its updates and how long it took.
fn client(statement: &Prepared, rows: i64, seed: u64, limit: Duration) -> Outcome<(u64, f64)> {
    let (mut random, begin, mut updates) = (Random(seed), Instant::now(), 0);
    while begin.elapsed() < limit {
        let id = random.below(rows);
        let changed = statement.query(&[ScalarValue::from(id)])?.rows_affected();
        if changed != Some(1) {
            return Err(format!("the update of id {id} changed {changed:?} rows").into());
        }
        updates += 1;
    }
    Ok((updates, begin.elapsed().as_secs_f64()))
}

fn sum(connection: &Connection) -> Outcome<i128> {
    let batches = connection.query("SELECT CAST(sum(a) AS VARCHAR) FROM t")?.collect_batches()?;
    let batch = batches.iter().find(|batch| batch.num_rows() > 0).ok_or("no sum")?;
    Ok(arrow::util::display::array_value_to_string(batch.column(0), 0)?.parse()?)
}
