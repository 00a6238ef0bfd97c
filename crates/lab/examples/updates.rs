//! Measures single-row updates by key, each committed and synced: of a fresh database, beside a reader that stays open, and
//! when it is gone. benchmarks/updates.py runs it and keeps the figures; benchmarks/METHODOLOGY.md says how to read them.
//!
//! ```text
//! cargo run --release -p gingham-lab --features runner --example updates -- FOLDER [UPDATES [SECONDS [LAYOUT]]]
//! ```
//!
//! The database in FOLDER must not exist. UPDATES are all updates (default 1000000), SECONDS how long the reader stays
//! (default 60), LAYOUT one of nsm, dsm and pax (default pax). Prints one line of JSON.

use gingham::{Connection, Database, Prepared, ScalarValue};
use std::error::Error;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Records of the table.
const ROWS: i64 = 100_000;
/// Updates whose times are those of a fresh database, and of one that has been through all.
const SAMPLE: usize = 2000;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("updates FOLDER [UPDATES [SECONDS [LAYOUT]]]")?;
    let updates: usize = arguments.next().map_or(Ok(1_000_000), |text| text.parse())?;
    let seconds: u64 = arguments.next().map_or(Ok(60), |text| text.parse())?;
    let layout = arguments.next().unwrap_or_else(|| "pax".into());
    let (updates, path) = (updates.max(3 * SAMPLE), Path::new(&folder));
    if path.exists() {
        return Err(format!("{folder} exists; name a new folder").into());
    }
    let database = Database::open(path)?;
    let connection = database.connect();
    fill(&connection, &layout)?;
    let mut updater = Updater { statement: connection.prepare("UPDATE t SET a = $1 WHERE id = $2")?, seed: 1, done: 0 };

    let mut fresh = updater.run(SAMPLE, Duration::MAX)?;
    let before = file_bytes(path)?;
    // The channel to its reader is full after some batches: it waits, and keeps what it began with.
    let mut reader = database.connect().query("SELECT * FROM t")?;
    reader.next().ok_or("the table is empty")??;
    let mut beside = updater.run(updates - 2 * SAMPLE, Duration::from_secs(seconds))?;
    let with_reader = file_bytes(path)?;
    drop(reader);
    let left = updates.saturating_sub(updater.done + SAMPLE);
    updater.run(left, Duration::MAX)?;
    let mut after = updater.run(SAMPLE, Duration::MAX)?;

    let live = live_bytes(&connection)?;
    println!(
        "{{\"layout\": \"{layout}\", \"updates\": {}, \"beside_reader\": {}, \"fresh_ms\": {}, \"beside_ms\": {}, \
         \"after_ms\": {}, \"file_bytes_fresh\": {before}, \"file_bytes_with_reader\": {with_reader}, \
         \"file_bytes\": {}, \"live_bytes\": {live}}}",
        updater.done,
        beside.len(),
        summary(&mut fresh),
        summary(&mut beside),
        summary(&mut after),
        file_bytes(path)?,
    );
    Ok(())
}

/// The table: a key and seven numbers.
fn fill(connection: &Connection, layout: &str) -> Outcome<()> {
    let columns: Vec<String> = ('a'..='g').map(|name| format!("{name} BIGINT")).collect();
    let columns = columns.join(", ");
    connection.execute(&format!("CREATE TABLE t (id BIGINT PRIMARY KEY, {columns}) WITH (layout = '{layout}')"))?;
    let values = "value, value * 2, value * 3, value * 5, value * 7, value * 11, value * 13, value * 17";
    connection.execute(&format!("INSERT INTO t SELECT {values} FROM generate_series(0, {})", ROWS - 1))?;
    Ok(())
}

/// Updates of random records, one after the other.
struct Updater {
    statement: Prepared,
    seed: u64,
    done: usize,
}

impl Updater {
    /// Up to `count` updates, as many as are begun within `limit`; gives the seconds of each.
    fn run(&mut self, count: usize, limit: Duration) -> Outcome<Vec<f64>> {
        let begin = Instant::now();
        let mut times = Vec::new();
        while times.len() < count && begin.elapsed() < limit {
            self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let id = (self.seed >> 33) as i64 % ROWS;
            let parameters = [ScalarValue::from((self.seed >> 1) as i64), ScalarValue::from(id)];
            let own = Instant::now();
            let rows = self.statement.query(&parameters)?.rows_affected();
            times.push(own.elapsed().as_secs_f64());
            if rows != Some(1) {
                return Err(format!("the update of id {id} changed {rows:?} rows").into());
            }
            self.done += 1;
        }
        Ok(times)
    }
}

/// Milliseconds: median, 99th percentile and the longest, as JSON.
fn summary(times: &mut [f64]) -> String {
    times.sort_by(f64::total_cmp);
    let at = |part: f64| {
        let place = ((times.len() as f64 * part) as usize).min(times.len().saturating_sub(1));
        times.get(place).map_or("null".into(), |seconds| format!("{:.4}", seconds * 1e3))
    };
    format!("{{\"p50\": {}, \"p99\": {}, \"most\": {}}}", at(0.5), at(0.99), at(1.0))
}

/// Bytes that the catalog's file takes on the disk.
fn file_bytes(database: &Path) -> Outcome<u64> {
    Ok(std::fs::metadata(database.join("catalog/data.mdb"))?.blocks() * 512)
}

/// Bytes of the table's pages.
fn live_bytes(connection: &Connection) -> Outcome<u64> {
    let batches = connection.query("SELECT CAST(bytes AS VARCHAR) FROM gingham_tables")?.collect_batches()?;
    let batch = batches.iter().find(|batch| batch.num_rows() > 0).ok_or("the table is gone")?;
    Ok(arrow::util::display::array_value_to_string(batch.column(0), 0)?.parse()?)
}
